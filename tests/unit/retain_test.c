/* The machine of a lock that is retained: turns, attempts, ends of tenures, its diagram. */
#include "recipes/retain.h"
#include "retain_play.h"
#include "runner.h"

#include <glib.h>

TEST_SUITE(retain);

TEST_CASE(turns)
{
    static const struct retain_row rows[] = {
        {"one at a time, in order, numbered anew in each tenure",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(1, LOCK), ""},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, LOCK), ""},
          {EV(4, UNLOCK), "look turn 1"},
          {EV(5, LOOKED, WATCHED), ""},
          {EV(6, UNLOCK), "turn 2"},
          {EV(7, UNLOCK), "arm 107"},
          {EV(8, LOCK), "turn 3"},
          {EV(9, ENDED), ""},
          {EV(10, LOCK), "enter-watch"},
          {EV(11, GRANTED, WATCHED), "turn 0"}}},
        {"none in doubt, by hand-over neither",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(6, UNLOCK, DOUBT), "arm 106"},
          {EV(7, LOCK, DOUBT), ""},
          {EV(8, PROVED, DOUBT), ""},
          {EV(9, PROVED), "turn 2"},
          {EV(10, PROVED), ""},
          {EV(11, UNLOCK), "turn 3"},
          {EV(12, UNLOCK), ""}}},
        {"none from idle in doubt; then it is the turn of who came first",
         {0},
         {IDLE,
          {EV(5, LOCK, DOUBT), ""},
          {EV(6, LOCK), "turn 1"},
          {EV(7, UNLOCK), "turn 2"},
          {EV(8, PROVED), ""}}},
        {"what was doubted is idle when nobody waits any more",
         {0},
         {IDLE,
          {EV(5, LOCK, DOUBT), ""},
          {EV(6, GAVE_UP, DOUBT), ""},
          {EV(7, PROVED), ""},
          {EV(8, LOCK), "turn 1"}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(attempts)
{
    static const struct retain_row rows[] = {
        {"that fails: for the first; who came behind it gets another",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, LOCK), ""},
          {EV(3, FAILED), "fail enter"},
          {EV(4, FAILED), "fail"},
          {EV(5, LOCK), "enter"},
          {EV(6, GRANTED), "turn 0"},
          {EV(7, UNLOCK), "look arm 107"}}},
        {"that fails when the first has left: for nobody",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, LOCK), ""},
          {EV(3, GAVE_UP, FIRST), ""},
          {EV(4, FAILED), "enter"},
          {EV(5, LOCK), ""},
          {EV(6, GAVE_UP), ""},
          {EV(7, FAILED), "fail"}}},
        {"that succeeds when the first has left",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, LOCK), ""},
          {EV(3, GAVE_UP, FIRST), ""},
          {EV(4, GRANTED), "turn 0"},
          {EV(5, ENDED), ""},
          {EV(6, LOCK), "enter-watch"},
          {EV(7, FAILED), "fail"}}},
        {"for which nobody waits any more",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, LOCK), ""},
          {EV(3, GAVE_UP), ""},
          {EV(4, GAVE_UP), "abandon"},
          {EV(5, GRANTED), ""},
          {EV(6, FAILED), ""},
          {EV(7, LOCK), "enter"}}},
        {"its list is watched if the last one showed nobody",
         {0},
         {IDLE, {EV(5, YIELD), "end"}, {EV(6, LOCK), "enter-watch"}}},
        {"so if the grant was alone",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, ENDED), ""},
          {EV(4, LOCK), "enter-watch"}}},
        {"not if somebody was behind",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED, OTHERS), "turn 0"},
          {EV(3, UNLOCK), "end"},
          {EV(4, LOCK), "enter"}}},
        {"nor ahead",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED, WAITED), "turn 0"},
          {EV(3, ENDED), ""},
          {EV(4, LOCK), "enter"}}},
        {"nor if the last attempt failed",
         {0},
         {IDLE,
          {EV(5, YIELD), "end"},
          {EV(6, LOCK), "enter-watch"},
          {EV(7, FAILED), "fail"},
          {EV(8, LOCK), "enter"}}},
        {"nor if somebody was heard of",
         {0},
         {IDLE,
          {EV(5, LOCK), "turn 1"},
          {EV(6, RIVAL), ""},
          {EV(7, ENDED), ""},
          {EV(8, LOCK), "enter"}}},
        {"nor if that was before an answer",
         {0},
         {{EV(1, LOCK), "enter"},
          {EV(2, GRANTED), "turn 0"},
          {EV(3, LOCK), ""},
          {EV(4, UNLOCK), "look turn 1"},
          {EV(5, RIVAL), ""},
          {EV(6, LOOKED, WATCHED), ""},
          {EV(7, ENDED), ""},
          {EV(8, LOCK), "enter"}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(ends)
{
    static const struct retain_row rows[] = {
        {"idle for too long: timed from the last turn",
         {0},
         {IDLE,
          {EV(50, LOCK), "turn 1"},
          {EV(60, UNLOCK), ""},
          {EV(103, TIMER), "arm 160"},
          {EV(159, TIMER), "arm 160"},
          {EV(160, TIMER), "end"},
          {EV(161, TIMER), ""},
          {EV(162, LOCK), "enter-watch"}}},
        {"the timer of a turn is none",
         {0},
         {IDLE,
          {EV(50, LOCK), "turn 1"},
          {EV(103, TIMER), ""},
          {EV(104, UNLOCK), "arm 204"},
          {EV(204, TIMER), "end"}}},
        {"each tenure has its own",
         {0},
         {IDLE,
          {EV(5, YIELD), "end"},
          {EV(6, LOCK), "enter-watch"},
          {EV(7, GRANTED, WATCHED), "turn 0"},
          {EV(8, UNLOCK), "arm 108"},
          {EV(108, TIMER), "end"}}},
        {"not while somebody waits in doubt",
         {0},
         {IDLE,
          {EV(5, LOCK, DOUBT), ""},
          {EV(103, TIMER, DOUBT), "arm 203"},
          {EV(104, GAVE_UP), ""},
          {EV(203, TIMER, DOUBT), "end"}}},
        {"a tenure that cannot serve another turn: the caller that waits has another, entered "
         "first",
         {0},
         {HELD(LOCK),
          {EV(5, UNLOCK, .ev.must_end = true), "end"},
          {EV(6, LOCK), "enter-watch"},
          {EV(7, LOCK), ""},
          {EV(8, GRANTED, WATCHED), "turn 0"},
          {EV(9, UNLOCK, .ev.must_end = true), "enter end"}}},
        {"the node is gone while idle",
         {0},
         {IDLE, {EV(5, ENDED), ""}, {EV(6, RIVAL), ""}, {EV(7, LOCK), "enter-watch"}}},
        {"the node is gone in a turn: its owner says so in vain",
         {0},
         {HELD(LOCK),
          {EV(5, LOCK), ""},
          {EV(6, ENDED), "enter-watch"},
          {EV(7, UNLOCK), ""},
          {EV(8, GRANTED, WATCHED), "turn 0"}}},
        {"the deadline passes while somebody waits for the end of the doubt",
         {0},
         {IDLE, {EV(5, LOCK, DOUBT), ""}, {EV(6, ENDED, DOUBT), "enter-watch"}}},
        {"it is given up",
         {0},
         {IDLE, {EV(5, YIELD), "end"}, {EV(6, YIELD), ""}, {EV(7, LOCK), "enter-watch"}}},
        {"not what is used", {0}, {HELD(LOCK), {EV(5, YIELD), ""}, {EV(6, UNLOCK), "arm 106"}}},
        {"but what somebody waits for in doubt: that has another",
         {0},
         {IDLE, {EV(5, LOCK, DOUBT), ""}, {EV(6, YIELD), "enter end"}}},
        {"it is closed while idle", {0}, {IDLE, {EV(5, CLOSE), "end"}, {EV(6, TIMER), ""}}},
        {"it is closed while it is used",
         {0},
         {HELD(LOCK), {EV(5, CLOSE), ""}, {EV(6, UNLOCK), "end"}}},
        {"it is closed when there is nothing", {0}, {{EV(1, CLOSE), ""}}},
    };

    retain_play(rows, G_N_ELEMENTS(rows));
}

/* Only what is configured stays. */
TEST_CASE(init)
{
    struct retain r = {.retain_ns = 1,
                       .local_turns = 3,
                       .fence64 = true,
                       .state = RETAIN_TURN,
                       .wanted = true,
                       .payoff = {.off_until = 4}};

    retain_init(&r);
    CHECK_INT(r.retain_ns, 1);
    CHECK_INT(r.local_turns, 3);
    CHECK_INT(r.fence64, true);
    CHECK_INT(r.state, RETAIN_NONE);
    CHECK(payoff_allows(&r.payoff, 3));
    CHECK_INT(retain_invariant(&r), true);
}

/* The diagram. */
TEST_CASE(moves)
{
    static const char *const allowed[RETAIN_STATES] = {
        [RETAIN_NONE] = "entering ",
        [RETAIN_ENTERING] = "none entering turn ",
        [RETAIN_TURN] = "none entering turn idle ",
        [RETAIN_IDLE] = "none entering turn ",
    };

    for (int from = 0; from < RETAIN_STATES; from++) {
        GString *text = g_string_new(NULL);
        for (int to = 0; to < RETAIN_STATES; to++) {
            if (retain_may_move((enum retain_state)from, (enum retain_state)to))
                g_string_append_printf(text, "%s ", retain_state_name((enum retain_state)to));
        }
        CHECK_STR(text->str, allowed[from]);
        g_string_free(text, TRUE);
    }
    CHECK_STR(retain_state_name(RETAIN_STATES), "?");
}

/* Each that does not hold is broken by one thing. */
TEST_CASE(invariant)
{
#define RESTS .state = RETAIN_IDLE, .armed = true
#define WANTED .state = RETAIN_TURN, .wanted = true, .local_turns = 3
    static const struct {
        struct retain r;
        bool holds;
    } rows[] = {
        {{.state = RETAIN_NONE}, true},
        {{.waiting = 1}, false},
        {{.wanted = true}, false},
        {{.watched = true}, false},
        {{.looking = true}, false},
        {{.turn = 1}, false},
        {{.trying = true}, false},
        {{.armed = true, .alone = true, .closed = true}, true},
        {{.state = RETAIN_ENTERING, .waiting = 1, .trying = true}, true},
        {{.state = RETAIN_ENTERING}, false},
        {{.state = RETAIN_ENTERING, .waiting = 1, .wanted = true}, false},
        {{.state = RETAIN_ENTERING, .waiting = 1, .left = true}, true},
        {{.state = RETAIN_TURN, .left = true}, false},
        {{.state = RETAIN_TURN}, true},
        {{.state = RETAIN_TURN, .turn = 1, .waiting = 2, .looking = true}, true},
        {{.state = RETAIN_TURN, .trying = true, .waiting = 1}, false},
        {{.state = RETAIN_TURN, .closed = true}, true},
        {{.state = RETAIN_TURN, .closed = true, .waiting = 1}, false},
        {{WANTED, .payoff = {.kept_from = 1, .found = true}}, true},
        {{.state = RETAIN_TURN, .payoff = {.kept_from = 1}}, false},
        {{.state = RETAIN_TURN, .payoff = {.found = true}}, false},
        {{WANTED, .gate = 2, .waiting = 2}, true},
        {{WANTED, .gate = 3, .waiting = 4}, true},
        {{WANTED, .gate = 3, .waiting = 2}, false},
        {{WANTED, .gate = 4, .waiting = 4}, false},
        {{.state = RETAIN_TURN, .local_turns = 3, .gate = 1, .waiting = 1}, false},
        {{RESTS, .watched = true}, true},
        {{RESTS, .looking = true, .waiting = 1, .trying = true}, true},
        {{RESTS, .looking = true, .trying = true}, false},
        {{RESTS, .looking = true, .waiting = 1, .closed = true}, false},
        {{RESTS}, false},
        {{RESTS, .watched = true, .wanted = true}, false},
        {{.state = RETAIN_IDLE, .watched = true}, false},
    };
#undef RESTS
#undef WANTED

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!CHECK_INT(retain_invariant(&rows[i].r), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}
