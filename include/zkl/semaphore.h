/* A fair semaphore: a number of permits, agreed at one path, of which each acquisition takes one or
 * more. */
#ifndef ZKL_SEMAPHORE_H
#define ZKL_SEMAPHORE_H

#include <zkl/mutex.h>

ZKL_BEGIN

/* Whose semaphore it is: all contenders at one path must have the same layout. Since 0.1. */
typedef enum zkl_semaphore_layout {
    ZKL_SEMAPHORE_ZKL = 0,    /* our own: one directory, which has the limit in its data */
    ZKL_SEMAPHORE_CURATOR = 1 /* that of Curator's InterProcessSemaphoreV2, and its protocol: a lock
                                 at path/locks, and a node for each permit in path/leases */
} zkl_semaphore_layout;

/* Fill with ZKL_SEMAPHORE_OPTIONS_INIT, then change members. Since 0.1. */
typedef struct zkl_semaphore_options {
    size_t size;         /* sizeof(zkl_semaphore_options); see zkl/session.h */
    const char *name;    /* who contends, as shown by zkl ls: UTF-8, at most 1024 bytes, one line if
                            numbered; NULL: host and process id */
    zkl_parents parents; /* of path's parents; default: containers. path itself is persistent,
                            since the limit is kept there; in Curator's layout it is a parent */
    int limit;    /* how many permits there are: 1 and more; it is written where path has no limit
                     yet, and does not matter where it has one. 0 (the default): path must have one.
                     Curator's layout keeps no limit: there it is needed, goes for this handle alone,
                     and must be the same in all processes */
    int numbered; /* 1: each permit gets a number: see zkl_grant_slots(); 0: none gets one. In
                     Curator's layout it must be 0 */
    zkl_semaphore_layout layout; /* default: ZKL */
} zkl_semaphore_options;

#define ZKL_SEMAPHORE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(zkl_semaphore_options), NULL, ZKL_PARENTS_CONTAINER, 0, 0, ZKL_SEMAPHORE_ZKL        \
    }

/* Creates a handle for the semaphore at path and stores it in *ret. path is absolute, without
 * trailing slash, "//", "." and ".." parts. options may be NULL. Sends nothing to the server. Free
 * the handle with zkl_semaphore_free(). Any number of threads may use one handle.
 *
 * Returns 0; ZKL_EINVAL: ret or s is NULL, or path or options are invalid; ZKL_ECLOSED; ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_semaphore_new(zkl_semaphore **ret, zkl_session *s, const char *path,
                              const zkl_semaphore_options *options);

/* Frees the handle. Acquisitions in progress fail with ZKL_ECLOSED. Grants that were acquired
 * through it stay valid. No call with m may begin afterwards. Never waits for the server. NULL is
 * ignored. In a forked child it does nothing. Since 0.1. */
ZKL_API void zkl_semaphore_free(zkl_semaphore *m);

/* Acquires so many permits, all of them or none, and stores their grant in *ret. The caller owns it
 * and ends it with zkl_grant_release(), from any thread: a semaphore belongs to no thread, and is
 * not reentrant. Contenders are served in the order in which they reached the server, so that
 * whoever asks for many permits holds up those behind it until so many are free.
 *
 * The grants of a semaphore are valid at the same time, so a resource that only accepts rising
 * tokens does not go with more than one permit; zkl_grant_multi() does.
 *
 * In Curator's layout one permit is acquired at a time: Curator itself takes several one after the
 * other, so that two who have a part each wait for each other. While somebody waits for a permit it
 * has the lock, and a call with timeout_ms 0 is refused; also while somebody else is just acquiring
 * a permit that is free. The grant's token rises with the node in path/leases.
 *
 * permits is 1 and more, at most 1000 if they are numbered, and 1 in Curator's layout.
 * timeout_ms: 0 does not wait for other contenders, ZKL_FOREVER has no limit.
 * Returns 0: acquired; or
 *   ZKL_EBUSY: timeout_ms is 0, and the permits are not free, or another contender is first or is
 *     to get its numbers first;
 *   ZKL_ETIMEDOUT: not acquired within timeout_ms;
 *   ZKL_ELIMIT: more permits than the limit, as it is now or was lowered to while waiting; or the
 *     session watches too many paths (512 KiB in all);
 *   ZKL_ENOENT: path has no limit, and options name none; or it has other data;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection (with timeout_ms 0 also
 *     without an answer);
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EACCES: the server refused permission at path;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_ELAYOUT: path has a child that is not of such a semaphore, or is of another layout;
 *   ZKL_EPATH: path is, or is below, an ephemeral node;
 *   ZKL_EOVERFLOW: the sequence numbers of path are used up;
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_ECLOSED: the session was closed or the semaphore freed;
 *   ZKL_EINVAL: m or ret is NULL, or permits is out of range;
 *   ZKL_ECHILD.
 * After a failure no node is left behind. Since 0.1. */
