/* Group membership: which processes are there. A member is a node below the group's path. Those of
 * the library are ephemeral, and made anew in each ZooKeeper session. The layout is that of
 * Curator's GroupMember (and PersistentNode) or of kazoo's Party. zkl(3) says what all functions
 * have in common. */
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
                             There are no data, and several members may have one id. A child without
                             "__party__" in its name is no member. Use it with persistent parents */
} zkl_member_layout;

/* ---- being a member ---- */

/* What happens to a member. */
typedef enum zkl_member_event {
    ZKL_MEMBER_JOINED = 1,  /* it is in the group: its node exists */
    ZKL_MEMBER_SUSPECT = 2, /* no proof arrives: it may be LOST soon. Only after a
                               zkl_member_grant() */
    ZKL_MEMBER_HELD = 3,    /* proved again after SUSPECT, or proved at last after a
                               zkl_member_grant() that came too early */
    ZKL_MEMBER_LOST = 4,    /* others may think that it is gone. It joins again by itself, perhaps
                               with the same node and token. Without a zkl_member_grant() only
                               because its session has ended, or somebody has deleted its node */
    ZKL_MEMBER_BUSY = 5,    /* another node has the id: it joins when that is gone. Told once for
                               each such node */
    ZKL_MEMBER_FAILED = 6,  /* the server refused to let it join or leave, with err; or a limit of
                               the session is exceeded (ZKL_ELIMIT). It is tried again after pauses
                               that grow from 1 s to 30 s. Told once until it joins */
    ZKL_MEMBER_LEFT = 7     /* the last event. err gives the reason; NULL: it was asked to leave */
} zkl_member_event;

/* What comes with an event. Valid during the call, with all that it points to. Later versions may
 * append members. */
typedef struct zkl_member_news {
    uint64_t token;       /* the node's czxid: its own, for BUSY that of the other one; FAILED,
                             LEFT: 0 */
    int again;            /* JOINED: 1 if it had joined before */
    zkl_loss loss;        /* LOST: why; otherwise ZKL_LOSS_NONE */
    int64_t session_id;   /* BUSY: of the other node; 0 if that is persistent */
    const char *data;     /* BUSY: what the other node holds, as valid UTF-8 without control
                             characters; otherwise "" */
    const zkl_error *err; /* FAILED; LEFT, where it may be NULL; otherwise NULL */
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

/* Joins the group at path as the member id, and stores the handle in *ret. The member joins again
 * after each end of the session and after its node was deleted. That goes on until
 * zkl_member_leave(), zkl_member_free() or zkl_session_close(), or until the server refuses the
 * session's credentials. Never waits: zkl_member_wait() does. path is as for zkl_mutex_new(). id
 * has the form of a node's name: UTF-8, 1 to 255 bytes, without '/', control characters, private
 * ones and those from U+FFF0 on, not "." or "..". data, of size bytes, is copied: at most 64 KiB;
 * it may be NULL if size is 0.
 *
 * Except in a party, one node at a time has an id. If that is not the member's own, the member
 * waits until it is gone, even if the process that made it has died. So a program that was killed,
 * and is started again with a fixed id, waits until the servers have ended its old session, about
 * one session timeout after its death. If it is not to wait, give it an id with a suffix for each
 * start, as "web1-1718000000" with the time of the start.
 *
 * Returns 0; or
 *   ZKL_EBUSY: except in a party: a member of this session has this path and id, and was not asked
 *     to leave;
 *   ZKL_EINVAL: an argument is invalid, or a party is given data;
 *   ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_member_join(zkl_member **ret, zkl_session *s, const char *path, const char *id,
                            const void *data, size_t size, const zkl_member_options *options);

/* Leaves, unless the member has left already, and frees the handle. Calls in progress fail with
 * ZKL_ECLOSED. Events may still come, up to ZKL_MEMBER_LEFT: their handle must not be used any
 * more, and what fn_data points to must be valid until then. */
ZKL_API void zkl_member_free(zkl_member *m);

/* The functions below that have a timeout_ms block for that long at most; 0 means one session
 * timeout. A timeout does not end the membership; zkl_member_leave() has ended it before it waits.
 * Each returns 0; or
 *   ZKL_EACCES, ZKL_EPROTO, ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EDEADLK,
 *     ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD.
 *
 * The functions whose names end in _async do not block: they call fn(err, fn_data). Each returns 0;
 * or
 *   ZKL_EINVAL: m or fn is NULL, or as the function of the same name without _async;
 *   ZKL_EPERM: as that function;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the codes of that function, except ZKL_EDEADLK, ZKL_EINVAL and ZKL_ECHILD. */

/* Waits until the member is in the group, as far as is known.
 *
 * Also returns
 *   ZKL_EBUSY: the time passed with a connection, and another node has the id. The error describes
 *     that node, as far as there is room; ZKL_MEMBER_BUSY gives all;
 *   ZKL_EPERM: the member leaves or has left;
 *   ZKL_EPATH, ZKL_ELIMIT. */
ZKL_API int zkl_member_wait(zkl_member *m, int64_t timeout_ms);
ZKL_API int zkl_member_wait_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn, void *fn_data);

