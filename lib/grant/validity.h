/* Until when a right is valid, and whether it still is. Any thread may ask without a lock, even
 * while another thread is stopped. docs/design/deadlines.md has the argument. */
#ifndef LIB_VALIDITY_H
#define LIB_VALIDITY_H

#include <stdatomic.h>
#include <zkl.h>

#include "recipes/loss.h"
#include "recipes/proofs.h"

/* State and deadline are one word, so that a proof and a loss cannot cross. It has microseconds of
 * CLOCK_BOOTTIME above the three bits of the loss and the two of the state.
 *
 * raw and sure also belong to a deadline. They are written before the word and read after it. A
 * reader that then finds the clock short of the deadline looks at the word once more. If it is the
 * same, the right was valid after the clock was read, and raw and sure belong to that deadline or
 * to one already proved. Without the second look, they could be of a proof that came too late and
 * was turned away. */
struct validity {
    _Atomic uint64_t word;
    _Atomic int64_t raw;  /* CLOCK_MONOTONIC_RAW ns */
    _Atomic int64_t sure; /* CLOCK_BOOTTIME ns: instant_sure() */
};

/* What a reading of the clocks has found. */
struct validity_view {
    zkl_state state;
    zkl_loss loss;
    struct instant deadline; /* 0, as left, unless it is HELD or SUSPECT */
    int64_t left;            /* ns */
};

/* ---- by one thread at a time ---- */

/* It begins, with that deadline. */
void validity_begin(struct validity *v, zkl_state state, struct instant deadline);

/* A new deadline; a later one is a proof, which ends SUSPECT. False: it had ended. */
bool validity_extend(struct validity *v, struct instant deadline, bool proved);

/* False: it had ended. */
bool validity_suspect(struct validity *v);
bool validity_lose(struct validity *v, enum loss loss);

/* ---- by any thread ---- */

/* As it is now: LOST from the deadline on. The first reader past it makes that final. */
struct validity_view validity_read(const struct validity *v);

/* Its state as last set or found, by no clock. */
zkl_state validity_last(const struct validity *v);

/* The state alone, by one clock while that is enough. *ret_now is that clock, CLOCK_BOOTTIME ns, or
 * 0 if the right had ended before. */
zkl_state validity_state(const struct validity *v, int64_t *ret_now);

#endif
