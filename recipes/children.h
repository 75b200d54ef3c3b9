/* Children of a path that are looked at again whenever they may have changed.
 *
 *   connection                      listed            found             the watch fires
 *   AWAY ──> SYNCING ──> LISTING ────────> READING ──────> SETTLED ──────────────> LISTING
 *                         ^   └─no such path─> FINDING ─┐     └─too soon─> RESTING ─┘ timer
 *                         └─────────there is──────┘ └─there is none: READING
 *
 * A refusal leads to BACKED_OFF, whose timer begins at SYNCING; so does a connection, wherever it
 * was. Without a connection it is AWAY, and OVER when it is to stop. */
#ifndef RECIPES_CHILDREN_H
#define RECIPES_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>

enum children_state {
    CHILDREN_AWAY,    /* nothing is asked: the connection begins it */
    CHILDREN_SYNCING, /* the server catches up with its leader */
    CHILDREN_LISTING,
    CHILDREN_FINDING, /* there was no such path: does it exist? */
    CHILDREN_READING, /* whoever watches reads what there is */
    CHILDREN_SETTLED, /* and has; a watch stands */
    CHILDREN_RESTING, /* which has fired: the timer lists them, not too soon */
    CHILDREN_BACKED_OFF,
    CHILDREN_OVER,
    CHILDREN_STATES
};

enum children_event_kind {
    CHILDREN_EV_BEGIN, /* there is a connection, or credentials are refused for good */
    CHILDREN_EV_TIMER,
    CHILDREN_EV_FIRED, /* a watch: they may have changed, and the server shows it */
    /* answers to SYNC, LIST and STAT */
    CHILDREN_EV_DONE,
    CHILDREN_EV_NO_NODE,
    CHILDREN_EV_GONE,    /* the session is over: the connection of the next one begins */
    CHILDREN_EV_REFUSED, /* .why; also of a read of what is in the list */
    /* of whoever watches */
    CHILDREN_EV_AGAIN,  /* list them once more: .watch */
    CHILDREN_EV_REREAD, /* only what was read is read anew: what is under way is stale */
    CHILDREN_EV_FOUND,  /* the query is over: .count children */
    CHILDREN_EV_STOP
};

enum children_refusal {
    CHILDREN_NOT_REFUSED,
    CHILDREN_DENIED, /* no permission */
    CHILDREN_ODD,    /* an answer that should not be */
    CHILDREN_LIMIT,  /* too much is watched */
    CHILDREN_OLDER   /* than what was read before */
};

struct children_event {
    enum children_event_kind kind;
    /* as it is now: */
    int64_t now; /* ns */
    bool up;     /* there is a connection */
    bool barred; /* the credentials are refused: nothing will be found any more */
    /* DONE, NO_NODE, GONE, REFUSED: as in the action, or the present one */
    uint32_t tag;
    enum children_refusal why;
    uint32_t count;
    bool watch;
};

enum children_action_kind {
    CHILDREN_ACT_BEGIN, /* whoever watches is told that a query begins */
    CHILDREN_ACT_SYNC,
    CHILDREN_ACT_LIST,    /* .watch */
    CHILDREN_ACT_STAT,    /* the path, with a watch */
    CHILDREN_ACT_LISTED,  /* whoever watches gets the list; .watch: it left one */
    CHILDREN_ACT_MISSING, /* or is told that there is no such path */
    CHILDREN_ACT_LOG,     /* .why */
    CHILDREN_ACT_FAILED,  /* whoever watches is told, once for a reason */
    CHILDREN_ACT_ARM,     /* the timer: .at */
    CHILDREN_ACT_DISARM,
    CHILDREN_ACT_STOP /* the watch goes, and the timer */
};

struct children_action {
    enum children_action_kind kind;
    bool watch;
    enum children_refusal why;
    uint32_t tag;
    int64_t at; /* ns */
};

enum { CHILDREN_ACTIONS = 4 };

struct children_actions {
    uint32_t count;
    struct children_action list[CHILDREN_ACTIONS];
};

/* All 0 but for what is set at the beginning. */
struct children {
    /* set at the beginning: */
    bool watch;            /* the first list leaves a watch; else it takes another one */
    int64_t gap, gap_each; /* from a query to the next one at least, and for each child more; ns */
    /* since then: */
    enum children_state state;
    bool listed_watch;              /* LISTING: the list leaves a watch */
    uint32_t tag;                   /* of the present query: answers to earlier ones are stale */
    int64_t not_before;             /* the next query; ns */
    int64_t back_off_ms;            /* behind the last failure; 0: there was none since */
    enum children_refusal last_why; /* told and logged */
};

void children_step(struct children *c, const struct children_event *ev,
                   struct children_actions *out);

/* Asserted after each step. */
bool children_invariant(const struct children *c);
bool children_may_move(enum children_state from, enum children_state to);
const char *children_state_name(enum children_state state);

#endif
