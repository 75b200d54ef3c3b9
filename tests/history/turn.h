/* What a worker takes turns at: a lock, or leadership. */
#ifndef HISTORY_TURN_H
#define HISTORY_TURN_H

#include "history.h"

#include <pthread.h>
#include <stdbool.h>
#include <zkl.h>

/* TURN_CAMPAIGN asks for each term; TURN_STARTED lets the library campaign on and on; TURN_NOTHING
 * asks for nothing, and gets no grant. */
enum turn_kind {
    TURN_LOCK,
    TURN_SEVERAL,
    TURN_RWLOCK,
    TURN_PERMITS,
    TURN_NUMBERED,
    TURN_ONCE,
    TURN_CAMPAIGN,
    TURN_STARTED,
    TURN_NOTHING
};

enum { TURN_LIMIT = 4 }; /* permits of each semaphore */

struct turn {
    enum turn_kind kind;
    zkl_mutex *mutex;
    zkl_multilock *several;
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore;
    zkl_election *election;
    zkl_once *once;
    zkl_grant *own; /* of a kind whose grants are owned */
    bool gives_up;  /* TURN_ONCE: the run is not recorded */
    int recorded;   /* TURN_ONCE: what the last recording answered */
    /* Only TURN_STARTED has these: */
    pthread_mutex_t monitor;
    pthread_cond_t changed;
    const zkl_grant *lent;
    bool taken; /* lent, and the worker still uses it */
    int failed; /* the code of a campaign that failed */
};

struct turn_options {
    enum turn_kind kind;
    int64_t retain_ms; /* of a lock */
    zkl_session *session;
    const char *const *paths;
    size_t count;   /* more than one for TURN_SEVERAL */
    const char *id; /* of a candidate */
};

/* They answer as the library does. What is made stands still in memory to the session's end. */
int turn_new(struct turn *t, const struct turn_options *o);
int turn_take(struct turn *t, const claim *c,
              const zkl_grant **ret); /* waits; lent until given back */

int turn_give(struct turn *t);
void turn_free(struct turn *t);

#endif
