/* Processes that end: killed while they hold, wait or enter; gone without a word; forked. */
#include "process.h"
#include "runner.h"
#include "scenario.h"

TEST_SUITE(scenario_end, .init = fault_start, .done = fault_stop);

/* Its place in the queue ends with its session, and who stands behind it is served. */
static void check_succeeded(struct worker *w, uint64_t token, struct acquisition *next)
{
    REQUIRE(acquisition_granted(next));
    CHECK(next->at > atomic_load(&w->page->believed));
    CHECK(zkl_grant_token(next->grant) > token);
    CHECK_INT(fault_children(), 1);
    acquisition_end(next);
}

static uint64_t begin(struct worker *w, struct acquisition *next)
{
    fault_begin();
    worker_start(w, zk_server_connect(fault.server), FAULT_SHORT_MS, NULL);
    uint64_t token = worker_told(w, "token");
    acquisition_queue(next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    return token;
}

TEST_CASE(s21_holder_killed)
{
    struct acquisition next;
    struct worker w;

    uint64_t token = begin(&w, &next);
    worker_kill(&w);
    check_succeeded(&w, token, &next);
    worker_end(&w);
    fault_end();
}

TEST_CASE(s21_exit_without_close)
{
    struct acquisition next;
    struct worker w;

    uint64_t token = begin(&w, &next);
    worker_order(&w, WORKER_EXIT);
    check_succeeded(&w, token, &next);
    worker_end(&w);
    fault_end();
}

/* The child has copies of all descriptors, so that nothing is reset; but nobody speaks. */
TEST_CASE(s21_fork_outlives_holder)
{
    struct acquisition next;
    struct worker w;

    uint64_t token = begin(&w, &next);
    CHECK(worker_ask(&w, WORKER_FORK, "fork") > 0);
    CHECK_INT(worker_ask(&w, WORKER_STATE, "state"), ZKL_HELD);
    worker_kill(&w);
    check_succeeded(&w, token, &next);
    worker_end(&w);
    fault_end();
}

TEST_CASE(x_killed_while_queued)
{
    struct acquisition holder, next;
    struct worker w;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&holder, fault_mutex(s), 1);
    worker_start(&w, zk_server_connect(fault.server), FAULT_SHORT_MS, NULL);
    EVENTUALLY(fault_children() == 2);
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 3);
    worker_kill(&w);
    uint64_t token = zkl_grant_token(holder.grant);
    CHECK_INT(zkl_grant_state(holder.grant), ZKL_HELD);
    acquisition_end(&holder);
    check_succeeded(&w, token, &next);
    worker_end(&w);
    fault_end();
}

/* Killed when its create was done and not answered, or on its way: then it is done for a client
 * that is dead. */
static void kill_creating(enum proxy_direction direction)
{
    struct acquisition next;
    struct worker w;

    fault_begin();
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0); /* the directory is there */
    proxy_delay_ms(fault.proxy, direction, FAULT_SHORT_MS / 4);
    worker_start(&w, proxy_connect(fault.proxy), FAULT_SHORT_MS, NULL);
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_CREATE2, 1, UNTIL_LATE));
    worker_kill(&w);
    if (direction == PROXY_TO_CLIENT)
        EVENTUALLY(fault_children() == 2);
    acquisition_start(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), ZKL_FOREVER);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(acquisition_granted(&next));
    acquisition_end(&next);
    worker_end(&w);
    fault_end();
}

TEST_CASE(x_killed_while_creating)
{
    kill_creating(PROXY_TO_CLIENT);
    kill_creating(PROXY_TO_SERVER);
}
