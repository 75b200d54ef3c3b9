/* A contender in line: alone, behind others, at its turn. */
#include "attempt_play.h"
#include "rule.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

TEST_SUITE(attempt_queue);

TEST_CASE(uncontended)
{
    play_reach(ST_LISTING);
    STEP("listed 7*", ST_HOLDING, "grant, arm");
    CHECK_INT(play.c.token, 1007);
    STEP("timer", ST_HOLDING, "read"); /* the own node gets its watch only when the hold is long */
    STEP("read 7", ST_HOLDING, "");
    CHECK(play.c.own_watched);
    STEP("release", ST_DONE, "delete");
    STEP("own gone", ST_DONE, "");
}

/* A middle waiter left: others are still first. */
TEST_CASE(moves_up_when_a_middle_waiter_leaves)
{
    play_reach(ST_LISTING);
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 3 7* 8", ST_WAITING, "read, watch 3");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
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
    play_reach(ST_CREATING);
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
    STEP("nodeadline again extended", ST_PROVING, "arm"); /* while it asks again, too */
    STEP("nodeadline read 7", ST_CLAIMING, "");
    STEP("nodeadline timer", ST_REENTERING, "delete, admit");
}

/* However often its timer comes meanwhile. */
TEST_CASE(makes_no_way_without_a_connection)
{
    play_reach(ST_PROVING);
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    for (int i = 0; i < 3; i++)
        STEP("nodeadline down timer", ST_CLAIMING, "");
    STEP("nodeadline again extended", ST_CLAIMING, "arm");
    STEP("nodeadline timer", ST_REENTERING, "delete, admit");
}

/* Events come in the order of changes on one connection alone. */
TEST_CASE(no_silence_without_a_connection)
{
    play_reach(ST_WAITING);
    SAY("down read 7");
    STEP("down pred gone", ST_PROVING, "prove");
}

