/* Tries everything that can happen in a small world, breadth first, so that the way to what is
 * broken is the shortest one. A state is a flat value without padding that is not 0. Only a
 * fingerprint of 96 bits is kept of each state that was seen: among ten million states, two have
 * the same one with a probability of about 1e-15, and one of them would be missed. What need not be
 * in memory is in files. */
#ifndef EXPLORE_BREADTH_H
#define EXPLORE_BREADTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BREADTH_MOVES = 160 }; /* that are possible in one state */

/* What happens, and to what of the world. */
struct move {
    uint8_t kind, at, node;
};

struct breadth_kind {
    const char *text;
    enum {
        FAIR,    /* happens sooner or later, unless it cannot */
        PERHAPS, /* may never happen */
        FAULT    /* one of the budget each */
    } when;
    uint8_t ats; /* .at of such a move is below */
};

struct breadth_run {
    const char *what;
    enum {
        ALWAYS,
        SOAK,    /* with --full only */
        PLANTED, /* something wrong, which must be found */
        TWICE    /* explore's: in every order, too */
    } when;
    int faults; /* one less, if any and nothing is planted, in an instrumented build */
    const void *config;
};

/* All of a world's own that has its usual name. */
#define BREADTH_WORLD(type)                                                                        \
    .size = sizeof(type), .faults = offsetof(type, faults), .kinds = moves,                        \
    .kind_count = sizeof moves / sizeof moves[0], .may = may, .take = take, .init = init,          \
    .check_end = check_end, .print = print, .runs = runs,                                          \
    .run_count = sizeof runs / sizeof runs[0], .state_name = state_name

#define BREADTH_CONFIG(type, ...) (&(const struct type){__VA_ARGS__})

struct breadth_print {
    uint32_t words[3];
};

struct breadth_world {
    size_t size;   /* of a state */
    size_t faults; /* where the byte of it is that counts those which may happen yet */
    const struct breadth_kind *kinds;
    uint8_t kind_count;
    bool (*may)(const void *state, struct move move);
    void (*take)(void *state, struct move move);
    /* The state is all 0 but for its faults. */
    void (*init)(void *state, const void *config);
    /* Makes the same of all that differ only in names; NULL: none do. */
    void (*plain)(void *state);
    const char *(*check_end)(const void *state); /* what is wrong if nothing fair can happen */
    void (*print)(const void *state);            /* on the line that the move begins */
    /* Where the state of the machine is, an enum: of the first of so many that are so far apart. */
    size_t machine, stride;
    int machines;

    /* A program: searches, one after the other, that together reach each state of the machine. */
    const struct breadth_run *runs;
    size_t run_count;
    int states;
    const char *(*state_name)(int state);

    /* In place of the above, for a world that has a list of moves, a fingerprint, a way to tell of
     * a move while it takes it, or several beginnings of its own. */
    int (*list)(const void *state, struct move *moves);
    bool (*is_fair)(struct move move);
    struct breadth_print (*print_of)(const void *state);
    void (*tell)(void *state, const struct move *move); /* NULL: the beginning */
    bool (*begin)(void *state, int number);             /* false: there are no more */
};

/* Unless that holds, something is wrong with the move that is taken. */
void breadth_require(bool holds, const char *broken);

/* A move behind the one that is taken is taken with it. */
void breadth_pass(void);

/* Built to look at the code, not at the bound. */
bool breadth_is_slow(void);

/* All that was reached by searches for what is not planted; and more of it. */
uint32_t breadth_reached(uint32_t more);

/* The size of what is 0 behind the rest makes a difference, too. */
struct breadth_print breadth_print_of(const void *bytes, size_t size);

enum breadth_end {
    BREADTH_HOLDS,  /* nothing is broken anywhere, nor do fair moves go round in a circle */
    BREADTH_BROKEN, /* the way there was printed */
    BREADTH_CUT     /* too many states: nothing was found in those visited */
};

/* Where nothing fair happens any more: how many states, and the sum of their fingerprints. */
struct breadth_ends {
    uint64_t count, sum;
};

/* Prints one line about what was done, beginning with title. */
enum breadth_end breadth_search(const struct breadth_world *world, const char *title,
                                uint32_t max_states, struct breadth_ends *ret_ends);

/* The main() of a program: prints the closing line and returns the exit status. */
int breadth_main(const struct breadth_world *world, int argc, char **argv);

#endif
