/* A lock at several paths: one call acquires all of them or none. One grant covers all paths. */
#ifndef ZKL_MULTILOCK_H
#define ZKL_MULTILOCK_H

#include <zkl/api.h>
#include <zkl/mutex.h>
#include <zkl/op.h>

ZKL_BEGIN

/* The largest number of paths of one lock. */
enum { ZKL_MULTILOCK_PATHS = 64 };

/* Creates a handle for the locks at all of paths and stores it in *ret. count is the number of
 * paths, 1 to ZKL_MULTILOCK_PATHS. Each path is as for zkl_mutex_new(), and no path occurs twice.
 * The order of paths decides only the order of tokens and nodes in the grant. options may be NULL;
 * it applies to all paths, and key, retain_ms and fence64 must be 0.
 * Sends nothing to the server. Free the handle with zkl_multilock_free().
 *
 * The contenders at each path are those of a mutex: the lock at all paths and a mutex at one of
 * them exclude each other.
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret, s or paths is NULL, count is out of range, a path is invalid or occurs twice,
 *     or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_multilock_new(zkl_multilock **ret, zkl_session *s, const char *const *paths,
                              size_t count, const zkl_mutex_options *options);

/* Frees the handle. Acquisitions in progress fail with ZKL_ECLOSED. Grants stay valid. No call with
 * l may begin afterwards. Never waits for the server. NULL is ignored. In a forked child it does
 * nothing. */
ZKL_API void zkl_multilock_free(zkl_multilock *l);

/* Acquires all paths or none, and stores the grant in *ret. The caller owns the grant and ends it
 * with zkl_grant_release(), from any thread. The grant belongs to no thread: a second call waits
 * for the first call's grant, even in the same thread. timeout_ms is one limit for all paths
 * together.
 *
 * The grant covers all paths. It is LOST as soon as the node at one path is lost. The other nodes
 * are deleted when the callbacks of the grant have returned, but one session timeout after the loss
 * at the latest. zkl_grant_part() stores the token and the node of each path. zkl_grant_token(),
 * zkl_grant_fence() and zkl_grant_node() give those of the first element of paths.
 * zkl_grant_multi() is refused unless all nodes exist. zkl_grant_on_wanted() reports a contender at
 * any path.
 *
 * A resource belongs to one of the paths, and its writes get the token of that path's part: it
 * rises from one holder of that path to the next, be that a mutex or a lock at other paths, too.
 * Compared with tokens of other paths it says nothing. So zkl_grant_fence() serves a resource of
 * the first path alone.
 *
 * Paths are acquired in the order of their bytes, whatever their order in paths. While the call
 * waits at one path, it holds no later path and is in no later queue. So no deadlock is possible
 * among these locks, nor between them and mutexes of this library that are locked one by one in the
 * same order. Other clients must keep that order, too; otherwise only a time limit ends a deadlock.
 * (Curator's InterProcessMultiLock locks in the order of its list.) At first the call enters all
 * paths at the same time. It leaves those after the first path that is not free, within a round
 * trip. So another caller with timeout_ms 0 at one of these paths, here or through a mutex, may get
 * ZKL_EBUSY although no contender holds the lock.
 *
 * With timeout_ms 0 the call enters one path after the other, in a round trip each; where another
 * handle retains a lock, it waits up to 50 ms more, as zkl_mutex_lock() does. If several callers
 * try at the same moment, and their paths have one in common, exactly one of them acquires its
 * paths, provided that nobody else is there.
 *
 * Returns 0; or
 *   ZKL_EBUSY: timeout_ms is 0 and another contender is first at a path;
 *   ZKL_ETIMEDOUT: the paths were not acquired within timeout_ms; the error names a path at which
 *     the call waited;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection (with timeout_ms 0 also
 *     without an answer, or a proof of the session);
 *   ZKL_EAUTH, ZKL_EACCES, ZKL_ELAYOUT, ZKL_EPATH, ZKL_EOVERFLOW, ZKL_ELIMIT, ZKL_EPROTO: as for
 *     zkl_mutex_lock(), at the path that the error names;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_ECLOSED: the session was closed or the handle freed;
 *   ZKL_EINVAL: l or ret is NULL;
 *   ZKL_ECHILD.
 * A call that fails deletes its nodes in the background. */
ZKL_API int zkl_multilock_lock(zkl_multilock *l, int64_t timeout_ms,
                               zkl_grant **ret) ZKL_MUST_CHECK;

/* Acquires all paths or none without blocking. If the function returns 0, fn(grant, err, data) is
 * called exactly once; if it returns an error, fn is never called. The callee owns the grant.
 * Unless ret is NULL, the operation is stored in *ret; free it with zkl_op_free(). If fn is NULL,
 * zkl_op_wait() gives the result.
 *
 * Returns 0; or
 *   ZKL_EINVAL: l is NULL, or both fn and ret are;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of zkl_multilock_lock(), except ZKL_EDEADLK, ZKL_EINVAL and ZKL_ECHILD;
 * or ZKL_ECANCELED after zkl_op_cancel(). */
ZKL_API int zkl_multilock_lock_async(zkl_multilock *l, int64_t timeout_ms, zkl_acquired_fn fn,
                                     void *data, zkl_op **ret);

ZKL_END

#endif
