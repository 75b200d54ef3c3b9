/* zkl for C++17: ZooKeeper locks and leaders. This header includes the C++ interface, which is
 * inline code over the C interface: link with libzkl alone. The C headers say what each function
 * does; zkl-cpp(7) says more of what differs here:
 *
 * - An object but a grant_view owns its C handle. native_handle() gives it to the C functions that
 *   have no C++ form.
 * - Functions throw zkl::error, a std::system_error whose code() is one of zkl::errc. Those whose
 *   last parameter is a std::error_code set that instead, to 0 on success.
 * - Time limits are std::chrono durations, or time points for ..._until. They are rounded up to
 *   milliseconds, and what is below 0 or has passed counts as 0. lock(), lock_shared(), acquire(),
 *   campaign(), and done() and reset() of a once, have none. election::get_leader(), and functions
 *   called without their limit={}, wait for one session timeout at most. Without ec, functions
 *   named try_... return false or an empty grant for errc::busy and errc::timed_out.
 * - The grants of blocking calls of a zkl::mutex or zkl::rwlock, and that of the function of a
 *   once::call(), are lent as grant_views. Every other one is a zkl::grant: it belongs to no
 *   thread, and its destructor releases it.
 * - Callbacks are std::functions. The executor session_options::run gets each call as a task, but
 *   none of the log.
 * - An exception that leaves a callback or the executor goes to the hook session_options::thrown.
 *   If there is none, or it throws, the process ends by std::terminate().
 * - Declare what callbacks refer to before the session, or let them own it: only the session's
 *   destructor waits for them, and that of a watch for its own call. Neither does so where
 *   callbacks run without an executor. What a task of it refers to must last until it has run.
 * - Locks, grants, elections and members may end before their session or after it. But a mutex or
 *   rwlock must not end before a std::unique_lock or std::shared_lock that refers to it. */
#ifndef ZKL_HPP
#define ZKL_HPP

#include <zkl.h>
#include <zkl/callback.hpp>
#include <zkl/election.hpp>
#include <zkl/error.hpp>
#include <zkl/grant.hpp>
#include <zkl/member.hpp>
#include <zkl/multilock.hpp>
#include <zkl/mutex.hpp>
#include <zkl/once.hpp>
#include <zkl/op.hpp>
#include <zkl/queue.hpp>
#include <zkl/rwlock.hpp>
#include <zkl/semaphore.hpp>
#include <zkl/session.hpp>
#include <zkl/shards.hpp>
#include <zkl/snapshot.hpp>
#include <zkl/watch.hpp>

#endif
