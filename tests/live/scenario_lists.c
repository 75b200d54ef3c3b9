/* Lists of servers with dead ones anywhere: the one that serves is found again, by attempts that
 * are counted. This program's connect() comes before the C library's, for libzookeeper too. */
#include "ports.h"
#include "runner.h"
#include "scenario.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(scenario_lists, .init = fault_start, .done = fault_stop);

enum { LIST_MAX = 7, OUTAGE_MS = 1000, ATTEMPTS_A_SECOND = 20 };

static atomic_uint attempts, marked; /* of libzookeeper: its sockets are inherited, ours are not */
static atomic_int marked_port, last_fd;

static void count(int fd, const struct sockaddr *to)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)to;

    atomic_fetch_add(&attempts, 1);
    atomic_store(&last_fd, fd);
    if (to->sa_family == AF_INET && ntohs(in->sin_port) == atomic_load(&marked_port))
        atomic_fetch_add(&marked, 1);
}

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *to,
                                                   socklen_t length)
{
    int (*next)(int, const struct sockaddr *, socklen_t) =
        (__typeof__(&connect))dlsym(RTLD_NEXT, "connect");

    if (to->sa_family != AF_UNIX && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
        count(fd, to);
    return next(fd, to, length);
}

static double processor_ms(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3;
}

/* "ZKL_OUTAGE_MS": for a table of longer ones. */
static int outage_ms(void)
{
    const char *given = getenv("ZKL_OUTAGE_MS");

    return given ? atoi(given) : OUTAGE_MS;
}

static double ms_since(int64_t ns)
{
    return (double)(fault_boot_ns() - ns) / 1e6;
}

/* An outage in which somebody waits for the lock; frozen: nothing comes back, else all is refused.
 * The first round is without a pause, and so is the rest of another. */
static void outage(zkl_session *s, const char *what, unsigned servers, bool frozen)
{
    struct acquisition a;
    const int64_t id = zkl_session_id(s), begin = fault_boot_ns();

    if (frozen)
        proxy_freeze(fault.proxy, PROXY_BOTH);
    else
        proxy_cut(fault.proxy);
    atomic_store(&attempts, 0);
    const double processor = processor_ms();
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    g_usleep((gulong)outage_ms() * 1000);
    const double lasted = ms_since(begin), used = processor_ms() - processor;
    const unsigned made = atomic_load(&attempts);
    const int64_t back = fault_boot_ns();
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&a));
    printf(
        "%s: %u attempts (%.1f a second), %.1f %% of a processor; held %.0f ms after the end%s\n",
        what, made, made * 1e3 / lasted, used * 100 / lasted, (double)(a.at - back) / 1e6,
        zkl_session_id(s) == id ? "" : ", in a new session");
    CHECK(made <= 2 * (servers + 1) + (double)ATTEMPTS_A_SECOND * lasted / 1000);
    CHECK(outage_ms() > OUTAGE_MS || frozen || zkl_session_id(s) == id);
    acquisition_end(&a);
}

/* servers addresses, of which the one at place serves. */
static char *list_with(const struct held_port *dead, unsigned servers, unsigned place)
{
    GString *list = g_string_new(NULL);

    for (unsigned i = 0; i < servers; i++)
        g_string_append_printf(list, "%s127.0.0.1:%d", i ? "," : "",
                               i == place ? proxy_port(fault.proxy) : dead[i].port);
    return g_string_free(list, FALSE);
}

static void begin(void)
{
    fault_begin();
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN); /* as it is but in tests */
}

static void end(void)
{
    fault_end();
    zoo_set_debug_level((ZooLogLevel)0);
}

/* libzookeeper's order is random, so each place is as good as another. */
static void play_refused(unsigned servers)
{
    struct held_port dead[LIST_MAX];
    char what[40];

    begin();
    for (unsigned i = 0; i < servers; i++)
        REQUIRE(port_hold(&dead[i]));
    char *list = list_with(dead, servers, servers - 1);
    snprintf(what, sizeof what, "%u addresses, refused", servers);
    zkl_session *s = fault_session(list, FAULT_LONG_MS);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    outage(s, what, servers, false);
    outage(s, what, servers, false);
    end();
    for (unsigned i = 0; i < servers; i++)
        port_release(&dead[i]);
    g_free(list);
}

TEST_CASE(refused)
{
    for (unsigned servers = 1; servers <= LIST_MAX; servers++)
        play_refused(servers);
}

/* One name with two addresses, of which the server listens at one. */
TEST_CASE(dual_stack)
{
    begin();
    const int port = proxy_port(fault.proxy);
    char *list = g_strdup_printf("[::1]:%d,127.0.0.1:%d", port, port);
    zkl_session *s = fault_session(list, FAULT_LONG_MS);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    outage(s, "two families, refused", 2, false);
    end();
    g_free(list);
}

/* What is lost is sent again each second at least; where the kernel cannot do that it refuses. */
static void check_socket(void)
{
    enum { RTO_MAX_OPTION = 44 };
    int ms = 0;
    socklen_t length = sizeof ms;

    if (getsockopt(atomic_load(&last_fd), IPPROTO_TCP, RTO_MAX_OPTION, &ms, &length) == 0)
        CHECK_INT(ms, 1000);
}

TEST_CASE(silent)
{
    begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    check_socket();
    outage(s, "1 address, silent", 1, true);
    end();
}

static void on_line(const zkl_log_record *record, void *data)
{
    if (strstr(record->text, "timed out"))
        atomic_fetch_add((atomic_uint *)data, 1);
}

static zkl_session *open_counted(int port, atomic_uint *timed_out)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = FAULT_LONG_MS;
    o.log = on_line;
    o.log_data = timed_out;
    o.log_level = ZKL_LOG_DEBUG;
    char *list = g_strdup_printf("127.0.0.1:%d,%s", port, proxy_connect(fault.proxy));
    zkl_session *s = fault_session_options(list, &o);
    g_free(list);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    return s;
}

/* An address that leaves libzookeeper without an answer keeps nobody from the one that serves for
 * as long as libzookeeper would wait, which is two thirds of the timeout. */
static void pass_over(zkl_session *s, int port, const atomic_uint *timed_out)
{
    enum { TRIES = 50 };

    atomic_store(&marked, 0);
    atomic_store(&marked_port, port);
    for (int i = 0; i < TRIES && atomic_load(&marked) == 0; i++) {
        proxy_reset(fault.proxy);
        EVENTUALLY(zkl_session_outage(s) != ZKL_OUTAGE_NONE);
        EVENTUALLY(zkl_session_outage(s) == ZKL_OUTAGE_NONE);
    }
    CHECK(atomic_load(&marked) > 0);
    CHECK_INT(atomic_load(timed_out), 0);
}

/* A server that has begun to take connections and say nothing. */
TEST_CASE(mute)
{
    atomic_uint timed_out = 0;

    begin();
    struct proxy *silent = proxy_start(fault.port);
    REQUIRE(silent);
    proxy_cut(silent);
    zkl_session *s = open_counted(proxy_port(silent), &timed_out);
    proxy_heal(silent);
    proxy_freeze(silent, PROXY_BOTH);
    pass_over(s, proxy_port(silent), &timed_out);
    end();
    proxy_stop(silent);
}

/* A host that has died: nobody takes the connection. */
TEST_CASE(dead)
{
    atomic_uint timed_out = 0;
    struct dead_host host;

    begin();
    REQUIRE(port_hold(&host.port));
    zkl_session *s = open_counted(host.port.port, &timed_out);
    dead_host_start(&host);
    pass_over(s, host.port.port, &timed_out);
    end();
    dead_host_stop(&host);
}
