/* Callers of one mutex handle that does not retain: one of them contends, the others wait for it
 * without asking anything of the store. */
#include <malloc.h>
#include <string.h>

#include "by_hand.h"
#include "runner.h"

TEST_SUITE(local_queue);

enum { CALLERS = 6, THRONG = 20000 };

struct call {
    zkl_op *op;
    zkl_grant *grant;
    int calls, code;
    int told_in; /* the how manieth to be told; 0: not yet */
};

static zkl_session *s;
static zkl_mutex *m;
static struct call callers[CALLERS];
static int told, number;
static bool replaced;

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct call *c = data;

    c->calls++;
    c->grant = grant;
    c->code = error ? error->code : 0;
    c->told_in = ++told;
}

static void on_session(zkl_session *session, zkl_session_event event, int64_t id, void *data)
{
    (void)session, (void)id, (void)data;
    replaced |= event == ZKL_SESSION_REPLACED;
}

static void start(void)
{
    told = number = 0;
    replaced = false;
    memset(callers, 0, sizeof callers);
    s = hand_session();
    zkl_session_on_change(s, on_session, NULL);
    REQUIRE(zkl_mutex_new(&m, s, "/l", NULL) == 0);
}

static void stop(void)
{
    for (int i = 0; i < CALLERS; i++) {
        zkl_grant_release(callers[i].grant);
        zkl_op_free(callers[i].op);
    }
    zkl_mutex_free(m);
    hand_close(s);
}

static void lock(int i, int64_t timeout_ms)
{
    REQUIRE(zkl_mutex_lock_async(m, timeout_ms, on_acquired, &callers[i], &callers[i].op) == 0);
    zkl_session_dispatch(s);
}

static void lock_all(void)
{
    for (int i = 0; i < CALLERS; i++)
        lock(i, ZKL_FOREVER);
}

static void start_all(void)
{
    start();
    lock_all();
}

static void unlock(int i)
{
    zkl_grant_release(callers[i].grant);
    callers[i].grant = NULL;
    zkl_session_dispatch(s);
}

static int creates(void)
{
    return fake_count(STORE_CREATE, "/root/l/");
}

/* The node is made, and is the only one or behind another. */
static void answer_entry(bool behind)
{
    static char other[] = "_c_other-lock-0000000000";
    char *node = fake_created_name("/root/l/", ++number);

    REQUIRE(node != NULL);
    char *names[] = {strrchr(node, '/') + 1, other};
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_OK, .path = node, .czxid = (uint64_t)(4 + number),
           .ephemeral_owner = s->id);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = behind ? 2 : 1);
    zkl_session_dispatch(s);
    g_free(node);
}

/* Nobody else is in the directory. */
static void answer_look(int i)
{
    char *name = g_path_get_basename(zkl_grant_node(callers[i].grant));

    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = &name, .count = 1);
    zkl_session_dispatch(s);
    g_free(name);
}

static void refuse_entry(enum store_rc rc)
{
    ANSWER(STORE_CREATE, "/root/l/", .rc = rc);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    zkl_session_dispatch(s);
}

/* Nobody but i has been told anything since. */
static void check_granted(int i)
{
    CHECK_INT(callers[i].code, 0);
    CHECK_INT(callers[i].told_in, told);
    REQUIRE(callers[i].grant != NULL);
    CHECK_INT(zkl_grant_token(callers[i].grant), 4 + number);
    CHECK_INT(zkl_grant_turn(callers[i].grant), 0);
}

/* Each has a node and token of its own, asked for behind the delete of the one before. */
TEST_CASE(one_after_the_other)
{
    start_all();
    for (int i = 0; i < CALLERS; i++) {
        CHECK_INT(creates(), 1);
        answer_entry(false);
        check_granted(i);
        CHECK_INT(told, i + 1);
        CHECK_INT(creates(), 0);
        CHECK_INT(fake_count(STORE_LIST, "/root/l"), 0);
        unlock(i);
        CHECK_INT(creates(), i < CALLERS - 1);
        if (creates())
            CHECK(fake_place(STORE_DELETE, "/root/l/") < fake_place(STORE_CREATE, "/root/l/"));
        ANSWER(STORE_DELETE, "/root/l/", .rc = STORE_OK);
    }
    stop();
}

TEST_CASE(handles_do_not_know_each_other)
{
    struct acquisition other;

    start();
    lock(0, ZKL_FOREVER);
    lock(1, ZKL_FOREVER);
    CHECK_INT(creates(), 1);
    hand_enter(&other, s, ZKL_FOREVER);
    CHECK_INT(creates(), 2);
    stop();
    hand_leave(&other);
}

/* The caller that has come first here is first, whatever it is at. */
TEST_CASE(tries_do_not_wait)
{
    start();
    lock(0, ZKL_FOREVER);
    lock(1, 0);
    CHECK_INT(callers[1].code, ZKL_EBUSY);
    answer_entry(false);
    lock(2, 0);
    CHECK_INT(callers[2].code, ZKL_EBUSY);
    lock(3, ZKL_FOREVER);
    lock(4, 0);
    CHECK_INT(callers[4].code, ZKL_EBUSY);
    CHECK_INT(creates(), 0);
    unlock(0);
    answer_entry(false);
    unlock(3);
    lock(5, 0); /* nobody is left */
    CHECK_INT(callers[5].calls, 0);
    answer_entry(true);
    CHECK_INT(callers[5].code, ZKL_EBUSY);
    stop();
}

