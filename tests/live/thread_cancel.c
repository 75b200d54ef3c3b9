/* pthread_cancel(): no call of the library is a point of cancellation, as pthread_mutex_lock() is
 * none, and each leaves the thread's own setting as it was. */
#include "runner.h"

#include "live.h"

#include <pthread.h>
#include <stdatomic.h>

TEST_SUITE(thread_cancel, .init = live_init);

struct victim {
    zkl_mutex *mutex;
    atomic_int granted;
};

static void *lock_and_end(void *data)
{
    struct victim *v = data;

    if (zkl_mutex_lock(v->mutex, ZKL_FOREVER, NULL) == 0)
        atomic_store(&v->granted, 1);
    pthread_testcancel();
    return NULL;
}

/* The lock it waited for comes to it, and goes with it. */
TEST_CASE(canceled_while_waiting)
{
    struct live *t = live_begin();
    struct victim v = {live_mutex(t->session, t->lock), 0};
    zkl_mutex *holder = live_mutex(t->session, t->lock);
    pthread_t thread;
    void *result;
    REQUIRE(zkl_mutex_lock(holder, ZKL_FOREVER, NULL) == 0);
    REQUIRE(pthread_create(&thread, NULL, lock_and_end, &v) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    pthread_cancel(thread);
    CHECK_INT(zkl_mutex_unlock(holder), 0);
    pthread_join(thread, &result);
    zkl_mutex_free(holder);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_INT(atomic_load(&v.granted), 1);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    CHECK_INT(zkl_mutex_lock(v.mutex, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(v.mutex), 0);
    zkl_mutex_free(v.mutex);
    live_end(t);
}

struct other {
    zkl_session *session;
    int state;
    atomic_int stop;
};

static void *ask_on(void *data)
{
    struct other *o = data;

    pthread_setcancelstate(o->state, NULL);
    while (!atomic_load(&o->stop))
        zkl_session_id(o->session);
    return NULL;
}

/* A wait gives the monitor away, to threads that have another setting. */
TEST_CASE(setting_is_kept)
{
    static const int states[] = {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE};
    struct live *t = live_begin();
    for (int i = 0; i < 2; i++) {
        struct other o = {live_open_only(t, "127.0.0.1:1", NULL), states[1 - i], 0};
        pthread_t thread;
        int after;
        REQUIRE(pthread_create(&thread, NULL, ask_on, &o) == 0);
        pthread_setcancelstate(states[i], NULL);
        CHECK_INT(zkl_session_wait(o.session, 100), ZKL_EUNREACHABLE);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
        CHECK_INT(after, states[i]);
        atomic_store(&o.stop, 1);
        pthread_join(thread, NULL);
        live_close(t, o.session);
    }
    live_end(t);
}
