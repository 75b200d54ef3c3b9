/* --status-fd: what happens, one line each, for a program to read. */
#ifndef ZKL_TOOLS_STATUS_LINE_H
#define ZKL_TOOLS_STATUS_LINE_H

#include <glib.h>

#define STATUS_FD_NONE (-1)

/* Returns GO_ON, or STATUS_USAGE after a message. The command does not inherit fd, unless it is one
 * of the three that everybody has. This is called before we open anything, so that fd is the
 * caller's. */
int status_fd_check(int fd);

/* In one write; dropped when the reader is slow or gone. */
void status_line(int fd, const char *format, ...) G_GNUC_PRINTF(2, 3);

#endif
