#include <condition_variable>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <zkl.hpp>

/* Runs tasks in the thread that calls run_one(). */
class loop
{
  public:
    void post(std::function<void()> task)
    {
        const std::lock_guard guard(mutex_);
        tasks_.push_back(std::move(task));
        more_.notify_one();
    }

    void run_one()
    {
        std::unique_lock guard(mutex_);
        more_.wait(guard, [this] { return !tasks_.empty(); });
        const auto task = std::move(tasks_.front());
        tasks_.pop_front();
        guard.unlock();
        task();
    }

  private:
    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::function<void()>> tasks_;
};

int main(int argc, char **argv)
try {
    loop main_loop; /* before the session, as callbacks refer to it */
    bool stopped = false;
    zkl::session_options options;
    options.run = [&](std::function<void()> task) { main_loop.post(std::move(task)); };
    zkl::session session(argc > 1 ? argv[1] : "127.0.0.1:2181", options);
    zkl::election election(session, "/services/web", "web1");

    election.start([&](const zkl::election_event &event) {
        if (event.kind == ZKL_ELECTION_LEADING && event.term->owned()) {
            std::cout << "leading\n";
            election.resign();
        }
        stopped = event.kind == ZKL_ELECTION_STOPPED;
    });
    while (!stopped)
        main_loop.run_one();
} catch (const zkl::error &e) {
    std::cerr << e.what() << '\n';
    return e.code() == std::errc::permission_denied ? 77 : 1;
}

/* It prints:
 * leading */
