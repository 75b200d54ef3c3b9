/* zkl elect itself: one term after the other, each by a child of one term (candidate.h). */
#ifndef ZKL_TOOLS_SUPERVISOR_H
#define ZKL_TOOLS_SUPERVISOR_H

#include "elect_options.h"

/* Returns the exit status. */
int supervise(const struct settings *settings, struct elect_options *options,
              struct events *events);

#endif
