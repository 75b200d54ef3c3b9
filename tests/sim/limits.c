/* An administrator changes the limits of semaphores, or empties their data, and now and then writes
 * over a node. The draws come from a stream of their own, as admin.c's do. In Curator's layout all
 * agree on a limit for good. */
#include "limit_log.h"
#include "roles.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)
#define STREAM UINT64_C(0x6c696d6974735f35)

enum { SCHEDULES_PERCENT = 60, HIGHEST = 5, LEASES_MOST = 3 };

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

/* Writes over the node of a contender, even of one that waits. The text means nothing. If that
 * happens too often, transactions fail. It may write over a request to give way that nobody has
 * read yet: then nobody need hear of it. */
static void write_over_somebody(struct roles *roles)
{
    char *node = g_strdup(oracle_some_node(roles->stage));
    int64_t *asked_at = node ? g_hash_table_lookup(roles->asked_at, node) : NULL;

    if (node)
        world_admin_set(roles->stage->world, node, "x");
    if (asked_at)
        *asked_at = NEVER;
    g_free(node);
}

static void on_change(void *data)
{
    struct roles *roles = data;
    struct stage *stage = roles->stage;
    const char *path = client_paths[seeded_below(&roles->limiting, roles->paths)];
    const unsigned limit = (unsigned)seeded_below(&roles->limiting, HIGHEST + 1);
    const char text[2] = {limit ? (char)('0' + limit) : '\0', '\0'};

    if (stage->calm)
        return;
    if (seeded_below(&roles->limiting, 4) == 0 && !roles->writes)
        write_over_somebody(roles);
    else
        stage->tally.limits += world_admin_set(stage->world, path, text);
    roles->limits_alarm.at = soon(roles);
}

void limits_start(struct roles *roles)
{
    for (int path = 0; client_leasing && path < PATHS; path++)
        limit_log_agree(roles->stage, path, 1 + (int)seeded_below(&roles->limiting, LEASES_MOST));
    roles->limits_alarm = (struct alarm){NEVER, NULL, on_change, roles};
    if (roles->limits)
        roles->limits_alarm.at = soon(roles);
    stage_add_alarm(roles->stage, &roles->limits_alarm);
}
