/* Who queues at a path: a snapshot for people and monitoring, never a base for a decision. */
#ifndef ZKL_QUEUE_H
#define ZKL_QUEUE_H

#include <zkl/api.h>

ZKL_BEGIN

/* One contender. Strings live as long as the snapshot. Since 0.1. */
typedef struct zkl_contender {
    const char *node;   /* the child's name */
    const char *owner;  /* its payload as valid UTF-8 without control characters; "" if empty */
    int64_t number;     /* the signed number in its name */
    uint64_t token;     /* its czxid */
    int64_t session_id; /* 0: a persistent node */
    int64_t ctime_ms;   /* when the server made it: ms since 1970 by the server's wall clock */
    int holds;          /* 1: first in order */
} zkl_contender;

/* Reads the contenders below path, in queue order. timeout_ms as everywhere, 0 meaning at most one
 * session timeout. Contenders that leave between list and read are left out. Answers ZKL_ENOENT (no
 * such path), ZKL_EINVAL, ZKL_EACCES, ZKL_EAUTH, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_ETIMEDOUT,
 * ZKL_EPROTO, ZKL_EDEADLK (in a callback), ZKL_ECLOSED, ZKL_ECHILD. Free with zkl_queue_free().
 * Since 0.1. */
ZKL_API int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path, int64_t timeout_ms);

/* How many contenders the snapshot has. Since 0.1. */
ZKL_API size_t zkl_queue_count(const zkl_queue *q);

/* Contender i, from 0 (the holder) on; NULL beyond the last. Since 0.1. */
ZKL_API const zkl_contender *zkl_queue_get(const zkl_queue *q, size_t i);

/* NULL is ignored. Since 0.1. */
ZKL_API void zkl_queue_free(zkl_queue *q);

ZKL_END

#endif
