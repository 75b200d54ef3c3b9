/* The members of a group as they were read, for tests. */
#ifndef LIB_MEMBERS_H
#define LIB_MEMBERS_H

#include <glib.h>
#include <zkl.h>

#include "lib/store/store.h"

/* A member as it was read, shared by all that tell of it. */
struct member_box {
    zkl_member_info info;
};

/* The child of that name, as it was read. */
struct member_box *member_box_new(const char *name, zkl_member_layout layout,
                                  const struct store_reply *reply);

/* Takes an array of references to boxes, which it puts in order. */
zkl_members *members_new(GPtrArray *boxes);

#endif
