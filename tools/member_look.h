/* zkl member --list and --listen: who is there. */
#ifndef ZKL_TOOLS_MEMBER_LOOK_H
#define ZKL_TOOLS_MEMBER_LOOK_H

#include "events.h"
#include "member_options.h"

/* Returns the exit status. */
int member_look(const struct settings *settings, const struct member_options *options,
                struct events *events);

#endif
