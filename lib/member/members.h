/* The members of a group as they were read, in a header for tests. */
#ifndef LIB_MEMBERS_H
#define LIB_MEMBERS_H

#include <glib.h>
#include <zkl.h>

#include "lib/store/store.h"

/* A member as it was read: an atomic rc_box that all who tell of it share. */
struct member_box {
    zkl_member_info info;
};

/* Makes a box of the child of that name, as reply shows it. */
struct member_box *member_box_new(const char *name, zkl_member_layout layout,
                                  const struct store_reply *reply);

/* Makes a snapshot of boxes, an array of references that it takes and puts in order. */
zkl_members *members_new(GPtrArray *boxes);

#endif
