/* Contenders of different kinds: who waits for whom, and who is incompatible. */
#include "rule.h"

#include "suites.h"

/* Who waits for whom, in full: a row for each that waits, a column for each that came first, in the
 * order foreign, lock, latch, Apache, zk-ruby, read, write, lease. */
static void kinds(void)
{
    static const char *const due[] = {
        [CHILD_FOREIGN] = "--------", [CHILD_LOCK] = "-w------",  [CHILD_LATCH] = "--w-----",
        [CHILD_APACHE] = "-w-w----",  [CHILD_RUBY] = "-w--w---",  [CHILD_READ] = "-w----w-",
        [CHILD_WRITE] = "-w---ww-",   [CHILD_LEASE] = "-------w",
    };

    CHECK_INT(sizeof(due) / sizeof(*due), CHILD_KINDS);
    for (enum child_kind own = 0; own < CHILD_KINDS; own++)
        for (enum child_kind other = 0; other < CHILD_KINDS; other++)
            if (!CHECK_INT(rule_waits(own, other), due[own][other] == 'w'))
                runner_fail(__FILE__, __LINE__, "%d behind %d", (int)own, (int)other);
}

/* One incompatible child at a time, at each side of number 7 and of the edge of what is usable. */
static void incompatible(void)
{
    static const struct {
        int32_t number;
        bool incompatible;
    } where[] = {
        {6, true},         {7, true},  {8, false},        {0, true},
        {INT32_MAX, true}, {-1, true}, {INT32_MIN, true}, {INT32_MAX - 1, false},
    };
    static const enum child_kind ours[] = {CHILD_LOCK, CHILD_LATCH, CHILD_LEASE};

    for (size_t us = 0; us < sizeof(ours) / sizeof(*ours); us++)
        for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++)
            for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
                const struct child list[] = {
                    {.id = 3, .kind = kind, .number = where[i].number},
                    {.id = 4, .kind = ours[us], .number = 7, .own = true},
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
static void readers_and_writers(void)
{
    static const struct {
        enum child_kind own;
        struct child children[4];
        uint32_t ahead, predecessor;
        bool behind, incompatible;
    } rows[] = {
#define R(n) {.id = (n), .kind = CHILD_READ, .number = (n)}
#define W(n)                                                                                       \
    {                                                                                              \
        .id = (n), .kind = CHILD_WRITE, .number = (n)                                              \
    }
#define L(n)                                                                                       \
    {                                                                                              \
        .id = (n), .kind = CHILD_LOCK, .number = (n)                                               \
    }
#define OTHER(n)                                                                                   \
    {                                                                                              \
        .id = (n), .kind = CHILD_LATCH, .number = (n)                                              \
    }
        {CHILD_READ, {R(2), R(6)}, 0, 0, false, false},
        {CHILD_READ, {R(2), R(6), R(8), W(9)}, 0, 0, true, false},
        {CHILD_READ, {W(2), R(3), W(4), R(6)}, 2, 4, false, false},
        {CHILD_READ, {W(4), R(3), W(2), L(8)}, 2, 4, false, false},
        {CHILD_READ, {W(8), R(9)}, 0, 0, true, false},
        {CHILD_READ, {L(3)}, 1, 3, false, false},
        {CHILD_READ, {W(5), OTHER(3)}, 1, 5, false, true},
        {CHILD_WRITE, {R(2), R(6), W(3)}, 3, 6, false, false},
        {CHILD_WRITE, {R(8)}, 0, 0, true, false},
        {CHILD_WRITE, {W(8)}, 0, 0, true, false},
        {CHILD_WRITE, {L(8), L(6)}, 1, 6, false, false},
        {CHILD_WRITE, {R(2), OTHER(6)}, 1, 2, false, true},
        {CHILD_LOCK, {R(2)}, 0, 0, false, true},
        {CHILD_LOCK, {W(2)}, 0, 0, false, true},
        {CHILD_LOCK, {R(8), L(2)}, 1, 2, true, false},
        /* Curator's writer that becomes a reader, before and after it gave its write node up */
        {CHILD_READ, {W(5), R(5), R(6)}, 1, 5, false, false},
        {CHILD_READ, {R(5), R(6)}, 0, 0, false, false},
        {CHILD_WRITE, {W(5), R(5)}, 2, 5, false, false},
        {CHILD_WRITE, {R(5)}, 1, 5, false, false},
        /* forgeries */
        {CHILD_READ, {W(7)}, 1, 7, false, false},
        {CHILD_READ, {R(7)}, 0, 0, false, false},
        {CHILD_WRITE, {R(7)}, 1, 7, false, false},
#undef R
#undef W
#undef L
#undef OTHER
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child list[5] = {{.id = 77, .kind = rows[i].own, .number = 7, .own = true}};
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

static void shared_kinds(void)
{
    for (enum child_kind kind = 0; kind < CHILD_KINDS; kind++)
        CHECK_INT(rule_is_shared(kind), kind == CHILD_READ || kind == CHILD_WRITE);
}

/* One of ours is none, however it is called; nor is one from before. */
static void our_own_are_compatible(void)
{
    const struct child list[] = {
        {.id = 1, .kind = CHILD_LOCK, .number = 5, .own = true},
        {.id = 2, .kind = CHILD_LOCK, .number = 7, .own = true},
        {.id = 3, .kind = CHILD_LOCK, .number = 2, .old = true},
    };
    struct place p = rule_place(list, 3, CHILD_LOCK, 7);

    CHECK(p.present && p.spare && !p.incompatible);
    CHECK_INT(p.ahead, 1);
}

static void foreign_children(void)
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

static void other_kinds_are_not_waited_for(void)
{
    const struct child children[] = {
        {.id = 1, .kind = CHILD_LATCH, .number = 2},
        {.id = 2, .kind = CHILD_LOCK, .number = 3},
        {.id = 3, .kind = CHILD_LATCH, .number = 4},
        {.id = 4, .kind = CHILD_LOCK, .number = 5},
        {.id = 5, .kind = CHILD_LATCH, .number = 7, .own = true},
    };
    struct place p = rule_place(children, 5, CHILD_LATCH, 7);
    CHECK(p.present);
    CHECK_INT(p.ahead, 2);
    CHECK_INT(p.predecessor, 3);
    CHECK(p.incompatible && (p.incompatible_id == 2 || p.incompatible_id == 4));
    p = rule_place(children, 5, CHILD_LOCK, 7);
    CHECK_INT(p.ahead, 2);
    CHECK_INT(p.predecessor, 4);
}

static const struct test_case cases[] = {
    {"kinds", kinds},
    {"incompatible", incompatible},
    {"readers_and_writers", readers_and_writers},
    {"shared_kinds", shared_kinds},
    {"our_own_are_compatible", our_own_are_compatible},
    {"foreign_children", foreign_children},
    {"other_kinds_are_not_waited_for", other_kinds_are_not_waited_for},
    {NULL, NULL},
};

const struct test_suite rule_kind_suite = {.name = "rule_kind", .cases = cases};
