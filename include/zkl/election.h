/* Leader election. Candidates queue below one path, and only the first may lead. The right to
 * lead is a grant. A term is the time from the acquisition of that grant to its end. zkl(3) says
 * what all functions have in common. */
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
 * not wait for each other: one of this library that arrives second fails with ZKL_ELAYOUT. */
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
    int once;            /* 1: stops after one term; 0 (default): campaigns again until it is
                            stopped */
    int priority;        /* 0 (default) to 999, for the option yield: the order of the queue does
                            not depend on it. Above 0 it is part of the node's name */
    int yield;           /* 1: gives way to a candidate of higher priority. When one waits, a leader
                            gets ZKL_ELECTION_ASKED, and a winner does not lead but queues again, as
                            the last. Costs a watch on all candidates. 0 (default): no */
    int reserved;        /* 0 */
} zkl_election_options;

#define ZKL_ELECTION_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(zkl_election_options), ZKL_LAYOUT_LATCH, ZKL_PARENTS_CONTAINER, 0, 0, 0, 0          \
    }

/* Creates a handle for the election at path and stores it in *ret. path is as for zkl_mutex_new().
 * candidate_id is the payload of the candidate's node: UTF-8, at most 1024 bytes, possibly empty.
 * If it is NULL, the handle is no candidate: only zkl_election_leader(), zkl_election_watch(),
 * zkl_election_get_status() and zkl_election_free() work with it.
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_election_new(zkl_election **ret, zkl_session *s, const char *path,
                             const char *candidate_id, const zkl_election_options *options);

/* Frees the handle. First resigns, as zkl_election_resign() does, but a campaign in progress fails
 * with ZKL_ECLOSED. Grants that the caller owns must still be released. The watches of the handle
 * end, and must still be freed. A started election still delivers its events, up to
 * ZKL_ELECTION_STOPPED; its data must be valid until then. */
ZKL_API void zkl_election_free(zkl_election *e);

/* ---- one term at a time ---- */

/* Enters the queue, and returns when this candidate leads. Unless ret is NULL, the grant is stored
 * in *ret and the caller owns it. zkl_grant_release() or zkl_election_resign() ends the term. After
 * zkl_election_resign() the grant must still be released. If this candidate leads already, the
 * function returns 0 at once, with another reference to the same grant.
 *
 * Returns 0 if this candidate leads; or
 *   ZKL_EBUSY: timeout_ms is 0 and another node is first; or this candidate does not lead, and
 *     its handle is already campaigning or started by zkl_election_start();
 *   ZKL_ECANCELED: zkl_election_resign() was called during the call;
 *   ZKL_EDEADLK: called inside a callback, and this candidate does not lead;
 *   ZKL_EINVAL: e is NULL or no candidate;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EACCES, ZKL_ELAYOUT, ZKL_EPATH,
 *     ZKL_EOVERFLOW, ZKL_ELIMIT, ZKL_EPROTO, ZKL_ECLOSED, ZKL_ECHILD.
 * A call that fails deletes its node in the background. */
ZKL_API int zkl_election_campaign(zkl_election *e, int64_t timeout_ms,
                                  zkl_grant **ret) ZKL_MUST_CHECK;

/* Campaigns without blocking: calls fn(grant, err, data), which owns the grant. Unless ret is NULL,
 * the operation is stored in *ret. If this candidate leads already, fn gets another reference to
 * the same grant, or ZKL_ECANCELED if the grant was released since, and *ret is NULL.
 *
 * Returns 0; or
 *   ZKL_EBUSY: this candidate does not lead, and its handle is already campaigning or started by
 *     zkl_election_start();
 *   ZKL_EINVAL: e or fn is NULL, or e is no candidate;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of zkl_election_campaign(), except ZKL_EDEADLK, ZKL_EINVAL and
 * ZKL_ECHILD. ZKL_EBUSY means that timeout_ms is 0 and another node is first.
 * ZKL_ECANCELED comes after zkl_op_cancel() too. */
