/* Leader election. Candidates queue below one path, and the first candidate leads. The right to
 * lead is a grant. A term is the time from the acquisition of that grant to its end. */
#ifndef ZKL_ELECTION_H
#define ZKL_ELECTION_H

#include <zkl/api.h>
#include <zkl/multi.h>
#include <zkl/mutex.h>
#include <zkl/op.h>
#include <zkl/queue.h>
#include <zkl/watch.h>

ZKL_BEGIN

/* How the nodes of candidates are named. Candidates of LATCH and candidates of SELECTOR or KAZOO do
 * not wait for each other: the one that arrives second fails with ZKL_ELAYOUT. */
typedef enum zkl_layout {
    ZKL_LAYOUT_LATCH = 0,    /* "-latch-", like Curator's LeaderLatch */
    ZKL_LAYOUT_SELECTOR = 1, /* "-lock-", like Curator's LeaderSelector, and like a lock */
    ZKL_LAYOUT_KAZOO = 2     /* "__lock__", like kazoo's Election; without priorities. Use it with
                                persistent parents */
} zkl_layout;

/* Fill with ZKL_ELECTION_OPTIONS_INIT, then change members. once and yield apply to
 * zkl_election_start() only. */
typedef struct zkl_election_options {
    size_t size; /* sizeof(zkl_election_options); see zkl/session.h */
    zkl_layout layout;
    zkl_parents parents; /* default: containers */
    int once;            /* 1: stops after one term; 0 (default): campaigns again after each end of
                            a term */
    int priority;        /* 0 (default) to 999; a priority above 0 is part of the node's name */
    int yield;           /* 1: a leader is asked to step down when a candidate of higher priority
                            waits. A winner that finds such a candidate waiting lets it lead first.
                            Both then watch all candidates. 0 (default): no */
    int reserved;        /* 0 */
} zkl_election_options;

#define ZKL_ELECTION_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(zkl_election_options), ZKL_LAYOUT_LATCH, ZKL_PARENTS_CONTAINER, 0, 0, 0, 0          \
    }

/* Creates a handle for the election at path and stores it in *ret. path is as for zkl_mutex_new().
 * candidate_id is the payload of the candidate's node: UTF-8, at most 1024 bytes, possibly empty.
 * If candidate_id is NULL, the handle is no candidate: only zkl_election_leader(),
 * zkl_election_watch() and zkl_election_get_status() work with it. zkl_queue_read() shows the
 * candidates. A transaction of the term adds a line to the payload; see zkl_grant_multi(). options
 * may be NULL. Sends nothing to the server. Free the handle with zkl_election_free().
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret or s is NULL, or path, candidate_id or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_election_new(zkl_election **ret, zkl_session *s, const char *path,
                             const char *candidate_id, const zkl_election_options *options);

/* Frees the handle. First resigns, like zkl_election_resign(): the term, if any, ends, and a
 * campaign in progress fails with ZKL_ECLOSED. The watches of the handle end, but must still be
 * freed. A started election still delivers its events, up to ZKL_ELECTION_STOPPED; its data must be
 * valid until then. Grants that the caller owns must still be released. Calls of
 * zkl_election_leader() that are in progress, and proclamations that were sent, end as if the
 * handle were there; other proclamations end as after zkl_election_resign(). No call with e may
 * begin afterwards. Never waits, neither for the server nor for callbacks. NULL is
 * ignored. In a forked child it does nothing. */
ZKL_API void zkl_election_free(zkl_election *e);

/* ---- one term at a time ---- */

