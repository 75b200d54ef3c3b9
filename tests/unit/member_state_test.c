/* What a member says of itself. */
#include "member_story.h"
#include "runner.h"

#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(member_state);

/* ---- its grant ---- */

static void check_grant(int code, zkl_state state, uint64_t token, int64_t remaining_ms)
{
    const struct membership now = membership_of(mstory.m);

    CHECK_INT(now.code, code);
    CHECK_INT(now.state, state);
    CHECK(now.token == token);
    CHECK_INT(now.remaining_ms, remaining_ms);
}

static zkl_grant *own_grant(void)
{
    zkl_grant *grant = NULL;

    REQUIRE(zkl_member_grant(mstory.m, &grant) == 0);
    return grant;
}

TEST_CASE(knows_its_deadline)
{
    mstory_begin(NULL);
    check_grant(ZKL_ELOST, ZKL_LOST, 0, 0);
    mstory_joined();
    check_grant(0, ZKL_HELD, 5, HAND_DEADLINE_MS);
    const zkl_deadline deadline = membership_of(mstory.m).deadline;
    CHECK(deadline.boottime_ns == (5000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    CHECK(deadline.monotonic_raw_ns == (1000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    hand_jump(0, 1000); /* the later of the two clocks counts */
    check_grant(0, ZKL_HELD, 5, HAND_DEADLINE_MS - 1000);
    hand_jump(HAND_DEADLINE_MS - 1, HAND_DEADLINE_MS - 1001);
    check_grant(0, ZKL_HELD, 5, 1);
    hand_jump(1, 0);
    check_grant(ZKL_ELOST, ZKL_LOST, 0, 0); /* nothing has run */
    mstory_told("joined 5");
    struct member_outcome o;
    mstory_wait(ZKL_FOREVER, &o); /* notices it, too */
    mstory_told("lost 5 deadline");
    mstory_pending(&o);
    mstory_end();
}

/* Its turn is over for good, though the member is held again. */
TEST_CASE(grant_is_lost_for_good)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    zkl_grant *first = own_grant();
    fake_event(STORE_EV_DOWN);
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    fake_event(STORE_EV_UP);
    hand_stand_alone(mstory.s);
    mstory_told("joined 5; suspect 5; lost 5 deadline; joined 5 again");
    zkl_grant *second = own_grant();
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    CHECK_INT(zkl_grant_loss(first), ZKL_LOSS_DEADLINE);
    CHECK_INT(zkl_grant_state(second), ZKL_HELD);
    CHECK(zkl_grant_token(first) == 5 && zkl_grant_token(second) == 5);
    CHECK(zkl_grant_turn(second) > zkl_grant_turn(first));
    CHECK_STR(zkl_grant_node(second), "/g/a");
    zkl_grant_release(first);
    zkl_grant_release(second);
    mstory_end();
}

/* It has been seen lost: a proof that comes behind that is another turn's. */
TEST_CASE(proof_comes_too_late)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    zkl_grant *first = own_grant();
    hand_jump(FAKE_TIMEOUT_MS, FAKE_TIMEOUT_MS);
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    hand_pass_proved(mstory.s, 0);
    hand_pass_proved(mstory.s, 1);
    mstory_told("joined 5; lost 5 deadline; joined 5 again");
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    zkl_grant_release(first);
    mstory_end();
}

static void count_states(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    g_string_append_printf(data, "%d", (int)state);
}

/* As any other, but that nobody waits for it, and that its release is no leaving. */
TEST_CASE(grant_is_asked_as_others)
{
    const zkl_change change = {.kind = ZKL_CHANGE_CREATE, .path = "/x"};
    GString *states = g_string_new(NULL), *calls = g_string_new(NULL);
    struct member_outcome o;

    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    zkl_grant *grant = own_grant();
    CHECK_INT(zkl_grant_on_change(grant, count_states, states), 0);
    CHECK_INT(zkl_grant_on_wanted(grant, count_states, calls), 0);
    CHECK_INT(zkl_grant_on_revoke(grant, count_states, calls), 0);
    CHECK_INT(zkl_grant_multi(grant, &change, 1, 0, 0), ZKL_EINVAL);
    fake_event(STORE_EV_DOWN);
    hand_pass(mstory.s, 10);
    fake_event(STORE_EV_UP);
    hand_stand_alone(mstory.s);
    zkl_grant_release(own_grant());
    check_grant(0, ZKL_HELD, 5, HAND_DEADLINE_MS);
    mstory_leave(ZKL_FOREVER, &o);
    zkl_session_dispatch(mstory.s);
    CHECK_INT(zkl_grant_state(grant), ZKL_RELEASED);
    CHECK_STR(states->str, "103");
    CHECK_STR(calls->str, "");
    zkl_grant_release(grant);
    mstory_end();
    g_string_free(states, TRUE);
    g_string_free(calls, TRUE);
}

/* What has ended a membership is its grant's loss. */
TEST_CASE(grant_says_how_it_was_lost)
{
    static const zkl_loss losses[] = {ZKL_LOSS_DELETED, ZKL_LOSS_EXPIRED, ZKL_LOSS_CLOSED,
                                      ZKL_LOSS_REFUSED};

    for (guint i = 0; i < G_N_ELEMENTS(losses); i++) {
        mstory_begin(NULL);
        mstory_joined();
        zkl_grant *grant = own_grant();
        if (losses[i] == ZKL_LOSS_DELETED)
            fake_watch(STORY_NODE, true);
        else if (losses[i] == ZKL_LOSS_EXPIRED)
            mstory_replace(FAKE_SESSION_ID + 1);
        else if (losses[i] == ZKL_LOSS_REFUSED)
            fake_event(STORE_EV_AUTH);
        else
            hand_close(mstory.s);
        CHECK_INT(zkl_grant_state(grant), ZKL_LOST);
        CHECK_INT(zkl_grant_loss(grant), losses[i]);
        zkl_grant_release(grant);
        if (losses[i] == ZKL_LOSS_CLOSED) {
            mstory_free();
            g_string_free(mstory.told, TRUE);
        } else {
            mstory_end();
        }
    }
}

TEST_CASE(is_in_doubt)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    mstory_told("joined 5");
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    CHECK_INT(membership_state(mstory.m), ZKL_SUSPECT);
    CHECK(membership_of(mstory.m).remaining_ms > 0);
    hand_pass(mstory.s, 10);
    fake_event(STORE_EV_UP);
    hand_stand_alone(mstory.s);
    mstory_told("held 5");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    mstory_told("lost 5 deadline");
    check_grant(ZKL_ELOST, ZKL_LOST, 0, 0);
    fake_event(STORE_EV_UP);
    hand_pass(mstory.s, 10);
    hand_stand_alone(mstory.s);
    mstory_told("joined 5 again");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    mstory_end();
}

/* Another session begins without doubt. */
TEST_CASE(doubt_ends_with_the_session)
{
    mstory_begin(NULL);
    mstory_joined();
    fake_event(STORE_EV_DOWN);
    mstory_told("joined 5; suspect 5");
    mstory_replace(FAKE_SESSION_ID + 1);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 9);
    mstory_told("lost 5 session; joined 9 again");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
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
TEST_CASE(session_ends_meanwhile)
{
    for (enum step step = CREATES; step < STEPS; step++) {
        const bool leaves = step >= DELETES && step <= SETTLES;
        const bool joined = step >= READS && step <= SETS;
        struct member_outcome o;

        come_to(step, leaves, &o);
        mstory_replace(FAKE_SESSION_ID + 1);
        mstory_told(leaves ? "left" : joined ? "lost 5 session" : "");
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

TEST_CASE(has_left)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_joined();
    mstory_leave(ZKL_FOREVER, &o);
    check_grant(ZKL_EPERM, ZKL_RELEASED, 0, 0);
    hand_pass(mstory.s, 100);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    mstory_told("joined 5; left");
    check_grant(ZKL_EPERM, ZKL_RELEASED, 0, 0);
    CHECK(mstory.s->warm_until.boot == clock_now().boot + mstory.s->warm_ns);
    mstory_end();
}

/* Members need the session, as other users do. */
TEST_CASE(session_is_in_use)
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
TEST_CASE(in_a_child)
{
    int status = -1;

    mstory_begin(NULL);
    mstory_joined();
    const pid_t child = fork();
    if (child == 0) {
        bool right = membership_of(mstory.m).code == ZKL_ECHILD;
        zkl_member_free(mstory.m);
        mstory_begin(NULL);
        mstory_joined();
        _exit(right && membership_state(mstory.m) == ZKL_HELD ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    mstory_end();
}
