/* Members of double barriers that enter: what they ask for, and what they make of each answer.
 * tests/sim/barriers plays them in a world. */
#include "meeting.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(double_enter);

TEST_CASE(opens_with_the_last)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    const struct store_request r = fake_request(STORE_CREATE, meeting.own);
    CHECK_INT(r.mode, STORE_EPHEMERAL);
    CHECK(r.length > 0 && r.length == (int)strlen(r.data));
    meeting_made();
    meeting_looked();
    meeting_listed("ready * " OTHER);
    CHECK(!fake_is_asked(STORE_STAT, PATH));
    meeting_changes("set " PATH " 4; create " READY " -1", "dirzkl round 1 11");
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    meeting_ended(0);
    CHECK(fake_is_asked(STORE_UNWATCH, READY));
    meeting_end();
}

/* More than may enter: the first of them do, and it is read who they are. */
TEST_CASE(opens_for_others)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_made();
    meeting_looked();
    meeting_listed("ready * " OTHER " " LATER);
    CHECK(!fake_is_asked(STORE_STAT, READY));
    meeting_stat_of("*", 10);
    meeting_stat_of(LATER, 9);
    CHECK(!fake_is_asked(STORE_MULTI, PATH));
    meeting_stat_of(OTHER, 8);
    meeting_changes("set " PATH " 4; create " READY " -1", "dirzkl round 1 9");
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    meeting_pending();
    meeting_end();
}

/* The directory is missing; the answer was lost, and it is there; or not. */
TEST_CASE(makes_its_node)
{
    meeting_begin(1);
    meeting_enter(ZKL_FOREVER);
    ANSWER(STORE_CREATE, meeting.own, .rc = STORE_NONODE);
    CHECK_INT(fake_request(STORE_CREATE, PATH).mode, STORE_CONTAINER);
    ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    ANSWER(STORE_CREATE, PATH, .rc = STORE_OK);
    ANSWER(STORE_CREATE, meeting.own, .rc = STORE_EXISTS);
    ANSWER(STORE_STAT, meeting.own, .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, meeting.own, .rc = STORE_EXISTS);
    ANSWER(STORE_STAT, meeting.own, .rc = STORE_OK, .czxid = 10);
    meeting_looked();
    meeting_listed("*");
    meeting_changes("set " PATH " 4; create " READY " -1", "dirzkl round 1 11");
    meeting_end();
}

/* Another library's ready counts by the time of its last change, ours by its bound. */
TEST_CASE(is_let_in_by_ready)
{
    static const struct {
        const char *data;
        uint64_t mzxid;
        bool inside;
    } rows[] = {{"zkl round 1 10", 12, true},
                {"zkl round 1 9", 12, false},
                {"", 12, true},
                {"", 9, false},
                {NULL, 12, true}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        meeting_begin(2);
        meeting_enter(ZKL_FOREVER);
        meeting_made();
        ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4);
        ANSWER(STORE_STAT, READY, .rc = STORE_OK);
        CHECK(!fake_is_watching(STORE_GET, READY));
        ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = rows[i].mzxid, .data = rows[i].data,
               .length = rows[i].data ? (int)strlen(rows[i].data) : -1);
        CHECK_INT(fake_is_asked(STORE_LIST, PATH), !rows[i].inside);
        if (rows[i].inside)
            meeting_ended(0);
        meeting_end();
    }
}

/* It was left behind: set anew; ready went while it was read. */
TEST_CASE(replaces_ready)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_made();
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4);
    ANSWER(STORE_STAT, READY, .rc = STORE_OK);
    ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = 7, .data = "zkl round 1 6", .length = 13);
    meeting_listed("* " OTHER);
    meeting_stat_of("*", 10);
    meeting_stat_of(OTHER, 8);
    meeting_changes("set " PATH " 4; set " READY " -1", "zkl round 1 10");
    ANSWER(STORE_MULTI, PATH, .rc = STORE_BADVERSION);
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 5);
    ANSWER(STORE_STAT, READY, .rc = STORE_OK);
    ANSWER(STORE_GET, READY, .rc = STORE_NONODE);
    CHECK(fake_is_asked(STORE_LIST, PATH));
    meeting_end();
}

