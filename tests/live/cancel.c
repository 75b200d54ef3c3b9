/* pthread_cancel(): no call of the library is a point of cancellation, as pthread_mutex_lock() is
 * none, and each leaves the thread's own setting as it was. Every function is called by a thread
 * whose cancellation is pending, and those that wait by one that is cancelled meanwhile: each
 * returns as if nothing were, and leaves the library working. */
#include "live.h"
#include "proxy.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zkl-glib.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

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

/* Handles as in tests/unit/every_call_test.c. */
struct scene {
    struct live *t;
    struct proxy *proxy;
    char *servers; /* behind the proxy, below the test's path */
    bool dispatch;
    zkl_session *s;
    zkl_barrier *barrier;
    zkl_double_barrier *pair, *inside;
    zkl_counter *counter;
    zkl_election *candidate, *leader;
    zkl_mutex *mutex, *held;
    zkl_multilock *multilock;
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore;
    zkl_once *once, *working;
    zkl_grant *run; /* of working */
    zkl_member *joined, *joining;
    zkl_members *members;
    zkl_grant *_Atomic grant; /* of held */
    const zkl_grant *fence;   /* none */
    zkl_op *op;               /* behind the grant */
    zkl_queue *queue;
    zkl_watch *watch;
    zkl_watch *observer;
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

static void acquired(zkl_grant *grant, const zkl_error *error, void *scene)
{
    struct scene *e = scene;

    (void)error;
    if (e->grant)
        zkl_grant_release(grant);
    else
        e->grant = grant;
    pass_gate();
}

static void done(const zkl_error *error, void *scene)
{
    (void)error, (void)scene;
    pass_gate();
}

static void on_state(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant, (void)state, (void)data;
    pass_gate();
}

static void on_session(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)event, (void)id, (void)data;
    pass_gate();
}

static void on_election(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                        const zkl_error *error, void *data)
{
    (void)e, (void)event, (void)grant, (void)error, (void)data;
    pass_gate();
}

static void on_leader(const zkl_leader *leader, void *data)
{
    (void)leader, (void)data;
    pass_gate();
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    (void)event, (void)member, (void)all, (void)data;
    pass_gate();
}

static void on_count(int64_t value, void *data)
{
    (void)value, (void)data;
}

static int on_once(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    (void)grant, (void)data, (void)ret, (void)ret_size;
    return 0;
}

static void on_queue(void *data)
{
    (void)data;
    pass_gate();
}

static void on_call(struct _zhandle *zh, void *data)
{
    (void)zh, (void)data;
    pass_gate();
}

/* What calls make, and what they write. */
static struct {
    zkl_barrier *barrier;
    zkl_double_barrier *pair;
    zkl_counter *counter;
    zkl_election *election;
    zkl_mutex *mutex;
    zkl_multilock *multilock;
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore;
    zkl_once *once;
    zkl_member *member;
    zkl_members *members;
    zkl_queue *queue;
    zkl_watch *watch;
    zkl_grant *grant;
    zkl_session *session;
    GSource *source;
    zkl_deadline deadline;
    zkl_part part;
    zkl_session_claim claim;
    zkl_shards_share share;
    zkl_stats stats;
    zkl_error error;
    int64_t number;
    char text[ZKL_FENCE_SIZE];
    int limit, code;
} out;
static struct zoo_op check;
static const char *const two[] = {"/x/1", "/x/2"};
static const zkl_change change = {.kind = ZKL_CHANGE_SET, .version = -1, .path = "/x/data"};
static zkl_election_status status = ZKL_ELECTION_STATUS_INIT;
static const zkl_member_info *owners[2];

static zkl_session_options options_of(const struct scene *e)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.dispatch = e->dispatch;
    o.session_timeout_ms = 60000;
    return o;
}

static void open_other(struct scene *e)
{
    zkl_session_options o = options_of(e);

    zkl_session_open(&out.session, "127.0.0.1:1", &o, NULL);
}

/* A session of nobody. */
static int end_other(struct scene *e)
{
    const zkl_session_claim claim = {.id = 1};

    return zkl_session_end(e->t->connect, NULL, &claim, 10000);
}

static zkl_mutex_options retaining(void)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    o.retain_ms = 60000;
    return o;
}

#define FREED(field, function) (function(e->field), e->field = NULL)
#define JOINING e->joining
#define SERVERS e->servers

