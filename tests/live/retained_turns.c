/* A mutex that retains: turns of one node, in order and without requests, and what ends their
 * line. */
#include "fault.h"
#include "mutex_actors.h"
#include "retained.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(retained_turns, .init = fault_start, .done = fault_stop);

enum { TURNS = 200 };

static void check_fence(const zkl_grant *g, char before[ZKL_FENCE_SIZE])
{
    char fence[ZKL_FENCE_SIZE];

    CHECK_INT(zkl_grant_fence(g, fence, sizeof fence), 0);
    CHECK_INT(strlen(fence), 32);
    CHECK(strcmp(fence, before) > 0);
    memcpy(before, fence, sizeof fence);
}

/* Levels are of a turn, and the next turn is not a level. */
TEST_CASE(same_thread)
{
    char fence[ZKL_FENCE_SIZE] = "";
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    retain_first(m, &seen);
    uint64_t before = contender_requests();
    CHECK(before > 0);
    for (uint64_t i = 1; i <= TURNS; i++) {
        const zkl_grant *g, *again;
        REQUIRE(zkl_mutex_lock(m, i % 2 ? ZKL_FOREVER : 0, &g) == 0);
        check_turn(g, &seen, i);
        check_fence(g, fence);
        CHECK_INT(zkl_mutex_lock(m, 0, &again), 0);
        CHECK(again == g);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_grant_state(g), ZKL_HELD);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    }
    CHECK_INT(contender_requests(), before);
    CHECK_INT(fault_children(), 1);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* Those who wait here take their turns in the order in which they came, and none has a node. */
TEST_CASE(other_owners)
{
    enum { WAITERS = 5 };
    struct acquisition a[WAITERS];
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    retain_first(m, &seen);
    uint64_t before = contender_requests();
    REQUIRE(zkl_mutex_lock(m, 0, NULL) == 0);
    for (int i = 0; i < WAITERS; i++)
        acquisition_start(&a[i], m, ZKL_FOREVER);
    struct locker *l = locker_start(m, 0);
    CHECK_INT(locker_result(l), ZKL_EBUSY); /* which is known here */
    locker_end(l);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (int i = 0; i < WAITERS; i++) {
        REQUIRE(acquisition_granted(&a[i]));
        check_turn(a[i].grant, &seen, (uint64_t)i + 2);
        for (int j = i + 1; j < WAITERS; j++)
            CHECK_INT(atomic_load(&a[j].done), 0);
        acquisition_end(&a[i]);
    }
    CHECK_INT(contender_requests(), before);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* Two threads, each again and again: every turn is another one of the same node. */
static void *lock_often(void *mutex)
{
    for (int i = 0; i < TURNS; i++) {
        REQUIRE(zkl_mutex_lock(mutex, ZKL_FOREVER, NULL) == 0);
        CHECK_INT(zkl_mutex_unlock(mutex), 0);
    }
    return NULL;
}

TEST_CASE(threads)
{
    pthread_t thread[4];
    struct turn_seen seen;
    const zkl_grant *g;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    retain_first(m, &seen);
    uint64_t before = contender_requests();
    REQUIRE(zkl_mutex_lock(m, 0, NULL) == 0);
    for (size_t i = 0; i < G_N_ELEMENTS(thread); i++)
        REQUIRE(pthread_create(&thread[i], NULL, lock_often, m) == 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (size_t i = 0; i < G_N_ELEMENTS(thread); i++)
        pthread_join(thread[i], NULL);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    check_turn(g, &seen, G_N_ELEMENTS(thread) * TURNS + 2);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(contender_requests(), before);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* For resources that know one number only: another owner, another token. */
TEST_CASE(fence64)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct turn_seen seen;
    const zkl_grant *g;

    fault_begin();
    o.retain_ms = DAY_MS;
    o.fence64 = 1;
    zkl_mutex *m = fault_mutex_options(fault_proxied(FAULT_LONG_MS), fault.path, &o);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    check_turn(g, &seen, 1);
    struct locker *l = locker_start(m, ZKL_FOREVER);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(locker_result(l) == 0);
    CHECK((uint64_t)l->token > seen.token);
    CHECK_INT(zkl_grant_turn(l->grant), 0);
    seen.token = (uint64_t)l->token;
    CHECK_INT(locker_end(l), 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK(zkl_grant_token(g) > seen.token);
    CHECK_INT(zkl_grant_turn(g), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* A turn of its own each, and a transaction in each: the versions of the node go on. */
static int set_data(const zkl_grant *grant, const char *path, unsigned flags)
{
    const zkl_change set = {ZKL_CHANGE_SET, -1, path, "x", 1};

    return zkl_grant_multi(grant, &set, 1, flags, FAULT_LIMIT_MS);
}

static int version_of(const char *path)
{
    struct Stat stat = {0};

    CHECK_INT(raw_exists(fault.direct, path, &stat), ZOK);
    return stat.version;
}

TEST_CASE(transactions)
{
    static const char data[] = "/retained-data";
    struct turn_seen seen;
    const zkl_grant *g, *before = NULL;

    fault_begin();
    CHECK_INT(raw_create(fault.direct, data, "0", 1, 0, NULL), ZOK);
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    for (uint64_t i = 1; i <= 3; i++) {
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
        check_turn(g, &seen, i);
        CHECK_INT(set_data(g, data, 0), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    CHECK_INT(version_of(data), 3);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &before) == 0);
    check_turn(before, &seen, 4);
    CHECK_INT(set_data(before, data, ZKL_MULTI_RELEASE), 0);
    CHECK_INT(zkl_grant_state(before), ZKL_RELEASED);
    CHECK_INT(raw_exists(fault.direct, seen.node, NULL), ZNONODE);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ELOST); /* the unlock is owed */
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(version_of(data), 4);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK(zkl_grant_token(g) > seen.token);
    CHECK_INT(zkl_grant_turn(g), 0);
    CHECK_INT(set_data(g, data, 0), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
    raw_delete_tree(fault.direct, data);
}

static void count_call(const zkl_error *error, void *calls)
{
    (void)error;
    atomic_fetch_add((atomic_int *)calls, 1);
}

/* Nobody could say what it changes: no other turn may follow it on this node. */
TEST_CASE(transaction_in_doubt)
{
    struct turn_seen seen;
    atomic_int calls = 0;
    const zkl_grant *g;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(30000), DAY_MS);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    check_turn(g, &seen, 1);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    CHECK_INT(zkl_grant_multi_async(g, NULL, 0, 0, ZKL_FOREVER, count_call, &calls), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    proxy_thaw(fault.proxy);
    REQUIRE(zkl_mutex_lock(m, FAULT_LIMIT_MS, &g) == 0);
    CHECK(zkl_grant_token(g) > seen.token);
    CHECK_INT(zkl_grant_turn(g), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    EVENTUALLY(atomic_load(&calls) == 1);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* A turn is given back by who got it asynchronously as well, and its caller's pointer is its own.
 */
TEST_CASE(by_the_grant)
{
    struct acquisition a, b;
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    acquisition_start(&a, m, ZKL_FOREVER);
    REQUIRE(acquisition_granted(&a));
    check_turn(a.grant, &seen, 1);
    acquisition_start(&b, m, 0);
    CHECK(acquisition_failed(&b, ZKL_EBUSY));
    acquisition_end(&b);
    acquisition_end(&a);
    CHECK_INT(told_times(&a.told, ZKL_RELEASED), 1);
    acquisition_start(&b, m, 0);
    REQUIRE(acquisition_granted(&b));
    check_turn(b.grant, &seen, 2);
    acquisition_end(&b);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}
