/* The edges of a contender: its diagram, creates that do not simply succeed, its directory, ends
 * from outside. */
#include "attempt_play.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(attempt);

TEST_CASE(names_differ)
{
    for (int a = 0; a < ST_COUNT; a++)
        for (int b = 0; b < a; b++)
            CHECK(strcmp(attempt_state_name((enum attempt_state)a),
                         attempt_state_name((enum attempt_state)b)) != 0);
}

/* What the diagram must not allow, whatever the code does. */
TEST_CASE(moves_that_would_be_wrong)
{
    for (int s = 0; s < ST_COUNT; s++) {
        CHECK(s == ST_DONE || !attempt_may_move(ST_DONE, (enum attempt_state)s));
        CHECK(s == ST_IDLE || !attempt_may_move((enum attempt_state)s, ST_IDLE));
    }
    static const enum attempt_state unproved[] = {
        ST_IDLE,      ST_CREATING, ST_PARENTS, ST_SETTLING,   ST_ADOPTING,
        ST_RESETTING, ST_LOST,     ST_LEAVING, ST_SUCCEEDING, ST_FIRST};
    for (size_t i = 0; i < sizeof(unproved) / sizeof(*unproved); i++)
        CHECK(!attempt_may_move(unproved[i], ST_HOLDING));
    CHECK(!attempt_may_move(ST_LOST, ST_CREATING));
    CHECK(!attempt_may_move(ST_HOLDING, ST_WAITING));
    CHECK(attempt_may_move(ST_LISTING, ST_HOLDING));
    CHECK(attempt_may_move(ST_WAITING, ST_HOLDING));
    CHECK(attempt_may_move(ST_PROVING, ST_HOLDING));
    CHECK(attempt_may_move(ST_CLAIMING, ST_HOLDING));
}

/* ---- the edges: how often is too often, what is inconsistent, answers that seldom come ---- */

enum { ROUNDS = 100 }; /* as often as a directory may go in one attempt */

