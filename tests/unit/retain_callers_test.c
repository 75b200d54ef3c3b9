/* The machine of a lock that is retained: callers that try, and a token for each owner. */
#include "retain_play.h"
#include "runner.h"

#include <glib.h>

TEST_SUITE(retain_callers);

TEST_CASE(tries)
{
    static const struct retain_row rows[] = {
        {"it has what is idle",
         {0},
         {IDLE, {EV(5, LOCK, TRIES), "turn 1"}, {EV(6, LOCK, TRIES), "busy-last"}}},
        {"an attempt of its own",
         {0},
         {{EV(1, LOCK, TRIES), "enter-tries"},
          {EV(2, LOCK, TRIES), "busy-last"},
          {EV(3, GRANTED), "turn 0"}}},
        {"not while others here wait for an attempt",
         {0},
         {{EV(1, LOCK), "enter"}, {EV(2, LOCK, TRIES), "busy-last"}, {EV(3, GRANTED), "turn 0"}}},
        {"others elsewhere are first; who waits here goes on",
         {0},
         {{EV(1, LOCK, TRIES), "enter-tries"},
          {EV(2, LOCK), ""},
          {EV(3, FAILED, .ev.busy = true), "busy-first enter"},
          {EV(4, GRANTED), "turn 0"}}},
        {"others elsewhere are first, nobody waits here",
         {0},
         {{EV(1, LOCK, TRIES), "enter-tries"},
          {EV(2, FAILED, .ev.busy = true), "busy-first"},
          {EV(3, LOCK), "enter"}}},
        {"it has left: nobody is refused for it",
         {0},
         {{EV(1, LOCK, TRIES), "enter-tries"},
          {EV(2, LOCK), ""},
          {EV(3, GAVE_UP, FIRST), ""},
          {EV(4, FAILED, .ev.busy = true), "enter"},
          {EV(5, GRANTED), "turn 0"}}},
        {"another has left",
         {0},
         {{EV(1, LOCK, TRIES), "enter-tries"},
          {EV(2, LOCK), ""},
          {EV(3, GAVE_UP), ""},
          {EV(4, FAILED, .ev.busy = true), "busy-first"}}},
        {"it was served: the next attempt is not for it",
         {0},
         {{EV(1, LOCK, TRIES), "enter-tries"},
          {EV(2, LOCK), ""},
          {EV(3, GRANTED), "turn 0"},
          {EV(4, ENDED), "enter-watch"}}},
        {"in doubt it waits, for itself alone, and nobody else may try",
         {0},
         {IDLE,
          {EV(5, LOCK, DOUBT, TRIES), ""},
          {EV(6, LOCK, DOUBT, TRIES), "busy-last"},
          {EV(7, LOCK, TRIES), "busy-last"},
          {EV(8, PROVED), "turn 1"},
          {EV(9, ENDED), ""},
          {EV(10, LOCK), "enter-watch"}}},
        {"the doubt ends the tenure: it still does not wait for others",
         {0},
         {IDLE,
          {EV(5, LOCK, DOUBT, TRIES), ""},
          {EV(6, LOCK, DOUBT), ""},
          {EV(7, ENDED), "enter-tries-watch"},
          {EV(8, FAILED, .ev.busy = true), "busy-first enter"}}},
        {"so does a rival that is heard of",
         {0},
         {IDLE, {EV(5, LOCK, DOUBT, TRIES), ""}, {EV(6, RIVAL), "end enter-tries"}}},
        {"unless it has left in the doubt",
         {0},
         {IDLE,
          {EV(5, LOCK, DOUBT, TRIES), ""},
          {EV(6, LOCK, DOUBT), ""},
          {EV(7, GAVE_UP, FIRST), ""},
          {EV(8, RIVAL), "enter end"}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(fence64)
{
#define SAME .ev.same = true
    static const struct retain_row rows[] = {
        {"the same owner again",
         {.fence64 = true},
         {IDLE, {EV(5, LOCK, SAME), "turn 1"}, {EV(6, UNLOCK), ""}}},
        {"another one",
         {.fence64 = true},
         {IDLE,
          {EV(5, LOCK), "enter end"},
          {EV(6, GRANTED, WATCHED), "turn 0"},
          {EV(7, LOCK), ""},
          {EV(8, UNLOCK), "enter end"}}},
        {"that tries: the node goes first, or would be the one that it finds ahead",
         {.fence64 = true},
         {IDLE, {EV(5, LOCK, TRIES), "end enter-tries-watch"}}},
        {"the same owner waits first",
         {.fence64 = true},
         {HELD(LOCK, SAME), {EV(5, LOCK), ""}, {EV(6, UNLOCK, SAME), "turn 2"}}},
        {"another one waits for the end of a doubt",
         {.fence64 = true},
         {IDLE, {EV(5, LOCK, DOUBT, SAME), ""}, {EV(6, PROVED), "enter end"}}},
    };
#undef SAME

    retain_play(rows, G_N_ELEMENTS(rows));
}
