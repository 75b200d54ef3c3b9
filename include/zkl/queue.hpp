/* C++: the contenders at a path. zkl.hpp has the conventions. */
#ifndef ZKL_QUEUE_HPP
#define ZKL_QUEUE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <zkl/queue.h>
#include <zkl/session.hpp>
#include <zkl/snapshot.hpp>
#include <zkl/watch.hpp>

namespace zkl
{

/* Mirrors zkl_contender. */
struct contender {
    explicit contender(const zkl_contender &c)
        : node(c.node), owner(c.owner), number(c.number), token(c.token), session_id(c.session_id),
          created(detail::created(c.ctime_ms)), holds(c.holds != 0), kind(c.kind), client(c.client),
          retains(c.retains != 0)
    {
    }

    std::string node, owner;
    std::int64_t number;
    std::uint64_t token;
    std::int64_t session_id;
    std::chrono::system_clock::time_point created;
    bool holds;
    zkl_kind kind;
    zkl_client client;
    bool retains;
};

/* The contenders as read, the first in line first. */
class queue : public snapshot<contender, zkl_queue>
{
  public:
    explicit queue(zkl_queue *made) : snapshot(made, zkl_queue_free, zkl_queue_count, zkl_queue_get)
    {
    }
};

/* Mirrors zkl_queue_options. */
struct queue_options {
    std::size_t max_nodes = 0;
    const queue *previous = nullptr; /* used during the call only */
};

namespace detail
{

inline zkl_queue_options to_c(const queue_options &o) noexcept
{
    zkl_queue_options c = ZKL_QUEUE_OPTIONS_INIT;

    c.max_nodes = o.max_nodes;
    c.previous = o.previous ? o.previous->native_handle() : nullptr;
    return c;
}

inline void on_queue(void *data) noexcept
{
    if (const auto call = registry<callback<>>::instance().find(data))
        (*call)();
}

} // namespace detail

/* zkl/queue.h describes the functions. */
template <class Rep = std::int64_t, class Period = std::milli>
queue read_queue(const session &s, const std::string &path, const queue_options &options = {},
                 const std::chrono::duration<Rep, Period> &limit = {})
{
    zkl_queue *made = nullptr;
    const zkl_queue_options c = detail::to_c(options);

    detail::check(
        zkl_queue_read(&made, s.native_handle(), path.c_str(), &c, detail::milliseconds(limit)));
    return queue(made);
}

/* See zkl_queue_revoke(); node "" is NULL there. Returns those that were asked. */
template <class Rep = std::int64_t, class Period = std::milli>
queue revoke(const session &s, const std::string &path, const std::string &node = {},
             const std::chrono::duration<Rep, Period> &limit = {})
{
    zkl_queue *asked = nullptr;

    detail::check(zkl_queue_revoke(&asked, s.native_handle(), path.c_str(),
                                   detail::text_or_null(node), detail::milliseconds(limit)));
    return queue(asked);
}

/* See zkl_queue_break(). */
template <class Rep = std::int64_t, class Period = std::milli>
void break_contender(const session &s, const std::string &path, const contender &c,
                     const std::chrono::duration<Rep, Period> &limit = {})
{
    detail::check(zkl_queue_break(s.native_handle(), path.c_str(), c.node.c_str(), c.token,
                                  detail::milliseconds(limit)));
}

/* Calls fn on the executor: see zkl_queue_watch(). */
inline watch watch_queue(const session &s, const std::string &path, std::function<void()> fn)
{
    detail::callback<> call(s.environment(), std::move(fn));

    return detail::begin_watch(std::move(call), [&](zkl_watch **ret, void *data) {
        return zkl_queue_watch(ret, s.native_handle(), path.c_str(), detail::on_queue, data);
    });
}

} // namespace zkl

#endif
