/* A cycle in a graph of numbered states. */
#ifndef EXPLORE_CYCLE_H
#define EXPLORE_CYCLE_H

#include <glib.h>

struct cycle {
    guint length; /* 0: there is none */
    guint32 *states;
};

/* first_edge: where each state's part of edges begins; both of uint32_t. */
struct cycle cycle_find(const GArray *first_edge, const GArray *edges);

#endif
