/* A reentrant, fair, fenced read-write lock: readers share the lock, a writer holds it alone. */
#ifndef ZKL_RWLOCK_H
#define ZKL_RWLOCK_H

#include <zkl/api.h>
#include <zkl/mutex.h>
#include <zkl/op.h>

ZKL_BEGIN

/* Creates a handle for the read-write lock at path and stores it in *ret. path is as for
 * zkl_mutex_new(). options may be NULL; peer, retain_ms and fence64 must be 0. Sends nothing to the
 * server. Free the handle with zkl_rwlock_free(). Two handles on one path are independent.
 *
 * The contenders have the names of Curator's InterProcessReadWriteLock: "_c_<uuid>-__READ__" and
 * "_c_<uuid>-__WRIT__". Readers and writers also exclude a mutex on the same path: they wait for a
 * mutex that arrived first. A mutex that arrives after a reader or writer fails with ZKL_ELAYOUT.
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret or s is NULL, or path or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_rwlock_new(zkl_rwlock **ret, zkl_session *s, const char *path,
                           const zkl_mutex_options *options);

/* Frees the handle. Releases the locks that are held through it. Blocking and asynchronous
 * acquisitions in progress fail with ZKL_ECLOSED. Grants that asynchronous acquisitions gave stay
 * valid. No call with l may begin afterwards. Never waits for the server. NULL is ignored. In a
 * forked child it does nothing. */
ZKL_API void zkl_rwlock_free(zkl_rwlock *l);

/* Acquires the lock to read. A reader waits only for the writers (and mutexes) that arrived before
 * it. A reader that arrives after a waiting writer waits until that writer is done, so neither side
 * starves. If the owner already holds the lock, as a reader or as a writer, the function goes one
 * level deeper at once and sends nothing: a writer that also reads holds the lock alone until its
 * last unlock. Unless ret is NULL, the grant is stored in *ret. It is lent until the owner's last
 * unlock.
 *
 * The token of a reader is the czxid of its node. It is higher than that of every earlier writer
 * and lower than that of every later writer. The tokens of readers that hold the lock together say
 * nothing about each other. So a resource that compares tokens remembers the highest token of the
 * writers only, and serves a reader whose token is not lower than that one.
 *
 * zkl_grant_on_wanted() on the grant of a reader reports a waiting writer; other readers do not
 * wait for this reader. Until a writer waits, each change of the directory costs one list.
 *
 * Returns as zkl_mutex_lock(), but
 *   ZKL_EBUSY: as there, but only writers and mutexes count;
 *   ZKL_ELAYOUT: a contender that arrived first is no reader, writer or mutex of zkl, Curator,
 * kazoo or go-zk, or is of a later version. */
ZKL_API int zkl_rwlock_lock_shared(zkl_rwlock *l, int64_t timeout_ms,
                                   const zkl_grant **ret) ZKL_MUST_CHECK;

/* Acquires the lock to write. A writer waits for each reader, writer and mutex that arrived before
 * it. If the owner already holds the lock as a writer, the function goes one level deeper at once.
 * If the owner holds the lock only as a reader, the function returns ZKL_EDEADLK at once: two such
 * readers would wait for each other forever. Unlock first, then lock to write, and read again what
 * you have read. Unless ret is NULL, the grant is stored in *ret. It is lent until the owner's last
 * unlock.
 *
 * Returns as zkl_mutex_lock(), but
 *   ZKL_EDEADLK: also if this owner holds the lock only as a reader;
 *   ZKL_ELAYOUT: a contender that arrived first is no reader, writer or mutex of zkl, Curator,
 * kazoo or go-zk, or is of a later version. */
ZKL_API int zkl_rwlock_lock(zkl_rwlock *l, int64_t timeout_ms,
                            const zkl_grant **ret) ZKL_MUST_CHECK;

/* Returns how many levels, of reading and of writing, the caller still has to unlock, as
 * zkl_mutex_depth() does.
 *
 * Returns 0 or more; or
 *   ZKL_EINVAL: l is NULL;
 *   ZKL_ECHILD. */
ZKL_API int zkl_rwlock_depth(zkl_rwlock *l);

/* Undoes the innermost level, one of reading or one of writing. The last level deletes the node in
 * the background. Never waits for the server, nor for a callback that is running.
 *
 * A writer does not become a reader. To continue as a reader it would need a second node, and the
 * exchange for that could be lost, late or interrupted in each of its steps. To let readers in,
 * unlock and lock to read, and read again what you have read: another writer may come in between.
 *
 * Returns 0; or
 *   ZKL_EPERM: the caller does not hold the lock;
 *   ZKL_ELOST: the grant had been lost; one level was undone nevertheless;
 *   ZKL_EINVAL: l is NULL;
 *   ZKL_ECHILD. */
ZKL_API int zkl_rwlock_unlock(zkl_rwlock *l);

/* Acquire the lock like zkl_rwlock_lock_shared() and zkl_rwlock_lock(), without blocking. If the
 * function returns 0, fn(grant, err, data) is called exactly once; if it returns an error, fn is
 * never called. The lock belongs to no thread: it is not reentrant. The callee owns the grant.
 * Unless ret is NULL, the operation is stored in *ret; free it with zkl_op_free(). If fn is NULL,
 * zkl_op_wait() gives the result.
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
