/* Through everything that model_config allows, breadth first (search.c); or through parts of it,
 * with the library beside it (replay.c). */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum search_end {
    SEARCH_HOLDS,  /* nothing is broken anywhere */
    SEARCH_BROKEN, /* the shortest way there was printed */
    SEARCH_CUT     /* too many states: nothing was found in those visited */
};

/* Built to look at the code, not at the bound. */
bool search_is_slow(void);

/* What to know of all searches. */
const char *search_about(void);

/* Whether it takes the library through the walks, too. */
bool search_uses_library(void);

/* Which states of the recipe any search has reached: one bit each. */
uint32_t search_reached(void);

/* Prints one line about what was done, beginning with title. */
enum search_end search_run(const char *title, uint32_t max_states);

#endif
