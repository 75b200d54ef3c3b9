/* Name servers that are slow or fail, hosts that refuse or are dead. Names are resolved here: this
 * program's getaddrinfo() comes before the C library's, for libzookeeper too. */
#include "ports.h"
#include "runner.h"
#include "scenario.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(scenario_names, .init = fault_start, .done = fault_stop);

/* "zk.test" is 127.0.0.1 or another address, when its server says so. */
static struct {
    const char *_Atomic address; /* NULL: 127.0.0.1 */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool silent;  /* nobody gets an answer */
    int failures; /* how many get none after a while */
    int asked, waiting;
} names = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool resolve(void)
{
    pthread_mutex_lock(&names.mutex);
    names.asked++;
    names.waiting++;
    while (names.silent)
        pthread_cond_wait(&names.changed, &names.mutex);
    names.waiting--;
    bool ok = names.failures == 0;
    names.failures -= !ok;
    pthread_mutex_unlock(&names.mutex);
    return ok;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (__typeof__(&getaddrinfo))dlsym(RTLD_NEXT, "getaddrinfo");

    if (!node || strcmp(node, "zk.test") != 0)
        return next(node, service, hints, ret);
    const char *address = atomic_load(&names.address);
    return resolve() ? next(address ? address : "127.0.0.1", service, hints, ret) : EAI_AGAIN;
}

static void set_names(bool silent, int failures)
{
    pthread_mutex_lock(&names.mutex);
    names.silent = silent;
    names.failures = failures;
    names.asked = 0;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.mutex);
}

static int asked(void)
{
    pthread_mutex_lock(&names.mutex);
    int count = names.asked;
    pthread_mutex_unlock(&names.mutex);
    return count;
}

static int waiting(void)
{
    pthread_mutex_lock(&names.mutex);
    int count = names.waiting;
    pthread_mutex_unlock(&names.mutex);
    return count;
}

static zkl_session *open_by_name(int port)
{
    char connect[32];

    g_snprintf(connect, sizeof connect, "zk.test:%d", port);
    return fault_session(connect, FAULT_SHORT_MS);
}

/* No answer for longer than the timeout. Calls with a limit come back, close too, others are not
 * held up, and whoever waits is served once there is one. */
TEST_CASE(s24_slow_names)
{
    struct acquisition held, late;

    fault_begin();
    set_names(true, 0);
    /* Renewals that are held up as well would be missed before the silence ends. */
    acquisition_queue(&held, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    zkl_session *s = open_by_name(fault.port), *closed = open_by_name(fault.port);
    acquisition_start(&late, fault_mutex(s), ZKL_FOREVER);
    CHECK_INT(zkl_session_wait(s, 50), ZKL_EUNREACHABLE);
    CHECK_INT(zkl_mutex_lock(fault_mutex(s), 50, NULL), ZKL_EUNREACHABLE);
    EVENTUALLY(waiting() == 1); /* one asks for both */
    zkl_mutex *m = fault_mutex(closed);
    fault_close(closed); /* it waits a while for the thread that asks */
    CHECK_INT(zkl_grant_state(held.grant), ZKL_HELD);
    CHECK_INT(atomic_load(&held.told.count), 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_ECLOSED);
    CHECK_INT(atomic_load(&late.done), 0);
    set_names(false, 2);
    acquisition_end(&held);
    REQUIRE(acquisition_granted(&late));
    CHECK(asked() >= 2);
    acquisition_end(&late);
    fault_end();
}

/* A loss is told in time though the session's next one cannot be opened, and that one is when it
 * can: a name that fails keeps its addresses. */
TEST_CASE(s24_names_fail_after_loss)
{
    struct acquisition holder, next, again;

    fault_begin();
    set_names(false, 0);
    zkl_session *s = open_by_name(proxy_port(fault.proxy));
    acquisition_queue(&holder, fault_mutex(s), 1);
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    set_names(true, 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    REQUIRE(acquisition_granted(&next));
    CHECK(told_at(&holder.told, ZKL_LOST) < next.at);
    acquisition_start(&again, fault_mutex(s), ZKL_FOREVER);
    proxy_thaw(fault.proxy);
    EVENTUALLY(waiting() > 0);
    acquisition_end(&holder);
    acquisition_end(&next);
    CHECK_INT(atomic_load(&again.done), 0);
    set_names(false, 2);
    REQUIRE(acquisition_granted(&again));
    acquisition_end(&again);
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 1);
    fault_end();
}

/* The server has moved while there is no connection: its new address gets through to a handle that
 * was made with the old one. A quarter of the timeout would be too long to look for it. */
TEST_CASE(s24_name_moves)
{
    struct acquisition a;

    fault_begin();
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN); /* as it is but in tests */
    set_names(false, 0);
    atomic_store(&names.address, "127.0.0.9");
    char *connect = g_strdup_printf("zk.test:%d", proxy_port(fault.proxy));
    zkl_session *s = fault_session(connect, 5 * FAULT_LIMIT_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    EVENTUALLY(zkl_session_outage(s) == ZKL_OUTAGE_REFUSED);
    atomic_store(&names.address, NULL);
    REQUIRE(acquisition_granted(&a));
    acquisition_end(&a);
    g_free(connect);
    fault_end();
    zoo_set_debug_level((ZooLogLevel)0);
}

void dead_host_start(struct dead_host *d)
{
    struct sockaddr_in to = {.sin_family = AF_INET};

    REQUIRE((d->listener = port_listen(&d->port)) >= 0);
    REQUIRE(listen(d->listener, 0) == 0);
    to.sin_port = htons((in_port_t)d->port.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < G_N_ELEMENTS(d->filler); i++) {
        d->filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(d->filler[i], (struct sockaddr *)&to, sizeof to);
    }
}

void dead_host_stop(struct dead_host *d)
{
    for (size_t i = 0; i < G_N_ELEMENTS(d->filler); i++)
        close(d->filler[i]);
    close(d->listener);
    port_release(&d->port);
}

/* One of three hosts refuses, and one is dead. */
TEST_CASE(s24_dead_hosts)
{
    struct acquisition a, next;
    struct dead_host dead;
    struct held_port refusing;

    fault_begin();
    set_names(false, 0);
    REQUIRE(port_hold(&dead.port) && port_hold(&refusing));
    dead_host_start(&dead);
    char *connect = g_strdup_printf("127.0.0.1:%d,127.0.0.1:%d,zk.test:%d", refusing.port,
                                    dead.port.port, proxy_port(fault.proxy));
    zkl_session *s = fault_session(connect, 2 * FAULT_SHORT_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    int64_t before = zkl_session_id(s);
    proxy_reset(fault.proxy); /* it goes through the list to come back, or too long for that */
    EVENTUALLY(told_times(&a.told, ZKL_HELD) + told_times(&a.told, ZKL_LOST) > 0);
    bool lost = told_times(&a.told, ZKL_LOST) > 0;
    CHECK(lost || atomic_load(&next.done) == 0);
    CHECK(lost || zkl_session_id(s) == before);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&next));
    CHECK(zkl_grant_token(next.grant) > 0);
    acquisition_end(&next);
    fault_end();
    dead_host_stop(&dead);
    port_release(&refusing);
    g_free(connect);
}
