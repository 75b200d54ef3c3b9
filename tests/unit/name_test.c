#include "name.h"

#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_SUITE(name);

#define UUID "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
#define HEX "1b4e28ba2fa111d2883f0016d3cca427"

/* Parses a copy that ends exactly at length, so that a sanitizer sees any reading beyond it. */
static struct child parse(const char *name, size_t length)
{
    struct child out = {.id = 41, .kind = CHILD_LOCK, .number = -77, .own = true, .old = true};
    char *copy = malloc(length ? length : 1);
    REQUIRE(copy);
    memcpy(copy, name, length);
    name_parse(copy, length, &out);
    free(copy);
    CHECK_INT(out.id, 41);
    CHECK(out.own && out.old);
    return out;
}

struct lock_row {
    const char *name;
    int32_t number;
};

TEST_CASE(contenders_of_every_library)
{
    static const struct lock_row rows[] = {
        {"_c_" UUID "-lock-0000000007", 7}, /* Curator, zkl */
        {"_c_" HEX "-lock-0000000008", 8},  /* go-zk */
        {HEX "__lock__0000000009", 9},      /* kazoo */
        {HEX "-lock-0000000010", 10},       /* kazoo as we ask it to be */
        {"lock-0000000000", 0},             /* no id at all */
        {"__lock__0000000001", 1},
        {"write-lock-0000000002", 2},
        {"xlock-0000000003", 3},
        {"lock-lock-0000000004", 4},
        {"lock-0000000005-lock-0000000006", 6}, /* the last one counts */
        {"_c_" UUID "-lock-1234567890", 1234567890},
        {"_c_" UUID "-lock-2147483646", INT32_MAX - 1},
        {"_c_" UUID "-lock-2147483647", INT32_MAX},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child c = parse(rows[i].name, strlen(rows[i].name));
        enum child_kind due = strstr(rows[i].name, "__lock__") ? CHILD_KAZOO : CHILD_LOCK;
        if (!CHECK_INT(c.kind, due) || !CHECK_INT(c.number, rows[i].number))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
    }
}

/* Java writes the wrapped counter with %010d: the sign takes one of the ten places. */
TEST_CASE(negative_numbers)
{
    static const struct lock_row rows[] = {
        {"_c_" UUID "-lock--2147483648", INT32_MIN},
        {"_c_" UUID "-lock--2147483647", INT32_MIN + 1},
        {HEX "__lock__-2147483648", INT32_MIN},
        {"lock--1000000000", -1000000000},
        {"lock--999999999", -999999999},
        {"lock--000000001", -1},
        {HEX "__lock__-000000042", -42},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child c = parse(rows[i].name, strlen(rows[i].name));
        enum child_kind due = strstr(rows[i].name, "__lock__") ? CHILD_KAZOO : CHILD_LOCK;
        if (!CHECK_INT(c.kind, due) || !CHECK_INT(c.number, rows[i].number))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
    }
}

static void expect_foreign(const char *name, size_t length)
{
    struct child c = parse(name, length);
    if (!CHECK_INT(c.kind, CHILD_FOREIGN) || !CHECK_INT(c.number, 0))
        runner_fail(__FILE__, __LINE__, "for \"%.*s\"", (int)length, name);
}

