/* A fair semaphore: a limited number of permits at one path. An acquisition takes one or more
 * permits. */
#ifndef ZKL_SEMAPHORE_H
#define ZKL_SEMAPHORE_H

#include <zkl/mutex.h>

ZKL_BEGIN

/* The place where the semaphore keeps its nodes. All contenders at one path must use the same
 * layout. */
typedef enum zkl_semaphore_layout {
    ZKL_SEMAPHORE_ZKL = 0,    /* zkl's own: one directory, whose data holds the limit */
    ZKL_SEMAPHORE_CURATOR = 1 /* the layout and protocol of Curator's InterProcessSemaphoreV2: a
                                 lock at path/locks, and a node for each permit in path/leases */
} zkl_semaphore_layout;

/* Fill with ZKL_SEMAPHORE_OPTIONS_INIT, then change members. */
typedef struct zkl_semaphore_options {
    size_t size;         /* sizeof(zkl_semaphore_options); see zkl/session.h */
    const char *name;    /* who contends, as shown by zkl ls: UTF-8, at most 1024 bytes, one line if
                            numbered; NULL: host and process id */
    zkl_parents parents; /* how the parents of path are created; default: containers. path itself is
                            persistent, since it keeps the limit. In Curator's layout path is one of
                            the parents */
    int limit;    /* the number of permits, 1 or more. It is written if path has no limit yet, and
                     ignored if path has one. 0 (the default): path must have a limit.
                     Curator's layout stores no limit: there this member must be given. It
                     applies to this handle only, and must be the same in all processes */
    int numbered; /* 1: each permit has a number (see zkl_semaphore_acquire()); 0: none has one.
                     Must be 0 in Curator's layout */
    zkl_semaphore_layout layout; /* default: ZKL */
} zkl_semaphore_options;

#define ZKL_SEMAPHORE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(zkl_semaphore_options), NULL, ZKL_PARENTS_CONTAINER, 0, 0, ZKL_SEMAPHORE_ZKL        \
    }

/* Creates a handle for the semaphore at path and stores it in *ret. path is as for zkl_mutex_new().
 * options may be NULL. Sends nothing to the server. Free the handle with zkl_semaphore_free(). Any
 * number of threads may use one handle.
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret or s is NULL, or path or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_semaphore_new(zkl_semaphore **ret, zkl_session *s, const char *path,
                              const zkl_semaphore_options *options);

/* Frees the handle. Acquisitions in progress fail with ZKL_ECLOSED. Grants that were acquired
 * through the handle stay valid. Calls that read or set the limit end as if the handle were there.
 * No call with m may begin afterwards. Never waits for the server. NULL is ignored. In a forked
 * child it does nothing. */
ZKL_API void zkl_semaphore_free(zkl_semaphore *m);

