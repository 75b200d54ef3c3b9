/* Holding and losing: the own watch, the deadline, the node's end. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_hold);

/* The node stays until the loss callbacks are through: their time is part of the old tenure. */
TEST_CASE(lapse)
{
    play_reach(ST_HOLDING);
    STEP("nodeadline lapsed", ST_LAPSED, "revoke deadline, arm");
    STEP("extended", ST_LAPSED, ""); /* the session may well survive: the grant does not */
    STEP("lapsed", ST_LAPSED, "");
    STEP("release", ST_DONE, "delete");
    CHECK_INT(play.revokes, 1);
}

/* A callback that hangs holds others up for one timeout at most. */
TEST_CASE(lapsed_for_a_timeout)
{
    play_reach(ST_HOLDING);
    STEP("lapsed", ST_LAPSED, "revoke deadline, arm");
    CHECK_INT(play_armed_ms(1), PLAY_TIMEOUT_MS);
    STEP("timer", ST_DONE, "delete");
    STEP("release", ST_DONE, "");
    CHECK_INT(play.revokes, 1);
}

TEST_CASE(lapse_then_own_node_gone)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    SAY("read 7");
    STEP("lapsed", ST_LAPSED, "revoke deadline, arm");
    SAY("own gone");
    SAY("release");
    CHECK_INT(play.c.state, ST_DONE);
    CHECK_INT(play.revokes, 1);
}

TEST_CASE(lapse_before_the_own_watch_is_answered)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    STEP("lapsed", ST_LAPSED, "revoke deadline, arm");
    STEP("read 7", ST_LAPSED, "");
    STEP("release", ST_DONE, "delete");
}

TEST_CASE(own_node_deleted_by_another)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    SAY("read 7");
    STEP("own gone", ST_DONE, "revoke deleted");
    STEP("own gone", ST_DONE, "");
    STEP("lapsed", ST_DONE, "");
    STEP("release", ST_DONE, "");
}

TEST_CASE(own_node_found_missing_when_watched)
{
    play_reach(ST_HOLDING);
    STEP("timer", ST_HOLDING, "read");
    STEP("read nonode", ST_DONE, "revoke deleted");
}

TEST_CASE(own_node_found_to_be_of_another_session)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    STEP("read 7 others", ST_DONE, "revoke deleted"); /* not ours to delete */
}

/* Somebody set its data, as Curator's revoker does: the watch is used up. */
TEST_CASE(own_node_changed)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    SAY("read 7");
    STEP("own changed", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    STEP("own changed", ST_HOLDING, "read");
    STEP("read nonode", ST_DONE, "revoke deleted");
}

/* As known from elsewhere: no watch need have told. */
TEST_CASE(ends_when_the_node_has_vanished)
{
    play_reach(ST_HOLDING);
    STEP("vanished", ST_DONE, "revoke deleted");
    play_reach(ST_LAPSED);
    STEP("vanished", ST_LAPSED, "");
    play_reach(ST_WAITING);
    STEP("vanished", ST_WAITING, ""); /* a read that is under way will tell */
    SAY("read 7");
    STEP("vanished", ST_REENTERING, "unwatch, delete, admit");
    play_reach(ST_CLAIMING);
    STEP("vanished", ST_PROVING, "prove");
}

/* That it cannot be watched is no reason to end a hold, but one to try again. */
TEST_CASE(own_watch_refused)
{
    static const char *const answers[] = {"read refused", "read limit", "read bad"};
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        play_reach(ST_HOLDING);
        SAY("timer");
        STEP(answers[i], ST_HOLDING, "arm");
        CHECK(!play.c.own_watched);
        STEP("timer", ST_HOLDING, "read");
        STEP("release", ST_DONE, "delete");
    }
}

/* A grant that was decided before the timeout wins. */
TEST_CASE(abort_after_the_grant)
{
    play_reach(ST_HOLDING);
    STEP("abort", ST_HOLDING, "");
    STEP("release", ST_DONE, "delete");
}

TEST_CASE(session_ends_while_holding)
{
    static const char *const ends[] = {"replaced", "end"};
    static const char *const revokes[] = {"revoke expired", "revoke closed"};
    for (size_t i = 0; i < 2; i++) {
        play_reach(ST_HOLDING);
        STEP(ends[i], ST_DONE, revokes[i]);
        STEP("release", ST_DONE, "");
        play_reach(ST_LAPSED);
        STEP(ends[i], ST_DONE, ""); /* told already */
        STEP("release", ST_DONE, "");
        CHECK_INT(play.revokes, 1);
    }
}

TEST_CASE(granted_without_a_watch_of_the_own_node_arms)
{
    play_reach(ST_CLAIMING);
    STEP("extended", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
}

TEST_CASE(tokens_are_those_of_the_node)
{
    play_start(false);
    SAY("enter");
    SAY("created 4");
    CHECK_INT(play.c.token, 1004);
    SAY("listed 3 4*");
    SAY("pred gone");
    SAY("read nonode");
    SAY("enter");
    SAY("created 6");
    SAY("listed 6*");
    CHECK_INT(play.c.state, ST_HOLDING);
    CHECK_INT(play.c.token, 1006); /* that of the second node */
    CHECK_INT(play.c.number, 6);
}
