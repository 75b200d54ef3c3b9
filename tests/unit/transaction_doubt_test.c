/* The machine of fenced transactions when answers are lost. */
#include "runner.h"
#include "transaction_play.h"

#include <glib.h>

TEST_SUITE(transaction_doubt);

TEST_CASE(in_doubt)
{
    static const struct exchange_row rows[] = {
        {"applied, and only the answer lost",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(1, 1), "applied end"},
          {BEGIN(), "send 2@1"}}},
        {"sent again for the same version until that is used up",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {UNSENT, "read"},
          {READ(0, 0), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {LOST, "unknown end"},
          {BEGIN(), "read"}}},
        {"the second is outdated by the first",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {OUTDATED, "read"},
          {READ(1, 1), "applied end"}}},
        {"used up, but not to be seen",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {OUTDATED, "read"},
          {READ(0, 0), "unknown end"}}},
        {"used up by an earlier one, so it was not applied",
         {{BEGIN(), "send 1@0"},
          {STOP, "unknown"},
          {LOST, "end"},
          {BEGIN(), "read"},
          {READ(0, 0), "send 2@0"},
          {LOST, "read"},
          {READ(1, 1), "send 2@1"},
          {LOST, "read"},
          {READ(2, 2), "applied end"}}},
        {"and the grant is lost by then",
         {{BEGIN(), "send 1@0"},
          {STOP, "unknown"},
          {LOST, "end"},
          {BEGIN(), "read"},
          {READ(0, 0), "send 2@0"},
          {LOST, "read"},
          {READ(1, 1, .lost = true), "lost end"}}},
        {"which is not its failure: it is sent again as often as any",
         {{BEGIN(), "send 1@0"},
          {STOP, "unknown"},
          {LOST, "end"},
          {BEGIN(), "read"},
          {READ(0, 0), "send 2@0"},
          {LOST, "read"},
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
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(1, 0), "unknown end"},
          {BEGIN(), "send 2@1"},
          {LOST, "read"},
          {READ(2, 3), "unknown end"},
          {BEGIN(), "send 3@2"},
          {LOST, "read"},
          {READ(4, 3), "unknown end"}}},
        {"given back, there would be no node",
         {{BEGIN(.release = true), "send 1@0"}, {LOST, "read"}, {READ(1, 1), "unknown end"}}},
        {"no node any more",
         {{BEGIN(), "send 1@0"}, {LOST, "read"}, {UNREAD(NONODE), "unknown gone"}}},
        {"no node any more, at the second",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {NO_NODE, "unknown gone"}}},
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
        {"the session ends, at the second",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {SESSION, "unknown end"}}},
        {"the grant is lost",
         {{BEGIN(), "send 1@0"}, {LOST, "read"}, {READ(0, 0, .lost = true), "unknown end"}}},
        {"the read is refused",
         {{BEGIN(), "send 1@0"}, {LOST, "read"}, {UNREAD(NOCHILDREN), "unknown end"}}},
        {"the fence of the second is refused",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {REFUSED(0), "unknown end"}}},
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

    exchange_play(rows, G_N_ELEMENTS(rows));
}

/* Refused while an earlier sending may still come. */
TEST_CASE(sealed)
{
#define IN_DOUBT                                                                                   \
    {BEGIN(), "send 1@0"}, {LOST, "read"}, {READ(0, 0), "send 1@0"},                               \
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
        {"no time before it is refused",
         {{BEGIN(), "send 1@0"},
          {LOST, "read"},
          {READ(0, 0), "send 1@0"},
          {STOP, "unknown"},
          {REFUSED(3), "end"}}},
        {"shut out by an earlier one",
         {{BEGIN(), "send 1@0"},
          {STOP, "unknown"},
          {LOST, "end"},
          {BEGIN(), "read"},
          {READ(0, 0), "send 2@0"},
          {LOST, "read"},
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

    exchange_play(rows, G_N_ELEMENTS(rows));
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
            g_free(exchange_step(&t, n < 2 ? &before[n] : &rows[i].last[n - 2]));
        CHECK_INT(t.loose, rows[i].loose);
    }
}
