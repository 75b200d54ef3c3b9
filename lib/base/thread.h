/* Library threads: named, with every signal blocked, so that the process's handlers run
 * where it expects them; but for those of a fault, which is the thread's own. */
#ifndef LIB_THREAD_H
#define LIB_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/* 0, or an errno value when the system refuses. */
int thread_start(pthread_t *ret, void *(*run)(void *), void *data);
int thread_start_detached(void *(*run)(void *), void *data);

/* Whether two threads can be started, both at once. */
bool thread_can_start_two(void);

/* Names the calling thread; another one's name would take a file of /proc. */
void thread_name(const char *name);

/* For timed waits by CLOCK_MONOTONIC: clock_after_ms(). */
void thread_cond_init(pthread_cond_t *cond);

/* Waits for a post, through signals. It is no point of cancellation, because the thread may have
 * won by then what it waits for. */
void thread_wait(sem_t *sem);

/* Shows others that the calling thread's call waits, or no longer does: zkl_call_waits(). What the
 * call goes on to use then has a reference of its own. */
void thread_shows_wait(bool waits);

#endif
