/* Work that is run once, once a period, or once for each instant of a calendar: what is recorded of
 * it, when it is due, and how a caller comes to the right to run it.
 *
 *   a reset: READING ──> SETTLING, if an earlier delete may still be done ──────> OVER
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

/* The record's node, below the path of the work. */
#define ONCE_NODE "/record"

/* The first words of a record. " BEGUN DUE TOKEN LENGTH\n" follows, in decimal; then LENGTH bytes
 * that say who ran it, and the result. */
#define ONCE_WORDS "zkl once 1"

/* The first words of the record of a calendar's run. " BEGUN DUE TOKEN LENGTH INSTANT LOCAL
 * LENGTH\n" follows; then who ran it, the calendar with its zone, and the result. */
#define ONCE_CALENDAR_WORDS "zkl once 2"

/* A record. Instants are in ms since 1970, by the servers' clocks. */
struct once_record {
    uint64_t begun;
    uint64_t due;   /* when the next run is due; 0: never */
    uint64_t token; /* of the grant under which it was run */
    /* of a calendar: */
    /* the instant that the run was for, and what the zone's clocks showed then */
    uint64_t instant, local;
    const char *series;   /* the calendar and its zone */
    size_t series_length; /* 0: it has none */
    const char *name;
    size_t name_length;
    const char *result;
    size_t length;
};

/* Returns false, and an empty *ret, if the data are no record. *ret points into data. */
bool once_record_read(const char *data, size_t length, struct once_record *ret);

/* ---- when it is due ---- */

struct once_plan {
    uint64_t period_ms; /* 0: once for all time, or by a calendar */
    uint64_t slack_ms;  /* how long before it is due a run may begin */
    uint64_t late_ms;   /* of a calendar: how long after its instant a run may begin */
};

/* How the present time of the servers' clocks compares with the record. */
enum once_jump {
    ONCE_STEADY = 0,
    ONCE_AHEAD, /* a whole period or more, or an instant of the calendar, has had no run that
                   succeeded: nobody has called, each run has failed, or a clock has jumped */
    ONCE_BACK   /* now is a period or more before the last run began, or before the instant that it
                   was for: not due until the clock is there */
};

/* Whether the work is due, and how now compares with the record. now: ms since 1970. r NULL: there
 * is no record. */
bool once_is_due(const struct once_plan *p, const struct once_record *r, uint64_t now);
enum once_jump once_jumped(const struct once_plan *p, const struct once_record *r, uint64_t now);

/* Returns when the next run is due, if a run that is due begins now; ms since 1970; 0: never. */
uint64_t once_next_due(const struct once_plan *p, const struct once_record *r, uint64_t now);

/* Whether the record is of another series: its series is not that, or its zone had another offset.
 * series NULL: a period, or neither. offset: what this host knows of the zone for that instant, in
 * minutes. */
bool once_is_foreign(const struct once_record *r, const char *series, int32_t offset);

/* ---- a caller ---- */

enum once_state {
    ONCE_IDLE,
    ONCE_READING,
    ONCE_QUEUED,
    ONCE_TOUCHING,
    ONCE_JUDGING,
    ONCE_OVER,
    ONCE_SETTLING, /* a reset is answered, but an earlier delete may still be done: as
                      BARRIER_CALL_SETTLING in recipes/barrier.h */
    ONCE_EARLY,    /* the instant of the calendar is close: waits for it */
    ONCE_STATES
};

enum once_goal {
    ONCE_CALL,
    ONCE_LOOK, /* reads the record */
    ONCE_RESET /* deletes the record */
};

/* Events of a recipe's own, which tell of the contender. */
enum {
    ONCE_EV_WAITS = MACHINE_EV_OWN, /* others are ahead; told each time that it begins to wait */
    ONCE_EV_FIRST,                  /* it has the lock */
    ONCE_EV_FAILED,                 /* it does not have the lock, and will not get it */
    ONCE_EV_LOST                    /* it had the lock, and has lost it */
};

enum once_node { ONCE_RECORD, ONCE_OWN /* the own node */ };

enum once_verdict {
    ONCE_ENTER,   /* not the end: the caller contends for the lock */
    ONCE_GONE,    /* not the end: the own node is gone */
    ONCE_RUN,     /* the caller is to run it: .now, .next_due, .version */
    ONCE_DONE,    /* the work needs no run, as the record that was read last says; or the reset is
                     done, or the record was read */
    ONCE_NONE,    /* LOOK: there is no record */
    ONCE_OVERDUE, /* too late for the last instant of the calendar, which has had no run */
    ONCE_ODD,     /* the data of the record's node are no record */
    ONCE_FOREIGN, /* the record is of another series */
    ONCE_REFUSED, /* the server refused a request: .rc */
    ONCE_FAILED,  /* the contender has failed, which knows why */
    ONCE_STOPPED
};

/* What the driver knows of the node that was read. */
struct once_moment {
    bool odd;                         /* GET: the data are no record */
    bool foreign;                     /* the record is, as once_is_foreign() says */
    const struct once_record *record; /* the record that was read last; NULL: there is none */
    const struct calendar_aim *aim;   /* JUDGING: the aim of a call at once.now; QUEUED: of one when
                                         the record was written; NULL: there is no calendar */
    int64_t boot;                     /* CLOCK_BOOTTIME, ns */
};

/* Returns what a caller that has the lock has to do: ONCE_RUN, ONCE_DONE, ONCE_OVERDUE,
 * ONCE_FOREIGN, ONCE_ODD; or ONCE_ENTER: to wait for the instant that m->aim has. now: ms since
 * 1970. */
enum once_verdict once_judged(const struct once_plan *p, const struct once_moment *m, uint64_t now);

/* All 0 but for .goal and .plan. */
struct once {
    enum once_goal goal;
    struct once_plan plan;
    enum once_state state;
    enum store_rc refused; /* RESET: why it was refused; STORE_OK: it was not */
    uint64_t seen;     /* the mzxid of the record before the caller contended; 0: there was none */
    uint64_t now;      /* from JUDGING on: the present time, ms since 1970 */
    uint64_t next_due; /* ONCE_RUN: when the next run is due, for the record; 0: never */
    int32_t version;   /* ONCE_RUN: the version of the record; -1: there is none */
    enum once_jump jumped; /* how the clocks compared with the record when it was judged */
};

void once_step(struct once *o, const struct machine_event *ev, const struct once_moment *m,
               struct machine_actions *out);

bool once_invariant(const struct once *o);
bool once_may_move(enum once_state from, enum once_state to);
const char *once_state_name(enum once_state state);

#endif
