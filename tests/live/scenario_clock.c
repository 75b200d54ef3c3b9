/* Clocks: one jumps, both stand still, they run slowly, the wall clock is set. They are those of a
 * process of its own. */
#include "process.h"
#include "runner.h"
#include "scenario.h"

TEST_SUITE(scenario_clock, .init = fault_start, .done = fault_stop);

#define MS INT64_C(1000000)

/* The grant is over as soon as one clock says so, with nobody's help, and before the next one. */
static void jump(bool boot)
{
    struct acquisition next;
    struct worker w;

    fault_begin();
    worker_start(&w, zk_server_connect(fault.server), FAULT_LONG_MS, NULL);
    uint64_t token = worker_told(&w, "token");
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    CHECK(worker_ask(&w, WORKER_LEFT, "left") > 0);
    atomic_store(boot ? &w.page->boot_skew : &w.page->raw_skew, FAULT_LONG_MS * MS);
    CHECK_INT(worker_ask(&w, WORKER_LEFT, "left"), 0);
    CHECK_INT(worker_ask(&w, WORKER_STATE, "state"), ZKL_LOST);
    CHECK_INT(worker_ask(&w, WORKER_WRITE, "write"), 2);
    worker_unlock(&w, ZKL_ELOST);
    REQUIRE(acquisition_granted(&next));
    CHECK(next.at > atomic_load(&w.page->believed));
    CHECK(zkl_grant_token(next.grant) > token);
    worker_end(&w);
    acquisition_end(&next);
    fault_end();
}

TEST_CASE(s10_suspended)
{
    jump(true);
}

TEST_CASE(s10_the_other_clock_jumps)
{
    jump(false);
}

/* A virtual machine stopped and its clocks with it: nothing within can tell, so the holder believes
 * on, and only the resource protects itself. */
TEST_CASE(s10_all_stands_still)
{
    enum { TIMEOUT_MS = 3000 }; /* much of it must be left when it looks, on a busy machine too */
    struct acquisition next;
    struct worker w;

    fault_begin();
    worker_start(&w, proxy_connect(fault.proxy), TIMEOUT_MS, NULL);
    worker_told(&w, "token");
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    worker_order(&w, WORKER_STOP);
    worker_wait_stopped(&w);
    /* The server would tell it on waking, sooner than it looks perhaps. */
    proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
    int64_t stopped = fault_boot_ns();
    REQUIRE(acquisition_granted(&next));
    CHECK(resource_write(&w.page->resource, zkl_grant_token(next.grant)));
    int64_t missed = fault_boot_ns() - stopped;
    atomic_store(&w.page->boot_skew, -missed);
    atomic_store(&w.page->raw_skew, -missed);
    process_resume(w.pid);
    CHECK_INT(worker_told(&w, "write"), 0);
    CHECK(atomic_load(&w.page->woke_left_ms) > 0);
    proxy_thaw(fault.proxy);
    EVENTUALLY(worker_ask(&w, WORKER_STATE, "state") == ZKL_LOST);
    worker_unlock(&w, ZKL_ELOST);
    worker_end(&w);
    CHECK_INT(zkl_grant_state(next.grant), ZKL_HELD);
    acquisition_end(&next);
    fault_end();
}

/* A slow clock of the holder is the same as a fast one of the server: the ratio counts. Nearly as
 * slow as the drift allowed for, which is a tenth. */
TEST_CASE(s11_slow_clock)
{
    enum { TIMEOUT_MS = 3000 };
    const struct worker_page slow = {.rate_permille = 905};
    struct acquisition next;
    struct worker w;

    fault_begin();
    worker_start(&w, proxy_connect(fault.proxy), TIMEOUT_MS, &slow);
    worker_told(&w, "token");
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    uint64_t renewals = proxy_requests(fault.proxy, PROXY_OP_SET_DATA);
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_SET_DATA, renewals + 2, UNTIL_LATE));
    proxy_freeze(fault.proxy, PROXY_TO_SERVER); /* the last renewal's answer comes */
    REQUIRE(acquisition_granted(&next));
    CHECK_INT(worker_ask(&w, WORKER_STATE, "state"), ZKL_LOST);
    CHECK(next.at > atomic_load(&w.page->believed));
    CHECK(atomic_load(&w.page->believed) > 0);
    proxy_thaw(fault.proxy);
    worker_unlock(&w, ZKL_ELOST);
    worker_end(&w);
    acquisition_end(&next);
    fault_end();
}

/* An hour forth and back: nothing is lost, since nobody looks. */
TEST_CASE(s11_wall_clock_set)
{
    static const int64_t steps[] = {3600, -3600, 0};
    struct worker w;

    fault_begin();
    worker_start(&w, proxy_connect(fault.proxy), 2 * FAULT_SHORT_MS, NULL);
    worker_told(&w, "token");
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        atomic_store(&w.page->wall_step_s, steps[i]);
        uint64_t renewals = proxy_requests(fault.proxy, PROXY_OP_SET_DATA);
        CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_SET_DATA, renewals + 2, UNTIL_LATE));
        EVENTUALLY(worker_ask(&w, WORKER_STATE, "state") == ZKL_HELD);
    }
    CHECK(atomic_load(&w.page->clock_reads) > 0);
    CHECK_INT(atomic_load(&w.page->wall_reads), 0);
    worker_unlock(&w, 0);
    worker_end(&w);
    fault_end();
}
