/* A mutex on a real server: taken, tried, waited for and given up; levels and callbacks;
 * directories, layouts and administrators. What ends is in mutex_end.c. */
#include "fourletter.h"
#include "lib/lock/handle.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(mutex, .init = live_init);

/* ---- locked and unlocked ---- */

/* The grant's own words against the server's. */
TEST_CASE(granted)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g = NULL;
    struct Stat stat;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK(zkl_grant_remaining_ms(g) > 0 && zkl_grant_remaining_ms(g) < 10000);
    CHECK(g_str_has_prefix(zkl_grant_node(g), t->lock));
    REQUIRE(raw_exists(t->admin, zkl_grant_node(g), &stat) == ZOK);
    CHECK_INT(stat.ephemeralOwner, zkl_grant_session_id(g));
    CHECK_INT(stat.ephemeralOwner, zkl_session_id(t->session));
    CHECK_INT(stat.czxid, zkl_grant_token(g));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}

/* Across handles and sessions. */
TEST_CASE(tokens_rise)
{
    struct live *t = live_begin();
    zkl_session *sessions[] = {t->session, live_open(t, t->connect, NULL)};
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) {
        zkl_mutex *m = live_mutex(sessions[i % 2], t->lock);
        const zkl_grant *g = NULL;
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
        CHECK(zkl_grant_token(g) > last);
        last = zkl_grant_token(g);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        live_mutex_free(m);
    }
    live_end(t);
}

/* What a lock() that failed has left behind, while the holder still holds. */
static void check_traceless(struct live *t, zkl_session *loser, const char *held)
{
    LIVE_UNTIL(live_contenders(t, t->lock) == 1);
    LIVE_UNTIL(fourletter_watches_of(t->port, zkl_session_id(loser)) == 0);
    CHECK_INT(raw_exists(t->admin, held, NULL), ZOK);
}

TEST_CASE(try_busy)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(other, t->lock);
    const zkl_grant *g, *unset = NULL;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_mutex_lock(n, 0, &unset), ZKL_EBUSY);
    CHECK_ERROR(ZKL_EBUSY, t->lock);
    CHECK(unset == NULL);
    check_traceless(t, other, zkl_grant_node(g));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(n, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    live_end(t);
}

/* After a time-out nothing queues again, whatever happens to the lock later. */
TEST_CASE(timed_out)
{
    struct live *t = live_begin();
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(other, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    int64_t start = g_get_monotonic_time();
    CHECK_INT(zkl_mutex_lock(n, 150, NULL), ZKL_ETIMEDOUT);
    CHECK(g_get_monotonic_time() - start >= 150000);
    CHECK_ERROR(ZKL_ETIMEDOUT, t->lock);
    check_traceless(t, other, zkl_grant_node(g));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    session_settle(t, other);
    CHECK_INT(live_contenders(t, t->lock), 0);
    CHECK_INT(zkl_mutex_unlock(n), ZKL_EPERM);
    live_end(t);
}

/* A waiter watches its predecessor and nothing else, the one behind the holder its own node, too; a
 * holder its own node. */
TEST_CASE(watches)
{
    struct live *t = live_begin();
    zkl_session *others[] = {live_open(t, t->connect, NULL), live_open(t, t->connect, NULL)};
    zkl_mutex *m[] = {live_mutex(t->session, t->lock), live_mutex(others[0], t->lock),
                      live_mutex(others[1], t->lock)};
    REQUIRE(zkl_mutex_lock(m[0], ZKL_FOREVER, NULL) == 0);
    struct locker *a = locker_queue(t, m[1], t->lock, 2);
    struct locker *b = locker_queue(t, m[2], t->lock, 3);
    LIVE_UNTIL(live_watches(t) == 4);
    char **nodes = live_queue(t, t->lock);
    const int64_t ids[] = {zkl_session_id(t->session), zkl_session_id(others[0]),
                           zkl_session_id(others[1])};
    CHECK_INT(fourletter_has_watch(t->port, ids[0], nodes[0]), 1);
    CHECK_INT(fourletter_has_watch(t->port, ids[1], nodes[0]), 1);
    CHECK_INT(fourletter_has_watch(t->port, ids[1], nodes[1]), 1);
    CHECK_INT(fourletter_has_watch(t->port, ids[2], nodes[1]), 1);
    g_strfreev(nodes);
    CHECK_INT(zkl_mutex_unlock(m[0]), 0);
    CHECK_INT(locker_result(a), 0);
    CHECK_INT(locker_end(a), 0);
    CHECK_INT(locker_end(b), 0);
    live_end(t);
}

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
    live_end(t);
}

