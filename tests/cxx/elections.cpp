/* Elections, and members of groups. */
#include "check.hpp"

#include <memory>
#include <mutex>

namespace
{

using namespace test;

using election_story = story<zkl::election_event>;
using member_story = story<zkl::member_event>;

void campaign()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::election one(s, at, "one"), two(other, at, "two"), looks(s, at, std::nullopt);
    std::error_code ec;

    CHECK(!looks.get_leader());
    CHECK(thrown([&] { looks.campaign(); }) == zkl::errc::invalid_argument);
    zkl::grant term = one.campaign();
    CHECK(term.owned() && looks.get_leader()->id == "one");
    CHECK(looks.get_leader()->token == term.token());
    CHECK(!two.try_campaign() && !two.try_campaign_for(20ms));
    const auto before = term.token();
    term.release(); /* ends the term */
    term = two.campaign(ec);
    CHECK(!ec && term.token() > before && looks.get_leader()->id == "two");
    two.resign();
    CHECK(term.state() == zkl::grant_state::released);
    CHECK(thrown([&] { two.resign(); }) == zkl::errc::not_owner);
}

/* A term that somebody ends; the next one; one that is given up; the end. */
void started()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::election e(s, at, "id");
    election_story told;

    e.start([&](const zkl::election_event &event) { told.add(event); });
    CHECK(thrown([&] { e.start([](const auto &) {}); }) == zkl::errc::busy);
    CHECK(thrown([&] { e.campaign(); }) == zkl::errc::busy);
    const auto first = told.next(ZKL_ELECTION_LEADING).term;
    CHECK(first->owned() && first->token() > 0 && first->remaining() > 0ms);
    remove_node(other, at, *first);
    const auto deposed = told.next(ZKL_ELECTION_LOST);
    CHECK(deposed.term == first && first->state() == zkl::grant_state::lost);
    const auto second = told.next(ZKL_ELECTION_LEADING).term;
    CHECK(second->owned() && second->token() > first->token());
    e.yield();
    CHECK(told.next(ZKL_ELECTION_RESIGNED).term == second);
    CHECK(told.next(ZKL_ELECTION_LEADING).term->token() > second->token());
    e.resign();
    told.next(ZKL_ELECTION_RESIGNED);
    CHECK(!told.next(ZKL_ELECTION_STOPPED).reason);
}

/* Inside STOPPED it is started again; then the object goes, and the end is told nevertheless. */
void started_again()
{
    const zkl::session s(servers());
    std::unique_ptr<zkl::election> e;
    election_story told;
    std::atomic<int> stops{0};
    std::function<void(const zkl::election_event &)> fn = [&](const zkl::election_event &event) {
        if (event.kind == ZKL_ELECTION_STOPPED && ++stops == 1)
            e->start(fn);
        told.add(event);
    };

    e = std::make_unique<zkl::election>(s, path(), "id");
    e->start(fn);
    told.next(ZKL_ELECTION_LEADING);
    e->resign();
    told.next(ZKL_ELECTION_RESIGNED);
    told.next(ZKL_ELECTION_STOPPED);
    const auto term = told.next(ZKL_ELECTION_LEADING).term;
    CHECK(term->owned());
    e.reset();
    told.next(ZKL_ELECTION_RESIGNED);
    CHECK(!told.next(ZKL_ELECTION_STOPPED).term && !term->owned());
}

/* On an executor that runs a task long after its term: its grant can be asked all the same. */
void late_executor()
{
    std::vector<std::function<void()>> tasks;
    std::mutex mutex;
    zkl::session_options options;
    options.run = [&](std::function<void()> task) {
        const std::lock_guard lock(mutex);
        tasks.push_back(std::move(task));
    };
    auto s = std::make_unique<zkl::session>(servers(), options);
    auto e = std::make_unique<zkl::election>(*s, path(), "id");
    std::vector<zkl_election_event> kinds;
    const auto queued = [&](std::size_t count) {
        const std::lock_guard lock(mutex);
        return tasks.size() >= count;
    };

    e->start([&](const zkl::election_event &event) {
        kinds.push_back(event.kind);
        CHECK(!event.term == (event.kind == ZKL_ELECTION_STOPPED));
        CHECK(!event.term || (event.term->token() > 0 && !event.term->owned()));
    });
    CHECK(until([&] { return queued(1); }));
    e.reset();
    CHECK(until([&] { return queued(3); }));
    s.reset();
    for (auto &task : tasks)
        task();
    CHECK(
        (kinds == std::vector{ZKL_ELECTION_LEADING, ZKL_ELECTION_RESIGNED, ZKL_ELECTION_STOPPED}));
}

void member()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    member_story told;
    zkl::member_options options;
    options.fn = [&](const zkl::member_event &event) { told.add(event); };

    {
        zkl::member one(s, at, "one", "data", options);
        one.wait(limit);
        const zkl::grant grant = one.grant();
        CHECK(told.next(ZKL_MEMBER_JOINED).token == grant.token());
        CHECK(grant.state() == zkl::grant_state::held && grant.remaining() > 0ms);
        one.grant().release();
        CHECK(grant.owned());
        one.update("other", limit);
        CHECK(thrown([&] { zkl::member(s, at, "one"); }) == zkl::errc::busy);
        zkl::member(other, at, "two").wait(limit);
        one.leave(limit);
        CHECK(!told.next(ZKL_MEMBER_LEFT).error);
        CHECK(grant.state() == zkl::grant_state::released);
        CHECK(thrown([&] { one.grant(); }) == zkl::errc::not_owner);
    }
    {
        zkl::member left(s, at, "three", {}, options);
        left.wait(limit);
        told.next(ZKL_MEMBER_JOINED);
    }
    told.next(ZKL_MEMBER_LEFT);
}

} // namespace

const std::vector<test::test_case> &test::election_cases()
{
    static const std::vector<test_case> cases = {
        {"campaign", campaign},           {"started", started}, {"started_again", started_again},
        {"late_executor", late_executor}, {"member", member},
    };
    return cases;
}
