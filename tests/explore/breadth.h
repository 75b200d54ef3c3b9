/* Tries everything that can happen in a small world, breadth first, so that the way to what is
 * broken is the shortest one. A state is a flat value without padding that is not 0. Only a hash of
 * 128 bits is kept of each state that was seen: among 100 million states, two have the same hash
 * with a probability of about 1e-23, and one of them would be missed. */
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
    size_t size;              /* of a state */
    size_t broken;            /* where the byte of it is that says what is wrong; 0: nothing */
    const char *const *texts; /* for each value of that byte */
    int unfair;               /* kinds of steps below happen sooner or later, unless they cannot */
    void (*init)(void *state);
    /* Makes the same of all that differ only in names; NULL: none do. */
    void (*plain)(void *state);
    /* What can happen next; at most BREADTH_STEPS. */
    int (*list)(const void *state, struct breadth_step *steps);
    void (*take)(void *state, struct breadth_step step);
    int (*check_end)(const void *state); /* what is wrong if nothing fair can happen any more */
    /* On one line; by is NULL for the beginning. */
    void (*print)(const void *state, const struct breadth_step *by);
    void (*reached)(const void *state); /* each, once */
};

/* Prints how many states there are and, where something is broken, the way there; fair steps must
 * not go round in a circle either. True: nothing is broken. */
bool breadth_search(const struct breadth_world *world, const char *title);

/* A program: searches, one after the other, that together reach each state of a machine. */
struct breadth_program {
    const struct breadth_world *world;
    size_t count;
    /* Configures the world for that search and says what it is; NULL: only with --full. */
    const char *(*configure)(size_t search, bool full);
    int *faults;             /* as configured: one less, if any, in an instrumented build */
    const uint32_t *reached; /* by any search: a bit for each state of the machine */
    int states;
    const char *(*state_name)(int state);
};

/* Its main(): prints the closing line and returns the exit status. */
int breadth_main(const struct breadth_program *program, int argc, char **argv);

#endif
