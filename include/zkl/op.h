/* An acquisition under way: it completes exactly once and can be cancelled before. */
#ifndef ZKL_OP_H
#define ZKL_OP_H

#include <zkl/api.h>
#include <zkl/error.h>

ZKL_BEGIN

/* The completion: err is NULL and grant is owned by the callee (zkl_grant_release() ends it), or
 * grant is NULL and err, valid during the call, says why. Called exactly once on a library thread
 * that may call anything, with no lock of the library held. Since 0.1. */
typedef void (*zkl_acquired_fn)(zkl_grant *grant, const zkl_error *err, void *data);

/* Asks op to end. Before its completion has begun this always wins: the completion then comes with
 * ZKL_ECANCELED, and a grant already won is released. Afterwards it does nothing. Never blocks.
 * Since 0.1. */
ZKL_API void zkl_op_cancel(zkl_op *op);

/* Gives up the caller's reference, before or after the completion; the operation goes on. NULL is
 * ignored. Since 0.1. */
ZKL_API void zkl_op_free(zkl_op *op);

ZKL_END

#endif
