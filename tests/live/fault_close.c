/* Closing: before there is a connection, while the server is mute, in a callback, with handles
 * left; and callbacks that do not return. */
#include "fault.h"
#include "runner.h"

#include <semaphore.h>

TEST_SUITE(fault_close, .init = fault_start, .done = fault_stop);

static int threads(void)
{
    return fault_count("/proc/self/task");
}

TEST_CASE(before_connected)
{
    struct acquisition a;

    fault_begin();
    int before = threads();
    proxy_cut(fault.proxy);
    zkl_session *s = fault_session(proxy_connect(fault.proxy), FAULT_LONG_MS);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    fault_close(s);
    CHECK(acquisition_failed(&a, ZKL_ECLOSED));
    acquisition_end(&a);
    for (int i = 0; i < 20; i++) /* while libzookeeper is being started */
        fault_close(fault_session(zk_server_connect(fault.server), FAULT_LONG_MS));
    EVENTUALLY(threads() == before);
    fault_end();
}

/* It would take zookeeper_close() 1.5 s; what counts is that it ends. */
TEST_CASE(while_mute)
{
    struct acquisition holder, queued;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_SHORT_MS);
    acquisition_queue(&holder, fault_mutex(s), 1);
    acquisition_queue(&queued, fault_mutex(s), 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    fault_close(s);
    CHECK_INT(zkl_grant_state(holder.grant), ZKL_LOST);
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 1);
    CHECK(acquisition_failed(&queued, ZKL_ECLOSED));
    acquisition_end(&holder);
    acquisition_end(&queued);
    fault_end();
}

enum { MANY = 200 };

static void ignore_grant(zkl_grant *grant, const zkl_error *err, void *data)
{
    (void)grant, (void)err, (void)data;
}

/* Others enter at paths of their own: that is what the server is asked when the session closes. */
static void enter_many(zkl_session *s, zkl_mutex **ret, int count)
{
    for (int i = 0; i < count; i++) {
        char *path = g_strdup_printf("%s-%d", fault.path, i);
        REQUIRE(zkl_mutex_new(&ret[i], s, path, NULL) == 0);
        REQUIRE(zkl_mutex_lock_async(ret[i], ZKL_FOREVER, ignore_grant, NULL, NULL) == 0);
        g_free(path);
    }
}

/* Losses are told while the nodes still stand, and the nodes go at once, not by a timeout; even if
 * the server has much to answer still. */
TEST_CASE(while_held)
{
    struct acquisition holder, queued, other;
    zkl_mutex *many[MANY];

    fault_begin();
    zkl_session *s = fault_direct(60000);
    acquisition_queue(&holder, fault_mutex(s), 1);
    acquisition_queue(&queued, fault_mutex(s), 2);
    acquisition_queue(&other, fault_mutex(fault_direct(FAULT_LONG_MS)), 3);
    enter_many(s, many, MANY);
    fault_close(s);
    REQUIRE(acquisition_granted(&other));
    for (int i = 0; i < MANY; i++)
        zkl_mutex_free(many[i]);
    CHECK(told_at(&holder.told, ZKL_LOST) < other.at);
    CHECK(acquisition_failed(&queued, ZKL_ECLOSED));
    acquisition_end(&holder);
    acquisition_end(&queued);
    acquisition_end(&other);
    CHECK_INT(told_times(&holder.told, ZKL_LOST), 1);
    fault_end();
}

struct closer {
    zkl_session *session;
    zkl_mutex *mutex;
    int code;
    atomic_bool done;
};

static void close_it(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct closer *c = data;

    c->code = err ? err->code : 0;
    fault_close(c->session);
    zkl_grant_release(grant);
    zkl_mutex_free(c->mutex);
    atomic_store(&c->done, true);
}

TEST_CASE(in_callback)
{
    struct closer c = {.code = 1};

    fault_begin();
    int before = threads();
    c.session = fault_direct(FAULT_LONG_MS);
    REQUIRE(zkl_mutex_new(&c.mutex, c.session, fault.path, NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(c.mutex, ZKL_FOREVER, close_it, &c, NULL) == 0);
    EVENTUALLY(atomic_load(&c.done));
    CHECK_INT(c.code, 0);
    EVENTUALLY(threads() <= before); /* where one of an earlier test's was just ending */
    fault_end();
}

struct plug {
    sem_t entered, go_on;
};

static void block(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct plug *p = data;

    (void)err;
    sem_post(&p->entered);
    sem_wait(&p->go_on);
    zkl_grant_release(grant);
}

static void plug_callbacks(struct plug *p, zkl_session *s)
{
    zkl_mutex *m;

    sem_init(&p->entered, 0, 0);
    sem_init(&p->go_on, 0, 0);
    REQUIRE(zkl_mutex_new(&m, s, "/fault-plug/a", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, block, p, NULL) == 0);
    zkl_mutex_free(m);
    sem_wait(&p->entered);
}

/* Whether the grant is lost. The next one is not granted before. */
static bool is_lost_before_the_next(const zkl_grant *grant, struct acquisition *next)
{
    const bool granted = atomic_load(&next->done) != 0;
    const bool lost = zkl_grant_state(grant) == ZKL_LOST;

    CHECK(lost || !granted);
    return lost;
}

/* A callback that hangs stops neither the renewals nor, when they fail, the deadline. */
TEST_CASE(callback_hangs)
{
    struct acquisition other;
    struct plug plug;
    const zkl_grant *grant;

    fault_begin();
    zkl_session *s = fault_proxied(2 * FAULT_SHORT_MS);
    zkl_mutex *m = fault_mutex(s);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &grant) == 0);
    plug_callbacks(&plug, s);
    acquisition_queue(&other, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    int64_t end = fault_boot_ns() + 5 * FAULT_SHORT_MS * INT64_C(1000000);
    while (fault_boot_ns() < end && CHECK_INT(zkl_grant_state(grant), ZKL_HELD))
        g_usleep(5000); /* looks on for two and a half timeouts */
    CHECK_INT(atomic_load(&other.done), 0);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    EVENTUALLY(is_lost_before_the_next(grant, &other));
    CHECK(acquisition_granted(&other));
    acquisition_end(&other);
    proxy_thaw(fault.proxy);
    sem_post(&plug.go_on);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    fault_end();
    sem_destroy(&plug.entered);
    sem_destroy(&plug.go_on);
}
