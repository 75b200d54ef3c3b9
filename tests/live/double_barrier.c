/* Double barriers: members enter together and leave together, and none stays behind. */
#include "double_barrier.h"
#include "runner.h"

TEST_SUITE(double_barrier, .init = live_init);

enum { MEMBERS = 3 };

static void begin_all(struct member *m, struct live *t, int count, int members)
{
    for (int i = 0; i < count; i++)
        member_begin(&m[i], t, members);
}

static void end_all(struct live *t, struct member *m, int count)
{
    for (int i = 0; i < count; i++)
        member_end(&m[i]);
    LIVE_UNTIL(live_contenders(t, t->lock) <= 0);
    live_end(t);
}

/* Round after round, none entering before all are there, none leaving before all leave. */
TEST_CASE(rounds)
{
    struct live *t = live_begin();
    struct member m[MEMBERS];

    begin_all(m, t, MEMBERS, MEMBERS);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < MEMBERS; i++) {
            member_enter(&m[i], ZKL_FOREVER);
            if (i == MEMBERS - 1)
                break;
            directory_has(t, i + 1);
            for (int k = 0; k <= i; k++)
                CHECK(!member_is_done(&m[k]));
        }
        for (int i = 0; i < MEMBERS; i++)
            CHECK_INT(member_wait(&m[i]), 0);
        CHECK(has_ready(t));
        for (int i = 0; i < MEMBERS - 1; i++)
            member_leave(&m[i], ZKL_FOREVER);
        CHECK(!member_is_done(&m[0]) && !member_is_done(&m[1]));
        member_leave(&m[MEMBERS - 1], ZKL_FOREVER);
        for (int i = 0; i < MEMBERS; i++)
            CHECK_INT(member_wait(&m[i]), 0);
        directory_has(t, 0);
    }
    end_all(t, m, MEMBERS);
}

/* Curator 5.4 enters with one member present. */
TEST_CASE(not_alone)
{
    struct live *t = live_begin();
    struct member m;

    member_begin(&m, t, 2);
    CHECK_INT(zkl_double_barrier_enter(m.barrier, 100), ZKL_ETIMEDOUT);
    CHECK_ERROR(ZKL_ETIMEDOUT, t->lock);
    directory_has(t, 0); /* it had gone when that returned */
    CHECK(!has_ready(t));
    end_all(t, &m, 1);
}

/* A member that fails is not counted by who comes later. */
TEST_CASE(failed_enter_leaves_nothing)
{
    struct live *t = live_begin();
    struct member m[2];

    begin_all(m, t, 2, 2);
    CHECK_INT(zkl_double_barrier_enter(m[0].barrier, 50), ZKL_ETIMEDOUT);
    CHECK_INT(live_contenders(t, t->lock), 0);
    CHECK_INT(zkl_double_barrier_enter(m[1].barrier, 50), ZKL_ETIMEDOUT);
    CHECK_INT(live_contenders(t, t->lock), 0);
    member_enter(&m[1], ZKL_FOREVER);
    member_enter(&m[0], ZKL_FOREVER);
    CHECK_INT(member_wait(&m[0]), 0);
    CHECK_INT(member_wait(&m[1]), 0);
    end_all(t, m, 2);
}

