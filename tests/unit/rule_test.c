/* Whom a contender waits for, by a list. */
#include "name.h"
#include "rule.h"
#include "runner.h"
#include "seeded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct row orders[] = {
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
    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
        expect_row(&orders[i]);
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

/* An id of an earlier entry marks what is to be removed, never the own node. */
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
        expect_any_order(seed, 1 + (size_t)(seed % 20));
}

TEST_CASE(large_lists)
{
    expect_any_order(1, 100000);
    expect_any_order(2, 20000);
}

/* ---- contenders of different kinds: which waits for which, and which are incompatible ---- */

#define OURS "_c_1b4e28ba-2fa1-81d2-883f-0016d3cca427"
#define OUR_HEX "1b4e28ba2fa181d2883f0016d3cca427"
#define CURATOR "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427"
#define HEX "1b4e28ba2fa141d2883f0016d3cca427"

/* The names tell in full which one waits for which: a row for each that waits, a column for each
 * that came first, in the order lock, kazoo's, Apache's, zk-ruby's, zk-ruby's shared, reader,
 * kazoo's reader, writer, latch, lease, of a later version. */
static const struct {
    const char *name, *due;
} waiters[] = {
    {OURS "-lock-", "www--------"},
    {OUR_HEX "__lock__", "ww---------"},
    {OURS "-__READ__", "ww---ssw---"},
    {OURS "-__WRIT__", "ww---www---"},
    {OURS "-latch-", "--------w--"},
    {OURS "-lease-", "---------w-"},
    {OURS "-lamp-", "-----------"},
    {CURATOR "-lock-", "w----------"},
    {CURATOR "-__READ__", "-----ssw---"},
    {CURATOR "-__WRIT__", "-----w-w---"},
    {CURATOR "-latch-", "--------w--"},
    {CURATOR "-lease-", "---------w-"},
    {HEX "__lock__", "ww---www---"},
    {HEX "__rlock__", "-w---ssw---"},
    {HEX "-lock-", "w----------"},
    {HEX "-__READ__", "-----ssw---"},
    {HEX "-__WRIT__", "-----w-w---"},
    {"_c_" HEX "-lock-", "ww---www---"},
    {"x-5-", "w-w-----ww-"},
    {"x-0123456789abcdef-", "w-w-----ww-"},
    {"ex", "wwwwwwwwwww"},
    {"sh", "---ws------"},
    {"lock-", "ww---www---"},
    {"__READ__", "-----ssw---"},
    {"__WRIT__", "-----w-w---"},
    {"__lock__", "ww---www---"},
    {"junk", "-----------"},
};

static const enum child_kind seen[] = {
    CHILD_LOCK,       CHILD_KAZOO, CHILD_APACHE, CHILD_RUBY,  CHILD_RUBY_SHARED, CHILD_READ,
    CHILD_KAZOO_READ, CHILD_WRITE, CHILD_LATCH,  CHILD_LEASE, CHILD_LATER};

static struct child parse(const char *before)
{
    char name[100];
    struct child child = {.id = 3};

    snprintf(name, sizeof name, "%s0000000009", before);
    name_parse(name, strlen(name), &child);
    return child;
}

TEST_CASE(kinds)
{
    CHECK_INT(sizeof(seen) / sizeof(*seen) + 1, CHILD_KINDS);
    for (size_t i = 0; i < sizeof(waiters) / sizeof(*waiters); i++) {
        const struct child child = parse(waiters[i].name);
        CHECK_INT(rule_kind(child.rule), child.kind);
        CHECK(!rule_waits(child.rule, CHILD_FOREIGN) || child.kind == CHILD_RUBY);
        for (size_t k = 0; k < sizeof(seen) / sizeof(*seen); k++)
            if (!CHECK_INT(rule_waits(child.rule, seen[k]), waiters[i].due[k] == 'w') ||
                !CHECK_INT(rule_ignores(child.rule, seen[k]), waiters[i].due[k] == '-'))
                runner_fail(__FILE__, __LINE__, "%s behind %zu", waiters[i].name, k);
    }
}

