/* What a session has done, in numbers and as metrics for Prometheus. */
#ifndef ZKL_STATS_H
#define ZKL_STATS_H

#include <zkl/api.h>

ZKL_BEGIN

/* How many buckets a histogram has. */
#define ZKL_HISTOGRAM_BUCKETS 16

/* How long something took. */
typedef struct zkl_histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t buckets[ZKL_HISTOGRAM_BUCKETS]; /* buckets[i]: how many took no longer than
                                                zkl_histogram_bound_ns(i), and longer than the bound
                                                before it */
} zkl_histogram;

/* The numbers of a session. Those of the first three groups only grow, from the opening of the
 * session on. Fill with ZKL_STATS_INIT. */
typedef struct zkl_stats {
    size_t size; /* set by the caller to sizeof(zkl_stats); after the call, how many bytes were
                    filled */

    /* Acquisitions: of locks, permits and leadership. All levels of a reentrant lock count as one;
     * each turn of a lock that is retained counts. A call that fails before its acquisition begins
     * does not count, nor does the grant of a membership, nor a zkl_once whose work is done. */
    uint64_t acquisitions;           /* that ended with a grant */
    uint64_t acquisitions_discarded; /* of those: given back at once, since the call had failed */
    uint64_t failed_busy;            /* that ended with ZKL_EBUSY */
    uint64_t failed_timeout;         /* ZKL_ETIMEDOUT */
    uint64_t failed_canceled;        /* ZKL_ECANCELED */
    uint64_t failed_closed;          /* ZKL_ECLOSED */
    uint64_t failed_unreachable;     /* ZKL_EUNREACHABLE, ZKL_EHOST */
    uint64_t failed_denied;          /* ZKL_EACCES, ZKL_EAUTH */
    uint64_t failed_other;           /* another error */
    zkl_histogram wait;              /* from the beginning to the grant */
    zkl_histogram hold;              /* from the grant to its end */
    uint64_t lost_deadline;          /* grants lost, because of ZKL_LOSS_DEADLINE */
    uint64_t lost_expired;           /* ZKL_LOSS_EXPIRED */
    uint64_t lost_deleted;           /* ZKL_LOSS_DELETED */
    uint64_t lost_closed;            /* ZKL_LOSS_CLOSED */
    uint64_t lost_replaced;          /* ZKL_LOSS_REPLACED */
    uint64_t lost_refused;           /* ZKL_LOSS_REFUSED */

    /* The connection. */
    uint64_t sessions;        /* ZooKeeper sessions so far */
    uint64_t connections;     /* their connections */
    uint64_t disconnections;  /* connections that were lost */
    uint64_t attempts_failed; /* attempts to connect that failed, as far as they are known */
    zkl_histogram renewal;    /* from sending a renewal of the session to its answer */

    /* Requests. Bytes are those of paths, names and data, without the headers of the protocol. */
    uint64_t requests; /* sent */
    uint64_t answers;  /* received */
    uint64_t request_bytes;
    uint64_t answer_bytes;

    /* At present. */
    uint64_t connected;             /* 1: there is a connection; 0: there is none */
    uint64_t held;                  /* grants that are held, without those of memberships */
    uint64_t waiting;               /* acquisitions in progress */
    uint64_t requests_queued;       /* requests that wait for a connection, or for room */
    uint64_t callbacks_queued;      /* callbacks that wait to be called */
    int64_t deadline_left_ms;       /* until grants are lost unless the session is renewed; -1: held
                                       is 0 */
    int64_t deadline_left_least_ms; /* the least of that so far, when a renewal came; -1: none came
                                       while held was above 0 */
    int64_t session_timeout_ms;     /* as zkl_session_timeout_ms() */
    int64_t oldest_wait_ms;         /* since the first of the acquisitions in progress began; 0:
                                       there is none */
} zkl_stats;

#define ZKL_STATS_INIT                                                                             \
    {                                                                                              \
        sizeof(zkl_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, {0}}, {0, 0, {0}}, 0, 0, 0, 0, 0, 0,  \
            0, 0, 0, 0, {0, 0, {0}}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                         \
    }

/* A label of a metric. */
typedef struct zkl_label {
    const char *name;  /* letters, digits and _, but no digit and no __ at the beginning; not "le"
                          and not "reason"; each name once */
    const char *value; /* any text; what is not UTF-8 in it is replaced */
} zkl_label;

/* Returns the upper bound of a bucket in nanoseconds, from 1 µs to an hour. Returns INT64_MAX for
 * the last bucket and for numbers above it. */
ZKL_API int64_t zkl_histogram_bound_ns(size_t bucket);

/* Stores the numbers of s in *ret. Never waits for a server.
 *
 * Returns 0; or
 *   ZKL_EINVAL: s or ret is NULL, or ret->size is smaller than the struct of version 0.1;
 *   ZKL_ECHILD. */
ZKL_API int zkl_session_stats(zkl_session *s, zkl_stats *ret);

/* Writes the numbers, but no -1, to buf in Prometheus' text format, as metrics whose names begin
 * with zkl_. Each has the given labels. At most size bytes are written, with a final 0 byte; buf
 * may be NULL if size is 0. Two such texts are no valid file, since each describes all metrics.
 *
 * Returns the length of the whole text without the 0 byte, which may be size or more: then the
 * text was cut. Returns ZKL_EINVAL if stats is NULL or its size too small, if a label is not
 * valid, or if labels or buf is NULL and its count or size is not 0. May be called in a forked
 * child. */
ZKL_API int zkl_stats_prometheus(const zkl_stats *stats, const zkl_label *labels, size_t count,
                                 char *buf, size_t size);

/* How many paths have metrics of their own in zkl_session_prometheus(). */
#define ZKL_STATS_PATHS 64

/* Writes the numbers of s as zkl_stats_prometheus() does, and those of each path: metrics whose
 * names begin with zkl_path_, with the path as the label "path" in place of one of the caller's.
 * The first ZKL_STATS_PATHS paths at which the session has had a lock, a semaphore, an election, a
 * zkl_once or a shard have their own; all later ones are together in one with the label "other". A
 * lock at several paths counts at the first in the order of their bytes. Never waits for a server.
 *
 * Returns the length of the whole text without the 0 byte, which may be size or more: then the
 * text was cut, and the next may be longer. Returns ZKL_EINVAL if s is NULL, or as
 * zkl_stats_prometheus() does; or ZKL_ECHILD. */
ZKL_API int zkl_session_prometheus(zkl_session *s, const zkl_label *labels, size_t count, char *buf,
                                   size_t size);

ZKL_END

#endif
