/* What the handles of mutexes and read-write locks have in common: owners and their levels, the
 * operations that wait, threads that end, forks. Each kind of lock has a table of functions for the
 * rest (struct handle_kind).
 *
 * One lock passes through these objects, from the user to the server. The handle lives as long as
 * the user has it. It has a hold for each owner, until the owner's last unlock. A call to lock is
 * an operation (op.h), until that is decided. The operation has a contender (lib/contender), or
 * waits for one: the callers of a mutex contend one after the other (mutex.c). The contender enters
 * when the admission of its path lets it (contender.c), and lives until the delete of its node is
 * asked for; the attempt in the contender decides (recipes/attempt.h). When the contender is first
 * and the session's deadline lasts (recipes/proofs.h), it gets a tenure, which the server knows,
 * and the user is lent a grant (lib/grant). A retained tenure has one grant after the other, one
 * for each turn. "./dev walk lock" shows all calls.
 *
 * Functions are called without the monitor and without handle.lock, unless they say otherwise. */
#ifndef LIB_HANDLE_H
#define LIB_HANDLE_H

#include <glib.h>
#include <pthread.h>

#include "lib/contender/contender.h"
#include "op.h"

struct handle;

/* What one owner has of the lock, from the call on. */
struct hold {
    uint64_t key; /* of the owner: what handle.key returned, or the thread's number */
    int depth;    /* how often it has to unlock; 0: its first call is under way, or it has unlocked
                     (handle.over) */
    bool shared;  /* the lock was taken to read; a writer that reads too stays a writer */
    zkl_grant *grant; /* with a reference of ours; lent to the caller */
};

/* A kind of lock. All functions but .take are called with the monitor held. */
struct handle_kind {
    const char *what; /* its name in messages */
    /* Starts the operation of a call, for that hold; NULL: the call is asynchronous, and its owner
     * is no other call's. Returns what op_start() returns. */
    zkl_op *(*start)(struct handle *h, const struct hold *hold, bool shared, int64_t timeout_ms,
                     zkl_acquired_fn fn, void *data);
    /* Returns a grant without a wait; NULL if there is none. The pointer may be NULL. Called
     * without the monitor. */
    zkl_grant *(*take)(struct handle *h, const struct hold *hold);
    /* Called when the user has freed the handle. No operation waits any more. May be NULL. */
    void (*close)(struct handle *h);
    /* Frees the kind's own part, with the last reference. May be NULL. */
    void (*end)(struct handle *h);
};

struct handle {
    const struct handle_kind *kind;
    gint refs; /* the user's, and one for each call that waits, or calls .key */
    zkl_session *session;
    char *path; /* GRefString, with chroot */
    char *name; /* written into the nodes; NULL: one is made for each contender */
    zkl_parents parents;
    zkl_key_fn key; /* returns the caller's key; NULL: threads are owners */
    void *key_data;
    pthread_mutex_t lock; /* guards what follows; taken before the monitor */
    bool freed;           /* the user has freed the handle; calls may still have references */
    GHashTable *holds;    /* key -> struct hold */
    struct hold *recent;  /* one of .holds: the one found last; NULL: none */
    struct hold *over; /* one of .holds: its owner has unlocked, and may lock again; NULL: none */
    /* guarded by the monitor: */
    struct op_queue waiters;
    char *payload;        /* GRefString: see handle_payload(); NULL: not made yet */
    uint64_t payload_for; /* the number of the thread that it was made for */
    GList link;           /* in the list of all handles, guarded by that list's lock */
};

/* Which options of a mutex a kind of lock has: .key; .peer; .retain_ms and .fence64. */
enum { HANDLE_HAS_KEYS = 1, HANDLE_HAS_PEERS = 2, HANDLE_HAS_TURNS = 4 };

/* Copies the options that the user has given into *o, which has the defaults. Returns what is wrong
 * with them for a kind of lock that has these (HANDLE_HAS_…); NULL: nothing. */
const char *handle_take_options(zkl_mutex_options *o, const zkl_mutex_options *given, unsigned has);

/* Checks the arguments of a function of the interface, named what, that makes a handle. ret is
 * where the handle is to be stored. wrong is what is wrong with the options; NULL: nothing. Returns
 * 0, or the thread's last error. */
int handle_check_options_taken(const char *what, const void *ret, const zkl_session *s,
                               const char *wrong);
/* Checks the path, too, and that the session is open. */
int handle_check_new(const char *what, const void *ret, zkl_session *s, const char *path,
                     const char *wrong);

/* Makes a handle, the first member of a struct of size bytes. All other members are 0. */
void *handle_new(const struct handle_kind *kind, size_t size, zkl_session *s, const char *path,
                 const zkl_mutex_options *o);

/* Puts the handle into the list of all handles. The kind's own part is complete. */
void handle_publish(struct handle *h);

/* Frees the handle for the user: ends its operations and holds. NULL is ignored. */
void handle_free(struct handle *h);

/* Checks the handle that the user gave to a function of the interface; what is the kind's name.
 * Returns 0, or the thread's last error. */
int handle_check(const struct handle *h, const char *what);

/* Describes the calling thread's contenders, except for their rule. Needs the monitor. */
struct contender_spec handle_spec(struct handle *h);

/* Returns the text for the nodes of the calling thread's contenders: a GRefString, whose reference
 * stays h's. Needs the monitor. */
char *handle_payload(struct handle *h);

/* Makes a GRefString that says in a node who contends: name; or, if that is NULL, this process and
 * its thread of that number (0: any thread). */
char *handle_new_payload(const char *name, uint64_t thread);

/* Gives back what the thread with that number holds. The thread is ending, and nobody else could
 * ever unlock. */
void handle_thread_ends(uint64_t owner);

/* ---- what the functions of the interface do after handle_check() ---- */

int handle_lock(struct handle *h, bool shared, int64_t timeout_ms, const zkl_grant **ret);
int handle_depth(struct handle *h); /* how often the caller has to unlock */
int handle_unlock(struct handle *h);
int handle_lock_async(struct handle *h, const char *what, bool shared, int64_t timeout_ms,
                      zkl_acquired_fn fn, void *data, zkl_op **ret);

#endif
