/* Locks as the standard's classes use them, and grants as values. */
#include "check.hpp"

#include <mutex>
#include <optional>
#include <shared_mutex>

namespace
{

using namespace test;

void unique_lock()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex mine(s, at), theirs(other, at);
    std::error_code ec;

    {
        std::unique_lock lock(mine, limit);
        CHECK(lock.owns_lock() && mine.depth() == 1);
        const zkl::grant_view g = mine.grant();
        CHECK(g && g.owned() && g.token() > 0 && g.turn() == 0 && g.remaining() > 0ms);
        CHECK(g.deadline().boottime_ns > 0 && g.fence().size() == ZKL_FENCE_SIZE - 1);
        CHECK(g.node().rfind(at + "/", 0) == 0 && g.parts().size() == 1);
        CHECK(g.parts()[0].token == g.token() && g.parts()[0].node == g.node());
        CHECK(g.parts()[0].slot == -1);
        CHECK(mine.depth() == 1);
        CHECK(!theirs.try_lock());
        CHECK(!theirs.try_lock(ec) && ec == zkl::errc::busy);
        CHECK(!theirs.try_lock_for(20ms));
        CHECK(!theirs.try_lock_until(std::chrono::steady_clock::now() + 20ms));
        CHECK(!theirs.try_lock_for(20ms, ec) && ec == std::errc::timed_out);
        const std::lock_guard again(mine);
        CHECK(mine.depth() == 2 && mine.grant().token() == g.token());
    }
    CHECK(mine.depth() == 0 && thrown([&] { mine.grant(); }) == zkl::errc::not_owner);
    other.flush(limit); /* the node of a try that gave up before it was made */
    s.flush(limit);
    CHECK(s.flush(0ms, ec) && !ec);
    CHECK(theirs.try_lock(ec) && !ec);
    theirs.unlock(ec);
    CHECK(!ec);
    theirs.unlock(ec);
    CHECK(ec == zkl::errc::not_owner);
}

/* The thread that locked unlocks. */
void owner()
{
    const zkl::session s(servers());
    zkl::mutex m(s, path());
    std::lock_guard lock(m);

    std::thread([&] {
        CHECK(m.depth() == 0);
        CHECK(thrown([&] { m.unlock(); }) == zkl::errc::not_owner);
    }).join();
    CHECK(m.depth() == 1);
}

/* But with a key it belongs to who has that number. */
void owner_by_key()
{
    const zkl::session s(servers());
    zkl::mutex_options options;
    options.key = [] { return std::uint64_t{7}; };
    zkl::mutex m(s, path(), options);

    m.lock();
    std::thread([&] { m.unlock(); }).join();
    CHECK(m.depth() == 0);
}

void shared_lock()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::rwlock mine(s, at), theirs(other, at);
    std::error_code ec;

    {
        std::shared_lock one(mine);
        std::shared_lock two(theirs, limit);
        CHECK(one && two && mine.grant().token() < theirs.grant().token());
        CHECK(!theirs.try_lock(ec) && ec == zkl::errc::deadlock); /* this thread reads it */
        zkl::rwlock third(other, at);
        CHECK(!third.try_lock() && !third.try_lock_for(20ms));
        CHECK(third.try_lock_shared_for(limit));
        third.unlock_shared();
        CHECK(mine.depth() == 1);
    }
    std::unique_lock write(mine, limit);
    CHECK(write && !theirs.try_lock_shared() && !theirs.try_lock_shared_for(20ms));
    mine.lock_shared();
    CHECK(mine.depth() == 2);
    write.unlock(); /* it still reads, and holds the lock alone */
    CHECK(mine.depth() == 1 && !theirs.try_lock_shared() && !theirs.try_lock_shared_for(20ms));
    mine.unlock_shared(ec);
    CHECK(!ec);
    CHECK(theirs.try_lock_shared_until(std::chrono::system_clock::now() + limit));
    theirs.unlock_shared();
}

void retained()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex_options options;
    options.retain = limit;
    options.name = "retains";
    zkl::mutex m(s, at, options);

    m.lock();
    const auto token = m.grant().token();
    m.unlock();
    m.lock();
    CHECK(m.grant().token() == token && m.grant().turn() == 1);
    m.unlock();
    m.yield();
    m.lock();
    CHECK(m.grant().token() > token);
    m.unlock();
    CHECK(zkl::mutex(other, at).try_lock_for(limit)); /* its destructor unlocks */
}

/* Two permits; a grant goes to another thread, where it ends. */
void semaphore()
{
    const zkl::session s(servers());
    zkl::semaphore_options options;
    options.limit = 2;
    options.numbered = true;
    zkl::semaphore m(s, path(), options);
    std::error_code ec;

    zkl::grant one = m.acquire(), two = m.try_acquire_for(limit);
    CHECK(one && two && one.token() < two.token());
    CHECK(one.parts().size() == 1 && one.parts()[0].slot == 0 && two.parts()[0].slot == 1);
    CHECK(!m.try_acquire() && !m.try_acquire_for(20ms));
    CHECK(!m.try_acquire_for(20ms, 1, ec) && ec == zkl::errc::timed_out);
    CHECK(thrown([&] { m.acquire(3); }) == zkl::errc::limit);
    std::thread([moved = std::move(one)] { CHECK(moved.owned()); }).join();
    CHECK(!one);
    const zkl::grant_view old = two;
    two = m.try_acquire_for(limit); /* releases what it had */
    CHECK(two.owned());
    zkl::grant three = m.acquire(1, ec);
    CHECK(!ec && three.owned() && three.token() > two.token());
    three.release();
    CHECK(!three && three.token() == 0);
}

