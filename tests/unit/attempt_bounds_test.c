/* The edges: how often is too often, what is inconsistent, answers that seldom come. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_bounds);

enum { ROUNDS = 100 }; /* as often as a directory may vanish in one attempt */

/* The invariant is what the explorer and every step rely on: it must see each contradiction. */
TEST_CASE(invariant_sees)
{
    static const struct {
        const char *what;
        struct attempt c;
    } wrong[] = {
        {"waits without a node",
         {.state = ST_WAITING, .watching = true, .waited = true, .ahead = 1}},
        {"has a node when done", {.state = ST_DONE, .has_node = true, .told = true}},
        {"waits unwatched", {.state = ST_WAITING, .has_node = true, .waited = true, .ahead = 1}},
        {"watches when listing", {.state = ST_LISTING, .has_node = true, .watching = true}},
        {"told when waiting",
         {.state = ST_WAITING,
          .has_node = true,
          .watching = true,
          .waited = true,
          .ahead = 1,
          .told = true}},
        {"done untold", {.state = ST_DONE}},
        {"waits for nobody",
         {.state = ST_WAITING, .has_node = true, .watching = true, .waited = true}},
        {"waits and never did",
         {.state = ST_WAITING, .has_node = true, .watching = true, .ahead = 1}},
        {"waits for two in a try",
         {.state = ST_WAITING,
          .has_node = true,
          .watching = true,
          .waited = true,
          .ahead = 2,
          .try_only = true}},
        {"succeeds nobody",
         {.state = ST_SUCCEEDING, .has_node = true, .ahead = 1, .long_queue = 2}},
        {"succeeds without hints", {.state = ST_SUCCEEDING, .has_node = true, .ahead = 2}},
        {"first in a mutex's line",
         {.state = ST_FIRST, .has_node = true, .first = true, .limit_watched = true}},
        {"first in line without a watch",
         {.state = ST_FIRST, .rule = RULE_LEASE, .has_node = true, .first = true}},
        {"first in line and does not know",
         {.state = ST_FIRST, .rule = RULE_LEASE, .has_node = true, .limit_watched = true}},
        {"first in line in a try",
         {.state = ST_FIRST,
          .rule = RULE_LEASE,
          .has_node = true,
          .first = true,
          .limit_watched = true,
          .try_only = true}},
        {"watches the limit when listing",
         {.state = ST_LISTING, .rule = RULE_LEASE, .has_node = true, .limit_watched = true}},
        {"first in line behind another",
         {.state = ST_WAITING,
          .rule = RULE_LEASE,
          .has_node = true,
          .watching = true,
          .ahead = 1,
          .first = true}},
        {"holds without a token", {.state = ST_HOLDING, .has_node = true, .told = true}},
        {"holds by an exhausted number",
         {.state = ST_HOLDING, .has_node = true, .told = true, .token = 1, .number = INT32_MAX}},
    };
    static const struct attempt right[] = {
        {.state = ST_WAITING, .has_node = true, .watching = true, .waited = true, .ahead = 2},
        {.state = ST_WAITING,
         .has_node = true,
         .watching = true,
         .waited = true,
         .ahead = 1,
         .try_only = true},
        {.state = ST_HOLDING, .has_node = true, .told = true, .token = 1, .number = 3},
        {.state = ST_LISTING, .has_node = true, .try_only = true},
        {.state = ST_SUCCEEDING, .has_node = true, .ahead = 2, .long_queue = 1},
        {.state = ST_DONE, .told = true},
        {.state = ST_FIRST,
         .rule = RULE_LEASE,
         .has_node = true,
         .first = true,
         .limit_watched = true},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (!CHECK(!attempt_invariant(&wrong[i].c)))
            runner_fail(__FILE__, __LINE__, "%s", wrong[i].what);
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
        CHECK(attempt_invariant(&right[i]));
}

TEST_CASE(no_such_state)
{
    CHECK_STR(attempt_state_name(ST_COUNT), "?");
}

/* The directory was there when the node was made, but not when it was listed. */
static void vanish(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        SAY("created 7");
        STEP("listed nonode", ST_REENTERING, "delete, admit");
        STEP("enter", ST_CREATING, "create, list");
    }
}

