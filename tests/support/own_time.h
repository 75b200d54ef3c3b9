/* A clock for a tree of processes. It stands still while one of them could run and gets no
 * processor, and runs while all of them sleep, or as fast as they compute. So it tells a test that
 * hangs from one that is slow because the machine does other work. */
#ifndef SUPPORT_OWN_TIME_H
#define SUPPORT_OWN_TIME_H

#include <stdint.h>
#include <sys/types.h>

/* What one look at the tree has found since the look before; all in µs. */
struct own_time_look {
    int64_t passed;  /* by CLOCK_MONOTONIC */
    int64_t delayed; /* the longest that one thread could run and did not */
    int64_t ran;     /* by all, on all processors */
    int64_t briefly; /* of that, by processes that were not there at both looks */
    int running;     /* processes of the whole machine that run or could */
};

/* The µs by which the clock moves. A process that came and went between two looks tells nobody how
 * long it was delayed: as often as it ran, as many others ran on each processor. */
int64_t own_time_of(const struct own_time_look *look, int processors);

struct own_time;

/* Of all descendants of root, and not of root itself. */
struct own_time *own_time_new(pid_t root);
void own_time_free(struct own_time *t);

/* Looks, and returns the µs by which the clock has moved; 0 the first time, and after a pause. */
int64_t own_time_passed(struct own_time *t);
void own_time_pause(struct own_time *t); /* until the next look */

/* The processes of the last look: an array of count. */
const pid_t *own_time_processes(const struct own_time *t, int *ret_count);

/* How long they were delayed since the beginning, in µs: each look's longest. */
int64_t own_time_delayed(const struct own_time *t);

#endif
