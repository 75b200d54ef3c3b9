/* What an observer is told: tokens rise, nothing twice. */
#include "observe.h"

#include "seeded.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

enum { SEE_MAX = 12 };

struct step {
    uint64_t token;
    bool news;
    enum observe_tell tell;
};

static void follow(const struct step *steps, size_t count, int line)
{
    struct observe o = {0};
    for (size_t i = 0; i < count; i++) {
        if (!CHECK_INT(observe_see(&o, steps[i].token, steps[i].news), steps[i].tell))
            runner_fail(__FILE__, line, "at step %zu", i);
    }
}
#define FOLLOW(...)                                                                                \
    do {                                                                                           \
        const struct step steps[] = {__VA_ARGS__};                                                 \
        follow(steps, sizeof(steps) / sizeof(*steps), __LINE__);                                   \
    } while (0)

static void the_first_thing_is_told(void)
{
    FOLLOW({0, false, OBSERVE_NOBODY}, {0, false, OBSERVE_NOTHING});
    FOLLOW({5, false, OBSERVE_LEADER}, {5, false, OBSERVE_NOTHING});
}

static void every_change_is_told_once(void)
{
    FOLLOW({5, false, OBSERVE_LEADER}, {6, false, OBSERVE_LEADER}, {0, false, OBSERVE_NOBODY},
           {0, false, OBSERVE_NOTHING}, {9, false, OBSERVE_LEADER}, {9, false, OBSERVE_NOTHING});
}

static void news_of_the_same_leader(void)
{
    FOLLOW({5, true, OBSERVE_LEADER}, {5, true, OBSERVE_LEADER}, {5, false, OBSERVE_NOTHING},
           {0, true, OBSERVE_NOBODY}, {0, true, OBSERVE_NOTHING});
}

/* A lower token is nobody's that counts; and who was gone does not come back. */
static void tokens_only_rise(void)
{
    FOLLOW({5, false, OBSERVE_LEADER}, {4, true, OBSERVE_NOBODY}, {4, true, OBSERVE_NOTHING},
           {5, true, OBSERVE_NOTHING}, {6, false, OBSERVE_LEADER});
    FOLLOW({UINT64_MAX, false, OBSERVE_LEADER}, {UINT64_MAX, false, OBSERVE_NOTHING},
           {1, false, OBSERVE_NOBODY});
}

/* When the servers' data went back: lower tokens count, and who led is gone. */
static void tokens_begin_anew(void)
{
    struct observe o = {0};

    CHECK_INT(observe_see(&o, 9, false), OBSERVE_LEADER);
    observe_rewind(&o);
    CHECK_INT(observe_see(&o, 0, false), OBSERVE_NOBODY);
    CHECK_INT(observe_see(&o, 2, false), OBSERVE_LEADER);
    CHECK_INT(observe_see(&o, 1, false), OBSERVE_NOBODY);
    observe_rewind(&o);
    CHECK_INT(observe_see(&o, 1, false), OBSERVE_LEADER);
    observe_rewind(&o);
    CHECK_INT(observe_see(&o, 1, false), OBSERVE_LEADER);
}

/* Whatever is seen: what is told of leaders rises, and nobody is not told twice in a row. */
static void any_sequence(void)
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        uint64_t r = seed, told = 0;
        struct observe o = {0};
        bool nobody = false;
        for (int i = 0; i < SEE_MAX; i++) {
            uint64_t token = seeded_below(&r, 6);
            bool news = seeded_below(&r, 2);
            enum observe_tell tell = observe_see(&o, token, news);
            if (i == 0)
                CHECK(tell != OBSERVE_NOTHING);
            if (tell == OBSERVE_LEADER)
                CHECK(token > told || (token == told && news && !nobody));
            if (tell == OBSERVE_NOBODY)
                CHECK(!nobody && token <= told);
            if (tell == OBSERVE_NOTHING)
                CHECK(nobody ? token <= told : token == told && !news);
            told = tell == OBSERVE_LEADER ? token : told;
            nobody = tell == OBSERVE_NOTHING ? nobody : tell == OBSERVE_NOBODY;
        }
    }
}

static void expect_data(const char *text, size_t length, bool good, uint64_t token, size_t at)
{
    uint64_t got = 0;
    size_t got_at = 0;
    char *copy = malloc(length ? length : 1); /* ends exactly there, for the sanitizers */
    REQUIRE(copy);
    memcpy(copy, text, length);
    bool ok = CHECK_INT(observe_data(copy, length, &got, &got_at), good);
    if (good)
        ok &= CHECK(got == token) && CHECK_INT(got_at, at);
    if (!ok)
        runner_fail(__FILE__, __LINE__, "for \"%.*s\"", (int)length, text);
    free(copy);
}

static void proclaimed_data(void)
{
    expect_data("7\nx", 3, true, 7, 2);
    expect_data("7\n", 2, true, 7, 2);
    expect_data("7\n\n\0z", 5, true, 7, 2);
    expect_data("18446744073709551615\n", 21, true, UINT64_MAX, 21);
    expect_data("18446744073709551616\n", 21, false, 0, 0);
    expect_data("99999999999999999999999\n", 24, false, 0, 0);
    expect_data("", 0, false, 0, 0);
    expect_data("\n", 1, false, 0, 0);
    expect_data("7", 1, false, 0, 0);
    expect_data("7x\n", 3, false, 0, 0);
    expect_data("-7\n", 3, false, 0, 0);
    expect_data(" 7\n", 3, false, 0, 0);
    expect_data("{\"a\":\n7}", 8, false, 0, 0);
}

static const struct test_case cases[] = {
    {"the_first_thing_is_told", the_first_thing_is_told},
    {"every_change_is_told_once", every_change_is_told_once},
    {"news_of_the_same_leader", news_of_the_same_leader},
    {"tokens_only_rise", tokens_only_rise},
    {"tokens_begin_anew", tokens_begin_anew},
    {"any_sequence", any_sequence},
    {"proclaimed_data", proclaimed_data},
    {NULL, NULL},
};

const struct test_suite observe_suite = {.name = "observe", .cases = cases};
