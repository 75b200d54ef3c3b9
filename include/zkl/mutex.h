/* A reentrant, fair, fenced mutex: ephemeral sequential nodes below one path. */
#ifndef ZKL_MUTEX_H
#define ZKL_MUTEX_H

#include <zkl/api.h>
#include <zkl/op.h>

ZKL_BEGIN

/* How the lock's directory and its missing parents are created. */
typedef enum zkl_parents {
    ZKL_PARENTS_CONTAINER = 0, /* containers: servers that know them remove them when they have been
                                  empty for a while */
    ZKL_PARENTS_PERSISTENT = 1 /* persistent nodes, for other clients that need them (kazoo) */
} zkl_parents;

/* Which other libraries lock the same path. zkl-interop(7) says which locks exclude each other.
 * Either mutex waits for earlier contenders that are named like locks of Curator or kazoo. */
typedef enum zkl_peer {
    ZKL_PEER_CURATOR = 0, /* "_c_<uuid>-lock-": seen by Curator, go-zk, Apache's C and Java recipes,
                             zk-ruby, and kazoo with the two lines of zkl-interop(7). The mutex
                             waits for Apache's two, too */
    ZKL_PEER_KAZOO = 1 /* "<32 hex digits>__lock__": seen by unchanged kazoo, go-zk and zk-ruby, not
                          by Curator. Use it with persistent parents */
} zkl_peer;

/* Returns the number of the owner that calls. Equal numbers mean the same owner, which may lock
 * again what it holds. */
typedef uint64_t (*zkl_key_fn)(void *data);

/* Fill with ZKL_MUTEX_OPTIONS_INIT, then change members. */
typedef struct zkl_mutex_options {
    size_t size;         /* sizeof(zkl_mutex_options); see zkl/session.h */
    const char *name;    /* who contends, for people: UTF-8, at most 1024 bytes; NULL: host,
                            process id and thread */
    zkl_parents parents; /* default: containers */
    zkl_key_fn key;      /* NULL: the calling thread is the owner. With a function (for coroutines),
                            the end of a thread releases nothing */
    void *key_data;      /* argument of key; must be valid while the handle is used */
    zkl_peer peer;       /* default: CURATOR */
    int64_t retain_ms;   /* how long the handle keeps the lock, at most, while no caller of the
                            handle uses or awaits it and no other contender waits: 0 to 86400000
                            ms. 0 (the default): not at all. When another contender is noticed, up
                            to 16 callers of this handle may still go first, if they begin within
                            50 ms. A session retains up to 1000 unused locks; of more, the least
                            recently used ones are released. zkl(7), RETAINED GRANTS, says when this
                            is worth while */
    int fence64;         /* with retain_ms. 1: no owner gets a token that another owner had, for
                            resources that compare tokens but not turns. 0: owners may get turns of
                            one token */
    int reserved;        /* 0 */
} zkl_mutex_options;

#define ZKL_MUTEX_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(zkl_mutex_options), NULL, ZKL_PARENTS_CONTAINER, NULL, NULL, ZKL_PEER_CURATOR, 0,   \
            0, 0                                                                                   \
    }

/* Creates a handle for the lock at path and stores it in *ret. path is absolute, without trailing
 * slash, "//", "." and ".." parts: at most 8192 bytes of UTF-8, without control characters, private
 * ones and those from U+FFF0 on. It is not "/", and with its chroot neither /zookeeper nor below
 * that. options may be NULL. Sends nothing to the server. Free the handle with zkl_mutex_free().
 *
 * Two handles on one path exclude each other, even in one thread.
 *
 * In a long queue the holder may write a hint for the next holder into path's data, unless another
 * program wrote there.
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret or s is NULL, or path or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_mutex_new(zkl_mutex **ret, zkl_session *s, const char *path,
                          const zkl_mutex_options *options);

/* Frees the handle. Releases the locks that are held through it, and the lock that it retains.
 * Acquisitions in progress fail with ZKL_ECLOSED. Grants that asynchronous acquisitions gave
 * stay valid. Never waits for the server. */
ZKL_API void zkl_mutex_free(zkl_mutex *m);

