/* Readers and writers in line: whom they wait for, and that a list alone tells who is next. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_shared);

static void start(enum rule rule, bool try_only)
{
    play_start_as(rule, try_only);
    SAY("enter");
    SAY("created 7");
}

TEST_CASE(readers_hold_together)
{
    start(RULE_READ, false);
    STEP("listed 3r 5r 7*", ST_HOLDING, "grant, arm");
    start(RULE_READ, false);
    STEP("listed 3r 7* 8w", ST_HOLDING, "grant, arm");
    start(RULE_READ, true);
    STEP("listed 3r 7*", ST_HOLDING, "grant, arm");
}

/* Not for the reader between, nor for those behind. */
TEST_CASE(a_reader_waits_for_the_nearest_writer)
{
    start(RULE_READ, false);
    STEP("listed 2w 3w 5r 7* 8w", ST_WAITING, "watch 3");
    start(RULE_READ, true);
    STEP("listed 3w 5r 7*", ST_DONE, "fail busy, delete");
}

TEST_CASE(a_writer_waits_for_anybody)
{
    start(RULE_WRITE, false);
    STEP("listed 3w 5r 7*", ST_WAITING, "watch 5");
    start(RULE_WRITE, false);
    STEP("listed 5r 6w 7*", ST_WAITING, "watch 6");
    start(RULE_WRITE, true);
    STEP("listed 5r 7*", ST_DONE, "fail busy, delete");
    start(RULE_WRITE, true);
    STEP("listed 7* 8r", ST_HOLDING, "grant, arm");
}

/* Where the writer 5 went, the reader 5 may stand. No silence of the own node helps. */
TEST_CASE(the_next_lists_anew)
{
    static const enum rule rules[] = {RULE_READ, RULE_WRITE};

    for (int i = 0; i < 2; i++) {
        start(rules[i], false);
        STEP("listed 5w 7*", ST_WAITING, "watch 5");
        STEP("watched", ST_WAITING, "");
        STEP("pred gone", ST_LISTING, "list");
        STEP("listed 7*", ST_HOLDING, "grant, arm");
    }
    start(RULE_WRITE, false);
    SAY("listed 5w 7*");
    SAY("pred gone");
    STEP("listed 5r 7*", ST_WAITING, "watch 5");
    SAY("pred gone");
    STEP("listed 7*", ST_HOLDING, "grant, arm");
    start(RULE_READ, false);
    SAY("listed 5w 7*");
    STEP("watched nonode", ST_LISTING, "list");
    STEP("listed 5r 7*", ST_HOLDING, "grant, arm");
}

TEST_CASE(adopted)
{
    play_start_as(RULE_WRITE, false);
    SAY("enter");
    SAY("created unknown");
    SAY("passed");
    SAY("listed 5w 7*");
    SAY("read 7");
    STEP("listed 5w 7*", ST_WAITING, "watch 5");
    CHECK(play.c.own_watched);
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 7*", ST_HOLDING, "grant");
}

/* Even if it is asked for. */
TEST_CASE(no_head_hints)
{
    play_start_as(RULE_WRITE, false);
    play.c.long_queue = 2;
    SAY("enter");
    SAY("created 7");
    SAY("listed 3w 4r 7*");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 7* 8r", ST_HOLDING, "grant, arm");
}

TEST_CASE(mutexes)
{
    start(RULE_READ, false);
    STEP("listed 5 7*", ST_WAITING, "watch 5");
    start(RULE_WRITE, false);
    STEP("listed 5 7*", ST_WAITING, "watch 5");
    start(RULE_LOCK, false);
    STEP("listed 5r 7*", ST_DONE, "fail layout 5, delete");
    start(RULE_LOCK, false);
    STEP("listed 5w 7*", ST_DONE, "fail layout 5, delete");
    start(RULE_READ, false);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
}

/* ---- others ---- */

static void reader_looks(const char *listed, const char *actions)
{
    start(RULE_READ, false);
    SAY("listed 5r 7*");
    STEP("look", ST_HOLDING, "list-watch");
    STEP(listed, ST_HOLDING, actions);
}

/* Only a writer waits for a reader. */
TEST_CASE(who_wants_a_reader)
{
    reader_looks("listed 5r 7* 8r left", "others none");
    reader_looks("listed 5r 7* 8w left", "others wait");
    reader_looks("listed 5r 7* 8r", "others unknown");
}

/* So of each that comes a list must tell. */
TEST_CASE(somebody_comes)
{
    reader_looks("listed 7* left", "others none");
    STEP("children", ST_HOLDING, "arm, list-watch");
    STEP("children", ST_HOLDING, "arm");
    STEP("listed 7* 8r left", ST_HOLDING, "others none");
    STEP("children", ST_HOLDING, "arm, list-watch");
    STEP("listed 7* 8r 9w left", ST_HOLDING, "others wait");
    STEP("timer", ST_HOLDING, "read");
    reader_looks("listed 7* left", "others none");
    SAY("children");
    STEP("listed 8r left", ST_HOLDING, "unwatch-children, others unknown");
    STEP("timer", ST_HOLDING, "read");
    STEP("read nonode", ST_DONE, "revoke deleted");
}

TEST_CASE(who_wants_a_writer)
{
    static const char *const listed[] = {"listed 7* 8r left", "listed 7* 8w left"};

    for (int i = 0; i < 2; i++) {
        start(RULE_WRITE, false);
        SAY("listed 7*");
        SAY("look");
        STEP(listed[i], ST_HOLDING, "others wait");
    }
    start(RULE_WRITE, false);
    SAY("listed 7*");
    SAY("look");
    SAY("listed 7* left");
    STEP("children", ST_HOLDING, "arm, others wait");
}
