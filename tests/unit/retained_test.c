/* A mutex that retains: what is asked of the store, who is told what, and where it meets
 * transactions, owners and its own end. */
#include "lib/contender/contender.h"
#include "lib/lock/mutex.h"

#include "by_hand.h"
#include "lib/session/orphans.h"
#include "multi_story.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(retained);

static zkl_session *s;
static zkl_mutex *m;
static struct acquisition a, b;
static zkl_mutex_options options;
static const char *at = "/root/l", *below = "/root/l/"; /* of the mutex */
static int told;                                        /* states, or that others wait */
static zkl_state last;

static void open_mutex(void)
{
    REQUIRE(zkl_mutex_new(&m, s, "/l", &options) == 0);
}

static void start(void)
{
    told = 0;
    last = ZKL_HELD;
    a = b = (struct acquisition){.calls = 0};
    options = (zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT;
    options.retain_ms = 1000;
    turns_most = 1;
    s = hand_session_logging(ZKL_LOG_WARN);
}

/* With a handle, which nobody has used yet. */
static void start_mutex(void)
{
    start();
    open_mutex();
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

static void lock(struct acquisition *c, int64_t timeout_ms)
{
    zkl_op_free(c->op);
    *c = (struct acquisition){.calls = 0};
    REQUIRE(zkl_mutex_lock_async(m, timeout_ms, hand_acquired, c, &c->op) == 0);
    zkl_session_dispatch(s);
}

static void unlock(struct acquisition *c)
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

static char *start_idle(void)
{
    start_mutex();
    return make_idle();
}

/* a has a turn, b waits. */
static char *start_two(void)
{
    char *node = start_idle();

    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    return node;
}

/* a holds, and it does not retain. */
static char *start_plain(void)
{
    start();
    options.retain_ms = 0;
    open_mutex();
    lock(&a, ZKL_FOREVER);
    return answer_entry(7, false);
}

static void check_deleted(char *node)
{
    CHECK(fake_is_asked(STORE_DELETE, node));
    ANSWER(STORE_DELETE, node, .rc = STORE_OK);
    g_free(node);
}

TEST_CASE(turns)
{
    char *node = start_idle();
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
    CHECK_INT(a.error.code, ZKL_EBUSY);
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

    char *node = start_idle();
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
    char *node = start_idle();
    fake_fire("/root/l", STORE_FIRED_CHILDREN);
    check_deleted(node);
    lock(&a, ZKL_FOREVER);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/"));
    CHECK(!fake_is_watching(STORE_LIST, "/root/l"));
    zkl_op_cancel(a.op);
    g_free(answer_entry(8, true));
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, ZKL_ECANCELED);
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

/* The session has no room for the next node: the attempt fails before the old tenure is let go. */
TEST_CASE(no_room_behind_a_turn)
{
    start();
    const int refs = s->refs;
    open_mutex();
    char *node = make_idle();
    lock(&a, ZKL_FOREVER);
    fake_fire("/root/l", STORE_FIRED_CHILDREN);
    lock(&b, ZKL_FOREVER);
    s->owned_bytes += 1024 * 1024;
    unlock(&a);
    s->owned_bytes -= 1024 * 1024;
    CHECK_INT(b.error.code, ZKL_ELIMIT);
    CHECK(!fake_is_asked(STORE_CREATE, "/root/l/"));
    check_deleted(node);
    zkl_op_free(g_steal_pointer(&a.op));
    zkl_op_free(g_steal_pointer(&b.op));
    zkl_mutex_free(g_steal_pointer(&m));
    CHECK_INT(s->refs, refs); /* no tenure has one */
    stop();
}

/* The list left a watch in vain: nobody is to hear of the 99 others. */
TEST_CASE(others_when_it_enters)
{
    char *node = start_idle();
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
    start_mutex();
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
    CHECK(strstr(hand_logged, "lost") == NULL);
    check_deleted(node);
    lock(&a, ZKL_FOREVER);
    CHECK(!a.grant);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/"));
    stop();
}

/* The turn is told, once; who waits enters anew. */
TEST_CASE(lost_in_a_turn)
{
    char *node = start_two();
    REQUIRE(a.grant != NULL);
    CHECK_INT(zkl_grant_on_change(a.grant, on_told, NULL), 0);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/"));
    zkl_session_dispatch(s);
    CHECK_INT(told, 2);
    CHECK_INT(last, ZKL_LOST);
    CHECK(strstr(hand_logged, ": lost") != NULL);
    unlock(&a);
    CHECK_INT(told, 2);
    check_deleted(node);
    stop();
}

/* Found out by who unlocks, before any timer runs: it is told all the same. */
TEST_CASE(lost_when_unlocked)
{
    char *node = start_idle();
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

static char *start_in_doubt(void)
{
    start();
    hand_stand_alone(s);
    open_mutex();
    char *node = make_idle();
    fake_event(STORE_EV_DOWN);
    return node;
}

static void end_doubt(void)
{
    fake_event(STORE_EV_UP);
    hand_stand_alone(s);
    hand_pass_proved(s, 5000);
}

TEST_CASE(no_turn_in_doubt)
{
    char *node = start_in_doubt();
    lock(&a, ZKL_FOREVER);
    CHECK(!a.grant);
    lock(&b, 0);
    CHECK_INT(b.error.code, ZKL_EBUSY);
    lock(&b, ZKL_FOREVER);
    end_doubt();
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
    char *node = start_in_doubt();

    REQUIRE(pthread_create(&thread, NULL, use, &turn) == 0);
    hand_await_waiter(s);
    end_doubt();
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
    char *node = start_idle();
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
    char *node = start_idle();
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
    char *node = start_two();
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
    CHECK(strstr(hand_logged, "lost") == NULL);
    g_free(node);
    stop();
}

TEST_CASE(freed_with_a_turn)
{
    char *node = start_two();
    zkl_mutex_free(m);
    m = NULL;
    zkl_session_dispatch(s);
    CHECK_INT(b.error.code, ZKL_ECLOSED);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    unlock(&a);
    check_deleted(node);
    CHECK_INT(contenders_of(s)->callers.list.length, 0);
    stop();
}

TEST_CASE(freed_while_idle)
{
    char *node = start_idle();
    zkl_mutex_free(m);
    m = NULL;
    check_deleted(node);
    CHECK_INT(contenders_of(s)->callers.list.length, 0);
    CHECK_INT(contenders_of(s)->idle.length, 0);
    stop();
}

TEST_CASE(given_up_while_entering)
{
    start_mutex();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    zkl_op_cancel(a.op);
    zkl_op_cancel(b.op);
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, ZKL_ECANCELED);
    CHECK_INT(b.error.code, ZKL_ECANCELED);
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
    start_mutex();
    lock(&a, ZKL_FOREVER);
    lock(&b, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, ZKL_EACCES);
    CHECK_INT(b.calls, 0);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    zkl_session_dispatch(s);
    CHECK_INT(b.error.code, ZKL_EACCES);
    stop();
}

TEST_CASE(closed)
{
    char *node = start_two();
    hand_close(s);
    CHECK_INT(b.error.code, ZKL_ECLOSED);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    zkl_grant_release(a.grant);
    zkl_op_free(a.op);
    zkl_op_free(b.op);
    zkl_mutex_free(m);
    g_free(node);
}

/* Only its end removes a node whose delete is refused, which must wait while a has a turn. */
TEST_CASE(session_ends_when_idle)
{
    char *node = start_idle();
    lock(&a, ZKL_FOREVER);
    orphan_delete(s, g_strdup("/root/l/b"));
    ANSWER(STORE_DELETE, "/root/l/b", .rc = STORE_NOAUTH);
    hand_pass(s, 0);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    unlock(&a);
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    g_free(node);
    stop();
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
    char *node = start_idle();
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
    char *node = start_idle();
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
    char *node = start_two();
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
        char *node = start_plain();
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
    char *node = start_plain();
    CHECK_INT(zkl_grant_on_revoke(a.grant, on_told, NULL), 0);
    unlock(&a);
    ANSWER(STORE_GET, node, .rc = STORE_OK, .ephemeral_owner = s->id, .version = 1,
           .data = "__REVOKE__", .length = 10);
    zkl_session_dispatch(s);
    CHECK_INT(told, 0);
    check_deleted(node);
    stop();
}

/* ---- a server that answers at once ---- */

enum { NODES_MAX = 4 };

static char *nodes[NODES_MAX], *children[NODES_MAX]; /* those that stand, and their names */
static int standing, created;

static void release_at_once(zkl_grant *grant, const zkl_error *error, void *ending)
{
    zkl_grant_release(grant);
    on_ended(error, ending);
}

static void answer_create(const char *path, struct store_reply *reply)
{
    char *node = g_strdup_printf("%s%010d", path, created++);

    REQUIRE(standing < NODES_MAX);
    nodes[standing] = node;
    children[standing++] = strrchr(node, '/') + 1;
    *reply = (struct store_reply){.rc = STORE_OK,
                                  .path = node,
                                  .czxid = (uint64_t)created,
                                  .ephemeral_owner = FAKE_SESSION_ID};
}

static void answer_delete(const char *path, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NONODE};
    for (int i = 0; i < standing; i++) {
        if (strcmp(nodes[i], path) != 0)
            continue;
        g_free(nodes[i]);
        nodes[i] = nodes[--standing];
        children[i] = children[standing];
        *reply = (struct store_reply){.rc = STORE_OK};
    }
}

/* A server that answers at once, and tells nothing by itself. */
static bool serve(const struct store_request *request, struct store_reply *reply)
{
    if (request->kind == STORE_CREATE)
        answer_create(request->path, reply);
    else if (request->kind == STORE_DELETE)
        answer_delete(request->path, reply);
    else if (request->kind == STORE_LIST)
        *reply = (struct store_reply){.rc = STORE_OK, .names = children, .count = standing};
    else
        return false;
    return true;
}

static void begin(zkl_mutex_options wanted)
{
    created = 0;
    fake_answer_at_once(serve);
    wanted.retain_ms = 60000;
    REQUIRE(zkl_mutex_new(&m, s, LOCK, &wanted) == 0);
}

static void end(void)
{
    CHECK_INT(standing, 0);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

/* The caller that had waited longest would have the lock of a handle that is no more. */
TEST_CASE(freed_while_one_waits)
{
    s = fake_session();
    begin((zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT);
    struct ending e = {.calls = 0};
    const zkl_grant *g;

    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, release_at_once, &e, NULL) == 0);
    zkl_mutex_free(m);
    check_ended(&e, ZKL_ECLOSED);
    end();
}

static uint64_t any_key;

static uint64_t key(void *data)
{
    (void)data;
    return any_key;
}

/* The old node of the handle is not ahead of a new caller's. No key makes a caller the owner that
 * an asynchronous call was. */
TEST_CASE(fence64_of_asynchronous_calls)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        s = fake_session();
        zkl_mutex_options wanted = ZKL_MUTEX_OPTIONS_INIT;
        struct ending e = {.calls = 0};
        const zkl_grant *g;

        wanted.key = key;
        wanted.fence64 = 1;
        any_key = keys[i];
        begin(wanted);
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, release_at_once, &e, NULL) == 0);
        check_ended(&e, 0);
        REQUIRE(zkl_mutex_lock(m, 0, &g) == 0);
        CHECK_INT(zkl_grant_token(g), 2);
        CHECK_INT(zkl_grant_turn(g), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        REQUIRE(zkl_mutex_lock(m, 0, &g) == 0);
        CHECK_INT(zkl_grant_token(g), 2);
        CHECK_INT(zkl_grant_turn(g), 1);
        zkl_mutex_free(m);
        end();
    }
}

