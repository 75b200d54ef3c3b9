/* The clocks every decision is made by; a wall clock is never among them. */
#ifndef LIB_CLOCK_H
#define LIB_CLOCK_H

#include <time.h>

#include "recipes/proofs.h"

#define CLOCK_MS INT64_C(1000000) /* ns */

/* Reads both clocks. Simulations put a function of their own here before any session is opened. */
extern struct instant (*clock_now)(void);

/* Returns CLOCK_BOOTTIME in ns, in half the time that clock_now() takes. */
int64_t clock_boot(void);

/* Returns the instant at which a timeout_ms that begins now will have passed, in ns of
 * CLOCK_BOOTTIME; INT64_MAX: never, or later than that clock can count. */
int64_t clock_end(int64_t timeout_ms);

/* Returns the instant in ms milliseconds on CLOCK_MONOTONIC, for pthread_cond_timedwait(). That
 * clock is for waiting, and decides nothing. */
struct timespec clock_after_ms(int64_t ms);

#endif
