/* First come, first served: whatever the others in the queue do. */
#include "live.h"
#include "mutex_actors.h"
#include "proxy.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

TEST_SUITE(queue_order, .init = live_init);

enum { MANY = 12 };

/* Threads of two sessions, in the order in which their nodes were made. */
TEST_CASE(fifo)
{
    struct live *t = live_begin();
    zkl_session *s[] = {t->session, live_open(t, t->connect, NULL)};
    struct locker *l[MANY];
    int64_t last = 0;
    for (int i = 0; i < MANY; i++)
        l[i] = locker_apart(t, s[i % 2], t->lock, i + 1);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(locker_result(l[i]), 0);
        CHECK(l[i]->token > last);
        last = l[i]->token;
        for (int j = i + 1; j < MANY; j++)
            CHECK(!locker_done(l[j]));
        CHECK_INT(locker_end(l[i]), 0);
    }
    live_end(t);
}

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
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
}

/* The holder goes between the waiter's list and its look at the holder: the place is kept. */
TEST_CASE(gone_before_watched)
{
    struct live *t = live_begin();
    struct proxy *p = proxy_start(t->port);
    zkl_session *slow = live_open(t, proxy_connect(p), NULL);
    zkl_mutex *m = live_mutex(t->session, t->lock), *n = live_mutex(slow, t->lock);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
    proxy_reset_stats(p);
    proxy_delay_ms(p, PROXY_TO_SERVER, 150);
    struct locker *l = locker_start(n, ZKL_FOREVER);
    CHECK(proxy_wait_requests(p, PROXY_OP_GET_CHILDREN2, 1, 60000));
    LIVE_UNTIL(live_contenders(t, t->lock) == 2);
    char **queue = live_queue(t, t->lock);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(locker_result(l), 0);
    CHECK_STR(l->node, queue[1]);
    CHECK_INT(locker_end(l), 0);
    g_strfreev(queue);
    zkl_mutex_free(m);
    zkl_mutex_free(n);
    live_end(t);
    proxy_stop(p);
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
    for (int i = 0; i < WAITERS; i++)
        zkl_mutex_free(w[i].mutex);
    zkl_mutex_free(m);
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
    zkl_mutex_free(m);
    live_end(t);
}
