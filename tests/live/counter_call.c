/* Counters on a real server: all formats, contention, fences, and answers that are lost. */
#include "live.h"
#include "proxy.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(counter_call, .init = live_init);

TEST_CASE(formats)
{
    static const char four[] = "\0\0\1\2", eight[] = "\377\377\377\377\377\377\377\376";
    struct live *t = live_begin();
    zkl_counter *narrow, *wide;
    int64_t value = -1;
    struct Stat stat;

    REQUIRE(zkl_counter_new(&narrow, t->session, t->lock, ZKL_COUNTER_32) == 0);
    REQUIRE(zkl_counter_new(&wide, t->session, t->lock, ZKL_COUNTER_64) == 0);
    CHECK_INT(zkl_counter_get(narrow, 0, &value), 0);
    CHECK_INT(value, 0);
    CHECK_INT(raw_exists(t->admin, t->lock, NULL), ZNONODE);
    CHECK_INT(zkl_counter_add(narrow, 258, NULL, ZKL_FOREVER, &value), 0);
    CHECK_INT(value, 258);
    char *data = raw_get(t->admin, t->lock, &stat);
    CHECK(stat.dataLength == 4 && data && memcmp(data, four, 4) == 0);
    free(data);
    CHECK_INT(zkl_counter_get(wide, 0, &value), ZKL_ELAYOUT);
    CHECK_ERROR(ZKL_ELAYOUT, t->lock);
    REQUIRE(raw_set(t->admin, t->lock, eight, 8) == ZOK);
    CHECK_INT(zkl_counter_get(wide, 0, &value), 0);
    CHECK_INT(value, -2);
    CHECK_INT(zkl_counter_add(wide, INT64_MIN, NULL, 0, NULL), ZKL_EOVERFLOW);
    CHECK_INT(zkl_counter_compare_and_set(wide, -1, 5, NULL, 0), ZKL_EVERSION);
    CHECK_INT(zkl_counter_compare_and_set(wide, -2, 5, NULL, 0), 0);
    CHECK_INT(zkl_counter_set(wide, INT64_MAX, NULL, 0), 0);
    CHECK_INT(zkl_counter_add(wide, 1, NULL, 0, NULL), ZKL_EOVERFLOW);
    CHECK_INT(zkl_counter_get(wide, 0, &value), 0);
    CHECK(value == INT64_MAX);
    zkl_counter_free(narrow);
    zkl_counter_free(wide);
    live_end(t);
}

enum { THREADS = 4, ROUNDS = 50 };

struct adder {
    pthread_t thread;
    zkl_counter *counter;
    zkl_mutex *mutex; /* NULL: no fence */
    int added, unknown;
};

static void *add(void *data)
{
    struct adder *a = data;
    const zkl_grant *g = NULL;

    for (int i = 0; i < ROUNDS; i++) {
        if (a->mutex)
            CHECK_INT(zkl_mutex_lock(a->mutex, ZKL_FOREVER, &g), 0);
        int code = zkl_counter_add(a->counter, 1, g, ZKL_FOREVER, NULL);
        a->added += code == 0;
        a->unknown += code == ZKL_EUNKNOWN;
        if (code != 0 && code != ZKL_EUNKNOWN)
            CHECK_INT(code, 0);
        if (a->mutex)
            CHECK_INT(zkl_mutex_unlock(a->mutex), 0);
    }
    return NULL;
}

/* None is lost, with a fence or without, while answers are lost one after the other. */
static void add_all(bool fenced, bool losing)
{
    struct live *t = live_begin();
    struct proxy *proxy = proxy_start(t->port);
    zkl_session *s = live_open(t, proxy_connect(proxy), NULL);
    struct adder a[THREADS];
    char *path = g_strconcat(t->path, "/parents/of/counter", NULL);
    int added = 0, unknown = 0;
    int64_t value;

    for (int i = 0; i < THREADS; i++) {
        a[i] = (struct adder){.mutex = fenced ? live_mutex(s, t->lock) : NULL};
        REQUIRE(zkl_counter_new(&a[i].counter, s, path, ZKL_COUNTER_64) == 0);
        REQUIRE(pthread_create(&a[i].thread, NULL, add, &a[i]) == 0);
    }
    for (int i = 0; i < 5 && losing; i++) {
        proxy_reset_stats(proxy);
        proxy_lose_reply_to(proxy, fenced ? PROXY_OP_MULTI : PROXY_OP_SET_DATA);
        proxy_wait_lost(proxy, 1, 2000); /* unless they are through */
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(a[i].thread, NULL);
        added += a[i].added;
        unknown += a[i].unknown;
    }
    REQUIRE(zkl_counter_get(a[0].counter, ZKL_FOREVER, &value) == 0);
    CHECK_INT(added + unknown, THREADS * ROUNDS);
    CHECK(value >= added && value <= added + unknown);
    CHECK(losing || unknown == 0);
    for (int i = 0; i < THREADS; i++)
        zkl_counter_free(a[i].counter);
    live_close(t, s);
    proxy_stop(proxy);
    g_free(path);
    live_end(t);
}

TEST_CASE(lost_answers)
{
    add_all(false, true);
}

TEST_CASE(fenced_lost_answers)
{
    add_all(true, true);
}

/* The list of servers changes while a lock is waited for and numbers are written: nothing is lost
 * but the session, and that only when the old server is gone. */
TEST_CASE(other_servers)
{
    struct live *t = live_begin();
    struct proxy *old = proxy_start(t->port), *new = proxy_start(t->port);
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    o.session_timeout_ms = 2000; /* its end is waited for */
    zkl_session *s = live_open(t, proxy_connect(old), &o);
    int64_t id = zkl_session_id(s), value;
    char *path = g_strconcat(t->path, "/counter", NULL);
    struct adder a = {.mutex = NULL};

    REQUIRE(zkl_counter_new(&a.counter, s, path, ZKL_COUNTER_64) == 0);
    REQUIRE(zkl_counter_set(a.counter, 0, NULL, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_session_set_servers(s, proxy_connect(new)), 0);
    proxy_freeze(old, PROXY_TO_CLIENT);
    REQUIRE(pthread_create(&a.thread, NULL, add, &a) == 0);
    LIVE_UNTIL(proxy_requests(old, PROXY_OP_GET_DATA) > 0);
    CHECK_INT(zkl_session_id(s), id);
    proxy_cut(old);
    pthread_join(a.thread, NULL);
    CHECK_INT(a.added + a.unknown, ROUNDS);
    CHECK(zkl_session_id(s) != id);
    CHECK(proxy_requests(new, PROXY_OP_SET_DATA) > 0);
    REQUIRE(zkl_counter_get(a.counter, ZKL_FOREVER, &value) == 0);
    CHECK(value >= a.added && value <= a.added + a.unknown);
    zkl_counter_free(a.counter);
    live_close(t, s);
    proxy_stop(old);
    proxy_stop(new);
    g_free(path);
    live_end(t);
}
