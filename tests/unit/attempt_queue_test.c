/* The ordinary ways of a contender: alone, in the queue, a try. */
#include "attempt_play.h"
#include "suites.h"

static void uncontended(void)
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

static void short_hold(void)
{
    play_reach(ST_HOLDING);
    STEP("release", ST_DONE, "delete");
    STEP("timer", ST_DONE, "");
}

static void release_before_the_own_watch_is_answered(void)
{
    play_reach(ST_HOLDING);
    STEP("timer", ST_HOLDING, "read");
    STEP("release", ST_DONE, "delete");
    STEP("read nonode", ST_DONE, "");
}

/* The predecessor was alone before us: who comes next is known, no listing. */
static void handed_over_by_the_head(void)
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
static void moves_up_when_a_middle_waiter_leaves(void)
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

static void lists_when_the_predecessor_was_not_the_head(void)
{
    play_start(false);
    SAY("enter");
    SAY("created 7");
    SAY("listed 3 5 7*");
    SAY("watched");
    STEP("pred gone", ST_LISTING, "list");
    STEP("listed 7* 8", ST_HOLDING, "grant, arm"); /* the list is the proof */
}

static void predecessor_gone_before_the_watch_is_set(void)
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

static void predecessor_changed_but_is_there(void)
{
    play_reach(ST_WAITING);
    SAY("watched");
    STEP("pred changed", ST_WAITING, "rewatch");
    STEP("watched", ST_WAITING, "");
    STEP("pred changed", ST_WAITING, "rewatch");
    STEP("watched nonode", ST_PROVING, "prove");
}

static void watch_is_not_granted(void)
{
    play_reach(ST_WAITING);
    STEP("watched refused", ST_DONE, "fail refused, unwatch, delete");
    play_reach(ST_WAITING);
    STEP("watched limit", ST_DONE, "fail limit, unwatch, delete");
    play_reach(ST_WAITING);
    STEP("watched bad", ST_DONE, "fail protocol, unwatch, delete");
}

/* First, but the session's deadline is not proved: a grant would be a hope. */
static void no_deadline_ahead(void)
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
static void makes_way_without_a_deadline(void)
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
static void makes_way_on_one_connection(void)
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

static void a_try_fails_without_a_deadline(void)
{
    play_start(true);
    SAY("enter");
    SAY("created 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    STEP("nodeadline timer", ST_DONE, "fail unproved, delete");
}

static void no_deadline_ahead_after_a_read(void)
{
    play_reach(ST_PROVING);
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("own changed", ST_PROVING, "prove");
    STEP("nodeadline read 7", ST_CLAIMING, "");
    STEP("extended", ST_PROVING, "prove"); /* it may have been deleted meanwhile */
    STEP("read 7", ST_HOLDING, "grant, arm");
}

static void own_node_gone_while_claiming(void)
{
    play_reach(ST_PROVING);
    STEP("nodeadline read 7", ST_CLAIMING, "arm");
    STEP("own gone", ST_PROVING, "prove"); /* asks rather than trusts one notice */
    STEP("extended", ST_PROVING, "");
    STEP("read nonode", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

/* Here it was a list that proved the node, and its adoption that left the watch. */
static void adopted_node_changes_while_claiming(void)
{
    play_reach(ST_ADOPTING);
    SAY("read 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    STEP("own changed", ST_PROVING, "prove");
    STEP("read 7", ST_HOLDING, "grant, arm");
}

/* That watch would have told of its end, so that nothing need be asked. */
static void adopted_node_is_granted_with_the_deadline(void)
{
    play_reach(ST_ADOPTING);
    SAY("read 7");
    STEP("nodeadline listed 7*", ST_CLAIMING, "arm");
    STEP("extended", ST_HOLDING, "grant");
}

/* A watch that fired is used up: a holder needs another. */
static void adopted_node_changes_while_listing(void)
{
    play_reach(ST_ADOPTING);
    STEP("read 7", ST_LISTING, "list");
    SAY("own changed");
    STEP("listed 7*", ST_HOLDING, "grant, arm");
}

/* A deadline that comes early grants nothing by itself. */
static void deadline_comes_while_queued(void)
{
    static const enum attempt_state states[] = {ST_IDLE,     ST_CREATING, ST_PARENTS,
                                                ST_SETTLING, ST_ADOPTING, ST_LISTING,
                                                ST_WAITING,  ST_PROVING,  ST_RESETTING};
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        play_reach(states[i]);
        STEP("extended", states[i], "");
    }
}

static void a_list_without_the_own_node_proves_nothing(void)
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
static void created_in_another_session(void)
{
    play_reach(ST_CREATING);
    STEP("created 7 others", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

static void own_node_gone_at_the_proof(void)
{
    play_reach(ST_PROVING);
    STEP("read nonode", ST_REENTERING, "delete, admit"); /* to the tail */
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 9", ST_LISTING, "");
    STEP("listed 8 9*", ST_WAITING, "read, watch 8");
}

static void own_node_of_another_session_at_the_proof(void)
{
    play_reach(ST_PROVING);
    STEP("read 7 others", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
}

static const struct test_case cases[] = {
    {"uncontended", uncontended},
    {"short_hold", short_hold},
    {"release_before_the_own_watch_is_answered", release_before_the_own_watch_is_answered},
    {"handed_over_by_the_head", handed_over_by_the_head},
    {"moves_up_when_a_middle_waiter_leaves", moves_up_when_a_middle_waiter_leaves},
    {"lists_when_the_predecessor_was_not_the_head", lists_when_the_predecessor_was_not_the_head},
    {"predecessor_gone_before_the_watch_is_set", predecessor_gone_before_the_watch_is_set},
    {"predecessor_changed_but_is_there", predecessor_changed_but_is_there},
    {"watch_is_not_granted", watch_is_not_granted},
    {"no_deadline_ahead", no_deadline_ahead},
    {"makes_way_without_a_deadline", makes_way_without_a_deadline},
    {"makes_way_on_one_connection", makes_way_on_one_connection},
    {"a_try_fails_without_a_deadline", a_try_fails_without_a_deadline},
    {"no_deadline_ahead_after_a_read", no_deadline_ahead_after_a_read},
    {"own_node_gone_while_claiming", own_node_gone_while_claiming},
    {"adopted_node_changes_while_claiming", adopted_node_changes_while_claiming},
    {"adopted_node_is_granted_with_the_deadline", adopted_node_is_granted_with_the_deadline},
    {"adopted_node_changes_while_listing", adopted_node_changes_while_listing},
    {"deadline_comes_while_queued", deadline_comes_while_queued},
    {"a_list_without_the_own_node_proves_nothing", a_list_without_the_own_node_proves_nothing},
    {"created_in_another_session", created_in_another_session},
    {"own_node_gone_at_the_proof", own_node_gone_at_the_proof},
    {"own_node_of_another_session_at_the_proof", own_node_of_another_session_at_the_proof},
    {NULL, NULL},
};

const struct test_suite attempt_queue_suite = {.name = "attempt_queue", .cases = cases};
