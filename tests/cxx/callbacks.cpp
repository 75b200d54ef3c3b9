/* Where callbacks run, what becomes of what they throw, and what they own. */
#include "check.hpp"

#include <future>
#include <mutex>
#include <optional>
#include <poll.h>
#include <queue>
#include <stdexcept>

namespace
{

using namespace test;

/* The caller's executor: a queue of tasks that one thread runs. */
class queue
{
  public:
    zkl::executor run()
    {
        return [this](std::function<void()> task) {
            const std::lock_guard lock(mutex_);
            tasks_.push(std::move(task));
        };
    }

    bool run_one()
    {
        std::function<void()> task;
        {
            const std::lock_guard lock(mutex_);
            if (tasks_.empty())
                return false;
            task = std::move(tasks_.front());
            tasks_.pop();
        }
        task();
        return true;
    }

    /* Runs tasks until the condition holds. */
    template <class Condition> bool run_until(Condition condition)
    {
        return until([&] {
            run_one();
            return condition();
        });
    }

  private:
    std::mutex mutex_;
    std::queue<std::function<void()>> tasks_;
};

void executor()
{
    queue tasks;
    zkl::session_options options;
    options.run = tasks.run();
    const zkl::session s(servers(), options), other(servers());
    const std::string at = path();
    zkl::mutex m(s, at);
    const auto here = std::this_thread::get_id();
    std::vector<zkl::grant_state> states;
    bool wanted = false;
    zkl::grant got;

    zkl::operation op = m.lock_async(limit, [&](std::error_code ec, zkl::grant g) {
        CHECK(!ec && std::this_thread::get_id() == here);
        got = std::move(g);
    });
    CHECK(tasks.run_until([&] { return bool(got); }));
    got.on_change([&](zkl::grant_state now) {
        CHECK(std::this_thread::get_id() == here);
        states.push_back(now);
    });
    got.on_wanted([&] { wanted = true; });
    std::thread rival([&] {
        zkl::mutex theirs(other, at);
        CHECK(theirs.try_lock_for(limit));
    });
    CHECK(tasks.run_until([&] { return wanted; }));
    CHECK(states.empty());
    got.release();
    CHECK(tasks.run_until([&] { return !states.empty(); }));
    CHECK(states == std::vector{zkl::grant_state::released});
    rival.join();
}

/* Without an executor: on a thread of the library, where nothing may block. */
void library_thread()
{
    const zkl::session s(servers());
    zkl::mutex m(s, path());
    std::promise<std::thread::id> where;

    s.on_change([&](zkl_session_event event, std::int64_t id) {
        if (event != ZKL_SESSION_CONNECTED)
            return;
        CHECK(id == s.id() && thrown([&] { m.lock(); }) == zkl::errc::deadlock);
        where.set_value(std::this_thread::get_id());
    });
    auto found = where.get_future();
    CHECK(found.get() != std::this_thread::get_id());
}

/* With the option dispatch: in the user's loop. */
void dispatch()
{
    zkl::session_options options;
    options.dispatch = true;
    const zkl::session s(servers(), options);
    std::optional<std::thread::id> where;

    s.on_change([&](zkl_session_event, std::int64_t) { where = std::this_thread::get_id(); });
    s.wait(limit);
    pollfd readable = {s.fd(), POLLIN, 0};
    CHECK(poll(&readable, 1, -1) == 1 && !where);
    s.dispatch();
    CHECK(where == std::this_thread::get_id());
    CHECK(s.timeout() > 0ms);
}

/* What is thrown goes to the hook: by a callback, by a task of the executor, by the executor. */
void exceptions()
{
    std::atomic<int> caught{0};
    std::atomic<bool> refuses{false};
    queue tasks;
    zkl::session_options options;
    options.thrown = [&](std::exception_ptr what) {
        try {
            std::rethrow_exception(what);
        } catch (const std::runtime_error &) {
            ++caught;
        }
    };
    const auto fails = [](std::error_code, zkl::grant) { throw std::runtime_error("mine"); };

    {
        const zkl::session s(servers(), options);
        zkl::mutex m(s, path());
        m.lock_async(limit, fails);
        CHECK(until([&] { return caught == 1; }));
        CHECK(m.try_lock_for(limit)); /* the grant was released nevertheless */
    }
    options.run = [&, run = tasks.run()](std::function<void()> task) {
        if (refuses)
            throw std::runtime_error("full");
        run(std::move(task));
    };
    const zkl::session s(servers(), options);
    zkl::mutex m(s, path());
    m.lock_async(limit, fails);
    CHECK(tasks.run_until([&] { return caught == 2; }));
    refuses = true;
    m.lock_async(limit, fails);
    CHECK(until([&] { return caught == 3; }));
    CHECK(m.try_lock_for(limit));
    refuses = false;
    m.unlock();
}

void canceled()
{
    const zkl::session s(servers()), other(servers());
    const std::string at = path();
    zkl::mutex mine(s, at);
    zkl::rwlock theirs(other, path());
    std::promise<std::error_code> ended;
    std::promise<bool> reads;
    const std::lock_guard lock(mine);

    zkl::operation op =
        zkl::mutex(other, at).lock_async(limit, [&](std::error_code ec, zkl::grant g) {
            CHECK(!g);
            ended.set_value(ec);
        });
    op.cancel();
    CHECK(ended.get_future().get()); /* canceled, or its handle was freed before that */
    theirs.lock_shared_async(
        limit, [&](std::error_code ec, zkl::grant g) { reads.set_value(!ec && g.owned()); });
    CHECK(reads.get_future().get());
}

/* Lines come, as long as there is a session. */
void log()
{
    std::atomic<int> lines{0};
    const auto watched = std::make_shared<int>(0);
    zkl::session_options options;
    options.log_level = ZKL_LOG_DEBUG;
    options.log = [&lines, watched](const zkl_log_record &record) {
        CHECK(record.level >= ZKL_LOG_ERROR && *record.event && *record.text);
        ++lines;
    };
    options.credentials = {{"digest", "one:secret"}, {"digest", "two:secret"}};
    options.acl = "auth::cdrwa"; /* needs credentials */

    {
        zkl::session s(servers(), options);
        zkl::session moved(std::move(s));
        moved.wait(limit);
        CHECK(until([&] { return lines > 0; }));
    }
    options.log = nullptr;
    CHECK(watched.use_count() == 1);
}

} // namespace

const std::vector<test::test_case> &test::callback_cases()
{
    static const std::vector<test_case> cases = {
        {"executor", executor}, {"library_thread", library_thread},
        {"dispatch", dispatch}, {"exceptions", exceptions},
        {"canceled", canceled}, {"log", log},
    };
    return cases;
}
