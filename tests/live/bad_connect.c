/* Connect strings and options that cannot be, and servers that are none. */
#include "live.h"
#include "mutex_actors.h"
#include "ports.h"
#include "proxy.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(bad_connect, .init = live_init);

static void check_open(const char *connect, const zkl_session_options *o, const char *named)
{
    zkl_session *s = NULL;
    zkl_error e = {.code = 1};
    CHECK_INT(zkl_session_open(&s, connect, o, &e), ZKL_EINVAL);
    CHECK(s == NULL);
    CHECK_INT(e.code, ZKL_EINVAL);
    if (!strstr(e.text, named))
        runner_fail(__FILE__, __LINE__, "\"%s\" does not name \"%s\"", e.text, named);
    CHECK_ERROR(ZKL_EINVAL, named);
}

TEST_CASE(strings)
{
    static const char *const bad[] = {
        ",",          "a,",      ",a",       "a,,b",      ":2181",        "a:",      "a:0",
        "a:65536",    "a:b",     "a:-1",     "a:2181:2",  "[::1",         "[]:2181", "[::1]2181",
        "::1:2181",   "/chroot", "a//b",     "a/b/",      "a/../b",       "a/./b",   "a/b\n",
        "a:2181/x//", " ",       "a:2181 x", "[::1]:x/y", "a:2181,b:x/c",
    };
    check_open(NULL, NULL, "empty");
    check_open("", NULL, "empty");
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        check_open(bad[i], NULL, "connect string");
    CHECK_INT(zkl_session_open(NULL, "a", NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_open(NULL, NULL, NULL, NULL), ZKL_EINVAL);
}

TEST_CASE(options)
{
    const zkl_session_options init = ZKL_SESSION_OPTIONS_INIT;
    zkl_session_options o;
    const int timeouts[] = {-1, 1, 199, 1000000001, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(timeouts); i++) {
        o = init;
        o.session_timeout_ms = timeouts[i];
        check_open("a", &o, "session_timeout_ms");
    }
    o = init, o.tick_ms = -1;
    check_open("a", &o, "tick_ms");
    o = init, o.drift_permille = 501;
    check_open("a", &o, "drift_permille");
    o = init, o.drift_permille = -1;
    check_open("a", &o, "drift_permille");
    o = init, o.fixed_servers = 2;
    check_open("a", &o, "fixed_servers");
    o = init, o.credential_count = 1;
    check_open("a", &o, "credentials");
    const char *const acls[] = {
        "",         "world", "world:anyone", "world:anyone:", "world:anyone:x", "world:anyone:r,",
        ":anyone:r"};
    for (size_t i = 0; i < G_N_ELEMENTS(acls); i++) {
        o = init, o.acl = acls[i];
        check_open("a", &o, "acl");
    }
}

TEST_CASE(mutex_options)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m = NULL;
    char name[1026];
    memset(name, 'n', sizeof(name));
    name[1025] = '\0';
    o.name = name;
    CHECK_INT(zkl_mutex_new(&m, t->session, t->lock, &o), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, "name");
    name[1024] = '\0';
    CHECK_INT(zkl_mutex_new(&m, t->session, t->lock, &o), 0);
    zkl_mutex_free(m);
    o.name = "\xff";
    CHECK_INT(zkl_mutex_new(&m, t->session, t->lock, &o), ZKL_EINVAL);
    o.name = NULL;
    o.parents = (zkl_parents)7;
    CHECK_INT(zkl_mutex_new(&m, t->session, t->lock, &o), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, "parents");
    CHECK_INT(zkl_mutex_new(NULL, t->session, t->lock, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_new(&m, NULL, t->lock, NULL), ZKL_EINVAL);
    live_end(t);
}

/* The server has its say about the session's timeout, in both directions. */
TEST_CASE(negotiated)
{
    struct live *t = live_begin(); /* limits 1 s and 60 s */
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    o.session_timeout_ms = 1000000000;
    zkl_session *s = live_open_only(t, t->connect, &o);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_session_timeout_ms(s), 60000);
    zkl_mutex *m = live_mutex(s, t->lock);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    o.session_timeout_ms = 300;
    s = live_open_only(t, t->connect, &o);
    int wanted = zkl_session_timeout_ms(s); /* unless it is there already */
    CHECK(wanted == 300 || wanted == 1000);
    REQUIRE(zkl_session_wait(s, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_session_timeout_ms(s), 1000);
    live_end(t);
}

/* Everything with a limit comes back with the reason, and names the server. */
static void check_no_server(struct live *t, const char *connect, int code, const char *named)
{
    struct completion c = COMPLETION_INIT;
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_queue *q = NULL;
    o.session_timeout_ms = 600; /* which is how long a try lasts */
    zkl_session *s = live_open_only(t, connect, &o);
    zkl_mutex *m = live_mutex(s, t->lock);
    LIVE_UNTIL(zkl_session_wait(s, 100) == code); /* a name server may take its time */
    CHECK_ERROR(code, named);
    CHECK_INT(zkl_session_wait(s, 0), code);
    CHECK_INT(zkl_mutex_lock(m, 100, NULL), code);
    CHECK_ERROR(code, named);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), code);
    CHECK_INT(zkl_queue_read(&q, s, t->lock, NULL, 100), code);
    REQUIRE(zkl_mutex_lock_async(m, 100, completion_take, &c, NULL) == 0);
    CHECK_INT(completion_wait(&c), code);
    CHECK_INT(zkl_session_id(s), 0);
    live_close(t, s);
    zkl_mutex_free(m);
}

