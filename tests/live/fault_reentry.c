/* Many waiters whose nodes go all at once, or whose server does. What their session holds
 * elsewhere and what it is granted meanwhile lasts: its proofs are not behind what they all ask
 * for. And many who wait for a run, when it is recorded. $ZKL_TEST_WAITERS says how many they are;
 * their names are too long for one session to watch more than 7,000 of them. */
#include "fault.h"
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>

TEST_SUITE(fault_reentry, .init = fault_start, .done = fault_stop);

enum {
    WAITERS = 1000,
    OF_ONE_SESSION = 5000,
    SESSIONS = 4,
    TURNS = 20,
    LEAVES = 4, /* requests of each that leaves line, at most */
    PATIENT_MS = 20000
};

/* One session: what it holds from before, and from after the trouble. */
struct party {
    zkl_session *session;
    zkl_mutex *turns;
    struct acquisition before, after;
};

static struct party parties[SESSIONS];
static struct acquisition *waiters;
static int waiter_count, sessions;
static struct {
    int64_t least_ms, longest_us;
    int turns;
} seen;

/* Without listing them. */
static int in_line(void)
{
    struct Stat stat;

    return raw_exists(fault.direct, fault.path, &stat) == ZOK ? stat.numChildren : 0;
}

static zkl_mutex *mutex_on(zkl_session *s, const char *name, int number)
{
    char *lock = fault.path;

    fault.path = g_strdup_printf("%s-%s-%d", lock, name, number);
    zkl_mutex *m = fault_mutex(s);
    g_free(fault.path);
    fault.path = lock;
    return m;
}

static void take_turn(struct party *p)
{
    int64_t begin = g_get_monotonic_time();

    REQUIRE(zkl_mutex_lock(p->turns, ZKL_FOREVER, NULL) == 0);
    CHECK_INT(zkl_mutex_unlock(p->turns), 0);
    seen.turns++;
    seen.longest_us = MAX(seen.longest_us, g_get_monotonic_time() - begin);
    seen.least_ms = MIN(seen.least_ms, zkl_grant_remaining_ms(p->after.grant));
}

/* Until so many are, with so many short locks in between at least, or none. */
static void wait_in_line(int wanted, int turns)
{
    int line, before = -1;

    while (((line = in_line()) != wanted || seen.turns < turns) && !progress_is_late()) {
        for (int i = 0; turns > 0 && i < sessions; i++)
            take_turn(&parties[i]);
        if (line != before)
            progress_step();
        before = line;
        g_usleep(1000);
    }
    CHECK_INT(in_line(), wanted);
}

static void count_waiters(void)
{
    const char *size = g_getenv("ZKL_TEST_WAITERS");

    waiter_count = size ? MAX(atoi(size), 1) : fault_scaled(WAITERS);
    sessions = 1 + (waiter_count - 1) / OF_ONE_SESSION;
    REQUIRE(sessions <= SESSIONS);
    waiters = g_new0(struct acquisition, (gsize)waiter_count);
    seen.turns = 0;
}

/* Behind a contender that never ends, all wait. */
static void begin(int timeout_ms)
{
    char *first;

    fault_begin();
    count_waiters();
    seen.least_ms = timeout_ms;
    seen.longest_us = 0;
    first = g_strconcat(fault.path, "/_c_first-lock-", NULL);
    for (int i = 0; i < sessions; i++) {
        struct party *p = &parties[i];
        p->session = fault_proxied(timeout_ms);
        p->turns = mutex_on(p->session, "turns", i);
        acquisition_start(&p->before, mutex_on(p->session, "before", i), ZKL_FOREVER);
        REQUIRE(acquisition_granted(&p->before));
    }
    REQUIRE(raw_create(fault.direct, fault.path, NULL, -1, 0, NULL) == ZOK);
    REQUIRE(raw_create(fault.direct, first, NULL, -1, ZOO_SEQUENCE, NULL) == ZOK);
    for (int i = 0; i < waiter_count; i++)
        acquisition_start(&waiters[i], fault_mutex(parties[i / OF_ONE_SESSION].session),
                          ZKL_FOREVER);
    wait_in_line(waiter_count + 1, 0);
    g_free(first);
}

/* A grant that is asked for in the midst of it all. */
static void check_fresh_grants(const char *what, int wanted)
{
    int64_t begin = g_get_monotonic_time();

    for (int i = 0; i < sessions; i++)
        acquisition_start(&parties[i].after, mutex_on(parties[i].session, "after", i), ZKL_FOREVER);
    for (int i = 0; i < sessions; i++)
        REQUIRE(acquisition_granted(&parties[i].after));
    wait_in_line(wanted, TURNS);
    printf(
        "%d waiters, %s: in line after %.1f s; %d ms left at least; %d turns, of %.0f ms at most\n",
        waiter_count, what, (double)(g_get_monotonic_time() - begin) / 1e6, (int)seen.least_ms,
        seen.turns, (double)seen.longest_us / 1e3);
    for (int i = 0; i < sessions; i++) {
        CHECK_INT(told_times(&parties[i].after.told, ZKL_LOST), 0);
        CHECK(zkl_grant_remaining_ms(parties[i].after.grant) > 0);
    }
    for (int i = 0; i < waiter_count; i++)
        CHECK_INT(told_times(&waiters[i].told, ZKL_LOST), 0);
}

