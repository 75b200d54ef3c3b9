/* A queue of timers on CLOCK_BOOTTIME, and the thread that runs them. A timer only delivers an
 * event: whoever decides by time reads both clocks again. */
#ifndef LIB_TIMERS_H
#define LIB_TIMERS_H

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct timers;

/* A timer is a part of what it belongs to; all zero is unarmed. fn runs with the monitor held,
 * after the timer was disarmed. */
struct timer {
    GSequenceIter *at; /* NULL: unarmed */
    int64_t due;       /* CLOCK_BOOTTIME ns */
    void (*fn)(void *data);
    void *data;
};

/* Set by simulations before any session is opened: there is no thread, they run what is due. */
extern bool timers_by_hand;

/* The first says when the next timer is due, INT64_MAX for none; the second runs those that are
 * due. The caller holds the monitor. */
int64_t timers_next(const struct timers *timers);
void timers_run(struct timers *timers);

/* NULL when the system refuses a descriptor or a thread. */
struct timers *timers_new(pthread_mutex_t *monitor);

/* With the monitor held: nothing runs any more, and the thread ends by itself. */
void timers_stop(struct timers *timers);

/* Ends the thread, waiting for it; without the monitor held. Nothing may be armed. */
void timers_free(struct timers *timers);

/* With the monitor held. Arming an armed timer moves it. */
void timers_arm(struct timers *timers, struct timer *timer, int64_t due, void (*fn)(void *),
                void *data);
void timers_cancel(struct timer *timer);

#endif