/* One that waits to leave asks nothing until somebody has left. */
TEST_CASE(leaving_does_not_spin)
{
    struct live *t = live_begin();
    struct member m[2];

    begin_all(m, t, 2, 2);
    for (int i = 0; i < 2; i++)
        member_enter(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    member_leave(&m[0], ZKL_FOREVER);
    LIVE_UNTIL(live_watches(t) == 1); /* of the other member's node, whichever is the lowest */
    CHECK(!member_is_done(&m[0]));
    member_leave(&m[1], 0);
    CHECK_INT(member_wait(&m[0]), 0);
    CHECK_INT(member_wait(&m[1]), 0);
    LIVE_UNTIL(live_watches(t) == 0);
    directory_has(t, 0);
    end_all(t, m, 2);
}

/* With time limits: the own node is gone, whether it was the lowest or not, and others go on. */
TEST_CASE(leaving_ends_in_time)
{
    struct live *t = live_begin();
    struct member m[2];

    for (int first = 0; first < 2; first++) {
        begin_all(m, t, 2, 2);
        for (int i = 0; i < 2; i++)
            member_enter(&m[i], ZKL_FOREVER);
        for (int i = 0; i < 2; i++)
            CHECK_INT(member_wait(&m[i]), 0);
        CHECK_INT(zkl_double_barrier_leave(m[first].barrier, 50), ZKL_ETIMEDOUT);
        CHECK_INT(live_contenders(t, t->lock), 1);
        CHECK_INT(zkl_double_barrier_leave(m[first].barrier, 50), ZKL_EPERM);
        CHECK_INT(zkl_double_barrier_leave(m[!first].barrier, ZKL_FOREVER), 0);
        directory_has(t, 0);
        for (int i = 0; i < 2; i++)
            member_end(&m[i]);
    }
    live_end(t);
}

/* A member whose session ends: one that waits is told, and so is one that is inside. */
TEST_CASE(session_lost)
{
    struct live *t = live_begin();
    struct member m[2];

    begin_all(m, t, 2, 2);
    member_enter(&m[0], ZKL_FOREVER);
    directory_has(t, 1);
    REQUIRE(raw_expire(t->port, zkl_session_id(m[0].session)));
    CHECK_INT(member_wait(&m[0]), ZKL_ELOST);
    for (int i = 0; i < 2; i++)
        member_enter(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    int64_t id = zkl_session_id(m[0].session);
    REQUIRE(raw_expire(t->port, id));
    LIVE_UNTIL(zkl_session_id(m[0].session) != id && zkl_session_id(m[0].session) != 0);
    CHECK_INT(zkl_double_barrier_leave(m[0].barrier, ZKL_FOREVER), ZKL_ELOST);
    CHECK_INT(zkl_double_barrier_leave(m[1].barrier, ZKL_FOREVER), 0);
    directory_has(t, 0);
    end_all(t, m, 2);
}

TEST_CASE(freed_or_closed)
{
    struct live *t = live_begin();
    struct member m[2];

    begin_all(m, t, 2, 2);
    member_enter(&m[0], ZKL_FOREVER);
    directory_has(t, 1);
    zkl_double_barrier_free(m[0].barrier);
    CHECK_INT(member_wait(&m[0]), ZKL_ECLOSED);
    directory_has(t, 0);
    REQUIRE(zkl_double_barrier_new(&m[0].barrier, m[0].session, t->lock, 2, NULL) == 0);
    for (int i = 0; i < 2; i++)
        member_enter(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    zkl_double_barrier_free(m[0].barrier); /* inside */
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    member_leave(&m[1], ZKL_FOREVER);
    CHECK_INT(member_wait(&m[1]), 0);
    member_enter(&m[1], ZKL_FOREVER);
    directory_has(t, 1);
    live_close(t, m[1].session);
    CHECK_INT(member_wait(&m[1]), ZKL_ECLOSED);
    CHECK_INT(zkl_double_barrier_enter(m[1].barrier, 0), ZKL_ECLOSED);
    member_end(&m[1]);
    live_end(t);
}

TEST_CASE(bad_arguments)
{
    struct live *t = live_begin();
    zkl_double_barrier *b = NULL;

    CHECK_INT(zkl_double_barrier_new(NULL, t->session, t->lock, 2, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&b, NULL, t->lock, 2, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&b, t->session, NULL, 2, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&b, t->session, t->lock, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&b, t->session, t->lock, 1001, NULL), ZKL_EINVAL);
    CHECK(b == NULL);
    REQUIRE(zkl_double_barrier_new(&b, t->session, t->lock, 1, NULL) == 0);
    CHECK_INT(zkl_double_barrier_enter(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_enter_async(b, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_leave_async(b, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_leave(b, 0), ZKL_EPERM);
    CHECK_INT(zkl_double_barrier_enter(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_double_barrier_enter(b, ZKL_FOREVER), ZKL_EBUSY);
    CHECK_INT(zkl_double_barrier_leave(b, ZKL_FOREVER), 0);
    zkl_double_barrier_free(b);
    zkl_double_barrier_free(NULL);
    live_end(t);
}
