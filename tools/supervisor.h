/* zkl elect itself: one term after the other, each by a child of one term (candidate.h). */
#ifndef ZKL_TOOLS_SUPERVISOR_H
#define ZKL_TOOLS_SUPERVISOR_H

#include "elect_options.h"

/* Returns the exit status. *ret_key: the signal that is to end our process group then, or 0; by
 * events_die(), as events was open. */
int supervise(const struct settings *settings, struct elect_options *options, struct events *events,
              int *ret_key);

#endif
