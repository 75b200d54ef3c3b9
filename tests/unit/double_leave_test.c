/* Members of double barriers that leave, or whose calls end otherwise. */
#include "meeting.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(double_leave);

/* ---- leaving ---- */

/* The last removes ready with its own node; where ready is gone, its node alone. */
TEST_CASE(leaves_as_the_last)
{
    static const enum store_rc rows[] = {STORE_OK, STORE_NONODE, STORE_NOAUTH};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        meeting_begin(2);
        meeting_inside();
        meeting_leave(ZKL_FOREVER);
        meeting_listed("* ready");
        char *both = g_strdup_printf("delete %s -1; delete " READY " -1", meeting.own);
        meeting_changes(both, "");
        g_free(both);
        ANSWER(STORE_MULTI, PATH, .rc = rows[i]);
        CHECK_INT(fake_is_asked(STORE_DELETE, meeting.own), rows[i] != STORE_OK);
        if (rows[i] != STORE_OK) {
            meeting_pending();
            ANSWER(STORE_DELETE, meeting.own, .rc = STORE_NONODE);
        }
        meeting_ended(0);
        meeting_end();
    }
}

/* Its node goes with the session: nothing is asked in the next one. */
TEST_CASE(leaves_with_its_session)
{
    meeting_begin(2);
    meeting_inside();
    meeting_leave(ZKL_FOREVER);
    meeting_listed("* ready");
    meeting_next_session();
    meeting_ended(0);
    CHECK(!fake_is_asked(STORE_DELETE, PATH));
    meeting_end();
}

/* Whether the own node is looked for that long after its end, and deleted. */
static void check_looks(bool looks)
{
    char *name = strrchr(meeting.own, '/') + 1;

    hand_pass_proved(meeting.s, 1000);
    CHECK_INT(fake_is_asked(STORE_LIST, PATH), looks);
    if (looks)
        ANSWER(STORE_LIST, PATH, .rc = STORE_OK, .names = &name, .count = 1);
    CHECK_INT(fake_is_asked(STORE_DELETE, meeting.own), looks);
    hand_pass_proved(meeting.s, 3000);
    CHECK_INT(fake_is_asked(STORE_LIST, PATH), looks);
}

/* It enters; lost: by the second of two creates. */
static void enter_by(bool lost)
{
    meeting_enter(ZKL_FOREVER);
    if (lost) {
        fake_event(STORE_EV_DOWN);
        ANSWER(STORE_CREATE, meeting.own, .rc = STORE_UNKNOWN);
        fake_reconnect();
    }
    meeting_let_in();
}

static void enter_again(bool lost)
{
    meeting_begin(2);
    hand_stand_alone(meeting.s);
    enter_by(lost);
}

static void leave_as_last(void)
{
    meeting_leave(ZKL_FOREVER);
    meeting_listed("*");
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    meeting_ended(0);
}

/* The first create may be done late, when the second node is gone: because it was deleted before
 * those of the others, or as the last, or by somebody else. */
TEST_CASE(own_node_is_made_late)
{
    for (int lost = 0; lost < 2; lost++) {
        enter_again(lost);
        meeting_leave(ZKL_FOREVER);
        meeting_listed(OTHER " *");
        meeting_stat_of(OTHER, 8);
        ANSWER(STORE_DELETE, meeting.own, .rc = STORE_OK);
        check_looks(lost);
        meeting_end();
        enter_again(lost);
        leave_as_last();
        check_looks(lost);
        meeting_end();
        enter_again(lost);
        meeting_leave(ZKL_FOREVER);
        meeting_listed("");
        check_looks(lost);
        meeting_end();
    }
}

/* In another session nothing of this one is done, and the next node is no concern of it. */
TEST_CASE(next_node_is_not_late)
{
    enter_again(true);
    leave_as_last();
    meeting_next_session();
    enter_by(false);
    leave_as_last();
    check_looks(false);
    meeting_end();
}

/* Somebody has deleted the own node before it entered: it makes another. */
TEST_CASE(former_node_is_made_late)
{
    meeting_begin(2);
    hand_stand_alone(meeting.s);
    meeting_enter(ZKL_FOREVER);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, meeting.own, .rc = STORE_UNKNOWN);
    fake_reconnect();
    meeting_made();
    meeting_looked();
    meeting_listed(OTHER);
    check_looks(true);
    meeting_end();
}

