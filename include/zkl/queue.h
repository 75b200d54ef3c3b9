/* The contenders at a path: snapshots for people and monitoring. Never base a decision on them.
 * zkl(3) says what all functions have in common. */
#ifndef ZKL_QUEUE_H
#define ZKL_QUEUE_H

#include <zkl/api.h>
#include <zkl/watch.h>

ZKL_BEGIN

/* The kind of a contender, judged by its name. */
typedef enum zkl_kind {
    ZKL_KIND_LOCK = 1,   /* a lock, or a candidate of a LeaderSelector or of kazoo's Election */
    ZKL_KIND_LATCH = 2,  /* a candidate of a LeaderLatch */
    ZKL_KIND_APACHE = 3, /* a lock of Apache's Java or C recipe */
    ZKL_KIND_RUBY = 4,   /* a lock of zk-ruby */
    ZKL_KIND_READ = 5,   /* a reader of a read-write lock */
    ZKL_KIND_WRITE = 6,  /* a writer of a read-write lock; those of kazoo have names of locks */
    ZKL_KIND_LEASE = 7,  /* permits of a semaphore */
    ZKL_KIND_LATER = 8   /* a contender of a later version of this library */
} zkl_kind;

/* The library that uses such names: a guess, for people. */
typedef enum zkl_client {
    ZKL_CLIENT_UNKNOWN = 0,
    ZKL_CLIENT_ZKL = 1,
    ZKL_CLIENT_CURATOR = 2,
    ZKL_CLIENT_KAZOO = 3,
    ZKL_CLIENT_GO = 4, /* go-zk */
    ZKL_CLIENT_APACHE = 5,
    ZKL_CLIENT_RUBY = 6
} zkl_client;

/* A contender, owned by its snapshot. Later versions may append members. */
typedef struct zkl_contender {
    const char *node;   /* the name of the child */
    const char *owner;  /* the payload as valid UTF-8 without control characters, and without the
                           lines that this library adds to those of its own nodes. "__REVOKE__": the
                           contender was asked to give way, which replaced the payload; or
                           that is its payload */
    int64_t number;     /* the signed number in the name */
    uint64_t token;     /* the czxid of the node */
    int64_t session_id; /* the session that owns the node; 0: a persistent node */
    int64_t ctime_ms;   /* when the node was created: ms since 1970 by the server's wall clock */
    int holds; /* a guess by names: 1: the contender holds; 0: it waits. One that is older than the
                  last change of its semaphore's limit counts as holding, as an earlier limit may
                  have admitted it; but one with numbered permits only if its node has numbers */
    zkl_kind kind;
    zkl_client client;
    int retains; /* 1: the name says that the contender's mutex handle retains (retain_ms): as a
                    holder it may be idle. 0: the name does not say so */
} zkl_contender;

/* For reading a long queue, or one queue repeatedly. Fill with ZKL_QUEUE_OPTIONS_INIT, then change
 * members. */
typedef struct zkl_queue_options {
    size_t size;      /* sizeof(zkl_queue_options); see zkl/session.h */
    size_t max_nodes; /* how many nodes to read, beginning with the first; 0: all. The other nodes
                         are known by name only: owner is "", and token, session_id and
                         ctime_ms are 0 */
    const zkl_queue *previous; /* an earlier snapshot of the path, or NULL. A waiting contender that
                                  was read for that snapshot may be copied, so a later change of
                                  its data may not be seen. Used during the call only */
} zkl_queue_options;

#define ZKL_QUEUE_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(zkl_queue_options), 0, NULL                                                         \
    }

/* Reads the contenders below path, in queue order, and stores the snapshot in *ret. Blocks for
 * timeout_ms at most; 0 means one session timeout. A contender that leaves while the queue is being
 * read may be left out.
 *
 * Returns 0; or
 *   ZKL_ENOENT: path does not exist;
 *   ZKL_EACCES: the server refused permission to read path or a contender;
 *   ZKL_EINVAL, ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH, ZKL_EPROTO, ZKL_EDEADLK,
 *     ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path,
                           const zkl_queue_options *options, int64_t timeout_ms);

/* Returns the number of contenders in the snapshot. */
ZKL_API size_t zkl_queue_count(const zkl_queue *q);

