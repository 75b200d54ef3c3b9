/* C++: leader election. zkl.hpp has the conventions. */
#ifndef ZKL_ELECTION_HPP
#define ZKL_ELECTION_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
#include <zkl/election.h>
#include <zkl/op.hpp>
#include <zkl/session.hpp>

namespace zkl
{

/* Mirrors zkl_election_options. */
struct election_options {
    zkl_layout layout = ZKL_LAYOUT_LATCH;
    zkl_parents parents = ZKL_PARENTS_CONTAINER;
    bool once = false;
    int priority = 0;
    bool yield = false;
};

/* As zkl_election_leader() gives it. */
struct leader {
    std::uint64_t token;
    std::string id;
};

/* What happens to a started election. */
struct election_event {
    zkl_election_event kind;
    std::shared_ptr<const grant> term; /* from LEADING to LOST or RESIGNED the grant of the term,
                                          or an empty one if LEADING came too late; otherwise NULL.
                                          A copy may be kept, and its end does not end the term */
    std::error_code reason;            /* of FAILED and STOPPED */
};

using election_function = std::function<void(const election_event &event)>;

namespace detail
{

/* Shared by the object and its started election, which may still have events to deliver. */
struct candidate {
    explicit candidate(zkl_election *made) noexcept : handle(made)
    {
    }

    candidate(const candidate &) = delete;
    candidate &operator=(const candidate &) = delete;

    ~candidate()
    {
        zkl_election_free(handle);
    }

    zkl_election *const handle;
    std::atomic<bool> started{false}; /* until STOPPED comes */
};

struct candidacy {
    shared_environment where;
    std::shared_ptr<const election_function> fn;
    std::shared_ptr<candidate> who;
    std::shared_ptr<const grant> term;
};

/* The lent grant ends with the term, and the executor may run later: so a reference is taken.
 * It is that of the same term, since no other one begins before its end was told. */
inline std::shared_ptr<const grant> take_term(const candidacy &c)
{
    zkl_grant *own = nullptr;

    if (zkl_election_campaign(c.who->handle, 0, &own) != 0)
        own = nullptr; /* the term is over already */
    return std::make_shared<const grant>(own, c.where);
}

inline void on_election(zkl_election *, zkl_election_event kind, const zkl_grant *,
                        const zkl_error *err, void *data) noexcept
{
    auto *c = static_cast<candidacy *>(data);
    election_event event{kind, nullptr, {}};

    if (kind == ZKL_ELECTION_LEADING)
        c->term = take_term(*c);
    event.term = c->term;
    if (kind == ZKL_ELECTION_LOST || kind == ZKL_ELECTION_RESIGNED)
        c->term.reset();
    check(err ? err->code : 0, event.reason);
    if (kind == ZKL_ELECTION_STOPPED)
        c->who->started = false; /* it may be started again inside */
    post(c->where, [fn = c->fn, event] { (*fn)(event); });
    if (kind == ZKL_ELECTION_STOPPED)
        delete c;
}

inline zkl_election_options to_c(const election_options &o) noexcept
{
    zkl_election_options c = ZKL_ELECTION_OPTIONS_INIT;

    c.layout = o.layout;
    c.parents = o.parents;
    c.once = o.once ? 1 : 0;
    c.priority = o.priority;
    c.yield = o.yield ? 1 : 0;
    return c;
}

} // namespace detail

/* A candidate; with std::nullopt as its id, none. zkl/election.h describes the functions. */
class election
{
  public:
    election(const session &s, const std::string &path, const std::optional<std::string> &id,
             const election_options &options = {})
        : where_(s.environment())
    {
        zkl_election *made = nullptr;
        const zkl_election_options c = detail::to_c(options);

        detail::check(zkl_election_new(&made, s.native_handle(), path.c_str(),
                                       id ? id->c_str() : nullptr, &c));
        who_ = std::make_shared<detail::candidate>(made);
    }

    election(const election &) = delete;
    election &operator=(const election &) = delete;

    /* Resigns. A started election still delivers its events, up to STOPPED. */
    ~election()
    {
        zkl_election_resign(who_->handle);
    }

    /* Throws errc::busy while the election is started, even if it leads. */
    grant campaign()
    {
        return detail::acquire(where_, [&](auto *g) { return get(ZKL_FOREVER, g); });
    }

    grant campaign(std::error_code &ec) noexcept
    {
        return detail::acquire(where_, ec, [&](auto *g) { return get(ZKL_FOREVER, g); });
    }

    /* An empty grant stands for errc::busy or errc::timed_out. */
    grant try_campaign()
    {
        return detail::try_acquire(where_, [&](auto *g) { return get(0, g); });
    }

    template <class Rep, class Period>
    grant try_campaign_for(const std::chrono::duration<Rep, Period> &limit)
    {
        return detail::try_acquire(where_,
                                   [&](auto *g) { return get(detail::milliseconds(limit), g); });
    }

    template <class Rep, class Period>
    operation campaign_async(const std::chrono::duration<Rep, Period> &limit, acquired_function fn)
    {
        return detail::acquire_async(where_, std::move(fn), [&](auto *done, void *data, auto *op) {
            return who_->started ? ZKL_EBUSY
                                 : zkl_election_campaign_async(
                                       who_->handle, detail::milliseconds(limit), done, data, op);
        });
    }

    /* Calls fn with each event on the executor. With an executor the node of a deposed leader may
     * be deleted before fn is called. */
    void start(election_function fn)
    {
        auto c = std::make_unique<detail::candidacy>(detail::candidacy{
            where_, std::make_shared<const election_function>(std::move(fn)), who_, nullptr});

        if (who_->started.exchange(true))
            throw error({ZKL_EBUSY, "", ""});
        const int code = zkl_election_start(who_->handle, detail::on_election, c.get());
        if (code == 0) {
            c.release();
            return;
        }
        who_->started = false;
        detail::fail(code);
    }

    void resign()
    {
        detail::check(zkl_election_resign(who_->handle));
    }

    void yield()
    {
        detail::check(zkl_election_yield(who_->handle));
    }

    /* std::nullopt: nobody leads. */
    std::optional<leader> get_leader() const
    {
        std::vector<char> id(4096);
        std::uint64_t token = 0;
        int code;

        while ((code = zkl_election_leader(who_->handle, id.data(), id.size(), &token)) ==
               ZKL_ERANGE)
            id.resize(id.size() * 2);
        if (code == ZKL_ENOENT)
            return std::nullopt;
        detail::check(code);
        return leader{token, id.data()};
    }

    zkl_election *native_handle() const noexcept
    {
        return who_->handle;
    }

  private:
    int get(std::int64_t timeout_ms, zkl_grant **ret) noexcept
    {
        return who_->started ? ZKL_EBUSY : zkl_election_campaign(who_->handle, timeout_ms, ret);
    }

    detail::shared_environment where_;
    std::shared_ptr<detail::candidate> who_;
};

} // namespace zkl

#endif
