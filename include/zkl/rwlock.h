/* A reentrant, fair, fenced read-write lock: readers share the lock, a writer holds it alone. */
#ifndef ZKL_RWLOCK_H
#define ZKL_RWLOCK_H

#include <zkl/api.h>
#include <zkl/mutex.h>
#include <zkl/op.h>

ZKL_BEGIN

/* Creates a handle for the read-write lock at path and stores it in *ret. path is as for
 * zkl_mutex_new(). options may be NULL; peer, retain_ms and fence64 must be 0. Free the handle with
 * zkl_rwlock_free(). Two handles on one path are like those of two processes.
 *
 * The contenders have the names of those of Curator's InterProcessReadWriteLock. Do not use a mutex
 * on the same path: after a reader or writer it fails with ZKL_ELAYOUT.
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret or s is NULL, or path or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_rwlock_new(zkl_rwlock **ret, zkl_session *s, const char *path,
                           const zkl_mutex_options *options);

/* Frees the handle. Releases the locks that are held through it. Acquisitions in progress fail
 * with ZKL_ECLOSED. Grants that asynchronous acquisitions gave stay valid. Never waits for the
 * server. */
ZKL_API void zkl_rwlock_free(zkl_rwlock *l);

/* Acquires the lock to read. A reader waits for the writers and mutexes that arrived before it, not
 * for readers. If the owner already holds the lock, as a reader or as a writer, the function goes
 * one level deeper at once and sends nothing: a writer that reads, too, holds the lock alone until
 * its last unlock. Unless ret is NULL, the grant is stored in *ret. It is lent as by
 * zkl_mutex_lock().
 *
 * zkl(7), READ-WRITE LOCKS, says how a resource compares the tokens of readers and writers.
 *
 * Returns as zkl_mutex_lock(), but
 *   ZKL_EBUSY: as there, but readers do not count;
 *   ZKL_ELAYOUT: a contender that arrived first is not named like a reader, writer or mutex of zkl,
 *     Curator, kazoo or go-zk, or is of a later version. */
ZKL_API int zkl_rwlock_lock_shared(zkl_rwlock *l, int64_t timeout_ms,
                                   const zkl_grant **ret) ZKL_MUST_CHECK;

/* Acquires the lock to write. A writer waits for each reader, writer and mutex that arrived before
 * it. If the owner already holds the lock as a writer, the function goes one level deeper at once.
 * An owner that holds it only as a reader must unlock first, lock to write, and read again what it
 * has read. Unless ret is NULL, the grant is stored in *ret. It is lent as by zkl_mutex_lock().
 *
 * Returns as zkl_mutex_lock(), but
 *   ZKL_EDEADLK: as there, or this owner holds the lock only as a reader;
 *   ZKL_ELAYOUT: as for zkl_rwlock_lock_shared(). */
ZKL_API int zkl_rwlock_lock(zkl_rwlock *l, int64_t timeout_ms,
                            const zkl_grant **ret) ZKL_MUST_CHECK;

/* Returns how many levels, of reading and of writing, the caller still has to unlock, as
 * zkl_mutex_depth() does.
 *
 * Returns 0 or more; or
 *   ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_rwlock_depth(zkl_rwlock *l);

/* Undoes the innermost level, one of reading or one of writing. After the last level the node is
 * deleted in the background. Never waits for the server, nor for a callback that is running. A
 * writer does not become a reader: to let readers in, unlock and lock to read.
 *
 * Returns 0; or
 *   ZKL_EPERM: the caller does not hold the lock;
 *   ZKL_ELOST: the grant had been lost; one level was undone nevertheless;
 *   ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_rwlock_unlock(zkl_rwlock *l);

/* Acquire the lock like zkl_rwlock_lock_shared() and zkl_rwlock_lock(), without blocking and
 * without an owner, as zkl_mutex_lock_async() does.
 *
 * Return 0; or
 *   ZKL_EINVAL: l is NULL, or both fn and ret are;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes that zkl_mutex_lock_async() names. */
ZKL_API int zkl_rwlock_lock_shared_async(zkl_rwlock *l, int64_t timeout_ms, zkl_acquired_fn fn,
                                         void *data, zkl_op **ret);
ZKL_API int zkl_rwlock_lock_async(zkl_rwlock *l, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                  zkl_op **ret);

ZKL_END

#endif
