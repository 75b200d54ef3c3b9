/* What zkl_session_on_change() tells, in order and once. */
#include "runner.h"

#include "fault.h"

TEST_SUITE(fault_session, .init = fault_start, .done = fault_stop);

enum { HEARD_MAX = 64 };

struct heard {
    atomic_int count;
    zkl_session_event event[HEARD_MAX];
    int64_t id[HEARD_MAX];
};

static void hear(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct heard *h = data;
    int n = atomic_load(&h->count);

    (void)s;
    if (n < HEARD_MAX) {
        h->event[n] = event;
        h->id[n] = id;
        atomic_store(&h->count, n + 1);
    }
}

/* The last of what was heard so far. */
static bool heard_last(struct heard *h, zkl_session_event event)
{
    int n = atomic_load(&h->count);

    return n > 0 && h->event[n - 1] == event;
}

TEST_CASE(connection_comes_and_goes)
{
    struct heard h = {.count = 0};

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    int64_t id = zkl_session_id(s);
    CHECK_INT(zkl_session_on_change(s, hear, &h), 0);
    EVENTUALLY(heard_last(&h, ZKL_SESSION_CONNECTED));
    proxy_cut(fault.proxy);
    EVENTUALLY(heard_last(&h, ZKL_SESSION_SUSPENDED));
    proxy_heal(fault.proxy);
    EVENTUALLY(heard_last(&h, ZKL_SESSION_CONNECTED));
    CHECK_INT(atomic_load(&h.count), 3);
    for (int i = 0; i < 3; i++)
        CHECK(h.id[i] == id);
    fault_end();
}

/* The end of one session is told with its id, before the next one's beginning. */
TEST_CASE(session_is_replaced)
{
    struct heard h = {.count = 0};

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    int64_t before = zkl_session_id(s);
    CHECK_INT(zkl_session_on_change(s, hear, &h), 0);
    EVENTUALLY(heard_last(&h, ZKL_SESSION_CONNECTED));
    proxy_freeze(fault.proxy, PROXY_BOTH);
    fault_expire(before);
    proxy_thaw(fault.proxy);
    EVENTUALLY(atomic_load(&h.count) >= 3 && heard_last(&h, ZKL_SESSION_CONNECTED));
    int n = atomic_load(&h.count);
    CHECK_INT(h.event[n - 2], ZKL_SESSION_REPLACED);
    CHECK(h.id[n - 2] == before);
    CHECK(h.id[n - 1] == zkl_session_id(s));
    fault_end();
}

TEST_CASE(closing_is_the_last)
{
    struct heard h = {.count = 0}, early = {.count = 0};
    zkl_session *s;

    fault_begin();
    char *connect = g_strdup_printf("127.0.0.1:%d", fault.port);
    REQUIRE(zkl_session_open(&s, connect, NULL, NULL) == 0);
    CHECK_INT(zkl_session_on_change(s, hear, &early), 0);
    CHECK_INT(zkl_session_on_change(s, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_on_change(NULL, hear, NULL), ZKL_EINVAL);
    REQUIRE(zkl_session_wait(s, FAULT_LIMIT_MS) == 0);
    zkl_mutex *m = fault_mutex(s); /* a handle, to ask a closed session with */
    CHECK_INT(zkl_session_on_change(s, hear, &h), 0);
    zkl_session_close(s);
    CHECK(heard_last(&h, ZKL_SESSION_CLOSED));
    CHECK(heard_last(&early, ZKL_SESSION_CLOSED));
    CHECK_INT(atomic_load(&h.count), 2);
    CHECK_INT(atomic_load(&early.count), 2);
    CHECK_INT(zkl_session_on_change(s, hear, &h), ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ECLOSED);
    g_free(connect);
    fault_end();
}
