/* A thread beside the main one, and waiting for it. */
#ifndef ZKL_TOOLS_WORKER_H
#define ZKL_TOOLS_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Runs fn(data) in a thread that gets no signals. *ret is the thread, to be joined; it is detached
 * if ret is NULL. Returns 0, or an errno value if the system refuses a thread. */
int worker_start(pthread_t *ret, void *(*fn)(void *data), void *data);

/* A condition for worker_await(). */
void worker_condition_init(pthread_cond_t *condition);

/* What a thread and its waiter share. The last of the two frees the larger struct that this is a
 * member of. */
struct worker_shared {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for worker_await() */
    int users;
};

/* Both are its users. */
void worker_shared_init(struct worker_shared *s);

/* Gives one user up, without the lock held. True: none is left, and the lock is destroyed. */
bool worker_shared_leave(struct worker_shared *s);

/* The time ms from now. */
struct timespec worker_after_ms(int64_t ms);

/* Waits with lock held, which is released during the wait. False when it is later than until. */
bool worker_await(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until);

#endif
