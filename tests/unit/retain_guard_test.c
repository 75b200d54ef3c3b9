/* The machine of a lock that is retained: whether that pays. */
#include "retain_play.h"
#include "runner.h"
#include "suites.h"

#include <glib.h>

/* What it takes to get the lock alone is 2 ms: so much is saved by each turn but the first. */
#define ALONE                                                                                      \
    {EV(1, LOCK), "enter"},                                                                        \
    {                                                                                              \
        EV(3, GRANTED, .ev.watched = true), "turn 0"                                               \
    }

static void pays(void)
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
        {"it was worth it: it has cost no more than it saved",
         {0},
         {ALONE,
          {EV(4, LOCK), ""},
          {EV(5, RIVAL), ""},
          {EV(10, UNLOCK), "turn 1"},
          {EV(10, UNLOCK, .more = 222222), "end"},
          {EV(10, LOCK, .more = 222222), "enter"},
          {EV(11, GRANTED, WATCHED), "turn 0"},
          {EV(11, UNLOCK), "arm 111"}}},
        {"by one ns it was not",
         {0},
         {ALONE,
          {EV(4, LOCK), ""},
          {EV(5, RIVAL), ""},
          {EV(10, UNLOCK), "turn 1"},
          {EV(10, UNLOCK, .more = 222223), "end"},
          {EV(10, LOCK, .more = 222223), "enter"},
          {EV(10, GRANTED, .more = 222223), "turn 0"},
          {EV(10, UNLOCK, .more = 222229), "end"}}},
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
        {"nor has it been looked: not known",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(3, GRANTED, WAITED), "turn 0"},
          {EV(4, UNLOCK), "look arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(10, LOCK), "enter"},
          {EV(11, GRANTED, WAITED), "turn 0"},
          {EV(12, UNLOCK), "look arm 112"}}},
        {"once known, a look says nothing about it",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(3, GRANTED), "turn 0"},
          {EV(4, UNLOCK), "look arm 104"},
          {EV(9, LOOKED, WATCHED), ""},
          {EV(10, RIVAL), "end"},
          {EV(28, LOCK), "enter"},
          {EV(28, GRANTED), "turn 0"},
          {EV(28, UNLOCK), "look arm 128"}}},
        {"no rival, no cost",
         {0},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, YIELD), "end"},
          {EV(10, LOCK), "enter-watch"}}},
        {"what is off for longer stays so, whatever the next tenure has cost",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(1, GRANTED), "turn 0"},
          {EV(5, UNLOCK), "look arm 105"},
          {EV(9, LOOKED, OTHERS), "end"}, /* off until 45 */
          {EV(10, LOCK), "enter"},
          {EV(10, LOCK), ""},
          {EV(10, GRANTED, OTHERS), "turn 0"},
          {EV(11, UNLOCK), "turn 1"},
          {EV(12, UNLOCK), "end"},
          {EV(45, LOCK, .more = -1), "enter"},
          {EV(45, GRANTED, .more = -1), "turn 0"},
          {EV(45, UNLOCK, .more = -1), "end"},
          {EV(45, LOCK), "enter-watch"}}},
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
        {"turns while it looks are no gain",
         {0},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(5, YIELD), "end"},
          {EV(5, LOCK), "enter-watch"},
          {EV(6, GRANTED, WAITED), "turn 0"},
          {EV(6, UNLOCK), "look arm 106"},
          {EV(6, LOCK), "turn 1"},
          {EV(6, UNLOCK), ""},
          {EV(6, LOCK), "turn 2"},
          {EV(6, UNLOCK), ""},
          {EV(7, LOOKED, OTHERS), "end"},
          {EV(16, LOCK, .more = -1), "enter"},
          {EV(16, GAVE_UP), "abandon"},
          {EV(16, LOCK), "enter"},
          {EV(17, GRANTED, WAITED), "turn 0"},
          {EV(17, UNLOCK), "look arm 117"}}},
        {"each tenure for itself",
         {0},
         {ALONE,
          {EV(4, UNLOCK), "arm 104"},
          {EV(10, RIVAL), "end"},
          {EV(28, LOCK), "enter"},
          {EV(28, GRANTED), "turn 0"},
          {EV(29, UNLOCK), "look arm 129"},
          {EV(30, LOOKED, WATCHED), ""},
          {EV(31, YIELD), "end"},
          {EV(31, LOCK), "enter-watch"}}},
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
static void doubles(void)
{
    static const int64_t off[] = {9, 18, 36, 72, 72};
    static const struct retain_told alone[] = {EV(900, LOCK), EV(901, GRANTED),
                                               EV(901, UNLOCK, .ev.must_end = true)};
    struct retain r = {.retain_ns = MS(100), .local_turns = 2};

    retain_init(&r);
    for (int again = 0; again < 3; again++) {
        int64_t now = r.off_until / MS(1) + 1;
        for (size_t i = 0; i < G_N_ELEMENTS(off); i++) {
            look(&r, now, true);
            now += 1 + off[i];
            CHECK_INT(r.off_until, MS(now));
        }
        if (again == 0) { /* it begins anew with one that finds nobody, */
            look(&r, now, false);
        } else { /* or that gets the lock at once */
            for (size_t i = 0; i < G_N_ELEMENTS(alone); i++)
                g_free(retain_play_step(&r, &alone[i]));
        }
    }
}

static const struct test_case cases[] = {
    {"pays", pays},
    {"doubles", doubles},
    {NULL, NULL},
};

const struct test_suite retain_guard_suite = {.name = "retain_guard", .cases = cases};
