/* Fenced transactions. Several changes of nodes are applied together, and only while the node of a
 * grant exists. */
#ifndef ZKL_MULTI_H
#define ZKL_MULTI_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

/* What a change does. */
typedef enum zkl_change_kind {
    ZKL_CHANGE_CREATE = 1, /* creates a persistent node at path, with the session's ACL */
    ZKL_CHANGE_SET = 2,    /* replaces the node's data */
    ZKL_CHANGE_DELETE = 3, /* deletes the node, which must have no children */
    ZKL_CHANGE_CHECK = 4   /* changes nothing: the node must exist and have the version */
} zkl_change_kind;

/* A change of one node. */
typedef struct zkl_change {
    zkl_change_kind kind;
    int32_t version;  /* SET, DELETE, CHECK: the version of the node's data; -1: any */
    const char *path; /* as for zkl_mutex_new(), but may be /zookeeper or below it; must not be a
                         node of the grant */
    const void *data; /* CREATE, SET: the new data; NULL: none */
    size_t size;      /* of data, in bytes */
} zkl_change;

/* A flag: the transaction releases the lock, too. The grant is RELEASED as soon as the transaction
 * has begun, whatever the result. The nodes go with the changes, or else when the transaction has
 * ended. After ZKL_EINVAL, ZKL_ELIMIT, ZKL_EPERM, ZKL_ECHILD and ZKL_EDEADLK the transaction has
 * not begun, and nothing has changed. Each level must still be unlocked, which then returns 0, and
 * an owned grant released. */
#define ZKL_MULTI_RELEASE 1u

/* Applies all of changes or none of them, in one transaction. count is the number of changes. If
 * count is 0, changes is not used. flags is 0 or ZKL_MULTI_RELEASE. Blocks for timeout_ms at most;
 * 0 means one session timeout at most.
 *
 * The servers refuse the transaction unless g's node exists (if it has several, all of them). So no
 * pause, network delay or clock lets a change through once a node is gone. The transaction is
 * applied at most once: if the connection breaks before the answer, the library tries to find out
 * what happened.
 *
 * Returns 0 if all changes were applied; or
 *   ZKL_ELOST: the grant was lost, or was released before the transaction was sent;
 *   ZKL_EPERM: the grant had been released;
 *   ZKL_ENOENT, ZKL_EEXIST, ZKL_EVERSION, ZKL_ENOTEMPTY, ZKL_EACCES, ZKL_EPATH, ZKL_EPROTO: the
 *     server refused a change, or to read or write g's node; the error gives the path;
 *   ZKL_EUNKNOWN: the transaction may have been applied, or may be applied later: the time passed
 *     or the session ended before an answer came, or the connection broke and g's node does not
 *     show what happened;
 *   ZKL_ETIMEDOUT: the time passed before the transaction was sent;
 *   ZKL_EUNREACHABLE, ZKL_EHOST: the same, without a connection then;
 *   ZKL_ELIMIT: data and paths of the changes have more than 1,000,000 bytes, with some 64 for each
 *     change, and more where the option acl is long or the grant has several nodes; or g's node was
 *     written 2^31 - 1 times;
 *   ZKL_EDEADLK: called inside a callback; call zkl_grant_multi_async() there;
 *   ZKL_EINVAL: g is NULL, or of a membership; changes is NULL and count is not 0; a change or a
 *     flag is invalid;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * After every result except 0 and ZKL_EUNKNOWN, no change was applied and none will be.
 *
 * Each transaction writes g's node, or the first of several. Below the payload it writes a line
 * with its number ("zkl tx 7"), by which the library sees whether a transaction without an answer
 * was applied. No other program may write such a line there.
 *
 * While the servers work on a transaction, the session's renewals wait. A large one therefore takes
 * from the time that is left of the deadline: 5,000 changes may take seconds. Split it into
 * several, each sent after the answer to the one before.
 *
 * Transactions of one grant are applied in the order of the calls. When one has returned 0,
 * every earlier one that returned ZKL_EUNKNOWN either has been applied already or never will be. */
ZKL_API int zkl_grant_multi(const zkl_grant *g, const zkl_change *changes, size_t count,
                            unsigned flags, int64_t timeout_ms);

/* The completion of a transaction: a callback (zkl(3), Threads and callbacks). err is NULL if the
 * transaction was applied; otherwise err is valid during the call. */
typedef void (*zkl_multi_fn)(const zkl_error *err, void *data);

/* Applies a transaction like zkl_grant_multi(), without blocking. changes and what it points to are
 * copied. If the function returns 0, fn(err, data) is called exactly once; if it returns an error,
 * fn is never called.
 *
 * Returns 0; or
 *   ZKL_ELOST, ZKL_EPERM, ZKL_ELIMIT: as zkl_grant_multi();
 *   ZKL_EINVAL: as zkl_grant_multi(), or fn is NULL;
 *   ZKL_ECLOSED, ZKL_ECHILD.
 * err has one of the other codes of zkl_grant_multi(), except ZKL_EDEADLK; or ZKL_ELOST or
 * ZKL_ECLOSED if that happened later. */
ZKL_API int zkl_grant_multi_async(const zkl_grant *g, const zkl_change *changes, size_t count,
                                  unsigned flags, int64_t timeout_ms, zkl_multi_fn fn, void *data);

ZKL_END

#endif
