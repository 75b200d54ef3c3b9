/* How contenders are called, and what is said of those that are called otherwise. */
#ifndef LIB_LAYOUT_H
#define LIB_LAYOUT_H

#include <glib.h>

#include "recipes/rule.h"

/* Fills in random bytes. Replaced by simulations, which must repeat themselves. */
extern void (*layout_random)(void *bytes, size_t size);

/* The id of one attempt in one session, which says whether its handle retains: a UUID, without
 * dashes if a node of that kind is to have it. Free with g_free(). */
char *layout_new_id(enum child_kind kind, bool retains);

/* A new node's name up to the number that the server appends: "_c_<uuid>-lock-", Curator's, or
 * "<32 hex digits>__lock__". Free with g_free(). rank: of a candidate, its priority; of a lease,
 * how many permits it asks for, below 0 if each is to have a number; 0: it has none. */
char *layout_name(enum child_kind kind, const char *id, int rank);

/* Why a contender cannot queue in the directory of the child of that name; free with g_free(). */
char *layout_incompatible(const char *name);

#endif
