/* The machine of a candidacy in exchanges: what it is told, and what it asks for then. */
#include "exchange.h"
#include "recipes/back_off.h"
#include "recipes/candidacy.h"
#include "recipes/machine.h"
#include "runner.h"

#include <glib.h>
#include <stddef.h>

TEST_SUITE(candidacy);

enum { CANDIDACY_STEPS_MAX = 16 };

#define MS(n) ((n)*INT64_C(1000000))

/* By the names that rows give them. */
enum {
    HEARD_TIMER = MACHINE_EV_TIMER,
    HEARD_FIRED = MACHINE_EV_FIRED,
    HEARD_STOP = MACHINE_EV_STOP,
    HEARD_SESSION = MACHINE_EV_SESSION,
    HEARD_OVER = MACHINE_EV_OVER,
    HEARD_ANSWER = MACHINE_EV_ANSWER,
    HEARD_WON = CANDIDACY_EV_WON,
    HEARD_FAILED = CANDIDACY_EV_FAILED,
    HEARD_REVOKED = CANDIDACY_EV_REVOKED,
    HEARD_TERM_TOLD = CANDIDACY_EV_TERM_TOLD,
    HEARD_YIELD = CANDIDACY_EV_YIELD
};

#define EV(name, ...)                                                                              \
    {                                                                                              \
        .kind = HEARD_##name, ##__VA_ARGS__                                                        \
    }
#define FAILED(...) EV(FAILED, .m.why = CANDIDACY_CAUSE_ATTEMPT, ##__VA_ARGS__)
#define TOLD_LOST(...) EV(TERM_TOLD, .unowned = true, .m.lost = true, ##__VA_ARGS__)
#define TOLD_RELEASED(...) EV(TERM_TOLD, .unowned = true, .m.released = true, ##__VA_ARGS__)

/* A list: its number (the first is 1), and who is in it beside the candidate itself. After a rival
 * the list has one more candidate, without a priority: one rival is enough. */
#define LISTED(number, name, ...) EV(ANSWER, .to = (number), .rival = (name), ##__VA_ARGS__)
#define ALONE(number, ...) EV(ANSWER, .to = (number), ##__VA_ARGS__)
#define UNLISTED(number, ...) EV(ANSWER, .to = (number), .rc = STORE_NOAUTH, ##__VA_ARGS__)
#define UNWATCHED(number, ...) EV(ANSWER, .to = (number), .rc = STORE_LIMIT, ##__VA_ARGS__)
#define HIGHER "_c_b-p004-latch-0000000006"
#define EQUAL "_c_b-p003-latch-0000000006"
#define LOWER "_c_b-p002-latch-0000000006"
#define PLAIN "_c_b-latch-0000000006"

struct candidacy_heard {
    unsigned kind, to;
    enum store_rc rc;
    struct candidacy_moment m;
    const char *rival;
    bool unowned; /* the grant was lost, or given back */
};

struct candidacy_step {
    struct candidacy_heard heard;
    const char *acts;
};

struct candidacy_exchange {
    const char *what;
    struct candidacy machine; /* as it begins, if it is another than the table's */
    struct candidacy_step steps[CANDIDACY_STEPS_MAX];
};

/* What the driver has, of one machine. */
struct play {
    struct candidacy c;
    struct exchange exchange;
    struct exchange_request asked[CANDIDACY_STEPS_MAX];
    unsigned count;
    GString *text;
};

static void put_told(GString *text, const struct machine_action *a)
{
    static const char *const words[] = {
        [CANDIDACY_ENTER] = "enter",
        [CANDIDACY_ABORT] = "abort",
        [CANDIDACY_LEAVE] = "leave",
        [CANDIDACY_LEAD] = "lead",
        [CANDIDACY_RESIGN] = "resign",
        [CANDIDACY_FORGET] = "forget",
        [CANDIDACY_ASK] = "ask",
        [CANDIDACY_FAIL] = "fail",
        [CANDIDACY_NOTE] = "note",
        [CANDIDACY_STOP] = "stop",
        [CANDIDACY_STOP_AT_ONCE] = "stop-at-once",
    };
    static const char *const causes[] = {
        [CANDIDACY_CAUSE_NONE] = "none",     [CANDIDACY_CAUSE_ATTEMPT] = "attempt",
        [CANDIDACY_CAUSE_LOST] = "lost",     [CANDIDACY_CAUSE_REFUSED] = "refused",
        [CANDIDACY_CAUSE_CLOSED] = "closed",
    };

    g_string_append(text, words[a->verdict]);
    if (a->verdict >= CANDIDACY_NOTE)
        g_string_append_printf(text, " %s", causes[a->why]);
}

