/* For programs that also use libzookeeper themselves: a grant can fence their transactions, and
 * they can use the session's own handle. Include <zookeeper/zookeeper.h> for the types. */
#ifndef ZKL_ZOOKEEPER_H
#define ZKL_ZOOKEEPER_H

#include <zkl.h>

ZKL_BEGIN

struct zoo_op;
struct _zhandle;

/* Fills *op with an operation that fails unless g's node exists. Put it first into a zoo_multi() of
 * your own, on any handle without a chroot. (The session's own handle has none: prepend its chroot
 * to your paths.) *op refers to g, which must outlive it.
 * It passes as long as the node exists, which a mutex that retains (retain_ms) keeps beyond the
 * unlock: do not unlock before the answer of a zoo_multi() has come.
 * Returns
 *   0: the grant is owned;
 *   ZKL_ELOST (it was lost), ZKL_EPERM (it was released), ZKL_ECHILD: *op is filled all the same;
 *   ZKL_ERANGE: the grant has more than one node, and *op is not filled: use
 *     zkl_grant_check_ops();
 *   ZKL_EINVAL: g or op is NULL.
 *
 * zoo_multi() of the 3.8 client ends the process by an invalid free() when a path is invalid, when
 * the handle has expired, or when its credentials were refused. Check zoo_state() right before the
 * call, and check paths. zkl_grant_multi() does both. Since 0.1. */
ZKL_API int zkl_grant_check_op(const zkl_grant *g, struct zoo_op *op);

/* Fills ops with one such operation for each node of the grant, zkl_grant_count() of them, in the
 * order of zkl_grant_tokens(). Put all of them into the zoo_multi(). count is how many ops has room
 * for.
 * Returns as zkl_grant_check_op(); ZKL_ERANGE: count is too small, and nothing is filled.
 * Since 0.1. */
ZKL_API int zkl_grant_check_ops(const zkl_grant *g, struct zoo_op *ops, size_t count);

/* Receives the session's handle, which is not closed before the function has returned.
 * Since 0.1. */
typedef void (*zkl_call_fn)(struct _zhandle *zh, void *data);

/* Calls fn(zh, data) in this thread and returns when it has returned. No lock of the library is
 * held, and cancellation of the thread is disabled.
 *
 * fn must return. It must not close or keep the handle, set its watcher, context or servers, or add
 * credentials. What it does below a lock's path counts as done by a third party. Functions that it
 * registers with the handle are called on libzookeeper's own thread, where no function of zkl that
 * blocks may be called. Its synchronous calls have no timeout: zkl_session_close() waits for fn
 * for up to 5 s, and the session and its nodes end when fn has returned.
 *
 * Returns
 *   0: fn was called;
 *   ZKL_EUNREACHABLE, ZKL_EHOST, ZKL_EAUTH: there is no handle at present, for that reason, and fn
 *     was not called;
 *   ZKL_EINVAL: s or fn is NULL;
 *   ZKL_ECLOSED: the session was closed;
 *   ZKL_ECHILD: called in a forked child, or fn has forked and this is the child.
 * Since 0.1. */
ZKL_API int zkl_session_call(zkl_session *s, zkl_call_fn fn, void *data);

ZKL_END

#endif
