/* Ends of things that are in use: threads, mutexes, sessions. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

TEST_SUITE(mutex_end, .init = live_init);

/* A thread that ends while holding releases, at any depth, and somebody is told. */
TEST_CASE(thread_ends)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    struct locker *l = locker_start(m, ZKL_FOREVER);
    REQUIRE(locker_result(l) == 0);
    struct locker *next = locker_apart(t, t->session, t->lock, 2);
    locker_abandon(l);
    CHECK_INT(locker_result(next), 0);
    LIVE_UNTIL(live_logged(t, t->lock) > 0);
    CHECK_INT(live_logged(t, "thread that held it ended"), 1);
    CHECK_INT(locker_end(next), 0);
    zkl_mutex_free(m);
    live_end(t);
}

static void count_wanted(const zkl_grant *g, zkl_state state, void *wanted)
{
    (void)g, (void)state;
    atomic_fetch_add((atomic_int *)wanted, 1);
}

/* The holder of l's grant hears that another caller of the handle waits. */
static struct locker *wait_behind(struct locker *l, zkl_mutex *m)
{
    static atomic_int wanted;
    atomic_store(&wanted, 0);
    CHECK_INT(zkl_grant_on_wanted(l->grant, count_wanted, &wanted), 0);
    struct locker *next = locker_start(m, ZKL_FOREVER);
    LIVE_UNTIL(atomic_load(&wanted) == 1);
    return next;
}

/* Before another caller of the same handle, which has no node yet. */
TEST_CASE(thread_ends_before_another_here)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    struct locker *l = locker_start(m, ZKL_FOREVER);
    REQUIRE(locker_result(l) == 0);
    struct locker *next = wait_behind(l, m);
    CHECK_INT(live_contenders(t, t->lock), 1);
    locker_abandon(l);
    CHECK_INT(locker_result(next), 0);
    CHECK_INT(locker_end(next), 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* The one that holds, and the one that waits for it here. */
TEST_CASE(freed_while_waited_here)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    struct locker *l = locker_start(m, ZKL_FOREVER);
    REQUIRE(locker_result(l) == 0);
    struct locker *next = wait_behind(l, m);
    zkl_mutex_free(m);
    CHECK_INT(locker_result(next), ZKL_ECLOSED);
    CHECK_STR(next->error.path, t->lock);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    locker_end(next);
    locker_abandon(l);
    live_end(t);
}

/* Each time it returns nothing is left, whoever waits for the lock or has given up. */
TEST_CASE(flushed)
{
    enum { ROUNDS = 30 };
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock), *mine = live_mutex(t->session, t->lock);
    for (int i = 0; i < ROUNDS; i++) {
        struct completion c = COMPLETION_INIT;
        zkl_op *op;
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
        REQUIRE(zkl_mutex_lock_async(mine, ZKL_FOREVER, completion_take, &c, &op) == 0);
        zkl_op_cancel(op);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_session_flush(t->session, ZKL_FOREVER), 0);
        CHECK_INT(live_contenders(t, t->lock), 0);
        CHECK_INT(completion_wait(&c), ZKL_ECANCELED);
        zkl_op_free(op);
    }
    zkl_mutex_free(mine);
    zkl_mutex_free(m);
    live_end(t);
}

/* One that has given everything back ends quietly, also after it was told off. */
TEST_CASE(thread_ends_free)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    struct locker *l = locker_start(m, ZKL_FOREVER);
    REQUIRE(locker_result(l) == 0);
    CHECK_INT(locker_end(l), 0);
    session_settle(t, t->session);
    CHECK_INT(live_logged(t, "thread that held it ended"), 0);
    zkl_mutex_free(m);
    live_end(t);
}

static pthread_key_t late_key; /* made behind the library's, so that its destructor runs behind */

struct late {
    zkl_mutex *first, *mutex;
    bool keeps_first;
    int round; /* of the destructors, in which it locks */
    int code;
};

static void lock_late(void *data)
{
    struct late *l = data;

    if (--l->round > 0)
        pthread_setspecific(late_key, l);
    else
        l->code = zkl_mutex_lock(l->mutex, ZKL_FOREVER, NULL);
}