void multilock()
{
    const zkl::session s(servers()), other(servers());
    const std::string a = path(), b = path();
    zkl::multilock both(s, {b, a});
    zkl::mutex m(other, a);
    std::error_code ec;

    {
        zkl::grant g = both.acquire();
        const auto parts = g.parts();
        CHECK(parts.size() == 2 && parts[0].token == g.token() && parts[1].token > 0);
        CHECK(g.turn() == 0 && std::stoull(g.fence().substr(0, 16), nullptr, 16) == g.token());
        CHECK(parts[0].node.rfind(b + "/", 0) == 0 && parts[1].node.rfind(a + "/", 0) == 0);
        CHECK(!m.try_lock());
    }
    CHECK(m.try_lock_for(limit));
    CHECK(!both.try_acquire() && !both.try_acquire_for(20ms));
    CHECK(!both.try_acquire_for(20ms, ec) && ec == zkl::errc::timed_out);
    CHECK(thrown([&] { zkl::multilock(s, {a, a}); }) == zkl::errc::invalid_argument);
    m.unlock();
}

/* What throws is not recorded; what returns is, once for all or once a period. */
void once()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::once mine(s, at), theirs(other, at);
    zkl::once_options options;
    std::uint64_t token = 0;

    CHECK(!mine.done());
    try {
        mine.call(limit, [](zkl::grant_view) { throw 7; });
        CHECK(false);
    } catch (int thrown) {
        CHECK(thrown == 7 && !mine.done());
    }
    /* Through the C function, too, which keeps no lock then. */
    zkl_once *plain = nullptr;
    CHECK(zkl_once_new(&plain, s.native_handle(), at.c_str(), nullptr) == 0);
    try {
        zkl_once_call(
            plain, ZKL_FOREVER,
            [](const zkl_grant *, void *, const void **, std::size_t *) -> int { throw 8; },
            nullptr, nullptr);
        CHECK(false);
    } catch (int thrown) {
        CHECK(thrown == 8);
    }
    zkl_once_free(plain);
    const auto run = mine.call(limit, [&](const zkl::grant_view &g) {
        token = g.owned() ? g.token() : 0;
        return std::string("a\0b", 3);
    });
    CHECK(run && token > 0 && run->token == token && run->result == std::string("a\0b", 3));
    CHECK(!run->due && run->begun.time_since_epoch() > 0s && !run->name.empty());
    const auto again = theirs.call(0ms, [](zkl::grant_view) { CHECK(false); });
    CHECK(again && again->token == token && mine.done()->result == run->result);
    mine.reset();
    CHECK(!mine.done());
    options.name = "hourly";
    options.period = 1h;
    options.slack = 1min;
    const auto hourly = zkl::once(other, at, options).call(limit, [](zkl::grant_view) {});
    CHECK(hourly && hourly->name == "hourly" && hourly->result.empty());
    CHECK(hourly->due && *hourly->due - hourly->begun == 1h);
    CHECK(hourly && hourly->calendar.empty() && !hourly->instant);
    options.slack = 30min;
    CHECK(thrown([&] { zkl::once(s, at, options); }) == zkl::errc::invalid_argument);
}

void once_at()
{
    const zkl::session s(servers());
    zkl::once_options options;

    options.calendar = "* * * * *";
    options.zone = "Europe/Berlin";
    options.slack = 1ms;
    options.late = 1min;
    const auto run = zkl::once(s, path(), options).call(limit, [](zkl::grant_view) {});
    CHECK(run && run->calendar == "* * * * * Europe/Berlin" && run->instant);
    CHECK(run && run->begun >= *run->instant && run->due == *run->instant + 1min);
}

/* Another thread ends the wait, or the destructor what nobody waits for. */
void waits()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex mine(s, at), theirs(other, at);
    zkl::rwlock shared(other, path());
    zkl::semaphore_options one;
    one.limit = 1;
    zkl::semaphore permits(other, path(), one);
    zkl::multilock both(other, {path(), path()});
    std::error_code ec;

    {
        std::lock_guard lock(mine);
        zkl::operation op = theirs.lock_async(limit);
        std::thread waiter(
            [&] { CHECK(thrown([&] { op.wait(); }) == std::errc::operation_canceled); });
        op.cancel();
        waiter.join();
        CHECK(!op.wait(ec) && ec == zkl::errc::invalid_argument);
        CHECK(!theirs.lock_async(20ms).wait(ec) && ec == zkl::errc::timed_out);
        theirs.lock_async(limit);
    }
    CHECK(theirs.lock_async(limit).wait().token() > 0);
    CHECK(shared.lock_shared_async(limit).wait());
    CHECK(shared.lock_async(limit).wait());
    CHECK(permits.acquire_async(1, limit).wait() && both.acquire_async(limit).wait());
#ifdef __cpp_lib_jthread
    std::lock_guard lock(mine);
    std::stop_source stop;
    std::thread waiter([&] {
        CHECK(thrown([&] { theirs.lock_async(limit).wait(stop.get_token()); }) ==
              std::errc::operation_canceled);
    });
    stop.request_stop();
    waiter.join();
#endif
}

} // namespace

const std::vector<test::test_case> &test::lock_cases()
{
    static const std::vector<test_case> cases = {
        {"unique_lock", unique_lock},   {"owner", owner},
        {"owner_by_key", owner_by_key}, {"shared_lock", shared_lock},
        {"retained", retained},         {"semaphore", semaphore},
        {"multilock", multilock},       {"once", once},
        {"once_at", once_at},           {"waits", waits},
    };
    return cases;
}
