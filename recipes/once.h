/* Work that is run once, once a period, or once for each instant of a calendar: what is recorded of
 * it, when it is due, and how a caller comes to the right to run it.
 *
 *   IDLE ──> READING ──it is recorded, and is never due again──────────────────> OVER
 *             ^  │else                                                            ^
 *             │  v                                                                │
 *             │ QUEUED ──a run was recorded in between────────────────────────────┤
 *             │  │ in line for the lock; not first, with a watch on the record    │
 *             │  v first                                                          │
 *             ├─TOUCHING ──> JUDGING ──due: the caller may run it; or not due─────┘
 *       lost  │  the time     the record, under the lock
 *             ├──now───────────┤
 *             └─────────────── EARLY: an instant of the calendar is close; then TOUCHING again
 *
 * A caller who only looks, or resets, is OVER after READING. It is OVER from every state when it is
 * refused or stopped. Now is the mtime of a set of the own node, so by the servers' clocks. The
 * lock is kept while it is TOUCHING, JUDGING and EARLY.
 * docs/design/once.md has the argument. */
#ifndef RECIPES_ONCE_H
#define RECIPES_ONCE_H

#include "calendar.h"
#include "machine.h"

/* ---- the record ---- */

/* Below the path of the work. */
#define ONCE_NODE "/record"

/* Then come " BEGUN DUE TOKEN LENGTH\n" in decimal, LENGTH bytes that say who ran it, and the
 * result. */
#define ONCE_WORDS "zkl once 1"

/* The same of a calendar's run: " BEGUN DUE TOKEN LENGTH INSTANT LOCAL LENGTH\n", who ran it, and
 * the calendar with its zone. */
#define ONCE_CALENDAR_WORDS "zkl once 2"

/* Instants are ms since 1970 by the servers' clocks. */
struct once_record {
    uint64_t begun;
    uint64_t due;   /* the next run; 0: never */
    uint64_t token; /* of the grant under which it was run */
    /* of a calendar: */
    uint64_t instant, local; /* that was meant, and what the zone's clocks showed then */
    const char *series;      /* the calendar and its zone */
    size_t series_length;    /* 0: it has none */
    const char *name;
    size_t name_length;
    const char *result;
    size_t length;
};

/* False: the data are no record. *ret points into data. */
bool once_record_read(const char *data, size_t length, struct once_record *ret);

/* ---- when it is due ---- */

struct once_plan {
    uint64_t period_ms; /* 0: once for all, or by a calendar */
    uint64_t slack_ms;
    uint64_t late_ms; /* of a calendar: how long after its instant a run may begin */
};

/* By how much the servers' clocks seem to have jumped since the record was made. */
enum once_jump {
    ONCE_STEADY = 0,
    ONCE_AHEAD, /* a whole period or more, or an instant of the calendar, has had no run: nobody
                   called, or a clock jumped */
    ONCE_BACK   /* a period or more before the last run began, or before the instant that it was
                   for: not due until the clock is there */
};

/* r NULL: there is no record. */
bool once_is_due(const struct once_plan *p, const struct once_record *r, uint64_t now);
enum once_jump once_jumped(const struct once_plan *p, const struct once_record *r, uint64_t now);

/* The instant at which the next run is due, if one that is due begins now. 0: never. */
uint64_t once_next_due(const struct once_plan *p, const struct once_record *r, uint64_t now);

/* Whether the record is none of that series, or NULL for a period or none; or the zone's clocks
 * have showed another time when it was made. offset: what this host has for that, in minutes. */
bool once_is_foreign(const struct once_record *r, const char *series, int32_t offset);

/* ---- a caller ---- */

enum once_state {
    ONCE_IDLE,
    ONCE_READING,
    ONCE_QUEUED,
    ONCE_TOUCHING,
    ONCE_JUDGING,
    ONCE_OVER,
    ONCE_SETTLING, /* a reset: as BARRIER_CALL_SETTLING in recipes/barrier.h */
    ONCE_EARLY,    /* the instant of the calendar is close, and it waits for that */
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
    ONCE_OVERDUE, /* too late for the last instant of the calendar, which has no run */
    ONCE_ODD,     /* what is there is no record */
    ONCE_FOREIGN, /* it is the record of another series */
    ONCE_REFUSED, /* .rc */
    ONCE_FAILED,  /* as the contender was told */
    ONCE_STOPPED
};

/* What the driver knows of the node that was read. */
struct once_moment {
    bool odd;                         /* GET: the data are no record */
    bool foreign;                     /* the record is, as once_is_foreign() says */
    const struct once_record *record; /* that was read last; NULL: there is none */
    const struct calendar_aim *aim;   /* JUDGING: of .now; QUEUED: of when the record was written;
                                         NULL: there is no calendar */
    int64_t boot;                     /* CLOCK_BOOTTIME, ns */
};

/* What there is to do for a caller that has the lock: ONCE_RUN, ONCE_DONE, ONCE_OVERDUE,
 * ONCE_FOREIGN, ONCE_ODD, or ONCE_ENTER: to wait for the instant that m aims at. */
enum once_verdict once_judged(const struct once_plan *p, const struct once_moment *m, uint64_t now);

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