#define CALL(function, flags, arguments) OTHER(function, out.code = function arguments)
#define BEGIN(function, flags, arguments)                                                          \
    static void call_##function(struct scene *e)                                                   \
    {                                                                                              \
        zkl_op *other = g_steal_pointer(&e->op);                                                   \
        const int64_t ms = ZKL_FOREVER;                                                            \
        (void)ms;                                                                                  \
        (void)(function arguments);                                                                \
        zkl_op_free(e->op);                                                                        \
        e->op = other;                                                                             \
    }
#define OTHER(function, expression)                                                                \
    static void call_##function(struct scene *e)                                                   \
    {                                                                                              \
        const int64_t ms = ZKL_FOREVER;                                                            \
        (void)e, (void)ms;                                                                         \
        (void)(expression);                                                                        \
    }
#define WAIT(function, flags, arguments)                                                           \
    static void call_##function(struct scene *e)                                                   \
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
#undef CALL
#undef BEGIN
#undef WAIT
#undef OTHER

/* ---- several calls in turn, with the results that they have without a cancellation ---- */

static void in_turn_rwlock(struct scene *e)
{
    CHECK_INT(zkl_rwlock_lock(e->rwlock, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_rwlock_lock_shared(e->rwlock, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_rwlock_unlock(e->rwlock), 0);
    CHECK_INT(zkl_rwlock_unlock(e->rwlock), 0);
}

/* The second one comes without the server. */
static void in_turn_mutex(struct scene *e)
{
    for (int i = 0; i < 2; i++) {
        CHECK_INT(zkl_mutex_lock(e->mutex, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(e->mutex), 0);
    }
}

/* No call that blocks waits for long. */
static void in_turn_barrier(struct scene *e)
{
    CHECK_INT(zkl_barrier_set(e->barrier, ZKL_FOREVER), 0);
    CHECK_INT(zkl_barrier_wait(e->barrier, 1), ZKL_ETIMEDOUT);
    CHECK_INT(zkl_barrier_wait_async(e->barrier, ZKL_FOREVER, done, NULL), 0);
    zkl_barrier_remove(e->barrier, ZKL_FOREVER); /* it may have children */
}

static void in_turn_double_barrier(struct scene *e)
{
    zkl_double_barrier *b;

    CHECK_INT(zkl_double_barrier_new(&b, e->s, "/x/t", 1, NULL), 0);
    CHECK_INT(zkl_double_barrier_enter(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_double_barrier_leave(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_double_barrier_enter_async(b, ZKL_FOREVER, done, NULL), 0);
    zkl_double_barrier_leave_async(b, ZKL_FOREVER, done, NULL); /* it may enter still */
    zkl_double_barrier_free(b);
}

static void in_turn_counter(struct scene *e)
{
    int64_t value;

    CHECK_INT(zkl_counter_set(e->counter, 1, NULL, ZKL_FOREVER), 0);
    CHECK_INT(zkl_counter_add(e->counter, 1, NULL, ZKL_FOREVER, &value), 0);
    CHECK_INT(zkl_counter_compare_and_set(e->counter, 2, 1, NULL, ZKL_FOREVER), 0);
    CHECK_INT(zkl_counter_get(e->counter, ZKL_FOREVER, &value), 0);
}

static void in_turn_acquire(struct scene *e)
{
    zkl_grant *grant = NULL;

    CHECK_INT(zkl_semaphore_acquire(e->semaphore, 1, ZKL_FOREVER, &grant), 0);
    zkl_grant_release(grant);
    CHECK_INT(zkl_multilock_lock(e->multilock, ZKL_FOREVER, &grant), 0);
    zkl_grant_release(grant);
}

static void in_turn_member(struct scene *e)
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

#define CALL(function, flags, arguments) {#function, call_##function},
#define BEGIN(function, flags, arguments) {#function, call_##function},
#define WAIT(function, flags, arguments) {#function, call_##function},
#define OTHER(function, expression) {#function, call_##function},
static const struct call {
    const char *name;
    void (*fn)(struct scene *e);
} table[] = {
#include "every_call.inc"
    {"mutex", in_turn_mutex},     {"rwlock", in_turn_rwlock},
    {"barrier", in_turn_barrier}, {"double_barrier", in_turn_double_barrier},
    {"counter", in_turn_counter}, {"acquire", in_turn_acquire},
    {"member", in_turn_member},
};

/* ---- what they are called with ---- */

static void dispatch(struct scene *e)
{
    if (e->dispatch && e->s)
        zkl_session_dispatch(e->s);
}

static bool granted(struct scene *e)
{
    dispatch(e);
    return e->grant != NULL;
}

/* From the mutex of its own: any thread may release it. */
static void take_grant(struct scene *e)
{
    CHECK_INT(zkl_mutex_lock_async(e->held, ZKL_FOREVER, acquired, e, NULL), 0);
    LIVE_UNTIL(granted(e));
}

static void open_session(struct scene *e)
{
    zkl_session_options o = options_of(e);

    REQUIRE(zkl_session_open(&e->s, e->servers, &o, NULL) == 0);
    CHECK_INT(zkl_session_wait(e->s, ZKL_FOREVER), 0);
    REQUIRE(zkl_mutex_new(&e->held, e->s, "/x/h", NULL) == 0);
}

static void prepare_locks(struct scene *e)
{
    const zkl_mutex_options options = retaining();
    zkl_semaphore_options limited = ZKL_SEMAPHORE_OPTIONS_INIT;

    limited.limit = 8;
    limited.numbered = 1;
    if (!e->mutex)
        CHECK_INT(zkl_mutex_new(&e->mutex, e->s, "/x/m", &options), 0);
    if (!e->rwlock)
        CHECK_INT(zkl_rwlock_new(&e->rwlock, e->s, "/x/r", NULL), 0);
    if (!e->semaphore)
        CHECK_INT(zkl_semaphore_new(&e->semaphore, e->s, "/x/s", &limited), 0);
    if (!e->multilock)
        CHECK_INT(zkl_multilock_new(&e->multilock, e->s, two, G_N_ELEMENTS(two), NULL), 0);
    if (!e->grant)
        take_grant(e);
    if (!e->op)
        CHECK_INT(zkl_mutex_lock_async(e->held, ZKL_FOREVER, acquired, e, &e->op), 0);
}

static void prepare_others(struct scene *e)
{
    if (!e->barrier)
        CHECK_INT(zkl_barrier_new(&e->barrier, e->s, "/x/b", NULL), 0);
    if (!e->pair)
        CHECK_INT(zkl_double_barrier_new(&e->pair, e->s, "/x/d", 1, NULL), 0);
    if (!e->inside)
        CHECK_INT(zkl_double_barrier_new(&e->inside, e->s, "/x/i", 1, NULL), 0);
    zkl_double_barrier_enter(e->inside, ZKL_FOREVER); /* it may be there */
    if (!e->counter)
        CHECK_INT(zkl_counter_new(&e->counter, e->s, "/x/c", ZKL_COUNTER_64), 0);
    if (!e->once)
        CHECK_INT(zkl_once_new(&e->once, e->s, "/x/o", NULL), 0);
    if (!e->working)
        CHECK_INT(zkl_once_new(&e->working, e->s, "/x/w", NULL), 0);
    if (!e->run) {
        CHECK_INT(zkl_once_reset(e->working, ZKL_FOREVER), 0); /* it may be recorded */
        CHECK_INT(zkl_once_begin(e->working, ZKL_FOREVER, &e->run), 0);
    }
    if (!e->joined)
        CHECK_INT(zkl_member_join(&e->joined, e->s, "/x/g", "id", NULL, 0, NULL), 0);
    if (!e->joining)
        CHECK_INT(zkl_member_join(&e->joining, e->s, "/x/j", "id", NULL, 0, NULL), 0);
    if (!e->members)
        CHECK_INT(zkl_members_read(&e->members, e->s, "/x/g", ZKL_MEMBER_GROUP, ZKL_FOREVER), 0);
    if (!e->queue)
        CHECK_INT(zkl_queue_read(&e->queue, e->s, "/x", NULL, ZKL_FOREVER), 0);
    if (!e->watch)
        CHECK_INT(zkl_queue_watch(&e->watch, e->s, "/x", on_queue, NULL), 0);
}

/* What the call before has ended is made anew. */
static void prepare(struct scene *e)
{
    if (!e->s)
        open_session(e);
    prepare_locks(e);
    prepare_others(e);
    if (!e->candidate)
        CHECK_INT(zkl_election_new(&e->candidate, e->s, "/x/e", "id", NULL), 0);
    zkl_election_resign(e->candidate);
    if (!e->observer)
        CHECK_INT(zkl_election_watch(&e->observer, e->candidate, on_leader, NULL), 0);
    if (!e->leader) {
        CHECK_INT(zkl_election_new(&e->leader, e->s, "/x/l", "id", NULL), 0);
        CHECK_INT(zkl_election_campaign(e->leader, ZKL_FOREVER, NULL), 0);
    }
}

static void clear_made(void)
{
    g_clear_pointer(&out.source, g_source_unref);
    g_clear_pointer(&out.watch, zkl_watch_free);
    g_clear_pointer(&out.queue, zkl_queue_free);
    g_clear_pointer(&out.barrier, zkl_barrier_free);
    g_clear_pointer(&out.pair, zkl_double_barrier_free);
    g_clear_pointer(&out.counter, zkl_counter_free);
    g_clear_pointer(&out.member, zkl_member_free);
    g_clear_pointer(&out.members, zkl_members_free);
    g_clear_pointer(&out.election, zkl_election_free);
    g_clear_pointer(&out.grant, zkl_grant_release);
    g_clear_pointer(&out.mutex, zkl_mutex_free);
    g_clear_pointer(&out.rwlock, zkl_rwlock_free);
    g_clear_pointer(&out.semaphore, zkl_semaphore_free);
    g_clear_pointer(&out.once, zkl_once_free);
    g_clear_pointer(&out.multilock, zkl_multilock_free);
    g_clear_pointer(&out.session, zkl_session_close);
}

/* All that belongs to the session, which may be closed. */
static void clear(struct scene *e)
{
    g_clear_pointer(&e->s, zkl_session_close);
    g_clear_pointer(&e->observer, zkl_watch_free);
    g_clear_pointer(&e->watch, zkl_watch_free);
    g_clear_pointer(&e->queue, zkl_queue_free);
    g_clear_pointer(&e->op, zkl_op_free);
    zkl_grant_release(e->grant);
    e->grant = NULL;
    g_clear_pointer(&e->barrier, zkl_barrier_free);
    g_clear_pointer(&e->pair, zkl_double_barrier_free);
    g_clear_pointer(&e->inside, zkl_double_barrier_free);
    g_clear_pointer(&e->counter, zkl_counter_free);
    g_clear_pointer(&e->joined, zkl_member_free);
    g_clear_pointer(&e->joining, zkl_member_free);
    g_clear_pointer(&e->members, zkl_members_free);
    g_clear_pointer(&e->candidate, zkl_election_free);
    g_clear_pointer(&e->leader, zkl_election_free);
    g_clear_pointer(&e->mutex, zkl_mutex_free);
    g_clear_pointer(&e->held, zkl_mutex_free);
    g_clear_pointer(&e->multilock, zkl_multilock_free);
    g_clear_pointer(&e->rwlock, zkl_rwlock_free);
    g_clear_pointer(&e->semaphore, zkl_semaphore_free);
    g_clear_pointer(&e->run, zkl_grant_release);
    g_clear_pointer(&e->once, zkl_once_free);
    g_clear_pointer(&e->working, zkl_once_free);
}

static struct scene *begin(bool dispatch)
{
    struct scene *e = g_new0(struct scene, 1);

    e->t = live_begin();
    REQUIRE(raw_create(e->t->admin, e->t->path, NULL, -1, 0, NULL) == ZOK);
    e->proxy = proxy_start(e->t->port);
    e->servers = g_strconcat(proxy_connect(e->proxy), e->t->path, NULL);
    e->dispatch = dispatch;
    out.stats = (zkl_stats)ZKL_STATS_INIT;
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
    v->call->fn(v->scene);
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
        clear_made();
        if (!e->s)
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
    CHECK_INT(zkl_session_on_change(e->s, on_session, NULL), 0);
    LIVE_UNTIL(called(e));
}

/* *other: who is to be joined, if dispatching. */
static void block(struct scene *e, const struct waiting *w, pthread_t *other)
{
    /* Nobody else is to come to the gate later. */
    g_clear_pointer(&e->watch, zkl_watch_free);
    g_clear_pointer(&e->observer, zkl_watch_free);
    settle(e);
    atomic_store(&gate, true);
    if (w->cause == BY_SERVER)
        proxy_freeze(e->proxy, PROXY_BOTH);
    if (w->cause == BY_CUT) {
        proxy_cut(e->proxy);
        LIVE_UNTIL(zkl_session_wait(e->s, 0) != 0);
    }
    if (w->cause == BY_WATCH)
        CHECK_INT(zkl_queue_watch(&e->watch, e->s, "/x", on_queue, NULL), 0);
    if (w->cause == BY_LEADER)
        CHECK_INT(zkl_election_watch(&e->watch, e->candidate, on_leader, NULL), 0);
    if (w->cause == BY_CALLBACK || (w->cause == BY_ITSELF && w->dispatch))
        CHECK_INT(zkl_session_on_change(e->s, on_session, NULL), 0);
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
    clear_made();
}

TEST_CASE(while_waiting)
{
    for (size_t i = 0; i < G_N_ELEMENTS(waiting); i++) {
        struct scene *e = begin(waiting[i].dispatch);
        cancel_waiting(e, &waiting[i]);
        if (e->s)
            settle(e); /* the queue of callbacks goes on */
        end(e);
    }
}