/* A completion that came is the only one: what follows it has been delivered too. */
static void check_once(struct live *t, struct completion *c)
{
    struct completion after = COMPLETION_INIT;
    char *path = g_strdup_printf("%s/after", t->path);
    zkl_mutex *m = live_mutex(t->session, path);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &after, NULL) == 0);
    CHECK_INT(completion_wait(&after), 0);
    zkl_grant_release(after.grant);
    g_free(path);
    CHECK_INT(completion_calls(c), 1);
}

static void *release(void *grant)
{
    zkl_grant_release(grant);
    return NULL;
}

TEST_CASE(asynchronous)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    zkl_op *op = NULL;
    pthread_t thread;
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, completion_take, &c, &op) == 0);
    CHECK(op != NULL);
    REQUIRE(completion_wait(&c) == 0);
    CHECK(!pthread_equal(c.thread, pthread_self()));
    check_once(t, &c);
    zkl_op_free(op);
    live_mutex_free(m); /* an owned grant lives on */
    session_settle(t, t->session);
    CHECK_INT(zkl_grant_state(c.grant), ZKL_HELD);
    CHECK_INT(raw_exists(t->admin, zkl_grant_node(c.grant), NULL), ZOK);
    REQUIRE(pthread_create(&thread, NULL, release, c.grant) == 0);
    pthread_join(thread, NULL);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    live_end(t);
}

/* ---- given up ---- */

TEST_CASE(canceled_while_queued)
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
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    zkl_op_free(op);
    live_end(t);
}

/* The create is on its way, and perhaps the grant: whichever it is, one completion and no node. */
TEST_CASE(canceled_at_any_moment)
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
    live_end(t);
}

/* ---- in callbacks ---- */

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
    g_free(path);
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
    v.mutex = live_mutex_options(t->session, t->lock, &o);
    REQUIRE(zkl_mutex_lock(v.mutex, ZKL_FOREVER, NULL) == 0);
    run_inside(&v, go_deeper);
    CHECK_INT(zkl_mutex_unlock(v.mutex), 0);
    CHECK_INT(zkl_mutex_unlock(v.mutex), ZKL_EPERM);
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
    live_end(t);
}

/* ---- an administrator deletes what is not his ---- */

static void delete_node(struct live *t, const char *path)
{
    REQUIRE(raw_delete(t->admin, path) == ZOK);
}

/* The holder is told, its unlock says so, the waiter is granted, and the lock goes on working. */
TEST_CASE(holder_deleted)
{
    struct live *t = live_begin();
    struct changes changes = CHANGES_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &changes), 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    delete_node(t, zkl_grant_node(g));
    changes_wait(&changes, ZKL_LOST);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    CHECK_INT(locker_result(l), 0);
    CHECK(locker_done(l) && (uint64_t)l->token > zkl_grant_token(g));
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_ERROR(ZKL_ELOST, t->lock);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &g), 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    live_end(t);
}

