/* Tenure: what the server knows of a right. It has one node of ours (a member's, or one at the head
 * of a queue), the node's token, and until when nobody else can have the right. Grants, which users
 * have, stand on tenures: at most one at a time on each. The monitor guards all but .validity and
 * what never changes: any thread may ask without a lock whether the right is still valid, even
 * while another thread is stopped. docs/design/deadlines.md has the argument. */
#ifndef LIB_TENURE_H
#define LIB_TENURE_H

#include <stdatomic.h>

#include "lib/session/core.h"
#include "recipes/ending.h"
#include "recipes/proofs.h"

/* ---- until when it is valid ---- */

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

/* By one thread at a time: */

/* The right begins, with that deadline. */
void validity_begin(struct validity *v, zkl_state state, struct instant deadline);

/* A new deadline; a later one is a proof, which ends SUSPECT. False: it had ended. */
bool validity_extend(struct validity *v, struct instant deadline, bool proved);

/* False: it had ended. */
bool validity_suspect(struct validity *v);
bool validity_lose(struct validity *v, enum loss loss);

/* By any thread: */

/* What it is now: LOST from the deadline on. The first reader past it makes that final. */
struct validity_view validity_read(const struct validity *v);

/* The state as last set or found, by no clock. */
zkl_state validity_last(const struct validity *v);

/* The state alone, by one clock while that is enough. *ret_now is that clock, CLOCK_BOOTTIME ns, or
 * 0 if the right had ended before. */
zkl_state validity_state(const struct validity *v, int64_t *ret_now);

/* ---- all of it ---- */

/* What a holder is called for, once. */
enum tenure_call {
    TENURE_WANTED, /* another contender waits */
    TENURE_ASKED,  /* to give way */
    TENURE_CALLS
};

struct contender;
struct multi_line;

/* What its keeper, a contender, does. */
struct tenure_ops {
    void (*release)(struct contender *keeper);                /* delete the node */
    void (*node_gone)(struct contender *keeper);              /* the node is known to be gone */
    void (*find_out[TENURE_CALLS])(struct contender *keeper); /* is there reason for such a call? */
};

struct tenure {
    atomic_int refs;
    struct validity validity;
    /* never changed: */
    uint64_t token;
    int64_t session_id;
    zkl_session *session;
    char *full_node;
    /* guarded by the monitor: */
    char *payload; /* what is in the node; NULL: a member's data, to which no transaction adds */
    const struct tenure_ops *ops;
    struct contender *keeper; /* NULL: it has let go of it, or it is a member's */
    bool kept;                /* by that or by a member: grant_detach() is still to come */
    zkl_grant *grant;         /* that stands on it, with a reference while it is kept; NULL: none */
    bool called[TENURE_CALLS];
    struct multi_line *line; /* of its transactions, freed by .free_line; NULL: there was none */
    void (*free_line)(struct multi_line *line);
};

/* Makes a tenure with s's present deadline. Its one reference belongs to what keeps it. full_node
 * is the node's path with chroot; keeper and payload may be NULL. */
struct tenure *tenure_new(zkl_session *s, const struct tenure_ops *ops, struct contender *keeper,
                          const char *full_node, const char *payload, uint64_t token);

struct tenure *tenure_ref(struct tenure *t);

/* Without the monitor held, unless another reference remains. */
void tenure_unref(struct tenure *t);

/* What is in the node from now on. */
void tenure_set_payload(struct tenure *t, const char *payload);

/* They do nothing when there is no keeper. */
void tenure_release(struct tenure *t);
void tenure_node_gone(struct tenure *t);
void tenure_find_out(struct tenure *t, enum tenure_call call);

#endif
