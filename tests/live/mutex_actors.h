/* Actors of tests with several owners: a thread that locks, an asynchronous acquisition's
 * completion, and a record of what a grant told. */
#ifndef LIVE_MUTEX_ACTORS_H
#define LIVE_MUTEX_ACTORS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <zkl.h>

struct live;

/* A thread that locks once, and unlocks when told. */
struct locker {
    int64_t token;  /* after locker_result(): of the grant */
    char node[512]; /* the same */
    const zkl_grant *grant;
    zkl_error error; /* of a lock() that failed */
    /* private */
    zkl_mutex *mutex;
    int64_t timeout_ms;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done, told;
    int code, unlock_code;
};

struct locker *locker_start(zkl_mutex *m, int64_t timeout_ms);
bool locker_done(struct locker *l);   /* has lock() returned? */
int locker_result(struct locker *l);  /* waits for that; its result */
int locker_end(struct locker *l);     /* unlocks, if it holds; joins, frees; unlock()'s result */
int locker_abandon(struct locker *l); /* lets the thread end without unlocking; frees */

/* The same, but the holder waits until n contenders are below path: FIFO made visible. */
struct locker *locker_queue(struct live *t, zkl_mutex *m, const char *path, int n);

/* The same through a handle of its own: callers of one handle would wait for each other without
 * nodes. */
struct locker *locker_apart(struct live *t, zkl_session *s, const char *path, int n);

/* Receives zkl_mutex_lock_async()'s completion. All zero but for the INIT. */
struct completion {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls;
    zkl_grant *grant;
    zkl_error error;
    pthread_t thread; /* that called */
};

#define COMPLETION_INIT                                                                            \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

void completion_take(zkl_grant *grant, const zkl_error *error, void *completion);
int completion_wait(struct completion *c); /* 0, or the error's code */
int completion_calls(struct completion *c);

/* Receives zkl_grant_on_change()'s calls. */
struct changes {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls, seen[4]; /* by state */
    zkl_state last;
};

#define CHANGES_INIT                                                                               \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

void changes_take(const zkl_grant *grant, zkl_state state, void *changes);
void changes_wait(struct changes *c, zkl_state state); /* until it was told */
int changes_seen(struct changes *c, zkl_state state);
int changes_calls(struct changes *c);

/* A gate that callbacks can be held at. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered, open;
};

#define GATE_INIT                                                                                  \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

void gate_pass(struct gate *g); /* waits until it is open */
void gate_open(struct gate *g);
void gate_wait_entered(struct gate *g); /* until somebody waits at it */

/* Returns when everything asked of the session before has been answered and decided. */
void session_settle(struct live *t, zkl_session *s);

/* Holds the session's callback thread at g until that is opened. */
void session_block(struct live *t, zkl_session *s, struct gate *g);

#endif
