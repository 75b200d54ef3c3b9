/* The fenced transactions of one grant, one under way at a time. Each begins with its fence: a set
 * of the grant's node that asks for the version which that node has. So at most one of all sets
 * that ask for one version is applied, and a set whose answer was lost may still come until its
 * version is used up. Only the data tell whose set used it up: each transaction writes a number of
 * its own there, and so does each set that only shuts out what may still come (a seal).
 *
 *  begin    version known      read, not applied yet
 *  IDLE ──> SENT ──lost──> DOUBTING ──> RESENT ──refused──> SEALING ──lost, outdated──> CHECKING
 *    │       ^ │              │ ^  lost,  │                    ^                            │
 *    └──> READING <─outdated  │ └─outdated┘                    └─────not applied yet────────┘
 *          the version        └── it was used up by another of ours: SENT
 *
 * From every state but IDLE it ends in IDLE: applied, refused, unknown. A read of the version that
 * was asked for, or of an older one, proves nothing: its server may lag.
 * docs/design/transactions.md has the argument. */
#ifndef RECIPES_TRANSACTION_H
#define RECIPES_TRANSACTION_H

#include "machine.h"

enum transaction_state {
    TX_IDLE,     /* nothing of the last transaction will be sent again */
    TX_READING,  /* reading which version the node has: no sending of the transaction can be applied
                  */
    TX_SENT,     /* sent: no other sending of the transaction can be applied */
    TX_DOUBTING, /* an answer was lost: reading whose set came next */
    TX_RESENT,   /* sent once more, for the same version */
    TX_SEALING,  /* refused while an earlier sending may come: the seal takes its version */
    TX_CHECKING, /* the seal was lost or came too late: reading whose set came next */
    TX_COUNT
};

enum transaction_verdict {
    TX_TOLD_APPLIED,
    TX_TOLD_REFUSED, /* .rc, .failed; like the next two: not applied, and never will be */
    TX_TOLD_LOST,    /* the grant is lost */
    TX_TOLD_LATE,    /* the caller's time was over */
    TX_TOLD_UNKNOWN,
    /* the last verdict: the next transaction may begin */
    TX_ENDED,
    TX_ENDED_GONE /* the last verdict, and there is no node any more */
};

/* What the driver knows when it delivers an event. */
struct transaction_moment {
    bool lost;       /* the grant is lost: nothing is sent for it any more */
    uint32_t number; /* the number in the data that were read; 0: they are not ours */
    /* of the transaction that begins: */
    bool release; /* it deletes the node in the end */
    bool told;    /* its time was over before it could begin */
};

/* How many answers may be lost or outdated. */
enum { TRANSACTION_FAILURES = 3 };

/* The transactions of one grant. All 0: its node was just made. */
struct transaction {
    enum transaction_state state;
    bool stale; /* .version is to be read before the next sending */
    bool loose; /* a transaction ended as unknown: it may still be applied while the node stands */
    int32_t version;  /* the version of the node: this one or a later one */
    uint32_t numbers; /* how many numbers were used so far */
    /* of the present one, or the last: */
    bool release;
    bool told;
    uint32_t failures;
    int32_t asked;    /* the version that each sending which may still be applied asks for */
    uint32_t number;  /* 0: it was never sent */
    uint32_t seal;    /* the number of its seal; 0: that was never sent */
    enum store_rc rc; /* what was refused, for TX_TOLD_REFUSED */
    int failed;       /* the number of the change that was refused; 0: the fence */
};

/* Takes an event. The only node is the grant's. A transaction begins on the .connection of
 * MACHINE_EV_BEGIN, which has answered something; 0: there is none. It sends a set of the node and,
 * unless that is a seal, all changes after it. */
void transaction_step(struct transaction *t, const struct machine_event *ev,
                      const struct transaction_moment *now, struct machine_actions *out);

/* Returns the number that the set leaves in the node. */
uint32_t transaction_written(const struct transaction *t);

/* Asserted after each step, and checked by the explorer. */
bool transaction_invariant(const struct transaction *t);
bool transaction_may_move(enum transaction_state from, enum transaction_state to);
const char *transaction_state_name(enum transaction_state state);

#endif
