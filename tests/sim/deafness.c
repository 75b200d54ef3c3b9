/* Now and then a server of an ensemble hears nobody, but is heard. Handshakes that clients make
 * there meanwhile touch their sessions. They are answered late, and complete later handshakes. Then
 * the server is cut off, mostly before it has reported anything of them. */
#include "roles.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)

/* As that of actor.c: one that leaves the known seeds without. */
#define STREAM UINT64_C(0x6465616673000300)

enum { PERCENT = 15 /* of all schedules */, RESETS_MAX = 8 };

static uint32_t below(struct deafness *d, uint32_t n)
{
    return seeded_below(&d->chance, n);
}

static void wait_up_to(struct deafness *d, int64_t most_ns)
{
    d->act.at =
        stage_now(d->roles->stage) + (int64_t)(seeded_next(&d->chance) % (uint64_t)(most_ns + 1));
}

/* The process reaches that server alone. */
static void isolate(const struct deafness *d)
{
    for (int i = 0; i < d->roles->servers; i++)
        if (i != d->server)
            world_cut(d->process->host, i, true, true);
}

static void begin(struct deafness *d)
{
    struct roles *roles = d->roles;

    d->server = (int)below(d, (uint32_t)roles->servers);
    d->process = roles->member[below(d, roles->members)].process;
    wait_up_to(d, roles->timeout_ms * MS / 2);
    if (d->process->dead || d->server == world_leader(roles->stage->world))
        return;
    roles->stage->faults++;
    stage_disturbed(roles->stage, 0);
    world_deafen_server(roles->stage->world, d->server, true);
    isolate(d);
    d->state = DEAF_NOW;
    d->resets = 2 + below(d, RESETS_MAX - 1);
    wait_up_to(d, 0);
}

/* A client that is reset tries the next server. */
static void go_on(struct deafness *d)
{
    struct roles *roles = d->roles;

    if (d->resets-- > 0) {
        if (!d->process->dead)
            world_reset(d->process->host);
        wait_up_to(d, roles->timeout_ms * MS / (d->resets > 0 ? 8 : 1));
        return;
    }
    world_deafen_server(roles->stage->world, d->server, false);
    d->state = DEAF_BEFORE;
    wait_up_to(d, roles->tick_ms * MS / 2);
}

static void on_act(void *data)
{
    struct deafness *d = data;
    struct world *world = d->roles->stage->world;

    if (d->roles->stage->calm)
        return;
    switch (d->state) {
    case DEAF_NOT:
        begin(d);
        break;
    case DEAF_NOW:
        go_on(d);
        break;
    case DEAF_BEFORE:
        world_cut_server(world, d->server, true);
        d->state = DEAF_CUT;
        wait_up_to(d, d->roles->timeout_ms * MS * 3 / 2);
        break;
    case DEAF_CUT:
        world_cut_server(world, d->server, false);
        if (!d->process->dead)
            world_heal(d->process->host, -1);
        d->roles->stage->faults--;
        stage_disturbed(d->roles->stage, fault_aftermath(d->roles));
        d->state = DEAF_NOT;
        wait_up_to(d, d->roles->timeout_ms * MS);
        break;
    }
}

void deafness_draw(struct roles *roles, uint64_t seed)
{
    struct deafness *d = &roles->deafness;

    d->roles = roles;
    d->chance = seed ^ STREAM;
    d->act = (struct alarm){NEVER, NULL, on_act, d};
    if (below(d, 100) >= PERCENT || roles->servers == 1)
        return;
    wait_up_to(d, roles->timeout_ms * MS);
    stage_add_alarm(roles->stage, &d->act);
}