/* Enters the queue, and returns when this candidate leads. Unless ret is NULL, the grant is stored
 * in *ret and the caller owns it. zkl_grant_release() or zkl_election_resign() ends the term. After
 * zkl_election_resign() the grant must still be released. If ret is NULL, only the handle has the
 * grant. If this candidate leads already, the function returns 0 at once, with another reference to
 * the same grant.
 *
 * Returns 0 if this candidate leads; or
 *   ZKL_EBUSY: timeout_ms is 0 and another candidate is first; or this candidate does not lead, and
 *     its handle is already campaigning, or was started by zkl_election_start();
 *   ZKL_ETIMEDOUT: the candidate did not lead within timeout_ms;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection (with timeout_ms 0 also
 *     without an answer, or a proof of the session);
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EACCES: the server refused permission at path;
 *   ZKL_ECANCELED: zkl_election_resign() was called during the call;
 *   ZKL_ELAYOUT: a child that arrived first belongs to an incompatible recipe or layout;
 *   ZKL_EPATH: path is, or is below, an ephemeral node;
 *   ZKL_EOVERFLOW: the sequence numbers of path are used up;
 *   ZKL_ELIMIT: the session watches too many paths (512 KiB in all), or has too many ephemeral
 *     nodes (1 MiB of paths in all);
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_EDEADLK: called inside a callback, and this candidate does not lead;
 *   ZKL_EINVAL: e is NULL or no candidate;
 *   ZKL_ECLOSED: the session was closed or the handle freed;
 *   ZKL_ECHILD.
 * A call that fails deletes its node in the background. */
ZKL_API int zkl_election_campaign(zkl_election *e, int64_t timeout_ms,
                                  zkl_grant **ret) ZKL_MUST_CHECK;

/* Campaigns without blocking. If the function returns 0, fn(grant, err, data) is called exactly
 * once; if it returns an error, fn is never called. The callee owns the grant. Unless ret is NULL,
 * the operation is stored in *ret; free it with zkl_op_free(). If this candidate leads already, fn
 * gets another reference to the same grant. *ret is then NULL, since there is nothing to cancel.
 *
 * Returns 0; or
 *   ZKL_EBUSY: this candidate does not lead, and its handle is already campaigning, or was started
 *     by zkl_election_start();
 *   ZKL_EINVAL: e or fn is NULL, or e is no candidate;
 *   ZKL_ECLOSED: the session was closed;
 *   ZKL_ECHILD.
 * err has one of the codes of zkl_election_campaign(), except ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD. ZKL_EBUSY means that timeout_ms is 0 and another candidate is first.
 * ZKL_ECANCELED comes after zkl_op_cancel() too. */
ZKL_API int zkl_election_campaign_async(zkl_election *e, int64_t timeout_ms, zkl_acquired_fn fn,
                                        void *data, zkl_op **ret);

/* Ends what this handle has begun: a term, whose node is deleted in the background; a campaign,
 * which fails with ZKL_ECANCELED; and what zkl_election_start() began. Never waits for the server.
 *
 * Returns 0; or
 *   ZKL_EPERM: the candidate was neither leading nor campaigning;
 *   ZKL_ELOST: the term had been lost;
 *   ZKL_EINVAL: e is NULL or no candidate;
 *   ZKL_ECHILD. */
ZKL_API int zkl_election_resign(zkl_election *e);

/* ---- again and again ---- */

/* What happened to a started election. */
typedef enum zkl_election_event {
    ZKL_ELECTION_LEADING = 1,  /* a term begins. The grant is lent until the LOST or RESIGNED of
                                  this term. Check the grant before each action: the event may come
                                  so late that the term is over */
    ZKL_ELECTION_SUSPECT = 2,  /* no proof arrives: the term may end soon */
    ZKL_ELECTION_HELD = 3,     /* the term is proved again after SUSPECT */
    ZKL_ELECTION_ASKED = 4,    /* the leader is asked to step down: for a candidate of higher
                                  priority, or by a request as for zkl_grant_on_revoke(), which
                                  needs no option. When ready, call zkl_election_yield(). Comes at
                                  most once a term */
    ZKL_ELECTION_LOST = 5,     /* the term was lost: stop at once. The node, if it still exists, is
                                  deleted when this call has returned, but one session timeout
                                  after the loss at the latest. When this call has returned, the
                                  next campaign begins, unless the election ends with this term */
    ZKL_ELECTION_RESIGNED = 6, /* the term was ended by zkl_election_resign(), zkl_election_yield()
                                  or zkl_election_free(), by zkl_grant_release(), or by a
                                  transaction */
    ZKL_ELECTION_FAILED = 7,   /* a campaign failed with err; the next one begins after a pause */
    ZKL_ELECTION_STOPPED = 8   /* the last event. err is the reason. NULL: the election was asked
                                  to stop, or its one term ended without a loss */
} zkl_election_event;

