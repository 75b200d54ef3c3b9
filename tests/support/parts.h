/* What a grant has several of, in an array. */
#ifndef SUPPORT_PARTS_H
#define SUPPORT_PARTS_H

#include <zkl/grant.h>

/* Stores as many of g's parts as there is room for. Returns how many g has. */
size_t parts_of(const zkl_grant *g, zkl_part *parts, size_t room);

#endif