TEST_CASE(unknown_host)
{
    struct live *t = live_begin();
    check_no_server(t, "no-such-host.invalid:2181", ZKL_EHOST, "no-such-host.invalid");
    live_end(t);
}

TEST_CASE(unreachable_port)
{
    struct live *t = live_begin();
    struct held_port port;
    REQUIRE(port_hold(&port));
    char *connect = g_strdup_printf("127.0.0.1:%d", port.port);
    check_no_server(t, connect, ZKL_EUNREACHABLE, connect);
    g_free(connect);
    port_release(&port);
    live_end(t);
}

struct lines {
    atomic_int all, outage, connecting, refused;
};

static void on_line(const zkl_log_record *record, void *data)
{
    struct lines *lines = data;

    if (strcmp(record->event, "no-connection") == 0) {
        CHECK(strstr(record->text, ": 127.0.0.1:"));
        atomic_fetch_add(&lines->outage, 1);
    }
    atomic_fetch_add(&lines->refused, strstr(record->text, "refused") != NULL);
    atomic_fetch_add(&lines->connecting, strcmp(record->event, "libzookeeper-connect") == 0);
    atomic_fetch_add(&lines->all, 1);
}

static zkl_session *open_logging(struct live *t, const char *connect, struct lines *lines,
                                 zkl_log_level level)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = 600;
    o.log = on_line;
    o.log_data = lines;
    o.log_level = level;
    return live_open_only(t, connect, &o);
}

/* libzookeeper tries a hundred times before the first line, or on a slow machine behind it. A
 * session that wants to read of the tries reads of some of them, and another session of the process
 * reads of none. */
TEST_CASE(absence_is_told_once)
{
    struct live *t = live_begin();
    struct lines usual = {.all = 0}, curious = {.all = 0}, elsewhere = {.all = 0};
    struct held_port port;

    REQUIRE(port_hold(&port));
    char *connect = g_strdup_printf("127.0.0.1:%d", port.port);
    zoo_set_debug_level(ZOO_LOG_LEVEL_INFO); /* as it is but in tests */
    zkl_session *there = open_logging(t, t->connect, &elsewhere, ZKL_LOG_DEBUG);
    zkl_session *s = open_logging(t, connect, &usual, ZKL_LOG_WARN);
    zkl_session *c = open_logging(t, connect, &curious, ZKL_LOG_DEBUG);
    LIVE_UNTIL(atomic_load(&usual.outage) > 0 && atomic_load(&curious.outage) > 0 &&
               atomic_load(&curious.connecting) >= 10 && atomic_load(&elsewhere.all) > 0);
    CHECK_INT(atomic_load(&usual.all), 1);
    CHECK_INT(atomic_load(&curious.connecting), 10);
    CHECK(atomic_load(&curious.refused) > 0);
    CHECK_INT(atomic_load(&elsewhere.refused), 0);
    zoo_set_debug_level((ZooLogLevel)0);
    live_close(t, there);
    live_close(t, s);
    live_close(t, c);
    g_free(connect);
    port_release(&port);
    live_end(t);
}

/* Noise may be taken for a greeting, now and then, but not for what comes after it. */
static void check_rubbish(struct live *t, const char *connect)
{
    struct completion c = COMPLETION_INIT;
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    zkl_queue *q = NULL;
    o.session_timeout_ms = 600;
    zkl_session *s = live_open_only(t, connect, &o);
    zkl_mutex *m = live_mutex(s, t->lock);
    for (int i = 0; i < 5; i++) {
        int code = zkl_mutex_lock(m, 200, NULL);
        CHECK(code == ZKL_EUNREACHABLE || code == ZKL_ETIMEDOUT);
        CHECK_ERROR(code, code == ZKL_ETIMEDOUT ? t->lock : connect);
    }
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EUNREACHABLE);
    CHECK(zkl_queue_read(&q, s, t->lock, NULL, 100) != 0);
    REQUIRE(zkl_mutex_lock_async(m, 100, completion_take, &c, NULL) == 0);
    CHECK(completion_wait(&c) != 0);
    live_close(t, s);
    zkl_mutex_free(m);
}

TEST_CASE(rubbish)
{
    struct live *t = live_begin();
    for (uint32_t seed = 1; seed <= 3; seed++) {
        struct proxy *p = rubbish_server_start(seed);
        REQUIRE(p != NULL);
        check_rubbish(t, proxy_connect(p));
        proxy_stop(p);
    }
    live_end(t);
}

TEST_CASE(mute)
{
    struct live *t = live_begin();
    struct proxy *p = mute_server_start();
    REQUIRE(p != NULL);
    check_no_server(t, proxy_connect(p), ZKL_EUNREACHABLE, proxy_connect(p));
    proxy_stop(p);
    live_end(t);
}

/* The good one among bad ones is found, and closing does not wait for the others. */
TEST_CASE(one_good)
{
    struct live *t = live_begin();
    struct held_port port;
    REQUIRE(port_hold(&port));
    char *connect = g_strdup_printf("127.0.0.1:%d, %s", port.port, t->connect);
    zkl_session *s = live_open(t, connect, NULL);
    zkl_mutex *m = live_mutex(s, t->lock);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    g_free(connect);
    port_release(&port);
    live_end(t);
}
