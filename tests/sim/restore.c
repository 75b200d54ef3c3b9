/* A server that stands alone, and whose data go back: to nothing, or to what they were a while ago.
 * The rule of one holder has an exception for that, as for all that third parties do; but all that
 * wait are served, and nothing is left. Only locks take part: what is proclaimed, observed and
 * written goes by tokens, which begin anew. */
#include "group.h"
#include "roles.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)

/* Another stream than that of the schedule, which leaves the known seeds (seeds.c) without. */
#define STREAM UINT64_C(0x726573746f726565)

enum { PERCENT = 6, KEPT_PERCENT = 70, AFTERMATH = 5 };

static int64_t soon(struct roles *roles)
{
    return stage_now(roles->stage) +
           (int64_t)(seeded_next(&roles->undoing) % (uint64_t)(2 * roles->timeout_ms * MS));
}

void restore_draw(struct roles *roles, uint64_t seed)
{
    roles->undoing = seed ^ STREAM;
    roles->restores = seeded_below(&roles->undoing, 100) < PERCENT && roles->servers == 1;
    if (!roles->restores)
        return;
    roles->kept = seeded_below(&roles->undoing, 100) < KEPT_PERCENT;
    roles->actors = 0;
    roles->writes = roles->styles = roles->has_foreign = false;
}

/* If the servers took a session back before its process noticed anything, it has nodes again that
 * it had deleted: only an administrator can know. All others have new sessions by now. */
static void on_aftermath(void *data)
{
    struct roles *roles = data;
    int64_t session =
        client_grouping ? group_restored(roles->stage->group) : oracle_restored(roles->stage);

    if (session)
        world_expire(roles->stage->world, session);
    roles->restoring.at = stage_now(roles->stage) + roles->tick_ms * MS;
}

static void on_restore(void *data)
{
    struct roles *roles = data;

    if (roles->stage->calm)
        return;
    world_restore(roles->stage->world);
    stage_disturbed(roles->stage, roles->timeout_ms * MS);
    roles->stage->tally.restores++;
    roles->restoring.fn = on_aftermath;
    roles->restoring.at = stage_now(roles->stage) + AFTERMATH * roles->timeout_ms * MS;
}

static void on_keep(void *data)
{
    struct roles *roles = data;

    if (roles->kept)
        world_keep(roles->stage->world);
    roles->restoring.fn = on_restore;
    roles->restoring.at = soon(roles);
}

void restore_start(struct roles *roles)
{
    roles->restoring = (struct alarm){roles->restores ? soon(roles) : NEVER, NULL, on_keep, roles};
    stage_add_alarm(roles->stage, &roles->restoring);
}
