/* Group membership: which processes are there. A member is an ephemeral node below the group's
 * path, which the library creates again whenever its session was replaced. Observers read the
 * members, or get a call for each that joins, leaves or changes. The
 * layout is that of Curator's GroupMember (and PersistentNode) or of kazoo's Party. */
#ifndef ZKL_MEMBER_H
#define ZKL_MEMBER_H

#include <zkl/api.h>
#include <zkl/error.h>
#include <zkl/grant.h>
#include <zkl/mutex.h>
#include <zkl/op.h>
#include <zkl/watch.h>

ZKL_BEGIN

/* How members are stored. */
typedef enum zkl_member_layout {
    ZKL_MEMBER_GROUP = 0, /* Curator's GroupMember: the node's name is the id, and it holds the
                             data. Every child of the path is a member */
    ZKL_MEMBER_PARTY = 1  /* kazoo's Party: the node is "<32 hex digits>__party__" and holds the id.
                             There are no data, and several members may have one id. Other children
                             of the path are not members. Use it with persistent parents */
} zkl_member_layout;

/* ---- being a member ---- */

/* What happens to a member. */
typedef enum zkl_member_event {
    ZKL_MEMBER_JOINED = 1,  /* its node exists, and others see it: zkl_member_grant() */
    ZKL_MEMBER_SUSPECT = 2, /* no proof arrives: it may be LOST soon. Only from the first
                               zkl_member_grant() on */
    ZKL_MEMBER_HELD = 3,    /* after SUSPECT, or after a zkl_member_grant() that came too early:
                               proved again */
    ZKL_MEMBER_LOST = 4,    /* others may think that it is gone. It joins again by itself, which may
                               be with the same node and token. Before the first zkl_member_grant()
                               only because its session has ended, or somebody has deleted its
                               node */
    ZKL_MEMBER_BUSY = 5,    /* another session has the id: joins when that node is gone. Told once
                               for each such node */
    ZKL_MEMBER_FAILED = 6,  /* the server refused a request with err; it is tried again, 1 s later
                               and then twice as late each time, up to 30 s. Told once until it
                               joins */
    ZKL_MEMBER_LEFT = 7     /* the last event. err gives the reason; NULL: it was asked to leave */
} zkl_member_event;

/* What comes with an event. Valid during the call, with all that it points to. Later versions may
 * append members. */
typedef struct zkl_member_news {
    uint64_t token;       /* the node's czxid: its own, for BUSY that of the other one; FAILED,
                             LEFT: 0 */
    int again;            /* JOINED: 1 if it had joined before */
    zkl_loss loss;        /* LOST: why; otherwise ZKL_LOSS_NONE */
    int64_t session_id;   /* BUSY: of the other node; 0 if that is not ephemeral */
    const char *data;     /* BUSY: what the other node holds, as valid UTF-8 without control
                             characters; otherwise "" */
    const zkl_error *err; /* FAILED, LEFT; NULL otherwise */
} zkl_member_news;

/* Called on a library thread, in the order of events. */
typedef void (*zkl_member_fn)(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                              void *data);

/* Fill with ZKL_MEMBER_OPTIONS_INIT, then change members. */
typedef struct zkl_member_options {
    size_t size; /* sizeof(zkl_member_options); see zkl/session.h */
    zkl_member_layout layout;
    zkl_parents parents; /* how missing directories are created; default: containers */
    zkl_member_fn fn;    /* called at each event; NULL: none is reported */
    void *fn_data;
} zkl_member_options;

#define ZKL_MEMBER_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(zkl_member_options), ZKL_MEMBER_GROUP, ZKL_PARENTS_CONTAINER, NULL, NULL            \
    }

