/* The directory is made with what is above it, and goes when its numbers are used up. */
#include "attempt_play.h"
#include "runner.h"

TEST_SUITE(attempt_directory);

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

TEST_CASE(is_at_the_top)
{
    play_reach(ST_PARENTS);
    CHECK_STR(play_actions(), "parents");
    CHECK_STR(play_awaited(), "parents");
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
