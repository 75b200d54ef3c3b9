/* What a client hears: answers and events, its connection and its session, where the library has
 * lib/session/request.c and its sessions. */
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

#endif
