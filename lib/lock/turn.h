/* Turns: grants that follow another one, the span's, which only the runtime knows. A turn is owned
 * as long as its span is; it begins with the span's deadline, and ends without the node. All with
 * the monitor held. */
#ifndef LIB_TURN_H
#define LIB_TURN_H

#include "grant.h"

struct retained;

/* A turn of span with that number, and a reference of the caller's; span has another one. spare,
 * NULL or a turn that is over, is used again if nobody else has it; its reference is taken. */
zkl_grant *turn_begin(zkl_grant *span, zkl_grant *spare, struct retained *retained,
                      uint64_t number);

/* How a turn has ended. */
struct turn_end {
    bool owned;       /* RELEASED from here on; false: LOST */
    bool in_doubt;    /* a transaction of it is not decided yet, or never will be: it may be applied
                         as long as the node stands */
    zkl_grant *spare; /* the span's reference, for the next turn; NULL: the span is over as well:
                         lost, or a transaction is giving it back */
    int64_t now;      /* CLOCK_BOOTTIME ns when it ended, if it did so by that clock, HELD; or 0 */
};

struct turn_end turn_end(zkl_grant *turn);

/* The state of a span, and the CLOCK_BOOTTIME ns that it was decided by. */
zkl_state turn_span_state(const zkl_grant *span, int64_t *ret_now);

/* Who is to hear that g is given back; NULL: g is no turn, or its span is over. */
struct retained *turn_retained(const zkl_grant *g);

#endif
