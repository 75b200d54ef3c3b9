/* A contender only tries for what another has or retains: it gets an idle lock, and is refused all
 * else. */
#include "fault.h"
#include "mutex_actors.h"
#include "recipes/attempt.h"
#include "retained.h"
#include "runner.h"

TEST_SUITE(retained_try, .init = fault_start, .done = fault_stop);

enum { YIELD_MS = ATTEMPT_YIELD_MS };

/* Whether m gets the idle lock of another handle at once. That handle is a new one each time, so
 * that it retains, whatever others have cost. False: it was slow to hear of the try. */
static bool is_had_at_once(zkl_session *theirs, zkl_mutex *m)
{
    zkl_mutex *idle = retaining(theirs, DAY_MS);
    struct turn_seen seen;
    const zkl_grant *g;

    lock_turn(idle, &seen);
    CHECK_INT(zkl_mutex_unlock(idle), 0);
    REQUIRE(raw_exists(fault.direct, seen.node, NULL) == ZOK);
    const int code = zkl_mutex_lock(m, 0, &g);
    if (code == 0) {
        check_new_node(g, &seen);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_mutex_yield(m), 0);
    } else {
        CHECK_INT(code, ZKL_EBUSY);
    }
    EVENTUALLY(fault_children() == 0);
    fault_mutex_free(idle);
    return code == 0;
}

TEST_CASE(idle_of_another_session)
{
    fault_begin();
    zkl_session *theirs = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    EVENTUALLY(is_had_at_once(theirs, m));
    fault_end();
}

/* Where the end of one session would be that of both. */
TEST_CASE(idle_of_the_same_session)
{
    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    EVENTUALLY(is_had_at_once(s, fault_mutex(s)));
    EVENTUALLY(is_had_at_once(s, retaining(s, DAY_MS)));
    fault_end();
}

/* One whose session has asked already what each connection asks once. */
static zkl_mutex *counted(bool retains, uint64_t *ret_before)
{
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = retains ? retaining(s, DAY_MS) : fault_mutex(s);

    CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    EVENTUALLY(fault_children() == 0);
    *ret_before = contender_requests();
    return m;
}

TEST_CASE(used)
{
    struct turn_seen seen;
    uint64_t before;

    fault_begin();
    zkl_mutex *m = retaining(fault_direct(FAULT_LONG_MS), DAY_MS), *n = counted(false, &before);
    const zkl_grant *g = lock_turn(m, &seen);
    int64_t asked = fault_boot_ns();
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
    CHECK(fault_boot_ns() - asked >= YIELD_MS * INT64_C(1000000));
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(contender_requests() - before, 5); /* create, list, both nodes, delete */
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* By one list, also where the one who tries retains. */
TEST_CASE(not_retained)
{
    struct turn_seen seen;
    uint64_t before;

    for (int retains = 0; retains < 2; retains++) {
        fault_begin();
        zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
        zkl_mutex *n = counted(retains, &before);
        lock_turn(m, &seen);
        CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
        EVENTUALLY(fault_children() == 1);
        CHECK_INT(contender_requests() - before, 3); /* create, list, delete */
        CHECK_INT(zkl_mutex_unlock(m), 0);
        fault_end();
    }
}

/* One that retains, but is not the only one ahead. */
TEST_CASE(another_waits)
{
    struct acquisition a;
    struct turn_seen seen;
    uint64_t before;

    fault_begin();
    zkl_mutex *m = retaining(fault_direct(FAULT_LONG_MS), DAY_MS), *n = counted(false, &before);
    lock_turn(m, &seen);
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
    EVENTUALLY(fault_children() == 2);
    CHECK_INT(contender_requests() - before, 3);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(acquisition_granted(&a));
    acquisition_end(&a);
    fault_end();
}

/* While it waits, or when it has just ended: one completion, and no node. */
TEST_CASE(canceled_at_any_moment)
{
    enum { TIMES = 60 };
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_direct(FAULT_LONG_MS), DAY_MS);
    zkl_mutex *n = fault_mutex(fault_direct(FAULT_LONG_MS));
    lock_turn(m, &seen);
    for (int i = 0; i < TIMES; i++) {
        struct acquisition a;
        acquisition_start(&a, n, 0);
        g_usleep((gulong)i * 1000);
        zkl_op_cancel(a.op);
        EVENTUALLY(atomic_load(&a.done));
        CHECK(a.code == ZKL_ECANCELED || a.code == ZKL_EBUSY);
        acquisition_end(&a);
    }
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    EVENTUALLY(zkl_mutex_lock(n, 0, NULL) == 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    fault_end();
}

/* Its connection breaks meanwhile, or its session is closed: no other node is left. */
TEST_CASE(ended_while_it_waits)
{
    struct acquisition a, b;
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_direct(FAULT_LONG_MS), DAY_MS);
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *n = fault_mutex(s);
    lock_turn(m, &seen);
    acquisition_start(&a, n, 0);
    EVENTUALLY(atomic_load(&a.done) || fault_children() == 2);
    proxy_reset(fault.proxy);
    EVENTUALLY(atomic_load(&a.done));
    CHECK_INT(a.code, ZKL_EBUSY);
    acquisition_end(&a);
    EVENTUALLY(fault_children() == 1);
    acquisition_start(&b, n, 0);
    fault_close(s);
    EVENTUALLY(atomic_load(&b.done));
    CHECK(b.code == ZKL_ECLOSED || b.code == ZKL_EBUSY);
    acquisition_end(&b);
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}
