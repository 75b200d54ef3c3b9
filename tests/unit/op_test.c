/* Acquisitions: time limits, ends by others, who is told what, and threads that wait for one. */
#include "lib/lock/op.h"

#include "by_hand.h"
#include "runner.h"

#include <pthread.h>
#include <semaphore.h>
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

/* Behind another. */
static void start_waiting(void)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, 3);
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

TEST_CASE(no_limit)
{
    static const int64_t limits[] = {ZKL_FOREVER, INT64_MAX, INT64_MAX - 1, INT64_MAX / CLOCK_MS};

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
    start_waiting();
    CHECK(fake_is_asked(STORE_GET, "/root/l/_c_other-lock-0000000003"));
    zkl_op_cancel(a.op);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    check_told(1, ZKL_ECANCELED);
    zkl_op_cancel(a.op);
    check_told(1, ZKL_ECANCELED);
    stop();
}

/* It has won, or others are first, but nobody knows yet: the cancel wins, and what was won is given
 * back. */
TEST_CASE(canceled_before_it_is_told)
{
    for (int won = 0; won < 2; won++) {
        s = hand_session();
        hand_enter(&a, s, won ? ZKL_FOREVER : 0);
        hand_answer_entry(&a, won ? -1 : 3);
        CHECK_INT(fake_is_asked(STORE_DELETE, a.node), !won);
        for (int i = 0; i < 2; i++) {
            zkl_op_cancel(a.op);
            CHECK(fake_is_asked(STORE_DELETE, a.node));
        }
        check_told(1, ZKL_ECANCELED);
        CHECK(a.grant == NULL);
        stop();
    }
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

TEST_CASE(freed_while_it_waits)
{
    start_waiting();
    zkl_mutex_free(a.mutex);
    a.mutex = NULL;
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    check_told(1, ZKL_ECLOSED);
    stop();
}

TEST_CASE(closed_while_it_waits)
{
    start_waiting();
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
    op_queue_init(&waiters, s, spec.directory);
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
    start_waiting();
    check_node();
    CHECK_INT(fake_count(STORE_LIST, "/root/l"), 0);
    stop();
}

/* ---- threads that wait, and another that ends it; how deep a thread holds ---- */

static const char *const paths[] = {"/l", "/k"};
static zkl_mutex *m;
static zkl_rwlock *l;
static zkl_semaphore *permits;
static zkl_multilock *all;

static void open_all(int64_t retain_ms)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_semaphore_options few = ZKL_SEMAPHORE_OPTIONS_INIT;

    options.retain_ms = retain_ms;
    few.limit = 1;
    s = fake_session();
    REQUIRE(zkl_mutex_new(&m, s, "/l", &options) == 0);
    REQUIRE(zkl_rwlock_new(&l, s, "/l", NULL) == 0);
    REQUIRE(zkl_semaphore_new(&permits, s, "/l", &few) == 0);
    REQUIRE(zkl_multilock_new(&all, s, paths, G_N_ELEMENTS(paths), NULL) == 0);
}

static void close_all(void)
{
    zkl_mutex_free(m);
    zkl_rwlock_free(l);
    zkl_semaphore_free(permits);
    zkl_multilock_free(all);
    zkl_session_close(s);
}

/* Nobody else is there, at either path; and a semaphore has one permit. */
static bool alone(const struct store_request *request, struct store_reply *reply)
{
    static char nodes[2][128], *names[1];
    char *node = nodes[g_str_has_prefix(request->path, "/k")];

    *reply = (struct store_reply){.rc = STORE_OK,
                                  .ephemeral_owner = FAKE_SESSION_ID,
                                  .czxid = 5,
                                  .data = "1",
                                  .length = 1,
                                  .names = names};
    if (request->kind == STORE_CREATE) {
        g_snprintf(node, sizeof nodes[0], "%s0000000007", request->path);
        reply->path = node;
    }
    names[0] = node[0] ? strrchr(node, '/') + 1 : node;
    reply->count = request->kind == STORE_LIST;
    return g_str_has_prefix(request->path, "/l") || g_str_has_prefix(request->path, "/k");
}

