/* A clock for a tree of processes. It stands still while one of them could run and gets no
 * processor, and runs while all of them sleep, or as fast as they compute. So it tells a test that
 * hangs from one that is slow because the machine does other work. */
#ifndef SUPPORT_OWN_TIME_H
#define SUPPORT_OWN_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What one look at the tree has found since the look before; all in µs. */
struct own_time_look {
    int64_t passed;  /* by CLOCK_MONOTONIC */
    int64_t delayed; /* the longest that one thread could run and did not; told late */
    int64_t ran;     /* by all, on all processors */
    bool renewed;    /* a process was there that had not been at the look before */
    int running;     /* processes of the whole machine that run or could */
};

/* The µs by which the clock has moved in the time of these looks. Processes that come and go
 * between looks tell nobody how long they were delayed: while there are such, they are taken to get
 * no more of the processors than others do. */
int64_t own_time_of(const struct own_time_look *looks, int count, int processors);

struct own_time;

/* The clock of all descendants of root, without root itself. */
struct own_time *own_time_new(pid_t root);
void own_time_free(struct own_time *t);

/* Looks, and returns the µs by which the clock has moved since the first look after a reset. */
int64_t own_time_now(struct own_time *t);
void own_time_reset(struct own_time *t);

/* The processes of the last look: an array of count. */
const pid_t *own_time_processes(const struct own_time *t, int *ret_count);

/* How long they were delayed since the beginning, in µs: the longest of each look. */
int64_t own_time_delayed(const struct own_time *t);

#endif
