/* A holder in a process of its own, which is stopped and wakes when its session is long over. */
#include "process.h"
#include "runner.h"
#include "scenario.h"

TEST_SUITE(fault_worker, .init = fault_start, .done = fault_stop);

TEST_CASE(stopped_holder)
{
    struct acquisition mine;
    struct worker w;

    fault_begin();
    worker_start(&w, zk_server_connect(fault.server), FAULT_SHORT_MS, NULL);
    uint64_t token = worker_told(&w, "token");
    acquisition_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    CHECK_INT(worker_ask(&w, WORKER_STATE, "state"), ZKL_HELD);
    process_pause(w.pid);
    REQUIRE(acquisition_granted(&mine));
    CHECK(zkl_grant_token(mine.grant) > token);
    worker_order(&w, WORKER_STATE); /* the first thing that it does when it wakes */
    process_resume(w.pid);
    CHECK_INT(worker_told(&w, "state"), ZKL_LOST);
    worker_unlock(&w, ZKL_ELOST);
    worker_end(&w);
    CHECK_INT(zkl_grant_state(mine.grant), ZKL_HELD);
    acquisition_end(&mine);
    fault_end();
}

/* A stop shorter than the timeout: nothing is lost, and nobody else gets in. */
TEST_CASE(holder_stopped_shortly)
{
    struct acquisition mine;
    struct worker w;

    fault_begin();
    worker_start(&w, zk_server_connect(fault.server), FAULT_LONG_MS, NULL);
    worker_told(&w, "token");
    acquisition_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    process_pause(w.pid);
    process_resume(w.pid);
    worker_order(&w, WORKER_STATE);
    CHECK(worker_told(&w, "state") != ZKL_LOST);
    CHECK_INT(atomic_load(&mine.done), 0);
    worker_unlock(&w, 0);
    CHECK(acquisition_granted(&mine));
    worker_end(&w);
    acquisition_end(&mine);
    fault_end();
}

/* Its sockets are reset by the kernel, but the session stands until it times out. */
TEST_CASE(holder_killed)
{
    struct acquisition mine;
    struct worker w;

    fault_begin();
    worker_start(&w, zk_server_connect(fault.server), FAULT_SHORT_MS, NULL);
    uint64_t token = worker_told(&w, "token");
    acquisition_queue(&mine, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    worker_kill(&w);
    worker_end(&w);
    REQUIRE(acquisition_granted(&mine));
    CHECK(zkl_grant_token(mine.grant) > token);
    acquisition_end(&mine);
    fault_end();
}