/* Joins the group at path as the member id, and stores the handle in *ret. The member joins, and
 * joins again after each end of the session and after its node was deleted, until
 * zkl_member_leave(), zkl_member_free() or zkl_session_close(), or until the server refuses the
 * session's credentials. Never waits: zkl_member_wait() does. path is as for zkl_mutex_new(). id is
 * the name of a node: UTF-8, 1 to 255 bytes, without '/', control characters, private ones and
 * those from U+FFF0 on, not "." or "..". data, of size bytes, is copied: at most 64 KiB; it may be
 * NULL if size is 0. options may be NULL.
 *
 * Except in a party, two members never share an id. If a node of that name belongs to another
 * session, the member waits until that session ends or its member leaves. The library never deletes
 * the node of another session, be it of a process that has died or a former one of this
 * zkl_session. So a program that was killed, and is started again with a fixed id, waits until the
 * servers have ended its old session: for about one session timeout. If it is not to wait, give it
 * an id with a suffix for each start, as "web1-1718000000" with the time of the start.
 *
 * If the session has too many ephemeral nodes (1 MiB of paths in all, some 5,000 members with paths
 * of 200 bytes), the member tries again, and ZKL_MEMBER_FAILED has ZKL_ELIMIT.
 *
 * Returns 0; or
 *   ZKL_EBUSY: a member of this session has this path and id, and has not left;
 *   ZKL_EINVAL: ret or s is NULL; path, id, data or options are invalid; or a party is given data;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_member_join(zkl_member **ret, zkl_session *s, const char *path, const char *id,
                            const void *data, size_t size, const zkl_member_options *options);

/* Leaves, unless the member has left already, and frees the handle. Never waits for the server.
 * Calls in progress fail with ZKL_ECLOSED. Events still come, up to ZKL_MEMBER_LEFT: their handle
 * must not be used any more, and what fn_data points to must be valid until then. No call with m
 * may begin afterwards. NULL is ignored. In a forked child it does nothing. */
ZKL_API void zkl_member_free(zkl_member *m);

/* The functions below that have a timeout_ms block for that long at most; 0 means one session
 * timeout. None of them ends the membership when its time has passed. Each returns 0; or
 *   ZKL_EACCES, ZKL_EPROTO: the server refused a request;
 *   ZKL_ETIMEDOUT: the time passed while there was a connection;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection;
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: m is NULL;
 *   ZKL_ECLOSED: the session was closed, or the handle freed;
 *   ZKL_ECHILD.
 *
 * The functions whose names end in _async do not block. If they return 0, fn(err, fn_data) is
 * called exactly once; if they return an error, fn is never called. Each returns 0; or
 *   ZKL_EINVAL: m or fn is NULL, or as the function of the same name without _async;
 *   ZKL_EPERM: as that function;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of that function, except ZKL_EDEADLK, ZKL_EINVAL and ZKL_ECHILD. */

/* Waits until the member has joined.
 *
 * Also returns
 *   ZKL_EBUSY: the time passed, and another session has the id: the error says which, and what its
 *     node holds;
 *   ZKL_EPATH: path is, or is below, an ephemeral node;
 *   ZKL_ELIMIT: the session watches too many paths (512 KiB in all), or has too many ephemeral
 *     nodes (1 MiB of paths in all);
 *   ZKL_EPERM: the member has left. */
ZKL_API int zkl_member_wait(zkl_member *m, int64_t timeout_ms);
ZKL_API int zkl_member_wait_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn, void *fn_data);

/* Gives the member other data, and waits until its node has them, or newer ones. data is copied, as
 * by zkl_member_join(). From the call on they are the present data: if the wait fails they are
 * still written as soon as that is possible, unless the server refused them, and even when the
 * member joins again. Data of an earlier update never come back. What somebody else writes into
 * the node stays until the next update.
 *
 * Also returns
 *   ZKL_EINVAL: data are invalid, or the member is of a party;
 *   ZKL_EBUSY, ZKL_EPATH, ZKL_ELIMIT, ZKL_EPERM: as zkl_member_wait(). */
ZKL_API int zkl_member_update(zkl_member *m, const void *data, size_t size, int64_t timeout_ms);
ZKL_API int zkl_member_update_async(zkl_member *m, const void *data, size_t size,
                                    int64_t timeout_ms, zkl_done_fn fn, void *fn_data);

/* Leaves, and waits until the node is deleted: by this member, with its session, or by somebody
 * else. If the time passes, the deletion goes on in the background. A member that has left never
 * joins again; to leave again is no error.
 *
 * If an answer to a request of the member was lost with a connection, the servers may still do that
 * request. So that it meets no node of the next member with this id, the session ends if nobody
 * else needs it. Otherwise the node stays for 22 s, or for 1.1 session timeouts if that is longer,
 * with the default drift_permille. */
