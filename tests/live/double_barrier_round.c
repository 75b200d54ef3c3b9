/* Rounds of a double barrier: who is too many, who comes late, what was left behind. */
#include "double_barrier.h"
#include "runner.h"

TEST_SUITE(double_barrier_round, .init = live_init);

/* If more members come than are asked for, the first ones enter, and the others when those have
 * left. */
TEST_CASE(too_many)
{
    struct live *t = live_begin();
    struct member m[4];
    int inside = 0;

    for (int i = 0; i < 4; i++)
        member_begin(&m[i], t, 2);
    for (int i = 0; i < 4; i++)
        member_enter(&m[i], ZKL_FOREVER);
    LIVE_UNTIL(member_is_done(&m[0]) + member_is_done(&m[1]) + member_is_done(&m[2]) +
                   member_is_done(&m[3]) ==
               2);
    directory_has(t, 5);
    bool first[4];
    for (int i = 0; i < 4; i++)
        inside += first[i] = member_is_done(&m[i]);
    CHECK_INT(inside, 2);
    for (int i = 0; i < 4; i++) {
        if (first[i])
            member_leave(&m[i], ZKL_FOREVER);
    }
    for (int i = 0; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    for (int i = 0; i < 4; i++) {
        if (!first[i])
            member_leave(&m[i], ZKL_FOREVER);
    }
    for (int i = 0; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    directory_has(t, 0);
    for (int i = 0; i < 4; i++)
        member_end(&m[i]);
    live_end(t);
}

/* Nobody passes by a ready that stood before. */
TEST_CASE(ready_left_behind)
{
    struct live *t = live_begin();
    struct member m[2];

    for (int i = 0; i < 2; i++)
        member_begin(&m[i], t, 2);
    leave_ready(t);
    CHECK_INT(zkl_double_barrier_enter(m[0].barrier, 100), ZKL_ETIMEDOUT);
    for (int i = 0; i < 2; i++)
        member_enter(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    for (int i = 0; i < 2; i++)
        member_leave(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    directory_has(t, 0);
    for (int i = 0; i < 2; i++)
        member_end(&m[i]);
    live_end(t);
}

/* The last member inside dies, and its ready stays: those who wait are not held up. */
TEST_CASE(member_dies_inside)
{
    struct live *t = live_begin();
    struct member m[4];

    for (int i = 0; i < 4; i++)
        member_begin(&m[i], t, 2);
    for (int i = 0; i < 2; i++)
        member_enter(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    for (int i = 2; i < 4; i++)
        member_enter(&m[i], ZKL_FOREVER);
    directory_has(t, 5);
    CHECK(!member_is_done(&m[2]) && !member_is_done(&m[3]));
    for (int i = 0; i < 2; i++)
        live_close(t, m[i].session);
    for (int i = 2; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    directory_has(t, 3);
    for (int i = 2; i < 4; i++)
        member_leave(&m[i], ZKL_FOREVER);
    for (int i = 2; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    directory_has(t, 0);
    for (int i = 0; i < 4; i++)
        member_end(&m[i]);
    live_end(t);
}
