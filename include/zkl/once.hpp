/* C++: work that is run once. zkl.hpp has the conventions. */
#ifndef ZKL_ONCE_HPP
#define ZKL_ONCE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <zkl/grant.hpp>
#include <zkl/once.h>
#include <zkl/session.hpp>

namespace zkl
{

/* Mirrors zkl_once_options. An empty string is NULL there. */
struct once_options {
    std::string name;
    std::chrono::milliseconds period{0};
    std::chrono::milliseconds slack{0};
    std::string calendar;
    std::string zone;
    std::chrono::milliseconds late{0};
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
};

/* Mirrors zkl_once_run, without local_ms; begun and due are by the servers' clocks. */
struct once_run {
    std::chrono::system_clock::time_point begun;
    std::optional<std::chrono::system_clock::time_point> due; /* none: after a reset */
    std::uint64_t token;
    std::string name, result;
    std::string calendar; /* with its zone; empty: run by none */
    std::optional<std::chrono::system_clock::time_point> instant; /* of it; none: by none */
};

namespace detail
{

struct once_freer {
    void operator()(zkl_once *o) const noexcept
    {
        zkl_once_free(o);
    }
};

/* The strings are the options'. */
inline zkl_once_options to_c(const once_options &o) noexcept
{
    zkl_once_options c = ZKL_ONCE_OPTIONS_INIT;

    c.name = text_or_null(o.name);
    c.period_ms = o.period.count();
    c.slack_ms = o.slack.count();
    c.calendar = text_or_null(o.calendar);
    c.zone = text_or_null(o.zone);
    c.late_ms = o.late.count();
    c.parents = o.parents;
    return c;
}

/* Takes the run. */
inline std::optional<once_run> run_of(zkl_once_run *run)
{
    using std::chrono::milliseconds;
    using instant = std::chrono::system_clock::time_point;
    const std::unique_ptr<zkl_once_run, void (*)(zkl_once_run *)> owner(run, zkl_once_run_free);

    if (!run)
        return std::nullopt;
    once_run made = {instant(milliseconds(run->begun_ms)),
                     std::nullopt,
                     run->token,
                     run->name,
                     std::string(static_cast<const char *>(run->result), run->size),
                     run->calendar ? run->calendar : "",
                     std::nullopt};
    if (run->due_ms != 0)
        made.due = instant(milliseconds(run->due_ms));
    if (run->calendar)
        made.instant = instant(milliseconds(run->instant_ms));
    return made;
}

/* Calls the user's function once, and keeps its exception until C has returned. */
template <class Fn> struct once_work {
    Fn &fn;
    shared_environment where;
    std::string result;
    std::exception_ptr thrown;

    void run(const grant_view &g)
    {
        if constexpr (std::is_void_v<std::invoke_result_t<Fn &, const grant_view &>>)
            fn(g);
        else
            result = std::string(fn(g));
    }

    static int call(const zkl_grant *g, void *data, const void **ret, std::size_t *size) noexcept
    {
        auto *work = static_cast<once_work *>(data);

        try {
            work->run({g, work->where});
        } catch (...) {
            work->thrown = std::current_exception();
            return 1;
        }
        *ret = work->result.data();
        *size = work->result.size();
        return 0;
    }
};

} // namespace detail

/* Work that all processes together do once, once in each period, or once for each instant.
 * zkl/once.h describes the functions. */
class once
{
  public:
    once(const session &s, const std::string &path, const once_options &options = {})
    {
        detail::check(make(s, path, options));
    }

    once(const session &s, const std::string &path, const once_options &options,
         std::error_code &ec) noexcept
    {
        detail::check(make(s, path, options), ec);
    }

    /* Calls fn(grant_view) as zkl_once_call() does. The std::string that fn returns, if any, is the
     * result. What fn throws is thrown, and nothing is recorded. Returns the run that was recorded
     * last; none: it was reset since. */
    template <class Rep, class Period, class Fn>
    std::optional<once_run> call(const std::chrono::duration<Rep, Period> &limit, Fn &&fn)
    {
        using work_of_fn = detail::once_work<std::remove_reference_t<Fn>>;
        work_of_fn work = {fn, where_, {}, {}};
        zkl_once_run *run = nullptr;
        const int code = zkl_once_call(handle_.get(), detail::milliseconds(limit), work_of_fn::call,
                                       &work, &run);

        if (work.thrown)
            std::rethrow_exception(work.thrown);
        detail::check(code);
        return detail::run_of(run);
    }

    /* The run that was recorded last; none: none is. */
    std::optional<once_run> done() const
    {
        zkl_once_run *run = nullptr;
        const int code = zkl_once_done(handle_.get(), ZKL_FOREVER, &run);

        if (code != ZKL_ENOENT)
            detail::check(code);
        return detail::run_of(run);
    }

    void reset()
    {
        detail::check(zkl_once_reset(handle_.get(), ZKL_FOREVER));
    }

    zkl_once *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    int make(const session &s, const std::string &path, const once_options &options)
    {
        zkl_once *made = nullptr;
        const zkl_once_options c = detail::to_c(options);

        where_ = s.environment();
        const int code = zkl_once_new(&made, s.native_handle(), path.c_str(), &c);
        handle_.reset(made);
        return code;
    }

    detail::shared_environment where_;
    std::unique_ptr<zkl_once, detail::once_freer> handle_;
};

} // namespace zkl

#endif