/* Whether what was held before is lost with it. */
static void end(int lost)
{
    raw_delete_tree(fault.direct, fault.path); /* the first, if it stands still */
    for (int i = waiter_count - 1; i >= 0; i--) {
        zkl_op_cancel(waiters[i].op);
        acquisition_end(&waiters[i]);
    }
    for (int i = 0; i < sessions; i++) {
        CHECK_INT(told_times(&parties[i].before.told, ZKL_LOST), lost);
        acquisition_end(&parties[i].before);
        acquisition_end(&parties[i].after);
    }
    g_free(waiters);
    fault_end();
}

/* A short session that is not proved in time ends soon. */
TEST_CASE(session_expired)
{
    begin(FAULT_LONG_MS);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    for (int i = 0; i < sessions; i++)
        REQUIRE(fault_expire(zkl_session_id(parties[i].session)));
    proxy_cut(fault.proxy);
    proxy_heal(fault.proxy);
    for (int i = 0; i < sessions; i++)
        EVENTUALLY(told_times(&parties[i].before.told, ZKL_LOST) == 1);
    check_fresh_grants("session expired", waiter_count + 1);
    end(1);
}

/* In one transaction, so that all hear of it at once. */
static void delete_directory(void)
{
    char **names = raw_children(fault.direct, fault.path);
    int count = (int)g_strv_length(names) + 1;
    zoo_op_t *ops = g_new0(zoo_op_t, (gsize)count);
    zoo_op_result_t *results = g_new0(zoo_op_result_t, (gsize)count);

    for (int i = 0; i < count - 1; i++) {
        char *path = g_strconcat(fault.path, "/", names[i], NULL);
        g_free(names[i]);
        names[i] = path;
        zoo_delete_op_init(&ops[i], path, -1);
    }
    zoo_delete_op_init(&ops[count - 1], fault.path, -1);
    CHECK_INT(zoo_multi(raw_handle(fault.direct), count, ops, results), ZOK);
    g_strfreev(names);
    g_free(ops);
    g_free(results);
}

static int count_granted(void)
{
    int count = 0;

    for (int i = 0; i < waiter_count; i++)
        count += atomic_load(&waiters[i].done);
    return count;
}

/* Then one of them has the lock. */
TEST_CASE(directory_deleted)
{
    begin(FAULT_LONG_MS);
    delete_directory();
    check_fresh_grants("directory deleted", waiter_count);
    EVENTUALLY(count_granted() == 1);
    end(0);
}

/* Nobody comes too early: who does waits for long. */
TEST_CASE(server_restarted)
{
    begin(PATIENT_MS);
    proxy_cut(fault.proxy);
    raw_close(fault.direct);
    REQUIRE(zk_server_restart(fault.server, 0));
    REQUIRE(fault_raw_open());
    proxy_heal(fault.proxy);
    check_fresh_grants("server restarted", waiter_count + 1);
    end(0);
}

static void check_record(zkl_once *o, const zkl_grant *grant)
{
    char *record = g_strconcat(fault.path, "/record", NULL);
    zkl_once_run *run = NULL;
    struct Stat stat;

    CHECK_INT(raw_exists(fault.direct, record, &stat), ZOK);
    CHECK_INT(stat.version, 0);
    REQUIRE(zkl_once_done(o, ZKL_FOREVER, &run) == 0);
    CHECK(run->token == zkl_grant_token(grant));
    zkl_once_run_free(run);
    g_free(record);
}

/* All leave with that run, and nobody runs it again. */
TEST_CASE(run_recorded)
{
    zkl_once *runner, *on[2];
    zkl_grant *grant;

    fault_begin();
    count_waiters();
    REQUIRE(zkl_once_new(&runner, fault_direct(FAULT_LONG_MS), fault.path, NULL) == 0);
    REQUIRE(zkl_once_begin(runner, ZKL_FOREVER, &grant) == 0);
    for (int i = 0; i < 2; i++)
        REQUIRE(zkl_once_new(&on[i], fault_proxied(FAULT_LONG_MS), fault.path, NULL) == 0);
    for (int i = 0; i < waiter_count; i++)
        acquisition_start_run(&waiters[i], on[i % 2]);
    wait_in_line(waiter_count + 1, 0);
    const uint64_t before = proxy_requests(fault.proxy, PROXY_OP_ANY);
    CHECK_INT(zkl_once_end(runner, grant, NULL, 0, ZKL_FOREVER), 0);
    for (int i = 0; i < waiter_count; i++)
        acquisition_failed(&waiters[i], ZKL_EEXIST);
    wait_in_line(1, 0); /* the record */
    const int asked = (int)(proxy_requests(fault.proxy, PROXY_OP_ANY) - before);
    printf("%d waiters, run recorded: they leave with %d requests\n", waiter_count, asked);
    CHECK(asked <= LEAVES * waiter_count);
    check_record(on[0], grant);
    zkl_grant_release(grant);
    raw_delete_tree(fault.direct, fault.path);
    for (int i = 0; i < waiter_count; i++)
        acquisition_end(&waiters[i]);
    for (int i = 0; i < 2; i++)
        zkl_once_free(on[i]);
    zkl_once_free(runner);
    g_free(waiters);
    fault_end();
}
