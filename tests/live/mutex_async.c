/* Asynchronous acquisition: one completion, an owned grant, no owner. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

TEST_SUITE(mutex_async, .init = live_init);

/* A completion that came is the only one: what follows it has been delivered too. */
static void check_once(struct live *t, struct completion *c)
{
    struct completion after = COMPLETION_INIT;
    char *path = g_strdup_printf("%s/after", t->path);
    zkl_mutex *m = live_mutex(t->session, path);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &after, NULL) == 0);
    CHECK_INT(completion_wait(&after), 0);
    zkl_grant_release(after.grant);
    zkl_mutex_free(m);
    g_free(path);
    CHECK_INT(completion_calls(c), 1);
}

static void *release(void *grant)
{
    zkl_grant_release(grant);
    return NULL;
}

TEST_CASE(owned)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    zkl_op *op = NULL;
    pthread_t thread;
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, &op) == 0);
    CHECK(op != NULL);
    REQUIRE(completion_wait(&c) == 0);
    CHECK(!pthread_equal(c.thread, pthread_self()));
    check_once(t, &c);
    zkl_op_free(op);
    zkl_mutex_free(m); /* an owned grant lives on */
    session_settle(t, t->session);
    CHECK_INT(zkl_grant_state(c.grant), ZKL_HELD);
    CHECK_INT(raw_exists(t->admin, zkl_grant_node(c.grant), NULL), ZOK);
    REQUIRE(pthread_create(&thread, NULL, release, c.grant) == 0);
    pthread_join(thread, NULL);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}

/* The thread that holds is not the one that acquires: nobody is. */
TEST_CASE(not_reentrant)
{
    struct live *t = live_begin();
    struct completion a = COMPLETION_INIT, b = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, 0, completion_take, &a, NULL) == 0);
    CHECK_INT(completion_wait(&a), ZKL_EBUSY);
    CHECK_STR(a.error.path, t->lock);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &b, NULL) == 0);
    session_settle(t, t->session);
    CHECK_INT(completion_calls(&b), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(completion_wait(&b), 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    zkl_grant_release(b.grant);
    check_once(t, &a);
    check_once(t, &b);
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(timed_out)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    zkl_op *op;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, 100, completion_take, &c, &op) == 0);
    CHECK_INT(completion_wait(&c), ZKL_ETIMEDOUT);
    CHECK_STR(c.error.path, t->lock);
    zkl_op_cancel(op);
    check_once(t, &c);
    zkl_op_free(op);
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

enum { LIMIT_MS = 1500 };

/* A grant that was decided in time is delivered, however late. */
TEST_CASE(decided_before_timeout)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    struct gate gate = GATE_INIT;
    char *other = g_strdup_printf("%s/busy", t->path);
    zkl_mutex *m = live_mutex(t->session, t->lock), *busy = live_mutex(t->session, other);
    zkl_mutex *waiting = live_mutex(t->session, other);
    REQUIRE(zkl_mutex_lock(busy, ZKL_FOREVER, NULL) == 0);
    session_block(t, t->session, &gate);
    int64_t start = g_get_monotonic_time();
    REQUIRE(zkl_mutex_lock_async(m, LIMIT_MS, completion_take, &c, NULL) == 0);
    session_settle(t, t->session);
    bool in_time =
        g_get_monotonic_time() - start < LIMIT_MS * 1000; /* a slow machine proves nothing */
    CHECK_INT(zkl_mutex_lock(waiting, LIMIT_MS + 100, NULL), ZKL_ETIMEDOUT); /* a later timer ran */
    CHECK_INT(completion_calls(&c), 0);
    gate_open(&gate);
    CHECK(completion_wait(&c) == 0 || !in_time);
    zkl_grant_release(c.grant);
    CHECK_INT(zkl_mutex_unlock(busy), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(busy);
    zkl_mutex_free(waiting);
    g_free(other);
    live_end(t);
}

enum { MANY = 20 };

struct order {
    struct completion done;
    int next;
};

struct turn {
    struct order *order;
    int number;
};

static void take_turn(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct turn *turn = data;
    CHECK(error == NULL);
    CHECK_INT(turn->number, turn->order->next);
    turn->order->next++;
    if (turn->order->next == MANY)
        completion_take(grant, error, &turn->order->done);
    else
        zkl_grant_release(grant);
}

/* In order of arrival, all queued at once in one session, each with a handle of its own; nobody
 * keeps an op. */
TEST_CASE(in_order)
{
    struct live *t = live_begin();
    struct order order = {.done = COMPLETION_INIT};
    struct turn turns[MANY];
    zkl_mutex *m = live_mutex(t->session, t->lock), *n[MANY];
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    for (int i = 0; i < MANY; i++) {
        turns[i] = (struct turn){&order, i};
        n[i] = live_mutex(t->session, t->lock);
        REQUIRE(zkl_mutex_lock_async(n[i], ZKL_FOREVER, take_turn, &turns[i], NULL) == 0);
    }
    LIVE_UNTIL(live_contenders(t, t->lock) == MANY + 1);
    LIVE_UNTIL(live_watches(t) == MANY);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(completion_wait(&order.done), 0);
    zkl_grant_release(order.done.grant);
    for (int i = 0; i < MANY; i++)
        zkl_mutex_free(n[i]);
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(bad_arguments)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    zkl_op *op = NULL;
    CHECK_INT(zkl_mutex_lock_async(m, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_lock_async(NULL, 0, completion_take, &c, &op), ZKL_EINVAL);
    CHECK(op == NULL);
    zkl_op_cancel(NULL);
    zkl_op_free(NULL);
    zkl_grant_release(NULL);
    CHECK_INT(completion_calls(&c), 0);
    zkl_mutex_free(m);
    live_end(t);
}
