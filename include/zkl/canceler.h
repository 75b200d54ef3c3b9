/* Ending another thread's wait. */
#ifndef ZKL_CANCELER_H
#define ZKL_CANCELER_H

#include <zkl/api.h>

ZKL_BEGIN

/* Creates a canceler and stores it in *ret. It is given to blocking calls, such as
 * zkl_mutex_lock_cancelable(), and ends them when another thread calls zkl_canceler_cancel(). It
 * belongs to no session, and may be given to any number of calls, one after the other and at the
 * same time. Free it with zkl_canceler_free().
 * Returns 0; ZKL_EINVAL: ret is NULL. Since 0.1. */
ZKL_API int zkl_canceler_new(zkl_canceler **ret);

/* Ends every call that waits with c: it fails with ZKL_ECANCELED. So does every later one that
 * would have to wait, for good: whether this comes before the other thread has begun to wait makes
 * no difference. What a call has been granted before it returned is released; if it has returned
 * already, this changes nothing for it. May be called from any thread and any callback, but not
 * from a signal handler. Never waits. NULL is ignored. In a forked child it does nothing.
 * Since 0.1. */
ZKL_API void zkl_canceler_cancel(zkl_canceler *c);

/* Frees the canceler. No call that was given it may still run or begin. NULL is ignored. In a
 * forked child it does nothing. Since 0.1. */
ZKL_API void zkl_canceler_free(zkl_canceler *c);

ZKL_END

#endif
