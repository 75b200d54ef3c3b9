/* An acquisition in progress. It completes exactly once, and can be canceled before that. */
#ifndef ZKL_OP_H
#define ZKL_OP_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

/* The completion of an acquisition: a callback (zkl(3), Threads and callbacks), called exactly
 * once. On success err is NULL, and the callee owns grant and ends it with zkl_grant_release(). On
 * failure grant is NULL, and err gives the reason and is valid during the call.
 *
 * The call comes even if the operation or the lock is freed, or the session closed, before it. data
 * must be valid until then. An acquisition that was not decided when the lock or session ended
 * fails with ZKL_ECLOSED. A lock that was won gives its grant, LOST if the session was closed. */
typedef void (*zkl_acquired_fn)(zkl_grant *grant, const zkl_error *err, void *data);

/* The completion of an operation that gives no grant, called exactly once, as a callback. On
 * success err is NULL. On failure err gives the reason and is valid during the call. */
typedef void (*zkl_done_fn)(const zkl_error *err, void *data);

/* Waits until an acquisition is decided that was begun without a function (fn NULL), and stores its
 * grant in *ret. The caller owns the grant. The time limit is that of the function that began it.
 * Another thread ends the wait with zkl_op_cancel() or zkl_op_free().
 *
 *     zkl_op *op;
 *     zkl_grant *grant;
 *     if (zkl_mutex_lock_async(m, ZKL_FOREVER, NULL, NULL, &op) == 0) {
 *         if (zkl_op_wait(op, &grant) == 0) ...
 *
 * The function gives the result once.
 *
 * Returns 0; or
 *   ZKL_ECANCELED: zkl_op_cancel() was called before or during the wait, or op was freed during it;
 *   ZKL_EINVAL: op or ret is NULL; a function gets the result; the result was given before; or
 *     another thread waits;
 *   ZKL_EDEADLK: called inside a callback, and the acquisition is not decided;
 *   ZKL_ECHILD;
 *   the codes of zkl_multilock_lock(), if zkl_multilock_lock_async() began it, and so on. */
ZKL_API int zkl_op_wait(zkl_op *op, zkl_grant **ret) ZKL_MUST_CHECK;

/* Cancels an acquisition. If the completion has not begun, it is called with ZKL_ECANCELED, and a
 * grant that was already acquired is released. If it has begun, nothing happens. Without a
 * function, zkl_op_wait() takes the place of the completion: it fails with ZKL_ECANCELED unless it
 * has given the result. Never blocks. */
ZKL_API void zkl_op_cancel(zkl_op *op);

/* Writes the path of the node with which the acquisition waits into buf, without the chroot of the
 * session's connect string. A lock at several paths may have several nodes; this is the one at the
 * path that is waited for. The node may be replaced by another one during the wait. Sends no
 * request.
 *
 * Returns 0; or
 *   ZKL_ENOENT: no node is known, as when it was not created yet, a caller of the same handle goes
 *     first, numbered permits are being numbered, or the acquisition has completed. For a mutex
 *     that retains, and for permits in Curator's layout, no node is ever known;
 *   ZKL_ERANGE: size is too small; buf then has the beginning;
 *   ZKL_EINVAL, ZKL_ECHILD. */
ZKL_API int zkl_op_node(zkl_op *op, char *buf, size_t size);

/* Frees the caller's handle, before or after the completion. The acquisition itself continues if
 * it has a function. Without one it is canceled, unless zkl_op_wait() has given its result; a
 * thread that waits there gets ZKL_ECANCELED. */
ZKL_API void zkl_op_free(zkl_op *op);

ZKL_END

#endif
