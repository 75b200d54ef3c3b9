/* A program with one long test of random faults: --seconds N, --seed N, --nodes N,
 * and perhaps the one case to run. */
#ifndef LIVE_SEEDED_H
#define LIVE_SEEDED_H

#include "runner.h"

#include <glib.h>

struct seeded {
    int seconds; /* the default, then what is asked for */
    guint32 seed;
    int nodes;        /* servers, where the program starts as many as are asked for */
    const char *self; /* the path of this program, while the test runs */
    GRand *rand;      /* of the seed, while it runs: a failure ends it anywhere */
};

/* The suite's: without a server it is skipped. */
int seeded_init(void);

/* Runs the tests; the exit status. */
int seeded_main(struct seeded *s, int argc, char **argv);

#endif
