/* Close and expiry racing with locks, unlocks, cancels and timeouts of many threads: everything
 * ends exactly once, nothing stays. An administrator racing with a hand-over. $ZKL_TEST_SCALE
 * percent of the rounds. */
#include "fault.h"
#include "fourletter.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(fault_race, .init = fault_start, .done = fault_stop);

enum { THREADS_MAX = 32, MUTEXES = 3 };

struct race {
    zkl_mutex *mutex[MUTEXES];
    atomic_bool stop;
    struct history *history; /* of mutex[0] */
};

struct racer {
    pthread_t thread;
    struct race *race;
    GRand *rand;
    GPtrArray *acquisitions; /* kept to the end: a completion too many would show */
};

static bool is_expected(int code)
{
    return code == 0 || code == ZKL_ETIMEDOUT || code == ZKL_EBUSY || code == ZKL_ECANCELED ||
           code == ZKL_ECLOSED || code == ZKL_EUNREACHABLE;
}

/* False once the session is closed. */
static bool lock_once(struct racer *r, int which)
{
    static const int64_t timeouts[] = {0, 3, 20, ZKL_FOREVER};
    zkl_mutex *m = r->race->mutex[which];
    const zkl_grant *grant;
    int code = zkl_mutex_lock(m, timeouts[g_rand_int_range(r->rand, 0, 4)], &grant);

    CHECK(is_expected(code));
    if (code)
        return code != ZKL_ECLOSED;
    int64_t begin = fault_boot_ns(), end = begin;
    for (int i = g_rand_int_range(r->rand, 0, 3); i > 0; i--) {
        int64_t now = fault_boot_ns();
        if (zkl_grant_remaining_ms(grant) > 0)
            end = now;
    }
    if (which == 0)
        history_add(r->race->history, begin, end, zkl_grant_token(grant));
    code = zkl_mutex_unlock(m);
    CHECK(code == 0 || code == ZKL_ELOST);
    return true;
}

static bool acquisition_once(struct racer *r, int which)
{
    struct acquisition *a = g_new0(struct acquisition, 1);

    if (!acquisition_try_start(a, r->race->mutex[which], g_rand_int_range(r->rand, -1, 20))) {
        g_free(a);
        return false;
    }
    g_ptr_array_add(r->acquisitions, a);
    if (g_rand_boolean(r->rand))
        zkl_op_cancel(a->op);
    EVENTUALLY(atomic_load(&a->done) == 1);
    CHECK(is_expected(a->code));
    CHECK((a->grant != NULL) == (a->code == 0));
    bool go_on = a->code != ZKL_ECLOSED;
    acquisition_end(a);
    return go_on;
}

static void *run_racer(void *data)
{
    struct racer *r = data;
    bool go_on = true;

    while (go_on && !atomic_load(&r->race->stop)) {
        int which = g_rand_int_range(r->rand, 0, MUTEXES);
        go_on = g_rand_boolean(r->rand) ? lock_once(r, which) : acquisition_once(r, which);
    }
    return NULL;
}

static void check_acquisition(void *acquisition, void *unused)
{
    struct acquisition *a = acquisition;

    (void)unused;
    CHECK_INT(atomic_load(&a->done), 1);
    g_free(a);
}

static void start_race(struct race *race, struct racer *racers, int count, uint32_t seed)
{
    atomic_init(&race->stop, false);
    race->history = history_new();
    for (int i = 0; i < count; i++) {
        racers[i].race = race;
        racers[i].rand = g_rand_new_with_seed(seed * THREADS_MAX + (uint32_t)i);
        racers[i].acquisitions = g_ptr_array_new();
        REQUIRE(pthread_create(&racers[i].thread, NULL, run_racer, &racers[i]) == 0);
    }
}

static void end_race(struct race *race, struct racer *racers, int count)
{
    for (int i = 0; i < count; i++) {
        pthread_join(racers[i].thread, NULL);
        g_ptr_array_foreach(racers[i].acquisitions, check_acquisition, NULL);
        g_ptr_array_free(racers[i].acquisitions, TRUE);
        g_rand_free(racers[i].rand);
    }
    history_check(race->history);
}