/* In the place of stderr: a pipe that is full. What stderr was. */
static int block_stderr(int *ret_reader)
{
    static const char some[4096];
    int ends[2], usual = dup(STDERR_FILENO);
    REQUIRE(usual >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    while (write(ends[1], some, sizeof some) > 0)
        continue;
    fcntl(ends[1], F_SETFL, 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    *ret_reader = ends[0];
    return usual;
}

/* The line about a lost lock finds no room, and nobody waits for that. */
TEST_CASE(told_though_stderr_blocks)
{
    struct live *t = live_begin();
    struct changes changes = CHANGES_INIT;
    zkl_session *s;
    const zkl_grant *g;
    int reader;
    REQUIRE(zkl_session_open(&s, t->connect, NULL, NULL) == 0);
    zkl_mutex *m = live_mutex(s, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_on_change(g, changes_take, &changes), 0);
    int usual = block_stderr(&reader);
    delete_node(t, zkl_grant_node(g));
    changes_wait(&changes, ZKL_LOST);
    CHECK(zkl_session_id(s) != 0);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    zkl_session_close(s);
    dup2(usual, STDERR_FILENO);
    close(usual);
    close(reader); /* which lets the line go */
    live_end(t);
}

/* Every level owes its unlock, and lock() is no success before the last of them. */
TEST_CASE(nested_after_loss)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g, *again = NULL;
    for (int i = 0; i < 3; i++)
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    uint64_t token = zkl_grant_token(g);
    delete_node(t, zkl_grant_node(g));
    LIVE_UNTIL(zkl_grant_state(g) == ZKL_LOST);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_mutex_lock(m, 0, &again), ZKL_ELOST);
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &again), ZKL_ELOST);
        CHECK_ERROR(ZKL_ELOST, t->lock);
        CHECK_INT(zkl_grant_token(g), token);
        CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    }
    CHECK(again == NULL);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &g), 0);
    CHECK(zkl_grant_token(g) > token);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    live_end(t);
}

/* It goes back to the tail and is served, and who stood behind it is served before. */
TEST_CASE(waiter_deleted)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    struct locker *a = locker_apart(t, t->session, t->lock, 2);
    struct locker *b = locker_apart(t, t->session, t->lock, 3);
    LIVE_UNTIL(live_watches(t) == 2);
    char **queue = live_queue(t, t->lock);
    delete_node(t, queue[1]);
    LIVE_UNTIL(fourletter_watches_on(t->port, queue[2]) == 1); /* both wait for the holder now */
    session_settle(t, t->session);
    CHECK(!locker_done(a) && !locker_done(b));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(b), 0);
    CHECK_STR(b->node, queue[2]);
    CHECK(!locker_done(a));
    CHECK_INT(locker_end(b), 0);
    CHECK_INT(locker_result(a), 0);
    CHECK(g_strcmp0(a->node, queue[2]) > 0 || g_strcmp0(a->node, queue[1]) != 0);
    CHECK_INT(locker_end(a), 0);
    g_strfreev(queue);
    live_end(t);
}

/* The last in line loses its node, and then its predecessor goes: no grant without a node. */
TEST_CASE(last_waiter_deleted)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    struct Stat stat;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    LIVE_UNTIL(live_watches(t) == 2);
    char **queue = live_queue(t, t->lock);
    delete_node(t, queue[1]);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK(g_strcmp0(l->node, queue[1]) != 0);
    REQUIRE(raw_exists(t->admin, l->node, &stat) == ZOK);
    CHECK_INT(stat.czxid, l->token);
    CHECK_INT(locker_end(l), 0);
    g_strfreev(queue);
    live_end(t);
}

/* ---- beside other layouts ---- */

#define UUID "0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e"
#define OUR_UUID "0d1c6a4e-58c8-8b51-b04e-1d4d0a3b0c8e"
#define MARKED_UUID "0d1c6a4e-58c8-8e7b-b04e-1d4d0a3b0c8e"
#define HEX "5f0c54a1f7c44b5d8b6b0a3c52a0c9d1"
#define SESSION "72057594037927936"

static void uproot(struct live *t, char *path)
{
    REQUIRE(raw_delete(t->admin, path) == ZOK);
    g_free(path);
}

static zkl_mutex *mutex_with(struct live *t, zkl_peer peer)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    o.peer = peer;
    return live_mutex_options(t->session, t->lock, &o);
}

static const char *const incompatible[] = {
    "_c_" UUID "-__READ__",
    "_c_" UUID "-__WRIT__",
    HEX "__rlock__",
    "_c_" UUID "-latch-",
    "_c_" UUID "-lease-",
    "ex",
    "sh",
    "_c_" OUR_UUID "-lamp-", /* of a later version of zkl */
    "_c_" MARKED_UUID "-lock-",
};

/* Apache's, which do not wait for kazoo's names. */
static const char *const apaches[] = {"x-" SESSION "-", "x--5-", "x-0100f6a2c3d4e5b7-"};