ZKL_API int zkl_election_campaign_async(zkl_election *e, int64_t timeout_ms, zkl_acquired_fn fn,
                                        void *data, zkl_op **ret);

/* Ends what this handle has begun: a term; a campaign, which fails with ZKL_ECANCELED; and what
 * zkl_election_start() began.
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
    ZKL_ELECTION_LEADING = 1,  /* a term begins. Check the grant before each action: the event may
                                  come so late that the term is over */
    ZKL_ELECTION_SUSPECT = 2,  /* no proof arrives: the term may end soon */
    ZKL_ELECTION_HELD = 3,     /* the term is proved again after SUSPECT */
    ZKL_ELECTION_ASKED = 4,    /* the leader is asked to step down: for a candidate of higher
                                  priority (option yield), or by a request as for
                                  zkl_grant_on_revoke(). When ready, call zkl_election_yield().
                                  Comes at most once a term */
    ZKL_ELECTION_LOST = 5,     /* the term was lost: stop at once. When this call has returned, the
                                  node is deleted (zkl(7), "After a loss"), and the next campaign
                                  begins, unless the election ends with this term */
    ZKL_ELECTION_RESIGNED = 6, /* the term ended because the program gave it up */
    ZKL_ELECTION_FAILED = 7,   /* a campaign failed with err; the next one begins after a pause */
    ZKL_ELECTION_STOPPED = 8   /* the last event. err is the reason. NULL: the election was asked
                                  to stop, or its one term ended without a loss */
} zkl_election_event;

/* Called on a library thread, in the order of events. grant is that of the term, lent until the
 * LOST or RESIGNED of this term; NULL for FAILED and STOPPED. err is valid during the call; NULL
 * for all events but FAILED and STOPPED. */
typedef void (*zkl_election_fn)(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                                const zkl_error *err, void *data);

/* Campaigns, leads, campaigns again, and reports each event to fn. It continues until
 * zkl_election_resign(), zkl_election_free(), zkl_session_close() or, with once, the end of the
 * first term. It stops at ZKL_EAUTH too. After another failure the next campaign begins after a
 * pause: 1 s at first, and twice as long after each further failure in a row, up to 30 s. The end
 * of the ZooKeeper session ends a term, but not the campaigning.
 *
 * Returns 0; or
 *   ZKL_EBUSY: this handle campaigns, leads or is started already. It may be started again inside
 *     the call of ZKL_ELECTION_STOPPED;
 *   ZKL_EINVAL: e or fn is NULL, or e is no candidate;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_election_start(zkl_election *e, zkl_election_fn fn, void *data);

/* Ends the term of a started election. The candidate queues again, as the last; with once
 * the election stops. If no other candidate waits, this one then leads again, with another token.
 *
 * A leader may call it without being asked, and so limits its own terms: here to a minute, with the
 * time of ZKL_ELECTION_LEADING in began.
 *
 *     if (time(NULL) - began >= 60)
 *         zkl_election_yield(e);
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
    ZKL_CANDIDACY_QUEUED = 1,  /* in the queue or on the way; or a term has just ended */
    ZKL_CANDIDACY_LEADING = 2, /* leading: the grant is valid */
    ZKL_CANDIDACY_PAUSED = 3   /* a campaign failed; the next one begins later */
} zkl_candidacy;

/* The status of a candidate. Fill with ZKL_ELECTION_STATUS_INIT. */
typedef struct zkl_election_status {
    size_t size; /* set by the caller to sizeof(zkl_election_status); after the call, how many bytes
                    were filled */
    zkl_candidacy candidacy;
    int ahead;      /* QUEUED: how many contenders are ahead, as far as the library knows; -1: not
                       known, or not QUEUED */
    uint64_t token; /* LEADING: the fencing token; otherwise 0 */
    uint64_t terms; /* how many terms this handle has begun */
    zkl_error last; /* why the last term or unsuccessful campaign ended; .code is 0 if there was
                       none, or if that one was asked to end */
    int reserved;   /* 0 */
} zkl_election_status;

