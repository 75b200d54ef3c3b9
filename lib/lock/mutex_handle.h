/* What a mutex handle is made of. Only mutex*.c include this. */
#ifndef LIB_MUTEX_HANDLE_H
#define LIB_MUTEX_HANDLE_H

#include <glib.h>
#include <pthread.h>

#include "contender.h"

struct zkl_mutex {
    gint refs; /* the user's, and one for each call that waits */
    zkl_session *session;
    char *path; /* GRefString, with chroot */
    char *name; /* NULL: made for each contender */
    zkl_parents parents;
    zkl_peer peer;
    bool strict;
    zkl_key_fn key;
    void *key_data;
    pthread_mutex_t lock; /* before the monitor */
    bool freed;
    GHashTable *holds;   /* key -> struct hold */
    struct hold *recent; /* of holds: found last; NULL: none */
    struct hold *over;   /* the hold that ended last, left in the table; NULL: none */
    /* guarded by the monitor: */
    struct retained *retained; /* NULL: nothing is retained */
    GQueue waiters;            /* of zkl_op: acquiring */
    char *payload;             /* GRefString: of the thread that asked last; NULL before */
    uint64_t payload_for;      /* that thread */
    GList link;                /* in the list of all mutexes */
};

/* One owner's lock, from the call on. */
struct hold {
    uint64_t key;
    unsigned depth;   /* 0: acquiring, or over */
    zkl_grant *grant; /* ours, lent to the caller */
};

/* 0, or the error that every entry point returns first, already made the thread's last. */
int mutex_check(const zkl_mutex *m);

/* As the user sees it. */
const char *mutex_path(const zkl_mutex *m);

/* A reference less; without the monitor held. */
void mutex_unref(zkl_mutex *m);

/* The contenders of the calling thread; and what is in their nodes, a GRefString of m's. With the
 * monitor held. */
struct contender_spec mutex_spec(zkl_mutex *m);
char *mutex_payload(zkl_mutex *m);

/* Takes the hold out of the table and frees it. With m->lock held. */
void mutex_forget_hold(zkl_mutex *m, struct hold *hold);

/* Ends the hold, whatever its depth, with m->lock held. The same owner may lock again soon, and
 * finds it. last: what is retained ends with it. False: it was lost before. */
bool mutex_end_hold(zkl_mutex *m, struct hold *hold, bool last);

/* The owner's thread is ending: nobody else could ever unlock. */
void mutex_thread_ends(uint64_t owner);

#endif