/* Whatever the time limit: refused, told which child it is, and no node left. */
static void check_refused(struct live *t, zkl_mutex *m, const char *child)
{
    static const int64_t timeouts[] = {0, 60000, ZKL_FOREVER};
    for (size_t i = 0; i < G_N_ELEMENTS(timeouts); i++) {
        CHECK_INT(zkl_mutex_lock(m, timeouts[i], NULL), ZKL_ELAYOUT);
        CHECK_ERROR(ZKL_ELAYOUT, strrchr(child, '/') + 1);
        CHECK_ERROR(ZKL_ELAYOUT, t->lock);
    }
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
}

static void check_refused_behind(struct live *t, zkl_peer peer, const char *name)
{
    zkl_mutex *m = mutex_with(t, peer);
    char *child = live_foreign_node(t, name, ZOO_SEQUENCE);

    check_refused(t, m, child);
    uproot(t, child);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}

TEST_CASE(refused_behind)
{
    struct live *t = live_begin();
    live_make_directory(t);
    for (size_t i = 0; i < G_N_ELEMENTS(incompatible); i++)
        check_refused_behind(t, i % 2 ? ZKL_PEER_KAZOO : ZKL_PEER_CURATOR, incompatible[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(apaches); i++)
        check_refused_behind(t, ZKL_PEER_KAZOO, apaches[i]);
    live_end(t);
}

/* Named as kazoo would, in one queue with its locks; and with ours of the other styles. */
TEST_CASE(kazoos_style)
{
    struct live *t = live_begin();
    live_make_directory(t);
    zkl_mutex *m = mutex_with(t, ZKL_PEER_KAZOO), *other = live_mutex(t->session, t->lock);
    char *kazoo = live_foreign_node(t, HEX "__lock__", ZOO_SEQUENCE);
    struct locker *l = locker_queue(t, m, t->lock, 1);
    struct locker *last = locker_queue(t, other, t->lock, 2);
    LIVE_UNTIL(live_watches(t) == 2);
    uproot(t, kazoo);
    CHECK_INT(locker_result(l), 0);
    CHECK(g_regex_match_simple("/[0-9a-f]{12}8[0-9a-f]{19}__lock__[0-9]{10}$", l->node, 0, 0));
    session_settle(t, t->session);
    CHECK(!locker_done(last));
    CHECK_INT(zkl_mutex_lock(other, 0, NULL), ZKL_EBUSY);
    CHECK_INT(locker_end(l), 0);
    CHECK_INT(locker_result(last), 0);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_EBUSY);
    CHECK_INT(locker_end(last), 0);
    live_end(t);
}

/* ---- the directory: made on demand, made again when it is gone, and the chroot above it ---- */

static void visit(zkl_session *s, const char *path, const zkl_mutex_options *options)
{
    zkl_mutex *m = live_mutex_options(s, path, options);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}

/* Stat does not tell a container; but the server reaps it, which this one does in a hurry. */
TEST_CASE(kinds_of_directories)
{
    static const char *const jvm[] = {"-Dznode.container.checkIntervalMs=100", NULL};
    const struct zk_server_options so = {.jvm = jvm};
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct zk_server *server = zk_server_start(&so);
    REQUIRE(server != NULL);
    struct raw *r = raw_open(zk_server_connect(server));
    zkl_session *s = live_open(t, zk_server_connect(server), NULL);
    o.parents = ZKL_PARENTS_PERSISTENT;
    visit(s, "/persistent/a/b", &o);
    visit(s, "/default/a/b", NULL);
    o.parents = ZKL_PARENTS_CONTAINER;
    visit(s, "/container/a/b", &o);
    LIVE_UNTIL(raw_exists(r, "/default", NULL) == ZNONODE);
    LIVE_UNTIL(raw_exists(r, "/container", NULL) == ZNONODE);
    CHECK_INT(raw_exists(r, "/persistent/a/b", NULL), ZOK);
    raw_close(r);
    live_end(t);
    zk_server_stop(server);
}

