/* The driver of a mutex that retains: what is asked of the store, who is told what. */
#include "lib/contender/contender.h"
#include "lib/lock/mutex.h"

#include "by_hand.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(retained);

struct locking {
    zkl_op *op;
    zkl_grant *grant;
    int calls, code;
};

static zkl_session *s;
static zkl_mutex *m;
static struct locking a, b;
static zkl_mutex_options options;
static const char *at = "/root/l", *below = "/root/l/"; /* of the mutex */
static int told;                                        /* states, or that others wait */
static zkl_state last;
static char lines[512]; /* of the log */

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_strlcat(lines, record->text, sizeof lines);
}

static void start(void)
{
    zkl_session_options session_options = ZKL_SESSION_OPTIONS_INIT;

    lines[0] = '\0';
    told = 0;
    last = ZKL_HELD;
    a = b = (struct locking){.op = NULL};
    options = (zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT;
    options.retain_ms = 1000;
    session_options.log = on_log;
    turns_most = 1;
    s = hand_session_with(&session_options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void open_mutex(void)
{
    REQUIRE(zkl_mutex_new(&m, s, "/l", &options) == 0);
}

static void stop(void)
{
    zkl_op_free(a.op);
    zkl_op_free(b.op);
    zkl_mutex_free(m);
    hand_close(s);
    turns_most = TURNS_MOST;
    turns_local = TURNS_LOCAL;
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct locking *c = data;

    c->calls++;
    c->grant = grant;
    c->code = error ? error->code : 0;
}

static void lock(struct locking *c, int64_t timeout_ms)
{
    zkl_op_free(c->op);
    *c = (struct locking){.op = NULL};
    REQUIRE(zkl_mutex_lock_async(m, timeout_ms, on_acquired, c, &c->op) == 0);
    zkl_session_dispatch(s);
}

static void unlock(struct locking *c)
{
    zkl_grant_release(c->grant);
    c->grant = NULL;
    zkl_session_dispatch(s);
}

static void answer_list(const char *node, bool others)
{
    char *names[] = {strrchr(node, '/') + 1, "_c_other-lock-0000000099"};

    ANSWER(STORE_LIST, at, .rc = STORE_OK, .names = names, .count = others ? 2 : 1);
    zkl_session_dispatch(s);
}

/* Returns the node's path: g_free() it. */
static char *answer_entry(int number, bool others)
{
    char *node = fake_created_name(below, number);

    REQUIRE(node != NULL);
    ANSWER(STORE_CREATE, below, .rc = STORE_OK, .path = node, .czxid = 100 + (uint64_t)number,
           .ephemeral_owner = s->id);
    answer_list(node, others);
    return node;
}

/* a has had the first turn, and the children are watched; returns the node. */
static char *make_idle(void)
{
    lock(&a, ZKL_FOREVER);
    CHECK(!fake_is_watching(STORE_LIST, at));
    char *node = answer_entry(7, false);
    REQUIRE(a.grant != NULL);
    unlock(&a);
    CHECK(fake_is_watching(STORE_LIST, at));
    answer_list(node, false);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    return node;
}

static void check_deleted(char *node)
{
    CHECK(fake_is_asked(STORE_DELETE, node));
    ANSWER(STORE_DELETE, node, .rc = STORE_OK);
    g_free(node);
}

TEST_CASE(turns)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, 0);
    lock(&b, ZKL_FOREVER);
    REQUIRE(a.grant != NULL && !b.grant);
    CHECK_INT(zkl_grant_token(a.grant), 107);
    CHECK_INT(zkl_grant_turn(a.grant), 1);
    unlock(&a);
    REQUIRE(b.grant != NULL);
    CHECK_INT(zkl_grant_token(b.grant), 107);
    CHECK_INT(zkl_grant_turn(b.grant), 2);
    lock(&a, 0);
    CHECK_INT(a.code, ZKL_EBUSY);
    unlock(&b);
    CHECK(!fake_is_asked(STORE_CREATE, "/root/l/") && !fake_is_asked(STORE_LIST, "/root/l"));
    CHECK_INT(zkl_mutex_yield(m), 0);
    check_deleted(node);
    lock(&a, 0);
    CHECK(fake_is_watching(STORE_LIST, "/root/l"));
    node = answer_entry(8, false);
    CHECK_INT(zkl_grant_turn(a.grant), 0);
    unlock(&a);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    hand_pass(s, 999);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    hand_pass(s, 1);
    check_deleted(node);
    stop();
}

/* A blocking call, and the fence of its grant. */
TEST_CASE(of_a_thread)
{
    char fence[ZKL_FENCE_SIZE];
    const zkl_grant *grant, *again;

    start();
    open_mutex();
    char *node = make_idle();
    CHECK_INT(zkl_mutex_lock(m, 0, &grant), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, &again), 0);
    CHECK(again == grant);
    CHECK_INT(zkl_grant_fence(grant, fence, sizeof fence), 0);
    CHECK_STR(fence, "000000000000006b0000000000000001");
    CHECK_INT(zkl_grant_fence(grant, fence, sizeof fence - 1), ZKL_ERANGE);
    CHECK_INT(zkl_grant_fence(NULL, fence, sizeof fence), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_mutex_lock(m, 0, &again), 0);
    CHECK_INT(zkl_grant_turn(again), 2);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    hand_pass(s, 1000);
    check_deleted(node);
    stop();
}

