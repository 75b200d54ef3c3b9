/* Child processes that play schedules, each its share of the seeds. A child that finds something
 * wrong, or crashes, ends; the seed it was at is known. */
#ifndef SIM_WORKERS_H
#define SIM_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "tally.h"

struct workers_plan {
    uint64_t from, schedules; /* seeds: schedules of them, UINT64_MAX: without end */
    int64_t seconds;          /* stop after that, 0: not */
    unsigned workers;
};

enum { WORKERS_MAX = 64, WORKERS_TEXT = 400 };

struct workers_result {
    uint64_t schedules; /* that ended well */
    struct tally tally;
    unsigned failures;
    struct {
        uint64_t seed;
        char text[WORKERS_TEXT];
    } failed[WORKERS_MAX];
};

void workers_play(const struct workers_plan *plan, struct workers_result *ret);

/* Plays the schedule of that seed in a child process, so that we survive its crash. The child
 * writes the trace to stdout. Returns whether it ended well. */
bool workers_replay(uint64_t seed);

#endif
