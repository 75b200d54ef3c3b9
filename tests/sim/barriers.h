/* What tests/sim/barriers plays besides. */
#ifndef SIM_BARRIERS_H
#define SIM_BARRIERS_H

#include "runner.h"

extern const struct test_suite sim_counters, sim_shards;

#endif
