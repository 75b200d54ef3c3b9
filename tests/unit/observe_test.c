/* What an observer is told: tokens rise, nothing twice. */
#include "exchange.h"
#include "recipes/machine.h"
#include "recipes/observe.h"

#include "runner.h"
#include "seeded.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

TEST_SUITE(observe);

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

TEST_CASE(the_first_thing_is_told)
{
    FOLLOW({0, false, OBSERVE_NOBODY}, {0, false, OBSERVE_NOTHING});
    FOLLOW({5, false, OBSERVE_LEADER}, {5, false, OBSERVE_NOTHING});
}

TEST_CASE(every_change_is_told_once)
{
    FOLLOW({5, false, OBSERVE_LEADER}, {6, false, OBSERVE_LEADER}, {0, false, OBSERVE_NOBODY},
           {0, false, OBSERVE_NOTHING}, {9, false, OBSERVE_LEADER}, {9, false, OBSERVE_NOTHING});
}

TEST_CASE(news_of_the_same_leader)
{
    FOLLOW({5, true, OBSERVE_LEADER}, {5, true, OBSERVE_LEADER}, {5, false, OBSERVE_NOTHING},
           {0, true, OBSERVE_NOBODY}, {0, true, OBSERVE_NOTHING});
}

/* A lower token is nobody's that counts; and who was gone does not come back. */
TEST_CASE(tokens_only_rise)
{
    FOLLOW({5, false, OBSERVE_LEADER}, {4, true, OBSERVE_NOBODY}, {4, true, OBSERVE_NOTHING},
           {5, true, OBSERVE_NOTHING}, {6, false, OBSERVE_LEADER});
    FOLLOW({UINT64_MAX, false, OBSERVE_LEADER}, {UINT64_MAX, false, OBSERVE_NOTHING},
           {1, false, OBSERVE_NOBODY});
}

/* The servers' data went back. Lower tokens count, and the leader is gone; older lists and data
 * count too. */
TEST_CASE(tokens_begin_anew)
{
    struct observing o = {.node = OBSERVING_LISTING, .data_zxid = 9};

    CHECK_INT(observe_see(&o.told, 9, false), OBSERVE_LEADER);
    CHECK(newest_list(&o.newest, 9) && !newest_list(&o.newest, 8));
    observing_rewind(&o);
    CHECK(newest_list(&o.newest, 8));
    CHECK_INT(o.data_zxid, 0);
    CHECK_INT(observe_see(&o.told, 0, false), OBSERVE_NOBODY);
    CHECK_INT(observe_see(&o.told, 2, false), OBSERVE_LEADER);
    CHECK_INT(observe_see(&o.told, 1, false), OBSERVE_NOBODY);
    observing_rewind(&o);
    CHECK_INT(observe_see(&o.told, 1, false), OBSERVE_LEADER);
    observing_rewind(&o);
    CHECK_INT(observe_see(&o.told, 1, false), OBSERVE_LEADER);
}

/* Whatever is seen: what is told of leaders rises, and nobody is not told twice in a row. */
TEST_CASE(any_sequence)
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

TEST_CASE(proclaimed_data)
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

enum { STEPS_MAX = 16, REQUESTS_MAX = 16 };

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .ev.kind = MACHINE_EV_##name, ##__VA_ARGS__                                                \
    }