TEST_CASE(vanished_too_often)
{
    play_start(false);
    SAY("enter");
    vanish(ROUNDS);
    SAY("created 7");
    STEP("listed nonode", ST_DONE, "fail protocol, delete");
}

TEST_CASE(missing_too_often)
{
    play_start(false);
    SAY("enter");
    for (int i = 0; i < ROUNDS; i++) {
        STEP("created nonode", ST_PARENTS, "parents");
        STEP("parents", ST_CREATING, "create, list");
    }
    STEP("created nonode", ST_DONE, "fail protocol");
}

/* What happened before it stood in the queue, or in an earlier session, is no reason to give up. */
TEST_CASE(counted_anew)
{
    play_start(false);
    SAY("enter");
    vanish(ROUNDS);
    SAY("created 7");
    SAY("listed 5 7*");
    STEP("replaced", ST_REENTERING, "admit");
    STEP("enter", ST_CREATING, "create, list");
    vanish(ROUNDS);
    SAY("created 7");
    STEP("listed nonode", ST_DONE, "fail protocol, delete");

    play_start(false);
    SAY("enter");
    vanish(ROUNDS);
    SAY("created 7");
    SAY("listed 5 7*");
    SAY("pred gone");
    STEP("read nonode", ST_REENTERING, "delete, admit"); /* the first of them */
    STEP("enter", ST_CREATING, "create, list");
    vanish(ROUNDS - 1);
    SAY("created 7");
    STEP("listed nonode", ST_DONE, "fail protocol, delete");
}

TEST_CASE(parents_reaped_while_being_made)
{
    play_reach(ST_PARENTS);
    STEP("parents nonode", ST_REENTERING, "admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
}

/* Nobody can tell whether a node of ours stands. The attempt looks for it at growing intervals,
 * until it is seen or the session ends. */
static void looked_for_again(void)
{
    static const int32_t pauses[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};

    for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
        if (i > 0)
            STEP("timer", ST_LEAVING, "barrier");
        if (i % 3 > 0)
            SAY("passed");
        STEP(i % 3 == 0 ? "passed bad" : "listed refused", ST_LEAVING, "orphan, arm");
        CHECK_INT(play_armed_ms(1), pauses[i]);
        STEP("abort", ST_LEAVING, "");
    }
}

TEST_CASE(unsettled_for_long)
{
    play_reach(ST_LEAVING);
    SAY("created unknown");
    STEP("timer", ST_LEAVING, ""); /* it looks already */
    looked_for_again();
    STEP("timer", ST_LEAVING, "barrier");
    STEP("passed", ST_LEAVING, "list");
    STEP("listed 5 7*", ST_DONE, "delete-all");

    play_reach(ST_LEAVING);
    SAY("created unknown");
    looked_for_again();
    STEP("replaced", ST_DONE, "");
}

/* The acquisition ends, and its node is looked for. */
TEST_CASE(refused_while_settling)
{
    play_reach(ST_SETTLING);
    SAY("passed");
    STEP("listed refused", ST_LEAVING, "fail refused, orphan, arm");
    CHECK_INT(play_armed_ms(2), 500);
    STEP("timer", ST_LEAVING, "barrier");
    STEP("passed", ST_LEAVING, "list");
    STEP("listed nonode", ST_DONE, "");

    play_reach(ST_SETTLING);
    STEP("passed bad", ST_LEAVING, "fail protocol, orphan, arm"); /* a list may come from before */
    STEP("timer", ST_LEAVING, "barrier");
}

/* However often the directory had to be made before. */
TEST_CASE(patience_of_its_own)
{
    for (int unknown = 0; unknown < 2; unknown++) {
        play_start(false);
        SAY("enter");
        vanish(ROUNDS);
        SAY("created unknown");
        if (unknown)
            SAY("abort");
        SAY("passed");
        SAY("listed refused");
        CHECK_INT(play.c.state, ST_LEAVING);
        CHECK_INT(play_armed_ms(play.out.count - 1), 500);
    }
}

TEST_CASE(settled_without_a_directory)
{
    play_reach(ST_SETTLING);
    SAY("passed");
    STEP("listed nonode", ST_CREATING, "create, list");

    play_reach(ST_LEAVING);
    SAY("created unknown");
    SAY("passed");
    STEP("listed nonode", ST_DONE, "");
}
