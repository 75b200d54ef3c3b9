/* What a grant is made of. Only grant.c, turn.c and whole.c include this. */
#ifndef LIB_GRANT_STRUCT_H
#define LIB_GRANT_STRUCT_H

#include <stdatomic.h>

#include "grant.h"

struct multi_attempt;
struct multi_line;
struct retained;

/* State and deadline are one word, so that a proof and a loss cannot cross: microseconds of
 * CLOCK_BOOTTIME above the three bits of the loss and the two of the state. What else a deadline
 * has, raw and sure, is written before the word and read after it, and a reader who then finds the
 * clock short of the deadline looks at the word once more. If that is the same, it was owned after
 * the clock was read, and what was read with it is of its own deadline or of one already proved;
 * without that look, it could be of one whose proof came too late and was turned away. */
struct zkl_grant {
    atomic_int refs;
    unsigned generation;
    uint64_t token;
    int64_t since; /* CLOCK_BOOTTIME ns of the time that the user has had it; 0: is not counted, or
                      no more. Guarded by the monitor */
    int64_t session_id;
    char *payload;
    char *full_node;
    zkl_session *session;
    _Atomic uint64_t word;
    _Atomic int64_t raw;          /* CLOCK_MONOTONIC_RAW ns */
    _Atomic int64_t sure;         /* CLOCK_BOOTTIME ns: instant_sure() */
    struct contender *contender;  /* guarded by the monitor, like what follows */
    GArray *watchers;             /* of struct watcher; emptied with the last call */
    GArray *callees[GRANT_CALLS]; /* of struct watcher; NULL: none */
    bool called[GRANT_CALLS];
    bool loss_heard;         /* a callback tells of the loss: the node goes behind it */
    struct multi_line *line; /* of its transactions; NULL: there was none */
    zkl_grant *turn; /* the one that the user knows instead, with a reference: of a span the present
                        turn, of a part (whole.h) the whole; NULL: itself, or none at present */
    /* of spans and turns (turn.h): */
    zkl_grant *span;           /* of a turn: with a reference; NULL: it is none */
    struct retained *retained; /* of a turn: who hears of its end; NULL: nobody */
    uint64_t number;           /* of a turn in its span */
    int32_t *slots;            /* of numbered permits; NULL: they have no numbers */
    uint32_t slots_count;
    /* of a whole: */
    zkl_grant **parts; /* with a reference each, in the order of the caller's paths; NULL: it is
                          none */
    uint32_t part_count;
    struct multi_attempt *attempt; /* who hears of its end; NULL: nobody */
};

/* What they share. */
bool grant_is_listened_to(const zkl_grant *g); /* somebody is still to be told something */
bool grant_change(zkl_grant *g, zkl_state to, enum loss loss); /* loss: of LOST alone */

/* It has ended now, CLOCK_BOOTTIME ns. */
void grant_ended(zkl_grant *g, int64_t now);

#endif
