/* Counters in the simulated world: what calls say that they have added is there, no less and no
 * more than what they say is unknown, and no two have had the same number. Calls block, so each
 * lets the world go on until it has ended; meanwhile other clients may call, or an administrator
 * makes the counter anew. */
#include "runner.h"

#include "troubled.h"

#include <string.h>

TEST_SUITE(counters);

#define MS INT64_C(1000000)

enum { SCHEDULES = 12, SECONDS = 40 };

static struct show {
    struct troubled t;
    struct adder {
        zkl_counter *counter;
        int64_t delta;
        struct alarm turn;
    } adders[TROUBLED_CLIENTS];
    GHashTable *numbers; /* that calls have returned */
    unsigned added, unknown, refused;
    struct alarm anew;
    uint8_t base[8];     /* what the counter was made with: the first bytes tell which one it is */
    int64_t overwritten; /* the first number of an earlier one that was seen in it */
    bool spoilt;         /* there is one: what is added to that is another's business */
    unsigned overwrites;
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
        zkl_counter_add(a->counter, a->delta, NULL, stage_between(show.t.stage, 0, 5000), &number);

    show.added += code == 0;
    show.unknown += code == ZKL_EUNKNOWN;
    show.refused += code != 0 && code != ZKL_EUNKNOWN;
    if (code == 0 && number == show.overwritten)
        stage_wrong(show.t.stage, "it was made anew, and its number was overwritten");
    if (code == 0 && !g_hash_table_add(show.numbers, GSIZE_TO_POINTER((gsize)number)))
        stage_wrong(show.t.stage, "two calls have made it %" G_GINT64_FORMAT, number);
    a->turn.at = now() + stage_between(show.t.stage, 1, 100) * MS;
}

static void begin(uint64_t seed, void (*look)(void))
{
    show = (struct show){.numbers = g_hash_table_new(NULL, NULL)};
    troubled_begin(&show.t, TROUBLED_CLIENTS, seed, look);
    for (int i = 0; i < TROUBLED_CLIENTS; i++) {
        struct adder *a = &show.adders[i];

        REQUIRE(zkl_counter_new(&a->counter, show.t.clients[i]->session, "/counter",
                                ZKL_COUNTER_64) == 0);
        a->delta = 1;
        a->turn = (struct alarm){now(), show.t.clients[i], on_add, a};
        stage_add_alarm(show.t.stage, &a->turn);
    }
}

/* What the counter is then. */
static int64_t end(void)
{
    int64_t sum = 0;

    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        show.adders[i].turn.at = NEVER;
    troubled_heal(&show.t);
    stage_run(show.t.stage, now() + 4 * TROUBLED_TIMEOUT_MS * MS, NULL, NULL);
    host_enter(show.t.clients[0]->host);
    CHECK_INT(zkl_counter_get(show.adders[0].counter, 0, &sum), 0);
    host_enter(NULL);
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        zkl_counter_free(show.adders[i].counter);
    troubled_end(&show.t);
    g_hash_table_unref(show.numbers);
    return sum;
}

TEST_CASE(sums_are_exact)
{
    unsigned unknown = 0;

    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        begin(seed, NULL);
        stage_run(show.t.stage, now() + SECONDS * 1000 * MS, NULL, NULL);
        unknown += show.unknown;
        const int64_t sum = end();
        CHECK(sum >= show.added && sum <= show.added + show.unknown);
        CHECK(show.added > SECONDS && show.t.faults > SECONDS / 10);
    }
    CHECK(unknown > 0);
}

/* ---- made anew ---- */

static void look(void)
{
    size_t length = 0;
    const char *data = world_data(show.t.stage->world, "/counter", &length);
    int64_t number = 0;

    if (show.spoilt || !data || length != sizeof show.base || memcmp(data, show.base, 2) == 0)
        return;
    for (size_t i = 0; i < length; i++)
        number = number << 8 | (uint8_t)data[i];
    show.spoilt = true;
    show.overwrites++;
    show.overwritten = number;
}

