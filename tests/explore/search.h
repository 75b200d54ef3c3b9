/* Through everything that model_config allows, breadth first (search.c); or through parts of it,
 * with the library beside it (replay.c). */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include "model.h"

/* What could stand for all orders does not (search.c). */
bool search_tries_every_order(void);

/* What to know of all searches. */
const char *search_about(void);

/* Whether it takes the library through the walks, too. */
bool search_uses_library(void);

/* Prints one line about what was done, beginning with title. Walks leave *ret_ends alone. */
enum breadth_end search_run(const char *title, uint32_t max_states, struct breadth_ends *ret_ends);

/* ---- encode.c: what matters of a state for the future, and nothing else ---- */

/* Equal for states that differ only in names: which of the like contenders is which, absolute tags,
 * numbers, transaction ids, ids and sessions, the places of nodes in the table. */
struct breadth_print encode_state(const struct state *st);

#endif
