/* Who queues at a path: a snapshot for people and monitoring, never a base for a decision. */
#ifndef ZKL_QUEUE_H
#define ZKL_QUEUE_H

#include <zkl/api.h>
#include <zkl/watch.h>

ZKL_BEGIN

/* What it is, by its name. Since 0.1. */
typedef enum zkl_kind {
    ZKL_KIND_LOCK = 1,   /* a lock's, a selector's or kazoo's candidate */
    ZKL_KIND_LATCH = 2,  /* a latch's candidate */
    ZKL_KIND_APACHE = 3, /* a lock of Apache's Java recipe */
    ZKL_KIND_RUBY = 4,   /* a lock of zk-ruby */
    ZKL_KIND_READ = 5,   /* a read-write lock's reader */
    ZKL_KIND_WRITE = 6,  /* a read-write lock's writer; kazoo's are called as its locks */
    ZKL_KIND_LEASE = 7   /* a semaphore's */
} zkl_kind;

/* Whose names look like that: a guess for people. Since 0.1. */
typedef enum zkl_client {
    ZKL_CLIENT_UNKNOWN = 0,
    ZKL_CLIENT_ZKL = 1,
    ZKL_CLIENT_CURATOR = 2,
    ZKL_CLIENT_KAZOO = 3,
    ZKL_CLIENT_GO = 4, /* go-zk */
    ZKL_CLIENT_APACHE = 5,
    ZKL_CLIENT_RUBY = 6
} zkl_client;

/* One contender. Strings live as long as the snapshot. Since 0.1. */
typedef struct zkl_contender {
    const char *node;   /* the child's name */
    const char *owner;  /* its payload as valid UTF-8 without control characters; "" if empty. Of
                           this library's, without the line that zkl_grant_multi() adds. */
    int64_t number;     /* the signed number in its name */
    uint64_t token;     /* its czxid */
    int64_t session_id; /* 0: a persistent node */
    int64_t ctime_ms;   /* when the server made it: ms since 1970 by the server's wall clock */
    int holds;          /* 1: nobody before it keeps it waiting, as far as names tell */
    zkl_kind kind;
    zkl_client client;
} zkl_contender;

/* For who reads a long queue, or again and again. Fill with ZKL_QUEUE_OPTIONS_INIT and change what
 * is needed. Since 0.1. */
typedef struct zkl_queue_options {
    size_t size;      /* sizeof(zkl_queue_options); see zkl/session.h */
    size_t max_nodes; /* only so many nodes are read, from the first on; of the others only the name
                    is known: owner is "", token, session_id and ctime_ms are 0. 0: all are read */
    const zkl_queue *previous; /* an earlier snapshot of the path, or NULL: who waits and was read
                                for that one is not read again; by the name alone, so that what was
                                written into such a node since is not seen */
} zkl_queue_options;

#define ZKL_QUEUE_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(zkl_queue_options), 0, NULL                                                         \
    }

/* Reads the contenders below path, in queue order. options may be NULL; options->previous is only
 * looked at during the call. timeout_ms as everywhere, 0 meaning at most one
 * session timeout. Contenders that leave between list and read are left out. Answers ZKL_ENOENT (no
 * such path), ZKL_EINVAL, ZKL_EACCES, ZKL_EAUTH, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_ETIMEDOUT,
 * ZKL_EPROTO, ZKL_EDEADLK (in a callback), ZKL_ECLOSED, ZKL_ECHILD. Free with zkl_queue_free().
 * Since 0.1. */
ZKL_API int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path,
                           const zkl_queue_options *options, int64_t timeout_ms);

/* How many contenders the snapshot has. Since 0.1. */
ZKL_API size_t zkl_queue_count(const zkl_queue *q);

/* Contender i, from 0 (the holder) on; NULL beyond the last. Since 0.1. */
ZKL_API const zkl_contender *zkl_queue_get(const zkl_queue *q, size_t i);

/* NULL is ignored. Since 0.1. */
ZKL_API void zkl_queue_free(zkl_queue *q);

/* Tells that a queue may have changed, not how. Called on a library thread (or in
 * zkl_session_dispatch()), one call at a time, with no lock of the library held; it cannot read the
 * queue itself (ZKL_EDEADLK), so it wakes who does. Since 0.1. */
typedef void (*zkl_queue_fn)(void *data);

/* Calls fn(data) once path was looked at for the first time, and from then on whenever somebody may
 * have come or gone below it, or it has come into being or gone itself; also after each new
 * connection or session, and when looking has begun to fail (as zkl_queue_read() then does). A read
 * that is begun in a call, or behind it, sees everything up to that call; what happens later is
 * told by another one. Changes are told together: at most ten calls a second, and for a queue of n
 * contenders one in 100 + n / 10 ms. Changes of payloads are not told. Needs read permission of
 * path. Asks nothing of the server before it returns. Answers ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD.
 * End it with zkl_watch_free(); closing the session ends its calls. Since 0.1. */
ZKL_API int zkl_queue_watch(zkl_watch **ret, zkl_session *s, const char *path, zkl_queue_fn fn,
                            void *data);

ZKL_END

#endif
