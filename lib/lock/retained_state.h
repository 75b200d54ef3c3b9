/* What a handle that retains is made of. Only retained*.c include this. */
#ifndef LIB_RETAINED_STATE_H
#define LIB_RETAINED_STATE_H

#include "locks.h"
#include "retained.h"

struct turn_waiter {
    struct retained *retained;
    struct turn_caller caller;
    grant_decided decided;
    void *context;
    GList link;
};

struct retained {
    unsigned refs; /* the handle's, and one while it has a node, an attempt or who waits */
    struct retain machine;
    zkl_session *session;
    struct locks *all; /* of the session */
    struct contender_spec spec;
    struct contender *attempt; /* NULL: none, or decided */
    struct contender *holder;  /* of the span; NULL: none */
    struct tenure *span;       /* ours, with the holder */
    zkl_grant *spare;          /* the last turn, to be used again */
    uint64_t owner;            /* of the last turn, if it may come again */
    bool was_new;              /* it may not */
    zkl_error error;           /* the attempt's */
    uint32_t connection;       /* that the attempt began on; 0: none */
    GQueue waiting;            /* of struct turn_waiter */
    struct timer timer;
    struct local_callers callers;
    GList idle_link;          /* in the session's list */
    struct turn_waiter quick; /* of retained_take() */
    GArray *pending;          /* of struct retain_event: while another is being stepped */
    bool stepping;
    bool over; /* the span ends without our doing */
    bool listed_idle;
    bool busy;     /* has the second reference */
    bool entering; /* in contender_enter() */
};

/* Gives the machine an event and does what it asks; one that comes out of a step waits for its end.
 */
void retained_step(struct retained *r, struct retain_event ev);

/* What a caller was waiting for. */
void retained_decide(struct turn_waiter *w, zkl_grant *turn, const zkl_error *error);

bool retained_is_last_owner(const struct retained *r, const struct turn_caller *caller);

/* What turns tell. */
extern const struct grant_ops retained_turns;

/* ev->now and .sure. */
void retained_read_clock(const struct retained *r, struct retain_event *ev);

#endif