/* ---- every kind of acquisition ---- */

/* The library ignores data that come without a function. */
static int begin_mutex(int64_t ms, zkl_op **ret)
{
    return zkl_mutex_lock_async(m, ms, NULL, &s, ret);
}

static int begin_writer(int64_t ms, zkl_op **ret)
{
    return zkl_rwlock_lock_async(l, ms, NULL, NULL, ret);
}

static int begin_reader(int64_t ms, zkl_op **ret)
{
    return zkl_rwlock_lock_shared_async(l, ms, NULL, NULL, ret);
}

static int begin_permit(int64_t ms, zkl_op **ret)
{
    return zkl_semaphore_acquire_async(permits, 1, ms, NULL, NULL, ret);
}

static int begin_all(int64_t ms, zkl_op **ret)
{
    return zkl_multilock_lock_async(all, ms, NULL, NULL, ret);
}

static int (*const begins[])(int64_t ms, zkl_op **ret) = {begin_mutex, begin_writer, begin_reader,
                                                          begin_permit, begin_all};

static zkl_op *begin(int (*how)(int64_t ms, zkl_op **ret))
{
    zkl_op *op = NULL;

    CHECK_INT(how(ZKL_FOREVER, &op), 0);
    REQUIRE(op != NULL);
    return op;
}

struct waiter {
    pthread_t thread;
    zkl_op *op;
    zkl_grant *grant;
    zkl_error why;
    int code;
};

static void *wait_for_it(void *data)
{
    struct waiter *w = data;

    w->code = zkl_op_wait(w->op, &w->grant);
    zkl_last_error(&w->why);
    return NULL;
}

static void wait_begin(struct waiter *w, zkl_op *op)
{
    *w = (struct waiter){.op = op};
    REQUIRE(pthread_create(&w->thread, NULL, wait_for_it, w) == 0);
}

static void wait_canceled(struct waiter *w)
{
    pthread_join(w->thread, NULL);
    CHECK_INT(w->code, ZKL_ECANCELED);
    CHECK_INT(w->why.code, ZKL_ECANCELED);
    CHECK(strstr(w->why.text, "canceled") != NULL);
    CHECK(w->grant == NULL);
    zkl_op_free(w->op);
}

/* The create and the list behind it: the only one, or behind somebody. Free it. */
static char *answer_entry(bool alone)
{
    fake_await(STORE_LIST, "/l");
    char *node = fake_created_name("/l", 7);
    char other[] = "_c_other-lock-0000000003", *names[] = {strrchr(node, '/') + 1, other};

    ANSWER(STORE_CREATE, "/l", .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, "/l", .rc = STORE_OK, .names = names, .count = alone ? 1 : 2);
    return node;
}

TEST_CASE(gives_the_grant)
{
    zkl_grant *grant = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        open_all(0);
        fake_answer_at_once(alone);
        zkl_op *op = begin(begins[i]);
        CHECK_INT(zkl_op_wait(op, &grant), 0);
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
        zkl_op_cancel(op); /* the result was given: too late */
        zkl_op_free(op);
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
        zkl_grant_release(grant);
        fake_answer_at_once(NULL);
        close_all();
    }
}

TEST_CASE(while_it_waits)
{
    struct waiter first;

    open_all(0);
    wait_begin(&first, begin(begin_mutex));
    char *node = answer_entry(false);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    zkl_op_cancel(first.op);
    wait_canceled(&first);
    CHECK(fake_is_asked(STORE_DELETE, node));
    g_free(node);
    close_all();
}