/* Its own node first, unless it is the lowest: that one waits for the highest. */
TEST_CASE(leaves_with_others)
{
    meeting_begin(2);
    meeting_inside();
    meeting_leave(ZKL_FOREVER);
    meeting_listed(OTHER " * ready");
    meeting_stat_of(OTHER, 8);
    ANSWER(STORE_DELETE, meeting.own, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_DELETE, meeting.own));
    meeting_pending();
    ANSWER(STORE_GET, PATH "/" OTHER, .rc = STORE_OK);
    fake_watch(PATH "/" OTHER, true);
    meeting_pending();
    meeting_listed("");
    meeting_ended(0);
    meeting_inside();
    meeting_leave(ZKL_FOREVER);
    meeting_listed("* " LATER);
    meeting_stat_of(LATER, 9);
    CHECK(!fake_is_asked(STORE_DELETE, meeting.own));
    ANSWER(STORE_GET, PATH "/" LATER, .rc = STORE_NONODE);
    meeting_listed("*");
    CHECK(fake_is_asked(STORE_MULTI, PATH));
    ANSWER(STORE_MULTI, PATH, .rc = STORE_OK);
    meeting_ended(0);
    meeting_end();
}

/* The directory is gone, and the own node with it. */
TEST_CASE(leaves_nothing)
{
    meeting_begin(2);
    meeting_inside();
    meeting_leave(ZKL_FOREVER);
    ANSWER(STORE_LIST, PATH, .rc = STORE_NONODE);
    meeting_ended(0);
    meeting_end();
}

/* It has left all the same: the delete is tried again and again. */
TEST_CASE(may_not_delete)
{
    meeting_begin(2);
    meeting_inside();
    meeting_leave(ZKL_FOREVER);
    meeting_listed("* " OTHER);
    meeting_stat_of(OTHER, 8);
    ANSWER(STORE_DELETE, meeting.own, .rc = STORE_NOAUTH);
    CHECK(fake_is_asked(STORE_DELETE, meeting.own));
    ANSWER(STORE_GET, PATH "/" OTHER, .rc = STORE_NONODE);
    meeting_listed("*");
    meeting_ended(0);
    meeting_end();
}

/* ---- ends ---- */

/* Its node goes first; without an answer it is told one session timeout later. */
TEST_CASE(time_passes)
{
    for (int answered = 0; answered < 2; answered++) {
        meeting_begin(2);
        meeting_enter(300);
        meeting_made();
        meeting_looked();
        hand_pass(meeting.s, 300);
        meeting_pending();
        CHECK_INT(zkl_double_barrier_enter_async(meeting.b, 0, meeting_done, NULL), ZKL_EBUSY);
        hand_pass(meeting.s, FAKE_TIMEOUT_MS - 1);
        meeting_pending();
        if (answered)
            ANSWER(STORE_DELETE, meeting.own, .rc = STORE_OK);
        else
            hand_pass(meeting.s, 1);
        meeting_ended(ZKL_ETIMEDOUT);
        CHECK_INT(zkl_double_barrier_enter_async(meeting.b, 0, meeting_done, NULL),
                  answered ? 0 : ZKL_EBUSY);
        hand_pass(meeting.s, FAKE_TIMEOUT_MS);
        meeting_end();
    }
}

static void check_busy(int code, const char *what)
{
    zkl_error why;

    CHECK_INT(code, ZKL_EBUSY);
    zkl_last_error(&why);
    CHECK(strstr(why.text, what) != NULL);
    CHECK_STR(why.path, "/d");
}