TEST_CASE(rival_of_an_idle_tenure)
{
    start();
    open_mutex();
    char *node = make_idle();
    fake_fire("/root/l", STORE_FIRED_CHILDREN);
    check_deleted(node);
    lock(&a, ZKL_FOREVER);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/"));
    CHECK(!fake_is_watching(STORE_LIST, "/root/l"));
    zkl_op_cancel(a.op);
    g_free(answer_entry(8, true));
    zkl_session_dispatch(s);
    CHECK_INT(a.code, ZKL_ECANCELED);
    stop();
}

/* A contender that waits for the lock is a rival, whatever recipe it is of. */
TEST_CASE(rivals_of_other_recipes)
{
    static char curator[] = "_c_other-lock-0000000099", java[] = "x-5-0000000099",
                c[] = "x-0123456789abcdef-0000000099";
    static char *const rivals[] = {curator, java, c};

    for (size_t i = 0; i < G_N_ELEMENTS(rivals); i++) {
        start();
        open_mutex();
        lock(&a, ZKL_FOREVER);
        char *node = answer_entry(7, false);
        REQUIRE(a.grant != NULL);
        unlock(&a);
        char *names[] = {strrchr(node, '/') + 1, rivals[i]};
        ANSWER(STORE_LIST, at, .rc = STORE_OK, .names = names, .count = 2);
        check_deleted(node);
        stop();
    }
}

/* A caller that came before the rival was heard of goes first. One that comes later enters the
 * queue before the node goes. */
TEST_CASE(rival_of_a_turn)
{
    start();
    turns_local = 1;
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    fake_fire("/root/l", STORE_FIRED_CHILDREN);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    unlock(&a);
    REQUIRE(b.grant != NULL);
    lock(&a, ZKL_FOREVER);
    CHECK(!fake_is_asked(STORE_CREATE, "/root/l/"));
    unlock(&b);
    CHECK(!a.grant);
    CHECK(fake_place(STORE_CREATE, "/root/l/") < fake_place(STORE_DELETE, node));
    check_deleted(node);
    node = answer_entry(8, false);
    REQUIRE(a.grant != NULL);
    CHECK_INT(zkl_grant_token(a.grant), 108);
    unlock(&a);
    g_free(node);
    stop();
}

