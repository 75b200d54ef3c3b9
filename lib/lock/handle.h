/* What the handles of all blocking locks have in common: owners and their levels, who waits,
 * threads that end, forks. Each kind of lock has a table of what it does in its own way.
 *
 * What one lock goes through, from the user to the server: a handle, as long as the user has it; in
 * it a hold for each owner, until the last unlock. A call to lock is an operation (op.h), until it
 * is decided. It has a contender (lib/contender), until its node is gone; the attempt in it decides
 * (recipes/attempt.h). When the server has admitted it there are a tenure, which the server knows,
 * and a grant, which the user is lent (lib/grant). A retained tenure has a grant for each turn.
 * "./dev walk lock" shows all calls. */
#ifndef LIB_HANDLE_H
#define LIB_HANDLE_H

#include <glib.h>
#include <pthread.h>

#include "lib/contender/contender.h"
#include "op.h"

struct handle;

/* One owner's lock, from the call on. */
struct hold {
    uint64_t key;
    int depth;        /* levels; 0: acquiring, or it is handle.over */
    bool shared;      /* a reader's; what a writer's owner reads are levels like the others */
    zkl_grant *grant; /* ours, lent to the caller */
};

/* A kind of lock. All but take are called with the monitor held. */
struct handle_kind {
    const char *what; /* in messages */
    /* op_start() for a contender, or what stands for it; hold NULL: an owner like no other. */
    zkl_op *(*start)(struct handle *h, const struct hold *hold, bool shared, int64_t timeout_ms,
                     zkl_acquired_fn fn, void *data);
    /* What can be had without waiting; NULL: nothing. May be NULL. Without the monitor held. */
    zkl_grant *(*take)(struct handle *h, const struct hold *hold);
    /* The user has freed it; nobody waits. May be NULL, as what follows: the last reference. */
    void (*close)(struct handle *h);
    void (*end)(struct handle *h);
};

struct handle {
    const struct handle_kind *kind;
    gint refs; /* the user's, and one for each call that waits, or asks .key */
    zkl_session *session;
    char *path; /* GRefString, with chroot */
    char *name; /* NULL: made for each contender */
    zkl_parents parents;
    zkl_key_fn key;
    void *key_data;
    pthread_mutex_t lock; /* before the monitor */
    bool freed;
    GHashTable *holds;   /* key -> struct hold */
    struct hold *recent; /* of holds: found last; NULL: none */
    struct hold *over;   /* the hold that ended last, left in the table; NULL: none */
    /* guarded by the monitor: */
    struct op_queue waiters;
    char *payload;        /* GRefString: of the thread that asked last; NULL before */
    uint64_t payload_for; /* that thread */
    GList link;           /* in the list of all handles, guarded by that list's lock */
};

/* What a kind of lock has of the options of a mutex. */
enum { HANDLE_HAS_KEYS = 1, HANDLE_HAS_PEERS = 2, HANDLE_HAS_TURNS = 4 };

/* The options that are given, with the defaults in place of NULL. Returns what is wrong with them
 * for such a kind of lock, or NULL. */
const char *handle_take_options(zkl_mutex_options *o, const zkl_mutex_options *given, unsigned has);

/* For the function called what, which creates a handle; returns 0, or that function's error. wrong:
 * what is wrong with the options, or NULL. The first is for a handle of several paths: it checks
 * neither the paths nor that the session is open. */
int handle_check_options_taken(const char *what, const void *ret, const zkl_session *s,
                               const char *wrong);
int handle_check_new(const char *what, const void *ret, zkl_session *s, const char *path,
                     const char *wrong);

/* It has size bytes, all 0 behind what is common. */
void *handle_new(const struct handle_kind *kind, size_t size, zkl_session *s, const char *path,
                 const zkl_mutex_options *o);

/* For others to see, when the kind's own part is complete. */
void handle_publish(struct handle *h);

/* The user is done with h, unless it is NULL. */
void handle_free(struct handle *h);

/* 0, or the error that every entry point returns first, already made the thread's last. */
int handle_check(const struct handle *h, const char *what);

/* The first describes the calling thread's contenders, except for their rule. The second returns
 * the text in their nodes, a GRefString of h's. The caller holds the monitor. */
struct contender_spec handle_spec(struct handle *h);
char *handle_payload(struct handle *h);

/* Returns a new GRefString that says in a node who contends: the name, or with NULL this process
 * and its thread of that number (0: any thread). */
char *handle_new_payload(const char *name, uint64_t thread);

/* The owner's thread is ending: nobody else could ever unlock. */
void handle_thread_ends(uint64_t owner);

/* ---- what the public functions do behind handle_check() ---- */

int handle_lock(struct handle *h, bool shared, int64_t timeout_ms, const zkl_grant **ret);
int handle_depth(struct handle *h); /* of the caller */
int handle_unlock(struct handle *h);
int handle_lock_async(struct handle *h, const char *what, bool shared, int64_t timeout_ms,
                      zkl_acquired_fn fn, void *data, zkl_op **ret);

#endif
