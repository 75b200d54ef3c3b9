/* Error codes and their texts. */
#ifndef ZKL_ERROR_H
#define ZKL_ERROR_H

#include <zkl/api.h>

ZKL_BEGIN

/* Every code is negative; numbers never change their meaning. Since 0.1. */
enum {
    ZKL_EINVAL = -1,        /* a bad argument: path, connect string, option */
    ZKL_ENOMEM = -2,        /* the system refused a thread or a descriptor */
    ZKL_ETIMEDOUT = -3,     /* not acquired within timeout_ms */
    ZKL_EBUSY = -4,         /* timeout 0 and another contender is first */
    ZKL_ECANCELED = -5,     /* zkl_op_cancel() came first */
    ZKL_EPERM = -6,         /* the caller does not hold this lock */
    ZKL_ELOST = -7,         /* the grant was lost before */
    ZKL_ECLOSED = -8,       /* the session or the mutex was closed */
    ZKL_EDEADLK = -9,       /* would block inside a callback, or wait for itself */
    ZKL_ECHILD = -10,       /* called in a forked child */
    ZKL_EHOST = -11,        /* no server name can be resolved */
    ZKL_EUNREACHABLE = -12, /* no server answers */
    ZKL_EACCES = -13,       /* the server refused for lack of permission */
    ZKL_EAUTH = -14,        /* the credentials were refused */
    ZKL_EPATH = -15,        /* the path cannot hold contenders: below an ephemeral node */
    ZKL_EOVERFLOW = -16,    /* the directory's sequence numbers are used up */
    ZKL_ELIMIT = -17,       /* too much at once: watched in a session, or in a transaction */
    ZKL_ENOENT = -18,       /* no such node, or nobody leads */
    ZKL_ERANGE = -19,       /* the buffer is too small */
    ZKL_EPROTO = -20,       /* the server answered what no ZooKeeper should */
    ZKL_EEXIST = -21,       /* the node is there already */
    ZKL_EVERSION = -22,     /* the node has another version */
    ZKL_ENOTEMPTY = -23,    /* the node has children */
    ZKL_EUNKNOWN = -24,     /* it may or may not have been applied */
    ZKL_ELAYOUT = -25       /* the directory has children of another recipe's layout */
};

/* A failure with its subject, filled by the library, owned by the caller. */
typedef struct zkl_error {
    int code;       /* 0 or ZKL_E… */
    char path[256]; /* the path, host or option it is about; cut with "..." when longer */
    char text[256]; /* one sentence */
} zkl_error;

/* A static text for a code, "unknown error" for others; never NULL. Callable anywhere, also in a
 * forked child. Since 0.1. */
ZKL_API const char *zkl_strerror(int err);

/* This thread's last failure: copied to *ret if ret is not NULL; answers its code, 0 if none yet.
 * A success does not reset it. Since 0.1. */
ZKL_API int zkl_last_error(zkl_error *ret);

ZKL_END

#endif
