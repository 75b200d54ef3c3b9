/* A reentrant, fair, fenced mutex: ephemeral sequential nodes below one path. */
#ifndef ZKL_MUTEX_H
#define ZKL_MUTEX_H

#include <zkl/api.h>
#include <zkl/canceler.h>
#include <zkl/op.h>

ZKL_BEGIN

/* How the lock's directory and its missing parents are created. Since 0.1. */
typedef enum zkl_parents {
    ZKL_PARENTS_CONTAINER = 0, /* the server removes them after they have been empty for a while */
    ZKL_PARENTS_PERSISTENT = 1 /* they stay: for sites whose other clients need that (kazoo) */
} zkl_parents;

/* Which other libraries' locks are on the same path. zkl-interop(7) tells which exclude each other.
 * A contender named like a Curator or kazoo lock is always waited for. Since 0.1. */
typedef enum zkl_peer {
    ZKL_PEER_CURATOR = 0, /* "_c_<uuid>-lock-": seen by Curator, go-zk, Apache's C and Java recipes,
                             zk-ruby, and kazoo with the two lines of zkl-interop(7) */
    ZKL_PEER_KAZOO = 1,   /* "<32 hex digits>__lock__": seen by unchanged kazoo and go-zk, not by
                             Curator. Use it with persistent parents */
    ZKL_PEER_APACHE = 2   /* like CURATOR, and waits for Apache's Java WriteLock ("x-<session>-") */
} zkl_peer;

/* Returns the owner by which reentrancy is counted; equal numbers mean the same owner.
 * Since 0.1. */
typedef uint64_t (*zkl_key_fn)(void *data);

/* Fill with ZKL_MUTEX_OPTIONS_INIT, then change members. Since 0.1. */
typedef struct zkl_mutex_options {
    size_t size;         /* sizeof(zkl_mutex_options); see zkl/session.h */
    const char *name;    /* who contends, as shown by zkl ls: UTF-8, at most 1024 bytes; NULL: host,
                            process id and thread */
    zkl_parents parents; /* default: containers */
    zkl_key_fn key;      /* NULL: the calling thread is the owner. With a function (for coroutines)
                            a thread that ends does not release what it owns */
    void *key_data;      /* argument of key; must be valid as long as the mutex */
    zkl_peer peer;       /* default: CURATOR */
    int strict;          /* 1: a child that is no contender is ZKL_ELAYOUT; 0: it is ignored */
    int64_t retain_ms; /* how long the handle keeps the lock while nobody uses it here and no other
                          contender waits: 0 to 86400000; 0 (the default): not at all. zkl(7),
                          "Retained grants", says when that is worth it. The rest is for it only */
    int local_turns;   /* how many of the callers that wait here when another contender comes still
                          go before it; 0 and more, default 16. None begins more than 50 ms later */
    int64_t slice_ms;  /* for so long after the handle got the lock, callers here go before another
                          contender, also those that came later: 0 to 86400000; default 0 */
    int fence64;       /* 1: an owner never gets a token that another owner had, for resources that
                          compare tokens and not turns; 0: it may get a turn of the same token */
} zkl_mutex_options;

#define ZKL_MUTEX_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(zkl_mutex_options), NULL, ZKL_PARENTS_CONTAINER, NULL, NULL, ZKL_PEER_CURATOR, 0,   \
            0, 16, 0, 0                                                                            \
    }

/* Creates a handle for the lock at path and stores it in *ret. path is absolute, without trailing
 * slash, "//", "." and ".." parts. options may be NULL. Sends nothing to the server. Free the
 * handle with zkl_mutex_free().
 *
 * Two handles on one path are independent: if one thread locks both, the second call waits for the
 * first lock. When there are 256 children or more, the holder writes a hint into path's data
 * ("zkl head 1 " and the name of its node), which saves the next holder a list. It never
 * overwrites data of others.
 *
 * Returns 0; ZKL_EINVAL: ret or s is NULL, or path or options are invalid; ZKL_ECLOSED; ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_mutex_new(zkl_mutex **ret, zkl_session *s, const char *path,
                          const zkl_mutex_options *options);

/* Frees the handle. Locks held through it are released, what it retains is given back, and blocking
 * or asynchronous acquisitions in progress fail with ZKL_ECLOSED. Grants that asynchronous
 * acquisitions gave stay valid. No call with m may begin afterwards. Never waits for the server.
 * NULL is ignored. In a forked child it does nothing. Since 0.1. */
ZKL_API void zkl_mutex_free(zkl_mutex *m);

