/* The workers of a run, their server, and what is done to them. */
#ifndef DEMO_RUN_H
#define DEMO_RUN_H

#include "tests/history/scene.h"

#include <signal.h>

enum { SESSION_MS = 4000 };

typedef struct run_options {
    int workers, increments, seed;
    gboolean unsafe, keep, quiet, no_color;
    char *svg;
} run_options;

typedef struct run {
    const run_options *o;
    struct scene scene;
    char *file;           /* the shared number */
    guint seen;           /* events that were looked at */
    int64_t moved;        /* when something was last recorded */
    int made[ACTORS_MAX]; /* increments acknowledged by each worker's processes */
} run;

extern volatile sig_atomic_t run_interrupted;

/* run.c: the pieces. */
bool run_start(run *r, const run_options *o); /* all workers are ready; none has begun */
void run_free(run *r);                        /* ends what is left */

void run_pause(run *r, int ms);       /* time passes; the history is followed */
bool run_restart(run *r, int worker); /* for the increments that are left */

/* Waits until so many events of these kinds (a mask of EV_BIT()) about a worker (-1: any) are
 * recorded since this instant. false: a limit, an interrupt, or nobody is left to do it. */
bool run_await(run *r, uint64_t kinds, int worker, int64_t since, guint count);
bool run_await_made(run *r, int increments);
bool run_await_end(run *r); /* every worker has ended */

/* stages.c: the play. What fails in it shows in the history, so nothing is answered. */
void run_play(run *r);

#endif
