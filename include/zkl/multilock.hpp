/* C++: the lock at several paths. zkl.hpp has the conventions. */
#ifndef ZKL_MULTILOCK_HPP
#define ZKL_MULTILOCK_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
#include <zkl/multilock.h>
#include <zkl/op.hpp>
#include <zkl/session.hpp>

namespace zkl
{

/* The members of zkl_mutex_options that a lock at several paths has. */
struct multilock_options {
    std::string name;
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
    zkl_peer peer = ZKL_PEER_CURATOR;
};

namespace detail
{

struct multilock_freer {
    void operator()(zkl_multilock *l) const noexcept
    {
        zkl_multilock_free(l);
    }
};

/* The strings are the options'. */
inline zkl_mutex_options to_c(const multilock_options &o) noexcept
{
    zkl_mutex_options c = ZKL_MUTEX_OPTIONS_INIT;

    c.name = text_or_null(o.name);
    c.parents = o.parents;
    c.peer = o.peer;
    return c;
}

} // namespace detail

/* A lock at several paths, all or none. zkl/multilock.h describes the functions, and zkl(7)
 * when there is no deadlock: prefer it to std::scoped_lock with several zkl::mutex. */
class multilock
{
  public:
    multilock(const session &s, const std::vector<std::string> &paths,
              const multilock_options &options = {})
    {
        detail::check(make(s, paths, options));
    }

    multilock(const session &s, const std::vector<std::string> &paths,
              const multilock_options &options, std::error_code &ec) noexcept
    {
        detail::check(make(s, paths, options), ec);
    }

    grant acquire()
    {
        return detail::acquire(where_, [&](auto *g) { return get(ZKL_FOREVER, g); });
    }

    grant acquire(std::error_code &ec) noexcept
    {
        return detail::acquire(where_, ec, [&](auto *g) { return get(ZKL_FOREVER, g); });
    }

    /* Without ec an empty grant stands for errc::busy or errc::timed_out. */
    grant try_acquire()
    {
        return detail::try_acquire(where_, [&](auto *g) { return get(0, g); });
    }

    template <class Rep, class Period>
    grant try_acquire_for(const std::chrono::duration<Rep, Period> &limit)
    {
        return detail::try_acquire(where_,
                                   [&](auto *g) { return get(detail::milliseconds(limit), g); });
    }

    template <class Rep, class Period>
    grant try_acquire_for(const std::chrono::duration<Rep, Period> &limit,
                          std::error_code &ec) noexcept
    {
        return detail::acquire(where_, ec,
                               [&](auto *g) { return get(detail::milliseconds(limit), g); });
    }

    template <class Clock, class Duration>
    grant try_acquire_until(const std::chrono::time_point<Clock, Duration> &limit)
    {
        return detail::try_acquire(where_,
                                   [&](auto *g) { return get(detail::milliseconds(limit), g); });
    }

    template <class Rep, class Period>
    operation acquire_async(const std::chrono::duration<Rep, Period> &limit,
                            acquired_function fn = {})
    {
        return detail::acquire_async(where_, std::move(fn), [&](auto *done, void *data, auto *op) {
            return zkl_multilock_lock_async(handle_.get(), detail::milliseconds(limit), done, data,
                                            op);
        });
    }

    zkl_multilock *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    int make(const session &s, const std::vector<std::string> &paths,
             const multilock_options &options)
    {
        zkl_multilock *made = nullptr;
        const zkl_mutex_options c = detail::to_c(options);
        std::vector<const char *> names;

        where_ = s.environment();
        for (const std::string &path : paths)
            names.push_back(path.c_str());
        const int code =
            zkl_multilock_new(&made, s.native_handle(), names.data(), names.size(), &c);
        handle_.reset(made);
        return code;
    }

    int get(std::int64_t timeout_ms, zkl_grant **ret) noexcept
    {
        return zkl_multilock_lock(handle_.get(), timeout_ms, ret);
    }

    detail::shared_environment where_;
    std::unique_ptr<zkl_multilock, detail::multilock_freer> handle_;
};

} // namespace zkl

#endif
