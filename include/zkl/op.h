/* An acquisition in progress: it completes exactly once and can be canceled before that. */
#ifndef ZKL_OP_H
#define ZKL_OP_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

/* The completion of an acquisition, called exactly once, on a library thread. On success err is
 * NULL and the callee owns grant: it ends it with zkl_grant_release(). On failure grant is NULL and
 * err, which is valid during the call, gives the reason. It may call any function. Since 0.1. */
typedef void (*zkl_acquired_fn)(zkl_grant *grant, const zkl_error *err, void *data);

/* The completion of an operation that gives no grant, called exactly once, on a library thread. err
 * is NULL on success; otherwise it is valid during the call. It may call any function. Since 0.1.
 */
typedef void (*zkl_done_fn)(const zkl_error *err, void *data);

/* Cancels an acquisition. If its completion has not begun, this always succeeds: the completion is
 * then called with ZKL_ECANCELED, and a grant that was already acquired is released. If it has
 * begun, this does nothing. Never blocks. NULL is ignored. In a forked child it does nothing.
 * Since 0.1. */
ZKL_API void zkl_op_cancel(zkl_op *op);

/* Frees the caller's handle, before or after the completion. The acquisition itself continues. NULL
 * is ignored. In a forked child it does nothing. Since 0.1. */
ZKL_API void zkl_op_free(zkl_op *op);

ZKL_END

#endif
