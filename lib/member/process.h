/* This process, and whether others live. */
#ifndef LIB_PROCESS_H
#define LIB_PROCESS_H

#include "recipes/process_id.h"

/* Reads files of the kernel: without locks. */
void process_self(struct process_id *ret);

/* Whether the process of a mark is known to have ended, as self sees it. */
bool process_is_dead(const struct process_id *other, const struct process_id *self);

#endif
