/* The defects of Apache's own C recipe (zoo_lock.c of 3.8), part two: calls, callbacks and
 * disconnections. Each test cites what zoo_lock.c does in its place. */
#include "fault.h"
#include "runner.h"

#include <malloc.h>
#include <string.h>

TEST_SUITE(zoolock_call, .init = fault_start, .done = fault_stop);

/* Any session event makes its watcher lock again, with blocking calls and sleeps on libzookeeper's
 * completion thread. */
TEST_CASE(session_events_lock_nothing)
{
    struct acquisition held;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *unlocked = fault_mutex(s);
    CHECK_INT(zkl_mutex_lock(unlocked, FAULT_LIMIT_MS, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(unlocked), 0);
    fault_at_rest();
    acquisition_queue(&held, fault_mutex(s), 1);
    proxy_reset_stats(fault.proxy);
    for (int i = 1; i <= 3; i++) {
        proxy_reset(fault.proxy);
        EVENTUALLY(told_times(&held.told, ZKL_HELD) == i);
    }
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_CREATE2), 0);
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_GET_CHILDREN2), 0);
    CHECK_INT(fault_children(), 1);
    acquisition_end(&held);
    fault_end();
}

/* lock() answers 0 always: failure, expiry and "queued" look alike. */
TEST_CASE(results_differ)
{
    struct acquisition holder;
    zkl_error error;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    acquisition_queue(&holder, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_lock(m, 30, NULL), ZKL_ETIMEDOUT);
    CHECK_INT(zkl_last_error(&error), ZKL_ETIMEDOUT);
    CHECK(strstr(error.text, fault.path) != NULL);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    proxy_cut(fault.proxy);
    EVENTUALLY(zkl_session_outage(s) != ZKL_OUTAGE_NONE);
    CHECK_INT(zkl_mutex_lock(m, 100, NULL), ZKL_EUNREACHABLE);
    proxy_heal(fault.proxy);
    acquisition_end(&holder);
    CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_at_rest();
    fault_close(s);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ECLOSED);
    fault_end();
}

/* Three or four retries within 2 ms, and none after a read timeout (-7): any real disconnection
 * gives up. */
TEST_CASE(disconnections_are_waited_out)
{
    struct acquisition a;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    proxy_cut(fault.proxy);
    acquisition_start(&a, m, ZKL_FOREVER);
    EVENTUALLY(zkl_session_outage(s) != ZKL_OUTAGE_NONE);
    CHECK_INT(zkl_mutex_lock(m, 300, NULL), ZKL_EUNREACHABLE); /* so long it must have waited */
    CHECK_INT(atomic_load(&a.done), 0);
    proxy_heal(fault.proxy);
    CHECK(acquisition_granted(&a));
    acquisition_end(&a);
    fault_at_rest();
    proxy_reset_stats(fault.proxy);
    proxy_drop(fault.proxy, PROXY_TO_CLIENT, true);
    acquisition_start(&a, m, ZKL_FOREVER); /* its create is done, and never answered */
    EVENTUALLY(fault_children() == 1);
    struct proxy_stats stats;
    EVENTUALLY((proxy_get_stats(fault.proxy, &stats), stats.connections > 0));
    proxy_heal(fault.proxy);
    CHECK(acquisition_granted(&a));
    CHECK_INT(fault_children(), 1);
    acquisition_end(&a);
    fault_end();
}

/* Unlock while disconnected answers -4 and keeps the node, in a session that lives. */
TEST_CASE(unlock_needs_no_connection)
{
    struct acquisition next;
    const zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_proxied(30000); /* expiry must not do the work */
    zkl_mutex *m = fault_mutex(s);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    int64_t id = zkl_session_id(s);
    proxy_cut(fault.proxy);
    EVENTUALLY(zkl_grant_state(grant) == ZKL_SUSPECT);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(atomic_load(&next.done), 0);
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&next));
    CHECK(zkl_session_id(s) == id);
    CHECK_INT(fault_children(), 1);
    acquisition_end(&next);
    fault_end();
}

struct calls {
    zkl_mutex *mutex, *other;
    struct acquisition inner;
    int code[4];
    atomic_int made;
};

static void call_everything(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct calls *c = data;

    c->code[0] = err ? err->code : 0;
    c->code[1] = zkl_mutex_lock(c->other, ZKL_FOREVER, NULL);
    c->code[2] = zkl_mutex_unlock(c->mutex);
    acquisition_start(&c->inner, c->other, ZKL_FOREVER);
    c->code[3] = (int)zkl_grant_state(grant);
    zkl_grant_release(grant);
    atomic_store(&c->made, 1);
}

/* The callback runs with a mutex held: lock or unlock in it deadlocks. */
TEST_CASE(callbacks_may_call)
{
    struct calls c = {.made = 0};
    zkl_op *op;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    c.mutex = fault_mutex(s);
    c.other = fault_mutex(s);
    REQUIRE(zkl_mutex_lock_async(c.mutex, ZKL_FOREVER, call_everything, &c, &op) == 0);
    EVENTUALLY(atomic_load(&c.made) == 1);
    CHECK_INT(c.code[0], 0);
    CHECK_INT(c.code[1], ZKL_EDEADLK);
    CHECK_INT(c.code[2], ZKL_EPERM);
    CHECK_INT(c.code[3], ZKL_HELD);
    zkl_op_free(op);
    CHECK(acquisition_granted(&c.inner)); /* after the release in the callback */
    acquisition_end(&c.inner);
    fault_end();
}

static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

static void lock_often(zkl_mutex *m, int times)
{
    for (int i = 0; i < times; i++) {
        CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
}

/* Leaks strings and vectors on every pass; has no timeout, no cancel, no token. */
TEST_CASE(passes_leak_nothing)
{
    enum { PASSES = 1500, LEAK = 24, TRIES = 3 };
    struct acquisition holder, waiter;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    lock_often(m, 200);
    fault_at_rest();
    /* What a leak takes it takes each time; what other threads have in use varies. */
    bool leaks = true;
    for (int i = 0; i < TRIES && leaks; i++) {
        size_t before = in_use();
        lock_often(m, PASSES);
        fault_at_rest();
        leaks = in_use() >= before + (size_t)PASSES * LEAK;
    }
    CHECK(!leaks);
    acquisition_queue(&holder, m, 1);
    CHECK_INT(zkl_mutex_lock(m, 20, NULL), ZKL_ETIMEDOUT);
    acquisition_start(&waiter, m, ZKL_FOREVER);
    zkl_op_cancel(waiter.op);
    CHECK(acquisition_failed(&waiter, ZKL_ECANCELED));
    struct Stat stat;
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(holder.grant), &stat), ZOK);
    CHECK(zkl_grant_token(holder.grant) == (uint64_t)stat.czxid);
    acquisition_end(&waiter);
    acquisition_end(&holder);
    fault_end();
}
