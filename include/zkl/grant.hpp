/* C++: grants. zkl.hpp has the conventions. */
#ifndef ZKL_GRANT_HPP
#define ZKL_GRANT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
#include <zkl/callback.hpp>
#include <zkl/error.hpp>
#include <zkl/grant.h>

namespace zkl
{

/* Mirrors zkl_state. */
enum class grant_state {
    held = ZKL_HELD,
    suspect = ZKL_SUSPECT,
    lost = ZKL_LOST,
    released = ZKL_RELEASED
};

/* Mirrors zkl_part. */
struct grant_part {
    std::uint64_t token;
    std::string node;
    int slot;
};

namespace detail
{

using change_callback = callback<grant_state>;
using call_registry = registry<callback<>>;

/* The call with a final state is the last one. */
inline void on_grant_change(const zkl_grant *, zkl_state state, void *data) noexcept
{
    auto *call = static_cast<change_callback *>(data);

    (*call)(static_cast<grant_state>(state));
    if (state == ZKL_LOST || state == ZKL_RELEASED)
        delete call;
}

/* A call that comes once or never, and may come late: its entry goes with it or with the grant. */
inline void on_grant_call(const zkl_grant *, zkl_state, void *data) noexcept
{
    if (const auto call = call_registry::instance().remove(data))
        (*call)();
}

inline void on_grant_end(const zkl_grant *, zkl_state state, void *data) noexcept
{
    if (state == ZKL_LOST || state == ZKL_RELEASED)
        call_registry::instance().remove(data);
}

} // namespace detail

/* A grant that somebody else owns: the lent one of a mutex or read-write lock; that of the function
 * of a once::call(); or the one inside a zkl::grant. zkl/grant.h says how long a lent one is valid,
 * and describes the functions. A copy refers to the same grant. One that is made without a grant
 * has the token 0, and is lost. */
class grant_view
{
  public:
    grant_view() noexcept = default;

    grant_view(const zkl_grant *handle, detail::shared_environment where) noexcept
        : handle_(handle), where_(std::move(where))
    {
    }

    std::uint64_t token() const noexcept
    {
        return zkl_grant_token(handle_);
    }

    std::uint64_t turn() const noexcept
    {
        return zkl_grant_turn(handle_);
    }

    std::string fence() const
    {
        char text[ZKL_FENCE_SIZE];

        detail::check(zkl_grant_fence(handle_, text, sizeof text));
        return text;
    }

    /* Empty without a grant. */
    std::vector<grant_part> parts() const
    {
        std::vector<grant_part> all;
        zkl_part part;

        while (zkl_grant_part(handle_, all.size(), &part) == 0)
            all.push_back({part.token, part.node, part.slot});
        return all;
    }

    grant_state state() const noexcept
    {
        return static_cast<grant_state>(zkl_grant_state(handle_));
    }

    /* zkl_strloss() gives the text. */
    zkl_loss loss() const noexcept
    {
        return zkl_grant_loss(handle_);
    }

    /* Whether the state is held or suspect. */
    bool owned() const noexcept
    {
        const grant_state now = state(); /* which may change between two looks */
        return now == grant_state::held || now == grant_state::suspect;
    }

    std::chrono::milliseconds remaining() const noexcept
    {
        return std::chrono::milliseconds(zkl_grant_remaining_ms(handle_));
    }

    zkl_deadline deadline() const
    {
        zkl_deadline at;

        detail::check(zkl_grant_deadline(handle_, &at));
        return at;
    }

    zkl_deadline deadline(std::error_code &ec) const noexcept
    {
        zkl_deadline at = {0, 0};

        detail::check(zkl_grant_deadline(handle_, &at), ec);
        return at;
    }

    std::string node() const
    {
        const char *path = zkl_grant_node(handle_);
        return path ? path : "";
    }

    /* Registers fn, which is called on the executor, as zkl_grant_on_change() says. A call may come
     * after this object has gone: fn must not refer to what may have gone then. */
    void on_change(std::function<void(grant_state)> fn) const
    {
        auto call = std::make_unique<detail::change_callback>(where_, std::move(fn));

        detail::check(zkl_grant_on_change(handle_, detail::on_grant_change, call.get()));
        call.release();
    }

    /* The same, for a loss only. */
    void on_lost(std::function<void()> fn) const
    {
        on_change([fn = std::move(fn)](grant_state now) {
            if (now == grant_state::lost)
                fn();
        });
    }

    /* The same, as zkl_grant_on_wanted() and zkl_grant_on_revoke(). */
    void on_wanted(std::function<void()> fn) const
    {
        register_call(zkl_grant_on_wanted, std::move(fn));
    }

    void on_revoke(std::function<void()> fn) const
    {
        register_call(zkl_grant_on_revoke, std::move(fn));
    }

    /* The C handle, for functions that have no C++ form, such as zkl_grant_multi(). NULL: no
     * grant. */
    const zkl_grant *native_handle() const noexcept
    {
        return handle_;
    }

    /* Whether there is a grant, even a lost one. */
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

  protected:
    const zkl_grant *handle_ = nullptr;

  private:
    /* Registers the grant's end first: it removes the entry, so a call that comes after it finds
     * none. */
    void register_call(int (*c)(const zkl_grant *, zkl_grant_fn, void *),
                       std::function<void()> fn) const
    {
        auto &all = detail::call_registry::instance();
        void *const key = all.add({where_, std::move(fn)});
        int code = zkl_grant_on_change(handle_, detail::on_grant_end, key);

        if (code == 0)
            code = c(handle_, detail::on_grant_call, key);
        if (code == 0)
            return;
        zkl_error e;
        zkl_last_error(&e);
        all.remove(key);
        throw error(e);
    }

    detail::shared_environment where_;
};

/* A grant that this object owns: of a semaphore, a multilock, a campaign, a term, a shard, a
 * membership or an asynchronous acquisition. The destructor releases it, as zkl_grant_release()
 * does. It may be moved, and may outlive the lock and the session. */
class grant : public grant_view
{
  public:
    grant() noexcept = default;

    grant(zkl_grant *handle, detail::shared_environment where) noexcept
        : grant_view(handle, std::move(where))
    {
    }

    grant(grant &&other) noexcept : grant_view(other)
    {
        other.handle_ = nullptr;
    }

    grant &operator=(grant &&other) noexcept
    {
        if (this != &other) {
            release();
            grant_view::operator=(other);
            other.handle_ = nullptr;
        }
        return *this;
    }

    ~grant()
    {
        release();
    }

    /* Casts const away: this object owns the grant that its constructor got. */
    void release() noexcept
    {
        zkl_grant_release(const_cast<zkl_grant *>(std::exchange(handle_, nullptr)));
    }
};

} // namespace zkl

#endif
