#include "rule.h"

#include "runner.h"
#include "seeded.h"

#include <stdlib.h>

TEST_SUITE(rule);

enum { NOBODY = 999 };

#define LOCK(number_)                                                                              \
    {                                                                                              \
        .kind = CHILD_LOCK, .number = (number_)                                                    \
    }
#define OWN(number_)                                                                               \
    {                                                                                              \
        .kind = CHILD_LOCK, .number = (number_), .own = true                                       \
    }
#define OLD(number_)                                                                               \
    {                                                                                              \
        .kind = CHILD_LOCK, .number = (number_), .old = true                                       \
    }
#define FOREIGN(number_)                                                                           \
    {                                                                                              \
        .kind = CHILD_FOREIGN, .number = (number_)                                                 \
    }

struct row {
    const char *what;
    int32_t number; /* of the own node */
    struct child children[6];
    size_t count;
    bool present, spare;
    uint32_t ahead;
    uint32_t predecessor; /* index in children */
};

static const struct row rows[] = {
    {"an empty list proves nothing", 3, {{0}}, 0, false, false, 0, NOBODY},
    {"alone", 3, {OWN(3)}, 1, true, false, 0, NOBODY},
    {"first", 3, {LOCK(4), OWN(3), LOCK(5)}, 3, true, false, 0, NOBODY},
    {"the nearest lower one",
     7,
     {LOCK(2), OWN(7), LOCK(5), LOCK(9), LOCK(4)},
     5,
     true,
     false,
     3,
     2},
    {"zero is lower than one", 1, {OWN(1), LOCK(0)}, 2, true, false, 1, 1},
    {"number order, not list order", 10, {LOCK(9), LOCK(8), OWN(10)}, 3, true, false, 2, 0},
    {"own node missing", 3, {LOCK(1), LOCK(5)}, 2, false, false, 0, NOBODY},
    {"another's node of our number is not ours", 3, {LOCK(3)}, 1, false, false, 0, NOBODY},
    {"our id with another number is not our node", 3, {OWN(4)}, 1, false, false, 0, NOBODY},
    {"a tie that is not ours is waited for", 3, {OWN(3), LOCK(3)}, 2, true, false, 1, 1},
    {"a tie is nearer than anything lower", 3, {LOCK(2), LOCK(3), OWN(3)}, 3, true, false, 2, 1},
    {"foreign names are ignored", 3, {FOREIGN(0), OWN(3), FOREIGN(1)}, 3, true, false, 0, NOBODY},
    {"foreign between", 3, {LOCK(1), FOREIGN(2), OWN(3)}, 3, true, false, 1, 0},
    {"another at the limit", 3, {OWN(3), LOCK(INT32_MAX)}, 2, true, false, 1, 1},
    {"another wrapped around", 3, {LOCK(INT32_MIN), OWN(3)}, 2, true, false, 1, 0},
    {"a usable one is nearer than wrapped ones",
     3,
     {LOCK(INT32_MAX), LOCK(1), LOCK(-1), OWN(3)},
     4,
     true,
     false,
     3,
     1},
    {"the last number is behind those just before it",
     INT32_MAX - 1,
     {OWN(INT32_MAX - 1), LOCK(INT32_MAX)},
     2,
     true,
     false,
     0,
     NOBODY},
    {"it came round half the numbers ago",
     INT32_MAX / 2 - 1,
     {OWN(INT32_MAX / 2 - 1), LOCK(INT32_MAX)},
     2,
     true,
     false,
     1,
     1},
    {"or it did not",
     INT32_MAX / 2,
     {OWN(INT32_MAX / 2), LOCK(INT32_MAX)},
     2,
     true,
     false,
     0,
     NOBODY},
    {"a negative one is before all",
     INT32_MAX - 1,
     {OWN(INT32_MAX - 1), LOCK(INT32_MIN), LOCK(7)},
     3,
     true,
     false,
     2,
     2},
    {"one below the limit is usable", 3, {OWN(3), LOCK(INT32_MAX - 1)}, 2, true, false, 0, NOBODY},
    {"a spare behind", 3, {OWN(3), OWN(8)}, 2, true, true, 0, NOBODY},
    {"a spare is not waited for", 8, {OWN(3), OWN(8), LOCK(1)}, 3, true, true, 1, 2},
};

static void expect_row(const struct row *r)
{
    struct child children[6];
    for (uint32_t i = 0; i < r->count; i++) {
        children[i] = r->children[i];
        children[i].id = 100 + i;
    }
    struct place p = rule_place(r->count ? children : NULL, r->count, RULE_LOCK, r->number);
    bool ok = CHECK_INT(p.present, r->present);
    if (r->present) {
        ok &= CHECK_INT(p.spare, r->spare) && CHECK_INT(p.ahead, r->ahead);
        if (r->ahead > 0)
            ok &= CHECK_INT(p.predecessor, 100 + r->predecessor);
    }
    if (!ok)
        runner_fail(__FILE__, __LINE__, "case \"%s\"", r->what);
}

TEST_CASE(places)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect_row(&rows[i]);
}

