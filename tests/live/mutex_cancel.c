/* Cancelling wins until the completion has begun, and leaves nothing behind. */
#include "fourletter.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

TEST_SUITE(mutex_cancel, .init = live_init);

TEST_CASE(queued)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(other, t->lock);
    zkl_op *op;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(n, ZKL_FOREVER, completion_take, &c, &op) == 0);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(other)) == 2);
    zkl_op_cancel(op);
    zkl_op_cancel(op);
    CHECK_INT(completion_wait(&c), ZKL_ECANCELED);
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(other)) == 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    session_settle(t, other);
    CHECK_INT(completion_calls(&c), 1);
    CHECK_INT(live_contenders(t, t->lock), 0);
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

/* The create is on its way, and perhaps the grant: whichever it is, one completion and no node. */
TEST_CASE(at_any_moment)
{
    enum { TIMES = 100 };
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    int granted = 0;
    for (int i = 0; i < TIMES; i++) {
        struct completion c = COMPLETION_INIT;
        zkl_op *op;
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, &op) == 0);
        for (int spin = 0; spin < i * 200; spin++)
            completion_calls(&c);
        zkl_op_cancel(op);
        int code = completion_wait(&c);
        CHECK(code == 0 || code == ZKL_ECANCELED);
        granted += code == 0;
        zkl_grant_release(c.grant);
        zkl_op_free(op);
    }
    CHECK(granted < TIMES); /* the first ones at least are canceled */
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(too_late)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    zkl_op *op;
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, &op) == 0);
    REQUIRE(completion_wait(&c) == 0);
    zkl_op_cancel(op);
    session_settle(t, t->session);
    CHECK_INT(completion_calls(&c), 1);
    CHECK_INT(zkl_grant_state(c.grant), ZKL_HELD);
    CHECK_INT(live_contenders(t, t->lock), 1);
    zkl_grant_release(c.grant);
    zkl_op_free(op);
    zkl_mutex_free(m);
    live_end(t);
}

/* The grant is won, but its completion waits behind another callback. */
TEST_CASE(won_but_not_told)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    struct gate gate = GATE_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    zkl_op *op;
    session_block(t, t->session, &gate);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, &op) == 0);
    session_settle(t, t->session);
    CHECK_INT(live_contenders(t, t->lock), 1);
    zkl_op_cancel(op);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    CHECK_INT(completion_calls(&c), 0);
    gate_open(&gate);
    CHECK_INT(completion_wait(&c), ZKL_ECANCELED);
    zkl_op_free(op);
    zkl_mutex_free(m);
    live_end(t);
}

struct deed {
    zkl_op *op;
    struct gate done;
};

static void cancel_other(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct deed *deed = data;
    CHECK(error == NULL);
    zkl_op_cancel(deed->op);
    zkl_op_free(deed->op);
    zkl_grant_release(grant);
    gate_open(&deed->done);
}

TEST_CASE(in_a_callback)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    struct deed deed = {.done = GATE_INIT};
    char *path = g_strdup_printf("%s/deed", t->path);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(t->session, path);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, &deed.op) == 0);
    REQUIRE(zkl_mutex_lock_async(n, ZKL_FOREVER, cancel_other, &deed, NULL) == 0);
    CHECK_INT(completion_wait(&c), ZKL_ECANCELED);
    gate_pass(&deed.done);
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    g_free(path);
    live_end(t);
}

/* One in the middle goes: the next watches whom it watched, and nobody is granted by mistake. */
TEST_CASE(in_the_middle)
{
    struct live *t = live_begin();
    struct completion c[3] = {COMPLETION_INIT, COMPLETION_INIT, COMPLETION_INIT};
    zkl_op *op[3];
    zkl_mutex *m = live_mutex(t->session, t->lock), *n[3];
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        n[i] = live_mutex(t->session, t->lock);
        REQUIRE(zkl_mutex_lock_async(n[i], ZKL_FOREVER, completion_take, &c[i], &op[i]) == 0);
        LIVE_UNTIL(live_contenders(t, t->lock) == 2 + i && live_watches(t) == MAX(2, 1 + i));
    }
    zkl_op_cancel(op[1]);
    CHECK_INT(completion_wait(&c[1]), ZKL_ECANCELED);
    LIVE_UNTIL(live_contenders(t, t->lock) == 3);
    LIVE_UNTIL(live_watches(t) == 2); /* the holder's node for two, and the first waiter's */
    CHECK_INT(completion_calls(&c[0]) + completion_calls(&c[2]), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(completion_wait(&c[0]), 0);
    session_settle(t, t->session);
    CHECK_INT(completion_calls(&c[2]), 0);
    zkl_grant_release(c[0].grant);
    CHECK_INT(completion_wait(&c[2]), 0);
    zkl_grant_release(c[2].grant);
    for (int i = 0; i < 3; i++) {
        zkl_op_free(op[i]);
        zkl_mutex_free(n[i]);
    }
    zkl_mutex_free(m);
    live_end(t);
}
