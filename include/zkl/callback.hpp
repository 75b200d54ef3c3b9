/* C++: where callbacks run, and what becomes of their exceptions. */
#ifndef ZKL_CALLBACK_HPP
#define ZKL_CALLBACK_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <zkl/api.h>

namespace zkl
{

/* Runs a task: now, later or on another thread. It must run each task once, and should run them one
 * after the other, in the order in which it got them. It is called where callbacks would run
 * without it, and must not block for long. */
using executor = std::function<void(std::function<void()>)>;

/* Gets what a callback or the executor threw, on the thread on which it was thrown. What the hook
 * itself throws ends the process by std::terminate(). */
using exception_hook = std::function<void(std::exception_ptr)>;

namespace detail
{

/* The callbacks of a session share this, and may outlive the session. */
struct environment {
    executor run;
    exception_hook thrown;

    /* No exception leaves by here: C may call us. */
    template <class Task> void guard(Task &&task) const noexcept
    {
        try {
            task();
        } catch (...) {
            if (!thrown)
                std::terminate();
            thrown(std::current_exception());
        }
    }
};

using shared_environment = std::shared_ptr<const environment>;

/* Runs a copyable task where the session's callbacks run. */
template <class Task> void post(const shared_environment &where, Task task) noexcept
{
    where->guard([&] {
        if (!where->run)
            task();
        else
            where->run([where, task] { where->guard(task); });
    });
}

/* A user's function, as C has it. */
template <class... Args> class callback
{
  public:
    callback(shared_environment where, std::function<void(Args...)> fn)
        : where_(std::move(where)),
          fn_(std::make_shared<const std::function<void(Args...)>>(std::move(fn)))
    {
    }

    void operator()(const Args &...args) const noexcept
    {
        post(where_, [fn = fn_, args...] { (*fn)(args...); });
    }

    /* Where the session's callbacks run. */
    const shared_environment &where() const noexcept
    {
        return where_;
    }

  private:
    shared_environment where_;
    std::shared_ptr<const std::function<void(Args...)>> fn_;
};

/* Keeps objects that C may call back once too often: C knows only a number, which means nothing
 * when the entry is gone. Never destroyed, since library threads may run until the process ends. */
template <class T> class registry
{
  public:
    static registry &instance()
    {
        static registry *const all = new registry;
        return *all;
    }

    void *add(T entry)
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        entries_.emplace(++last_, std::make_shared<const T>(std::move(entry)));
        return reinterpret_cast<void *>(last_);
    }

    /* NULL: it is gone. */
    std::shared_ptr<const T> find(void *key)
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto found = entries_.find(reinterpret_cast<std::uintptr_t>(key));
        return found != entries_.end() ? found->second : nullptr;
    }

    /* Returns the entry, so that the caller destroys it without our lock. */
    std::shared_ptr<const T> remove(void *key)
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto node = entries_.extract(reinterpret_cast<std::uintptr_t>(key));
        return node ? node.mapped() : nullptr;
    }

  private:
    std::mutex mutex_;
    std::uintptr_t last_ = 0;
    std::unordered_map<std::uintptr_t, std::shared_ptr<const T>> entries_;
};

/* A time limit, rounded up. One that has passed is 0, and one of 10^15 ms or more, some 31,700
 * years, is no limit. */
template <class Rep, class Period>
std::int64_t milliseconds(const std::chrono::duration<Rep, Period> &limit) noexcept
{
    using ms = std::chrono::duration<std::int64_t, std::milli>;

    if (!(limit > limit.zero()))
        return 0;
    if (std::chrono::duration<double, std::milli>(limit).count() >= 1e15)
        return ZKL_FOREVER;
    return std::chrono::ceil<ms>(limit).count();
}

template <class Clock, class Duration>
std::int64_t milliseconds(const std::chrono::time_point<Clock, Duration> &limit)
{
    const auto now = Clock::now();
    return limit > now ? milliseconds(limit - now) : 0;
}

/* "" is the option's NULL. */
inline const char *text_or_null(const std::string &text) noexcept
{
    return text.empty() ? nullptr : text.c_str();
}

} // namespace detail

} // namespace zkl

#endif
