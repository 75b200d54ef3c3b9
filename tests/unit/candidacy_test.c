/* The machine of a candidacy: campaigns, ends, its diagram. */
#include "candidacy_play.h"
#include "recipes/back_off.h"
#include "runner.h"

#include <glib.h>

TEST_SUITE(candidacy);

#define AGAIN .rule = RULE_LATCH
#define YIELD AGAIN, .yield = true, .priority = 3

TEST_CASE(terms)
{
    static const struct candidacy_exchange rows[] = {
        {"one after the other",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {TOLD_LOST(), "end forget note lost enter"},
          {EV(WON), "lead"},
          {EV(YIELD), "resign"},
          {EV(YIELD, .unowned = true, .m.released = true), ""},
          {TOLD_RELEASED(), "end forget note none enter"},
          {EV(YIELD), ""}}},
        {"the user yields what was lost: it hears so",
         {AGAIN},
         {{EV(TIMER), "enter"}, {EV(WON), "lead"}, {EV(YIELD, .unowned = true), "resign"}}},
        {"the only term is lost",
         {.rule = RULE_LATCH, .once = true},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {TOLD_LOST(), "end forget note lost stop-behind lost"}}},
        {"the only term is given back",
         {.rule = RULE_LATCH, .once = true},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {TOLD_RELEASED(), "end forget note none stop-behind none"}}},
        {"the session is being closed",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {TOLD_LOST(.m.closing = true), "end forget note lost stop-behind closed"}}},
        {"the credentials are refused meanwhile",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {TOLD_LOST(.m.refused = true), "end forget note lost note refused end stop refused"}}},
    };

    candidacy_play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(failures)
{
    static const struct candidacy_exchange rows[] = {
        {"it backs off, and no longer than half a minute; a term ends that",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {FAILED(.m.now = MS(7)), "note attempt fail arm 1007"},
          {EV(TIMER), "enter"},
          {FAILED(), "note attempt fail arm 2000"},
          {EV(TIMER), "enter"},
          {FAILED(), "note attempt fail arm 4000"},
          {EV(TIMER), "enter"},
          {FAILED(), "note attempt fail arm 8000"},
          {EV(TIMER), "enter"},
          {FAILED(), "note attempt fail arm 16000"},
          {EV(TIMER), "enter"},
          {FAILED(), "note attempt fail arm 30000"},
          {EV(TIMER), "enter"},
          {FAILED(), "note attempt fail arm 30000"},
          {EV(TIMER), "enter"},
          {EV(WON), "lead"}}},
        {"it begins anew after a term",
         {AGAIN, .back_off_ms = 30000},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {TOLD_LOST(), "end forget note lost enter"},
          {FAILED(), "note attempt fail arm 1000"}}},
        {"not after refused credentials",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(FAILED, .m.why = CANDIDACY_CAUSE_REFUSED), "note attempt end stop attempt"}}},
        {"not in a closed session",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(FAILED, .m.why = CANDIDACY_CAUSE_CLOSED), "note attempt end stop attempt"}}},
        {"credentials refused before it begins",
         {AGAIN},
         {{EV(TIMER, .m.refused = true), "note refused end stop refused"}}},
    };

    candidacy_play(rows, G_N_ELEMENTS(rows));
}

TEST_CASE(back_off)
{
    CHECK_INT(back_off_next(0), BACK_OFF_FIRST_MS);
    CHECK_INT(back_off_next(1000), 2000);
    CHECK_INT(back_off_next(14999), 29998);
    CHECK_INT(back_off_next(15000), BACK_OFF_LAST_MS);
    CHECK_INT(back_off_next(BACK_OFF_LAST_MS), BACK_OFF_LAST_MS);
}

