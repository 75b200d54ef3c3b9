/* C++: the mutex. zkl.hpp has the conventions. */
#ifndef ZKL_MUTEX_HPP
#define ZKL_MUTEX_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <zkl/mutex.h>
#include <zkl/op.hpp>
#include <zkl/session.hpp>

namespace zkl
{

/* Mirrors zkl_mutex_options. An empty name is NULL there. */
struct mutex_options {
    std::string name;
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
    std::function<std::uint64_t()> key; /* empty: the calling thread is the owner. If it throws, the
                                           process ends by std::terminate() */
    zkl_peer peer = ZKL_PEER_CURATOR;
    std::chrono::milliseconds retain{0};
    bool fence64 = false;
};

namespace detail
{

using key_function = std::function<std::uint64_t()>;

inline std::uint64_t call_key(void *data) noexcept
{
    return (*static_cast<const key_function *>(data))();
}

struct mutex_freer {
    void operator()(zkl_mutex *m) const noexcept
    {
        zkl_mutex_free(m);
    }
};

/* The strings are the options'. */
inline zkl_mutex_options to_c(const mutex_options &o, const key_function *key) noexcept
{
    zkl_mutex_options c = ZKL_MUTEX_OPTIONS_INIT;

    c.name = text_or_null(o.name);
    c.parents = o.parents;
    c.key = key ? call_key : nullptr;
    c.key_data = const_cast<key_function *>(key);
    c.peer = o.peer;
    c.retain_ms = o.retain.count();
    c.fence64 = o.fence64 ? 1 : 0;
    return c;
}

} // namespace detail

/* A mutex: a TimedLockable, for std::unique_lock, std::lock_guard and std::scoped_lock. Without key
 * it belongs to the thread that locked it: a std::unique_lock must not be moved to another one.
 * zkl/mutex.h describes the functions. */
class mutex
{
  public:
    mutex(const session &s, const std::string &path, const mutex_options &options = {})
    {
        detail::check(make(s, path, options));
    }

    mutex(const session &s, const std::string &path, const mutex_options &options,
          std::error_code &ec) noexcept
    {
        detail::check(make(s, path, options), ec);
    }

    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    /* As zkl_mutex_free(). No call may begin afterwards, so a std::unique_lock must have ended. */
    ~mutex() = default;

    void lock()
    {
        detail::check(acquire(ZKL_FOREVER));
    }

    void lock(std::error_code &ec) noexcept
    {
        detail::check(acquire(ZKL_FOREVER), ec);
    }

    /* Without ec, false stands for errc::busy or errc::timed_out. */
    bool try_lock()
    {
        return detail::locked(acquire(0));
    }

    bool try_lock(std::error_code &ec) noexcept
    {
        return detail::check(acquire(0), ec) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &limit)
    {
        return detail::locked(acquire(detail::milliseconds(limit)));
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &limit, std::error_code &ec) noexcept
    {
        return detail::check(acquire(detail::milliseconds(limit)), ec) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &limit)
    {
        return detail::locked(acquire(detail::milliseconds(limit)));
    }

    /* Throws errc::not_owner if the caller does not hold the lock: in the destructor of a
     * std::unique_lock this ends the process. That the grant had been lost is no failure. The form
     * with ec reports that, too. */
    void unlock()
    {
        detail::unlocked(zkl_mutex_unlock(handle_.get()));
    }

    void unlock(std::error_code &ec) noexcept
    {
        detail::check(zkl_mutex_unlock(handle_.get()), ec);
    }

    /* The grant of the caller, lent until its last unlock. Throws errc::not_owner if the caller
     * does not hold the lock, and errc::lost if the grant was lost, or a transaction released
     * it. */
    grant_view grant() const
    {
        const zkl_grant *g = nullptr;

        if (depth() == 0)
            throw error({ZKL_EPERM, "", ""});
        detail::check(zkl_mutex_lock(handle_.get(), 0, &g)); /* one level deeper, and back */
        zkl_mutex_unlock(handle_.get());
        return {g, where_};
    }

    int depth() const
    {
        return detail::check(zkl_mutex_depth(handle_.get()));
    }

    void yield()
    {
        detail::check(zkl_mutex_yield(handle_.get()));
    }

    /* Without fn, operation::wait() gives the grant. */
    template <class Rep, class Period>
    operation lock_async(const std::chrono::duration<Rep, Period> &limit, acquired_function fn = {})
    {
        return detail::acquire_async(where_, std::move(fn), [&](auto *done, void *data, auto *op) {
            return zkl_mutex_lock_async(handle_.get(), detail::milliseconds(limit), done, data, op);
        });
    }

    zkl_mutex *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    int make(const session &s, const std::string &path, const mutex_options &options)
    {
        zkl_mutex *made = nullptr;

        where_ = s.environment();
        if (options.key)
            key_ = std::make_unique<const detail::key_function>(options.key);
        const zkl_mutex_options c = detail::to_c(options, key_.get());
        const int code = zkl_mutex_new(&made, s.native_handle(), path.c_str(), &c);
        handle_.reset(made);
        return code;
    }

    int acquire(std::int64_t timeout_ms) noexcept
    {
        return zkl_mutex_lock(handle_.get(), timeout_ms, nullptr);
    }

    detail::shared_environment where_;
    std::unique_ptr<const detail::key_function> key_;
    std::unique_ptr<zkl_mutex, detail::mutex_freer> handle_;
};

} // namespace zkl

#endif