/* The list left a watch in vain: nobody is to hear of the 99 others. */
TEST_CASE(others_when_it_enters)
{
    start();
    open_mutex();
    char *node = make_idle();
    CHECK_INT(zkl_mutex_yield(m), 0);
    check_deleted(node);
    CHECK(!fake_is_asked(STORE_UNWATCH, "/root/l"));
    lock(&a, ZKL_FOREVER);
    CHECK(fake_is_watching(STORE_LIST, "/root/l"));
    node = answer_entry(8, true);
    CHECK(fake_is_asked(STORE_UNWATCH, "/root/l"));
    unlock(&a);
    check_deleted(node);
    stop();
}

/* An administrator has deleted it before the list left its watch, which nothing fires then. */
TEST_CASE(own_node_not_listed)
{
    start();
    open_mutex();
    lock(&a, ZKL_FOREVER);
    char *node = answer_entry(7, false);
    unlock(&a);
    CHECK(fake_is_watching(STORE_LIST, at));
    ANSWER(STORE_LIST, at, .rc = STORE_OK);
    CHECK(fake_is_asked(STORE_UNWATCH, at));
    check_deleted(node);
    stop();
}

/* As long as the session is proved. */
TEST_CASE(a_long_turn)
{
    start();
    hand_stand_alone(s);
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    hand_pass_proved(s, 5 * HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    CHECK(zkl_grant_remaining_ms(a.grant) > 1000);
    unlock(&a);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    g_free(node);
    stop();
}

static void on_told(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    (void)data;
    told++;
    last = state;
}

TEST_CASE(lost_while_idle)
{
    start();
    options.retain_ms = 100000;
    open_mutex();
    char *node = make_idle();
    hand_pass(s, HAND_DEADLINE_MS);
    zkl_session_dispatch(s);
    CHECK(strstr(lines, "lost") == NULL);
    check_deleted(node);
    lock(&a, ZKL_FOREVER);
    CHECK(!a.grant);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/"));
    stop();
}

/* The turn is told, once; who waits enters anew. */
TEST_CASE(lost_in_a_turn)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    REQUIRE(a.grant != NULL);
    CHECK_INT(zkl_grant_on_change(a.grant, on_told, NULL), 0);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/"));
    zkl_session_dispatch(s);
    CHECK_INT(told, 2);
    CHECK_INT(last, ZKL_LOST);
    CHECK(strstr(lines, ": lost") != NULL);
    unlock(&a);
    CHECK_INT(told, 2);
    check_deleted(node);
    stop();
}

/* Found out by who unlocks, before any timer runs: it is told all the same. */
TEST_CASE(lost_when_unlocked)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    CHECK_INT(zkl_grant_on_change(a.grant, on_told, NULL), 0);
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    unlock(&a);
    CHECK_INT(told, 0);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    lock(&b, ZKL_FOREVER);
    CHECK(!b.grant);
    CHECK(fake_is_asked(STORE_CREATE, below));
    hand_pass(s, 0);
    zkl_session_dispatch(s);
    CHECK_INT(told, 1);
    CHECK_INT(last, ZKL_LOST);
    check_deleted(node);
    stop();
}

/* Somebody may refer to it yet, as a transaction does. */
TEST_CASE(given_back_twice)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    zkl_grant *first = grant_ref(a.grant);
    grant_own(first);
    unlock(&a);
    lock(&b, ZKL_FOREVER);
    REQUIRE(b.grant != NULL && b.grant != first);
    zkl_grant_release(first);
    CHECK_INT(zkl_grant_state(b.grant), ZKL_HELD);
    unlock(&b);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    g_free(node);
    stop();
}

