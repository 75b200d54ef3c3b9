#ifndef WORLD_SUITES_H
#define WORLD_SUITES_H

#include "runner.h"

extern const struct test_suite one_suite;
extern const struct test_suite fault_suite;
extern const struct test_suite clock_suite;
extern const struct test_suite ensemble_suite;
extern const struct test_suite chaos_suite;
extern const struct test_suite zkl_suite;

#endif
