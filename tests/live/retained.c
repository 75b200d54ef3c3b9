/* A mutex that retains: turns of one node, others who want the lock, and ends that nobody wished
 * for. */
#include "fault.h"
#include "mutex_actors.h"
#include "recipes/attempt.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

TEST_SUITE(retained, .init = fault_start, .done = fault_stop);

enum { DAY_MS = 86400000 };

/* The first turn of a node. */
struct turn_seen {
    uint64_t token;
    char node[512];
};

/* On fault.path; fault_end() frees it, but what it has kept must have ended before. */
static zkl_mutex *retaining(zkl_session *s, int64_t retain_ms)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    o.retain_ms = retain_ms;
    return fault_mutex_options(s, fault.path, &o);
}

/* Locks; a new node's first turn. */
static const zkl_grant *lock_turn(zkl_mutex *m, struct turn_seen *ret)
{
    const zkl_grant *g = NULL;

    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_turn(g), 0);
    ret->token = zkl_grant_token(g);
    g_strlcpy(ret->node, zkl_grant_node(g), sizeof ret->node);
    return g;
}

/* Whatever a contender asks for. */
static const int ops[] = {PROXY_OP_CREATE,       PROXY_OP_CREATE2,  PROXY_OP_CREATE_CONTAINER,
                          PROXY_OP_GET_CHILDREN, PROXY_OP_DELETE,   PROXY_OP_GET_CHILDREN2,
                          PROXY_OP_EXISTS,       PROXY_OP_GET_DATA, PROXY_OP_MULTI};

static uint64_t sum(uint64_t (*count)(struct proxy *p, int op))
{
    uint64_t all = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(ops); i++)
        all += count(fault.proxy, ops[i]);
    return all;
}

/* Requests through fault.proxy, of those that contenders make: proofs are of the session. */
static uint64_t contender_requests(void)
{
    return sum(proxy_requests);
}

/* Locks a handle's first node and unlocks it: turn 0 is over, the node idle, and nothing that was
 * asked through fault.proxy unanswered. A first node has no watch for others before that. */
static void retain_first(zkl_mutex *m, struct turn_seen *ret)
{
    char *parent = g_path_get_dirname(fault.path);

    CHECK_INT(raw_create(fault.direct, parent, NULL, -1, 0, NULL), ZOK);
    CHECK_INT(raw_create(fault.direct, fault.path, NULL, -1, 0, NULL), ZOK);
    g_free(parent);
    lock_turn(m, ret);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK(proxy_wait_answers(fault.proxy, PROXY_OP_GET_CHILDREN2, 2, UNTIL_LATE));
    /* The own node is watched 20 ms after the grant; the session has read once for itself. */
    CHECK(proxy_wait_answers(fault.proxy, PROXY_OP_GET_DATA, 2, UNTIL_LATE));
    EVENTUALLY(sum(proxy_answers) == sum(proxy_requests));
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_GET_CHILDREN2), 2); /* one was the look */
}

/* Checks that the grant is that turn of the same node. */
static void check_turn(const zkl_grant *g, const struct turn_seen *first, uint64_t turn)
{
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    CHECK_INT(zkl_grant_token(g), first->token);
    CHECK_INT(zkl_grant_turn(g), turn);
    CHECK_STR(zkl_grant_node(g), first->node);
}

/* Checks that the grant is the first turn of a later node. */
static void check_new_node(const zkl_grant *g, const struct turn_seen *before)
{
    CHECK(zkl_grant_token(g) > before->token);
    CHECK_INT(zkl_grant_turn(g), 0);
    CHECK(g_strcmp0(zkl_grant_node(g), before->node) != 0);
}

/* Locks and unlocks: that turn. */
static void take_turn(zkl_mutex *m, const struct turn_seen *first, uint64_t turn)
{
    const zkl_grant *g = NULL;

    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    check_turn(g, first, turn);
    CHECK_INT(zkl_mutex_unlock(m), 0);
}

/* ---- turns, in order and without requests ---- */

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

