/* A server, which stands alone, whose data goes back: emptied, or to what it was a while ago. An
 * exception of the rule of one holder, as whatever third parties do; but all that wait are served,
 * and nothing is left. Locks alone: what is proclaimed, observed and written goes by tokens, which
 * begin anew. */
#include "cast.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)

/* Another stream than that of the schedule, which leaves the known seeds (seeds.c) without. */
#define STREAM UINT64_C(0x726573746f726565)

enum { PERCENT = 6, KEPT_PERCENT = 70, AFTERMATH = 5 };

static int64_t soon(struct cast *cast)
{
    return stage_now(cast->stage) +
           (int64_t)(seeded_next(&cast->undoing) % (uint64_t)(2 * cast->timeout_ms * MS));
}

void restore_draw(struct cast *cast, uint64_t seed)
{
    cast->undoing = seed ^ STREAM;
    cast->restores = seeded_below(&cast->undoing, 100) < PERCENT && cast->servers == 1;
    if (!cast->restores)
        return;
    cast->kept = seeded_below(&cast->undoing, 100) < KEPT_PERCENT;
    cast->seats = 0;
    cast->writes = cast->styles = cast->plants = false;
}

/* Whom the servers took back before he noticed has nodes again that he had deleted: only an
 * administrator can know. All others have new sessions by now. */
static void on_aftermath(void *data)
{
    struct cast *cast = data;
    int64_t session = oracle_restored(cast->stage);

    if (session)
        world_expire(cast->stage->world, session);
    cast->restoring.at = stage_now(cast->stage) + cast->tick_ms * MS;
}

static void on_restore(void *data)
{
    struct cast *cast = data;

    if (cast->stage->calm)
        return;
    world_restore(cast->stage->world);
    cast->stage->tally.restores++;
    cast->restoring.fn = on_aftermath;
    cast->restoring.at = stage_now(cast->stage) + AFTERMATH * cast->timeout_ms * MS;
}

static void on_keep(void *data)
{
    struct cast *cast = data;

    if (cast->kept)
        world_keep(cast->stage->world);
    cast->restoring.fn = on_restore;
    cast->restoring.at = soon(cast);
}

void restore_start(struct cast *cast)
{
    cast->restoring = (struct alarm){cast->restores ? soon(cast) : NEVER, NULL, on_keep, cast};
    stage_add_alarm(cast->stage, &cast->restoring);
}
