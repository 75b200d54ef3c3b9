/* An administrator who changes the limits of semaphores, and now and then writes over a node. Drawn
 * from a stream of its own, as admin.c's is. In Curator's layout all agree on a limit for good; or
 * they follow a counter, which he raises, lowers, spoils and deletes. */
#include "limit_log.h"
#include "recipes/counter.h"
#include "roles.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)
#define STREAM UINT64_C(0x6c696d6974735f35)

enum { SCHEDULES_PERCENT = 60, HIGHEST = 5, LEASES_MOST = 3, FOLLOWED_PERCENT = 50 };
enum { MISSING_PERCENT = 5, ODD_PERCENT = 5 };

void limits_draw(struct roles *roles, uint64_t seed)
{
    roles->limiting = seed ^ STREAM;
    roles->limits = client_counting && !client_leasing &&
                    seeded_below(&roles->limiting, 100) < SCHEDULES_PERCENT;
}

static int64_t soon(struct roles *roles)
{
    return stage_now(roles->stage) +
           (int64_t)(seeded_next(&roles->limiting) % (uint64_t)(roles->timeout_ms * MS));
}

/* Who waits, too; what is written there says nothing. Transactions fail if it happens too often. */
static void write_over_somebody(struct stage *stage)
{
    char *node = g_strdup(oracle_some_node(stage));

    if (node)
        world_admin_set(stage->world, node, "x");
    g_free(node);
}

/* ---- of data ---- */

static void change_data(struct roles *roles, int path)
{
    struct stage *stage = roles->stage;
    char text[2] = {(char)('1' + seeded_below(&roles->limiting, HIGHEST)), 0};

    if (seeded_below(&roles->limiting, 4) == 0 && !roles->writes)
        write_over_somebody(stage);
    else
        stage->tally.limits += world_admin_set(stage->world, client_paths[path], text);
}

/* ---- of counters ---- */

static bool put_number(struct stage *stage, int path, int number)
{
    uint8_t bytes[sizeof(int32_t)];

    counter_encode(sizeof bytes, number, bytes);
    return world_admin_put(stage->world, client_counters[path], bytes, sizeof bytes);
}

static void change_counter(struct roles *roles, int path)
{
    static const int numbers[] = {-1, 0, 1, 1, 2, 2, 3, 3, 4, 5};
    struct stage *stage = roles->stage;
    const uint32_t how = seeded_below(&roles->limiting, 100);
    const int number = numbers[seeded_below(&roles->limiting, G_N_ELEMENTS(numbers))];

    if (how < MISSING_PERCENT)
        world_admin_delete(stage->world, client_counters[path]);
    else if (how < MISSING_PERCENT + ODD_PERCENT)
        world_admin_put(stage->world, client_counters[path], "12345", 5);
    else
        stage->tally.limits += put_number(stage, path, number);
}

/* Once there is a leader again. */
static void on_calm(void *data)
{
    struct roles *roles = data;
    bool put = true;

    for (int path = 0; path < PATHS; path++) {
        const int number = 1 + (int)seeded_below(&roles->limiting, LEASES_MOST);
        put = put && put_number(roles->stage, path, number);
    }
    roles->limits_alarm.at = put ? NEVER : stage_now(roles->stage) + roles->tick_ms * MS;
}

void limits_calm(struct roles *roles)
{
    if (!roles->stage->oracle.follows)
        return;
    roles->limits_alarm.fn = on_calm;
    roles->limits_alarm.at = stage_now(roles->stage);
}

static void start_leases(struct roles *roles)
{
    struct stage *stage = roles->stage;
    int first[PATHS];

    for (int path = 0; path < PATHS; path++)
        first[path] = 1 + (int)seeded_below(&roles->limiting, LEASES_MOST);
    stage->oracle.follows = roles->limits = seeded_below(&roles->limiting, 100) < FOLLOWED_PERCENT;
    for (int path = 0; path < PATHS; path++) {
        if (!stage->oracle.follows)
            limit_log_agree(stage, path, first[path]);
        else if (!put_number(stage, path, first[path]))
            stage_wrong(stage, "%s could not be made", client_counters[path]);
    }
}

/* ---- both ---- */

static void on_change(void *data)
{
    struct roles *roles = data;
    const int path = (int)seeded_below(&roles->limiting, roles->paths);

    if (roles->stage->calm)
        return;
    if (client_leasing)
        change_counter(roles, path);
    else
        change_data(roles, path);
    roles->limits_alarm.at = soon(roles);
}

void limits_start(struct roles *roles)
{
    if (client_leasing)
        start_leases(roles);
    roles->limits_alarm = (struct alarm){NEVER, NULL, on_change, roles};
    if (roles->limits)
        roles->limits_alarm.at = soon(roles);
    stage_add_alarm(roles->stage, &roles->limits_alarm);
}
