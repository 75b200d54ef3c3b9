/* Counters in the simulated world: what calls say that they have added is there, no less and no
 * more than what they say is unknown, and no two have had the same number. Calls block, so each
 * lets the world go on until it has ended; meanwhile other clients may call. */
#include "barriers.h"

#include "troubled.h"

#define MS INT64_C(1000000)

enum { SCHEDULES = 12, SECONDS = 40 };

static struct show {
    struct troubled t;
    struct adder {
        zkl_counter *counter;
        struct alarm turn;
    } adders[TROUBLED_CLIENTS];
    GHashTable *numbers; /* that calls have returned */
    unsigned added, unknown, refused;
} show;

static int64_t now(void)
{
    return stage_now(show.t.stage);
}

static void on_add(void *data)
{
    struct adder *a = data;
    int64_t number = 0;
    const int code =
        zkl_counter_add(a->counter, 1, NULL, stage_between(show.t.stage, 0, 5000), &number);

    show.added += code == 0;
    show.unknown += code == ZKL_EUNKNOWN;
    show.refused += code != 0 && code != ZKL_EUNKNOWN;
    if (code == 0 && !g_hash_table_add(show.numbers, GINT_TO_POINTER((int)number)))
        stage_wrong(show.t.stage, "two calls have made it %d", (int)number);
    a->turn.at = now() + stage_between(show.t.stage, 1, 100) * MS;
}

static void begin(uint64_t seed)
{
    show = (struct show){.numbers = g_hash_table_new(NULL, NULL)};
    troubled_begin(&show.t, TROUBLED_CLIENTS, seed, NULL);
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        struct adder *a = &show.adders[i];

        REQUIRE(zkl_counter_new(&a->counter, show.t.clients[i]->session, "/counter",
                                ZKL_COUNTER_64) == 0);
        a->turn = (struct alarm){now(), show.t.clients[i], on_add, a};
        stage_add_alarm(show.t.stage, &a->turn);
    }
}

static void end(void)
{
    int64_t sum = 0;

    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        show.adders[i].turn.at = NEVER;
    troubled_heal(&show.t);
    stage_run(show.t.stage, now() + 4 * TROUBLED_TIMEOUT_MS * MS, NULL, NULL);
    host_enter(show.t.clients[0]->host);
    CHECK_INT(zkl_counter_get(show.adders[0].counter, 0, &sum), 0);
    host_enter(NULL);
    CHECK(sum >= show.added && sum <= show.added + show.unknown);
    CHECK(show.added > SECONDS && show.t.faults > SECONDS / 10);
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        zkl_counter_free(show.adders[i].counter);
    troubled_end(&show.t);
    g_hash_table_unref(show.numbers);
}

static void sums_are_exact(void)
{
    unsigned unknown = 0;

    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        begin(seed);
        stage_run(show.t.stage, now() + SECONDS * 1000 * MS, NULL, NULL);
        unknown += show.unknown;
        end();
    }
    CHECK(unknown > 0);
}

static const struct test_case cases[] = {
    {"sums_are_exact", sums_are_exact},
    {NULL, NULL},
};
const struct test_suite sim_counters = {"counters", NULL, NULL, cases};
