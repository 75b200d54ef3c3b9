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
    const char *name;    /* who contends, for people: UTF-8, at most 1024 bytes, one line if
                            numbered; NULL: host and process id */
    zkl_parents parents; /* how the parents of path are created; default: containers. path itself is
                            made persistent, since it keeps the limit. In Curator's layout path is
                            one of the parents */
    int limit;    /* the number of permits, 1 or more. It is written if path has no data yet, and
                     ignored if path has a limit. 0 (the default): path must have one.
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
 * options may be NULL. Free the handle with zkl_semaphore_free().
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret or s is NULL, or path or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_semaphore_new(zkl_semaphore **ret, zkl_session *s, const char *path,
                              const zkl_semaphore_options *options);

/* Frees the handle. Acquisitions in progress fail with ZKL_ECLOSED. Grants that were acquired
 * through the handle stay valid. Calls that read or set the limit end as if the handle were
 * there. Never waits for the server. */
ZKL_API void zkl_semaphore_free(zkl_semaphore *m);

/* Acquires the given number of permits, all of them or none, and stores their grant in *ret.
 * permits is 1 or more; at most 1000 if permits are numbered; at most 64 in Curator's layout. The
 * caller owns the grant and ends it with zkl_grant_release(), from any thread. A semaphore belongs
 * to no thread and is not reentrant. Contenders are served in the order in which the server made
 * their nodes, so one that waits for many permits delays all later ones.
 *
 * With timeout_ms 0 the call does not wait for permits, but, if they are numbered, for contenders
 * that came before and are choosing numbers.
 *
 * If permits are numbered, zkl_grant_part() stores the number of each: 0 or more, less than the
 * limit at the time of the acquisition, mostly the lowest that are free. No other contender has
 * a number of the grant while the grant is owned. zkl(7), SEMAPHORES, says more of numbers, and of
 * what tokens are good for with several holders.
 *
 * In Curator's layout each permit is a node of its own, with a token (zkl_grant_part()). The grant
 * is lost as soon as one node is. The first in line holds the lock at path/locks while it waits for
 * permits: zkl-interop(7) says what follows from that.
 *
 * Returns 0; or
 *   ZKL_EBUSY: timeout_ms is 0, and the permits are not free, another contender is first, or one
 *     that came before got no numbers within one session timeout;
 *   ZKL_ETIMEDOUT: the permits were not acquired within timeout_ms;
 *   ZKL_ELIMIT: permits is more than the limit, even if the limit was lowered during the wait; or
 *     as for zkl_mutex_lock();
 *   ZKL_ENOENT: path has no limit and the options have none; or the data of path is no limit;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: as for zkl_mutex_lock();
 *   ZKL_ELAYOUT: path has a child of another layout, or in zkl's layout one that is no contender,
 *     or a contender of another recipe arrived first;
 *   ZKL_EOVERFLOW: the sequence numbers of path are used up;
 *   ZKL_EINVAL: m or ret is NULL, or permits is out of range;
 *   ZKL_EAUTH, ZKL_EACCES, ZKL_EDEADLK, ZKL_EPATH, ZKL_EPROTO, ZKL_ECLOSED, ZKL_ECHILD.
 * A call that fails deletes its nodes in the background. */
ZKL_API int zkl_semaphore_acquire(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                  zkl_grant **ret) ZKL_MUST_CHECK;

/* Acquires the given number of permits like zkl_semaphore_acquire(), without blocking. fn, data and
 * ret are as for zkl_mutex_lock_async().
 *
 * Returns 0; or
 *   ZKL_EINVAL: m is NULL, or both fn and ret are, or permits is out of range;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of zkl_semaphore_acquire(), except ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD; or ZKL_ECANCELED after zkl_op_cancel(). */
ZKL_API int zkl_semaphore_acquire_async(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                        zkl_acquired_fn fn, void *data, zkl_op **ret);

/* Stores path's limit in *ret, as the server has it. timeout_ms is as for zkl_queue_read().
 *
 * Returns 0; or
 *   ZKL_ENOENT: path does not exist;
 *   ZKL_ELAYOUT: path has no data, or its data is no limit;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EACCES, ZKL_EPROTO, ZKL_ECLOSED: as
 *     for zkl_queue_read();
 *   ZKL_EINVAL: m or ret is NULL, or the layout is Curator's, which stores no limit;
 *   ZKL_EDEADLK, ZKL_ECHILD. */
ZKL_API int zkl_semaphore_get_limit(zkl_semaphore *m, int64_t timeout_ms, int *ret);

/* Sets the limit of path, which must exist, to limit, 1 or more. Waiting contenders obey the new
 * limit. A lower limit takes no permits from their holders. It may delay acquisitions until enough
 * permits are released.
 *
 * Returns 0, even if path had no data; or
 *   ZKL_EINVAL: limit is less than 1; or as zkl_semaphore_get_limit();
 *   the other codes of zkl_semaphore_get_limit(). After ZKL_ETIMEDOUT, ZKL_EUNREACHABLE,
 *     ZKL_EHOST, ZKL_EAUTH and ZKL_ECLOSED the limit may have been set, or may be set later. */
ZKL_API int zkl_semaphore_set_limit(zkl_semaphore *m, int limit, int64_t timeout_ms);

ZKL_END

#endif
