/* A reentrant, fair, fenced read-write lock: readers share it, a writer has it alone. */
#ifndef ZKL_RWLOCK_H
#define ZKL_RWLOCK_H

#include <zkl/api.h>
#include <zkl/canceler.h>
#include <zkl/mutex.h>
#include <zkl/op.h>

ZKL_BEGIN

/* Fill with ZKL_RWLOCK_OPTIONS_INIT, then change members. Since 0.1. */
typedef struct zkl_rwlock_options {
    size_t size;         /* sizeof(zkl_rwlock_options); see zkl/session.h */
    const char *name;    /* as in zkl_mutex_options, like all that follow */
    zkl_parents parents; /* default: containers */
    zkl_key_fn key;      /* NULL: the calling thread is the owner */
    void *key_data;
    int strict; /* 1: a child that is no contender is ZKL_ELAYOUT; 0: it is ignored */
} zkl_rwlock_options;

#define ZKL_RWLOCK_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(zkl_rwlock_options), NULL, ZKL_PARENTS_CONTAINER, NULL, NULL, 0                     \
    }

/* Creates a handle for the read-write lock at path and stores it in *ret. path is absolute, without
 * trailing slash, "//", "." and ".." parts. options may be NULL. Sends nothing to the server. Free
 * the handle with zkl_rwlock_free(). Two handles on one path are independent.
 *
 * The contenders are those of Curator's InterProcessReadWriteLock: "_c_<uuid>-__READ__" and
 * "_c_<uuid>-__WRIT__". A mutex on the same path is excluded: readers and writers wait for a mutex
 * that came first, and a mutex behind a reader or writer fails with ZKL_ELAYOUT.
 *
 * Returns 0; ZKL_EINVAL: ret or s is NULL, or path or options are invalid; ZKL_ECLOSED; ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_rwlock_new(zkl_rwlock **ret, zkl_session *s, const char *path,
                           const zkl_rwlock_options *options);

/* Frees the handle. Locks held through it are released, and blocking or asynchronous acquisitions
 * in progress fail with ZKL_ECLOSED. Grants that asynchronous acquisitions gave stay valid. No call
 * with l may begin afterwards. Never waits for the server. NULL is ignored. In a forked child it
 * does nothing. Since 0.1. */
ZKL_API void zkl_rwlock_free(zkl_rwlock *l);

/* Acquires the lock to read. A reader waits for the writers that came before it, and for nobody
 * else: readers that arrive behind a waiting writer wait until that writer is done, so neither side
 * starves. An owner that holds the lock, as a reader or as a writer, goes one level deeper at once
 * and sends nothing. Unless ret is NULL, the grant is stored in *ret; it is lent until the owner's
 * last unlock.
 *
 * The token of a reader is the czxid of its node, but a writer that was downgraded keeps its own
 * (zkl_rwlock_unlock()). It is higher than that of every earlier writer and lower than that of
 * every later one; tokens of readers that hold together say nothing about each other. So a resource
 * that compares tokens remembers the highest one of the writers only, and serves a reader whose
 * token is not lower than that.
 *
 * zkl_grant_on_wanted() of a reader reports a waiting writer: readers that come do not wait for it.
 * Each change of the directory then costs a list, until a writer waits.
 *
 * Returns as zkl_mutex_lock(), where another contender is a writer; ZKL_ELAYOUT: a child that came
 * first is neither a reader, nor a writer, nor a mutex. Since 0.1. */
ZKL_API int zkl_rwlock_lock_shared(zkl_rwlock *l, int64_t timeout_ms, zkl_grant **ret);

/* Acquires the lock to write. A writer waits for everybody who came before it. An owner that holds
 * the lock as a writer goes one level deeper at once. An owner that holds it as a reader only gets
 * ZKL_EDEADLK at once, as two that waited for each other's end would never get it: unlock first,
 * and read again what you have read. Unless ret is NULL, the grant is stored in *ret; it is lent
 * until the owner's last unlock.
 * Returns as zkl_mutex_lock(); ZKL_EDEADLK: also if this owner holds the lock as a reader.
 * Since 0.1. */
ZKL_API int zkl_rwlock_lock(zkl_rwlock *l, int64_t timeout_ms, zkl_grant **ret);

/* As zkl_rwlock_lock_shared() and zkl_rwlock_lock(), and can be ended by another thread, as
 * zkl_mutex_lock_cancelable() says.
 * Return as those, or ZKL_ECANCELED: canceler was canceled. Since 0.1. */
ZKL_API int zkl_rwlock_lock_shared_cancelable(zkl_rwlock *l, int64_t timeout_ms,
                                              zkl_canceler *canceler, zkl_grant **ret);
ZKL_API int zkl_rwlock_lock_cancelable(zkl_rwlock *l, int64_t timeout_ms, zkl_canceler *canceler,
                                       zkl_grant **ret);

/* Returns how many levels of both kinds the caller still has to unlock, as zkl_mutex_depth() does;
 * unless ret_shared is NULL, *ret_shared gets how many of them are of reading.
 * Returns also ZKL_EINVAL: l is NULL; ZKL_ECHILD; *ret_shared is then as it was. Since 0.1. */
ZKL_API int zkl_rwlock_depth(zkl_rwlock *l, int *ret_shared);

/* Undoes one level of reading. The last level of all deletes the node in the background. Never
 * waits for the server, nor for a callback that is running.
 * Returns
 *   0;
 *   ZKL_EPERM: the caller has no level of reading;
 *   ZKL_ELOST: the grant had been lost; one level was undone all the same;
 *   ZKL_EINVAL: l is NULL;
 *   ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_rwlock_unlock_shared(zkl_rwlock *l);

/* Undoes one level of writing, as zkl_rwlock_unlock_shared() does one of reading.
 *
 * If levels of reading remain when the last level of writing is undone, the owner becomes a reader:
 * it is downgraded. No other writer gets the lock in between. Other readers may come in when that
 * is done in the background, also after a lost connection. The grant stays the same one, and its
 * token, deadline, state and registrations go on. Its node becomes another one, with "__READ__" in
 * place of "__WRIT__": zkl_grant_node() then returns another string, and both stay valid as long as
 * the grant. A transaction of zkl_grant_multi() is fenced by the node that the grant has when the
 * transaction begins, and the downgrade waits for one that is under way. An operation that
 * zkl_grant_check_op() filled before the downgrade fails behind it: fill it again.
 *
 * If the server refuses to create the second node, the owner goes on keeping others out as a
 * writer, and the library tries again every second.
 *
 * Returns as zkl_rwlock_unlock_shared(); ZKL_EPERM: the caller has no level of writing.
 * Since 0.1. */
ZKL_API int zkl_rwlock_unlock(zkl_rwlock *l);

/* As zkl_rwlock_lock_shared() and zkl_rwlock_lock(), without blocking. fn(grant, err, data) is
 * called exactly once if the function returns 0, and never if it returns an error. The lock belongs
 * to no thread: it is not reentrant and cannot be downgraded, and the callee owns the grant. Unless
 * ret is NULL, the operation is stored in *ret; free it with zkl_op_free().
 * Returns 0; ZKL_EINVAL: l or fn is NULL; ZKL_ECLOSED; ZKL_ECHILD.
 * err then has a code as after zkl_mutex_lock_async(). Since 0.1. */
ZKL_API int zkl_rwlock_lock_shared_async(zkl_rwlock *l, int64_t timeout_ms, zkl_acquired_fn fn,
                                         void *data, zkl_op **ret);
ZKL_API int zkl_rwlock_lock_async(zkl_rwlock *l, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                  zkl_op **ret);

ZKL_END

#endif
