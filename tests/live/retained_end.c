/* A mutex that retains, and ends that nobody wished for: of the node, of its session, of who waits,
 * of the handle, of the process that it was made in. */
#include "fault.h"
#include "mutex_actors.h"
#include "retained.h"
#include "runner.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(retained_end, .init = fault_start, .done = fault_stop);

/* Nobody could unlock, nor say what the thread has left half done: no turn follows on this node. */
TEST_CASE(thread_ends)
{
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    struct locker *l = locker_start(m, FAULT_LIMIT_MS);
    REQUIRE(locker_result(l) == 0);
    check_turn(l->grant, &seen, 1);
    locker_abandon(l);
    struct turn_seen before = seen;
    check_new_node(lock_turn(m, &seen), &before);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

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
    CHECK_INT(zkl_session_wait(s, FAULT_LIMIT_MS), 0);
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
            CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, &g), 0) && zkl_grant_token(g) > seen.token;
        zkl_mutex_unlock(m);
        anew;
    }));
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* The turn that runs is told, once, and none before it. */
TEST_CASE(lost_in_a_turn)
{
    struct told first = {.count = 0}, second = {.count = 0};
    struct acquisition waiting;
    atomic_int lost = 0;
    struct turn_seen seen;
    const zkl_grant *g;

    fault_begin();
    zkl_mutex *m = retaining(counting_session(&lost), DAY_MS);
    CHECK_INT(zkl_grant_on_change(lock_turn(m, &seen), told_fn, &first), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    check_turn(g, &seen, 1);
    CHECK_INT(zkl_grant_on_change(g, told_fn, &second), 0);
    acquisition_start(&waiting, m, ZKL_FOREVER);
    CHECK_INT(raw_delete(fault.direct, seen.node), ZOK);
    EVENTUALLY(told_times(&second, ZKL_LOST) == 1);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    REQUIRE(acquisition_granted(&waiting)); /* who waited here enters anew, before the unlock */
    check_new_node(waiting.grant, &seen);
    CHECK_INT(zkl_mutex_lock(m, 0, NULL), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_EPERM);
    acquisition_end(&waiting);
    CHECK_INT(atomic_load(&second.count), 1);
    CHECK_INT(atomic_load(&first.count), 1);
    CHECK_INT(told_times(&first, ZKL_RELEASED), 1);
    CHECK_INT(atomic_load(&lost), 1);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

static void note(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s;
    (void)id;
    atomic_store((atomic_int *)data, (int)event);
}

/* While nothing is proved no turn begins; then it goes on where it was. */
TEST_CASE(connection_lost_while_idle)
{
    atomic_int event = 0;
    struct acquisition a, b;
    struct turn_seen seen;

    fault_begin();
    zkl_session *s = fault_proxied(30000);
    zkl_mutex *m = retaining(s, DAY_MS);
    CHECK_INT(zkl_session_on_change(s, note, &event), 0);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
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

/* A caller that gives up leaves the others' order as it was. */
TEST_CASE(gives_up)
{
    struct acquisition a[4];
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    lock_turn(m, &seen);
    for (int i = 0; i < 4; i++)
        acquisition_start(&a[i], m, i == 1 ? 20 : ZKL_FOREVER);
    CHECK(acquisition_failed(&a[1], ZKL_ETIMEDOUT));
    zkl_op_cancel(a[2].op);
    CHECK(acquisition_failed(&a[2], ZKL_ECANCELED));
    struct locker *l = locker_start(m, 20);
    CHECK_INT(locker_result(l), ZKL_ETIMEDOUT);
    CHECK_STR(l->error.path, fault.path);
    locker_end(l);
    CHECK_INT(atomic_load(&a[0].done) + atomic_load(&a[3].done), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(acquisition_granted(&a[0]));
    check_turn(a[0].grant, &seen, 1);
    CHECK_INT(atomic_load(&a[3].done), 0);
    acquisition_end(&a[0]);
    REQUIRE(acquisition_granted(&a[3]));
    check_turn(a[3].grant, &seen, 2);
    acquisition_end(&a[3]);
    acquisition_end(&a[1]);
    acquisition_end(&a[2]);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}

/* The turn is a thread's, or an asynchronous caller's, who owns it beyond the handle. */
static void ended_with_waiters(bool free_it, bool owned)
{
    struct acquisition a, b;
    struct turn_seen seen;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = retaining(s, DAY_MS);
    lock_turn(m, &seen);
    if (owned) {
        CHECK_INT(zkl_mutex_unlock(m), 0);
        acquisition_start(&a, m, ZKL_FOREVER);
        REQUIRE(acquisition_granted(&a));
        check_turn(a.grant, &seen, 1);
    }
    acquisition_start(&b, m, ZKL_FOREVER);
    struct locker *l = free_it ? NULL : locker_start(m, ZKL_FOREVER); /* no call may begin then */
    if (free_it)
        fault_mutex_free(m);
    else
        fault_close(s);
    CHECK(acquisition_failed(&b, ZKL_ECLOSED));
    if (l) {
        CHECK_INT(locker_result(l), ZKL_ECLOSED);
        locker_end(l);
    }
    if (owned && free_it)
        check_turn(a.grant, &seen, 1);
    if (owned)
        acquisition_end(&a);
    acquisition_end(&b);
    EVENTUALLY(fault_children() == 0);
    fault_end();
}

TEST_CASE(freed)
{
    ended_with_waiters(true, false);
}

TEST_CASE(freed_but_owned)
{
    ended_with_waiters(true, true);
}

TEST_CASE(closed)
{
    ended_with_waiters(false, false);
}

TEST_CASE(closed_but_owned)
{
    ended_with_waiters(false, true);
}

/* What is idle ends with the handle. */
TEST_CASE(freed_while_idle)
{
    struct turn_seen seen;

    fault_begin();
    zkl_mutex *m = idle_after_two(&seen);
    fault_mutex_free(m);
    EVENTUALLY(fault_children() == 0);
    fault_end();
}

/* The number of the first thing that is not as it should be. */
static int try_in_child(zkl_mutex *m, const zkl_grant *g)
{
    struct told told = {.count = 0};
    char fence[ZKL_FENCE_SIZE];

    if (zkl_mutex_unlock(m) != ZKL_ECHILD || zkl_mutex_lock(m, 0, NULL) != ZKL_ECHILD)
        return 1;
    if (zkl_mutex_yield(m) != ZKL_ECHILD)
        return 2;
    if (zkl_grant_on_wanted(g, told_fn, &told) != ZKL_ECHILD)
        return 3;
    if (zkl_grant_state(g) != ZKL_LOST || zkl_grant_turn(g) != 1)
        return 4;
    if (zkl_grant_fence(g, fence, sizeof fence) != 0)
        return 5;
    zkl_mutex_free(m);
    return 0;
}

TEST_CASE(forked)
{
    struct turn_seen seen;
    const zkl_grant *g;
    int status = -1;

    fault_begin();
    zkl_mutex *m = retaining(fault_proxied(FAULT_LONG_MS), DAY_MS);
    lock_turn(m, &seen);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    REQUIRE(zkl_mutex_lock(m, 0, &g) == 0);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        _exit(try_in_child(m, g));
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    check_turn(g, &seen, 1);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    take_turn(m, &seen, 2);
    CHECK_INT(zkl_mutex_yield(m), 0);
    fault_end();
}
