/* zkl: ZooKeeper locks and leaders for C. Includes all headers of C but zkl-glib.h and
 * zkl-zookeeper.h.
 *
 * Everything is there since 0.1, unless its comment says that it is newer.
 *
 * These conventions hold unless a function's own comment says otherwise. zkl(3) says more.
 * - A function of type int returns 0, or a negative ZKL_E… code. After an error zkl_last_error()
 *   has the path concerned, if any, and a sentence.
 * - In a list of results, a code without a cause means what zkl/error.h says. ZKL_EINVAL is for
 *   NULL, too, as a handle, path, function or required output.
 * - Outputs are written on success only.
 * - Functions that free, close, release or cancel ignore NULL. No call may begin with a handle that
 *   was freed.
 * - A timeout_ms is in milliseconds. 0 does not wait for other contenders. It does wait for the
 *   server, for one session timeout at most. A negative number counts as 0. ZKL_FOREVER has no
 *   limit.
 * - Any thread may call any function, even inside a callback. A function that would have to block
 *   there returns ZKL_EDEADLK instead.
 * - Callbacks of a session run one at a time, in the order of events, with no lock of the library
 *   held. "On a library thread" mostly means inside zkl_session_dispatch() or zkl_session_close()
 *   if the session has the option dispatch.
 * - The library copies the strings and bytes that it gets. A string that it returns is valid as
 *   long as the object from which it was read.
 * - Structs of options begin with their size. Fill them with their ZKL_…_OPTIONS_INIT. */
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