TEST_CASE(no_turn_in_doubt)
{
    start();
    hand_stand_alone(s);
    open_mutex();
    char *node = make_idle();
    fake_event(STORE_EV_DOWN);
    lock(&a, ZKL_FOREVER);
    CHECK(!a.grant);
    lock(&b, 0);
    CHECK_INT(b.code, ZKL_EBUSY);
    lock(&b, ZKL_FOREVER);
    fake_event(STORE_EV_UP);
    hand_stand_alone(s);
    hand_pass_proved(s, 5000);
    zkl_session_dispatch(s);
    REQUIRE(a.grant != NULL);
    CHECK_INT(zkl_grant_turn(a.grant), 1);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    fake_event(STORE_EV_DOWN);
    unlock(&a);
    CHECK(!b.grant);
    g_free(node);
    stop();
}

static void *use(void *ret_turn)
{
    const zkl_grant *grant;

    hand_is_waiter();
    if (CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &grant), 0))
        *(uint64_t *)ret_turn = zkl_grant_turn(grant);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    return NULL;
}

/* A thread, which would have it at once, waits for the proof, and its turn is the only one. */
TEST_CASE(no_turn_at_once_in_doubt)
{
    pthread_t thread;
    uint64_t turn = 0;

    start();
    hand_stand_alone(s);
    open_mutex();
    char *node = make_idle();
    fake_event(STORE_EV_DOWN);
    REQUIRE(pthread_create(&thread, NULL, use, &turn) == 0);
    hand_await_waiter(s);
    fake_event(STORE_EV_UP);
    hand_stand_alone(s);
    hand_pass_proved(s, 5000);
    pthread_join(thread, NULL);
    CHECK_INT(turn, 1);
    CHECK_INT(zkl_mutex_yield(m), 0);
    check_deleted(node);
    stop();
}

static void on_applied(const zkl_error *error, void *data)
{
    (void)error;
    (void)data;
    told++;
}

/* What is not decided yet is not the next turn's: the tenure ends. */
TEST_CASE(transaction_under_way)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    const zkl_change change = {.kind = ZKL_CHANGE_SET, .path = "/d", .version = -1};
    CHECK_INT(zkl_grant_multi_async(a.grant, &change, 1, 0, ZKL_FOREVER, on_applied, NULL), 0);
    unlock(&a);
    CHECK(fake_is_asked(STORE_DELETE, node));
    g_free(node);
    stop();
}

/* One that was applied is: the versions of the node go on from it. */
TEST_CASE(transaction_of_an_earlier_turn)
{
    start();
    open_mutex();
    char *node = make_idle();
    for (int turn = 1; turn < 3; turn++) {
        lock(&a, ZKL_FOREVER);
        REQUIRE(a.grant != NULL);
        const zkl_change change = {.kind = ZKL_CHANGE_SET, .path = "/d", .version = -1};
        CHECK_INT(zkl_grant_multi_async(a.grant, &change, 1, 0, ZKL_FOREVER, on_applied, NULL), 0);
        char *changes = fake_changes(node);
        char *expected = g_strdup_printf("set %s %d; set /root/d -1", node, turn - 1);
        CHECK_STR(changes, expected);
        g_free(expected);
        g_free(changes);
        ANSWER(STORE_MULTI, node, .rc = STORE_OK);
        zkl_session_dispatch(s);
        CHECK_INT(told, turn);
        CHECK_INT(zkl_grant_turn(a.grant), turn);
        unlock(&a);
    }
    CHECK(!fake_is_asked(STORE_DELETE, node));
    g_free(node);
    stop();
}

/* The transaction deletes the node itself; who comes next enters the queue. */
TEST_CASE(given_back_by_a_transaction)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    CHECK_INT(
        zkl_grant_multi_async(a.grant, NULL, 0, ZKL_MULTI_RELEASE, ZKL_FOREVER, on_applied, NULL),
        0);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_RELEASED);
    unlock(&a);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/"));
    ANSWER(STORE_MULTI, node, .rc = STORE_OK);
    zkl_session_dispatch(s);
    CHECK_INT(told, 1);
    CHECK(strstr(lines, "lost") == NULL);
    g_free(node);
    stop();
}

