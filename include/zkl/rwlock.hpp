/* C++: the read-write lock. zkl.hpp has the conventions. */
#ifndef ZKL_RWLOCK_HPP
#define ZKL_RWLOCK_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <zkl/mutex.hpp>
#include <zkl/rwlock.h>

namespace zkl
{

/* The members of zkl_mutex_options that a read-write lock has. */
struct rwlock_options {
    std::string name;
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
    std::function<std::uint64_t()> key; /* as in mutex_options */
};

namespace detail
{

struct rwlock_freer {
    void operator()(zkl_rwlock *l) const noexcept
    {
        zkl_rwlock_free(l);
    }
};

/* The strings are the options'. */
inline zkl_mutex_options to_c(const rwlock_options &o, const key_function *key) noexcept
{
    zkl_mutex_options c = ZKL_MUTEX_OPTIONS_INIT;

    c.name = text_or_null(o.name);
    c.parents = o.parents;
    c.key = key ? call_key : nullptr;
    c.key_data = const_cast<key_function *>(key);
    return c;
}

} // namespace detail

/* A read-write lock with the functions of std::shared_timed_mutex, for std::unique_lock and
 * std::shared_lock. What zkl/mutex.hpp says of a function is true here, too. zkl/rwlock.h describes
 * the functions. */
class rwlock
{
  public:
    rwlock(const session &s, const std::string &path, const rwlock_options &options = {})
    {
        detail::check(make(s, path, options));
    }

    rwlock(const session &s, const std::string &path, const rwlock_options &options,
           std::error_code &ec) noexcept
    {
        detail::check(make(s, path, options), ec);
    }

    rwlock(const rwlock &) = delete;
    rwlock &operator=(const rwlock &) = delete;
    ~rwlock() = default;

    /* To write. */
    void lock()
    {
        detail::check(write(ZKL_FOREVER));
    }

    void lock(std::error_code &ec) noexcept
    {
        detail::check(write(ZKL_FOREVER), ec);
    }

    bool try_lock()
    {
        return detail::locked(write(0));
    }

    bool try_lock(std::error_code &ec) noexcept
    {
        return detail::check(write(0), ec) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &limit)
    {
        return detail::locked(write(detail::milliseconds(limit)));
    }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &limit, std::error_code &ec) noexcept
    {
        return detail::check(write(detail::milliseconds(limit)), ec) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &limit)
    {
        return detail::locked(write(detail::milliseconds(limit)));
    }

    /* Undoes one level of either kind, like unlock_shared(). */
    void unlock()
    {
        detail::unlocked(zkl_rwlock_unlock(handle_.get()));
    }

    void unlock(std::error_code &ec) noexcept
    {
        detail::check(zkl_rwlock_unlock(handle_.get()), ec);
    }

    /* To read. */
    void lock_shared()
    {
        detail::check(read(ZKL_FOREVER));
    }

    void lock_shared(std::error_code &ec) noexcept
    {
        detail::check(read(ZKL_FOREVER), ec);
    }

    bool try_lock_shared()
    {
        return detail::locked(read(0));
    }

    bool try_lock_shared(std::error_code &ec) noexcept
    {
        return detail::check(read(0), ec) == 0;
    }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &limit)
    {
        return detail::locked(read(detail::milliseconds(limit)));
    }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &limit,
                             std::error_code &ec) noexcept
    {
        return detail::check(read(detail::milliseconds(limit)), ec) == 0;
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &limit)
    {
        return detail::locked(read(detail::milliseconds(limit)));
    }

    void unlock_shared()
    {
        detail::unlocked(zkl_rwlock_unlock(handle_.get()));
    }

    void unlock_shared(std::error_code &ec) noexcept
    {
        detail::check(zkl_rwlock_unlock(handle_.get()), ec);
    }

    /* As mutex::grant(). */
    grant_view grant() const
    {
        const zkl_grant *g = nullptr;

        if (depth() == 0)
            throw error({ZKL_EPERM, "", ""});
        detail::check(zkl_rwlock_lock_shared(handle_.get(), 0, &g)); /* a level more, and back */
        zkl_rwlock_unlock(handle_.get());
        return {g, where_};
    }

    int depth() const
    {
        return detail::check(zkl_rwlock_depth(handle_.get()));
    }

    template <class Rep, class Period>
    operation lock_async(const std::chrono::duration<Rep, Period> &limit, acquired_function fn = {})
    {
        return begin(zkl_rwlock_lock_async, detail::milliseconds(limit), std::move(fn));
    }

    template <class Rep, class Period>
    operation lock_shared_async(const std::chrono::duration<Rep, Period> &limit,
                                acquired_function fn = {})
    {
        return begin(zkl_rwlock_lock_shared_async, detail::milliseconds(limit), std::move(fn));
    }

    zkl_rwlock *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    int make(const session &s, const std::string &path, const rwlock_options &options)
    {
        zkl_rwlock *made = nullptr;

        where_ = s.environment();
        if (options.key)
            key_ = std::make_unique<const detail::key_function>(options.key);
        const zkl_mutex_options c = detail::to_c(options, key_.get());
        const int code = zkl_rwlock_new(&made, s.native_handle(), path.c_str(), &c);
        handle_.reset(made);
        return code;
    }

    int write(std::int64_t timeout_ms) noexcept
    {
        return zkl_rwlock_lock(handle_.get(), timeout_ms, nullptr);
    }

    int read(std::int64_t timeout_ms) noexcept
    {
        return zkl_rwlock_lock_shared(handle_.get(), timeout_ms, nullptr);
    }

    template <class Start> operation begin(Start start, std::int64_t ms, acquired_function fn)
    {
        return detail::acquire_async(where_, std::move(fn), [&](auto *done, void *data, auto *op) {
            return start(handle_.get(), ms, done, data, op);
        });
    }

    detail::shared_environment where_;
    std::unique_ptr<const detail::key_function> key_;
    std::unique_ptr<zkl_rwlock, detail::rwlock_freer> handle_;
};

} // namespace zkl

#endif