TEST_CASE(lowest_of_ours_is_found)
{
    const struct child children[] = {
        {.id = 5, .kind = CHILD_LOCK, .number = 9, .own = true},
        {.id = 6, .kind = CHILD_LOCK, .number = 4, .own = true},
        {.id = 7, .kind = CHILD_LOCK, .number = 6, .own = true},
        {.id = 8, .kind = CHILD_LOCK, .number = 1},
    };
    struct place p = rule_place(children, 4, RULE_LOCK, 4);
    CHECK(p.found && p.present && p.spare);
    CHECK_INT(p.own, 4);
    CHECK_INT(p.own_id, 6);
    CHECK_INT(p.ahead, 1);
    p = rule_place(children, 1, RULE_LOCK,
                   4); /* the number is not known yet or wrong: found, not present */
    CHECK(p.found && !p.present);
    CHECK_INT(p.own, 9);
    CHECK_INT(p.own_id, 5);
    p = rule_place(children + 3, 1, RULE_LOCK, 4);
    CHECK(!p.found && !p.present && !p.spare);
}

/* An id of an earlier session marks what is to be removed, never the own node. */
TEST_CASE(old_ids_are_spares)
{
    const struct child children[] = {OLD(2), OWN(6)};
    struct place p = rule_place(children, 2, RULE_LOCK, 6);
    CHECK(p.present && p.spare && p.found);
    CHECK_INT(p.own, 6);
    p = rule_place(children, 1, RULE_LOCK, 2);
    CHECK(!p.present && !p.found);
}

TEST_CASE(exhausted_numbers)
{
    CHECK(rule_exhausted(INT32_MAX));
    CHECK(rule_exhausted(-1));
    CHECK(rule_exhausted(INT32_MIN));
    CHECK(!rule_exhausted(0));
    CHECK(!rule_exhausted(1));
    CHECK(!rule_exhausted(INT32_MAX - 1));
    CHECK(!rule_exhausted(RULE_NUMBER_WARN));
    CHECK_INT(RULE_NUMBER_WARN, 2147483647 - 1048576);
}

TEST_CASE(queue_order)
{
    static const int32_t rising[] = {-2147483647 - 1, -7,       -1, 0, 1, 9, 10,
                                     INT32_MAX - 1,   INT32_MAX};
    int n = sizeof(rising) / sizeof(*rising);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            int order = rule_compare(rising[a], rising[b]);
            CHECK_INT((order > 0) - (order < 0), (a > b) - (a < b));
        }
}

/* The rule in other words: x stands before me unless both are usable and x's number is higher. */
static bool oracle_before(const struct child *x, int32_t number)
{
    return x->kind == CHILD_LOCK && !x->own &&
           (x->number < 0 || x->number == INT32_MAX || x->number <= number);
}

static void expect_oracle(const struct child *children, size_t count, int32_t number, uint64_t seed)
{
    uint32_t ahead = 0, own = 0;
    int64_t nearest = -1; /* the highest usable number before ours */
    for (size_t i = 0; i < count; i++) {
        own += children[i].own;
        if (!oracle_before(&children[i], number))
            continue;
        ahead++;
        if (!rule_exhausted(children[i].number) && children[i].number > nearest)
            nearest = children[i].number;
    }
    struct place p = rule_place(children, count, RULE_LOCK, number);
    bool ok = CHECK(p.present) && CHECK_INT(p.ahead, ahead) && CHECK_INT(p.spare, own > 1);
    if (ok && ahead > 0) {
        REQUIRE(p.predecessor < count);
        const struct child *found = NULL;
        for (size_t i = 0; i < count; i++)
            if (children[i].id == p.predecessor)
                found = &children[i];
        ok &= CHECK(found && oracle_before(found, number));
        ok &= nearest < 0 || CHECK_INT(found->number, nearest);
        ok &= CHECK_INT(p.retains, found->retains);
    }
    if (!ok)
        runner_fail(__FILE__, __LINE__, "seed %llu, %zu children", (unsigned long long)seed, count);
}

static int32_t random_number(uint64_t *r)
{
    switch (seeded_below(r, 12)) {
    case 0:
        return INT32_MAX;
    case 1:
        return -1 - (int32_t)seeded_below(r, 1000);
    default:
        return (int32_t)seeded_below(r, 300); /* narrow, so that ties happen */
    }
}

static void expect_any_order(uint64_t seed, size_t count)
{
    uint64_t r = seed;
    int32_t number = (int32_t)seeded_below(&r, 300);
    struct child *children = calloc(count, sizeof(*children));
    REQUIRE(children);
    for (uint32_t i = 0; i < count; i++)
        children[i] = (struct child){.id = i,
                                     .kind = seeded_below(&r, 8) ? CHILD_LOCK : CHILD_FOREIGN,
                                     .number = random_number(&r),
                                     .retains = i % 2};
    children[0] = (struct child){.kind = CHILD_LOCK, .number = number, .own = true};
    if (count > 1 && seeded_below(&r, 4) == 0)
        children[1] = (struct child){.id = 1, .kind = CHILD_LOCK, .number = 400, .own = true};
    for (int shuffle = 0; shuffle < 5; shuffle++) {
        expect_oracle(children, count, number, seed);
        for (uint32_t i = (uint32_t)count - 1; i > 0; i--) {
            uint32_t j = seeded_below(&r, i + 1);
            struct child swap = children[i];
            children[i] = children[j];
            children[j] = swap;
        }
    }
    free(children);
}

TEST_CASE(agrees_with_an_oracle_in_any_order)
{
    for (uint64_t seed = 1; seed <= 4000; seed++)
        expect_any_order(seed, 1 + seed % 20);
}

TEST_CASE(large_lists)
{
    expect_any_order(1, 100000);
    expect_any_order(2, 20000);
}
