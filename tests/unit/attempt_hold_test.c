/* A contender that holds: it may lose that, is asked to give way, and hears of others. */
#include "attempt_play.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(attempt_hold);

/* The node stays until the loss callbacks are through: their time is part of the old tenure. */
TEST_CASE(lost)
{
    play_reach(ST_HOLDING);
    STEP("nodeadline too-late", ST_LOST, "lose deadline, arm");
    STEP("extended", ST_LOST, ""); /* the session may well survive: the grant does not */
    STEP("too-late", ST_LOST, "");
    STEP("release", ST_DONE, "delete");
    CHECK_INT(play.losses, 1);
}

/* A callback that hangs holds others up for one timeout at most. */
TEST_CASE(lost_for_a_timeout)
{
    play_reach(ST_HOLDING);
    STEP("too-late", ST_LOST, "lose deadline, arm");
    CHECK_INT(play_armed_ms(1), PLAY_TIMEOUT_MS);
    STEP("timer", ST_DONE, "delete");
    STEP("release", ST_DONE, "");
    CHECK_INT(play.losses, 1);
}

TEST_CASE(lost_then_own_node_gone)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    SAY("read 7");
    STEP("too-late", ST_LOST, "lose deadline, arm");
    SAY("own gone");
    SAY("release");
    CHECK_INT(play.c.state, ST_DONE);
    CHECK_INT(play.losses, 1);
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
    STEP("read nonode", ST_DONE, "lose deleted");
}

/* As known from elsewhere: no watch need have told. */
TEST_CASE(ends_when_the_node_has_gone)
{
    play_reach(ST_HOLDING);
    STEP("node-gone", ST_DONE, "lose deleted");
    play_reach(ST_LOST);
    STEP("node-gone", ST_LOST, "");
    play_reach(ST_WAITING);
    STEP("node-gone", ST_WAITING, ""); /* a read that is under way will tell */
    SAY("read 7");
    STEP("node-gone", ST_REENTERING, "unwatch, delete, admit");
    play_reach(ST_CLAIMING);
    STEP("node-gone", ST_PROVING, "prove");
}

/* That it cannot be watched is no reason to end a hold, but one to try again. */
TEST_CASE(own_watch_refused)
{
    static const char *const answers[] = {"read refused", "read bad"};
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        play_reach(ST_HOLDING);
        SAY("timer");
        STEP(answers[i], ST_HOLDING, "arm");
        CHECK(!play.c.own_watched);
        STEP("timer", ST_HOLDING, "read");
        STEP("release", ST_DONE, "delete");
    }
}

/* The session watches too much. The node is read without a watch, once in a session timeout, so the
 * holder learns even then of its end, and that it is asked to give way. */
TEST_CASE(no_room_for_the_own_watch)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    STEP("read limit", ST_HOLDING, "prove");
    STEP("read 7 asked", ST_HOLDING, "arm, asked");
    CHECK_INT(play_armed_ms(0), PLAY_TIMEOUT_MS);
    CHECK(!play.c.own_watched);
    STEP("timer", ST_HOLDING, "read");
    STEP("read limit", ST_HOLDING, "prove");
    STEP("read refused", ST_HOLDING, "arm");
    CHECK_INT(play_armed_ms(0), ATTEMPT_RETRY_MS);
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, ""); /* there is room again */
    CHECK(play.c.own_watched);
    STEP("own changed", ST_HOLDING, "read");
    STEP("read limit", ST_HOLDING, "prove");
    STEP("read nonode", ST_DONE, "lose deleted");
}

