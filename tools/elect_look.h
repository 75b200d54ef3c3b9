/* zkl elect --listen and --leader: who leads. */
#ifndef ZKL_TOOLS_ELECT_LOOK_H
#define ZKL_TOOLS_ELECT_LOOK_H

#include "elect_options.h"

/* Returns the exit status. */
int elect_look(const struct settings *settings, const struct elect_options *options,
               struct events *events);

#endif
