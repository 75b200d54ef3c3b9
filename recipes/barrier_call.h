/* One operation on a barrier, which is closed while its node exists.
 *
 *   IDLE ──> ASKING ──it is as wanted, or refused──────> OVER
 *             │  ^                                      ^
 *   WAIT:     │  │changed, or another session           │gone
 *   it exists v  │                                      │
 *           WATCHING ───────────────────────────────────┘
 *
 * To set or remove it is asked for until that is certain, in the next session if need be: whoever
 * has done it, it is done. */
#ifndef RECIPES_BARRIER_CALL_H
#define RECIPES_BARRIER_CALL_H

#include "machine.h"

enum barrier_goal { BARRIER_SET, BARRIER_REMOVE, BARRIER_WAIT };

enum barrier_call_state {
    BARRIER_CALL_IDLE,
    BARRIER_CALL_ASKING,
    BARRIER_CALL_WATCHING,
    BARRIER_CALL_OVER,
    BARRIER_CALL_STATES
};

enum barrier_call_verdict {
    BARRIER_CALL_DONE,
    BARRIER_CALL_REFUSED, /* .rc */
    BARRIER_CALL_STOPPED
};

/* All 0 but for the goal. Its only node is the barrier's. */
struct barrier_call {
    enum barrier_goal goal;
    enum barrier_call_state state;
};

void barrier_call_step(struct barrier_call *c, const struct machine_event *ev,
                       struct machine_actions *out);

bool barrier_call_may_move(enum barrier_call_state from, enum barrier_call_state to);

#endif
