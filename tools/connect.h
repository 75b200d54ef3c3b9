/* The session of one run of the command. */
#ifndef ZKL_TOOLS_CONNECT_H
#define ZKL_TOOLS_CONNECT_H

#include "events.h"
#include "tool.h"

/* What --connect, ZKL_CONNECT or the default says. */
const char *connect_string(const struct settings *settings);

/* What any connection to the servers needs: the session timeout, and TLS. */
zkl_session_options connect_options(const struct settings *settings);

/* Opens a session as the settings say; no server is asked yet. GO_ON, or a status after a message.
 */
int session_open(const struct settings *settings, zkl_session **ret);

/* The same; heard(record, data) receives what the library logs, as zkl_session_open() says. */
int session_open_heard(const struct settings *settings, zkl_session **ret, zkl_log_fn heard,
                       void *data);

/* Waits until the session is made, at most --connect-timeout and limit_ms (ZKL_FOREVER: no limit
 * of its own). GO_ON, or a status: after a message, or 128+n after signal n; *session is then
 * closed and NULL. */
int session_connect(const struct settings *settings, zkl_session **session, int64_t limit_ms,
                    struct events *events);

#endif