TEST_CASE(freed_with_a_turn)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    zkl_mutex_free(m);
    m = NULL;
    zkl_session_dispatch(s);
    CHECK_INT(b.code, ZKL_ECLOSED);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    unlock(&a);
    check_deleted(node);
    CHECK_INT(contenders_of(s)->callers.list.length, 0);
    stop();
}

TEST_CASE(freed_while_idle)
{
    start();
    open_mutex();
    char *node = make_idle();
    zkl_mutex_free(m);
    m = NULL;
    check_deleted(node);
    CHECK_INT(contenders_of(s)->callers.list.length, 0);
    CHECK_INT(contenders_of(s)->idle.length, 0);
    stop();
}

TEST_CASE(given_up_while_entering)
{
    start();
    open_mutex();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    zkl_op_cancel(a.op);
    zkl_op_cancel(b.op);
    zkl_session_dispatch(s);
    CHECK_INT(a.code, ZKL_ECANCELED);
    CHECK_INT(b.code, ZKL_ECANCELED);
    char *node = fake_created_name("/root/l/", 7);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = s->id);
    check_deleted(node);
    CHECK_INT(a.calls + b.calls, 2);
    stop();
}

/* The others get attempts of their own. */
TEST_CASE(refused)
{
    start();
    open_mutex();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    zkl_session_dispatch(s);
    CHECK_INT(a.code, ZKL_EACCES);
    CHECK_INT(b.calls, 0);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    zkl_session_dispatch(s);
    CHECK_INT(b.code, ZKL_EACCES);
    stop();
}

TEST_CASE(closed)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    hand_close(s);
    CHECK_INT(b.code, ZKL_ECLOSED);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    zkl_grant_release(a.grant);
    zkl_op_free(a.op);
    zkl_op_free(b.op);
    zkl_mutex_free(m);
    g_free(node);
}

TEST_CASE(least_lately_used_goes)
{
    start(); /* which keeps one */
    open_mutex();
    zkl_mutex *first = m;
    char *node = make_idle();
    REQUIRE(zkl_mutex_new(&m, s, "/m", &options) == 0);
    at = "/root/m";
    below = "/root/m/";
    g_free(make_idle());
    at = "/root/l";
    below = "/root/l/";
    check_deleted(node);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/m/"));
    CHECK_INT(contenders_of(s)->idle.length, 1);
    zkl_mutex_free(first);
    stop();
}

TEST_CASE(a_token_for_each_owner)
{
    start();
    options.fence64 = 1;
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    CHECK(!a.grant);
    check_deleted(node);
    node = answer_entry(8, false);
    REQUIRE(a.grant != NULL);
    CHECK_INT(zkl_grant_token(a.grant), 108);
    CHECK_INT(zkl_grant_turn(a.grant), 0);
    unlock(&a);
    g_free(node);
    stop();
}

/* ---- others wait ---- */

TEST_CASE(wanted)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    CHECK_INT(zkl_grant_on_wanted(a.grant, on_told, NULL), 0);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    fake_fire("/root/l", STORE_FIRED_CHILDREN);
    zkl_session_dispatch(s);
    CHECK_INT(told, 1);
    CHECK_INT(last, ZKL_HELD);
    CHECK_INT(zkl_grant_on_wanted(a.grant, on_told, NULL), 0);
    zkl_session_dispatch(s);
    CHECK_INT(told, 2);
    unlock(&a);
    CHECK_INT(zkl_grant_on_wanted(NULL, on_told, NULL), ZKL_EINVAL);
    check_deleted(node);
    stop();
}

