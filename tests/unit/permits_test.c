/* A contender of a semaphore with a limit of 2: who is admitted, who watches what, who is told, and
 * what is written. Number 7 is ours. */
#include "attempt_play.h"
#include "limit.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(permits);

static void start(uint32_t permits)
{
    play_start_permits(permits, false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
}

static void start_first_in_line(void)
{
    start(1);
    STEP("listed 4 5 7*", ST_LISTING, "limit-watch, list-watch");
    STEP("limited 2 z9", ST_LISTING, "");
    STEP("left listed 4 5 7*", ST_FIRST, "");
}

static void start_behind(void)
{
    start(1);
    STEP("listed 4 5 6 7*", ST_WAITING, "watch 6");
}

/* ---- the limit ---- */

TEST_CASE(limits)
{
    static const struct {
        const char *data;
        int32_t limit;
    } rows[] = {
        {"1", 1},          {"007", 7},          {"2147483647", INT32_MAX},
        {"2147483648", 0}, {"99999999999", 0},  {"", 0},
        {"0", 0},          {"-1", 0},           {"+1", 0},
        {" 1", 0},         {"1 ", 0},           {"1\n", 0},
        {"x", 0},          {"1.0", 0},          {"/1", 0},
        {"1:", 0},         {"zkl head 1 x", 0}, {"4294967298", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!CHECK_INT(limit_read(rows[i].data, strlen(rows[i].data)), rows[i].limit))
            runner_fail(__FILE__, __LINE__, "for \"%s\"", rows[i].data);
}

/* It is read along with the first list, where it is not known yet. */
TEST_CASE(limit_is_read_once)
{
    play_start_permits(1, false);
    play.c.limit_zxid = 0;
    STEP("enter", ST_CREATING, "create, limit, list");
    SAY("created 7");
    STEP("limited 2 z30", ST_LISTING, "");
    STEP("listed 5 7* z30", ST_HOLDING, "grant, arm");
    CHECK_INT(play.c.limit, 2);
    CHECK_INT(play.c.limit_zxid, 30);
}

/* A list counts with the limit of its own instant alone. */
TEST_CASE(limit_changed_between)
{
    start(1);
    STEP("listed 4 5 7* z10", ST_LISTING, "limit, list");
    STEP("limited 3 z10", ST_LISTING, "");
    STEP("listed 4 5 7* z11", ST_LISTING, "limit, list"); /* and once more */
    STEP("limited 2 z11", ST_LISTING, "");
    STEP("listed 4 5 7* z11", ST_LISTING, "limit-watch, list-watch");
    STEP("limited 3 z12", ST_LISTING, "");
    STEP("left listed 4 5 7* z12", ST_HOLDING, "unwatch-limit, grant, arm, unwatch-children");
}

TEST_CASE(limit_that_always_changes)
{
    start(1);
    for (int i = 0; i < 100; i++)
        STEP("listed 7* z8", ST_LISTING, "limit, list");
    STEP("listed 7* z8", ST_DONE, "fail protocol, delete");
}

TEST_CASE(no_limit)
{
    start(1);
    STEP("listed 7* z10", ST_LISTING, "limit, list");
    STEP("limited 0 z10", ST_DONE, "fail no-limit, delete");

    play_start_permits(1, false);
    play.c.limit_zxid = 0;
    play.c.has_limit = false;
    SAY("enter");
    STEP("created nonode", ST_DONE, "fail no-limit"); /* who has none makes no directory */
}

TEST_CASE(limit_cannot_be_read)
{
    start(1);
    SAY("listed 7* z10");
    STEP("limited refused", ST_DONE, "fail refused, delete");
    start(1);
    SAY("listed 7* z10");
    STEP("limited nonode", ST_LISTING, ""); /* so will the list say */
    STEP("listed nonode", ST_REENTERING, "delete, admit");
    start(1);
    SAY("listed 4 5 7*");
    STEP("limited limit", ST_DONE, "fail limit, unwatch-limit, delete");
}

/* ---- admission ---- */

TEST_CASE(free_permits)
{
    start(1);
    STEP("listed 7*", ST_HOLDING, "grant, arm");
    start(1);
    STEP("listed 5 7*", ST_HOLDING, "grant, arm");
    start(2);
    STEP("listed 7*", ST_HOLDING, "grant, arm");
    STEP("release", ST_DONE, "delete");
}

/* One who saw us as not admitted waits for our node, whatever this list says of it. */
TEST_CASE(touches_if_anybody_is_behind)
{
    start(1);
    STEP("listed 5 7* 8", ST_HOLDING, "touch, grant, arm");
    CHECK_INT(play.c.others, OTHERS_WAIT);
    start(1);
    STEP("listed 7* 8", ST_HOLDING, "touch, grant, arm");
    CHECK_INT(play.c.others, OTHERS_UNKNOWN);
    start(1);
    STEP("nodeadline listed 7* 8", ST_CLAIMING, "touch, arm"); /* admitted it is all the same */
    STEP("extended", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

TEST_CASE(all_or_nothing)
{
    start(2);
    STEP("listed 5 7*", ST_LISTING, "limit-watch, list-watch");
    SAY("limited 2 z9");
    STEP("left listed 5 7*", ST_FIRST, "");
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 7*", ST_HOLDING, "unwatch-limit, grant, arm, unwatch-children");
}

/* One permit is free, but somebody before us waits for two. */
TEST_CASE(nobody_overtakes)
{
    start(1);
    STEP("listed 5 6x2 7*", ST_WAITING, "watch 6");
}

/* One that has come since 5 and 6 were admitted, which will not tell of it again. */
TEST_CASE(number_that_is_used_up_comes_later)
{
    for (int negative = 0; negative < 2; negative++) {
        start(1);
        STEP(negative ? "listed 5 6 -3 7*" : "listed 5 6 2147483647 7*", ST_LISTING,
             "limit-watch, list-watch");
        SAY("limited 2 z9");
        STEP(negative ? "left listed 5 6 -3 7*" : "left listed 5 6 2147483647 7*", ST_FIRST, "");
        STEP("children", ST_LISTING, "list-watch");
        STEP("left listed 6 7*", ST_HOLDING, "unwatch-limit, grant, arm, unwatch-children");
    }
}

TEST_CASE(more_than_the_limit)
{
    start(3);
    STEP("listed 7*", ST_DONE, "fail permits, delete");
}

TEST_CASE(more_than_a_lowered_limit)
{
    start(2);
    SAY("listed 5 7*");
    SAY("limited 2 z9");
    STEP("left listed 5 7*", ST_FIRST, "");
    STEP("limit-changed", ST_LISTING, "limit-watch, list-watch");
    STEP("limited 1 z20", ST_LISTING, "");
    STEP("left listed 5 7* z20", ST_DONE, "fail permits, unwatch-limit, delete");
}

TEST_CASE(try_only)
{
    play_start_permits(1, true);
    SAY("enter");
    SAY("created 7");
    STEP("listed 4 5 7*", ST_DONE, "fail busy, delete");
    play_start_permits(1, true);
    SAY("enter");
    SAY("created 7");
    STEP("listed 5 7* 8", ST_HOLDING, "touch, grant, arm");
}

TEST_CASE(another_layout)
{
    start(1);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
}

/* ---- first in line ---- */

TEST_CASE(first_in_line_hears_of_a_release)
{
    start_first_in_line();
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 5 7*", ST_HOLDING, "unwatch-limit, grant, arm, unwatch-children");
    start_first_in_line();
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 4 5 7* 8", ST_FIRST, ""); /* one who came */
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 5 7* 8", ST_HOLDING, "unwatch-limit, touch, grant, arm, unwatch-children");
}

/* The limit may have changed without a word from its watch. */
TEST_CASE(limit_is_in_doubt)
{
    start_first_in_line();
    STEP("doubt", ST_LISTING, "limit-watch, list-watch");
    SAY("limited 3 z20");
    STEP("left listed 4 5 7* z20", ST_HOLDING, "unwatch-limit, grant, arm, unwatch-children");
    STEP("doubt", ST_HOLDING, "");
    start_first_in_line();
    SAY("children");
    STEP("doubt", ST_LISTING, "");
    STEP("left listed 4 5 7*", ST_LISTING, "limit-watch, list-watch");
    start_behind();
    STEP("doubt", ST_WAITING, "");
}

/* Its read left a watch, though there was no limit to learn. */
TEST_CASE(watch_on_no_limit)
{
    start(1);
    SAY("listed 4 5 7*");
    STEP("limited 0 z9", ST_DONE, "fail no-limit, unwatch-limit, delete");
    start(1);
    SAY("listed 4 5 7*");
    STEP("limited nonode", ST_LISTING, "");
    STEP("listed nonode", ST_REENTERING, "unwatch-limit, delete, leave-children, admit");
}

/* It stays first in line: where more are held than the limit allows, too. */
TEST_CASE(limit_is_lowered)
{
    start_first_in_line();
    SAY("limit-changed");
    SAY("limited 1 z20");
    STEP("left listed 4 5 7* z20", ST_FIRST, "");
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 5 7* z20", ST_FIRST, "");
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 7* z20", ST_HOLDING, "unwatch-limit, grant, arm, unwatch-children");
}

TEST_CASE(limit_changes_while_it_lists)
{
    start_first_in_line();
    STEP("children", ST_LISTING, "list-watch");
    STEP("limit-changed", ST_LISTING, "");
    STEP("left listed 4 5 7*", ST_LISTING, "limit-watch, list-watch"); /* of before the change */
    SAY("limited 2 z20");
    STEP("left listed 4 5 7* z20", ST_FIRST, "");
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 4 5 7* z21", ST_LISTING, "limit-watch, list-watch"); /* of behind it */
    STEP("limited 3 z21", ST_LISTING, "");
    STEP("left listed 4 5 7* z21", ST_HOLDING, "unwatch-limit, grant, arm, unwatch-children");
}

TEST_CASE(too_much_is_watched)
{
    start(1);
    SAY("listed 4 5 7*");
    SAY("limited 2 z9");
    STEP("listed 4 5 7*", ST_DONE, "fail limit, unwatch-limit, delete");
}

TEST_CASE(own_node_goes)
{
    start_first_in_line();
    SAY("children");
    STEP("left listed 4 5", ST_REENTERING,
         "unwatch-children, unwatch-limit, delete, leave-children, admit");
    STEP("enter", ST_CREATING, "create, list"); /* the limit is known */
    SAY("created 9");
    STEP("listed 5 9*", ST_HOLDING, "grant, arm");
}

/* ---- behind ---- */

TEST_CASE(predecessor_is_admitted)
{
    start_behind();
    STEP("watched 6", ST_WAITING, "");
    STEP("pred changed", ST_LISTING, "unwatch, limit-watch, list-watch");
    SAY("limited 2 z9");
    STEP("left listed 5 6 7*", ST_FIRST, "");
}

TEST_CASE(predecessor_goes)
{
    start_behind();
    SAY("watched 6");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 4 5 7*", ST_LISTING, "limit-watch, list-watch");
    start_behind();
    STEP("watched nonode", ST_LISTING, "list");
    STEP("listed 3 4 5 7*", ST_WAITING, "watch 5");
    start_behind();
    STEP("watched refused", ST_DONE, "fail refused, unwatch, delete");
}

/* It was admitted between our list and our watch. */
TEST_CASE(predecessor_was_touched_before)
{
    start_behind();
    STEP("watched 6 v1", ST_LISTING, "unwatch, limit-watch, list-watch");
}

/* A limit that was lowered behind its create: it may hold since before. */
TEST_CASE(predecessor_is_older_than_the_limit)
{
    start_behind();
    play.c.limit_zxid = 1007; /* and it was made at 1006 */
    STEP("watched 6", ST_LISTING, "unwatch, limit-watch, list-watch");
    SAY("limited 2 z1007");
    STEP("left listed 4 5 6 7*", ST_FIRST, ""); /* and does not wait for it */
    start_behind();
    play.c.limit_zxid = 1006;
    STEP("watched 6", ST_WAITING, "");
}

/* ---- others ---- */

TEST_CASE(holder_hears_of_others)
{
    start(1);
    SAY("listed 7*");
    STEP("look", ST_HOLDING, "limit, list-watch");
    STEP("limited 2 z9", ST_HOLDING, "");
    STEP("left listed 7* 8", ST_HOLDING, "others none"); /* who came need not wait */
    STEP("children", ST_HOLDING, "arm, limit, list-watch");
    SAY("limited 2 z9");
    STEP("left listed 7* 8 9", ST_HOLDING, "others wait");

    start(1);
    SAY("listed 7*");
    SAY("look");
    STEP("limited 1 z10", ST_HOLDING, ""); /* which takes nothing from whoever holds */
    STEP("left listed 6 7* z11", ST_HOLDING, "others unknown, unwatch-children");
    SAY("look");
    STEP("limited 0 z12", ST_HOLDING, "");
    CHECK_INT(play.c.limit, 1);
    STEP("listed refused", ST_HOLDING, "others unknown");
}

/* ---- curator's layout: all children count ---- */

static void start_lease(void)
{
    play_start_lease(false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
}

TEST_CASE(leases_are_counted)
{
    start_lease();
    STEP("listed 7* z30", ST_HOLDING, "grant, arm"); /* what the data are is no matter */
    start_lease();
    STEP("listed 5 7*", ST_HOLDING, "grant, arm");
    start_lease();
    STEP("listed 7* 8", ST_HOLDING, "grant, arm"); /* nobody waits for our touch */
    start_lease();
    STEP("listed 4 5 7*", ST_LISTING, "list-watch");
    start_lease();
    STEP("listed 7* 8 9", ST_LISTING, "list-watch"); /* those that came later, too */
    start_lease();
    STEP("listed 4? 5? 7*", ST_LISTING, "list-watch"); /* whatever they are called */
}

TEST_CASE(lease_waits_for_room)
{
    start_lease();
    SAY("listed 4 5 7*");
    STEP("left listed 4 5 7*", ST_FIRST, "");
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 4 5 6? 7*", ST_FIRST, "");
    STEP("children", ST_LISTING, "list-watch");
    STEP("left listed 5 7*", ST_HOLDING, "grant, arm, unwatch-children");
    start_lease();
    SAY("listed 4 5 7*");
    STEP("listed 4 5 7*", ST_DONE, "fail limit, delete"); /* too much is watched */
}

TEST_CASE(lease_goes)
{
    start_lease();
    SAY("listed 4 5 7*");
    SAY("left listed 4 5 7*");
    SAY("children");
    STEP("left listed 4 5", ST_REENTERING, "unwatch-children, delete, leave-children, admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created nonode", ST_PARENTS, "parents");
}

TEST_CASE(holder_of_a_lease_hears_of_others)
{
    start_lease();
    SAY("listed 5 7*");
    STEP("look", ST_HOLDING, "list-watch");
    STEP("left listed 5 7*", ST_HOLDING, "others none");
    STEP("children", ST_HOLDING, "arm, list-watch");
    STEP("left listed 5 7* 8", ST_HOLDING, "others wait");
}

/* ---- what a contender of a semaphore writes ---- */

/* The limit where there is none, and its own node's data as they are, which tells the next in line.
 * Number 7 is ours. */

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
    SAY("too-late");
    STEP("touched badversion", ST_LOST, "reread");
    STEP("release", ST_DONE, "delete");
}
