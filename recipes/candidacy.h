/* A candidacy: campaigns, leads, and campaigns again, until it is to stop.
 *
 *    ┌─────────failed─────────┐
 *    v                        │
 *  PAUSED ──back-off over──> QUEUED ──won──> CHECKING ──list of rivals──> LEADING ──due──> ASKED
 *                             ^  └──won, without the option yield───────────^ │              │
 *                             ├── PASSING <─higher priority waits─┘           │              │
 *                             └───────────the end of the term was told────────┴──────────────┘
 *
 * To be stopped, it goes from LEADING and ASKED to STOPPING, and to OVER when the end of the term
 * was told; from every other state to OVER at once. OVER is also where it gets without a word of
 * the user's: the credentials are refused, the session is closed, or it does not campaign again. */
#ifndef RECIPES_CANDIDACY_H
#define RECIPES_CANDIDACY_H

#include "child.h"

enum candidacy_state {
    CANDIDACY_PAUSED,   /* the timer begins the next attempt; the first begins so, too */
    CANDIDACY_QUEUED,   /* an attempt is under way */
    CANDIDACY_CHECKING, /* won, which nobody heard of: does a higher priority wait? */
    CANDIDACY_PASSING,  /* it does: the timer gives the grant back and queues at the tail */
    CANDIDACY_LEADING,  /* so was told, and the end of the term was not */
    CANDIDACY_ASKED,    /* the same, and asked to step down */
    CANDIDACY_STOPPING, /* the same, and it is the last term */
    CANDIDACY_OVER,
    CANDIDACY_STATES
};

enum candidacy_event_kind {
    CANDIDACY_EV_TIMER,
    CANDIDACY_EV_WON,    /* the attempt has a grant */
    CANDIDACY_EV_FAILED, /* it has none, nor will */
    /* of the candidates: */
    CANDIDACY_EV_LISTED,
    CANDIDACY_EV_UNLISTED,  /* it is not allowed, say */
    CANDIDACY_EV_GONE,      /* the session is over, and the grant with it */
    CANDIDACY_EV_UNWATCHED, /* what is asked for leaves no watch, as there are too many */
    CANDIDACY_EV_FIRED,     /* the watch: somebody came or went */
    CANDIDACY_EV_REVOKED,   /* the grant's node asks to give way (revoke.h) */
    CANDIDACY_EV_TERM_TOLD, /* the user has heard that the term has ended */
    /* of the user: */
    CANDIDACY_EV_YIELD,
    CANDIDACY_EV_STOP
};

enum candidacy_cause {
    CANDIDACY_CAUSE_NONE,    /* as it was asked to */
    CANDIDACY_CAUSE_ATTEMPT, /* the error of the last attempt */
    CANDIDACY_CAUSE_LOST,
    CANDIDACY_CAUSE_REFUSED, /* the credentials are */
    CANDIDACY_CAUSE_CLOSED   /* the session was */
};

struct candidacy_event {
    enum candidacy_event_kind kind;
    /* as it is now: */
    int64_t now;     /* ns */
    bool refused;    /* the credentials are */
    bool closing;    /* the session is being closed */
    bool superseded; /* the user has begun another candidacy */
    bool watched;    /* the candidates' coming and going is, or will be with the next answer */
    bool owned;      /* the grant: neither lost nor given back */
    bool released;   /* given back */
    /* CANDIDACY_EV_FAILED: REFUSED, CLOSED, or ATTEMPT for whatever may be better next time */
    enum candidacy_cause why;
    /* CANDIDACY_EV_LISTED, UNLISTED, GONE: as in the action */
    uint32_t tag;
    /* CANDIDACY_EV_LISTED */
    const char *const *names;
    int count;
    const char *own; /* name */
    /* CANDIDACY_EV_TERM_TOLD */
    bool lost;
    /* CANDIDACY_EV_STOP: the session is closed, and the user did not ask */
    bool closed;
};

enum candidacy_action_kind {
    CANDIDACY_ACT_ENTER,  /* begin an attempt; it may be decided before this returns */
    CANDIDACY_ACT_ABORT,  /* the attempt: what it says to that is ignored */
    CANDIDACY_ACT_LEAVE,  /* give back the grant that nobody heard of, and forget it */
    CANDIDACY_ACT_LEAD,   /* tell that its term begins; whatever happens to the grant is told */
    CANDIDACY_ACT_RESIGN, /* give back the grant; the user hears whether it was owned */
    CANDIDACY_ACT_FORGET, /* the grant, whose end was told */
    CANDIDACY_ACT_LIST,   /* the candidates, and leave a watch: .tag */
    CANDIDACY_ACT_IGNORE, /* them: the watch goes, and the timer */
    CANDIDACY_ACT_ARM,    /* the timer: .at */
    CANDIDACY_ACT_ASK,    /* tell that it is time to step down */
    CANDIDACY_ACT_FAIL,   /* tell the error of the last attempt */
    CANDIDACY_ACT_NOTE,   /* .cause: of the end of the last attempt or term */
    CANDIDACY_ACT_STOP    /* the last: tell that it is over, and .cause */
};

struct candidacy_action {
    enum candidacy_action_kind kind;
    enum candidacy_cause cause;
    bool behind; /* CANDIDACY_ACT_STOP: right behind the end of the term, not by the queue */
    uint32_t tag;
    int64_t at; /* ns */
};

enum { CANDIDACY_ACTIONS = 5 };

struct candidacy_actions {
    uint32_t count;
    struct candidacy_action list[CANDIDACY_ACTIONS];
};

/* How soon it is tried again, when the candidates could not be watched. */
#define CANDIDACY_RETRY_NS INT64_C(1000000000)

/* All 0 but for what is set at the beginning. */
struct candidacy {
    /* set at the beginning: */
    enum rule rule;
    bool requeue; /* it campaigns again after each term */
    bool yield;   /* to a candidate of higher priority */
    int priority;
    /* since then: */
    enum candidacy_state state;
    enum candidacy_cause cause; /* STOPPING: what is told then */
    bool higher;                /* a list of the present grant had a higher priority */
    bool revoked;               /* the present grant's node asks to give way */
    bool watched;               /* as in the event; from the next list on, at the latest */
    uint32_t tag;               /* of the newest list: answers to older ones are stale */
    int64_t back_off_ms;        /* behind the last failure; 0: there was none since the last term */
};

void candidacy_step(struct candidacy *c, const struct candidacy_event *ev,
                    struct candidacy_actions *out);

/* Asserted after each step, and checked by the explorer. */
bool candidacy_invariant(const struct candidacy *c);
bool candidacy_may_move(enum candidacy_state from, enum candidacy_state to);
const char *candidacy_state_name(enum candidacy_state state);

#endif
