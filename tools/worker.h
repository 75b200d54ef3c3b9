/* Threads beside the main one, and waits for them with a time limit. */
#ifndef ZKL_TOOLS_WORKER_H
#define ZKL_TOOLS_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Runs fn(data) in a thread that gets no signals. *ret is the thread, to be joined; it is detached
 * if ret is NULL. Returns 0, or an errno value if the system refuses a thread. */
int worker_start(pthread_t *ret, void *(*fn)(void *data), void *data);

/* Makes a condition for worker_await(). */
void worker_condition_init(pthread_cond_t *condition);

/* Things that a thread and its waiter share, as a member of a larger struct, which the last of the
 * two frees. */
struct worker_shared {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for worker_await() */
    int users;
};

/* Makes the thread and its waiter the users of s. */
void worker_shared_init(struct worker_shared *s);

/* Ends the use by one of the two, which does not hold the lock. Returns true if no user is left;
 * then the lock is destroyed. */
bool worker_shared_leave(struct worker_shared *s);

/* Returns the time ms milliseconds from now, for worker_await(). */
struct timespec worker_after_ms(int64_t ms);

/* Waits for condition with lock held, which is released during the wait. Returns false when until
 * has passed. */
bool worker_await(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until);

#endif