ZKL_API int zkl_member_leave(zkl_member *m, int64_t timeout_ms);
ZKL_API int zkl_member_leave_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn,
                                   void *fn_data);

/* Stores in *ret the grant of the membership: its token is the czxid of the member's node, by which
 * observers know it, and until its deadline nobody can see the member gone, unless somebody deletes
 * the node. A grant begins with ZKL_MEMBER_JOINED, the first one when it is asked for (see below),
 * and ends with ZKL_MEMBER_LOST or when the member leaves. A member that joins again has another
 * grant; if its node has lived on, with the same token and a higher turn. Every function of
 * zkl/grant.h works with it, but zkl_grant_multi() does not. It is never wanted, and nobody asks it
 * to give way. The caller owns it: zkl_grant_release() frees it, and the member stays. Never waits;
 * may be called inside a callback.
 *
 * A deadline costs the servers some writes a second (see zkl(7)), so the member has none before the
 * first call that finds it in the group. From then on its session is proved until the member has
 * left. If somebody has entered a lock or joined a group in the session within the last minute, as
 * the member itself perhaps, it is proved already. If not, the call returns ZKL_EUNREACHABLE, and
 * ZKL_MEMBER_HELD is told when there is a grant: as a rule after two round trips, without a
 * connection not before there is one.
 *
 * Returns 0; or
 *   ZKL_ELOST: it is not a member now, or others may think so;
 *   ZKL_EUNREACHABLE: it is a member, as far as is known, but that is not proved yet;
 *   ZKL_EPERM: it leaves or has left;
 *   ZKL_EINVAL: m or ret is NULL;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_member_grant(zkl_member *m, zkl_grant **ret);

/* ---- observing ---- */

/* A member. Later versions may append members. */
typedef struct zkl_member_info {
    uint64_t token;     /* the node's czxid: another one is another node, whatever the id */
    const char *id;     /* as valid UTF-8 without control characters */
    const char *node;   /* the name of the child */
    const void *data;   /* never NULL, even if size is 0 */
    size_t size;        /* of data, in bytes */
    int64_t session_id; /* of the node's session; 0: not ephemeral */
    int64_t ctime_ms;   /* when the server created it, in ms since 1970 by the server's clock */
} zkl_member_info;

/* Reads the members of the group at path, in the order of their ids (of strcmp()), and stores them
 * in *ret. The server first catches up with its leader. A path that does not exist has none. path
 * is as for zkl_mutex_new(). Blocks for timeout_ms at most; 0 means one
 * session timeout. Free them with zkl_members_free().
 *
 * Returns 0; or
 *   ZKL_EACCES: the server refused permission to read path or a member;
 *   ZKL_ETIMEDOUT: the servers did not answer in time;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection;
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_ELIMIT: path does not exist, and the session watches too many paths (512 KiB in all);
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: ret or s is NULL, or path or layout is invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_members_read(zkl_members **ret, zkl_session *s, const char *path,
                             zkl_member_layout layout, int64_t timeout_ms);

/* Returns how many there are; 0 for NULL. */
ZKL_API size_t zkl_members_count(const zkl_members *ms);

/* Returns one of them, from 0, which is valid as long as ms; NULL if there is none of that number,
 * or ms is NULL. */
ZKL_API const zkl_member_info *zkl_members_get(const zkl_members *ms, size_t i);

/* Frees them. NULL is ignored. */
ZKL_API void zkl_members_free(zkl_members *ms);

/* The events of an observer. */
typedef enum zkl_members_event {
    ZKL_MEMBERS_JOINED = 1,  /* member is there, and was not reported before */
    ZKL_MEMBERS_LEFT = 2,    /* member has left; it is as it was last reported */
    ZKL_MEMBERS_CHANGED = 3, /* member has other data, or the same written anew */
    ZKL_MEMBERS_ALL = 4      /* after one or more of the others, and once at the beginning: all has
                                the present members. member is NULL */
} zkl_members_event;

/* Called on a library thread. member and all are valid during the call. all is NULL except for
 * ALL. */
typedef void (*zkl_members_fn)(zkl_members_event event, const zkl_member_info *member,
                               const zkl_members *all, void *data);

