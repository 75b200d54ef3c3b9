/* The ordinary ways of a contender: alone, in the queue, a try. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_queue);

TEST_CASE(uncontended)
{
    play_start(false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
    STEP("listed 7*", ST_HOLDING, "grant, arm");
    CHECK_INT(play.c.token, 1007);
    STEP("timer", ST_HOLDING, "read"); /* the own node gets its watch only when the hold is long */
    STEP("read 7", ST_HOLDING, "");
    CHECK(play.c.own_watched);
    STEP("release", ST_DONE, "delete");
    STEP("own gone", ST_DONE, "");
}

TEST_CASE(short_hold)
{
    play_reach(ST_HOLDING);
    STEP("release", ST_DONE, "delete");
    STEP("timer", ST_DONE, "");
}

TEST_CASE(release_before_the_own_watch_is_answered)
{
    play_reach(ST_HOLDING);
    STEP("timer", ST_HOLDING, "read");
    STEP("release", ST_DONE, "delete");
    STEP("read nonode", ST_DONE, "");
}

/* The predecessor was alone before us: who comes next is known, no listing. */
TEST_CASE(handed_over_by_the_head)
{
    play_start(false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
    STEP("listed 9 7* 5", ST_WAITING, "read, watch 5");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove"); /* the own watch was not confirmed */
    STEP("read 7", ST_HOLDING, "grant, arm");
    CHECK(!play.c.own_watched);
    STEP("timer", ST_HOLDING, "read");
    STEP("read 7", ST_HOLDING, "");
    CHECK(play.c.own_watched);
    STEP("release", ST_DONE, "delete");
}

/* A middle waiter left: others are still first. */
TEST_CASE(moves_up_when_a_middle_waiter_leaves)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 3 7* 8", ST_WAITING, "read, watch 3");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

TEST_CASE(lists_when_the_predecessor_was_not_the_head)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    SAY("listed 3 5 7*");
    SAY("watched");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 7* 8", ST_HOLDING, "grant, arm"); /* the list is the proof */
}

TEST_CASE(predecessor_gone_before_the_watch_is_set)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 5 7*", ST_WAITING, "read, watch 5");
    STEP("watched nonode", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");

    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("watched nonode", ST_LISTING, "list");
}

TEST_CASE(predecessor_changed_but_is_there)
{
    play_reach(ST_WAITING);
    SAY("watched");
    STEP("pred changed", ST_WAITING, "rewatch");
    STEP("watched", ST_WAITING, "");
    STEP("pred changed", ST_WAITING, "rewatch");
    STEP("watched nonode", ST_PROVING, "prove");
}

TEST_CASE(watch_is_not_granted)
{
    play_reach(ST_WAITING);
    STEP("watched refused", ST_DONE, "fail refused, unwatch, delete");
    play_reach(ST_WAITING);
    STEP("watched limit", ST_DONE, "fail limit, unwatch, delete");
    play_reach(ST_WAITING);
    STEP("watched bad", ST_DONE, "fail protocol, unwatch, delete");
}

