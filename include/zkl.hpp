/* zkl for C++17: ZooKeeper locks and leaders. This header includes the C++ interface, which is
 * inline code over the C interface: link with libzkl alone. The C headers say what each function
 * does; zkl-cpp(7) says more of what differs here:
 *
 * - An object owns its C handle, which its destructor frees. native_handle() gives it to the C
 *   functions that have no C++ form.
 * - Functions throw zkl::error, a std::system_error whose code() is one of zkl::errc. Those whose
 *   last parameter is a std::error_code set that instead, to 0 on success.
 * - Time limits are std::chrono durations. They are rounded up to milliseconds, and a negative one
 *   counts as 0. lock(), acquire(), campaign(), and done() and reset() of a once, have none.
 *   election::get_leader(), and functions whose limit is {} by default, wait for one session
 *   timeout. Functions named try_... return false or an empty grant for errc::busy and
 *   errc::timed_out, and throw for every other reason.
 * - The grant of a zkl::mutex or zkl::rwlock belongs to the thread that locked it, and is lent as a
 *   grant_view. Every other one is a zkl::grant: it belongs to no thread, may be moved to another
 *   one, and its destructor releases it.
 * - Callbacks are std::functions. The executor session_options::run gets each call as a task.
 * - An exception that leaves a callback or the executor goes to the hook session_options::thrown.
 *   If there is none, or it throws, the process ends by std::terminate().
 * - Declare what callbacks refer to before the session, or let them own it: only the session's
 *   destructor waits for them, and that of a watch for its own call. Neither does so inside a
 *   callback. What a task of the executor refers to must last until it has run.
 * - Locks, grants, elections and members may end before their session or after it. But a mutex or
 *   rwlock must not end before the std::unique_lock that refers to it. */
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
