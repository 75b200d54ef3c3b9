/* pthread_cancel(): no call of the library is a point of cancellation, as pthread_mutex_lock() is
 * none, and each leaves the thread's own setting as it was. Every function is called by a thread
 * whose cancellation is pending, and those that wait by one that is cancelled meanwhile: each
 * returns as if nothing were, and leaves the library working. */
#include "handles.h"
#include "live.h"
#include "proxy.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

TEST_SUITE(cancel, .init = live_init);

struct patient {
    zkl_mutex *mutex;
    atomic_int granted;
};

static void *lock_and_end(void *data)
{
    struct patient *v = data;

    if (zkl_mutex_lock(v->mutex, ZKL_FOREVER, NULL) == 0)
        atomic_store(&v->granted, 1);
    pthread_testcancel();
    return NULL;
}

/* The lock it waited for comes to it, and goes with it. */
TEST_CASE(canceled_while_waiting)
{
    struct live *t = live_begin();
    struct patient v = {live_mutex(t->session, t->lock), 0};
    zkl_mutex *holder = live_mutex(t->session, t->lock);
    pthread_t thread;
    void *result;
    REQUIRE(zkl_mutex_lock(holder, ZKL_FOREVER, NULL) == 0);
    REQUIRE(pthread_create(&thread, NULL, lock_and_end, &v) == 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    pthread_cancel(thread);
    CHECK_INT(zkl_mutex_unlock(holder), 0);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_INT(atomic_load(&v.granted), 1);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    CHECK_INT(zkl_mutex_lock(v.mutex, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(v.mutex), 0);
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

/* ---- every function ---- */

struct scene {
    struct live *t;
    struct proxy *proxy;
    char *servers; /* behind the proxy, below the test's path */
    bool dispatch;
    struct handles of;
};

static atomic_int calls; /* of callbacks */
static atomic_bool gate; /* shut: callbacks wait there */
static atomic_int at_gate;

static void pass_gate(void)
{
    atomic_fetch_add(&at_gate, 1);
    while (atomic_load(&gate))
        usleep(1000); /* a point of cancellation */
    atomic_fetch_sub(&at_gate, 1);
    atomic_fetch_add(&calls, 1);
}

static void acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)error, (void)data;
    zkl_grant_release(grant);
    pass_gate();
}

static void done(const zkl_error *error, void *data)
{
    (void)error, (void)data;
    pass_gate();
}

static void open_other(struct handles *e)
{
    zkl_session_open(&e->out.zkl_session, "127.0.0.1:1", NULL, NULL);
}

/* A session of nobody. */
static int end_other(struct handles *e)
{
    const zkl_session_claim claim = {.id = 1};

    return zkl_session_end(e->servers, NULL, &claim, 10000);
}

#define FREED(field, function) (function(e->field), e->field = NULL)

#define CALL(function, may, arguments) OTHER(function, e->out.code = function arguments)
#define BEGIN(function, may, arguments)                                                            \
    static void call_##function(struct handles *e)                                                 \
    {                                                                                              \
        zkl_op *other = g_steal_pointer(&e->op);                                                   \
        const int64_t ms = ZKL_FOREVER;                                                            \
        (void)ms;                                                                                  \
        (void)(function arguments);                                                                \
        zkl_op_free(e->op);                                                                        \
        e->op = other;                                                                             \
    }
#define OTHER(function, expression)                                                                \
    static void call_##function(struct handles *e)                                                 \
    {                                                                                              \
        const int64_t ms = ZKL_FOREVER;                                                            \
        (void)e, (void)ms;                                                                         \
        (void)(expression);                                                                        \
    }
#define WAIT(function, may, arguments)                                                             \
    static void call_##function(struct handles *e)                                                 \
    {                                                                                              \
        zkl_op *other = g_steal_pointer(&e->op);                                                   \
        zkl_grant *own = NULL;                                                                     \
        const int64_t ms = ZKL_FOREVER;                                                            \
        CHECK_INT(zkl_mutex_lock_async arguments, 0);                                              \
        CHECK_INT(function(e->op, &own), 0);                                                       \
        zkl_grant_release(own);                                                                    \
        zkl_op_free(e->op);                                                                        \
        e->op = other;                                                                             \
    }
#include "every_call.inc"

/* ---- several calls in turn, with the results that they have without a cancellation ---- */

static void in_turn_rwlock(struct handles *e)
{
    CHECK_INT(zkl_rwlock_lock(e->rwlock, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_rwlock_lock_shared(e->rwlock, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_rwlock_unlock(e->rwlock), 0);
    CHECK_INT(zkl_rwlock_unlock(e->rwlock), 0);
}

/* The second one comes without the server. */
static void in_turn_mutex(struct handles *e)
{
    for (int i = 0; i < 2; i++) {
        CHECK_INT(zkl_mutex_lock(e->mutex, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(e->mutex), 0);
    }
}

/* No call that blocks waits for long. */
static void in_turn_barrier(struct handles *e)
{
    CHECK_INT(zkl_barrier_set(e->barrier, ZKL_FOREVER), 0);
    CHECK_INT(zkl_barrier_wait(e->barrier, 1), ZKL_ETIMEDOUT);
    CHECK_INT(zkl_barrier_wait_async(e->barrier, ZKL_FOREVER, done, NULL), 0);
    zkl_barrier_remove(e->barrier, ZKL_FOREVER); /* it may have children */
}

static void in_turn_double_barrier(struct handles *e)
{
    zkl_double_barrier *b;

    CHECK_INT(zkl_double_barrier_new(&b, e->s, "/x/t", 1, NULL), 0);
    CHECK_INT(zkl_double_barrier_enter(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_double_barrier_leave(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_double_barrier_enter_async(b, ZKL_FOREVER, done, NULL), 0);
    zkl_double_barrier_leave_async(b, ZKL_FOREVER, done, NULL); /* it may enter still */
    zkl_double_barrier_free(b);
}

static void in_turn_counter(struct handles *e)
{
    int64_t value;

    CHECK_INT(zkl_counter_set(e->counter, 1, NULL, ZKL_FOREVER), 0);
    CHECK_INT(zkl_counter_add(e->counter, 1, NULL, ZKL_FOREVER, &value), 0);
    CHECK_INT(zkl_counter_compare_and_set(e->counter, 2, 1, NULL, ZKL_FOREVER), 0);
    CHECK_INT(zkl_counter_get(e->counter, ZKL_FOREVER, &value), 0);
}

static void in_turn_acquire(struct handles *e)
{
    zkl_grant *grant = NULL;

    CHECK_INT(zkl_semaphore_acquire(e->semaphore, 1, ZKL_FOREVER, &grant), 0);
    zkl_grant_release(grant);
    CHECK_INT(zkl_multilock_lock(e->multilock, ZKL_FOREVER, &grant), 0);
    zkl_grant_release(grant);
}

static void in_turn_member(struct handles *e)
{
    zkl_grant *grant;
    zkl_member *m;

    CHECK_INT(zkl_member_join(&m, e->s, "/x/g", "a", NULL, 0, NULL), 0);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_update(m, "x", 1, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_wait_async(m, ZKL_FOREVER, done, NULL), 0);
    CHECK_INT(zkl_member_update_async(m, "y", 1, ZKL_FOREVER, done, NULL), 0);
    CHECK_INT(zkl_member_grant(m, &grant), 0);
    CHECK(zkl_grant_state(grant) <= ZKL_SUSPECT && zkl_grant_remaining_ms(grant) > 0);
    zkl_grant_release(grant);
    CHECK_INT(zkl_member_leave_async(m, ZKL_FOREVER, done, NULL), 0);
    CHECK_INT(zkl_member_leave(m, ZKL_FOREVER), 0);
    zkl_member_free(m);
}

static const struct call {
    const char *name;
    void (*fn)(struct handles *e);
} table[] = {
#define ROW(function, may, arguments) {#function, call_##function},
#define CALL ROW
#define BEGIN ROW
#define WAIT ROW
#define OTHER(function, expression) {#function, call_##function},
#include "every_call.inc"
    {"mutex", in_turn_mutex},     {"rwlock", in_turn_rwlock},
    {"barrier", in_turn_barrier}, {"double_barrier", in_turn_double_barrier},
    {"counter", in_turn_counter}, {"acquire", in_turn_acquire},
    {"member", in_turn_member},
};

/* ---- what they are called with ---- */

static void dispatch(struct scene *e)
{
    if (e->dispatch && e->of.s)
        zkl_session_dispatch(e->of.s);
}

static void open_session(struct scene *e)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.dispatch = e->dispatch;
    o.session_timeout_ms = 60000;
    REQUIRE(zkl_session_open(&e->of.s, e->servers, &o, NULL) == 0);
    CHECK_INT(zkl_session_wait(e->of.s, ZKL_FOREVER), 0);
}

/* What the call before has ended is made anew. */
static void prepare(struct scene *scene)
{
    struct handles *e = &scene->of;

    if (!e->s)
        open_session(scene);
    handles_make(e);
    handles_acquire(e);
    handles_look(e);
    handles_joining(e);
    zkl_double_barrier_enter(e->inside, ZKL_FOREVER); /* it may be there */
    zkl_election_resign(e->candidate);
    if (!e->op)
        CHECK_INT(zkl_mutex_lock_async(e->held, ZKL_FOREVER, acquired, e, &e->op), 0);
}

/* All that belongs to the session, which may be closed. */
static void clear(struct scene *e)
{
    g_clear_pointer(&e->of.s, zkl_session_close);
    handles_free(&e->of);
}

static struct scene *begin(bool dispatch)
{
    struct scene *e = g_new0(struct scene, 1);

    e->t = live_begin();
    REQUIRE(raw_create(e->t->admin, e->t->path, NULL, -1, 0, NULL) == ZOK);
    e->proxy = proxy_start(e->t->port);
    e->servers = g_strconcat(proxy_connect(e->proxy), e->t->path, NULL);
    e->dispatch = dispatch;
    e->of = (struct handles)HANDLES_INIT;
    e->of.servers = e->servers;
    e->of.mutex_options.retain_ms = 60000;
    e->of.semaphore_options.limit = 8;
    e->of.semaphore_options.numbered = 1;
    handles_heard = pass_gate;
    prepare(e);
    return e;
}

static void end(struct scene *e)
{
    clear(e);
    live_end(e->t);
    proxy_stop(e->proxy);
    g_free(e->servers);
    g_free(e);
}

/* ---- who calls them ---- */

struct victim {
    struct scene *scene;
    const struct call *call;
    bool pending;
    atomic_int tid;
    atomic_bool returned;
};

static void *fall(void *data)
{
    struct victim *v = data;

    if (v->pending)
        pthread_cancel(pthread_self());
    atomic_store(&v->tid, (int)syscall(SYS_gettid));
    v->call->fn(&v->scene->of);
    atomic_store(&v->returned, true);
    pthread_testcancel();
    return NULL;
}

static bool joined(struct scene *e, pthread_t thread, void **ret)
{
    dispatch(e);
    return pthread_tryjoin_np(thread, ret) == 0;
}

/* It has returned, and was cancelled behind that. */
static void check_end(struct victim *v, pthread_t thread)
{
    void *result = NULL;
    struct scene *e = v->scene;

    if (e->dispatch && strcmp(v->call->name, "zkl_session_close") != 0)
        LIVE_UNTIL(joined(e, thread, &result));
    else
        pthread_join(thread, &result);
    if (!CHECK(atomic_load(&v->returned)))
        fprintf(stderr, "%s is a point of cancellation\n", v->call->name);
    CHECK(result == PTHREAD_CANCELED);
}

static void all_pending(bool dispatch)
{
    struct scene *e = begin(dispatch);

    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        struct victim v = {.scene = e, .call = &table[i], .pending = true};
        pthread_t thread;
        prepare(e);
        REQUIRE(pthread_create(&thread, NULL, fall, &v) == 0);
        check_end(&v, thread);
        handles_free_out(&e->of);
        if (!e->of.s)
            clear(e);
    }
    prepare(e); /* which waits for a lock, for instance */
    end(e);
}

TEST_CASE(pending)
{
    all_pending(false);
}

TEST_CASE(pending_dispatched)
{
    all_pending(true);
}

/* ---- while they wait ---- */

enum cause {
    BY_SERVER,   /* no answer comes */
    BY_CUT,      /* no connection */
    BY_ITSELF,   /* its callback is at the gate */
    BY_CALLBACK, /* another's is */
    BY_WATCH,    /* the own one of a queue's watch is */
    BY_LEADER    /* or of an election's */
};

static const struct waiting {
    const char *name;
    enum cause cause;
    bool dispatch;
} waiting[] = {
    {"zkl_mutex_lock", BY_SERVER, false},        {"zkl_rwlock_lock", BY_SERVER, false},
    {"zkl_multilock_lock", BY_SERVER, false},    {"zkl_op_wait", BY_SERVER, false},
    {"zkl_semaphore_acquire", BY_SERVER, false}, {"zkl_election_campaign", BY_SERVER, false},
    {"zkl_election_leader", BY_SERVER, false},   {"zkl_election_proclaim", BY_SERVER, false},
    {"zkl_queue_read", BY_SERVER, false},        {"zkl_queue_break", BY_SERVER, false},
    {"zkl_queue_revoke", BY_SERVER, false},      {"zkl_grant_multi", BY_SERVER, false},
    {"zkl_session_wait", BY_CUT, false},         {"zkl_session_call", BY_ITSELF, false},
    {"zkl_session_dispatch", BY_ITSELF, true},   {"zkl_session_dispatch", BY_CALLBACK, true},
    {"zkl_session_close", BY_CALLBACK, false},   {"zkl_watch_free", BY_WATCH, false},
    {"zkl_watch_free", BY_LEADER, false},
};

static const struct call *find_call(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static void *dispatch_once(void *scene)
{
    dispatch(scene);
    return NULL;
}

static bool called(struct scene *e)
{
    dispatch(e);
    return atomic_load(&calls) > 0;
}

/* What is queued is called, so that the gate is the next one's. */
static void settle(struct scene *e)
{
    atomic_store(&calls, 0);
    CHECK_INT(zkl_session_on_change(e->of.s, heard_session, NULL), 0);
    LIVE_UNTIL(called(e));
}

/* *other: who is to be joined, if dispatching. */
static void block(struct scene *e, const struct waiting *w, pthread_t *other)
{
    /* Nobody else is to come to the gate later. */
    g_clear_pointer(&e->of.watch, zkl_watch_free);
    g_clear_pointer(&e->of.observer, zkl_watch_free);
    settle(e);
    atomic_store(&gate, true);
    if (w->cause == BY_SERVER)
        proxy_freeze(e->proxy, PROXY_BOTH);
    if (w->cause == BY_CUT) {
        proxy_cut(e->proxy);
        LIVE_UNTIL(zkl_session_wait(e->of.s, 0) != 0);
    }
    if (w->cause == BY_WATCH)
        CHECK_INT(zkl_queue_watch(&e->of.watch, e->of.s, "/x", heard_queue, NULL), 0);
    if (w->cause == BY_LEADER)
        CHECK_INT(zkl_election_watch(&e->of.watch, e->of.candidate, heard_leader, NULL), 0);
    if (w->cause == BY_CALLBACK || (w->cause == BY_ITSELF && w->dispatch))
        CHECK_INT(zkl_session_on_change(e->of.s, heard_session, NULL), 0);
    if (w->cause == BY_CALLBACK && w->dispatch)
        REQUIRE(pthread_create(other, NULL, dispatch_once, e) == 0);
    if (w->cause >= BY_CALLBACK)
        LIVE_UNTIL(atomic_load(&at_gate) == 1);
}

/* It waits for something, and not for a processor. */
static bool sleeps(const struct victim *v)
{
    char *path = g_strdup_printf("/proc/self/task/%d/stat", atomic_load(&v->tid)), *text = NULL;
    bool is = atomic_load(&v->tid) > 0 && g_file_get_contents(path, &text, NULL, NULL) &&
              strstr(text, ") S ");

    g_free(text);
    g_free(path);
    return is;
}

static void cancel_waiting(struct scene *e, const struct waiting *w)
{
    struct victim v = {.scene = e, .call = find_call(w->name)};
    pthread_t thread, other = pthread_self();

    REQUIRE(v.call != NULL);
    block(e, w, &other);
    REQUIRE(pthread_create(&thread, NULL, fall, &v) == 0);
    if (w->cause == BY_ITSELF)
        LIVE_UNTIL(atomic_load(&at_gate) == 1);
    else
        LIVE_UNTIL(sleeps(&v));
    pthread_cancel(thread);
    atomic_store(&gate, false);
    proxy_thaw(e->proxy);
    proxy_heal(e->proxy);
    check_end(&v, thread);
    if (!pthread_equal(other, pthread_self()))
        pthread_join(other, NULL);
    handles_free_out(&e->of);
}

TEST_CASE(while_waiting)
{
    for (size_t i = 0; i < G_N_ELEMENTS(waiting); i++) {
        struct scene *e = begin(waiting[i].dispatch);
        cancel_waiting(e, &waiting[i]);
        if (e->of.s)
            settle(e); /* the queue of callbacks goes on */
        end(e);
    }
}
