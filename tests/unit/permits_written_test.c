/* What a contender of a semaphore writes: the limit where there is none, and its own node's data as
 * they are, which tells the next in line. Number 7 is ours. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(permits_written);

/* ---- the limit ---- */

/* It is not known, and to be read with the first list. */
static void written_start(void)
{
    play_start_permits(1, false);
    play.c.limit_zxid = 0;
    STEP("enter", ST_CREATING, "create, limit, list");
    SAY("created 7");
}

TEST_CASE(and_read_again)
{
    static const char *const answers[] = {"written", "written badversion"}; /* another was first */

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        written_start();
        STEP("limited empty v4", ST_LISTING, "write-limit v4");
        CHECK_STR(play_awaited(), "listed, written");
        STEP(answers[i], ST_LISTING, "limit");
        CHECK_STR(play_awaited(), "listed, limited");
        STEP("limited 2 z30", ST_LISTING, "");
        STEP("listed 7* z30", ST_HOLDING, "grant, arm");
        CHECK_INT(play.c.limit, 2);
    }
}

/* The list was asked for with the read, and is of before the write. */
TEST_CASE(behind_the_list)
{
    written_start();
    STEP("limited empty v4", ST_LISTING, "write-limit v4");
    STEP("listed 7* z8", ST_LISTING, "limit, list");
    CHECK_STR(play_awaited(), "listed, limited");
    STEP("written", ST_LISTING, "");
    STEP("limited 2 z30", ST_LISTING, "");
    STEP("listed 7* z30", ST_HOLDING, "grant, arm");
}

TEST_CASE(again_when_it_is_gone_again)
{
    written_start();
    SAY("limited empty v4");
    SAY("written");
    STEP("limited empty v6", ST_LISTING, "write-limit v6");
}

TEST_CASE(in_vain)
{
    static const struct {
        const char *words;
        enum attempt_state state;
        const char *actions;
    } rows[] = {
        {"written refused", ST_DONE, "fail refused, delete"},
        {"written bad", ST_DONE, "fail protocol, delete"},
        {"written nonode", ST_LISTING, ""}, /* so will the list say */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        written_start();
        SAY("limited empty v4");
        STEP(rows[i].words, rows[i].state, rows[i].actions);
    }
}

/* Nobody said what it is to be, or the data are something else. */
TEST_CASE(by_nobody)
{
    written_start();
    play.c.has_limit = false;
    STEP("limited empty v4", ST_DONE, "fail no-limit, delete");
    written_start();
    STEP("limited 0 z9", ST_DONE, "fail no-limit, delete");
}

/* The first in line watches what it reads again. */
TEST_CASE(by_the_first_in_line)
{
    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 4 5 7*", ST_LISTING, "limit-watch, list-watch");
    STEP("limited empty v4", ST_LISTING, "write-limit v4");
    STEP("written", ST_LISTING, "limit-watch");
    SAY("limited 2 z9");
    CHECK(play.c.limit_watched);
    STEP("left listed 4 5 7*", ST_FIRST, "");
}

static void written_look(void)
{
    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    SAY("listed 7*");
    STEP("look", ST_HOLDING, "limit, list-watch");
    STEP("limited empty v4", ST_HOLDING, "write-limit v4");
    CHECK_STR(play_awaited(), "listed, written");
}

TEST_CASE(by_a_holder_that_looks)
{
    static const char *const answers[] = {"written", "written badversion"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        written_look();
        STEP(answers[i], ST_HOLDING, "limit");
        CHECK_STR(play_awaited(), "listed, limited");
        STEP("limited 3 z40", ST_HOLDING, "");
        STEP("left listed 6 7* 8 z40", ST_HOLDING, "others none");
    }
}

/* Which takes nothing from it; it may look again. */
TEST_CASE(in_vain_by_a_holder)
{
    static const char *const answers[] = {"written refused", "written bad", "written nonode"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        written_look();
        STEP(answers[i], ST_HOLDING, "");
        CHECK_INT(play.c.limit, 2);
        STEP("listed 7* z8", ST_HOLDING, "others unknown");
    }
    written_look();
    SAY("listed 7* z8");
    STEP("look", ST_HOLDING, "limit, list-watch");
    STEP("stale written", ST_HOLDING, "");
}

/* All of a look is beside the line: to watch the own node meanwhile makes none of it stale. */
TEST_CASE(beside_the_own_watch)
{
    static const struct {
        const char *words, *actions, *awaited;
    } rows[] = {
        {"look", "limit, list-watch", "listed, read, limited"},
        {"limited empty v4", "write-limit v4", "listed, read, written"},
        {"written", "limit", "listed, read, limited"},
    };

    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    SAY("listed 7*");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        STEP(rows[i].words, ST_HOLDING, rows[i].actions);
        STEP("timer", ST_HOLDING, "read");
        CHECK_STR(play_awaited(), rows[i].awaited);
        STEP("read bad", ST_HOLDING, "arm");
    }
}

TEST_CASE(by_a_holder_without_a_limit)
{
    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    SAY("listed 7*");
    SAY("look");
    play.c.has_limit = false;
    STEP("limited empty v4", ST_HOLDING, "");
    CHECK_INT(play.c.limit, 2);
}

/* ---- the touch ---- */

static void touch_start(void)
{
    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 5 7* 8", ST_HOLDING, "touch, grant, arm");
}

TEST_CASE(touch_is_done)
{
    touch_start();
    STEP("touched", ST_HOLDING, "");
    CHECK_STR(play_awaited(), "");
}

/* Somebody else has written there, or it was done and its answer lost. */
TEST_CASE(touch_meets_other_data)
{
    touch_start();
    STEP("touched badversion", ST_HOLDING, "reread");
    STEP("reread v3", ST_HOLDING, "touch v3");
    STEP("touched badversion", ST_HOLDING, "reread");
    STEP("reread v4", ST_HOLDING, "touch v4");
    STEP("touched", ST_HOLDING, "");
}

/* The next in line waits longer: until the node is gone. */
TEST_CASE(touch_is_refused)
{
    static const char *const answers[] = {"touched refused", "touched bad"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        touch_start();
        STEP(answers[i], ST_HOLDING, "untouched");
        CHECK_STR(play_awaited(), "");
    }
}

/* The own watch tells of that, and of what is written there. */
TEST_CASE(touch_meets_no_node)
{
    static const char *const answers[] = {"reread nonode", "reread refused", "reread asked v3",
                                          "reread others v3"};

    touch_start();
    STEP("touched nonode", ST_HOLDING, "");
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        touch_start();
        SAY("touched badversion");
        STEP(answers[i], ST_HOLDING, i < 2 ? "" : "touch v3");
        CHECK(!play.c.own_watched && !play.c.asked);
    }
}

/* No other question makes it stale. */
TEST_CASE(touch_goes_beside_the_rest)
{
    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    STEP("nodeadline listed 7* 8", ST_CLAIMING, "touch, arm");
    STEP("extended", ST_PROVING, "prove");
    STEP("touched badversion", ST_PROVING, "reread");
    STEP("read 7", ST_HOLDING, "grant, arm");
    STEP("reread v3", ST_HOLDING, "touch v3");
    SAY("look");
    SAY("timer");
    SAY("lapsed");
    STEP("touched badversion", ST_LAPSED, "reread");
    STEP("release", ST_DONE, "delete");
}
