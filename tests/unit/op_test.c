/* An acquisition's time limit, its end by others, and who is told what. */
#include "lib/lock/op.h"

#include "by_hand.h"
#include "runner.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(op);

static zkl_session *s;
static struct acquisition a;

static void check_told(int calls, int code)
{
    zkl_session_dispatch(s);
    CHECK_INT(a.calls, calls);
    CHECK_INT(a.error.code, code);
}

static void check_text(const char *part)
{
    if (!CHECK(strstr(a.error.text, part) != NULL))
        runner_fail(__FILE__, __LINE__, "%s", a.error.text);
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
}

TEST_CASE(timed_out)
{
    s = hand_session();
    hand_enter(&a, s, 1000);
    hand_pass(s, 999);
    check_told(0, 0);
    hand_pass(s, 1);
    check_told(1, ZKL_ETIMEDOUT);
    check_text("not acquired within 1000 ms");
    hand_answer_entry(&a, -1);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    check_told(1, ZKL_ETIMEDOUT);
    stop();
}

/* 0 waits for no other contender, but for the server: one session timeout. */
TEST_CASE(tried_in_vain)
{
    s = hand_session();
    hand_enter(&a, s, 0);
    hand_pass(s, FAKE_TIMEOUT_MS - 1);
    check_told(0, 0);
    hand_pass(s, 1);
    check_told(1, ZKL_EUNREACHABLE);
    check_text("the server did not answer");
    stop();
}

TEST_CASE(timed_out_without_a_connection)
{
    s = hand_session();
    fake_event(STORE_EV_DOWN);
    hand_enter(&a, s, 1000);
    hand_pass(s, 1000);
    check_told(1, ZKL_EUNREACHABLE);
    check_text("no server answers");
    stop();
}

TEST_CASE(no_limit)
{
    static const int64_t limits[] = {ZKL_FOREVER, INT64_MAX, INT64_MAX / CLOCK_MS};

    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
        s = hand_session();
        hand_enter(&a, s, limits[i]);
        hand_pass(s, 100000);
        check_told(0, 0);
        stop();
    }
}

TEST_CASE(busy)
{
    s = hand_session();
    hand_enter(&a, s, 0);
    hand_answer_entry(&a, 3);
    check_told(1, ZKL_EBUSY);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 20000); /* its time limit is over, too */
    check_told(1, ZKL_EBUSY);
    stop();
}

TEST_CASE(acquired_in_time)
{
    s = hand_session();
    hand_stand_alone(s);
    hand_enter(&a, s, 1000);
    hand_pass_proved(s, 999);
    hand_answer_entry(&a, -1);
    hand_pass_proved(s, 5000);
    check_told(1, 0);
    CHECK(a.grant != NULL);
    CHECK_INT(zkl_grant_token(a.grant), 5);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    stop();
}

TEST_CASE(canceled_while_it_waits)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, 3);
    CHECK(fake_is_asked(STORE_GET, "/root/l/_c_other-lock-0000000003"));
    zkl_op_cancel(a.op);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    check_told(1, ZKL_ECANCELED);
    zkl_op_cancel(a.op);
    check_told(1, ZKL_ECANCELED);
    stop();
}

/* It has won, but nobody knows yet: the cancel wins, and what was won is given back. */
TEST_CASE(canceled_before_it_is_told)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, -1);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    zkl_op_cancel(a.op);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    zkl_op_cancel(a.op);
    check_told(1, ZKL_ECANCELED);
    CHECK(a.grant == NULL);
    stop();
}

TEST_CASE(canceled_too_late)
{
    s = hand_session();
    hand_hold(&a, s);
    zkl_op_cancel(a.op);
    check_told(1, 0);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    stop();
}

TEST_CASE(no_op)
{
    zkl_op_cancel(NULL);
    zkl_op_free(NULL);
    CHECK(true);
}

TEST_CASE(credentials_refused)
{
    s = hand_session();
    fake_event(STORE_EV_AUTH);
    hand_enter(&a, s, ZKL_FOREVER);
    CHECK(a.node == NULL);
    check_told(1, ZKL_EAUTH);
    stop();
}

TEST_CASE(freed_while_it_waits)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, 3);
    zkl_mutex_free(a.mutex);
    a.mutex = NULL;
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    check_told(1, ZKL_ECLOSED);
    stop();
}

