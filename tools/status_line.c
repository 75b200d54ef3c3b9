/* A reader of the status lines must not be able to hold up or end the holder. So SIGPIPE and the
 * like are blocked, and a line that does not fit is dropped. A line is shorter than PIPE_BUF, so
 * that a pipe takes all of it or nothing. */
#include "status_line.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int status_fd_check(int fd)
{
    const int flags = fd > 0 ? fcntl(fd, F_GETFL) : -1;

    if (fd <= 0)
        return fail(STATUS_USAGE, "--status-fd: not a descriptor to write to: %d", fd);
    if (flags < 0)
        return fail(STATUS_USAGE, "--status-fd %d: %s", fd, g_strerror(errno));
    if ((flags & O_ACCMODE) == O_RDONLY)
        return fail(STATUS_USAGE, "--status-fd %d: open for reading only", fd);
    if (fd > STDERR_FILENO)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return GO_ON;
}

void status_line(int fd, const char *format, ...)
{
    GString *line;
    va_list args;

    if (fd == STATUS_FD_NONE)
        return;
    line = g_string_new(NULL);
    va_start(args, format);
    g_string_vprintf(line, format, args);
    va_end(args);
    g_string_append_c(line, '\n');
    write_without_waiting(fd, line, 0);
    g_string_free(line, TRUE);
}
