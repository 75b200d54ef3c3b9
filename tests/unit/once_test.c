/* The machine of work that is run once, in exchanges: what it hears, and then what it asks for. And
 * its record, and when it is due. */
#include "exchange.h"
#include "recipes/once.h"
#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(once);

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = MACHINE_EV_##name, ##__VA_ARGS__                                                   \
    }
#define ABOUT(name)                                                                                \
    {                                                                                              \
        .kind = ONCE_EV_##name                                                                     \
    }
#define RC(verb_, name, ...)                                                                       \
    {                                                                                              \
        .kind = MACHINE_EV_ANSWER, .verb = STORE_##verb_, .rc = STORE_##name, ##__VA_ARGS__        \
    }
/* The record, as written with that zxid: the run begun at 1000, the next due at 2000. */
#define RECORD(zxid) RC(GET, OK, .node = ONCE_RECORD, .mzxid = (zxid), .version = 4)
#define NONE RC(GET, NONODE, .node = ONCE_RECORD)
#define OWN(at) RC(GET, OK, .node = ONCE_OWN, .version = (at))
#define TOUCHED(ms) RC(SET, OK, .node = ONCE_OWN, .mtime_ms = (ms))
/* On the way to the lock of a caller who is alone. */
#define TO_THE_LOCK                                                                                \
    {EV(BEGIN), "sync, read"}, {NONE, "enter"},                                                    \
    {                                                                                              \
        ABOUT(FIRST), "read own"                                                                   \
    }
#define BEHIND(zxid)                                                                               \
    {EV(BEGIN), "sync, read"}, {RECORD(zxid), "enter"},                                            \
    {                                                                                              \
        ABOUT(WAITS), "read+watch"                                                                 \
    }

#define ONE_TIME                                                                                   \
    {                                                                                              \
        .goal = ONCE_CALL                                                                          \
    }
#define BY_CALENDAR                                                                                \
    {                                                                                              \
        .plan = {.slack_ms = 30, .late_ms = 500 }                                                  \
    }
#define EACH_SECOND                                                                                \
    {                                                                                              \
        .plan = { 1000, 100, 0 }                                                                   \
    }

enum { STEPS_MAX = 12 };

static const struct once_record present = {
    .begun = 1000, .due = 2000, .token = 9, .instant = 1000, .local = 1000};
static const struct calendar_aim *aim; /* of those with a calendar */
static bool odd, foreign;

struct exchange_row {
    const char *what;
    struct once machine;
    struct {
        struct machine_event heard;
        const char *acts;
    } steps[STEPS_MAX];
};

static void describe_request(GString *text, const struct machine_action *a)
{
    static const char *const verbs[] = {[STORE_DELETE] = "delete",
                                        [STORE_GET] = "read",
                                        [STORE_SYNC] = "sync",
                                        [STORE_SET] = "touch",
                                        [STORE_STAT] = "stat"};

    g_string_append(text, verbs[a->verb]);
    if (a->verb == STORE_SET)
        g_string_append_printf(text, " %d", a->version);
    if (a->node == ONCE_OWN && a->verb == STORE_GET)
        g_string_append(text, " own");
    if (a->watch)
        g_string_append(text, "+watch");
}

static void describe_verdict(GString *text, const struct once *o, const struct machine_action *a)
{
    static const char *const verdicts[] = {"enter",   "gone",    "run",    "done",
                                           "none",    "overdue", "odd",    "foreign",
                                           "refused", "failed",  "stopped"};

    g_string_append(text, verdicts[a->verdict]);
    if (a->verdict == ONCE_RUN)
        g_string_append_printf(text, " at %d for %d", (int)o->now, o->version);
}

static char *step(struct once *o, struct machine_event ev)
{
    struct machine_actions out = {.count = 0};
    const bool record = ev.node == ONCE_RECORD && ev.verb == STORE_GET && ev.rc == STORE_OK;
    const struct once_moment m = {.odd = odd,
                                  .foreign = foreign && record,
                                  .record = record ? &present : NULL,
                                  .aim = aim,
                                  .boot = 7};
    GString *text = g_string_new("");

    once_step(o, &ev, &m, &out);
    for (uint32_t i = 0; i < out.count; i++) {
        const struct machine_action *a = &out.list[i];
        if (a->kind == MACHINE_ACT_END)
            continue;
        g_string_append(text, text->len > 0 ? ", " : "");
        if (a->kind == MACHINE_ACT_TELL)
            describe_verdict(text, o, a);
        else if (a->kind == MACHINE_ACT_ARM)
            g_string_append_printf(text, "arm %d", (int)a->at);
        else
            describe_request(text, a);
        CHECK(a->joins == (a->verb == STORE_GET && i == 1));
    }
    return g_string_free(text, FALSE);
}

