/* Connections cut, refused, slow or silent; servers late, killed or paused. What the deadline does
 * not end is kept, and what it ends is told by it alone. */
#include "fault.h"
#include "runner.h"

#include <pthread.h>
#include <time.h>

TEST_SUITE(fault_connection, .init = fault_start, .done = fault_stop);

TEST_CASE(cut_while_holding)
{
    struct acquisition a;

    fault_begin();
    acquisition_start(&a, fault_mutex(fault_proxied(FAULT_LONG_MS)), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    uint64_t token = zkl_grant_token(a.grant);
    proxy_cut(fault.proxy);
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) == 1);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_SUSPECT);
    CHECK(zkl_grant_remaining_ms(a.grant) > 0);
    proxy_heal(fault.proxy);
    EVENTUALLY(told_times(&a.told, ZKL_HELD) == 1);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    CHECK(zkl_grant_token(a.grant) == token);
    CHECK_INT(fault_children(), 1);
    acquisition_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    fault_end();
}

/* The place in the queue is the node, and the node outlives the connection; even if the head
 * leaves meanwhile. */
TEST_CASE(cut_while_queued)
{
    struct acquisition head, cut, tail;

    fault_begin();
    zkl_session *direct = fault_direct(FAULT_LONG_MS), *proxied = fault_proxied(FAULT_LONG_MS);
    acquisition_queue(&head, fault_mutex(direct), 1);
    acquisition_queue(&cut, fault_mutex(proxied), 2);
    acquisition_queue(&tail, fault_mutex(direct), 3);
    proxy_cut(fault.proxy);
    acquisition_end(&head);
    EVENTUALLY(fault_children() == 2);
    CHECK_INT(atomic_load(&tail.done), 0);
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&cut));
    CHECK_INT(atomic_load(&tail.done), 0);
    acquisition_end(&cut);
    CHECK(acquisition_granted(&tail));
    CHECK(tail.at > cut.at);
    acquisition_end(&tail);
    fault_end();
}

TEST_CASE(absent_at_open)
{
    struct acquisition a;

    fault_begin();
    proxy_cut(fault.proxy);
    zkl_session *s = fault_session(proxy_connect(fault.proxy), FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK_INT(zkl_session_wait(s, 300), ZKL_EUNREACHABLE);
    CHECK_INT(zkl_mutex_lock(fault_mutex(s), 200, NULL), ZKL_EUNREACHABLE);
    CHECK_INT(atomic_load(&a.done), 0);
    proxy_heal(fault.proxy);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    CHECK(acquisition_granted(&a));
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    acquisition_end(&a);
    fault_end();
}

struct rivals {
    zkl_mutex *mutex;
    struct history *history;
    atomic_bool stop;
};

static void *contend(void *data)
{
    struct rivals *c = data;
    const zkl_grant *grant;

    while (!atomic_load(&c->stop)) {
        if (!CHECK_INT(zkl_mutex_lock(c->mutex, ZKL_FOREVER, &grant), 0))
            break;
        int64_t begin = fault_boot_ns(), end = begin;
        for (int i = 0; i < 3; i++) {
            int64_t now = fault_boot_ns();
            if (zkl_grant_remaining_ms(grant) > 0)
                end = now;
            g_usleep(300); /* somebody's work */
        }
        history_add(c->history, begin, end, zkl_grant_token(grant));
        CHECK_INT(zkl_mutex_unlock(c->mutex), 0);
    }
    return NULL;
}

/* Two sessions, so that neither's order within itself can hide an overlap. */
TEST_CASE(cut_again_and_again)
{
    enum { THREADS = 4, CUTS = 20 };
    pthread_t thread[THREADS];
    struct history *history = history_new();
    struct rivals rivals[2] = {{.history = history}, {.history = history}};

    fault_begin();
    rivals[0].mutex = fault_mutex(fault_proxied(10000));
    rivals[1].mutex = fault_mutex(fault_direct(10000));
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&thread[i], NULL, contend, &rivals[i % 2]) == 0);
    for (int i = 0; i < CUTS; i++) {
        int before = history_count(history);
        EVENTUALLY(history_count(history) >= before + 3);
        proxy_reset(fault.proxy);
    }
    atomic_store(&rivals[0].stop, true);
    atomic_store(&rivals[1].stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    fault_end();
    history_check(history);
}

/* More than half of the time between renewals. */
TEST_CASE(slow_replies)
{
    struct acquisition a, b, c;

    fault_begin();
    proxy_delay_ms(fault.proxy, PROXY_TO_CLIENT, 350);
    zkl_session *slow = fault_proxied(FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(slow), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    acquisition_queue(&c, fault_mutex(slow), 3);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&b));
    acquisition_end(&b);
    REQUIRE(acquisition_granted(&c));
    acquisition_end(&c);
    CHECK(told_times(&a.told, ZKL_LOST) + told_times(&c.told, ZKL_LOST) == 0);
    CHECK(b.at > a.at && c.at > b.at);
    fault_end();
}

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* What is spent by a session that holds, queues and owes a delete, while nobody answers. */
static void check_idle(int timeout_ms)
{
    struct proxy_stats before, after;
    int64_t wall = fault_boot_ns(), cpu = cpu_ns();

    proxy_get_stats(fault.proxy, &before);
    g_usleep(2000000); /* the span that is measured */
    proxy_get_stats(fault.proxy, &after);
    wall = fault_boot_ns() - wall;
    cpu = cpu_ns() - cpu;
    CHECK(cpu * 5 < wall);
    /* libzookeeper tries every 60th of the timeout. */
    CHECK((int64_t)(after.connections - before.connections) <=
          wall / 1000000 / (timeout_ms / 60) * 4 + 5);
}

