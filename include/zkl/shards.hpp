/* C++: shards of the members of a group. zkl.hpp has the conventions. */
#ifndef ZKL_SHARDS_HPP
#define ZKL_SHARDS_HPP

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <zkl/grant.hpp>
#include <zkl/session.hpp>
#include <zkl/shards.h>

namespace zkl
{

/* Mirrors zkl_shards_options. */
struct shards_options {
    std::string data;
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
    int weight = 1;
};

/* What happens to the shards of a program. */
struct shards_event {
    zkl_shards_event kind;
    std::size_t shard;                 /* of GRANTED, ASKED and LOST */
    std::shared_ptr<const grant> mine; /* of GRANTED; otherwise NULL. The end of the last copy
                                          gives the shard up */
    std::error_code reason;            /* of FAILED and STOPPED */
};

namespace detail
{

using shards_callback = callback<shards_event>;

inline void on_shards(zkl_shards *, zkl_shards_event kind, const zkl_shards_news *news,
                      void *data) noexcept
{
    auto *call = static_cast<shards_callback *>(data);
    shards_event event{kind, news->shard, nullptr, {}};

    if (news->grant)
        event.mine = std::make_shared<const grant>(news->grant, call->where());
    check(news->err ? news->err->code : 0, event.reason);
    (*call)(event);
    if (kind == ZKL_SHARDS_STOPPED)
        delete call;
}

struct shards_freer {
    void operator()(zkl_shards *s) const noexcept
    {
        zkl_shards_free(s);
    }
};

inline zkl_shards_options to_c(const shards_options &o) noexcept
{
    zkl_shards_options c = ZKL_SHARDS_OPTIONS_INIT;

    c.data = text_or_null(o.data);
    c.parents = o.parents;
    c.weight = o.weight;
    return c;
}

} // namespace detail

/* The part of a program in the shards of a group. zkl/shards.h describes the functions. The
 * destructor calls zkl_shards_free(): events still come, up to STOPPED. */
class shards
{
  public:
    /* Calls fn with each event on the executor. */
    shards(const session &s, const std::string &path, std::size_t count, const std::string &id,
           std::function<void(const shards_event &event)> fn, const shards_options &options = {})
    {
        const zkl_shards_options c = detail::to_c(options);
        auto call = std::make_unique<detail::shards_callback>(s.environment(), std::move(fn));
        zkl_shards *made = nullptr;

        detail::check(zkl_shards_start(&made, s.native_handle(), path.c_str(), count, id.c_str(),
                                       detail::on_shards, call.get(), &c));
        call.release();
        handle_.reset(made);
    }

    zkl_shards *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    std::unique_ptr<zkl_shards, detail::shards_freer> handle_;
};

} // namespace zkl

#endif