/* Between one lock and the next the server may reap an empty container, and all above it. */
TEST_CASE(directory_reaped_between)
{
    struct live *t = live_begin();
    char *path = g_strdup_printf("%s/a/b", t->lock);
    zkl_mutex *m = live_mutex(t->session, path);
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        const zkl_grant *g;
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
        CHECK(zkl_grant_token(g) > last);
        CHECK(g_str_has_suffix(zkl_grant_node(g), "-lock-0000000000")); /* numbers begin anew */
        last = zkl_grant_token(g);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        LIVE_UNTIL(live_contenders(t, path) == 0);
        REQUIRE(raw_delete_tree(t->admin, t->path) == ZOK);
    }
    g_free(path);
    live_end(t);
}

struct reaper {
    struct live *t;
    struct raw *raw;
    char *path; /* the deepest */
    atomic_bool stop;
    int reaped;
};

static void *reap(void *data)
{
    struct reaper *r = data;
    while (!atomic_load(&r->stop)) {
        char *path = g_strdup(r->path);
        for (; strcmp(path, r->t->path) != 0 && raw_delete(r->raw, path) == ZOK; r->reaped++)
            *strrchr(path, '/') = '\0';
        g_free(path);
    }
    return NULL;
}

/* An administrator who deletes whatever is empty, as fast as he can. */
TEST_CASE(directory_reaped_all_the_time)
{
    enum { TIMES = 300 };
    struct live *t = live_begin();
    struct reaper r = {.t = t, .raw = raw_open(t->connect)};
    pthread_t thread;
    uint64_t last = 0;
    REQUIRE(r.raw != NULL);
    r.path = g_strdup_printf("%s/a/b", t->lock);
    zkl_mutex *m = live_mutex(t->session, r.path);
    REQUIRE(pthread_create(&thread, NULL, reap, &r) == 0);
    for (int i = 0; i < TIMES; i++) {
        const zkl_grant *g;
        int code = zkl_mutex_lock(m, ZKL_FOREVER, &g);
        CHECK_INT(code, 0);
        if (code != 0)
            continue;
        CHECK(zkl_grant_token(g) > last);
        last = zkl_grant_token(g);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    CHECK(r.reaped > 0);
    raw_close(r.raw);
    g_free(r.path);
    live_end(t);
}

/* A directory deleted with all that is in it: the holder loses, the waiters queue anew. */
TEST_CASE(directory_deleted_with_contenders)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    struct locker *l = locker_apart(t, t->session, t->lock, 2);
    char **queue = live_queue(t, t->lock);
    LIVE_UNTIL(live_watches(t) == 2);
    REQUIRE(raw_delete(t->admin, queue[1]) == ZOK);
    REQUIRE(raw_delete(t->admin, queue[0]) == ZOK);
    raw_delete(t->admin, t->lock); /* unless the waiter is back already */
    CHECK_INT(locker_result(l), 0);
    LIVE_UNTIL(zkl_grant_state(g) == ZKL_LOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(locker_end(l), 0);
    g_strfreev(queue);
    live_end(t);
}

static zkl_session *open_below(struct live *t, const char *chroot)
{
    char *connect = g_strconcat(t->connect, chroot, NULL);
    zkl_session *s = live_open(t, connect, NULL);
    g_free(connect);
    return s;
}

/* Names given and answered are the user's, the nodes stand below the chroot, which is made too. */
TEST_CASE(chroot_made)
{
    struct live *t = live_begin();
    zkl_session *s = open_below(t, t->lock);
    zkl_mutex *m = live_mutex(s, "/a/b"), *n;
    const zkl_grant *g;
    char *full = g_strconcat(t->lock, "/a/b", NULL);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK(g_str_has_prefix(zkl_grant_node(g), "/a/b/_c_"));
    char *node = g_strconcat(t->lock, zkl_grant_node(g), NULL);
    CHECK_INT(raw_exists(t->admin, node, NULL), ZOK);
    n = live_mutex(t->session, full);
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY); /* the same lock by its full name */
    CHECK_ERROR(ZKL_EBUSY, full);
    struct locker *l = locker_start(m, 0);
    CHECK_INT(locker_result(l), ZKL_EBUSY);
    CHECK_STR(l->error.path, "/a/b");
    locker_end(l);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_lock(n, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    g_free(node);
    g_free(full);
    live_end(t);
}
