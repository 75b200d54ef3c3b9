/* A lock at several paths: one call acquires all of them or none, and gives one grant. */
#ifndef ZKL_MULTILOCK_H
#define ZKL_MULTILOCK_H

#include <zkl/api.h>
#include <zkl/mutex.h>
#include <zkl/op.h>

ZKL_BEGIN

/* The most paths of one lock. Since 0.1. */
enum { ZKL_MULTILOCK_PATHS = 64 };

/* Fill with ZKL_MULTILOCK_OPTIONS_INIT, then change members. Each is as in zkl_mutex_options, for
 * all of the paths. Since 0.1. */
typedef struct zkl_multilock_options {
    size_t size; /* sizeof(zkl_multilock_options); see zkl/session.h */
    const char *name;
    zkl_parents parents;
    zkl_peer peer;
    int strict;
} zkl_multilock_options;

#define ZKL_MULTILOCK_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(zkl_multilock_options), NULL, ZKL_PARENTS_CONTAINER, ZKL_PEER_CURATOR, 0            \
    }

/* Creates a handle for the locks at all of paths and stores it in *ret. count is 1 to
 * ZKL_MULTILOCK_PATHS; each path is as for zkl_mutex_new(), and none is there twice. Their order
 * decides nothing but that of tokens and nodes in the grant. options may be NULL. Sends nothing to
 * the server. Free the handle with zkl_multilock_free().
 *
 * Each path has a mutex's contenders: a mutex at one of the paths and the lock at all of them
 * exclude each other.
 *
 * Returns 0; ZKL_EINVAL: ret, s or paths is NULL, count is out of range, a path is invalid or is
 * there twice, or options are invalid; ZKL_ECLOSED; ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_multilock_new(zkl_multilock **ret, zkl_session *s, const char *const *paths,
                              size_t count, const zkl_multilock_options *options);

/* Frees the handle. Acquisitions in progress fail with ZKL_ECLOSED; grants stay valid. No call with
 * l may begin afterwards. Never waits for the server. NULL is ignored. In a forked child it does
 * nothing. Since 0.1. */
ZKL_API void zkl_multilock_free(zkl_multilock *l);

/* Acquires all paths or none, and stores the grant in *ret. The caller owns it and ends it with
 * zkl_grant_release(), which may be called from any thread. It belongs to no thread: a second call
 * waits for the first one's grant, also in the same thread. timeout_ms is one limit for all.
 *
 * The grant is that of all paths. It is LOST as soon as the node at one of them is; the other nodes
 * are deleted when its callbacks have returned. zkl_grant_tokens() gives the token of each path,
 * zkl_grant_node_at() the node. zkl_grant_token() and zkl_grant_node() are those of the path that
 * was given first. zkl_grant_multi() is refused unless all nodes exist, and zkl_grant_on_wanted()
 * tells of a contender at any path.
 *
 * Paths are acquired in the order of their bytes, whatever order they were given in. While one is
 * waited for nothing behind it in that order is held or queued for, so nobody waits in a circle:
 * neither several of these locks, nor they and mutexes of this library that are locked one by one
 * in the same order. Others (Curator's InterProcessMultiLock locks in the order of its list) must
 * keep that order, too, or a time limit is what ends a deadlock. At first all paths are entered at
 * the same time; those behind the first one that is not free are left again within a round trip.
 * So a caller with timeout_ms 0 at one of them, here or through a mutex, may get ZKL_EBUSY while
 * nobody holds it.
 *
 * Returns
 *   0: acquired;
 *   ZKL_EBUSY: timeout_ms is 0 and another contender is first at a path;
 *   ZKL_ETIMEDOUT: not acquired within timeout_ms; the error names a path that was waited for;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection (with timeout_ms 0 also
 *     without an answer);
 *   ZKL_EAUTH, ZKL_EACCES, ZKL_ELAYOUT, ZKL_EPATH, ZKL_EOVERFLOW, ZKL_ELIMIT, ZKL_EPROTO: as for
 *     zkl_mutex_lock(), at the path that the error names;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_ECLOSED: the session was closed or the handle freed;
 *   ZKL_EINVAL: l or ret is NULL;
 *   ZKL_ECHILD.
 * After a failure no node is left behind at any path. Since 0.1. */
ZKL_API int zkl_multilock_lock(zkl_multilock *l, int64_t timeout_ms, zkl_grant **ret);

/* Acquires all paths or none like zkl_multilock_lock(), and can be ended by another thread: see
 * zkl_canceler_cancel(). canceler may be NULL, and must be valid until this returns.
 * Returns as zkl_multilock_lock(), or ZKL_ECANCELED: canceler was canceled. Since 0.1. */
ZKL_API int zkl_multilock_lock_cancelable(zkl_multilock *l, int64_t timeout_ms,
                                          zkl_canceler *canceler, zkl_grant **ret);

/* Acquires all paths or none without blocking. fn(grant, err, data) is called exactly once if this
 * function returns 0, and never if it returns an error. The callee owns the grant. Unless ret is
 * NULL, the operation is stored in *ret; free it with zkl_op_free().
 * Returns 0; ZKL_EINVAL: l or fn is NULL; ZKL_ECLOSED; ZKL_ECHILD.
 * err then has one of the codes of zkl_multilock_lock(), except ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD; or ZKL_ECANCELED after zkl_op_cancel(). Since 0.1. */
ZKL_API int zkl_multilock_lock_async(zkl_multilock *l, int64_t timeout_ms, zkl_acquired_fn fn,
                                     void *data, zkl_op **ret);

ZKL_END

#endif
