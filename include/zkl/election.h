/* Leader election: candidates queue below one path, the first of them leads. Leading is a grant. */
#ifndef ZKL_ELECTION_H
#define ZKL_ELECTION_H

#include <zkl/api.h>
#include <zkl/multi.h>
#include <zkl/mutex.h>
#include <zkl/op.h>
#include <zkl/queue.h>
#include <zkl/watch.h>

ZKL_BEGIN

/* How candidates are named. Those of LATCH on one side, of SELECTOR and KAZOO on the other do not
 * wait for each other: who comes second to a path gets ZKL_ELAYOUT. Since 0.1. */
typedef enum zkl_layout {
    ZKL_LAYOUT_LATCH = 0,    /* "-latch-", as Curator's LeaderLatch */
    ZKL_LAYOUT_SELECTOR = 1, /* "-lock-", as Curator's LeaderSelector; also a lock's */
    ZKL_LAYOUT_KAZOO = 2 /* "__lock__", as kazoo's Election; no priority. Take persistent parents
                            with it */
} zkl_layout;

/* Fill with ZKL_ELECTION_OPTIONS_INIT and change what is needed. requeue, yield, min_term_ms and
 * max_term_ms are for zkl_election_start(). Since 0.1. */
typedef struct zkl_election_options {
    size_t size; /* sizeof(zkl_election_options); see zkl/session.h */
    zkl_layout layout;
    zkl_parents parents; /* containers by default */
    int requeue;         /* 1: zkl_election_start() campaigns again after each end of a term;
                            0: one term, then ZKL_ELECTION_STOPPED */
    int priority;        /* 0 to 999; one above 0 is part of the candidate's name */
    int yield;           /* 1: a leader is told when a candidate of higher priority waits, and a
                            winner that finds one waiting lets it pass before it leads (so both
                            look at all who come and go); 0: no */
    int64_t min_term_ms; /* a term is not asked to end for a higher priority before; 0 */
    int64_t max_term_ms; /* a term is asked to end after that long, when others wait; 0: never */
} zkl_election_options;

#define ZKL_ELECTION_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(zkl_election_options), ZKL_LAYOUT_LATCH, ZKL_PARENTS_CONTAINER, 1, 0, 0, 0, 0       \
    }

/* A candidate at path (as for a mutex). candidate_id is its node's whole payload: UTF-8, at most
 * 1024 bytes, may be empty; NULL: this handle only looks (leader, candidates, watch). A
 * transaction of the term adds a line to it: see zkl_grant_multi(). Asks nothing of the server.
 * Answers ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. Free with
 * zkl_election_free(). Since 0.1. */
ZKL_API int zkl_election_new(zkl_election **ret, zkl_session *s, const char *path,
                             const char *candidate_id, const zkl_election_options *options);

/* Frees the handle as if by zkl_election_resign(): a term it still has ends, a campaign under way
 * gets ZKL_ECLOSED, observers end. What zkl_election_start() began is told to its end all the
 * same: data may go when ZKL_ELECTION_STOPPED has come. Grants given out stay valid pointers until
 * released. NULL is ignored. Never waits, neither for the server nor for callbacks. Since 0.1. */
ZKL_API void zkl_election_free(zkl_election *e);

/* ---- one term at a time ---- */

/* Waits in line until this candidate leads. *ret is owned: zkl_grant_release() or
 * zkl_election_resign() ends the term (release it after a resignation too). ret may be NULL: then
 * the handle alone has it. When it leads already, 0 and another reference. timeout_ms as for a
 * mutex: 0 is ZKL_EBUSY when another is first. Answers what zkl_mutex_lock() does, ZKL_EBUSY also
 * when a campaign of this handle is under way. Since 0.1. */
ZKL_API int zkl_election_campaign(zkl_election *e, int64_t timeout_ms, zkl_grant **ret);

/* The same without waiting: as zkl_mutex_lock_async(). When it leads already *ret is NULL, as
 * nothing is left to cancel. Since 0.1. */
ZKL_API int zkl_election_campaign_async(zkl_election *e, int64_t timeout_ms, zkl_acquired_fn fn,
                                        void *data, zkl_op **ret);

/* Ends what there is: the term, whose node goes at once in the background, or the campaign, which
 * gets ZKL_ECANCELED; and whatever zkl_election_start() began. Never waits for the server. Answers
 * 0; ZKL_EPERM: there was neither; ZKL_ELOST: the term had been lost. Since 0.1. */
ZKL_API int zkl_election_resign(zkl_election *e);

/* ---- again and again ---- */

typedef enum zkl_election_event {
    ZKL_ELECTION_LEADING = 1, /* a term begins: grant is lent until its DEPOSED or RESIGNED. Ask
                                 it before each act: told late, the term may be over */
    ZKL_ELECTION_SUSPECT = 2, /* no proof comes: the term may end soon */
    ZKL_ELECTION_HELD = 3,    /* proved again */
    ZKL_ELECTION_ASKED = 4, /* to step down, by a higher priority or after max_term_ms: when ready,
                               zkl_election_yield(); once a term */
    ZKL_ELECTION_DEPOSED = 5,  /* lost: stop at once. When this has returned the node goes, if it
                                  stands still, and the next campaign begins */
    ZKL_ELECTION_RESIGNED = 6, /* given back: by resign or yield, or in a transaction */
    ZKL_ELECTION_FAILED = 7,   /* a campaign ended with err; the next begins after a pause */
    ZKL_ELECTION_STOPPED = 8   /* the last call. err: why, NULL if asked for */
} zkl_election_event;

