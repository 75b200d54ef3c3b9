/* What the tests of zkl.hpp share: cases, checks and waiting for conditions. */
#ifndef CXX_CHECK_HPP
#define CXX_CHECK_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>
#include <zkl.hpp>

namespace test
{

using namespace std::chrono_literals;

/* For functions that take a time. The watchdog ends a hang before: tests/support/progress.h. */
constexpr std::chrono::hours limit(1);

struct test_case {
    const char *name;
    void (*fn)();
};

const std::vector<test_case> &plain_cases();
const std::vector<test_case> &lock_cases();
const std::vector<test_case> &loss_cases();
const std::vector<test_case> &callback_cases();
const std::vector<test_case> &election_cases();
const std::vector<test_case> &observer_cases();

/* The servers that ZKL_CONNECT names. */
std::string servers();

/* Another path each time. */
std::string path();

void failed(const char *what, const char *file, int line);

/* Whether the watchdog's limit has passed without a step. */
bool late();

template <class Condition> bool until(Condition condition)
{
    while (!condition()) {
        if (late())
            return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

/* The code of the zkl::error that fn throws; none: 0. */
template <class Fn> std::error_code thrown(Fn fn)
{
    try {
        fn();
    } catch (const zkl::error &e) {
        return e.code();
    }
    return {};
}

/* An administrator removes the contender's node. */
void remove_node(const zkl::session &s, const std::string &path, const zkl::grant_view &g);

} // namespace test

/* May be used in any thread. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            test::failed(#condition, __FILE__, __LINE__);                                          \
    } while (0)

namespace test
{

/* What was told, from any thread. */
template <class Event> class story
{
  public:
    void add(const Event &event)
    {
        const std::lock_guard lock(mutex_);
        all_.push_back(event);
        more_.notify_all();
    }

    /* Waits for the next event; the kind tells that it is the right one. */
    template <class Kind> Event next(Kind kind)
    {
        std::unique_lock lock(mutex_);
        more_.wait(lock, [&] { return all_.size() > seen_; });
        CHECK(all_.at(seen_).kind == kind);
        return all_.at(seen_++);
    }

  private:
    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<Event> all_;
    std::size_t seen_ = 0;
};

} // namespace test

#endif
