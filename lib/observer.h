/* Observers of an election. Each looks who is first, keeps a watch on that one, and on what it
 * proclaims, and looks again when any of this changes. With the monitor held. */
#ifndef LIB_OBSERVER_H
#define LIB_OBSERVER_H

#include "election.h"
#include "recipes/observe.h"
#include "watch.h"

struct zkl_observer {
    int refs; /* the user's, its election's, each message, each request */
    zkl_session *session;
    char *directory; /* with chroot */
    enum child_kind kind;
    zkl_leader_fn fn;
    void *data;
    bool stopped;   /* no call begins any more */
    unsigned calls; /* under way */
    GQueue *list;   /* of its election; NULL: stopped */
    GList link;
    struct observe told;
    GBytes *told_data; /* proclaimed by the leader told; NULL: none */
    /* the present look: */
    uint32_t look;      /* answers to requests of earlier ones are stale */
    uint32_t data_look; /* the same for reads of what is proclaimed */
    char *node;         /* the first in line */
    bool seen;          /* it was read: */
    uint64_t token;
    char *id;
    bool data_known; /* so was what is proclaimed: */
    bool data_asked; /* a read of it is under way */
    uint64_t data_token;
    GBytes *proclaimed;
    struct interest node_interest, directory_interest, data_interest;
    struct timer timer; /* after a failure */
    int64_t pause_ms;
    int failure; /* logged */
};

/* Looks anew; behind a sync, unless a watch has just shown that the server is up to date. */
void observer_look(zkl_observer *o, bool sync);

/* Before the first look. */
void observer_listen(zkl_observer *o);

/* What a look found; token 0: nobody. */
void observer_tell(zkl_observer *o, uint64_t token);

/* There is a connection again, or another session: everything is looked at anew. */
void observer_up(zkl_observer *o);

/* No call of its function begins any more. */
void observer_stop(zkl_observer *o);

void observer_unref(zkl_observer *o); /* the session has another reference */

#endif