static void put(struct play *p, const struct machine_action *a)
{
    g_string_append(p->text, p->text->len ? " " : "");
    if (a->kind == MACHINE_ACT_TELL) {
        put_told(p->text, a);
    } else if (a->kind == MACHINE_ACT_REQUEST) {
        p->asked[p->count++] = exchange_ask(&p->exchange, a);
        g_string_append_printf(p->text, "list%s %u", a->watch ? "" : "-once", p->count);
    } else if (a->kind == MACHINE_ACT_END) {
        exchange_end(&p->exchange);
        g_string_append(p->text, "end");
    } else {
        CHECK_INT(a->kind, MACHINE_ACT_ARM);
        g_string_append_printf(p->text, "arm %" G_GINT64_FORMAT, a->at / MS(1));
    }
}

#define OWN_NAME "_c_a-p003-latch-0000000005"

/* With what the driver adds. */
static char *play_step(struct play *p, const struct candidacy_heard *heard)
{
    const char *names[] = {heard->rival ? heard->rival : OWN_NAME, OWN_NAME,
                           "_c_c-latch-0000000007"};
    const struct machine_event ev = {.kind = heard->kind, .rc = heard->rc};
    struct candidacy_moment moment = heard->m;
    struct machine_actions actions = {.count = 0};

    p->text = g_string_new(NULL);
    if (heard->to && exchange_is_stale(&p->exchange, p->asked[heard->to - 1]))
        return g_string_free(p->text, FALSE);
    moment.owned = !heard->unowned;
    moment.names = names;
    moment.count = heard->rival ? 3 : 1;
    moment.own = OWN_NAME;
    candidacy_step(&p->c, &ev, &moment, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(p, &actions.list[i]);
    return g_string_free(p->text, FALSE);
}

/* Each from the beginning, as far as there are steps. */
static void play_all(const struct candidacy *machine, const struct candidacy_exchange *rows,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct play p = {.c = rows[i].machine.rule == RULE_NONE ? *machine : rows[i].machine};
        for (int k = 0; k < CANDIDACY_STEPS_MAX && rows[i].steps[k].acts; k++) {
            char *acts = play_step(&p, &rows[i].steps[k].heard);
            exchange_check(acts, rows[i].steps[k].acts, rows[i].what, k);
        }
    }
}

#define AGAIN .rule = RULE_LATCH
#define YIELD AGAIN, .yield = true, .priority = 3
static const struct candidacy again = {AGAIN}, yields = {YIELD};

/* A candidate that does not look wins. */
#define LEADS                                                                                      \
    {EV(TIMER), "enter"},                                                                          \
    {                                                                                              \
        EV(WON), "lead"                                                                            \
    }
/* One that yields wins, and looks for rivals. */
#define WINS                                                                                       \
    {EV(TIMER), "enter"},                                                                          \
    {                                                                                              \
        EV(WON), "list 1"                                                                          \
    }
/* And there is nobody else. */
#define LEADS_ALONE                                                                                \
    WINS,                                                                                          \
    {                                                                                              \
        ALONE(1), "lead"                                                                           \
    }

TEST_CASE(terms)
{
    static const struct candidacy_exchange rows[] = {
        {"one after the other", .steps = {LEADS,
                                          {TOLD_LOST(), "end forget note lost enter"},
                                          {EV(WON), "lead"},
                                          {EV(YIELD), "resign"},
                                          {EV(YIELD, .unowned = true, .m.released = true), ""},
                                          {TOLD_RELEASED(), "end forget note none enter"},
                                          {EV(YIELD), ""}}},
        {"the user yields what was lost: it hears so",
         .steps = {LEADS, {EV(YIELD, .unowned = true), "resign"}}},
        {"the only term is lost",
         {.rule = RULE_LATCH, .once = true},
         {LEADS, {TOLD_LOST(), "end forget note lost stop-at-once lost"}}},
        {"the only term is given back",
         {.rule = RULE_LATCH, .once = true},
         {LEADS, {TOLD_RELEASED(), "end forget note none stop-at-once none"}}},
        {"the session is being closed",
         .steps = {LEADS,
                   {TOLD_LOST(.m.closing = true), "end forget note lost stop-at-once closed"}}},
        {"the credentials are refused meanwhile",
         .steps = {LEADS,
                   {TOLD_LOST(.m.refused = true),
                    "end forget note lost note refused end stop refused"}}},
    };

    play_all(&again, rows, G_N_ELEMENTS(rows));
}

