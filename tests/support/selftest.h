/* The suites of selftest, and what they share. */
#ifndef SUPPORT_SELFTEST_H
#define SUPPORT_SELFTEST_H

#include "runner.h"

#include <stddef.h>

/* Suites that misbehave, beside the others, which run no more: selftest_runner has them run in a
 * process of their own (selftest --planted). */
int selftest_planted(int argc, char **argv);

/* The same of selftest_watchdog: selftest --watched. */
int selftest_watched(int argc, char **argv);

/* Runs this program again; its output is for free(), the status as of waitpid(). */
char *selftest_again(const char *const *arguments, const char *const *environment, int *status);

/* selftest --die HOW: starts a server, prints its pid and folder and ends without stopping it. */
int selftest_die(const char *how);

#endif
