/* What any thread asks without a lock. The check that reads one clock never gives another answer
 * than both clocks would. If a change comes during a question, the answer is not that of before. */
#include "lib/grant/grant.h"

#include "by_hand.h"
#include "runner.h"
#include "seeded.h"

#include <pthread.h>

TEST_SUITE(grant_quick);

enum { HALF_MS = HAND_DEADLINE_MS / 2 };

static zkl_session *s;
static struct tenure *t;
static zkl_grant *g;
static struct instant (*hand_clock)(void);
static int reads;
static void (*meanwhile)(void); /* once, while the clock is read */
static int later;               /* so many readings come first */

static struct instant read_clock(void)
{
    void (*fn)(void) = meanwhile;

    reads++;
    if (fn && later > 0) {
        later--;
    } else if (fn) {
        meanwhile = NULL;
        fn();
    }
    return hand_clock();
}

static void start(void)
{
    s = hand_session();
    hand_clock = clock_source;
    clock_source = read_clock;
    t = hand_tenure(s, "/root/l/n", 5);
    g = grant_new(&t, 1, NULL, NULL);
}

static void stop(void)
{
    grant_unref(g);
    g = NULL;
    hand_end_tenure(t);
    t = NULL;
    hand_close(s);
    s = NULL;
}

static void check_quick(zkl_state state, int by_reads)
{
    reads = 0;
    CHECK_INT(zkl_grant_state(g), state);
    CHECK_INT(reads, by_reads);
}

static struct instant deadline_at(int64_t ms)
{
    return instant_add(hand_clock(), ms * CLOCK_MS);
}

TEST_CASE(half_the_time_by_one_clock)
{
    start();
    check_quick(ZKL_HELD, 1);
    hand_jump(HALF_MS - 1, HALF_MS - 1);
    check_quick(ZKL_HELD, 1);
    hand_jump(1, 1);
    check_quick(ZKL_HELD, 2);
    CHECK(grant_extend(t, deadline_at(1000), true)); /* a proof begins anew */
    hand_jump(499, 499);
    check_quick(ZKL_HELD, 1);
    grant_suspect(t);
    check_quick(ZKL_SUSPECT, 1);
    hand_jump(500, 500);
    check_quick(ZKL_SUSPECT, 2);
    hand_jump(1, 1);
    check_quick(ZKL_LOST, 2);
    check_quick(ZKL_LOST, 0);
    stop();
}

/* As fast as RAW may run beside BOOTTIME, and to the millisecond. */
TEST_CASE(twice_as_fast)
{
    start();
    hand_jump(HALF_MS - 1, HAND_DEADLINE_MS - 2);
    check_quick(ZKL_HELD, 1);
    hand_jump(1, 2);
    check_quick(ZKL_LOST, 2);
    stop();
}

/* Also when it was the smaller timeout of a new connection that left no more. */
TEST_CASE(twice_as_fast_and_taken_back)
{
    start();
    CHECK(grant_extend(t, deadline_at(3000), false));
    hand_jump(1499, 2998);
    check_quick(ZKL_HELD, 1);
    hand_jump(1, 2);
    check_quick(ZKL_LOST, 2);
    stop();
}

TEST_CASE(suspended)
{
    start();
    hand_jump(HAND_DEADLINE_MS, 0);
    check_quick(ZKL_LOST, 2);
    stop();
}

/* A deadline that is nearer by RAW counts from there. */
TEST_CASE(clocks_apart)
{
    start();
    struct instant apart = deadline_at(4000);
    apart.boot += 20000 * CLOCK_MS;
    CHECK(grant_extend(t, apart, true));
    hand_jump(1999, 3998);
    check_quick(ZKL_HELD, 1);
    hand_jump(1, 2);
    check_quick(ZKL_LOST, 2);
    stop();
}

/* Any rate of RAW from none to twice that of BOOTTIME, any deadlines. */
static void walk(uint64_t seed)
{
    start();
    for (int i = 0; i < 200; i++) {
        int64_t boot = seeded_below(&seed, 1000);
        hand_jump(boot, seeded_below(&seed, (uint32_t)boot * 2 + 1));
        zkl_state state = zkl_grant_state(g);
        if (!CHECK_INT(state == ZKL_LOST, zkl_grant_remaining_ms(g) == 0) || state == ZKL_LOST)
            break;
        struct instant next = deadline_at(1);
        next.boot += seeded_below(&seed, 5000) * CLOCK_MS;
        next.raw += seeded_below(&seed, 5000) * CLOCK_MS;
        if (seeded_below(&seed, 4) == 0)
            CHECK(grant_extend(t, next, seeded_below(&seed, 2) == 0));
        if (seeded_below(&seed, 8) == 0)
            grant_suspect(t);
    }
    stop();
}

TEST_CASE(walks)
{
    for (uint64_t seed = 1; seed <= 500; seed++)
        walk(seed);
}

static void lose(void)
{
    grant_lose(t, LOSS_DEADLINE, NULL, NULL);
}

static void release(void)
{
    grant_detach(t);
    grant_give_back(g, false);
}

/* A call that was held up between the word and the clock must not answer by the old word. */
TEST_CASE(lost_meanwhile)
{
    start();
    meanwhile = lose;
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
    start();
    meanwhile = lose;
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    stop();
    start();
    meanwhile = release;
    CHECK_INT(zkl_grant_state(g), ZKL_RELEASED);
    stop();
    start();
    meanwhile = release;
    CHECK_INT(zkl_grant_remaining_ms(g), 0);
    stop();
    start();
    meanwhile = lose;
    CHECK(!grant_give_back(g, false));
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
    stop();
}

/* ---- what crosses a question, or a change ---- */

/* Its thread is stopped there: the grant has not heard of it. */
static void lose_the_word(void)
{
    CHECK(validity_lose(&t->validity, LOSS_EXPIRED));
}

