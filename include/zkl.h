/* zkl: ZooKeeper locks and leaders for C. This header brings the whole public interface.
 *
 * Conventions, for every function unless its own comment says otherwise:
 * - int results are 0 or a negative ZKL_E… code; zkl_last_error() has the thread's last failure.
 * - Timeouts are milliseconds: 0 tries without waiting for others, ZKL_FOREVER has no limit.
 * - Any thread may call any function, callbacks included; what would have to block in a callback
 *   answers ZKL_EDEADLK instead.
 * - A callback runs on a library thread or, in a session opened with the option dispatch, inside
 *   zkl_session_dispatch(): "on a library thread" means either.
 * - No call is a point of cancellation (pthread_cancel()), as pthread_mutex_lock() is none.
 * - Strings given are copied; strings answered belong to the object they were asked of.
 * - A call in a forked child answers ZKL_ECHILD and touches nothing. */
#ifndef ZKL_H
#define ZKL_H

#include <zkl/election.h>
#include <zkl/error.h>
#include <zkl/grant.h>
#include <zkl/multi.h>
#include <zkl/mutex.h>
#include <zkl/op.h>
#include <zkl/queue.h>
#include <zkl/session.h>
#include <zkl/version.h>
#include <zkl/watch.h>

#endif