TEST_CASE(failures)
{
    static const struct candidacy_exchange rows[] = {
        {"it backs off, and no longer than half a minute; a term ends that",
         .steps = {{EV(TIMER), "enter"},
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
                   LEADS}},
        {"it begins anew after a term",
         {AGAIN, .back_off_ms = 30000},
         {LEADS,
          {TOLD_LOST(), "end forget note lost enter"},
          {FAILED(), "note attempt fail arm 1000"}}},
        {"not after refused credentials", .steps = {{EV(TIMER), "enter"},
                                                    {EV(FAILED, .m.why = CANDIDACY_CAUSE_REFUSED),
                                                     "note attempt end stop attempt"}}},
        {"not in a closed session",
         .steps = {{EV(TIMER), "enter"},
                   {EV(FAILED, .m.why = CANDIDACY_CAUSE_CLOSED), "note attempt end stop attempt"}}},
        {"credentials refused before it begins",
         .steps = {{EV(TIMER, .m.refused = true), "note refused end stop refused"}}},
    };

    play_all(&again, rows, G_N_ELEMENTS(rows));
}

TEST_CASE(back_off)
{
    CHECK_INT(back_off_next(0), BACK_OFF_FIRST_MS);
    CHECK_INT(back_off_next(1000), 2000);
    CHECK_INT(back_off_next(14999), 29998);
    CHECK_INT(back_off_next(15000), BACK_OFF_LAST_MS);
    CHECK_INT(back_off_next(BACK_OFF_LAST_MS), BACK_OFF_LAST_MS);
}

/* Attempts to connect: never more than 20 a second, nor an eighth of what is left; without a
 * deadline ahead pauses grow to a quarter of the timeout, at least 1 s and at most 5. */