/* What no name tells: those of ours that are beside no lock of Apache's. */
TEST_CASE(selectors)
{
    CHECK_INT(rule_kind(RULE_SELECTOR), CHILD_LOCK);
    for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++) {
        CHECK_INT(rule_waits(RULE_SELECTOR, kind), kind == CHILD_LOCK || kind == CHILD_KAZOO);
        CHECK_INT(rule_ignores(RULE_SELECTOR, kind), kind != CHILD_LOCK && kind != CHILD_KAZOO);
    }
}

/* Each of ours holds, and each of the others is behind it: it is seen if it waits, whomever we
 * would wait for ourselves. */
TEST_CASE(behind)
{
    for (enum rule own = RULE_LOCK; own <= RULE_LEASE; own++)
        for (size_t i = 0; i < sizeof(waiters) / sizeof(*waiters); i++) {
            struct child list[] = {
                parse(waiters[i].name),
                {.id = 4, .kind = rule_kind(own), .number = 7, .own = true},
            };
            const struct place p = rule_place(list, 2, own, 7);
            size_t k = 0;
            while (seen[k] != rule_kind(own))
                k++;
            if (!CHECK_INT(p.behind, waiters[i].due[k] == 'w') ||
                !CHECK_INT(p.permits_behind > 0, p.behind) || !CHECK(!p.incompatible))
                runner_fail(__FILE__, __LINE__, "%s behind %d", waiters[i].name, (int)own);
        }
}

/* One incompatible child at a time, at each side of number 7 and of the edge of what is usable. */
TEST_CASE(incompatible)
{
    static const struct {
        int32_t number;
        bool incompatible;
    } where[] = {
        {6, true},         {7, true},  {8, false},        {0, true},
        {INT32_MAX, true}, {-1, true}, {INT32_MIN, true}, {INT32_MAX - 1, false},
    };
    static const enum rule ours[] = {RULE_LOCK, RULE_SELECTOR, RULE_LATCH, RULE_LEASE};

    for (size_t us = 0; us < sizeof(ours) / sizeof(*ours); us++)
        for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++)
            for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
                const struct child list[] = {
                    {.id = 3, .kind = kind, .number = where[i].number},
                    {.id = 4, .kind = rule_kind(ours[us]), .number = 7, .own = true},
                };
                struct place p = rule_place(list, 2, ours[us], 7);
                bool waits = rule_waits(ours[us], kind);
                bool before = where[i].incompatible && kind != CHILD_FOREIGN;
                bool ok = CHECK(p.present) && CHECK_INT(p.incompatible, before && !waits);
                ok &= CHECK_INT(p.ahead, before && waits);
                ok &= !p.incompatible || CHECK_INT(p.incompatible_id, 3);
                if (!ok)
                    runner_fail(__FILE__, __LINE__, "%d, number %d, for %d", (int)kind,
                                (int)where[i].number, (int)ours[us]);
            }
}

/* A read-write lock's contender number 7 among others, and what it finds: i incompatible, b
 * somebody behind, and of those ahead how many and the nearest. */
