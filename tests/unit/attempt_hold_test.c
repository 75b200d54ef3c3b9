/* Holding and losing: the own watch, the deadline, the node's end. */
#include "attempt_play.h"
#include "suites.h"

/* The node stays until the loss callbacks are through: their time is part of the old tenure. */
static void lapse(void)
{
    play_reach(ST_HOLDING);
    STEP("nodeadline lapsed", ST_LAPSED, "revoke deadline, arm");
    STEP("extended", ST_LAPSED, ""); /* the session may well survive: the grant does not */
    STEP("lapsed", ST_LAPSED, "");
    STEP("release", ST_DONE, "delete");
    CHECK_INT(play.revokes, 1);
}

/* A callback that hangs holds others up for one timeout at most. */
static void hold_lapsed_for_a_timeout(void)
{
    play_reach(ST_HOLDING);
    STEP("lapsed", ST_LAPSED, "revoke deadline, arm");
    CHECK_INT(play_armed_ms(1), PLAY_TIMEOUT_MS);
    STEP("timer", ST_DONE, "delete");
    STEP("release", ST_DONE, "");
    CHECK_INT(play.revokes, 1);
}

static void lapse_then_own_node_gone(void)
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

static void lapse_before_the_own_watch_is_answered(void)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    STEP("lapsed", ST_LAPSED, "revoke deadline, arm");
    STEP("read 7", ST_LAPSED, "");
    STEP("release", ST_DONE, "delete");
}

static void own_node_deleted_by_another(void)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    SAY("read 7");
    STEP("own gone", ST_DONE, "revoke deleted");
    STEP("own gone", ST_DONE, "");
    STEP("lapsed", ST_DONE, "");
    STEP("release", ST_DONE, "");
}

static void own_node_found_missing_when_watched(void)
{
    play_reach(ST_HOLDING);
    STEP("timer", ST_HOLDING, "read");
    STEP("read nonode", ST_DONE, "revoke deleted");
}

static void own_node_found_to_be_of_another_session(void)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    STEP("read 7 others", ST_DONE, "revoke deleted"); /* not ours to delete */
}

/* Somebody set its data, as Curator's revoker does: the watch is used up. */
static void own_node_changed(void)
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
static void hold_ends_when_the_node_has_vanished(void)
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
static void own_watch_refused(void)
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
static void abort_after_the_grant(void)
{
    play_reach(ST_HOLDING);
    STEP("abort", ST_HOLDING, "");
    STEP("release", ST_DONE, "delete");
}

static void session_ends_while_holding(void)
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

static void granted_without_a_watch_of_the_own_node_arms(void)
{
    play_reach(ST_CLAIMING);
    STEP("extended", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
}

static void tokens_are_those_of_the_node(void)
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

static const struct test_case cases[] = {
    {"lapse", lapse},
    {"lapsed_for_a_timeout", hold_lapsed_for_a_timeout},
    {"lapse_then_own_node_gone", lapse_then_own_node_gone},
    {"lapse_before_the_own_watch_is_answered", lapse_before_the_own_watch_is_answered},
    {"own_node_deleted_by_another", own_node_deleted_by_another},
    {"own_node_found_missing_when_watched", own_node_found_missing_when_watched},
    {"own_node_found_to_be_of_another_session", own_node_found_to_be_of_another_session},
    {"own_node_changed", own_node_changed},
    {"ends_when_the_node_has_vanished", hold_ends_when_the_node_has_vanished},
    {"own_watch_refused", own_watch_refused},
    {"abort_after_the_grant", abort_after_the_grant},
    {"session_ends_while_holding", session_ends_while_holding},
    {"granted_without_a_watch_of_the_own_node_arms", granted_without_a_watch_of_the_own_node_arms},
    {"tokens_are_those_of_the_node", tokens_are_those_of_the_node},
    {NULL, NULL},
};

const struct test_suite attempt_hold_suite = {.name = "attempt_hold", .cases = cases};