static void *end_late(void *data)
{
    struct late *l = data;

    pthread_setspecific(late_key, l);
    CHECK_INT(zkl_mutex_lock(l->first, ZKL_FOREVER, NULL), 0);
    if (!l->keeps_first)
        CHECK_INT(zkl_mutex_unlock(l->first), 0);
    return NULL;
}

/* Locked when the library has already looked at what the thread leaves. A lock of the last round
 * cannot be seen: nothing runs behind it. */
TEST_CASE(thread_locks_while_ending)
{
#ifdef __SANITIZE_THREAD__
    runner_skip("ThreadSanitizer forgets a thread before its last destructors have run");
    return;
#endif
    struct live *t = live_begin();
    char *path = g_strdup_printf("%s/first", t->path);
    struct late l = {live_mutex(t->session, path), live_mutex(t->session, t->lock), false, 0, -1};
    REQUIRE(pthread_key_create(&late_key, lock_late) == 0);
    for (int i = 0; i < 2 * (PTHREAD_DESTRUCTOR_ITERATIONS - 1); i++) {
        pthread_t thread;
        l.keeps_first = i % 2;
        l.round = i / 2 + 1;
        REQUIRE(pthread_create(&thread, NULL, end_late, &l) == 0);
        pthread_join(thread, NULL);
        CHECK_INT(l.code, 0);
        CHECK_INT(zkl_mutex_lock(l.mutex, 10000, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(l.mutex), 0);
        CHECK_INT(zkl_mutex_lock(l.first, 10000, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(l.first), 0);
    }
    pthread_key_delete(late_key);
    zkl_mutex_free(l.mutex);
    zkl_mutex_free(l.first);
    g_free(path);
    live_end(t);
}

/* The lock was lost before with the session: nothing is left to release. */
TEST_CASE(thread_ends_after_close)
{
    struct live *t = live_begin();
    zkl_session *s = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(s, t->lock);
    struct locker *l = locker_start(m, ZKL_FOREVER);
    REQUIRE(locker_result(l) == 0);
    live_close(t, s);
    CHECK_INT(zkl_grant_state(l->grant), ZKL_LOST);
    locker_abandon(l);
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(freed_while_held)
{
    struct live *t = live_begin();
    struct changes changes = CHANGES_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &changes), 0);
    struct locker *l = locker_queue(t, n, t->lock, 2);
    zkl_mutex_free(m);
    CHECK_INT(locker_result(l), 0);
    changes_wait(&changes, ZKL_RELEASED);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(changes_calls(&changes), 1);
    zkl_mutex_free(n);
    live_end(t);
}

TEST_CASE(freed_while_waited)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_mutex *holder = live_mutex(t->session, t->lock), *m = live_mutex(t->session, t->lock);
    zkl_mutex *n = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(holder, ZKL_FOREVER, NULL) == 0);
    struct locker *a = locker_queue(t, m, t->lock, 2);
    struct locker *b = locker_queue(t, n, t->lock, 3);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    CHECK_INT(locker_result(a), ZKL_ECLOSED);
    CHECK_INT(locker_result(b), ZKL_ECLOSED);
    CHECK_STR(a->error.path, t->lock);
    CHECK_INT(completion_wait(&c), ZKL_ECLOSED);
    CHECK_STR(c.error.path, t->lock);
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    locker_end(a);
    locker_end(b);
    CHECK_INT(zkl_mutex_unlock(holder), 0);
    zkl_mutex_free(holder);
    live_end(t);
}

/* Waiters, blocking or not, get ZKL_ECLOSED; their nodes go. */
TEST_CASE(closed_with_waiters)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_session *s = live_open(t, t->connect, NULL);
    zkl_mutex *holder = live_mutex(t->session, t->lock), *m = live_mutex(s, t->lock);
    zkl_mutex *n = live_mutex(s, t->lock);
    zkl_op *op;
    REQUIRE(zkl_mutex_lock(holder, ZKL_FOREVER, NULL) == 0);
    struct locker *l = locker_queue(t, m, t->lock, 2);
    REQUIRE(zkl_mutex_lock_async(n, ZKL_FOREVER, completion_take, &c, &op) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 3);
    live_close(t, s);
    CHECK_INT(locker_result(l), ZKL_ECLOSED);
    CHECK_INT(completion_calls(&c), 1); /* close waits for callbacks */
    CHECK_INT(completion_wait(&c), ZKL_ECLOSED);
    CHECK_INT(live_contenders(t, t->lock), 1); /* and for the server */
    locker_end(l);
    zkl_op_cancel(op);
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    CHECK_INT(zkl_mutex_unlock(holder), 0);
    zkl_mutex_free(holder);
    live_end(t);
}

