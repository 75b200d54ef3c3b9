/* Silence: the connection stands and nothing comes. Then only the deadline tells. */
#include "suites.h"

#include "fault.h"

/* Lost, and told so before the other was granted; the time is that of the callback. */
static void check_lost_before(struct attempt *lost, struct attempt *granted)
{
    CHECK_INT(told_times(&lost->told, ZKL_LOST), 1);
    CHECK(told_at(&lost->told, ZKL_LOST) < granted->at);
    CHECK_INT(zkl_grant_state(lost->grant), ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(lost->grant), 0);
    CHECK(zkl_grant_token(granted->grant) > zkl_grant_token(lost->grant));
}

static void freeze_while_holding(void)
{
    struct attempt a, b;
    zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_SHORT_MS);
    zkl_mutex *async = fault_mutex(s), *other = fault_mutex(fault_direct(FAULT_LONG_MS));
    attempt_queue(&a, async, 1);
    attempt_queue(&b, other, 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(atomic_load(&b.done), 0);
    REQUIRE(attempt_granted(&b));
    check_lost_before(&a, &b);
    int64_t before = zkl_grant_session_id(a.grant);
    attempt_end(&b);
    proxy_thaw(fault.proxy);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK_INT(zkl_mutex_lock(async, FAULT_LIMIT_MS, &grant), 0);
    CHECK(zkl_grant_session_id(grant) != before);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(async), 0);
    attempt_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_HELD), 0);
    fault_end();
}

/* Every level owes its unlock, and none is given anew before. */
static void freeze_while_locked_twice(void)
{
    zkl_grant *grant;

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
static void freeze_while_queued(void)
{
    struct attempt head, frozen, tail;

    fault_begin();
    zkl_session *direct = fault_direct(FAULT_LONG_MS);
    zkl_session *proxied = fault_proxied(FAULT_SHORT_MS);
    attempt_queue(&head, fault_mutex(direct), 1);
    attempt_queue(&frozen, fault_mutex(proxied), 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(fault_children() == 1);
    attempt_queue(&tail, fault_mutex(direct), 2);
    proxy_thaw(fault.proxy);
    EVENTUALLY(fault_children() == 3);
    attempt_end(&head);
    REQUIRE(attempt_granted(&tail));
    CHECK_INT(atomic_load(&frozen.done), 0);
    attempt_end(&tail);
    CHECK(attempt_granted(&frozen));
    attempt_end(&frozen);
    fault_end();
}

/* The clock of an attempt begins with it, not with its session. */
static void freeze_while_queued_in_time(void)
{
    enum { PATIENCE_MS = 3000 };
    struct attempt head, frozen, later;

    fault_begin();
    zkl_session *direct = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(fault_proxied(FAULT_SHORT_MS));
    attempt_queue(&head, fault_mutex(direct), 1);
    attempt_start(&frozen, m, PATIENCE_MS);
    EVENTUALLY(fault_children() == 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(fault_children() == 1);
    proxy_thaw(fault.proxy);
    EVENTUALLY(fault_children() == 2);
    attempt_start(&later, fault_mutex(direct), PATIENCE_MS);
    CHECK(attempt_failed(&frozen, ZKL_ETIMEDOUT));
    CHECK_INT(atomic_load(&later.done), 0);
    CHECK(attempt_failed(&later, ZKL_ETIMEDOUT));
    EVENTUALLY(fault_children() == 1);
    attempt_end(&head);
    attempt_end(&frozen);
    attempt_end(&later);
    fault_end();
}

/* Overdue proofs are told before libzookeeper notices anything. */
static void server_paused_shortly(void)
{
    struct attempt a;

    fault_begin();
    zkl_session *s = fault_direct(2 * FAULT_LONG_MS);
    attempt_start(&a, fault_mutex(s), ZKL_FOREVER);
    REQUIRE(attempt_granted(&a));
    zk_server_pause(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) == 1);
    CHECK_INT(zkl_session_wait(s, 0), 0);
    CHECK(zkl_grant_remaining_ms(a.grant) > 0);
    zk_server_resume(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_HELD) == 1);
    attempt_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    fault_end();
}

static void server_paused_for_long(void)
{
    struct attempt a, b;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_SHORT_MS);
    attempt_queue(&a, fault_mutex(s), 1);
    attempt_queue(&b, fault_mutex(fault_direct(2 * FAULT_LONG_MS)), 2);
    zk_server_pause(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    zk_server_resume(fault.server, 0);
    REQUIRE(attempt_granted(&b));
    check_lost_before(&a, &b);
    attempt_end(&b);
    CHECK_INT(zkl_mutex_lock(fault_mutex(s), FAULT_LIMIT_MS, NULL), 0);
    attempt_end(&a);
    fault_close_all(); /* with a lock held: its node goes with the session */
}

/* An administrator's doing. No deadline protects here, but the loss is told at the next word. */
static void expired_by_force(void)
{
    struct attempt holder, queued, rival;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    attempt_queue(&holder, fault_mutex(s), 1);
    attempt_queue(&queued, fault_mutex(s), 2);
    attempt_queue(&rival, fault_mutex(fault_direct(FAULT_LONG_MS)), 3);
    int64_t before = zkl_session_id(s);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    fault_expire(before);
    REQUIRE(attempt_granted(&rival));
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 0);
    CHECK(zkl_grant_state(holder.grant) != ZKL_LOST); /* nobody could know */
    proxy_thaw(fault.proxy);
    EVENTUALLY(told_times(&holder.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(holder.grant), ZKL_LOST);
    EVENTUALLY(fault_children() == 2);
    CHECK_INT(atomic_load(&queued.done), 0);
    CHECK(zkl_session_id(s) != before);
    attempt_end(&rival);
    CHECK(attempt_granted(&queued));
    attempt_end(&queued);
    attempt_end(&holder);
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 1);
    fault_end();
}

static const struct test_case cases[] = {
    {"freeze_while_holding", freeze_while_holding},
    {"freeze_while_locked_twice", freeze_while_locked_twice},
    {"freeze_while_queued", freeze_while_queued},
    {"freeze_while_queued_in_time", freeze_while_queued_in_time},
    {"server_paused_shortly", server_paused_shortly},
    {"server_paused_for_long", server_paused_for_long},
    {"expired_by_force", expired_by_force},
    {NULL, NULL},
};

const struct test_suite fault_freeze_suite = {"fault_freeze", fault_start, fault_stop, cases};
