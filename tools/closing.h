/* Closes a session. A slow or frozen server must not delay the end of the process. */
#ifndef ZKL_TOOLS_CLOSING_H
#define ZKL_TOOLS_CLOSING_H

#include "tool.h"

/* Remembers which connections this process has already. closing_close() does not take these for the
 * session's. Call it before a session is opened. */
void closing_prepare(void);

/* The patience_ms of closing_close() if nobody depends on the server's confirmation. */
#define CLOSING_PATIENCE_MS 50

/* Closes the session: no callback comes after the return. Waits patience_ms at most until the
 * server confirms the close. If the server does not, another process goes on with the close for a
 * few seconds after our end. So the nodes go as soon as the server answers. */
void closing_close(zkl_session *session, int64_t patience_ms);

/* Takes this process, which closes a session, out of the trees of all commands that enclose us:
 * the end of such a command must not end this process. outside is the descriptor of
 * cgroup_open_outside(); -1: there is none. Async-signal-safe. */
void closing_detach(int outside);

#endif
