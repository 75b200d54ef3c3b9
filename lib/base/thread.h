/* The library's threads. Each has a name, and blocks every signal, so that the process's handlers
 * run where it expects them. Only the signals of a fault are not blocked: the thread itself has
 * that fault. */
#ifndef LIB_THREAD_H
#define LIB_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/* Start a thread that runs run(data). Return 0, or an errno value if the system refuses. */
int thread_start(pthread_t *ret, void *(*run)(void *), void *data);
int thread_start_detached(void *(*run)(void *), void *data);

/* Whether the system lets two more threads run at once: it starts and ends two. */
bool thread_can_start_two(void);

/* Names the calling thread; another one's name would take a file of /proc. */
void thread_name(const char *name);

/* Makes a condition whose timed waits go by CLOCK_MONOTONIC, as clock_after_ms() does. */
void thread_cond_init(pthread_cond_t *cond);

/* Waits for a post of sem, even if signals come. The thread cannot be cancelled here: it may have
 * won already what it waits for. */
void thread_wait(sem_t *sem);

/* Shows others whether the calling thread's call waits: zkl_call_waits(). While it waits, they may
 * free the handle: so it has a reference of its own to all that it uses afterwards. */
void thread_shows_wait(bool waits);

#endif
