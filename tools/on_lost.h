/* --on-lost: what is run after a command had to be ended. */
#ifndef ZKL_TOOLS_ON_LOST_H
#define ZKL_TOOLS_ON_LOST_H

#include "ending.h"

/* Starts it, if it is wanted and nobody has. envp: the command's. 0 if not. */
pid_t on_lost_start(const struct ending *e, char **envp, const struct events *events);

/* Whether it has ended; then it is reaped, and a failure said. */
bool on_lost_over(const struct ending *e, pid_t pid);

#endif
