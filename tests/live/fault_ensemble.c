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

static void count_renewals(int tick_ms, double writes_most)
{
    enum { FULL_MS = 10000 };
    const int wanted = 2 + fault_scaled(6);
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    struct proxy *proxy = proxy_start(zk_server_port(fault.server, trio_follower_beside(-1)));
    struct acquisition a;

    REQUIRE(proxy != NULL);
    fault_begin();
    options.session_timeout_ms = FULL_MS;
    options.tick_ms = tick_ms;
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
    CHECK(writes - 1 <= writes_most * seconds);
    CHECK(syncs - 1 <= writes_most * seconds);
    CHECK(reads - 1 <= 2 * seconds);
    acquisition_end(&a);
    trio_end();
    proxy_stop(proxy);
}

/* What proofs cost, as zkl(7) says it: at a timeout of 10 s not more than so many writes, and as
 * many syncs, a second. A late timer may cost another read. The time is bounded from below only. */
TEST_CASE(renewals_counted)
{
    count_renewals(2000, 0.45);
    count_renewals(0, 0.52);
}

/* ---- those who need no deadline cost what pings cost ---- */

struct quiet {
    struct proxy *proxy;
    zkl_session *session;
    struct acquisition waiter;
    zkl_member *member;
    zkl_double_barrier *barrier;
};

static void ignore_done(const zkl_error *error, void *unused)
{
    (void)error;
    (void)unused;
}

static void come_to_wait(struct quiet *q)
{
    acquisition_start(&q->waiter, fault_mutex(q->session), ZKL_FOREVER);
    CHECK(proxy_wait_requests(q->proxy, PROXY_OP_CREATE2, 1, UNTIL_LATE));
}

static void come_to_join(struct quiet *q)
{
    REQUIRE(zkl_member_join(&q->member, q->session, "/quiet", "a", NULL, 0, NULL) == 0);
    CHECK_INT(zkl_member_wait(q->member, ZKL_FOREVER), 0);
}

static void come_to_enter(struct quiet *q)
{
    REQUIRE(zkl_double_barrier_new(&q->barrier, q->session, "/quiet-two", 2, NULL) == 0);
    CHECK_INT(zkl_double_barrier_enter_async(q->barrier, ZKL_FOREVER, ignore_done, NULL), 0);
    CHECK(proxy_wait_requests(q->proxy, PROXY_OP_CREATE2, 1, UNTIL_LATE));
}

static void come_to_nothing(struct quiet *q)
{
    CHECK_INT(zkl_session_wait(q->session, ZKL_FOREVER), 0);
}

static const struct {
    const char *what;
    void (*come)(struct quiet *q);
    int64_t warm_ms;
} quiet_ones[] = {{"a waiter", come_to_wait, 0},
                  {"a member", come_to_join, 0},
                  {"at a double barrier", come_to_enter, 0},
                  {"opened", come_to_nothing, 60000}};

static void quiet_begin(struct quiet *q, size_t which)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.session_timeout_ms = 10000;
    q->proxy = proxy_start(zk_server_port(fault.server, trio_follower_beside(-1)));
    REQUIRE(q->proxy != NULL);
    q->session = fault_session_options(proxy_connect(q->proxy), &options);
    session_set_warm_ms(q->session, quiet_ones[which].warm_ms);
    quiet_ones[which].come(q);
}

/* The time is bounded from below only. */
static void quiet_judge(struct quiet *q, size_t which, int64_t begun)
{
    const double requests = (double)proxy_requests(q->proxy, PROXY_OP_ANY),
                 pings = (double)proxy_requests(q->proxy, PROXY_OP_PING),
                 syncs = (double)proxy_requests(q->proxy, PROXY_OP_SYNC),
                 seconds = (double)(fault_boot_ns() - begun) / 1e9;

    printf("  %s: %.2f requests per second, of them %.2f syncs and %.2f pings\n",
           quiet_ones[which].what, (requests + pings) / seconds, syncs / seconds, pings / seconds);
    CHECK_INT(requests, syncs);
    CHECK(syncs - 1 <= 0.36 * seconds); /* the count may begin right before one */
}

/* Without a deadline: at a timeout of 10 s a sync each 2.86 s, and nothing besides. */
TEST_CASE(others_counted)
{
    struct quiet all[G_N_ELEMENTS(quiet_ones)] = {{.proxy = NULL}};
    const uint64_t wanted = 2 + (uint64_t)fault_scaled(3);
    struct acquisition holder;

    fault_begin();
    acquisition_start(&holder, fault_mutex(fault_session(zk_server_connect(fault.server), 30000)),
                      ZKL_FOREVER);
    REQUIRE(acquisition_granted(&holder));
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        quiet_begin(&all[i], i);
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) /* what it came with is over */
        CHECK(proxy_wait_requests(all[i].proxy, PROXY_OP_SYNC, 2, UNTIL_LATE));
    const int64_t begun = fault_boot_ns();
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        proxy_reset_stats(all[i].proxy);
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        CHECK(proxy_wait_requests(all[i].proxy, PROXY_OP_SYNC, wanted, UNTIL_LATE));
        quiet_judge(&all[i], i, begun);
    }
    acquisition_end(&holder);
    acquisition_end(&all[0].waiter);
    zkl_member_free(all[1].member);
    zkl_double_barrier_free(all[2].barrier);
    trio_end();
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        proxy_stop(all[i].proxy);
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
