/* The queue: first come, first served; its snapshot for people; and its watch, that whoever reads
 * when told knows all. */
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

TEST_SUITE(queue, .init = live_init);

/* A waiter in the middle gives up: nobody is granted early, nobody is forgotten. */
TEST_CASE(middle_leaves)
{
    struct live *t = live_begin();
    zkl_session *leaver = live_open(t, t->connect, NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(leaver, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    struct locker *first = locker_apart(t, t->session, t->lock, 2);
    struct locker *middle = locker_queue(t, n, t->lock, 3);
    struct locker *last = locker_apart(t, t->session, t->lock, 4);
    LIVE_UNTIL(live_watches(t) == 4);
    live_close(t, leaver); /* its node goes with the session */
    CHECK_INT(locker_result(middle), ZKL_ECLOSED);
    locker_end(middle);
    LIVE_UNTIL(live_watches(t) == 2);
    session_settle(t, t->session);
    CHECK(!locker_done(first) && !locker_done(last));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(first), 0);
    session_settle(t, t->session);
    CHECK(!locker_done(last));
    CHECK_INT(locker_end(first), 0);
    CHECK_INT(locker_result(last), 0);
    CHECK_INT(locker_end(last), 0);
    live_end(t);
}

enum { WAITERS = 8 };

struct watched_waiter {
    struct proxy *proxy;
    zkl_mutex *mutex;
    struct locker *locker;
};

static uint64_t events(struct proxy *p)
{
    struct proxy_stats stats;
    proxy_get_stats(p, &stats);
    return stats.events;
}

static void queue_up(struct live *t, struct watched_waiter *w, int n)
{
    w->proxy = proxy_start(t->port);
    REQUIRE(w->proxy != NULL);
    w->mutex = live_mutex(live_open(t, proxy_connect(w->proxy), NULL), t->lock);
    w->locker = locker_queue(t, w->mutex, t->lock, n);
}

/* Each waiter behind a proxy of its own, which counts the events that reach it. */
TEST_CASE(one_is_woken)
{
    struct live *t = live_begin();
    struct watched_waiter w[WAITERS];
    zkl_mutex *m = live_mutex(t->session, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    for (int i = 0; i < WAITERS; i++)
        queue_up(t, &w[i], i + 2);
    LIVE_UNTIL(live_watches(t) >= WAITERS);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (int i = 0; i < WAITERS; i++) {
        CHECK_INT(locker_result(w[i].locker), 0);
        CHECK_INT(events(w[i].proxy), 1);
        for (int j = i + 1; j < WAITERS; j++)
            CHECK_INT(events(w[j].proxy), 0);
        CHECK_INT(locker_end(w[i].locker), 0);
    }
    live_end(t);
    for (int i = 0; i < WAITERS; i++)
        proxy_stop(w[i].proxy);
}

enum { CALLERS = 200, ROUNDS = 3 };

struct caller {
    struct live *live;
    zkl_mutex *mutex;
    pthread_t thread;
};

static atomic_int about_to_lock;
static int64_t last_token; /* only the holder touches them */
static int turns;
static size_t most_contenders;

/* The holder is alone in the directory, however many wait for it here. */
static void take_turn(struct caller *c)
{
    const zkl_grant *g;
    zkl_queue *q;

    REQUIRE(zkl_mutex_lock(c->mutex, ZKL_FOREVER, &g) == 0);
    CHECK((int64_t)zkl_grant_token(g) > last_token);
    last_token = (int64_t)zkl_grant_token(g);
    turns++;
    REQUIRE(zkl_queue_read(&q, c->live->session, c->live->lock, NULL, ZKL_FOREVER) == 0);
    most_contenders = MAX(most_contenders, zkl_queue_count(q));
    zkl_queue_free(q);
    CHECK_INT(zkl_mutex_unlock(c->mutex), 0);
    progress_step();
}

static void *run_caller(void *data)
{
    atomic_fetch_add(&about_to_lock, 1);
    for (int i = 0; i < ROUNDS; i++)
        take_turn(data);
    return NULL;
}

/* Another handle waits like one of them, and is served between two of them. */
TEST_CASE(callers_of_one_handle)
{
    struct live *t = live_begin();
    struct caller c[CALLERS];
    zkl_mutex *m = live_mutex(t->session, t->lock);
    atomic_store(&about_to_lock, 0);
    last_token = turns = 0;
    most_contenders = 0;
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    for (int i = 0; i < CALLERS; i++) {
        c[i] = (struct caller){.live = t, .mutex = m};
        REQUIRE(pthread_create(&c[i].thread, NULL, run_caller, &c[i]) == 0);
    }
    LIVE_UNTIL(atomic_load(&about_to_lock) == CALLERS);
    session_settle(t, t->session);
    CHECK_INT(live_contenders(t, t->lock), 1);
    struct locker *rival = locker_apart(t, t->session, t->lock, 2);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(rival), 0);
    CHECK_INT(turns, 0);
    CHECK_INT(locker_end(rival), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(c[i].thread, NULL);
    CHECK_INT(turns, CALLERS * ROUNDS);
    CHECK_INT(most_contenders, 1);
    live_end(t);
}

/* ---- snapshots ---- */

/* One line against what the server says of the node. */
static void check_contender(struct live *t, const zkl_contender *c, const char *path, int holds)
{
    struct Stat stat;
    char *number = g_strdup_printf("%010d", (int)c->number);
    CHECK_STR(c->node, strrchr(path, '/') + 1);
    CHECK_INT(raw_exists(t->admin, path, &stat), ZOK);
    CHECK_INT(c->token, stat.czxid);
    CHECK_INT(c->session_id, stat.ephemeralOwner);
    CHECK_INT(c->ctime_ms, stat.ctime);
    CHECK_INT(c->holds, holds);
    CHECK(g_str_has_suffix(c->node, number));
    g_free(number);
}

TEST_CASE(snapshot_in_order)
{
    struct live *t = live_begin();
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_session *other = live_open(t, t->connect, NULL);
    zkl_queue *q;
    o.name = "the holder";
    zkl_mutex *m = live_mutex_options(t->session, t->lock, &o);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    struct locker *l[3];
    for (int i = 0; i < 3; i++)
        l[i] = locker_apart(t, other, t->lock, i + 2);
    char **paths = live_queue(t, t->lock);
    REQUIRE(zkl_queue_read(&q, t->session, t->lock, NULL, 0) == 0);
    CHECK_INT(zkl_queue_count(q), 4);
    for (size_t i = 0; i < zkl_queue_count(q) && i < 4; i++)
        check_contender(t, zkl_queue_get(q, i), paths[i], i == 0);
    CHECK_STR(zkl_queue_get(q, 0)->owner, "the holder");
    CHECK(zkl_queue_get(q, 4) == NULL);
    zkl_queue_free(q);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(locker_end(l[i]), 0);
    g_strfreev(paths);
    live_end(t);
}

/* Names are those of the session's own view. */
TEST_CASE(snapshot_below_a_chroot)
{
    struct live *t = live_begin();
    char *connect = g_strconcat(t->connect, t->lock, NULL);
    zkl_session *s = live_open(t, connect, NULL);
    zkl_mutex *m = live_mutex(s, "/m");
    const zkl_grant *g;
    zkl_queue *q;
    CHECK_INT(zkl_queue_read(&q, s, "/m", NULL, ZKL_FOREVER), ZKL_ENOENT);
    CHECK_ERROR(ZKL_ENOENT, "/m");
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_queue_read(&q, s, "/m", NULL, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_queue_count(q), 1);
    CHECK_STR(zkl_queue_get(q, 0)->node, strrchr(zkl_grant_node(g), '/') + 1);
    CHECK_INT(zkl_queue_get(q, 0)->token, zkl_grant_token(g));
    zkl_queue_free(q);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    g_free(connect);
    live_end(t);
}

/* ---- watches ---- */

/* Counts calls; a reader waits for more of them. */
struct bell {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls, heard;
    zkl_watch *watch;
};

#define BELL_INIT                                                                                  \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER                     \
    }

static void ring(void *data)
{
    struct bell *b = data;
    pthread_mutex_lock(&b->lock);
    b->calls++;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void hear(struct bell *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->calls == b->heard)
        pthread_cond_wait(&b->changed, &b->lock);
    b->heard = b->calls;
    pthread_mutex_unlock(&b->lock);
}

/* How many contend; -1: there is no such path. */
static int count(zkl_session *s, const char *path)
{
    zkl_queue *q;
    int code = zkl_queue_read(&q, s, path, NULL, ZKL_FOREVER);
    if (code == ZKL_ENOENT)
        return -1;
    REQUIRE(code == 0);
    code = (int)zkl_queue_count(q);
    zkl_queue_free(q);
    return code;
}

/* Reads as often as it is told, and no more: what is not told is waited for in vain. */
static void await_count(struct bell *b, zkl_session *s, const char *path, int n)
{
    do
        hear(b);
    while (count(s, path) != n);
}

static void begin(struct bell *b, zkl_session *s, const char *path)
{
    REQUIRE(zkl_queue_watch(&b->watch, s, path, ring, b) == 0);
}

/* From a path that is not there, over holders and waiters, to one that is gone again. */
TEST_CASE(watched_changes)
{
    struct live *t = live_begin();
    struct bell b = BELL_INIT;
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(t->session, t->lock);
    begin(&b, live_open(t, t->connect, NULL), t->lock);
    await_count(&b, t->session, t->lock, -1);
    for (int round = 0; round < 3; round++) {
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
        await_count(&b, t->session, t->lock, 1);
        struct locker *l = locker_queue(t, n, t->lock, 2);
        await_count(&b, t->session, t->lock, 2);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        await_count(&b, t->session, t->lock, 1);
        CHECK_INT(locker_end(l), 0);
        await_count(&b, t->session, t->lock, 0);
        LIVE_UNTIL(raw_delete(t->admin, t->lock) == ZOK);
        await_count(&b, t->session, t->lock, -1);
    }
    zkl_watch_free(b.watch);
    live_end(t);
}

/* What happens while nobody can tell is told when somebody can; also in another session. */
TEST_CASE(watched_across_connections)
{
    struct live *t = live_begin();
    struct bell b = BELL_INIT;
    struct proxy *p = proxy_start(t->port);
    zkl_session *s = live_open(t, proxy_connect(p), NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock);
    begin(&b, s, t->lock);
    await_count(&b, s, t->lock, -1);
    proxy_cut(p);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    proxy_heal(p);
    await_count(&b, s, t->lock, 1);
    int64_t before = zkl_session_id(s);
    proxy_cut(p);
    REQUIRE(raw_expire(t->port, before));
    CHECK_INT(zkl_mutex_unlock(m), 0);
    LIVE_UNTIL(live_contenders(t, t->lock) == 0);
    proxy_heal(p);
    await_count(&b, s, t->lock, 0);
    CHECK(zkl_session_id(s) != before);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0); /* watched in that one too */
    await_count(&b, s, t->lock, 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_watch_free(b.watch);
    live_end(t);
    proxy_stop(p);
}