/* Attempts to connect: never more than 20 a second, nor an eighth of what is left. */
TEST_CASE(back_off_rounds)
{
    static const struct {
        unsigned rounds, servers;
        int64_t left_ms, least, most;
    } rows[] = {
        {0, 1, 8000, 50, 50},      {1, 1, 8000, 50, 100},      {2, 1, 8000, 100, 200},
        {4, 1, 8000, 400, 800},    {5, 1, 8000, 500, 1000},    {1000, 1, 8000, 500, 1000},
        {5, 1, 4000, 250, 500},    {5, 1, 400, 50, 50},        {5, 7, 1, 350, 350},
        {0, 7, 8000, 350, 350},    {5, 1, 0, 500, 1000},       {124, 1, 0, 500, 1000},
        {125, 1, 0, 2500, 5000},   {125, 1, 60000, 500, 1000}, {1000000, 1, 0, 2500, 5000},
        {125, 100, 0, 5000, 5000},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        int64_t least = INT64_MAX, most = 0;
        for (uint32_t chance = 0; chance < 6000; chance++) {
            const int64_t ms =
                back_off_round(rows[i].rounds, rows[i].servers, rows[i].left_ms, chance);
            least = MIN(least, ms);
            most = MAX(most, ms);
        }
        if (least != rows[i].least || most != rows[i].most)
            runner_fail(__FILE__, __LINE__, "row %zu: %d to %d", i, (int)least, (int)most);
    }
}

TEST_CASE(stops)
{
    static const struct candidacy_exchange rows[] = {
        {"while it backs off: why it does stays known",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {FAILED(), "note attempt fail arm 1000"},
          {EV(STOP), "end stop none"}}},
        {"in line: what the attempt says to that is endd",
         {AGAIN},
         {{EV(TIMER), "enter"}, {EV(STOP), "note none abort end stop none"}, {FAILED(), ""}}},
        {"in line, with the session",
         {AGAIN},
         {{EV(TIMER), "enter"}, {EV(STOP, .m.closed = true), "note closed abort end stop closed"}}},
        {"while it checks: the list is stale then",
         {YIELD},
         {{EV(TIMER), "enter"},
          {EV(WON), "list 1"},
          {EV(YIELD), ""},
          {EV(STOP), "note none leave end stop none"},
          {LISTED(1, HIGHER), ""}}},
        {"while it passes",
         {YIELD},
         {{EV(TIMER), "enter"},
          {EV(WON), "list 1"},
          {LISTED(1, HIGHER, .m.now = MS(5)), "end arm 5"},
          {EV(YIELD), ""},
          {EV(STOP), "note none leave end stop none"}}},
        {"while it leads: the end of the term is told first",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {EV(STOP), "resign"},
          {EV(YIELD), ""},
          {TOLD_RELEASED(), "end forget note none stop-behind none"}}},
        {"with the session, the term was lost",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {EV(STOP, .m.closed = true, .unowned = true), "resign"},
          {TOLD_LOST(.m.closing = true), "end forget note lost stop-behind closed"}}},
        {"and the user has begun another, of which the handle tells from then on",
         {AGAIN},
         {{EV(TIMER), "enter"},
          {EV(WON), "lead"},
          {EV(STOP), "resign"},
          {TOLD_LOST(.m.superseded = true), "end forget stop-behind none"}}},
        {"asked before",
         {YIELD},
         {{EV(TIMER), "enter"},
          {EV(WON), "list 1"},
          {ALONE(1), "lead"},
          {EV(FIRED), "list 2"},
          {LISTED(2, HIGHER), "end ask"},
          {EV(STOP), "resign"},
          {TOLD_RELEASED(), "end forget note none stop-behind none"}}},
        {"who is stopping is not asked, nor arms a timer",
         {YIELD},
         {{EV(TIMER), "enter"},
          {EV(WON), "list 1"},
          {ALONE(1), "lead"},
          {EV(STOP), "resign"},
          {EV(FIRED, .unowned = true), "list 2"},
          {LISTED(2, HIGHER, .unowned = true), ""},
          {EV(SESSION, .unowned = true), ""},
          {EV(TIMER, .unowned = true), "list 3"},
          {UNWATCHED(3, .unowned = true), "list-once 4"}}},
    };

    candidacy_play(rows, G_N_ELEMENTS(rows));
}