/* Acquires the lock. Contenders are served in the order in which they reached the server. The
 * callers of one handle are served in the order of their calls: the first of them contends, the
 * others wait for it without nodes, so that another contender may come in between. With retain_ms
 * they share a node. An owner that holds the lock already goes one level deeper at once, also while
 * the state is SUSPECT. Unless ret is NULL, the grant is stored in *ret; it is lent until the
 * matching unlock.
 * Returns
 *   0: acquired;
 *   ZKL_EBUSY: timeout_ms is 0 and another contender, or another caller of m, is first. If a
 *     contender is the only one ahead and its handle retains, the call waits for it to yield, for
 *     50 ms at most: an idle lock is acquired, one in use is refused after that time;
 *   ZKL_ETIMEDOUT: not acquired within timeout_ms;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection (with timeout_ms 0 also
 *     without an answer);
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EACCES: the server refused permission at path;
 *   ZKL_ELOST: this owner still has to unlock a grant that was lost, or that ZKL_MULTI_RELEASE gave
 *     back;
 *   ZKL_EDEADLK: called inside a callback and not re-entering; or this key is already acquiring;
 *   ZKL_ELAYOUT: a child that came first belongs to an incompatible recipe (a read-write lock,
 *     semaphore, latch…); or, with strict, a child is no contender;
 *   ZKL_EPATH: path is, or is below, an ephemeral node;
 *   ZKL_EOVERFLOW: the sequence numbers of path are used up;
 *   ZKL_ELIMIT: the session watches too many paths (512 KiB in all);
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_ECLOSED: the session was closed or the mutex freed;
 *   ZKL_EINVAL: m is NULL;
 *   ZKL_ECHILD.
 * After a failure no node is left behind.
 *
 * A thread that ends while it holds the lock releases it, with a warning. That includes what a
 * destructor of its thread-specific data has locked, except in the last of the
 * PTHREAD_DESTRUCTOR_ITERATIONS rounds: such a lock is held until the mutex is freed. Since 0.1. */
ZKL_API int zkl_mutex_lock(zkl_mutex *m, int64_t timeout_ms, zkl_grant **ret);

/* Acquires the lock like zkl_mutex_lock(), and can be ended by another thread: see
 * zkl_canceler_cancel(). canceler may be NULL, and must be valid until this returns. An owner that
 * holds the lock already, and so need not wait, goes one level deeper also after a cancellation.
 * Returns as zkl_mutex_lock(), or ZKL_ECANCELED: canceler was canceled. Since 0.1. */
ZKL_API int zkl_mutex_lock_cancelable(zkl_mutex *m, int64_t timeout_ms, zkl_canceler *canceler,
                                      zkl_grant **ret);

/* Returns how many levels the caller still has to unlock; 0: none, so that it does not hold the
 * lock. After a loss the levels count until they are undone: zkl_grant_state() tells whether the
 * lock is still held. Does not count what asynchronous acquisitions gave. Never waits for the
 * server.
 * Returns also ZKL_EINVAL: m is NULL; ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_mutex_depth(zkl_mutex *m);

/* Undoes one level of the caller's lock. The last one deletes the node in the background, unless
 * the handle retains it or a caller here gets it (retain_ms). This function never waits for the
 * server, nor for a callback that is running.
 * Returns
 *   0;
 *   ZKL_EPERM: the caller does not hold this lock;
 *   ZKL_ELOST: the grant had been lost; one level was undone all the same;
 *   ZKL_EINVAL: m is NULL;
 *   ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_mutex_unlock(zkl_mutex *m);

/* Gives back the lock that the handle retains, as if retain_ms had passed: the node is deleted in
 * the background. Does nothing while somebody here has the lock, nor without retain_ms. Never waits
 * for the server.
 * Returns 0; ZKL_EINVAL: m is NULL; ZKL_ECLOSED; ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_mutex_yield(zkl_mutex *m);

/* Acquires the lock without blocking. fn(grant, err, data) is called exactly once if this function
 * returns 0, and never if it returns an error. The lock belongs to no thread: it is not reentrant,
 * and the callee owns the grant. Unless ret is NULL, the operation is stored in *ret; free it with
 * zkl_op_free().
 * Returns 0; ZKL_EINVAL: m or fn is NULL; ZKL_ECLOSED; ZKL_ECHILD.
 * err then has one of the codes of zkl_mutex_lock(), except ZKL_ELOST, ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD; or ZKL_ECANCELED after zkl_op_cancel(). Since 0.1. */
ZKL_API int zkl_mutex_lock_async(zkl_mutex *m, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                 zkl_op **ret);

ZKL_END

#endif
