/* The functions of libc that the library calls and that can fail. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fault.h"
#include "held.h"

/* Declares what the linker calls a function, and what it calls ours; a body follows. */
#define WRAP(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

/* Those that answer the error itself, and those that put it into errno. */
#define FAIL_WITH(name, ...)                                                                       \
    {                                                                                              \
        int error = fault_of(CALL_##name);                                                         \
        return error ? error : __real_##name(__VA_ARGS__);                                         \
    }
#define FAIL_ERRNO(name, ...)                                                                      \
    {                                                                                              \
        int error = fault_of(CALL_##name);                                                         \
        if (!error)                                                                                \
            return __real_##name(__VA_ARGS__);                                                     \
        errno = error;                                                                             \
        return -1;                                                                                 \
    }
/* What has its effect even when it fails. */
#define DO_AND_FAIL_ERRNO(name, ...)                                                               \
    {                                                                                              \
        int error = fault_of(CALL_##name), result = __real_##name(__VA_ARGS__);                    \
        if (!error)                                                                                \
            return result;                                                                         \
        errno = error;                                                                             \
        return -1;                                                                                 \
    }

/* clang-format off */
WRAP(int, pthread_create, pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *data)
    FAIL_WITH(pthread_create, t, a, run, data)
WRAP(int, pthread_key_create, pthread_key_t *key, void (*fn)(void *))
    FAIL_WITH(pthread_key_create, key, fn)
WRAP(int, pthread_setspecific, pthread_key_t key, const void *value)
    FAIL_WITH(pthread_setspecific, key, value)
WRAP(int, pthread_setname_np, pthread_t t, const char *name)
    FAIL_WITH(pthread_setname_np, t, name)
WRAP(int, pthread_atfork, void (*before)(void), void (*parent)(void), void (*child)(void))
    FAIL_WITH(pthread_atfork, before, parent, child)
WRAP(int, sem_wait, sem_t *sem)
    FAIL_ERRNO(sem_wait, sem)
WRAP(int, eventfd, unsigned count, int flags)
    FAIL_ERRNO(eventfd, count, flags)
WRAP(int, eventfd_read, int fd, eventfd_t *value)
    FAIL_ERRNO(eventfd_read, fd, value)
/* It is refused only when the counter is full, and then the descriptor is readable. */
WRAP(int, eventfd_write, int fd, eventfd_t value)
    DO_AND_FAIL_ERRNO(eventfd_write, fd, value)
WRAP(int, timerfd_create, int clock, int flags)
    FAIL_ERRNO(timerfd_create, clock, flags)
WRAP(int, timerfd_settime, int fd, int flags, const struct itimerspec *to, struct itimerspec *old)
    FAIL_ERRNO(timerfd_settime, fd, flags, to, old)
WRAP(ssize_t, read, int fd, void *buffer, size_t size)
    FAIL_ERRNO(read, fd, buffer, size)
WRAP(ssize_t, write, int fd, const void *data, size_t size)
    FAIL_ERRNO(write, fd, data, size)
/* Linux has closed it all the same. */
WRAP(int, close, int fd)
    DO_AND_FAIL_ERRNO(close, fd)
WRAP(int, gethostname, char *name, size_t size)
    FAIL_ERRNO(gethostname, name, size)
WRAP(int, getaddrinfo, const char *host, const char *port, const struct addrinfo *hints,
     struct addrinfo **ret)
    FAIL_WITH(getaddrinfo, host, port, hints, ret)
WRAP(int, socket, int family, int type, int protocol)
    FAIL_ERRNO(socket, family, type, protocol)
WRAP(int, connect, int fd, const struct sockaddr *to, socklen_t size)
    FAIL_ERRNO(connect, fd, to, size)
WRAP(int, poll, struct pollfd *fds, nfds_t count, int timeout_ms)
    FAIL_ERRNO(poll, fds, count, timeout_ms)
WRAP(ssize_t, send, int fd, const void *data, size_t size, int flags)
    FAIL_ERRNO(send, fd, data, size, flags)
WRAP(ssize_t, recv, int fd, void *data, size_t size, int flags)
    FAIL_ERRNO(recv, fd, data, size, flags)
/* They give up the lock that they are given, and no other. */
WRAP(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    held_at_most(1, "pthread_cond_wait");
    return __real_pthread_cond_wait(cond, mutex);
}
WRAP(int, pthread_cond_timedwait, pthread_cond_t *cond, pthread_mutex_t *mutex,
     const struct timespec *until)
{
    held_at_most(1, "pthread_cond_timedwait");
    return __real_pthread_cond_timedwait(cond, mutex, until);
}
WRAP(int, pthread_join, pthread_t thread, void **ret)
{
    held_at_most(0, "pthread_join");
    return __real_pthread_join(thread, ret);
}
/* clang-format on */

/* ---- memory ---- */

/* malloc() and its kin, in place of libc's for the whole process: the library allocates through
 * GLib, and libc itself on the library's behalf. Under a sanitizer they are the sanitizer's. */

#if MEMORY_FAILS

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *malloc(size_t size);
EXPORTED void *calloc(size_t count, size_t size);
EXPORTED void *realloc(void *old, size_t size);

static bool is_refused(void)
{
    int error = fault_of(CALL_malloc);

    if (error)
        errno = error;
    return error != 0;
}

void *malloc(size_t size)
{
    return is_refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_refused() ? NULL : __libc_realloc(old, size);
}

#endif
