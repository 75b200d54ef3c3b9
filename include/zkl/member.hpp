/* C++: being a member of a group, and observing one. zkl.hpp has the conventions. */
#ifndef ZKL_MEMBER_HPP
#define ZKL_MEMBER_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>
#include <zkl/grant.hpp>
#include <zkl/member.h>
#include <zkl/session.hpp>
#include <zkl/snapshot.hpp>
#include <zkl/watch.hpp>

namespace zkl
{

/* Mirrors zkl_member_news. */
struct member_event {
    zkl_member_event kind;
    std::uint64_t token;
    bool again;
    zkl_loss loss; /* of LOST */
    std::int64_t session_id;
    std::string data;      /* of BUSY */
    std::error_code error; /* of FAILED and LEFT */
};

/* Mirrors zkl_member_options. */
struct member_options {
    zkl_member_layout layout = ZKL_MEMBER_GROUP;
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
    std::function<void(const member_event &event)> fn; /* called on the executor */
};

namespace detail
{

struct member_freer {
    void operator()(zkl_member *m) const noexcept
    {
        zkl_member_free(m);
    }
};

inline void on_member(zkl_member *, zkl_member_event kind, const zkl_member_news *news,
                      void *data) noexcept
{
    auto *call = static_cast<callback<member_event> *>(data);
    member_event event{kind,       news->token, news->again != 0, news->loss, news->session_id,
                       news->data, {}};

    check(news->err ? news->err->code : 0, event.error);
    (*call)(event);
    if (kind == ZKL_MEMBER_LEFT)
        delete call;
}

} // namespace detail

/* A member of a group. zkl/member.h describes the functions. The destructor leaves; events still
 * come, up to ZKL_MEMBER_LEFT. */
class member
{
  public:
    member(const session &s, const std::string &path, const std::string &id,
           std::string_view data = {}, const member_options &options = {})
        : where_(s.environment())
    {
        zkl_member_options c = ZKL_MEMBER_OPTIONS_INIT;
        zkl_member *made = nullptr;
        std::unique_ptr<detail::callback<member_event>> call;

        c.layout = options.layout;
        c.parents = options.parents;
        if (options.fn) {
            call = std::make_unique<detail::callback<member_event>>(where_, options.fn);
            c.fn = detail::on_member;
            c.fn_data = call.get();
        }
        detail::check(zkl_member_join(&made, s.native_handle(), path.c_str(), id.c_str(),
                                      data.empty() ? nullptr : data.data(), data.size(), &c));
        call.release();
        handle_.reset(made);
    }

    template <class Rep, class Period> void wait(const std::chrono::duration<Rep, Period> &limit)
    {
        detail::check(zkl_member_wait(handle_.get(), detail::milliseconds(limit)));
    }

    template <class Rep, class Period>
    void update(std::string_view data, const std::chrono::duration<Rep, Period> &limit)
    {
        detail::check(zkl_member_update(handle_.get(), data.empty() ? nullptr : data.data(),
                                        data.size(), detail::milliseconds(limit)));
    }

    template <class Rep, class Period> void leave(const std::chrono::duration<Rep, Period> &limit)
    {
        detail::check(zkl_member_leave(handle_.get(), detail::milliseconds(limit)));
    }

    zkl::grant grant() const
    {
        zkl_grant *made = nullptr;

        detail::check(zkl_member_grant(handle_.get(), &made));
        return {made, where_};
    }

    zkl_member *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    detail::shared_environment where_;
    std::unique_ptr<zkl_member, detail::member_freer> handle_;
};

/* Mirrors zkl_member_info, with what the member says of shards. */
struct member_info {
    explicit member_info(const zkl_member_info &c)
        : token(c.token), id(c.id), node(c.node), data(static_cast<const char *>(c.data), c.size),
          session_id(c.session_id), created(detail::created(c.ctime_ms))
    {
        zkl_shards_share says;
        if (zkl_shards_share_of(&c, &says))
            share = says;
    }

    std::uint64_t token;
    std::string id, node, data;
    std::int64_t session_id;
    std::chrono::system_clock::time_point created;
    std::optional<zkl_shards_share> share;
};

/* The members of a group as read, in the order of their ids. */
class members : public snapshot<member_info, zkl_members>
{
  public:
    explicit members(zkl_members *made)
        : snapshot(made, zkl_members_free, zkl_members_count, zkl_members_get)
    {
    }

    /* For each shard below count the member that should do its work, which is one of these; NULL:
     * no member takes it. See zkl_shards_plan(). */
    std::vector<const member_info *> plan(std::size_t count) const
    {
        std::vector<const zkl_member_info *> owners(count);
        std::unordered_map<const zkl_member_info *, const member_info *> ours;
        std::vector<const member_info *> all;

        detail::check(zkl_shards_plan(owners.data(), count, native_handle()));
        for (std::size_t i = 0; i < size(); ++i)
            ours[zkl_members_get(native_handle(), i)] = &(*this)[i];
        for (const auto *owner : owners)
            all.push_back(owner ? ours[owner] : nullptr);
        return all;
    }
};

/* What happens to a group. */
struct members_event {
    zkl_members_event kind;
    std::optional<member_info> member; /* of JOINED, LEFT and CHANGED */
    std::vector<member_info> all;      /* of ALL. read_members() gives what has a plan() */
};

namespace detail
{

inline void on_members(zkl_members_event kind, const zkl_member_info *member,
                       const zkl_members *all, void *data) noexcept
{
    const auto call = registry<callback<members_event>>::instance().find(data);
    members_event event{kind, {}, items_of<member_info>(all, zkl_members_count, zkl_members_get)};

    if (member)
        event.member.emplace(*member);
    if (call)
        (*call)(event);
}

} // namespace detail

/* See zkl_members_read(). */
template <class Rep = std::int64_t, class Period = std::milli>
members read_members(const session &s, const std::string &path,
                     zkl_member_layout layout = ZKL_MEMBER_GROUP,
                     const std::chrono::duration<Rep, Period> &limit = {})
{
    zkl_members *made = nullptr;

    detail::check(zkl_members_read(&made, s.native_handle(), path.c_str(), layout,
                                   detail::milliseconds(limit)));
    return members(made);
}

/* Calls fn on the executor: see zkl_members_watch(). */
inline watch watch_members(const session &s, const std::string &path,
                           std::function<void(const members_event &event)> fn,
                           zkl_member_layout layout = ZKL_MEMBER_GROUP)
{
    detail::callback<members_event> call(s.environment(), std::move(fn));

    return detail::begin_watch(std::move(call), [&](zkl_watch **ret, void *data) {
        return zkl_members_watch(ret, s.native_handle(), path.c_str(), layout, detail::on_members,
                                 data);
    });
}

} // namespace zkl

#endif
