/* The defects of Apache's own C recipe (zoo_lock.c of 3.8), part one: nodes, watches and order.
 * Each test cites what zoo_lock.c does in its place. */
#include "fault.h"
#include "fourletter.h"
#include "runner.h"

TEST_SUITE(zoolock_node, .init = fault_start, .done = fault_stop);

static bool watched(zkl_session *s, const char *node)
{
    return fourletter_has_watch(fault.port, zkl_session_id(s), node) == 1;
}

/* Identity is the session's id: two mutexes on one handle share a node, and both own. */
TEST_CASE(identity_is_the_attempt)
{
    struct acquisition second;
    const zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s), *other = fault_mutex(s);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    CHECK_INT(zkl_mutex_lock(other, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0); /* and reentrancy is counted */
    acquisition_queue(&second, other, 2);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK_INT(atomic_load(&second.done), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(acquisition_granted(&second));
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_grant_state(second.grant), ZKL_HELD);
    acquisition_end(&second);
    fault_end();
}

/* Unlock and destroy leave the predecessor's watch: who gave up acquires later, or is freed. */
TEST_CASE(giving_up_is_for_good)
{
    struct acquisition holder, quitter;
    zkl_mutex *freed;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    acquisition_queue(&holder, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    const char *node = zkl_grant_node(holder.grant);
    REQUIRE(zkl_mutex_new(&freed, s, fault.path, NULL) == 0);
    acquisition_queue(&quitter, freed, 2);
    EVENTUALLY(watched(s, node));
    zkl_op_cancel(quitter.op);
    CHECK(acquisition_failed(&quitter, ZKL_ECANCELED));
    zkl_mutex_free(freed);
    CHECK_INT(zkl_mutex_lock(fault_mutex(s), 20, NULL), ZKL_ETIMEDOUT);
    EVENTUALLY(fault_children() == 1);
    EVENTUALLY(!watched(s, node));
    proxy_reset_stats(fault.proxy);
    proxy_reset(fault.proxy); /* session events, and then the node's end */
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_GET_DATA, 1, FAULT_LIMIT_MS));
    acquisition_end(&holder);
    EVENTUALLY(fault_children() == 0);
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_CREATE2), 0);
    CHECK_INT(atomic_load(&quitter.done), 1);
    acquisition_end(&quitter);
    fault_end();
}

/* Queues mine, and takes gone away between its list and its watch. */
static void leave_under(struct acquisition *mine, zkl_mutex *m, int place, struct acquisition *gone)
{
    proxy_reset_stats(fault.proxy);
    proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
    acquisition_start(mine, m, ZKL_FOREVER);
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_GET_CHILDREN2, 1, FAULT_LIMIT_MS));
    EVENTUALLY(fault_children() == place);
    zkl_op_cancel(gone->op);
    acquisition_end(gone);
    EVENTUALLY(fault_children() == place - 1);
    proxy_thaw(fault.proxy);
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_GET_DATA, 1, FAULT_LIMIT_MS));
}

/* Predecessor gone between list and exists: deletes its own node, and after four tries is never
 * woken. */
TEST_CASE(predecessor_goes_unseen)
{
    struct acquisition holder, mine;

    fault_begin();
    zkl_mutex *m = fault_mutex(fault_proxied(FAULT_LONG_MS));
    CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_at_rest();
    acquisition_queue(&holder, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    leave_under(&mine, m, 2, &holder);
    REQUIRE(acquisition_granted(&mine));
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_CREATE2), 1); /* it kept its node and place */
    CHECK_INT(fault_children(), 1);
    acquisition_end(&mine);
    fault_end();
}

/* The same in the middle of the queue: another is watched instead, and no place is lost. */
TEST_CASE(predecessor_goes_unseen_behind_others)
{
    struct acquisition holder, middle, mine, last;

    fault_begin();
    zkl_session *direct = fault_direct(FAULT_LONG_MS), *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_at_rest();
    acquisition_queue(&holder, fault_mutex(direct), 1);
    acquisition_queue(&middle, fault_mutex(direct), 2);
    leave_under(&mine, m, 3, &middle);
    EVENTUALLY(watched(s, zkl_grant_node(holder.grant)));
    acquisition_queue(&last, fault_mutex(direct), 3);
    CHECK_INT(atomic_load(&mine.done), 0);
    acquisition_end(&holder);
    REQUIRE(acquisition_granted(&mine));
    CHECK_INT(atomic_load(&last.done), 0);
    acquisition_end(&mine);
    CHECK(acquisition_granted(&last));
    acquisition_end(&last);
    fault_end();
}

/* No watch on the own node, none of the session: the owner flag survives expiry and deletion. */
TEST_CASE(own_node_is_watched)
{
    struct acquisition mine, other;

    fault_begin();
    acquisition_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    acquisition_queue(&other, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    REQUIRE(raw_delete(fault.direct, zkl_grant_node(mine.grant)) == ZOK);
    EVENTUALLY(told_times(&mine.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(mine.grant), ZKL_LOST);
    CHECK(acquisition_granted(&other));
    CHECK_INT(zkl_grant_state(other.grant), ZKL_HELD);
    acquisition_end(&mine);
    acquisition_end(&other);
    fault_end();
}

/* A create of unknown outcome leaves an orphan; with two own nodes it waits for itself for ever. */
TEST_CASE(own_nodes_are_settled)
{
    enum { LOSSES = 3 };
    struct acquisition holder, mine;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    acquisition_queue(&holder, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    for (int i = 1; i <= LOSSES; i++) {
        proxy_reset_stats(fault.proxy);
        proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE2);
        acquisition_start(&mine, fault_mutex(s), i < LOSSES ? 2000 : ZKL_FOREVER);
        CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
        if (i < LOSSES) {
            CHECK(acquisition_failed(&mine, ZKL_ETIMEDOUT));
            acquisition_end(&mine);
        }
    }
    EVENTUALLY(fault_children() == 2);
    acquisition_end(&holder);
    REQUIRE(acquisition_granted(&mine));
    CHECK_INT(fault_children(), 1);
    acquisition_end(&mine);
    fault_end();
}

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