/* Gives the member other data, and waits until its node has them, or newer ones. The newest data
 * are written as soon as that is possible, even after the time has passed; but data that the server
 * refused, only into the next node. Data of an earlier update do not come back, unless somebody
 * deletes the node or the servers' data go back. What somebody else writes into the node stays
 * until the next update or the end of the node.
 *
 * Also returns
 *   ZKL_EINVAL: data are invalid, or the member is of a party;
 *   ZKL_EBUSY, ZKL_EPATH, ZKL_ELIMIT, ZKL_EPERM: as zkl_member_wait(). */
ZKL_API int zkl_member_update(zkl_member *m, const void *data, size_t size, int64_t timeout_ms);
ZKL_API int zkl_member_update_async(zkl_member *m, const void *data, size_t size,
                                    int64_t timeout_ms, zkl_done_fn fn, void *fn_data);

/* Leaves, and waits until the member's node, if any, is gone. If the time passes, the deletion goes
 * on in the background. A member that has left never joins again; the function may be called again.
 *
 * If the answer to a change of the node was lost, the servers may do that change late, and it must
 * not meet the node of the next member with this id. So the library ends the ZooKeeper session if
 * nobody else needs it. Otherwise the node may stay for some 22 s, or for some 1.1 session timeouts
 * if that is longer. */
ZKL_API int zkl_member_leave(zkl_member *m, int64_t timeout_ms);
ZKL_API int zkl_member_leave_async(zkl_member *m, int64_t timeout_ms, zkl_done_fn fn,
                                   void *fn_data);

/* Stores in *ret the grant of the membership. Until its deadline nobody can see the member gone,
 * unless somebody deletes the node or ends the session. Its token is the one that observers see. It
 * ends with ZKL_MEMBER_LOST or when the member leaves. A member that joins again has another grant;
 * if its node has lived on, with the same token and a higher turn. zkl_grant_multi() does not take
 * this grant, and it is never wanted or asked to give way. The caller owns it: zkl_grant_release()
 * frees it, and the member stays. Never waits.
 *
 * A deadline costs the servers writes (see zkl(7)): the session is kept proved from the first call
 * on that finds the member in the group, until it has left. If the session is not proved at that
 * moment, the call returns ZKL_EUNREACHABLE, and ZKL_MEMBER_HELD is told when there is a grant.
 *
 * Returns 0; or
 *   ZKL_ELOST: it is not a member now, or others may think so;
 *   ZKL_EUNREACHABLE: it is a member, as far as is known, but that is not proved yet;
 *   ZKL_EPERM: it leaves or has left;
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_member_grant(zkl_member *m, zkl_grant **ret);

/* ---- observing ---- */

/* A member. Later versions may append members. */
typedef struct zkl_member_info {
    uint64_t token;     /* the node's czxid: another one is another node, whatever the id */
    const char *id;     /* as valid UTF-8 without control characters */
    const char *node;   /* the name of the child */
    const void *data;   /* never NULL, even if size is 0 */
    size_t size;        /* of data, in bytes */
    int64_t session_id; /* of the node's session; 0: it is persistent */
    int64_t ctime_ms;   /* when the server created it, in ms since 1970 by the server's clock */
} zkl_member_info;

/* Reads the members of the group at path, in the order of their ids (of strcmp()), and stores them
 * in *ret. The server first catches up with its leader. A path that does not exist has none. path
 * is as for zkl_mutex_new(). Blocks for timeout_ms at most; 0 means one session timeout.
 *
 * Returns 0; or
 *   ZKL_EACCES: the server refused permission to read path or a member;
 *   ZKL_EINVAL, ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EPROTO, ZKL_ELIMIT,
 *     ZKL_EDEADLK, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_members_read(zkl_members **ret, zkl_session *s, const char *path,
                             zkl_member_layout layout, int64_t timeout_ms);

/* Returns how many there are; 0 for NULL. */
ZKL_API size_t zkl_members_count(const zkl_members *ms);

