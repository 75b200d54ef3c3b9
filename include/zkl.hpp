/* zkl for C++17: ZooKeeper locks and leaders. This header includes the C++ interface, which is
 * inline code over the C interface: link with libzkl alone. zkl.h and the headers that it includes
 * say what each function does, and all that holds here as well. What C++ adds:
 *
 * - An object owns its C handle, which its destructor frees. native_handle() gives it to the C
 *   functions that have no C++ form, as those of barriers and counters, and zkl_grant_multi().
 * - Functions throw zkl::error, a std::system_error whose code() is one of zkl::errc. Those whose
 *   last parameter is a std::error_code are noexcept and set it, to 0 on success. If memory runs
 *   out there, the process ends, as it does in the library itself.
 * - Time limits are std::chrono durations. They are rounded up to milliseconds, and a negative one
 *   counts as 0. Functions without a limit wait without limit, except election::get_leader() and
 *   those whose limit is {} by default, which wait for one session timeout, and session::close().
 *   Those named try_... return false or an empty grant if somebody else holds or is first, and
 *   throw for every other reason.
 * - zkl::mutex and zkl::rwlock work with std::unique_lock, std::lock_guard and std::shared_lock,
 *   and belong to the thread that locked them. Grants of every other kind belong to no thread: a
 *   zkl::grant may be moved to another one, and its destructor releases it.
 * - A grant knows until when it is owned: remaining(), deadline(), state(). Look at it before each
 *   action. Callbacks tell the same, but later.
 *
 * Callbacks are std::functions, and those of a session run one at a time, in the order of events.
 * The executor session_options::run gets each call as a task. Without it they run on the library's
 * callback thread, or with the option dispatch inside session::dispatch() and session::close():
 * they must not block there, and a lock throws errc::deadlock. An exception that leaves a callback,
 * or the executor, goes to the hook session_options::thrown, on the same thread. If there is no
 * hook, or the hook throws, the process ends by std::terminate(). No exception passes through C.
 *
 * A callback may come late. Only the session's destructor waits for callbacks, and that of a watch
 * for its own call: when the session's returns, those that were running or queued have returned, or
 * were given to the executor (unless it runs inside a callback). So declare what callbacks refer to
 * before the session, or let them own it. Tasks of the executor that have not run yet are the
 * executor's own, and what they refer to must last until they have run.
 *
 * No destructor waits for a server except the session's, which waits up to 5 s. Their order does
 * not matter: locks, grants and elections may go before their session or after it. But a mutex or
 * rwlock must not go before the std::unique_lock that refers to it. In a forked child destructors
 * change nothing. */
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
