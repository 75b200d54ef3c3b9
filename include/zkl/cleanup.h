/* Scope guards. At the end of the scope of their variables handles are freed, grants are released
 * and locks are unlocked, in the reverse order of declaration, however the scope ends: at its
 * brace, by return, goto, break or continue. This needs a compiler with the attribute cleanup (GCC,
 * Clang); with others this header has no guards. zkl-glib.h has the same for g_autoptr().
 *
 *     ZKL_AUTO(zkl_mutex) mutex = NULL;
 *     if (zkl_mutex_new(&mutex, session, "/lock", NULL) != 0)
 *         return -1;
 *     ZKL_AUTO(zkl_mutex_locker) locker = zkl_mutex_locker_new(mutex, 1000, NULL);
 *     if (!locker)
 *         return -1;
 *
 * Initialize every variable; a variable that is NULL is ignored. To keep a handle beyond the scope,
 * copy the pointer and set the variable to NULL. exit() and longjmp() skip the guards, and so does
 * pthread_exit() in a program that is compiled without -fexceptions. */
#ifndef ZKL_CLEANUP_H
#define ZKL_CLEANUP_H

#include <zkl/api.h>
#include <zkl/barrier.h>
#include <zkl/counter.h>
#include <zkl/election.h>
#include <zkl/grant.h>
#include <zkl/member.h>
#include <zkl/multilock.h>
#include <zkl/mutex.h>
#include <zkl/once.h>
#include <zkl/op.h>
#include <zkl/queue.h>
#include <zkl/rwlock.h>
#include <zkl/semaphore.h>
#include <zkl/session.h>
#include <zkl/shards.h>
#include <zkl/watch.h>

#if defined(__GNUC__)

ZKL_BEGIN

/* Declares a variable of type type *, which type_cleanup(&variable) ends. */
#define ZKL_AUTO(type) __attribute__((cleanup(type##_cleanup))) type *

/* A level of a mutex that the caller holds. A locker belongs to the level's owner, and must end
 * before the mutex is freed. */
typedef struct zkl_mutex_locker zkl_mutex_locker;

/* Locks m like zkl_mutex_lock(). Returns NULL if that fails; zkl_last_error() gives the reason. */
static inline zkl_mutex_locker *zkl_mutex_locker_new(zkl_mutex *m, int64_t timeout_ms,
                                                     const zkl_grant **ret)
{
    return zkl_mutex_lock(m, timeout_ms, ret) == 0 ? (zkl_mutex_locker *)m : NULL;
}

/* Unlocks like zkl_mutex_unlock(). */
static inline void zkl_mutex_locker_free(zkl_mutex_locker *locker)
{
    if (locker)
        zkl_mutex_unlock((zkl_mutex *)locker);
}

/* The same for a read-write lock: one level of writing, and one level of reading. */
typedef struct zkl_rwlock_writer zkl_rwlock_writer;
typedef struct zkl_rwlock_reader zkl_rwlock_reader;

static inline zkl_rwlock_writer *zkl_rwlock_writer_new(zkl_rwlock *l, int64_t timeout_ms,
                                                       const zkl_grant **ret)
{
    return zkl_rwlock_lock(l, timeout_ms, ret) == 0 ? (zkl_rwlock_writer *)l : NULL;
}

static inline void zkl_rwlock_writer_free(zkl_rwlock_writer *writer)
{
    if (writer)
        zkl_rwlock_unlock((zkl_rwlock *)writer);
}

static inline zkl_rwlock_reader *zkl_rwlock_reader_new(zkl_rwlock *l, int64_t timeout_ms,
                                                       const zkl_grant **ret)
{
    return zkl_rwlock_lock_shared(l, timeout_ms, ret) == 0 ? (zkl_rwlock_reader *)l : NULL;
}

static inline void zkl_rwlock_reader_free(zkl_rwlock_reader *reader)
{
    if (reader)
        zkl_rwlock_unlock((zkl_rwlock *)reader);
}

/* Every handle, and the function that ends it, for X(type, function): what ZKL_AUTO() calls, and
 * g_autoptr(). An operation that has a function continues beyond the scope (zkl_op_free()), and
 * still needs the function's data. */
#define ZKL_HANDLES(X)                                                                             \
    X(zkl_session, zkl_session_close)                                                              \
    X(zkl_mutex, zkl_mutex_free)                                                                   \
    X(zkl_mutex_locker, zkl_mutex_locker_free)                                                     \
    X(zkl_multilock, zkl_multilock_free)                                                           \
    X(zkl_rwlock, zkl_rwlock_free)                                                                 \
    X(zkl_rwlock_writer, zkl_rwlock_writer_free)                                                   \
    X(zkl_rwlock_reader, zkl_rwlock_reader_free)                                                   \
    X(zkl_grant, zkl_grant_release)                                                                \
    X(zkl_op, zkl_op_free)                                                                         \
    X(zkl_queue, zkl_queue_free)                                                                   \
    X(zkl_watch, zkl_watch_free)                                                                   \
    X(zkl_election, zkl_election_free)                                                             \
    X(zkl_semaphore, zkl_semaphore_free)                                                           \
    X(zkl_barrier, zkl_barrier_free)                                                               \
    X(zkl_double_barrier, zkl_double_barrier_free)                                                 \
    X(zkl_counter, zkl_counter_free)                                                               \
    X(zkl_member, zkl_member_free)                                                                 \
    X(zkl_members, zkl_members_free)                                                               \
    X(zkl_once, zkl_once_free)                                                                     \
    X(zkl_once_run, zkl_once_run_free)                                                             \
    X(zkl_shards, zkl_shards_free)

#define ZKL_DEFINE_CLEANUP(type, function)                                                         \
    static inline void type##_cleanup(type **p)                                                    \
    {                                                                                              \
        function(*p);                                                                              \
    }
ZKL_HANDLES(ZKL_DEFINE_CLEANUP)

ZKL_END

#endif

#endif
