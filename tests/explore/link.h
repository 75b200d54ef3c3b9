/* What a client hears: answers and events, its connection and its session. Each function names the
 * one of lib/ that it mirrors. */
#ifndef EXPLORE_LINK_H
#define EXPLORE_LINK_H

#include "model.h"

/* The client takes what its server sent. */
void link_take(struct state *st, int i);

void link_down(struct state *st, int i); /* answers under way are lost */
void link_up(struct state *st, int i);   /* the same session, or a new one if there was none */
void link_replace(struct state *st, int i);
void link_close(struct state *st, int i);

#endif
