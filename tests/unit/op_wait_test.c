/* Acquisitions that a thread waits for and another one ends; how deep a thread holds. */
#include "fake_store.h"
#include "runner.h"

#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(op_wait);

static const char *const paths[] = {"/l", "/k"};
static zkl_session *s;
static zkl_mutex *m;
static zkl_rwlock *l;
static zkl_semaphore *permits;
static zkl_multilock *all;

static void start(int64_t retain_ms)
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

static void stop(void)
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

static void wait_asked(enum store_kind kind, const char *path)
{
    while (!fake_is_asked(kind, path))
        g_usleep(1000);
}

/* The create and the list behind it: the only one, or behind somebody. Free it. */
static char *answer_entry(bool alone)
{
    wait_asked(STORE_LIST, "/l");
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
        start(0);
        fake_answer_at_once(alone);
        zkl_op *op = begin(begins[i]);
        CHECK_INT(zkl_op_wait(op, &grant), 0);
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
        zkl_op_cancel(op); /* the result was given: too late */
        zkl_op_free(op);
        CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
        zkl_grant_release(grant);
        fake_answer_at_once(NULL);
        stop();
    }
}

TEST_CASE(while_it_waits)
{
    struct waiter a;

    start(0);
    wait_begin(&a, begin(begin_mutex));
    char *node = answer_entry(false);
    CHECK(!fake_is_asked(STORE_DELETE, node));
    zkl_op_cancel(a.op);
    wait_canceled(&a);
    CHECK(fake_is_asked(STORE_DELETE, node));
    g_free(node);
    stop();
}

/* A caller of a handle that retains has no request of its own. */
TEST_CASE(while_it_waits_for_a_turn)
{
    struct waiter a, b;

    start(60000);
    wait_begin(&b, begin(begin_mutex));
    wait_asked(STORE_LIST, "/l");
    wait_begin(&a, begin(begin_mutex));
    zkl_op_cancel(a.op);
    wait_canceled(&a);
    g_free(answer_entry(true));
    pthread_join(b.thread, NULL);
    CHECK_INT(b.code, 0);
    zkl_grant_release(b.grant);
    zkl_op_free(b.op);
    stop();
}

TEST_CASE(before_it_waits)
{
    struct waiter a;

    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        start(0);
        zkl_op *op = begin(begins[i]);
        zkl_op_cancel(op);
        wait_begin(&a, op);
        wait_canceled(&a);
        stop();
    }
}

/* Nobody waits for it any more, whether it was granted or not. */
TEST_CASE(freed)
{
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        zkl_stats stats = ZKL_STATS_INIT;

        start(0);
        zkl_op_free(begin(begins[i]));
        CHECK_INT(zkl_session_stats(s, &stats), 0);
        CHECK_INT(stats.failed_canceled, 1);
        CHECK_INT(stats.waiting, 0);
        stop();
        start(0);
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
        stop();
    }
}

TEST_CASE(time_limit)
{
    zkl_grant *grant = NULL;
    zkl_op *op;

    start(0);
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++) {
        CHECK_INT(begins[i](5, &op), 0);
        CHECK_INT(zkl_op_wait(op, &grant), ZKL_ETIMEDOUT);
        zkl_op_free(op);
    }
    CHECK(grant == NULL);
    stop();
}

/* No clock can count that far. */
TEST_CASE(no_time_limit)
{
    struct waiter a;
    zkl_op *op;

    start(0);
    CHECK_INT(zkl_mutex_lock_async(m, INT64_MAX - 1, NULL, NULL, &op), 0);
    wait_begin(&a, op);
    wait_asked(STORE_LIST, "/l");
    zkl_op_cancel(op);
    wait_canceled(&a);
    stop();
}

TEST_CASE(session_closed)
{
    struct waiter a;

    start(0);
    wait_begin(&a, begin(begin_reader));
    wait_asked(STORE_LIST, "/l");
    zkl_session_close(s);
    pthread_join(a.thread, NULL);
    CHECK_INT(a.code, ZKL_ECLOSED);
    zkl_op_free(a.op);
    s = NULL;
    stop();
}

static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    (void)err;
    zkl_grant_release(grant);
    sem_post(data);
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

TEST_CASE(misuse)
{
    struct inside inside;
    zkl_grant *grant = NULL;
    struct waiter a;
    zkl_op *op;
    sem_t told;

    start(0);
    sem_init(&told, 0, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++)
        CHECK_INT(begins[i](0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, &told, &op), 0);
    CHECK_INT(zkl_op_wait(op, &grant), ZKL_EINVAL); /* the function gets it */
    CHECK_INT(zkl_op_wait(NULL, &grant), ZKL_EINVAL);
    CHECK_INT(zkl_op_wait(op, NULL), ZKL_EINVAL);
    zkl_op_cancel(op);
    zkl_op_free(op);
    sem_wait(&told);
    fake_answer_at_once(alone);
    op = begin(begin_reader);
    CHECK_INT(zkl_op_wait(op, &grant), 0);
    CHECK_INT(zkl_op_wait(op, &grant), ZKL_EINVAL); /* a second time */
    zkl_op_free(op);
    fake_answer_at_once(NULL);
    inside.op = begin(begin_permit);
    sem_init(&inside.told, 0, 0);
    CHECK_INT(zkl_grant_on_change(grant, on_state, &inside), 0);
    zkl_grant_release(grant);
    sem_wait(&inside.told);
    CHECK_INT(inside.first, ZKL_EDEADLK);
    wait_begin(&a, inside.op);
    sem_wait(&inside.told);
    CHECK_INT(inside.last, ZKL_EINVAL);
    zkl_op_cancel(inside.op);
    wait_canceled(&a);
    stop();
    sem_destroy(&inside.told);
    sem_destroy(&told);
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
        struct waiter a;
        pthread_t canceling;

        start(i % 2 ? 60000 : 0);
        fake_answer_at_once(alone);
        wait_begin(&a, begin(begin_mutex));
        REQUIRE(pthread_create(&canceling, NULL, cancel, a.op) == 0);
        pthread_join(canceling, NULL);
        pthread_join(a.thread, NULL);
        CHECK(a.code == 0 ? a.grant != NULL : a.code == ZKL_ECANCELED && !a.grant);
        CHECK_INT(zkl_session_stats(s, &stats), 0);
        CHECK_INT(stats.held, a.code == 0);
        zkl_grant_release(a.grant);
        zkl_op_free(a.op);
        stop();
        fake_answer_at_once(NULL);
    }
}

/* A cast lets it compile. */
TEST_CASE(releases_what_is_lent)
{
    const zkl_grant *lent;

    start(0);
    fake_answer_at_once(alone);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &lent) == 0);
    zkl_grant_release((zkl_grant *)(uintptr_t)lent);
    CHECK_INT(zkl_grant_state(lent), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fake_answer_at_once(NULL);
    stop();
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

    start(0);
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
    stop();
}

TEST_CASE(depth)
{
    start(0);
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
    stop();
}
