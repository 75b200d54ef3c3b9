/* Only the owner of a mutex may unlock it, and only as often as it has locked it. */
#include "lib/lock/handle.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <stdatomic.h>

TEST_SUITE(mutex_owner, .init = live_init);

enum { DEPTH = 5 };

TEST_CASE(reentrant)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *first = NULL;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &first) == 0);
    for (int i = 1; i < DEPTH; i++) {
        const zkl_grant *g = NULL;
        CHECK_INT(zkl_mutex_lock(m, 0, &g), 0);
        CHECK(g == first);
    }
    CHECK_INT(live_contenders(t, t->lock), 1);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    for (int i = 1; i < DEPTH; i++)
        CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_grant_state(first), ZKL_HELD);
    session_settle(t, t->session);
    CHECK(!locker_done(l));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_ERROR(ZKL_EPERM, t->lock);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    zkl_mutex_free(m);
    live_end(t);
}

/* One more would be none. */
TEST_CASE(deepest)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    struct hold *hold;

    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_depth(m), 1); /* looks the hold up */
    hold = ((struct handle *)m)->recent;
    hold->depth = INT_MAX - 1;
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_depth(m), INT_MAX);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EOVERFLOW);
    CHECK_ERROR(ZKL_EOVERFLOW, t->lock);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_depth(m), INT_MAX - 1);
    hold->depth = 1;
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_depth(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

static void *unlock(void *mutex)
{
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_EPERM);
    CHECK_INT(zkl_last_error(NULL), ZKL_EPERM);
    return NULL;
}

TEST_CASE(not_the_owner)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g, *again = NULL;
    pthread_t thread;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    REQUIRE(pthread_create(&thread, NULL, unlock, m) == 0);
    pthread_join(thread, NULL);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(raw_exists(t->admin, zkl_grant_node(g), NULL), ZOK);
    struct locker *l = locker_start(m, 0);
    CHECK_INT(locker_result(l), ZKL_EBUSY);
    locker_end(l);
    CHECK_INT(zkl_mutex_lock(m, 0, &again), 0);
    CHECK(again == g);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}

TEST_CASE(never_locked)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_ERROR(ZKL_EPERM, t->lock);
    CHECK_INT(zkl_mutex_unlock(NULL), ZKL_EINVAL);
    CHECK_INT(zkl_mutex_lock(NULL, 0, NULL), ZKL_EINVAL);
    zkl_mutex_free(m);
    zkl_mutex_free(NULL);
    live_end(t);
}

/* They do not know each other, though session, path and thread are the same. */
TEST_CASE(two_handles)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_lock(n, 100, NULL), ZKL_ETIMEDOUT);
    CHECK_INT(zkl_mutex_unlock(n), ZKL_EPERM);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(n, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

static uint64_t read_key(void *data)
{
    return atomic_load((_Atomic uint64_t *)data);
}

static zkl_mutex *keyed_mutex(struct live *t, _Atomic uint64_t *key)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;
    o.key = read_key;
    o.key_data = key;
    REQUIRE(zkl_mutex_new(&m, t->session, t->lock, &o) == 0);
    return m;
}

/* Coroutines on one thread are different owners, and one that moves to another thread is not. */
TEST_CASE(coroutines)
{
    struct live *t = live_begin();
    _Atomic uint64_t key = 1;
    zkl_mutex *m = keyed_mutex(t, &key);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    key = 2;
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    key = 1;
    struct locker *l = locker_start(m, 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    zkl_mutex_free(m);
    live_end(t);
}

/* A key whose lock() is under way on one thread cannot wait for itself on another. */
TEST_CASE(same_key_twice)
{
    struct live *t = live_begin();
    _Atomic uint64_t key = 7;
    zkl_mutex *m = keyed_mutex(t, &key), *holder = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(holder, ZKL_FOREVER, NULL) == 0);
    struct locker *l = locker_queue(t, m, t->lock, 2);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), ZKL_EDEADLK);
    CHECK_ERROR(ZKL_EDEADLK, t->lock);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_mutex_unlock(holder), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_INT(locker_end(l), 0);
    zkl_mutex_free(m);
    zkl_mutex_free(holder);
    live_end(t);
}

/* The rule for ending threads is not for owners that are no threads. */
TEST_CASE(key_outlives_thread)
{
    struct live *t = live_begin();
    _Atomic uint64_t key = 3;
    zkl_mutex *m = keyed_mutex(t, &key);
    struct locker *l = locker_start(m, ZKL_FOREVER);
    REQUIRE(locker_result(l) == 0);
    locker_abandon(l);
    session_settle(t, t->session);
    CHECK_INT(live_contenders(t, t->lock), 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    live_end(t);
}
