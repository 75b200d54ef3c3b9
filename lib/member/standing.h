/* Until when a member may believe that others see it: read without locks, whoever is stopped. */
#ifndef LIB_STANDING_H
#define LIB_STANDING_H

#include <stdatomic.h>
#include <zkl.h>

#include "recipes/proofs.h"

/* State and deadline are one word, as in a grant: microseconds of CLOCK_BOOTTIME above the two bits
 * of the state. raw is written before it, and read between two readings of it that agree. */
struct standing {
    _Atomic uint64_t word;
    _Atomic int64_t raw; /* CLOCK_MONOTONIC_RAW ns */
};

/* By one thread at a time. deadline counts for HELD and SUSPECT only. */
void standing_set(struct standing *s, zkl_state state, struct instant deadline);

/* As it is now: LOST from the deadline on. Both outputs are 0 unless it is HELD or SUSPECT. */
zkl_state standing_get(const struct standing *s, struct instant *ret_deadline, int64_t *ret_left);

#endif
