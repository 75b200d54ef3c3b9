/* Released nodes are deleted in the background. zkl_session_flush() waits until they are, and
 * exit() waits a moment for that. The caller holds the monitor. */
#ifndef LIB_FLUSH_H
#define LIB_FLUSH_H

#include "core.h"

/* Without the monitor held: from now on exit() waits, too. */
void flush_watch(void);

/* A delete is asked for; it is answered, or its session is gone. */
void flush_asked(zkl_session *s);
void flush_answered(zkl_session *s);

/* A node may come yet that nobody wants; its delete, if one is needed, was asked for. */
void flush_leaves(zkl_session *s);
void flush_left(zkl_session *s);

#endif