TEST_CASE(closed_while_it_waits)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, 3);
    hand_close(s);
    CHECK_INT(a.calls, 1);
    CHECK_INT(a.error.code, ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_lock_async(a.mutex, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_lock(a.mutex, 0, NULL), ZKL_ECLOSED);
    hand_leave(&a);
}

/* It has won, and nobody knows yet. */
static void win_and_free(void)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, -1);
    zkl_op_free(a.op);
    a.op = NULL;
    zkl_mutex_free(a.mutex);
    a.mutex = NULL;
}

/* The grant comes nevertheless, and belongs to who hears of it. */
TEST_CASE(freed_before_it_is_told)
{
    win_and_free();
    CHECK_INT(a.calls, 0);
    check_told(1, 0);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    zkl_grant_release(a.grant);
    a.grant = NULL;
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    stop();
}

TEST_CASE(closed_before_it_is_told)
{
    win_and_free();
    hand_close(s);
    CHECK_INT(a.calls, 1);
    CHECK_INT(a.error.code, 0);
    REQUIRE(a.grant != NULL);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_CLOSED);
    CHECK_INT(zkl_grant_token(a.grant), 5);
    hand_leave(&a);
}

TEST_CASE(closed_meanwhile)
{
    struct contender_spec spec = {.directory = "/root/l", .payload = ""};
    struct op_queue waiters = {.ops = G_QUEUE_INIT};
    zkl_error error;

    s = hand_session();
    s->closing = true;
    session_lock(s);
    op_queue_init(&waiters, s);
    CHECK(op_start(&waiters, &spec, 0, NULL, NULL) == NULL);
    op_queue_clear(&waiters);
    session_unlock(s);
    CHECK_INT(zkl_last_error(&error), ZKL_ECLOSED);
    CHECK(g_queue_is_empty(&waiters.ops));
    s->closing = false;
    hand_close(s);
}

/* ---- blocking ---- */

struct blocked {
    zkl_mutex *mutex;
    int locked, unlocked;
    uint64_t token;
};

static void *lock_and_unlock(void *data)
{
    struct blocked *b = data;
    const zkl_grant *grant = NULL;

    b->locked = zkl_mutex_lock(b->mutex, ZKL_FOREVER, &grant);
    if (grant)
        b->token = zkl_grant_token(grant);
    b->unlocked = zkl_mutex_unlock(b->mutex);
    return NULL;
}

static pthread_t block(struct blocked *b)
{
    pthread_t thread;

    s = hand_session();
    a = (struct acquisition){.calls = 0};
    *b = (struct blocked){.locked = 1, .unlocked = 1};
    REQUIRE(zkl_mutex_new(&b->mutex, s, "/l", NULL) == 0);
    REQUIRE(pthread_create(&thread, NULL, lock_and_unlock, b) == 0);
    while (!(a.node = fake_created_name("/root/l", 7)))
        g_usleep(1000);
    return thread;
}

TEST_CASE(waited_for)
{
    struct blocked b;
    pthread_t thread = block(&b);

    hand_answer_entry(&a, -1);
    pthread_join(thread, NULL);
    CHECK_INT(b.locked, 0);
    CHECK_INT(b.token, 5);
    CHECK_INT(b.unlocked, 0);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    zkl_mutex_free(b.mutex);
    stop();
}

TEST_CASE(waited_for_in_vain)
{
    struct blocked b;
    pthread_t thread = block(&b);

    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NOAUTH);
    pthread_join(thread, NULL);
    CHECK_INT(b.locked, ZKL_EACCES);
    CHECK_INT(b.unlocked, ZKL_EPERM);
    zkl_mutex_free(b.mutex);
    stop();
}

static void check_node(void)
{
    char node[256];
    int status = 0;

    CHECK_INT(zkl_op_node(a.op, node, sizeof node), 0);
    CHECK_STR(node, a.node + strlen("/root"));
    CHECK_INT(zkl_op_node(a.op, node, 4), ZKL_ERANGE);
    CHECK_INT(zkl_op_node(NULL, node, sizeof node), ZKL_EINVAL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(zkl_op_node(a.op, node, sizeof node) == ZKL_ECHILD ? 0 : 1);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

/* As it was made, without a request. */
TEST_CASE(knows_its_node)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, 3);
    check_node();
    CHECK_INT(fake_count(STORE_LIST, "/root/l"), 0);
    stop();
}
