/* When the end of a large tree must begin. */
#include "runner.h"
#include "tools/guard/pace.h"

#include <stdio.h>

TEST_SUITE(pace);

/* Looks in a row, and how long an end would take after the last one. */
TEST_CASE(an_end_is_measured_by_looks)
{
    static const struct {
        struct {
            int count;
            int ms;
            int cpu_ms;
        } looks[4];
        int64_t need;
        const char *why;
    } rows[] = {
        {{{1, 0, 0}}, 0, "nothing is measured where all is quick"},
        {{{2000, 100, 1}}, 200, "twice the look"},
        {{{2000, 100, 50}}, 600, "or twelve times its share of the processor"},
        {{{2000, 100, 1}, {4000, 200, 1}}, 400, "it grows with the tree"},
        {{{2000, 100, 1}, {4000, 150, 1}}, 300, "a larger tree, and less for each"},
        {{{2000, 100, 1}, {2000, 2000, 1}}, 4000, "and with the load"},
        {{{2000, 2000, 1}, {2000, 100, 1}}, 3000, "which may come again,"},
        {{{2000, 2000, 1}, {2000, 100, 1}, {2000, 100, 1}},
         2250,
         "the less, the longer it is away"},
        {{{2000, 2000, 1}, {20, 0, 0}}, 30, "few take little of it"},
        {{{1, 50, 1}, {2000, 100, 1}}, 1500, "one that was interrupted says little of many"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pace p = {0};

        for (int k = 0; k < 4 && rows[i].looks[k].count > 0; k++)
            pace_add_look(&p, rows[i].looks[k].count, rows[i].looks[k].ms, rows[i].looks[k].cpu_ms);
        if (pace_need_ms(&p, 0) != rows[i].need)
            printf("%s\n", rows[i].why);
        CHECK_INT(pace_need_ms(&p, 0), rows[i].need);
        CHECK_INT(pace_need_ms(&p, 1), rows[i].need > 2 ? rows[i].need : 2);
        CHECK_INT(pace_need_ms(&p, 5000), 10000);
    }
}

TEST_CASE(looks_cost_little)
{
    CHECK_INT(pace_pause_ms(0, 30000), 7500);
    CHECK_INT(pace_pause_ms(150, 30000), 7500);
    CHECK_INT(pace_pause_ms(200, 30000), 10000); /* 2 percent of a processor */
    CHECK_INT(pace_pause_ms(2, 240), 100);
}

/* Within 30 s: a grace of an eighth, of which a quarter is for KILL. */
TEST_CASE(a_larger_tree_is_ended_earlier)
{
    static const struct {
        int64_t need;
        int64_t grace, margin_alone;
        int64_t margin, begin; /* of KILL, and of all */
        bool outgrown;
    } rows[] = {
        {0, 3750, 937, 937, 3750, false},
        {1, 3750, 937, 938, 3751, false}, /* TERM keeps its time, */
        {3000, 3750, 937, 3937, 6750, false},
        {5000, 3750, 937, 5937, 7500, false}, /* as far as there is any */
        {6563, 3750, 937, 7500, 7500, false},
        {6564, 3750, 937, 7500, 7500, true},
        {1000000, 3750, 937, 7500, 7500, true},
        {0, 100, 468, 468, 468, false},      /* no TERM in so short a grace, */
        {1000, 100, 468, 1468, 1468, false}, /* so none in a longer one */
        {0, 4500, 3375, 3375, 4500, false},  /* many shards' */
        {625, 4500, 3375, 4000, 5125, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pace_plan plan =
            pace_plan(rows[i].need, 30000, rows[i].grace, rows[i].margin_alone);

        CHECK_INT(plan.margin_ms, rows[i].margin);
        CHECK_INT(plan.grace_ms, rows[i].begin);
        CHECK_INT(plan.outgrown, rows[i].outgrown);
    }
}

/* However large the tree is: a renewal that comes in time finds the command running. */
TEST_CASE(a_healthy_lock_is_not_ended)
{
    for (int64_t timeout = 100; timeout < 100000; timeout += 100)
        CHECK(pace_plan(1000000, timeout, timeout / 8, timeout / 64).grace_ms <
              pace_steady_ms(timeout));
}

TEST_CASE(many_are_killed_earlier)
{
    CHECK_INT(pace_margin_ms(0, 1000, 250), 250);
    CHECK_INT(pace_margin_ms(64, 1000, 250), 250);
    CHECK_INT(pace_margin_ms(500, 1000, 250), 500);
    CHECK_INT(pace_margin_ms(1000, 1000, 250), 750); /* the rest is for TERM */
    CHECK_INT(pace_margin_ms(1000, 100, 125), 125);
}
