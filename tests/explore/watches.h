/* The model of lib/session/watch.c: one watch for each node, and who wants it. */
#ifndef EXPLORE_WATCHES_H
#define EXPLORE_WATCHES_H

#include "model.h"

/* settle(): removes the watch nobody wants. */
void watches_settle(struct client *c, uint8_t node);

/* watch_add() */
void watches_add(struct client *c, uint8_t node, struct model_subscription *subscription,
                 uint32_t tag);

/* watch_drop(), of a node that is not being deleted */
void watches_drop(struct client *c, struct model_subscription *subscription);

/* watch_answered() */
void watches_answered(struct client *c, const struct reply *reply,
                      struct model_subscription *subscription);

/* In watch_fired(): takes the subscription, if the node's watch fires it. */
bool watches_fires(struct model_subscription *subscription, uint8_t node);

/* watch_clear(); or watch_drop() of a node that is being deleted, which has nothing to remove */
void watches_clear(struct client *c);

/* on_removed() */
void watches_removed(struct client *c, uint8_t node, enum answer answer);

#endif