#define ZKL_ELECTION_STATUS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_election_status), ZKL_CANDIDACY_NONE, 0, 0, 0, {0, "", ""}, 0                   \
    }

/* Stores the status in *ret. Sends nothing to the server.
 *
 * Returns 0; or
 *   ZKL_EINVAL: e or ret is NULL, or ret->size is too small;
 *   ZKL_ECHILD. */
ZKL_API int zkl_election_get_status(zkl_election *e, zkl_election_status *ret);

/* ---- who leads ---- */

/* Asks the servers for the first candidate, which mostly leads or is about to. Stores its id, or
 * the "__REVOKE__" that has replaced it, in buf, of size bytes: complete, as valid UTF-8, with a
 * final 0. Unless ret_token is NULL, stores its token in *ret_token. Blocks for one session timeout
 * at most.
 *
 * Returns 0; or
 *   ZKL_ENOENT: there is no candidate, or path does not exist;
 *   ZKL_ERANGE: buf is too small; *ret_token is stored nevertheless;
 *   ZKL_EACCES: the server refused permission to read path or the candidate;
 *   ZKL_EINVAL: e is NULL, or buf is NULL and size is not 0;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EPROTO, ZKL_EDEADLK, ZKL_ECLOSED,
 *     ZKL_ECHILD. */
ZKL_API int zkl_election_leader(zkl_election *e, char *buf, size_t size, uint64_t *ret_token);

/* Publishes data, of size bytes, as the leader's data: at most 64 KiB, possibly empty. Watches of
 * the election report the data. A transaction as by zkl_grant_multi(), fenced by the term's grant,
 * writes it to path itself, below a line with the token. Blocks for timeout_ms at most; 0 means one
 * session timeout.
 *
 * Returns 0 if the data was published; or
 *   ZKL_EPERM: this candidate does not lead;
 *   ZKL_ELOST: the term was lost;
 *   ZKL_ELIMIT: size is more than 65536, or the term's node was written 2^31 - 1 times;
 *   ZKL_EACCES: the server refused to write path, or to read or write the candidate's node;
 *   ZKL_EUNKNOWN: the data may or may not have been published, as zkl_grant_multi() says;
 *   ZKL_EDEADLK: called inside a callback; call zkl_election_proclaim_async() there;
 *   ZKL_EINVAL: e is NULL or no candidate, or data is NULL and size is not 0;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EPROTO, ZKL_ECLOSED, ZKL_ECHILD.
 * After every result except 0 and ZKL_EUNKNOWN, the data was not published and will not be. */
ZKL_API int zkl_election_proclaim(zkl_election *e, const void *data, size_t size,
                                  int64_t timeout_ms);

/* Publishes data like zkl_election_proclaim(), without blocking: calls fn(err, fn_data). data is
 * copied.
 *
 * Returns 0; or
 *   ZKL_EPERM, ZKL_ELOST, ZKL_ELIMIT: as zkl_election_proclaim();
 *   ZKL_EINVAL: as zkl_election_proclaim(), or fn is NULL;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the other codes of zkl_election_proclaim(), except ZKL_EDEADLK; or ZKL_ELOST or
 * ZKL_ECLOSED if that happened later. */
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
 * another token, no leader, or other proclaimed data. Only the latest state is told: a short term
 * may be left out. Unless ret is NULL, the watch is stored in *ret and must be freed with
 * zkl_watch_free(). The calls end with that, with the handle, or when the session is closed.
 *
 * Tokens rise, even across disconnections and sessions, and a term that was reported to be over is
 * not reported again. Both end when the servers' data goes back (see zkl(7)): then a lower token
 * counts, but where the session was not replaced for it, only after one session timeout or more.
 * Without a connection nothing new is reported. Errors are logged, and the library tries again,
 * until the server refuses the session's credentials (ZKL_SESSION_REFUSED).
 *
 * Returns 0; or
 *   ZKL_EINVAL: e or fn is NULL;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_election_watch(zkl_watch **ret, zkl_election *e, zkl_leader_fn fn, void *data);

ZKL_END

#endif
