/* Ends from outside, in every state: the caller gives up, the session goes, late answers come. */
#include "attempt_play.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(attempt_end);

struct end_row {
    enum attempt_state from, to;
    const char *actions;
};

static void expect_ends(const char *words, const struct end_row *rows, size_t count)
{
    CHECK_INT(count, ST_COUNT);
    for (size_t i = 0; i < count; i++) {
        play_reach(rows[i].from);
        STEP(words, rows[i].to, rows[i].actions);
    }
}

TEST_CASE(abort_in_every_state)
{
    static const struct end_row rows[] = {
        {ST_IDLE, ST_DONE, "fail aborted"},
        {ST_REENTERING, ST_DONE, "fail aborted"},
        {ST_CREATING, ST_LEAVING,
         "fail aborted, recall"}, /* the create decides what is left to do */
        {ST_PARENTS, ST_DONE, "fail aborted"},
        {ST_SETTLING, ST_LEAVING, "fail aborted"},
        {ST_ADOPTING, ST_DONE, "fail aborted, delete"},
        {ST_LISTING, ST_DONE, "fail aborted, delete"},
        {ST_WAITING, ST_DONE, "fail aborted, unwatch, delete"},
        {ST_FIRST, ST_DONE, "fail aborted, unwatch-limit, delete"},
        {ST_SUCCEEDING, ST_DONE, "fail aborted, delete"},
        {ST_PROVING, ST_DONE, "fail aborted, delete"},
        {ST_CLAIMING, ST_DONE, "fail aborted, delete"},
        {ST_RESETTING, ST_DONE, "fail aborted"},
        {ST_HOLDING, ST_HOLDING, ""},
        {ST_LAPSED, ST_LAPSED, ""},
        {ST_LEAVING, ST_LEAVING, ""},
        {ST_DONE, ST_DONE, ""},
    };
    expect_ends("abort", rows, sizeof(rows) / sizeof(*rows));
}

TEST_CASE(abort_then_the_create_succeeds)
{
    play_reach(ST_LEAVING);
    STEP("created 7", ST_DONE, "delete");
    STEP("listed 7*", ST_DONE, "");
}

TEST_CASE(abort_then_the_create_is_refused)
{
    static const char *const answers[] = {"created refused", "created nonode", "created nochildren",
                                          "created exists", "created bad"};
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        play_reach(ST_LEAVING);
        STEP(answers[i], ST_DONE, "");
    }
}

TEST_CASE(abort_then_the_create_is_used_up)
{
    play_reach(ST_LEAVING);
    STEP("created 2147483647", ST_DONE, "delete");
}

TEST_CASE(abort_then_the_create_is_unknown)
{
    play_reach(ST_LEAVING);
    STEP("created unknown", ST_LEAVING, "barrier");
    STEP("passed", ST_LEAVING, "list");
    STEP("listed 5 7* 9*", ST_DONE, "delete-all");

    play_reach(ST_LEAVING);
    SAY("created unknown");
    SAY("passed");
    SAY("listed 5"); /* nothing of ours */
    CHECK_INT(play.c.state, ST_DONE);
}

