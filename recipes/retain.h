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
 * A tenure ends when a rival waits (at once if it is idle, behind the gate if it is used), when it
 * was idle for retain_ns, when the node or its session is gone, or when it must: see
 * RETAIN_EV_UNLOCK. While the session is in doubt no turn begins. docs/design/retained.md has the
 * argument. */
#ifndef RECIPES_RETAIN_H
#define RECIPES_RETAIN_H

#include "payoff.h"

#include <stdbool.h>
#include <stdint.h>

enum retain_state {
    RETAIN_NONE,     /* no node, nobody local waits */
    RETAIN_ENTERING, /* an attempt is under way for those who wait here */
    RETAIN_TURN,     /* the node holds, and somebody here has it */
    RETAIN_IDLE,     /* the node holds for nobody */
    RETAIN_STATES
};

enum retain_event_kind {
    RETAIN_EV_LOCK,    /* a caller has come, the last of those who wait here */
    RETAIN_EV_GAVE_UP, /* one who waits has left; .first: it was the first of them */
    RETAIN_EV_UNLOCK,  /* the turn is over: .must_end if the node cannot serve another one */
    RETAIN_EV_GRANTED, /* .waited, .delayed, .others: somebody waits, .watched: newcomers will be
                          heard */
    RETAIN_EV_FAILED,  /* the attempt: .busy if it tried and others are first */
    RETAIN_EV_LOOKED,  /* what ACT_LOOK of this tenure has found: .others, .watched */
    RETAIN_EV_RIVAL,   /* another contender has come, or the tenure is asked to give way */
    RETAIN_EV_PROVED,  /* the doubt is over */
    RETAIN_EV_ENDED,   /* the node is not ours any more, or its deadline has passed */
    RETAIN_EV_TIMER,   /* ACT_ARM came due */
    RETAIN_EV_YIELD,   /* an idle tenure is to end */
    RETAIN_EV_CLOSE    /* nobody waits, nor will anybody come any more */
};

/* Times are ns of one clock. */
struct retain_event {
    enum retain_event_kind kind;
    int64_t now;
    bool sure;  /* the deadline is ahead and the session not in doubt: asked in this very call */
    bool same;  /* of who waits first, for fence64: it is the owner of the last turn */
    bool tries; /* LOCK: it does not wait for others */
    bool first;
    bool must_end; /* UNLOCK: lost, given back by a transaction, one under way, the thread ended */
    bool waited;
    bool delayed; /* GRANTED: there was not one connection all the while */
    bool others;
    bool watched; /* neither: it could not be found out */
    bool busy;
};

enum retain_action_kind {
    RETAIN_ACT_TURN,  /* who waits first has the turn .turn, and does not wait any more */
    RETAIN_ACT_BUSY,  /* who tries (with .last the caller) is refused and does not wait any more */
    RETAIN_ACT_ENTER, /* begin an attempt: .tries, .watch: its first list leaves a watch */
    RETAIN_ACT_ABANDON, /* the attempt under way: nobody waits for it */
    RETAIN_ACT_LOOK,    /* list, leaving a watch on the children: RETAIN_EV_LOOKED */
    RETAIN_ACT_END,     /* the tenure: delete the node, if it is still ours */
    RETAIN_ACT_FAIL,    /* who waits first gets the attempt's error, and does not wait any more */
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

/* Local waiters go first that long after a rival was heard of, and no longer. */
#define RETAIN_GATE_NS INT64_C(50000000)

struct retain {
    /* set at the beginning */
    int64_t retain_ns;    /* how long an idle tenure lasts, above 0 */
    uint32_t local_turns; /* how many local waiters go before a rival */
    bool fence64;         /* a tenure serves one owner */

    enum retain_state state;
    bool trying;  /* who waits first does not wait for others */
    bool left;    /* ENTERING: the attempt was begun for one who has left */
    bool wanted;  /* a rival waits: for the rest of the tenure */
    bool watched; /* whoever comes will be heard */
    bool looking; /* ACT_LOOK is not answered */
    bool armed;   /* ACT_ARM is not answered; a tenure that ends takes it back */
    bool closed;
    bool alone;       /* the last list showed nobody else */
    uint32_t waiting; /* callers that wait here, in order */
    uint32_t gate;    /* so many of them still go before the rival */
    uint64_t turn;    /* of this tenure, from 0 */
    int64_t first;    /* when its first turn began */
    int64_t used;     /* when its last turn ended */
    int64_t heard;    /* when the rival was heard of */
    struct payoff payoff;
};

/* All but the configuration. */
void retain_init(struct retain *r);

/* Takes one event, appends what is to be done to *out (emptied first), in the order in which it is
 * to be done. */
void retain_step(struct retain *r, const struct retain_event *ev, struct retain_actions *out);

/* Whether r is consistent: asserted after each step. */
bool retain_invariant(const struct retain *r);

/* Whether the move is one of the diagram above. */
bool retain_may_move(enum retain_state from, enum retain_state to);

const char *retain_state_name(enum retain_state state);

#endif
