/* Seeds that found something once, in a library with a rule taken out, or in an oracle that asked
 * for too much. They are played first each time. They depend on how schedules are drawn: a change
 * of that needs new seeds. */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

#include <stddef.h>
#include <stdint.h>

struct known_seed {
    uint64_t seed;
    const char *found;
};

extern const struct known_seed seeds[];
extern const size_t seeds_count;

/* With --retain. */
extern const struct known_seed retain_seeds[];
extern const size_t retain_seeds_count;

/* With --members. */
extern const struct known_seed member_seeds[];
extern const size_t member_seeds_count;

/* With --lacking. */
extern const struct known_seed lacking_seeds[];
extern const size_t lacking_seeds_count;

#endif
