/* Children of another layout: refused when one came first, whatever else there is. */
#include "attempt_play.h"
#include "suites.h"

static void start(bool try_only, bool strict)
{
    play_start(try_only);
    play.c.strict = strict;
    SAY("enter");
    SAY("created 7");
}

/* An incompatible one, 5!, came first: both could hold. */
static void before(void)
{
    start(false, false);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
    start(false, false);
    STEP("listed 7* 3 5! 6", ST_DONE, "fail layout 5, delete");
    start(false, false);
    STEP("nodeadline listed 0! 7*", ST_DONE, "fail layout 0, delete"); /* not a claim first */
}

/* The same number is another's before ours as well. */
static void of_the_same_number(void)
{
    start(false, false);
    STEP("listed 7! 7*", ST_DONE, "fail layout 7, delete");
}

static void behind(void)
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
static void of_an_exhausted_number(void)
{
    start(false, false);
    STEP("listed 7* 2147483647!", ST_DONE, "fail layout 2147483647, delete");
    start(false, false);
    STEP("listed 7* -5!", ST_DONE, "fail layout -5, delete");
    start(false, false);
    STEP("listed 7* 2147483646!", ST_HOLDING, "grant, arm");
}

/* It shows in a later list only: still no grant. */
static void while_waiting(void)
{
    start(false, false);
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 3 -1! 7*", ST_DONE, "fail layout -1, delete");
}

static void spares_go_as_well(void)
{
    start(false, false);
    STEP("listed 5! 7* 9*", ST_DONE, "delete-all-but 7, fail layout 5, delete");
    start(false, false);
    STEP("listed 5! 7* 4~", ST_DONE, "delete-all-but 7, fail layout 5, delete");
}

/* A list without the own node proves nothing, not even that. */
static void not_without_the_own_node(void)
{
    start(false, false);
    STEP("listed 5!", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

static void tries(void)
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

static void adopted(void)
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
static void strict(void)
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

static const struct test_case cases[] = {
    {"before", before},
    {"of_the_same_number", of_the_same_number},
    {"behind", behind},
    {"of_an_exhausted_number", of_an_exhausted_number},
    {"while_waiting", while_waiting},
    {"spares_go_as_well", spares_go_as_well},
    {"not_without_the_own_node", not_without_the_own_node},
    {"tries", tries},
    {"adopted", adopted},
    {"strict", strict},
    {NULL, NULL},
};

const struct test_suite attempt_layout_suite = {.name = "attempt_layout", .cases = cases};
