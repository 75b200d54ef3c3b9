/* What needs no server: types, durations, codes, options. */
#include "check.hpp"

#include <cmath>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <type_traits>

/* The names that the standard's lock classes use. */
template class std::unique_lock<zkl::mutex>;
template class std::lock_guard<zkl::mutex>;
template class std::unique_lock<zkl::rwlock>;
template class std::shared_lock<zkl::rwlock>;

namespace
{

using namespace test;

/* ---- what must not compile ---- */

template <class T>
constexpr bool only_moves =
    std::is_nothrow_move_constructible_v<T> &&std::is_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
template <class T>
constexpr bool stays = !std::is_move_constructible_v<T> && !std::is_copy_constructible_v<T>;

static_assert(only_moves<zkl::grant> && only_moves<zkl::session> && only_moves<zkl::operation>);
static_assert(only_moves<zkl::semaphore> && only_moves<zkl::multilock> && only_moves<zkl::member>);
static_assert(only_moves<zkl::once> && only_moves<zkl::shards>);
static_assert(only_moves<zkl::queue> && only_moves<zkl::members> && only_moves<zkl::watch>);
static_assert(stays<zkl::mutex> && stays<zkl::rwlock> && stays<zkl::election>);
static_assert(!std::is_convertible_v<zkl::grant_view, zkl::grant>, "what is lent is not released");
static_assert(!std::is_convertible_v<zkl::grant, bool>, "only where a condition is asked for");
static_assert(!std::is_constructible_v<zkl::mutex, std::string>, "no lock without a session");
static_assert(std::is_copy_constructible_v<zkl::error> && std::is_error_code_enum_v<zkl::errc>);

template <class T, class Limit, class = void> struct takes : std::false_type {
};
template <class T, class Limit>
struct takes<T, Limit,
             std::void_t<decltype(std::declval<T &>().try_lock_for(std::declval<Limit>()))>>
    : std::true_type {
};
static_assert(takes<zkl::mutex, std::chrono::hours>::value);
static_assert(takes<zkl::rwlock, std::chrono::duration<double>>::value);
static_assert(!takes<zkl::mutex, int>::value && !takes<zkl::rwlock, long>::value,
              "a number has no unit");

template <class T> T &any() noexcept;
template <class T>
constexpr bool quiet = noexcept(any<T>().lock(any<std::error_code>())) &&noexcept(
    any<T>().try_lock(any<std::error_code>())) &&noexcept(any<T>().unlock(any<std::error_code>()))
    &&noexcept(any<T>().try_lock_for(any<std::chrono::seconds>(), any<std::error_code>()));
static_assert(quiet<zkl::mutex> && quiet<zkl::rwlock>);
static_assert(noexcept(any<zkl::semaphore>().acquire(1, any<std::error_code>())));
static_assert(noexcept(any<zkl::multilock>().acquire(any<std::error_code>())));
static_assert(noexcept(any<zkl::election>().campaign(any<std::error_code>())));

/* ---- the rest ---- */

void durations()
{
    using namespace std::chrono;
    const auto ms = [](auto d) { return zkl::detail::milliseconds(d); };

    CHECK(ms(1500us) == 2);
    CHECK(ms(1ns) == 1);
    CHECK(ms(2s) == 2000);
    CHECK(ms(0s) == 0);
    CHECK(ms(-1s) == 0); /* in C that would be no limit */
    CHECK(ms(hours::max()) == ZKL_FOREVER);
    CHECK(ms(hours::min()) == 0);
    CHECK(ms(nanoseconds::max()) == 9223372036855);
    CHECK(ms(duration<double>(0.0005)) == 1);
    CHECK(ms(duration<double>(std::numeric_limits<double>::infinity())) == ZKL_FOREVER);
    CHECK(ms(duration<double>(std::nan(""))) == 0);
    CHECK(ms(steady_clock::now() - 1s) == 0);
    CHECK(ms(steady_clock::time_point::min()) == 0);
    const auto at = steady_clock::now() + 1h;
    const auto left = ms(at);
    CHECK(left <= ms(1h) && left >= ms(at - steady_clock::now()));
}

void codes()
{
    const std::error_code ec = zkl::errc::timed_out;

    CHECK(ec == zkl::errc::timed_out && ec == std::errc::timed_out && ec != zkl::errc::busy);
    CHECK(ec.message() == zkl_strerror(ZKL_ETIMEDOUT));
    CHECK(std::string(ec.category().name()) == "zkl");
    CHECK(zkl::make_error_code(zkl::errc::busy) == std::errc::device_or_resource_busy);
    CHECK(zkl::make_error_code(zkl::errc::lost) != std::errc::timed_out);
    const zkl::error named({ZKL_EPERM, "/a", "/a: not yours"});
    CHECK(std::string(named.what()) == "/a: not yours" && std::string(named.path()) == "/a");
    CHECK(std::string(zkl::error({ZKL_EPERM, "/a", "not yours"}).what()) == "/a: not yours");
    CHECK(zkl::error({ZKL_ELOST, "", ""}).what() == std::string(zkl_strerror(ZKL_ELOST)));
    CHECK(zkl::error({ZKL_ELOST, "", ""}).code() == zkl::errc::lost);
}

/* The defaults of C++ are those of C. */
auto members(const zkl_session_options &o)
{
    return std::make_tuple(o.size, o.session_timeout_ms, o.acl, o.log, o.log_data, o.log_level,
                           o.tick_ms, o.drift_permille, o.dispatch, o.credentials,
                           o.credential_count, o.tls_ca, o.tls_cert, o.tls_key, o.fixed_servers);
}

auto members(const zkl_mutex_options &o)
{
    return std::make_tuple(o.size, o.name, o.parents, o.key, o.key_data, o.peer, o.retain_ms,
                           o.fence64);
}

auto members(const zkl_semaphore_options &o)
{
    return std::make_tuple(o.size, o.name, o.parents, o.limit, o.numbered, o.layout);
}

auto members(const zkl_once_options &o)
{
    return std::make_tuple(o.size, o.name, o.period_ms, o.slack_ms, o.calendar, o.zone, o.late_ms);
}

auto members(const zkl_election_options &o)
{
    return std::make_tuple(o.size, o.layout, o.parents, o.once, o.priority, o.yield);
}

auto members(const zkl_queue_options &o)
{
    return std::make_tuple(o.size, o.max_nodes, o.previous);
}

void defaults()
{
    const zkl_session_options session = ZKL_SESSION_OPTIONS_INIT;
    const zkl_mutex_options mutex = ZKL_MUTEX_OPTIONS_INIT;
    const zkl_semaphore_options semaphore = ZKL_SEMAPHORE_OPTIONS_INIT;
    const zkl_once_options once = ZKL_ONCE_OPTIONS_INIT;
    const zkl_election_options election = ZKL_ELECTION_OPTIONS_INIT;
    const zkl_queue_options queue = ZKL_QUEUE_OPTIONS_INIT;

    CHECK(members(zkl::detail::to_c(zkl::session_options{}, {})) == members(session));
    CHECK(members(zkl::detail::to_c(zkl::mutex_options{}, nullptr)) == members(mutex));
    CHECK(members(zkl::detail::to_c(zkl::rwlock_options{}, nullptr)) == members(mutex));
    CHECK(members(zkl::detail::to_c(zkl::semaphore_options{})) == members(semaphore));
    CHECK(members(zkl::detail::to_c(zkl::multilock_options{})) == members(mutex));
    CHECK(members(zkl::detail::to_c(zkl::once_options{})) == members(once));
    CHECK(members(zkl::detail::to_c(zkl::election_options{})) == members(election));
    CHECK(members(zkl::detail::to_c(zkl::queue_options{})) == members(queue));
}

void refused()
{
    std::error_code ec;
    zkl::session_options options;

    CHECK(thrown([] { zkl::session s("a:b:c"); }) == zkl::errc::invalid_argument);
    options.session_timeout = std::chrono::hours(1000000); /* more ms than an int has */
    zkl::session none("127.0.0.1:1", options, ec);
    CHECK(ec == zkl::errc::invalid_argument && !none.native_handle());
    options = {};
    options.tls_ca = "a file and no other";
    zkl::session half("127.0.0.1:1", options, ec);
    CHECK(ec == zkl::errc::invalid_argument && !half.native_handle());
    const zkl::session s("127.0.0.1:1");
    CHECK(thrown([&] { zkl::mutex m(s, "relative"); }) == zkl::errc::invalid_argument);
    zkl::rwlock l(s, "/a/", {}, ec);
    CHECK(ec == zkl::errc::invalid_argument && !l.native_handle());
    CHECK(thrown([&] { l.lock(); }) == zkl::errc::invalid_argument);
    CHECK(thrown([&] { s.wait(1ms); }) == zkl::errc::unreachable);
    const zkl::grant_view nothing;
    CHECK(!nothing && nothing.token() == 0 && nothing.state() == zkl::grant_state::lost);
    CHECK(nothing.remaining() == 0ms && nothing.node().empty() && nothing.parts().empty());
}

} // namespace

const std::vector<test::test_case> &test::plain_cases()
{
    static const std::vector<test_case> cases = {
        {"durations", durations}, {"codes", codes}, {"defaults", defaults}, {"refused", refused}};
    return cases;
}
