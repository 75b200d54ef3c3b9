/* Rules A and C, and that of a handshake, said once more, over the whole history of a session and
 * without any state of the chain: how far may a deadline reach at most? Also the calls to
 * recipes/proofs.h that make the history.
 */
#ifndef FUZZ_PROOFS_ORACLE_H
#define FUZZ_PROOFS_ORACLE_H

#include "recipes/proofs.h"

#include <stddef.h>

enum { ORACLE_HISTORY = 256 };

struct exchange {
    enum proof_kind kind;
    struct instant sent, answered;
    bool wanted; /* by the chain; else it is the user's */
    bool over;
};

struct oracle {
    struct proofs proofs;
    struct instant now;
    struct exchange history[ORACLE_HISTORY]; /* of this connection */
    size_t count;
    struct instant newest; /* send time of the newest answered request of the session */
    struct instant before; /* the same, when this connection was made */
    bool resumed;          /* it was not made with the session */
    bool ahead;            /* the deadline, when the answer at hand came */
    bool connected, alone, created;
};

void oracle_init(struct oracle *o, int64_t tick_ns, int32_t drift_permille);
void oracle_created(struct oracle *o, struct instant begun, int64_t timeout_ns);
void oracle_reconnected(struct oracle *o, int64_t timeout_ns);
void oracle_disconnected(struct oracle *o);
void oracle_alone(struct oracle *o);

/* Sends now: what the chain wants, if anything; or a request of the user's. Behind all others in
 * the history, unless there is no room. */
void oracle_send_wanted(struct oracle *o);
void oracle_send_other(struct oracle *o, bool write);
void oracle_failed(struct oracle *o, size_t i);
void oracle_answered(struct oracle *o, size_t i);

/* What holds at any time, whatever was done. */
void oracle_check(const struct oracle *o);

#endif
