/* The deadline: moved on as long as the server answers, and not one request more than it takes. */
#include "fault.h"
#include "lib/session/core.h"
#include "runner.h"

TEST_SUITE(fault_deadline, .init = fault_start, .done = fault_stop);

enum { TIMEOUT_MS = 4000 };

/* Looks on for some timeouts; false as soon as the grant is not HELD with time left. */
static bool stays_held(zkl_grant *grant, int timeouts)
{
    int64_t end = fault_boot_ns() + timeouts * TIMEOUT_MS * INT64_C(1000000);

    while (fault_boot_ns() < end) {
        int64_t left = zkl_grant_remaining_ms(grant);
        if (left <= 0 || left > TIMEOUT_MS || zkl_grant_state(grant) != ZKL_HELD)
            return false;
        g_usleep(2000);
    }
    return true;
}

TEST_CASE(held_for_long)
{
    struct acquisition a;

    fault_begin();
    acquisition_start(&a, fault_mutex(fault_direct(TIMEOUT_MS)), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    CHECK(stays_held(a.grant, 3));
    CHECK_INT(atomic_load(&a.told.count), 0);
    acquisition_end(&a);
    fault_end();
}

static void lock_once(zkl_session *s)
{
    zkl_mutex *m = fault_mutex(s);
    const zkl_grant *grant;

    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &grant), 0);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK(zkl_grant_remaining_ms(grant) > 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_at_rest();
}

/* Cold: only libzookeeper's pings. Warm, beside it: the renewals go on. */
TEST_CASE(cold_is_quiet)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    fault_begin();
    struct proxy *proxy = proxy_start(fault.port);
    REQUIRE(proxy != NULL);
    o.session_timeout_ms = TIMEOUT_MS;
    zkl_session *warm = fault_session_options(proxy_connect(fault.proxy), &o);
    zkl_session *cold = fault_session_options(proxy_connect(proxy), &o);
    session_set_warm_ms(cold, 50);
    CHECK_INT(zkl_session_wait(cold, ZKL_FOREVER), 0);
    lock_once(warm);
    lock_once(cold);
    proxy_reset_stats(fault.proxy);
    /* Two renewals of the other: by then this one's last is over. */
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_SET_DATA, 2, UNTIL_LATE));
    proxy_reset_stats(proxy);
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_SET_DATA, 6, UNTIL_LATE));
    CHECK_INT(proxy_requests(proxy, PROXY_OP_ANY), 0);
    lock_once(cold);
    CHECK(proxy_requests(proxy, PROXY_OP_ANY) > 0);
    fault_end();
    proxy_stop(proxy);
}

/* A cold session's old deadline has passed; a lock that is held on proves itself again. */
TEST_CASE(held_after_cold)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    struct acquisition a, b;
    zkl_session *s[2];

    fault_begin();
    o.session_timeout_ms = TIMEOUT_MS;
    for (int i = 0; i < 2; i++) {
        s[i] = fault_session_options(zk_server_connect(fault.server), &o);
        session_set_warm_ms(s[i], i);
        lock_once(s[i]);
    }
    g_usleep(TIMEOUT_MS * 1000); /* cold for longer than any deadline made before */
    acquisition_queue(&a, fault_mutex(s[0]), 1);
    CHECK(stays_held(a.grant, 1));
    acquisition_start(&b, fault_mutex(s[1]), ZKL_FOREVER);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&b));
    CHECK(stays_held(b.grant, 1));
    acquisition_end(&b);
    fault_end();
}

/* The server hears us and keeps the session, but no answer comes: the deadline tells all the same.
 */
TEST_CASE(unproved_is_lost)
{
    struct acquisition a, b;

    fault_begin();
    acquisition_queue(&a, fault_mutex(fault_proxied(TIMEOUT_MS)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    proxy_drop(fault.proxy, PROXY_TO_CLIENT, true);
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) > 0);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_remaining_ms(a.grant), 0);
    proxy_heal(fault.proxy);
    REQUIRE(
        acquisition_granted(&b)); /* LOST is final: our node goes, though the session may live */
    CHECK(told_at(&a.told, ZKL_LOST) < b.at);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    acquisition_end(&a);
    acquisition_end(&b);
    fault_end();
}

/* Asking is enough: no thread of the library has to run for the loss to be seen, by any reader. */
TEST_CASE(clock_alone_tells)
{
    struct acquisition a;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_SHORT_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    session_lock(s); /* stops them all */
    EVENTUALLY(zkl_grant_state(a.grant) == ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(a.grant), 0);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    session_unlock(s);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    acquisition_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_HELD), 0);
    fault_end();
}
