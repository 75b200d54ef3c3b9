/* Fenced transactions: changes to nodes that are applied all together, and only while the node of a
 * grant exists. */
#ifndef ZKL_MULTI_H
#define ZKL_MULTI_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

/* Since 0.1. */
typedef enum zkl_change_kind {
    ZKL_CHANGE_CREATE = 1, /* creates a persistent node with the session's ACL */
    ZKL_CHANGE_SET = 2,    /* replaces the node's data */
    ZKL_CHANGE_DELETE = 3, /* deletes the node, which must have no children */
    ZKL_CHANGE_CHECK = 4   /* changes nothing: the node must exist and have that version */
} zkl_change_kind;

/* One change. Since 0.1. */
typedef struct zkl_change {
    zkl_change_kind kind;
    int32_t version;  /* SET, DELETE, CHECK: the version of the node's data; -1: any */
    const char *path; /* as for zkl_mutex_new(); not a node of the grant */
    const void *data; /* CREATE, SET: the new data; NULL: none */
    size_t size;      /* of data, in bytes */
} zkl_change;

/* A flag: the transaction also gives the lock back. As soon as it has begun the grant is RELEASED,
 * whatever the result, since nobody could say from when on another client holds the lock. The node
 * is deleted with the changes, or right after the server refused them. It has not begun, and
 * nothing has changed, after ZKL_EINVAL, ZKL_ELIMIT, ZKL_EPERM, ZKL_ECLOSED, ZKL_ECHILD and
 * ZKL_EDEADLK. The caller must still call zkl_mutex_unlock(), which then returns 0, or
 * zkl_grant_release(). Since 0.1. */
#define ZKL_MULTI_RELEASE 1u

/* Applies all of changes or none of them, in one transaction. The servers refuse it unless g's node
 * exists (of a lock at several paths, all nodes), so that no pause, network delay or clock lets a
 * change of a lost grant through. It is applied once: if the connection breaks before the answer,
 * the library finds out what happened. count may be 0, and changes is then not used. flags is 0 or
 * ZKL_MULTI_RELEASE. May be called from any thread.
 * Returns
 *   0: all changes were applied. After every other result but ZKL_EUNKNOWN none was, nor will be;
 *   ZKL_ELOST: the grant was lost;
 *   ZKL_EPERM: the grant had been released;
 *   ZKL_ENOENT, ZKL_EEXIST, ZKL_EVERSION, ZKL_ENOTEMPTY, ZKL_EACCES, ZKL_EPATH, ZKL_EPROTO: the
 *     server refused a change; zkl_last_error() gives its path;
 *   ZKL_EUNKNOWN: the transaction may have been applied, or may be later. The time passed, the
 *     session ended, or the connection broke three times, before an answer came; or it broke and a
 *     third party wrote or deleted the node. With ZKL_MULTI_RELEASE also: it broke and the node no
 *     longer exists, because of the transaction unless a third party deleted it;
 *   ZKL_ETIMEDOUT, ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH: the time passed before it was sent,
 *     with a connection or, for that reason, without one;
 *   ZKL_ELIMIT: more than 1,000,000 bytes in all, or 2^31 transactions of one grant;
 *   ZKL_EDEADLK: called inside a callback; call zkl_grant_multi_async() there;
 *   ZKL_EINVAL: g is NULL; changes is NULL and count is not 0; a change or a flag is invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 *
 * Each transaction writes the grant's node, of several the first: its payload, and below that a
 * line with a number that no other transaction of the grant has ("zkl tx 7"). By that number the
 * library sees whether a transaction without an answer was applied, so nobody else may write such a
 * line there. This library shows payloads without the line; other libraries show both.
 *
 * Transactions of one grant are applied in the order of the calls. When one has returned 0, those
 * before it that returned ZKL_EUNKNOWN have been applied already or never will be. Each transaction
 * wakes the next contender for one read. Since 0.1. */
ZKL_API int zkl_grant_multi(zkl_grant *g, const zkl_change *changes, size_t count, unsigned flags,
                            int64_t timeout_ms);

/* The completion of a transaction, called on a library thread. err is NULL if it was applied;
 * otherwise it is valid during the call. Since 0.1. */
typedef void (*zkl_multi_fn)(const zkl_error *err, void *data);

/* Applies a transaction like zkl_grant_multi(), without blocking. What changes points to is copied.
 * fn(err, data) is called exactly once if this function returns 0, and never if it returns an
 * error.
 * Returns 0; ZKL_ELOST, ZKL_EPERM, ZKL_ELIMIT, ZKL_ECLOSED, ZKL_ECHILD; ZKL_EINVAL, also if fn is
 * NULL. err then has one of the other codes of zkl_grant_multi(), or ZKL_ELOST or ZKL_ECLOSED if
 * that happened later. Since 0.1. */
ZKL_API int zkl_grant_multi_async(zkl_grant *g, const zkl_change *changes, size_t count,
                                  unsigned flags, int64_t timeout_ms, zkl_multi_fn fn, void *data);

ZKL_END

#endif
