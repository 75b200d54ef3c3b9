/* A candidacy: campaigns, leads, and campaigns again, until it is to stop.
 *
 *    ┌─────────failed─────────┐
 *    v                        │
 *  PAUSED ──back-off over──> QUEUED ──won──> CHECKING ──list of rivals──> LEADING ──due──> ASKED
 *                             ^  └──won, without the option yield───────────^ │              │
 *                             ├── PASSING <─higher priority waits─┘           │              │
 *                             └───────────the end of the term was told────────┴──────────────┘
 *
 * A stop leads from LEADING and ASKED to STOPPING, and to OVER when the end of the term was told;
 * from every other state it leads to OVER at once. Without a stop a candidacy is OVER if the
 * credentials are refused, if the session is closed, or if it does not campaign again. */
#ifndef RECIPES_CANDIDACY_H
#define RECIPES_CANDIDACY_H

#include "machine.h"
#include "rule.h"

enum candidacy_state {
    CANDIDACY_PAUSED,   /* the timer begins the next attempt; the first begins so, too */
    CANDIDACY_QUEUED,   /* an attempt is under way */
    CANDIDACY_CHECKING, /* it has won, which nobody was told: does a higher priority wait? */
    CANDIDACY_PASSING, /* a higher priority waits: the timer gives the grant back, and queues at the
                          tail */
    CANDIDACY_LEADING, /* the user was told that it leads, but not yet that the term has ended */
    CANDIDACY_ASKED,   /* the same, and the user was asked to step down */
    CANDIDACY_STOPPING, /* it leads, and this is its last term */
    CANDIDACY_OVER,
    CANDIDACY_STATES
};

/* Events of its own. MACHINE_EV_STOP is the user's, or the session's end. */
enum {
    CANDIDACY_EV_WON = MACHINE_EV_OWN, /* the attempt has a grant */
    CANDIDACY_EV_FAILED,               /* the attempt has ended without a grant */
    CANDIDACY_EV_REVOKED,              /* the grant's node asks to give way (payload.h) */
    CANDIDACY_EV_TERM_TOLD,            /* the user was told that the term has ended */
    CANDIDACY_EV_YIELD                 /* the user ends the term, and campaigns again */
};

/* The only node: the directory of the candidates. */
enum { CANDIDACY_DIRECTORY };

enum candidacy_cause {
    CANDIDACY_CAUSE_NONE,    /* it was asked to end */
    CANDIDACY_CAUSE_ATTEMPT, /* the last attempt has failed */
    CANDIDACY_CAUSE_LOST,
    CANDIDACY_CAUSE_REFUSED, /* the credentials are refused */
    CANDIDACY_CAUSE_CLOSED   /* the session was closed */
};

/* What the driver is told to do; .why of the last three is enum candidacy_cause. */
enum candidacy_tell {
    CANDIDACY_ENTER,  /* begin an attempt */
    CANDIDACY_ABORT,  /* end the attempt; what comes of that is ignored */
    CANDIDACY_LEAVE,  /* give back the grant that nobody was told of, and forget it */
    CANDIDACY_LEAD,   /* tell that its term begins, and from now on what happens to the grant */
    CANDIDACY_RESIGN, /* give back the grant, and tell the user whether it was owned */
    CANDIDACY_FORGET, /* forget the grant, whose end was told */
    CANDIDACY_ASK,    /* tell that it is time to step down */
    CANDIDACY_FAIL,   /* tell the error of the last attempt */
    CANDIDACY_NOTE,   /* store the cause of the end of the last attempt or term */
    CANDIDACY_STOP,   /* the last: tell that it is over, and the cause */
    CANDIDACY_STOP_AT_ONCE /* the same, but in the callback that told the end of the term, not by
                              the queue */
};

/* What the driver knows when it delivers an event. */
struct candidacy_moment {
    int64_t now;     /* ns */
    bool refused;    /* the credentials are refused */
    bool closing;    /* the session is being closed */
    bool superseded; /* the user has begun another candidacy */
    bool owned;      /* the grant is neither lost nor given back */
    bool released;   /* the grant was given back */
    /* FAILED: REFUSED, CLOSED, or ATTEMPT for what may be better next time */
    enum candidacy_cause why;
    bool lost;   /* TERM_TOLD: the grant was lost */
    bool closed; /* MACHINE_EV_STOP: the session is closed, and the user did not ask */
    /* the list of an answer: */
    const char *const *names;
    size_t count;
    const char *own; /* the name of the grant's node */
};

/* After this time the candidates are listed again, if they could not be watched; ns. */
#define CANDIDACY_RETRY_NS INT64_C(1000000000)

/* All 0 but for what is set at the beginning. */
struct candidacy {
    /* set at the beginning: */
    enum rule rule;
    bool once;  /* it stops after one term */
    bool yield; /* it gives way to a candidate of higher priority */
    int priority;
    /* since then: */
    enum candidacy_state state;
    enum candidacy_cause cause; /* STOPPING: what is told then */
    bool higher;                /* a list of the present grant had a higher priority */
    bool revoked;               /* the present grant's node asks to give way */
    bool watched;               /* a watch on the candidates is set, or will be with the answer */
    int64_t back_off_ms;        /* after the last failure; 0: there was none since the last term */
};

void candidacy_step(struct candidacy *c, const struct machine_event *ev,
                    const struct candidacy_moment *moment, struct machine_actions *out);

/* Asserted after each step, and checked by the explorer. */
bool candidacy_invariant(const struct candidacy *c);
bool candidacy_may_move(enum candidacy_state from, enum candidacy_state to);
const char *candidacy_state_name(enum candidacy_state state);

#endif
