/* What is asked of the server about a queue: a snapshot of it; that contenders give way; or that
 * one is removed.
 *
 *          SYNCING (the first alone)              all are read, or have left
 *             ^   v                                          │
 *   IDLE ──> LISTING ──> READING ────────────────────────────┴──> OVER
 *    │        v   ^         └──the first has left: once more      ^ ^
 *    │      LIMITING (leases of ours)                             │ │
 *    ├────> ASKING ──────all have the word, or have left──────────┘ │
 *    └────> REMOVING ──answered──────────────────────────────────────┘
 *
 * In the next session all is asked again, but for a removal: before each try, the caller looks
 * again whose node it is. The list comes again after the limit, so no list is older than the limit.
 * The word that asks to give way (payload.h) is set for any version, as by Curator's Revoker.
 * Numbers stand after the word, and Curator has none. So they are read first, and again if they
 * were changed. */
#ifndef RECIPES_SNAPSHOT_H
#define RECIPES_SNAPSHOT_H

#include "machine.h"

enum snapshot_goal {
    SNAPSHOT_OF_ALL,   /* read all contenders */
    SNAPSHOT_OF_FIRST, /* read the first contender of a list that follows a sync */
    SNAPSHOT_ASK,      /* ask the contenders of an earlier snapshot to give way */
    SNAPSHOT_REMOVE    /* remove the only contender of an earlier snapshot */
};

enum snapshot_state {
    SNAPSHOT_IDLE,
    SNAPSHOT_SYNCING,
    SNAPSHOT_LISTING,
    SNAPSHOT_LIMITING,
    SNAPSHOT_READING,
    SNAPSHOT_ASKING,
    SNAPSHOT_REMOVING,
    SNAPSHOT_OVER,
    SNAPSHOT_STATES
};

enum snapshot_node {
    SNAPSHOT_DIRECTORY,
    SNAPSHOT_CONTENDER, /* this number and the next ones: the contenders of the list; the driver
                           leaves out those of which nothing is asked */
    /* ASK: the same contenders, but those alone whose nodes have numbers */
    SNAPSHOT_NUMBERED = 1 << 28
};

enum snapshot_verdict {
    SNAPSHOT_DONE,
    SNAPSHOT_UNKNOWN, /* it is not known whether the node was removed */
    SNAPSHOT_FAILED,  /* a request was refused: .rc */
    SNAPSHOT_STOPPED
};

/* What the driver knows when it delivers an event. */
struct snapshot_moment {
    uint32_t count;   /* how many contenders are known */
    uint32_t left;    /* of how many of them something is asked */
    bool needs_limit; /* LIST: there are leases of ours */
};

/* All 0 but for the goal. */
struct snapshot {
    enum snapshot_goal goal;
    enum snapshot_state state;
    bool has_limit; /* the limit was read before this list */
    bool again;     /* the first contender has left before it was read: list again */
    uint32_t left;  /* how many contenders are still to answer */
};

void snapshot_step(struct snapshot *s, const struct machine_event *ev,
                   const struct snapshot_moment *m, struct machine_actions *out);

/* Asserted after each step. */
bool snapshot_invariant(const struct snapshot *s);
bool snapshot_may_move(enum snapshot_state from, enum snapshot_state to);
const char *snapshot_state_name(enum snapshot_state state);

#endif
