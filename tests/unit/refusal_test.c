/* Deletes that the server refuses: tried again, later and later, and then by a new session. */
#include "lib/session/orphans.h"

#include "by_hand.h"
#include "runner.h"

TEST_SUITE(refusal);

static zkl_session *s;
static struct acquisition holder; /* while something is held the session is kept */
static int errors;

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    if (record->level == ZKL_LOG_ERROR)
        errors += g_str_has_prefix(record->text, "/root/x: cannot delete it");
}

static void start(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    errors = 0;
    options.log = on_log;
    s = hand_session_with(&options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void check_errors(int wanted)
{
    zkl_session_dispatch(s);
    CHECK_INT(errors, wanted);
}

/* Asked for exactly ms from now. */
static void check_asked_after(int64_t ms)
{
    hand_pass_proved(s, ms - 1);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    hand_pass_proved(s, 1);
    CHECK_INT(fake_count(STORE_DELETE, "/root/x"), 1);
}

static void answer(enum store_rc rc)
{
    ANSWER(STORE_DELETE, "/root/x", .rc = rc);
}

static void hold_and_be_refused(void)
{
    start();
    hand_stand_alone(s);
    hand_hold(&holder, s);
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
}

static void stop(void)
{
    hand_leave(&holder);
    hand_close(s);
}

TEST_CASE(done_at_once)
{
    static const enum store_rc done[] = {STORE_OK, STORE_NONODE};

    for (size_t i = 0; i < G_N_ELEMENTS(done); i++) {
        start();
        orphan_delete(s, g_strdup("/root/x"));
        answer(done[i]);
        hand_pass(s, 5000);
        CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
        CHECK_INT(s->refusals.length, 0);
        check_errors(0);
        hand_close(s);
    }
}

TEST_CASE(retried_later_and_later)
{
    static const int64_t pauses[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};

    hold_and_be_refused();
    for (size_t i = 0; i < G_N_ELEMENTS(pauses); i++) {
        check_asked_after(pauses[i]);
        answer(i % 2 ? STORE_NOAUTH : STORE_BAD);
    }
    check_asked_after(30000);
    answer(STORE_OK);
    CHECK_INT(s->refusals.length, 0);
    hand_pass_proved(s, 70000);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    check_errors(1);
    CHECK_INT(zkl_grant_state(holder.grant), ZKL_HELD);
    stop();
}

TEST_CASE(gone_meanwhile)
{
    hold_and_be_refused();
    check_asked_after(500);
    answer(STORE_NONODE);
    CHECK_INT(s->refusals.length, 0);
    stop();
}

/* One refusal for a path, and apart for each. */
TEST_CASE(refused_twice)
{
    hold_and_be_refused();
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    orphan_delete(s, g_strdup("/root/y"));
    ANSWER(STORE_DELETE, "/root/y", .rc = STORE_NOAUTH);
    CHECK_INT(s->refusals.length, 2);
    check_errors(1);
    check_asked_after(500);
    answer(STORE_OK);
    CHECK_INT(s->refusals.length, 1);
    ANSWER(STORE_DELETE, "/root/y", .rc = STORE_OK);
    CHECK_INT(s->refusals.length, 0);
    stop();
}

/* The end of the session removes what a delete cannot, but takes what is held along. */
TEST_CASE(session_replaced_when_nothing_is_held)
{
    hold_and_be_refused();
    hand_pass_proved(s, 100);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    CHECK_INT(zkl_session_keep(s, 1), 0);
    zkl_grant_release(holder.grant);
    holder.grant = NULL;
    hand_pass(s, 100);
    CHECK_INT(zkl_session_flush(s, ZKL_FOREVER), ZKL_EACCES);
    CHECK_INT(zkl_session_keep(s, 0), 0);
    CHECK_INT(s->id, FAKE_SESSION_ID); /* not in the middle of a step */
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    CHECK_INT(s->refusals.length, 0);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    stop();
}

TEST_CASE(session_replaced_at_once_when_nothing_was_held)
{
    start();
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    hand_close(s);
}

TEST_CASE(session_kept_for_who_holds_meanwhile)
{
    start();
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    hand_hold(&holder, s);
    hand_pass(s, 0);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    CHECK_INT(zkl_grant_state(holder.grant), ZKL_HELD);
    stop();
}

/* A caller that waits enters anew. */
TEST_CASE(session_replaced_while_somebody_waits)
{
    start();
    hand_enter(&holder, s, ZKL_FOREVER);
    hand_answer_entry(&holder, 3);
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    stop();
}

/* The answer comes when the refusal is forgotten, with the session. */
TEST_CASE(forgotten_while_asked)
{
    hold_and_be_refused();
    check_asked_after(500);
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(s->refusals.length, 0);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    stop();
}
