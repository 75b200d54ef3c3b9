/* Fenced transactions: changes to nodes, applied as a whole and only while a grant's node stands.
 */
#ifndef ZKL_MULTI_H
#define ZKL_MULTI_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

typedef enum zkl_change_kind {
    ZKL_CHANGE_CREATE = 1, /* a persistent node with the session's ACL */
    ZKL_CHANGE_SET = 2,
    ZKL_CHANGE_DELETE = 3,
    ZKL_CHANGE_CHECK = 4 /* changes nothing: the node must be there, with that version */
} zkl_change_kind;

/* One change. What it points to is copied. Since 0.1. */
typedef struct zkl_change {
    zkl_change_kind kind;
    int32_t version;  /* SET, DELETE, CHECK: of the node's data; -1: any */
    const char *path; /* as for a lock: absolute, no trailing slash, … */
    const void *data; /* CREATE, SET; NULL: none */
    size_t size;      /* of data in bytes */
} zkl_change;

/* Gives the lock back in the same transaction. Once it has begun the grant is RELEASED, whatever is
 * answered, since nobody could say from when on another holds it: the node goes with the changes,
 * or right after they were refused. (Not begun, and all as before, after ZKL_EINVAL, ZKL_ELIMIT,
 * ZKL_EPERM, ZKL_ECLOSED, ZKL_ECHILD, ZKL_EDEADLK.) The pointer stays the caller's to give back:
 * zkl_mutex_unlock() (which then answers 0) or zkl_grant_release(). Since 0.1. */
#define ZKL_MULTI_RELEASE 1u

/* Applies all of changes (count may be 0) or none of them, in one transaction that the servers
 * refuse unless g's node stands: no pause, no delay in the network and no clock can let a change of
 * a lost grant through. It is applied once: when an answer is lost with its connection, what became
 * of it is found out. timeout_ms: 0 waits as a lock does, at most one session timeout. Answers
 *   0: all applied; for any other answer but ZKL_EUNKNOWN nothing was, nor will be;
 *   ZKL_ELOST: the grant was lost; ZKL_EPERM: it was given back before;
 *   ZKL_ENOENT, ZKL_EEXIST, ZKL_EVERSION, ZKL_ENOTEMPTY, ZKL_EACCES, ZKL_EPATH, ZKL_EPROTO: the
 *   server refused; zkl_last_error() has the path of the change that it refused;
 *   ZKL_EUNKNOWN: the time passed, the session ended, or the connection broke three times, with an
 *   answer outstanding; or it broke and the node was deleted or written by a third party: the
 *   transaction may have been applied, or be yet. With ZKL_MULTI_RELEASE also when the connection
 *   broke and the node is gone: by the transaction, unless a third party deleted it;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST: the time passed before it was sent;
 *   ZKL_ELIMIT: more than 1,000,000 bytes in all, or 2^31 transactions of one grant;
 *   ZKL_EDEADLK: inside a callback, where zkl_grant_multi_async() is the one to use;
 *   ZKL_EINVAL, ZKL_ECLOSED, ZKL_ECHILD.
 *
 * Each transaction writes the grant's node: the payload, and behind it a line with a number that no
 * other transaction of the grant has ("zkl tx 7"). By that number it is seen whether one whose
 * answer was lost was applied, so nobody else must write such a line there. This library's readers
 * show the payload without it; other libraries read both.
 *
 * Transactions of one grant are applied in the order of the calls. When one has returned 0, those
 * before it that returned ZKL_EUNKNOWN have been applied by then or never will be. Each wakes the
 * next contender for one read. From any thread. Since 0.1. */
ZKL_API int zkl_grant_multi(zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                            int64_t timeout_ms);

/* err is NULL: applied. It is valid during the call. On a library thread, with no lock of the
 * library held. */
typedef void (*zkl_multi_fn)(const zkl_error *err, void *data);

/* The same without waiting: fn(err, data) comes exactly once, unless this answers other than 0
 * (ZKL_EINVAL, ZKL_ELIMIT, ZKL_EPERM, ZKL_ELOST, ZKL_ECLOSED, ZKL_ECHILD). Since 0.1. */
ZKL_API int zkl_grant_multi_async(zkl_grant *g, const zkl_change *changes, size_t count,
                                  unsigned flags, int64_t timeout_ms, zkl_multi_fn fn, void *data);

ZKL_END

#endif
