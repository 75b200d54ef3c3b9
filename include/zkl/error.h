/* Error codes and their texts. */
#ifndef ZKL_ERROR_H
#define ZKL_ERROR_H

#include <zkl/api.h>

ZKL_BEGIN

/* Every code is negative. */
enum {
    ZKL_EINVAL = -1,    /* an argument is invalid, such as a path, an option or NULL */
    ZKL_ENOMEM = -2,    /* the system refused a thread, a descriptor or a thread-specific key */
    ZKL_ETIMEDOUT = -3, /* the time limit passed before what the call waits for came */
    ZKL_EBUSY = -4,     /* somebody else is first, or the handle is busy: each function that returns
                           this says more */
    ZKL_ECANCELED = -5, /* zkl_op_cancel(), zkl_op_free() or zkl_election_resign() ended the
                           acquisition */
    ZKL_EPERM = -6,     /* the caller does not hold this lock, does not lead, is not inside, has
                           left, or does not keep the session; or the grant was released */
    ZKL_ELOST = -7,     /* the grant was lost, or the node of a member of a double barrier; or the
                           member is not in its group now */
    ZKL_ECLOSED = -8,   /* the session was closed, or the handle freed */
    ZKL_EDEADLK = -9,   /* a function that may block was called inside a callback, or would wait for
                           its own caller; or a reader asks to write */
    ZKL_ECHILD = -10,   /* called in a forked child */
    ZKL_EHOST = -11,    /* no server name can be resolved */
    ZKL_EUNREACHABLE = -12, /* no server answers in time, there is no ZooKeeper session at the
                               moment, or it is not proved */
    ZKL_EACCES = -13,       /* the server refused for lack of permission, or because of a quota or
                               of the session's ACL */
    ZKL_EAUTH = -14,        /* the server refused the credentials, or demands some */
    ZKL_EPATH = -15,        /* the path is, or is below, an ephemeral node, which cannot have
                               children */
    ZKL_EOVERFLOW = -16,    /* the sequence numbers of the directory are used up, a number does
                               not fit its counter, or an owner has 2147483647 levels */
    ZKL_ELIMIT = -17,       /* a limit is exceeded: of permits, watched paths, ephemeral nodes,
                               transactions of a grant or data */
    ZKL_ENOENT = -18,       /* the node or part does not exist or is not known, nobody holds or
                               leads, the semaphore has no limit, or no run is recorded */
    ZKL_ERANGE = -19,       /* the buffer is too small */
    ZKL_EPROTO = -20,       /* the server gave an unexpected answer */
    ZKL_EEXIST = -21,       /* the node exists already; or the work of a zkl_once is done for now */
    ZKL_EVERSION = -22,     /* the node has another version, or the counter another number; or the
                               record of work was reset */
    ZKL_ENOTEMPTY = -23,    /* the node has children */
    ZKL_EUNKNOWN = -24,     /* it is not known whether the change was, or will be, applied */
    ZKL_ELAYOUT = -25,      /* the directory has children, or the node data, that do not go with the
                               recipe, this version or the calendar */
    ZKL_EOVERDUE = -26      /* the last instant of a calendar has no run, and is too long ago */
};

/* A failure and what it concerns. The library fills it. */
typedef struct zkl_error {
    int code;       /* 0 or ZKL_E… */
    char path[256]; /* the path or hosts concerned, "options" or ""; ends in "..." if cut */
    char text[256]; /* one line; ends in "..." if cut */
} zkl_error;

/* Returns a constant text for a code, or "unknown error" for any other number; never NULL. May be
 * called anywhere, even in a forked child. */
ZKL_API const char *zkl_strerror(int err);

/* Copies the calling thread's last failure to *ret, unless ret is NULL, and returns its code: 0 if
 * there was none. It tells of a call that has just failed: a success does not reset it. May be
 * called anywhere, even in a forked child. */
ZKL_API int zkl_last_error(zkl_error *ret);

ZKL_END

#endif