/* Returns member i, from 0, which is valid as long as ms; NULL if there is none of that number. */
ZKL_API const zkl_member_info *zkl_members_get(const zkl_members *ms, size_t i);

/* Frees them. */
ZKL_API void zkl_members_free(zkl_members *ms);

/* The events of an observer. */
typedef enum zkl_members_event {
    ZKL_MEMBERS_JOINED = 1,  /* member is there, and was not reported before */
    ZKL_MEMBERS_LEFT = 2,    /* member has left; it is as it was last reported */
    ZKL_MEMBERS_CHANGED = 3, /* member has other data, or the same written anew */
    ZKL_MEMBERS_ALL = 4      /* after one or more of the others, and after the first reading: all
                                has the members that were read */
} zkl_members_event;

/* Called on a library thread. member and all are valid during the call. member is NULL for ALL, and
 * all is NULL for the others. */
typedef void (*zkl_members_fn)(zkl_members_event event, const zkl_member_info *member,
                               const zkl_members *all, void *data);

/* Watches the members of the group at path, which may not exist yet. Calls fn for each present
 * member, and later for each that joins, leaves or changes. Members that left come first, the
 * others in the order in which they joined or changed.
 *
 * The calls report the differences between two readings. A node that is created and deleted in
 * between is not reported; one that changes twice is reported once. A node that was deleted and
 * created again with the same id is reported as LEFT and JOINED, with another token. After a
 * disconnection or another session, only the differences since the last call are reported. zkl(7)
 * says what happens when the servers' data has gone back. Errors, such as a lack of permission, are
 * logged, and the library tries again, until the server refuses the session's credentials
 * (ZKL_SESSION_REFUSED).
 *
 * Costs one watch on the path, one on each member while the session watches less than some 256 KiB
 * of paths, and after a change a list and reads. Changes that come within some 100 ms, or before fn
 * has returned, may share a list. A change of the data of a member for whose watch there was no
 * room is seen only with the next list.
 *
 * Unless ret is NULL, the watch is stored in *ret and must be freed with zkl_watch_free(). The
 * calls end with that, or when the session is closed.
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_members_watch(zkl_watch **ret, zkl_session *s, const char *path,
                              zkl_member_layout layout, zkl_members_fn fn, void *data);

/* ---- shards ---- */

/* The most shards that a group shares, and the highest weight. */
#define ZKL_SHARDS_MAX 65536
#define ZKL_SHARDS_WEIGHT_MAX 1000

/* What a member says of the shards that it takes. */
typedef struct zkl_shards_share {
    uint32_t count;  /* the shards below that: 1 to ZKL_SHARDS_MAX */
    uint32_t weight; /* 1 to ZKL_SHARDS_WEIGHT_MAX: the member's part, against those of others;
                        zkl_shards_plan() says more */
} zkl_shards_share;

/* Stores in *ret what a member says of shards. It says so in the last line of its data,
 *   zkl-shards COUNT WEIGHT
 * in decimal digits, with one space between two words and no newline after them. More words may
 * follow. Without WEIGHT it is 1. The lines before it are the program's own.
 *
 * Returns 1; or 0 if member is NULL or has no such line: *ret is then 0 and 0. ret may be NULL. */
ZKL_API int zkl_shards_share_of(const zkl_member_info *member, zkl_shards_share *ret);

/* Shares out shards, which are parts of the work, numbered from 0: stores in owners[k] the member
 * that should do the work of shard k, for each k below count, and NULL if no member takes that
 * shard. The same count, ids and data give the same owners, whatever the version of the library.
 * The members are valid as long as ms.
 *
 * A member gets shards by its weight: at most 1.25 times its share, rounded up, or one shard if its
 * share is at most one; and at least half its share, rounded down, and one shard if its share is
 * one or more. If each of n equal members has many shards, and one joins or leaves, about 1/n of
 * all shards change owners, few of these between members that stay. A member has the same shards as
 * long as the group is the same, so use the host's name for an id, not a process id.
 *
 * Members may say different counts, as while a new count is rolled out: shards that the same
 * members take are so shared out among them. If no member says anything, all take the shards below
 * count with the weight 1. If any does, those that say nothing get none.
 *
 * Members may see different lists for a while, and one that is gone may run on. So an owner must
 * hold a lock for the shard, too, as zkl_shards_start() does.
 *
 * Returns 0; or
 *   ZKL_EINVAL: owners or ms is NULL, or count is 0 or more than ZKL_SHARDS_MAX. */
ZKL_API int zkl_shards_plan(const zkl_member_info **owners, size_t count, const zkl_members *ms);

ZKL_END

#endif
