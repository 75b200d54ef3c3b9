/* Every function may be called in a callback; what would have to wait there says so instead. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

TEST_SUITE(mutex_callback, .init = live_init);

struct visit {
    struct live *t;
    zkl_mutex *mutex; /* to try things with */
    struct gate done;
};

static void leave(struct visit *v, zkl_grant *grant)
{
    zkl_grant_release(grant);
    gate_open(&v->done);
}

/* Runs fn as the completion of an acquisition of a lock of its own. */
static void run_inside(struct visit *v, zkl_acquired_fn fn)
{
    char *path = g_strdup_printf("%s/inside", v->t->path);
    zkl_mutex *m = live_mutex(v->t->session, path);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, fn, v, NULL) == 0);
    gate_pass(&v->done);
    zkl_mutex_free(m);
    g_free(path);
}

static void try_to_wait(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct visit *v = data;
    zkl_queue *q;
    CHECK(error == NULL);
    CHECK_INT(zkl_mutex_lock(v->mutex, ZKL_FOREVER, NULL), ZKL_EDEADLK);
    CHECK_ERROR(ZKL_EDEADLK, v->t->lock);
    CHECK_INT(zkl_mutex_lock(v->mutex, 0, NULL), ZKL_EDEADLK);
    CHECK_INT(zkl_session_wait(v->t->session, 0), ZKL_EDEADLK);
    CHECK_INT(zkl_queue_read(&q, v->t->session, v->t->path, NULL, 0), ZKL_EDEADLK);
    CHECK_INT(zkl_mutex_unlock(v->mutex), ZKL_EPERM);
    leave(v, grant);
}

TEST_CASE(may_not_wait)
{
    struct live *t = live_begin();
    struct visit v = {.t = t, .mutex = live_mutex(t->session, t->lock), .done = GATE_INIT};
    run_inside(&v, try_to_wait);
    CHECK_INT(live_contenders(t, t->lock), 0);
    zkl_mutex_free(v.mutex);
    live_end(t);
}

static void go_deeper(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct visit *v = data;
    CHECK(error == NULL);
    CHECK_INT(zkl_mutex_lock(v->mutex, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(v->mutex), 0);
    leave(v, grant);
}

static uint64_t one_owner(void *unused)
{
    (void)unused;
    return 1;
}

TEST_CASE(may_reenter)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct visit v = {.t = t, .done = GATE_INIT};
    o.key = one_owner;
    REQUIRE(zkl_mutex_new(&v.mutex, t->session, t->lock, &o) == 0);
    REQUIRE(zkl_mutex_lock(v.mutex, ZKL_FOREVER, NULL) == 0);
    run_inside(&v, go_deeper);
    CHECK_INT(zkl_mutex_unlock(v.mutex), 0);
    CHECK_INT(zkl_mutex_unlock(v.mutex), ZKL_EPERM);
    zkl_mutex_free(v.mutex);
    live_end(t);
}

/* The last level, too: another thread of that key is waited for by nobody. */
static void unlock_last(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct visit *v = data;
    CHECK(error == NULL);
    CHECK_INT(zkl_mutex_unlock(v->mutex), 0);
    zkl_mutex_free(v->mutex);
    leave(v, grant);
}

TEST_CASE(may_unlock_and_free)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct visit v = {.t = t, .done = GATE_INIT};
    o.key = one_owner;
    REQUIRE(zkl_mutex_new(&v.mutex, t->session, t->lock, &o) == 0);
    REQUIRE(zkl_mutex_lock(v.mutex, ZKL_FOREVER, NULL) == 0);
    run_inside(&v, unlock_last);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}

struct chain {
    zkl_mutex *mutex;
    int left;
    struct gate done;
    pthread_t thread;
};

static void next_link(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct chain *c = data;
    CHECK(error == NULL);
    if (c->left == 10)
        c->thread = pthread_self();
    CHECK(pthread_equal(c->thread, pthread_self()));
    zkl_grant_release(grant);
    if (c->left-- == 0) {
        gate_open(&c->done);
        return;
    }
    CHECK_INT(zkl_mutex_lock_async(c->mutex, ZKL_FOREVER, next_link, c, NULL), 0);
}

/* Each completion starts the next acquisition; all on the one callback thread. */
TEST_CASE(may_acquire)
{
    struct live *t = live_begin();
    struct chain c = {.left = 10, .done = GATE_INIT};
    c.mutex = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock_async(c.mutex, ZKL_FOREVER, next_link, &c, NULL) == 0);
    gate_pass(&c.done);
    CHECK(!pthread_equal(c.thread, pthread_self()));
    zkl_mutex_free(c.mutex);
    live_end(t);
}

/* Unlock waits neither for the server nor for callbacks. */
TEST_CASE(blocks_no_one)
{
    struct live *t = live_begin();
    struct gate gate = GATE_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    session_block(t, t->session, &gate);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    gate_open(&gate);
    zkl_mutex_free(m);
    live_end(t);
}