TEST_CASE(back_off_rounds)
{
    static const struct {
        unsigned rounds, servers;
        int64_t left_ms, timeout_ms, least, most;
    } rows[] = {
        {0, 1, 8000, 10000, 50, 50},    {1, 1, 8000, 10000, 50, 100},
        {2, 1, 8000, 10000, 100, 200},  {4, 1, 8000, 10000, 400, 800},
        {5, 1, 8000, 10000, 500, 1000}, {1000, 1, 8000, 10000, 500, 1000},
        {5, 1, 4000, 10000, 250, 500},  {5, 1, 400, 10000, 50, 50},
        {5, 7, 1, 10000, 350, 350},     {0, 7, 8000, 10000, 350, 350},
        {5, 1, 0, 10000, 500, 1000},    {12, 1, 0, 60000, 500, 1000},
        {24, 1, 0, 60000, 1000, 2000},  {24, 1, 60000, 60000, 500, 1000},
        {60, 1, 0, 60000, 2500, 5000},  {4000000, 1, 0, 60000, 2500, 5000},
        {30, 1, 0, 10000, 1250, 2500},  {1000, 1, 0, 10000, 1250, 2500},
        {1000, 1, 0, 2000, 500, 1000},  {1000, 100, 0, 10000, 5000, 5000},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        int64_t least = INT64_MAX, most = 0;
        for (uint32_t chance = 0; chance < 6000; chance++) {
            const int64_t ms = back_off_round(rows[i].rounds, rows[i].servers, rows[i].left_ms,
                                              rows[i].timeout_ms, chance);
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
         .steps = {{EV(TIMER), "enter"},
                   {FAILED(), "note attempt fail arm 1000"},
                   {EV(STOP), "end stop none"}}},
        {"in line: what the attempt says to that is endd",
         .steps = {{EV(TIMER), "enter"},
                   {EV(STOP), "note none abort end stop none"},
                   {FAILED(), ""}}},
        {"in line, with the session",
         .steps = {{EV(TIMER), "enter"},
                   {EV(STOP, .m.closed = true), "note closed abort end stop closed"}}},
        {"while it checks: the list is stale then",
         {YIELD},
         {WINS,
          {EV(YIELD), ""},
          {EV(STOP), "note none leave end stop none"},
          {LISTED(1, HIGHER), ""}}},
        {"while it passes",
         {YIELD},
         {WINS,
          {LISTED(1, HIGHER, .m.now = MS(5)), "end arm 5"},
          {EV(YIELD), ""},
          {EV(STOP), "note none leave end stop none"}}},
        {"while it leads: the end of the term is told first",
         .steps = {LEADS,
                   {EV(STOP), "resign"},
                   {EV(YIELD), ""},
                   {TOLD_RELEASED(), "end forget note none stop-at-once none"}}},
        {"with the session, the term was lost",
         .steps = {LEADS,
                   {EV(STOP, .m.closed = true, .unowned = true), "resign"},
                   {TOLD_LOST(.m.closing = true), "end forget note lost stop-at-once closed"}}},
        {"and the user has begun another, of which the handle tells from then on",
         .steps = {LEADS,
                   {EV(STOP), "resign"},
                   {TOLD_LOST(.m.superseded = true), "end forget stop-at-once none"}}},
        {"asked before",
         {YIELD},
         {LEADS_ALONE,
          {EV(FIRED), "list 2"},
          {LISTED(2, HIGHER), "end ask"},
          {EV(STOP), "resign"},
          {TOLD_RELEASED(), "end forget note none stop-at-once none"}}},
        {"who is stopping is not asked, nor arms a timer",
         {YIELD},
         {LEADS_ALONE,
          {EV(STOP), "resign"},
          {EV(FIRED, .unowned = true), "list 2"},
          {LISTED(2, HIGHER, .unowned = true), ""},
          {EV(SESSION, .unowned = true), ""},
          {EV(TIMER, .unowned = true), "list 3"},
          {UNWATCHED(3, .unowned = true), "list-once 4"}}},
    };

    play_all(&again, rows, G_N_ELEMENTS(rows));
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

/* ---- rivals ---- */

#define ZERO .rule = RULE_LATCH, .yield = true

TEST_CASE(winners)
{
    static const struct candidacy_exchange rows[] = {
        {"a higher priority passes, and is waited for",
         .steps = {WINS,
                   {LISTED(1, HIGHER, .m.now = MS(9)), "end arm 9"},
                   {EV(TIMER), "leave enter"},
                   {EV(WON), "list 2"},
                   {ALONE(2), "lead"}}},
        {"no other does", .steps = {WINS, {LISTED(1, EQUAL), "lead"}}},
        {"nor one of lower priority", .steps = {WINS, {LISTED(1, LOWER), "lead"}}},
        {"nor one without a priority", .steps = {WINS, {LISTED(1, PLAIN), "lead"}}},
        {"nor one of those where this one has none", {ZERO}, {WINS, {LISTED(1, PLAIN), "lead"}}},
        {"any priority passes one that has none", {ZERO}, {WINS, {LISTED(1, LOWER), "end arm 0"}}},
        {"a lock of that priority is no candidate",
         .steps = {WINS, {LISTED(1, "_c_b-p004-lock-0000000006"), "lead"}}},
        {"who cannot find out leads, and tries to soon",
         .steps = {WINS,
                   {UNLISTED(1), "lead list 2"},
                   {UNLISTED(2, .m.now = MS(5)), "arm 1005"},
                   {EV(TIMER, .m.now = MS(1005)), "list 3"},
                   {ALONE(3, .m.now = MS(1006)), ""}}},
        {"the grant is lost meanwhile: it was never told of",
         .steps = {WINS, {ALONE(1, .unowned = true), "end arm 0"}, {EV(TIMER), "leave enter"}}},
        {"the session is over",
         .steps = {WINS,
                   {EV(OVER), "end arm 0"},
                   {EV(TIMER, .m.refused = true), "leave note refused end stop refused"}}},
        {"no watch to be had", .steps = {WINS,
                                         {UNWATCHED(1), "list-once 2"},
                                         {ALONE(2), "lead list 3"},
                                         {UNWATCHED(3), "list-once 4 arm 1000"}}},
        {"without that option there is no look", {.rule = RULE_LATCH, .priority = 3}, {LEADS}},
    };

    play_all(&yields, rows, G_N_ELEMENTS(rows));
}

TEST_CASE(leaders)
{
    static const struct candidacy_exchange rows[] = {
        {"asked once a term, which the next one may be again",
         .steps = {LEADS_ALONE,
                   {EV(FIRED), "list 2"},
                   {LISTED(2, EQUAL), ""},
                   {EV(FIRED), "list 3"},
                   {LISTED(3, HIGHER), "end ask"},
                   {LISTED(3, HIGHER), ""},
                   {EV(YIELD), "resign"},
                   {TOLD_RELEASED(), "end forget note none enter"},
                   {EV(WON), "list 4"},
                   {ALONE(4), "lead"},
                   {EV(FIRED), "list 5"},
                   {LISTED(5, HIGHER), "end ask"}}},
        {"answers to older lists are stale", .steps = {LEADS_ALONE,
                                                       {EV(FIRED), "list 2"},
                                                       {TOLD_LOST(), "end forget note lost enter"},
                                                       {LISTED(2, HIGHER), ""},
                                                       {EV(WON), "list 3"},
                                                       {LISTED(2, HIGHER), ""},
                                                       {ALONE(3), "lead"}}},
        {"what was seen in the last term is not of this one",
         .steps = {WINS,
                   {LISTED(1, HIGHER), "end arm 0"},
                   {EV(TIMER), "leave enter"},
                   {EV(WON), "list 2"},
                   {UNLISTED(2), "lead list 3"}}},
        {"not asked after a loss", .steps = {LEADS_ALONE,
                                             {EV(FIRED), "list 2"},
                                             {LISTED(2, HIGHER, .unowned = true), ""},
                                             {EV(SESSION, .unowned = true), ""},
                                             {EV(TIMER, .unowned = true), "list 3"},
                                             {UNWATCHED(3, .unowned = true), "list-once 4"}}},
        {"asked by its node, which needs no rival and no option, and once",
         {.rule = RULE_LATCH},
         {LEADS,
          {EV(REVOKED), "end ask"},
          {EV(REVOKED), ""},
          {EV(YIELD), "resign"},
          {TOLD_RELEASED(), "end forget note none enter"},
          {EV(WON), "lead"},
          {EV(REVOKED), "end ask"}}},
        {"asked before it leads: as soon as it does",
         .steps = {WINS, {EV(REVOKED), ""}, {ALONE(1), "lead end ask"}}},
        {"asked by its node while a list is awaited, and not again for the rival in it",
         .steps = {LEADS_ALONE,
                   {EV(FIRED), "list 2"},
                   {EV(REVOKED), "end ask"},
                   {LISTED(2, HIGHER), ""}}},
        {"asked for a rival, and not again by its node", .steps = {LEADS_ALONE,
                                                                   {EV(FIRED), "list 2"},
                                                                   {LISTED(2, HIGHER), "end ask"},
                                                                   {EV(REVOKED), ""}}},
        {"not asked by its node after a loss, nor when it passes",
         .steps = {WINS,
                   {LISTED(1, HIGHER), "end arm 0"},
                   {EV(REVOKED), ""},
                   {EV(TIMER), "leave enter"},
                   {EV(WON), "list 2"},
                   {ALONE(2), "lead"},
                   {EV(REVOKED, .unowned = true), ""}}},
        {"no watch to be had: a list a second",
         .steps = {WINS,
                   {UNLISTED(1), "lead list 2"},
                   {UNWATCHED(2, .m.now = MS(100)), "list-once 3 arm 1100"},
                   {EV(TIMER, .m.now = MS(1100)), "list 4"},
                   {ALONE(3), ""},
                   {UNWATCHED(4, .m.now = MS(1100)), "list-once 5 arm 2100"},
                   {LISTED(5, HIGHER, .m.now = MS(1101)), "end ask"}}},
    };

    play_all(&yields, rows, G_N_ELEMENTS(rows));
}
