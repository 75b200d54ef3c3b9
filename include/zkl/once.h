/* Work that one caller does for all: once, once in each period, or for each instant. zkl(3) says
 * what all functions have in common. */
#ifndef ZKL_ONCE_H
#define ZKL_ONCE_H

#include <zkl/mutex.h>

ZKL_BEGIN

/* The largest result of a run, in bytes. */
#define ZKL_ONCE_RESULT_MAX 65536

/* Fill with ZKL_ONCE_OPTIONS_INIT, then change members. */
typedef struct zkl_once_options {
    size_t size;       /* sizeof(zkl_once_options); see zkl/session.h */
    const char *name;  /* who runs it, as shown by zkl ls and recorded: UTF-8, at most 1024 bytes;
                          NULL: host and process id */
    int64_t period_ms; /* 0 (the default): it is run once, or by calendar. Otherwise once in each
                          period of that length: 10 to 31622400000 ms (366 days) */
    int64_t slack_ms;  /* with period_ms: how long before the due instant it may begin, in ms: less
                          than half the period. 0 (the default): a tenth of the period, 300000 at
                          most. With calendar: how long before an instant a caller waits for it, up
                          to 3600000; 0 (the default): 30000. It is never more than half the time
                          between that instant and the one before */
    const char *calendar; /* it is run once for each instant of that, as "30 2 * * *": five fields
                             as in crontab(5), without names. The month must be *, and so must one
                             of the two for days. NULL (the default): none; not with period_ms */
    const char *zone;     /* with calendar: whose local times these are, "UTC" or a name of
                             tzdata's with an area, as "Europe/Berlin"; NULL (the default): UTC */
    int64_t late_ms; /* with calendar: how long after its instant a run may begin; 31622400000 at
                        most. 0 (the default): 3600000, an hour */
    zkl_parents parents; /* how path and its missing parents are created; default: containers */
    int reserved;        /* 0 */
} zkl_once_options;

#define ZKL_ONCE_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(zkl_once_options), NULL, 0, 0, NULL, NULL, 0, ZKL_PARENTS_CONTAINER, 0              \
    }

/* A run that was completed, as it is recorded. The instants are in ms since 1970, by the clocks of
 * the servers' leaders. Later versions may append members. */
typedef struct zkl_once_run {
    int64_t begun_ms;     /* when it began */
    int64_t due_ms;       /* when the next one is due; 0: it was run once for all */
    uint64_t token;       /* the fencing token of the grant under which it was run */
    const char *name;     /* who ran it: as valid UTF-8 without control characters */
    const void *result;   /* never NULL, even if size is 0 */
    size_t size;          /* of result, in bytes */
    const char *calendar; /* with its zone: "30 2 * * * Europe/Berlin"; NULL: it was run by none */
    int64_t instant_ms;   /* the instant of the calendar that it was for; 0: by none */
    int64_t local_ms;     /* what the zone's clocks showed then, as if it were UTC's; 0: by none */
} zkl_once_run;

/* Frees a run. */
ZKL_API void zkl_once_run_free(zkl_once_run *run);

/* Creates a handle for the work at path and stores it in *ret. path is as for zkl_mutex_new(): the
 * callers are contenders of a mutex there, and the record is the node path/record. All callers at
 * one path should use the same period and slack; where their calendars or zones differ, calls may
 * fail with ZKL_ELAYOUT. Any number of threads may use one handle.
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_once_new(zkl_once **ret, zkl_session *s, const char *path,
                         const zkl_once_options *options);

/* Frees the handle. Calls that wait to do the work fail with ZKL_ECLOSED, and work that is under
 * way goes on. Grants that zkl_once_begin() gave stay valid, but their runs can no longer be
 * recorded. */
ZKL_API void zkl_once_free(zkl_once *o);

/* Does the work, on the thread that called zkl_once_call(). grant is lent, to protect what the
 * work changes by zkl_grant_state(), zkl_grant_token() and zkl_grant_multi() without
 * ZKL_MULTI_RELEASE. To record a result, the function stores a pointer to its bytes and their
 * number in *ret and *ret_size, which are NULL and 0 before; the bytes must be valid until
 * zkl_once_call() returns.
 *
 * Returns 0 if the work is done. With any other number it has failed: nothing is recorded, and
 * zkl_once_call() returns that number, which should be none of its own. Work that ends its thread,
 * or that a C++ exception leaves, has failed, too, and the lock is released.
 *
 * The work may be begun several times: if its process dies or loses the lock before the record is
 * written, a caller may begin it again. */
typedef int (*zkl_once_fn)(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size);

