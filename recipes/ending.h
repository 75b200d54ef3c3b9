/* The end of a session, and of what was held in it. The library gives a session up for another one
 * if the servers will never let it return, or for a reason of its own while nobody uses it. */
#ifndef RECIPES_ENDING_H
#define RECIPES_ENDING_H

#include "proofs.h"

/* Why a grant was lost. The attempt decides that, or the session if it has ended. The values are in
 * the order of zkl_loss. */
enum loss {
    LOSS_NONE,
    LOSS_DEADLINE, /* no proof came in time */
    LOSS_EXPIRED,  /* the servers say that the session has ended */
    LOSS_DELETED,  /* the node is gone, or another session's stands there, and ours goes on */
    LOSS_CLOSED,   /* the user has closed the session */
    LOSS_REPLACED, /* we gave the session up for another one */
    LOSS_REFUSED   /* the server refused the credentials */
};

/* ---- the servers ----
 *
 * Will the servers ever let this session return? If their data has gone back (emptied, restored
 * from a backup, the last transactions lost in a crash), a server refuses every handle that has
 * seen more than it has itself. It closes the connection without a word, and libzookeeper tries
 * again for ever.
 *
 * So while there is no connection, the servers are asked in handshakes that name no session. What
 * counts is a server that serves all the time and stays without us:
 * - it refuses a client that has seen what this session is known to have seen, for one session
 *   timeout. A server that only lags catches up, or leaves the ensemble, within that.
 * - it does not refuse such a client, for three session timeouts: this session may have seen more
 *   than is known here. In that time a server that has lost its leader notices (syncLimit), and
 *   dead servers that libzookeeper tries first are tried.
 * In either time nothing reached the session, so that the servers end it if they have it at all:
 * a new one loses nothing. While no server serves, nothing counts: a plain outage ends no session.
 * docs/design/servers.md has the argument. */

enum rollback_evidence {
    ROLLBACK_NONE,   /* no server serves */
    ROLLBACK_SERVES, /* a server serves, and would let in a client that has seen what this session
                        has, as far as known */
    ROLLBACK_REFUSES /* servers serve, and none would let in such a client */
};

/* All zero: the servers were not asked yet. */
struct rollback {
    bool serves, refuses;
    struct instant serving, refusing; /* since when each is true, without a break */
    bool refused;                     /* a server has refused it, at any time */
    bool possible; /* the outage is so long that the data may have gone back, and grown again */
};

/* Stores what the servers show now. They are asked for the first time a quarter of a session
 * timeout after the connection was lost. */
void rollback_heard(struct rollback *r, enum rollback_evidence evidence, struct instant now);

/* Whether a new session must begin; asked right after rollback_heard(). timeout: the longest that
 * the session ever had; ns. */
bool rollback_is_final(const struct rollback *r, struct instant now, int64_t timeout);

/* ---- the users ---- */

enum end_reason {
    ENDING_STALE, /* a session that has just been made is to be made again, quicker */
    ENDING_COLD,  /* another one is proved sooner */
    ENDING_PURGE, /* a node stands that nothing else removes */
    ENDINGS
};

/* The users of a ZooKeeper session that have no node in it. The library may not end the session by
 * itself while it has such a user, unless the servers end it anyway. */
struct users {
    unsigned calls; /* calls and transactions under way */
    unsigned lent;  /* libzookeeper's handle, to functions of the program's own */
    unsigned kept;  /* the program's own nodes, as far as it has declared them */
};

/* What the participants have in a session, whether or not a deadline is ahead. If they have several
 * of these, the last one counts. */
enum presence {
    PRESENCE_NONE,
    PRESENCE_WAITS, /* a place in a queue, or in one for a name */
    PRESENCE_IN,    /* a member's node, or one on its way: others may have seen it */
    PRESENCE_HOLDS  /* what a grant is for */
};

/* Whether the users of the session let the library end it. most: of its participants. out: for how
 * many ns there has been no connection, 0 if there is one. timeout: the session's; ns. */
bool users_let_end(const struct users *u, enum presence most, enum end_reason why, int64_t out,
                   int64_t timeout);

#endif
