/* What an acquisition in Curator's layout is made of, and what leased*.c do for each other. */
#ifndef LIB_LEASED_STATE_H
#define LIB_LEASED_STATE_H

#include "leased.h"
#include "lib/session/watch.h"
#include "local_callers.h"
#include "recipes/leasing.h"

/* The lock or the lease; of several leases their whole. */
struct part {
    struct leased *leased;
    char *directory;               /* GRefString */
    struct contender *contender;   /* NULL: none, or decided */
    struct multi_attempt *several; /* instead; NULL: none, or decided */
    struct contender *holder;      /* of what was granted; NULL: none, or its end was heard, or it
                                      is a whole */
    zkl_grant *grant;              /* ours; NULL: none */
    bool entering;                 /* it may be decided before its pointer is known */
    enum leasing_event_kind granted, failed, lost;
};

struct leased {
    zkl_session *session; /* which outlives it */
    struct contender_spec spec;
    uint32_t permits;          /* so many leases are taken */
    contender_decided decided; /* NULL: it was called */
    void *context;
    int refs; /* until it is decided, each check under way, each step */
    struct leasing machine;
    struct part lock, lease;
    struct subscription limit;    /* where it is followed, and the lock is held */
    zkl_error why;                /* of what failed last */
    struct timer timer;           /* to begin again */
    struct local_callers callers; /* of the session's, until it is decided */
};

void leased_unref(struct leased *l);
void leased_step(struct leased *l, const struct leasing_event *ev);

/* ---- leased_limit.c: a limit that is followed ---- */

/* Reads it, and leaves a watch; the machine is told. */
void leased_ask_limit(struct leased *l, uint32_t tag);

/* It is of no interest any more. */
void leased_drop_limit(struct leased *l);

/* The leases that are not admitted yet go by that which the machine has. */
void leased_set_limit(struct leased *l);

#endif