TEST_CASE(a_try_fails_without_a_deadline)
{
    play_start(true);
    SAY("enter");
    SAY("created 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    STEP("nodeadline timer", ST_DONE, "fail unproved, delete");
}

TEST_CASE(own_node_gone_while_claiming)
{
    play_reach(ST_PROVING);
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("own gone", ST_PROVING, "prove"); /* asks rather than trusts one notice */
    STEP("extended", ST_PROVING, "");
    STEP("read nonode", ST_REENTERING, "delete, admit");
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
    play_reach(ST_LISTING);
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

/* ---- tries ---- */

/* A contender that only tries does not wait for others that are first. It waits for one that
 * retains and may yield, but not for long. */

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
    STEP("own gone", ST_DONE, "lose deleted");
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

/* Nor for another that comes first when the own node, or the session, has gone meanwhile. */
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

/* A contender that does not only try waits for one that retains as for any other. */
TEST_CASE(no_try)
{
    play_reach(ST_LISTING);
    STEP("listed 5+ 7*", ST_WAITING, "read, watch 5");
    STEP("timer", ST_WAITING, "");
    STEP("watched refused", ST_DONE, "fail refused, unwatch, delete");
}

/* ---- the head goes, and the next in line is granted at that event ---- */

/* The silence of the watch on its own node proves it. */

/* Number 7 waits for 5, and nobody else is ahead. */
static void queue_up(void)
{
    play_reach(ST_LISTING);
    STEP("listed 5 7* 9", ST_WAITING, "read, watch 5");
}

static void watch_own(void)
{
    queue_up();
    STEP("read 7", ST_WAITING, "");
    CHECK(play.c.own_watched);
}

/* The watch is there already: it needs no timer. */
TEST_CASE(silent)
{
    watch_own();
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
    CHECK(play.c.own_watched);
    STEP("own gone", ST_DONE, "lose deleted");
}

/* That answer comes behind all that happened before, as an event does. */
TEST_CASE(gone_before_it_was_watched)
{
    watch_own();
    STEP("watched nonode", ST_HOLDING, "grant");
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
    play_reach(ST_CREATING);
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

TEST_CASE(no_deadline_ahead_of_a_silence)
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
    STEP("own gone", ST_DONE, "lose deleted");

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

    play_reach(ST_LISTING);
    SAY("listed 3 5 7*");
    SAY("watched ours");
    SAY("pred gone");
    SAY("listed 3 7*");
    SAY("read 7");
    STEP("watched nonode", ST_HOLDING, "grant"); /* that was another predecessor's */
}

/* ---- long queues: the head leaves a hint, and the next in line goes by it ---- */

/* Number 7 waits for 5, and the queue is a long one from two on. */
static void wait_in_long_queue(void)
{
    play_start_in_long_queue(2);
    SAY("enter");
    SAY("created 7");
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
}

static void succeed(void)
{
    wait_in_long_queue();
    STEP("pred gone", ST_SUCCEEDING, "read-hint, prove");
}

/* ---- the next in line ---- */

TEST_CASE(named)
{
    succeed();
    STEP("hint named v4 9", ST_PROVING, "");
    STEP("read 7", ST_HOLDING, "hint v4, grant, arm");
}

TEST_CASE(found_gone_by_the_watch)
{
    wait_in_long_queue();
    STEP("watched nonode", ST_SUCCEEDING, "read-hint, prove");
}

/* Only its predecessor's will do. */
TEST_CASE(not_named)
{
    static const char *const hints[] = {"hint empty 9", "hint foreign 9", "hint other 9",
                                        "hint nonode", "hint refused"};
    for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
        succeed();
        STEP(hints[i], ST_LISTING, "list");
        STEP("read 7", ST_LISTING, "");
        STEP("listed 3 7* 8", ST_WAITING, "read, watch 3");
    }
}

/* Read before the hint, the own node may have stood in an earlier directory. */
TEST_CASE(proof_before_the_hint)
{
    succeed();
    STEP("read 7", ST_LISTING, "list");
    STEP("hint named 9", ST_LISTING, "");
    STEP("listed 3 7*", ST_WAITING, "read, watch 3");
}

TEST_CASE(own_node_gone)
{
    succeed();
    SAY("hint named v4 9");
    STEP("read nonode", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 12", ST_LISTING, "");
    STEP("listed 12* 13 unread v4", ST_HOLDING, "grant, arm"); /* what was known is not any more */
}

/* ---- when not to ask ---- */

TEST_CASE(short_queue)
{
    play_start_in_long_queue(3);
    SAY("enter");
    SAY("created 7");
    SAY("listed 3 5 7* 8 9");
    STEP("pred gone", ST_LISTING, "list");
}

TEST_CASE(the_only_one_ahead)
{
    play_start_in_long_queue(1);
    SAY("enter");
    SAY("created 7");
    SAY("listed 5 7* 8 9");
    STEP("pred gone", ST_PROVING, "prove");

    play_start_in_long_queue(1);
    SAY("enter");
    SAY("created 7");
    SAY("listed 3 5 7*");
    STEP("pred gone", ST_SUCCEEDING, "read-hint, prove");
}

/* Among numbers that are used up order is another. */
TEST_CASE(near_the_last_number)
{
    char words[64];
    for (int below = 0; below < 2; below++) {
        play_start_in_long_queue(2);
        SAY("enter");
        snprintf(words, sizeof words, "created %d", RULE_NUMBER_WARN - below);
        SAY(words);
        snprintf(words, sizeof words, "listed 3 5 %d*", RULE_NUMBER_WARN - below);
        SAY(words);
        SAY("pred gone");
        CHECK_STR(play_actions(), below ? "read-hint, prove" : "list");
    }
}

/* ---- leaving a hint ---- */

static const struct {
    const char *listed, *actions;
} leavings[] = {
    {"listed 7* 8", "hint v0, grant, arm"},
    {"listed 7* 8 v3", "hint v3, grant, arm"},
    {"listed 7*", "grant, arm"},
    {"listed 7* 8 v-1", "grant, arm"},
    {"listed 7* 8 unread v3", "grant, arm"}, /* it may be others' */
};

TEST_CASE(left_by_one_that_listed)
{
    for (size_t i = 0; i < sizeof(leavings) / sizeof(*leavings); i++) {
        play_start_in_long_queue(2);
        SAY("enter");
        SAY("created 7");
        STEP(leavings[i].listed, ST_HOLDING, leavings[i].actions);
        STEP("release", ST_DONE, "delete");
    }
    play_start(false); /* takes no part */
    SAY("enter");
    SAY("created 7");
    STEP("listed 7* 8", ST_HOLDING, "grant, arm");
}

TEST_CASE(left_in_a_long_queue_only)
{
    succeed();
    SAY("hint named v4 1");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

/* What was read is known as long as the version is the same. */
TEST_CASE(left_after_reading)
{
    static const struct {
        const char *hint, *listed, *actions;
    } rows[] = {
        {"hint other v4 9", "listed 7* 8 unread v4", "hint v4, grant, arm"},
        {"hint other v4 9", "listed 7* 8 unread v5", "grant, arm"},
        {"hint foreign v4 9", "listed 7* 8 unread v4", "grant, arm"},
        {"hint foreign v4 9", "listed 7* 8 v5", "hint v5, grant, arm"}, /* given up */
        {"hint empty v0 9", "listed 7* 8", "hint v0, grant, arm"},
        {"hint refused v4 9", "listed 7* 8 unread v4", "grant, arm"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        succeed();
        SAY(rows[i].hint);
        STEP(rows[i].listed, ST_HOLDING, rows[i].actions);
    }
}

/* A reader holds beside other readers, so its grant proves nothing about contenders before it. When
 * a writer ends, its own reader may stand there. So neither leaves a hint. */
TEST_CASE(not_left_by_one_of_many)
{
    static const enum rule rules[] = {RULE_LOCK, RULE_OWN_KAZOO, RULE_WRITE, RULE_READ, RULE_LEASE};

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        play_start_in_long_queue(1);
        play.c.rule = rules[i];
        if (rules[i] == RULE_LEASE)
            play.c.limit = 1;
        SAY("enter");
        SAY("created 7");
        STEP("listed 7*", ST_HOLDING, i < 2 ? "hint v0, grant, arm" : "grant, arm");
    }
}

/* ---- the words ---- */

static enum head_hint read_text(const char *text, const char *name)
{
    return head_hint_read(text, strlen(text), name);
}

TEST_CASE(words)
{
    CHECK_INT(head_hint_read(NULL, 0, "a-1"), HINT_NONE);
    CHECK_INT(read_text("zkl head 1 a-1", "a-1"), HINT_NAMED);
    CHECK_INT(read_text("zkl head 1 a-1", "a-12"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-12", "a-1"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-2", "a-1"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-1\n", "a-1"), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 a-1", ""), HINT_OTHER);
    CHECK_INT(read_text("zkl head 1 ", ""), HINT_FOREIGN);
    CHECK_INT(read_text("zkl head 2 a-1", "a-1"), HINT_FOREIGN);
    CHECK_INT(read_text("zkl", ""), HINT_FOREIGN);
    CHECK_INT(read_text("12\nproclaimed", ""), HINT_FOREIGN);
    CHECK_INT(head_hint_read("\0", 1, ""), HINT_FOREIGN);
}

/* ---- children of another layout: refused when one came first, whatever else there is ---- */

static void start_before(bool try_only, bool strict)
{
    play_start(try_only);
    play.c.strict = strict;
    SAY("enter");
    SAY("created 7");
}

/* An incompatible one, 5!, came first: both could hold. */
TEST_CASE(before)
{
    start_before(false, false);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
    start_before(false, false);
    STEP("listed 7* 3 5! 6", ST_DONE, "fail layout 5, delete");
    start_before(false, false);
    STEP("nodeadline listed 0! 7*", ST_DONE, "fail layout 0, delete"); /* not a claim first */
}

TEST_CASE(behind)
{
    start_before(false, false);
    STEP("listed 7* 8!", ST_HOLDING, "grant, arm");
    start_before(false, false);
    STEP("listed 5 7* 8!", ST_WAITING, "read, watch 5");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

/* It shows in a later list only: still no grant. */
TEST_CASE(while_waiting)
{
    start_before(false, false);
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 3 -1! 7*", ST_DONE, "fail layout -1, delete");
}

TEST_CASE(spares_go_as_well)
{
    start_before(false, false);
    STEP("listed 5! 7* 9*", ST_DONE, "delete-all-but 7, fail layout 5, delete");
    start_before(false, false);
    STEP("listed 5! 7* 4~", ST_DONE, "delete-all-but 7, fail layout 5, delete");
}

/* A list without the own node proves nothing, not even that. */
TEST_CASE(not_without_the_own_node)
{
    start_before(false, false);
    STEP("listed 5!", ST_REENTERING, "delete, admit");
}

TEST_CASE(tries)
{
    start_before(true, false);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
    start_before(true, false);
    STEP("listed 5! 6 7*", ST_DONE, "fail layout 5, delete"); /* busy would be only half of it */
    start_before(true, false);
    STEP("listed 5 7* 8!", ST_DONE, "fail busy, delete");
    start_before(true, false);
    STEP("listed 7* 8!", ST_HOLDING, "grant, arm");
}

/* Strict: what is no contender is one child too many, wherever it would stand. */
TEST_CASE(strict)
{
    start_before(false, true);
    STEP("listed 7* 0?", ST_DONE, "fail layout 0, delete");
    start_before(false, true);
    STEP("listed 5 7* 0?", ST_DONE, "fail layout 0, delete");
    start_before(true, true);
    STEP("listed 5 7* 0?", ST_DONE, "fail layout 0, delete");
    start_before(false, true);
    STEP("listed 5 7*", ST_WAITING, "read, watch 5");
    start_before(false, true);
    STEP("listed 7* 8!", ST_HOLDING, "grant, arm");
    start_before(false, true);
    STEP("listed 5! 7*", ST_DONE, "fail layout 5, delete");
    start_before(false, false);
    STEP("listed 7* 0?", ST_HOLDING, "grant, arm");
}

/* ---- readers and writers in line ---- */

/* Whom they wait for, and that a list alone tells who is next. */

static void start_shared(enum rule rule, bool try_only)
{
    play_start_as(rule, try_only);
    SAY("enter");
    SAY("created 7");
}

/* Not for the reader between, nor for those behind. */
TEST_CASE(a_reader_waits_for_the_nearest_writer)
{
    start_shared(RULE_READ, false);
    STEP("listed 2w 3w 5r 7* 8w", ST_WAITING, "watch 3");
    start_shared(RULE_READ, true);
    STEP("listed 3w 5r 7*", ST_DONE, "fail busy, delete");
}

/* Where the writer 5 went, the reader 5 may stand. No silence of the own node helps. */
TEST_CASE(the_next_lists_anew)
{
    static const enum rule rules[] = {RULE_READ, RULE_WRITE};

    for (int i = 0; i < 2; i++) {
        start_shared(rules[i], false);
        STEP("listed 5w 7*", ST_WAITING, "watch 5");
        STEP("watched", ST_WAITING, "");
        STEP("pred gone", ST_LISTING, "list");
        STEP("listed 7*", ST_HOLDING, "grant, arm");
    }
    start_shared(RULE_WRITE, false);
    SAY("listed 5w 7*");
    SAY("pred gone");
    STEP("listed 5r 7*", ST_WAITING, "watch 5");
    SAY("pred gone");
    STEP("listed 7*", ST_HOLDING, "grant, arm");
    start_shared(RULE_READ, false);
    SAY("listed 5w 7*");
    STEP("watched nonode", ST_LISTING, "list");
    STEP("listed 5r 7*", ST_HOLDING, "grant, arm");
}

TEST_CASE(adopted_writer)
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

/* ---- others ---- */

static void reader_looks(const char *listed, const char *actions)
{
    start_shared(RULE_READ, false);
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
    STEP("read nonode", ST_DONE, "lose deleted");
}
