/* When a leader is asked to step down. */
#include "step_down.h"

#include "suites.h"

#include <string.h>

static struct step_down seeing(struct step_down t, const char *name)
{
    step_down_see(&t, name, strlen(name));
    return t;
}

#define LOW "_c_x-p002-latch-0000000001"
#define EQUAL "_c_x-p003-latch-0000000001"
#define HIGH "_c_x-p004-latch-0000000001"
#define NONE "_c_x-latch-0000000001"

static void who_counts(void)
{
    const struct step_down t = {.yield = true, .priority = 3};
    const struct step_down free_for_all = {.yield = true};
    CHECK(!t.others && !t.higher);
    CHECK(seeing(t, LOW).others && !seeing(t, LOW).higher);
    CHECK(!seeing(t, EQUAL).higher);
    CHECK(!seeing(t, NONE).higher);
    CHECK(seeing(t, HIGH).higher && seeing(t, HIGH).others);
    CHECK(seeing(seeing(t, HIGH), LOW).higher); /* one is enough */
    CHECK(seeing(free_for_all, LOW).higher);
    CHECK(!seeing(free_for_all, NONE).higher);
}

/* At each age: is it over, does it watch, when does it change by itself? */
static void expect(const struct step_down *t, int64_t age, bool over, bool watches, int64_t next,
                   int line)
{
    bool ok = CHECK_INT(step_down_is_due(t, age), over);
    ok &= CHECK_INT(step_down_watches(t, age), watches);
    ok &= CHECK_INT(step_down_next(t, age), next);
    if (!ok)
        runner_fail(__FILE__, line, "at the age of %lld", (long long)age);
}
#define EXPECT(t, age, over, watches, next) expect((t), (age), (over), (watches), (next), __LINE__)

static void never(void)
{
    const struct step_down t = {.priority = 1, .higher = true, .others = true};
    EXPECT(&t, 0, false, false, INT64_MAX);
    EXPECT(&t, INT64_MAX - 1, false, false, INT64_MAX);
}

static void to_a_higher_one(void)
{
    struct step_down t = {.yield = true, .min_term = 100};
    EXPECT(&t, 0, false, true, INT64_MAX);
    t.others = true;
    EXPECT(&t, 500, false, true, INT64_MAX);
    t.higher = true;
    EXPECT(&t, 0, false, true, 100);
    EXPECT(&t, 99, false, true, 100);
    EXPECT(&t, 100, true, true, INT64_MAX);
    t.min_term = 0;
    EXPECT(&t, 0, true, true, INT64_MAX);
}

static void to_anybody(void)
{
    struct step_down t = {.max_term = 100};
    EXPECT(&t, 0, false, false, 100);
    EXPECT(&t, 100, false, true, INT64_MAX); /* nobody waits */
    t.others = true;
    EXPECT(&t, 99, false, false, 100);
    EXPECT(&t, 100, true, true, INT64_MAX);
    t.max_term = 1;
    EXPECT(&t, 1, true, true, INT64_MAX);
}

static void both(void)
{
    struct step_down t = {.yield = true, .min_term = 50, .max_term = 100, .others = true};
    EXPECT(&t, 0, false, true, 100);
    t.higher = true;
    EXPECT(&t, 0, false, true, 50);
    EXPECT(&t, 50, true, true, 100);
    t.min_term = 200;
    EXPECT(&t, 0, false, true, 100);
    EXPECT(&t, 100, true, true, 200);
}

static const struct test_case cases[] = {
    {"who_counts", who_counts}, {"never", never}, {"to_a_higher_one", to_a_higher_one},
    {"to_anybody", to_anybody}, {"both", both},   {NULL, NULL},
};

const struct test_suite step_down_suite = {.name = "step_down", .cases = cases};
