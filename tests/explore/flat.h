/* Parts of a state that is a flat value: lists whose unused elements are 0, numbers of which only
 * the order matters, and nodes that are dropped when nobody names them any more. */
#ifndef EXPLORE_FLAT_H
#define EXPLORE_FLAT_H

#include <stddef.h>
#include <stdint.h>

/* Puts one element of that size behind a list of *count, in which there is room for some: if not,
 * the world is too small, and that is broken. */
void flat_push(void *list, uint8_t *count, int room, size_t size, const void *element);

/* Takes one out of it. */
void flat_remove(void *list, uint8_t *count, size_t size, int at);

enum { FLAT_NUMBERS = 256, FLAT_NO_NODE = 0xff };

struct flat_numbers {
    uint64_t *list[FLAT_NUMBERS];
    int count;
};

/* 0 is none. */
void flat_add(struct flat_numbers *all, uint64_t *number);

/* Gives them the smallest numbers, from 1 up, that are in the same order. */
void flat_rank(const struct flat_numbers *all);

#define FLAT_BIT(n) ((uint16_t)(1U << (n)))

/* Nodes that are named by the places that they have in an array: a bit for each. */
struct flat_places {
    uint8_t to[16];
};

/* Drops all nodes but those from the array of *made elements of that size. */
struct flat_places flat_keep(uint16_t nodes, void *array, uint8_t *made, size_t size);

uint16_t flat_bit(uint8_t node); /* as FLAT_BIT; 0 for FLAT_NO_NODE */
void flat_move(const struct flat_places *p, uint8_t *node);
void flat_move_all(const struct flat_places *p, uint16_t *nodes);

#endif
