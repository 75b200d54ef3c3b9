/* A lock that stays with the handle that used it last: one value is one mutex handle that retains.
 * A *tenure* lasts from the grant of one node of the handle to its delete; a *turn* is one local
 * grant on it. A *rival* is any contender that is not the handle's.
 *
 *            a caller             granted             unlock, nobody local waits
 *   NONE ───────────────> ENTERING ───────> TURN ─────────────────────────────> IDLE
 *    ^                        ^              ^ │ ^  unlock, a local waiter may pass │
 *    │                        │              └─┘ └──────────── a caller ────────────┤
 *    └── the tenure ends, nobody local waits; otherwise ENTERING, with another node ──┘
 *
 * A tenure ends when a rival waits (at once if it is idle; if it is used, after the local waiters
 * that may go first), when it was idle for retain_ns, when the node or its session is gone, or when
 * it must: see RETAIN_EV_UNLOCK. No turn begins while the session is in doubt: it is disconnected,
 * or a proof of its deadline is overdue. docs/design/retained.md has the argument. */
#ifndef RECIPES_RETAIN_H
#define RECIPES_RETAIN_H

#include "payoff.h"

#include <stdbool.h>
#include <stdint.h>

enum retain_state {
    RETAIN_NONE,     /* no node, nobody local waits */
    RETAIN_ENTERING, /* an attempt is under way for those who wait here */
    RETAIN_TURN,     /* the node holds, and a caller here has the turn */
    RETAIN_IDLE,     /* the node holds for nobody */
    RETAIN_STATES
};

enum retain_event_kind {
    RETAIN_EV_LOCK,    /* a caller has come, the last of those who wait here */
    RETAIN_EV_GAVE_UP, /* a caller that waits has left; .first: it was the first of them */
    RETAIN_EV_UNLOCK,  /* the turn is over; .must_end: the node cannot serve another one */
    RETAIN_EV_GRANTED, /* .waited, .delayed; .others: others wait; .watched: a watch will show
                          newcomers */
    RETAIN_EV_FAILED,  /* the attempt has failed; .busy: it was a try, and others are first */
    RETAIN_EV_LOOKED,  /* the answer to ACT_LOOK of this tenure: .others, .watched */
    RETAIN_EV_RIVAL,   /* another contender has come, or the tenure is asked to give way */
    RETAIN_EV_PROVED,  /* the session is not in doubt any more */
    RETAIN_EV_ENDED,   /* the node is not ours any more, or its deadline has passed */
    RETAIN_EV_TIMER,   /* ACT_ARM came due */
    RETAIN_EV_YIELD,   /* an idle tenure is to end */
    RETAIN_EV_CLOSE    /* nobody waits, nor will anybody come any more */
};

/* Times are ns of one clock. */
struct retain_event {
    enum retain_event_kind kind;
    int64_t now;
    bool sure;  /* the deadline is ahead, and no doubt: found out in this call */
    bool same;  /* the first waiter is the owner of the last turn; for fence64 */
    bool tries; /* LOCK: the caller does not wait for others */
    bool first;
    bool must_end; /* UNLOCK: the grant was lost, or given back by a transaction, or one is under
                      way, or the thread has ended */
    bool waited;   /* GRANTED: the contender had to wait */
    bool delayed;  /* GRANTED: there was not one connection all the time */
    bool others;
    bool watched; /* if neither is set, nobody could find out */
    bool busy;
};

enum retain_action_kind {
    RETAIN_ACT_TURN,  /* the first waiter has the turn .turn, and does not wait any more */
    RETAIN_ACT_BUSY,  /* the waiter that tries (.last: the caller) is refused, and does not wait any
                         more */
    RETAIN_ACT_ENTER, /* begin an attempt; .tries; .watch: its first list leaves a watch */
    RETAIN_ACT_ABANDON, /* end the attempt under way: nobody waits for it */
    RETAIN_ACT_LOOK,    /* list the children, with a watch: RETAIN_EV_LOOKED */
    RETAIN_ACT_END,     /* end the tenure: delete the node, if it is still ours */
    RETAIN_ACT_FAIL,    /* the first waiter gets the attempt's error, and does not wait any more */
    RETAIN_ACT_ARM      /* RETAIN_EV_TIMER at .at */
};

struct retain_action {
    enum retain_action_kind kind;
    uint64_t turn;
    int64_t at;
    bool tries;
    bool watch;
    bool last;
};

enum { RETAIN_ACTIONS = 4 };

struct retain_actions {
    uint32_t count;
    struct retain_action list[RETAIN_ACTIONS];
};

/* How long local waiters still go first after a rival has come; ns. */
#define RETAIN_GATE_NS INT64_C(50000000)

struct retain {
    /* set at the beginning */
    int64_t retain_ns;    /* for how many ns an idle tenure lasts, above 0 */
    uint32_t local_turns; /* how many local waiters go before a rival */
    bool fence64;         /* a tenure serves one owner */

    enum retain_state state;
    bool trying;  /* the first waiter does not wait for others */
    bool left;    /* ENTERING: the attempt was begun for a waiter that has left */
    bool wanted;  /* a rival waits; until the end of the tenure */
    bool watched; /* a watch will show newcomers */
    bool looking; /* ACT_LOOK is not answered */
    bool armed;   /* ACT_ARM is not answered; a tenure that ends takes it back */
    bool closed;
    bool alone;       /* the last list showed nobody else */
    uint32_t waiting; /* callers that wait here, in order */
    uint32_t gate;    /* how many of them still go before the rival */
    uint64_t turn;    /* the number of the turn in this tenure, from 0 */
    int64_t begun;    /* when its first turn began */
    int64_t used;     /* when its last turn ended */
    int64_t heard;    /* when the handle was told of the rival */
    struct payoff payoff;
};

/* Sets all members but those that are set at the beginning. */
void retain_init(struct retain *r);

/* Takes one event, and appends to *out (emptied first) what is to be done, in that order. */
void retain_step(struct retain *r, const struct retain_event *ev, struct retain_actions *out);

/* Whether r is consistent: asserted after each step. */
bool retain_invariant(const struct retain *r);

/* Whether the move is one of the diagram above. */
bool retain_may_move(enum retain_state from, enum retain_state to);

const char *retain_state_name(enum retain_state state);

#endif
