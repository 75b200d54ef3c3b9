/* The deadline on an ensemble of three, where it takes a chain of proofs; and its leader's end. */
#include "lib/session/core.h"
#include "runner.h"
#include "trio.h"

#include <pthread.h>
#include <stdio.h>
#include <zkl-zookeeper.h>

enum { TIMEOUT_MS = 2000, TRIES = 4 };

static int start_ensemble(void)
{
    return trio_start(NULL);
}

TEST_SUITE(fault_ensemble, .init = start_ensemble, .done = fault_stop);

/* Through a follower, whose own answers prove nothing. */
static bool hold_for_long(void)
{
    enum { HOLD_MS = 5000 }; /* longer than a busy machine stands still */
    struct acquisition a;

    fault_begin();
    acquisition_start(&a, fault_mutex(trio_session_at(trio_follower_beside(-1), HOLD_MS)),
                      ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    int64_t stop = fault_boot_ns() + 3 * HOLD_MS * INT64_C(1000000);
    while (fault_boot_ns() < stop && zkl_grant_state(a.grant) != ZKL_LOST)
        g_usleep(2000);
    bool held = zkl_grant_remaining_ms(a.grant) > 0;
    acquisition_end(&a);
    trio_end();
    return held;
}

TEST_CASE(held_for_long)
{
    bool held = false;

    for (int i = 0; i < TRIES && !held; i++)
        held = hold_for_long();
    CHECK(held);
}

/* What proofs cost, as zkl(7) says it: at a timeout of 10 s and a tick of 2 s not more than 0.6
 * writes, 0.6 syncs and 2 reads a second. The time is bounded from below only. */
TEST_CASE(renewals_counted)
{
    enum { FULL_MS = 10000 };
    const int wanted = 2 + fault_scaled(6);
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    struct proxy *proxy = proxy_start(zk_server_port(fault.server, trio_follower_beside(-1)));
    struct acquisition a;

    REQUIRE(proxy != NULL);
    fault_begin();
    options.session_timeout_ms = FULL_MS;
    options.tick_ms = 2000;
    zkl_session *s = fault_session_options(proxy_connect(proxy), &options);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    CHECK_INT(zkl_session_timeout_ms(s), FULL_MS);
    CHECK(proxy_wait_requests(proxy, PROXY_OP_SET_DATA, 1, UNTIL_LATE));
    int64_t begun = fault_boot_ns();
    proxy_reset_stats(proxy);
    CHECK(proxy_wait_requests(proxy, PROXY_OP_SET_DATA, (uint64_t)wanted, UNTIL_LATE));
    double seconds = (double)(fault_boot_ns() - begun) / 1e9;
    double writes = (double)proxy_requests(proxy, PROXY_OP_SET_DATA);
    double syncs = (double)proxy_requests(proxy, PROXY_OP_SYNC);
    double reads = (double)proxy_requests(proxy, PROXY_OP_ANY) - writes - syncs;
    printf("  per second: %.2f writes, %.2f syncs, %.2f reads\n", writes / seconds, syncs / seconds,
           reads / seconds);
    /* The count may begin right before one, and end right behind one. */
    CHECK(writes - 1 <= 0.6 * seconds);
    CHECK(syncs - 1 <= 0.6 * seconds);
    CHECK(reads - 1 <= 2 * seconds);
    acquisition_end(&a);
    trio_end();
    proxy_stop(proxy);
}

/* The follower answers pings and reads all the time, cut off from a quorum that ends the session as
 * soon as it runs again: what the follower answers proves nothing. */
TEST_CASE(follower_cut_off)
{
    enum { SHORT_MS = 3000 };
    struct acquisition a, b;

    fault_begin();
    int mine = trio_follower_beside(-1), other = trio_follower_beside(mine);
    int leader = zk_server_wait_leader(fault.server);
    acquisition_queue(&a, fault_mutex(trio_session_at(mine, SHORT_MS)), 1);
    acquisition_queue(&b, fault_mutex(fault_session(zk_server_connect(fault.server), 30000)), 2);
    zk_server_pause(fault.server, leader);
    zk_server_pause(fault.server, other);
    g_usleep((SHORT_MS + 2 * TRIO_TICK_MS) * 1000); /* the session's end, and no sign of it */
    zk_server_resume(fault.server, leader);
    zk_server_resume(fault.server, other);
    trio_let_commit();
    REQUIRE(acquisition_granted(&b));
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK(told_at(&a.told, ZKL_LOST) < b.at);
    CHECK(zkl_grant_token(b.grant) > zkl_grant_token(a.grant));
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    acquisition_end(&b);
    acquisition_end(&a);
    trio_end();
}

/* Kills the leader under a holder; true if it held on until another leads. */
static bool kill_leader(void)
{
    struct acquisition a, b, c;

    fault_begin();
    zkl_session *s = fault_session(zk_server_connect(fault.server), 10000);
    zkl_session *t = fault_session(zk_server_connect(fault.server), 10000);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&b, fault_mutex(t), 2);
    uint64_t first = zkl_grant_token(a.grant);
    int killed = zk_server_wait_leader(fault.server);
    zk_server_kill(fault.server, killed);
    int leader = zk_server_wait_leader(fault.server);
    CHECK(leader >= 0 && leader != killed);
    EVENTUALLY(zkl_grant_state(a.grant) != ZKL_SUSPECT);
    bool held = zkl_grant_state(a.grant) == ZKL_HELD;
    CHECK(!held || atomic_load(&b.done) == 0);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&b));
    uint64_t second = zkl_grant_token(b.grant);
    CHECK(second > first);
    acquisition_start(&c, fault_mutex(s), ZKL_FOREVER);
    acquisition_end(&b);
    REQUIRE(acquisition_granted(&c));
    CHECK(zkl_grant_token(c.grant) > second);
    acquisition_end(&c);
    CHECK(zk_server_launch(fault.server, killed) && zk_server_wait(fault.server, killed));
    trio_end();
    return held;
}

