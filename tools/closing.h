/* Ends a session. A slow or frozen server must not draw that out. */
#ifndef ZKL_TOOLS_CLOSING_H
#define ZKL_TOOLS_CLOSING_H

#include "tool.h"

/* Lists the connections that are open already, which are none of the next session's. Call it before
 * a session is opened. */
void closing_prepare(void);

/* The patience of closing_close() where nobody depends on the server's confirmation. */
#define CLOSING_PATIENCE_MS 50

/* Closes the session: no callback comes after the return. Waits patience_ms at most until the
 * server confirms the close. If it does not, another process goes on with the close for a few
 * seconds after our end, so that the nodes go as soon as the server answers. */
void closing_close(zkl_session *session, int64_t patience_ms);

/* Takes this process, which closes a session, out of all commands around us, whose ends must not
 * end it. outside is the descriptor of cgroup_open_outside(); -1: there is none. Async-signal-safe.
 */
void closing_detach(int outside);

#endif
