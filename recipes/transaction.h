/* The fenced transactions of one grant, one under way at a time. Each begins with a set of the
 * grant's node that asks for the version which that node has: so of all sets that ask for one
 * version one is applied, and a set whose answer was lost may still come until its version is used
 * up. Whose set used it up is told by the data alone: each transaction writes a number of its own
 * there, and so does each set that only shuts out what may still come (a seal).
 *
 *  begin    version known      read, not applied yet
 *  IDLE ──> SENT ──lost──> DOUBTING ──> RESENT ──refused──> SEALING ──lost, outdated──> CHECKING
 *    │       ^ │              │ ^  lost,  │                    ^                            │
 *    └──> READING <─outdated  │ └─outdated┘                    └─────not applied yet────────┘
 *          the version        └── it was used up by another of ours: SENT
 *
 * From every state but IDLE it ends in IDLE: applied, refused, unknown. A read of the version that
 * was asked for, or of an older one, proves nothing: the reader may lag behind.
 * docs/design/transactions.md has the argument. */
#ifndef RECIPES_TRANSACTION_H
#define RECIPES_TRANSACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum transaction_state {
    TX_IDLE,     /* nothing of the last one will be sent again */
    TX_READING,  /* which version has the node? No sending of it can be applied */
    TX_SENT,     /* and no other sending of it can be applied */
    TX_DOUBTING, /* an answer was lost: reading whose set came next */
    TX_RESENT,   /* the same once more, for the same version */
    TX_SEALING,  /* refused while an earlier sending may come: the seal takes its version */
    TX_CHECKING, /* so it was lost or came too late: reading whose set came next */
    TX_COUNT
};

enum transaction_event_kind {
    TX_EV_BEGIN,
    /* answers to TX_ACT_SEND and TX_ACT_SEAL */
    TX_EV_APPLIED,
    TX_EV_OUTDATED, /* the node has a later version */
    TX_EV_REFUSED,  /* as a whole, for another reason */
    TX_EV_LOST,     /* it may have been applied, or be yet */
    TX_EV_UNSENT,   /* there is no connection: it was not sent */
    /* answers to TX_ACT_READ */
    TX_EV_READ,
    TX_EV_UNREAD, /* it is not allowed, say */
    /* to any of them */
    TX_EV_NO_NODE,
    TX_EV_GONE, /* the session is over */
    TX_EV_TIMEOUT
};

struct transaction_event {
    enum transaction_event_kind kind;
    /* as it is now: */
    bool over;  /* the node's session */
    bool lost;  /* the grant: nothing is sent for it any more */
    bool ready; /* the connection has answered something */
    /* TX_EV_BEGIN */
    bool release; /* it deletes the node in the end */
    bool told;    /* its time was over before its turn */
    /* TX_EV_OUTDATED, TX_EV_REFUSED, TX_EV_UNREAD: for TX_TOLD_REFUSED */
    int error;
    int failed; /* which change was refused; 0: the fence */
    /* TX_EV_READ */
    int32_t version;
    uint32_t number; /* in the data; 0: they are not ours */
};

enum transaction_action_kind {
    TX_ACT_READ, /* the node */
    TX_ACT_SEND, /* all changes behind a set of .number for .version */
    TX_ACT_SEAL, /* that set alone */
    TX_ACT_TELL, /* .verdict: once */
    TX_ACT_END   /* the last: the next may begin */
};

enum transaction_verdict {
    TX_TOLD_APPLIED,
    TX_TOLD_REFUSED, /* .error, .failed; like the next two: not applied, and never will be */
    TX_TOLD_LOST,    /* without the grant */
    TX_TOLD_LATE,    /* the time was over */
    TX_TOLD_UNKNOWN
};

struct transaction_action {
    enum transaction_action_kind kind;
    enum transaction_verdict verdict;
    int error, failed;
    int32_t version;
    uint32_t number;
    bool node_gone; /* TX_ACT_END */
};

enum { TRANSACTION_ACTIONS = 2 };

struct transaction_actions {
    uint32_t count;
    struct transaction_action list[TRANSACTION_ACTIONS];
};

/* So many answers may be lost or outdated. */
enum { TRANSACTION_FAILURES = 3 };

/* Of one grant. All 0: its node was just made. */
struct transaction {
    enum transaction_state state;
    bool stale;       /* .version is to be read before the next sending */
    bool loose;       /* one ended as unknown: it may still be applied while the node stands */
    int32_t version;  /* of the node: this or later */
    uint32_t numbers; /* used so far */
    /* of the present one, or the last: */
    bool release;
    bool told;
    uint32_t failures;
    int32_t asked;   /* version: its sendings that may still be applied ask for no other */
    uint32_t number; /* 0: never sent */
    uint32_t seal;   /* 0: never sent */
    int error, failed;
};

void transaction_step(struct transaction *t, const struct transaction_event *ev,
                      struct transaction_actions *out);

/* Asserted after each step, and checked by the explorer. */
bool transaction_invariant(const struct transaction *t);
bool transaction_may_move(enum transaction_state from, enum transaction_state to);
const char *transaction_state_name(enum transaction_state state);

/* What a set leaves in the node: the payload, this and its number in decimal. */
#define TRANSACTION_WORDS "\nzkl tx "

/* Where the payload ends, and the number behind it; *ret_number 0: there is none. */
size_t transaction_payload(const char *data, size_t length, uint32_t *ret_number);

#endif
