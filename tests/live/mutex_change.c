/* What a grant tells about itself: each change in order, its end exactly once. */
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

TEST_SUITE(mutex_change, .init = live_init);

/* The callback thread has come past everything told before. */
static void drain(struct live *t, zkl_session *s)
{
    struct gate gate = GATE_INIT;
    gate_open(&gate);
    session_block(t, s, &gate);
}

TEST_CASE(released_once)
{
    struct live *t = live_begin();
    struct changes a = CHANGES_INIT, b = CHANGES_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &a), 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &b), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    drain(t, t->session);
    CHECK_INT(changes_calls(&a), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    changes_wait(&a, ZKL_RELEASED);
    changes_wait(&b, ZKL_RELEASED);
    drain(t, t->session);
    CHECK_INT(changes_calls(&a), 1);
    CHECK_INT(changes_calls(&b), 1);
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(owned_released_once)
{
    struct live *t = live_begin();
    struct changes changes = CHANGES_INIT;
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    REQUIRE(completion_wait(&c) == 0);
    CHECK_INT(zkl_grant_on_change(c.grant, changes_take, &changes), 0);
    zkl_grant_release(c.grant);
    changes_wait(&changes, ZKL_RELEASED);
    drain(t, t->session);
    CHECK_INT(changes_calls(&changes), 1);
    zkl_mutex_free(m);
    live_end(t);
}

/* A cut connection is SUSPECT, a healed one HELD again; who asks meanwhile is told at once. */
TEST_CASE(suspect_and_back)
{
    struct live *t = live_begin();
    struct changes early = CHANGES_INIT, late = CHANGES_INIT;
    struct proxy *p = proxy_start(t->port);
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    o.session_timeout_ms = 60000; /* the cut must not last it out */
    zkl_session *s = live_open(t, proxy_connect(p), &o);
    zkl_mutex *m = live_mutex(s, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &early), 0);
    proxy_cut(p);
    changes_wait(&early, ZKL_SUSPECT);
    CHECK_INT(zkl_grant_state(g), ZKL_SUSPECT);
    CHECK(zkl_grant_remaining_ms(g) > 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &late), 0);
    changes_wait(&late, ZKL_SUSPECT);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0); /* re-entering is allowed */
    CHECK_INT(zkl_mutex_unlock(m), 0);
    proxy_heal(p);
    changes_wait(&early, ZKL_HELD);
    changes_wait(&late, ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    changes_wait(&late, ZKL_RELEASED);
    drain(t, s);
    CHECK_INT(changes_seen(&early, ZKL_RELEASED), 1);
    CHECK_INT(changes_seen(&late, ZKL_RELEASED), 1);
    CHECK_INT(changes_seen(&early, ZKL_LOST) + changes_seen(&late, ZKL_LOST), 0);
    CHECK_INT(early.last, ZKL_RELEASED);
    zkl_mutex_free(m);
    live_end(t);
    proxy_stop(p);
}

TEST_CASE(lost_once)
{
    struct live *t = live_begin();
    struct changes early = CHANGES_INIT, late = CHANGES_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &early), 0);
    REQUIRE(raw_delete(t->admin, zkl_grant_node(g)) == ZOK);
    changes_wait(&early, ZKL_LOST);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &late), 0);
    changes_wait(&late, ZKL_LOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    drain(t, t->session);
    CHECK_INT(changes_calls(&early), 1);
    CHECK_INT(changes_calls(&late), 1);
    zkl_mutex_free(m);
    live_end(t);
}

static void wait_at_gate(const zkl_grant *grant, zkl_state state, void *gate)
{
    (void)grant, (void)state;
    gate_pass(gate);
}

/* Unlock returns though the callback stands, and the lock is free for others. */
TEST_CASE(callback_hangs)
{
    struct live *t = live_begin();
    struct gate gate = GATE_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, wait_at_gate, &gate), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    gate_wait_entered(&gate);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    gate_open(&gate);
    zkl_mutex_free(m);
    live_end(t);
}

struct last_words {
    struct changes changes;
    zkl_mutex *mutex;
};

static void use_everything(const zkl_grant *grant, zkl_state state, void *data)
{
    struct last_words *w = data;
    CHECK_INT(zkl_grant_state(grant), state);
    CHECK_INT(zkl_grant_remaining_ms(grant), 0);
    CHECK(zkl_grant_node(grant) != NULL);
    CHECK_INT(zkl_mutex_lock_async(w->mutex, 0, NULL, NULL, NULL), ZKL_EINVAL);
    changes_take(grant, state, &w->changes);
}

/* The grant outlives the last call, though its owner gave it back before. */
TEST_CASE(grant_outlives_call)
{
    struct live *t = live_begin();
    struct last_words w = {.changes = CHANGES_INIT};
    struct gate gate = GATE_INIT;
    const zkl_grant *g;
    w.mutex = live_mutex(t->session, t->lock);
    session_block(t, t->session, &gate);
    REQUIRE(zkl_mutex_lock(w.mutex, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, use_everything, &w), 0);
    CHECK_INT(zkl_mutex_unlock(w.mutex), 0);
    CHECK_INT(changes_calls(&w.changes), 0);
    gate_open(&gate);
    changes_wait(&w.changes, ZKL_RELEASED);
    zkl_mutex_free(w.mutex);
    live_end(t);
}

TEST_CASE(bad_arguments)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(NULL, changes_take, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_grant_on_change(g, NULL, NULL), ZKL_EINVAL);
    CHECK_ERROR(ZKL_EINVAL, "zkl_grant_on_change");
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}
