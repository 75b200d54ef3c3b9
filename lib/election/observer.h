/* Observers of an election. Each asks who is first, keeps a watch on that one, and on what it
 * proclaims, and asks again when any of this changes. With the monitor held. */
#ifndef LIB_OBSERVER_H
#define LIB_OBSERVER_H

#include <zkl/election.h>

#include "lib/queue/children_watch.h"
#include "recipes/child.h"
#include "recipes/observe.h"

struct observer {
    struct children_watch watch; /* one of its election's; the first member */
    enum rule rule;              /* of its candidates */
    zkl_leader_fn fn;
    void *data;
    struct observing machine;
    GBytes *told_data;  /* proclaimed by the leader told; NULL: none */
    char *node, *id;    /* of the first in line */
    char *told_node;    /* of the last leader told */
    GBytes *proclaimed; /* NULL: nothing, or not known */
    struct subscription node_subscription, data_subscription;
};

extern const struct children_watch_kind observer_kind;

/* Before the first query. */
void observer_listen(struct observer *o);

/* The leader that was found, with what it proclaimed (NULL: nothing); token 0: nobody. */
void observer_tell(struct observer *o, uint64_t token, GBytes *proclaimed);

/* The servers' data have gone back: what was read and told so far is no measure any more. */
void observer_rewind_all(GQueue *observers);

/* The last reference is gone. */
void observer_free(struct children_watch *cw);

#endif
