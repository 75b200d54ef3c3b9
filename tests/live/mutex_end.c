/* Ends of things that are in use: threads, mutexes, sessions, processes that have forked. */
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    g_free(path);
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
    CHECK_INT(zkl_mutex_unlock(holder), 0);
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
    }
    live_end(t);
}

/* ---- a forked child has no threads of ours ---- */

struct estate {
    struct live *t;
    zkl_mutex *mutex;
    const zkl_grant *grant;
    zkl_grant *own;
    zkl_op *op;
    struct completion *queued;
    uint64_t token;
    char *node;
};

/* The number of the first thing that is not as it should be: no check, no stdio in the child. */
static int try_handles(struct estate *e)
{
    zkl_mutex *m;
    zkl_queue *q;
    zkl_grant *g;
    if (zkl_op_wait(e->op, &g) != ZKL_ECHILD)
        return 8;
    if (zkl_mutex_lock(e->mutex, ZKL_FOREVER, NULL) != ZKL_ECHILD)
        return 1;
    if (zkl_mutex_lock(e->mutex, 0, NULL) != ZKL_ECHILD)
        return 2;
    if (zkl_mutex_unlock(e->mutex) != ZKL_ECHILD)
        return 3;
    if (zkl_mutex_lock_async(e->mutex, 0, completion_take, e->queued, NULL) != ZKL_ECHILD)
        return 4;
    if (zkl_mutex_new(&m, e->t->session, e->t->lock, NULL) != ZKL_ECHILD)
        return 5;
    if (zkl_session_wait(e->t->session, ZKL_FOREVER) != ZKL_ECHILD)
        return 6;
    if (zkl_queue_read(&q, e->t->session, e->t->lock, NULL, ZKL_FOREVER) != ZKL_ECHILD)
        return 7;
    return 0;
}

static int try_grant(struct estate *e)
{
    struct changes changes = CHANGES_INIT;
    zkl_error error;
    if (zkl_grant_on_change(e->grant, changes_take, &changes) != ZKL_ECHILD)
        return 11;
    if (zkl_last_error(&error) != ZKL_ECHILD || error.text[0] == '\0')
        return 12;
    if (zkl_grant_state(e->grant) != ZKL_LOST)
        return 13;
    if (zkl_grant_remaining_ms(e->grant) != 0)
        return 14;
    if (zkl_grant_token(e->grant) != e->token)
        return 15;
    return strcmp(zkl_grant_node(e->grant), e->node) == 0 ? 0 : 16;
}

static int live_as_child(struct estate *e)
{
    int wrong = try_handles(e);
    if (wrong == 0)
        wrong = try_grant(e);
    zkl_op_cancel(e->op);
    zkl_op_free(e->op);
    zkl_grant_release(e->own);
    zkl_mutex_free(e->mutex);
    zkl_session_close(e->t->session);
    return wrong;
}

/* 0, or what the child found wrong; it ends as children should that do not exec. */
static int run_child(int (*fn)(struct estate *), struct estate *e)
{
    int status = -1;
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        _exit(fn(e));
    REQUIRE(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE(child_has_nothing)
{
    struct live *t = live_begin();
    struct completion c = COMPLETION_INIT;
    struct changes changes = CHANGES_INIT;
    struct estate e = {.t = t, .mutex = live_mutex(t->session, t->lock), .queued = &c};
    char *path = g_strdup_printf("%s/own", t->path);
    zkl_mutex *other = live_mutex(t->session, t->lock), *third = live_mutex(t->session, path);
    REQUIRE(zkl_mutex_lock_async(third, ZKL_FOREVER, NULL, NULL, &e.op) == 0);
    REQUIRE(zkl_op_wait(e.op, &e.own) == 0);
    zkl_op_free(e.op);
    REQUIRE(zkl_mutex_lock(e.mutex, ZKL_FOREVER, &e.grant) == 0);
    REQUIRE(zkl_mutex_lock_async(other, ZKL_FOREVER, completion_take, &c, &e.op) == 0);
    CHECK_INT(zkl_grant_on_change(e.grant, changes_take, &changes), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    e.token = zkl_grant_token(e.grant);
    e.node = g_strdup(zkl_grant_node(e.grant));
    CHECK_INT(run_child(live_as_child, &e), 0);
    session_settle(t, t->session);
    CHECK_INT(zkl_grant_state(e.grant), ZKL_HELD);
    CHECK_INT(zkl_grant_state(e.own), ZKL_HELD);
    zkl_grant_release(e.own);
    CHECK_INT(changes_calls(&changes), 0);
    CHECK_INT(completion_calls(&c), 0);
    CHECK_INT(live_contenders(t, t->lock), 2);
    CHECK_INT(zkl_mutex_unlock(e.mutex), 0);
    CHECK_INT(completion_wait(&c), 0);
    zkl_grant_release(c.grant);
    zkl_op_free(e.op);
    g_free(e.node);
    g_free(path);
    live_end(t);
}

static int end_at_once(struct estate *e)
{
    (void)e;
    return 0;
}

/* Children that end do not end the session: no close of theirs reaches the server. */
TEST_CASE(children_come_and_go)
{
    struct live *t = live_begin();
    zkl_mutex *m = live_mutex(t->session, t->lock);
    const zkl_grant *g;
    int64_t id = zkl_session_id(t->session);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    for (int i = 0; i < 20; i++)
        CHECK_INT(run_child(end_at_once, NULL), 0);
    session_settle(t, t->session);
    CHECK_INT(zkl_session_id(t->session), id);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    live_end(t);
}

/* What a child opens for itself is as good as anybody's. */
static int open_own(struct estate *e)
{
    zkl_session *s;
    zkl_mutex *m, *n;
    const zkl_grant *g;
    char *path = g_strdup_printf("%s/child", e->t->path);
    if (zkl_session_open(&s, e->t->connect, NULL, NULL) != 0)
        return 21;
    if (zkl_mutex_new(&m, s, e->t->lock, NULL) != 0 || zkl_mutex_new(&n, s, path, NULL) != 0)
        return 22;
    if (zkl_mutex_lock(m, 0, NULL) != ZKL_EBUSY)
        return 23;
    if (zkl_mutex_lock(n, ZKL_FOREVER, &g) != 0 || zkl_grant_state(g) != ZKL_HELD)
        return 24;
    if (zkl_mutex_unlock(n) != 0 || zkl_mutex_unlock(m) != ZKL_EPERM)
        return 25;
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    zkl_session_close(s);
    g_free(path);
    return 0;
}

TEST_CASE(child_has_its_own)
{
    if (!runner_starts_threads_in_children())
        return;
    struct live *t = live_begin();
    struct estate e = {.t = t, .mutex = live_mutex(t->session, t->lock)};
    REQUIRE(zkl_mutex_lock(e.mutex, ZKL_FOREVER, &e.grant) == 0);
    CHECK_INT(run_child(open_own, &e), 0);
    CHECK_INT(zkl_grant_state(e.grant), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(e.mutex), 0);
    live_end(t);
}
