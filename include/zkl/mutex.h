/* A reentrant, fair, fenced mutex: ephemeral sequential contenders below one path. */
#ifndef ZKL_MUTEX_H
#define ZKL_MUTEX_H

#include <zkl/api.h>
#include <zkl/op.h>

ZKL_BEGIN

/* What the lock's directory and its missing parents are made as. Since 0.1. */
typedef enum zkl_parents {
    ZKL_PARENTS_CONTAINER = 0, /* the server removes them when they have long been empty */
    ZKL_PARENTS_PERSISTENT = 1 /* for sites whose other clients cannot bear that (kazoo) */
} zkl_parents;

/* Which other libraries' locks are on the same path; zkl-interop(7) has who excludes whom.
 * Contenders named as a Curator or kazoo lock are waited for always. Since 0.1. */
typedef enum zkl_peer {
    ZKL_PEER_CURATOR = 0, /* "_c_<uuid>-lock-": seen by Curator, go-zk, Apache's C and Java recipes,
                             zk-ruby, and kazoo with the two lines of zkl-interop(7) */
    ZKL_PEER_KAZOO = 1,   /* "<32 hex digits>__lock__": seen by kazoo as it is and go-zk, and not by
                             Curator. Take persistent parents with it */
    ZKL_PEER_APACHE = 2   /* as CURATOR, and waits for Apache's Java WriteLock ("x-<session>-") */
} zkl_peer;

/* Names the owner that reentrancy is counted by; the same number means the same owner. */
typedef uint64_t (*zkl_key_fn)(void *data);

/* Fill with ZKL_MUTEX_OPTIONS_INIT and change what is needed. Since 0.1. */
typedef struct zkl_mutex_options {
    size_t size;      /* sizeof(zkl_mutex_options); see zkl/session.h */
    const char *name; /* who, shown by zkl ls: UTF-8, at most 1024 bytes; NULL: host, pid, thread */
    zkl_parents parents; /* containers by default */
    zkl_key_fn key;      /* NULL: the calling thread. With another function (coroutines) the rule
                            that an ending thread releases what it owns does not apply */
    void *key_data;      /* given to key; must live as long as the mutex */
    zkl_peer peer;       /* CURATOR by default */
    int strict;          /* 1: a child that is no contender is ZKL_ELAYOUT; 0: it is ignored */
} zkl_mutex_options;

#define ZKL_MUTEX_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(zkl_mutex_options), NULL, ZKL_PARENTS_CONTAINER, NULL, NULL, ZKL_PEER_CURATOR, 0    \
    }

/* A handle on the lock at path: absolute, no trailing slash, no "//", no "." or ".." parts. Asks
 * nothing of the server. options may be NULL. Two handles on one path do not know each other: in
 * one thread the second lock() waits for the first. With 16 children and more holders leave a mark
 * in path's data ("zkl head 1 " and a node's name), which spares the next in line a list; data of
 * others are left alone. Answers ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. Free with zkl_mutex_free().
 * Since 0.1. */
ZKL_API int zkl_mutex_new(zkl_mutex **ret, zkl_session *s, const char *path,
                          const zkl_mutex_options *options);

/* Frees the handle: what is held through it is released, its waiters get ZKL_ECLOSED. Owned grants
 * (asynchronous) live on. No call with m may begin afterwards. NULL is ignored. Never waits for
 * the server. Since 0.1. */
ZKL_API void zkl_mutex_free(zkl_mutex *m);

/* Acquires, in order of arrival at the server. An owner that holds already goes one level deeper at
 * once, also while SUSPECT. timeout_ms: 0 waits for no other contender, but for the server's
 * answer, at most one session timeout. *ret (ret may be NULL) is borrowed until the matching
 * unlock. Answers
 *   ZKL_EBUSY (timeout 0, not first), ZKL_ETIMEDOUT,
 *   ZKL_EUNREACHABLE or ZKL_EHOST (the time passed without a connection),
 *   ZKL_ELOST (this owner still owes unlocks of a grant lost, or given back by ZKL_MULTI_RELEASE),
 *   ZKL_EDEADLK (inside a callback, unless re-entering; or this key is acquiring already),
 *   ZKL_ELAYOUT (a child that came first belongs to a read-write lock, semaphore, latch…, for which
 *   a mutex does not wait; or, with strict, a child is no contender),
 *   ZKL_EACCES, ZKL_EAUTH, ZKL_EPATH, ZKL_EOVERFLOW, ZKL_ELIMIT, ZKL_EPROTO, ZKL_ECLOSED,
 *   ZKL_EINVAL, ZKL_ECHILD.
 * Whatever it answers but 0, no node is left. A thread that ends while holding releases, with a
 * warning; also what a destructor of its thread-specific data has locked, unless in the last of the
 * PTHREAD_DESTRUCTOR_ITERATIONS rounds: that stays locked until the mutex is freed. Since 0.1. */
ZKL_API int zkl_mutex_lock(zkl_mutex *m, int64_t timeout_ms, zkl_grant **ret);

/* Undoes one level of the caller's own lock; the last one deletes the node in the background and
 * never waits for the server. Answers 0; ZKL_EPERM: the caller holds nothing here; ZKL_ELOST: the
 * grant had been lost, and one level was undone. Since 0.1. */
ZKL_API int zkl_mutex_unlock(zkl_mutex *m);

/* Acquires without waiting: fn(grant, err, data) comes exactly once. Belongs to no thread: never
 * reentrant, and the grant is owned by the callee. *ret (ret may be NULL) is to be given to
 * zkl_op_free(). A result other than 0 (ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD) means that fn will not
 * be called. Since 0.1. */
ZKL_API int zkl_mutex_lock_async(zkl_mutex *m, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                 zkl_op **ret);

ZKL_END

#endif
