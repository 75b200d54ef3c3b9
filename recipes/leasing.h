/* From the call to a permit, in the layout of Curator's InterProcessSemaphoreV2: whoever has the
 * lock makes its lease and waits until there are no more leases than the limit; then it gives the
 * lock back.
 *
 *  begin         the lock is granted     the lease is        no other layout is there
 *  IDLE ──> LOCKING ───────────────> LEASING ──────> CHECKING ──────> GRANTED
 *              ^                        │ the lock is lost │ the lease is lost
 *              └──again── RESTARTING <──┴──────────────────┘
 *
 * What is refused, and the caller who gives up, end it: OVER. docs/design/leases.md has the
 * argument. */
#ifndef RECIPES_LEASING_H
#define RECIPES_LEASING_H

#include <stdbool.h>
#include <stdint.h>

enum leasing_state {
    LEASING_IDLE,
    LEASING_LOCKING,
    LEASING_LEASING,    /* with the lock held, a lease is made and waits to be admitted */
    LEASING_CHECKING,   /* it is admitted, and the lock given back: is there another layout? */
    LEASING_RESTARTING, /* until nothing else is at work */
    LEASING_GRANTED,
    LEASING_OVER,
    LEASING_STATES
};

enum leasing_event_kind {
    LEASING_EV_BEGIN, /* or to begin again, as ACT_RESTART asked for */
    LEASING_EV_LOCKED,
    LEASING_EV_LOCK_FAILED,
    LEASING_EV_LOCK_LOST,
    LEASING_EV_LEASED,
    LEASING_EV_LEASE_FAILED,
    LEASING_EV_LEASE_LOST,
    LEASING_EV_CHECKED, /* .tag, .answer */
    LEASING_EV_ABORT    /* the caller gives up */
};

enum leasing_answer {
    LEASING_ALONE,
    LEASING_MIXED, /* there are contenders of another layout */
    LEASING_GONE,  /* the path is not there, nor then the lease */
    LEASING_REFUSED
};

struct leasing_event {
    enum leasing_event_kind kind;
    enum leasing_answer answer;
    uint32_t tag; /* that of the action */
};

enum leasing_action_kind {
    LEASING_ACT_LOCK,
    LEASING_ACT_UNLOCK, /* gives the lock back, or does not wait for it any longer */
    LEASING_ACT_LEASE,  /* one for each permit */
    LEASING_ACT_LEAVE,  /* as UNLOCK, of the lease */
    LEASING_ACT_CHECK,  /* lists the path: .tag */
    LEASING_ACT_RESTART,
    LEASING_ACT_GRANT,
    LEASING_ACT_FAIL
};

struct leasing_action {
    enum leasing_action_kind kind;
    uint32_t tag;
};

enum { LEASING_ACTIONS = 3 };

struct leasing_actions {
    uint32_t count;
    struct leasing_action list[LEASING_ACTIONS];
};

/* All 0 at first. */
struct leasing {
    enum leasing_state state;
    uint32_t tag; /* of the newest check: answers to earlier ones are stale */
    bool lock;    /* asked for, or held */
    bool lease;   /* made, or asked for */
};

void leasing_step(struct leasing *l, const struct leasing_event *ev, struct leasing_actions *out);

/* Asserted after each step. */
bool leasing_invariant(const struct leasing *l);
bool leasing_may_move(enum leasing_state from, enum leasing_state to);
const char *leasing_state_name(enum leasing_state state);

#endif
