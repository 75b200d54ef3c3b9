/* Which processes of a command's tree get which signal, and whether any of the tree lives. */
#ifndef ZKL_TOOLS_TERMINATION_TREE_H
#define ZKL_TOOLS_TERMINATION_TREE_H

#include "termination.h"

/* For the caller, guard or tool (then helper is the guard). Before it has children of its own. */
void termination_tree_init(struct termination *e, pid_t root, pid_t helper);
void termination_tree_free(struct termination *e);

/* Sends TERM and CONT, once. A process that has had TERM from us gets neither, and neither does a
 * process below a zkl, which ends its own command in its own order. */
void termination_tree_term(struct termination *e);

/* The first sends STOP to each process that is not stopped yet, but to no zkl and no guard, which
 * go on renewing their locks. The second sends CONT to the processes that the first has stopped. */
void termination_tree_stop(struct termination *e);
void termination_tree_continue(struct termination *e);

/* Sends KILL. nested: to another zkl and what is below it too, but for a while not to its guard,
 * which then sees to its own. Once --on-lost was started, nobody gets it. The time from look to
 * look grows. */
void termination_tree_kill(struct termination *e, bool nested);

/* Tells of each process that cannot be signalled. */
void termination_tree_probe(struct termination *e);

bool termination_tree_gone(struct termination *e);

#endif