TEST_CASE(leader_killed)
{
    bool held = false;

    for (int i = 0; i < TRIES && !held; i++)
        held = kill_leader();
    CHECK(held);
}

/* ---- a session that has gone cold, and who else uses it ---- */

struct user {
    zkl_session *session;
    atomic_bool stop;
    bool same;
    int added, unknown, created;
};

/* An ensemble proves a new session sooner than one that was cold for longer than any deadline. */
static void lock_when_cold(struct user *u)
{
    const int64_t id = zkl_session_id(u->session);
    struct acquisition a;

    g_usleep(TIMEOUT_MS * 1000);
    acquisition_start(&a, fault_mutex(u->session), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    CHECK(zkl_grant_remaining_ms(a.grant) > 0);
    u->same = zkl_session_id(u->session) == id;
    acquisition_end(&a);
}

static void by_nobody(struct user *u)
{
    lock_when_cold(u);
    u->same = !u->same;
}

static void create_own(zhandle_t *zh, void *data)
{
    ((struct user *)data)->created =
        zoo_create(zh, "/own", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0);
}

static void by_a_node(struct user *u)
{
    CHECK_INT(zkl_session_keep(u->session, 1), 0);
    CHECK_INT(zkl_session_call(u->session, create_own, u), 0);
    CHECK_INT(u->created, ZOK);
    lock_when_cold(u);
    u->same = u->same && raw_sync(fault.direct, "/own") == ZOK &&
              raw_exists(fault.direct, "/own", NULL) == ZOK;
}

static void lock_inside(zhandle_t *zh, void *data)
{
    (void)zh;
    lock_when_cold(data);
}

static void by_a_call(struct user *u)
{
    CHECK_INT(zkl_session_call(u->session, lock_inside, u), 0);
}

static void *add(void *data)
{
    struct user *u = data;
    zkl_counter *c;

    REQUIRE(zkl_counter_new(&c, u->session, "/n", ZKL_COUNTER_64) == 0);
    while (!atomic_load(&u->stop)) {
        const int code = zkl_counter_add(c, 1, NULL, ZKL_FOREVER, NULL);
        u->added += code == 0;
        u->unknown += code == ZKL_EUNKNOWN;
    }
    zkl_counter_free(c);
    return NULL;
}

/* Between two calls the session may go. */
static void by_a_counter(struct user *u)
{
    pthread_t thread;

    REQUIRE(pthread_create(&thread, NULL, add, u) == 0);
    lock_when_cold(u);
    atomic_store(&u->stop, true);
    pthread_join(thread, NULL);
    CHECK(u->added > 0);
    u->same = u->unknown == 0;
}

static bool used(void (*by)(struct user *u))
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
    struct user u = {.stop = false};

    fault_begin();
    o.session_timeout_ms = TIMEOUT_MS;
    u.session = fault_session_options(zk_server_connect(fault.server), &o);
    session_set_warm_ms(u.session, 50);
    CHECK_INT(zkl_session_wait(u.session, ZKL_FOREVER), 0);
    by(&u);
    trio_end();
    return u.same;
}

TEST_CASE(cold_but_used)
{
    static void (*const all[])(struct user * u) = {by_nobody, by_a_node, by_a_call, by_a_counter};

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        bool same = false;
        for (int n = 0; n < TRIES && !same; n++)
            same = used(all[i]);
        CHECK(same);
    }
}
