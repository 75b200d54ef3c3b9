#include "fault.h"

#include "fixture.h"
#include "fourletter.h"
#include "live.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fault fault;

static GPtrArray *sessions, *mutexes, *rwlocks;

/* Signals are for the threads of the test: the suites look at who gets them. */
bool fault_raw_open(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    fault.direct = raw_open(zk_server_connect(fault.server));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fault.direct != NULL;
}

int fault_start(void)
{
    const struct zk_server_options options = {.tick_ms = FAULT_TICK_MS};

    if (!server_or_skip())
        return 0;
    live_shutdown(); /* its client takes signals, and seeds random() */
    fault.server = zk_server_start(&options);
    if (!fault.server)
        return 1;
    fault.port = zk_server_port(fault.server, 0);
    return fault_raw_open() ? 0 : 1;
}

int fault_stop(void)
{
    raw_close(fault.direct);
    zk_server_stop(fault.server);
    memset(&fault, 0, sizeof fault);
    return 0;
}

void fault_begin(void)
{
    static int number;

    if (fault.path) /* the test before was ended half-way: its sessions must not disturb */
        fault_close_all();
    sessions = g_ptr_array_new();
    mutexes = g_ptr_array_new();
    rwlocks = g_ptr_array_new();
    fault.path = g_strdup_printf("/fault-%d/lock", ++number);
    fault.proxy = proxy_start(fault.port);
    REQUIRE(fault.proxy != NULL);
}

static bool is_at_rest(void)
{
    struct fourletter_watches w;

    return fault_children() == 0 && fourletter_wchs(fault.port, &w) && w.watches == 0 &&
           fourletter_mntr(fault.port, "zk_ephemerals_count") == 0;
}

void fault_at_rest(void)
{
    EVENTUALLY(is_at_rest());
}

void fault_close_all(void)
{
    proxy_heal(fault.proxy);
    for (guint i = 0; i < sessions->len; i++)
        zkl_session_close(g_ptr_array_index(sessions, i));
    for (guint i = 0; i < mutexes->len; i++)
        zkl_mutex_free(g_ptr_array_index(mutexes, i));
    for (guint i = 0; i < rwlocks->len; i++)
        zkl_rwlock_free(g_ptr_array_index(rwlocks, i));
    g_ptr_array_free(sessions, TRUE);
    g_ptr_array_free(mutexes, TRUE);
    g_ptr_array_free(rwlocks, TRUE);
    proxy_stop(fault.proxy);
    g_free(fault.path);
    fault.proxy = NULL;
    fault.path = NULL;
}

void fault_end(void)
{
    fault_at_rest();
    fault_close_all();
}

/* ---- sessions ---- */

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data; /* losses are what these tests are for */
}

zkl_session *fault_session_options(const char *connect, const zkl_session_options *options)
{
    zkl_session_options o = *options;
    zkl_session *s;

    if (!o.log && !g_getenv("ZKL_TEST_LOG"))
        o.log = log_nothing;
    REQUIRE(zkl_session_open(&s, connect, &o, NULL) == 0);
    g_ptr_array_add(sessions, s);
    return s;
}

zkl_session *fault_session(const char *connect, int timeout_ms)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = timeout_ms;
    return fault_session_options(connect, &o);
}

zkl_session *fault_direct(int timeout_ms)
{
    zkl_session *s = fault_session(zk_server_connect(fault.server), timeout_ms);

    CHECK_INT(zkl_session_wait(s, FAULT_LIMIT_MS), 0);
    return s;
}

zkl_session *fault_proxied(int timeout_ms)
{
    zkl_session *s = fault_session(proxy_connect(fault.proxy), timeout_ms);

    CHECK_INT(zkl_session_wait(s, FAULT_LIMIT_MS), 0);
    return s;
}

void fault_close(zkl_session *s)
{
    CHECK(g_ptr_array_remove_fast(sessions, s));
    zkl_session_close(s);
}

zkl_mutex *fault_mutex_options(zkl_session *s, const char *path, const zkl_mutex_options *options)
{
    zkl_mutex *m;

    REQUIRE(zkl_mutex_new(&m, s, path, options) == 0);
    g_ptr_array_add(mutexes, m);
    return m;
}

zkl_mutex *fault_mutex(zkl_session *s)
{
    return fault_mutex_options(s, fault.path, NULL);
}

zkl_rwlock *fault_rwlock(zkl_session *s)
{
    zkl_rwlock *l;

    REQUIRE(zkl_rwlock_new(&l, s, fault.path, NULL) == 0);
    g_ptr_array_add(rwlocks, l);
    return l;
}

void fault_mutex_free(zkl_mutex *m)
{
    CHECK(g_ptr_array_remove_fast(mutexes, m));
    zkl_mutex_free(m);
}

bool fault_expire(int64_t session)
{
    return CHECK(raw_expire(fault.port, session));
}

/* ---- looking ---- */

int fault_children(void)
{
    char **names = raw_children(fault.direct, fault.path);
    int count = names ? (int)g_strv_length(names) : 0;

    g_strfreev(names);
    return count;
}

char *fault_waiting_node(const zkl_grant *head)
{
    char **names = raw_children(fault.direct, fault.path), *node = NULL;

    REQUIRE(names && g_strv_length(names) == 2);
    for (int i = 0; i < 2; i++) {
        if (!g_str_has_suffix(zkl_grant_node(head), names[i]))
            node = g_strconcat(fault.path, "/", names[i], NULL);
    }
    g_strfreev(names);
    return node;
}

int fault_count(const char *directory)
{
    GDir *dir = g_dir_open(directory, 0, NULL);
    int count = 0;

    while (dir && g_dir_read_name(dir))
        count++;
    if (dir)
        g_dir_close(dir);
    return count;
}

int64_t fault_boot_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int fault_scaled(int rounds)
{
    const char *scale = g_getenv("ZKL_TEST_SCALE");

    return MAX(1, scale ? rounds * atoi(scale) / 100 : rounds);
}