TEST_CASE(one_call_at_a_time)
{
    meeting_begin(2);
    CHECK_INT(zkl_double_barrier_leave_async(meeting.b, 0, meeting_done, NULL), ZKL_EPERM);
    CHECK_INT(zkl_double_barrier_leave(meeting.b, 0), ZKL_EPERM);
    meeting_enter(ZKL_FOREVER);
    check_busy(zkl_double_barrier_enter_async(meeting.b, 0, meeting_done, NULL), "another call");
    check_busy(zkl_double_barrier_leave_async(meeting.b, 0, meeting_done, NULL), "another call");
    meeting_end();
    meeting_begin(2);
    meeting_inside();
    check_busy(zkl_double_barrier_enter_async(meeting.b, 0, meeting_done, NULL), "is inside");
    check_busy(zkl_double_barrier_enter(meeting.b, 0), "is inside");
    meeting_leave(ZKL_FOREVER);
    check_busy(zkl_double_barrier_leave_async(meeting.b, 0, meeting_done, NULL), "another call");
    meeting_end();
}

/* A member that waits or is inside needs the session, which is kept proved. A session that is not
 * proved any more is replaced before a node is made in it. */
TEST_CASE(session_is_in_use)
{
    meeting_begin(2);
    hand_stand_alone(meeting.s);
    meeting_inside();
    hand_pass_proved(meeting.s, 70 * 1000);
    CHECK(meeting.s->proof_timer.at != 0);
    meeting_end();
    meeting_begin(2);
    hand_pass(meeting.s, 70 * 1000);
    CHECK(!meeting.s->proof_timer.at);
    CHECK_INT(zkl_double_barrier_enter_async(meeting.b, ZKL_FOREVER, meeting_done, NULL), 0);
    CHECK_INT(meeting.s->id, 0);
    CHECK(!fake_is_asked(STORE_CREATE, PATH));
    meeting_end();
}

/* At once: the node goes in the background, if anybody answers. */
TEST_CASE(is_freed)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_made();
    zkl_double_barrier_free(meeting.b);
    zkl_session_dispatch(meeting.s);
    CHECK_STR(meeting.out.text, "the barrier was freed");
    meeting_ended(ZKL_ECLOSED);
    CHECK(fake_is_asked(STORE_DELETE, meeting.own));
    ANSWER(STORE_DELETE, meeting.own, .rc = STORE_OK);
    hand_close(meeting.s);
    g_free(meeting.own);
    meeting_begin(2);
    meeting_inside();
    zkl_double_barrier_free(meeting.b);
    CHECK(fake_is_asked(STORE_DELETE, meeting.own));
    hand_close(meeting.s);
    g_free(meeting.own);
}

TEST_CASE(is_closed)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_made();
    session_ref(meeting.s);
    hand_close(meeting.s);
    CHECK_INT(meeting.out.calls, 1);
    CHECK_INT(meeting.out.code, ZKL_ECLOSED);
    CHECK_INT(zkl_double_barrier_enter_async(meeting.b, 0, meeting_done, NULL), ZKL_ECLOSED);
    zkl_double_barrier_free(meeting.b);
    session_unref(meeting.s);
    g_free(meeting.own);
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    fake_event(STORE_EV_AUTH);
    meeting_ended(ZKL_EAUTH);
    CHECK_INT(zkl_double_barrier_enter_async(meeting.b, ZKL_FOREVER, meeting_done, NULL), 0);
    meeting_ended(ZKL_EAUTH);
    meeting_end();
}

/* What was not sent is asked in the next one; where a node may have been, others may have counted
 * it. */
TEST_CASE(session_ends)
{
    meeting_begin(2);
    meeting_enter(ZKL_FOREVER);
    meeting_next_session();
    meeting_ended(ZKL_ELOST);
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_double_barrier_enter_async(meeting.b, ZKL_FOREVER, meeting_done, NULL), 0);
    meeting_next_session();
    meeting_pending();
    CHECK_INT(fake_count(STORE_CREATE, PATH "/"), 1);
    meeting_take_own();
    ANSWER(STORE_CREATE, meeting.own, .rc = STORE_NONODE);
    meeting_next_session();
    meeting_pending();
    CHECK_INT(fake_count(STORE_CREATE, PATH "/"), 1);
    meeting_take_own();
    meeting_made();
    meeting_next_session();
    meeting_ended(ZKL_ELOST);
    meeting_inside();
    meeting_next_session();
    CHECK(!fake_is_asked(STORE_GET, "/root") && !fake_is_asked(STORE_LIST, "/root"));
    meeting_leave(ZKL_FOREVER);
    meeting_ended(ZKL_ELOST);
    meeting_end();
}
