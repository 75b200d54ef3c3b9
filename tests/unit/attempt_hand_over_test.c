/* The head goes, and the next in line is granted at that event: the silence of the watch on its own
 * node proves it. */
#include "attempt_play.h"
#include "suites.h"

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
static void silent(void)
{
    watch_own();
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
    CHECK(play.c.own_watched);
    STEP("own gone", ST_DONE, "revoke deleted");
}

/* That answer comes behind all that happened before, as an event does. */
static void gone_before_it_was_watched(void)
{
    watch_own();
    STEP("watched nonode", ST_HOLDING, "grant");
}

static void predecessor_changed_before(void)
{
    watch_own();
    SAY("watched");
    STEP("pred changed", ST_WAITING, "rewatch");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
}

static void own_watch_fired(void)
{
    watch_own();
    STEP("own changed", ST_WAITING, "");
    STEP("pred gone", ST_PROVING, "prove");
    STEP("read nonode", ST_REENTERING, "delete, admit");
}

/* What is read later may be older: a server that lags would show the node again. */
static void own_node_heard_gone(void)
{
    watch_own();
    STEP("own gone", ST_REENTERING, "unwatch, delete, admit");
    STEP("pred gone", ST_REENTERING, "");
}

static void own_watch_not_confirmed(void)
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
static void own_node_gone_before_it_was_watched(void)
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
static void another_connection(void)
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
static void confirmed_on_another_connection(void)
{
    queue_up();
    STEP("again read 7", ST_WAITING, "");
    STEP("watched", ST_WAITING, "");
    STEP("pred gone", ST_HOLDING, "grant");
}

static void more_than_one_ahead(void)
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
static void adopted(void)
{
    adopt();
    STEP("listed 5 7*", ST_WAITING, "watch 5");
    STEP("pred gone", ST_HOLDING, "grant");

    adopt();
    STEP("listed 3 5 7*", ST_WAITING, "watch 5");
    STEP("pred gone", ST_LISTING, "list");
}

/* The old watch may be used up: only what the newest read left counts. */
static void adopted_on_another_connection(void)
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
static void where_numbers_run_out(void)
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

static void no_deadline_ahead(void)
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
static void both_in_one_transaction(void)
{
    watch_own();
    STEP("pred gone", ST_HOLDING, "grant");
    STEP("own gone", ST_DONE, "revoke deleted");

    watch_own();
    STEP("own gone", ST_REENTERING, "unwatch, delete, admit");
}

/* An operator who closes a session by force removes all its nodes at once. */
static void of_the_same_session(void)
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

static void another_session(void)
{
    watch_own();
    STEP("replaced", ST_REENTERING, "admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 9", ST_LISTING, "");
    STEP("listed 5 9*", ST_WAITING, "read, watch 5"); /* the watch was of another node */
    STEP("pred gone", ST_PROVING, "prove");
}

static const struct test_case cases[] = {
    {"silent", silent},
    {"gone_before_it_was_watched", gone_before_it_was_watched},
    {"predecessor_changed_before", predecessor_changed_before},
    {"own_watch_fired", own_watch_fired},
    {"own_node_heard_gone", own_node_heard_gone},
    {"own_watch_not_confirmed", own_watch_not_confirmed},
    {"own_node_gone_before_it_was_watched", own_node_gone_before_it_was_watched},
    {"another_connection", another_connection},
    {"confirmed_on_another_connection", confirmed_on_another_connection},
    {"more_than_one_ahead", more_than_one_ahead},
    {"adopted", adopted},
    {"adopted_on_another_connection", adopted_on_another_connection},
    {"where_numbers_run_out", where_numbers_run_out},
    {"no_deadline_ahead", no_deadline_ahead},
    {"both_in_one_transaction", both_in_one_transaction},
    {"of_the_same_session", of_the_same_session},
    {"another_session", another_session},
    {NULL, NULL},
};

const struct test_suite attempt_hand_over_suite = {.name = "attempt_hand_over", .cases = cases};
