/* Every function of the library, called by a thread whose cancellation is pending, and those that
 * wait by one that is cancelled meanwhile: each returns as if nothing were, and leaves the library
 * working. tests/lint/exports.sh compares the table with the export map. */
#include "live.h"
#include "proxy.h"
#include "suites.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zkl-glib.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

struct scene {
    struct live *t;
    struct proxy *proxy;
    bool dispatch;
    zkl_session *session;
    zkl_mutex *mutex, *granting; /* of paths of their own, like the next one */
    zkl_rwlock *rwlock;
    zkl_semaphore *semaphore;
    zkl_election *election;
    zkl_multilock *multilock; /* of two more */
    zkl_grant *_Atomic grant; /* granting's */
    zkl_op *op;               /* behind it */
    zkl_queue *queue;
    zkl_watch *watch;
    zkl_watch *observer;
    struct {
        zkl_session *session;
        zkl_mutex *mutex;
        zkl_rwlock *rwlock;
        zkl_semaphore *semaphore;
        zkl_multilock *multilock;
        zkl_election *election;
        zkl_queue *queue;
        zkl_watch *watch;
        zkl_watch *observer;
        GSource *source;
    } made; /* by the call */
    struct zoo_op check;
    zkl_deadline deadline;
    zkl_session_claim claim;
    zkl_stats stats;
    atomic_int calls; /* of callbacks */
    atomic_bool gate; /* shut: callbacks wait there */
    atomic_int at_gate;
    char buf[64];
    int limit;
    uint64_t token;
};

static void pass_gate(struct scene *c)
{
    atomic_fetch_add(&c->at_gate, 1);
    while (atomic_load(&c->gate))
        usleep(1000); /* a point of cancellation */
    atomic_fetch_sub(&c->at_gate, 1);
    atomic_fetch_add(&c->calls, 1);
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *scene)
{
    struct scene *c = scene;

    (void)error;
    if (c->grant)
        zkl_grant_release(grant);
    else
        c->grant = grant;
    pass_gate(c);
}

static void on_grant(const zkl_grant *grant, zkl_state state, void *scene)
{
    (void)grant, (void)state;
    pass_gate(scene);
}

static void on_session(zkl_session *s, zkl_session_event event, int64_t id, void *scene)
{
    (void)s, (void)event, (void)id;
    pass_gate(scene);
}

static void on_multi(const zkl_error *error, void *scene)
{
    (void)error;
    pass_gate(scene);
}

static void on_election(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                        const zkl_error *error, void *scene)
{
    (void)e, (void)event, (void)grant, (void)error;
    pass_gate(scene);
}

static void on_leader(const zkl_leader *leader, void *scene)
{
    (void)leader;
    pass_gate(scene);
}

static void on_queue(void *scene)
{
    pass_gate(scene);
}

static void with_handle(struct _zhandle *zh, void *scene)
{
    (void)zh;
    pass_gate(scene);
}

static zkl_session_options options_of(const struct scene *c)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.dispatch = c->dispatch;
    o.session_timeout_ms = 60000;
    return o;
}

static void open_other(struct scene *c)
{
    zkl_session_options o = options_of(c);

    zkl_session_open(&c->made.session, "127.0.0.1:1", &o, NULL);
}

/* A session of nobody. */
static int end_other(struct scene *c)
{
    const zkl_session_claim claim = {.id = 1};

    return zkl_session_end(c->t->connect, NULL, &claim, 10000);
}

static zkl_mutex_options retaining(void)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    o.retain_ms = 60000;
    return o;
}

