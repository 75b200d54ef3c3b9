/* The machine of a lock that is retained: rivals, and how soon they have it. */
#include "retain_play.h"
#include "suites.h"

#include <glib.h>

static void hearing(void)
{
    static const struct retain_row rows[] = {
        {"an idle tenure ends at once; a caller that comes then is behind",
         {0},
         {IDLE, {EV(5, RIVAL), "end"}, {EV(6, LOCK), "enter"}}},
        {"a used one when it is not used any more",
         {0},
         {HELD(LOCK), {EV(5, RIVAL), ""}, {EV(6, UNLOCK), "end"}, {EV(7, RIVAL), ""}}},
        {"once heard of it is not forgotten",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(6, RIVAL), ""},
          {EV(7, UNLOCK), "turn 2"},
          {EV(8, LOOKED, WATCHED), ""},
          {EV(9, PROVED), ""},
          {EV(10, UNLOCK), "end"}}},
        {"behind the grant: nothing to look for",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, LOCK), ""},
          {EV(3, GRANTED, OTHERS), "turn 0"},
          {EV(4, UNLOCK), "turn 1"},
          {EV(5, UNLOCK), "end"}}},
        {"before the grant: nothing is wanted",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, RIVAL), ""},
          {EV(3, GRANTED, WAITED), "turn 0"},
          {EV(4, UNLOCK), "look arm 104"}}},
        {"heard of in doubt, while somebody waits for the end of it",
         {0},
         {IDLE, {EV(5, LOCK, DOUBT), ""}, {EV(6, RIVAL, DOUBT), "enter end"}}},
        {"who waits here does not wait for the end of a doubt then",
         {0},
         {HELD(LOCK), {EV(5, LOCK), ""}, {EV(6, RIVAL), ""}, {EV(7, UNLOCK, DOUBT), "enter end"}}},
        {"nor does the lock", {0}, {HELD(LOCK), {EV(5, RIVAL), ""}, {EV(6, UNLOCK, DOUBT), "end"}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

static void looking(void)
{
    static const struct retain_row rows[] = {
        {"behind a grant that was waited for, once, while turns go on",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(1, LOCK), ""},
          {EV(1, LOCK), ""},
          {EV(2, GRANTED, WAITED), "turn 0"},
          {EV(3, UNLOCK), "look turn 1"},
          {EV(4, UNLOCK), "turn 2"},
          {EV(5, UNLOCK), "arm 105"},
          {EV(6, LOCK), "turn 3"},
          {EV(7, LOOKED, WATCHED), ""},
          {EV(8, UNLOCK), ""},
          {EV(9, LOCK), "turn 4"}}},
        {"not where the list was watched",
         {0},
         {IDLE,
          {EV(5, YIELD), "end"},
          {EV(6, LOCK), "enter-watch"},
          {EV(7, GRANTED, WATCHED), "turn 0"},
          {EV(8, UNLOCK), "arm 108"},
          {EV(9, RIVAL), "end"}}},
        {"there is somebody: an idle tenure ends",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, UNLOCK), "look arm 103"},
          {EV(4, LOOKED, OTHERS, WATCHED), "end"},
          {EV(200, LOCK), "enter"}}},
        {"it could not be found out",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, UNLOCK), "look arm 103"},
          {EV(4, LOOKED), "end"},
          {EV(200, LOCK), "enter"}}},
        {"there is somebody: the gate of a used one closes",
         {.local_turns = 1},
         {{EV(1, LOCK), "enter"},
          {EV(2, LOCK), ""},
          {EV(2, LOCK), ""},
          {EV(2, LOCK), ""},
          {EV(2, GRANTED, WAITED), "turn 0"},
          {EV(3, UNLOCK), "look turn 1"},
          {EV(4, LOOKED, OTHERS, WATCHED), ""},
          {EV(5, UNLOCK), "turn 2"},
          {EV(6, UNLOCK), "enter end"},
          {EV(7, LOOKED, WATCHED), ""}}},
        {"nothing is heard of what was asked in another tenure",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, UNLOCK), "look arm 103"},
          {EV(4, LOCK), "turn 1"},
          {EV(5, ENDED), ""},
          {EV(6, LOOKED, OTHERS), ""},
          {EV(7, LOCK), "enter-watch"},
          {EV(8, GRANTED, WATCHED), "turn 0"},
          {EV(9, LOOKED, OTHERS), ""},
          {EV(10, UNLOCK), "arm 110"},
          {EV(11, LOOKED, OTHERS), ""},
          {EV(12, LOCK), "turn 1"}}},
        {"heard of before the answer, in a turn: the answer does not undo it",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, UNLOCK), "look arm 103"},
          {EV(4, LOCK), "turn 1"},
          {EV(5, RIVAL), ""},
          {EV(6, LOOKED, WATCHED), ""},
          {EV(7, UNLOCK), "end"}}},
        {"there is one answer to it",
         {0},
         {IDLE, {EV(5, LOOKED, OTHERS), ""}, {EV(6, LOCK), "turn 1"}, {EV(7, LOOKED), ""}}},
        {"heard of before the answer: it changes nothing",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, UNLOCK), "look arm 103"},
          {EV(4, RIVAL), "end"},
          {EV(5, LOOKED, OTHERS), ""}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

