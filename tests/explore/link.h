/* What a client hears: answers and events, its connection and its session; and its watches: one for
 * each node, which it wants or not. The library has lib/session/request.c and watch.c there. What
 * else struct watch knows is seen in the requests under way, as their answers come in the order in
 * which they were asked for. */
#ifndef EXPLORE_LINK_H
#define EXPLORE_LINK_H

#include "model.h"

/* The client takes what its server sent. */
void link_take(struct state *st, int i);

/* The machine hears the answer to a request, unless it is stale. */
void link_answer(struct state *st, int i, const struct reply *reply);

void link_down(struct state *st, int i); /* answers under way are lost */
void link_up(struct state *st, int i);   /* the same session, or a new one if there was none */
void link_replace(struct state *st, int i);
void link_close(struct state *st, int i);

/* ---- watches ---- */

/* The node whose watch is wanted: about is the own node or the predecessor. NULL: it is neither. */
uint8_t *link_watch_wanted(struct client *c, unsigned about);

/* How many requests under way set the watch of that node, or remove it. */
int link_watch_asked(const struct client *c, uint8_t node);

/* watch_add(), of a request that is not under way yet. */
void link_watch_add(struct client *c, const struct ask *ask);

/* watch_drop() */
void link_watch_drop(struct client *c, unsigned about, bool deleting);

/* watch_answered(), of a request that is under way no more. */
void link_watch_answered(struct client *c, const struct ask *ask, enum store_rc rc);

#endif
