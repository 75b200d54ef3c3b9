/* The machine of fenced transactions in exchanges: what it is told, and what it asks for then. */
#include "exchange.h"
#include "recipes/transaction.h"
#include "runner.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>

TEST_SUITE(transaction);

enum { EXCHANGE_MAX = 16 };

/* With what is so at that moment. */
struct told {
    struct machine_event ev;
    struct transaction_moment now;
};

#define HAPPENS(name, ...)                                                                         \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_##name, ##__VA_ARGS__ }                                          \
    }
#define BEGIN(...)                                                                                 \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_BEGIN, .connection = 1}, .now = {.number = 0, ##__VA_ARGS__ }    \
    }
#define UNHEARD HAPPENS(BEGIN) /* on a connection that has answered nothing yet */
#define STOP HAPPENS(STOP)
#define STOP_UNSENT HAPPENS(STOP, .unsent = true)
#define SESSION HAPPENS(SESSION)
#define SESSION_UNSENT HAPPENS(SESSION, .unsent = true)
#define ANSWERED(asked, code, ...)                                                                 \
    HAPPENS(ANSWER, .verb = STORE_##asked, .rc = STORE_##code, .connection = 1, ##__VA_ARGS__)
#define APPLIED ANSWERED(MULTI, OK)
#define OUTDATED ANSWERED(MULTI, BADVERSION)
#define REFUSED(change) ANSWERED(MULTI, NOCHILDREN, .failed = (change))
#define LOST ANSWERED(MULTI, UNKNOWN)
#define UNSENT ANSWERED(MULTI, UNKNOWN, .unsent = true)
#define NO_NODE ANSWERED(MULTI, NONODE)
#define UNREAD(code) ANSWERED(GET, code)
#define READ(v, n, ...)                                                                            \
    {                                                                                              \
        .ev = {.kind = MACHINE_EV_ANSWER, .verb = STORE_GET, .connection = 1, .version = (v)},     \
        .now = {                                                                                   \
            .number = (n),                                                                         \
            ##__VA_ARGS__                                                                          \
        }                                                                                          \
    }

struct exchange_row {
    const char *what;
    struct {
        struct told told;
        const char *acts;
    } steps[EXCHANGE_MAX];
};

static const char *word_of(const struct transaction *t, const struct machine_action *a)
{
    static const char *const verdicts[] = {
        [TX_TOLD_APPLIED] = "applied", [TX_TOLD_LOST] = "lost", [TX_TOLD_LATE] = "late",
        [TX_TOLD_UNKNOWN] = "unknown", [TX_ENDED] = "end",      [TX_ENDED_GONE] = "gone"};

    if (a->kind == MACHINE_ACT_TELL)
        return verdicts[a->verdict];
    CHECK(a->kind == MACHINE_ACT_REQUEST && a->node == 0);
    if (a->verb == STORE_GET)
        return "read";
    CHECK(a->verb == STORE_MULTI && a->once && a->connection == 1);
    CHECK(a->count == 1 && a->parts[0].verb == STORE_SET);
    CHECK_INT(a->rest, t->state != TX_SEALING);
    return a->rest ? "send" : "seal";
}

static void put(GString *text, const struct transaction *t, const struct machine_action *a)
{
    if (a->kind == MACHINE_ACT_END)
        return;
    g_string_append(text, text->len ? " " : "");
    if (a->kind == MACHINE_ACT_TELL && a->verdict == TX_TOLD_REFUSED)
        g_string_append_printf(text, "refused %d:%d", (int)a->rc, t->failed);
    else
        g_string_append(text, word_of(t, a));
    if (a->kind == MACHINE_ACT_REQUEST && a->verb == STORE_MULTI)
        g_string_append_printf(text, " %u@%d", transaction_written(t), a->parts[0].version);
}

/* What it asks for then, in words; g_free() it. */
static char *play_step(struct transaction *t, const struct told *told)
{
    struct machine_actions actions = {.count = 0};
    GString *text = g_string_new(NULL);

    transaction_step(t, &told->ev, &told->now, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        put(text, t, &actions.list[i]);
    return g_string_free(text, FALSE);
}

static void play(const struct exchange_row *x)
{
    struct transaction t = {.state = TX_IDLE};

    for (int i = 0; i < EXCHANGE_MAX && x->steps[i].acts; i++) {
        char *acts = play_step(&t, &x->steps[i].told);
        exchange_check(acts, x->steps[i].acts, x->what, i);
    }
}

/* Each from the beginning, as far as there are steps. */
static void play_all(const struct exchange_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&rows[i]);
}

#define UNANSWERED                                                                                 \
    {BEGIN(), "send 1@0"},                                                                         \
    {                                                                                              \
        LOST, "read"                                                                               \
    }
/* Not applied yet, so it is sent once more. */
#define SENT_AGAIN                                                                                 \
    UNANSWERED,                                                                                    \
    {                                                                                              \
        READ(0, 0), "send 1@0"                                                                     \
    }
/* An earlier one ended as unknown, and may still come; the answer to the second is lost. */
#define ANOTHER_UNKNOWN                                                                            \
    {BEGIN(), "send 1@0"}, {STOP, "unknown"}, {LOST, "end"}, {BEGIN(), "read"},                    \
        {READ(0, 0), "send 2@0"},                                                                  \
    {                                                                                              \
        LOST, "read"                                                                               \
    }

TEST_CASE(without_doubt)
{
    static const struct exchange_row rows[] = {
        {"one after the other",
         {{BEGIN(), "send 1@0"},
          {APPLIED, "applied end"},
          {BEGIN(), "send 2@1"},
          {REFUSED(2), "refused 5:2 end"},
          {BEGIN(), "send 3@1"},
          {APPLIED, "applied end"},
          {BEGIN(.release = true), "send 4@2"},
          {APPLIED, "applied gone"}}},
        {"a connection that was not heard",
         {{UNHEARD, "read"},
          {READ(0, 0), "send 1@0"},
          {UNSENT, "read"},
          {READ(4, 0), "send 1@4"},
          {APPLIED, "applied end"},
          {BEGIN(), "send 2@5"}}},
        {"a read that lags, and one that is refused, of a version that is known",
         {{BEGIN(), "send 1@0"},
          {APPLIED, "applied end"},
          {UNHEARD, "read"},
          {READ(0, 0), "send 2@1"},
          {APPLIED, "applied end"},
          {UNHEARD, "read"},
          {UNREAD(NOCHILDREN), "send 3@2"}}},
        {"others write to it",
         {{BEGIN(), "send 1@0"},
          {OUTDATED, "read"},
          {READ(3, 0), "send 1@3"},
          {OUTDATED, "read"},
          {READ(3, 0), "send 1@4"},
          {OUTDATED, "refused 3:0 end"},
          {BEGIN(), "read"},
          {READ(7, 0), "send 2@7"},
          {OUTDATED, "read"},
          {UNREAD(NOCHILDREN), "refused 5:0 end"}}},
        {"the fence is refused: its version may have changed",
         {{BEGIN(), "send 1@0"},
          {REFUSED(0), "refused 5:0 end"},
          {BEGIN(), "read"},
          {UNREAD(NOTEMPTY), "refused 6:0 end"}}},
        {"no node", {{BEGIN(), "send 1@0"}, {NO_NODE, "lost gone"}}},
        {"no node to be read", {{UNHEARD, "read"}, {UNREAD(NONODE), "lost gone"}}},
        {"a session that ended meanwhile",
         {{UNHEARD, "read"},
          {SESSION, "lost gone"},
          {BEGIN(), "send 1@0"},
          {SESSION_UNSENT, "lost gone"},
          {SESSION, ""},
          {STOP, ""}}},
        {"a grant that was lost before, or meanwhile",
         {{BEGIN(.lost = true), "lost end"},
          {UNHEARD, "read"},
          {READ(0, 0, .lost = true), "lost end"}}},
        {"time that was over before it was sent",
         {{BEGIN(.told = true), "end"},
          {UNHEARD, "read"},
          {STOP, "late"},
          {READ(0, 0), "end"},
          {BEGIN(), "send 1@0"},
          {OUTDATED, "read"},
          {STOP, "late"},
          {READ(1, 0), "end"},
          {BEGIN(.told = true, .release = true), "end"},
          {BEGIN(), "send 2@1"},
          {STOP_UNSENT, "late end"},
          {BEGIN(), "send 3@1"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* Behind the last version comes none that could prove anything. */
TEST_CASE(last_version)
{
    static const struct {
        struct told told;
        const char *acts;
    } rows[] = {
        {BEGIN(), "send 1@2147483647"},
        {LOST, "read"},
        {READ(INT32_MIN, 1), "send 1@2147483647"},
        {OUTDATED, "read"},
        {READ(INT32_MAX, 1), "send 1@2147483647"},
        {APPLIED, "applied end"},
    };
    struct transaction t = {.version = INT32_MAX};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *acts = play_step(&t, &rows[i].told);
        CHECK_STR(acts, rows[i].acts);
        g_free(acts);
    }
    CHECK_INT(t.version, INT32_MAX);
}

/* The diagram. */
TEST_CASE(moves)
{
    static const char *const allowed[TX_COUNT] = {
        [TX_IDLE] = "idle reading sent ",       [TX_READING] = "idle sent ",
        [TX_SENT] = "idle reading doubting ",   [TX_DOUBTING] = "idle sent resent ",
        [TX_RESENT] = "idle doubting sealing ", [TX_SEALING] = "idle checking ",
        [TX_CHECKING] = "idle sealing ",
    };

    for (int from = 0; from < TX_COUNT; from++) {
        GString *text = g_string_new(NULL);
        for (int to = 0; to < TX_COUNT; to++) {
            if (transaction_may_move((enum transaction_state)from, (enum transaction_state)to))
                g_string_append_printf(text, "%s ",
                                       transaction_state_name((enum transaction_state)to));
        }
        CHECK_STR(text->str, allowed[from]);
        g_string_free(text, TRUE);
    }
    CHECK_STR(transaction_state_name(TX_COUNT), "?");
}

/* Each but the first of a kind is broken by one thing. */
TEST_CASE(invariant)
{
#define SENT .state = TX_SENT, .numbers = 1, .number = 1
#define DOUBT .numbers = 1, .number = 1, .failures = 1, .asked = 4, .version = 4
#define SEALED .numbers = 2, .number = 1, .seal = 2, .failures = 1
    static const struct {
        struct transaction t;
        bool holds;
    } rows[] = {
        {{.state = TX_IDLE}, true},
        {{.state = TX_IDLE, .numbers = 1, .told = true}, true},
        {{.state = TX_IDLE, .numbers = 1}, false},
        {{.state = TX_READING}, true},
        {{.state = TX_READING, .version = 3, .asked = 3}, true},
        {{.state = TX_READING, .version = 3, .asked = 4}, false},
        {{.state = TX_READING, .number = 1}, false},
        {{.state = TX_READING, .numbers = 1, .seal = 1}, false},
        {{.state = TX_READING, .failures = 3}, true},
        {{.state = TX_READING, .failures = 4}, false},
        {{SENT}, true},
        {{SENT, .version = 1}, false},
        {{SENT, .seal = 2}, false},
        {{.state = TX_SENT}, false},
        {{.state = TX_DOUBTING, DOUBT}, true},
        {{.state = TX_DOUBTING, .numbers = 1, .number = 1}, false},
        {{.state = TX_DOUBTING, .failures = 1}, false},
        {{.state = TX_DOUBTING, SEALED}, false},
        {{.state = TX_RESENT, DOUBT}, true},
        {{.state = TX_RESENT, .numbers = 1, .number = 1}, false},
        {{.state = TX_RESENT, .numbers = 1, .number = 1, .failures = 1, .version = 1}, false},
        {{.state = TX_SEALING, SEALED}, true},
        {{.state = TX_SEALING, SEALED, .version = 1}, false},
        {{.state = TX_SEALING, DOUBT}, false},
        {{.state = TX_SEALING, .numbers = 2, .number = 2, .seal = 2, .failures = 1}, false},
        {{.state = TX_SEALING, .numbers = 2, .number = 2, .seal = 1, .failures = 1}, false},
        {{.state = TX_SEALING, .numbers = 1, .number = 1, .seal = 2, .failures = 1}, false},
        {{.state = TX_SEALING, .numbers = 2, .number = 1, .seal = 2}, false},
        {{.state = TX_CHECKING, SEALED}, true},
        {{.state = TX_CHECKING, SEALED, .version = 1}, true},
        {{.state = TX_CHECKING, .numbers = 2, .number = 1, .seal = 2}, false},
    };
#undef SENT
#undef DOUBT
#undef SEALED

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!CHECK_INT(transaction_invariant(&rows[i].t), rows[i].holds))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

/* ---- answers are lost ---- */

TEST_CASE(in_doubt)
{
    static const struct exchange_row rows[] = {
        {"applied, and only the answer lost",
         {UNANSWERED, {READ(1, 1), "applied end"}, {BEGIN(), "send 2@1"}}},
        {"sent again for the same version until that is used up",
         {SENT_AGAIN,
          {UNSENT, "read"},
          {READ(0, 0), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {LOST, "unknown end"},
          {BEGIN(), "read"}}},
        {"the second is outdated by the first",
         {SENT_AGAIN, {OUTDATED, "read"}, {READ(1, 1), "applied end"}}},
        {"used up, but not to be seen",
         {SENT_AGAIN, {OUTDATED, "read"}, {READ(0, 0), "unknown end"}}},
        {"used up by an earlier one, so it was not applied",
         {ANOTHER_UNKNOWN, {READ(1, 1), "send 2@1"}, {LOST, "read"}, {READ(2, 2), "applied end"}}},
        {"and the grant is lost by then",
         {ANOTHER_UNKNOWN, {READ(1, 1, .lost = true), "lost end"}}},
        {"which is not its failure: it is sent again as often as any",
         {ANOTHER_UNKNOWN,
          {READ(0, 0), "send 2@0"},
          {LOST, "read"},
          {READ(0, 0), "send 2@0"},
          {OUTDATED, "read"},
          {READ(1, 1), "send 2@1"},
          {LOST, "read"},
          {READ(1, 1), "send 2@1"},
          {LOST, "read"},
          {READ(1, 1), "send 2@1"},
          {LOST, "unknown end"}}},
        {"used up by others",
         {UNANSWERED,
          {READ(1, 0), "unknown end"},
          {BEGIN(), "send 2@1"},
          {LOST, "read"},
          {READ(2, 3), "unknown end"},
          {BEGIN(), "send 3@2"},
          {LOST, "read"},
          {READ(4, 3), "unknown end"}}},
        {"given back, there would be no node",
         {{BEGIN(.release = true), "send 1@0"}, {LOST, "read"}, {READ(1, 1), "unknown end"}}},
        {"no node any more", {UNANSWERED, {UNREAD(NONODE), "unknown gone"}}},
        {"no node any more, at the second", {SENT_AGAIN, {NO_NODE, "unknown gone"}}},
        {"the session ends",
         {{BEGIN(), "send 1@0"},
          {SESSION, "unknown end"},
          {BEGIN(), "send 2@0"},
          {LOST, "read"},
          {SESSION, "unknown gone"},
          {BEGIN(), "read"},
          {READ(0, 0), "send 3@0"},
          {LOST, "read"},
          {READ(0, 0), "send 3@0"},
          {STOP_UNSENT, "unknown"},
          {SESSION_UNSENT, "gone"}}},
        {"the session ends, at the second", {SENT_AGAIN, {SESSION, "unknown end"}}},
        {"the grant is lost", {UNANSWERED, {READ(0, 0, .lost = true), "unknown end"}}},
        {"the read is refused", {UNANSWERED, {UNREAD(NOCHILDREN), "unknown end"}}},
        {"the fence of the second is refused", {SENT_AGAIN, {REFUSED(0), "unknown end"}}},
        {"the time is over: its answer still counts for the next",
         {{BEGIN(), "send 1@0"},
          {STOP, "unknown"},
          {APPLIED, "end"},
          {BEGIN(), "send 2@1"},
          {LOST, "read"},
          {STOP, "unknown"},
          {READ(1, 1), "end"},
          {BEGIN(), "send 3@1"}}},
    };

    play_all(rows, G_N_ELEMENTS(rows));
}

/* Refused while an earlier sending may still come. */
TEST_CASE(sealed)
{
#define IN_DOUBT                                                                                   \
    SENT_AGAIN,                                                                                    \
    {                                                                                              \
        REFUSED(3), "seal 2@0"                                                                     \
    }
    static const struct exchange_row rows[] = {
        {"shut out", {IN_DOUBT, {APPLIED, "refused 5:3 end"}, {BEGIN(), "send 3@1"}}},
        {"it had come", {IN_DOUBT, {OUTDATED, "read"}, {READ(1, 1), "applied end"}}},
        {"the answer of the seal lost",
         {IN_DOUBT, {LOST, "read"}, {READ(1, 2), "refused 5:3 end"}}},
        {"the answer of the seal lost, and it had come",
         {IN_DOUBT, {LOST, "read"}, {READ(1, 1), "applied end"}}},
        {"again, with the same number",
         {IN_DOUBT,
          {LOST, "read"},
          {READ(0, 0), "seal 2@0"},
          {UNSENT, "read"},
          {READ(0, 0, .lost = true), "seal 2@0"},
          {LOST, "unknown end"}}},
        {"used up, but not to be seen",
         {IN_DOUBT, {OUTDATED, "read"}, {READ(0, 0), "unknown end"}}},
        {"by others", {IN_DOUBT, {OUTDATED, "read"}, {READ(1, 0), "unknown end"}}},
        {"the fence is refused", {IN_DOUBT, {REFUSED(0), "unknown end"}}},
        {"no node", {IN_DOUBT, {NO_NODE, "unknown gone"}}},
        {"no session", {IN_DOUBT, {SESSION, "unknown end"}}},
        {"no session to read in", {IN_DOUBT, {SESSION_UNSENT, "unknown gone"}}},
        {"not to be read", {IN_DOUBT, {LOST, "read"}, {UNREAD(NOAUTH), "unknown end"}}},
        {"no time", {IN_DOUBT, {STOP, "unknown"}, {LOST, "end"}, {BEGIN(), "read"}}},
        {"no time while it is read",
         {IN_DOUBT, {LOST, "read"}, {STOP, "unknown"}, {READ(0, 0), "end"}}},
        {"no time before it is refused", {SENT_AGAIN, {STOP, "unknown"}, {REFUSED(3), "end"}}},
        {"shut out by an earlier one",
         {ANOTHER_UNKNOWN,
          {READ(0, 0), "send 2@0"},
          {REFUSED(3), "seal 3@0"},
          {OUTDATED, "read"},
          {READ(1, 1), "refused 5:3 end"}}},
        {"given back, and refused",
         {{BEGIN(.release = true), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {REFUSED(3), "seal 2@0"},
          {APPLIED, "refused 5:3 end"}}},
    };
#undef IN_DOUBT

    play_all(rows, G_N_ELEMENTS(rows));
}

/* What ended as unknown may come as long as the node stands; nothing else may. */
TEST_CASE(loose)
{
    static const struct {
        struct told last[2];
        bool loose;
    } rows[] = {
        {{STOP, READ(0, 0)}, true},
        {{STOP, UNREAD(NOAUTH)}, true},
        {{STOP, READ(1, 1)}, false},
        {{READ(0, 0), APPLIED}, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct told before[] = {BEGIN(), LOST};
        struct transaction t = {.state = TX_IDLE};
        for (size_t n = 0; n < 4; n++)
            g_free(play_step(&t, n < 2 ? &before[n] : &rows[i].last[n - 2]));
        CHECK_INT(t.loose, rows[i].loose);
    }
}
