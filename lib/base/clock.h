/* The clocks every decision is made by; a wall clock is never among them. */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <time.h>

#include "recipes/proofs.h"

#define CLOCK_MS INT64_C(1000000) /* ns */

/* Replaced by simulations before any session is opened. */
extern struct instant (*clock_source)(void);

static inline struct instant clock_now(void)
{
    return clock_source();
}

/* CLOCK_BOOTTIME alone, in half the time. */
int64_t clock_boot(void);

/* A timeout_ms of the public interface begins now. Returns when it will have passed, CLOCK_BOOTTIME
 * ns; INT64_MAX: never, or later than that clock can count. */
int64_t clock_end(int64_t timeout_ms);

/* A time for pthread_cond_timedwait() on CLOCK_MONOTONIC, which waits but decides nothing. */
struct timespec clock_after_ms(int64_t ms);

#endif
