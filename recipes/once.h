/* Work that is run once, or once for each due instant: what is recorded of it, when it is due, and
 * how a caller comes to the right to run it.
 *
 *   IDLE ──> READING ──it is recorded, and is never due again──────────────────> OVER
 *             ^  │else                                                            ^
 *             │  v                                                                │
 *             │ QUEUED ──a run was recorded in between────────────────────────────┤
 *             │  │ in line for the lock; not first, with a watch on the record    │
 *             │  v first                                                          │
 *             ├─TOUCHING ──> JUDGING ──due: the caller may run it; or not due─────┘
 *       lost  │  the time     the record, under the lock
 *             └──now───────────┘
 *
 * A caller who only looks, or resets, is OVER after READING. It is OVER from every state when it is
 * refused or stopped. Now is the mtime of a set of the own
 * node, so by the servers' clocks. The lock is kept while it is TOUCHING and JUDGING.
 * docs/design/once.md has the argument. */
#ifndef RECIPES_ONCE_H
#define RECIPES_ONCE_H

#include "machine.h"

/* ---- the record ---- */

/* Below the path of the work. */
#define ONCE_NODE "/record"

/* Then come " BEGUN DUE TOKEN LENGTH\n" in decimal, LENGTH bytes that say who ran it, and the
 * result. */
#define ONCE_WORDS "zkl once 1"

/* Instants are ms since 1970 by the servers' clocks. */
struct once_record {
    uint64_t begun;
    uint64_t due;   /* the next run; 0: never */
    uint64_t token; /* of the grant under which it was run */
    const char *name;
    size_t name_length;
    const char *result;
    size_t length;
};

/* False: the data are no record. *ret points into data. */
bool once_record_read(const char *data, size_t length, struct once_record *ret);

/* ---- when it is due ---- */

struct once_plan {
    uint64_t period_ms; /* 0: once for all */
    uint64_t slack_ms;
};

/* By how much the servers' clocks seem to have jumped since the record was made. */
enum once_jump {
    ONCE_STEADY = 0,
    ONCE_AHEAD, /* a whole period or more has had no run: nobody called, or a clock jumped */
    ONCE_BACK   /* a period or more before the last run began: not due until the clock is there */
};

/* r NULL: there is no record. */
bool once_is_due(const struct once_plan *p, const struct once_record *r, uint64_t now);
enum once_jump once_jumped(const struct once_plan *p, const struct once_record *r, uint64_t now);

/* The instant at which the next run is due, if one that is due begins now. 0: never. */
uint64_t once_next_due(const struct once_plan *p, const struct once_record *r, uint64_t now);

/* ---- a caller ---- */

enum once_state {
    ONCE_IDLE,
    ONCE_READING,
    ONCE_QUEUED,
    ONCE_TOUCHING,
    ONCE_JUDGING,
    ONCE_OVER,
    ONCE_SETTLING, /* a reset: as BARRIER_CALL_SETTLING in recipes/barrier.h */
    ONCE_STATES
};

enum once_goal {
    ONCE_CALL,
    ONCE_LOOK, /* at the record */
    ONCE_RESET /* deletes it */
};

/* Events of its own, about the contender. */
enum {
    ONCE_EV_WAITS = MACHINE_EV_OWN, /* others are ahead; once for each time that it finds them */
    ONCE_EV_FIRST,                  /* it has the lock */
    ONCE_EV_FAILED,                 /* it has not, and will not have it */
    ONCE_EV_LOST                    /* it had the lock, and has lost it */
};

enum once_node { ONCE_RECORD, ONCE_OWN /* the contender's */ };

enum once_verdict {
    ONCE_ENTER,   /* not the end: the caller comes into line for the lock */
    ONCE_GONE,    /* not the end: the contender's node is */
    ONCE_RUN,     /* the caller is to run it: .now, .next_due, .version */
    ONCE_DONE,    /* it needs no run, as the record read last says; or as was asked */
    ONCE_NONE,    /* LOOK: there is no record */
    ONCE_ODD,     /* what is there is no record */
    ONCE_REFUSED, /* .rc */
    ONCE_FAILED,  /* as the contender was told */
    ONCE_STOPPED
};

/* What the driver knows of the node that was read. */
struct once_moment {
    bool odd;                         /* GET: the data are no record */
    const struct once_record *record; /* that was read last; NULL: there is none */
};

/* All 0 but for .goal and .plan. */
struct once {
    enum once_goal goal;
    struct once_plan plan;
    enum once_state state;
    enum store_rc refused; /* RESET, answered: why; STORE_OK: it was not */
    uint64_t seen;         /* the mzxid of the record before the caller came into line; 0: none */
    uint64_t now;          /* JUDGING, and when it is to run */
    uint64_t next_due;     /* when it is to run: what to record; 0: never */
    int32_t version;       /* of the record, when it is to run; -1: there is none */
    enum once_jump jumped; /* when it was judged */
};

void once_step(struct once *o, const struct machine_event *ev, const struct once_moment *m,
               struct machine_actions *out);

bool once_invariant(const struct once *o);
bool once_may_move(enum once_state from, enum once_state to);
const char *once_state_name(enum once_state state);

#endif
