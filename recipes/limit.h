/* The limit of a semaphore, in its directory's data: how many permits there are, in ASCII digits,
 * as kazoo writes it. */
#ifndef RECIPES_LIMIT_H
#define RECIPES_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* 1 to INT32_MAX; 0: the data is no limit. */
int32_t limit_read(const char *data, size_t length);

#endif
