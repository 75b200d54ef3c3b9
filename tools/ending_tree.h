/* Who of a command's tree gets which signal, and whether any of it lives. */
#ifndef ZKL_TOOLS_ENDING_TREE_H
#define ZKL_TOOLS_ENDING_TREE_H

#include "ending.h"

/* For the caller, guard or tool (then helper is the guard). Before it has children of its own. */
void ending_tree_init(struct ending *e, pid_t root, pid_t helper);
void ending_tree_free(struct ending *e);

/* TERM and CONT, once. Not to whoever has had TERM from us, and not below a zkl, which has its own
 * order. */
void ending_tree_term(struct ending *e);

/* STOP to what is not stopped yet, but to no zkl and no guard, which go on renewing their locks;
 * and CONT to those that got it. */
void ending_tree_stop(struct ending *e);
void ending_tree_continue(struct ending *e);

/* KILL. nested: also to other zkl and to what is below them, but for a while not to their guards,
 * which then see to their own. Each look is farther from the one before. */
void ending_tree_kill(struct ending *e, bool nested);

/* Who cannot be signalled is told. */
void ending_tree_probe(struct ending *e);

bool ending_tree_gone(struct ending *e);

#endif