/* Called on a library thread, in the order of events. grant is lent from LEADING to LOST or
 * RESIGNED; it is NULL for the other events. err is not NULL for FAILED, and may be NULL for
 * STOPPED; it is valid during the call. */
typedef void (*zkl_election_fn)(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                                const zkl_error *err, void *data);

/* Campaigns, leads, campaigns again, and reports each event to fn. It continues until
 * zkl_election_resign(), zkl_election_free(), zkl_session_close() or, with once, the end of
 * the first term. It also continues after every failure except ZKL_EAUTH and ZKL_ECLOSED. The next
 * campaign then begins after a pause: 1 s after the first failure, and twice as long after each
 * further one, up to 30 s. The end of the ZooKeeper session ends a term, but not the campaigning.
 *
 * Returns 0; or
 *   ZKL_EBUSY: this handle campaigns or leads already. It may be started again inside the call of
 *     ZKL_ELECTION_STOPPED;
 *   ZKL_EINVAL: e or fn is NULL, or e is no candidate;
 *   ZKL_ECLOSED: the session was closed;
 *   ZKL_ECHILD. */
ZKL_API int zkl_election_start(zkl_election *e, zkl_election_fn fn, void *data);

/* Ends the term of a started election. The candidate queues again, as the last one; with once
 * the election stops. Never waits for the server.
 *
 * A leader may call it whether it was asked or not, and so limits its own terms: here to a minute,
 * with the time of ZKL_ELECTION_LEADING in began.
 *
 *     if (time(NULL) - began >= 60)
 *         zkl_election_yield(e);
 *
 * If no other candidate waits, this one then leads again, with another token.
 *
 * Returns 0; or
 *   ZKL_EPERM: the election was not started, or this candidate does not lead;
 *   ZKL_ELOST: the term had been lost;
 *   ZKL_EINVAL: e is NULL or no candidate;
 *   ZKL_ECHILD. */
ZKL_API int zkl_election_yield(zkl_election *e);

/* What a candidate does now. */
typedef enum zkl_candidacy {
    ZKL_CANDIDACY_NONE = 0,    /* not campaigning */
    ZKL_CANDIDACY_QUEUED = 1,  /* in the queue, or about to enter it */
    ZKL_CANDIDACY_LEADING = 2, /* leading: the grant is valid */
    ZKL_CANDIDACY_PAUSED = 3   /* a campaign failed; the next one begins soon */
} zkl_candidacy;

/* The status of a candidate. Fill with ZKL_ELECTION_STATUS_INIT. */
typedef struct zkl_election_status {
    size_t size; /* set by the caller to sizeof(zkl_election_status); after the call, how many bytes
                    were filled */
    zkl_candidacy candidacy;
    int ahead;      /* QUEUED: how many candidates were ahead when the library last listed them; -1:
                       not known yet, or not QUEUED */
    uint64_t token; /* LEADING: the fencing token; otherwise 0 */
    uint64_t terms; /* how many terms this handle has begun */
    zkl_error last; /* why the last campaign or term ended; .code is 0 if none has ended yet, or if
                       the last one was asked to end */
    int reserved;   /* 0 */
} zkl_election_status;

#define ZKL_ELECTION_STATUS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_election_status), ZKL_CANDIDACY_NONE, 0, 0, 0, {0, "", ""}, 0                   \
    }

/* Stores the status in *ret. Never waits.
 *
 * Returns 0; or
 *   ZKL_EINVAL: e or ret is NULL, or ret->size is too small;
 *   ZKL_ECHILD. */
ZKL_API int zkl_election_get_status(zkl_election *e, zkl_election_status *ret);

/* ---- who leads ---- */