/* The invariant is what the explorer and every step rely on: it must see each contradiction. */
TEST_CASE(invariant_sees)
{
#define WAITS .state = ST_WAITING, .has_node = true, .watching = true, .waited = true
#define IN_LINE                                                                                    \
    .state = ST_FIRST, .rule = RULE_LEASE, .has_node = true, .first = true, .limit_watched = true
#define HOLDS .state = ST_HOLDING, .has_node = true, .told = true
    static const struct {
        const char *what;
        struct attempt c;
    } wrong[] = {
        {"waits without a node",
         {.state = ST_WAITING, .watching = true, .waited = true, .ahead = 1}},
        {"has a node when done", {.state = ST_DONE, .has_node = true, .told = true}},
        {"waits unwatched", {.state = ST_WAITING, .has_node = true, .waited = true, .ahead = 1}},
        {"watches when listing", {.state = ST_LISTING, .has_node = true, .watching = true}},
        {"told when waiting", {WAITS, .ahead = 1, .told = true}},
        {"done untold", {.state = ST_DONE}},
        {"waits for nobody", {WAITS}},
        {"waits and never did",
         {.state = ST_WAITING, .has_node = true, .watching = true, .ahead = 1}},
        {"waits for two in a try", {WAITS, .ahead = 2, .try_only = true}},
        {"succeeds nobody",
         {.state = ST_SUCCEEDING, .has_node = true, .ahead = 1, .long_queue = 2}},
        {"succeeds without hints", {.state = ST_SUCCEEDING, .has_node = true, .ahead = 2}},
        {"succeeds in a semaphore",
         {.state = ST_SUCCEEDING,
          .has_node = true,
          .rule = RULE_LEASE,
          .ahead = 2,
          .long_queue = 2}},
        {"first in a mutex's line",
         {.state = ST_FIRST, .has_node = true, .first = true, .limit_watched = true}},
        {"first in line without a watch",
         {.state = ST_FIRST, .rule = RULE_LEASE, .has_node = true, .first = true}},
        {"first in line and does not know",
         {.state = ST_FIRST, .rule = RULE_LEASE, .has_node = true, .limit_watched = true}},
        {"first in line in a try", {IN_LINE, .try_only = true}},
        {"watches the limit when listing",
         {.state = ST_LISTING, .rule = RULE_LEASE, .has_node = true, .limit_watched = true}},
        {"first in line behind another",
         {.state = ST_WAITING,
          .rule = RULE_LEASE,
          .has_node = true,
          .watching = true,
          .waited = true,
          .ahead = 1,
          .first = true}},
        {"awaits a deadline before it proves",
         {.state = ST_LISTING, .has_node = true, .awaits = true}},
        {"holds without a token", {HOLDS}},
        {"holds by an exhausted number", {HOLDS, .token = 1, .number = INT32_MAX}},
    };
    static const struct attempt right[] = {
        {WAITS, .ahead = 2},
        {WAITS, .ahead = 1, .try_only = true},
        {HOLDS, .token = 1, .number = 3},
        {.state = ST_LISTING, .has_node = true, .try_only = true},
        {.state = ST_SUCCEEDING, .has_node = true, .ahead = 2, .long_queue = 1},
        {.state = ST_DONE, .told = true},
        {IN_LINE},
    };
#undef WAITS
#undef IN_LINE
#undef HOLDS

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

TEST_CASE(missing_too_often)
{
    play_reach(ST_CREATING);
    for (int i = 0; i < ROUNDS; i++) {
        STEP("created nonode", ST_PARENTS, "parents");
        STEP("parents", ST_CREATING, "create, list");
    }
    STEP("created nonode", ST_DONE, "fail protocol");
}

/* What happened before it stood in the queue, or in an earlier session, is no reason to give up. */
TEST_CASE(counted_anew)
{
    play_reach(ST_CREATING);
    vanish(ROUNDS);
    SAY("created 7");
    SAY("listed 5 7*");
    STEP("replaced", ST_REENTERING, "admit");
    STEP("enter", ST_CREATING, "create, list");
    vanish(ROUNDS);
    SAY("created 7");
    STEP("listed nonode", ST_DONE, "fail protocol, delete");

    play_reach(ST_CREATING);
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
        play_reach(ST_CREATING);
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

/* ---- creates that do not simply succeed: unknown outcomes, no directory, numbers used up ---- */

TEST_CASE(unknown_and_not_done)
{
    play_start(false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created unknown", ST_SETTLING,
         "barrier"); /* a list alone may come from a lagging server */
    STEP("passed", ST_SETTLING, "list");
    STEP("listed 5", ST_CREATING, "create, list");
    STEP("created 7", ST_LISTING, "");
}

TEST_CASE(unknown_and_done)
{
    play_reach(ST_CREATING);
    STEP("created unknown", ST_SETTLING, "barrier");
    STEP("passed", ST_SETTLING, "list");
    STEP("listed 5 7*", ST_ADOPTING, "adopt 7, read");
    STEP("read 7", ST_LISTING, "list"); /* its session and its czxid are known only now */
    CHECK_INT(play.c.token, 1007);
    CHECK_INT(play.c.number, 7);
    STEP("listed 5 7*", ST_WAITING, "watch 5");
}

TEST_CASE(unknown_and_done_twice)
{
    play_reach(ST_SETTLING);
    SAY("passed");
    STEP("listed 9* 7* 5", ST_ADOPTING, "adopt 7, delete-all-but 7, read");
    STEP("read 7", ST_LISTING, "list");
    STEP("listed 9* 7*", ST_HOLDING, "delete-all-but 7, grant"); /* the delete is under way */
}

TEST_CASE(unknown_and_done_in_another_session)
{
    play_reach(ST_SETTLING);
    SAY("passed");
    STEP("listed 7*", ST_ADOPTING, "adopt 7, read");
    STEP("read 7 others", ST_REENTERING, "delete, admit");
}

TEST_CASE(adopted_node_left_its_watch_behind)
{
    play_reach(ST_ADOPTING);
    STEP("read 7", ST_LISTING, "list");
    STEP("listed nonode", ST_REENTERING, "delete, admit");
    STEP("enter", ST_CREATING, "create, list");
    STEP("created 8", ST_LISTING, "");
    STEP("listed 8*", ST_HOLDING, "grant, arm"); /* the watch was of the other node */
}

TEST_CASE(spares_beside_a_known_create)
{
    play_reach(ST_CREATING);
    SAY("created 9");
    STEP("listed 7~ 9*", ST_WAITING, "delete-all-but 9, read, watch 7");
}

TEST_CASE(no_directory)
{
    play_start(false);
    STEP("enter", ST_CREATING, "create, list");
    STEP("created nonode", ST_PARENTS, "parents");
    STEP("listed nonode", ST_PARENTS, ""); /* of the list behind that create */
    STEP("parents", ST_CREATING, "create, list");
    STEP("created 0", ST_LISTING, "");
    STEP("listed 0*", ST_HOLDING, "grant, arm");
}

TEST_CASE(create_refused)
{
    static const struct {
        const char *answer, *actions;
    } rows[] = {
        {"created refused", "fail refused"},
        {"created nochildren", "fail nochildren"},
        {"created bad", "fail protocol"},
        {"created limit", "fail limit"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(ST_CREATING);
        STEP(rows[i].answer, ST_DONE, rows[i].actions);
        STEP("listed 5", ST_DONE, ""); /* the list that was sent behind it */
    }
}

TEST_CASE(list_refused)
{
    play_reach(ST_LISTING);
    STEP("listed refused", ST_DONE, "fail refused, delete");
    play_reach(ST_LISTING);
    STEP("listed nonode", ST_REENTERING, "delete, admit"); /* our node went with it */
}

TEST_CASE(read_refused)
{
    play_reach(ST_PROVING);
    STEP("read refused", ST_DONE, "fail refused, delete");
    play_reach(ST_ADOPTING);
    STEP("read refused", ST_DONE, "fail refused, delete");
}

TEST_CASE(numbers_used_up)
{
    static const char *const answers[] = {"created 2147483647", "created -2147483648",
                                          "created -1"};
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        play_reach(ST_CREATING);
        STEP(answers[i], ST_RESETTING, "delete, read-directory");
        STEP("listed 5", ST_RESETTING, "");
        STEP("directory", ST_RESETTING, "reset");
        STEP("reset notempty", ST_DONE, "fail overflow"); /* others still use it */
        play_reach(ST_CREATING);
        STEP(answers[i], ST_RESETTING, "delete, read-directory");
        STEP("directory", ST_RESETTING, "reset");
        STEP("reset", ST_REENTERING, "admit");
        STEP("enter", ST_CREATING, "create, list");
        STEP("created nonode", ST_PARENTS, "parents");
        STEP("parents", ST_CREATING, "create, list");
        STEP("created 0", ST_LISTING, "");
    }
}

/* At the limit the server hands out the same name again, and it may be taken. */
TEST_CASE(name_is_taken_at_the_limit)
{
    play_reach(ST_CREATING);
    STEP("created exists", ST_RESETTING, "read-directory");
    SAY("directory");
    STEP("reset nonode", ST_REENTERING, "admit");
    play_reach(ST_CREATING);
    SAY("created exists");
    SAY("directory");
    STEP("reset refused", ST_DONE, "fail overflow");
}

TEST_CASE(numbers_used_up_again_and_again)
{
    play_reach(ST_CREATING);
    int rounds = 0;
    for (; play.c.state != ST_DONE && rounds < 1000; rounds++)
        SAY(play.c.state == ST_CREATING   ? "created 2147483647"
            : play_awaits(PLAY_DIRECTORY) ? "directory"
            : play_awaits(PLAY_RESET)     ? "reset"
                                          : "enter");
    CHECK(rounds < 1000);
    CHECK_INT(play.fails, 1);
}

TEST_CASE(adopted_node_has_a_used_up_number)
{
    play_reach(ST_SETTLING);
    SAY("passed");
    STEP("listed 2147483647*", ST_RESETTING, "adopt 2147483647, delete, read-directory");
}

/* ---- the directory is made with what is above it, and goes when its numbers are used up ---- */

/* ---- made ---- */

/* Below two parents. */
static void directory_miss(enum rule rule)
{
    play_start_as(rule, false);
    play.parents = 2;
    if (rule == RULE_LEASE) {
        play.c.has_limit = true;
        play.c.permits = 1;
    }
    SAY("enter");
}

TEST_CASE(is_asked_for_with_its_parents)
{
    directory_miss(RULE_LOCK);
    STEP("created nonode", ST_PARENTS, "above 2, parents");
    CHECK_STR(play_awaited(), "above, parents");
    STEP("above 0 exists", ST_PARENTS, "");
    STEP("above 1", ST_PARENTS, "");
    STEP("parents", ST_CREATING, "create, list");
}

/* A semaphore's has data, and is not to go when it is empty. */
TEST_CASE(mode_is_its_own)
{
    static const struct {
        enum rule rule;
        const char *words;
        enum store_mode parents, directory;
    } rows[] = {
        {RULE_LOCK, "created nonode", STORE_CONTAINER, STORE_CONTAINER},
        {RULE_LOCK, "created nonode persistent", STORE_PERSISTENT, STORE_PERSISTENT},
        {RULE_LEASE, "created nonode", STORE_CONTAINER, STORE_PERSISTENT},
        {RULE_LEASE, "created nonode persistent", STORE_PERSISTENT, STORE_PERSISTENT},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        directory_miss(rows[i].rule);
        STEP(rows[i].words, ST_PARENTS, "above 2, parents");
        CHECK_INT(play.out.list[0].mode, rows[i].parents);
        CHECK_INT(play.out.list[1].mode, rows[i].directory);
    }
    play_start_lease(false); /* whose data are nobody's limit */
    SAY("enter");
    SAY("created nonode");
    CHECK_INT(play.out.list[0].mode, STORE_CONTAINER);
}

/* What is above may be there, and not ours to see or to change. */
TEST_CASE(alone_decides)
{
    directory_miss(RULE_LOCK);
    SAY("created nonode");
    STEP("above 0 refused", ST_PARENTS, "");
    STEP("above 1 bad", ST_PARENTS, "");
    STEP("parents exists", ST_CREATING, "create, list");
}

TEST_CASE(first_that_fails_is_blamed)
{
    static const struct {
        const char *first, *second, *last, *actions;
        uint32_t node;
    } rows[] = {
        {"above 0 refused", "above 1 nonode", "parents nonode", "fail refused above 0",
         ATTEMPT_PARENT},
        {"above 0", "above 1 nochildren", "parents nonode", "fail nochildren above 1",
         ATTEMPT_PARENT + 1},
        {"above 0 exists", "above 1 exists", "parents refused", "fail refused", ATTEMPT_DIRECTORY},
        {"above 0", "above 1", "parents bad", "fail protocol", ATTEMPT_DIRECTORY},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        directory_miss(RULE_LOCK);
        SAY("created nonode");
        SAY(rows[i].first);
        SAY(rows[i].second);
        STEP(rows[i].last, ST_DONE, rows[i].actions);
        CHECK_INT(play.out.list[0].node, rows[i].node);
    }
}

/* A container above was reaped: that is what stopped the rest. */
TEST_CASE(parent_is_reaped)
{
    directory_miss(RULE_LOCK);
    SAY("created nonode");
    SAY("above 0");
    SAY("above 1 nonode");
    STEP("parents nonode", ST_REENTERING, "admit");
}

TEST_CASE(blame_is_of_the_same_round)
{
    directory_miss(RULE_LOCK);
    SAY("created nonode");
    SAY("above 0 refused");
    SAY("above 1");
    SAY("parents");
    STEP("created nonode", ST_PARENTS, "above 2, parents");
    SAY("above 0");
    SAY("above 1");
    STEP("parents nochildren", ST_DONE, "fail nochildren");
}

/* ---- gone ---- */

/* The own number is the last one, so that the directory is read. */
static void directory_use_up(void)
{
    SAY("enter");
    STEP("created 2147483647", ST_RESETTING, "delete, read-directory");
}

static void directory_expect(const char *words, bool goes)
{
    STEP(words, goes ? ST_RESETTING : ST_DONE, goes ? "reset" : "fail overflow");
}

/* What we would have made, and as empty as we would have made it. */
TEST_CASE(of_a_lock_may_go)
{
    static const struct {
        const char *words;
        bool goes;
    } rows[] = {
        {"directory", true},       {"directory unlimited", true},   {"directory 1", false},
        {"directory used", false}, {"directory persistent", false}, {"directory refused", false},
        {"directory bad", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_start(false);
        directory_use_up();
        directory_expect(rows[i].words, rows[i].goes);
        play_start_lease(false);
        directory_use_up();
        directory_expect(rows[i].words, rows[i].goes);
    }
}

/* It is made again with the limit that it has, which must be there to be known. */
TEST_CASE(of_a_semaphore_may_go)
{
    static const struct {
        const char *words;
        bool goes;
    } rows[] = {
        {"directory", true},          {"directory persistent used", true},
        {"directory 1", false},       {"directory unlimited", false},
        {"directory refused", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_start_permits(1, false);
        directory_use_up();
        directory_expect(rows[i].words, rows[i].goes);
    }
    play_start_permits(1, false);
    play.c.has_limit = false;
    directory_use_up();
    directory_expect("directory", false);
}

TEST_CASE(has_gone)
{
    static const struct {
        const char *words;
        enum attempt_state state;
        const char *actions;
    } rows[] = {
        {"reset", ST_REENTERING, "admit"},
        {"reset nonode", ST_REENTERING, "admit"},
        {"reset notempty", ST_DONE, "fail overflow"},
        {"reset badversion", ST_DONE, "fail overflow"},
        {"reset refused", ST_DONE, "fail overflow"},
    };

    play_reach(ST_RESETTING);
    STEP("directory nonode", ST_REENTERING, "admit");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(ST_RESETTING);
        SAY("directory");
        STEP(rows[i].words, rows[i].state, rows[i].actions);
    }
}

/* ---- ends from outside, in every state ---- */

/* The caller gives up, the session goes, late answers come. */

struct end_row {
    enum attempt_state from, to;
    const char *actions;
};

static void expect_ends(const char *words, const struct end_row *rows, size_t count)
{
    CHECK_INT(count, ST_COUNT);
    for (size_t i = 0; i < count; i++) {
        play_reach(rows[i].from);
        STEP(words, rows[i].to, rows[i].actions);
    }
}

TEST_CASE(abort_in_every_state)
{
    static const struct end_row rows[] = {
        {ST_IDLE, ST_DONE, "fail aborted"},
        {ST_REENTERING, ST_DONE, "fail aborted"},
        {ST_CREATING, ST_LEAVING, "fail aborted, recall"},
        {ST_PARENTS, ST_DONE, "fail aborted"},
        {ST_SETTLING, ST_LEAVING, "fail aborted"},
        {ST_ADOPTING, ST_DONE, "fail aborted, delete"},
        {ST_LISTING, ST_DONE, "fail aborted, delete"},
        {ST_WAITING, ST_DONE, "fail aborted, unwatch, delete"},
        {ST_FIRST, ST_DONE, "fail aborted, unwatch-limit, delete"},
        {ST_SUCCEEDING, ST_DONE, "fail aborted, delete"},
        {ST_PROVING, ST_DONE, "fail aborted, delete"},
        {ST_CLAIMING, ST_DONE, "fail aborted, delete"},
        {ST_RESETTING, ST_DONE, "fail aborted"},
        {ST_HOLDING, ST_HOLDING, ""},
        {ST_LOST, ST_LOST, ""},
        {ST_LEAVING, ST_LEAVING, ""},
        {ST_DONE, ST_DONE, ""},
    };
    expect_ends("abort", rows, sizeof(rows) / sizeof(*rows));
}

/* Nothing will ride behind the create again, so nobody waits for it; but it may be done. */
TEST_CASE(list_is_refused_before_the_create)
{
    static const struct {
        const char *words;
        enum attempt_state state;
        const char *actions;
    } rows[] = {
        {"created bad", ST_DONE, ""}, /* it was not sent */
        {"created 7", ST_DONE, "delete"},
        {"created unknown", ST_LEAVING, "barrier"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(ST_CREATING);
        STEP("listed bad", ST_LEAVING, "fail protocol, recall");
        CHECK_STR(play_awaited(), "created");
        STEP(rows[i].words, rows[i].state, rows[i].actions);
    }
    play_reach(ST_CREATING);
    STEP("listed nonode", ST_CREATING, ""); /* so says a server, and the create will say it, too */
    STEP("created nonode", ST_PARENTS, "parents");
}

/* That list looks for no node of ours: the create is still to come. */
TEST_CASE(list_is_refused_when_leaving)
{
    play_reach(ST_LEAVING);
    STEP("listed bad", ST_LEAVING, "");
    STEP("created unknown", ST_LEAVING, "barrier");
    SAY("passed");
    STEP("listed bad", ST_LEAVING, "orphan, arm");
}

/* The create, which was sent before, decides what is left to do. */
TEST_CASE(abort_then_the_create)
{
    static const struct {
        const char *words, *actions;
    } rows[] = {
        {"created 7", "delete"}, {"created 2147483647", "delete"}, {"created refused", ""},
        {"created nonode", ""},  {"created nochildren", ""},       {"created exists", ""},
        {"created bad", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(ST_LEAVING);
        STEP(rows[i].words, ST_DONE, rows[i].actions);
        STEP("listed 7*", ST_DONE, "");
    }
    play_reach(ST_LEAVING);
    STEP("created unknown", ST_LEAVING, "barrier");
    STEP("passed", ST_LEAVING, "list");
    STEP("listed 5 7* 9*", ST_DONE, "delete-all");
    play_reach(ST_LEAVING);
    SAY("created unknown");
    SAY("passed");
    STEP("listed 5", ST_DONE, "delete-all"); /* of which nothing is ours */
}

TEST_CASE(abort_while_settling)
{
    play_reach(ST_SETTLING);
    SAY("passed");
    STEP("abort", ST_LEAVING, "fail aborted"); /* the list is under way already */
    STEP("listed 7*", ST_DONE, "delete-all");
}

/* Everything of the old session is gone or goes with it: begin anew, with a new id. */
TEST_CASE(replaced_in_every_state)
{
    static const struct end_row rows[] = {
        {ST_IDLE, ST_IDLE, ""},
        {ST_REENTERING, ST_REENTERING, ""},
        {ST_CREATING, ST_REENTERING, "recall, admit"},
        {ST_PARENTS, ST_REENTERING, "admit"},
        {ST_SETTLING, ST_REENTERING, "admit"},
        {ST_ADOPTING, ST_REENTERING, "admit"},
        {ST_LISTING, ST_REENTERING, "admit"},
        {ST_WAITING, ST_REENTERING, "admit"},
        {ST_FIRST, ST_REENTERING, "leave-children, admit"},
        {ST_SUCCEEDING, ST_REENTERING, "admit"},
        {ST_PROVING, ST_REENTERING, "admit"},
        {ST_CLAIMING, ST_REENTERING, "admit"},
        {ST_RESETTING, ST_REENTERING, "admit"},
        {ST_HOLDING, ST_DONE, "lose expired"},
        {ST_LOST, ST_DONE, ""},
        {ST_LEAVING, ST_DONE, ""},
        {ST_DONE, ST_DONE, ""},
    };
    expect_ends("replaced", rows, sizeof(rows) / sizeof(*rows));
}

TEST_CASE(end_in_every_state)
{
    static const struct end_row rows[] = {
        {ST_IDLE, ST_IDLE, ""},
        {ST_REENTERING, ST_DONE, "fail protocol"},
        {ST_CREATING, ST_DONE, "fail protocol"},
        {ST_PARENTS, ST_DONE, "fail protocol"},
        {ST_SETTLING, ST_DONE, "fail protocol"},
        {ST_ADOPTING, ST_DONE, "fail protocol"},
        {ST_LISTING, ST_DONE, "fail protocol"},
        {ST_WAITING, ST_DONE, "fail protocol"},
        {ST_FIRST, ST_DONE, "fail protocol, unwatch-limit"},
        {ST_SUCCEEDING, ST_DONE, "fail protocol"},
        {ST_PROVING, ST_DONE, "fail protocol"},
        {ST_CLAIMING, ST_DONE, "fail protocol"},
        {ST_RESETTING, ST_DONE, "fail protocol"},
        {ST_HOLDING, ST_DONE, "lose closed"},
        {ST_LOST, ST_DONE, ""},
        {ST_LEAVING, ST_DONE, ""},
        {ST_DONE, ST_DONE, ""},
    };
    expect_ends("end", rows, sizeof(rows) / sizeof(*rows));
}

TEST_CASE(everything_is_fresh_after_an_incarnation)
{
    for (int s = ST_CREATING; s <= ST_RESETTING; s++) {
        play_reach((enum attempt_state)s);
        struct play before = play;
        SAY("replaced");
        CHECK(!play.c.has_node && !play.c.watching && !play.c.own_watched && !play.c.told &&
              !play.c.creating);
        SAY("enter");
        CHECK_STR(play_awaited(), "created, listed");
        for (int row = 0; row < PLAY_ANSWERS; row++)
            CHECK(exchange_is_stale(&play.exchange, before.asked[row].number));
        STEP("pred gone", ST_CREATING, "");
        STEP("created 9", ST_LISTING, "");
        if (s == ST_FIRST)
            STEP("listed 8x2 9*", ST_LISTING, "limit-watch, list-watch"); /* and anew */
        else
            STEP("listed 8 9*", ST_WAITING, "read, watch 8"); /* its place is at the tail */
    }
}

/* All that was asked before is stale, so that no late answer is heard. */
TEST_CASE(awaits_what_it_asked_last)
{
    static const char *const awaited[ST_COUNT] = {
        [ST_IDLE] = "",
        [ST_REENTERING] = "",
        [ST_CREATING] = "created, listed",
        [ST_PARENTS] = "parents",
        [ST_SETTLING] = "passed",
        [ST_ADOPTING] = "read",
        [ST_LISTING] = "listed",
        [ST_WAITING] = "read, watched",
        [ST_FIRST] = "",
        [ST_SUCCEEDING] = "hint, read",
        [ST_PROVING] = "read",
        [ST_CLAIMING] = "",
        [ST_RESETTING] = "directory",
        [ST_HOLDING] = "",
        [ST_LOST] = "",
        [ST_LEAVING] = "created, listed",
        [ST_DONE] = "",
    };

    for (int s = 0; s < ST_COUNT; s++) {
        play_reach((enum attempt_state)s);
        CHECK_STR(play_awaited(), awaited[s]);
    }
}

/* It is to enter again, and has asked for nothing yet. */
TEST_CASE(awaits_nothing_to_enter_again)
{
    static const struct {
        enum attempt_state state;
        const char *words;
    } rows[] = {
        {ST_CREATING, "created 7 others"}, {ST_PARENTS, "parents nonode"},
        {ST_ADOPTING, "read nonode"},      {ST_LISTING, "listed nonode"},
        {ST_WAITING, "read nonode"},       {ST_SUCCEEDING, "hint named"},
        {ST_CLAIMING, "own gone"},         {ST_RESETTING, "directory nonode"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(rows[i].state);
        SAY(rows[i].words);
        if (play.c.state == ST_PROVING) /* that is of a read */
            SAY("read nonode");
        CHECK_INT(play.c.state, ST_REENTERING);
        CHECK_STR(play_awaited(), "");
    }
}

/* A touch of the node that is gone must not set the next one, nor be told of. */
TEST_CASE(awaits_no_touch_of_an_earlier_node)
{
    play_start_permits(1, false);
    SAY("enter");
    SAY("created 7");
    STEP("nodeadline listed 7* 8", ST_CLAIMING, "touch, arm");
    CHECK_STR(play_awaited(), "touched");
    SAY("timer");
    CHECK_INT(play.c.state, ST_REENTERING);
    CHECK_STR(play_awaited(), "");
}

/* Events that mean nothing in a state are not answers and must not move it. */
TEST_CASE(events_out_of_place)
{
    static const struct {
        enum attempt_state state;
        const char *words;
    } rows[] = {
        {ST_IDLE, "pred gone"},       {ST_IDLE, "own gone"},
        {ST_IDLE, "too-late"},        {ST_IDLE, "timer"},
        {ST_CREATING, "enter"},       {ST_CREATING, "own gone"},
        {ST_CREATING, "too-late"},    {ST_REENTERING, "pred gone"},
        {ST_REENTERING, "extended"},  {ST_REENTERING, "release"},
        {ST_CREATING, "timer"},       {ST_CREATING, "release"},
        {ST_SETTLING, "pred gone"},   {ST_LISTING, "pred gone"},
        {ST_LISTING, "timer"},        {ST_LISTING, "too-late"},
        {ST_WAITING, "enter"},        {ST_WAITING, "too-late"},
        {ST_WAITING, "timer"},        {ST_PROVING, "pred gone"},
        {ST_PROVING, "pred changed"}, {ST_SUCCEEDING, "pred gone"},
        {ST_SUCCEEDING, "own gone"},  {ST_SUCCEEDING, "too-late"},
        {ST_SUCCEEDING, "timer"},     {ST_PROVING, "timer"},
        {ST_CLAIMING, "pred gone"},   {ST_CLAIMING, "too-late"},
        {ST_HOLDING, "enter"},        {ST_HOLDING, "pred gone"},
        {ST_HOLDING, "extended"},     {ST_LOST, "pred gone"},
        {ST_LOST, "too-late"},        {ST_LEAVING, "pred gone"},
        {ST_LEAVING, "release"},      {ST_LEAVING, "timer"},
        {ST_LEAVING, "extended"},     {ST_DONE, "enter"},
        {ST_DONE, "abort"},           {ST_DONE, "replaced"},
        {ST_FIRST, "pred gone"},      {ST_FIRST, "own gone"},
        {ST_FIRST, "timer"},          {ST_FIRST, "extended"},
        {ST_FIRST, "too-late"},       {ST_FIRST, "release"},
        {ST_FIRST, "look"},           {ST_HOLDING, "limit-changed"},
        {ST_WAITING, "children"},     {ST_WAITING, "limit-changed"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        play_reach(rows[i].state);
        STEP(rows[i].words, rows[i].state, "");
    }
}
