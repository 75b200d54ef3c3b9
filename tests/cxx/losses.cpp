/* What ends against the holder's will, and in which order things may end. */
#include "check.hpp"

#include <future>
#include <memory>
#include <mutex>

namespace
{

using namespace test;

/* The scope ends as usual; who asks hears of the loss. */
void lost()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex m(s, at);
    std::promise<void> told;
    std::error_code ec;

    {
        std::unique_lock lock(m);
        const zkl::grant_view g = m.grant();
        g.on_lost([&told] { told.set_value(); });
        remove_node(other, at, g);
        told.get_future().wait();
        CHECK(!g.owned() && g.state() == zkl::grant_state::lost && g.remaining() == 0ms);
        CHECK(thrown([&] { g.deadline(); }) == zkl::errc::lost);
        CHECK(thrown([&] { m.grant(); }) == zkl::errc::lost);
        CHECK(thrown([&] { m.lock(); }) == zkl::errc::lost);
    }
    CHECK(m.depth() == 0);
    m.lock();
    remove_node(other, at, m.grant());
    CHECK(until([&] { return thrown([&] { m.grant(); }) == zkl::errc::lost; }));
    m.unlock(ec);
    CHECK(ec == zkl::errc::lost && m.depth() == 0);
}

/* A session may be closed before everything that was made from it. */
void session_first()
{
    auto s = std::make_unique<zkl::session>(servers());
    zkl::semaphore_options options;
    options.limit = 1;
    zkl::semaphore permits(*s, path(), options);
    zkl::mutex m(*s, path());
    zkl::rwlock l(*s, path());
    zkl::election e(*s, path(), "id");
    zkl::grant g = permits.acquire();
    std::unique_lock lock(m);
    std::vector<zkl::grant_state> states;
    std::vector<std::error_code> reasons;

    g.on_change([&states](zkl::grant_state now) { states.push_back(now); });
    e.start([&reasons](const zkl::election_event &event) {
        if (event.kind == ZKL_ELECTION_STOPPED)
            reasons.push_back(event.reason);
    });
    s.reset(); /* waits for the callback */
    CHECK(states == std::vector{zkl::grant_state::lost});
    CHECK(reasons == std::vector{zkl::make_error_code(zkl::errc::closed)});
    CHECK(!g.owned() && g.token() > 0);
    lock.unlock();
    CHECK(thrown([&] { m.lock(); }) == zkl::errc::closed);
    CHECK(thrown([&] { l.lock_shared(); }) == zkl::errc::closed);
    CHECK(thrown([&] { permits.acquire(); }) == zkl::errc::closed);
    CHECK(thrown([&] { e.campaign(); }) == zkl::errc::closed);
    CHECK(thrown([&] { g.on_lost([] {}); }) == zkl::errc::closed);
    CHECK(thrown([&] { g.on_wanted([] {}); }) == zkl::errc::closed);
}

/* Or after it, and be moved meanwhile. */
void session_moved()
{
    const std::string at = path();
    zkl::session one(servers());
    zkl::session two(std::move(one));
    zkl::mutex m(two, at);

    CHECK(!one.native_handle() && thrown([&] { one.dispatch(); }) == zkl::errc::invalid_argument);
    m.lock();
    one = zkl::session(servers());
    two = std::move(one); /* closes the session of m */
    CHECK(thrown([&] { m.grant(); }) == zkl::errc::lost);
    CHECK(zkl::mutex(two, at).try_lock_for(limit));
}

/* Freed while others wait for it. */
void freed_while_waited_for()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex holds(other, at);
    auto m = std::make_unique<zkl::mutex>(s, at);
    std::lock_guard lock(holds);
    zkl::mutex *const waited_for = m.get();
    std::promise<void> wanted;

    holds.grant().on_wanted([&wanted] { wanted.set_value(); });
    std::thread waits([&] { CHECK(thrown([&] { waited_for->lock(); }) == zkl::errc::closed); });
    wanted.get_future().wait();
    m.reset();
    waits.join();

    zkl::semaphore_options options;
    options.limit = 1;
    auto permits = std::make_unique<zkl::semaphore>(s, path(), options);
    zkl::semaphore *const asked = permits.get();
    std::promise<void> again;
    const zkl::grant all = permits->acquire();
    all.on_wanted([&again] { again.set_value(); });
    std::thread also([&] {
        std::error_code ec;
        CHECK(!asked->acquire(1, ec) && ec == zkl::errc::closed);
    });
    again.get_future().wait();
    permits.reset();
    also.join();
    CHECK(all.owned());
}

/* Nothing may keep a user's object when its calls are over. */
void callbacks_are_freed()
{
    auto s = std::make_unique<zkl::session>(servers());
    const auto watched = std::make_shared<int>(0);
    const auto alone = [&] { return until([&] { return watched.use_count() == 1; }); };
    zkl::mutex m(*s, path());

    m.lock();
    m.grant().on_change([watched](zkl::grant_state) {});
    m.grant().on_wanted([watched] {}); /* which never comes */
    m.grant().on_revoke([watched] {});
    m.unlock();
    CHECK(alone());
    m.lock_async(limit, [watched](std::error_code ec, zkl::grant g) {
        CHECK(!ec && g.owned()); /* and releases it */
    });
    CHECK(alone());
    CHECK(m.try_lock_for(limit));
    s->on_change([watched](zkl_session_event, std::int64_t) {});
    CHECK(watched.use_count() == 2);
    s.reset();
    CHECK(watched.use_count() == 1);
}

} // namespace

const std::vector<test::test_case> &test::loss_cases()
{
    static const std::vector<test_case> cases = {
        {"lost", lost},
        {"session_first", session_first},
        {"session_moved", session_moved},
        {"freed_while_waited_for", freed_while_waited_for},
        {"callbacks_are_freed", callbacks_are_freed},
    };
    return cases;
}
