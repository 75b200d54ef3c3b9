/* Will the servers ever let this session return? Where their data has gone back (emptied, restored
 * from a backup, the last transactions lost in a crash), a server refuses every handle that has
 * seen more than it has itself. It closes the connection without a word, and libzookeeper tries
 * again for ever.
 *
 * So while there is no connection, the servers are asked in handshakes that name no session. What
 * counts is a server that serves all the time and stays without us:
 * - it refuses whoever has seen what this session is known to have seen: for one session timeout.
 *   One that only lags behind catches up, or leaves the ensemble, within that.
 * - it does not refuse that, but the session may have seen more than is known here: for three. By
 *   then a server that has lost its leader has noticed (syncLimit), and dead servers that
 *   libzookeeper tries first have been tried.
 * In either time nothing reached the session, so that the servers end it if they have it at all:
 * a new one loses nothing. Where nobody serves, nothing counts: a plain outage ends no session.
 * docs/design/servers.md has the argument. */
#ifndef RECIPES_ROLLBACK_H
#define RECIPES_ROLLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "proofs.h"

enum rollback_evidence {
    ROLLBACK_NONE,   /* no server serves */
    ROLLBACK_SERVES, /* one serves, and takes who has seen as much as this session is known to */
    ROLLBACK_REFUSES /* one serves, and none takes who has seen that much */
};

/* All zero: nothing was heard yet. */
struct rollback {
    bool serves, refuses;
    struct instant serving, refusing; /* since when, without a break */
    bool refused;                     /* at any time */
};

/* What the servers say now. */
void rollback_heard(struct rollback *r, enum rollback_evidence evidence, struct instant now);

/* Whether a new session must begin; asked right after rollback_heard(). timeout: the longest that
 * the session ever had, ns. */
bool rollback_is_final(const struct rollback *r, struct instant now, int64_t timeout);

#endif
