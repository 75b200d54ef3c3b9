/* Does what sd_notify(3) does, without libsystemd: sends datagrams to the service manager, if that
 * wants some. */
#ifndef ZKL_TOOLS_NOTIFY_H
#define ZKL_TOOLS_NOTIFY_H

#include <glib.h>

struct notify;

/* Opens the socket of NOTIFY_SOCKET and removes the variable from our environment, because the
 * command is not the main process. Without the variable, the functions below do nothing. */
struct notify *notify_open(void);

/* Sends lines like "READY=1", unless they are what was sent last. */
void notify_send(struct notify *n, const char *format, ...) G_GNUC_PRINTF(2, 3);

void notify_close(struct notify *n);

#endif
