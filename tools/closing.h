/* The end of a session, which a slow or frozen server must not draw out. */
#ifndef ZKL_TOOLS_CLOSING_H
#define ZKL_TOOLS_CLOSING_H

#include "tool.h"

/* Before a session is opened: connections that are there already are none of its own. */
void closing_prepare(void);

/* How long a slow server may take to confirm the end where nobody depends on it. */
#define CLOSING_PATIENCE_MS 50

/* Closes the session: no callback comes after the return. Waits patience_ms at most until the
 * server confirms the close. If it does not, another process goes on with the close for a few
 * seconds after our end, so that the nodes go as soon as the server answers. */
void closing_close(zkl_session *session, int64_t patience_ms);

/* A process that closes a session is no part of any command, so the end of a command around us does
 * not end it. outside is cgroup_open_outside()'s; -1: none. Async-signal-safe. */
void closing_detach(int outside);

#endif
