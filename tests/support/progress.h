/* What a test tells the watchdog (watchdog.h): that it has come further.
 *
 * A step is the test's own: a case, a round, an event that it has waited for. What goes on by
 * itself is none: a ping, a retry, a look that has found nothing new. Scripts append a byte to
 * $ZKL_PROGRESS. */
#ifndef SUPPORT_PROGRESS_H
#define SUPPORT_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* The beginning of the file that $ZKL_PROGRESS names; what is appended to it are steps of scripts.
 */
struct progress_page {
    _Atomic uint32_t steps;
    _Atomic uint32_t late;      /* steps + 1 at which the limit has passed */
    _Atomic uint32_t allowed_s; /* on top of the limit, until the next step */
    char name[116];             /* of what runs; only for people */
};

/* From any thread, at any rate, and from a process that the test has started. Without a watchdog
 * nothing happens. */
void progress_step(void);

/* A case, or what else has a name, begins: a step. */
void progress_name(const char *name);

/* What comes next may by design take that long by the servers' clocks: a session's end, say. It is
 * for one step. */
void progress_allow(int seconds);

/* Whether the limit has passed without a step. A wait for an event then gives up, and its test
 * fails. A test that hangs elsewhere is ended soon after. */
bool progress_is_late(void);

/* Waits until the condition holds, which is a step; false if it is late and does not hold. It looks
 * again after a millisecond, and less often when that has been in vain for long. */
#define AWAIT(condition)                                                                           \
    ({                                                                                             \
        unsigned await_us = 900;                                                                   \
        bool await_held;                                                                           \
        while (!(await_held = (condition)) && !progress_is_late())                                 \
            usleep(await_us = await_us < 10000 ? await_us + 100 : await_us);                       \
        if (await_held)                                                                            \
            progress_step();                                                                       \
        await_held;                                                                                \
    })

/* Waits on a condition variable, for a moment at most; false if it is late. The same for what is
 * guarded by a mutex:
 *
 *     while (!came && progress_wait(&changed, &mutex))
 *         ;
 */
bool progress_wait(pthread_cond_t *changed, pthread_mutex_t *mutex);

/* In place of a number of milliseconds: as long as there is progress. */
enum { UNTIL_LATE = -1 };

#endif
