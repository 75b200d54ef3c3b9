/* The suites of faults made by proxies, each defined by the file of its name. */
#ifndef FAULTS_SCENARIOS_H
#define FAULTS_SCENARIOS_H

#include "tests/support/runner.h"

extern const struct test_suite scenario_cut_suite;
extern const struct test_suite scenario_stall_suite;
extern const struct test_suite scenario_server_suite;

#endif
