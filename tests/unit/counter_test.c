/* The machine of an operation on a counter, in exchanges: what it hears, and then what it asks
 * for. */
#include "exchange.h"
#include "recipes/counter.h"
#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(counter);

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = MACHINE_EV_##name, ##__VA_ARGS__                                                   \
    }
#define RC(name, ...)                                                                              \
    {                                                                                              \
        .kind = MACHINE_EV_ANSWER, .rc = STORE_##name, ##__VA_ARGS__                               \
    }
/* What a node of czxid 5 holds, in 4 bytes. */
#define HOLDS(bytes, at) RC(OK, .data = (bytes), .length = 4, .version = (at), .czxid = 5)
/* In another node, which was made since. */
#define HOLDS_OTHER(bytes, at) RC(OK, .data = (bytes), .length = 4, .version = (at), .czxid = 6)
#define IS_SET RC(OK, .czxid = 5)
#define SEVEN "\0\0\0\7"
#define NINE "\0\0\0\11"
#define LAST "\177\377\377\377"

#define GET .width = 4
#define SET_NINE 4, COUNTER_SET, .operand = 9
#define ADD_TWO 4, COUNTER_ADD, .operand = 2
#define SWAP 4, COUNTER_SWAP, .operand = 9, .expected = 7

enum { STEPS_MAX = 10 };

struct exchange_row {
    const char *what;
    struct counter machine;
    struct {
        struct machine_event heard;
        const char *acts;
    } steps[STEPS_MAX];
};

static char *describe_verdict(const struct counter *c, int verdict)
{
    static const char *const verdicts[] = {"done", "mismatch", "overflow", "odd",
                                           "busy", "refused",  "late",     "unknown"};

    return verdict == COUNTER_DONE ? g_strdup_printf("done %" G_GINT64_FORMAT, c->next)
                                   : g_strdup(verdicts[verdict]);
}

/* What it asks last, or how it ends. */
static char *describe(const struct counter *c, const struct machine_actions *out)
{
    const struct machine_action *a = &out->list[out->count - 1];
    const bool first = c->goal == COUNTER_GET;

    if (out->count == 0)
        return g_strdup("");
    if (a->kind == MACHINE_ACT_TELL) {
        CHECK_INT(out->list[0].kind, MACHINE_ACT_END);
        return describe_verdict(c, a->verdict);
    }
    CHECK_INT(a->kind, MACHINE_ACT_REQUEST);
    CHECK(a->once == (a->verb == STORE_SET && a->node == COUNTER_NODE));
    CHECK(a->node == COUNTER_NODE || a->version == INT32_MAX);
    CHECK(a->joins == (a->verb == STORE_GET && first));
    if (a->verb == STORE_GET)
        return g_strdup(!first || out->list[0].verb == STORE_SYNC ? "read" : "no sync");
    if (a->verb == STORE_CREATE)
        return g_strdup(counter_written(c) == 0 ? "make" : "make another number");
    if (a->node == COUNTER_NODE_NONE)
        return g_strdup("pass");
    return g_strdup_printf("set %" G_GINT64_FORMAT " for %d", counter_written(c), a->version);
}

static char *step(struct counter *c, struct machine_event ev)
{
    struct machine_actions out = {.count = 0};

    counter_step(c, &ev, &out);
    return describe(c, &out);
}

static void play(const struct exchange_row *x)
{
    struct counter c = x->machine;

    for (int k = 0; k < STEPS_MAX && x->steps[k].acts; k++)
        exchange_check(step(&c, x->steps[k].heard), x->steps[k].acts, x->what, k);
}

static void play_all(const struct exchange_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}

/* A number is read, and nine is to be written. */
#define SETS                                                                                       \
    {EV(BEGIN), "read"},                                                                           \
    {                                                                                              \
        HOLDS(SEVEN, 3), "set 9 for 3"                                                             \
    }

