/* That another contender waits is told to who holds: once, with retention and without, and to
 * leaders. */
#include "election_actors.h"
#include "fault.h"
#include "retained.h"
#include "runner.h"

TEST_SUITE(retained_wanted, .init = fault_start, .done = fault_stop);

/* One registration before the other contender comes, one after. */
static void tell(const zkl_grant *g, zkl_mutex *other)
{
    struct told early = {.count = 0}, late = {.count = 0};
    struct acquisition b;

    CHECK_INT(zkl_grant_on_wanted(g, told_fn, &early), 0);
    acquisition_queue(&b, other, 2);
    EVENTUALLY(atomic_load(&early.count) == 1);
    CHECK_INT(zkl_grant_on_wanted(g, told_fn, &late), 0);
    EVENTUALLY(atomic_load(&late.count) == 1);
    CHECK_INT(told_times(&early, ZKL_HELD) + told_times(&early, ZKL_SUSPECT), 1);
    zkl_op_cancel(b.op);
    CHECK(acquisition_failed(&b, ZKL_ECANCELED));
    acquisition_end(&b);
    EVENTUALLY(fault_children() == 1);
    acquisition_queue(&b, other, 2); /* another one, of which nobody is told */
    zkl_op_cancel(b.op);
    acquisition_end(&b);
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(atomic_load(&early.count), 1);
    CHECK_INT(atomic_load(&late.count), 1);
}

static void of_a_mutex(int64_t retain_ms, int turns)
{
    const zkl_grant *g;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), retain_ms);
    for (int i = 0; i < turns; i++) {
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_turn(g), retain_ms ? turns : 0);
    tell(g, fault_mutex(fault_direct(FAULT_LONG_MS)));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

TEST_CASE(first_turn)
{
    of_a_mutex(DAY_MS, 0);
}

TEST_CASE(later_turn)
{
    of_a_mutex(DAY_MS, 3);
}

TEST_CASE(without_retention)
{
    of_a_mutex(0, 1);
}

/* Somebody has been waiting before the grant. */
TEST_CASE(at_once)
{
    struct told told = {.count = 0};
    struct acquisition a, b, c;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&b, fault_mutex(s), 2);
    acquisition_queue(&c, fault_mutex(s), 3);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&b));
    CHECK_INT(zkl_grant_on_wanted(b.grant, told_fn, &told), 0);
    EVENTUALLY(atomic_load(&told.count) == 1);
    acquisition_end(&b);
    REQUIRE(acquisition_granted(&c));
    acquisition_end(&c);
    CHECK_INT(atomic_load(&told.count), 1);
    fault_end();
}

TEST_CASE(of_a_leader)
{
    struct told told = {.count = 0};
    struct tale tale = TALE_INIT;
    zkl_grant *g;

    fault_begin();
    zkl_election *e = election_of(fault_direct(FAULT_LONG_MS), fault.path, "a");
    zkl_election *f = election_of(fault_direct(FAULT_LONG_MS), fault.path, "b");
    REQUIRE(zkl_election_campaign(e, FAULT_LIMIT_MS, &g) == 0);
    CHECK_INT(zkl_grant_turn(g), 0);
    CHECK_INT(zkl_grant_on_wanted(g, told_fn, &told), 0);
    REQUIRE(zkl_election_start(f, tale_event, &tale) == 0);
    EVENTUALLY(atomic_load(&told.count) == 1);
    CHECK_INT(zkl_election_resign(e), 0);
    CHECK_INT(zkl_grant_on_wanted(g, told_fn, &told), 0); /* it has ended: nothing comes */
    zkl_grant_release(g);
    TALE_WAIT(&tale, "leading");
    CHECK_INT(atomic_load(&told.count), 1);
    zkl_election_free(e);
    zkl_election_free(f);
    EVENTUALLY(tale_ends(&tale, "stopped"));
    fault_end();
}
