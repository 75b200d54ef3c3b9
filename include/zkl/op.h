/* An acquisition in progress. It completes exactly once, and can be canceled before that. */
#ifndef ZKL_OP_H
#define ZKL_OP_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

/* The completion of an acquisition, called exactly once, on a library thread. On success err is
 * NULL, and the callee owns grant and ends it with zkl_grant_release(). On failure grant is NULL,
 * and err gives the reason; err is valid during the call. The function may call any function of the
 * library. Since 0.1. */
typedef void (*zkl_acquired_fn)(zkl_grant *grant, const zkl_error *err, void *data);

/* The completion of an operation that gives no grant, called exactly once, on a library thread. On
 * success err is NULL. On failure err gives the reason and is valid during the call. The function
 * may call any function of the library. Since 0.1. */
typedef void (*zkl_done_fn)(const zkl_error *err, void *data);

/* Cancels an acquisition. If the completion has not begun, the cancellation always succeeds: the
 * completion is called with ZKL_ECANCELED, and a grant that was already acquired is released. If
 * the completion has begun, the function does nothing. Never blocks. NULL is ignored. In a forked
 * child it does nothing. Since 0.1. */
ZKL_API void zkl_op_cancel(zkl_op *op);

/* Writes the path of the node with which the acquisition waits into buf, without the chroot of the
 * session's connect string. A lock at several paths may have several nodes; this is the one at the
 * path that is waited for. A waiter gets another node if its session is replaced. size is the size
 * of buf. Sends no request.
 *
 * Returns 0; or
 *   ZKL_ENOENT: no node is known: it was not created yet, a caller of the same handle goes first,
 *     numbered permits are being numbered, or the acquisition has completed; and for a mutex that
 *     retains and leases in Curator's layout;
 *   ZKL_ERANGE: size is too small;
 *   ZKL_EINVAL: op or buf is NULL;
 *   ZKL_ECHILD.
 * Since 0.1. */
ZKL_API int zkl_op_node(zkl_op *op, char *buf, size_t size);

/* Frees the caller's handle, before or after the completion. The acquisition itself continues. NULL
 * is ignored. In a forked child it does nothing. Since 0.1. */
ZKL_API void zkl_op_free(zkl_op *op);

ZKL_END

#endif
