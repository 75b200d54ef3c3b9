/* The driver of one who holds: the own watch, the loss, the node's end. */
#include "lib/contender/contender.h"

#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(holder);

static zkl_session *s;
static struct acquisition a;
static char lines[512]; /* of the log */
static int changes;
static zkl_state last;

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_strlcat(lines, record->text, sizeof lines);
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    (void)data;
    changes++;
    last = state;
}

static void start(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    lines[0] = '\0';
    changes = 0;
    options.log = on_log;
    s = hand_session_with(&options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    hand_hold(&a, s);
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
}

static void check_told(int calls, zkl_state state)
{
    zkl_session_dispatch(s);
    CHECK_INT(changes, calls);
    CHECK_INT(last, state);
}

TEST_CASE(watches_itself_after_a_while)
{
    start();
    hand_pass(s, 19);
    CHECK(!fake_is_asked(STORE_GET, a.node));
    hand_pass(s, 1);
    CHECK(fake_request(STORE_GET, a.node).watch);
    ANSWER(STORE_GET, a.node, .rc = STORE_BAD); /* tried again, but not at once */
    hand_pass(s, 999);
    CHECK(!fake_is_asked(STORE_GET, a.node));
    hand_pass(s, 1);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    fake_fire(a.node, STORE_FIRED_GONE);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(contenders_of(s)->list.length, 0);
    zkl_session_dispatch(s);
    CHECK(strstr(lines, ": lost") != NULL);
    stop();
}

TEST_CASE(released)
{
    start();
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    zkl_grant_release(a.grant);
    a.grant = NULL;
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK(!fake_is_asked(STORE_UNWATCH, a.node)); /* goes with the node */
    CHECK_INT(contenders_of(s)->list.length, 0);
    fake_fire(a.node, STORE_FIRED_GONE);
    CHECK_INT(s->watched_bytes, 0);
    zkl_session_dispatch(s);
    CHECK_STR(lines, "");
    stop();
}

static void on_applied(const zkl_error *error, void *data)
{
    (void)data;
    CHECK(error == NULL);
    changes++;
}

/* The node has gone with the transaction, and its watch with it: that is no loss. */
TEST_CASE(released_by_a_transaction)
{
    start();
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    CHECK_INT(
        zkl_grant_multi_async(a.grant, NULL, 0, ZKL_MULTI_RELEASE, ZKL_FOREVER, on_applied, NULL),
        0);
    ANSWER(STORE_MULTI, a.node, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    CHECK(!fake_is_asked(STORE_UNWATCH, a.node));
    CHECK_INT(contenders_of(s)->list.length, 0);
    zkl_session_dispatch(s);
    CHECK_INT(changes, 1);
    CHECK_STR(lines, "");
    stop();
}

TEST_CASE(lost_at_the_deadline)
{
    start();
    hand_pass(s, HAND_DEADLINE_MS - 1);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 1);
    CHECK(fake_is_asked(STORE_DELETE, a.node)); /* nobody has to be told first */
    CHECK_INT(contenders_of(s)->list.length, 0);
    stop();
}

/* The timer runs by one clock, the deadline is by two. */
TEST_CASE(not_lost_before_either_clock)
{
    start();
    hand_jump(0, -1000);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    stop();

    start();
    s->proofs.deadline = instant_add(s->proofs.deadline, 1000 * CLOCK_MS);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 1000);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    stop();
}

/* What the callbacks stop is stopped before another is granted. */
TEST_CASE(node_stays_until_the_loss_is_told)
{
    start();
    zkl_grant_on_change(a.grant, on_change, NULL);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    check_told(2, ZKL_LOST); /* suspect before: nothing was proved for too long */
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 20000);
    CHECK_INT(fake_count(STORE_DELETE, a.node), 1);
    stop();
}

/* A caller that asks only now is told at once, though the node still stands. */
TEST_CASE(loss_is_told_to_who_asks_late)
{
    start();
    zkl_grant_on_change(a.grant, on_change, NULL);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    zkl_grant_on_change(a.grant, on_change, NULL);
    check_told(3, ZKL_LOST); /* the first one was told suspect before */
    stop();
}

TEST_CASE(node_stays_one_timeout_at_most)
{
    start();
    zkl_grant_on_change(a.grant, on_change, NULL);
    hand_pass(s, HAND_DEADLINE_MS);
    hand_pass(s, FAKE_TIMEOUT_MS - 1);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 1);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    check_told(2, ZKL_LOST);
    CHECK_INT(fake_count(STORE_DELETE, a.node), 1);
    stop();
}

