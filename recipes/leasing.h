/* One acquisition of a permit, in the layout of Curator's InterProcessSemaphoreV2. The contender
 * that has the lock makes its lease and waits until there are no more leases than the limit. Then
 * it gives the lock back.
 *
 *  begin         the lock is granted     the lease is        no other layout is there
 *  IDLE ──> LOCKING ───────────────> LEASING ──────> CHECKING ──────> GRANTED
 *              ^                        │ the lock is lost │ the lease is lost
 *              └──again── RESTARTING <──┴──────────────────┘
 *
 * A refusal ends the acquisition, and so does a caller who gives up: OVER.
 * docs/design/leases.md has the argument. */
#ifndef RECIPES_LEASING_H
#define RECIPES_LEASING_H

#include "machine.h"

enum leasing_state {
    LEASING_IDLE,
    LEASING_LOCKING,
    LEASING_LEASING,  /* a lease is made with the lock held, and waits to be admitted */
    LEASING_CHECKING, /* the lease is admitted, and the lock given back: is another layout there? */
    LEASING_RESTARTING, /* the attempt begins again when the timer comes, after this step */
    LEASING_GRANTED,
    LEASING_OVER,
    LEASING_STATES
};

/* Events of this recipe. MACHINE_EV_STOP: the caller gives up. */
enum {
    LEASING_EV_LOCKED = MACHINE_EV_OWN,
    LEASING_EV_LOCK_FAILED,
    LEASING_EV_LOCK_LOST,
    LEASING_EV_LEASED,
    LEASING_EV_LEASE_FAILED,
    LEASING_EV_LEASE_LOST
};

/* The only node: the path that is listed. */
enum { LEASING_PATH };

/* What the driver is to do. */
enum leasing_verdict {
    LEASING_LOCK,
    LEASING_UNLOCK, /* gives the lock back, or does not wait for it any longer */
    LEASING_LEASE,  /* makes a lease for each permit */
    LEASING_LEAVE,  /* deletes the lease, or does not wait for it any longer */
    LEASING_GRANT,
    LEASING_FAIL /* .why: enum leasing_cause */
};

enum leasing_cause {
    LEASING_CAUSE_PART,   /* the error of the lock or the lease, or why the caller gave up */
    LEASING_CAUSE_MIXED,  /* there are contenders of another layout */
    LEASING_CAUSE_REFUSED /* the list was refused: .rc */
};

/* What the driver knows when it delivers an event. */
struct leasing_moment {
    int64_t now; /* CLOCK_BOOTTIME, ns */
    bool mixed;  /* the path was listed, and contenders of another layout are there */
};

/* All 0 at first. */
struct leasing {
    enum leasing_state state;
    bool lock;  /* asked for, or held */
    bool lease; /* made, or asked for */
};

void leasing_step(struct leasing *l, const struct machine_event *ev, const struct leasing_moment *m,
                  struct machine_actions *out);

/* Asserted after each step. */
bool leasing_invariant(const struct leasing *l);
bool leasing_may_move(enum leasing_state from, enum leasing_state to);
const char *leasing_state_name(enum leasing_state state);

#endif