/* Returns contender i, from 0, which is valid as long as the snapshot; NULL if there is none. */
ZKL_API const zkl_contender *zkl_queue_get(const zkl_queue *q, size_t i);

/* Frees a snapshot. */
ZKL_API void zkl_queue_free(zkl_queue *q);

/* Asks contenders at path to give way, as Curator's Revoker does: writes "__REVOKE__" into their
 * nodes, in place of the payload. A holder of this library can hear the request through
 * zkl_grant_on_revoke(), ZKL_ELECTION_ASKED or ZKL_SHARDS_ASKED; a holder of Curator hears it if it
 * is revocable. The request forces nothing. The function does not wait for the holder, which may
 * give way later or never.
 *
 * node is the name of a contender's node. The contender may still be waiting: one of this library
 * can hear the request when it holds. If node is NULL, the function asks every contender that
 * holds: one contender of a lock; the writer, or each reader, of a read-write lock; each contender
 * that holds permits.
 *
 * The function stores in *ret a snapshot of the contenders that were asked, as they were before:
 * owner is the payload that was replaced. Blocks for timeout_ms at most; 0 means one session
 * timeout. After an error some contenders may have been asked, or may yet be.
 *
 * Returns 0; or
 *   ZKL_ENOENT: path does not exist, no contender holds, node is no contender's, or those to be
 *     asked have left during the call;
 *   ZKL_EACCES: the server refused permission to read path, or to read or write a contender's node;
 *   the other codes of zkl_queue_read(). */
ZKL_API int zkl_queue_revoke(zkl_queue **ret, zkl_session *s, const char *path, const char *node,
                             int64_t timeout_ms);

/* Removes a contender's node by force. Use it for a contender that is known to be dead or cannot be
 * asked. The removed contender may still believe that it holds the lock, one of this library until
 * its next event or its deadline; until then only the token protects.
 *
 * node and token are those of the contender in a snapshot of path, so the function removes only a
 * contender that the caller has seen. It reads the node once more before it deletes it. (Some
 * names, as those of zk-ruby, have no id. If the directory is deleted and created anew between that
 * read and the delete, the function may delete another node that got the same number.) Blocks for
 * timeout_ms at most; 0 means one session timeout.
 *
 * Returns 0 if the node is gone; or
 *   ZKL_ENOENT: the contender no longer exists, and this call did not remove it;
 *   ZKL_EACCES: the server refused permission to read path or the node, or to delete the node;
 *   ZKL_ENOTEMPTY: the node has children;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST: the time passed; the node may have been removed, or
 *     may be removed later;
 *   ZKL_EINVAL, ZKL_EAUTH, ZKL_EPROTO, ZKL_EDEADLK, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_queue_break(zkl_session *s, const char *path, const char *node, uint64_t token,
                            int64_t timeout_ms);

/* Reports that a queue may have changed. Called on a library thread. The function cannot read the
 * queue itself (ZKL_EDEADLK); it should wake the thread that does. */
typedef void (*zkl_queue_fn)(void *data);

/* Watches the queue at path and stores the watch in *ret. The library calls fn(data)
 *   when it has looked at path for the first time;
 *   whenever a contender may have arrived or left, or path has been created or deleted;
 *   when it has looked again after a new connection or session;
 *   when it can no longer read path; zkl_queue_read() then returns the reason;
 *   when the session watches too many paths (512 KiB in all).
 *
 * A read in the same ZooKeeper session that begins in or after a call of fn sees every change that
 * it reports. A later call reports later changes. Several changes may share a call: there are about
 * ten a second at most, and fewer for a long queue. Changes of data are not reported. The session
 * needs read permission for path. path need not exist. Never waits. End the watch with
 * zkl_watch_free(); when the session is closed its calls end.
 *
 * Returns 0; or
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD. */
ZKL_API int zkl_queue_watch(zkl_watch **ret, zkl_session *s, const char *path, zkl_queue_fn fn,
                            void *data);

ZKL_END

#endif
