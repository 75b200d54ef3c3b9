/* The machine of a lock that is retained: whether that pays. */
#include "retain_play.h"
#include "runner.h"

#include <glib.h>

TEST_SUITE(retain_guard);

/* What it takes to get the lock alone is 2 ms: so much is saved by each turn but the first. */
#define ALONE                                                                                      \
    {EV(1, LOCK), "enter"},                                                                        \
    {                                                                                              \
        EV(3, GRANTED, .ev.watched = true), "turn 0"                                               \
    }

TEST_CASE(pays)
{
    static const struct retain_row rows[] = {
        {"idle: the rival's wait is what it takes to get the lock, nine times",
         {0},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(27, LOCK), "enter"},
          {EV(27, GRANTED), "turn 0"},
          {EV(28, UNLOCK, .more = -1), "end"},
          {EV(28, LOCK, .more = -1), "enter"},
          {EV(28, GRANTED, .more = -1), "turn 0"},
          {EV(28, UNLOCK), "look arm 128"}}},
        {"what it takes is not what an outage takes",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(903, GRANTED, .ev.watched = true, .ev.delayed = true), "turn 0"},
          {EV(904, UNLOCK), "arm 1004"},
          {EV(910, RIVAL), "end"},
          {EV(911, LOCK), "enter"},
          {EV(913, GRANTED), "turn 0"},
          {EV(914, UNLOCK), "look arm 1014"}}},
        {"off: no watch, and nothing is kept without one",
         {0},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(11, LOCK), "enter"},
          {EV(11, GRANTED), "turn 0"},
          {EV(12, UNLOCK), "end"},
          {EV(28, LOCK, .more = -1), "enter"},
          {EV(28, GAVE_UP), "abandon"},
          {EV(28, LOCK), "enter-watch"}}},
        {"each turn but the first was worth it",
         {0},
         {ALONE,
          {EV(4, LOCK), ""},
          {EV(4, UNLOCK), "turn 1"},
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(20, LOCK), "enter"},
          {EV(20, GRANTED), "turn 0"},
          {EV(26, UNLOCK, .more = -1), "end"},
          {EV(26, LOCK), "enter-watch"}}},
        {"from the end of a turn on, if it was used, as long as others went first",
         {0},
         {ALONE,
          {EV(4, LOCK), ""},
          {EV(5, RIVAL), ""},
          {EV(10, UNLOCK), "turn 1"},
          {EV(11, UNLOCK), "end"},
          {EV(17, LOCK), "enter"},
          {EV(17, GRANTED), "turn 0"},
          {EV(18, UNLOCK, .more = -1), "end"},
          {EV(18, LOCK), "enter-watch"}}},
        {"nobody has waited for more than the turn",
         {0},
         {ALONE,
          {EV(4, RIVAL), ""},
          {EV(90, UNLOCK), "end"},
          {EV(90, LOCK), "enter"},
          {EV(91, GRANTED), "turn 0"},
          {EV(92, UNLOCK), "look arm 192"}}},
        {"since it looked",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(1, GRANTED), "turn 0"},
          {EV(5, UNLOCK), "look arm 105"},
          {EV(7, LOOKED, OTHERS), "end"},
          {EV(24, LOCK), "enter"},
          {EV(24, GRANTED), "turn 0"},
          {EV(25, UNLOCK, .more = -1), "end"},
          {EV(25, LOCK), "enter-watch"}}},
        {"since it looked, not since the turn behind that",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(1, LOCK), ""},
          {EV(1, GRANTED), "turn 0"},
          {EV(5, UNLOCK), "look turn 1"},
          {EV(6, LOOKED, OTHERS), ""},
          {EV(7, UNLOCK), "end"},
          {EV(24, LOCK), "enter"},
          {EV(24, GRANTED), "turn 0"},
          {EV(25, UNLOCK, .more = -1), "end"},
          {EV(25, LOCK), "enter-watch"}}},
        {"what it takes to get the lock is not known, but what it takes to look",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(3, GRANTED, WAITED), "turn 0"},
          {EV(4, UNLOCK), "look arm 104"},
          {EV(6, LOOKED, WATCHED), ""},
          {EV(10, RIVAL), "end"},
          {EV(27, LOCK), "enter"},
          {EV(27, GRANTED, WAITED), "turn 0"},
          {EV(28, UNLOCK, .more = -1), "end"},
          {EV(28, LOCK), "enter"},
          {EV(28, GRANTED, WAITED), "turn 0"},
          {EV(28, UNLOCK), "look arm 128"}}},
        {"off, but who comes will be heard of: who waits here goes on",
         {0},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(11, LOCK), "enter"},
          {EV(11, LOCK), ""},
          {EV(11, GRANTED, WATCHED), "turn 0"},
          {EV(12, UNLOCK), "turn 1"},
          {EV(13, UNLOCK), "end"}}},
        {"off: as if a rival waited, local_turns go first, not later than 50 ms",
         {.local_turns = 2},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(11, LOCK), "enter"},
          {EV(11, LOCK), ""},
          {EV(11, LOCK), ""},
          {EV(11, LOCK), ""},
          {EV(11, GRANTED), "turn 0"},
          {EV(12, UNLOCK), "turn 1"},
          {EV(13, UNLOCK), "turn 2"},
          {EV(14, UNLOCK), "enter end"},
          {EV(15, GRANTED), "turn 0"},
          {EV(15, UNLOCK), "end"},
          {EV(28, LOCK, .more = -1), "enter"},
          {EV(28, GAVE_UP), "abandon"},
          {EV(28, LOCK), "enter-watch"}}},
        {"off: to the ns",
         {.local_turns = 9},
         {{EV(1, LOCK), "enter"},
          {EV(1, GRANTED), "turn 0"},
          {EV(5, UNLOCK), "look arm 105"},
          {EV(95, LOOKED, OTHERS), "end"},
          {EV(96, LOCK), "enter"},
          {EV(96, LOCK), ""},
          {EV(96, LOCK), ""},
          {EV(96, GRANTED), "turn 0"},
          {EV(146, UNLOCK), "turn 1"},
          {EV(146, UNLOCK, .more = 1), "enter end"}}},
        {"off, and in doubt: it ends",
         {0},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(11, LOCK), "enter"},
          {EV(11, LOCK), ""},
          {EV(11, GRANTED), "turn 0"},
          {EV(12, UNLOCK, DOUBT), "enter end"}}},
        {"found behind a turn that a rival waits for already: since that turn ends",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(1, LOCK), ""},
          {EV(1, GRANTED), "turn 0"},
          {EV(5, UNLOCK), "look turn 1"},
          {EV(6, RIVAL), ""},
          {EV(7, LOOKED, OTHERS), ""},
          {EV(8, UNLOCK), "end"},
          {EV(8, LOCK), "enter"},
          {EV(8, GRANTED), "turn 0"},
          {EV(8, UNLOCK), "look arm 108"}}},
        {"lost: no rival is kept out",
         {0},
         {ALONE,
          {EV(4, LOCK), ""},
          {EV(5, RIVAL), ""},
          {EV(6, UNLOCK), "turn 1"},
          {EV(9, ENDED), ""},
          {EV(9, LOCK), "enter"},
          {EV(9, GRANTED), "turn 0"},
          {EV(9, UNLOCK), "look arm 109"}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

/* A tenure of one who waited looks at the time at, ms, and hears a ms later what there is. */
static void look(struct retain *r, int64_t at, bool others)
{
    const struct retain_told told[] = {EV(at, LOCK), EV(at, GRANTED, WAITED), EV(at, UNLOCK),
                                       EV(at + 1, LOOKED, .ev.others = others, WATCHED),
                                       EV(at + 1, YIELD)};

    for (size_t i = 0; i < G_N_ELEMENTS(told); i++)
        g_free(retain_play_step(r, &told[i]));
    CHECK_INT(r->state, RETAIN_NONE);
}

/* Each that finds a rival costs twice as much as the one before, at most eight times. */
TEST_CASE(doubles)
{
    static const int64_t off[] = {9, 18, 36, 72, 72};
    static const struct retain_told alone[] = {EV(900, LOCK), EV(901, GRANTED),
                                               EV(901, UNLOCK, .ev.must_end = true)};
    struct retain r = {.retain_ns = MS(100), .local_turns = 2};
    int64_t now = 0;

    retain_init(&r);
    for (int again = 0; again < 3; again++) {
        now++;
        for (size_t i = 0; i < G_N_ELEMENTS(off); i++) {
            look(&r, now, true);
            now += 1 + off[i];
            CHECK(!payoff_allows(&r.payoff, MS(now) - 1));
            CHECK(payoff_allows(&r.payoff, MS(now)));
        }
        if (again == 0) { /* it begins anew with one that finds nobody, */
            look(&r, now, false);
        } else { /* or that gets the lock at once */
            for (size_t i = 0; i < G_N_ELEMENTS(alone); i++)
                g_free(retain_play_step(&r, &alone[i]));
        }
    }
}

enum payoff_call {
    ASK,
    GRANTED,
    GRANTED_LATE,
    LOOKED,
    FOUND,
    NOT_FOUND,
    RECALLED,
    KEPT_OUT,
    SETTLE,
    FORGET
};

static void payoff_call(struct payoff *p, enum payoff_call which, int64_t now, uint64_t turns)
{
    if (which == ASK)
        payoff_ask(p, now);
    else if (which == GRANTED || which == GRANTED_LATE)
        payoff_granted(p, now, which == GRANTED_LATE);
    else if (which == LOOKED)
        payoff_looked(p, now);
    else if (which == FOUND || which == NOT_FOUND)
        payoff_found(p, which == FOUND);
    else if (which == RECALLED)
        payoff_recalled(p, now);
    else if (which == KEPT_OUT)
        payoff_kept_out(p, now);
    else if (which == SETTLE)
        payoff_settle(p, now, turns);
    else
        payoff_forget(p);
}

/* What each call makes of what was noted before. */
TEST_CASE(accounts)
{
#define LONG (INT64_C(1) << 45)
#define ASKED .asked = 7
#define SAVES(ns) .alone_ns = (ns)
#define KEPT .kept_from = 10
#define OFF(until) .off_until = (until)
#define HAS_FOUND(before) SAVES(2), KEPT, .found = true, .finds = (before)
    static const struct {
        const char *what;
        struct payoff before;
        enum payoff_call which;
        int64_t now;
        uint64_t turns;
        struct payoff after;
    } rows[] = {
        {"a request", {.alone_ns = 2}, ASK, 7, 0, {ASKED, .alone_ns = 2}},
        {"its answer measures, and ends a row of finds",
         {ASKED, .alone_ns = 5, .finds = 2},
         GRANTED,
         9,
         0,
         {ASKED, .alone_ns = 2}},
        {"over two connections it does not measure",
         {ASKED, .alone_ns = 5, .finds = 2},
         GRANTED_LATE,
         9,
         0,
         {ASKED, .alone_ns = 5}},
        {"a look measures", {ASKED, .finds = 2}, LOOKED, 9, 0, {ASKED, .alone_ns = 2}},
        {"but not where something has",
         {ASKED, .alone_ns = 5, .finds = 2},
         LOOKED,
         9,
         0,
         {ASKED, .alone_ns = 5}},
        {"found since the look", {ASKED}, FOUND, 9, 0, {ASKED, .kept_from = 7, .found = true}},
        {"perhaps", {ASKED}, NOT_FOUND, 9, 0, {ASKED, .kept_from = 7}},
        {"an idle tenure is recalled", {SAVES(2)}, RECALLED, 9, 0, {SAVES(2), .kept_from = 7}},
        {"for one that was found", {SAVES(2), KEPT}, RECALLED, 99, 0, {SAVES(2), KEPT}},
        {"a turn ends", {SAVES(2)}, KEPT_OUT, 10, 0, {SAVES(2), KEPT}},
        {"another one", {SAVES(2), KEPT}, KEPT_OUT, 12, 0, {SAVES(2), KEPT}},
        {"lost",
         {SAVES(2), KEPT, .found = true, .finds = 2, OFF(30)},
         FORGET,
         12,
         0,
         {SAVES(2), .finds = 2, OFF(30)}},
        {"no rival", {SAVES(2), .finds = 1}, SETTLE, 12, 0, {SAVES(2), .finds = 1}},
        {"nine times its wait", {SAVES(2), KEPT}, SETTLE, 12, 0, {SAVES(2), OFF(30)}},
        {"less what was saved", {SAVES(2), KEPT}, SETTLE, 12, 3, {SAVES(2), OFF(24)}},
        {"all of it", {SAVES(2), KEPT}, SETTLE, 12, 9, {SAVES(2), OFF(12)}},
        {"more than that", {SAVES(2), KEPT}, SETTLE, 12, 10, {SAVES(2), OFF(12)}},
        {"not quite all", {SAVES(4), KEPT}, SETTLE, 12, 4, {SAVES(4), OFF(14)}},
        {"a little more", {SAVES(4), KEPT}, SETTLE, 12, 5, {SAVES(4), OFF(12)}},
        {"by one ns", {SAVES(1), KEPT}, SETTLE, 12, 19, {SAVES(1), OFF(12)}},
        {"hours of turns: more than can be multiplied by what each has saved",
         {SAVES(MS(150)), .kept_from = LONG},
         SETTLE,
         LONG + MS(1),
         62 * UINT64_C(1000000000),
         {SAVES(MS(150)), OFF(LONG + MS(1))}},
        {"not measured yet", {KEPT}, SETTLE, 12, 5, {OFF(30)}},
        {"off for longer", {SAVES(2), KEPT, OFF(31)}, SETTLE, 12, 0, {SAVES(2), OFF(31)}},
        {"or not", {SAVES(2), KEPT, OFF(29)}, SETTLE, 12, 0, {SAVES(2), OFF(30)}},
        {"found: no turn is a gain",
         {HAS_FOUND(0)},
         SETTLE,
         12,
         99,
         {SAVES(2), OFF(30), .finds = 1}},
        {"again: twice", {HAS_FOUND(1)}, SETTLE, 12, 99, {SAVES(2), OFF(48), .finds = 2}},
        {"eight times at most", {HAS_FOUND(3)}, SETTLE, 12, 99, {SAVES(2), OFF(156), .finds = 3}},
        {"heard of", {SAVES(2), KEPT, .finds = 2}, SETTLE, 12, 0, {SAVES(2), OFF(30), .finds = 2}},
    };
#undef HAS_FOUND
#undef OFF
#undef KEPT
#undef SAVES
#undef ASKED
#undef LONG
    static const struct payoff off = {.off_until = 5};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct payoff p = rows[i].before;
        const struct payoff *after = &rows[i].after;
        bool good = true;
        payoff_call(&p, rows[i].which, rows[i].now, rows[i].turns);
        good &= CHECK_INT(p.asked, after->asked);
        good &= CHECK_INT(p.alone_ns, after->alone_ns);
        good &= CHECK_INT(p.kept_from, after->kept_from);
        good &= CHECK_INT(p.off_until, after->off_until);
        good &= CHECK_INT(p.finds, after->finds);
        good &= CHECK_INT(p.found, after->found);
        if (!good)
            runner_fail(__FILE__, __LINE__, "%s", rows[i].what);
    }
    CHECK(!payoff_allows(&off, 4));
    CHECK(payoff_allows(&off, 5));
}
