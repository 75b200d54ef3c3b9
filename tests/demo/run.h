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
    int made[ACTORS_MAX]; /* increments acknowledged by each worker's processes */
} run;

extern volatile sig_atomic_t run_interrupted;

bool run_start(run *r, const run_options *o); /* all workers are ready; none has begun */
void run_play(run *r);
void run_free(run *r); /* ends what is left */

#endif