/* The diagram. */
TEST_CASE(moves)
{
    static const char *const allowed[CANDIDACY_STATES] = {
        [CANDIDACY_PAUSED] = "queued over ",
        [CANDIDACY_QUEUED] = "paused checking leading over ",
        [CANDIDACY_CHECKING] = "passing leading over ",
        [CANDIDACY_PASSING] = "queued over ",
        [CANDIDACY_LEADING] = "queued asked stopping over ",
        [CANDIDACY_ASKED] = "queued stopping over ",
        [CANDIDACY_STOPPING] = "over ",
        [CANDIDACY_OVER] = "",
    };

    for (int from = 0; from < CANDIDACY_STATES; from++) {
        GString *text = g_string_new(NULL);
        for (int to = 0; to < CANDIDACY_STATES; to++) {
            if (candidacy_may_move((enum candidacy_state)from, (enum candidacy_state)to))
                g_string_append_printf(text, "%s ", candidacy_state_name((enum candidacy_state)to));
        }
        CHECK_STR(text->str, allowed[from]);
        g_string_free(text, TRUE);
    }
    CHECK_STR(candidacy_state_name(CANDIDACY_STATES), "?");
}

/* Each that does not hold is broken by one thing. */
TEST_CASE(invariant)
{
#define CHECKING .state = CANDIDACY_CHECKING, .yield = true
#define ASKED .state = CANDIDACY_ASKED, .yield = true, .higher = true
    static const struct {
        struct candidacy c;
        bool holds;
    } rows[] = {
        {{.state = CANDIDACY_PAUSED}, true},
        {{.back_off_ms = BACK_OFF_FIRST_MS}, true},
        {{.back_off_ms = BACK_OFF_LAST_MS}, true},
        {{.back_off_ms = BACK_OFF_FIRST_MS - 1}, false},
        {{.back_off_ms = BACK_OFF_LAST_MS + 1}, false},
        {{.watched = true}, false},
        {{.cause = CANDIDACY_CAUSE_CLOSED}, false},
        {{.state = CANDIDACY_QUEUED, .back_off_ms = 2000}, true},
        {{.state = CANDIDACY_QUEUED, .watched = true}, false},
        {{CHECKING, .back_off_ms = 2000, .watched = true}, true},
        {{.state = CANDIDACY_CHECKING}, false},
        {{.state = CANDIDACY_PASSING, .yield = true}, true},
        {{.state = CANDIDACY_PASSING}, false},
        {{.state = CANDIDACY_PASSING, .yield = true, .watched = true}, false},
        {{.state = CANDIDACY_LEADING, .watched = true}, true},
        {{.state = CANDIDACY_LEADING, .back_off_ms = 2000}, false},
        {{.state = CANDIDACY_LEADING, .cause = CANDIDACY_CAUSE_CLOSED}, false},
        {{ASKED}, true},
        {{ASKED, .watched = true}, false},
        {{ASKED, .back_off_ms = 2000}, false},
        {{.state = CANDIDACY_ASKED}, false},
        {{.state = CANDIDACY_ASKED, .revoked = true}, true},
        {{.state = CANDIDACY_ASKED, .higher = true}, false},
        {{.state = CANDIDACY_STOPPING, .cause = CANDIDACY_CAUSE_CLOSED, .watched = true}, true},
        {{.state = CANDIDACY_STOPPING, .back_off_ms = 2000}, false},
        {{.state = CANDIDACY_OVER, .cause = CANDIDACY_CAUSE_CLOSED}, true},
        {{.state = CANDIDACY_OVER, .back_off_ms = 2000}, true},
        {{.state = CANDIDACY_OVER, .watched = true}, false},
    };
#undef CHECKING
#undef ASKED

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!CHECK_INT(candidacy_invariant(&rows[i].c), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}