/* A caller of a handle that retains has no request of its own. */
TEST_CASE(while_it_waits_for_a_turn)
{
    struct waiter first, b;

    open_all(60000);
    wait_begin(&b, begin(begin_mutex));
    fake_await(STORE_LIST, "/l");
    wait_begin(&first, begin(begin_mutex));
    zkl_op_cancel(first.op);
    wait_canceled(&first);
    g_free(answer_entry(true));
    pthread_join(b.thread, NULL);
    CHECK_INT(b.code, 0);
    zkl_grant_release(b.grant);
    zkl_op_free(b.op);
    close_all();
}

TEST_CASE(before_it_waits)
{
    struct waiter first;

    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        open_all(0);
        zkl_op *op = begin(begins[i]);
        zkl_op_cancel(op);
        wait_begin(&first, op);
        wait_canceled(&first);
        close_all();
    }
}

/* Nobody waits for it any more, whether it was granted or not. */
TEST_CASE(freed)
{
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        zkl_stats stats = ZKL_STATS_INIT;

        open_all(0);
        zkl_op_free(begin(begins[i]));
        CHECK_INT(zkl_session_stats(s, &stats), 0);
        CHECK_INT(stats.failed_canceled, 1);
        CHECK_INT(stats.waiting, 0);
        close_all();
        open_all(0);
        fake_answer_at_once(alone);
        zkl_op *op = begin(begins[i]);
        do {
            g_usleep(100);
            CHECK_INT(zkl_session_stats(s, &stats), 0);
        } while (stats.waiting > 0);
        CHECK_INT(stats.held, 1);
        zkl_op_free(op);
        CHECK_INT(zkl_session_stats(s, &stats), 0);
        CHECK_INT(stats.held, 0);
        CHECK_INT(stats.acquisitions_discarded, 1);
        fake_answer_at_once(NULL);
        close_all();
    }
}

TEST_CASE(time_limit)
{
    zkl_grant *grant = NULL;
    zkl_op *op;

    open_all(0);
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        CHECK_INT(begins[i](5, &op), 0);
        CHECK_INT(zkl_op_wait(op, &grant), ZKL_ETIMEDOUT);
        zkl_op_free(op);
    }
    CHECK(grant == NULL);
    close_all();
}

TEST_CASE(session_closed)
{
    struct waiter first;

    open_all(0);
    wait_begin(&first, begin(begin_reader));
    fake_await(STORE_LIST, "/l");
    zkl_session_close(s);
    pthread_join(first.thread, NULL);
    CHECK_INT(first.code, ZKL_ECLOSED);
    zkl_op_free(first.op);
    s = NULL;
    close_all();
}

/* Its function gets the result, or one wait, and nobody else. */
TEST_CASE(result_is_anothers)
{
    zkl_grant *grant = NULL;
    zkl_op *op;

    open_all(0);
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++)
        CHECK_INT(begins[i](0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_lock_async(m, ZKL_FOREVER, hand_acquired, &a, &op), 0);
    CHECK_INT(zkl_op_wait(op, &grant), ZKL_EINVAL);
    CHECK_INT(zkl_op_wait(NULL, &grant), ZKL_EINVAL);
    CHECK_INT(zkl_op_wait(op, NULL), ZKL_EINVAL);
    zkl_op_cancel(op);
    zkl_op_free(op);
    fake_answer_at_once(alone);
    op = begin(begin_reader);
    CHECK_INT(zkl_op_wait(op, &grant), 0);
    CHECK_INT(zkl_op_wait(op, &grant), ZKL_EINVAL);
    zkl_op_free(op);
    zkl_grant_release(grant);
    fake_answer_at_once(NULL);
    close_all();
}

struct inside {
    zkl_op *op;
    sem_t told;
    int first, last;
};

/* Waits for what is not decided, at first as the only one, then beside another thread. */
static void on_state(const zkl_grant *grant, zkl_state state, void *data)
{
    struct inside *in = data;
    zkl_grant *none;

    (void)grant, (void)state;
    in->first = in->last = zkl_op_wait(in->op, &none);
    sem_post(&in->told);
    while (in->last == ZKL_EDEADLK) {
        g_usleep(100);
        in->last = zkl_op_wait(in->op, &none);
    }
    sem_post(&in->told);
}

