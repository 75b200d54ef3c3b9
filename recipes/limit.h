/* The limit of a semaphore, in its directory's data: how many permits there are, in ASCII digits,
 * as kazoo writes it. */
#ifndef RECIPES_LIMIT_H
#define RECIPES_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the longest, with the 0 at its end. */
enum { LIMIT_SIZE = 12 };

/* 1 to INT32_MAX; 0: the data is no limit. */
int32_t limit_read(const char *data, size_t length);

/* The same of a limit that is the number of Curator's SharedCount. False: the data is none, or
 * there is none. */
bool limit_read_count(const void *data, size_t length, int32_t *ret);

#endif
