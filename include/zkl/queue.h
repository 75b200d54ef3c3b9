/* Who contends at a path: snapshots for people and monitoring, never the base of a decision. */
#ifndef ZKL_QUEUE_H
#define ZKL_QUEUE_H

#include <zkl/api.h>
#include <zkl/watch.h>

ZKL_BEGIN

/* What a contender is, judged by its name. Since 0.1. */
typedef enum zkl_kind {
    ZKL_KIND_LOCK = 1,   /* of a lock, or a candidate of a selector or of kazoo */
    ZKL_KIND_LATCH = 2,  /* a candidate of a latch */
    ZKL_KIND_APACHE = 3, /* of a lock of Apache's Java recipe */
    ZKL_KIND_RUBY = 4,   /* of a lock of zk-ruby */
    ZKL_KIND_READ = 5,   /* a reader of a read-write lock */
    ZKL_KIND_WRITE = 6,  /* a writer of a read-write lock; kazoo's are named like its locks */
    ZKL_KIND_LEASE = 7   /* of a semaphore */
} zkl_kind;

/* Which library uses such names: a guess, for people. Since 0.1. */
typedef enum zkl_client {
    ZKL_CLIENT_UNKNOWN = 0,
    ZKL_CLIENT_ZKL = 1,
    ZKL_CLIENT_CURATOR = 2,
    ZKL_CLIENT_KAZOO = 3,
    ZKL_CLIENT_GO = 4, /* go-zk */
    ZKL_CLIENT_APACHE = 5,
    ZKL_CLIENT_RUBY = 6
} zkl_client;

/* One contender, owned by its snapshot. Later versions may append members. Since 0.1. */
typedef struct zkl_contender {
    const char *node;   /* the name of the child */
    const char *owner;  /* its payload as valid UTF-8 without control characters; "" if empty. Of
                           this library's nodes without the line that zkl_grant_multi() adds.
                           "__REVOKE__": it was asked to give way, which replaced the payload */
    int64_t number;     /* the signed number in the name */
    uint64_t token;     /* its czxid */
    int64_t session_id; /* 0: a persistent node */
    int64_t ctime_ms;   /* when it was created: ms since 1970 by the server's wall clock */
    int holds;          /* 1: nobody before it makes it wait, judged by the names; 0: it waits */
    zkl_kind kind;
    zkl_client client;
    int retains; /* 1: its name says that its mutex handle retains (retain_ms): if it holds, it may
                    be idle, which only its process knows, and then goes as soon as another
                    contender comes; 0: it does not say so */
} zkl_contender;

/* For reading a long queue, or one queue repeatedly. Fill with ZKL_QUEUE_OPTIONS_INIT, then change
 * members. Since 0.1. */
typedef struct zkl_queue_options {
    size_t size;      /* sizeof(zkl_queue_options); see zkl/session.h */
    size_t max_nodes; /* reads this many nodes, beginning with the first; 0: all. Of the others only
                         the name is known: owner is "", token, session_id and ctime_ms are 0 */
    const zkl_queue *previous; /* an earlier snapshot of the path, or NULL. A contender that waits
                                  and was read for that snapshot is not read again. It is
                                  recognized by its name, so what was written into its node since
                                  is not seen. Used during the call only */
} zkl_queue_options;

#define ZKL_QUEUE_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(zkl_queue_options), 0, NULL                                                         \
    }

/* Reads the contenders below path, in queue order, and stores the snapshot in *ret. options may be
 * NULL. Blocks for timeout_ms at most; 0 means one session timeout. A contender that leaves while
 * the queue is being read is left out. Free the snapshot with zkl_queue_free().
 * Returns
 *   0;
 *   ZKL_ENOENT: path does not exist;
 *   ZKL_EACCES: the server refused permission to read path or a contender;
 *   ZKL_ETIMEDOUT: the servers did not answer in time;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the time passed without a connection;
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EPROTO: the server gave an invalid answer;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: ret or s is NULL, or path or options are invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path,
                           const zkl_queue_options *options, int64_t timeout_ms);

/* Returns the number of contenders in the snapshot. Returns 0 for NULL. Since 0.1. */
ZKL_API size_t zkl_queue_count(const zkl_queue *q);

/* Returns contender i, beginning with 0, the first in line. It is valid as long as the snapshot.
 * Returns NULL if there is none, or if q is NULL. Since 0.1. */
ZKL_API const zkl_contender *zkl_queue_get(const zkl_queue *q, size_t i);

/* Frees a snapshot. NULL is ignored. Since 0.1. */
ZKL_API void zkl_queue_free(zkl_queue *q);