/* A turn of its own each, and a transaction in each: the versions of the node go on. */
static int set_data(const zkl_grant *grant, const char *path, unsigned flags)
{
    const zkl_change set = {ZKL_CHANGE_SET, -1, path, "x", 1};

    return zkl_grant_multi(grant, &set, 1, flags, ZKL_FOREVER);
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

/* ---- others who want the lock ---- */

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

/* ---- a contender only tries ---- */

enum { YIELD_MS = ATTEMPT_YIELD_MS };

/* Whether m gets the idle lock of another handle at once. That handle is a new one each time, so
 * that it retains, whatever others have cost. False: it was slow to hear of the try. */
static bool is_had_at_once(zkl_session *theirs, zkl_mutex *m)
{
    zkl_mutex *idle = retaining(theirs, DAY_MS);
    struct turn_seen seen;
    const zkl_grant *g;

    lock_turn(idle, &seen);
    CHECK_INT(zkl_mutex_unlock(idle), 0);
    REQUIRE(raw_exists(fault.direct, seen.node, NULL) == ZOK);
    const int code = zkl_mutex_lock(m, 0, &g);
    if (code == 0) {
        check_new_node(g, &seen);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        CHECK_INT(zkl_mutex_yield(m), 0);
    } else {
        CHECK_INT(code, ZKL_EBUSY);
    }
    EVENTUALLY(fault_children() == 0);
    fault_mutex_free(idle);
    return code == 0;
}

TEST_CASE(try_of_an_idle_one)
{
    fault_begin();
    zkl_session *theirs = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    EVENTUALLY(is_had_at_once(theirs, m));
    fault_end();
}

/* One whose session has asked already what each connection asks once. */
static zkl_mutex *counted(bool retains, uint64_t *ret_before)
{
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = retains ? retaining(s, DAY_MS) : fault_mutex(s);

    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    EVENTUALLY(fault_children() == 0);
    *ret_before = contender_requests();
    return m;
}

TEST_CASE(try_of_one_that_is_used)
{
    struct turn_seen seen;
    uint64_t before;

    fault_begin();
    zkl_mutex *m = retaining(fault_direct(FAULT_LONG_MS), DAY_MS), *n = counted(false, &before);
    const zkl_grant *g = lock_turn(m, &seen);
    int64_t asked = fault_boot_ns();
    CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
    CHECK(fault_boot_ns() - asked >= YIELD_MS * INT64_C(1000000));
    CHECK_INT(zkl_grant_state(g), ZKL_HELD);
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(contender_requests() - before, 5); /* create, list, both nodes, delete */
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* By one list, also where the one who tries retains. */
TEST_CASE(try_of_one_not_retained)
{
    struct turn_seen seen;
    uint64_t before;

    for (int retains = 0; retains < 2; retains++) {
        fault_begin();
        zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
        zkl_mutex *n = counted(retains, &before);
        lock_turn(m, &seen);
        CHECK_INT(zkl_mutex_lock(n, 0, NULL), ZKL_EBUSY);
        EVENTUALLY(fault_children() == 1);
        CHECK_INT(contender_requests() - before, 3); /* create, list, delete */
        CHECK_INT(zkl_mutex_unlock(m), 0);
        fault_end();
    }
}

/* ---- ends of the node, of its session, of its connection ---- */

static void count_lost(const zkl_log_record *record, void *count)
{
    if (strstr(record->text, ": lost"))
        atomic_fetch_add((atomic_int *)count, 1);
}

static zkl_session *counting_session(atomic_int *lost)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.session_timeout_ms = FAULT_LONG_MS;
    o.log = count_lost;
    o.log_data = lost;
    zkl_session *s = fault_session_options(proxy_connect(fault.proxy), &o);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    return s;
}

/* A caller that had a turn before is over with it, and hears of no loss. The next turn has a node
 * of the next session. */
TEST_CASE(expired_while_idle)
{
    struct told first = {.count = 0};
    atomic_int lost = 0;
    struct turn_seen seen;

    fault_begin();
    zkl_session *s = counting_session(&lost);
    zkl_mutex *m = retaining(s, DAY_MS);
    CHECK_INT(zkl_grant_on_change(lock_turn(m, &seen), told_fn, &first), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    int64_t id = zkl_session_id(s);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    fault_expire(id);
    proxy_thaw(fault.proxy);
    EVENTUALLY(zkl_session_id(s) != id && zkl_session_id(s) != 0);
    struct turn_seen before = seen;
    check_new_node(lock_turn(m, &seen), &before);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    take_turn(m, &seen, 1);
    CHECK_INT(atomic_load(&lost), 0);
    CHECK_INT(atomic_load(&first.count), 1);
    CHECK_INT(told_times(&first, ZKL_RELEASED), 1);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* Two turns were had, and the lock is kept. */
static zkl_mutex *idle_after_two(struct turn_seen *seen)
{
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);

    lock_turn(m, seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    take_turn(m, seen, 1);
    return m;
}

/* The same, by an administrator. */
TEST_CASE(deleted_while_idle)
{
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = idle_after_two(&seen);
    CHECK_INT(raw_delete(fault.direct, seen.node), ZOK);
    EVENTUALLY(({
        const zkl_grant *g = NULL;
        bool anew =
            CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, &g), 0) && zkl_grant_token(g) > seen.token;
        zkl_mutex_unlock(m);
        anew;
    }));
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

static void note(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s;
    (void)id;
    atomic_store((atomic_int *)data, (int)event);
}

/* looked: the watch on the children stands, which tells of no rival here. The outage is far shorter
 * than a quarter of the session timeout, so that nothing watched is doubted. */
static void lose_connection_while_idle(bool looked)
{
    atomic_int event = 0;
    struct acquisition a, b;
    struct turn_seen seen;

    fault_begin();
    zkl_session *s = fault_proxied(30000);
    zkl_mutex *m = retaining(s, DAY_MS);
    CHECK_INT(zkl_session_on_change(s, note, &event), 0);
    if (looked) {
        retain_first(m, &seen);
    } else {
        lock_turn(m, &seen);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    proxy_cut(fault.proxy);
    EVENTUALLY(atomic_load(&event) == ZKL_SESSION_SUSPENDED);
    acquisition_start(&a, m, ZKL_FOREVER);
    acquisition_start(&b, m, 50);
    CHECK(acquisition_failed(&b, ZKL_EUNREACHABLE));
    CHECK_INT(atomic_load(&a.done), 0);
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&a));
    check_turn(a.grant, &seen, 1);
    acquisition_end(&a);
    acquisition_end(&b);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* While nothing is proved no turn begins; then it goes on where it was. */
TEST_CASE(connection_lost_while_idle)
{
    lose_connection_while_idle(false);
    lose_connection_while_idle(true);
}

/* That another contender waits is told in a later turn as well: once to who asks before that one
 * comes, and once to who asks behind it. */
TEST_CASE(wanted_in_a_later_turn)
{
    struct told early = {.count = 0}, late = {.count = 0};
    struct acquisition b;
    const zkl_grant *g;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    zkl_mutex *other = fault_mutex(fault_direct(FAULT_LONG_MS));
    for (int i = 0; i < 3; i++) {
        REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, NULL) == 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
    }
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_grant_turn(g), 3);
    CHECK_INT(zkl_grant_on_wanted(g, told_fn, &early), 0);
    acquisition_queue(&b, other, 2);
    EVENTUALLY(atomic_load(&early.count) == 1);
    CHECK_INT(zkl_grant_on_wanted(g, told_fn, &late), 0);
    EVENTUALLY(atomic_load(&late.count) == 1);
    CHECK_INT(told_times(&early, ZKL_HELD) + told_times(&early, ZKL_SUSPECT), 1);
    zkl_op_cancel(b.op);
    CHECK(acquisition_failed(&b, ZKL_ECANCELED));
    acquisition_end(&b);
    EVENTUALLY(fault_children() == 1);
    acquisition_queue(&b, other, 2); /* another one, of which nobody is told */
    zkl_op_cancel(b.op);
    acquisition_end(&b);
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(atomic_load(&early.count), 1);
    CHECK_INT(atomic_load(&late.count), 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}