/* Called as every callback, in the order of events. grant: LEADING to RESIGNED, else NULL; it is
 * not to be released. err: FAILED and STOPPED, valid during the call. */
typedef void (*zkl_election_fn)(zkl_election *e, zkl_election_event event, zkl_grant *grant,
                                const zkl_error *err, void *data);

/* Campaigns, leads, and campaigns again, telling fn, until zkl_election_resign(),
 * zkl_election_free(), zkl_session_close() or, with requeue 0, the end of the first term; also
 * after failures (1 s later, doubling up to 30 s), but not after ZKL_EAUTH and ZKL_ECLOSED. The
 * session's loss ends a term, not the campaigning. Answers ZKL_EBUSY (it campaigns or leads
 * already; in a callback of ZKL_ELECTION_STOPPED it may be called again), ZKL_EINVAL, ZKL_ECLOSED,
 * ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_election_start(zkl_election *e, zkl_election_fn fn, void *data);

/* Ends the term and queues anew, at the tail; with requeue 0 it stops. Only between LEADING and the
 * end of that term of a started election; otherwise ZKL_EPERM; ZKL_ELOST: the term had been lost.
 * Since 0.1. */
ZKL_API int zkl_election_yield(zkl_election *e);

typedef enum zkl_candidacy {
    ZKL_CANDIDACY_NONE = 0,    /* not campaigning */
    ZKL_CANDIDACY_QUEUED = 1,  /* in line, or getting there */
    ZKL_CANDIDACY_LEADING = 2, /* a valid grant */
    ZKL_CANDIDACY_PAUSED = 3   /* failed; the next campaign begins soon */
} zkl_candidacy;

/* Where it stands: never a silent end. Since 0.1. */
typedef struct zkl_election_status {
    size_t size; /* sizeof(zkl_election_status), set by the caller; less is ZKL_EINVAL; what was
                    filled, after the call */
    zkl_candidacy candidacy;
    int ahead;      /* QUEUED: how many were first when it last looked; -1: not known yet */
    uint64_t token; /* LEADING, else 0 */
    uint64_t terms; /* begun with this handle */
    zkl_error last; /* why the last campaign or term ended; .code 0: it did not, or was asked to */
} zkl_election_status;

#define ZKL_ELECTION_STATUS_INIT                                                                   \
    {                                                                                              \
        sizeof(zkl_election_status), ZKL_CANDIDACY_NONE, 0, 0, 0,                                  \
        {                                                                                          \
            0, "", ""                                                                              \
        }                                                                                          \
    }

/* Never waits. Answers ZKL_EINVAL, ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_election_get_status(zkl_election *e, zkl_election_status *ret);

/* ---- who leads ---- */

/* The id of the first in line, who leads or is about to; cut by no means, as valid UTF-8: sync,
 * list, read. buf gets it with a final 0; *ret_token (may
 * be NULL) its token. Takes at most one session timeout. Answers 0; ZKL_ENOENT: nobody leads;
 * ZKL_ERANGE: buf is too short; ZKL_EDEADLK, ZKL_EACCES, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH,
 * ZKL_ETIMEDOUT, ZKL_ECLOSED, ZKL_EINVAL, ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_election_leader(zkl_election *e, char *buf, size_t size, uint64_t *ret_token);

/* The candidates in order, the leader first; .owner is their id. As zkl_queue_read(), with
 * the same options (NULL: all are read), but only those of this layout, and after a sync. Since
 * 0.1. */
ZKL_API int zkl_election_candidates(zkl_election *e, const zkl_queue_options *options,
                                    int64_t timeout_ms, zkl_queue **ret);

/* Publishes data (at most 64 KiB, may be empty) as the leader's, in a transaction fenced by the
 * term's grant: it becomes the data of path itself, behind a line with the token. The candidate's
 * node keeps the id, with the line of that transaction behind it. Observers hear of it. Answers
 * what zkl_grant_multi() does (ZKL_ELIMIT also for more than 64 KiB), ZKL_EPERM when this candidate
 * does not lead. Since 0.1. */
ZKL_API int zkl_election_proclaim(zkl_election *e, const void *data, size_t size,
                                  int64_t timeout_ms);

/* The same without waiting: as zkl_grant_multi_async(). Since 0.1. */
ZKL_API int zkl_election_proclaim_async(zkl_election *e, const void *data, size_t size,
                                        int64_t timeout_ms, zkl_multi_fn fn, void *fn_data);

/* Who leads, as an observer is told. Strings are valid during the call. */
typedef struct zkl_leader {
    uint64_t token;   /* 0: nobody leads; the others are then empty */
    const char *id;   /* as valid UTF-8 */
    const char *node; /* the child's name */
    const void *data; /* proclaimed in this term; NULL: nothing */
    size_t size;      /* of data */
} zkl_leader;

typedef void (*zkl_leader_fn)(const zkl_leader *leader, void *data);

/* Calls fn with the present leader (the first in line) and at every change: another token, nobody,
 * or other proclaimed data. Tokens rise: nothing is told twice (a leader again after "nobody" only
 * if it is another term) or out of order, across disconnections and sessions too; one whose token
 * is lower than one told counts as nobody. They begin anew where the session was replaced because
 * the servers' data has gone back (see zkl(7)). A term that began and ended between two looks is
 * not told; while there is no connection nothing is. Ended by zkl_watch_free(), with the handle
 * or with the session; *ret (ret may be NULL) is to be freed in any case. Errors (no permission)
 * are logged, and it tries again. Answers ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. Since 0.1. */
ZKL_API int zkl_election_watch(zkl_election *e, zkl_leader_fn fn, void *data, zkl_watch **ret);

ZKL_END

#endif