/* Acquires the lock. Contenders are served in the order in which the server made their nodes. The
 * callers of one handle are served in the order of their calls. The first of them contends, and the
 * others wait for it without nodes, so another contender may come between two of them. With
 * retain_ms callers of the handle may share one node.
 *
 * If the owner already holds the lock, the function goes one level deeper at once, even while the
 * state is SUSPECT. Unless ret is NULL, the grant is stored in *ret. It is lent until the owner's
 * last unlock (see zkl/grant.h). It may be lost already when the function returns 0.
 *
 * Returns 0; or
 *   ZKL_EBUSY: timeout_ms is 0, and another contender or another call of m is first, or it is not
 *     known yet whether a failed call of m has made a node. If only one contender is ahead and its
 *     handle has retain_ms, the call first waits up to 50 ms for that handle to yield;
 *   ZKL_ETIMEDOUT: the lock was not acquired within timeout_ms;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: when the time had passed, there was no connection (or, with
 *     timeout_ms 0, no answer, or no proof of the session);
 *   ZKL_ELOST: this owner still has to unlock a grant that was lost or that ZKL_MULTI_RELEASE
 *     released;
 *   ZKL_EDEADLK: called inside a callback by an owner that does not hold the lock; or another call
 *     with the same key is acquiring it;
 *   ZKL_ELAYOUT: a child that arrived first belongs to an incompatible recipe (a read-write lock,
 *     semaphore, latch…), or to a later version of this library that this one does not know;
 *   ZKL_EOVERFLOW: the sequence numbers of path are used up, or the owner holds 2147483647 levels;
 *   ZKL_ELIMIT: the session watches too many paths (512 KiB in all), or has too many ephemeral
 *     nodes (1 MiB of paths in all);
 *   ZKL_EAUTH, ZKL_EACCES, ZKL_EPATH, ZKL_EPROTO, ZKL_ECLOSED, ZKL_EINVAL, ZKL_ECHILD.
 * The node of a call that fails is deleted in the background, unless another caller of m gets it.
 *
 * Without the option key, a lock whose thread ends is released, with a warning (zkl(3), Threads and
 * callbacks). */
ZKL_API int zkl_mutex_lock(zkl_mutex *m, int64_t timeout_ms, const zkl_grant **ret) ZKL_MUST_CHECK;

/* Returns how many levels the caller still has to unlock. 0 means that the caller does not hold the
 * lock. After a loss the levels count until they are undone; zkl_grant_state() tells whether the
 * lock is still held. Grants of asynchronous acquisitions do not count. Never waits for the server.
 *
 * Returns 0 or more; or
 *   ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_mutex_depth(zkl_mutex *m);

/* Undoes one level of the caller's lock. After the last unlock the node is deleted in the
 * background, unless the handle retains the node or another caller of the handle gets it. Never
 * waits for the server, nor for a callback that is running. See zkl_session_flush() if the process
 * is to end right after that.
 *
 * Returns 0; or
 *   ZKL_EPERM: the caller does not hold this lock;
 *   ZKL_ELOST: the grant had been lost; one level was undone nevertheless;
 *   ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_mutex_unlock(zkl_mutex *m);

/* Releases the lock that the handle retains, as if retain_ms had passed: the node is deleted in the
 * background. Does nothing while a caller of the handle holds the lock, or without retain_ms. Never
 * waits for the server.
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_mutex_yield(zkl_mutex *m);

/* Acquires the lock without blocking. If the function returns 0, fn(grant, err, data) is called
 * exactly once; if it returns an error, fn is never called. The lock belongs to no thread and is
 * not reentrant. The callee owns the grant. Unless ret is NULL, the operation is stored in *ret;
 * free it with zkl_op_free(). If fn is NULL, zkl_op_wait() gives the result.
 *
 * Returns 0; or
 *   ZKL_EINVAL: m is NULL, or both fn and ret are;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of zkl_mutex_lock(), except ZKL_ELOST, ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD; or ZKL_ECANCELED after zkl_op_cancel(). */
ZKL_API int zkl_mutex_lock_async(zkl_mutex *m, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                 zkl_op **ret);

ZKL_END

#endif
