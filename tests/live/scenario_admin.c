/* Third parties: sessions closed by force, directories deleted under everybody and made again. */
#include "runner.h"
#include "scenario.h"

TEST_SUITE(scenario_admin, .init = fault_start, .done = fault_stop);

enum { WAITERS = 4 };

static void check_lost_once(struct acquisition *a)
{
    EVENTUALLY(told_times(&a->told, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(a->grant), ZKL_LOST);
    CHECK_INT(zkl_grant_remaining_ms(a->grant), 0);
}

/* Contenders of two sessions, one of which is closed again and again. A contender that held is
 * told, one that waited waits on, and all of them are served in the end. */
TEST_CASE(s19_expired_by_force)
{
    struct acquisition a[WAITERS];
    zkl_session *s[2];
    uint64_t token = 0;

    fault_begin();
    s[0] = fault_proxied(FAULT_LONG_MS);
    s[1] = fault_direct(FAULT_LONG_MS);
    for (int i = 0; i < WAITERS; i++)
        acquisition_queue(&a[i], fault_mutex(s[i % 2]), i + 1);
    for (int i = 0; i < 3; i++) {
        int64_t before = zkl_session_id(s[0]);
        proxy_freeze(fault.proxy, PROXY_BOTH);
        fault_expire(before);
        proxy_thaw(fault.proxy);
        EVENTUALLY(zkl_session_id(s[0]) != before && zkl_session_wait(s[0], 0) == 0);
    }
    check_lost_once(&a[0]);
    token = zkl_grant_token(a[0].grant);
    static const int order[] = {1, 3, 2}; /* the session that was closed is behind */
    for (int i = 0; i < 3; i++) {
        struct acquisition *next = &a[order[i]];
        REQUIRE(acquisition_granted(next));
        CHECK(zkl_grant_token(next->grant) > token);
        token = zkl_grant_token(next->grant);
        acquisition_end(next);
        CHECK_INT(told_times(&next->told, ZKL_LOST), 0);
    }
    acquisition_end(&a[0]);
    CHECK_INT(told_times(&a[0].told, ZKL_LOST), 1);
    fault_end();
}

static void delete_tree(void)
{
    int rc;

    do
        rc = raw_delete_tree(fault.direct, fault.path);
    while (rc == ZNOTEMPTY); /* a waiter was back already */
    CHECK(rc == ZOK || rc == ZNONODE);
}

/* The first of those that have been granted and not ended. */
static struct acquisition *first_granted(struct acquisition *a)
{
    struct acquisition *first = NULL;

    for (int i = 1; i < WAITERS; i++) {
        if (atomic_load(&a[i].done) == 0 || !a[i].grant)
            continue;
        if (!first || zkl_grant_token(a[i].grant) < zkl_grant_token(first->grant))
            first = &a[i];
    }
    return first;
}

/* Everything deleted, the directory too, and made again by the same hand. Numbers begin anew in it,
 * tokens go on. */
TEST_CASE(s20_parent_deleted_and_made_again)
{
    struct acquisition a[WAITERS], *next;

    fault_begin();
    for (int i = 0; i < WAITERS; i++)
        acquisition_queue(&a[i], fault_mutex(fault_direct(FAULT_LONG_MS)), i + 1);
    uint64_t token = zkl_grant_token(a[0].grant);
    delete_tree();
    int rc = raw_create(fault.direct, fault.path, "x", 1, 0, NULL);
    CHECK(rc == ZOK || rc == ZNODEEXISTS);
    check_lost_once(&a[0]);
    for (int served = 1; served < WAITERS; served++) {
        EVENTUALLY((next = first_granted(a)) != NULL);
        /* One that was granted before its own node was deleted may be seen after others. */
        if (raw_exists(fault.direct, zkl_grant_node(next->grant), NULL) == ZOK) {
            CHECK(zkl_grant_token(next->grant) > token);
            token = zkl_grant_token(next->grant);
        }
        acquisition_end(next);
    }
    acquisition_end(&a[0]);
    CHECK_INT(told_times(&a[0].told, ZKL_LOST), 1);
    fault_end();
}
