/* What the suites of mutexes that retain share. */
#ifndef LIVE_RETAINED_H
#define LIVE_RETAINED_H

#include "fault.h"

enum { DAY_MS = 86400000 };

/* On fault.path; fault_end() frees it, but what it has kept must have ended before. */
zkl_mutex *retaining(zkl_session *s, int64_t retain_ms);

/* The first turn of a node. */
struct turn_seen {
    uint64_t token;
    char node[512];
};

/* Locks; a new node's first turn. */
const zkl_grant *lock_turn(zkl_mutex *m, struct turn_seen *ret);

/* The same, of a handle's first node, and unlocks: turn 0 is over, the node idle, and nothing that
 * was asked through fault.proxy unanswered. A first node has no watch for others before that. */
void retain_first(zkl_mutex *m, struct turn_seen *ret);

/* Checks that the grant is that turn of the same node. */
void check_turn(const zkl_grant *g, const struct turn_seen *first, uint64_t turn);

/* Checks that the grant is the first turn of a later node. */
void check_new_node(const zkl_grant *g, const struct turn_seen *before);

/* Locks and unlocks: that turn. */
void take_turn(zkl_mutex *m, const struct turn_seen *first, uint64_t turn);

/* Requests through fault.proxy, of those that contenders make: proofs are of the session. */
uint64_t contender_requests(void);

#endif
