/* Creates that may be done late. If the answer to a create was lost, the session sends a write,
 * which its server's leader orders behind the create, and then asks whether the create was done.
 * But a leader may later let in a request that a server had kept back from an earlier connection
 * (docs/design/nodes.md). Such a node belongs to nobody, and others wait for it as long as the
 * session lives. So the session looks for it when its contender or member has ended, and beside a
 * node that holds permits. The caller holds the monitor. */
#ifndef LIB_LATE_CREATE_H
#define LIB_LATE_CREATE_H

#include "core.h"

/* Looks for nodes with the id in the directory, or of that name, at longer and longer intervals, as
 * long as the incarnation lasts. Deletes all of them but the one called keep (NULL: none). Nobody
 * makes nodes with the id any more. */
void late_create_look(zkl_session *s, const char *directory, const char *id, const char *keep);

#endif
