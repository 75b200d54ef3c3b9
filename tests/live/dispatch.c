/* Callbacks called by the user's own loop: by poll(2), and by GLib's. */
#include "fault.h"
#include "runner.h"

#include <poll.h>
#include <string.h>
#include <zkl-glib.h>

TEST_SUITE(dispatch, .init = fault_start, .done = fault_stop);

static zkl_session *open_session(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.dispatch = 1;
    options.session_timeout_ms = FAULT_LONG_MS;
    zkl_session *s = fault_session_options(proxy_connect(fault.proxy), &options);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    return s;
}

static bool readable(zkl_session *s)
{
    struct pollfd fd = {.fd = zkl_session_fd(s), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

/* Until it is done, by this thread and nobody else. */
static void dispatch_until(zkl_session *s, atomic_int *count, int wanted)
{
    while (atomic_load(count) < wanted) {
        if (!CHECK(AWAIT(readable(s))))
            return;
        CHECK_INT(zkl_session_dispatch(s), 0);
    }
}

struct acquired {
    atomic_int calls;
    pthread_t thread;
    zkl_grant *grant;
    int dispatched; /* what zkl_session_dispatch() answered inside */
    zkl_session *session;
    GMainLoop *loop;
};

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct acquired *a = data;

    CHECK(error == NULL);
    a->thread = pthread_self();
    a->grant = grant;
    a->dispatched = zkl_session_dispatch(a->session);
    atomic_fetch_add(&a->calls, 1);
    if (a->loop)
        g_main_loop_quit(a->loop);
}

TEST_CASE(by_poll)
{
    struct acquired a = {.calls = 0};
    struct told told = {.count = 0};

    fault_begin();
    a.session = open_session();
    zkl_mutex *m = fault_mutex(a.session);
    CHECK(!readable(a.session));
    CHECK_INT(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, &a, NULL), 0);
    CHECK(AWAIT(readable(a.session)));
    CHECK_INT(atomic_load(&a.calls), 0);
    dispatch_until(a.session, &a.calls, 1);
    CHECK(pthread_equal(a.thread, pthread_self()));
    CHECK_INT(a.dispatched, ZKL_EDEADLK);
    CHECK(!readable(a.session));
    CHECK_INT(zkl_session_dispatch(a.session), 0);
    CHECK_INT(zkl_grant_on_change(a.grant, told_fn, &told), 0);
    proxy_reset(fault.proxy);
    dispatch_until(a.session, &told.count, 2);
    CHECK_INT(told.state[0], ZKL_SUSPECT);
    CHECK_INT(told.state[1], ZKL_HELD);
    zkl_grant_release(a.grant);
    dispatch_until(a.session, &told.count, 3);
    CHECK_INT(told.state[2], ZKL_RELEASED);
    fault_end();
}

/* What nobody dispatched is told by close. */
TEST_CASE(close_tells)
{
    struct acquired a = {.calls = 0};
    struct told told = {.count = 0};

    fault_begin();
    a.session = open_session();
    CHECK_INT(zkl_mutex_lock_async(fault_mutex(a.session), ZKL_FOREVER, on_acquired, &a, NULL), 0);
    dispatch_until(a.session, &a.calls, 1);
    CHECK_INT(zkl_grant_on_change(a.grant, told_fn, &told), 0);
    fault_close(a.session);
    CHECK_INT(atomic_load(&told.count), 1);
    CHECK_INT(told.state[0], ZKL_LOST);
    zkl_grant_release(a.grant);
    fault_end();
}

TEST_CASE(by_glib)
{
    GMainContext *context = g_main_context_new();
    struct acquired a = {.calls = 0, .loop = g_main_loop_new(context, FALSE)};

    fault_begin();
    a.session = open_session();
    GSource *source = zkl_glib_source_new(a.session);
    REQUIRE(source != NULL);
    g_source_attach(source, context);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_mutex_lock_async(fault_mutex(a.session), ZKL_FOREVER, on_acquired, &a, NULL),
                  0);
        g_main_loop_run(a.loop);
        CHECK_INT(atomic_load(&a.calls), i + 1);
        CHECK(pthread_equal(a.thread, pthread_self()));
        zkl_grant_release(a.grant);
    }
    g_source_destroy(source);
    g_source_unref(source);
    fault_end();
    g_main_loop_unref(a.loop);
    g_main_context_unref(context);
}

struct turns {
    atomic_int inside, overlaps, calls;
    zkl_session *session;
};

static void take_turn(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct turns *t = data;

    (void)s;
    (void)event;
    (void)id;
    if (atomic_fetch_add(&t->inside, 1) > 0)
        atomic_fetch_add(&t->overlaps, 1);
    g_usleep(20);
    atomic_fetch_sub(&t->inside, 1);
    atomic_fetch_add(&t->calls, 1);
}

enum { TURNS = 500 };

static void *dispatch_turns(void *data)
{
    struct turns *t = data;

    while (atomic_load(&t->calls) < TURNS)
        zkl_session_dispatch(t->session);
    return NULL;
}

TEST_CASE(one_at_a_time)
{
    struct turns t = {.inside = 0};
    pthread_t threads[3];

    fault_begin();
    t.session = open_session();
    for (int i = 0; i < TURNS; i++) /* each is told that there is a connection */
        CHECK_INT(zkl_session_on_change(t.session, take_turn, &t), 0);
    for (int i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], NULL, dispatch_turns, &t) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(atomic_load(&t.calls), TURNS);
    CHECK_INT(atomic_load(&t.overlaps), 0);
    fault_end();
}

TEST_CASE(not_asked_for)
{
    zkl_error why;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    CHECK_INT(zkl_session_fd(s), ZKL_EINVAL);
    CHECK_INT(zkl_last_error(&why), ZKL_EINVAL);
    CHECK(strstr(why.text, "option dispatch"));
    CHECK_INT(zkl_session_dispatch(s), ZKL_EINVAL);
    CHECK(zkl_glib_source_new(s) == NULL);
    fault_end();
}
