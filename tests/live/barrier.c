/* Barriers: who waits, how long, and through what. */
#include "live.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>

TEST_SUITE(barrier, .init = live_init);

struct waiting {
    atomic_int done;
    int code;
};

static void on_done(const zkl_error *err, void *data)
{
    struct waiting *w = data;

    w->code = err ? err->code : 0;
    atomic_fetch_add(&w->done, 1);
}

static zkl_barrier *barrier_of(struct live *t)
{
    zkl_barrier *b;

    REQUIRE(zkl_barrier_new(&b, t->session, t->lock, NULL) == 0);
    return b;
}

static void start(struct waiting *w, zkl_barrier *b, int64_t timeout_ms)
{
    *w = (struct waiting){.code = 1};
    REQUIRE(zkl_barrier_wait_async(b, timeout_ms, on_done, w) == 0);
}

static int end(struct waiting *w)
{
    LIVE_UNTIL(atomic_load(&w->done) == 1);
    return w->code;
}

TEST_CASE(set_and_removed)
{
    struct live *t = live_begin();
    zkl_barrier *b = barrier_of(t);
    struct waiting w[2];
    struct Stat stat;

    CHECK_INT(zkl_barrier_wait(b, ZKL_FOREVER), 0); /* nobody has closed it */
    CHECK_INT(zkl_barrier_set(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_barrier_set(b, ZKL_FOREVER), 0);
    CHECK_INT(raw_exists(t->admin, t->lock, &stat), ZOK);
    CHECK_INT(stat.ephemeralOwner, 0);
    CHECK_INT(zkl_barrier_wait(b, 20), ZKL_ETIMEDOUT);
    CHECK_ERROR(ZKL_ETIMEDOUT, t->lock);
    for (int i = 0; i < 2; i++)
        start(&w[i], b, ZKL_FOREVER);
    LIVE_UNTIL(live_watches(t) == 1);
    CHECK_INT(raw_set(t->admin, t->lock, "still", 5), ZOK);
    LIVE_UNTIL(live_watches(t) == 1);
    CHECK_INT(atomic_load(&w[0].done), 0);
    CHECK_INT(zkl_barrier_remove(b, ZKL_FOREVER), 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(end(&w[i]), 0);
    CHECK_INT(zkl_barrier_remove(b, ZKL_FOREVER), 0);
    zkl_barrier_free(b);
    live_end(t);
}

/* It is waited for in the next session, behind what that one sees. */
TEST_CASE(session_replaced)
{
    struct live *t = live_begin();
    zkl_barrier *b = barrier_of(t);
    struct waiting w;
    int64_t id = zkl_session_id(t->session);

    REQUIRE(zkl_barrier_set(b, ZKL_FOREVER) == 0);
    start(&w, b, ZKL_FOREVER);
    LIVE_UNTIL(live_watches(t) == 1);
    REQUIRE(raw_expire(t->port, id));
    LIVE_UNTIL(zkl_session_id(t->session) != id && live_watches(t) == 1);
    CHECK_INT(atomic_load(&w.done), 0);
    CHECK_INT(zkl_barrier_remove(b, ZKL_FOREVER), 0);
    CHECK_INT(end(&w), 0);
    zkl_barrier_free(b);
    live_end(t);
}

TEST_CASE(ends)
{
    struct live *t = live_begin();
    zkl_barrier *b = barrier_of(t);
    struct waiting w;

    REQUIRE(zkl_barrier_set(b, ZKL_FOREVER) == 0);
    start(&w, b, ZKL_FOREVER);
    LIVE_UNTIL(live_watches(t) == 1);
    zkl_barrier_free(b);
    CHECK_INT(end(&w), ZKL_ECLOSED);
    LIVE_UNTIL(live_watches(t) == 0);
    b = barrier_of(t);
    REQUIRE(zkl_barrier_remove(b, ZKL_FOREVER) == 0);
    char *child = g_strconcat(t->lock, "/child", NULL);
    REQUIRE(zkl_barrier_set(b, ZKL_FOREVER) == 0);
    REQUIRE(raw_create(t->admin, child, NULL, -1, 0, NULL) == ZOK);
    CHECK_INT(zkl_barrier_remove(b, ZKL_FOREVER), ZKL_ENOTEMPTY);
    CHECK_ERROR(ZKL_ENOTEMPTY, t->lock);
    g_free(child);
    start(&w, b, ZKL_FOREVER);
    live_close(t, t->session);
    CHECK_INT(end(&w), ZKL_ECLOSED);
    CHECK_INT(zkl_barrier_set(b, 0), ZKL_ECLOSED);
    zkl_barrier_free(b);
    t->session = live_open(t, t->connect, NULL);
    live_end(t);
}

static void in_callback(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s;
    (void)id;
    if (event == ZKL_SESSION_CONNECTED)
        CHECK_INT(zkl_barrier_wait(data, 0), ZKL_EDEADLK);
}

TEST_CASE(bad_arguments)
{
    struct live *t = live_begin();
    zkl_barrier_options o = ZKL_BARRIER_OPTIONS_INIT;
    zkl_barrier *b = NULL;

    CHECK_INT(zkl_barrier_new(NULL, t->session, t->lock, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_new(&b, NULL, t->lock, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_new(&b, t->session, "x", NULL), ZKL_EINVAL);
    o.size = 0;
    CHECK_INT(zkl_barrier_new(&b, t->session, t->lock, &o), ZKL_EINVAL);
    o = (zkl_barrier_options)ZKL_BARRIER_OPTIONS_INIT;
    o.parents = (zkl_parents)2;
    CHECK_INT(zkl_barrier_new(&b, t->session, t->lock, &o), ZKL_EINVAL);
    o.parents = ZKL_PARENTS_PERSISTENT;
    o.name = "\xff";
    CHECK_INT(zkl_barrier_new(&b, t->session, t->lock, &o), ZKL_EINVAL);
    CHECK(b == NULL);
    CHECK_INT(zkl_barrier_wait(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_set(NULL, 0), ZKL_EINVAL);
    o.name = "me";
    REQUIRE(zkl_barrier_new(&b, t->session, t->lock, &o) == 0);
    CHECK_INT(zkl_barrier_wait_async(b, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_set(b, 0), 0);
    char *data = raw_get(t->admin, t->lock, NULL);
    CHECK_STR(data, "me");
    free(data);
    REQUIRE(zkl_session_on_change(t->session, in_callback, b) == 0);
    CHECK_INT(zkl_barrier_remove(b, 0), 0);
    zkl_barrier_free(NULL);
    struct waiting w;
    start(&w, b, ZKL_FOREVER); /* behind the callback */
    CHECK_INT(end(&w), 0);
    zkl_barrier_free(b);
    live_end(t);
}