TEST_CASE(tokens_are_those_of_the_node)
{
    play_reach(ST_CREATING);
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

/* ---- a holder is asked to give way, by what is written into its node ---- */

/* Before or after the grant, before or after it wants to hear of that. */

/* By the own watch, which every hold gets that lasts. */
TEST_CASE(while_it_holds)
{
    play_reach(ST_HOLDING);
    SAY("timer");
    SAY("read 7");
    STEP("own changed", ST_HOLDING, "read");
    STEP("read 7 asked", ST_HOLDING, "asked");
    STEP("own changed", ST_HOLDING, "read"); /* once */
    STEP("read 7 asked", ST_HOLDING, "");
    STEP("release", ST_DONE, "delete");
}

/* Nobody waits for the own watch where the holder wants to hear; and it is not set twice. */
TEST_CASE(before_it_heeds)
{
    play_reach(ST_HOLDING);
    STEP("heed", ST_HOLDING, "read");
    STEP("read 7 asked", ST_HOLDING, "asked");
    STEP("timer", ST_HOLDING, "");
    STEP("heed", ST_HOLDING, "");
}

TEST_CASE(of_an_older_read)
{
    play_reach(ST_HOLDING);
    SAY("heed");
    STEP("heed", ST_HOLDING, "read");
    STEP("stale read 7 asked", ST_HOLDING, "");
    STEP("read 7 asked", ST_HOLDING, "asked");
}

TEST_CASE(read_is_refused)
{
    play_reach(ST_HOLDING);
    SAY("heed");
    STEP("read refused", ST_HOLDING, "arm");
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7 asked", ST_HOLDING, "asked");
}

TEST_CASE(node_is_gone)
{
    play_reach(ST_HOLDING);
    SAY("heed");
    STEP("read nonode", ST_DONE, "lose deleted");
    play_reach(ST_HOLDING);
    SAY("heed");
    STEP("read 7 others asked", ST_DONE, "lose deleted");
    STEP("heed", ST_DONE, "");
}

TEST_CASE(heeded_while_the_children_are_watched)
{
    play_start(false);
    play.c.watch_children = true;
    SAY("enter");
    SAY("created 7");
    STEP("listed 7* left", ST_HOLDING, "grant");
    STEP("heed", ST_HOLDING, "read");
    STEP("read bad", ST_HOLDING, "arm");
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7 asked", ST_HOLDING, "asked");
}

/* ---- before the grant ---- */

/* Told right behind the grant, as the last thing. */
TEST_CASE(while_it_waits)
{
    play_reach(ST_WAITING);
    SAY("read 7");
    SAY("own changed");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read 7 asked", ST_HOLDING, "grant, arm, asked");
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7 asked", ST_HOLDING, "");
}

TEST_CASE(before_the_watch_of_a_waiter)
{
    play_reach(ST_WAITING);
    SAY("read 7 asked");
    STEP("pred gone", ST_HOLDING, "grant, asked"); /* proved by silence, without a read */
}

TEST_CASE(before_a_deadline_comes)
{
    play_reach(ST_CLAIMING);
    STEP("own changed", ST_PROVING, "prove");
    STEP("nodeadline read 7 asked", ST_CLAIMING, "");
    STEP("extended", ST_PROVING, "prove");
    STEP("read 7 asked", ST_HOLDING, "grant, arm, asked");

    play_reach(ST_WAITING);
    SAY("read 7");
    STEP("nodeadline pred gone", ST_CLAIMING, "arm");
    SAY("nodeadline down extended");
    STEP("again extended", ST_PROVING, "prove"); /* it may be gone: what was missed comes later */
    STEP("own gone", ST_REENTERING, "delete, admit");
}

/* Nobody has asked anything of a contender that has another node by now. */
TEST_CASE(of_an_earlier_node)
{
    static const char *const ends[] = {"replaced", "listed 8"};

    for (size_t i = 0; i < 2; i++) {
        play_reach(ST_ADOPTING);
        SAY("read 7 asked");
        SAY(ends[i]);
        SAY("enter");
        SAY("created 9");
        STEP("listed 9*", ST_HOLDING, "grant, arm");
    }
}

TEST_CASE(not_told_any_more)
{
    play_reach(ST_HOLDING);
    SAY("heed");
    SAY("too-late");
    STEP("read 7 asked", ST_LOST, "");
    STEP("heed", ST_LOST, "");
    play_reach(ST_HOLDING);
    SAY("heed");
    SAY("release");
    STEP("read 7 asked", ST_DONE, "");
}

/* ---- a holder hears of others in three ways ---- */

/* By the list behind the create, by a look, and by the children's watch. */

static void enter(void)
{
    play_start(false);
    play.c.watch_children = true;
    STEP("enter", ST_CREATING, "create, list-watch");
    SAY("created 7");
}

static enum attempt_others granted_with(void)
{
    const bool granted =
        strstr(play_actions(), "grant"); /* whoever hears of it reads the machine then */

    return granted ? play.c.others : OTHERS_UNKNOWN;
}

/* Their own node's end would be told by the children's watch. */
TEST_CASE(alone)
{
    enter();
    STEP("listed 7* left", ST_HOLDING, "grant");
    CHECK_INT(granted_with(), OTHERS_NONE);
    STEP("look", ST_HOLDING, "others none");
    STEP("timer", ST_HOLDING, "");
    STEP("children", ST_HOLDING, "arm, others wait");
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    STEP("children", ST_HOLDING, ""); /* it knows */
    STEP("release", ST_DONE, "delete");
}

TEST_CASE(somebody_is_behind)
{
    enter();
    STEP("listed 7* 8 left", ST_HOLDING, "grant, arm, unwatch-children");
    CHECK_INT(granted_with(), OTHERS_WAIT);
    CHECK(!play.c.waited);
    enter();
    STEP("listed 7* 8! left", ST_HOLDING, "grant"); /* which does not wait for a lock */
    CHECK_INT(granted_with(), OTHERS_NONE);
}

/* A caller that waits keeps no watch, and knows nothing when its turn comes. */
TEST_CASE(somebody_is_ahead)
{
    enter();
    STEP("listed 5 7* left", ST_WAITING, "read, watch 5, unwatch-children");
    CHECK_INT(play.c.others, OTHERS_UNKNOWN);
    STEP("children", ST_WAITING, "");
    SAY("pred gone");
    STEP("read 7", ST_HOLDING, "grant, arm");
    CHECK_INT(granted_with(), OTHERS_UNKNOWN);
    CHECK(play.c.waited);
}

TEST_CASE(no_watch_was_left)
{
    enter();
    STEP("listed 7*", ST_HOLDING, "grant, arm");
    CHECK_INT(granted_with(), OTHERS_UNKNOWN);
}

TEST_CASE(heard_before_a_deadline_comes)
{
    enter();
    STEP("nodeadline listed 7* left", ST_CLAIMING, "arm");
    STEP("nodeadline children", ST_CLAIMING, "");
    SAY("extended");
    STEP("children", ST_PROVING, "");
    STEP("read 7", ST_HOLDING, "grant, arm");
    CHECK_INT(granted_with(), OTHERS_WAIT);
}

/* ---- a watch of no use ---- */

/* The list that rides behind the create is not heard any more, and may have left one. */
TEST_CASE(watch_of_a_list_that_is_stale)
{
    play_start(false);
    play.c.watch_children = true;
    SAY("enter");
    STEP("created 7 others", ST_REENTERING, "delete, leave-children, admit");
    SAY("enter");
    SAY("created 8");
    STEP("listed 8* left", ST_HOLDING, "grant");
    CHECK_INT(play.c.others, OTHERS_NONE);
}

/* It is of before the own node, whose end does not end it. */
TEST_CASE(watch_is_older_than_the_own_node)
{
    enter();
    STEP("listed 5 left", ST_REENTERING, "unwatch-children, delete, leave-children, admit");
    play_start(false);
    play.c.watch_children = true;
    play.c.rounds = 100;
    SAY("enter");
    SAY("created 7");
    STEP("listed left", ST_DONE, "unwatch-children, fail protocol, delete"); /* the last round */
}

/* The end of the own node ends it, too. */
TEST_CASE(watch_ends_with_the_attempt)
{
    play_start(true);
    play.c.watch_children = true;
    SAY("enter");
    SAY("created 7");
    STEP("listed 5 7* left", ST_DONE, "fail busy, delete");
}

/* The list behind a create whose outcome is unknown may have left one, and is not heard. */
TEST_CASE(watch_of_a_list_that_is_not_heard)
{
    play_start(false);
    play.c.watch_children = true;
    SAY("enter");
    STEP("created unknown", ST_SETTLING, "unwatch-children, barrier");
    STEP("listed 7* left", ST_SETTLING, "");
    SAY("passed");
    STEP("listed 7*", ST_ADOPTING, "adopt 7, read");
    play_reach(ST_CREATING);
    STEP("created unknown", ST_SETTLING, "barrier"); /* it left none */
}

/* While nothing is known of others, the holder that looks is to hear of them. */
TEST_CASE(watch_of_a_look)
{
    play_reach(ST_HOLDING);
    SAY("look");
    STEP("listed 7* left", ST_HOLDING, "others none");
    play_reach(ST_HOLDING);
    SAY("look");
    STEP("listed 7* 8 left", ST_HOLDING, "others wait"); /* it is about to give back */
    STEP("children", ST_HOLDING, "");                    /* and knows */
    STEP("look", ST_HOLDING, "list-watch");
    STEP("listed 7* left", ST_HOLDING, "others none");
    STEP("children", ST_HOLDING, "arm, others wait");
}

/* ---- looking ---- */

static void look(void)
{
    play_reach(ST_HOLDING);
    STEP("look", ST_HOLDING, "list-watch");
    STEP("look", ST_HOLDING, ""); /* one at a time */
}

TEST_CASE(finds_somebody)
{
    look();
    STEP("listed 7* 8 left", ST_HOLDING, "others wait");
    look();
    STEP("listed 5 7* left", ST_HOLDING, "others wait"); /* which is not to be */
}

/* A list without the own node proves nothing. */
TEST_CASE(finds_nothing)
{
    static const struct {
        const char *answer, *actions;
    } rows[] = {
        {"listed refused", "others unknown"},
        {"listed bad", "others unknown"},
        {"listed nonode", "others unknown"},
        {"listed 7*", "others unknown"},
        {"listed 8 left", "unwatch-children, others unknown"},
        {"listed left", "unwatch-children, others unknown"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        look();
        STEP(rows[i].answer, ST_HOLDING, rows[i].actions);
        STEP("look", ST_HOLDING, "list-watch");
    }
}

TEST_CASE(not_answered_any_more)
{
    look();
    STEP("release", ST_DONE, "delete");
    STEP("listed 7* 8 left", ST_DONE, "");
    look();
    SAY("too-late");
    STEP("listed 7* 8 left", ST_LOST, "unwatch-children");
    STEP("look", ST_LOST, "");
    STEP("children", ST_LOST, "");
}

/* In a new place nothing is known. */
TEST_CASE(enters_again)
{
    enter();
    SAY("nodeadline listed 7* left");
    CHECK_INT(play.c.others, OTHERS_NONE);
    SAY("replaced");
    STEP("enter", ST_CREATING, "create, list-watch");
    CHECK_INT(play.c.others, OTHERS_UNKNOWN);
}
