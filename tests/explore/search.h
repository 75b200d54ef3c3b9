/* Through everything that model_config allows, breadth first (search.c); or through parts of it,
 * with the library beside it (replay.c). */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum search_end {
    SEARCH_HOLDS,  /* nothing is broken anywhere */
    SEARCH_BROKEN, /* a way there was printed, of the fewest moves that are not put together */
    SEARCH_CUT     /* too many states: nothing was found in those visited */
};

/* Built to look at the code, not at the bound. */
bool search_is_slow(void);

/* Where nothing fair happens any more: how many states, and the sum of their fingerprints. */
struct search_ends {
    uint64_t count, sum;
};

/* What could stand for all orders does not (reduce.h). */
bool search_tries_every_order(void);

/* What to know of all searches. */
const char *search_about(void);

/* Whether it takes the library through the walks, too. */
bool search_uses_library(void);

/* Which states of the recipe any search has reached: one bit each. */
uint32_t search_reached(void);

/* Prints one line about what was done, beginning with title. Walks leave *ret_ends alone. */
enum search_end search_run(const char *title, uint32_t max_states, struct search_ends *ret_ends);

#endif
