/* The daemon's own calls on the session's handle, and its own transactions fenced by a grant. */
#include "fault.h"
#include "runner.h"

#include <zkl-zookeeper.h>

TEST_SUITE(fence_call, .init = fault_start, .done = fault_stop);

struct call {
    zkl_grant *grant;
    const char *path;
    int check, code, results[2];
};

static void set_fenced(zhandle_t *zh, void *data)
{
    struct call *c = data;
    zoo_op_t ops[2];
    zoo_op_result_t results[2] = {{0}};

    c->check = zkl_grant_check_op(c->grant, ops, 1);
    zoo_set_op_init(&ops[1], c->path, "x", 1, -1, NULL);
    c->code = zoo_multi(zh, 2, ops, results);
    for (int i = 0; i < 2; i++)
        c->results[i] = results[i].err;
}

TEST_CASE(own_transaction)
{
    struct acquisition a;
    struct call c = {.path = "/fence-own"};

    fault_begin();
    raw_delete_tree(fault.direct, c.path);
    CHECK_INT(raw_create(fault.direct, c.path, NULL, -1, 0, NULL), ZOK);
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK(acquisition_granted(&a));
    c.grant = a.grant;
    CHECK_INT(zkl_session_call(s, set_fenced, &c), 0);
    CHECK_INT(c.check, 1);
    CHECK_INT(c.code, ZOK);
    CHECK_INT(raw_delete(fault.direct, zkl_grant_node(a.grant)), ZOK);
    CHECK_INT(zkl_session_call(s, set_fenced, &c), 0);
    CHECK_INT(c.code, ZNONODE);
    CHECK_INT(c.results[0], ZNONODE);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_session_call(s, set_fenced, &c), 0);
    CHECK_INT(c.check, ZKL_ELOST);
    CHECK_INT(c.code, ZNONODE);
    struct Stat stat;
    CHECK_INT(raw_exists(fault.direct, c.path, &stat), ZOK);
    CHECK_INT(stat.version, 1);
    acquisition_end(&a);
    fault_end();
}

static void count_call(zhandle_t *zh, void *data)
{
    CHECK_INT(zoo_exists(zh, "/", 0, NULL), ZOK);
    ++*(int *)data;
}

TEST_CASE(errors)
{
    struct zoo_op op;
    int calls = 0;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    CHECK_INT(zkl_session_call(NULL, count_call, &calls), ZKL_EINVAL);
    CHECK_INT(zkl_session_call(s, NULL, &calls), ZKL_EINVAL);
    CHECK_INT(zkl_grant_check_op(NULL, &op, 1), ZKL_EINVAL);
    CHECK_INT(calls, 0);
    CHECK_INT(zkl_session_call(s, count_call, &calls), 0);
    CHECK_INT(calls, 1);
    zkl_session *nowhere = fault_session("nowhere.invalid:1", FAULT_LONG_MS);
    /* The resolver may have answered already. */
    int code = zkl_session_call(nowhere, count_call, &calls);
    CHECK(code == ZKL_EUNREACHABLE || code == ZKL_EHOST);
    CHECK_INT(calls, 1);
    fault_end();
}

struct busy {
    atomic_bool begun, go_on, closed;
    zkl_session *session;
    int code;
};

static void use_late(zhandle_t *zh, void *data)
{
    struct busy *b = data;

    atomic_store(&b->begun, true);
    while (!atomic_load(&b->go_on))
        g_usleep(1000);
    /* A handle that was closed meanwhile is freed: a sanitizer would tell. */
    b->code = zoo_exists(zh, "/", 0, NULL);
}

static void *call(void *data)
{
    struct busy *b = data;

    CHECK_INT(zkl_session_call(b->session, use_late, b), 0);
    return NULL;
}

static void *close_session(void *data)
{
    struct busy *b = data;

    fault_close(b->session);
    atomic_store(&b->closed, true);
    return NULL;
}

TEST_CASE(close_waits)
{
    struct busy b = {.begun = false};
    pthread_t caller, closer;

    fault_begin();
    b.session = fault_direct(FAULT_LONG_MS);
    REQUIRE(pthread_create(&caller, NULL, call, &b) == 0);
    EVENTUALLY(atomic_load(&b.begun));
    REQUIRE(pthread_create(&closer, NULL, close_session, &b) == 0);
    EVENTUALLY(zkl_session_wait(b.session, 0) == ZKL_ECLOSED);
    CHECK(!atomic_load(&b.closed));
    atomic_store(&b.go_on, true);
    pthread_join(caller, NULL);
    pthread_join(closer, NULL);
    CHECK_INT(b.code, ZOK);
    fault_end();
}

static void call_until_canceled(zhandle_t *zh, void *data)
{
    struct busy *b = data;

    (void)zh;
    atomic_store(&b->begun, true);
    while (!atomic_load(&b->go_on))
        g_usleep(1000); /* a point of cancellation, as the library's own calls have them */
}

static void *call_canceled(void *data)
{
    struct busy *b = data;

    CHECK_INT(zkl_session_call(b->session, call_until_canceled, b), 0);
    pthread_testcancel();
    return NULL;
}

/* The handle comes back all the same: else the session would live as long as the process. */
TEST_CASE(canceled)
{
    struct busy b = {.begun = false};
    struct acquisition a;
    pthread_t caller;
    void *result;

    fault_begin();
    b.session = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(b.session), 1);
    REQUIRE(pthread_create(&caller, NULL, call_canceled, &b) == 0);
    EVENTUALLY(atomic_load(&b.begun));
    pthread_cancel(caller);
    g_usleep(20000); /* the longer, the surer is it seen that it does not end before it may */
    atomic_store(&b.go_on, true);
    pthread_join(caller, &result);
    CHECK(result == PTHREAD_CANCELED);
    fault_close(b.session);
    EVENTUALLY(fault_children() == 0);
    acquisition_end(&a);
    fault_end();
}

struct own_watch {
    const char *node;
    atomic_int gone;
};

static void on_own(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    (void)zh, (void)state, (void)path;
    if (type == ZOO_DELETED_EVENT)
        atomic_fetch_add(&((struct own_watch *)context)->gone, 1);
}

static void watch_own(zhandle_t *zh, void *data)
{
    struct own_watch *w = data;
    char nothing[1];
    int length = sizeof nothing;

    CHECK_INT(zoo_wget(zh, w->node, on_own, w, nothing, &length, NULL), ZOK);
}

/* Where the library needs its own no more. */
TEST_CASE(own_watch_stays)
{
    struct acquisition a, waiter;
    struct own_watch w = {.gone = 0};
    int calls = 0;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    w.node = zkl_grant_node(a.grant);
    CHECK_INT(zkl_session_call(s, watch_own, &w), 0);
    proxy_reset_stats(fault.proxy);
    acquisition_queue(&waiter, fault_mutex(s), 2);
    CHECK(proxy_wait_answers(fault.proxy, PROXY_OP_GET_DATA, 1, FAULT_LIMIT_MS));
    zkl_op_cancel(waiter.op);
    CHECK(acquisition_failed(&waiter, ZKL_ECANCELED));
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(zkl_session_call(s, count_call, &calls), 0); /* behind what the library has asked */
    CHECK_INT(raw_delete(fault.direct, w.node), ZOK);
    EVENTUALLY(atomic_load(&w.gone) == 1);
    acquisition_end(&waiter);
    acquisition_end(&a);
    fault_end();
}
