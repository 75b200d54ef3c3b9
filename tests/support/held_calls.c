/* For programs that fail no calls: what must not be called with a lock held. */
#include "held.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNLOCKED(type, name, parameters, ...)                                                      \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        held_at_most(0, #name);                                                                    \
        return __real_##name(__VA_ARGS__);                                                         \
    }

/* clang-format off */
UNLOCKED(ssize_t, write, (int fd, const void *data, size_t size), fd, data, size)
UNLOCKED(ssize_t, read, (int fd, void *data, size_t size), fd, data, size)
UNLOCKED(ssize_t, recv, (int fd, void *data, size_t size, int flags), fd, data, size, flags)
UNLOCKED(int, connect, (int fd, const struct sockaddr *to, socklen_t size), fd, to, size)
UNLOCKED(int, poll, (struct pollfd *fds, nfds_t count, int timeout_ms), fds, count, timeout_ms)
UNLOCKED(int, getaddrinfo, (const char *host, const char *port, const struct addrinfo *hints,
                            struct addrinfo **ret), host, port, hints, ret)
UNLOCKED(int, pthread_join, (pthread_t thread, void **ret), thread, ret)
UNLOCKED(int, usleep, (useconds_t us), us)
UNLOCKED(int, fputs, (const char *text, FILE *file), text, file)
UNLOCKED(int, vfprintf, (FILE *file, const char *format, va_list list), file, format, list)
UNLOCKED(int, __vfprintf_chk, (FILE *file, int flag, const char *format, va_list list),
         file, flag, format, list)
UNLOCKED(int, zookeeper_close, (void *zh), zh)
UNLOCKED(void *, zookeeper_init2, (const char *hosts, void *watcher, int timeout_ms, const void *id,
                                   void *context, int flags, void *log),
         hosts, watcher, timeout_ms, id, context, flags, log)
/* clang-format on */

static _Thread_local size_t send_most;

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    held_at_most(0, "send");
    return __real_send(fd, data, send_most > 0 && send_most < size ? send_most : size, flags);
}

void held_limit_send(size_t bytes)
{
    send_most = bytes;
}

static atomic_int waiting;

int __real_sem_wait(sem_t *sem);
int __wrap_sem_wait(sem_t *sem);
int __wrap_sem_wait(sem_t *sem)
{
    held_at_most(0, "sem_wait");
    if (sem_trywait(sem) == 0)
        return 0;
    atomic_fetch_add(&waiting, 1);
    int error = __real_sem_wait(sem);
    atomic_fetch_sub(&waiting, 1);
    return error;
}

int held_waiting(void)
{
    return atomic_load(&waiting);
}

/* What has no form with a list is this with one. */
int __wrap_fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap___fprintf_chk(FILE *file, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int __wrap_fprintf(FILE *file, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    int length = __wrap_vfprintf(file, format, list);
    va_end(list);
    return length;
}

int __wrap___fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list list;

    (void)flag;
    va_start(list, format);
    int length = __wrap_vfprintf(file, format, list);
    va_end(list);
    return length;
}
