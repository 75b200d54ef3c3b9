/* zkl: ZooKeeper locks and leaders for C. This header includes the whole public interface.
 *
 * Everything is there since 0.1, unless its comment says that it is newer.
 *
 * Conventions. Each one holds for every function whose own comment does not say otherwise:
 * - A function of type int returns 0, or a negative ZKL_E… code. After an error, zkl_last_error()
 *   returns the calling thread's last failure, with the path concerned and a sentence.
 * - A list of results names each code with its cause. A code without a cause means what
 *   zkl/error.h says: ZKL_ECLOSED that the session was closed or the handle freed, ZKL_ECHILD that
 *   the function was called in a forked child.
 * - Functions that free, close, release or cancel ignore NULL. Other functions return ZKL_EINVAL
 *   for a handle, path, function or required output that is NULL. The comment names the outputs and
 *   options that may be NULL. Outputs are written on success only.
 * - A timeout_ms is in milliseconds. 0 does not wait for other contenders. It does wait for the
 *   server, for one session timeout at most. A negative number counts as 0, so a caller may pass a
 *   deadline less the present time. ZKL_FOREVER, the largest number, has no limit.
 * - Any thread may call any function, even inside a callback. A function that would have to block
 *   inside a callback returns ZKL_EDEADLK instead.
 * - Callbacks of a session run one at a time, in the order of events, with no lock of the library
 *   held. They run on a library thread. In a session that was opened with the option dispatch they
 *   run inside zkl_session_dispatch(). "On a library thread" means either.
 * - No function is a cancellation point (pthread_cancel()); pthread_mutex_lock() is none either.
 * - The library copies the strings and data that it gets. A string that it returns belongs to the
 *   object from which it was read, and is valid as long as that object.
 * - A function that is called in a forked child returns ZKL_ECHILD and changes nothing.
 * - A function that creates a handle has its output first. Any other function has its outputs last.
 * - Structs of options begin with their size. Fill them with their ZKL_…_OPTIONS_INIT; or set all
 * to 0 but the size. */
#ifndef ZKL_H
#define ZKL_H

#include <zkl/barrier.h>
#include <zkl/cleanup.h>
#include <zkl/counter.h>
#include <zkl/election.h>
#include <zkl/error.h>
#include <zkl/grant.h>
#include <zkl/member.h>
#include <zkl/multi.h>
#include <zkl/multilock.h>
#include <zkl/mutex.h>
#include <zkl/once.h>
#include <zkl/op.h>
#include <zkl/queue.h>
#include <zkl/rwlock.h>
#include <zkl/semaphore.h>
#include <zkl/session.h>
#include <zkl/shards.h>
#include <zkl/stats.h>
#include <zkl/version.h>
#include <zkl/watch.h>

#endif