static void write_and_read(zkl_rwlock *l)
{
    CHECK_INT(zkl_rwlock_lock(l, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_rwlock_lock_shared(l, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
    CHECK_INT(zkl_rwlock_unlock(l), 0);
}

/* The second one comes without the server. */
static void take_turns(zkl_mutex *m)
{
    for (int i = 0; i < 2; i++) {
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
}

/* Each in turn: of calls that block none waits for long. */
static void use_barrier(struct scene *c)
{
    zkl_barrier *b;

    CHECK_INT(zkl_barrier_new(&b, c->session, c->t->path, NULL), 0);
    CHECK_INT(zkl_barrier_set(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_barrier_wait(b, 1), ZKL_ETIMEDOUT);
    CHECK_INT(zkl_barrier_wait_async(b, ZKL_FOREVER, on_multi, c), 0);
    zkl_barrier_remove(b, ZKL_FOREVER); /* it may have children */
    zkl_barrier_free(b);
}

static void use_double_barrier(struct scene *c)
{
    zkl_double_barrier *b;
    char *path = g_strdup_printf("%s/d", c->t->path);

    CHECK_INT(zkl_double_barrier_new(&b, c->session, path, 1, NULL), 0);
    CHECK_INT(zkl_double_barrier_enter(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_double_barrier_leave(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_double_barrier_enter_async(b, ZKL_FOREVER, on_multi, c), 0);
    zkl_double_barrier_leave_async(b, ZKL_FOREVER, on_multi, c); /* it may enter still */
    zkl_double_barrier_free(b);
    g_free(path);
}

static void use_counter(struct scene *c)
{
    zkl_counter *counter;
    char *path = g_strdup_printf("%s/n", c->t->path);
    int64_t value;

    CHECK_INT(zkl_counter_new(&counter, c->session, path, ZKL_COUNTER_64), 0);
    CHECK_INT(zkl_counter_set(counter, 1, NULL, ZKL_FOREVER), 0);
    CHECK_INT(zkl_counter_add(counter, 1, NULL, ZKL_FOREVER, &value), 0);
    CHECK_INT(zkl_counter_compare_and_set(counter, 2, 1, NULL, ZKL_FOREVER), 0);
    CHECK_INT(zkl_counter_get(counter, ZKL_FOREVER, &value), 0);
    zkl_counter_free(counter);
    g_free(path);
}

static void acquire(struct scene *c)
{
    zkl_grant *grant = NULL;

    CHECK_INT(zkl_semaphore_acquire(c->semaphore, 1, ZKL_FOREVER, &grant), 0);
    zkl_grant_release(grant);
}

static void wait_for_op(struct scene *c)
{
    zkl_grant *grant = NULL;
    zkl_op *op;

    CHECK_INT(zkl_semaphore_acquire_async(c->semaphore, 1, ZKL_FOREVER, NULL, NULL, &op), 0);
    CHECK_INT(zkl_op_wait(op, &grant), 0);
    zkl_grant_release(grant);
    zkl_op_free(op);
}

static int make_multilock(struct scene *c, zkl_multilock **ret)
{
    char *one = g_strdup_printf("%s/1", c->t->path), *two = g_strdup_printf("%s/2", c->t->path);
    const char *const paths[] = {one, two};
    int code = zkl_multilock_new(ret, c->session, paths, G_N_ELEMENTS(paths), NULL);

    g_free(one);
    g_free(two);
    return code;
}

static void lock_all(zkl_multilock *l)
{
    zkl_grant *grant = NULL;

    CHECK_INT(zkl_multilock_lock(l, ZKL_FOREVER, &grant), 0);
    zkl_grant_release(grant);
}

static void use_member(struct scene *c)
{
    char *path = g_strdup_printf("%s/g", c->t->path);
    zkl_deadline deadline;
    zkl_member *m;

    CHECK_INT(zkl_member_join(&m, c->session, path, "a", NULL, 0, NULL), 0);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_update(m, "x", 1, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_wait_async(m, ZKL_FOREVER, on_multi, c), 0);
    CHECK_INT(zkl_member_update_async(m, "y", 1, ZKL_FOREVER, on_multi, c), 0);
    CHECK(zkl_member_token(m) != 0);
    CHECK(zkl_member_state(m) <= ZKL_SUSPECT && zkl_member_remaining_ms(m) > 0);
    CHECK_INT(zkl_member_deadline(m, &deadline), 0);
    CHECK_INT(zkl_member_leave_async(m, ZKL_FOREVER, on_multi, c), 0);
    CHECK_INT(zkl_member_leave(m, ZKL_FOREVER), 0);
    zkl_member_free(m);
    g_free(path);
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    (void)event, (void)member, (void)all, (void)data;
}

static void use_members(struct scene *c)
{
    const zkl_member_info *owners[2];
    zkl_shards_share share;
    zkl_members *ms;
    zkl_watch *w;

    CHECK_INT(zkl_members_read(&ms, c->session, c->t->path, NULL, ZKL_FOREVER), 0);
    CHECK(zkl_members_get(ms, zkl_members_count(ms)) == NULL);
    CHECK_INT(zkl_shards_plan(owners, 2, ms), 0);
    CHECK((owners[1] == NULL) == (zkl_members_count(ms) == 0));
    CHECK_INT(zkl_shards_share_of(zkl_members_get(ms, 0), &share), 0);
    zkl_members_free(ms);
    CHECK_INT(zkl_members_watch(&w, c->session, c->t->path, NULL, on_members, c), 0);
    zkl_watch_free(w);
}

#define FREED(field, function) (function(c->field), c->field = NULL)

/* In the order of the map. */
#define CALLS(X)                                                                                   \
    X(zkl_barrier_free, use_barrier(c))                                                            \
    X(zkl_barrier_new, use_barrier(c))                                                             \
    X(zkl_barrier_remove, use_barrier(c))                                                          \
    X(zkl_barrier_set, use_barrier(c))                                                             \
    X(zkl_barrier_wait, use_barrier(c))                                                            \
    X(zkl_barrier_wait_async, use_barrier(c))                                                      \
    X(zkl_counter_add, use_counter(c))                                                             \
    X(zkl_counter_compare_and_set, use_counter(c))                                                 \
    X(zkl_counter_free, use_counter(c))                                                            \
    X(zkl_counter_get, use_counter(c))                                                             \
    X(zkl_counter_new, use_counter(c))                                                             \
    X(zkl_counter_set, use_counter(c))                                                             \
    X(zkl_double_barrier_enter, use_double_barrier(c))                                             \
    X(zkl_double_barrier_enter_async, use_double_barrier(c))                                       \
    X(zkl_double_barrier_free, use_double_barrier(c))                                              \
    X(zkl_double_barrier_leave, use_double_barrier(c))                                             \
    X(zkl_double_barrier_leave_async, use_double_barrier(c))                                       \
    X(zkl_double_barrier_new, use_double_barrier(c))                                               \
    X(zkl_election_campaign, zkl_election_campaign(c->election, ZKL_FOREVER, NULL))                \
    X(zkl_election_campaign_async,                                                                 \
      zkl_election_campaign_async(c->election, ZKL_FOREVER, on_acquired, c, NULL))                 \
    X(zkl_election_free, FREED(election, zkl_election_free))                                       \
    X(zkl_election_get_status, zkl_election_get_status(c->election, &status))                      \
    X(zkl_election_leader, zkl_election_leader(c->election, c->buf, sizeof c->buf, &c->token))     \
    X(zkl_election_new, zkl_election_new(&c->made.election, c->session, c->t->lock, "c", NULL))    \
    X(zkl_election_watch, zkl_election_watch(c->election, on_leader, c, &c->made.observer))        \
    X(zkl_election_proclaim, zkl_election_proclaim(c->election, "x", 1, ZKL_FOREVER))              \
    X(zkl_election_proclaim_async,                                                                 \
      zkl_election_proclaim_async(c->election, "x", 1, ZKL_FOREVER, on_multi, c))                  \
    X(zkl_election_resign, zkl_election_resign(c->election))                                       \
    X(zkl_election_start, zkl_election_start(c->election, on_election, c))                         \
    X(zkl_election_yield, zkl_election_yield(c->election))                                         \
    X(zkl_glib_source_new, c->made.source = zkl_glib_source_new(c->session))                       \
    X(zkl_grant_check_op, zkl_grant_check_op(c->grant, &c->check))                                 \
    X(zkl_grant_check_ops, zkl_grant_check_ops(c->grant, &c->check, 1))                            \
    X(zkl_grant_count, zkl_grant_count(c->grant))                                                  \
    X(zkl_grant_deadline, zkl_grant_deadline(c->grant, &c->deadline))                              \
    X(zkl_grant_fence, zkl_grant_fence(c->grant, c->buf, sizeof c->buf))                           \
    X(zkl_grant_multi, zkl_grant_multi(c->grant, NULL, 0, 0, ZKL_FOREVER))                         \
    X(zkl_grant_multi_async,                                                                       \
      zkl_grant_multi_async(c->grant, NULL, 0, 0, ZKL_FOREVER, on_multi, c))                       \
    X(zkl_grant_node, zkl_grant_node(c->grant))                                                    \
    X(zkl_grant_node_at, zkl_grant_node_at(c->grant, 0))                                           \
    X(zkl_grant_on_change, zkl_grant_on_change(c->grant, on_grant, c))                             \
    X(zkl_grant_on_revoke, zkl_grant_on_revoke(c->grant, on_grant, c))                             \
    X(zkl_grant_on_wanted, zkl_grant_on_wanted(c->grant, on_grant, c))                             \
    X(zkl_grant_release, FREED(grant, zkl_grant_release))                                          \
    X(zkl_grant_remaining_ms, zkl_grant_remaining_ms(c->grant))                                    \
    X(zkl_grant_session_id, zkl_grant_session_id(c->grant))                                        \
    X(zkl_grant_slots, zkl_grant_slots(c->grant, &c->limit, 1))                                    \
    X(zkl_grant_loss, zkl_grant_loss(c->grant))                                                    \
    X(zkl_grant_state, zkl_grant_state(c->grant))                                                  \
    X(zkl_grant_token, zkl_grant_token(c->grant))                                                  \
    X(zkl_grant_tokens, zkl_grant_tokens(c->grant, &c->token, 1))                                  \
    X(zkl_grant_turn, zkl_grant_turn(c->grant))                                                    \
    X(zkl_histogram_bound_ns, zkl_histogram_bound_ns(0))                                           \
    X(zkl_last_error, zkl_last_error(&error))                                                      \
    X(zkl_member_deadline, use_member(c))                                                          \
    X(zkl_member_free, use_member(c))                                                              \
    X(zkl_member_join, use_member(c))                                                              \
    X(zkl_member_leave, use_member(c))                                                             \
    X(zkl_member_leave_async, use_member(c))                                                       \
    X(zkl_member_remaining_ms, use_member(c))                                                      \
    X(zkl_member_state, use_member(c))                                                             \
    X(zkl_member_token, use_member(c))                                                             \
    X(zkl_member_update, use_member(c))                                                            \
    X(zkl_member_update_async, use_member(c))                                                      \
    X(zkl_member_wait, use_member(c))                                                              \
    X(zkl_member_wait_async, use_member(c))                                                        \
    X(zkl_members_count, use_members(c))                                                           \
    X(zkl_members_free, use_members(c))                                                            \
    X(zkl_shards_plan, use_members(c))                                                             \
    X(zkl_shards_share_of, use_members(c))                                                         \
    X(zkl_members_get, use_members(c))                                                             \
    X(zkl_members_read, use_members(c))                                                            \
    X(zkl_members_watch, use_members(c))                                                           \
    X(zkl_multilock_free, FREED(multilock, zkl_multilock_free))                                    \
    X(zkl_multilock_lock, lock_all(c->multilock))                                                  \
    X(zkl_multilock_lock_async,                                                                    \
      zkl_multilock_lock_async(c->multilock, ZKL_FOREVER, on_acquired, c, NULL))                   \
    X(zkl_multilock_new, make_multilock(c, &c->made.multilock))                                    \
    X(zkl_mutex_depth, zkl_mutex_depth(c->mutex))                                                  \
    X(zkl_mutex_free, FREED(mutex, zkl_mutex_free))                                                \
    X(zkl_mutex_lock, zkl_mutex_lock(c->mutex, ZKL_FOREVER, NULL))                                 \
    X(zkl_mutex_lock_async, zkl_mutex_lock_async(c->mutex, ZKL_FOREVER, on_acquired, c, NULL))     \
    X(zkl_mutex_new, zkl_mutex_new(&c->made.mutex, c->session, c->t->lock, NULL))                  \
    X(zkl_mutex_unlock, take_turns(c->mutex))                                                      \
    X(zkl_mutex_yield, zkl_mutex_yield(c->mutex))                                                  \
    X(zkl_op_cancel, zkl_op_cancel(c->op))                                                         \
    X(zkl_op_free, FREED(op, zkl_op_free))                                                         \
    X(zkl_op_node, zkl_op_node(c->op, c->buf, sizeof c->buf))                                      \
    X(zkl_op_wait, wait_for_op(c))                                                                 \
    X(zkl_queue_break, zkl_queue_break(c->session, c->t->path, "none", 1, ZKL_FOREVER))            \
    X(zkl_queue_count, zkl_queue_count(c->queue))                                                  \
    X(zkl_queue_free, FREED(queue, zkl_queue_free))                                                \
    X(zkl_queue_get, zkl_queue_get(c->queue, 0))                                                   \
    X(zkl_queue_read, zkl_queue_read(&c->made.queue, c->session, c->t->path, NULL, ZKL_FOREVER))   \
    X(zkl_queue_revoke,                                                                            \
      zkl_queue_revoke(&c->made.queue, c->session, c->t->path, NULL, ZKL_FOREVER))                 \
    X(zkl_queue_watch, zkl_queue_watch(&c->made.watch, c->session, c->t->path, on_queue, c))       \
    X(zkl_rwlock_depth, zkl_rwlock_depth(c->rwlock))                                               \
    X(zkl_rwlock_free, FREED(rwlock, zkl_rwlock_free))                                             \
    X(zkl_rwlock_lock, zkl_rwlock_lock(c->rwlock, ZKL_FOREVER, NULL))                              \
    X(zkl_rwlock_lock_async, zkl_rwlock_lock_async(c->rwlock, ZKL_FOREVER, on_acquired, c, NULL))  \
    X(zkl_rwlock_lock_shared, zkl_rwlock_lock_shared(c->rwlock, ZKL_FOREVER, NULL))                \
    X(zkl_rwlock_lock_shared_async,                                                                \
      zkl_rwlock_lock_shared_async(c->rwlock, ZKL_FOREVER, on_acquired, c, NULL))                  \
    X(zkl_rwlock_new, zkl_rwlock_new(&c->made.rwlock, c->session, c->t->lock, NULL))               \
    X(zkl_rwlock_unlock, write_and_read(c->rwlock))                                                \
    X(zkl_semaphore_acquire, acquire(c))                                                           \
    X(zkl_semaphore_acquire_async,                                                                 \
      zkl_semaphore_acquire_async(c->semaphore, 1, ZKL_FOREVER, on_acquired, c, NULL))             \
    X(zkl_semaphore_free, FREED(semaphore, zkl_semaphore_free))                                    \
    X(zkl_semaphore_get_limit, zkl_semaphore_get_limit(c->semaphore, ZKL_FOREVER, &c->limit))      \
    X(zkl_semaphore_new, zkl_semaphore_new(&c->made.semaphore, c->session, c->t->lock, NULL))      \
    X(zkl_semaphore_set_limit, zkl_semaphore_set_limit(c->semaphore, 8, ZKL_FOREVER))              \
    X(zkl_session_call, zkl_session_call(c->session, with_handle, c))                              \
    X(zkl_session_close, FREED(session, zkl_session_close))                                        \
    X(zkl_session_dispatch, zkl_session_dispatch(c->session))                                      \
    X(zkl_session_fd, zkl_session_fd(c->session))                                                  \
    X(zkl_session_flush, zkl_session_flush(c->session, ZKL_FOREVER))                               \
    X(zkl_session_end, end_other(c))                                                               \
    X(zkl_session_get_claim, zkl_session_get_claim(c->session, &c->claim))                         \
    X(zkl_session_id, zkl_session_id(c->session))                                                  \
    X(zkl_session_keep, zkl_session_keep(c->session, 1))                                           \
    X(zkl_session_on_change, zkl_session_on_change(c->session, on_session, c))                     \
    X(zkl_session_open, open_other(c))                                                             \
    X(zkl_session_set_servers, zkl_session_set_servers(c->session, proxy_connect(c->proxy)))       \
    X(zkl_session_outage, zkl_session_outage(c->session))                                          \
    X(zkl_session_stats, zkl_session_stats(c->session, &c->stats))                                 \
    X(zkl_session_timeout_ms, zkl_session_timeout_ms(c->session))                                  \
    X(zkl_session_wait, zkl_session_wait(c->session, ZKL_FOREVER))                                 \
    X(zkl_stats_prometheus, zkl_stats_prometheus(&c->stats, NULL, 0, NULL, 0))                     \
    X(zkl_strerror, zkl_strerror(0))                                                               \
    X(zkl_strloss, zkl_strloss(ZKL_LOSS_NONE))                                                     \
    X(zkl_version, zkl_version())                                                                  \
    X(zkl_watch_free, FREED(watch, zkl_watch_free))

#define DEFINE(name, expression)                                                                   \
    static void call_##name(struct scene *c)                                                       \
    {                                                                                              \
        zkl_election_status status = {.size = sizeof status};                                      \
        zkl_error error;                                                                           \
        (void)c, (void)status, (void)error;                                                        \
        (void)(expression);                                                                        \
    }

CALLS(DEFINE)

#define ENTRY(name, expression) {#name, call_##name},
static const struct call {
    const char *name;
    void (*fn)(struct scene *c);
} calls[] = {CALLS(ENTRY)};

/* ---- what they are called with ---- */

static void dispatch(struct scene *c)
{
    if (c->dispatch && c->session)
        zkl_session_dispatch(c->session);
}

static bool granted(struct scene *c)
{
    dispatch(c);
    return c->grant != NULL;
}

static void take_grant(struct scene *c)
{
    CHECK_INT(zkl_mutex_lock_async(c->granting, ZKL_FOREVER, on_acquired, c, NULL), 0);
    LIVE_UNTIL(granted(c));
}

static void open_session(struct scene *c)
{
    zkl_session_options o = options_of(c);
    char *path = g_strdup_printf("%s/g", c->t->path);

    REQUIRE(zkl_session_open(&c->session, proxy_connect(c->proxy), &o, NULL) == 0);
    CHECK_INT(zkl_session_wait(c->session, ZKL_FOREVER), 0);
    REQUIRE(zkl_mutex_new(&c->granting, c->session, path, NULL) == 0);
    g_free(path);
}

/* What the call before has ended is made anew. */
static void prepare(struct scene *c)
{
    char *path = g_strdup_printf("%s/e", c->t->path), *rw = g_strdup_printf("%s/rw", c->t->path);
    char *sem = g_strdup_printf("%s/sem", c->t->path);
    const zkl_mutex_options options = retaining();
    zkl_semaphore_options limited = ZKL_SEMAPHORE_OPTIONS_INIT;

    limited.limit = 8;
    limited.numbered = 1;

    if (!c->session)
        open_session(c);
    if (!c->mutex)
        CHECK_INT(zkl_mutex_new(&c->mutex, c->session, c->t->lock, &options), 0);
    if (!c->rwlock)
        CHECK_INT(zkl_rwlock_new(&c->rwlock, c->session, rw, NULL), 0);
    if (!c->semaphore)
        CHECK_INT(zkl_semaphore_new(&c->semaphore, c->session, sem, &limited), 0);
    if (!c->multilock)
        CHECK_INT(make_multilock(c, &c->multilock), 0);
    if (!c->election)
        CHECK_INT(zkl_election_new(&c->election, c->session, path, "c", NULL), 0);
    if (!c->grant)
        take_grant(c);
    if (!c->op)
        CHECK_INT(zkl_mutex_lock_async(c->granting, ZKL_FOREVER, on_acquired, c, &c->op), 0);
    if (!c->queue)
        CHECK_INT(zkl_queue_read(&c->queue, c->session, c->t->path, NULL, ZKL_FOREVER), 0);
    if (!c->watch)
        CHECK_INT(zkl_queue_watch(&c->watch, c->session, c->t->path, on_queue, c), 0);
    if (!c->observer)
        CHECK_INT(zkl_election_watch(c->election, on_leader, c, &c->observer), 0);
    zkl_election_resign(c->election);
    g_free(rw);
    g_free(sem);
    g_free(path);
}

static void clear_made(struct scene *c)
{
    if (c->made.source)
        g_source_unref(c->made.source);
    zkl_watch_free(c->made.observer);
    zkl_watch_free(c->made.watch);
    zkl_queue_free(c->made.queue);
    zkl_election_free(c->made.election);
    zkl_mutex_free(c->made.mutex);
    zkl_rwlock_free(c->made.rwlock);
    zkl_semaphore_free(c->made.semaphore);
    zkl_multilock_free(c->made.multilock);
    zkl_session_close(c->made.session);
    memset(&c->made, 0, sizeof c->made);
}

/* All that belongs to the session, which may be closed. */
static void clear(struct scene *c)
{
    zkl_session_close(c->session);
    zkl_watch_free(c->observer);
    zkl_watch_free(c->watch);
    zkl_queue_free(c->queue);
    zkl_op_free(c->op);
    zkl_grant_release(c->grant);
    zkl_election_free(c->election);
    zkl_mutex_free(c->mutex);
    zkl_multilock_free(c->multilock);
    zkl_mutex_free(c->granting);
    zkl_rwlock_free(c->rwlock);
    zkl_semaphore_free(c->semaphore);
    c->session = NULL;
    c->observer = NULL;
    c->watch = NULL;
    c->queue = NULL;
    c->op = NULL;
    c->grant = NULL;
    c->election = NULL;
    c->mutex = NULL;
    c->multilock = NULL;
    c->granting = NULL;
    c->rwlock = NULL;
    c->semaphore = NULL;
}

static struct scene *begin(bool dispatch)
{
    struct scene *c = g_new0(struct scene, 1);

    c->t = live_begin();
    c->proxy = proxy_start(c->t->port);
    c->dispatch = dispatch;
    c->stats = (zkl_stats)ZKL_STATS_INIT;
    prepare(c);
    return c;
}

static void end(struct scene *c)
{
    clear(c);
    live_end(c->t);
    proxy_stop(c->proxy);
    g_free(c);
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

static bool joined(struct scene *c, pthread_t thread, void **ret)
{
    dispatch(c);
    return pthread_tryjoin_np(thread, ret) == 0;
}

/* It has returned, and was cancelled behind that. */
static void check_end(struct victim *v, pthread_t thread)
{
    void *result = NULL;
    struct scene *c = v->scene;

    if (c->dispatch && strcmp(v->call->name, "zkl_session_close") != 0)
        LIVE_UNTIL(joined(c, thread, &result));
    else
        pthread_join(thread, &result);
    if (!CHECK(atomic_load(&v->returned)))
        fprintf(stderr, "%s is a point of cancellation\n", v->call->name);
    CHECK(result == PTHREAD_CANCELED);
}

static void all_pending(bool dispatch)
{
    struct scene *c = begin(dispatch);

    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
        struct victim v = {.scene = c, .call = &calls[i], .pending = true};
        pthread_t thread;
        prepare(c);
        REQUIRE(pthread_create(&thread, NULL, fall, &v) == 0);
        check_end(&v, thread);
        clear_made(c);
        if (!c->session)
            clear(c);
    }
    prepare(c); /* which waits for a lock, for instance */
    end(c);
}

static void pending(void)
{
    all_pending(false);
}

static void pending_dispatched(void)
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
    bool dispatch, leads;
} waiting[] = {
    {"zkl_mutex_lock", BY_SERVER, false, false},
    {"zkl_rwlock_lock", BY_SERVER, false, false},
    {"zkl_multilock_lock", BY_SERVER, false, false},
    {"zkl_op_wait", BY_SERVER, false, false},
    {"zkl_semaphore_acquire", BY_SERVER, false, false},
    {"zkl_election_campaign", BY_SERVER, false, false},
    {"zkl_election_leader", BY_SERVER, false, false},
    {"zkl_election_proclaim", BY_SERVER, false, true},
    {"zkl_queue_read", BY_SERVER, false, false},
    {"zkl_queue_break", BY_SERVER, false, false},
    {"zkl_queue_revoke", BY_SERVER, false, false},
    {"zkl_grant_multi", BY_SERVER, false, false},
    {"zkl_session_wait", BY_CUT, false, false},
    {"zkl_session_call", BY_ITSELF, false, false},
    {"zkl_session_dispatch", BY_ITSELF, true, false},
    {"zkl_session_dispatch", BY_CALLBACK, true, false},
    {"zkl_session_close", BY_CALLBACK, false, false},
    {"zkl_watch_free", BY_WATCH, false, false},
    {"zkl_watch_free", BY_LEADER, false, false},
};

static const struct call *find_call(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

static void *dispatch_once(void *scene)
{
    dispatch(scene);
    return NULL;
}

static bool called(struct scene *c)
{
    dispatch(c);
    return atomic_load(&c->calls) > 0;
}

/* What is queued is called, so that the gate is the next one's. */
static void settle(struct scene *c)
{
    atomic_store(&c->calls, 0);
    CHECK_INT(zkl_session_on_change(c->session, on_session, c), 0);
    LIVE_UNTIL(called(c));
}

/* *other: who is to be joined, if dispatching. */
static void block(struct scene *c, const struct waiting *w, pthread_t *other)
{
    if (w->leads)
        CHECK_INT(zkl_election_campaign(c->election, ZKL_FOREVER, NULL), 0);
    /* Nobody else is to come to the gate later. */
    g_clear_pointer(&c->watch, zkl_watch_free);
    g_clear_pointer(&c->observer, zkl_watch_free);
    settle(c);
    atomic_store(&c->gate, true);
    if (w->cause == BY_SERVER)
        proxy_freeze(c->proxy, PROXY_BOTH);
    if (w->cause == BY_CUT) {
        proxy_cut(c->proxy);
        LIVE_UNTIL(zkl_session_wait(c->session, 0) != 0);
    }
    if (w->cause == BY_WATCH)
        CHECK_INT(zkl_queue_watch(&c->watch, c->session, c->t->path, on_queue, c), 0);
    if (w->cause == BY_LEADER)
        CHECK_INT(zkl_election_watch(c->election, on_leader, c, &c->watch), 0);
    if (w->cause == BY_CALLBACK || (w->cause == BY_ITSELF && w->dispatch))
        CHECK_INT(zkl_session_on_change(c->session, on_session, c), 0);
    if (w->cause == BY_CALLBACK && w->dispatch)
        REQUIRE(pthread_create(other, NULL, dispatch_once, c) == 0);
    if (w->cause >= BY_CALLBACK)
        LIVE_UNTIL(atomic_load(&c->at_gate) == 1);
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

static void cancel_waiting(struct scene *c, const struct waiting *w)
{
    struct victim v = {.scene = c, .call = find_call(w->name)};
    pthread_t thread, other = pthread_self();

    REQUIRE(v.call != NULL);
    block(c, w, &other);
    REQUIRE(pthread_create(&thread, NULL, fall, &v) == 0);
    if (w->cause == BY_ITSELF)
        LIVE_UNTIL(atomic_load(&c->at_gate) == 1);
    else
        LIVE_UNTIL(sleeps(&v));
    pthread_cancel(thread);
    atomic_store(&c->gate, false);
    proxy_thaw(c->proxy);
    proxy_heal(c->proxy);
    check_end(&v, thread);
    if (!pthread_equal(other, pthread_self()))
        pthread_join(other, NULL);
    clear_made(c);
}

static void while_waiting(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(waiting); i++) {
        struct scene *c = begin(waiting[i].dispatch);
        cancel_waiting(c, &waiting[i]);
        if (c->session)
            settle(c); /* the queue of callbacks goes on */
        end(c);
    }
}

static const struct test_case cases[] = {
    {"pending", pending},
    {"pending_dispatched", pending_dispatched},
    {"while_waiting", while_waiting},
    {NULL, NULL},
};
const struct test_suite cancel_calls_suite = {"cancel_calls", live_init, NULL, cases};
