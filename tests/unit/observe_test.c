/* What an observer is told: tokens rise, nothing twice. */
#include "exchange.h"
#include "observe.h"

#include "seeded.h"
#include "suites.h"

#include <glib.h>
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
    struct observing o = {.node = OBSERVING_LISTING};

    CHECK_INT(observe_see(&o.told, 9, false), OBSERVE_LEADER);
    observing_rewind(&o);
    CHECK_INT(observe_see(&o.told, 0, false), OBSERVE_NOBODY);
    CHECK_INT(observe_see(&o.told, 2, false), OBSERVE_LEADER);
    CHECK_INT(observe_see(&o.told, 1, false), OBSERVE_NOBODY);
    observing_rewind(&o);
    CHECK_INT(observe_see(&o.told, 1, false), OBSERVE_LEADER);
    observing_rewind(&o);
    CHECK_INT(observe_see(&o.told, 1, false), OBSERVE_LEADER);
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
    CHECK(!observe_data("75\n", 1, &(uint64_t){0}, &(size_t){0}));
}

/* ---- what is read, in exchanges ---- */

enum { STEPS_MAX = 12 };

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = OBSERVING_EV_##name, ##__VA_ARGS__                                                 \
    }
#define LISTED(...) EV(LISTED, .some = true, .data_watched = true, ##__VA_ARGS__)
#define NODE(number, zxid, ...)                                                                    \
    EV(NODE, .query = 7, .tag = (number), .token = (zxid), ##__VA_ARGS__)
#define DATA(number, czxid, ...) EV(DATA, .tag = (number), .token = (czxid), ##__VA_ARGS__)

struct exchange {
    const char *what;
    struct {
        struct observing_event ev;
        const char *acts;
    } steps[STEPS_MAX];
};

static void put(GString *text, const struct observing_action *a)
{
    static const char *const words[] = {
        [OBSERVING_ACT_READ_NODE] = "read",      [OBSERVING_ACT_READ_DATA] = "data",
        [OBSERVING_ACT_TAKE_FIRST] = "first",    [OBSERVING_ACT_TAKE_NODE] = "node",
        [OBSERVING_ACT_TAKE_DATA] = "take",      [OBSERVING_ACT_AGAIN] = "again",
        [OBSERVING_ACT_REREAD] = "reread",       [OBSERVING_ACT_FIRED] = "fired",
        [OBSERVING_ACT_REFUSED] = "refused",     [OBSERVING_ACT_FOUND] = "found",
        [OBSERVING_ACT_TELL] = "tell",           [OBSERVING_ACT_DROP_NODE] = "drop",
        [OBSERVING_ACT_DROP_DATA] = "drop-data", [OBSERVING_ACT_OLDER] = "older",
    };
    static const char *const tells[] = {"", " leader", " nobody"};

    g_string_append_printf(text, "%s%s%s%s%s", text->len ? " " : "", words[a->kind],
                           a->watch ? "+watch" : "", tells[a->tell], a->data ? "+data" : "");
    if (a->tag)
        g_string_append_printf(text, " %u", a->tag);
}

static void play(const struct exchange *rows, size_t count)
{
    static const char *const nodes[] = {"listing", "reading", "seen"};
    static const char *const datas[] = {"unknown", "asked", "known"};

    for (size_t i = 0; i < count; i++) {
        struct observing o = {.node = OBSERVING_LISTING};
        for (int k = 0; k < STEPS_MAX && rows[i].steps[k].acts; k++) {
            struct observing_actions actions;
            GString *text = g_string_new(NULL);
            observing_step(&o, &rows[i].steps[k].ev, &actions);
            for (uint32_t n = 0; n < actions.count; n++)
                put(text, &actions.list[n]);
            g_string_append_printf(text, " = %s %s", nodes[o.node], datas[o.data]);
            exchange_check(g_string_free(text, FALSE), rows[i].steps[k].acts, rows[i].what, k);
        }
    }
}

static void what_is_read(void)
{
    static const struct exchange rows[] = {
        {"both are read, in any order, before anything is told",
         {{EV(BEGIN), " = listing unknown"},
          {LISTED(), "first read data 1 = reading asked"},
          {NODE(7, 5), "node = seen asked"},
          {DATA(1, 0), "take found tell leader = seen known"},
          {EV(NODE_FIRED, .gone = true), "fired = seen known"},
          {EV(BEGIN), " = listing known"},
          {EV(DATA_FIRED), "data 2 = listing asked"},
          {DATA(2, 0), "take = listing known"},
          {LISTED(), "first read = reading known"},
          {NODE(7, 6), "node found tell leader = seen known"}}},
        {"answers to an earlier query, or read, are stale",
         {{LISTED(), "first read data 1 = reading asked"},
          {NODE(6, 5), " = reading asked"},
          {DATA(0, 0), " = reading asked"},
          {DATA(2, 0), " = reading asked"},
          {DATA(1, 0), "take = reading known"},
          {NODE(8, 5), " = reading known"},
          {NODE(7, 5), "node found tell leader = seen known"}}},
        {"its node changes: it is still the first",
         {{LISTED(), "first read data 1 = reading asked"},
          {NODE(7, 5), "node = seen asked"},
          {DATA(1, 0), "take found tell leader = seen known"},
          {EV(NODE_FIRED), "reread read = reading known"},
          {NODE(7, 5, .same = true), "node found = seen known"}}},
        {"it left before it was read",
         {{LISTED(), "first read data 1 = reading asked"},
          {NODE(7, 0, .answer = OBSERVING_NO_NODE), "again = listing asked"},
          {LISTED(), "first read = reading asked"},
          {NODE(7, 5), "node = seen asked"},
          {DATA(1, 0), "take found tell leader = seen known"}}},
        {"nobody, behind a watch alone",
         {{EV(LISTED), "again+watch = listing unknown"},
          {EV(LISTED, .watched = true), "drop found tell nobody = listing unknown"},
          {EV(BEGIN), " = listing unknown"},
          {EV(MISSING), "drop found = listing unknown"}}},
        {"refused: read anew with the next query",
         {{LISTED(), "first read data 1 = reading asked"},
          {NODE(7, 0, .answer = OBSERVING_REFUSED), "refused = reading asked"},
          {DATA(1, 0, .answer = OBSERVING_REFUSED), "refused = reading unknown"},
          {EV(BEGIN), " = listing unknown"},
          {LISTED(), "first read data 2 = reading asked"}}},
        {"another connection: all of it",
         {{LISTED(), "first read data 1 = reading asked"},
          {NODE(7, 5), "node = seen asked"},
          {DATA(1, 0), "take found tell leader = seen known"},
          {EV(UP), " = seen unknown"},
          {EV(BEGIN), " = listing unknown"},
          {LISTED(), "first read data 2 = reading asked"},
          {NODE(7, 5), "node = seen asked"},
          {DATA(2, 0, .same = true), "take found = seen known"}}},
        {"it stops: no answer counts",
         {{LISTED(), "first read data 1 = reading asked"},
          {EV(STOP), "drop drop-data = reading asked"},
          {DATA(1, 0), " = reading asked"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

static void whose_data(void)
{
    static const struct exchange rows[] = {
        {"what carries its token is told, again when it changes",
         {{LISTED(), "first read data 1 = reading asked"},
          {DATA(1, 5), "take = reading known"},
          {NODE(7, 5), "node found tell leader+data = seen known"},
          {EV(DATA_FIRED), "data 2 = seen asked"},
          {DATA(2, 5, .told_any = true), "take found tell leader+data = seen known"},
          {EV(DATA_FIRED), "data 3 = seen asked"},
          {DATA(3, 5, .told_any = true, .same = true), "take found = seen known"},
          {EV(DATA_FIRED), "data 4 = seen asked"},
          {DATA(4, 6, .told_any = true), "take found tell leader = seen known"},
          {EV(NODE_FIRED), "reread read = reading known"},
          {NODE(7, 5), "node found = seen known"}}},
        {"of the first leader of all",
         {{LISTED(), "first read data 1 = reading asked"},
          {DATA(1, 1), "take = reading known"},
          {NODE(7, 1), "node found tell leader+data = seen known"}}},
        {"none, and none that is watched: read with each query",
         {{LISTED(), "first read data 1 = reading asked"},
          {DATA(1, 0, .answer = OBSERVING_NO_NODE), "take = reading known"},
          {NODE(7, 5), "node found tell leader = seen known"},
          {EV(BEGIN), " = listing known"},
          {EV(LISTED, .some = true), "first read data 2 = reading asked"}}},
        {"it went with the directory",
         {{LISTED(), "first read data 1 = reading asked"},
          {DATA(1, 5), "take = reading known"},
          {NODE(7, 5), "node found tell leader+data = seen known"},
          {EV(DATA_FIRED, .gone = true), " = seen unknown"},
          {EV(BEGIN), " = listing unknown"},
          {EV(MISSING, .told_any = true), "drop found tell nobody = listing unknown"},
          {EV(BEGIN), " = listing unknown"},
          {LISTED(), "first read data 2 = reading asked"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

#define TOLD_FIVE                                                                                  \
    {LISTED(.zxid = 9), "first read data 1 = reading asked"}, {NODE(7, 5), "node = seen asked"},   \
    {                                                                                              \
        DATA(1, 0, .zxid = 4), "take found tell leader = seen known"                               \
    }
#define ANEW                                                                                       \
    {                                                                                              \
        EV(UP), " = seen unknown"                                                                  \
    }

static void what_is_older(void)
{
    static const struct exchange rows[] = {
        {"a list: all of it is read again, until it counts",
         {TOLD_FIVE,
          ANEW,
          {LISTED(.zxid = 8, .now = 100, .patience = 50), "older = listing unknown"},
          {LISTED(.zxid = 8, .now = 149, .patience = 50), "older = listing unknown"},
          {LISTED(.zxid = 8, .now = 150, .patience = 50), "first read data 2 = reading asked"},
          {NODE(7, 3), "node = seen asked"},
          {DATA(2, 0, .zxid = 2), "take found tell leader = seen known"},
          {LISTED(.zxid = 7, .now = 150, .patience = 50), "older = listing known"}}},
        {"a list of nobody",
         {TOLD_FIVE,
          ANEW,
          {EV(LISTED, .watched = true, .zxid = 8, .patience = 50), "older = listing unknown"},
          {EV(LISTED, .watched = true, .zxid = 9, .patience = 50),
           "drop found tell nobody = listing unknown"}}},
        {"who was made before the leader told: nobody, until it counts",
         {TOLD_FIVE,
          ANEW,
          {LISTED(.zxid = 9), "first read data 2 = reading asked"},
          {DATA(2, 0, .zxid = 4), "take = reading known"},
          {NODE(7, 4, .now = 100, .patience = 50), "node older tell nobody = listing known"},
          {LISTED(.zxid = 9), "first read = reading known"},
          {NODE(7, 4, .now = 149, .patience = 50), "node older = listing known"},
          {LISTED(.zxid = 9), "first read = reading known"},
          {NODE(7, 4, .now = 150, .patience = 50), "node found tell leader = seen known"}}},
        {"it is gone meanwhile: the time of the next one begins anew",
         {TOLD_FIVE,
          ANEW,
          {LISTED(.zxid = 9), "first read data 2 = reading asked"},
          {DATA(2, 0, .zxid = 4), "take = reading known"},
          {NODE(7, 4, .now = 100, .patience = 50), "node older tell nobody = listing known"},
          {EV(LISTED, .watched = true, .zxid = 10), "drop found = listing known"},
          {LISTED(.zxid = 11), "first read = reading known"},
          {NODE(7, 3, .now = 150, .patience = 50), "node older = listing known"}}},
        {"another node of its token",
         {TOLD_FIVE,
          ANEW,
          {LISTED(.zxid = 9), "first read data 2 = reading asked"},
          {DATA(2, 0, .zxid = 4), "take = reading known"},
          {NODE(7, 5, .other_node = true, .patience = 50),
           "node older tell nobody = listing known"}}},
        {"it was gone, and is there again",
         {TOLD_FIVE,
          {EV(MISSING), "drop found tell nobody = seen known"},
          ANEW,
          {LISTED(.zxid = 9), "first read data 2 = reading asked"},
          {DATA(2, 0, .zxid = 4), "take = reading known"},
          {NODE(7, 5, .patience = 50), "node older = listing known"}}},
        {"on the connection where it was seen only a number can put it there",
         {TOLD_FIVE,
          {LISTED(.zxid = 9), "first read = reading known"},
          {NODE(7, 4, .patience = 50), "node found tell nobody = seen known"}}},
        {"so it can where it is used up",
         {TOLD_FIVE,
          ANEW,
          {LISTED(.zxid = 9, .used_up = true), "first read data 2 = reading asked"},
          {DATA(2, 0, .zxid = 4), "take = reading known"},
          {NODE(7, 4, .patience = 50), "node found tell nobody = seen known"}}},
        {"the election's data",
         {TOLD_FIVE,
          ANEW,
          {LISTED(.zxid = 9), "first read data 2 = reading asked"},
          {NODE(7, 5), "node = seen asked"},
          {DATA(2, 5, .zxid = 3, .now = 100, .patience = 50), "older = listing unknown"},
          {LISTED(.zxid = 9), "first read data 3 = reading asked"},
          {NODE(7, 5), "node = seen asked"},
          {DATA(3, 5, .zxid = 3, .now = 150, .patience = 50),
           "take found tell leader+data = seen known"}}},
        {"no data are no older ones",
         {TOLD_FIVE,
          ANEW,
          {LISTED(.zxid = 9), "first read data 2 = reading asked"},
          {DATA(2, 0, .answer = OBSERVING_NO_NODE), "take = reading known"},
          {EV(DATA_FIRED), "data 3 = reading asked"},
          {DATA(3, 0, .zxid = 3, .patience = 50), "older = listing unknown"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

/* The diagram. */
static void moves(void)
{
    static const bool nodes[OBSERVING_NODES][OBSERVING_NODES] = {
        [OBSERVING_LISTING] = {true, true, false},
        [OBSERVING_READING] = {true, true, true},
        [OBSERVING_SEEN] = {true, true, false},
    };
    static const bool datas[OBSERVING_DATAS][OBSERVING_DATAS] = {
        [OBSERVING_UNKNOWN] = {true, true, true},
        [OBSERVING_ASKED] = {true, true, true},
        [OBSERVING_KNOWN] = {true, true, false},
    };

    for (int from = 0; from < OBSERVING_NODES; from++) {
        for (int to = 0; to < OBSERVING_NODES; to++) {
            CHECK_INT(observing_may_move((enum observing_node)from, (enum observing_node)to),
                      nodes[from][to]);
            CHECK_INT(observing_may_learn((enum observing_data)from, (enum observing_data)to),
                      datas[from][to]);
        }
    }
}

static void invariant(void)
{
    static const struct {
        struct observing o;
        bool holds;
    } rows[] = {
        {{.node = OBSERVING_LISTING}, true},
        {{.told = {.told = true, .leads = true}}, true},
        {{.told = {.leads = true}}, false},
        {{.data = OBSERVING_ASKED, .data_tag = 1}, true},
        {{.data = OBSERVING_ASKED}, false},
        {{.told = {.told = true}, .met = true}, true},
        {{.met = true}, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!CHECK_INT(observing_invariant(&rows[i].o), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

static const struct test_case cases[] = {
    {"the_first_thing_is_told", the_first_thing_is_told},
    {"every_change_is_told_once", every_change_is_told_once},
    {"news_of_the_same_leader", news_of_the_same_leader},
    {"tokens_only_rise", tokens_only_rise},
    {"tokens_begin_anew", tokens_begin_anew},
    {"any_sequence", any_sequence},
    {"proclaimed_data", proclaimed_data},
    {"what_is_read", what_is_read},
    {"whose_data", whose_data},
    {"what_is_older", what_is_older},
    {"moves", moves},
    {"invariant", invariant},
    {NULL, NULL},
};

const struct test_suite observe_suite = {.name = "observe", .cases = cases};