static void close_once(int threads, uint32_t seed)
{
    struct racer racers[THREADS_MAX];
    struct race race;

    zkl_session *s = fault_direct(FAULT_LONG_MS);
    REQUIRE(zkl_mutex_new(&race.mutex[0], s, fault.path, NULL) == 0);
    REQUIRE(zkl_mutex_new(&race.mutex[1], s, "/fault-race/a", NULL) == 0);
    REQUIRE(zkl_mutex_new(&race.mutex[2], s, "/fault-race/b", NULL) == 0);
    start_race(&race, racers, threads, seed);
    g_usleep(seed * 7919 % 12000); /* any instant will do */
    fault_close(s);
    end_race(&race, racers, threads);
    for (int i = 0; i < MUTEXES; i++)
        zkl_mutex_free(race.mutex[i]);
}

static void close_rounds(int threads)
{
    fault_begin();
    for (int i = fault_scaled(40); i > 0; i--)
        close_once(threads, (uint32_t)i);
    fault_end();
}

TEST_CASE(close_few)
{
    close_rounds(8);
}

TEST_CASE(close_many)
{
    close_rounds(THREADS_MAX);
}

/* libzookeeper loses or never completes requests at an expiry; nobody here may wait for ever. */
TEST_CASE(expired_again_and_again)
{
    enum { THREADS = 12 };
    struct racer racers[THREADS];
    struct race race;

    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    for (int i = 0; i < MUTEXES; i++)
        race.mutex[i] = fault_mutex(s);
    start_race(&race, racers, THREADS, 1);
    for (int i = fault_scaled(30); i > 0; i--) {
        int before = history_count(race.history);
        EVENTUALLY(history_count(race.history) >= before + 5);
        proxy_freeze(fault.proxy, PROXY_BOTH);
        int64_t id = zkl_session_id(s);
        if (id)
            fault_expire(id);
        proxy_thaw(fault.proxy);
    }
    int before = history_count(race.history);
    EVENTUALLY(history_count(race.history) >= before + 5);
    atomic_store(&race.stop, true);
    end_race(&race, racers, THREADS);
    fault_end();
}

/* ---- the own node goes right before its predecessor ---- */

/* Mostly it has confirmed its watches; on some connections it hears of both afterwards, in any
 * order. */
static void go_before_the_head(zkl_mutex *first, zkl_mutex *second, int round)
{
    bool cut = round % 8 == 0;
    struct acquisition head, waiter;
    struct Stat stat;

    acquisition_queue(&head, first, 1);
    acquisition_queue(&waiter, second, 2);
    char *node = fault_waiting_node(head.grant);
    if (cut || round % 2)
        EVENTUALLY(fourletter_watches_on(fault.port, node) == 1 &&
                   fourletter_watches_on(fault.port, zkl_grant_node(head.grant)) > 0);
    if (cut)
        proxy_cut(fault.proxy);
    REQUIRE(raw_delete(fault.direct, node) == ZOK);
    acquisition_end(&head);
    if (cut) {
        EVENTUALLY(fault_children() == 0);
        proxy_heal(fault.proxy);
    }
    REQUIRE(acquisition_granted(&waiter));
    CHECK(strcmp(zkl_grant_node(waiter.grant), node) != 0);
    REQUIRE(raw_exists(fault.direct, zkl_grant_node(waiter.grant), &stat) == ZOK);
    CHECK_INT(stat.czxid, zkl_grant_token(waiter.grant));
    CHECK_INT(zkl_grant_state(waiter.grant), ZKL_HELD);
    acquisition_end(&waiter);
    EVENTUALLY(fault_children() == 0);
    g_free(node);
}

TEST_CASE(own_node_goes_before_the_head)
{
    fault_begin();
    zkl_mutex *first = fault_mutex(fault_direct(FAULT_LONG_MS));
    zkl_mutex *second = fault_mutex(fault_proxied(FAULT_LONG_MS));
    for (int i = fault_scaled(1000); i > 0; i--)
        go_before_the_head(first, second, i);
    fault_end();
}
