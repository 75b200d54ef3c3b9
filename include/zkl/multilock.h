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
 * The order of paths is that of tokens and nodes in the grant. options may be NULL; it applies to
 * all paths, and key, retain_ms and fence64 must be 0. Sends nothing to the server. Free the handle
 * with zkl_multilock_free().
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

/* Frees the handle. Acquisitions in progress fail with ZKL_ECLOSED. Grants stay valid. Never
 * waits for the server. */
ZKL_API void zkl_multilock_free(zkl_multilock *l);

/* Acquires all paths or none, and stores the grant in *ret. The caller owns the grant and ends it
 * with zkl_grant_release(), from any thread. The grant belongs to no thread: a second call is
 * another contender, even in the same thread. timeout_ms is one limit for all paths together.
 *
 * The grant is LOST as soon as the node at one path is lost. zkl_grant_part() stores the token and
 * the node of each path. zkl_grant_token(), zkl_grant_fence() and zkl_grant_node() give those of
 * the first element of paths. So zkl_grant_fence() serves a resource of the first path alone.
 *
 * The call waits for one path after the other, in the order of their bytes. Programs that lock
 * mutexes at these paths one by one must keep that order. zkl(7), SEVERAL PATHS, says what else
 * holds for tokens, deadlocks and tries.
 *
 * Returns 0; or
 *   ZKL_EBUSY: timeout_ms is 0 and another contender is first at a path. Where another handle
 *     retains a lock, the call waits for it as zkl_mutex_lock() does;
 *   ZKL_ETIMEDOUT: the paths were not acquired within timeout_ms; the error names one that was not;
 *   ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EACCES, ZKL_ELAYOUT, ZKL_EPATH, ZKL_EOVERFLOW,
 *     ZKL_ELIMIT, ZKL_EPROTO: as for zkl_mutex_lock(), at the path, if any, that the error names;
 *   ZKL_EDEADLK, ZKL_ECLOSED, ZKL_EINVAL, ZKL_ECHILD.
 * A call that fails deletes its nodes in the background. */
ZKL_API int zkl_multilock_lock(zkl_multilock *l, int64_t timeout_ms,
                               zkl_grant **ret) ZKL_MUST_CHECK;

/* Acquires all paths or none without blocking. fn, data and ret are as for zkl_mutex_lock_async().
 *
 * Returns 0; or
 *   ZKL_EINVAL: l is NULL, or both fn and ret are;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of zkl_multilock_lock(), except ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD; or ZKL_ECANCELED after zkl_op_cancel(). */
ZKL_API int zkl_multilock_lock_async(zkl_multilock *l, int64_t timeout_ms, zkl_acquired_fn fn,
                                     void *data, zkl_op **ret);

ZKL_END

#endif
