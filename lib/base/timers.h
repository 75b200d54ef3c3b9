/* A queue of timers on CLOCK_BOOTTIME, and the thread that runs them. A timer only delivers an
 * event: the code that decides by time reads both clocks again. */
#ifndef LIB_TIMERS_H
#define LIB_TIMERS_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct timers;

/* A timer is a part of what it belongs to. All zero is a timer that is not armed. fn runs with the
 * monitor held, after the timer was disarmed. */
struct timer {
    GSequenceIter *at; /* NULL: not armed */
    int64_t due;       /* CLOCK_BOOTTIME ns */
    void (*fn)(void *data);
    void *data;
};

/* Set by simulations before any session is opened: then there is no thread, and they call
 * timers_run(). */
extern bool timers_by_hand;

/* Returns when the next timer is due, in ns of CLOCK_BOOTTIME; INT64_MAX: none is armed. The caller
 * holds the monitor. */
int64_t timers_next(const struct timers *timers);

/* Runs the timers that are due. The caller holds the monitor. */
void timers_run(struct timers *timers);

/* Makes a queue whose timers run with the monitor held. Returns NULL if the system refuses a
 * descriptor or a thread. */
struct timers *timers_new(pthread_mutex_t *monitor);

/* Stops the queue: no timer runs any more, and the thread ends by itself. The caller holds the
 * monitor. */
void timers_stop(struct timers *timers);

/* Waits for the end of the queue's thread, and frees the queue. No timer is armed. The caller does
 * not hold the monitor. */
void timers_free(struct timers *timers);

/* Arms timer, or moves it if it is armed. due: in ns of CLOCK_BOOTTIME. The caller holds the
 * monitor. */
void timers_arm(struct timers *timers, struct timer *timer, int64_t due, void (*fn)(void *),
                void *data);

/* Disarms timer, if it is armed. The caller holds the monitor. */
void timers_cancel(struct timer *timer);

#endif
