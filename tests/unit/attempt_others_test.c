/* A holder hears of others in three ways: by the list behind the create, by a look, and by the
 * children's watch. */
#include "attempt_play.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(attempt_others);

static void enter(void)
{
    play_start(false);
    play.c.watch_children = true;
    STEP("enter", ST_CREATING, "create, list-watch");
    SAY("created 7");
}

static void hold(const char *listed)
{
    enter();
    SAY(listed);
    CHECK_INT(play.c.state, ST_HOLDING);
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

TEST_CASE(own_node_is_what_went)
{
    hold("listed 7* left");
    STEP("children", ST_HOLDING, "arm, others wait");
    STEP("timer", ST_HOLDING, "read");
    STEP("read nonode", ST_DONE, "revoke deleted");
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

/* No watch is kept by who waits, and nothing is known when its turn comes. */
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

TEST_CASE(finds_nobody)
{
    look();
    STEP("listed 7* left", ST_HOLDING, "others none");
    STEP("timer", ST_HOLDING, "");
    STEP("children", ST_HOLDING, "arm, others wait");
    STEP("look", ST_HOLDING, "list-watch");
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

/* What is read of the own node meanwhile is answered, too. */
TEST_CASE(beside_the_own_watch)
{
    look();
    STEP("timer", ST_HOLDING, "read");
    CHECK_STR(play_awaited(), "listed, read");
    STEP("read 7", ST_HOLDING, "");
    STEP("listed 7* left", ST_HOLDING, "others none");
    look();
    SAY("timer");
    STEP("listed 7* left", ST_HOLDING, "others none");
    STEP("read nonode", ST_DONE, "revoke deleted");
}

TEST_CASE(not_answered_any_more)
{
    look();
    STEP("release", ST_DONE, "delete");
    STEP("listed 7* 8 left", ST_DONE, "");
    look();
    SAY("lapsed");
    STEP("listed 7* 8 left", ST_LAPSED, "unwatch-children");
    STEP("look", ST_LAPSED, "");
    STEP("children", ST_LAPSED, "");
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