/* Nobody else may have a turn while it may still come: the node goes, which shuts it out. */
TEST_CASE(unknown_transaction)
{
    struct story story;
    struct ending e;

    story_begin_retaining(&story);
    story_apply(&story, &e, 0, 20);
    check_ended(&e, ZKL_EUNKNOWN);
    lose_answer(&story);
    zkl_grant_release(story.grant);
    story.grant = NULL;
    CHECK(fake_is_asked(STORE_DELETE, story.node));
    story_end(&story);
}

static void use_once(void)
{
    struct ending e = {.calls = 0};

    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, release_at_once, &e, NULL) == 0);
    if (zkl_session_id(s) == 0) {
        hand_jump(1000, 1000);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
    }
    CHECK_INT(zkl_session_dispatch(s), 0);
    check_ended(&e, 0);
}

/* The second that passes before there is a connection is not what a lock costs: a rival that came
 * once does not keep the handle from retaining for nine of them. */
TEST_CASE(entered_before_connected)
{
    s = hand_session_with(NULL);
    begin((zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT);

    use_once();
    CHECK_INT(standing, 1);
    fake_fire("/root" LOCK, STORE_FIRED_CHILDREN);
    CHECK_INT(standing, 0);
    use_once();
    CHECK_INT(standing, 1);
    zkl_mutex_free(m);
    CHECK_INT(standing, 0);
    fake_answer_at_once(NULL);
    hand_close(s);
}
