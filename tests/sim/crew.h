/* Child processes that play schedules, each its share of the seeds. A child that finds something
 * wrong, or crashes, ends; the seed it was at is known. */
#ifndef SIM_CREW_H
#define SIM_CREW_H

#include <stdbool.h>
#include <stdint.h>

#include "tally.h"

struct crew_plan {
    uint64_t from, schedules; /* seeds: schedules of them, UINT64_MAX: without end */
    int64_t seconds;          /* stop after that, 0: not */
    unsigned workers;
};

enum { CREW_MAX = 64, CREW_TEXT = 400 };

struct crew_result {
    uint64_t schedules; /* that ended well */
    struct tally tally;
    unsigned failures;
    struct {
        uint64_t seed;
        char text[CREW_TEXT];
    } failed[CREW_MAX];
};

void crew_play(const struct crew_plan *plan, struct crew_result *ret);

/* In a child, so that a crash is survived: plays that seed and writes its trace to stdout. True: it
 * ended well. */
bool crew_replay(uint64_t seed);

#endif