TEST_CASE(goals)
{
    static const struct exchange_row rows[] = {
        {"get", {GET}, {{EV(BEGIN), "read"}, {HOLDS(SEVEN, 3), "done 7"}, {EV(STOP), ""}}},
        {"get of none", {GET}, {{EV(BEGIN), "read"}, {RC(NONODE), "done 0"}}},
        {"get of no data", {GET}, {{EV(BEGIN), "read"}, {RC(OK), "done 0"}}},
        {"set", {SET_NINE}, {SETS, {IS_SET, "done 9"}}},
        {"set to what it is",
         {SET_NINE},
         {{EV(BEGIN), "read"}, {HOLDS(NINE, 3), "set 9 for 3"}, {IS_SET, "done 9"}}},
        {"add", {ADD_TWO}, {SETS, {IS_SET, "done 9"}}},
        {"add to none",
         {ADD_TWO},
         {{EV(BEGIN), "read"},
          {RC(NONODE), "make"},
          {RC(OK), "read"},
          {HOLDS("\0\0\0\0", 0), "set 2 for 0"},
          {IS_SET, "done 2"}}},
        {"swap",
         {SWAP},
         {{EV(BEGIN), "read"}, {HOLDS(SEVEN, 0), "set 9 for 0"}, {IS_SET, "done 9"}}},
        {"swap of another", {SWAP}, {{EV(BEGIN), "read"}, {HOLDS(NINE, 0), "mismatch"}}},
        {"swap of none", {SWAP}, {{EV(BEGIN), "read"}, {RC(NONODE), "mismatch"}}},
        {"too much for none",
         {4, COUNTER_ADD, .operand = INT64_C(1) << 31},
         {{EV(BEGIN), "read"}, {RC(NONODE), "overflow"}}},
        {"swap that another was faster with",
         {SWAP},
         {{EV(BEGIN), "read"},
          {HOLDS(SEVEN, 0), "set 9 for 0"},
          {RC(BADVERSION), "read"},
          {HOLDS(NINE, 1), "mismatch"}}},
        {"add again",
         {ADD_TWO},
         {SETS,
          {RC(BADVERSION), "read"},
          {HOLDS(NINE, 4), "set 11 for 4"},
          {RC(NONODE), "read"},
          {RC(NONODE), "make"},
          {EV(SESSION), "read"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(bounds)
{
    static const char high[] = "\177\377\377\377\377\377\377\377", low[] = "\200\0\0\0\0\0\0\0";
    static const struct exchange_row rows[] = {
        {"overflow of 4", {ADD_TWO}, {{EV(BEGIN), "read"}, {HOLDS(LAST, 0), "overflow"}}},
        {"the last of 4",
         {4, COUNTER_ADD, .operand = 1},
         {{EV(BEGIN), "read"}, {HOLDS("\177\377\377\376", 0), "set 2147483647 for 0"}}},
        {"overflow of 4 below",
         {4, COUNTER_ADD, .operand = -1},
         {{EV(BEGIN), "read"}, {HOLDS("\200\0\0\0", 0), "overflow"}}},
        {"the least of 4",
         {4, COUNTER_ADD, .operand = -1},
         {{EV(BEGIN), "read"}, {HOLDS("\200\0\0\1", 0), "set -2147483648 for 0"}}},
        {"overflow of 8",
         {8, COUNTER_ADD, .operand = 1},
         {{EV(BEGIN), "read"}, {RC(OK, .data = high, .length = 8), "overflow"}}},
        {"overflow of 8 below",
         {8, COUNTER_ADD, .operand = -1},
         {{EV(BEGIN), "read"}, {RC(OK, .data = low, .length = 8), "overflow"}}},
        {"from end to end",
         {8, COUNTER_ADD, .operand = -1},
         {{EV(BEGIN), "read"},
          {RC(OK, .data = high, .length = 8), "set 9223372036854775806 for 0"}}},
        {"all of it",
         {8, COUNTER_ADD, .operand = INT64_MIN},
         {{EV(BEGIN), "read"}, {RC(OK, .data = high, .length = 8), "set -1 for 0"}}},
        {"half of it",
         {8, COUNTER_ADD, .operand = INT64_MAX},
         {{EV(BEGIN), "read"}, {RC(OK), "set 9223372036854775807 for 0"}}},
        {"text", {ADD_TWO}, {{EV(BEGIN), "read"}, {RC(OK, .data = "12", .length = 2), "odd"}}},
        {"8 bytes are not 4",
         {GET},
         {{EV(BEGIN), "read"}, {RC(OK, .data = high, .length = 8), "odd"}}},
        {"4 bytes are not 8", {.width = 8}, {{EV(BEGIN), "read"}, {HOLDS(SEVEN, 0), "odd"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* The version that was read is that of another node: its number is overwritten. */
TEST_CASE(made_anew)
{
    static const struct exchange_row rows[] = {
        {"add",
         {ADD_TWO},
         {{EV(BEGIN), "read"}, {HOLDS(SEVEN, 0), "set 9 for 0"}, {RC(OK, .czxid = 6), "unknown"}}},
        {"swap",
         {SWAP},
         {{EV(BEGIN), "read"}, {HOLDS(SEVEN, 0), "set 9 for 0"}, {RC(OK, .czxid = 6), "unknown"}}},
        {"set, whatever was there",
         {SET_NINE},
         {{EV(BEGIN), "read"}, {HOLDS(SEVEN, 0), "set 9 for 0"}, {RC(OK, .czxid = 6), "done 9"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* A set without an answer is never sent again unless it cannot be applied twice. */
TEST_CASE(doubt)
{
    static const struct {
        const char *what;
        struct counter machine;
        struct machine_event heard; /* by the read behind what the quorum refused */
        const char *acts;
    } rows[] = {
        {"not applied", {ADD_TWO}, HOLDS(SEVEN, 3), "set 9 for 3"},
        {"another wrote", {ADD_TWO}, HOLDS("\0\0\0\3", 4), "set 5 for 4"},
        {"another's swap", {SWAP}, HOLDS("\0\0\0\3", 4), "mismatch"},
        {"text", {SET_NINE}, RC(OK, .data = "no", .length = 2, .version = 4, .czxid = 5), "odd"},
        {"nothing", {SET_NINE}, RC(OK, .version = 4, .czxid = 5), "set 9 for 4"},
        {"nothing is no 0",
         {4, COUNTER_ADD, .operand = -7},
         RC(OK, .version = 4, .czxid = 5),
         "set -7 for 4"},
        {"it is as asked", {SET_NINE}, HOLDS(NINE, 4), "done 9"},
        {"ours or another's sum", {ADD_TWO}, HOLDS(NINE, 4), "unknown"},
        {"ours or another's swap", {SWAP}, HOLDS(NINE, 4), "unknown"},
        {"two have written", {SET_NINE}, HOLDS(NINE, 5), "unknown"},
        {"the node is another", {SET_NINE}, HOLDS_OTHER(SEVEN, 3), "unknown"},
        {"the node is another, with a version more", {SET_NINE}, HOLDS_OTHER(NINE, 4), "unknown"},
        {"an earlier version", {SET_NINE}, HOLDS(SEVEN, 2), "unknown"},
        {"the node is gone", {SET_NINE}, RC(NONODE), "unknown"},
        {"nobody may read it", {SET_NINE}, RC(NOAUTH), "unknown"},
        {"the time is over", {SET_NINE}, EV(STOP), "unknown"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const int64_t first = rows[i].machine.operand == -7 ? 0 : 9;
        char *sent = g_strdup_printf("set %d for 3", (int)first);
        const struct exchange_row x = {rows[i].what,
                                       rows[i].machine,
                                       {{EV(BEGIN), "read"},
                                        {HOLDS(SEVEN, 3), sent},
                                        {RC(UNKNOWN), "pass"},
                                        {RC(NONODE), "read"},
                                        {rows[i].heard, rows[i].acts}}};
        play(&x);
        g_free(sent);
    }
}

#define DOUBTED                                                                                    \
    SETS, {RC(UNKNOWN), "pass"}, {RC(NONODE), "read"},                                             \
    {                                                                                              \
        HOLDS(SEVEN, 3), "set 9 for 3"                                                             \
    }

/* It may come behind all that, while its version is the present one. */
TEST_CASE(comes_late)
{
    static const struct exchange_row rows[] = {
        {"not at all", {ADD_TWO}, {DOUBTED, {IS_SET, "done 9"}}},
        {"before the other one",
         {ADD_TWO},
         {DOUBTED, {RC(BADVERSION), "read"}, {HOLDS(NINE, 4), "unknown"}}},
        {"as asked", {SET_NINE}, {DOUBTED, {RC(BADVERSION), "read"}, {HOLDS(NINE, 4), "done 9"}}},
        {"behind another's",
         {ADD_TWO},
         {DOUBTED,
          {RC(BADVERSION), "read"},
          {HOLDS("\0\0\0\3", 4), "set 5 for 4"},
          {RC(BADVERSION), "read"},
          {HOLDS("\0\0\0\5", 5), "set 7 for 5"},
          {RC(NOAUTH), "refused"}}},
        {"and the next one is not answered",
         {ADD_TWO},
         {DOUBTED, {RC(UNKNOWN), "pass"}, {RC(NONODE), "read"}, {HOLDS(NINE, 4), "unknown"}}},
        {"and the node goes", {ADD_TWO}, {DOUBTED, {RC(NONODE), "read"}, {RC(NONODE), "unknown"}}},
        {"and nobody may set it", {ADD_TWO}, {DOUBTED, {RC(NOAUTH), "unknown"}}},
        {"and no other is sent", {ADD_TWO}, {DOUBTED, {EV(STOP, .unsent = true), "unknown"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(ends)
{
    static const struct exchange_row rows[] = {
        {"before anything", {ADD_TWO}, {{EV(BEGIN), "read"}, {EV(STOP), "late"}}},
        {"before it is made",
         {ADD_TWO},
         {{EV(BEGIN), "read"}, {RC(NONODE), "make"}, {EV(STOP), "late"}}},
        {"not to be read", {ADD_TWO}, {{EV(BEGIN), "read"}, {RC(NOAUTH), "refused"}}},
        {"read by the next session", {ADD_TWO}, {{EV(BEGIN), "read"}, {EV(SESSION), "read"}}},
        {"not to be set", {ADD_TWO}, {SETS, {RC(NOAUTH), "refused"}}},
        {"set, and the time is over", {ADD_TWO}, {SETS, {EV(STOP), "unknown"}}},
        {"waiting to be set", {ADD_TWO}, {SETS, {EV(STOP, .unsent = true), "late"}}},
        {"set, and the session is over", {ADD_TWO}, {SETS, {EV(SESSION), "unknown"}}},
        {"waiting to be set, and the session is over",
         {ADD_TWO},
         {SETS, {EV(SESSION, .unsent = true), "read"}}},
        {"in doubt, waiting to be set again, and the session is over",
         {ADD_TWO},
         {DOUBTED, {EV(SESSION, .unsent = true), "read"}, {RC(NONODE), "unknown"}}},
        {"a sync tells nothing",
         {GET},
         {{EV(BEGIN), "read"}, {RC(NOAUTH, .verb = STORE_SYNC), ""}, {HOLDS(SEVEN, 3), "done 7"}}},
        {"in doubt, and the session is over",
         {ADD_TWO},
         {SETS, {RC(UNKNOWN), "pass"}, {EV(SESSION), "unknown"}}},
        {"the quorum was not asked: the server alone has refused",
         {ADD_TWO},
         {SETS, {RC(UNKNOWN), "pass"}, {RC(NOAUTH), "unknown"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* As often as said, and not once more. */
TEST_CASE(others_are_faster)
{
    struct counter c = {ADD_TWO};

    exchange_check(step(&c, (struct machine_event)EV(BEGIN)), "read", "begin", 0);
    for (int i = 0; i < COUNTER_TRIES; i++) {
        char *sent = g_strdup_printf("set 9 for %d", i);
        exchange_check(step(&c, (struct machine_event)HOLDS(SEVEN, i)), sent, "holds", i);
        exchange_check(step(&c, (struct machine_event)RC(BADVERSION)), "read", "outdated", i);
        g_free(sent);
    }
    exchange_check(step(&c, (struct machine_event)HOLDS(SEVEN, COUNTER_TRIES)), "busy", "end", 0);
    c = (struct counter){ADD_TWO, .tries = COUNTER_TRIES, .state = COUNTER_CHECKING,
                         .doubted = true};
    exchange_check(step(&c, (struct machine_event)RC(OK)), "unknown", "doubted", 0);
}

/* A version is 32 bits, and the next one of the last is the first. */
TEST_CASE(versions_wrap)
{
    static const struct exchange_row wrap = {"wrap",
                                             {SET_NINE},
                                             {{EV(BEGIN), "read"},
                                              {HOLDS(SEVEN, INT32_MAX), "set 9 for 2147483647"},
                                              {RC(UNKNOWN), "pass"},
                                              {RC(NONODE), "read"},
                                              {HOLDS(NINE, INT32_MIN), "done 9"}}};

    play(&wrap);
}

TEST_CASE(bytes)
{
    static const struct {
        unsigned width;
        int64_t value;
        const char *bytes;
    } table[] = {
        {4, 0, "\0\0\0\0"},
        {4, -1, "\377\377\377\377"},
        {4, 0x01020304, "\1\2\3\4"},
        {4, INT32_MIN, "\200\0\0\0"},
        {8, -2, "\377\377\377\377\377\377\377\376"},
        {8, 0x0102030405060708, "\1\2\3\4\5\6\7\10"},
        {8, INT64_MIN, "\200\0\0\0\0\0\0\0"},
        {8, 0x00000000ffffffff, "\0\0\0\0\377\377\377\377"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        uint8_t out[COUNTER_BYTES_MAX + 1] = {[4] = 0xaa, [8] = 0xaa};
        int64_t back = 0;
        counter_encode(table[i].width, table[i].value, out);
        CHECK(memcmp(out, table[i].bytes, table[i].width) == 0);
        CHECK_INT(out[table[i].width], 0xaa);
        CHECK(counter_decode(table[i].width, out, table[i].width, &back));
        CHECK_INT(back, table[i].value);
        CHECK(!counter_decode(table[i].width, out, table[i].width - 1, &back));
        CHECK(!counter_decode(table[i].width, out, table[i].width + 1, &back));
        CHECK(counter_decode(table[i].width, NULL, 0, &back));
        CHECK_INT(back, 0);
    }
    CHECK(counter_fits(4, INT32_MAX) && counter_fits(4, INT32_MIN) && counter_fits(8, INT64_MIN));
    CHECK(!counter_fits(4, INT64_C(1) + INT32_MAX) && !counter_fits(4, INT64_C(-1) + INT32_MIN));
}

TEST_CASE(table)
{
    static const struct counter good = {.width = 4, .goal = COUNTER_ADD, .state = COUNTER_SETTING};
    struct counter bad = good;

    CHECK(counter_invariant(&good));
    bad.width = 5;
    CHECK(!counter_invariant(&bad));
    bad = good;
    bad.goal = COUNTER_GET;
    CHECK(!counter_invariant(&bad));
    bad.state = COUNTER_READING;
    CHECK(counter_invariant(&bad));
    for (enum counter_state s = COUNTER_SETTING; s <= COUNTER_CHECKING; s++) {
        bad = good;
        bad.state = s;
        bad.next = INT64_MAX;
        CHECK(!counter_invariant(&bad));
        bad.width = 8;
        CHECK(counter_invariant(&bad));
    }
    bad = good;
    bad.tries = COUNTER_TRIES + 1;
    CHECK(!counter_invariant(&bad));
    bad.tries = COUNTER_TRIES;
    CHECK(counter_invariant(&bad));
    CHECK_STR(counter_state_name(COUNTER_PASSING), "passing");
    CHECK_STR(counter_state_name(COUNTER_STATES), "?");
    for (enum counter_state s = 0; s < COUNTER_STATES; s++)
        CHECK(!counter_may_move(COUNTER_OVER, s) && !counter_may_move(s, COUNTER_IDLE));
    CHECK(counter_may_move(COUNTER_IDLE, COUNTER_READING));
}