#define ANSWER_TO(number, ...) EV(ANSWER, .to = (number), ##__VA_ARGS__)
#define SYNCED(number) ANSWER_TO(number)
#define LISTED(number, ...) ANSWER_TO(number, .m.some = true, ##__VA_ARGS__)
#define NOBODY(number, ...) ANSWER_TO(number, ##__VA_ARGS__)
#define NO_NODE(number) ANSWER_TO(number, .ev.rc = STORE_NONODE)
#define NODE(number, zxid, ...) ANSWER_TO(number, .ev.czxid = (zxid), ##__VA_ARGS__)
#define DATA(number, text, ...)                                                                    \
    ANSWER_TO(number, .ev.data = (text), .ev.length = sizeof(text) - 1, ##__VA_ARGS__)
#define NODE_FIRED(...) EV(FIRED, .ev.node = OBSERVING_FIRST, ##__VA_ARGS__)
#define DATA_FIRED(...) EV(FIRED, .ev.node = OBSERVING_DATA, ##__VA_ARGS__)
#define AT(ms) .m.children.now = (ms), .m.patience = 50

struct row {
    const char *what;
    struct {
        struct {
            struct machine_event ev;
            struct observing_moment m;
            unsigned to; /* the request that is answered: the first is 1 */
        } heard;
        const char *acts;
    } steps[STEPS_MAX];
};

/* What the driver has, of one machine. */
struct play {
    struct observing o;
    struct exchange exchange;
    struct {
        struct exchange_request number;
        enum store_kind verb;
        uint32_t node;
    } asked[REQUESTS_MAX];
    unsigned count;
    GString *text;
};

static void put_request(struct play *p, const struct machine_action *a)
{
    static const char *const verbs[] = {
        [STORE_SYNC] = "sync", [STORE_LIST] = "list", [STORE_STAT] = "stat"};
    static const char *const nodes[] = {[OBSERVING_FIRST] = "first", [OBSERVING_DATA] = "data"};
    const bool reads = a->verb == STORE_GET;

    REQUIRE(p->count < REQUESTS_MAX);
    CHECK(!reads || a->watch);
    p->asked[p->count].number = exchange_ask(&p->exchange, a);
    p->asked[p->count].verb = a->verb;
    p->asked[p->count++].node = a->node;
    g_string_append_printf(p->text, "%s%s %u", reads ? nodes[a->node] : verbs[a->verb],
                           a->watch && !reads ? "+watch" : "", p->count);
}

static void put(struct play *p, const struct machine_action *a)
{
    static const char *const words[] = {
        [MACHINE_ACT_NAME] = "name",     [MACHINE_ACT_FORGET] = "forget", [MACHINE_ACT_ARM] = "arm",
        [MACHINE_ACT_DISARM] = "disarm", [MACHINE_ACT_END] = "end",
    };
    static const char *const drops[] = {"unwatch", "unwatch first", "unwatch data"};
    static const char *const tells[] = {[CHILDREN_TELL_DENIED] = "refused",
                                        [CHILDREN_TELL_OLDER] = "older",
                                        [OBSERVING_TELL_NOBODY] = "tell nobody",
                                        [OBSERVING_TELL_SILENT] = "tell leader",
                                        [OBSERVING_TELL_PROCLAIMED] = "tell leader+data"};

    g_string_append(p->text, p->text->len ? " " : "");
    if (a->kind == MACHINE_ACT_FORGET)
        exchange_forget(&p->exchange, a->slot);
    if (a->kind == MACHINE_ACT_END)
        exchange_end(&p->exchange);
    if (a->kind == MACHINE_ACT_REQUEST)
        put_request(p, a);
    else
        g_string_append(p->text, a->kind == MACHINE_ACT_UNWATCH ? drops[a->node]
                                 : a->kind == MACHINE_ACT_TELL  ? tells[a->verdict]
                                                                : words[a->kind]);
}

static void step(struct play *p, const struct row *row, int k)
{
    static const char *const nodes[] = {"listing", "reading", "seen"};
    static const char *const datas[] = {"unknown", "asked", "known"};
    struct machine_event ev = row->steps[k].heard.ev;
    struct observing_moment moment = row->steps[k].heard.m;
    struct machine_actions actions = {.count = 0};
    const unsigned to = row->steps[k].heard.to;

    if (to && exchange_is_stale(&p->exchange, p->asked[to - 1].number)) {
        g_string_append(p->text, "stale");
        return;
    }
    if (to) {
        ev.verb = p->asked[to - 1].verb;
        ev.node = p->asked[to - 1].node;
    }
    moment.children.up = true;
    observing_step(&p->o, &ev, &moment, &actions);
    for (uint32_t n = 0; n < actions.count; n++)
        put(p, &actions.list[n]);
    g_string_append_printf(p->text, " = %s %s", nodes[p->o.node], datas[p->o.data]);
}

/* Each begins at its first list. */
static void play(const struct row *rows, size_t count)
{
    const struct machine_action list = {.verb = STORE_LIST};

    for (size_t i = 0; i < count; i++) {
        struct play p = {.o.children.state = CHILDREN_LISTING, .count = 1};
        p.asked[0].number = exchange_ask(&p.exchange, &list);
        p.asked[0].verb = STORE_LIST;
        for (int k = 0; k < STEPS_MAX && rows[i].steps[k].acts; k++) {
            p.text = g_string_new(NULL);
            step(&p, &rows[i], k);
            exchange_check(g_string_free(p.text, FALSE), rows[i].steps[k].acts, rows[i].what, k);
        }
    }
}

#define FIRST_READ                                                                                 \
    {                                                                                              \
        LISTED(1), "unwatch name first 2 data 3 = reading asked"                                   \
    }

TEST_CASE(what_is_read)
{
    static const struct row rows[] = {
        {"both are read, in any order, before anything is told",
         {FIRST_READ,
          {NODE(2, 5), " = seen asked"},
          {DATA(3, ""), "tell leader = seen known"},
          {NODE_FIRED(.ev.gone = true), "disarm list 4 = listing known"},
          {DATA_FIRED(), "data 5 = listing asked"},
          {DATA(5, ""), " = listing known"},
          {LISTED(4), "unwatch name first 6 = reading known"},
          {NODE(6, 6), "tell leader = seen known"}}},
        {"answers to an earlier query, or read, are stale",
         {FIRST_READ,
          {DATA_FIRED(), "data 4 = reading asked"},
          {DATA(3, ""), "stale"},
          {DATA(4, ""), " = reading known"},
          {NODE_FIRED(), "first 5 = reading known"},
          {NODE(2, 5), "stale"},
          {NODE(5, 5), "tell leader = seen known"}}},
        {"its node changes: it is still the first",
         {FIRST_READ,
          {NODE(2, 5), " = seen asked"},
          {DATA(3, ""), "tell leader = seen known"},
          {NODE_FIRED(), "first 4 = reading known"},
          {NODE(4, 5, .m.same = true), " = seen known"}}},
        {"it left before it was read",
         {FIRST_READ,
          {NO_NODE(2), "list 4 = listing asked"},
          {LISTED(4), "unwatch name first 5 = reading asked"},
          {NODE(5, 5), " = seen asked"},
          {DATA(3, ""), "tell leader = seen known"}}},
        {"nobody, behind a watch alone",
         {{NOBODY(1), "list+watch 2 = listing unknown"},
          {NOBODY(2), "unwatch first tell nobody = listing unknown"},
          {EV(BEGIN), "disarm sync 3 = listing unknown"},
          {SYNCED(3), "list 4 = listing unknown"},
          {NO_NODE(4), "stat+watch 5 = listing unknown"},
          {NO_NODE(5), "unwatch first = listing unknown"}}},
        {"refused: read anew with the next query",
         {FIRST_READ,
          {ANSWER_TO(2, .ev.rc = STORE_NOAUTH), "forget arm refused = reading asked"},
          {ANSWER_TO(3, .ev.rc = STORE_NOAUTH), "forget arm = reading unknown"},
          {EV(TIMER), "disarm sync 4 = listing unknown"},
          {SYNCED(4), "list 5 = listing unknown"},
          {LISTED(5), "unwatch name first 6 data 7 = reading asked"}}},
        {"what it proclaims is refused: its node's answer is stale",
         {FIRST_READ,
          {ANSWER_TO(3, .ev.rc = STORE_NOAUTH), "forget arm refused = reading unknown"},
          {NODE(2, 5), "stale"}}},
        {"another connection: all of it",
         {FIRST_READ,
          {NODE(2, 5), " = seen asked"},
          {DATA(3, ""), "tell leader = seen known"},
          {EV(BEGIN), "disarm sync 4 = listing unknown"},
          {SYNCED(4), "list 5 = listing unknown"},
          {LISTED(5), "unwatch name first 6 data 7 = reading asked"},
          {NODE(6, 5), " = seen asked"},
          {DATA(7, "", .m.same = true), " = seen known"}}},
        {"its node changes while the query of another connection is under way: both are read",
         {FIRST_READ,
          {NODE(2, 5), " = seen asked"},
          {DATA(3, ""), "tell leader = seen known"},
          {EV(BEGIN), "disarm sync 4 = listing unknown"},
          {NODE_FIRED(), "first 5 data 6 = reading asked"},
          {SYNCED(4), "stale"},
          {NODE(5, 5), " = seen asked"},
          {DATA(6, "", .m.same = true), " = seen known"}}},
        {"its node changes while a query is put off: that asks for what it proclaims",
         {FIRST_READ,
          {ANSWER_TO(3, .ev.rc = STORE_NOAUTH), "forget arm refused = reading unknown"},
          {NODE_FIRED(), "first 4 = reading unknown"},
          {EV(TIMER), "disarm sync 5 = listing unknown"}}},
        {"what was asked for on the connection before counts",
         {FIRST_READ,
          {EV(BEGIN), "disarm sync 4 = listing unknown"},
          {DATA(3, ""), " = listing known"},
          {NODE(2, 5), "stale"},
          {SYNCED(4), "list 5 = listing known"},
          {LISTED(5), "unwatch name first 6 = reading known"},
          {NODE(6, 5), "tell leader = seen known"}}},
        {"it stops: no answer counts",
         {FIRST_READ,
          {EV(STOP), "end = reading asked"},
          {NODE(2, 5), "stale"},
          {DATA(3, ""), "stale"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(whose_data)
{
    static const struct row rows[] = {
        {"what carries its token is told, again when it changes",
         {FIRST_READ,
          {DATA(3, "5\nx"), " = reading known"},
          {NODE(2, 5), "tell leader+data = seen known"},
          {DATA_FIRED(), "data 4 = seen asked"},
          {DATA(4, "5\ny", .m.told_any = true), "tell leader+data = seen known"},
          {DATA_FIRED(), "data 5 = seen asked"},
          {DATA(5, "5\ny", .m.told_any = true, .m.same = true), " = seen known"},
          {DATA_FIRED(), "data 6 = seen asked"},
          {DATA(6, "6\nz", .m.told_any = true), "tell leader = seen known"},
          {NODE_FIRED(), "first 7 = reading known"},
          {NODE(7, 5), " = seen known"}}},
        {"of the first leader of all",
         {FIRST_READ,
          {DATA(3, "1\nx"), " = reading known"},
          {NODE(2, 1), "tell leader+data = seen known"}}},
        {"none, and none that is watched: read with each query",
         {FIRST_READ,
          {NO_NODE(3), " = reading known"},
          {NODE(2, 5), "tell leader = seen known"},
          {NODE_FIRED(.ev.gone = true), "disarm list 4 = listing known"},
          {LISTED(4), "unwatch name first 5 data 6 = reading asked"},
          {DATA(6, ""), " = reading known"},
          {NODE(5, 6), "tell leader = seen known"},
          {NODE_FIRED(.ev.gone = true), "disarm list 7 = listing known"},
          {LISTED(7), "unwatch name first 8 = reading known"}}},
        {"somebody else's data",
         {FIRST_READ,
          {DATA(3, "5\nx"), " = reading known"},
          {DATA_FIRED(), "data 4 = reading asked"},
          {DATA(4, "x"), " = reading known"},
          {NODE(2, 5), "tell leader = seen known"}}},
        {"it went with the directory",
         {FIRST_READ,
          {DATA(3, "5\nx"), " = reading known"},
          {NODE(2, 5), "tell leader+data = seen known"},
          {DATA_FIRED(.ev.gone = true), " = seen unknown"},
          {NODE_FIRED(.ev.gone = true), "disarm list 4 = listing unknown"},
          {NO_NODE(4), "stat+watch 5 = listing unknown"},
          {ANSWER_TO(5, .ev.rc = STORE_NONODE, .m.told_any = true),
           "unwatch first tell nobody = listing unknown"},
          {EV(FIRED), "disarm list 6 = listing unknown"},
          {LISTED(6), "unwatch name first 7 data 8 = reading asked"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

#define TOLD_FIVE                                                                                  \
    {LISTED(1, .ev.pzxid = 9), "unwatch name first 2 data 3 = reading asked"},                     \
        {NODE(2, 5), " = seen asked"},                                                             \
    {                                                                                              \
        DATA(3, "", .ev.mzxid = 4), "tell leader = seen known"                                     \
    }
#define ANEW                                                                                       \
    {EV(BEGIN), "disarm sync 4 = listing unknown"},                                                \
    {                                                                                              \
        SYNCED(4), "list 5 = listing unknown"                                                      \
    }

TEST_CASE(what_is_older)
{
    static const struct row rows[] = {
        {"a list: all of it is read again, until it counts",
         {TOLD_FIVE,
          ANEW,
          {LISTED(5, .ev.pzxid = 8, AT(100)), "forget arm older = listing unknown"},
          {EV(TIMER), "disarm sync 6 = listing unknown"},
          {SYNCED(6), "list 7 = listing unknown"},
          {LISTED(7, .ev.pzxid = 8, AT(149)), "forget arm = listing unknown"},
          {EV(TIMER), "disarm sync 8 = listing unknown"},
          {SYNCED(8), "list 9 = listing unknown"},
          {LISTED(9, .ev.pzxid = 8, AT(150)), "unwatch name first 10 data 11 = reading asked"},
          {NODE(10, 3), " = seen asked"},
          {DATA(11, "", .ev.mzxid = 2), "tell leader = seen known"},
          {NODE_FIRED(.ev.gone = true, AT(150)), "disarm list 12 = listing known"},
          {LISTED(12, .ev.pzxid = 7, AT(150)), "forget arm older = listing known"}}},
        {"a list of nobody",
         {TOLD_FIVE,
          ANEW,
          {NOBODY(5, .ev.pzxid = 8, AT(0)), "forget arm older = listing unknown"},
          {EV(TIMER), "disarm sync 6 = listing unknown"},
          {SYNCED(6), "list 7 = listing unknown"},
          {NOBODY(7, .ev.pzxid = 9, AT(0)), "list+watch 8 = listing unknown"},
          {NOBODY(8, .ev.pzxid = 9, AT(0)), "unwatch first tell nobody = listing unknown"}}},
        {"who was made before the leader told: nobody, until it counts",
         {TOLD_FIVE,
          ANEW,
          {LISTED(5, .ev.pzxid = 9), "unwatch name first 6 data 7 = reading asked"},
          {DATA(7, "", .ev.mzxid = 4), " = reading known"},
          {NODE(6, 4, AT(100)), "forget arm older tell nobody = listing known"},
          {NODE_FIRED(), "first 8 = reading known"},
          {NODE(8, 4, AT(149)), "forget arm = listing known"},
          {NODE_FIRED(), "first 9 = reading known"},
          {NODE(9, 4, AT(150)), "tell leader = seen known"}}},
        {"it is gone meanwhile: the time of the next one begins anew",
         {TOLD_FIVE,
          ANEW,
          {LISTED(5, .ev.pzxid = 9), "unwatch name first 6 data 7 = reading asked"},
          {DATA(7, "", .ev.mzxid = 4), " = reading known"},
          {NODE(6, 4, AT(100)), "forget arm older tell nobody = listing known"},
          {NODE_FIRED(.ev.gone = true), "disarm list 8 = listing known"},
          {NOBODY(8, .ev.pzxid = 10), "list+watch 9 = listing known"},
          {NOBODY(9, .ev.pzxid = 10), "unwatch first = listing known"},
          {EV(FIRED), "disarm list 10 = listing known"},
          {LISTED(10, .ev.pzxid = 11), "unwatch name first 11 = reading known"},
          {NODE(11, 3, AT(150)), "forget arm older = listing known"}}},
        {"another node of its token",
         {TOLD_FIVE,
          ANEW,
          {LISTED(5, .ev.pzxid = 9), "unwatch name first 6 data 7 = reading asked"},
          {DATA(7, "", .ev.mzxid = 4), " = reading known"},
          {NODE(6, 5, .m.other_node = true, AT(0)),
           "forget arm older tell nobody = listing known"}}},
        {"it was gone, and is there again",
         {TOLD_FIVE,
          {NODE_FIRED(.ev.gone = true), "disarm list 4 = listing known"},
          {NOBODY(4, .ev.pzxid = 9), "list+watch 5 = listing known"},
          {NOBODY(5, .ev.pzxid = 9), "unwatch first tell nobody = listing known"},
          {EV(BEGIN), "disarm sync 6 = listing unknown"},
          {SYNCED(6), "list 7 = listing unknown"},
          {LISTED(7, .ev.pzxid = 9), "unwatch name first 8 data 9 = reading asked"},
          {DATA(9, "", .ev.mzxid = 4), " = reading known"},
          {NODE(8, 5, AT(0)), "forget arm older = listing known"}}},
        {"on the connection where it was seen only a number can put it there",
         {TOLD_FIVE,
          {NODE_FIRED(.ev.gone = true), "disarm list 4 = listing known"},
          {LISTED(4, .ev.pzxid = 9), "unwatch name first 5 = reading known"},
          {NODE(5, 4, AT(0)), "tell nobody = seen known"}}},
        {"so it can where it is used up",
         {TOLD_FIVE,
          ANEW,
          {LISTED(5, .ev.pzxid = 9, .m.used_up = true),
           "unwatch name first 6 data 7 = reading asked"},
          {DATA(7, "", .ev.mzxid = 4), " = reading known"},
          {NODE(6, 4, AT(0)), "tell nobody = seen known"}}},
        {"the election's data",
         {TOLD_FIVE,
          ANEW,
          {LISTED(5, .ev.pzxid = 9), "unwatch name first 6 data 7 = reading asked"},
          {NODE(6, 5), " = seen asked"},
          {DATA(7, "5\nx", .ev.mzxid = 3, AT(100)), "forget arm older = listing unknown"},
          {EV(TIMER), "disarm sync 8 = listing unknown"},
          {SYNCED(8), "list 9 = listing unknown"},
          {LISTED(9, .ev.pzxid = 9), "unwatch name first 10 data 11 = reading asked"},
          {NODE(10, 5), " = seen asked"},
          {DATA(11, "5\nx", .ev.mzxid = 3, AT(150)), "tell leader+data = seen known"}}},
        {"no data are no older ones",
         {TOLD_FIVE,
          ANEW,
          {LISTED(5, .ev.pzxid = 9), "unwatch name first 6 data 7 = reading asked"},
          {NO_NODE(7), " = reading known"},
          {DATA_FIRED(), "data 8 = reading asked"},
          {DATA(8, "", .ev.mzxid = 3, AT(0)), "forget arm older = listing unknown"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

/* The diagram. */
TEST_CASE(moves)
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

TEST_CASE(invariant)
{
    static const struct {
        struct observing o;
        bool holds;
    } rows[] = {
        {{.node = OBSERVING_LISTING}, true},
        {{.told = {.told = true, .leads = true}}, true},
        {{.told = {.leads = true}}, false},
        {{.data = OBSERVING_KNOWN, .data_missing = true}, true},
        {{.data = OBSERVING_ASKED, .data_missing = true}, false},
        {{.told = {.told = true}, .met = true}, true},
        {{.met = true}, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!CHECK_INT(observing_invariant(&rows[i].o), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}
