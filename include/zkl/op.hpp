/* C++: acquisitions in progress. zkl.hpp has the conventions. */
#ifndef ZKL_OP_HPP
#define ZKL_OP_HPP

#include <functional>
#include <memory>
#include <system_error>
#include <utility>
#include <zkl/callback.hpp>
#include <zkl/error.hpp>
#include <zkl/grant.hpp>
#include <zkl/op.h>

#if __cplusplus >= 202002L && __has_include(<stop_token>)
#include <stop_token>
#endif

namespace zkl
{

namespace detail
{

struct op_freer {
    void operator()(zkl_op *op) const noexcept
    {
        zkl_op_free(op);
    }
};

/* A grant from acquire_it(ret). By value, since the handle may be destroyed during the wait. */
template <class Acquire> grant acquire(shared_environment where, Acquire acquire_it)
{
    zkl_grant *handle = nullptr;

    check(acquire_it(&handle));
    return grant(handle, std::move(where));
}

template <class Acquire>
grant acquire(shared_environment where, std::error_code &ec, Acquire acquire_it) noexcept
{
    zkl_grant *handle = nullptr;

    check(acquire_it(&handle), ec);
    return grant(handle, std::move(where));
}

} // namespace detail

/* Called on the executor once. On success ec is 0, and g is released unless the callee moves it
 * away. With an empty function operation::wait() gives the result; but a campaign needs a function.
 */
using acquired_function = std::function<void(std::error_code ec, grant g)>;

/* An asynchronous acquisition. The destructor calls zkl_op_free(). */
class operation
{
  public:
    operation() noexcept = default;

    explicit operation(zkl_op *op, detail::shared_environment where = {}) noexcept
        : where_(std::move(where)), handle_(op)
    {
    }

    /* See zkl_op_wait(). */
    grant wait()
    {
        return detail::acquire(where_, [this](auto *g) { return zkl_op_wait(handle_.get(), g); });
    }

    grant wait(std::error_code &ec) noexcept
    {
        return detail::acquire(where_, ec,
                               [this](auto *g) { return zkl_op_wait(handle_.get(), g); });
    }

#ifdef __cpp_lib_jthread
    /* The same; a stop that is requested cancels it. */
    grant wait(std::stop_token stop)
    {
        const std::stop_callback end(std::move(stop), [this]() noexcept { cancel(); });

        return wait();
    }
#endif

    /* See zkl_op_cancel(). A completion that was given to the executor has begun. */
    void cancel() noexcept
    {
        zkl_op_cancel(handle_.get());
    }

    /* The C handle, for functions that have no C++ form. NULL: no acquisition. */
    zkl_op *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    detail::shared_environment where_;
    std::unique_ptr<zkl_op, detail::op_freer> handle_;
};

namespace detail
{

struct completion {
    shared_environment where;
    std::shared_ptr<const acquired_function> fn;
};

/* A grant that the executor drops with the task is released. */
inline void on_acquired(zkl_grant *handle, const zkl_error *err, void *data) noexcept
{
    const std::unique_ptr<completion> done(static_cast<completion *>(data));
    auto given = std::make_shared<grant>(handle, done->where);
    std::error_code ec;

    check(err ? err->code : 0, ec);
    post(done->where, [fn = done->fn, ec, given] { (*fn)(ec, std::move(*given)); });
}

/* start(fn, data, ret) begins it. */
template <class Start>
operation acquire_async(const shared_environment &where, acquired_function fn, Start start)
{
    if (!fn) {
        zkl_op *waited = nullptr;
        check(start(zkl_acquired_fn(nullptr), static_cast<void *>(nullptr), &waited));
        return operation(waited, where);
    }
    auto done = std::make_unique<completion>(
        completion{where, std::make_shared<const acquired_function>(std::move(fn))});
    zkl_op *op = nullptr;

    check(start(on_acquired, done.get(), &op));
    done.release();
    return operation(op);
}

/* A grant from acquire_it(ret), or none if is_taken(). */
template <class Acquire> grant try_acquire(shared_environment where, Acquire acquire_it)
{
    zkl_grant *handle = nullptr;
    const int code = acquire_it(&handle);

    if (!is_taken(code))
        check(code);
    return grant(handle, std::move(where));
}

/* Whether code says that the lock was acquired: false if is_taken(). */
inline bool locked(int code)
{
    return !is_taken(code) && check(code) == 0;
}

/* Checks what an unlock has returned. Two errors do not throw, so that neither ends a scope by an
 * exception: the grant had been lost, as the grant itself tells, and a forked child holds no
 * lock of its parent. */
inline void unlocked(int code)
{
    if (code != ZKL_ELOST && code != ZKL_ECHILD)
        check(code);
}

} // namespace detail

} // namespace zkl

#endif
