/* Preloaded into zkl: a file below /proc takes $SLOW_PROC_MS to open, as on a machine that has no
 * time for zkl. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

static void wait_for(const char *path)
{
    const char *text = getenv("SLOW_PROC_MS");
    const int ms = text && strncmp(path, "/proc/", strlen("/proc/")) == 0 ? atoi(text) : 0;
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
