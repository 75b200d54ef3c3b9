/* Preloaded into zkl, as on a machine that has no time for zkl. A file below /proc takes
 * $SLOW_PROC_MS to open, in each look at processes that begins when the file $SLOW_PROC_FROM is
 * there. Until the file $FORKS_FROM is there, nobody takes an order to fork a guard. When the file
 * $LATE_THREAD.from is there, the next thread waits for the file $LATE_THREAD before it begins.
 * When $LATE_NEWS.from is there, so does another thread than the main one before it tells a guard
 * something: for $LATE_NEWS. The file $LATE_NEWS.sent says then whether it has told the same. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Whether the file that a variable names is there; true if none is named. */
static bool is_there(const char *variable)
{
    const char *file = getenv(variable);

    return !file || access(file, F_OK) == 0;
}

/* Waits for the file that a variable names, if its turn has come: once for each FILE.from, which
 * becomes FILE.late. Returns whether it has waited. */
static bool wait_our_turn(const char *variable)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000000L};
    const char *file = getenv(variable);
    char from[4096], late[4096];

    snprintf(from, sizeof from, "%s.from", file ? file : "");
    snprintf(late, sizeof late, "%s.late", file ? file : "");
    if (!file || rename(from, late) != 0)
        return false;
    while (!is_there(variable))
        nanosleep(&pause, NULL);
    return true;
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

static void say_sent(const char *what)
{
    char name[4096], done[4096];

    snprintf(name, sizeof name, "%s.new", getenv("LATE_NEWS"));
    snprintf(done, sizeof done, "%s.sent", getenv("LATE_NEWS"));
    FILE *file = fopen(name, "we");
    if (file && fprintf(file, "%s\n", what) > 0 && fclose(file) == 0)
        rename(name, done);
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
    struct stat before = {.st_ino = 0}, after = {.st_ino = 0};
    fstat(fd, &before);
    if (syscall(SYS_gettid) != getpid() && wait_our_turn("LATE_NEWS"))
        say_sent(fstat(fd, &after) == 0 && after.st_ino == before.st_ino ? "to the same"
                                                                         : "to another");
    return next(fd, message, flags);
}

/* A thread that begins late, in the place of its function. */
struct late {
    void *(*fn)(void *);
    void *data;
};

static void *begin_late(void *data)
{
    const struct late late = *(const struct late *)data;

    free(data);
    wait_our_turn("LATE_THREAD");
    return late.fn(late.data);
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *data)
{
    int (*const next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    struct late *late = malloc(sizeof *late);

    if (!late)
        return EAGAIN;
    *late = (struct late){fn, data};
    return next(ret, attr, begin_late, late);
}
