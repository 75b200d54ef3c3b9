/* A pool of threads that share a lock with other processes. While no other process wants it, they
 * pass it on among themselves, and no request goes to a server. */
#include <chrono>
#include <future>
#include <iostream>
#include <mutex>
#include <vector>
#include <zkl.hpp>

using namespace std::chrono_literals;

constexpr int threads = 4, items = 32;

/* How many items this thread has done; they are counted in next, which is under the lock. The fence
 * goes with each thing that is written, and whoever keeps it refuses lower ones. */
static int work(zkl::mutex &mutex, int &next)
{
    for (int done = 0;; ++done) {
        const std::unique_lock lock(mutex, 10s);
        if (!lock || next == items || mutex.grant().remaining() < 100ms)
            return done;
        std::cout << "item " << ++next << " fence " << mutex.grant().fence() << std::endl;
    }
}

int main(int argc, char **argv)
try {
    zkl::session session(argc == 2 ? argv[1] : "");
    zkl::mutex_options options;
    options.retain = 10s;
    zkl::mutex mutex(session, "/jobs/pool", options);
    std::vector<std::future<int>> pool;
    int next = 0, done = 0;

    for (int i = 0; i < threads; ++i)
        pool.push_back(std::async(std::launch::async, work, std::ref(mutex), std::ref(next)));
    for (auto &thread : pool)
        done += thread.get(); /* throws what the thread has thrown */
    return done == items ? 0 : 1;
} catch (const zkl::error &e) {
    std::cerr << e.what() << '\n';
    return 1;
}