static void gate(void)
{
    static const struct retain_row rows[] = {
        {"those who wait, no later callers",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(6, RIVAL), ""},
          {EV(7, LOCK), ""},
          {EV(8, UNLOCK), "turn 2"},
          {EV(9, LOCK), ""},
          {EV(10, UNLOCK), "enter end"}}},
        {"no more than so many, whoever comes meanwhile",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(5, LOCK), ""},
          {EV(5, LOCK), ""},
          {EV(6, RIVAL), ""},
          {EV(7, UNLOCK), "turn 2"},
          {EV(8, LOCK), ""},
          {EV(9, UNLOCK), "turn 3"},
          {EV(10, UNLOCK), "enter end"}}},
        {"another rival does not open it again",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(6, RIVAL), ""},
          {EV(7, LOCK), ""},
          {EV(8, UNLOCK), "turn 2"},
          {EV(9, RIVAL), ""},
          {EV(10, UNLOCK), "enter end"}}},
        {"it is as narrow as those who are left",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(5, LOCK), ""},
          {EV(6, RIVAL), ""},
          {EV(7, GAVE_UP), ""},
          {EV(7, GAVE_UP), ""},
          {EV(7, LOCK), ""},
          {EV(8, UNLOCK), "enter end"}}},
        {"no longer than 50 ms",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(5, LOCK), ""},
          {EV(6, RIVAL), ""},
          {EV(56, UNLOCK), "turn 2"},
          {EV(56, UNLOCK, .more = 1), "enter end"}}},
        {"behind a grant, of those who waited then",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(1, LOCK), ""},
          {EV(2, GRANTED, OTHERS), "turn 0"},
          {EV(3, LOCK), ""},
          {EV(52, UNLOCK), "turn 1"},
          {EV(52, UNLOCK), "enter end"}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

/* A rival waits for a millisecond, behind more turns than can be multiplied by what each has
 * saved.
 */
static void any_number_of_turns(void)
{
    const int64_t ms = 1000000, alone = 150 * ms, end = INT64_C(1) << 45;
    struct retain r = {.retain_ns = 1000 * ms, .local_turns = 16};
    struct retain_actions out;

    retain_init(&r);
    retain_step(&r, &(struct retain_event){.kind = RETAIN_EV_LOCK, .now = ms}, &out);
    retain_step(
        &r, &(struct retain_event){.kind = RETAIN_EV_GRANTED, .now = ms + alone, .watched = true},
        &out);
    r.turn = 62 * UINT64_C(1000000000); /* some hours of them */
    retain_step(&r, &(struct retain_event){.kind = RETAIN_EV_RIVAL, .now = end}, &out);
    r.kept_from = end;
    retain_step(&r, &(struct retain_event){.kind = RETAIN_EV_UNLOCK, .now = end + ms, .sure = true},
                &out);
    CHECK_INT(r.state, RETAIN_NONE);
    CHECK(r.off_until <= end + ms);
}

static const struct test_case cases[] = {
    {"hearing", hearing}, {"looking", looking},
    {"gate", gate},       {"any_number_of_turns", any_number_of_turns},
    {NULL, NULL},
};

const struct test_suite retain_rival_suite = {.name = "retain_rival", .cases = cases};
