/* Orphans: nodes of ours that nobody wants any more. They are deleted in the background, each until
 * that is confirmed. If the server refuses, the session ends when nothing else helps. The session
 * looks for orphans that may be made late. zkl_session_flush() waits until what was released is
 * deleted, and exit() waits a moment for that. The caller holds the monitor. docs/design/nodes.md
 * has the argument. */
#ifndef LIB_ORPHANS_H
#define LIB_ORPHANS_H

#include "core.h"

/* Makes exit() wait, too, from now on. The monitor is not held. */
void orphans_watch_exit(void);

/* Takes path, and deletes the node, again and again until that is confirmed or the session is
 * gone. */
void orphan_delete(zkl_session *s, char *path);

/* Called when the session is over: forgets the deletes that wait for another try. */
void orphan_forget_refusals(zkl_session *s);

/* Counts an attempt that has given up: its node may come yet. */
void orphan_leaves(zkl_session *s);

/* Takes one attempt from that count: the delete of its node, if one is needed, was asked for. */
void orphan_left(zkl_session *s);

/* Looks for nodes with the id in the directory, or of that name, at longer and longer intervals, as
 * long as the incarnation lasts. Deletes all of them except the one called keep (NULL: none). The
 * caller makes no more nodes with the id. */
void orphan_look_late(zkl_session *s, const char *directory, const char *id, const char *keep);

#endif