/* By another, or by itself when its answer was lost: it looks again. */
TEST_CASE(is_overtaken)
{
    static const enum store_rc rows[] = {STORE_BADVERSION, STORE_EXISTS, STORE_NONODE};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        meeting_begin(1);
        meeting_enter(ZKL_FOREVER);
        meeting_made();
        meeting_looked();
        meeting_listed("*");
        ANSWER(STORE_MULTI, PATH, .rc = rows[i]);
        CHECK(fake_is_asked(STORE_GET, PATH));
        meeting_pending();
        meeting_end();
    }
}

/* Somebody has deleted all of it: it makes its node again. */
TEST_CASE(directory_is_deleted)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_made();
    ANSWER(STORE_GET, PATH, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, READY, .rc = STORE_NONODE);
    ANSWER(STORE_LIST, PATH, .rc = STORE_NONODE);
    meeting_pending();
    meeting_take_own();
    meeting_let_in();
    meeting_end();
}

/* What was read of it before is no more. */
TEST_CASE(forgets_who_is_gone)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_made();
    for (int gone = 0; gone < 2; gone++) {
        meeting_looked();
        meeting_listed("* " OTHER " " LATER);
        meeting_stat_of("*", 10);
        meeting_stat_of(LATER, 0);
        meeting_stat_of(OTHER, gone ? 0 : 8);
        CHECK_INT(fake_is_asked(STORE_MULTI, PATH), !gone);
        if (!gone)
            ANSWER(STORE_MULTI, PATH, .rc = STORE_BADVERSION);
    }
    meeting_end();
}

TEST_CASE(waits_for_ready)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_made();
    meeting_looked();
    meeting_listed("*");
    meeting_pending();
    CHECK(!fake_is_asked(STORE_MULTI, PATH));
    fake_fire(READY, STORE_FIRED_CREATED);
    ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 5);
    ANSWER(STORE_STAT, READY, .rc = STORE_OK);
    ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = 12, .data = "zkl round 1 10", .length = 14);
    meeting_ended(0);
    meeting_end();
}

/* One of the round before is waited for; what it writes into its node is of no interest. */
TEST_CASE(waits_for_the_round_before)
{
    for (int gone = 0; gone < 2; gone++) {
        meeting_begin(2);
        meeting_enter(ZKL_FOREVER);
        meeting_made();
        ANSWER(STORE_GET, PATH, .rc = STORE_OK, .version = 4);
        ANSWER(STORE_STAT, READY, .rc = STORE_OK);
        ANSWER(STORE_GET, READY, .rc = STORE_OK, .mzxid = 9, .data = "zkl round 1 8", .length = 13);
        meeting_listed(LATER " * " OTHER);
        meeting_stat_of(LATER, 9);
        meeting_stat_of("*", 10);
        meeting_stat_of(OTHER, 8);
        CHECK(fake_is_watching(STORE_GET, PATH "/" OTHER));
        ANSWER(STORE_GET, PATH "/" OTHER, .rc = gone ? STORE_NONODE : STORE_OK);
        if (!gone) {
            fake_watch(PATH "/" OTHER, false);
            CHECK(fake_is_watching(STORE_GET, PATH "/" OTHER));
            ANSWER(STORE_GET, PATH "/" OTHER, .rc = STORE_OK);
            fake_watch(PATH "/" OTHER, true);
        }
        CHECK(fake_is_asked(STORE_GET, PATH));
        meeting_pending();
        meeting_end();
    }
}

/* What is under way when something goes wrong. */
enum stage { NODE, PARENT, OWN, DIRECTORY, STAT, DATA, LIST, MEMBER, OPEN, AWAIT, STAGES };

/* To what the stage is about; the answer is for the others. */
static void answer(enum stage stage, enum stage now, enum store_kind kind, const char *path,
                   struct store_reply reply)
{
    if (now < stage)
        CHECK(fake_answer(kind, path, reply));
}

