/* A mutex that retains, and others who want the lock: an idle node goes when it is theirs to have,
 * or when nobody has used it for long. */
#include "fault.h"
#include "lib/lock/mutex.h"
#include "mutex_actors.h"
#include "retained.h"
#include "runner.h"

#include <stdio.h>

TEST_SUITE(retained_rival, .init = fault_start, .done = fault_stop);

static void check_gone(const struct turn_seen *seen)
{
    EVENTUALLY(raw_exists(fault.direct, seen->node, NULL) == ZNONODE);
}

/* Another session's lock() ends an idle tenure, and how long it took is worth knowing. */
TEST_CASE(idle_yields)
{
    struct turn_seen seen, theirs;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    zkl_mutex *n = fault_mutex(fault_direct(FAULT_LONG_MS));
    retain_first(m, &seen);
    take_turn(m, &seen, 1);
    int64_t asked = fault_boot_ns();
    const zkl_grant *g = lock_turn(n, &theirs);
    printf("    another session waited %.1f ms for an idle lock\n",
           (double)(fault_boot_ns() - asked) / 1e6);
    check_new_node(g, &seen);
    check_gone(&seen);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    const zkl_grant *mine = lock_turn(m, &seen);
    CHECK(zkl_grant_token(mine) > theirs.token);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* A contender as Curator's Java makes them; it takes no part in anything but the order. */
TEST_CASE(foreign_contender)
{
    static const char name[] = "_c_c0ffee00-0000-4000-8000-000000000001-lock-";
    char node[RAW_PATH_SIZE];
    struct acquisition a;
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    retain_first(m, &seen);
    char *path = g_strdup_printf("%s/%s", fault.path, name);
    REQUIRE(raw_create(fault.direct, path, NULL, -1, ZOO_EPHEMERAL | ZOO_SEQUENCE, node) == ZOK);
    check_gone(&seen);
    acquisition_queue(&a, m, 2);
    CHECK_INT(raw_delete(fault.direct, node), ZOK);
    REQUIRE(acquisition_granted(&a));
    check_new_node(a.grant, &seen);
    acquisition_end(&a);
    CHECK_INT(zkl_mutex_yield(m), 0);
    g_free(path);
    fault_end();
}

/* A contender that only tries fails while the other has not heard of it. But its try ends the
 * tenure. */
TEST_CASE(try_again)
{
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(30000), DAY_MS);
    zkl_mutex *n = fault_mutex(fault_direct(30000));
    retain_first(m, &seen);
    proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
    proxy_thaw(fault.proxy);
    EVENTUALLY(zkl_mutex_lock(n, 0, NULL) == 0);
    CHECK_INT(zkl_mutex_unlock(n), 0);
    fault_end();
}

/* Not before its time. */
TEST_CASE(time_passes)
{
    enum { RETAIN_MS = 100 };
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), RETAIN_MS);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    int64_t used = fault_boot_ns();
    EVENTUALLY(fault_children() == 0);
    CHECK(fault_boot_ns() - used >= (RETAIN_MS - 1) * INT64_C(1000000));
    const zkl_grant *g = lock_turn(m, &seen);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    EVENTUALLY(fault_children() == 0);
    fault_end();
}

/* What is used stays. */
TEST_CASE(yields_when_asked)
{
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    CHECK_INT(zkl_mutex_yield(m), 0);
    const zkl_grant *g = lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_yield(m), 0);
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    take_turn(m, &seen, 1); /* a turn was not ended, nor its tenure */
    CHECK_INT(zkl_mutex_yield(m), 0);
    check_gone(&seen);
    struct turn_seen before = seen;
    check_new_node(lock_turn(m, &seen), &before);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    CHECK_INT(zkl_mutex_yield(NULL), ZKL_EINVAL);
    fault_end();
}

/* A session with too many idle locks gives up the one that was used least lately. */
TEST_CASE(at_most_so_many)
{
    enum { MUTEXES = 3 };
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct turn_seen seen[MUTEXES];
    zkl_mutex *m[MUTEXES];

    fault_begin();
    turns_most = MUTEXES - 1;
    o.retain_ms = DAY_MS;
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    for (int i = 0; i < MUTEXES; i++) {
        char *path = g_strdup_printf("%s-%d", fault.path, i);
        m[i] = fault_mutex_options(s, path, &o);
        g_free(path);
    }
    for (int i = 0; i < MUTEXES - 1; i++) {
        lock_turn(m[i], &seen[i]);
        CHECK_INT(zkl_mutex_unlock(m[i]), 0);
    }
    take_turn(m[0], &seen[0], 1);
    lock_turn(m[2], &seen[2]);
    CHECK_INT(zkl_mutex_unlock(m[2]), 0);
    check_gone(&seen[1]);
    take_turn(m[0], &seen[0], 2);
    take_turn(m[2], &seen[2], 1);
    for (int i = 0; i < MUTEXES; i++)
        CHECK_INT(zkl_mutex_yield(m[i]), 0);
    turns_most = TURNS_MOST;
    fault_end();
}

/* Three wait here and then another session does, which goes first where none of the three may. */
TEST_CASE(rival_first)
{
    enum { HERE = 3 };
    struct told wanted = {.count = 0};
    struct acquisition a[HERE], b;
    struct turn_seen seen;
    const zkl_grant *g;

    fault_begin();
    turns_local = 0;
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    turns_local = TURNS_LOCAL;
    zkl_mutex *n = fault_mutex(fault_direct(FAULT_LONG_MS));
    retain_first(m, &seen);
    REQUIRE(zkl_mutex_lock(m, 0, &g) == 0);
    CHECK_INT(zkl_grant_on_wanted(g, told_fn, &wanted), 0);
    for (int i = 0; i < HERE; i++)
        acquisition_start(&a[i], m, ZKL_FOREVER);
    acquisition_queue(&b, n, 2);
    EVENTUALLY(atomic_load(&wanted.count) == 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(acquisition_granted(&b));
    uint64_t theirs = zkl_grant_token(b.grant);
    for (int i = 0; i < HERE; i++)
        CHECK_INT(atomic_load(&a[i].done), 0);
    acquisition_end(&b);
    for (int i = 0; i < HERE; i++) {
        REQUIRE(acquisition_granted(&a[i]));
        CHECK(zkl_grant_token(a[i].grant) > theirs);
        acquisition_end(&a[i]);
    }
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}
