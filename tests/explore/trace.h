/* How a state was reached, in words. */
#ifndef EXPLORE_TRACE_H
#define EXPLORE_TRACE_H

#include "fair.h"
#include "visited.h"

/* The moves to a state, and one more behind it (NULL: none), each with what it led to. */
void trace_print(const struct visited *v, uint32_t state, const struct move *more);

/* The moves to a cycle, and once around. */
void trace_print_cycle(const struct visited *v, const struct cycle *cycle);

#endif
