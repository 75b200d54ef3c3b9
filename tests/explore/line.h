/* The world around the fenced transactions of one grant as a flat value, for exhaustive search: one
 * node with a version and its data, a connection that breaks, sendings without an answer that are
 * applied later or never, reads that show what was, a third party. */
#ifndef EXPLORE_LINE_H
#define EXPLORE_LINE_H

#include "breadth.h"
#include "recipes/machine.h"
#include "recipes/transaction.h"

enum {
    LINE_TXS = 3,
    LINE_VERSIONS = 16,
    LINE_LATE = 8,
    LINE_FOREIGN = 0xff /* in the data */
};

enum line_broken {
    LINE_WHOLE,
    LINE_FALSE,   /* told applied, and is not */
    LINE_AFTER,   /* applied, though told that it never will be */
    LINE_TWICE,   /* applied twice */
    LINE_TOLD,    /* told twice */
    LINE_ORDER,   /* applied behind a later one */
    LINE_UNKNOWN, /* told unknown without need */
    LINE_RELEASE, /* given back, but the node stands */
    LINE_VERDICT, /* a refusal that was none, or not as it was */
    LINE_STUCK,
    LINE_BROKEN_COUNT
};

enum line_move {
    /* sooner or later */
    LINE_BEGIN, /* the next one */
    LINE_SERVE, /* what is asked, by the newest state; and the answer comes */
    LINE_CONNECT,
    LINE_SEND, /* what was not taken */
    /* perhaps never */
    LINE_MISS,    /* the same: its connection is over */
    LINE_LAG,     /* .at: the version that the reader shows */
    LINE_DECIDE,  /* .at: which of the sendings without an answer */
    LINE_TIMEOUT, /* .at: of which transaction */
    /* faults: one of the budget each */
    LINE_BREAK,  /* the connection, with what is under way */
    LINE_BUSY,   /* the next sending is not taken */
    LINE_REFUSE, /* a change of the present one */
    LINE_REFUSE_FENCE,
    LINE_REFUSE_READ,
    LINE_WRITE,  /* a third party, like the next two */
    LINE_DELETE, /* the node */
    LINE_EXPIRE, /* the session */
    LINE_LAPSE,  /* the grant, by its deadline */
    LINE_MOVES
};

enum line_asked { ASKED_NOTHING, ASKED_SEND, ASKED_SEAL, ASKED_READ };

/* A set on its way. */
struct line_set {
    uint8_t tx, number;
    bool seal;
    uint8_t version;
};

struct line_tx {
    bool told;
    uint8_t verdict; /* .told */
    uint8_t applied; /* how often */
    bool excused;    /* it may be told unknown */
};

struct line_state {
    struct transaction machine;
    struct exchange exchange;
    struct exchange_request number; /* of what is asked */
    struct line_tx txs[LINE_TXS];
    uint8_t begun; /* so many; the last of them is the present one, unless the machine is idle */
    uint8_t asked; /* enum line_asked */
    struct line_set set;
    bool unsent; /* it is asked, and was not taken yet */
    bool up, ready, busy;
    bool over, lost, gone;
    uint8_t version;
    uint8_t data[LINE_VERSIONS]; /* the number that made each version */
    uint8_t late_count;
    struct line_set late[LINE_LATE];
    uint8_t faults; /* left */
    uint8_t broken; /* enum line_broken */
};

struct line_config {
    int txs, faults;
    bool lag;
    bool release; /* the last one gives the grant back */
};

extern struct line_config line_config;

void line_init(void *state);

_Static_assert(LINE_MOVES + LINE_VERSIONS + LINE_LATE + LINE_TXS <= BREADTH_STEPS, "");
int line_list(const void *state, struct breadth_step *steps);
void line_do(void *state, struct breadth_step step);

/* Nothing but faults can happen. */
int line_check_end(const void *state); /* enum line_broken */

extern const char *const line_broken_texts[LINE_BROKEN_COUNT];
const char *line_move_text(enum line_move kind);

#endif
