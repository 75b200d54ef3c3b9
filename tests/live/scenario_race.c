/* Expiry racing with everything a program does in its callbacks: release, cancel, enter again, and
 * at last close. Seeded; the rounds are scaled. */
#include "runner.h"
#include "scenario.h"

TEST_SUITE(scenario_race, .init = fault_start, .done = fault_stop);

enum { ACTORS = 6, EXPIRIES = 6, PER_EXPIRY = 8, PATIENCE_NS = 300000000 };

struct actor {
    struct stage *stage;
    zkl_mutex *mutex;
    GRand *rand;            /* of the callback thread alone */
    zkl_op *op;             /* the acquisition under way; the callback thread's */
    zkl_grant *kept;        /* to its end; the same */
    int entered, completed; /* the same */
};

struct stage {
    zkl_session *session;
    struct actor actor[ACTORS];
    struct history *history;
    atomic_int grants, under_way, ends, given;
    atomic_bool generous, leaving;
};

static void enter(struct actor *a);

/* LOST or RELEASED, once for each grant: the next acquisition starts here. */
static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct actor *a = data;

    (void)grant;
    if (state == ZKL_LOST)
        zkl_grant_release(a->kept); /* within its own last call */
    if (state < ZKL_LOST)
        return;
    atomic_fetch_add(&a->stage->ends, 1);
    enter(a);
}

static void note(struct actor *a, const zkl_grant *grant)
{
    int64_t begin = fault_boot_ns(), end = begin, now = begin;

    if (zkl_grant_remaining_ms(grant) > 0)
        end = now;
    history_add(a->stage->history, begin, end, zkl_grant_token(grant));
}

/* Kept to its end by the actor that loses it, or given back at once. */
static void use(struct actor *a, zkl_grant *grant)
{
    bool keep = g_rand_int_range(a->rand, 0, 4) == 0 && !atomic_load(&a->stage->generous);

    atomic_fetch_add(&a->stage->given, 1);
    note(a, grant);
    a->kept = keep ? grant : NULL;
    CHECK_INT(zkl_grant_on_change(grant, on_change, a), 0);
    if (g_rand_boolean(a->rand))
        zkl_op_cancel(a->op); /* too late: nothing comes of it */
    if (!keep)
        zkl_grant_release(grant);
    atomic_fetch_add(&a->stage->grants, 1);
}

static void on_done(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct actor *a = data;
    int code = err ? err->code : 0;

    CHECK_INT(++a->completed, a->entered);
    CHECK(code == 0 || code == ZKL_ECANCELED || code == ZKL_ETIMEDOUT || code == ZKL_ECLOSED ||
          code == ZKL_EUNREACHABLE);
    if (grant)
        use(a, grant);
    zkl_op_free(a->op);
    a->op = NULL;
    atomic_fetch_sub(&a->stage->under_way, 1);
    if (!grant && code != ZKL_ECLOSED)
        enter(a);
}

/* On the callback thread. */
static void enter(struct actor *a)
{
    static const int64_t timeouts[] = {5, 50, ZKL_FOREVER};

    if (atomic_load(&a->stage->leaving) || a->op)
        return;
    a->entered++;
    atomic_fetch_add(&a->stage->under_way, 1);
    int64_t timeout_ms = timeouts[g_rand_int_range(a->rand, 0, 3)];
    int code = zkl_mutex_lock_async(a->mutex, timeout_ms, on_done, a, &a->op);
    if (code != 0) {
        CHECK_INT(code, ZKL_ECLOSED);
        a->entered--;
        atomic_fetch_sub(&a->stage->under_way, 1);
    } else if (g_rand_int_range(a->rand, 0, 5) == 0) {
        zkl_op_cancel(a->op);
    }
}

static void enter_all(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct stage *stage = data;

    (void)s, (void)id;
    for (int i = 0; event == ZKL_SESSION_CONNECTED && i < ACTORS; i++)
        enter(&stage->actor[i]);
}

static void begin(struct stage *stage, uint32_t seed)
{
    fault_begin();
    stage->session = fault_proxied(FAULT_LONG_MS);
    stage->history = history_new();
    for (int i = 0; i < ACTORS; i++)
        stage->actor[i] = (struct actor){.stage = stage,
                                         .mutex = fault_mutex(stage->session),
                                         .rand = g_rand_new_with_seed(seed + (uint32_t)i)};
    CHECK_INT(zkl_session_on_change(stage->session, enter_all, stage), 0);
}

static bool has_granted(struct stage *stage, int before)
{
    return atomic_load(&stage->grants) >= before + PER_EXPIRY;
}

static void expire(struct stage *stage, GRand *rand)
{
    proxy_delay_ms(fault.proxy, PROXY_BOTH, g_rand_int_range(rand, 0, 8));
    int before = atomic_load(&stage->grants);
    int64_t end = fault_boot_ns() + PATIENCE_NS; /* somebody may be keeping it */
    while (!has_granted(stage, before) && fault_boot_ns() < end)
        g_usleep((unsigned)g_rand_int_range(rand, 100, 3000));
    int64_t id = zkl_session_id(stage->session);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    if (id)
        fault_expire(id);
    proxy_thaw(fault.proxy);
    EVENTUALLY(zkl_session_id(stage->session) != id && zkl_session_id(stage->session) != 0);
}

TEST_CASE(s25_callbacks_call_back)
{
    struct stage stage = {.session = NULL};
    GRand *rand = g_rand_new_with_seed(25);

    begin(&stage, 2500);
    for (int i = fault_scaled(EXPIRIES); i > 0; i--)
        expire(&stage, rand);
    atomic_store(&stage.generous, true); /* from here on nobody keeps what he is given */
    expire(&stage, rand);
    int before = atomic_load(&stage.grants);
    EVENTUALLY(atomic_load(&stage.grants) > before);
    atomic_store(&stage.leaving, true);
    fault_close(stage.session); /* while they go on */
    CHECK_INT(atomic_load(&stage.under_way), 0);
    CHECK_INT(atomic_load(&stage.ends), atomic_load(&stage.given));
    for (int i = 0; i < ACTORS; i++) {
        CHECK_INT(stage.actor[i].completed, stage.actor[i].entered);
        g_rand_free(stage.actor[i].rand);
    }
    history_check(stage.history);
    g_rand_free(rand);
    fault_end();
}
