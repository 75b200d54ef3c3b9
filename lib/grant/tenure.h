/* A tenure is what the server knows of a right. It has one node of ours (a member's, or the first
 * one of a queue), the node's token, and the deadline until which nobody else can have the right.
 * Grants, which users have, stand on tenures: at most one at a time on each. The monitor guards a
 * tenure, except for .validity and what never changes. So any thread may ask without a lock whether
 * the right is still valid, even while another thread is stopped. docs/design/deadlines.md has the
 * argument. */
#ifndef LIB_TENURE_H
#define LIB_TENURE_H

#include <stdatomic.h>

#include "lib/session/core.h"
#include "recipes/ending.h"
#include "recipes/proofs.h"

/* ---- until when it is valid ---- */

/* State and deadline are one word, so that a proof and a loss cannot cross. The word has the
 * microseconds of CLOCK_BOOTTIME above the three bits of the loss and the two of the state.
 *
 * raw and sure belong to the deadline, too. They are written before the word and read after it. A
 * reader that then finds the clock short of the deadline reads the word again. If the word is the
 * same, the right was valid after the clock was read, and raw and sure belong to that deadline or
 * to one already proved. Without the second reading, they could belong to a proof that came too
 * late and was refused. */
struct validity {
    _Atomic uint64_t word;
    _Atomic int64_t raw;  /* the deadline, in CLOCK_MONOTONIC_RAW ns */
    _Atomic int64_t sure; /* until then CLOCK_BOOTTIME alone is enough, ns: instant_sure() */
};

/* The validity of a right at one instant. */
struct validity_view {
    zkl_state state;
    zkl_loss loss;
    struct instant deadline; /* 0 unless the state is HELD or SUSPECT */
    int64_t left;            /* the time to the deadline in ns; 0 in the same cases */
};

/* Functions for one thread at a time: */

/* Begins a right in that state, with that deadline. */
void validity_begin(struct validity *v, zkl_state state, struct instant deadline);

/* Sets a new deadline, which may be later or earlier. proved: a proof has moved it on, so a SUSPECT
 * right is HELD again. Returns false if the right had ended before. */
bool validity_move_deadline(struct validity *v, struct instant deadline, bool proved);

/* Makes the right SUSPECT, or LOST. Returns false if it had ended before. */
bool validity_suspect(struct validity *v);
bool validity_lose(struct validity *v, enum loss loss);

/* Functions for any thread: */

/* Reads the clocks, and returns the validity now. The state is LOST from the deadline on; the first
 * reader after the deadline makes that final. */
struct validity_view validity_read(const struct validity *v);

/* Returns the state as last set or found. Reads no clock. */
zkl_state validity_last(const struct validity *v);

/* Returns the state now. Reads CLOCK_BOOTTIME alone as long as that is enough. *ret_now is that
 * clock in ns; 0: the right had ended before. */
zkl_state validity_state(const struct validity *v, int64_t *ret_now);

/* ---- the tenure ---- */

/* The reasons to call a holder's function, once each. */
enum tenure_call {
    TENURE_WANTED, /* another contender waits */
    TENURE_ASKED,  /* the holder is asked to give way */
    TENURE_CALLS
};

struct contender;
struct multi_queue;

/* The functions of the keeper: the contender whose node the tenure has. */
struct tenure_ops {
    void (*release)(struct contender *keeper);   /* deletes the node */
    void (*node_gone)(struct contender *keeper); /* ends the tenure: the node is known to be gone */
    /* Find out whether there is reason for such a call. */
    void (*find_out[TENURE_CALLS])(struct contender *keeper);
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
    char *payload; /* the node's data; NULL: a member's node, which has no transactions */
    const struct tenure_ops *ops;
    struct contender *keeper;        /* NULL: it has ended, or a member keeps the tenure */
    bool kept;                       /* a contender or a member keeps it: until grant_detach() */
    zkl_grant *grant;                /* the grant on it, with a reference while .kept; NULL: none */
    bool called[TENURE_CALLS];       /* there was reason for that call */
    struct multi_queue *multi_queue; /* its transactions; NULL: there was none yet */
    void (*free_multi_queue)(struct multi_queue *q);
};

/* Makes a tenure with s's present deadline. Its one reference is that of its keeper, or of the
 * member. full_node is the node's path with chroot; keeper and payload may be NULL. */
struct tenure *tenure_new(zkl_session *s, const struct tenure_ops *ops, struct contender *keeper,
                          const char *full_node, const char *payload, uint64_t token);

struct tenure *tenure_ref(struct tenure *t);

/* Gives up a reference. Needs what grant_unref() needs: this may free the session. */
void tenure_unref(struct tenure *t);

/* Sets .payload after the node's data have changed. */
void tenure_set_payload(struct tenure *t, const char *payload);

/* Each calls the keeper's function of that name, if there is a keeper. */
void tenure_release(struct tenure *t);
void tenure_node_gone(struct tenure *t);
void tenure_find_out(struct tenure *t, enum tenure_call call);

#endif
