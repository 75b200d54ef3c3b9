/* cxx: the tests of zkl.hpp at the servers that ZKL_CONNECT names. `cxx --throw` lets a callback
 * throw without anybody who catches, and must not return. */
#include "check.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <unistd.h>

namespace
{

std::atomic<int> failures{0};

/* The file of the watchdog around us, if there is one. */
std::string progress()
{
    const char *file = std::getenv("ZKL_PROGRESS");
    return file ? file : "";
}

/* Each case is one. */
void step()
{
    if (access(progress().c_str(), F_OK) == 0)
        std::ofstream(progress(), std::ios::app) << '.';
}

bool run(const test::test_case &one)
{
    const int before = failures;

    try {
        one.fn();
    } catch (const std::exception &e) {
        test::failed(e.what(), one.name, 0);
    }
    step();
    std::cout << (failures == before ? "ok: " : "FAILED: ") << one.name << std::endl;
    return failures == before;
}

void throw_uncaught()
{
    const zkl::session s(test::servers());

    s.on_change(
        [](zkl_session_event, std::int64_t) { throw std::runtime_error("nobody catches this"); });
    for (;;) /* the process is about to end */
        pause();
}

} // namespace

std::string test::servers()
{
    const char *connect = std::getenv("ZKL_CONNECT");
    return connect ? connect : "";
}

bool test::late()
{
    return access((progress() + ".late").c_str(), F_OK) == 0;
}

std::string test::path()
{
    static std::atomic<int> last{0};
    return "/cxx/" + std::to_string(++last);
}

void test::failed(const char *what, const char *file, int line)
{
    ++failures;
    std::cout << file << ":" << line << ": " << what << std::endl;
}

void test::remove_node(const zkl::session &s, const std::string &path, const zkl::grant_view &g)
{
    const std::string node = g.node();
    const std::string name = node.substr(node.rfind('/') + 1);

    CHECK(zkl_queue_break(s.native_handle(), path.c_str(), name.c_str(), g.token(), 0) == 0);
}

int main(int argc, char **argv)
{
    int passed = 0, all = 0;

    if (argc == 2 && std::strcmp(argv[1], "--throw") == 0) {
        throw_uncaught();
        return 0;
    }
    for (const auto *cases :
         {&test::plain_cases(), &test::lock_cases(), &test::loss_cases(), &test::callback_cases(),
          &test::election_cases(), &test::observer_cases()})
        for (const auto &one : *cases) {
            ++all;
            passed += run(one) ? 1 : 0;
        }
    std::cout << passed << " passed, " << all - passed << " failed, 0 skipped" << std::endl;
    return passed == all ? 0 : 1;
}
