/* Everything that can happen in a small world, breadth first, so that what is broken has the
 * shortest way there. A state is a flat value, compared by its bytes. */
#ifndef EXPLORE_BREADTH_H
#define EXPLORE_BREADTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BREADTH_STEPS = 64 };

struct breadth_step {
    uint8_t kind, at;
};

struct breadth_world {
    size_t size; /* of a state */
    void (*init)(void *state);
    /* What can happen next; at most BREADTH_STEPS. */
    int (*list)(const void *state, struct breadth_step *steps);
    void (*take)(void *state, struct breadth_step step);
    bool (*is_fair)(struct breadth_step step); /* it happens sooner or later, unless it cannot */
    /* What is wrong, NULL: nothing; and what is if nothing fair can happen any more. */
    const char *(*broken)(const void *state);
    const char *(*stuck)(const void *state);
    /* On one line; by is NULL for the beginning. */
    void (*print)(const void *state, const struct breadth_step *by);
    void (*reached)(const void *state); /* each, once */
};

/* Prints how many states there are and, where something is broken, the way there; fair steps must
 * not go round in a circle either. True: nothing is broken. */
bool breadth_search(const struct breadth_world *world, const char *title);

#endif