/* Runs fn if the work is due and no other caller does it; if another caller does, waits for that.
 * All instants are by the servers' clocks.
 *
 * Without a period or a calendar, the work is due until a run is recorded. With a period, the first
 * run is due at once, and the instants count from its beginning. The next run is due at the
 * recorded instant, and may begin earlier by the slack. Periods without a run are skipped: the
 * instant after a run is the first one that is later than the beginning of the run plus the slack.
 *
 * With a calendar, an instant comes when the clocks of the zone reach a time that the calendar
 * names: where they skip it, as they go forward; and the first time, if they show it twice. If the
 * field of hours is *, each instant of the named days at which they show one of the minutes counts.
 * The work is due at each instant, and without a run stays due for late_ms, or until the next
 * instant. A call made up to slack_ms before an instant is for that one, and waits for it, with the
 * lock.
 *
 * The run is recorded in one fenced transaction with the release of the lock. So no two runs are
 * recorded for a due instant, unless the record is reset between them, and none begins while the
 * grant of another one is valid. After a caller whose run fails or who loses the lock comes the
 * next in line. When a run is recorded, the callers that wait for it return 0.
 *
 * timeout_ms limits the wait for others and for an instant; fn has no limit, and the record one
 * session timeout. With 0 the function does not wait for other callers, but for an instant that is
 * at most slack_ms away. Unless ret is NULL, the last run of which the handle knows is stored in
 * *ret; free it with zkl_once_run_free(). The token tells whether it is the caller's own. NULL: it
 * was reset since.
 *
 * Returns 0 if the work is done for now; or
 *   ZKL_ELAYOUT: path/record is no record, or is one of another calendar or zone or without one, or
 *     this host's tzdata has another time for its instant; or as zkl_mutex_lock() says;
 *   ZKL_EOVERDUE: the last instant of the calendar has no run, and is longer ago than late_ms;
 *   ZKL_ELOST: fn has returned 0, but the lock was lost: nothing is recorded;
 *   ZKL_EVERSION: fn has returned 0, but the record was reset while fn ran: nothing is recorded;
 *   ZKL_EUNKNOWN: fn has returned 0, and the record may have been written, or may yet be;
 *   ZKL_ELIMIT: the result is too large, and nothing is recorded; or as zkl(3) says;
 *   ZKL_EINVAL: o, fn, or a result that has bytes, is NULL;
 *   another number that fn has returned;
 *   the other codes of zkl_multilock_lock(). */
ZKL_API int zkl_once_call(zkl_once *o, int64_t timeout_ms, zkl_once_fn fn, void *data,
                          zkl_once_run **ret);

/* The first half of zkl_once_call(): waits until the caller is to do the work, and stores the grant
 * in *ret. The caller owns the grant. It does the work, and then calls zkl_once_end();
 * zkl_grant_release() alone gives the work up as failed.
 *
 * Returns 0; or
 *   ZKL_EEXIST: the work is done for now: zkl_once_done() gives the run;
 *   ZKL_ELAYOUT, ZKL_EOVERDUE: as zkl_once_call();
 *   ZKL_EINVAL;
 *   the other codes of zkl_multilock_lock(). */
ZKL_API int zkl_once_begin(zkl_once *o, int64_t timeout_ms, zkl_grant **ret) ZKL_MUST_CHECK;

/* The same without blocking, as zkl_mutex_lock_async().
 *
 * Returns 0; or
 *   ZKL_EINVAL: o is NULL, or both fn and ret are;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of zkl_once_begin(), except ZKL_EDEADLK, ZKL_EINVAL and ZKL_ECHILD; or
 * ZKL_ECANCELED after zkl_op_cancel(). */
ZKL_API int zkl_once_begin_async(zkl_once *o, int64_t timeout_ms, zkl_acquired_fn fn, void *data,
                                 zkl_op **ret);

/* Records that the work is done, with size bytes of result, in one transaction with the release of
 * the lock. The grant is RELEASED as soon as the transaction has begun, as by ZKL_MULTI_RELEASE,
 * and the caller still calls zkl_grant_release(). Blocks for timeout_ms at most; 0 means one
 * session timeout.
 *
 * Returns 0; or
 *   ZKL_EPERM: the grant was released, or is none of o's;
 *   ZKL_ELOST: the grant was lost, or a later run of o has begun;
 *   ZKL_EVERSION: the record was reset while the work ran;
 *   ZKL_EUNKNOWN: the record may have been written, or may yet be;
 *   ZKL_ELIMIT: size is more than ZKL_ONCE_RESULT_MAX;
 *   ZKL_EINVAL: o or grant is NULL, or result is and size is not 0;
 *   ZKL_EACCES, ZKL_EPROTO, ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EDEADLK, ZKL_ECLOSED,
 *     ZKL_ECHILD.
 * After every result except 0 and ZKL_EUNKNOWN, this call records nothing. */
ZKL_API int zkl_once_end(zkl_once *o, const zkl_grant *grant, const void *result, size_t size,
                         int64_t timeout_ms);

/* Reads the run that was recorded last and stores it in *ret, unless ret is NULL; free it with
 * zkl_once_run_free(). The next run may be due since: due_ms says so. The server first catches up
 * with its leader. Blocks for timeout_ms at most; 0 means one session timeout.
 *
 * Returns 0; or
 *   ZKL_ENOENT: no run is recorded;
 *   ZKL_ELAYOUT: path/record is no record;
 *   ZKL_EACCES, ZKL_EPROTO, ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EDEADLK,
 *     ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_once_done(zkl_once *o, int64_t timeout_ms, zkl_once_run **ret);

/* Deletes the record, as if the work had never been run. A run that is in progress fails with
 * ZKL_EVERSION if there was a record before. Blocks for timeout_ms at most; 0 means one session
 * timeout. If the answer is lost, the record is deleted once more, even if another caller has
 * written it since. Then the call waits as zkl_barrier_set() does, and timeout_ms limits it as
 * there.
 *
 * Returns 0 if there was no record, or it is deleted; or
 *   ZKL_ENOTEMPTY: path/record has children;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST: the time passed; the record may have been deleted,
 *     or may be deleted later;
 *   ZKL_EACCES, ZKL_EPROTO, ZKL_EAUTH, ZKL_EDEADLK, ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_once_reset(zkl_once *o, int64_t timeout_ms);

ZKL_END

#endif