TEST_CASE(wanted_without_retaining)
{
    start();
    hand_stand_alone(s);
    options.retain_ms = 0;
    open_mutex();
    lock(&a, ZKL_FOREVER);
    char *node = answer_entry(7, false);
    CHECK_INT(zkl_grant_on_wanted(a.grant, on_told, NULL), 0);
    CHECK_INT(zkl_grant_on_wanted(a.grant, on_told, NULL), 0);
    CHECK(fake_is_watching(STORE_LIST, "/root/l"));
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_NOAUTH); /* looked for again with the next proof */
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    hand_pass_proved(s, 5000);
    answer_list(node, false);
    CHECK_INT(told, 0);
    fake_fire("/root/l", STORE_FIRED_CHILDREN);
    zkl_session_dispatch(s);
    CHECK_INT(told, 2);
    unlock(&a);
    CHECK_INT(told, 2);
    check_deleted(node);
    stop();
}

/* ---- asked to give way ---- */

static void answer_own(const char *node, bool asked)
{
    CHECK(fake_is_watching(STORE_GET, node));
    ANSWER(STORE_GET, node, .rc = STORE_OK, .ephemeral_owner = s->id, .version = asked,
           .data = asked ? "__REVOKE__" : "who", .length = asked ? 10 : 3);
    zkl_session_dispatch(s);
}

TEST_CASE(idle_tenure_is_asked)
{
    start();
    open_mutex();
    char *node = make_idle();
    hand_pass(s, 20);
    answer_own(node, false);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    fake_watch(node, false);
    answer_own(node, true);
    check_deleted(node);
    stop();
}

/* As by a rival: at the unlock; and the turn is told, the next one too. */
TEST_CASE(turn_is_asked)
{
    start();
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    CHECK_INT(zkl_grant_on_revoke(a.grant, on_told, NULL), 0);
    answer_own(node, false); /* at once */
    CHECK_INT(told, 0);
    fake_watch(node, false);
    answer_own(node, true);
    CHECK_INT(told, 1);
    CHECK_INT(last, ZKL_HELD);
    fake_watch(node, false);
    answer_own(node, true);
    CHECK_INT(told, 1);
    unlock(&a);
    REQUIRE(b.grant != NULL);
    CHECK_INT(zkl_grant_on_revoke(b.grant, on_told, NULL), 0);
    zkl_session_dispatch(s);
    CHECK_INT(told, 2);
    unlock(&b);
    check_deleted(node);
    CHECK_INT(zkl_grant_on_revoke(NULL, on_told, NULL), ZKL_EINVAL);
    stop();
}

/* Whether the request comes before the first who wants to hear or behind, it is told once to each;
 * and not to who wanted to know of others. */
TEST_CASE(asked_without_retaining)
{
    for (int before = 0; before < 2; before++) {
        start();
        options.retain_ms = 0;
        open_mutex();
        lock(&a, ZKL_FOREVER);
        char *node = answer_entry(7, false);
        if (before) {
            hand_pass(s, 20);
            answer_own(node, true);
        }
        CHECK_INT(zkl_grant_on_wanted(a.grant, on_told, NULL), 0);
        answer_list(node, false);
        for (int i = 0; i < 2; i++)
            CHECK_INT(zkl_grant_on_revoke(a.grant, on_told, NULL), 0);
        while (!before && fake_is_asked(STORE_GET, node))
            answer_own(node, true);
        zkl_session_dispatch(s);
        CHECK_INT(told, 2);
        CHECK_INT(last, ZKL_HELD);
        hand_pass(s, 20);
        CHECK(!fake_is_asked(STORE_GET, node));
        unlock(&a);
        CHECK_INT(told, 2);
        check_deleted(node);
        stop();
    }
}

TEST_CASE(asked_too_late)
{
    start();
    options.retain_ms = 0;
    open_mutex();
    lock(&a, ZKL_FOREVER);
    char *node = answer_entry(7, false);
    CHECK_INT(zkl_grant_on_revoke(a.grant, on_told, NULL), 0);
    unlock(&a);
    ANSWER(STORE_GET, node, .rc = STORE_OK, .ephemeral_owner = s->id, .version = 1,
           .data = "__REVOKE__", .length = 10);
    zkl_session_dispatch(s);
    CHECK_INT(told, 0);
    check_deleted(node);
    stop();
}
