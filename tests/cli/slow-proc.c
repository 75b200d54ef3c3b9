/* Preloaded into zkl, as on a machine that has no time for zkl. A file below /proc takes
 * $SLOW_PROC_MS to open, in each look at processes that begins when the file $SLOW_PROC_FROM is
 * there. Until the file $FORKS_FROM is there, nobody takes an order to fork a guard. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Whether the file that a variable names is there; true if none is named. */
static bool is_there(const char *variable)
{
    const char *file = getenv(variable);

    return !file || access(file, F_OK) == 0;
}

/* A look begins with the children of the process that looks. */
static bool is_slow(const char *path)
{
    static bool slow;
    char own[32];

    snprintf(own, sizeof own, "/proc/%d/task", (int)getpid());
    if (strncmp(path, own, strlen(own)) == 0)
        slow = is_there("SLOW_PROC_FROM");
    return slow && strncmp(path, "/proc/", strlen("/proc/")) == 0;
}

static void wait_for(const char *path)
{
    const char *text = getenv("SLOW_PROC_MS");
    const int ms = text && is_slow(path) ? atoi(text) : 0;
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

__attribute__((visibility("default"))) int openat(int dir, const char *path, int flags, ...)
{
    int (*const next)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    va_list rest;

    wait_for(path);
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t); /* whatever is there if none was given */
    va_end(rest);
    return next(dir, path, flags, mode);
}

/* An order to fork a guard passes a descriptor. */
__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *message,
                                                       int flags)
{
    ssize_t (*const next)(int, const struct msghdr *, int) =
        (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");

    if (message->msg_control && !is_there("FORKS_FROM")) {
        errno = EAGAIN;
        return -1;
    }
    return next(fd, message, flags);
}
