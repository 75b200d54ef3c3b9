/* Parts of a state that is a flat value: lists whose unused elements are 0, and numbers of which
 * only the order matters. */
#ifndef EXPLORE_FLAT_H
#define EXPLORE_FLAT_H

#include <stddef.h>
#include <stdint.h>

/* Takes one element of that size out of a list of *count. */
void flat_remove(void *list, uint8_t *count, size_t size, int at);

enum { FLAT_NUMBERS = 256 };

struct flat_numbers {
    uint64_t *list[FLAT_NUMBERS];
    int count;
};

/* 0 is none. */
void flat_add(struct flat_numbers *all, uint64_t *number);

/* Gives them the smallest numbers, from 1 up, that are in the same order. */
void flat_rank(const struct flat_numbers *all);

#endif
