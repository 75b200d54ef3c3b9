/* Snapshots and watches: of queues, and of the members of groups. */
#include "check.hpp"

#include <future>
#include <map>
#include <memory>
#include <mutex>

namespace
{

using namespace test;

zkl::mutex_options named(const char *name)
{
    zkl::mutex_options options;

    options.name = name;
    return options;
}

void snapshot_of_a_queue()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex first(s, at, named("first")), second(other, at, named("second"));
    std::promise<void> asked, acquired;
    zkl::queue_options options;

    CHECK(thrown([&] { zkl::read_queue(s, at); }) == zkl::errc::not_found);
    first.lock();
    first.grant().on_revoke([&asked] { asked.set_value(); });
    second.lock_async(limit, [&acquired](std::error_code, zkl::grant) { acquired.set_value(); });
    CHECK(until([&] { return zkl::read_queue(s, at).size() == 2; }));
    const zkl::queue q = zkl::read_queue(s, at, {}, limit);
    CHECK(q[0].holds && q[0].owner == "first" && q[0].token == first.grant().token());
    CHECK(first.grant().node() == at + "/" + q[0].node && q[0].session_id == s.id());
    CHECK(q[0].kind == ZKL_KIND_LOCK && q[0].client == ZKL_CLIENT_ZKL && !q[0].retains);
    CHECK(!q[1].holds && q[1].owner == "second" && q[1].session_id == other.id());
    CHECK(q[0].number < q[1].number && q[0].created <= q[1].created && q[1].token > q[0].token);
    CHECK(thrown([&] { zkl::revoke(other, at, "none"); }) == zkl::errc::not_found);
    CHECK(zkl::revoke(other, at, q[1].node)[0].token == q[1].token);
    CHECK(zkl::read_queue(s, at)[1].owner == "__REVOKE__");
    options.previous = &q;
    CHECK(zkl::read_queue(s, at, options)[1].owner == "second"); /* not read again */
    options.max_nodes = 1;
    CHECK(zkl::read_queue(s, at, options)[1].owner.empty());
    const zkl::queue were = zkl::revoke(other, at);
    CHECK(were.size() == 1 && were[0].owner == "first");
    asked.get_future().get();
    zkl::break_contender(other, at, q[0], limit);
    acquired.get_future().get();
    CHECK(thrown([&] { zkl::break_contender(other, at, q[0]); }) == zkl::errc::not_found);
    first.unlock();
}

/* One is ended, the other one still hears. */
void watch_of_a_queue()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex m(other, at);
    std::atomic<int> calls{0}, later{0};
    const auto owned = std::make_shared<int>(0);
    zkl::watch ends = zkl::watch_queue(s, at, [&calls, owned] { ++calls; });
    const zkl::watch stays = zkl::watch_queue(s, at, [&later] { ++later; });

    CHECK(until([&] { return calls > 0; }));
    int before = calls;
    m.lock();
    CHECK(until([&] { return calls > before; }));
    ends.close();
    CHECK(!ends.native_handle() && owned.use_count() == 1);
    before = calls;
    const int heard = later;
    m.unlock();
    CHECK(until([&] { return later > heard; }));
    CHECK(calls == before);
    CHECK(thrown([&] { zkl::watch_queue(s, "relative", [owned] {}); }) ==
          zkl::errc::invalid_argument);
    CHECK(owned.use_count() == 1);
}

/* What it calls is there until the call is over. */
void watch_ended_inside()
{
    const zkl::session s(servers());
    const auto owned = std::make_shared<int>(7);
    std::promise<int> told;
    std::mutex assigned;
    zkl::watch w;

    {
        const std::lock_guard lock(assigned);
        w = zkl::watch_queue(s, path(), [&, owned] {
            {
                const std::lock_guard lock_of_call(assigned);
                w = zkl::watch();
            }
            told.set_value(*owned);
        });
    }
    CHECK(told.get_future().get() == 7);
    CHECK(until([&] { return owned.use_count() == 1; }));
}