/* Asks contenders of path to give way, as Curator's Revoker does: sets the data of their nodes to
 * "__REVOKE__", which replaces the payload. Holders of this library hear it as
 * zkl_grant_on_revoke() and ZKL_ELECTION_ASKED say, Curator's if they are revocable. Nothing is
 * forced, and nothing waits for the holder: it may give way later or never. node is the name of a
 * contender's node, which may wait yet: it hears the request when it holds. NULL: all who hold now,
 * which is one of a lock, and each reader or permit of others. Stores in *ret a snapshot of those
 * who were asked, each as it was before: owner is the payload that was replaced. Free it with
 * zkl_queue_free(). Blocks for timeout_ms at most; 0 means one session timeout. To ask twice does
 * no harm; after an error some may have been asked.
 * Returns
 *   0;
 *   ZKL_ENOENT: nobody holds, node is no contender's, or those to be asked have left meanwhile;
 *   ZKL_EACCES: the server refused permission to read path or to write a contender's node;
 *   the rest as zkl_queue_read().
 * Since 0.1. */
ZKL_API int zkl_queue_revoke(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                             int64_t timeout_ms);

/* Removes a contender's node by force: for one that is known to be dead or that cannot be asked.
 * The next contender is then granted, while the removed one may still believe that it holds, until
 * its library has heard of it: that is its next event, or its deadline. Until then only the token
 * protects. node and token are those of the contender in a snapshot of path, so that no contender
 * is removed that nobody has looked at: the node is listed and read once more before it is deleted.
 * (Of a node without an id in its name, as zk-ruby's, one more could be mistaken for it: one that
 * got the same number in a directory made anew between that read and the delete.)
 * Blocks for timeout_ms at most; 0 means one session timeout. If a connection breaks before the
 * answer, the library finds out what happened.
 * Returns
 *   0: the node is gone;
 *   ZKL_ENOENT: there is no such contender any more, and this call removed none;
 *   ZKL_EACCES: the server refused permission to read path or to delete the node;
 *   ZKL_ENOTEMPTY: the node has children;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST: the time passed; the node may have been removed, or
 *     may be yet;
 *   ZKL_EAUTH, ZKL_EPROTO, ZKL_EDEADLK, ZKL_ECLOSED, ZKL_ECHILD as zkl_queue_read();
 *   ZKL_EINVAL: s or node is NULL, or path is invalid.
 * Since 0.1. */
ZKL_API int zkl_queue_break(zkl_session *s, const char *path, const char *node, uint64_t token,
                            int64_t timeout_ms);

/* Removes path, the directory of a lock or an election that nobody uses: a node without children,
 * whose data, if any, this library wrote. Blocks for timeout_ms at most; 0 means one session
 * timeout. It is hardly ever needed: the server itself removes directories that were created as
 * containers, the default. A contender that enters at the same time is not harmed, since it creates
 * the directory again; its number then begins again with 0, and tokens go on rising. Of an
 * election, the proclaimed data goes, too. Returns 0: path does not exist any more; ZKL_ENOTEMPTY:
 * it has children, contenders or others; ZKL_ELAYOUT: it has data that this library did not write,
 * or the limit of a semaphore; ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST: the time passed, with a
 * connection or, for that reason, without one; path may have been removed, or may be later;
 *   ZKL_EACCES, ZKL_EPROTO: the server refused it;
 *   ZKL_EAUTH: the server refused the session's credentials;
 *   ZKL_EDEADLK: called inside a callback;
 *   ZKL_EINVAL: s is NULL, or path is invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_queue_remove(zkl_session *s, const char *path, int64_t timeout_ms);

/* Reports that a queue may have changed, but not how. Called on a library thread. It cannot read
 * the queue itself (ZKL_EDEADLK); it should wake the thread that does. Since 0.1. */
typedef void (*zkl_queue_fn)(void *data);

/* Watches the queue at path and stores the watch in *ret. Calls fn(data) when the library has seen
 * path for the first time; then whenever a contender may have come or gone, or path has been
 * created or deleted; also after each new connection or session, and when path can no longer be
 * read (zkl_queue_read() then gives the reason). A read that begins in or after a call of fn sees
 * everything up to that call; later changes are reported by a later call. Several changes are
 * reported together: at most ten calls a second, and for a queue of n contenders one in
 * 100 + n / 10 ms. Changes of payloads are not reported. The session needs read permission for
 * path, which need not exist. Sends nothing to the server before it returns. End the watch with
 * zkl_watch_free(); closing the session ends its calls.
 * Returns 0; ZKL_EINVAL: ret, s or fn is NULL, or path is invalid; ZKL_ECLOSED; ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_queue_watch(zkl_watch **ret, zkl_session *s, const char *path, zkl_queue_fn fn,
                            void *data);

ZKL_END

#endif