TEST_CASE(foreign_names)
{
    static const char *const rows[] = {
        "",
        "x",
        "0",
        "-",
        "lock",
        "lock-",
        "lock-abc",
        "0000000001",
        "-0000000001",
        "-000000001",
        "__lock__",
        "lock_0000000001",
        "LOCK-0000000001",
        "_lock__0000000001",
        "lock--",
        "ock-0000000001",
        /* other recipes of the same and of other libraries */
        "n_0000000001",
        "latch0000000001",
        "atch-0000000001",
        "__latch__0000000001",
        HEX "__party__",
        "qn-0000000001",
        "queue-0000000001",
        /* not ten digits */
        "lock-000000001",
        "lock-00000000001",
        "lock-10000000001",
        "lock--00000001",
        "lock-1",
        "latch-000000001",
        "latch-00000000001",
        "lock--12147483648",
        "__lock__000000001",
        /* not int32 */
        "lock-2147483648",
        "lock-4294967295",
        "lock-9999999999",
        "lock--2147483649",
        "lock--9999999999",
        /* not digits */
        "lock-+000000001",
        "lock- 000000001",
        "lock-000000000x",
        "lock-0000000001 ",
        "lock-0x00000001",
        "lock-00000-0001",
        "lock-0000000001-",
        "lock-\xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4\xd9\xa5",
        "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6",
        "lock-00000000\xb9\xb2",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect_foreign(rows[i], strlen(rows[i]));
}

/* Candidates of a latch's election are told apart from locks. */
TEST_CASE(latches)
{
    static const struct lock_row rows[] = {
        {"_c_" UUID "-latch-0000000007", 7}, /* Curator, zkl */
        {"_c_" UUID "-p007-latch-0000000008", 8}, {"latch-0000000000", 0},
        {"lock-0000000001-latch-0000000002", 2}, /* the last word counts */
        {"latch--2147483648", INT32_MIN},         {"latch-2147483647", INT32_MAX},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child c = parse(rows[i].name, strlen(rows[i].name));
        if (!CHECK_INT(c.kind, CHILD_LATCH) || !CHECK_INT(c.number, rows[i].number))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
    }
    CHECK_INT(parse("latch-0000000001-lock-0000000002", 32).kind, CHILD_LOCK);
}

TEST_CASE(priorities)
{
    static const struct {
        const char *name;
        int priority;
    } rows[] = {
        {"_c_" UUID "-p007-latch-0000000007", 7},
        {"_c_" UUID "-p999-lock-0000000007", 999},
        {"_c_" UUID "-p000-lock-0000000007", 0},
        {"-p120-latch--2147483648", 120},
        {HEX "-p012-__lock__0000000009", 12},
        {"_c_" UUID "-latch-0000000007", 0},
        {"_c_" UUID "-p07-latch-0000000007", 0},
        {"_c_" UUID "-p0077-latch-0000000007", 0},
        {"_c_" UUID "-p-07-latch-0000000007", 0},
        {"_c_" UUID "-p0x7-latch-0000000007", 0},
        {"_c_" UUID "-q007-latch-0000000007", 0},
        {"_c_" UUID "-p007latch-0000000007", 0},
        {"_c_" UUID "-p007xlatch-0000000007", 0},
        {"p007-latch-0000000007", 0},         /* no dash before */
        {"_c_" UUID "-p007-0000000007", 0},   /* no contender */
        {"_c_" UUID "-p007-latch-000007", 0}, /* nor this */
        {"latch-0000000007", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t length = strlen(rows[i].name);
        char *copy = malloc(length ? length : 1);
        REQUIRE(copy);
        memcpy(copy, rows[i].name, length);
        if (!CHECK_INT(name_priority(copy, length), rows[i].priority))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
        free(copy);
    }
}

/* The length rules: what follows it is not looked at, a NUL within it is a byte like any other. */
TEST_CASE(length_and_nul)
{
    struct child c = parse("lock-00000000012", 15);
    CHECK_INT(c.kind, CHILD_LOCK);
    CHECK_INT(c.number, 1);
    expect_foreign("lock-0000000001\0", 16);
    expect_foreign("lock-00000\000001", 15);
    expect_foreign("lock\0000000000001", 15);
    expect_foreign("lock-0000000001", 14);
    expect_foreign("\0\0\0", 3);
    for (size_t n = 0; n < 15; n++)
        expect_foreign("lock-0000000001", n);
}

TEST_CASE(huge_name)
{
    enum { HUGE_NAME = 1 << 20 };
    char *name = malloc(HUGE_NAME);
    REQUIRE(name);
    memset(name, '1', HUGE_NAME);
    expect_foreign(name, HUGE_NAME);
    memcpy(name + HUGE_NAME - 15, "lock-0000000005", 15);
    struct child c = parse(name, HUGE_NAME);
    CHECK_INT(c.kind, CHILD_LOCK);
    CHECK_INT(c.number, 5);
    memcpy(name, "lock-", 5);
    memset(name + 5, '0', HUGE_NAME - 5);
    expect_foreign(name, HUGE_NAME);
    free(name);
}

/* Whatever Java's %010d makes of a counter is read back as the same number. */
TEST_CASE(every_number_reads_back)
{
    for (int64_t n = INT32_MIN; n <= INT32_MAX; n += 9973) {
        char name[32];
        int length = snprintf(name, sizeof(name), "lock-%010d", (int)n);
        struct child c = {0};
        name_parse(name, (size_t)length, &c);
        if (!CHECK_INT(c.kind, CHILD_LOCK) || !CHECK_INT(c.number, n))
            return;
    }
}

TEST_CASE(has_id_exactly)
{
    static const struct {
        const char *name, *id;
        bool has;
    } rows[] = {
        {"_c_" UUID "-lock-0000000007", UUID, true},
        {"_c_" UUID "-", UUID, true},
        {"_c_" UUID, UUID, false}, /* missing dash */
        {"_c_" UUID "_lock-0000000007", UUID, false},
        {"_c_abcd-lock-0000000007", "abc", false}, /* the start of a longer id */
        {"_c_abc-d-lock-0000000007", "abc-d", true},
        {"_c_abc-lock-0000000007", "abcd", false},
        {"_c_ab", "abc", false},
        {"_c_", "abc", false},
        {"", "abc", false},
        {UUID "-lock-0000000007", UUID, false},
        {"x_c_" UUID "-lock-0000000007", UUID, false},
        {"_C_" UUID "-lock-0000000007", UUID, false},
        {"_c-" UUID "-lock-0000000007", UUID, false},
        {"_c_1B4E28BA-2FA1-11D2-883F-0016D3CCA427-lock-0000000007", UUID, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t length = strlen(rows[i].name);
        char *copy = malloc(length ? length : 1);
        REQUIRE(copy);
        memcpy(copy, rows[i].name, length);
        if (!CHECK_INT(name_has_id(copy, length, rows[i].id, strlen(rows[i].id)), rows[i].has))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
        free(copy);
    }
    CHECK(!name_has_id("_c_abc-lock-", 6, "abc", 3)); /* the dash is beyond the length */
    CHECK(name_has_id("_c_abc-lock-", 7, "abc", 3));
    CHECK(name_has_id("_c_abXYZ-", 6, "abX", 2) == false);
}