/* One that tries is not passed either. */
TEST_CASE(a_try_is_waited_for)
{
    start();
    lock(0, 0);
    lock(1, ZKL_FOREVER);
    CHECK_INT(creates(), 1);
    answer_entry(true);
    CHECK_INT(callers[0].code, ZKL_EBUSY);
    CHECK_INT(creates(), 1);
    answer_entry(false);
    check_granted(1);
    stop();
}

/* While it waits here: told at once, and nothing is asked for it. */
TEST_CASE(given_up_behind_another)
{
    start_all();
    answer_entry(false);
    zkl_op_cancel(callers[1].op);
    zkl_op_cancel(callers[CALLERS - 1].op);
    zkl_session_dispatch(s);
    CHECK_INT(callers[1].code, ZKL_ECANCELED);
    CHECK_INT(callers[CALLERS - 1].code, ZKL_ECANCELED);
    CHECK_INT(told, 3);
    for (int i = 2; i < CALLERS - 1; i++) {
        unlock(i == 2 ? 0 : i - 1);
        answer_entry(false);
        check_granted(i);
    }
    unlock(CALLERS - 2);
    CHECK_INT(creates(), 0);
    stop();
}

/* The time runs while it waits here. */
TEST_CASE(timed_out_behind_another)
{
    start();
    hand_stand_alone(s);
    lock(0, ZKL_FOREVER);
    answer_entry(false);
    lock(1, 3000);
    lock(2, ZKL_FOREVER);
    hand_pass_proved(s, 2900);
    zkl_session_dispatch(s);
    CHECK_INT(callers[1].calls, 0);
    hand_pass_proved(s, 200);
    zkl_session_dispatch(s);
    CHECK_INT(callers[1].code, ZKL_ETIMEDOUT);
    CHECK_INT(creates(), 0);
    unlock(0);
    answer_entry(false);
    check_granted(2);
    stop();
}

/* Its node is deleted first, once it is known to be there. */
TEST_CASE(the_first_gives_up)
{
    start_all();
    answer_entry(true);
    zkl_op_cancel(callers[0].op);
    CHECK_INT(creates(), 1);
    CHECK(fake_place(STORE_DELETE, "/root/l/") < fake_place(STORE_CREATE, "/root/l/"));
    zkl_op_cancel(callers[1].op);
    CHECK_INT(creates(), 1);
    refuse_entry(STORE_NOAUTH);
    CHECK_INT(creates(), 1);
    answer_entry(false);
    check_granted(2);
    stop();
}

/* A caller that cannot settle its create may be at it for long: it is passed by. */
TEST_CASE(the_first_is_unsettled)
{
    start();
    lock(0, ZKL_FOREVER);
    lock(1, ZKL_FOREVER);
    zkl_op_cancel(callers[0].op);
    refuse_entry(STORE_UNKNOWN);
    CHECK_INT(creates(), 0);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    CHECK_INT(creates(), 0);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_NOAUTH);
    CHECK_INT(creates(), 1);
    stop();
}

TEST_CASE(each_has_its_own_error)
{
    start_all();
    refuse_entry(STORE_NOAUTH);
    CHECK_INT(callers[0].code, ZKL_EACCES);
    CHECK_INT(told, 1);
    answer_entry(false);
    check_granted(1);
    unlock(1);
    refuse_entry(STORE_NOCHILDREN);
    CHECK_INT(callers[2].code, ZKL_EPATH);
    CHECK_INT(told, 3);
    CHECK_INT(creates(), 1);
    stop();
}

static void check_all_told(int code)
{
    zkl_session_dispatch(s);
    CHECK_INT(told, CALLERS);
    for (int i = 0; i < CALLERS; i++) {
        CHECK_INT(callers[i].calls, 1);
        CHECK_INT(callers[i].code, code);
    }
}

/* While another holds, or before one has got in. Nobody enters in the end. */
TEST_CASE(mutex_freed)
{
    for (int held = 0; held < 2; held++) {
        start_all();
        answer_entry(!held);
        zkl_mutex_free(m);
        m = NULL;
        zkl_session_dispatch(s);
        CHECK_INT(told, CALLERS);
        CHECK_INT(callers[0].code, held ? 0 : ZKL_ECLOSED);
        CHECK_INT(callers[CALLERS - 1].code, ZKL_ECLOSED);
        CHECK_INT(creates(), 0);
        stop();
    }
}

TEST_CASE(session_closed)
{
    start_all();
    answer_entry(true);
    hand_close(s);
    CHECK_INT(creates(), 0);
    CHECK_INT(told, CALLERS);
    CHECK_INT(callers[0].code, ZKL_ECLOSED);
    CHECK_INT(callers[CALLERS - 1].code, ZKL_ECLOSED);
    for (int i = 0; i < CALLERS; i++)
        zkl_op_free(callers[i].op);
    zkl_mutex_free(m);
}

