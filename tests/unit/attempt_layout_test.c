/* Children of another layout: refused when one came first, whatever else there is. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_layout);

static void start(bool try_only, bool strict)
{
    play_start(try_only);
    play.c.strict = strict;
    SAY("enter");
    SAY("created 7");
}

/* An incompatible one, 5!, came first: both could hold. */
TEST_CASE(before)
{
    start(false, false);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
    start(false, false);
    STEP("listed 7* 3 5! 6", ST_DONE, "fail layout 5, delete");
    start(false, false);
    STEP("nodeadline listed 0! 7*", ST_DONE, "fail layout 0, delete"); /* not a claim first */
}

/* The same number is another's before ours as well. */
TEST_CASE(of_the_same_number)
{
    start(false, false);
    STEP("listed 7! 7*", ST_DONE, "fail layout 7, delete");
}

TEST_CASE(behind)
{
    start(false, false);
    STEP("listed 7* 8!", ST_HOLDING, "grant, arm");
    start(false, false);
    STEP("listed 5 7* 8!", ST_WAITING, "read, watch 5");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

/* Where numbers are used up nobody knows who was first: as with locks, they are before us. */
TEST_CASE(of_an_exhausted_number)
{
    start(false, false);
    STEP("listed 7* 2147483647!", ST_DONE, "fail layout 2147483647, delete");
    start(false, false);
    STEP("listed 7* -5!", ST_DONE, "fail layout -5, delete");
    start(false, false);
    STEP("listed 7* 2147483646!", ST_HOLDING, "grant, arm");
}

/* It shows in a later list only: still no grant. */
TEST_CASE(while_waiting)
{
    start(false, false);
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 3 -1! 7*", ST_DONE, "fail layout -1, delete");
}

TEST_CASE(spares_go_as_well)
{
    start(false, false);
    STEP("listed 5! 7* 9*", ST_DONE, "delete-all-but 7, fail layout 5, delete");
    start(false, false);
    STEP("listed 5! 7* 4~", ST_DONE, "delete-all-but 7, fail layout 5, delete");
}

/* A list without the own node proves nothing, not even that. */
TEST_CASE(not_without_the_own_node)
{
    start(false, false);
    STEP("listed 5!", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

TEST_CASE(tries)
{
    start(true, false);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
    start(true, false);
    STEP("listed 5! 6 7*", ST_DONE, "fail layout 5, delete"); /* busy would be only half of it */
    start(true, false);
    STEP("listed 5 7* 8!", ST_DONE, "fail busy, delete");
    start(true, false);
    STEP("listed 7* 8!", ST_HOLDING, "grant, arm");
}

TEST_CASE(adopted)
{
    play_start(false);
    SAY("enter");
    STEP("created unknown", ST_SETTLING, "barrier");
    SAY("passed");
    STEP("listed 5! 7*", ST_ADOPTING, "adopt 7, read");
    STEP("read 7", ST_LISTING, "list");
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
}

/* Strict: what is no contender is one child too many, wherever it would stand. */
TEST_CASE(strict)
{
    start(false, true);
    STEP("listed 7* 0?", ST_DONE, "fail layout 0, delete");
    start(false, true);
    STEP("listed 5 7* 0?", ST_DONE, "fail layout 0, delete");
    start(true, true);
    STEP("listed 5 7* 0?", ST_DONE, "fail layout 0, delete");
    start(false, true);
    STEP("listed 5 7*", ST_WAITING, "read, watch 5");
    start(false, true);
    STEP("listed 7* 8!", ST_HOLDING, "grant, arm");
    start(false, true);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
    start(false, false);
    STEP("listed 7* 0?", ST_HOLDING, "grant, arm");
}