/* Watches the members of the group at path, which may not exist yet. Calls fn for each present
 * member, and later for each that joins, leaves or changes. Members that left come first, the
 * others in the order in which they joined or changed.
 *
 * The calls report the differences between two readings. A node that is created and deleted in
 * between is not reported; one that changes twice is reported once. A node that was deleted and
 * created again with the same id is reported as LEFT and JOINED, with another token. No difference
 * is reported twice, even across disconnections and sessions, unless the group's path itself was
 * missing in between, or the servers' data has gone back (see zkl(7)). If a server has older data
 * than was reported, there are no calls until it has newer data, or for one session timeout at
 * least; after that the data has gone back, and the differences are reported. Without a connection
 * there are no calls; the next connection brings the differences since the last one. Errors, such
 * as a lack of permission, are logged, and the library tries again; but not once the session's
 * credentials were refused (ZKL_SESSION_REFUSED).
 *
 * Costs one watch on the path, one on each member while the session watches less than 256 KiB of
 * paths (the other 256 are for locks), and for each change a list and a read of what is new.
 * Changes that come within 100 ms and 0.1 ms for each member, or before fn has returned, share one
 * list. A change of the data of a member for whose watch there was no room is seen only with the
 * next list.
 *
 * Unless ret is NULL, the watch is stored in *ret and must be freed with zkl_watch_free(). The
 * calls end with zkl_watch_free() or with the session.
 *
 * Returns 0; or
 *   ZKL_EINVAL: s or fn is NULL, or path or layout is invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_members_watch(zkl_watch **ret, zkl_session *s, const char *path,
                              zkl_member_layout layout, zkl_members_fn fn, void *data);

/* ---- shards ---- */

/* The most shards that a group shares, and the highest weight. */
#define ZKL_SHARDS_MAX 65536
#define ZKL_SHARDS_WEIGHT_MAX 1000

/* What a member says of the shards that it takes. */
typedef struct zkl_shards_share {
    uint32_t count;  /* the shards below that: 1 to ZKL_SHARDS_MAX */
    uint32_t weight; /* 1 to ZKL_SHARDS_WEIGHT_MAX: one of weight 2 gets about twice as many
                        as one of weight 1; zkl_shards_plan() says how exactly */
} zkl_shards_share;

/* Stores in *ret what a member says of shards. It says so in the last line of its data,
 *   zkl-shards COUNT WEIGHT
 * in decimal digits, with one space between two words and no newline after them. More words may
 * follow. Without WEIGHT it is 1. The lines before it are the program's own.
 *
 * Returns 1; or 0 if member is NULL or has no such line: *ret is then 0 and 0. ret may be NULL. */
ZKL_API int zkl_shards_share_of(const zkl_member_info *member, zkl_shards_share *ret);

/* Shares out shards, which are numbers of work from 0: stores in owners[k] the member that should
 * do the work of shard k, for each k below count, and NULL if no member takes that shard. All who
 * see the same ids and data find the same owners, whatever library version they run.
 *
 * A member gets shards by its weight: at most 1.25 times its share, rounded up, or one shard if its
 * share is less; and at least half its share, rounded down, and one shard if its share is one or
 * more. If a member joins or leaves, about 1/n of the shards change owners, and a few of these, or
 * none, between members that stay. A member has the same shards as long as the group is the same,
 * so use the host's name for an id rather than a process id.
 *
 * Members may say different counts, as while a new count is rolled out: shards that the same
 * members take are shared out among them. If no member says anything, all take the shards below
 * count with the weight 1. If any does, those that say nothing get none.
 *
 * Members may see different lists for a while, and one that is gone may run on. So an owner must
 * also hold a lock for the shard before it works on it. It keeps the lock until another contender
 * waits (zkl_grant_on_wanted()) while another member owns the shard. zkl_shards_start() does all of
 * that for a program, and "zkl shards" does it for commands.
 *
 * Costs about 0.1 us for each member and shard. The members are valid as long as ms.
 *
 * Returns 0; or
 *   ZKL_EINVAL: owners or ms is NULL, or count is 0 or more than ZKL_SHARDS_MAX. */
ZKL_API int zkl_shards_plan(const zkl_member_info **owners, size_t count, const zkl_members *ms);

ZKL_END

#endif