static void play(const struct exchange_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct once o = rows[i].machine;
        for (int k = 0; k < STEPS_MAX && rows[i].steps[k].acts; k++)
            exchange_check(step(&o, rows[i].steps[k].heard), rows[i].steps[k].acts, rows[i].what,
                           k);
    }
}

TEST_CASE(alone)
{
    static const struct exchange_row rows[] = {
        {"recorded",
         ONE_TIME,
         {{EV(BEGIN), "sync, read"}, {RC(SYNC, OK), ""}, {RECORD(5), "done"}, {EV(STOP), ""}}},
        {"not recorded",
         ONE_TIME,
         {TO_THE_LOCK, {OWN(0), "touch 0"}, {TOUCHED(77), "read"}, {NONE, "run at 77 for -1"}}},
        {"recorded when it has the lock",
         ONE_TIME,
         {TO_THE_LOCK, {OWN(0), "touch 0"}, {TOUCHED(77), "read"}, {RECORD(5), "done"}}},
        {"asked to give way meanwhile",
         ONE_TIME,
         {TO_THE_LOCK,
          {OWN(0), "touch 0"},
          {RC(SET, BADVERSION, .node = ONCE_OWN), "read own"},
          {OWN(1), "touch 1"},
          {TOUCHED(77), "read"},
          {NONE, "run at 77 for -1"}}},
        {"due",
         EACH_SECOND,
         {{EV(BEGIN), "sync, read"},
          {RECORD(5), "enter"},
          {ABOUT(FIRST), "read own"},
          {OWN(0), "touch 0"},
          {TOUCHED(1900), "read"},
          {RECORD(5), "run at 1900 for 4"}}},
        {"not due",
         EACH_SECOND,
         {{EV(BEGIN), "sync, read"},
          {RECORD(5), "enter"},
          {ABOUT(FIRST), "read own"},
          {OWN(0), "touch 0"},
          {TOUCHED(1899), "read"},
          {RECORD(5), "done"}}},
        {"look", {.goal = ONCE_LOOK}, {{EV(BEGIN), "sync, read"}, {RECORD(5), "done"}}},
        {"look at none", {.goal = ONCE_LOOK}, {{EV(BEGIN), "sync, read"}, {NONE, "none"}}},
        {"reset", {.goal = ONCE_RESET}, {{EV(BEGIN), "delete"}, {RC(DELETE, OK), "done"}}},
        {"reset of none",
         {.goal = ONCE_RESET},
         {{EV(BEGIN), "delete"}, {RC(DELETE, NONODE), "done"}}},
        {"reset in two sessions",
         {.goal = ONCE_RESET},
         {{EV(BEGIN), "delete"}, {EV(SESSION), "delete"}, {RC(DELETE, OK), "done"}}},
        {"reset that may be done once more",
         {.goal = ONCE_RESET},
         {{EV(BEGIN), "delete"},
          {RC(DELETE, NONODE, .late_until = 7), "arm 7"},
          {EV(TIMER), "done"}}},
        {"reset that is refused, and may be done yet",
         {.goal = ONCE_RESET},
         {{EV(BEGIN), "delete"},
          {RC(DELETE, NOTEMPTY, .late_until = 7), "arm 7"},
          {EV(TIMER), "refused"}}},
        {"reset that may be done once more, though its session ends",
         {.goal = ONCE_RESET},
         {{EV(BEGIN), "delete"},
          {RC(DELETE, OK, .late_until = 7), "arm 7"},
          {EV(SESSION), ""},
          {EV(TIMER), "done"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(in_line)
{
    static const struct exchange_row rows[] = {
        {"a run is recorded meanwhile",
         ONE_TIME,
         {{EV(BEGIN), "sync, read"},
          {NONE, "enter"},
          {ABOUT(WAITS), "read+watch"},
          {NONE, "stat+watch"},
          {RC(STAT, NONODE), ""},
          {EV(FIRED), "read+watch"},
          {RECORD(5), "done"}}},
        {"before the watch",
         ONE_TIME,
         {{EV(BEGIN), "sync, read"},
          {NONE, "enter"},
          {ABOUT(WAITS), "read+watch"},
          {RECORD(5), "done"}}},
        {"between the read and the watch",
         ONE_TIME,
         {{EV(BEGIN), "sync, read"},
          {NONE, "enter"},
          {ABOUT(WAITS), "read+watch"},
          {NONE, "stat+watch"},
          {RC(STAT, OK), "read+watch"},
          {RECORD(5), "done"}}},
        {"the record of before does not end the wait",
         EACH_SECOND,
         {BEHIND(5), {RECORD(5), ""}, {EV(FIRED), "read+watch"}, {RECORD(6), "done"}}},
        {"a reset alone does not end it",
         EACH_SECOND,
         {BEHIND(5), {NONE, "stat+watch"}, {EV(FIRED), "read+watch"}, {RECORD(8), "done"}}},
        {"another session, which finds others",
         EACH_SECOND,
         {BEHIND(5), {EV(SESSION), ""}, {ABOUT(WAITS), "read+watch"}, {RECORD(6), "done"}}},
        {"first, and what the watch tells comes too late",
         EACH_SECOND,
         {BEHIND(5),
          {ABOUT(FIRST), "read own"},
          {EV(FIRED), ""},
          {ABOUT(WAITS), ""},
          {OWN(0), "touch 0"}}},
        {"another session before the line",
         ONE_TIME,
         {{EV(BEGIN), "sync, read"}, {EV(SESSION), "sync, read"}, {NONE, "enter"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(ends)
{
    static const struct exchange_row rows[] = {
        {"the lock is lost",
         EACH_SECOND,
         {BEHIND(5),
          {ABOUT(FIRST), "read own"},
          {EV(SESSION), ""},
          {ABOUT(LOST), "sync, read"},
          {RECORD(6), "enter"},
          {ABOUT(WAITS), "read+watch"},
          {RECORD(6), ""}}},
        {"it is lost behind the touch",
         ONE_TIME,
         {TO_THE_LOCK, {OWN(0), "touch 0"}, {TOUCHED(77), "read"}, {ABOUT(LOST), "sync, read"}}},
        {"the node is gone",
         ONE_TIME,
         {TO_THE_LOCK, {RC(GET, NONODE, .node = ONCE_OWN), "gone"}, {ABOUT(LOST), "sync, read"}}},
        {"the node is gone before the touch",
         ONE_TIME,
         {TO_THE_LOCK, {OWN(0), "touch 0"}, {RC(SET, NONODE, .node = ONCE_OWN), "gone"}}},
        {"no lock",
         ONE_TIME,
         {{EV(BEGIN), "sync, read"}, {NONE, "enter"}, {ABOUT(FAILED), "failed"}}},
        {"refused", ONE_TIME, {{EV(BEGIN), "sync, read"}, {RC(GET, NOAUTH), "refused"}}},
        {"refused in line", EACH_SECOND, {BEHIND(5), {RC(GET, LIMIT), "refused"}}},
        {"refused the touch",
         ONE_TIME,
         {TO_THE_LOCK, {OWN(0), "touch 0"}, {RC(SET, NOAUTH, .node = ONCE_OWN), "refused"}}},
        {"refused under the lock",
         ONE_TIME,
         {TO_THE_LOCK, {OWN(0), "touch 0"}, {TOUCHED(77), "read"}, {RC(GET, NOAUTH), "refused"}}},
        {"stopped", ONE_TIME, {{EV(BEGIN), "sync, read"}, {EV(STOP), "stopped"}}},
        {"stopped in line", EACH_SECOND, {BEHIND(5), {EV(STOP), "stopped"}}},
        {"stopped under the lock", ONE_TIME, {TO_THE_LOCK, {EV(STOP), "stopped"}}},
    };

    play(rows, G_N_ELEMENTS(rows));
}

/* With a run recorded for 1000, and for whatever instant each call comes. */
TEST_CASE(by_calendar)
{
    static const struct calendar_aim last = {1000, 2000, 0}, next = {2000, 3000, 0},
                                     later = {3000, 4000, 0}, before = {500, 1000, 0};
    static const struct {
        const char *what;
        const struct calendar_aim *aim;
        uint64_t now;
        const char *acts;
        enum once_jump jumped;
    } rows[] = {
        {"it has run", &last, 1500, "done", ONCE_STEADY},
        {"at its instant", &next, 2000, "run at 2000 for 4", ONCE_STEADY},
        {"as late as may be", &next, 2500, "run at 2500 for 4", ONCE_STEADY},
        {"too late", &next, 2501, "overdue", ONCE_STEADY},
        {"close to its instant", &next, 1999, "arm 1000007", ONCE_STEADY},
        {"one had none", &later, 3001, "run at 3001 for 4", ONCE_AHEAD},
        {"a clock went back", &before, 600, "done", ONCE_BACK},
    };
    struct once o;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        o = (struct once)BY_CALENDAR;
        o.state = ONCE_JUDGING;
        o.now = rows[i].now;
        aim = rows[i].aim;
        exchange_check(step(&o, (struct machine_event)RECORD(5)), rows[i].acts, rows[i].what, 0);
        CHECK_INT(o.jumped, rows[i].jumped);
        CHECK(o.next_due ==
              (o.state == ONCE_OVER && strncmp(rows[i].acts, "run", 3) == 0 ? aim->next : 0));
    }
    o = (struct once)BY_CALENDAR;
    o.state = ONCE_JUDGING;
    o.now = 1200;
    aim = &last;
    exchange_check(step(&o, (struct machine_event)NONE), "run at 1200 for -1", "the first", 0);
    aim = NULL;
}

TEST_CASE(by_calendar_in_line)
{
    static const struct calendar_aim last = {1000, 2000, 0}, next = {2000, 3000, 0};
    static const struct exchange_row has_run[] = {
        {"the run that it waits for",
         BY_CALENDAR,
         {BEHIND(5), {RECORD(5), ""}, {EV(FIRED), "read+watch"}, {RECORD(6), "done"}}}};
    static const struct exchange_row none[] = {{"the run of the instant before, which ended late",
                                                BY_CALENDAR,
                                                {BEHIND(5),
                                                 {EV(FIRED), "read+watch"},
                                                 {RECORD(6), ""},
                                                 {ABOUT(FIRST), "read own"},
                                                 {OWN(0), "touch 0"},
                                                 {TOUCHED(2100), "read"},
                                                 {RECORD(6), "run at 2100 for 4"}}},
                                               {"it waits for its instant",
                                                BY_CALENDAR,
                                                {BEHIND(5),
                                                 {ABOUT(FIRST), "read own"},
                                                 {OWN(0), "touch 0"},
                                                 {TOUCHED(1990), "read"},
                                                 {RECORD(6), "arm 10000007"},
                                                 {EV(TIMER), "read own"},
                                                 {OWN(1), "touch 1"},
                                                 {TOUCHED(2000), "read"},
                                                 {RECORD(6), "run at 2000 for 4"}}},
                                               {"and loses the lock",
                                                BY_CALENDAR,
                                                {BEHIND(5),
                                                 {ABOUT(FIRST), "read own"},
                                                 {OWN(0), "touch 0"},
                                                 {TOUCHED(1990), "read"},
                                                 {RECORD(6), "arm 10000007"},
                                                 {ABOUT(LOST), "sync, read"},
                                                 {EV(TIMER), ""},
                                                 {RECORD(6), "enter"}}}};

    aim = &last;
    play(has_run, G_N_ELEMENTS(has_run));
    aim = &next;
    play(none, G_N_ELEMENTS(none));
    aim = NULL;
}

/* The record is of another series, so nothing is run. A look and a reset end as for any record. */
TEST_CASE(another_series)
{
    static const struct exchange_row rows[] = {
        {"before", ONE_TIME, {{EV(BEGIN), "sync, read"}, {RECORD(5), "foreign"}}},
        {"a look", {.goal = ONCE_LOOK}, {{EV(BEGIN), "sync, read"}, {RECORD(5), "done"}}},
        {"none", ONE_TIME, {{EV(BEGIN), "sync, read"}, {NONE, "enter"}}},
    };
    static const struct calendar_aim next = {3000, 4000, 0};
    struct once o = EACH_SECOND;

    foreign = true;
    play(rows, G_N_ELEMENTS(rows));
    o.state = ONCE_QUEUED;
    o.seen = 5;
    exchange_check(step(&o, (struct machine_event)RECORD(6)), "foreign", "in line", 0);
    o.state = ONCE_JUDGING;
    exchange_check(step(&o, (struct machine_event)RECORD(5)), "foreign", "under the lock", 0);
    o = (struct once)BY_CALENDAR;
    o.state = ONCE_JUDGING;
    o.now = 2000;
    aim = &next;
    exchange_check(step(&o, (struct machine_event)RECORD(5)), "foreign", "by a calendar", 0);
    CHECK_INT(o.jumped, ONCE_STEADY); /* another series' instant is no measure */
    aim = NULL;
    foreign = false;
}

/* What is there is no record: nothing is run. */
TEST_CASE(no_record)
{
    static const struct exchange_row rows[] = {
        {"before", ONE_TIME, {{EV(BEGIN), "sync, read"}, {RECORD(5), "odd"}}},
        {"look", {.goal = ONCE_LOOK}, {{EV(BEGIN), "sync, read"}, {RECORD(5), "odd"}}},
    };
    struct once o = EACH_SECOND;

    odd = true;
    play(rows, G_N_ELEMENTS(rows));
    o.state = ONCE_QUEUED;
    exchange_check(step(&o, (struct machine_event)RECORD(5)), "odd", "in line", 0);
    o.state = ONCE_JUDGING;
    exchange_check(step(&o, (struct machine_event)RECORD(5)), "odd", "under the lock", 0);
    odd = false;
}

/* ---- the record ---- */

static bool reads(const char *text, struct once_record *ret)
{
    return once_record_read(text, strlen(text), ret);
}

TEST_CASE(record)
{
    static const char *const bad[] = {
        "",
        "zkl once 1",
        "zkl once 1 1 2 3 0",
        "zkl once 1 1 2 3 a\n",
        "zkl once 1 1 2 3 0:\n",
        "zkl once 1 1 2 3 4\nweb",
        "zkl once 1 1 2 3\nweb1",
        "zkl once 1 1 2  3 0\n",
        "zkl once 1 1  3 0\n",
        "zkl once 1 -1 2 3 0\n",
        "zkl once 2 1 2 3 0\n",
        "zkl once 2 1 2 3 0 4\n",
        "zkl once 2 1 2 3 0 4 5\n",
        "zkl once 2 1 2 3 0 4 5 0\n",
        "zkl once 2 1 2 3 1 4 5 3\nUTC",
        "zkl once 2 1 2 3 4 5 6 1000000000\nabcd",
        "zkl once 2 1 2 3 1 4 5 18446744073709551615\nUTC",
        "zkl once 2 1 2 3 0 2305843009213693952 5 3\nUTC",
        "zkl once 2 1 2 3 0 4 2305843009213693952 3\nUTC",
        "zkl once 3 1 2 3 0 4 5 3\nUTC",
        "zkl once 11 2 3 0\n",
        "zkl once 1 1 2 18446744073709551616 0\n",
        "zkl once 1 2305843009213693952 2 3 0\n",
        "zkl once 1 1 2305843009213693952 3 0\n",
        "zkl head 1 x",
    };
    struct once_record r;

    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        if (!CHECK(!reads(bad[i], &r)) || !CHECK(r.series_length == 0 && r.due == 0 && !r.name))
            runner_fail(__FILE__, __LINE__, "%s", bad[i]);
    REQUIRE(reads("zkl once 1 1000 2000 18446744073709551615 4\nweb1v\n7", &r));
    CHECK(r.begun == 1000 && r.due == 2000 && r.token == UINT64_MAX);
    CHECK(r.name_length == 4 && memcmp(r.name, "web1", 4) == 0);
    CHECK(r.length == 3 && memcmp(r.result, "v\n7", 3) == 0);
    CHECK(!once_record_read("zkl once 1 1 2 3 0\n", 17, &r)); /* what is behind it is not read */
    REQUIRE(reads("zkl once 1 2305843009213693951 2305843009213693951 3 0\n", &r));
    CHECK(r.name_length == 0 && r.length == 0 && r.series_length == 0);
    REQUIRE(reads("zkl once 2 1000 2000 3 4 900 960 3\nweb1UTCv", &r));
    CHECK(r.begun == 1000 && r.due == 2000 && r.token == 3 && r.instant == 900 && r.local == 960);
    CHECK(r.name_length == 4 && memcmp(r.name, "web1", 4) == 0);
    CHECK(r.series_length == 3 && memcmp(r.series, "UTC", 3) == 0);
    CHECK(r.length == 1 && memcmp(r.result, "v", 1) == 0);
}

TEST_CASE(of_another_series)
{
    const struct once_record plain = {.begun = 1}, of = {.instant = 3600000,
                                                         .local = 7200000,
                                                         .series = "a bc",
                                                         .series_length = 3};

    CHECK(!once_is_foreign(&plain, NULL, 0) && once_is_foreign(&plain, "a b", 0));
    CHECK(once_is_foreign(&of, NULL, 60) && !once_is_foreign(&of, "a b", 60));
    CHECK(once_is_foreign(&of, "a bc", 60) && once_is_foreign(&of, "a c", 60));
    CHECK(once_is_foreign(&of, "a b", 0) && once_is_foreign(&of, "a b", -60));
}

/* ---- when it is due ---- */

static const struct once_plan forever = {0}, second = {1000, 100, 0};

TEST_CASE(due)
{
    const struct once_record made_without = {.begun = 1000};

    CHECK(once_is_due(&forever, NULL, 5) && once_is_due(&second, NULL, 5));
    CHECK(!once_is_due(&forever, &present, UINT64_MAX / 8));
    CHECK(!once_is_due(&second, &present, 1899) && once_is_due(&second, &present, 1900));
    CHECK(!once_is_due(&second, &made_without, 1899) && once_is_due(&second, &made_without, 1900));
}

/* A run that begins then, and when the next is due. */
TEST_CASE(next_due)
{
    static const struct {
        uint64_t begun, due;
    } rows[] = {{1900, 3000}, {2000, 3000}, {2899, 3000},
                {2900, 4000}, {3100, 4000}, {9950, 11000}};

    CHECK(once_next_due(&forever, NULL, 1234) == 0);
    CHECK(once_next_due(&second, NULL, 1234) == 2234);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct once_record next = {.begun = rows[i].begun, .due = rows[i].due};
        CHECK_INT(once_next_due(&second, &present, rows[i].begun), rows[i].due);
        CHECK(!once_is_due(&second, &next, rows[i].begun));
    }
}

/* Callers within the slack of each other, every second for a minute, with drift: a run a second. */
TEST_CASE(one_a_period)
{
    struct once_record last;
    int runs = 0;

    for (uint64_t k = 0, at = 5000; k < 60 * 3; k++) {
        const uint64_t now = at + k / 3 * 1000 + (k * 37 % 101);
        const struct once_record *r = k > 0 ? &last : NULL;
        if (!once_is_due(&second, r, now))
            continue;
        last = (struct once_record){.begun = now, .due = once_next_due(&second, r, now)};
        runs++;
    }
    CHECK_INT(runs, 60);
}

TEST_CASE(jumps)
{
    CHECK(once_jumped(&second, NULL, 1) == ONCE_STEADY);
    CHECK(once_jumped(&forever, &present, 1) == ONCE_STEADY);
    CHECK(once_jumped(&second, &present, 0) == ONCE_BACK);
    CHECK(once_jumped(&second, &present, 1) == ONCE_STEADY);
    CHECK(once_jumped(&second, &present, 2999) == ONCE_STEADY);
    CHECK(once_jumped(&second, &present, 3000) == ONCE_AHEAD);
}

TEST_CASE(table)
{
    struct once o = {.state = ONCE_TOUCHING, .now = 1};

    CHECK(!once_invariant(&o));
    o.state = ONCE_JUDGING;
    CHECK(once_invariant(&o));
    o = (struct once){.state = ONCE_TOUCHING};
    CHECK(once_invariant(&o));
    CHECK_STR(once_state_name(ONCE_OVER), "over");
    CHECK_STR(once_state_name(ONCE_QUEUED), "queued");
    CHECK_STR(once_state_name(ONCE_STATES), "?");
    for (enum once_state s = 0; s < ONCE_STATES; s++)
        CHECK(!once_may_move(ONCE_OVER, s) && !once_may_move(s, ONCE_IDLE));
}