/* Nothing will ride behind the create again, so nobody waits for it; but it may be done. */
TEST_CASE(list_is_refused_before_the_create)
{
    static const struct {
        const char *words;
        enum attempt_state state;
        const char *actions;
    } rows[] = {
        {"created bad", ST_DONE, ""}, /* it was not sent */
        {"created 7", ST_DONE, "delete"},
        {"created unknown", ST_LEAVING, "barrier"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(ST_CREATING);
        STEP("listed bad", ST_LEAVING, "fail protocol, recall");
        CHECK_STR(play_awaited(), "created");
        STEP(rows[i].words, rows[i].state, rows[i].actions);
    }
    play_reach(ST_CREATING);
    STEP("listed nonode", ST_CREATING, ""); /* so says a server, and the create will say it, too */
    STEP("created nonode", ST_PARENTS, "parents");
}

/* That list looks for no node of ours: the create is still to come. */
TEST_CASE(list_is_refused_when_leaving)
{
    play_reach(ST_LEAVING);
    STEP("listed bad", ST_LEAVING, "");
    STEP("created unknown", ST_LEAVING, "barrier");
    SAY("passed");
    STEP("listed bad", ST_LEAVING, "orphan, arm");
}

/* A create that was answered is not to be called back. */
TEST_CASE(recalls_what_may_not_be_sent)
{
    play_reach(ST_CREATING);
    STEP("abort", ST_LEAVING, "fail aborted, recall");
    play_reach(ST_SETTLING);
    STEP("abort", ST_LEAVING, "fail aborted");
    play_reach(ST_SETTLING);
    STEP("passed bad", ST_LEAVING, "fail protocol, orphan, arm");
    play_reach(ST_CREATING);
    STEP("replaced", ST_REENTERING, "recall, admit");
    SAY("enter");
    SAY("created 7");
    STEP("replaced", ST_REENTERING, "admit");
    play_reach(ST_CREATING);
    STEP("created 7 others", ST_REENTERING, "delete, admit");
}

TEST_CASE(abort_while_settling)
{
    play_reach(ST_SETTLING);
    STEP("abort", ST_LEAVING, "fail aborted");
    STEP("passed", ST_LEAVING, "list");
    STEP("listed 7*", ST_DONE, "delete-all");

    play_reach(ST_SETTLING);
    SAY("passed");
    STEP("abort", ST_LEAVING, "fail aborted"); /* the list is under way already */
    STEP("listed 7*", ST_DONE, "delete-all");
}

TEST_CASE(abort_while_watch_is_being_set)
{
    play_reach(ST_WAITING);
    STEP("abort", ST_DONE, "fail aborted, unwatch, delete");
    STEP("watched", ST_DONE, "");
    STEP("pred gone", ST_DONE, "");
}

/* Everything of the old session is gone or goes with it: begin anew, with a new id. */
TEST_CASE(replaced_in_every_state)
{
    static const struct end_row rows[] = {
        {ST_IDLE, ST_IDLE, ""},
        {ST_REENTERING, ST_REENTERING, ""},
        {ST_CREATING, ST_REENTERING, "recall, admit"},
        {ST_PARENTS, ST_REENTERING, "admit"},
        {ST_SETTLING, ST_REENTERING, "admit"},
        {ST_ADOPTING, ST_REENTERING, "admit"},
        {ST_LISTING, ST_REENTERING, "admit"},
        {ST_WAITING, ST_REENTERING, "admit"},
        {ST_FIRST, ST_REENTERING, "leave-children, admit"},
        {ST_SUCCEEDING, ST_REENTERING, "admit"},
        {ST_PROVING, ST_REENTERING, "admit"},
        {ST_CLAIMING, ST_REENTERING, "admit"},
        {ST_RESETTING, ST_REENTERING, "admit"},
        {ST_HOLDING, ST_DONE, "revoke expired"},
        {ST_LAPSED, ST_DONE, ""},
        {ST_LEAVING, ST_DONE, ""},
        {ST_DONE, ST_DONE, ""},
    };
    expect_ends("replaced", rows, sizeof(rows) / sizeof(*rows));
}

TEST_CASE(end_in_every_state)
{
    static const struct end_row rows[] = {
        {ST_IDLE, ST_IDLE, ""},
        {ST_REENTERING, ST_DONE, "fail protocol"},
        {ST_CREATING, ST_DONE, "fail protocol"},
        {ST_PARENTS, ST_DONE, "fail protocol"},
        {ST_SETTLING, ST_DONE, "fail protocol"},
        {ST_ADOPTING, ST_DONE, "fail protocol"},
        {ST_LISTING, ST_DONE, "fail protocol"},
        {ST_WAITING, ST_DONE, "fail protocol"},
        {ST_FIRST, ST_DONE, "fail protocol, unwatch-limit"},
        {ST_SUCCEEDING, ST_DONE, "fail protocol"},
        {ST_PROVING, ST_DONE, "fail protocol"},
        {ST_CLAIMING, ST_DONE, "fail protocol"},
        {ST_RESETTING, ST_DONE, "fail protocol"},
        {ST_HOLDING, ST_DONE, "revoke closed"},
        {ST_LAPSED, ST_DONE, ""},
        {ST_LEAVING, ST_DONE, ""},
        {ST_DONE, ST_DONE, ""},
    };
    expect_ends("end", rows, sizeof(rows) / sizeof(*rows));
}

TEST_CASE(everything_is_fresh_after_an_incarnation)
{
    for (int s = ST_CREATING; s <= ST_RESETTING; s++) {
        play_reach((enum attempt_state)s);
        struct play before = play;
        SAY("replaced");
        CHECK(!play.c.has_node && !play.c.watching && !play.c.own_watched && !play.c.told &&
              !play.c.creating);
        SAY("enter");
        CHECK_STR(play_awaited(), "created, listed");
        for (int row = 0; row < PLAY_ANSWERS; row++)
            CHECK(exchange_is_stale(&play.exchange, before.asked[row].number));
        STEP("pred gone", ST_CREATING, "");
        STEP("created 9", ST_LISTING, "");
        if (s == ST_FIRST)
            STEP("listed 8x2 9*", ST_LISTING, "limit-watch, list-watch"); /* and anew */
        else
            STEP("listed 8 9*", ST_WAITING, "read, watch 8"); /* its place is at the tail */
    }
}

/* All that was asked before is stale, so that no late answer is heard. */
TEST_CASE(awaits_what_it_asked_last)
{
    static const char *const awaited[ST_COUNT] = {
        [ST_IDLE] = "",
        [ST_REENTERING] = "",
        [ST_CREATING] = "created, listed",
        [ST_PARENTS] = "parents",
        [ST_SETTLING] = "passed",
        [ST_ADOPTING] = "read",
        [ST_LISTING] = "listed",
        [ST_WAITING] = "read, watched",
        [ST_FIRST] = "",
        [ST_SUCCEEDING] = "hint, read",
        [ST_PROVING] = "read",
        [ST_CLAIMING] = "",
        [ST_RESETTING] = "directory",
        [ST_HOLDING] = "",
        [ST_LAPSED] = "",
        [ST_LEAVING] = "created, listed",
        [ST_DONE] = "",
    };

    for (int s = 0; s < ST_COUNT; s++) {
        play_reach((enum attempt_state)s);
        CHECK_STR(play_awaited(), awaited[s]);
    }
}

/* It is to enter again, and has asked for nothing yet. */
TEST_CASE(awaits_nothing_to_enter_again)
{
    static const struct {
        enum attempt_state state;
        const char *words;
    } rows[] = {
        {ST_CREATING, "created 7 others"}, {ST_PARENTS, "parents nonode"},
        {ST_ADOPTING, "read nonode"},      {ST_LISTING, "listed nonode"},
        {ST_WAITING, "read nonode"},       {ST_SUCCEEDING, "hint named"},
        {ST_CLAIMING, "own gone"},         {ST_RESETTING, "directory nonode"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(rows[i].state);
        SAY(rows[i].words);
        if (play.c.state == ST_PROVING) /* that is of a read */
            SAY("read nonode");
        CHECK_INT(play.c.state, ST_REENTERING);
        CHECK_STR(play_awaited(), "");
    }
}

/* A touch of the node that is gone must not set the next one, nor be told of. */
TEST_CASE(awaits_no_touch_of_an_earlier_node)
{
    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    STEP("nodeadline listed 7* 8", ST_CLAIMING, "touch, arm");
    CHECK_STR(play_awaited(), "touched");
    SAY("timer");
    CHECK_INT(play.c.state, ST_REENTERING);
    CHECK_STR(play_awaited(), "");
}

/* Events that mean nothing in a state are not answers and must not move it. */
TEST_CASE(events_out_of_place)
{
    static const struct {
        enum attempt_state state;
        const char *words;
    } rows[] = {
        {ST_IDLE, "pred gone"},       {ST_IDLE, "own gone"},
        {ST_IDLE, "lapsed"},          {ST_IDLE, "timer"},
        {ST_CREATING, "enter"},       {ST_CREATING, "own gone"},
        {ST_CREATING, "lapsed"},      {ST_REENTERING, "pred gone"},
        {ST_REENTERING, "extended"},  {ST_REENTERING, "release"},
        {ST_CREATING, "timer"},       {ST_CREATING, "release"},
        {ST_SETTLING, "pred gone"},   {ST_LISTING, "pred gone"},
        {ST_LISTING, "timer"},        {ST_LISTING, "lapsed"},
        {ST_WAITING, "enter"},        {ST_WAITING, "lapsed"},
        {ST_WAITING, "timer"},        {ST_PROVING, "pred gone"},
        {ST_PROVING, "pred changed"}, {ST_SUCCEEDING, "pred gone"},
        {ST_SUCCEEDING, "own gone"},  {ST_SUCCEEDING, "lapsed"},
        {ST_SUCCEEDING, "timer"},     {ST_PROVING, "timer"},
        {ST_CLAIMING, "pred gone"},   {ST_CLAIMING, "lapsed"},
        {ST_HOLDING, "enter"},        {ST_HOLDING, "pred gone"},
        {ST_HOLDING, "extended"},     {ST_LAPSED, "pred gone"},
        {ST_LAPSED, "lapsed"},        {ST_LEAVING, "pred gone"},
        {ST_LEAVING, "release"},      {ST_LEAVING, "timer"},
        {ST_LEAVING, "extended"},     {ST_DONE, "enter"},
        {ST_DONE, "abort"},           {ST_DONE, "replaced"},
        {ST_FIRST, "pred gone"},      {ST_FIRST, "own gone"},
        {ST_FIRST, "timer"},          {ST_FIRST, "extended"},
        {ST_FIRST, "lapsed"},         {ST_FIRST, "release"},
        {ST_FIRST, "look"},           {ST_HOLDING, "limit-changed"},
        {ST_WAITING, "children"},     {ST_WAITING, "limit-changed"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(rows[i].state);
        STEP(rows[i].words, rows[i].state, "");
    }
}
