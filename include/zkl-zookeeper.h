/* For programs that also use libzookeeper themselves. A grant can fence their transactions, and
 * they can use the session's own handle. Include <zookeeper/zookeeper.h> for the types. */
#ifndef ZKL_ZOOKEEPER_H
#define ZKL_ZOOKEEPER_H

#include <zkl.h>

ZKL_BEGIN

struct zoo_op;
struct _zhandle;

/* Fills ops with one operation for each node of g, which fails unless that node exists. count is
 * the number of operations for which ops has room. There is one for each path of a zkl_multilock,
 * one for each permit of a semaphore in Curator's layout, and one for any other grant. Put all of
 * them first into a zoo_multi() of your own, on a handle without a chroot. (The session's own
 * handle has none: prepend the session's chroot.) They refer to g, which must outlive them.
 *
 * An operation passes as long as its node exists. A mutex that retains (retain_ms) keeps the node
 * beyond the unlock: do not unlock before the answer of the zoo_multi() has come.
 *
 * Returns how many were filled, 1 or more, if the grant is owned; or
 *   ZKL_ELOST: the grant was lost; ops are filled nevertheless;
 *   ZKL_EPERM: the grant was released; ops are filled nevertheless;
 *   ZKL_ECHILD: ops are filled nevertheless;
 *   ZKL_ERANGE: count is too small, and nothing is filled;
 *   ZKL_EINVAL.
 *
 * zoo_multi() of the 3.8 client may end the process by an invalid free() when a path is invalid,
 * when the handle has expired, or when its credentials were refused. Check paths, and
 * zoo_state() right before the call. zkl_grant_multi() does both. */
ZKL_API int zkl_grant_check_op(const zkl_grant *g, struct zoo_op *ops, size_t count);

/* Receives the session's handle. The handle is not closed before the function has ended. */
typedef void (*zkl_call_fn)(struct _zhandle *zh, void *data);

/* Calls fn(zh, data) in this thread, and returns when fn has returned. fn is called with no lock of
 * the library held, and with cancellation of the thread disabled.
 *
 * fn must return, end its thread, or throw a C++ exception. It must not close or keep the handle,
 * set its watcher, context or servers, or add credentials. What fn does below a lock's path counts
 * as done by a third party. Ephemeral nodes and watches that fn leaves need zkl_session_keep().
 *
 * Functions that fn registers with the handle are called on a thread of libzookeeper. No function
 * of zkl that blocks may be called there. Synchronous calls of the handle have no timeout:
 * zkl_session_close() waits for fn for up to 5 s, and the session and its nodes end when fn has
 * ended.
 *
 * Returns 0 if fn was called; or
 *   ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH: there is no handle at present, for that reason, and fn
 *     was not called;
 *   ZKL_ECHILD: called in a forked child, or fn has forked and this is the child;
 *   ZKL_ECLOSED, ZKL_EINVAL. */
ZKL_API int zkl_session_call(zkl_session *s, zkl_call_fn fn, void *data);

ZKL_END

#endif
