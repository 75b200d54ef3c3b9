/* One fault for a process: the n-th call of one function, made by the library, fails. The linker
 * brings the calls here (--wrap): each function below has a __wrap_ that asks fault_of() first. */
#ifndef TORTURE_FAULT_H
#define TORTURE_FAULT_H

#include <features.h> /* __GLIBC__ */
#include <stdbool.h>

/* Whether malloc() can be made to fail: under a sanitizer it is the sanitizer's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define MEMORY_FAILS 0
#else
#define MEMORY_FAILS 1
#endif

/* ANSWER is none of libc's or libzookeeper's: the server's n-th answer, see client.h. */
#define FAULT_CALLS(X)                                                                             \
    X(pthread_create)                                                                              \
    X(pthread_key_create)                                                                          \
    X(pthread_setspecific)                                                                         \
    X(pthread_setname_np)                                                                          \
    X(pthread_atfork)                                                                              \
    X(sem_wait)                                                                                    \
    X(eventfd)                                                                                     \
    X(eventfd_read)                                                                                \
    X(eventfd_write)                                                                               \
    X(timerfd_create)                                                                              \
    X(timerfd_settime)                                                                             \
    X(read)                                                                                        \
    X(write)                                                                                       \
    X(close)                                                                                       \
    X(gethostname)                                                                                 \
    X(getaddrinfo)                                                                                 \
    X(socket)                                                                                      \
    X(connect)                                                                                     \
    X(poll)                                                                                        \
    X(send)                                                                                        \
    X(recv)                                                                                        \
    X(zookeeper_init2)                                                                             \
    X(zoo_add_auth)                                                                                \
    X(zoo_acreate2)                                                                                \
    X(zoo_adelete)                                                                                 \
    X(zoo_aget)                                                                                    \
    X(zoo_awget)                                                                                   \
    X(zoo_aget_children2)                                                                          \
    X(zoo_async)                                                                                   \
    X(zoo_aset)                                                                                    \
    X(zoo_aremove_all_watches)                                                                     \
    X(zoo_amulti)                                                                                  \
    X(malloc)                                                                                      \
    X(answer)

#define FAULT_NAME(name) CALL_##name,
enum call { FAULT_CALLS(FAULT_NAME) CALLS };
#undef FAULT_NAME

extern const char *const fault_names[CALLS];

/* Counting begins. nth counts from 1; 0: nothing fails. error is what the function fails with: an
 * errno value, a ZooKeeper code or EAI_…. */
void fault_set(enum call call, unsigned nth, int error);

/* Counts the call; what it shall fail with, 0: not at all. Ends the process when a lock is held
 * that must not be. */
int fault_of(enum call call);

bool fault_reached(void);
bool fault_is(enum call call, unsigned nth);
int fault_error(void);
unsigned fault_count(enum call call);

/* Nothing fails or counts any more. */
void fault_end(void);

/* Calls of this thread are the test's own, until the same with false. */
void fault_spare(bool spare);

#endif
