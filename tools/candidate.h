/* One term of zkl elect, in a process of its own: a guard is forked before there are threads. */
#ifndef ZKL_TOOLS_CANDIDATE_H
#define ZKL_TOOLS_CANDIDATE_H

#include "elect_options.h"

struct shared;

/* Campaigns, leads and ends; events is open, and orders was given to it. shared tells the
 * supervisor too how that came. Returns the exit status. */
int candidate_run(const struct settings *settings, struct elect_options *options,
                  struct events *events, struct shared *shared);

#endif
