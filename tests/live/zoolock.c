/* The defects of Apache's own C recipe (zoo_lock.c of 3.8) that no other test here has in view:
 * each cites what zoo_lock.c does in its place. */
#include "fault.h"
#include "runner.h"

#include <malloc.h>

TEST_SUITE(zoolock, .init = fault_start, .done = fault_stop);

/* The session's id is read before there is one: all who do so share the prefix of 0. */
TEST_CASE(early_locks_are_distinct)
{
    struct acquisition a, b, *first, *second;

    fault_begin();
    proxy_cut(fault.proxy);
    zkl_session *s = fault_session(proxy_connect(fault.proxy), FAULT_LONG_MS);
    zkl_session *t = fault_session(proxy_connect(fault.proxy), FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    acquisition_start(&b, fault_mutex(t), ZKL_FOREVER);
    CHECK(zkl_session_id(s) == 0 && zkl_session_id(t) == 0);
    proxy_heal(fault.proxy);
    EVENTUALLY(fault_children() == 2);
    EVENTUALLY(atomic_load(&a.done) + atomic_load(&b.done) == 1);
    first = atomic_load(&a.done) ? &a : &b;
    second = first == &a ? &b : &a;
    REQUIRE(acquisition_granted(first));
    CHECK_INT(atomic_load(&second->done), 0);
    char *node = g_strdup(zkl_grant_node(first->grant));
    acquisition_end(first);
    REQUIRE(acquisition_granted(second));
    CHECK(!g_str_equal(node, zkl_grant_node(second->grant)));
    acquisition_end(second);
    fault_end();
    g_free(node);
}

/* A child without a dash is a crash; the own node missing from the list is silence for ever. */
TEST_CASE(odd_lists)
{
    static const char *const names[] = {"x", "lock", "no_dash", "-", "x-", "lock-", "x-abc", "0"};
    char path[RAW_PATH_SIZE];
    struct acquisition mine, other;

    fault_begin();
    acquisition_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_snprintf(path, sizeof path, "%s/%s", fault.path, names[i]);
        CHECK_INT(raw_create(fault.direct, path, "\xff\0x", 3, 0, NULL), ZOK);
    }
    int odd = (int)G_N_ELEMENTS(names);
    acquisition_queue(&other, fault_mutex(fault_direct(FAULT_LONG_MS)), odd + 2);
    char **list = raw_children(fault.direct, fault.path);
    for (char **name = list; *name; name++) { /* the waiter's node goes */
        g_snprintf(path, sizeof path, "%s/%s", fault.path, *name);
        if (g_str_has_prefix(*name, "_c_") && !g_str_equal(path, zkl_grant_node(mine.grant)))
            CHECK_INT(raw_delete(fault.direct, path), ZOK);
    }
    g_strfreev(list);
    EVENTUALLY(fault_children() == odd + 2); /* it has heard of that, and enters again */
    acquisition_end(&mine);
    REQUIRE(acquisition_granted(&other));
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(other.grant), NULL), ZOK);
    acquisition_end(&other);
    EVENTUALLY(fault_children() == odd);
    raw_delete_tree(fault.direct, fault.path);
    fault_end();
}

/* Any session event makes its watcher lock again, with blocking calls and sleeps on libzookeeper's
 * completion thread. */
TEST_CASE(session_events_lock_nothing)
{
    struct acquisition held;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *unlocked = fault_mutex(s);
    CHECK_INT(zkl_mutex_lock(unlocked, ZKL_FOREVER, NULL), 0);
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

static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

static void lock_often(zkl_mutex *m, int times)
{
    for (int i = 0; i < times; i++) {
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
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
