/* How contenders are called, and what is said of those that are called otherwise. */
#ifndef LIB_LAYOUT_H
#define LIB_LAYOUT_H

#include <glib.h>

#include "recipes/child.h"

enum name_style {
    STYLE_GUARDED, /* "_c_<uuid>-lock-": Curator's, whom all but kazoo and zk-ruby's readers see */
    STYLE_KAZOO    /* "<32 hex digits>__lock__" */
};

/* Fills in random bytes. Replaced by simulations, which must repeat themselves. */
extern void (*layout_random)(void *bytes, size_t size);

/* The id of one attempt in one session, which says whether its handle retains; free with g_free().
 */
char *layout_new_id(enum name_style style, bool retains);

/* A new node's name up to the number that the server appends; free with g_free(). rank: of a
 * candidate, its priority; of a lease, how many permits it asks for, below 0 if each
 * is to have a number; 0: it has none. */
char *layout_name(enum name_style style, enum child_kind kind, const char *id, int rank);

/* Whether the contender of that name, behind one of ours of that style and kind, would wait for it:
 * as far as its name tells, and for people only. */
bool layout_heeds(const char *name, enum name_style style, enum child_kind own);

/* Why a contender cannot queue in the directory of the child of that name; free with g_free(). */
char *layout_incompatible(const char *name);

#endif