/* Most often before anybody has written the last one: then both have the same version. */
static void on_anew(void *unused)
{
    char data[sizeof show.base + 1] = {0};

    (void)unused;
    show.spoilt = false;
    show.base[1] = (uint8_t)(show.base[1] % 255 + 1);
    show.base[0] = (uint8_t)(show.base[0] + (show.base[1] == 1));
    memcpy(data, show.base, sizeof show.base);
    world_admin_delete(show.t.stage->world, "/counter");
    world_admin_create(show.t.stage->world, "/counter", data, false);
    show.anew.at = now() + stage_between(show.t.stage, 1, 8) * MS;
}

/* Its number is overwritten then, and nobody is told that this was well. */
TEST_CASE(made_anew)
{
    unsigned overwrites = 0;

    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        begin(seed, look);
        memset(show.base, 1, sizeof show.base);
        for (int i = 0; i < TROUBLED_CLIENTS; i++)
            show.adders[i].delta = INT64_C(1) << 8 * i; /* no two write the same number */
        show.anew = (struct alarm){now(), NULL, on_anew, NULL};
        stage_add_alarm(show.t.stage, &show.anew);
        stage_run(show.t.stage, now() + SECONDS * 100 * MS, NULL, NULL);
        show.anew.at = NEVER;
        overwrites += show.overwrites;
        end();
    }
    CHECK(overwrites > 0);
}

/* ---- in directories that must be made ---- */

static int counters_add_below(const char *directory, int64_t limit_ms)
{
    struct client *client = show.t.clients[0];
    char *path = g_strconcat(directory, "/counter", NULL);
    zkl_counter *counter;
    int64_t number;

    REQUIRE(zkl_counter_new(&counter, client->session, path, ZKL_COUNTER_64) == 0);
    struct host *before = host_enter(client->host);
    const int code = zkl_counter_add(counter, 1, NULL, limit_ms, &number);
    host_enter(before);
    zkl_counter_free(counter);
    g_free(path);
    return code;
}

/* No fault, and no other calls. */
static void begin_alone(void)
{
    begin(1, NULL);
    show.t.fault.at = NEVER;
    for (int i = 0; i < TROUBLED_CLIENTS; i++)
        show.adders[i].turn.at = NEVER;
}

/* A call whose time has passed while its directory was being made asks for no counter in it. */
TEST_CASE(asks_for_no_more_at_its_end)
{
    const struct world *world;
    unsigned count = 0;

    begin_alone();
    world = show.t.stage->world;
    for (int ms = 1; ms <= 20; ms++) {
        char *directory = g_strdup_printf("/d%d", ms),
             *path = g_strconcat(directory, "/counter", NULL);
        const int code = counters_add_below(directory, ms);
        const bool early = !world_exists(world, directory, NULL, NULL);

        CHECK(!early || code == ZKL_ETIMEDOUT);
        stage_run(show.t.stage, now() + TROUBLED_TIMEOUT_MS * MS, NULL, NULL);
        count += early && world_exists(world, directory, NULL, NULL);
        CHECK(!early || !world_exists(world, path, NULL, NULL));
        g_free(path);
        g_free(directory);
    }
    CHECK(count > 0);
    CHECK_INT(end(), 0);
}

static bool is_held(const void *acquisition)
{
    return ((const struct acquisition *)acquisition)->grant != NULL;
}

/* The error names what keeps the directories from being made: the uppermost would be below an
 * ephemeral node. */
TEST_CASE(tells_why_there_is_no_directory)
{
    begin_alone();
    struct acquisition *a = acquisition_enter(show.t.clients[1], 0, ZKL_FOREVER, NULL, NULL);
    REQUIRE(stage_run(show.t.stage, now() + TROUBLED_TIMEOUT_MS * MS, is_held, a));
    char *directory = g_strconcat(zkl_grant_node(a->grant), "/upper/lower", NULL);
    CHECK_INT(counters_add_below(directory, TROUBLED_TIMEOUT_MS), ZKL_EPATH);
    g_free(directory);
    acquisition_release(a);
    CHECK_INT(end(), 0);
}
