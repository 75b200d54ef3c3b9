/* C++: the semaphore. zkl.hpp has the conventions. */
#ifndef ZKL_SEMAPHORE_HPP
#define ZKL_SEMAPHORE_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <zkl/op.hpp>
#include <zkl/semaphore.h>
#include <zkl/session.hpp>

namespace zkl
{

/* Mirrors zkl_semaphore_options. */
struct semaphore_options {
    std::string name;
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
    int limit = 0;
    bool numbered = false;
    zkl_semaphore_layout layout = ZKL_SEMAPHORE_ZKL;
};

namespace detail
{

struct semaphore_freer {
    void operator()(zkl_semaphore *m) const noexcept
    {
        zkl_semaphore_free(m);
    }
};

/* The strings are the options'. */
inline zkl_semaphore_options to_c(const semaphore_options &o) noexcept
{
    zkl_semaphore_options c = ZKL_SEMAPHORE_OPTIONS_INIT;

    c.name = text_or_null(o.name);
    c.parents = o.parents;
    c.limit = o.limit;
    c.numbered = o.numbered ? 1 : 0;
    c.layout = o.layout;
    return c;
}

} // namespace detail

/* A semaphore. zkl/semaphore.h describes the functions. */
class semaphore
{
  public:
    semaphore(const session &s, const std::string &path, const semaphore_options &options = {})
    {
        detail::check(make(s, path, options));
    }

    semaphore(const session &s, const std::string &path, const semaphore_options &options,
              std::error_code &ec) noexcept
    {
        detail::check(make(s, path, options), ec);
    }

    grant acquire(int permits = 1)
    {
        return detail::acquire(where_, [&](auto *g) { return get(permits, ZKL_FOREVER, g); });
    }

    grant acquire(int permits, std::error_code &ec) noexcept
    {
        return detail::acquire(where_, ec, [&](auto *g) { return get(permits, ZKL_FOREVER, g); });
    }

    /* Without ec an empty grant stands for errc::busy or errc::timed_out. */
    grant try_acquire(int permits = 1)
    {
        return detail::try_acquire(where_, [&](auto *g) { return get(permits, 0, g); });
    }

    template <class Rep, class Period>
    grant try_acquire_for(const std::chrono::duration<Rep, Period> &limit, int permits = 1)
    {
        return detail::try_acquire(
            where_, [&](auto *g) { return get(permits, detail::milliseconds(limit), g); });
    }

    template <class Rep, class Period>
    grant try_acquire_for(const std::chrono::duration<Rep, Period> &limit, int permits,
                          std::error_code &ec) noexcept
    {
        return detail::acquire(
            where_, ec, [&](auto *g) { return get(permits, detail::milliseconds(limit), g); });
    }

    template <class Clock, class Duration>
    grant try_acquire_until(const std::chrono::time_point<Clock, Duration> &limit, int permits = 1)
    {
        return detail::try_acquire(
            where_, [&](auto *g) { return get(permits, detail::milliseconds(limit), g); });
    }

    template <class Rep, class Period>
    operation acquire_async(int permits, const std::chrono::duration<Rep, Period> &limit,
                            acquired_function fn = {})
    {
        return detail::acquire_async(where_, std::move(fn), [&](auto *done, void *data, auto *op) {
            return zkl_semaphore_acquire_async(handle_.get(), permits, detail::milliseconds(limit),
                                               done, data, op);
        });
    }

    zkl_semaphore *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    int make(const session &s, const std::string &path, const semaphore_options &options)
    {
        zkl_semaphore *made = nullptr;
        const zkl_semaphore_options c = detail::to_c(options);

        where_ = s.environment();
        const int code = zkl_semaphore_new(&made, s.native_handle(), path.c_str(), &c);
        handle_.reset(made);
        return code;
    }

    int get(int permits, std::int64_t timeout_ms, zkl_grant **ret) noexcept
    {
        return zkl_semaphore_acquire(handle_.get(), permits, timeout_ms, ret);
    }

    detail::shared_environment where_;
    std::unique_ptr<zkl_semaphore, detail::semaphore_freer> handle_;
};

} // namespace zkl

#endif