/* Handles outlive their session, and say so. */
static void check_closed(struct live *t, zkl_mutex *m)
{
    struct completion never = COMPLETION_INIT;
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_ECLOSED);
    CHECK_INT(zkl_last_error(NULL), ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_lock_async(m, 0, completion_take, &never, NULL), ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(live_contenders(t, t->lock), 0);
    CHECK_INT(completion_calls(&never), 0);
}

TEST_CASE(closed_while_held)
{
    struct live *t = live_begin();
    struct changes a = CHANGES_INIT, b = CHANGES_INIT;
    struct completion c = COMPLETION_INIT;
    zkl_session *s = live_open(t, t->connect, NULL);
    char *other = g_strdup_printf("%s/other", t->path);
    zkl_mutex *m = live_mutex(s, t->lock), *n = live_mutex(s, other);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_mutex_lock_async(n, ZKL_FOREVER, completion_take, &c, NULL) == 0);
    REQUIRE(completion_wait(&c) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &a), 0);
    CHECK_INT(zkl_grant_on_change(c.grant, changes_take, &b), 0);
    uint64_t token = zkl_grant_token(g);
    live_close(t, s);
    CHECK_INT(changes_seen(&a, ZKL_LOST), 1);
    CHECK_INT(changes_calls(&a), 1);
    CHECK_INT(changes_calls(&b), 1);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    CHECK_INT(zkl_grant_token(g), token);
    CHECK_INT(zkl_grant_on_change(c.grant, changes_take, &b), ZKL_ECLOSED);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    check_closed(t, m);
    zkl_grant_release(c.grant);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    g_free(other);
    live_end(t);
}

struct closing {
    zkl_session *session;
    struct gate done;
};

static void close_inside(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct closing *c = data;
    CHECK(error == NULL);
    zkl_session_close(c->session);
    CHECK_INT(zkl_grant_state(grant), ZKL_LOST);
    zkl_grant_release(grant);
    gate_open(&c->done);
}

/* In a callback close cannot wait for that callback: it finishes in the background. */
TEST_CASE(closed_in_a_callback)
{
    struct live *t = live_begin();
    struct closing c = {.done = GATE_INIT};
    c.session = live_open(t, t->connect, NULL);
    g_ptr_array_remove(t->sessions, c.session);
    zkl_mutex *m = live_mutex(c.session, t->lock);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, close_inside, &c, NULL) == 0);
    gate_pass(&c.done);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ECLOSED);
    zkl_mutex_free(m);
    live_end(t);
}

/* What nobody could be told of before it ended is not left behind: create under way, list, read. */
TEST_CASE(closed_at_any_moment)
{
    struct live *t = live_begin();
    for (int i = 0; i < 10; i++) {
        struct completion c[4] = {COMPLETION_INIT, COMPLETION_INIT, COMPLETION_INIT,
                                  COMPLETION_INIT};
        zkl_session *s = live_open(t, t->connect, NULL);
        zkl_mutex *m = live_mutex(s, t->lock);
        for (int j = 0; j < 4; j++)
            REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c[j], NULL) == 0);
        for (int spin = 0; spin < i * 5000; spin++)
            completion_calls(&c[0]);
        live_close(t, s);
        for (int j = 0; j < 4; j++) {
            CHECK_INT(completion_calls(&c[j]), 1);
            CHECK(j == 0 || completion_wait(&c[j]) == ZKL_ECLOSED);
            zkl_grant_release(c[j].grant);
        }
        CHECK_INT(live_contenders(t, t->lock), 0);
        zkl_mutex_free(m);
    }
    live_end(t);
}
