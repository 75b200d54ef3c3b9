/* The names of contenders' nodes, and what errors say of names that do not fit. */
#ifndef LIB_LAYOUT_H
#define LIB_LAYOUT_H

#include <glib.h>

#include "recipes/rule.h"

/* Fills bytes with size random bytes. Simulations replace it, because they must repeat
 * themselves. */
extern void (*layout_random)(void *bytes, size_t size);

/* Makes the id of one attempt in one session, which says whether its handle retains: a UUID,
 * without dashes if nodes of that kind have none. Free with g_free(). */
char *layout_new_id(enum child_kind kind, bool retains);

/* Makes a node's name up to the number that the server appends: "_c_<uuid>-lock-", Curator's, or
 * "<32 hex digits>__lock__". Free with g_free(). rank: of a candidate, its priority; of a lease,
 * how many permits it asks for, below 0 if each is to have a number; 0: it has none. */
char *layout_name(enum child_kind kind, const char *id, int rank);

/* Says what the child of that name is. Free with g_free(). */
char *layout_incompatible(const char *name);

/* Says the same, and what to do, for the error of a contender that comes after that child and
 * cannot wait for it. Free with g_free(). */
char *layout_refusal(const char *name);

#endif