void watch_of_a_group()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    story<zkl::members_event> told;
    const zkl::watch w =
        zkl::watch_members(s, at, [&](const zkl::members_event &event) { told.add(event); });

    CHECK(told.next(ZKL_MEMBERS_ALL).all.empty() && zkl::read_members(s, at).empty());
    zkl::member one(other, at, "one", "mine\nzkl-shards 2 3");
    one.wait(limit);
    const auto joined = told.next(ZKL_MEMBERS_JOINED);
    CHECK(joined.all.empty() && joined.member->id == "one" && joined.member->node == "one");
    CHECK(joined.member->token == one.grant().token() && joined.member->session_id == other.id());
    CHECK(joined.member->data == "mine\nzkl-shards 2 3");
    CHECK(joined.member->share->count == 2 && joined.member->share->weight == 3);
    const auto all = told.next(ZKL_MEMBERS_ALL);
    CHECK(!all.member && all.all.size() == 1 && all.all[0].token == one.grant().token());
    const zkl::members now = zkl::read_members(s, at, ZKL_MEMBER_GROUP, limit);
    const auto *mine = &now[0];
    CHECK(now.size() == 1 && now.begin()->token == one.grant().token());
    CHECK((now.plan(3) == std::vector<const zkl::member_info *>{mine, mine, nullptr}));
    CHECK(thrown([&] { now.plan(0); }) == zkl::errc::invalid_argument);
    one.update("other", limit);
    const auto changed = told.next(ZKL_MEMBERS_CHANGED);
    CHECK(changed.member->data == "other" && !changed.member->share);
    told.next(ZKL_MEMBERS_ALL);
    one.leave(limit);
    CHECK(told.next(ZKL_MEMBERS_LEFT).member->data == "other");
    CHECK(told.next(ZKL_MEMBERS_ALL).all.empty());
}

/* What was told is the executor's, and is good when all else has gone. */
void group_on_a_late_executor()
{
    std::vector<std::function<void()>> tasks;
    std::vector<std::string> ids;
    std::mutex mutex;
    zkl::session_options options;
    options.run = [&](std::function<void()> task) {
        const std::lock_guard lock(mutex);
        tasks.push_back(std::move(task));
    };

    {
        const zkl::session other(servers()), s(servers(), options);
        const std::string at = path();
        zkl::member(other, at, "left").leave(limit);
        zkl::member one(other, at, "one");
        one.wait(limit);
        const zkl::watch w = zkl::watch_members(s, at, [&](const zkl::members_event &event) {
            ids.push_back(event.member ? event.member->id : "all: " + event.all.at(0).id);
        });
        CHECK(until([&] {
            const std::lock_guard lock(mutex);
            return tasks.size() == 2;
        }));
    }
    for (auto &task : tasks)
        task();
    CHECK((ids == std::vector<std::string>{"one", "all: one"}));
}

/* A shard is given up when its last copy of the grant goes. */
void shards_of_a_program()
{
    const zkl::session s(servers());
    const std::string at = path();
    std::map<std::size_t, std::shared_ptr<const zkl::grant>> mine;
    story<zkl::shards_event> told;
    zkl::shards_options options;

    options.data = "here";
    options.weight = 2;
    {
        const auto hear = [&](const zkl::shards_event &event) {
            if (event.mine)
                mine[event.shard] = event.mine;
            told.add({event.kind, event.shard, nullptr, event.reason});
        };
        const zkl::shards work(s, at, 2, "a", hear, options);
        CHECK(work.native_handle() != nullptr);
        for (int i = 0; i < 2; ++i)
            CHECK(!told.next(ZKL_SHARDS_GRANTED).reason);
        CHECK(mine.size() == 2 && mine[0]->owned() && mine[1]->owned());
        const auto all = zkl::read_members(s, at + "/members");
        CHECK(all.size() == 1 && all[0].data == "here\nzkl-shards 2 2");
        remove_node(s, at + "/shards/1", *mine[1]);
        CHECK(told.next(ZKL_SHARDS_LOST).shard == 1);
        CHECK(mine[1]->state() == zkl::grant_state::lost);
    }
    CHECK(told.next(ZKL_SHARDS_ASKED).shard == 0);
    mine.clear();
    CHECK(!told.next(ZKL_SHARDS_STOPPED).reason);
    CHECK(thrown([&] {
              const zkl::shards none(s, at, 0, "a", [](const zkl::shards_event &) {});
          }) == zkl::errc::invalid_argument);
}

} // namespace

const std::vector<test::test_case> &test::observer_cases()
{
    static const std::vector<test_case> cases = {
        {"snapshot_of_a_queue", snapshot_of_a_queue},
        {"watch_of_a_queue", watch_of_a_queue},
        {"watch_ended_inside", watch_ended_inside},
        {"watch_of_a_group", watch_of_a_group},
        {"group_on_a_late_executor", group_on_a_late_executor},
        {"shards_of_a_program", shards_of_a_program},
    };
    return cases;
}