/* Acquires the given number of permits, all of them or none, and stores their grant in *ret. The
 * caller owns the grant and ends it with zkl_grant_release(), from any thread. A semaphore belongs
 * to no thread and is not reentrant. Contenders are served in the order in which they reached the
 * server. A contender that asks for many permits therefore delays all later contenders until that
 * many permits are free.
 *
 * Several grants of one semaphore can be valid at the same time. A resource that accepts only
 * rising tokens therefore works only with a semaphore of one permit. zkl_grant_multi() works with
 * any number.
 *
 * If permits are numbered, zkl_grant_part() stores the number of each: 0 or more, less than the
 * limit at the time of the acquisition, and the lowest that are free. No other contender has a
 * number of the grant while the grant is owned. A number becomes free only when its holder releases
 * it, or when no server can still consider the holder's session alive, which is after the deadline
 * of the grant. Other contenders read the numbers in the data of the grant's node. If another
 * program overwrites that data, later contenders may get no numbers before this grant ends.
 * zkl_queue_revoke() keeps the numbers.
 *
 * In Curator's layout each permit is a node of its own in path/leases. The grant has a token for
 * each node, its czxid (zkl_grant_part()), and is lost as soon as one node is. While a contender
 * waits for permits it holds the lock at path/locks. Calls with timeout_ms 0 then fail with
 * ZKL_EBUSY, even if that contender is just acquiring permits that are free. Curator itself
 * acquires several permits one after the other. A client of Curator that has some of its permits,
 * and a contender of zkl that waits for several with the lock, can therefore wait for each other
 * until the time limit of one of them. Contenders of zkl never wait for each other in this way.
 *
 * permits is 1 or more; at most 1000 if permits are numbered; at most 64 in Curator's layout.
 * timeout_ms: 0 does not wait for permits, but for the numbers of contenders that came before and
 * are choosing them; ZKL_FOREVER has no limit.
 *
 * Returns 0; or
 *   ZKL_EBUSY: timeout_ms is 0, and the permits are not free, or another contender is first; or
 *     one that came before got no numbers within one session timeout;
 *   ZKL_ETIMEDOUT: the permits were not acquired within timeout_ms;
 *   ZKL_ELIMIT: permits is more than the limit, even if the limit was lowered during the wait; or
 *     the session watches too many paths (512 KiB in all), or has too many ephemeral nodes (1 MiB
 *     of paths in all);
 *   ZKL_ENOENT: path has no limit and the options have none; or the data of path is no limit;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection (with timeout_ms 0 also
 *     without an answer, or a proof of the session);
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EACCES: the server refused permission at path;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_ELAYOUT: path has a child that is no contender, or one of another layout; or a contender of
 *     another recipe arrived first;
 *   ZKL_EPATH: path is, or is below, an ephemeral node;
 *   ZKL_EOVERFLOW: the sequence numbers of path are used up;
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_ECLOSED: the session was closed or the semaphore freed;
 *   ZKL_EINVAL: m or ret is NULL, or permits is out of range;
 *   ZKL_ECHILD.
 * A call that fails deletes its nodes in the background. */
ZKL_API int zkl_semaphore_acquire(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                  zkl_grant **ret) ZKL_MUST_CHECK;

/* Acquires the given number of permits like zkl_semaphore_acquire(), without blocking. If the
 * function returns 0, fn(grant, err, data) is called exactly once; if it returns an error, fn is
 * never called. The callee owns the grant. Unless ret is NULL, the operation is stored in *ret;
 * free it with zkl_op_free(). If fn is NULL, zkl_op_wait() gives the result.
 *
 * Returns 0; or
 *   ZKL_EINVAL: m is NULL, or both fn and ret are, or permits is out of range;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of zkl_semaphore_acquire(), except ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD; or ZKL_ECANCELED after zkl_op_cancel(). */
ZKL_API int zkl_semaphore_acquire_async(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                        zkl_acquired_fn fn, void *data, zkl_op **ret);

/* Stores the present limit of path in *ret. timeout_ms is as for zkl_queue_read().
 *
 * Returns 0; or
 *   ZKL_ENOENT: path does not exist;
 *   ZKL_ELAYOUT: path has no data, or its data is no limit;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EACCES, ZKL_EPROTO, ZKL_ECLOSED: as
 *     for zkl_queue_read();
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: m or ret is NULL, or the layout is Curator's, which stores no limit;
 *   ZKL_ECHILD. */
ZKL_API int zkl_semaphore_get_limit(zkl_semaphore *m, int64_t timeout_ms, int *ret);

/* Sets the limit of path, which must exist, to limit, 1 or more. Waiting contenders obey the new
 * limit at once. A lower limit takes no permits from their holders. It delays new acquisitions
 * until enough permits are released.
 *
 * Returns 0, even if path had no data; or
 *   ZKL_EINVAL: limit is less than 1; or as zkl_semaphore_get_limit();
 *   the other codes of zkl_semaphore_get_limit(). After ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST,
 *     ZKL_EAUTH and ZKL_ECLOSED the limit may have been set, or may be set later. */
ZKL_API int zkl_semaphore_set_limit(zkl_semaphore *m, int limit, int64_t timeout_ms);

ZKL_END

#endif