static void come_to_node(enum stage stage)
{
    meeting_begin(stage == OPEN ? 1 : 2);
    meeting_enter(ZKL_FOREVER);
    if (stage == PARENT) {
        ANSWER(STORE_CREATE, meeting.own, .rc = STORE_NONODE);
        ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    } else if (stage == OWN) {
        ANSWER(STORE_CREATE, meeting.own, .rc = STORE_EXISTS);
    } else if (stage != NODE) {
        meeting_made();
    }
}

static void come_to(enum stage stage)
{
    const struct store_reply ok = {.rc = STORE_OK};

    come_to_node(stage);
    answer(stage, DIRECTORY, STORE_GET, PATH, ok);
    answer(stage, STAT, STORE_STAT, READY, ok);
    answer(stage, DATA, STORE_GET, READY,
           stage == AWAIT ? (struct store_reply){.mzxid = 9, .data = "zkl round 1 8", .length = 13}
                          : (struct store_reply){.rc = STORE_NONODE});
    if (stage > LIST)
        meeting_listed(stage == OPEN ? "*" : "* " OTHER " " LATER);
    if (stage == AWAIT) {
        meeting_stat_of("*", 10);
        meeting_stat_of(OTHER, 8);
        meeting_stat_of(LATER, 9);
    }
}

/* Whatever is refused, its node goes before that is told. */
TEST_CASE(is_refused)
{
    static const enum store_kind kinds[] = {
        [NODE] = STORE_CREATE,   [PARENT] = STORE_CREATE, [OWN] = STORE_STAT,
        [DIRECTORY] = STORE_GET, [STAT] = STORE_STAT,     [DATA] = STORE_GET,
        [LIST] = STORE_LIST,     [MEMBER] = STORE_STAT,   [OPEN] = STORE_MULTI,
        [AWAIT] = STORE_GET};

    for (enum stage stage = NODE; stage < STAGES; stage++) {
        come_to(stage);
        ANSWER(kinds[stage], PATH, .rc = STORE_NOAUTH); /* of a transaction, its first change */
        if (stage > OWN) {
            meeting_pending();
            ANSWER(STORE_DELETE, meeting.own, .rc = STORE_OK);
        }
        zkl_session_dispatch(meeting.s);
        const char *missing = kinds[stage] == STORE_CREATE  ? "the permission create (c) is missing"
                              : kinds[stage] == STORE_MULTI ? "the permission write (w) is missing"
                                                            : "the permission read (r) is missing";
        if (!g_str_has_prefix(meeting.out.text, "/d: the server refused ") ||
            !g_str_has_suffix(meeting.out.text, missing))
            runner_fail(__FILE__, __LINE__, "stage %d: %s", stage, meeting.out.text);
        meeting_end();
    }
}

/* What was wrong once is forgotten when it enters. */
TEST_CASE(is_refused_once)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    ANSWER(STORE_CREATE, meeting.own, .rc = STORE_NOAUTH);
    meeting_ended(ZKL_EACCES);
    meeting_inside();
    meeting_end();
}

/* Others may have counted its node, unless none can have been made. */
TEST_CASE(session_ends_meanwhile)
{
    for (enum stage stage = NODE; stage < STAGES; stage++) {
        come_to(stage);
        meeting_next_session();
        if (stage == PARENT)
            meeting_pending();
        else
            meeting_ended(ZKL_ELOST);
        CHECK_INT(fake_is_asked(STORE_CREATE, PATH "/"), stage == PARENT);
        CHECK(!fake_is_asked(STORE_DELETE, PATH) && !fake_is_asked(STORE_GET, PATH));
        meeting_end();
    }
}

/* Those that it needs no more are removed on the server, too. */
TEST_CASE(drops_its_watches)
{
    for (int freed = 0; freed < 2; freed++) {
        come_to(AWAIT);
        ANSWER(STORE_GET, PATH "/" OTHER, .rc = STORE_OK);
        if (freed)
            zkl_double_barrier_free(g_steal_pointer(&meeting.b));
        else
            fake_fire(READY, STORE_FIRED_CHANGED);
        CHECK(fake_is_asked(STORE_UNWATCH, PATH "/" OTHER));
        CHECK_INT(fake_is_asked(STORE_UNWATCH, READY), freed);
        meeting_end();
    }
}
