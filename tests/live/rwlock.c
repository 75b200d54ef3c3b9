/* Readers and writers on a real server: who holds with whom, in which order, and how deep. */
#include "fault.h"
#include "runner.h"

TEST_SUITE(rwlock, .init = fault_start, .done = fault_stop);

enum { SHARED = true, ALONE = false };

/* One in line, at that place. */
static void queue(struct acquisition *a, zkl_session *s, bool shared, int place)
{
    acquisition_start_rw(a, fault_rwlock(s), shared, ZKL_FOREVER);
    EVENTUALLY(fault_children() == place);
}

TEST_CASE(granted_in_turn)
{
    struct acquisition r1, r2, w3, r4;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS), *other = fault_direct(FAULT_LONG_MS);
    queue(&r1, s, SHARED, 1);
    queue(&r2, other, SHARED, 2);
    REQUIRE(acquisition_granted(&r1) && acquisition_granted(&r2));
    queue(&w3, s, ALONE, 3);
    queue(&r4, other, SHARED, 4);
    acquisition_end(&r1);
    EVENTUALLY(fault_children() == 3);
    CHECK_INT(atomic_load(&w3.done) + atomic_load(&r4.done), 0);
    acquisition_end(&r2);
    REQUIRE(acquisition_granted(&w3));
    CHECK_INT(atomic_load(&r4.done), 0);
    uint64_t token = zkl_grant_token(w3.grant);
    CHECK(g_strrstr(zkl_grant_node(w3.grant), "-__WRIT__") != NULL);
    acquisition_end(&w3);
    REQUIRE(acquisition_granted(&r4));
    CHECK(g_strrstr(zkl_grant_node(r4.grant), "-__READ__") != NULL);
    CHECK(zkl_grant_token(r4.grant) > token);
    CHECK(zkl_grant_remaining_ms(r4.grant) > 0);
    acquisition_end(&r4);
    fault_end();
}

TEST_CASE(tries_and_times_out)
{
    struct acquisition w, r;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_session *t = fault_direct(FAULT_LONG_MS);
    zkl_rwlock *l = fault_rwlock(t);
    queue(&r, s, SHARED, 1);
    CHECK_INT(zkl_rwlock_lock(l, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_rwlock_lock(l, 50, NULL), ZKL_ETIMEDOUT);
    /* The time may have been over before its node was known, which then goes later. */
    CHECK_INT(zkl_session_flush(t, ZKL_FOREVER), 0);
    CHECK_INT(zkl_rwlock_lock_shared(l, 0, NULL), 0);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    EVENTUALLY(fault_children() == 1);
    queue(&w, s, ALONE, 2);
    CHECK_INT(zkl_rwlock_lock_shared(l, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_rwlock_lock_shared(l, 50, NULL), ZKL_ETIMEDOUT);
    zkl_op_cancel(w.op);
    CHECK(acquisition_failed(&w, ZKL_ECANCELED));
    acquisition_end(&w);
    acquisition_end(&r);
    fault_end();
}

TEST_CASE(beside_a_mutex)
{
    struct acquisition a;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    zkl_rwlock *l = fault_rwlock(fault_direct(FAULT_LONG_MS));
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_rwlock_lock_shared(l, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_rwlock_lock(l, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (int shared = 0; shared < 2; shared++) {
        queue(&a, s, shared, 1);
        REQUIRE(acquisition_granted(&a));
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_ELAYOUT);
        acquisition_end(&a);
        EVENTUALLY(fault_children() == 0);
    }
    fault_end();
}

/* A reader hears of a writer, and of no other reader. */
TEST_CASE(wanted_by_writers)
{
    struct acquisition r1, r2, w3;
    struct told told = {.count = 0};

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS), *other = fault_direct(FAULT_LONG_MS);
    queue(&r1, s, SHARED, 1);
    REQUIRE(acquisition_granted(&r1));
    CHECK_INT(zkl_grant_on_wanted(r1.grant, told_fn, &told), 0);
    queue(&r2, other, SHARED, 2);
    REQUIRE(acquisition_granted(&r2));
    queue(&w3, other, ALONE, 3);
    EVENTUALLY(atomic_load(&told.count) == 1);
    acquisition_end(&r1);
    acquisition_end(&r2);
    REQUIRE(acquisition_granted(&w3));
    acquisition_end(&w3);
    CHECK_INT(atomic_load(&told.count), 1);
    fault_end();
}