TEST_CASE(credentials_refused)
{
    start_all();
    fake_event(STORE_EV_AUTH);
    check_all_told(ZKL_EAUTH);
    stop();
}

/* A caller that had got in enters the next session, and the others keep their places. */
TEST_CASE(session_replaced)
{
    for (int held = 0; held < 2; held++) {
        start_all();
        answer_entry(!held);
        int64_t id = s->id;
        fake_event(STORE_EV_EXPIRED);
        fake_event(STORE_EV_BEGIN);
        fake_event_of(STORE_EV_UP, id + 1, FAKE_TIMEOUT_MS);
        zkl_session_dispatch(s);
        CHECK_INT(creates(), 1);
        for (int i = held; i < CALLERS; i++) {
            answer_entry(false);
            check_granted(i);
            unlock(i);
        }
        stop();
    }
}

static void count_wanted(const zkl_grant *g, zkl_state state, void *wanted)
{
    (void)g;
    CHECK_INT(state, ZKL_HELD);
    ++*(int *)wanted;
}

/* A caller that waits here has no node that would be heard of. */
TEST_CASE(wanted_here)
{
    int wanted = 0, wanted_later = 0;

    start();
    lock(0, ZKL_FOREVER);
    answer_entry(false);
    CHECK_INT(zkl_grant_on_wanted(callers[0].grant, count_wanted, &wanted), 0);
    answer_look(0);
    lock(1, 0);
    CHECK_INT(wanted, 0);
    lock(2, ZKL_FOREVER);
    CHECK_INT(wanted, 1);
    lock(3, ZKL_FOREVER);
    CHECK_INT(wanted, 1);
    unlock(0);
    answer_entry(false);
    CHECK_INT(zkl_grant_on_wanted(callers[2].grant, count_wanted, &wanted_later), 0);
    zkl_session_dispatch(s);
    CHECK_INT(wanted_later, 1);                      /* the other one has been waiting */
    CHECK_INT(fake_count(STORE_LIST, "/root/l"), 0); /* which is known without a look */
    unlock(2);
    answer_entry(false);
    CHECK_INT(zkl_grant_on_wanted(callers[3].grant, count_wanted, &wanted_later), 0);
    zkl_session_dispatch(s);
    CHECK_INT(wanted_later, 1);
    stop();
}

/* A caller that comes now waits for the end of a grant that is lost, and not for its holder. */
TEST_CASE(wanted_too_late)
{
    int wanted = 0;

    start();
    lock(0, ZKL_FOREVER);
    answer_entry(false);
    CHECK_INT(zkl_grant_on_wanted(callers[0].grant, count_wanted, &wanted), 0);
    answer_look(0);
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(callers[0].grant), ZKL_LOST); /* which no thread has noticed yet */
    lock(1, ZKL_FOREVER);
    zkl_session_dispatch(s);
    CHECK_INT(wanted, 0);
    stop();
}

/* If each entered in the midst of the one before, so many would not have room on the stack. */
static bool refuse_all(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NOAUTH};
    return request->kind == STORE_CREATE || request->kind == STORE_LIST;
}

TEST_CASE(all_fail_at_once)
{
    struct call throng = {.calls = 0};

    start();
    lock(0, ZKL_FOREVER);
    for (int i = 0; i < THRONG; i++)
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, &throng, NULL) == 0);
    fake_answer_at_once(refuse_all);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    fake_answer_at_once(NULL);
    zkl_session_dispatch(s);
    CHECK_INT(throng.calls, THRONG);
    CHECK_INT(throng.code, ZKL_EACCES);
    stop();
}

/* Back on a session that may be over, whose first creates fail: from one to the next it never looks
 * unused, and is not replaced while it is coming up. */
static bool refuse_creates(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_BAD};
    return request->kind == STORE_CREATE;
}

TEST_CASE(coming_up)
{
    start();
    fake_event(STORE_EV_DOWN);
    lock_all();
    hand_pass(s, HAND_DEADLINE_MS);
    fake_answer_at_once(refuse_creates);
    fake_event(STORE_EV_UP);
    fake_answer_at_once(NULL);
    check_all_told(ZKL_EPROTO);
    CHECK(!replaced && s->up);
    stop();
}

/* 0: nobody counts. */
static size_t bytes_in_use(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

TEST_CASE(memory_of_a_caller)
{
    enum { MORE = 1000, LIMIT = 480 };
    struct call more = {.calls = 0};

    start_all();
    answer_entry(true);
    ANSWER(STORE_GET, "/root/l/", .rc = STORE_OK, .ephemeral_owner = s->id);
    size_t before = bytes_in_use();
    for (int i = 0; i < MORE; i++)
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, &more, NULL) == 0);
    size_t each = (bytes_in_use() - before) / MORE;
    CHECK_INT(creates(), 0);
    CHECK(g_hash_table_size(s->watches) <= 2);
    if (before == 0)
        runner_skip("this malloc() does not count");
    else
        CHECK(each <= LIMIT);
    stop();
    CHECK_INT(more.calls, MORE);
}
