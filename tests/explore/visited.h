/* The states seen, as 96-bit fingerprints, each with the move that first led to it. */
#ifndef EXPLORE_VISITED_H
#define EXPLORE_VISITED_H

#include "encode.h"
#include "move.h"

struct visited;

enum { VISITED_NONE = UINT32_MAX }; /* the parent of the first */

struct visited *visited_new(void);
void visited_free(struct visited *v);
uint32_t visited_count(const struct visited *v);

/* The state's number; *ret_new: it was not there. */
uint32_t visited_add(struct visited *v, const struct fingerprint *print, uint32_t parent,
                     struct move move, bool *ret_new);

/* Before it is looked up: fetches from memory where it is to be found, first the one and, when that
 * has come, the other. */
void visited_prefetch_slot(const struct visited *v, const struct fingerprint *print);
void visited_prefetch(const struct visited *v, const struct fingerprint *print);

uint32_t visited_parent(const struct visited *v, uint32_t state);
struct move visited_move(const struct visited *v, uint32_t state);
const struct fingerprint *visited_print(const struct visited *v, uint32_t state);

#endif