static void pass_and_ask(void)
{
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(g), ZKL_LOST);
}

static void prove_and_pass(void)
{
    CHECK(grant_extend(t, deadline_at(20000), true));
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
}

static void take_back_and_pass(void)
{
    CHECK(grant_extend(t, deadline_at(3000), false));
    hand_jump(3500, 3500);
}

static void release_and_lose(void)
{
    CHECK(grant_disown(g));
    lose_the_word();
}

static bool is_owned(void)
{
    return zkl_grant_state(g) < ZKL_LOST;
}

static bool is_left(void)
{
    return zkl_grant_remaining_ms(g) > 0;
}

static bool has_a_reason(void)
{
    return zkl_grant_loss(g) != ZKL_LOSS_NONE;
}

static bool prove(void)
{
    return grant_extend(t, deadline_at(20000), true);
}

static const struct crossing {
    const char *name;
    bool (*call)(void);
    int later; /* readings of the clock */
    void (*meanwhile)(void);
    bool answer;
    zkl_state state; /* behind it */
    zkl_loss loss;
} crossings[] = {
    {"owned, lost", is_owned, 0, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"left, lost", is_left, 0, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"owned, proved", is_owned, 0, prove_and_pass, true, ZKL_HELD, ZKL_LOSS_NONE},
    {"left, proved", is_left, 0, prove_and_pass, true, ZKL_HELD, ZKL_LOSS_NONE},
    {"owned, taken back", is_owned, 0, take_back_and_pass, false, ZKL_LOST, ZKL_LOSS_DEADLINE},
    {"left, taken back", is_left, 0, take_back_and_pass, false, ZKL_LOST, ZKL_LOSS_DEADLINE},
    {"owned, released", is_owned, 0, release_and_lose, false, ZKL_RELEASED, ZKL_LOSS_NONE},
    {"left, released", is_left, 0, release_and_lose, false, ZKL_RELEASED, ZKL_LOSS_NONE},
    {"reason, lost", has_a_reason, 0, lose_the_word, true, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"reason, released", has_a_reason, 0, release_and_lose, false, ZKL_RELEASED, ZKL_LOSS_NONE},
    {"proof, lost", prove, 0, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"proof behind its look, lost", prove, 1, lose_the_word, false, ZKL_LOST, ZKL_LOSS_EXPIRED},
    {"proof behind its look, passed", prove, 1, pass_and_ask, false, ZKL_LOST, ZKL_LOSS_DEADLINE},
};

TEST_CASE(crossed)
{
    for (size_t i = 0; i < G_N_ELEMENTS(crossings); i++) {
        const struct crossing *c = &crossings[i];

        start();
        later = c->later;
        meanwhile = c->meanwhile;
        bool right = CHECK_INT(c->call(), c->answer);
        right = CHECK(!meanwhile) && right;
        right = CHECK_INT(zkl_grant_state(g), c->state) && right;
        if (!CHECK_INT(zkl_grant_loss(g), c->loss) || !right)
            runner_fail(__FILE__, __LINE__, "%s", c->name);
        stop();
    }
}

static struct validity anew;

static void look_at_the_old_word(void)
{
    int64_t now;

    CHECK_INT(validity_state(&anew, &now), ZKL_LOST);
}

/* Its limits are there before the word says that it is held. */
TEST_CASE(limits_before_the_word)
{
    start();
    validity_begin(&anew, ZKL_LOST, (struct instant){.boot = 0});
    meanwhile = look_at_the_old_word;
    validity_begin(&anew, ZKL_HELD, deadline_at(9000));
    CHECK(!meanwhile);
    CHECK_INT(validity_last(&anew), ZKL_HELD);
    stop();
}

/* ---- levels ---- */

static zkl_mutex *mutex;

static uint64_t one_owner(void *data)
{
    (void)data;
    return 1;
}

static void *lock(void *data)
{
    *(int *)data = zkl_mutex_lock(mutex, ZKL_FOREVER, NULL);
    return NULL;
}

/* Held by this thread twice; the other's part is only to wait. */
static void hold_twice(void)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    struct acquisition a = {.calls = 0};
    pthread_t thread;
    int locked = 1;

    s = hand_session();
    o.key = one_owner;
    REQUIRE(zkl_mutex_new(&mutex, s, "/l", &o) == 0);
    REQUIRE(pthread_create(&thread, NULL, lock, &locked) == 0);
    while (!(a.node = fake_created_name("/root/l", 7)))
        g_usleep(1000);
    hand_answer_entry(&a, -1);
    pthread_join(thread, NULL);
    g_free(a.node);
    REQUIRE(locked == 0);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), 0);
}

/* Nothing has run since the clocks moved, so the calls find it out themselves. */
static void check_levels_lost(int64_t boot_ms, int64_t raw_ms)
{
    hold_twice();
    hand_jump(boot_ms, raw_ms);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_EPERM);
    zkl_mutex_free(mutex);
    hand_close(s);

    hold_twice();
    hand_jump(boot_ms, raw_ms);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), ZKL_ELOST);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_ELOST);
    zkl_mutex_free(mutex);
    hand_close(s);
}

TEST_CASE(levels)
{
    check_levels_lost(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    check_levels_lost(HAND_DEADLINE_MS, 0);
    check_levels_lost(HALF_MS, HAND_DEADLINE_MS);
    hold_twice();
    hand_jump(HAND_DEADLINE_MS - 1, HAND_DEADLINE_MS - 1);
    CHECK_INT(zkl_mutex_lock(mutex, 0, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), 0);
    CHECK_INT(zkl_mutex_unlock(mutex), ZKL_EPERM);
    zkl_mutex_free(mutex);
    hand_close(s);
}