/* kill -9 and the same data: sessions, nodes and the queue are as before. The longest timeout
 * leaves the server half a minute to start again. */
TEST_CASE(server_killed)
{
    enum { TIMEOUT_MS = 60000 };
    struct acquisition holder, queued, given_up;

    fault_begin();
    zkl_session *s = fault_proxied(TIMEOUT_MS);
    acquisition_queue(&holder, fault_mutex(s), 1);
    acquisition_queue(&queued, fault_mutex(s), 2);
    acquisition_queue(&given_up, fault_mutex(s), 3);
    uint64_t token = zkl_grant_token(holder.grant);
    zk_server_kill(fault.server, 0);
    zkl_op_cancel(given_up.op);
    CHECK(acquisition_failed(&given_up, ZKL_ECANCELED));
    EVENTUALLY(told_times(&holder.told, ZKL_SUSPECT) == 1);
    check_idle(TIMEOUT_MS);
    REQUIRE(zk_server_launch(fault.server, 0) && zk_server_wait(fault.server, 0));
    EVENTUALLY(told_times(&holder.told, ZKL_HELD) == 1);
    CHECK(zkl_grant_token(holder.grant) == token);
    EVENTUALLY(raw_exists(fault.direct, fault.path, NULL) == ZOK);
    EVENTUALLY(fault_children() == 2);
    CHECK_INT(atomic_load(&queued.done), 0);
    acquisition_end(&holder);
    CHECK(acquisition_granted(&queued));
    acquisition_end(&queued);
    acquisition_end(&given_up);
    fault_end();
}

/* ---- silence: the connection stands and nothing comes ---- */

/* Lost, and told so before the other was granted; the time is that of the callback. */
static void check_lost_before(struct acquisition *lost, struct acquisition *granted)
{
    CHECK_INT(told_times(&lost->told, ZKL_LOST), 1);
    CHECK(told_at(&lost->told, ZKL_LOST) < granted->at);
    CHECK_INT(zkl_grant_state(lost->grant), ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(lost->grant), 0);
    CHECK(zkl_grant_token(granted->grant) > zkl_grant_token(lost->grant));
}

TEST_CASE(freeze_while_holding)
{
    struct acquisition a, b;
    const zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_SHORT_MS);
    zkl_mutex *async = fault_mutex(s), *other = fault_mutex(fault_direct(FAULT_LONG_MS));
    acquisition_queue(&a, async, 1);
    acquisition_queue(&b, other, 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    REQUIRE(acquisition_granted(&b));
    check_lost_before(&a, &b);
    int64_t before = zkl_grant_session_id(a.grant);
    acquisition_end(&b);
    proxy_thaw(fault.proxy);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK_INT(zkl_mutex_lock(async, ZKL_FOREVER, &grant), 0);
    CHECK(zkl_grant_session_id(grant) != before);
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(async), 0);
    acquisition_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_HELD), 0);
    fault_end();
}

/* Its node goes with its session: back to the tail, by itself. */
TEST_CASE(freeze_while_queued)
{
    struct acquisition head, frozen, tail;

    fault_begin();
    zkl_session *direct = fault_direct(FAULT_LONG_MS);
    zkl_session *proxied = fault_proxied(FAULT_SHORT_MS);
    acquisition_queue(&head, fault_mutex(direct), 1);
    acquisition_queue(&frozen, fault_mutex(proxied), 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(fault_children() == 1);
    acquisition_queue(&tail, fault_mutex(direct), 2);
    proxy_thaw(fault.proxy);
    EVENTUALLY(fault_children() == 3);
    acquisition_end(&head);
    REQUIRE(acquisition_granted(&tail));
    CHECK_INT(atomic_load(&frozen.done), 0);
    acquisition_end(&tail);
    CHECK(acquisition_granted(&frozen));
    acquisition_end(&frozen);
    fault_end();
}

/* Overdue proofs are told before libzookeeper notices anything. */
TEST_CASE(server_paused_shortly)
{
    struct acquisition a;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    zk_server_pause(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) == 1);
    CHECK_INT(zkl_session_wait(s, 0), 0);
    CHECK(zkl_grant_remaining_ms(a.grant) > 0);
    zk_server_resume(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_HELD) == 1);
    acquisition_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 0);
    fault_end();
}

TEST_CASE(server_paused_for_long)
{
    struct acquisition a, b;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_SHORT_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    zk_server_pause(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    zk_server_resume(fault.server, 0);
    REQUIRE(acquisition_granted(&b));
    check_lost_before(&a, &b);
    acquisition_end(&b);
    CHECK_INT(zkl_mutex_lock(fault_mutex(s), ZKL_FOREVER, NULL), 0);
    acquisition_end(&a);
    fault_close_all(); /* with a lock held: its node goes with the session */
}
