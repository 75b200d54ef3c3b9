/* Opens the session of the command, and waits for it. */
#ifndef ZKL_TOOLS_CONNECT_H
#define ZKL_TOOLS_CONNECT_H

#include "events.h"
#include "tool.h"

/* Returns the servers: those of --connect, else of ZKL_CONNECT, else the default. */
const char *connect_string(const struct settings *settings);

/* Returns the chroot of the connect string, which may be "". */
const char *connect_chroot(const struct settings *settings);

/* Returns the options that any connection to the servers needs: timeout, tick, TLS, and whether the
 * list of servers is fixed. */
zkl_session_options connect_options(const struct settings *settings);

/* Begins what opens sessions and hears signals: reads what a session needs that can be read only
 * once, and then opens events. Returns GO_ON, or a status after a message. */
int connect_begin(const struct settings *settings, struct events *events);

/* Opens a session as the settings say, and asks no server yet. Returns GO_ON, or a status after a
 * message. */
int session_open(const struct settings *settings, zkl_session **ret);

/* Does the same. on_log(record, data) receives what the library logs, as zkl_session_open() says.
 */
int session_open_logged(const struct settings *settings, zkl_session **ret, zkl_log_fn on_log,
                        void *data);

/* Waits until the session is made, at most --connect-timeout and limit_ms (ZKL_FOREVER: no limit of
 * its own). Returns GO_ON; a status after a message; or 128+n after signal n, which leaves the
 * session closed and *session NULL. */
int session_connect(const struct settings *settings, zkl_session **session, int64_t limit_ms,
                    struct events *events);

#endif
