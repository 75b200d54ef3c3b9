/* Giving a grant back: the grant is told first, then its contender deletes the node. With the
 * monitor held. */
#ifndef LIB_RELEASE_H
#define LIB_RELEASE_H

#include <stdbool.h>
#include <zkl.h>

/* False: it was lost before. The caller's reference stays. */
bool grant_give_back(zkl_grant *g);

/* The second half of that, after grant_disown(), for a transaction that gives back: the node is
 * deleted, unless it is gone. */
void grant_let_go(zkl_grant *g, bool node_gone);

#endif
