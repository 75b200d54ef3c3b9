/* Silence: the connection stands and nothing comes. Then only the deadline tells. */
#include "runner.h"

#include "fault.h"

TEST_SUITE(fault_freeze, .init = fault_start, .done = fault_stop);

/* Lost, and told so before the other was granted; the time is that of the callback. */
static void check_lost_before(struct acquisition *lost, struct acquisition *granted)
{
    CHECK_INT(told_times(&lost->told, ZKL_LOST), 1);
    CHECK(told_at(&lost->told, ZKL_LOST) < granted->at);
    CHECK_INT(zkl_grant_state(lost->grant), ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(lost->grant), 0);
    CHECK(zkl_grant_token(granted->grant) > zkl_grant_token(lost->grant));
}

TEST_CASE(freeze_while_holding)
{
    struct acquisition a, b;
    const zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_SHORT_MS);
    zkl_mutex *async = fault_mutex(s), *other = fault_mutex(fault_direct(FAULT_LONG_MS));
    acquisition_queue(&a, async, 1);
    acquisition_queue(&b, other, 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(atomic_load(&b.done), 0);
    REQUIRE(acquisition_granted(&b));
    check_lost_before(&a, &b);
    int64_t before = zkl_grant_session_id(a.grant);
    acquisition_end(&b);
    proxy_thaw(fault.proxy);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK_INT(zkl_mutex_lock(async, FAULT_LIMIT_MS, &grant), 0);
    CHECK(zkl_grant_session_id(grant) != before);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(async), 0);
    acquisition_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_HELD), 0);
    fault_end();
}

/* Every level owes its unlock, and none is given anew before. */
TEST_CASE(freeze_while_locked_twice)
{
    const zkl_grant *grant;

    fault_begin();
    zkl_mutex *m = fault_mutex(fault_proxied(FAULT_SHORT_MS));
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    REQUIRE(zkl_mutex_lock(m, 0, NULL) == 0);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(zkl_grant_state(grant) == ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(grant), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_ELOST);
    proxy_thaw(fault.proxy);
    CHECK_INT(zkl_grant_state(grant), ZKL_LOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, &grant), 0);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_end();
}

/* Its node goes with its session: back to the tail, by itself. */
TEST_CASE(freeze_while_queued)
{
    struct acquisition head, frozen, tail;

    fault_begin();
    zkl_session *direct = fault_direct(FAULT_LONG_MS);
    zkl_session *proxied = fault_proxied(FAULT_SHORT_MS);
    acquisition_queue(&head, fault_mutex(direct), 1);
    acquisition_queue(&frozen, fault_mutex(proxied), 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(fault_children() == 1);
    acquisition_queue(&tail, fault_mutex(direct), 2);
    proxy_thaw(fault.proxy);
    EVENTUALLY(fault_children() == 3);
    acquisition_end(&head);
    REQUIRE(acquisition_granted(&tail));
    CHECK_INT(atomic_load(&frozen.done), 0);
    acquisition_end(&tail);
    CHECK(acquisition_granted(&frozen));
    acquisition_end(&frozen);
    fault_end();
}

/* The clock of an acquisition begins with it, not with its session. */
TEST_CASE(freeze_while_queued_in_time)
{
    enum { PATIENCE_MS = 3 * FAULT_SHORT_MS };
    struct acquisition head, frozen, later;

    fault_begin();
    zkl_session *direct = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(fault_proxied(FAULT_SHORT_MS));
    acquisition_queue(&head, fault_mutex(direct), 1);
    acquisition_start(&frozen, m, PATIENCE_MS);
    EVENTUALLY(fault_children() == 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(fault_children() == 1);
    proxy_thaw(fault.proxy);
    EVENTUALLY(fault_children() == 2);
    acquisition_start(&later, fault_mutex(direct), PATIENCE_MS);
    CHECK(acquisition_failed(&frozen, ZKL_ETIMEDOUT));
    CHECK_INT(atomic_load(&later.done), 0);
    CHECK(acquisition_failed(&later, ZKL_ETIMEDOUT));
    EVENTUALLY(fault_children() == 1);
    acquisition_end(&head);
    acquisition_end(&frozen);
    acquisition_end(&later);
    fault_end();
}

/* Overdue proofs are told before libzookeeper notices anything. */
TEST_CASE(server_paused_shortly)
{
    struct acquisition a;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    zk_server_pause(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) == 1);
    CHECK_INT(zkl_session_wait(s, 0), 0);
    CHECK(zkl_grant_remaining_ms(a.grant) > 0);
    zk_server_resume(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_HELD) == 1);
    acquisition_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    fault_end();
}

TEST_CASE(server_paused_for_long)
{
    struct acquisition a, b;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_SHORT_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    zk_server_pause(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    zk_server_resume(fault.server, 0);
    REQUIRE(acquisition_granted(&b));
    check_lost_before(&a, &b);
    acquisition_end(&b);
    CHECK_INT(zkl_mutex_lock(fault_mutex(s), FAULT_LIMIT_MS, NULL), 0);
    acquisition_end(&a);
    fault_close_all(); /* with a lock held: its node goes with the session */
}

/* An administrator's doing. No deadline protects here, but the loss is told at the next word. */
TEST_CASE(expired_by_force)
{
    struct acquisition holder, queued, rival;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    acquisition_queue(&holder, fault_mutex(s), 1);
    acquisition_queue(&queued, fault_mutex(s), 2);
    acquisition_queue(&rival, fault_mutex(fault_direct(FAULT_LONG_MS)), 3);
    int64_t before = zkl_session_id(s);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    fault_expire(before);
    REQUIRE(acquisition_granted(&rival));
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 0);
    CHECK(zkl_grant_state(holder.grant) != ZKL_LOST); /* nobody could know */
    proxy_thaw(fault.proxy);
    EVENTUALLY(told_times(&holder.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(holder.grant), ZKL_LOST);
    EVENTUALLY(fault_children() == 2);
    CHECK_INT(atomic_load(&queued.done), 0);
    CHECK(zkl_session_id(s) != before);
    acquisition_end(&rival);
    CHECK(acquisition_granted(&queued));
    acquisition_end(&queued);
    acquisition_end(&holder);
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 1);
    fault_end();
}
