/* What a member says of itself. */
#include "member_story.h"
#include "suites.h"

#include <sys/wait.h>
#include <unistd.h>

/* ---- its state ---- */

static void check_state(zkl_state state, uint64_t token, int64_t remaining_ms, int code)
{
    zkl_deadline deadline = {1, 1};

    CHECK_INT(zkl_member_state(mstory.m), state);
    CHECK(zkl_member_token(mstory.m) == token);
    CHECK_INT(zkl_member_remaining_ms(mstory.m), remaining_ms);
    CHECK_INT(zkl_member_deadline(mstory.m, &deadline), code);
    if (code)
        CHECK(deadline.boottime_ns == 0 && deadline.monotonic_raw_ns == 0);
}

static void knows_its_deadline(void)
{
    zkl_deadline deadline;

    mstory_begin(NULL);
    check_state(ZKL_LOST, 0, 0, ZKL_ELOST);
    mstory_joined();
    check_state(ZKL_HELD, 5, HAND_DEADLINE_MS, 0);
    CHECK_INT(zkl_member_deadline(mstory.m, &deadline), 0);
    CHECK(deadline.boottime_ns == (5000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    CHECK(deadline.monotonic_raw_ns == (1000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    hand_jump(0, 1000); /* the later of the two clocks counts */
    check_state(ZKL_HELD, 5, HAND_DEADLINE_MS - 1000, 0);
    hand_jump(HAND_DEADLINE_MS - 1, HAND_DEADLINE_MS - 1001);
    check_state(ZKL_HELD, 5, 1, 0);
    hand_jump(1, 0);
    check_state(ZKL_LOST, 5, 0, ZKL_ELOST); /* nothing has run */
    mstory_told("joined 5");
    struct member_outcome o;
    mstory_wait(ZKL_FOREVER, &o); /* notices it, too */
    mstory_told("gone 5 deadline");
    mstory_pending(&o);
    mstory_end();
}

static void is_in_doubt(void)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    mstory_told("joined 5");
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_SUSPECT);
    CHECK(zkl_member_remaining_ms(mstory.m) > 0);
    hand_pass(mstory.s, 10);
    fake_event(STORE_EV_UP);
    hand_stand_alone(mstory.s);
    mstory_told("proved 5");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_HELD);
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    mstory_told("gone 5 deadline");
    check_state(ZKL_LOST, 5, 0, ZKL_ELOST);
    fake_event(STORE_EV_UP);
    hand_pass(mstory.s, 10);
    hand_stand_alone(mstory.s);
    mstory_told("joined 5 again");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_HELD);
    mstory_end();
}

/* Another session begins without doubt. */
static void doubt_ends_with_the_session(void)
{
    mstory_begin(NULL);
    mstory_joined();
    fake_event(STORE_EV_DOWN);
    mstory_told("joined 5; suspect 5");
    mstory_replace(FAKE_SESSION_ID + 1);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 9);
    mstory_told("gone 5 session; joined 9 again");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_HELD);
    mstory_end();
}

/* What may be under way, in the order in which a member comes to it. */
enum step { CREATES, READS, SETS, DELETES, PASSES, SETTLES, WAITS, STEPS };

static void come_to_leave(enum step step, struct member_outcome *o)
{
    mstory_leave(ZKL_FOREVER, o);
    if (step != DELETES)
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_UNKNOWN);
    if (step == SETTLES)
        ANSWER(STORE_SET, STORY_NODE, .rc = STORE_NONODE);
}

static void come_to(enum step step, bool leaves, struct member_outcome *o)
{
    mstory_begin(NULL);
    if (step == WAITS)
        mstory_taken(STORY_OTHER, "");
    else if (step >= SETS)
        mstory_joined();
    else if (step == READS)
        mstory_created();
    if (leaves)
        come_to_leave(step, o);
    else
        mstory_update("two", o);
    zkl_session_dispatch(mstory.s);
    g_string_truncate(mstory.told, 0);
}

/* What is under way is for nothing then: neither told as a refusal nor asked for again. */
static void session_ends_meanwhile(void)
{
    for (enum step step = CREATES; step < STEPS; step++) {
        const bool leaves = step >= DELETES && step <= SETTLES;
        const bool joined = step >= READS && step <= SETS;
        struct member_outcome o;

        come_to(step, leaves, &o);
        mstory_replace(FAKE_SESSION_ID + 1);
        mstory_told(leaves ? "left" : joined ? "gone 5 session" : "");
        CHECK_INT(fake_count(STORE_CREATE, "/root"), !leaves);
        CHECK_INT(fake_is_asked(STORE_CREATE, STORY_NODE), !leaves);
        CHECK(!fake_is_asked(STORE_GET, "/root") && !fake_is_asked(STORE_SET, "/root"));
        CHECK(!fake_is_asked(STORE_DELETE, "/root"));
        if (!leaves) {
            mstory_pending(&o);
            CHECK_STR(fake_request(STORE_CREATE, STORY_NODE).data, "two");
        }
        mstory_end();
    }
}

static void has_left(void)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_joined();
    mstory_leave(ZKL_FOREVER, &o);
    check_state(ZKL_RELEASED, 0, 0, ZKL_EPERM);
    hand_pass(mstory.s, 100);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    mstory_told("joined 5; left");
    check_state(ZKL_RELEASED, 0, 0, ZKL_EPERM);
    CHECK(mstory.s->warm_until.boot == clock_now().boot + mstory.s->warm_ns);
    mstory_end();
}

/* Members need the session, as other users do. */
static void session_is_in_use(void)
{
    zkl_member *other;

    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    hand_pass_proved(mstory.s, 70 * 1000);
    CHECK(mstory.s->proof_timer.at != 0);
    mstory_end();
    mstory_begin(NULL);
    mstory_free();
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_EXISTS);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_NONODE);
    hand_pass(mstory.s, 70 * 1000);
    CHECK(!mstory.s->proof_timer.at);
    REQUIRE(zkl_member_join(&other, mstory.s, "/g", "b", NULL, 0, NULL) == 0);
    CHECK_INT(mstory.s->id, 0);
    zkl_member_free(other);
    mstory_end();
}

/* In a child the parent's is none; it may have its own. */
static void in_a_child(void)
{
    int status = -1;

    mstory_begin(NULL);
    mstory_joined();
    const pid_t child = fork();
    if (child == 0) {
        zkl_deadline deadline;
        bool right = zkl_member_state(mstory.m) == ZKL_LOST &&
                     zkl_member_remaining_ms(mstory.m) == 0 && zkl_member_token(mstory.m) == 5 &&
                     zkl_member_deadline(mstory.m, &deadline) == ZKL_ECHILD;
        zkl_member_free(mstory.m);
        mstory_begin(NULL);
        mstory_joined();
        _exit(right && zkl_member_state(mstory.m) == ZKL_HELD ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    mstory_end();
}

static const struct test_case cases[] = {
    {"knows_its_deadline", knows_its_deadline},
    {"is_in_doubt", is_in_doubt},
    {"doubt_ends_with_the_session", doubt_ends_with_the_session},
    {"session_ends_meanwhile", session_ends_meanwhile},
    {"has_left", has_left},
    {"session_is_in_use", session_is_in_use},
    {"in_a_child", in_a_child},
    {NULL, NULL},
};

const struct test_suite member_state_suite = {.name = "member_state", .cases = cases};
