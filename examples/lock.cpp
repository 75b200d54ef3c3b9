#include <chrono>
#include <iostream>
#include <mutex>
#include <zkl.hpp>

int main(int argc, char **argv)
try {
    zkl::session session(argc == 2 ? argv[1] : "");
    zkl::mutex mutex(session, "/jobs/nightly");
    if (std::unique_lock lock(mutex, std::chrono::seconds(10)); lock)
        std::cout << "mine, with token " << mutex.grant().token() << '\n';
    else
        return 1;
} catch (const zkl::error &e) {
    std::cerr << e.what() << '\n';
    return 1;
}
