/* The machine of fenced transactions: in order, at its limits, and its diagram. */
#include "recipes/revoke.h"
#include "runner.h"
#include "transaction_play.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(transaction);

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

    exchange_play(rows, G_N_ELEMENTS(rows));
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
        char *acts = exchange_step(&t, &rows[i].told);
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

TEST_CASE(payloads)
{
    static const struct {
        const char *data;
        size_t length;
        unsigned number;
    } rows[] = {
        {"", 0, 0},
        {"9", 1, 0},
        {"who", 3, 0},
        {"who\nzkl tx 1", 3, 1},
        {"\nzkl tx 90", 0, 90},
        {"who\nzkl tx 4294967295", 3, UINT32_MAX},
        {"who\nzkl tx 4294967296", 21, 0},
        {"who\nzkl tx 18446744073709551617", 31, 0},
        {"who\nzkl tx ", 11, 0},
        {"who\nzkl tx 0", 12, 0},
        {"who\nzkl tx :", 12, 0},
        {"who\nzkl tx 01", 13, 0},
        {"who\nzkl tx 1\n", 13, 0},
        {"who\nzkl tx 1/", 13, 0},
        {"who\nzkl tx 1:", 13, 0},
        {"who\nzkl ty 1", 12, 0},
        {"who zkl tx 1", 12, 0},
        {"zkl tx 1", 8, 0},
        {"who\nzkl tx 1\nzkl tx 2", 12, 2},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        uint32_t number = 77;
        CHECK_INT(transaction_payload(rows[i].data, strlen(rows[i].data), &number), rows[i].length);
        CHECK_INT(number, rows[i].number);
    }
    static const char before[] = "who\nzkl tx 12"; /* what is before the data is none of them */
    uint32_t number;
    CHECK_INT(transaction_payload(before + strlen(before) - 1, 1, &number), 1);
    CHECK_INT(number, 0);
}

/* The word alone, which somebody has set, or what a transaction has made of that. */
TEST_CASE(asks_to_give_way)
{
    static const struct {
        const char *data;
        int version;
        bool asks;
    } rows[] = {
        {"__REVOKE__", 1, true},
        {"__REVOKE__", -1, true},
        {"__REVOKE__", 0, false},
        {"__REVOKE__\nzkl tx 7", 2, true},
        {"__REVOKE__\nzkl tx 0", 2, false},
        {"__REVOKE__\nzkl numbers 3 5", 1, true},
        {"__REVOKE__\nzkl numbers 3 of 4\nzkl tx 7", 2, true},
        {"__REVOKE__\nzkl tx 7\nzkl numbers 3", 2, false},
        {"who\nzkl numbers 3", 2, false},
        {"__REVOKE__\n", 2, false},
        {"__REVOKE__ ", 2, false},
        {" __REVOKE__", 2, false},
        {"__REVOKE_", 2, false},
        {"__revoke__", 2, false},
        {"who\n__REVOKE__", 2, false},
        {"", 2, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (!CHECK_INT(revoke_asks(rows[i].data, (int)strlen(rows[i].data), rows[i].version),
                       rows[i].asks))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    CHECK(!revoke_asks(NULL, 0, 1));
    CHECK(!revoke_asks(NULL, -1, 1));
}
