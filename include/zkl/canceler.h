/* Cancelers: one thread ends the wait of another. */
#ifndef ZKL_CANCELER_H
#define ZKL_CANCELER_H

#include <zkl/api.h>

ZKL_BEGIN

/* Creates a canceler and stores it in *ret. Give the canceler to blocking calls, such as
 * zkl_mutex_lock_cancelable(); another thread ends them with zkl_canceler_cancel(). The canceler
 * belongs to no session. Any number of calls may use it, one after the other and at the same time.
 * Free it with zkl_canceler_free().
 *
 * Returns 0; or
 *   ZKL_EINVAL: ret is NULL.
 * Since 0.1. */
ZKL_API int zkl_canceler_new(zkl_canceler **ret);

/* Ends every call that waits with c: the call fails with ZKL_ECANCELED. The effect is permanent:
 * every later call with c that would have to wait fails in the same way. So it makes no difference
 * whether the cancellation comes before the other thread has begun to wait. If a call acquired a
 * grant but has not returned yet, the grant is released. A call that has returned is not affected.
 * May be called from any thread and any callback, but not from a signal handler. Never waits. NULL
 * is ignored. In a forked child it does nothing. Since 0.1. */
ZKL_API void zkl_canceler_cancel(zkl_canceler *c);

/* Frees the canceler. No call that uses it may be in progress, or begin afterwards. NULL is
 * ignored. In a forked child it does nothing. Since 0.1. */
ZKL_API void zkl_canceler_free(zkl_canceler *c);

ZKL_END

#endif