/* A proof that comes when the deadline has passed extends the session's, but not the grant's. */
TEST_CASE(proved_too_late)
{
    start();
    hand_stand_alone(s);
    hand_pass(s, 2000);
    hand_jump(HAND_DEADLINE_MS - 2000, HAND_DEADLINE_MS - 2000);
    ANSWER(STORE_SET, "/zookeeper", .rc = STORE_BADVERSION);
    CHECK(proofs_deadline(&s->proofs, clock_now()));
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(contenders_of(s)->list.length, 0);
    stop();
}

/* What is answered then proves something, but not that there is a connection. */
TEST_CASE(answered_while_disconnected)
{
    start();
    hand_stand_alone(s);
    hand_pass(s, 2000);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, "/zookeeper", .rc = STORE_BADVERSION);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_SUSPECT);
    CHECK_INT(zkl_grant_remaining_ms(a.grant), HAND_DEADLINE_MS - 2000);
    stop();
}

TEST_CASE(suspect_while_disconnected)
{
    start();
    hand_stand_alone(s);
    zkl_grant_on_change(a.grant, on_change, NULL);
    fake_event(STORE_EV_DOWN);
    check_told(1, ZKL_SUSPECT);
    hand_pass(s, 10);
    fake_event(STORE_EV_UP);
    check_told(1, ZKL_SUSPECT);
    hand_stand_alone(s);
    check_told(2, ZKL_HELD);
    stop();
}

/* Two and a half periods of renewal without a proof. */
TEST_CASE(suspect_when_overdue)
{
    start();
    zkl_grant_on_change(a.grant, on_change, NULL);
    hand_pass(s, 4100);
    check_told(0, last);
    hand_pass(s, 1000);
    check_told(1, ZKL_SUSPECT);
    stop();
}

TEST_CASE(lost_with_the_session)
{
    start();
    zkl_grant_on_change(a.grant, on_change, NULL);
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    check_told(1, ZKL_LOST);
    CHECK_INT(contenders_of(s)->list.length, 0);
    stop();
}

TEST_CASE(each_of_many_is_lost)
{
    struct acquisition other;

    start();
    hand_enter(&other, s, ZKL_FOREVER);
    hand_answer_entry(&other, 3);
    fake_event(STORE_EV_AUTH);
    zkl_session_dispatch(s);
    CHECK_INT(other.calls, 1);
    CHECK_INT(other.error.code, ZKL_EAUTH);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK_INT(contenders_of(s)->list.length, 0);
    hand_leave(&other);
    stop();
}

TEST_CASE(numbers_run_out)
{
    static const struct {
        int number;
        bool warned;
    } rows[] = {{INT32_MAX - (1 << 20) - 1, false}, {INT32_MAX - (1 << 20), true}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_leave(&a);
        zkl_session_dispatch(s);
        ANSWER(STORE_DELETE, "/root/l", .rc = STORE_OK);
        hand_enter(&a, s, ZKL_FOREVER);
        g_free(a.node);
        a.node = fake_created_name("/root/l", rows[i].number);
        hand_answer_entry(&a, -1);
        zkl_session_dispatch(s);
        CHECK(a.grant != NULL);
        CHECK_INT(strstr(lines, "sequence numbers of its directory end") != NULL, rows[i].warned);
        stop();
    }
}

/* The directory is deleted only if it has no children, and no data but a leader's words. Then its
 * numbers begin anew, and the attempt begins again. */
TEST_CASE(numbers_have_run_out)
{
    static const struct {
        const char *data;
        int children, code;
    } rows[] = {
        {"", 0, 0}, {"", 1, ZKL_EOVERFLOW}, {"abc", 0, ZKL_EOVERFLOW}, {"7\nproclaimed", 0, 0}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_leave(&a);
        hand_enter(&a, s, ZKL_FOREVER);
        ANSWER(STORE_CREATE, "/root/l", .rc = STORE_EXISTS);
        CHECK_STR(fake_request(STORE_GET, "/root/l").path, "/root/l");
        ANSWER(STORE_GET, "/root/l", .rc = STORE_OK, .children = rows[i].children,
               .length = (int)strlen(rows[i].data), .data = rows[i].data);
        if (rows[i].code == 0) {
            CHECK(fake_answer(STORE_DELETE, "/root/l/_c_", (struct store_reply){.rc = STORE_OK}));
            CHECK_STR(fake_request(STORE_DELETE, "/root/l").path, "/root/l");
            ANSWER(STORE_DELETE, "/root/l", .rc = STORE_OK);
            CHECK(fake_is_asked(STORE_CREATE, "/root/l/_c_"));
        }
        zkl_session_dispatch(s);
        CHECK_INT(a.error.code, rows[i].code);
        stop();
    }
}

/* The directory has gone meanwhile, and its numbers with it. */
TEST_CASE(numbers_have_begun_anew)
{
    start();
    hand_leave(&a);
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_EXISTS);
    ANSWER(STORE_GET, "/root/l", .rc = STORE_NONODE);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/_c_"));
    stop();
}
