/* A contender that only tries does not wait for others that are first. It waits for one that
 * retains and may yield, but not for long. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_try);

/* Number 7 tries, and what it lists is that. */
static void try_and_list(const char *listed)
{
    play_start(true);
    SAY("enter");
    SAY("created 7");
    SAY(listed);
}

TEST_CASE(when_free)
{
    play_start(true);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
    STEP("listed 7* 8+", ST_HOLDING, "grant, arm");
    STEP("release", ST_DONE, "delete");
}

/* And no watch was ever set. */
TEST_CASE(others_are_first)
{
    static const char *const lists[] = {"listed 5 7*", "listed 5 7* 9+", "listed 3+ 5+ 7*",
                                        "listed 3+ 5 7*", "listed 3 5+ 7*"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        try_and_list(lists[i]);
        CHECK_STR(play_actions(), "fail busy, delete");
        CHECK_INT(play.c.state, ST_DONE);
    }
}

static void one_retains(void)
{
    try_and_list("listed 5+ 7*");
    CHECK_STR(play_actions(), "arm, read, watch 5");
    CHECK_INT(play.c.state, ST_WAITING);
    CHECK_INT(play_armed_ms(0), ATTEMPT_YIELD_MS);
}

TEST_CASE(it_yields)
{
    one_retains();
    STEP("read 7", ST_WAITING, "");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
    STEP("timer", ST_HOLDING, ""); /* of the wait; the own node is watched */
    STEP("own gone", ST_DONE, "revoke deleted");
}

/* As where nobody was first: from here on the server alone is waited for. */
TEST_CASE(it_has_yielded)
{
    one_retains();
    STEP("watched nonode", ST_PROVING, "prove");
    STEP("timer", ST_PROVING, "");
    STEP("nodeadline read 7", ST_CLAIMING, "arm"); /* in place of that of the wait */
    STEP("extended", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
    STEP("timer", ST_HOLDING, "read");
}

TEST_CASE(it_is_of_the_same_session)
{
    one_retains();
    SAY("read 7");
    SAY("watched ours");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant");
}

TEST_CASE(it_does_not_yield)
{
    one_retains();
    SAY("read 7");
    SAY("watched");
    STEP("pred changed", ST_WAITING, "rewatch");
    STEP("timer", ST_DONE, "fail busy, unwatch, delete");
    STEP("pred gone", ST_DONE, "");
}

/* It would not have been asked if it did not retain. */
TEST_CASE(it_cannot_be_watched)
{
    static const char *const answers[] = {"watched limit", "watched refused", "watched bad"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        one_retains();
        STEP(answers[i], ST_DONE, "fail busy, unwatch, delete");
    }
}

/* Nor for another who comes first when the own node, or the session, has gone meanwhile. */
TEST_CASE(once)
{
    one_retains();
    STEP("replaced", ST_REENTERING, "admit");
    STEP("timer", ST_REENTERING, "");
    STEP("enter", ST_CREATING, "create, list");
    STEP("timer", ST_CREATING, "");
    SAY("created 9");
    STEP("listed 5+ 9*", ST_DONE, "fail busy, delete");
    one_retains();
    SAY("pred gone");
    STEP("read nonode", ST_REENTERING, "delete, admit");
    SAY("enter");
    SAY("created 9");
    STEP("listed 8+ 9*", ST_DONE, "fail busy, delete");
}

TEST_CASE(given_up)
{
    one_retains();
    STEP("abort", ST_DONE, "fail aborted, unwatch, delete");
    STEP("timer", ST_DONE, "");
    one_retains();
    STEP("end", ST_DONE, "fail protocol");
}

/* A contender that does not only try waits for one that retains as for any other. */
TEST_CASE(no_try)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 5+ 7*", ST_WAITING, "read, watch 5");
    STEP("timer", ST_WAITING, "");
    STEP("watched refused", ST_DONE, "fail refused, unwatch, delete");
}