/* First, but the session's deadline is not proved: a grant would be a hope. */
TEST_CASE(no_deadline_ahead)
{
    play_start(false);
    SAY("enter");
    SAY("nodeadline created 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    CHECK_INT(play_armed_ms(0), PLAY_TIMEOUT_MS);
    STEP("nodeadline extended", ST_CLAIMING, "");
    STEP("extended", ST_PROVING, "prove"); /* it may have been deleted meanwhile */
    STEP("read 7", ST_HOLDING, "grant, arm");
}

/* Those who wait behind it are not kept from the lock. */
TEST_CASE(makes_way_without_a_deadline)
{
    for (int proving = 0; proving < 2; proving++) {
        play_reach(ST_PROVING);
        STEP("nodeadline read 7", ST_CLAIMING, "arm");
        if (proving)
            SAY("own changed");
        STEP("nodeadline timer", ST_REENTERING, "delete, admit");
        STEP("enter", ST_CREATING, "create, list");
        SAY("created 8");
        STEP("listed 8*", ST_HOLDING, "grant, arm");
    }
}

/* Without a connection nothing can be proved: that time does not count. */
TEST_CASE(makes_way_on_one_connection)
{
    play_reach(ST_PROVING);
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("nodeadline again extended", ST_CLAIMING, "arm");
    STEP("nodeadline again timer", ST_CLAIMING, "arm");
    STEP("own changed", ST_PROVING, "prove");
    STEP("nodeadline again timer", ST_PROVING, "");
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("nodeadline timer", ST_REENTERING, "delete, admit");
}

TEST_CASE(a_try_fails_without_a_deadline)
{
    play_start(true);
    SAY("enter");
    SAY("created 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    STEP("nodeadline timer", ST_DONE, "fail unproved, delete");
}

TEST_CASE(no_deadline_ahead_after_a_read)
{
    play_reach(ST_PROVING);
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("own changed", ST_PROVING, "prove");
    STEP("nodeadline read 7", ST_CLAIMING, "");
    STEP("extended", ST_PROVING, "prove"); /* it may have been deleted meanwhile */
    STEP("read 7", ST_HOLDING, "grant, arm");
}

TEST_CASE(own_node_gone_while_claiming)
{
    play_reach(ST_PROVING);
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("own gone", ST_PROVING, "prove"); /* asks rather than trusts one notice */
    STEP("extended", ST_PROVING, "");
    STEP("read nonode", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

/* Here it was a list that proved the node, and its adoption that left the watch. */
TEST_CASE(adopted_node_changes_while_claiming)
{
    play_reach(ST_ADOPTING);
    SAY("read 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    STEP("own changed", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

/* That watch would have told of its end, so that nothing need be asked. */
TEST_CASE(adopted_node_is_granted_with_the_deadline)
{
    play_reach(ST_ADOPTING);
    SAY("read 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    STEP("extended", ST_HOLDING, "grant");
}

/* A watch that fired is used up: a holder needs another. */
TEST_CASE(adopted_node_changes_while_listing)
{
    play_reach(ST_ADOPTING);
    STEP("read 7", ST_LISTING, "list");
    SAY("own changed");
    STEP("listed 7*", ST_HOLDING, "grant, arm");
}

/* A deadline that comes early grants nothing by itself. */
TEST_CASE(deadline_comes_while_queued)
{
    static const enum attempt_state states[] = {ST_IDLE,     ST_CREATING, ST_PARENTS,
                                                ST_SETTLING, ST_ADOPTING, ST_LISTING,
                                                ST_WAITING,  ST_PROVING,  ST_RESETTING};
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        play_reach(states[i]);
        STEP("extended", states[i], "");
    }
}

TEST_CASE(a_list_without_the_own_node_proves_nothing)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    STEP("listed 9", ST_REENTERING, "delete, admit"); /* no one lower in it, and no grant */
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 10", ST_LISTING, "");
    STEP("listed 9", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 11", ST_LISTING, "");
    STEP("listed", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 12", ST_LISTING, "");
    STEP("listed 12", ST_REENTERING, "delete, admit"); /* our number with another's id */
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 13", ST_LISTING, "");
    STEP("listed 13*", ST_HOLDING, "grant, arm");
}

/* Made by a session that is not the present one, it goes with that one. */
TEST_CASE(created_in_another_session)
{
    play_reach(ST_CREATING);
    STEP("created 7 others", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

TEST_CASE(own_node_gone_at_the_proof)
{
    play_reach(ST_PROVING);
    STEP("read nonode", ST_REENTERING, "delete, admit"); /* to the tail */
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 9", ST_LISTING, "");
    STEP("listed 8 9*", ST_WAITING, "read, watch 8");
}

TEST_CASE(own_node_of_another_session_at_the_proof)
{
    play_reach(ST_PROVING);
    STEP("read 7 others", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}
