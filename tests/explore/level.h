/* The states of one depth, in a file: packed, as most of a state is 0. First all are put, then all
 * are got, in the same order. */
#ifndef EXPLORE_LEVEL_H
#define EXPLORE_LEVEL_H

#include <stdbool.h>

#include "model.h"

struct level;

struct level *level_new(void);
void level_free(struct level *l);

void level_put(struct level *l, const struct state *st);
bool level_get(struct level *l, struct state *st); /* false: that were all */

uint32_t level_count(const struct level *l); /* of those that can be got */
void level_clear(struct level *l);

#endif
