/* The holders, by a snapshot of names and a limit. */
#include "holders.h"
#include "name.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(holders);

#define THEIRS(name) "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-" name
#define OURS(name) "_c_1b4e28ba-2fa1-81d2-883f-0016d3cca427-" name
#define KAZOO(name) "1b4e28ba2fa141d2883f0016d3cca427__" name

enum { MOST = 5 };

static size_t see(const char *const *names, const char *before, struct in_line *line)
{
    size_t count = 0;

    for (; names[count]; count++) {
        const size_t length = strlen(names[count]);
        line[count] =
            (struct in_line){.ours = name_maker(names[count], length) == MAKER_ZKL,
                             .holding = before && before[count] == 'b' ? HOLDS_BEYOND : HOLDS_NOT};
        name_parse(names[count], length, &line[count].child);
    }
    return count;
}

/* h: holds; w: waits; b: holds beyond the limit. */
TEST_CASE(marks)
{
    static const struct {
        const char *names[MOST + 1];
        int32_t limit;
        const char *before, *due;
    } rows[] = {
        {{THEIRS("lock-0000000001"), THEIRS("lock-0000000002"), OURS("lock-0000000003")},
         .due = "hww"},
        {{"x-5-0000000001", THEIRS("lock-0000000002"), OURS("lock-0000000003")}, .due = "hhw"},
        {{THEIRS("__READ__0000000001"), OURS("latch-0000000002")}, .due = "hw"},
        {{THEIRS("__READ__0000000001"), THEIRS("__READ__0000000002"), THEIRS("__WRIT__0000000003"),
          THEIRS("__READ__0000000004")},
         .due = "hhww"},
        /* Nodes of one number are one owner's, in either order, but for a lock's. */
        {{THEIRS("__READ__0000000001"), THEIRS("__WRIT__0000000001")}, .due = "hh"},
        {{THEIRS("__WRIT__0000000001"), THEIRS("__READ__0000000001")}, .due = "hh"},
        {{THEIRS("__WRIT__0000000001"), THEIRS("__READ__0000000002")}, .due = "hw"},
        {{THEIRS("__WRIT__0000000001"), THEIRS("__WRIT__0000000001")}, .due = "hw"},
        {{KAZOO("rlock__0000000001"), OURS("__WRIT__0000000001")}, .due = "hh"},
        {{OURS("__WRIT__0000000001"), KAZOO("rlock__0000000001")}, .due = "hh"},
        {{KAZOO("rlock__0000000001"), KAZOO("lock__0000000001")}, .due = "hw"},
        {{KAZOO("lock__0000000001"), KAZOO("rlock__0000000001")}, .due = "hw"},
        /* What comes after them waits for both. */
        {{THEIRS("__READ__0000000001"), THEIRS("__WRIT__0000000002"), THEIRS("__READ__0000000002")},
         .due = "hww"},
        /* Without a limit all permits are held; with one, those within it. */
        {{OURS("lease-0000000001"), OURS("lease-0000000002")}, .due = "hh"},
        {{OURS("n2-lease-0000000001"), OURS("n2-lease-0000000002"), OURS("lease-0000000003")},
         .limit = 3,
         .due = "hww"},
        {{OURS("n2-lease-0000000001"), OURS("lease-0000000002"), OURS("lease-0000000003")},
         .limit = 3,
         .due = "hhw"},
        {{OURS("n2147483647-lease-0000000001"), OURS("n2147483647-lease-0000000002"),
          OURS("n2147483647-lease-0000000003")},
         .limit = INT32_MAX,
         .due = "hww"},
        {{OURS("lease-0000000001"), THEIRS("latch-0000000002"), OURS("lease-0000000003")},
         .limit = 1,
         .due = "hhw"},
        /* A contender beyond the limit takes of it, and stays what it is. */
        {{OURS("lease-0000000001"), OURS("lease-0000000002"), OURS("lease-0000000003")},
         .limit = 1,
         .before = ".b.",
         .due = "hbw"},
        {{OURS("lease-0000000001"), OURS("lease-0000000002")},
         .limit = 2,
         .before = "b.",
         .due = "bh"},
    };
    static const char marks[] = {[HOLDS_NOT] = 'w', [HOLDS] = 'h', [HOLDS_BEYOND] = 'b'};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct in_line line[MOST];
        char found[MOST + 1] = "";
        const size_t count = see(rows[i].names, rows[i].before, line);
        for (int times = 0; times < 2; times++) {
            holders_mark(line, count, rows[i].limit);
            for (size_t n = 0; n < count; n++)
                found[n] = marks[line[n].holding];
            if (!CHECK_STR(found, rows[i].due))
                runner_fail(__FILE__, __LINE__, "%s", rows[i].names[0]);
        }
    }
}

TEST_CASE(beyond)
{
    static const struct {
        const char *name;
        enum holding holding;
        bool older, has_numbers, due;
    } rows[] = {
        {OURS("lease-0000000001"), HOLDS_NOT, true, false, true},
        {OURS("lease-0000000001"), HOLDS_NOT, false, false, false},
        {OURS("lease-0000000001"), HOLDS, true, false, false},
        {OURS("s1-lease-0000000001"), HOLDS_NOT, true, false, false},
        {OURS("s1-lease-0000000001"), HOLDS_NOT, true, true, true},
        {OURS("lock-0000000001"), HOLDS_NOT, true, true, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct in_line c = {.holding = rows[i].holding};
        name_parse(rows[i].name, strlen(rows[i].name), &c.child);
        if (!CHECK_INT(holders_may_be_beyond(&c, rows[i].older, rows[i].has_numbers), rows[i].due))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}
