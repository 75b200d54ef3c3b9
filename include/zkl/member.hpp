/* C++: being a member of a group. zkl.hpp has the conventions. */
#ifndef ZKL_MEMBER_HPP
#define ZKL_MEMBER_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <zkl/grant.hpp>
#include <zkl/member.h>
#include <zkl/session.hpp>

namespace zkl
{

/* As zkl_member_news. */
struct member_event {
    zkl_member_event kind;
    std::uint64_t token;
    bool again;
    zkl_loss loss; /* of LOST */
    std::int64_t session_id;
    std::string data;      /* of BUSY */
    std::error_code error; /* of FAILED and LEFT */
};

/* As zkl_member_options. */
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

/* A member, which joins again after each end of the ZooKeeper session. zkl/member.h describes the
 * functions. The destructor leaves, without waiting for the server; events still come, up to
 * ZKL_MEMBER_LEFT. */
class member
{
  public:
    /* Never waits. */
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

    /* Waits until it has joined; throws errc::busy if another session has the id until then. */
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

    /* Leaves, and waits until the node is deleted. */
    template <class Rep, class Period> void leave(const std::chrono::duration<Rep, Period> &limit)
    {
        detail::check(zkl_member_leave(handle_.get(), detail::milliseconds(limit)));
    }

    /* Of the membership as it is now; throws errc::lost if it is none. The member stays when the
     * grant is released. */
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

} // namespace zkl

#endif
