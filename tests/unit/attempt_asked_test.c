/* A holder is asked to give way, by what is written into its node: before or after the grant,
 * before or after it wants to hear of that. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_asked);

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

TEST_CASE(before_the_own_watch)
{
    play_reach(ST_HOLDING);
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7 asked", ST_HOLDING, "asked");
    CHECK(play.c.own_watched);
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

TEST_CASE(heeded_again_when_watched)
{
    play_reach(ST_HOLDING);
    STEP("heed", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    STEP("heed", ST_HOLDING, "");
    STEP("own changed", ST_HOLDING, "read");
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
    STEP("read nonode", ST_DONE, "revoke deleted");
    play_reach(ST_HOLDING);
    SAY("heed");
    STEP("read 7 others asked", ST_DONE, "revoke deleted");
    STEP("heed", ST_DONE, "");
}

/* The watch on the children, which needs no other one for the own node's end, tells nothing of its
 * data. */
TEST_CASE(while_the_children_are_watched)
{
    play_start(false);
    play.c.watch_children = true;
    play.c.heeds = true;
    SAY("enter");
    SAY("created 7");
    STEP("listed 7* left", ST_HOLDING, "grant, arm");
    STEP("timer", ST_HOLDING, "read");
    STEP("read limit", ST_HOLDING, "arm");
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    STEP("own changed", ST_HOLDING, "read");
    STEP("read 7 asked", ST_HOLDING, "asked");
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
}

TEST_CASE(an_adopted_node)
{
    play_reach(ST_ADOPTING);
    SAY("read 7 asked");
    STEP("listed 7*", ST_HOLDING, "grant, asked");
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
    SAY("lapsed");
    STEP("read 7 asked", ST_LAPSED, "");
    STEP("heed", ST_LAPSED, "");
    play_reach(ST_HOLDING);
    SAY("heed");
    SAY("release");
    STEP("read 7 asked", ST_DONE, "");
}
