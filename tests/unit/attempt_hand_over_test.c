/* The head goes, and the next in line is granted at that event: the silence of the watch on its own
 * node proves it. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_hand_over);

/* Number 7 waits for 5, and nobody else is ahead. */
static void queue_up(void)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 5 7* 9", ST_WAITING, "read, watch 5");
}

static void watch_own(void)
{
    queue_up();
    STEP("read 7", ST_WAITING, "");
    CHECK(play.c.own_watched);
}

/* Two are ahead: the nearest may go before the head does. */
static void queue_up_behind_two(void)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
}

/* The watch is there already: it needs no timer. */
TEST_CASE(silent)
{
    watch_own();
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
    CHECK(play.c.own_watched);
    STEP("own gone", ST_DONE, "revoke deleted");
}

/* That answer comes behind all that happened before, as an event does. */
TEST_CASE(gone_before_it_was_watched)
{
    watch_own();
    STEP("watched nonode", ST_HOLDING, "grant");
}

TEST_CASE(predecessor_changed_before)
{
    watch_own();
    SAY("watched");
    STEP("pred changed", ST_WAITING, "rewatch");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
}

TEST_CASE(own_watch_fired)
{
    watch_own();
    STEP("own changed", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read nonode", ST_REENTERING, "delete, admit");
}

/* What is read later may be older: a server that lags would show the node again. */
TEST_CASE(own_node_heard_gone)
{
    watch_own();
    STEP("own gone", ST_REENTERING, "unwatch, delete, admit");
    STEP("pred gone", ST_REENTERING, "");
}

TEST_CASE(own_watch_not_confirmed)
{
    static const char *const answers[] = {"read limit", "stale read 7", "read bad", "read refused",
                                          "stale read nonode"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        queue_up();
        STEP(answers[i], ST_WAITING, "");
        CHECK(!play.c.own_watched);
        SAY("watched");
        STEP("pred gone", ST_PROVING, "prove");
        STEP("read 7", ST_HOLDING, "grant, arm");
    }
}

/* It is deleted between the list that has it and the read that was to leave a watch: without one
 * nothing would be heard of that. */
TEST_CASE(own_node_gone_before_it_was_watched)
{
    static const char *const answers[] = {"read nonode", "read 7 others"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        queue_up();
        STEP(answers[i], ST_REENTERING, "unwatch, delete, admit");
        STEP("watched", ST_REENTERING, "");
        STEP("enter", ST_CREATING, "create, list");
    }
}

/* What was missed meanwhile is told in any order. */
TEST_CASE(another_connection)
{
    watch_own();
    SAY("watched");
    STEP("again pred gone", ST_PROVING, "prove");
    STEP("own gone", ST_REENTERING, "delete, admit");

    watch_own();
    STEP("again watched nonode", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant"); /* the watch is good for a holder still */
}

/* Asked for before the connection was lost, and answered behind all that was missed. */
TEST_CASE(confirmed_on_another_connection)
{
    queue_up();
    STEP("again read 7", ST_WAITING, "");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
}

TEST_CASE(more_than_one_ahead)
{
    queue_up_behind_two();
    SAY("watched");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 3 7*", ST_WAITING, "read, watch 3"); /* now there is one */
    SAY("read 7");
    SAY("watched");
    STEP("pred gone", ST_HOLDING, "grant");
}

static void adopt(void)
{
    play_reach(ST_ADOPTING);
    STEP("read 7", ST_LISTING, "list");
}

/* Its adoption left the watch. */
TEST_CASE(adopted)
{
    adopt();
    STEP("listed 5 7*", ST_WAITING, "watch 5");
    STEP("pred gone", ST_HOLDING, "grant");

    adopt();
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("pred gone", ST_LISTING, "list");
}

/* The old watch may be used up: only what the newest read left counts. */
TEST_CASE(adopted_on_another_connection)
{
    adopt();
    STEP("again listed 5 7*", ST_WAITING, "read, watch 5");
    SAY("read 7");
    STEP("pred gone", ST_HOLDING, "grant");

    adopt();
    SAY("again listed 5 7*");
    SAY("read limit");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("extended", ST_PROVING, "prove");
}

/* Another library's may have come with a negative number, which counts as lower; its last one waits
 * for ours. */
TEST_CASE(where_numbers_run_out)
{
    play_start(false);
    SAY("enter");
    SAY("created 2146435071");
    STEP("listed 5 2146435071*", ST_WAITING, "read, watch 5");
    STEP("read 2146435071", ST_WAITING, "");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed -2147483648 2146435071*", ST_WAITING, "watch -2147483648");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 2146435071* 2147483647", ST_HOLDING, "grant");
}

TEST_CASE(no_deadline_ahead)
{
    watch_own();
    STEP("nodeadline pred gone", ST_CLAIMING, "arm");
    STEP("extended", ST_HOLDING, "grant");

    watch_own();
    STEP("nodeadline pred gone", ST_CLAIMING, "arm");
    STEP("own gone", ST_REENTERING, "delete, admit");

    watch_own();
    STEP("nodeadline pred gone", ST_CLAIMING, "arm");
    STEP("own changed", ST_PROVING, "prove");
}

/* One transaction removes both, and is heard of in either order: the grant ends with the next
 * event. */
TEST_CASE(both_in_one_transaction)
{
    watch_own();
    STEP("pred gone", ST_HOLDING, "grant");
    STEP("own gone", ST_DONE, "revoke deleted");

    watch_own();
    STEP("own gone", ST_REENTERING, "unwatch, delete, admit");
}

/* An operator who closes a session by force removes all its nodes at once. */
TEST_CASE(of_the_same_session)
{
    watch_own();
    SAY("watched ours");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("own gone", ST_REENTERING, "delete, admit");

    play_start(false);
    SAY("enter");
    SAY("created 7");
    SAY("listed 3 5 7*");
    SAY("watched ours");
    SAY("pred gone");
    SAY("listed 3 7*");
    SAY("read 7");
    STEP("watched nonode", ST_HOLDING, "grant"); /* that was another predecessor's */
}

TEST_CASE(another_session)
{
    watch_own();
    STEP("replaced", ST_REENTERING, "admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 9", ST_LISTING, "");
    STEP("listed 5 9*", ST_WAITING, "read, watch 5"); /* the watch was of another node */
    STEP("pred gone", ST_PROVING, "prove");
}
