/* Scope guards. When their variable goes out of scope, handles are freed, grants are released and
 * locks are unlocked, in the reverse order of declaration. It does not matter how the scope ends:
 * at the closing brace, by return, goto, break or continue. This needs a compiler with the
 * attribute cleanup (GCC, Clang); with others this header declares nothing. zkl-glib.h has the same
 * for g_autoptr().
 *
 *     ZKL_AUTO(zkl_mutex) mutex = NULL;
 *     if (zkl_mutex_new(&mutex, session, "/lock", NULL) != 0)
 *         return -1;
 *     ZKL_AUTO(zkl_mutex_locker) locker = zkl_mutex_locker_new(mutex, 1000, NULL);
 *     if (!locker)
 *         return -1;
 *
 * Initialize every variable; a variable that is NULL is ignored. To keep a handle beyond the scope,
 * copy the pointer and set the variable to NULL. longjmp(), pthread_exit() without C++ support, and
 * the end of the process skip the guards. */
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
#include <zkl/op.h>
#include <zkl/queue.h>
#include <zkl/rwlock.h>
#include <zkl/semaphore.h>
#include <zkl/session.h>
#include <zkl/watch.h>

#if defined(__GNUC__)

ZKL_BEGIN

/* Declares a variable of type type *, which type_cleanup(&variable) ends. Since 0.1. */
#define ZKL_AUTO(type) __attribute__((cleanup(type##_cleanup))) type *

/* One level of a mutex that the calling thread holds. The end of the scope unlocks it. A locker
 * belongs to the thread, as the level does, and must end before the mutex is freed. Since 0.1. */
typedef struct zkl_mutex_locker zkl_mutex_locker;

/* Locks m like zkl_mutex_lock(). Returns NULL if that fails; zkl_last_error() gives the reason.
 * Since 0.1. */
static inline zkl_mutex_locker *zkl_mutex_locker_new(zkl_mutex *m, int64_t timeout_ms,
                                                     const zkl_grant **ret)
{
    return zkl_mutex_lock(m, timeout_ms, ret) == 0 ? (zkl_mutex_locker *)m : NULL;
}

/* Unlocks like zkl_mutex_unlock(). NULL is ignored. Since 0.1. */
static inline void zkl_mutex_locker_free(zkl_mutex_locker *locker)
{
    if (locker)
        zkl_mutex_unlock((zkl_mutex *)locker);
}

/* The same for a read-write lock: one level of writing, and one level of reading. Since 0.1. */
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

/* The functions that ZKL_AUTO() calls. For an operation, only the handle is freed: the data of its
 * completion must outlive the scope. Since 0.1. */
static inline void zkl_session_cleanup(zkl_session **p)
{
    zkl_session_close(*p);
}

static inline void zkl_mutex_cleanup(zkl_mutex **p)
{
    zkl_mutex_free(*p);
}

static inline void zkl_mutex_locker_cleanup(zkl_mutex_locker **p)
{
    zkl_mutex_locker_free(*p);
}

static inline void zkl_multilock_cleanup(zkl_multilock **p)
{
    zkl_multilock_free(*p);
}

static inline void zkl_rwlock_cleanup(zkl_rwlock **p)
{
    zkl_rwlock_free(*p);
}

static inline void zkl_rwlock_writer_cleanup(zkl_rwlock_writer **p)
{
    zkl_rwlock_writer_free(*p);
}

static inline void zkl_rwlock_reader_cleanup(zkl_rwlock_reader **p)
{
    zkl_rwlock_reader_free(*p);
}

static inline void zkl_grant_cleanup(zkl_grant **p)
{
    zkl_grant_release(*p);
}

static inline void zkl_op_cleanup(zkl_op **p)
{
    zkl_op_free(*p);
}

static inline void zkl_queue_cleanup(zkl_queue **p)
{
    zkl_queue_free(*p);
}

static inline void zkl_watch_cleanup(zkl_watch **p)
{
    zkl_watch_free(*p);
}

static inline void zkl_election_cleanup(zkl_election **p)
{
    zkl_election_free(*p);
}

static inline void zkl_semaphore_cleanup(zkl_semaphore **p)
{
    zkl_semaphore_free(*p);
}

static inline void zkl_barrier_cleanup(zkl_barrier **p)
{
    zkl_barrier_free(*p);
}

static inline void zkl_double_barrier_cleanup(zkl_double_barrier **p)
{
    zkl_double_barrier_free(*p);
}

static inline void zkl_counter_cleanup(zkl_counter **p)
{
    zkl_counter_free(*p);
}

static inline void zkl_member_cleanup(zkl_member **p)
{
    zkl_member_free(*p);
}

static inline void zkl_members_cleanup(zkl_members **p)
{
    zkl_members_free(*p);
}

ZKL_END

#endif

#endif
