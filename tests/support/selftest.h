/* The suites of selftest, and what they share. */
#ifndef SUPPORT_SELFTEST_H
#define SUPPORT_SELFTEST_H

#include "runner.h"

#include <stddef.h>

extern const struct test_suite selftest_runner, selftest_server, selftest_proxy, selftest_raw,
    selftest_listener, selftest_links;

/* Suites that misbehave, run by selftest_runner in a process of their own: selftest --planted. */
extern const struct test_suite *const selftest_planted[];

/* Runs this program again; its output is for free(), the status as of waitpid(). */
char *selftest_again(const char *const *arguments, const char *const *environment, int *status);

/* selftest --die HOW: starts a server, prints its pid and folder and ends without stopping it. */
int selftest_die(const char *how);

#endif
