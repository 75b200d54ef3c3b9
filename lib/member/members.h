/* The members of a group as they were read: what is told, and handed out. */
#ifndef LIB_MEMBERS_H
#define LIB_MEMBERS_H

#include <glib.h>
#include <zkl.h>

#include "lib/store/store.h"

/* One of them, shared by all that tell of it. */
struct member_box {
    zkl_member_info info;
};

/* The child of that name, as it was read. */
struct member_box *member_box_new(const char *name, zkl_member_layout layout,
                                  const struct store_reply *reply);
struct member_box *member_box_ref(struct member_box *box);
void member_box_unref(struct member_box *box); /* NULL is ignored */

/* Whether they say different things of the same node; either may be NULL, which is no node. */
bool member_boxes_differ(const struct member_box *a, const struct member_box *b);

/* Whether a child of that name is a member. */
bool members_counts(const char *name, zkl_member_layout layout);

/* Takes an array of references to boxes, which it puts in order. */
zkl_members *members_new(GPtrArray *boxes);

/* So many members of a session are not stepped for each proof that it gets; tests set it. */
enum { MEMBERS_MANY = 100 };
extern unsigned members_many;

#endif