TEST_CASE(waits_in_a_callback)
{
    struct inside inside;
    struct waiter beside;
    zkl_grant *grant;

    open_all(0);
    fake_answer_at_once(alone);
    zkl_op *op = begin(begin_reader);
    CHECK_INT(zkl_op_wait(op, &grant), 0);
    zkl_op_free(op);
    fake_answer_at_once(NULL);
    inside.op = begin(begin_permit);
    sem_init(&inside.told, 0, 0);
    CHECK_INT(zkl_grant_on_change(grant, on_state, &inside), 0);
    zkl_grant_release(grant);
    sem_wait(&inside.told);
    CHECK_INT(inside.first, ZKL_EDEADLK);
    wait_begin(&beside, inside.op);
    sem_wait(&inside.told);
    CHECK_INT(inside.last, ZKL_EINVAL);
    zkl_op_cancel(inside.op);
    wait_canceled(&beside);
    close_all();
    sem_destroy(&inside.told);
}

static void *cancel(void *op)
{
    zkl_op_cancel(op);
    return NULL;
}

/* A grant that comes while it is canceled: either it is given, or nothing is held. */
TEST_CASE(at_any_moment)
{
    enum { TIMES = 400 };

    for (int i = 0; i < TIMES; i++) {
        zkl_stats stats = ZKL_STATS_INIT;
        struct waiter first;
        pthread_t canceling;

        open_all(i % 2 ? 60000 : 0);
        fake_answer_at_once(alone);
        wait_begin(&first, begin(begin_mutex));
        REQUIRE(pthread_create(&canceling, NULL, cancel, first.op) == 0);
        pthread_join(canceling, NULL);
        pthread_join(first.thread, NULL);
        CHECK(first.code == 0 ? first.grant != NULL : first.code == ZKL_ECANCELED && !first.grant);
        CHECK_INT(zkl_session_stats(s, &stats), 0);
        CHECK_INT(stats.held, first.code == 0);
        zkl_grant_release(first.grant);
        zkl_op_free(first.op);
        close_all();
        fake_answer_at_once(NULL);
    }
}

/* A cast lets it compile. */
TEST_CASE(releases_what_is_lent)
{
    const zkl_grant *lent;

    open_all(0);
    fake_answer_at_once(alone);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &lent) == 0);
    zkl_grant_release((zkl_grant *)(uintptr_t)lent);
    CHECK_INT(zkl_grant_state(lent), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fake_answer_at_once(NULL);
    close_all();
}

/* AddressSanitizer ends who reads what is free. */
static bool is_seen_to_be_free(const zkl_grant *lent)
{
    int status = 0;
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        zkl_grant_state(lent);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return status != 0;
}

/* Also behind a loss; and no longer, as who asks it still is then seen. */
TEST_CASE(lent_until_the_last_unlock)
{
    const zkl_grant *lent, *again;

    open_all(0);
    fake_answer_at_once(alone);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &lent) == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &again) == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK(again == lent);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_grant_state(lent), ZKL_HELD);
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_grant_state(lent), ZKL_LOST);
    CHECK(!is_seen_to_be_free(lent));
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
#ifdef __SANITIZE_ADDRESS__
    CHECK(is_seen_to_be_free(lent));
#endif
    fake_answer_at_once(NULL);
    close_all();
}

TEST_CASE(depth)
{
    open_all(0);
    fake_answer_at_once(alone);
    CHECK_INT(zkl_mutex_depth(NULL), ZKL_EINVAL);
    for (int level = 1; level <= 3; level++) {
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_depth(m), level);
    }
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_depth(m), 2);
    fake_event(STORE_EV_EXPIRED); /* the levels are still to be undone */
    CHECK_INT(zkl_mutex_depth(m), 2);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_mutex_depth(m), 0);
    fake_answer_at_once(NULL);
    close_all();
}