TEST_CASE(readers_and_writers)
{
    static const struct {
        enum rule own;
        struct child children[4];
        uint32_t ahead, predecessor;
        bool behind, incompatible;
    } rows[] = {
#define R(n) {.id = (n), .kind = CHILD_READ, .rule = RULE_READ, .number = (n)}
#define W(n)                                                                                       \
    {                                                                                              \
        .id = (n), .kind = CHILD_WRITE, .rule = RULE_WRITE, .number = (n)                          \
    }
#define L(n)                                                                                       \
    {                                                                                              \
        .id = (n), .kind = CHILD_LOCK, .rule = RULE_LOCK, .number = (n)                            \
    }
#define OTHER(n)                                                                                   \
    {                                                                                              \
        .id = (n), .kind = CHILD_LATCH, .rule = RULE_LATCH, .number = (n)                          \
    }
        {RULE_READ, {R(2), R(6)}, 0, 0, false, false},
        {RULE_READ, {R(2), R(6), R(8), W(9)}, 0, 0, true, false},
        {RULE_READ, {W(2), R(3), W(4), R(6)}, 2, 4, false, false},
        {RULE_READ, {W(4), R(3), W(2), L(8)}, 2, 4, false, false},
        {RULE_READ, {W(8), R(9)}, 0, 0, true, false},
        {RULE_READ, {L(3)}, 1, 3, false, false},
        {RULE_READ, {W(5), OTHER(3)}, 1, 5, false, true},
        {RULE_WRITE, {R(2), R(6), W(3)}, 3, 6, false, false},
        {RULE_WRITE, {R(8)}, 0, 0, true, false},
        {RULE_WRITE, {W(8)}, 0, 0, true, false},
        {RULE_WRITE, {L(8), L(6)}, 1, 6, false, false},
        {RULE_WRITE, {R(2), OTHER(6)}, 1, 2, false, true},
        {RULE_LOCK, {R(2)}, 0, 0, false, true},
        {RULE_LOCK, {W(2)}, 0, 0, false, true},
        {RULE_LOCK, {R(8), L(2)}, 1, 2, true, false},
        /* Curator's writer that becomes a reader, before and after it gave its write node up */
        {RULE_READ, {W(5), R(5), R(6)}, 1, 5, false, false},
        {RULE_READ, {R(5), R(6)}, 0, 0, false, false},
        {RULE_WRITE, {W(5), R(5)}, 2, 5, false, false},
        {RULE_WRITE, {R(5)}, 1, 5, false, false},
        /* forgeries */
        {RULE_READ, {W(7)}, 1, 7, false, false},
        {RULE_READ, {R(7)}, 0, 0, false, false},
        {RULE_WRITE, {R(7)}, 1, 7, false, false},
#undef R
#undef W
#undef L
#undef OTHER
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child list[5] = {
            {.id = 77, .kind = rule_kind(rows[i].own), .number = 7, .own = true}};
        size_t count = 1;
        for (size_t k = 0; k < 4 && rows[i].children[k].kind; k++)
            list[count++] = rows[i].children[k];
        struct place p = rule_place(list, count, rows[i].own, 7);
        bool ok = CHECK(p.present) && CHECK_INT(p.ahead, rows[i].ahead);
        ok &= p.ahead == 0 || CHECK_INT(p.predecessor, rows[i].predecessor);
        ok &= CHECK_INT(p.behind, rows[i].behind);
        ok &= CHECK_INT(p.incompatible, rows[i].incompatible);
        if (!ok)
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

TEST_CASE(shared_kinds)
{
    for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++)
        CHECK_INT(rule_is_shared(kind), kind == CHILD_READ || kind == CHILD_WRITE);
}

/* One of ours is none, however it is called; nor is one from before. */
TEST_CASE(our_own_are_compatible)
{
    const struct child list[] = {
        {.id = 1, .kind = CHILD_LOCK, .number = 5, .own = true},
        {.id = 2, .kind = CHILD_LOCK, .number = 7, .own = true},
        {.id = 3, .kind = CHILD_LOCK, .number = 2, .old = true},
    };
    struct place p = rule_place(list, 3, RULE_LOCK, 7);

    CHECK(p.present && p.spare && !p.incompatible);
    CHECK_INT(p.ahead, 1);
}

TEST_CASE(foreign_children)
{
    const struct child list[] = {
        {.id = 1, .kind = CHILD_LOCK, .number = 0},
        {.id = 2, .kind = CHILD_LEASE, .number = 1},
        {.id = 9, .kind = CHILD_FOREIGN},
    };
    uint32_t id = 77;

    CHECK(!rule_foreign(NULL, 0, &id));
    CHECK(!rule_foreign(list, 2, &id));
    CHECK_INT(id, 77);
    CHECK(rule_foreign(list, 3, &id));
    CHECK_INT(id, 9);
}
