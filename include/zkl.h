/* zkl: ZooKeeper locks and leaders for C. This header includes the whole public interface.
 *
 * Conventions. Each holds for every function whose own comment does not say otherwise:
 * - A function that returns int returns 0, or a negative ZKL_E… code. zkl_last_error() then gives
 *   the calling thread's last failure with the path it concerns and a sentence.
 * - NULL: functions that free, close, release or cancel ignore it. Others return ZKL_EINVAL for a
 *   handle, path, function or required output that is NULL. Outputs and options that may be NULL
 *   are named in the comment. Outputs are written on success only.
 * - A timeout_ms is in milliseconds. 0 does not wait for other contenders. It does wait for the
 *   server, for one session timeout at most. ZKL_FOREVER, like every negative number, has no limit.
 * - Any thread may call any function, also inside a callback. A function that would
 *   have to block inside a callback returns ZKL_EDEADLK instead.
 * - Callbacks of a session run one at a time, in the order of events, with no lock of the library
 *   held. They run on a library thread; in a session that was opened with the option dispatch they
 *   run inside zkl_session_dispatch(). "On a library thread" means either.
 * - No function is a cancellation point (pthread_cancel()), like pthread_mutex_lock().
 * - The library copies strings and data that it is given. A string that it returns belongs to the
 *   object that it was asked of, and is valid as long as that object.
 * - A function that is called in a forked child returns ZKL_ECHILD and changes nothing.
 * - A function that creates a handle from a session has its output first; a function of a handle
 *   has its outputs last.
 * - Structs of options begin with their size; fill them with their ZKL_…_OPTIONS_INIT. */
#ifndef ZKL_H
#define ZKL_H

#include <zkl/barrier.h>
#include <zkl/canceler.h>
#include <zkl/cleanup.h>
#include <zkl/counter.h>
#include <zkl/election.h>
#include <zkl/error.h>
#include <zkl/grant.h>
#include <zkl/multi.h>
#include <zkl/multilock.h>
#include <zkl/mutex.h>
#include <zkl/op.h>
#include <zkl/queue.h>
#include <zkl/rwlock.h>
#include <zkl/semaphore.h>
#include <zkl/session.h>
#include <zkl/version.h>
#include <zkl/watch.h>

#endif
