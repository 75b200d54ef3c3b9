/* The model of lib/session/watch.c: one watch for each node, and who wants it. A contender wants
 * those of its own node and of its predecessor; what else struct watch has is seen in the requests
 * under way, since their answers come in the order in which they were asked for. */
#ifndef EXPLORE_WATCHES_H
#define EXPLORE_WATCHES_H

#include "model.h"

/* The node whose watch is wanted: about is the own node or the predecessor. NULL: it is neither. */
uint8_t *watches_wanted(struct client *c, unsigned about);

/* How many requests under way set the watch of that node, or remove it. */
int watches_asked(const struct client *c, uint8_t node);

/* settle(): removes the watch nobody wants. */
void watches_settle(struct client *c, uint8_t node);

/* watch_add(), of a request that is not under way yet. */
void watches_add(struct client *c, const struct ask *ask);

/* watch_drop() */
void watches_drop(struct client *c, unsigned about, bool deleting);

/* watch_answered(), of a request that is under way no more. */
void watches_answered(struct client *c, const struct ask *ask, enum store_rc rc);

/* watch_fired(), of that subscription: whether it is told. */
bool watches_fires(struct client *c, unsigned about, uint8_t node);

/* on_removed() */
void watches_removed(struct client *c, uint8_t node, enum store_rc rc);

#endif
