/* Creates that may be done late. Whether a create was done whose answer was lost is asked behind a
 * write, which its server's leader orders behind it; but a leader may let in what a server had kept
 * back from a connection before (docs/design/nodes.md). Such a node belongs to nobody, and others
 * wait for it as long as the session lives. So it is looked for when its contender or member has
 * ended, and beside a node that holds permits. All with the monitor held. */
#ifndef LIB_LATE_CREATE_H
#define LIB_LATE_CREATE_H

#include "core.h"

/* Looks for nodes with the id in the directory, or of that name, in longer and longer intervals,
 * and deletes them, but the one called keep, as long as the incarnation lasts. Nobody makes nodes
 * with the id any more. keep: NULL, none. */
void late_create_look(zkl_session *s, const char *directory, const char *id, const char *keep);

#endif
