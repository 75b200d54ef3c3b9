/* Names tell whose they are: contenders of every library, and what only looks like theirs. */
#include "name.h"

#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_SUITE(name);

#define UUID "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
#define HEX "1b4e28ba2fa141d2883f0016d3cca427"
#define OUR_UUID "1b4e28ba-2fa1-81d2-883f-0016d3cca427"
#define OUR_HEX "1b4e28ba2fa181d2883f0016d3cca427"

/* Copies that end exactly at their length, so that a sanitizer sees any reading beyond it. */
static char *copy_of(const char *name, size_t length)
{
    char *copy = malloc(length ? length : 1);

    REQUIRE(copy);
    memcpy(copy, name, length);
    return copy;
}

/* What only a list knows stays as it was. */
static struct child parse(const char *name, size_t length)
{
    struct child out = {.id = 41,
                        .number = -77,
                        .permits = 77,
                        .own = true,
                        .old = true,
                        .retains = true,
                        .numbered = true};
    char *copy = copy_of(name, length);

    name_parse(copy, length, &out);
    free(copy);
    CHECK_INT(out.id, 41);
    CHECK(out.own && out.old);
    return out;
}

static struct child parse_text(const char *name)
{
    return parse(name, strlen(name));
}

TEST_CASE(kinds)
{
    static const struct {
        const char *name;
        enum child_kind kind;
        int32_t number;
    } rows[] = {
        {"_c_" UUID "-__READ__0000000007", CHILD_READ, 7}, /* Curator */
        {"_c_" UUID "-__WRIT__0000000008", CHILD_WRITE, 8},
        {"_c_" UUID "-lease-0000000009", CHILD_LEASE, 9},
        {HEX "__rlock__0000000012", CHILD_KAZOO_READ, 12}, /* kazoo */
        {"__READ__-2147483648", CHILD_READ, INT32_MIN},
        {"__WRIT__-000000001", CHILD_WRITE, -1},
        {"lease-2147483647", CHILD_LEASE, INT32_MAX},
        {"ex0000000014", CHILD_RUBY, 14}, /* zk-ruby */
        {"sh0000000015", CHILD_RUBY_SHARED, 15},
        {"ex-2147483648", CHILD_RUBY, INT32_MIN},
        {"sh-000000001", CHILD_RUBY_SHARED, -1},
        {"x-72057594037927936-0000000016", CHILD_APACHE, 16}, /* Apache's WriteLock */
        {"x--72057594037927936-0000000017", CHILD_APACHE, 17},
        {"x-0-0000000018", CHILD_APACHE, 18},
        {"x-1--2147483648", CHILD_APACHE, INT32_MIN},
        {"x-9223372036854775807-0000000018", CHILD_APACHE, 18},
        {"x--9223372036854775808-0000000018", CHILD_APACHE, 18},
        {"x-0000000000000000000000000000007-0000000018", CHILD_APACHE, 18},
        {"x-0100f6a2c3d4e5b7-0000000018", CHILD_APACHE, 18}, /* its C recipe */
        {"x-ffffffffffffffff--000000001", CHILD_APACHE, -1},
        {"x-1000000000000000-0000000018", CHILD_APACHE, 18}, /* of either */
        {"x--1--000000001", CHILD_APACHE, -1},
        {"x-lock-0000000019", CHILD_LOCK, 19}, /* the word goes before the form */
        {"ex-lock-0000000020", CHILD_LOCK, 20},
        {"_c_" UUID "-lock-0000000007", CHILD_LOCK, 7}, /* Curator, zkl */
        {"_c_" HEX "-lock-0000000008", CHILD_LOCK, 8},  /* go-zk */
        {HEX "__lock__0000000009", CHILD_KAZOO, 9},     /* kazoo */
        {HEX "-lock-0000000010", CHILD_LOCK, 10},       /* kazoo as we ask it to be */
        {"lock-0000000000", CHILD_LOCK, 0},             /* no id at all */
        {"__lock__0000000001", CHILD_KAZOO, 1},
        {"write-lock-0000000002", CHILD_LOCK, 2},
        {"xlock-0000000003", CHILD_LOCK, 3},
        {"lock-lock-0000000004", CHILD_LOCK, 4},
        {"lock-0000000005-lock-0000000006", CHILD_LOCK, 6}, /* the last one counts */
        {"_c_" UUID "-lock-1234567890", CHILD_LOCK, 1234567890},
        {"_c_" UUID "-lock-2147483646", CHILD_LOCK, INT32_MAX - 1},
        {"_c_" UUID "-lock-2147483647", CHILD_LOCK, INT32_MAX},
        /* Java writes the wrapped counter with %010d: the sign takes one of the ten places */
        {"_c_" UUID "-lock--2147483648", CHILD_LOCK, INT32_MIN},
        {"_c_" UUID "-lock--2147483647", CHILD_LOCK, INT32_MIN + 1},
        {HEX "__lock__-2147483648", CHILD_KAZOO, INT32_MIN},
        {"lock--1000000000", CHILD_LOCK, -1000000000},
        {"lock--999999999", CHILD_LOCK, -999999999},
        {"lock--000000001", CHILD_LOCK, -1},
        {HEX "__lock__-000000042", CHILD_KAZOO, -42},
        /* candidates of a latch's election are told apart from locks */
        {"_c_" UUID "-latch-0000000007", CHILD_LATCH, 7}, /* Curator, zkl */
        {"_c_" UUID "-p007-latch-0000000008", CHILD_LATCH, 8},
        {"latch-0000000000", CHILD_LATCH, 0},
        {"lock-0000000001-latch-0000000002", CHILD_LATCH, 2}, /* the last word counts */
        {"latch--2147483648", CHILD_LATCH, INT32_MIN},
        {"latch-2147483647", CHILD_LATCH, INT32_MAX},
        {"latch-0000000001-lock-0000000002", CHILD_LOCK, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child c = parse_text(rows[i].name);
        if (!CHECK_INT(c.kind, rows[i].kind) || !CHECK_INT(c.number, rows[i].number))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
    }
}

/* What zkl alone can have written, with a word or a mark that is not known; and names beside that.
 */
TEST_CASE(of_a_later_version)
{
    static const struct {
        const char *name;
        enum child_kind kind;
        int32_t number;
    } rows[] = {
        {"_c_" OUR_UUID "-lamp-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-lamp--2147483648", CHILD_LATER, INT32_MIN},
        {"_c_" OUR_UUID "-lamp", CHILD_LATER, 0},
        {"_c_" OUR_UUID "-", CHILD_LATER, 0},
        {"_c_" OUR_UUID "-lock-00000007", CHILD_LATER, 0},
        {"_c_" OUR_UUID "-q3-lock-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-n3-lock-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-p07-lock-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-p0x7-latch-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-p007-q-lock-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-p007-lease-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-n-lease-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-n3lease-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-m3-lease-0000000007", CHILD_LATER, 7},
        {"_c_" OUR_UUID "-locklock-0000000007", CHILD_LATER, 7},
        {OUR_HEX "__lamp__0000000007", CHILD_LATER, 7},
        {OUR_HEX "__lock__lock-0000000007", CHILD_LATER, 7},
        {OUR_HEX "__", CHILD_LATER, 0},
        {OUR_HEX "__party__0000000007", CHILD_LATER, 7},
        {OUR_HEX "__x__party__", CHILD_LATER, 0},
        {"_c_1b4e28ba-2fa1-8e7b-883f-0016d3cca427-lock-0000000007", CHILD_LATER, 7},
        {"_c_1b4e28ba-2fa1-8e70-883f-0016d3cca427-lamp-0000000007", CHILD_LATER, 7},
        {"1b4e28ba2fa18e7b883f0016d3cca427__lock__0000000007", CHILD_LATER, 7},

        {"_c_" OUR_UUID "-lock-0000000007", CHILD_LOCK, 7},
        {"_c_" OUR_UUID "-p007-lock-0000000007", CHILD_LOCK, 7},
        {"_c_" OUR_UUID "-p007-latch-0000000007", CHILD_LATCH, 7},
        {"_c_" OUR_UUID "-__WRIT__0000000007", CHILD_WRITE, 7},
        {"_c_" OUR_UUID "-lease-0000000007", CHILD_LEASE, 7},
        {"_c_" OUR_UUID "-n3-lease-0000000007", CHILD_LEASE, 7},
        {"_c_" OUR_UUID "-s12-lease-0000000007", CHILD_LEASE, 7},
        {"_c_1b4e28ba-2fa1-8e7a-883f-0016d3cca427-lock-0000000007", CHILD_LOCK, 7},
        {"_c_1b4e28ba-2fa1-8e8b-883f-0016d3cca427-lock-0000000007", CHILD_LOCK, 7},
        {OUR_HEX "__lock__0000000007", CHILD_KAZOO, 7},

        {"_c_" UUID "-lamp-0000000007", CHILD_FOREIGN, 0}, /* others' */
        {"_c_" OUR_HEX "-lamp-0000000007", CHILD_FOREIGN, 0},
        {HEX "__lamp__0000000007", CHILD_FOREIGN, 0},
        {OUR_HEX "-lamp-0000000007", CHILD_FOREIGN, 0},
        {OUR_UUID "-lamp-0000000007", CHILD_FOREIGN, 0},
        {OUR_HEX, CHILD_FOREIGN, 0},
        {OUR_HEX "__party__", CHILD_FOREIGN, 0}, /* our member */
        {OUR_HEX "8__party__", CHILD_FOREIGN, 0},
        {OUR_HEX "_", CHILD_FOREIGN, 0},
        {OUR_HEX "8__lamp__0000000007", CHILD_FOREIGN, 0},
        {"_c_" OUR_UUID, CHILD_FOREIGN, 0},
        {"_c_" OUR_UUID "8-lamp-0000000007", CHILD_FOREIGN, 0},
        {"_c_" UUID "-q3-lock-0000000007", CHILD_LOCK, 7},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child c = parse_text(rows[i].name);
        if (!CHECK_INT(c.kind, rows[i].kind) || !CHECK_INT(c.number, rows[i].number) ||
            !CHECK(c.kind != CHILD_LATER || (!c.retains && c.rule == RULE_LATER)))
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
        /* nearly Apache's, zk-ruby's, Curator's, kazoo's */
        "x-0000000001",
        "x--0000000001",
        "x-5-1",
        "x-5-000000001",
        "x-5-00000000001",
        "x-5-2147483648",
        "x-5--2147483649",
        "x-5x-0000000001",
        "x-0x5-0000000001",
        "x-+5-0000000001",
        "x---0000000001",
        "x---5-0000000001",
        "x-5-5-0000000001",
        "x- 5-0000000001",
        "X-5-0000000001",
        "x-9223372036854775808-0000000001",
        "x--9223372036854775809-0000000001",
        "x-18446744073709551616-0000000001",
        "x-99999999999999999999999-0000000001",
        "x-100f6a2c3d4e5b7-0000000001",
        "x-00100f6a2c3d4e5b7-0000000001",
        "x-0100F6A2C3D4E5B7-0000000001",
        "x-0100f6a2c3d4e5bg-0000000001",
        "x--100f6a2c3d4e5b7-0000000001",
        "x-0x00f6a2c3d4e5b7-0000000001",
        "x-0100f6a2c3d4e5b7-1",
        "x-0100f6a2-c3d4e5b-0000000001",
        "xx-5-0000000001",
        "_x-5-0000000001",
        "x_5-0000000001",
        "x-50000000001",
        "-5-0000000001",
        "ex0000000001x",
        "ex000000001",
        "exx0000000001",
        "ex-0000000001x",
        "xex0000000001", /* whole or not at all */
        "_ex0000000001",
        "vertex0000000001",
        "bash0000000001",
        "/sh0000000001",
        "EX0000000001",
        "e0000000001",
        "sem0000000001", /* zk-ruby's semaphore, its election, Apache's */
        "ballot0000000001",
        "lease0000000001",
        "leas-0000000001",
        "leases-0000000001",
        "LEASE-0000000001",
        "__read__0000000001",
        "_READ__0000000001",
        "__READ_0000000001",
        "__READ__000000001",
        "__WRITE__0000000001",
        "__writ__0000000001",
        "_rlock__0000000001",
        "__rlock_0000000001",
        "__rlock__000000001",
        "__wlock__0000000001",
        "rlock__0000000001",
        HEX "__party__0000000001",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        expect_foreign(rows[i], strlen(rows[i]));
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

/* What Java's %010d makes of a counter is what we write, and is read back as the same number. */
static bool number_comes_back(int64_t n)
{
    char name[32], written[NAME_NUMBER_SIZE];
    const int length = snprintf(name, sizeof(name), "lock-%010d", (int)n);
    struct child c = {0};

    name_parse(name, (size_t)length, &c);
    name_write_number(written, (int32_t)n);
    return CHECK_INT(c.kind, CHILD_LOCK) && CHECK_INT(c.number, n) &&
           CHECK_STR(written, name + strlen("lock-"));
}

TEST_CASE(every_number_reads_back)
{
    static const int64_t edges[] = {-1000000000, -999999999, -1, 0, 9, INT32_MAX};

    for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
        number_comes_back(edges[i]);
    for (int64_t n = INT32_MIN; n <= INT32_MAX; n += 9973)
        if (!number_comes_back(n))
            return;
}

/* How many permits a lease's name asks for. */
TEST_CASE(permits)
{
    static const struct {
        const char *name;
        uint32_t permits;
        bool numbered;
    } rows[] = {
        {"_c_" UUID "-s1-lease-0000000009", 1, true},
        {"_c_" UUID "-s3-lease-0000000009", 3, true},
        {"-s3-lock-0000000009", 0, false},
        {"-s-lease-0000000009", 1, false},
        {"_c_" UUID "-lease-0000000009", 1, false},
        {"_c_" UUID "-n1-lease-0000000009", 1, false},
        {"_c_" UUID "-n3-lease-0000000009", 3, false},
        {"_c_" UUID "-n012-lease-0000000009", 12, false},
        {"_c_" UUID "-n2147483647-lease-0000000009", INT32_MAX, false},
        {"_c_" UUID "-n2147483648-lease-0000000009", INT32_MAX, false},
        {"_c_" UUID "-n99999999999999999999999-lease-0000000009", INT32_MAX, false},
        {"-n3-lease--2147483648", 3, false},
        {"-n0-lease-0000000009", 1, false},
        {"-n-lease-0000000009", 1, false},
        {"n3-lease-0000000009", 1, false},
        {"3-lease-0000000009", 1, false},
        {"-3-lease-0000000009", 1, false},
        {"-n3lease-0000000009", 1, false},
        {"-m3-lease-0000000009", 1, false},
        {"xn3-lease-0000000009", 1, false},
        {"-n3x-lease-0000000009", 1, false},
        {"-n3xlease-0000000009", 1, false},
        {"-lease-0000000009", 1, false},
        {"lease-0000000009", 1, false},
        {"_c_" UUID "-n3-lock-0000000009", 0, false},
        {"-n3-", 0, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct child c = parse_text(rows[i].name);
        if (!CHECK_INT(c.permits, rows[i].permits) || !CHECK_INT(c.numbered, rows[i].numbered))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
    }
}

/* As all the forms of it are ours, another library's random UUID never is one. */
TEST_CASE(those_that_retain)
{
    static const struct {
        const char *name;
        bool retains;
    } rows[] = {
        {"_c_1b4e28ba-2fa1-8e7a-883f-0016d3cca427-lock-0000000001", true},
        {"_c_1b4e28ba-2fa1-8e7a-883f-0016d3cca427-lock--2147483648", true},
        {"1b4e28ba2fa18e7a883f0016d3cca427__lock__0000000001", true},
        {"_c_1b4e28ba-2fa1-8e7b-883f-0016d3cca427-lock-0000000001", false},
        {"_c_1b4e28ba-2fa1-807a-883f-0016d3cca427-lock-0000000001", false},
        {"1b4e28ba2fa18e7b883f0016d3cca427__lock__0000000001", false},
        {"_c_1b4e28ba-2fa1-4e7a-883f-0016d3cca427-lock-0000000001", false}, /* Curator's */
        {"1b4e28ba2fa14e7a883f0016d3cca427__lock__0000000001", false},      /* kazoo's */
        {"_c_1b4e28ba2fa18e7a883f0016d3cca427-lock-0000000001", false},     /* go-zk's */
        {"_c_1b4e28ba-2fa18e7a-883f-0016d3cca427-lock-0000000001", false},
        {"1b4e28ba-2fa1-8e7a-883f-0016d3cca427-lock-0000000001", false},
        {"1b4e28ba2fa18e7a883f0016d3cca42__lock__0000000001", false},
        {"1b4e28ba2fa18e7a883f0016d3cca4277__lock__0000000001", false},
        {"_c_1b4e28ba-2fa1-8E7A-883f-0016d3cca427-lock-0000000001", false},
        {"_c_1b4e28ba-2fa1-8e7a-lock-0000000001", false},
        {"_c_1b4e28ba-2fa1-8e7a-883f-0016d3cca427-loch-0000000001", false}, /* no contender */
        {"lock-0000000001", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!CHECK_INT(parse_text(rows[i].name).retains, rows[i].retains))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
    }
}

TEST_CASE(words)
{
    CHECK_STR(name_word(CHILD_LOCK), "lock-");
    CHECK_STR(name_word(CHILD_LATCH), "latch-");
    CHECK_STR(name_word(CHILD_READ), "__READ__");
    CHECK_STR(name_word(CHILD_WRITE), "__WRIT__");
    CHECK_STR(name_word(CHILD_LEASE), "lease-");
    CHECK_STR(name_word(CHILD_KAZOO), "__lock__");
    CHECK_STR(name_word(CHILD_FOREIGN), "");
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
        char *copy = copy_of(rows[i].name, length);
        if (!CHECK_INT(name_priority(copy, length), rows[i].priority))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
        free(copy);
    }
}

TEST_CASE(makers)
{
    static const struct {
        const char *name;
        enum name_maker maker;
    } rows[] = {
        {"_c_" OUR_UUID "-lock-0000000001", MAKER_ZKL},
        {"_c_" OUR_UUID "-p007-latch-0000000001", MAKER_ZKL},
        {OUR_HEX "__lock__0000000001", MAKER_ZKL},
        {"_c_" UUID "-lock-0000000001", MAKER_CURATOR},
        {"_c_" UUID "-latch-0000000001", MAKER_CURATOR},
        {"_c_" UUID "-__READ__0000000001", MAKER_CURATOR},
        {"_c_" UUID "-lease-0000000001", MAKER_CURATOR},
        {HEX "__lock__0000000001", MAKER_KAZOO},
        {HEX "__rlock__0000000001", MAKER_KAZOO},
        {HEX "-lock-0000000001", MAKER_KAZOO},
        {"_c_" HEX "-lock-0000000001", MAKER_GO},
        {"_c_" OUR_HEX "-lock-0000000001", MAKER_GO}, /* ours have dashes behind _c_ */
        {"x-5-0000000001", MAKER_APACHE},
        {"x--5-0000000001", MAKER_APACHE},
        {"x-0100f6a2c3d4e5b7-0000000001", MAKER_APACHE},
        {"ex0000000001", MAKER_RUBY},
        {"sh0000000001", MAKER_RUBY},
        {"lock-0000000001", MAKER_UNKNOWN},
        {"_c_-lock-0000000001", MAKER_UNKNOWN},
        {OUR_UUID "-lock-0000000001", MAKER_UNKNOWN},
        /* no UUID: too short, too long, large letters, a letter beyond f, a dash moved */
        {"_c_1b4e28ba-2fa1-81d2-883f-0016d3cca42-lock-0000000001", MAKER_UNKNOWN},
        {"_c_" OUR_UUID "0-lock-0000000001", MAKER_UNKNOWN},
        {"_c_1B4E28BA-2FA1-81D2-883F-0016D3CCA427-lock-0000000001", MAKER_UNKNOWN},
        {"_c_1b4e28ba-2fa1-81d2-883f-0016d3cca42g-lock-0000000001", MAKER_UNKNOWN},
        {"_c_1b4e28ba2-fa1-81d2-883f-0016d3cca427-lock-0000000001", MAKER_UNKNOWN},
        {"_c_1b4e28ba-2fa181d2-883f-0016d3cca427-lock-0000000001", MAKER_UNKNOWN},
        {HEX "0__lock__0000000001", MAKER_UNKNOWN},
        {"1b4e28ba2fa141d2883f0016d3cca42__lock__0000000001", MAKER_UNKNOWN},
        /* cut off within what would be looked at */
        {"_c_" OUR_UUID, MAKER_ZKL},
        {"_c_1b4e28ba-2fa1-8", MAKER_UNKNOWN},
        {"_c_1b4e28ba", MAKER_UNKNOWN},
        {"_c_", MAKER_UNKNOWN},
        {"_", MAKER_UNKNOWN},
        {"", MAKER_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const size_t length = strlen(rows[i].name);
        char *copy = copy_of(rows[i].name, length);
        if (!CHECK_INT(name_maker(copy, length), rows[i].maker))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].name);
        free(copy);
    }
}

TEST_CASE(has_id)
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
        /* kazoo's style, and nothing between the two */
        {OUR_HEX "__lock__0000000007", OUR_HEX, true},
        {OUR_HEX "__", OUR_HEX, true},
        {OUR_HEX "_", OUR_HEX, false},
        {OUR_HEX, OUR_HEX, false},
        {OUR_HEX "_-lock-0000000007", OUR_HEX, false},
        {OUR_HEX "-lock-0000000007", OUR_HEX, false},
        {OUR_HEX "0__lock__0000000007", OUR_HEX, false}, /* a longer id */
        {"_c_" OUR_HEX "__lock__0000000007", OUR_HEX, false},
        {"_c_" OUR_HEX "-lock-0000000007", OUR_HEX, true},
        {OUR_UUID "__lock__0000000007", OUR_HEX, false},
        {HEX "__lock__0000000007", OUR_HEX, false},
        {"_c_" OUR_UUID "-lock-0000000007", OUR_UUID, true},
        {"_c_" OUR_UUID "_lock-0000000007", OUR_UUID, false},
        {"_c_" OUR_UUID "__lock__0000000007", OUR_UUID, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t length = strlen(rows[i].name);
        char *copy = copy_of(rows[i].name, length);
        if (!CHECK_INT(name_has_id(copy, length, rows[i].id, strlen(rows[i].id)), rows[i].has))
            runner_fail(__FILE__, __LINE__, "\"%s\" in \"%s\"", rows[i].id, rows[i].name);
        free(copy);
    }
    CHECK(!name_has_id("_c_abc-lock-", 6, "abc", 3)); /* the dash is beyond the length */
    CHECK(name_has_id("_c_abc-lock-", 7, "abc", 3));
    CHECK(name_has_id("_c_abXYZ-", 6, "abX", 2) == false);
}
