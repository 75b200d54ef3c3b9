/* zkl for C++17: ZooKeeper locks and leaders. This header includes the C++ interface, which is
 * inline code over the C interface; link with libzkl alone. zkl.h and the headers that it includes
 * say what each function does, and everything there holds here as well. What C++ adds:
 *
 * - Objects own their C handle and free it in their destructor. native_handle() gives it to the C
 *   functions that have no C++ form (barriers, counters, queues, zkl_grant_multi()).
 * - Functions throw zkl::error, a std::system_error whose code() is one of zkl::errc. Those whose
 *   last parameter is a std::error_code are noexcept and set it, to 0 on success. Memory that runs
 *   out ends the process there, as in the library itself.
 * - Time limits are std::chrono durations, rounded up to milliseconds. One that is negative counts
 * as 0; functions without a limit wait without limit. try_… return false or an empty grant if
 * somebody else holds, and throw for every other reason.
 * - zkl::mutex and zkl::rwlock work with std::unique_lock, std::lock_guard and std::shared_lock.
 * They belong to the thread that locked them. Everything else belongs to no thread; a zkl::grant
 *   may be moved to another one, and its destructor releases it.
 * - A grant knows until when it is owned: remaining(), deadline(), state(). Look at it before each
 *   action. Callbacks tell the same later.
 *
 * Callbacks are std::functions. They run one at a time, in order. Where they run is said by
 * session_options::run, an executor that gets each call as a task. Without one they run on the
 * library's callback thread (or inside session::dispatch()): they must not block there, and locks
 * throw errc::deadlock. Nothing waits for callbacks but session::close() and its destructor, so a
 * callback must own what it refers to, or refer to what outlives the session. What was given to an
 * executor is run by the executor: end its tasks after the session and before what they refer to.
 *
 * An exception that leaves a callback, or the executor, goes to session_options::thrown, on the
 * same thread. If there is no such hook, or the hook throws, the process ends by std::terminate().
 * No exception passes through C.
 *
 * Destructors never wait for a server, but for that of a session (see session::close()). Any order
 * is safe: locks and grants of a session that was closed are lost or closed. Destroy a mutex or
 * rwlock after every std::unique_lock of it, and when no call to it is in progress in another
 * thread that would begin another one. Since 0.1. */
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
#include <zkl/op.hpp>
#include <zkl/rwlock.hpp>
#include <zkl/semaphore.hpp>
#include <zkl/session.hpp>

#endif