ZKL_API int zkl_semaphore_acquire(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                  zkl_grant **ret);

/* Acquires so many permits like zkl_semaphore_acquire(), and can be ended by another thread: see
 * zkl_canceler_cancel(). canceler may be NULL, and must be valid until this returns.
 * Returns as zkl_semaphore_acquire(), or ZKL_ECANCELED: canceler was canceled. Since 0.1. */
ZKL_API int zkl_semaphore_acquire_cancelable(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                             zkl_canceler *canceler, zkl_grant **ret);

/* Acquires so many permits without blocking. fn(grant, err, data) is called exactly once if this
 * function returns 0, and never if it returns an error. The callee owns the grant. Unless ret is
 * NULL, the operation is stored in *ret; free it with zkl_op_free().
 * Returns 0; ZKL_EINVAL: m or fn is NULL, or permits is out of range; ZKL_ECLOSED; ZKL_ECHILD.
 * err then has one of the codes of zkl_semaphore_acquire(), except ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD; or ZKL_ECANCELED after zkl_op_cancel(). Since 0.1. */
ZKL_API int zkl_semaphore_acquire_async(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                        zkl_acquired_fn fn, void *data, zkl_op **ret);

/* Stores the numbers of the grant's permits in buf, of count elements, in rising order, and returns
 * how many there are: as many as permits were acquired through a handle with the option numbered,
 * and 0 of any other grant.
 *
 * The numbers begin at 0 and are below the limit as it was when they were acquired. As long as the
 * grant is owned nobody else has them: a number is given again only when its holder gave it back,
 * or when no server can think any more that the holder's session lives, which is behind the grant's
 * deadline. The lowest that are free are given. Other contenders read them in the node's data.
 * Where somebody writes there, as zkl_grant_on_revoke() hears it, those behind get no numbers
 * before this grant ends.
 *
 * The numbers can be read whenever the token can.
 * Returns ZKL_EINVAL: g or buf is NULL; ZKL_ERANGE: count is too small. Since 0.1. */
ZKL_API int zkl_grant_slots(const zkl_grant *g, int *buf, size_t count);

/* Stores the limit at path, as it is now, in *ret. timeout_ms as for zkl_queue_read().
 * Returns
 *   0;
 *   ZKL_ENOENT: there is no such path;
 *   ZKL_ELAYOUT: path has data that are no limit, or none;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EACCES, ZKL_EPROTO, ZKL_ECLOSED as
 *     for zkl_semaphore_acquire();
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: m or ret is NULL, or Curator's layout, which keeps no limit;
 *   ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_semaphore_get_limit(zkl_semaphore *m, int64_t timeout_ms, int *ret);

/* Sets the limit at path, which must exist, to 1 or more. Waiting contenders go by it at once. A
 * limit that is lowered takes permits from nobody: until so many were given back that there is room
 * below the new limit, nobody acquires any. When it returns ZKL_ETIMEDOUT or ZKL_EUNREACHABLE the
 * limit may have been set, or may be yet.
 * Returns as zkl_semaphore_get_limit(), but 0 also where path had no data; ZKL_EINVAL: limit is
 * less than 1. Since 0.1. */
ZKL_API int zkl_semaphore_set_limit(zkl_semaphore *m, int limit, int64_t timeout_ms);

ZKL_END

#endif
