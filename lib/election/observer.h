/* Observers of an election. Each looks who is first, keeps a watch on that one, and on what it
 * proclaims, and looks again when any of this changes. With the monitor held. */
#ifndef LIB_OBSERVER_H
#define LIB_OBSERVER_H

#include "election.h"
#include "lib/queue/look.h"
#include "recipes/observe.h"

struct observer {
    struct look look; /* one of its election's; the first member */
    enum child_kind kind;
    zkl_leader_fn fn;
    void *data;
    struct observe told;
    GBytes *told_data; /* proclaimed by the leader told; NULL: none */
    /* the present look: */
    uint32_t data_look; /* answers to earlier reads of what is proclaimed are stale */
    char *node;         /* the first in line */
    bool seen;          /* it was read: */
    uint64_t token;
    char *id;
    bool data_known; /* so was what is proclaimed: */
    bool data_asked; /* a read of it is under way */
    uint64_t data_token;
    GBytes *proclaimed;
    struct interest node_interest, data_interest;
};

extern const struct look_kind observer_kind;

/* Before the first look. */
void observer_listen(struct observer *o);

/* What a look found; token 0: nobody. */
void observer_tell(struct observer *o, uint64_t token);

/* The servers have forgotten what was told: lower tokens are no older ones. */
void observer_rewind_all(GQueue *observers);

/* The last reference is gone. */
void observer_free(struct look *l);

#endif
