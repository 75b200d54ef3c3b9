/* Shards: numbered work that the members of a group share. A program joins the group, is told which
 * shards are its own, with a grant for each, and is asked to give a shard up when it moves to
 * another member. A shard is worked on only with its grant, which is that of a lock: one holder at
 * a time, who knows its deadline, and a fencing token that rises. Below one path, "PATH/members" is
 * the group and "PATH/shards/K" the lock of shard K. Programs and "zkl shards" commands may share a
 * group. zkl_shards_plan() says how evenly shards are shared out, and zkl(3) what all functions
 * have in common. */
#ifndef ZKL_SHARDS_H
#define ZKL_SHARDS_H

#include <zkl/api.h>
#include <zkl/error.h>
#include <zkl/grant.h>
#include <zkl/member.h>
#include <zkl/mutex.h>

ZKL_BEGIN

/* What happens to the shards of a program. */
typedef enum zkl_shards_event {
    ZKL_SHARDS_GRANTED = 1, /* the shard is the program's, which owns news->grant and works on the
                               shard until it calls zkl_grant_release(). Check the grant before each
                               action: the event may come so late that it is over */
    ZKL_SHARDS_ASKED = 2,   /* the shard is to be given up: finish what is under way, begin nothing
                               new, and release the grant. Another contender waits for the shard, or
                               somebody has asked for it, as by zkl_queue_revoke(), or
                               zkl_shards_free() was called. Told at most once for each grant. LOST
                               may follow */
    ZKL_SHARDS_LOST = 3,    /* the grant was lost: stop at once, and release the grant. Until then
                               this handle does not get the shard again. zkl(7), "After a loss",
                               says when the node goes. Not told of a grant that was released */
    ZKL_SHARDS_FAILED = 4,  /* news->err is in the way: of the program as a member, or of the lock
                               of one shard. The library tries again after pauses that grow from 1 s
                               to 30 s. ZKL_EBUSY: another node has the id; the program joins when
                               that is gone. An error that stays the same is told once, or once for
                               each shard */
    ZKL_SHARDS_STOPPED = 5  /* the last event: fn_data may go. news->err is the reason:
                               ZKL_ECLOSED, the session was closed; ZKL_EAUTH, the server refused
                               its credentials; NULL: zkl_shards_free() was called, and all grants
                               are released */
} zkl_shards_event;

/* What comes with an event. Valid during the call, but for the grant, which the callee owns. Later
 * versions may append members. */
typedef struct zkl_shards_news {
    size_t shard;         /* GRANTED, ASKED, LOST: its number; otherwise 0 */
    zkl_grant *grant;     /* GRANTED; otherwise NULL */
    const zkl_error *err; /* FAILED; STOPPED, where it may be NULL; otherwise NULL */
} zkl_shards_news;

/* Called on a library thread, in the order of events. While a call has not returned, no other event
 * is told, and a shard that others wait for may stay with this program. So hand the work to threads
 * of the program. zkl_grant_remaining_ms() tells the time left, on any thread. */
typedef void (*zkl_shards_fn)(zkl_shards *shards, zkl_shards_event event,
                              const zkl_shards_news *news, void *data);

/* Fill with ZKL_SHARDS_OPTIONS_INIT, then change members. */
typedef struct zkl_shards_options {
    size_t size;         /* sizeof(zkl_shards_options); see zkl/session.h */
    const char *data;    /* what the member's node says above the library's own line, for other
                            programs: UTF-8, at most 65000 bytes; NULL: nothing */
    zkl_parents parents; /* how missing directories are created; default: containers */
    int weight;          /* this member's part of the shards, against those of others: 1 to
                            ZKL_SHARDS_WEIGHT_MAX; 0 (the default) is 1 */
} zkl_shards_options;

#define ZKL_SHARDS_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(zkl_shards_options), NULL, ZKL_PARENTS_CONTAINER, 0                                 \
    }

/* Joins the group at path/members as the member id, takes part in the shards 0 to count - 1, and
 * stores the handle in *ret. Calls fn for each event, perhaps before the function returns. count
 * is 1 to ZKL_SHARDS_MAX; members may say different counts, as zkl_shards_plan() says. path is as
 * for zkl_mutex_new(), and id as for zkl_member_join(): use the host's name, so that a program that
 * is started again has the same shards; if a host has several programs, add a number. Never waits.
 *
 *     static void on_shard(zkl_shards *all, zkl_shards_event event, const zkl_shards_news *news,
 *                          void *data)
 *     {
 *         if (event == ZKL_SHARDS_GRANTED)
 *             begin_work(news->shard, news->grant);
 *         else if (event == ZKL_SHARDS_ASKED || event == ZKL_SHARDS_LOST)
 *             end_work(news->shard);
 *     }
 *
 * end_work() lets a thread end what it does for the shard, and call zkl_grant_release() once, even
 * if it is called for ASKED and then for LOST.
 *
 * The library asks for a shard when the plan has given it to this member for half a second. If the
 * plan gives a shard of this program to another member, or others may think that this member is
 * gone, the library keeps it until somebody waits for its lock; then it tells ZKL_SHARDS_ASKED.
 * There is no limit for the time from ASKED to the release, and other members wait that long. A
 * program may give up a shard unasked, as one on which it cannot work: the library asks for it
 * again after a pause of 1 s, and up to 30 s if that happens again.
 *
 * All is done in one ZooKeeper session, which is kept proved (see zkl(7)). When it ends, each grant
 * is LOST, and the program joins again in the next one. A session can have some 5,000 shards whose
 * nodes have paths of 200 bytes, since its ephemeral nodes may have 1 MiB of paths in all.
 *
 * Returns 0; or
 *   ZKL_EBUSY: a member of this session has this id in path/members, and was not asked to leave;
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_shards_start(zkl_shards **ret, zkl_session *s, const char *path, size_t count,
                             const char *id, zkl_shards_fn fn, void *fn_data,
                             const zkl_shards_options *options);

/* Leaves the group, gives up the shards, and frees the handle. No further lock is acquired, and
 * ZKL_SHARDS_ASKED is told of each shard that the program has, unless it was told before. Events
 * may come, up to ZKL_SHARDS_STOPPED: their handle must not be used any more, and fn_data must be
 * valid until then. Grants do not end with the handle, and must be released. To end a program
 * without a drain, call zkl_session_close() instead, and free the handle after that. */
ZKL_API void zkl_shards_free(zkl_shards *shards);

ZKL_END

#endif