/* Asks the servers for the first candidate, which leads or is about to lead. Stores its id in buf,
 * of size bytes: complete, as valid UTF-8, with a final 0. Unless ret_token is NULL, stores its
 * token in *ret_token. buf may be NULL if size is 0. Blocks for one session timeout at most.
 *
 * Returns 0; or
 *   ZKL_ENOENT: no candidate leads, or path does not exist;
 *   ZKL_ERANGE: buf is too small; *ret_token is stored nevertheless;
 *   ZKL_EACCES: the server refused permission to read path or the candidate;
 *   ZKL_ETIMEDOUT: the servers did not answer in time;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection;
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: e is NULL, or buf is NULL and size is not 0;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_election_leader(zkl_election *e, char *buf, size_t size, uint64_t *ret_token);

/* Publishes data, of size bytes, as the leader's data: at most 64 KiB, possibly empty. A
 * transaction that the term's grant fences stores it as the data of path itself, below a line with
 * the token. The candidate's node keeps the id, followed by the line of that transaction (see
 * zkl_grant_multi()). Watches of the election report the data. data may be NULL if size is 0.
 * Blocks for timeout_ms at most; 0 means one session timeout.
 *
 * Returns 0 if the data was published; or
 *   ZKL_EPERM: this candidate does not lead;
 *   ZKL_ELOST: the term was lost;
 *   ZKL_ELIMIT: size is more than 65536, or the grant has made 2^31 - 1 transactions;
 *   ZKL_EACCES: the server refused permission to write path or the candidate's node;
 *   ZKL_EUNKNOWN: the data may or may not have been published. Before an answer came, the time
 *     passed, the session ended, or the connection broke three times; or the connection broke and
 *     a third party wrote or deleted the node;
 *   ZKL_ETIMEDOUT: the time passed before the request was sent, while there was a connection;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed before the request was sent, without a connection;
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_EDEADLK: called inside a callback; call zkl_election_proclaim_async() there;
 *   ZKL_EINVAL: e is NULL or no candidate, or data is NULL and size is not 0;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * After every result except 0 and ZKL_EUNKNOWN, the data was not published and will not be. */
ZKL_API int zkl_election_proclaim(zkl_election *e, const void *data, size_t size,
                                  int64_t timeout_ms);

/* Publishes data like zkl_election_proclaim(), without blocking. data is copied. If the function
 * returns 0, fn(err, fn_data) is called exactly once; if it returns an error, fn is never called.
 *
 * Returns 0; or
 *   ZKL_EPERM, ZKL_ELOST, ZKL_ELIMIT: as zkl_election_proclaim();
 *   ZKL_EINVAL: as zkl_election_proclaim(), or fn is NULL;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has ZKL_EACCES, ZKL_EUNKNOWN, ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST or ZKL_EPROTO; or
 * ZKL_ELOST or ZKL_ECLOSED if that happened later. */
ZKL_API int zkl_election_proclaim_async(zkl_election *e, const void *data, size_t size,
                                        int64_t timeout_ms, zkl_multi_fn fn, void *fn_data);

/* The leader, as a watch reports it. Valid during the call, with all that it points to. Later
 * versions may append members. */
typedef struct zkl_leader {
    uint64_t token;   /* 0: nobody leads; the strings are then "" and data is NULL */
    const char *id;   /* as valid UTF-8 */
    const char *node; /* the name of the child */
    const void *data; /* proclaimed in this term; NULL: nothing was */
    size_t size;      /* of data, in bytes */
} zkl_leader;

/* Called on a library thread. */
typedef void (*zkl_leader_fn)(const zkl_leader *leader, void *data);

/* Watches who leads. Calls fn with the present leader (the first candidate), and at every change:
 * another token, no leader, or other proclaimed data. Unless ret is NULL, the watch is stored in
 * *ret and must be freed with zkl_watch_free(). The calls end with zkl_watch_free(), with the
 * handle or with the session.
 *
 * Tokens rise: nothing is reported twice or out of order, even across disconnections and sessions.
 * After "no leader", a leader is reported again only in another term. A leader whose token is lower
 * than a reported one counts as no leader. Tokens begin anew when the servers' data has gone back
 * (see zkl(7)), and the present leader may then be reported again. If the session was not replaced
 * for it, a server with older data than was reported is asked again for one session timeout at
 * least: until then older candidates or proclaimed data are not reported, and after that they are.
 * A term that begins and ends between two reads of the candidates is not reported. If several
 * changes come before fn has returned, only the last is reported. Nothing is reported while there
 * is no connection. Errors, such as a lack of permission, are logged, and the library tries again;
 * but not once the session's credentials were refused (ZKL_SESSION_REFUSED).
 *
 * Returns 0; or
 *   ZKL_EINVAL: e or fn is NULL;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_election_watch(zkl_watch **ret, zkl_election *e, zkl_leader_fn fn, void *data);

ZKL_END

#endif
