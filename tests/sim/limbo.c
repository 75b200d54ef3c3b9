#include "roles.h"
#include "unit/seeded.h"
#include "write.h"

/* As that of actor.c: one that leaves the known seeds without. */
#define STREAM UINT64_C(0x6c696d626f000020)

enum {
    PERCENT = 15, /* of all schedules */
    STEPS_MAX = 12,
    LATENCIES = 6 /* of the longest, between two steps */
};

static uint32_t below(struct limbo *l, uint32_t n)
{
    return seeded_below(&l->chance, n);
}

static void wait_up_to(struct limbo *l, int64_t most_ns)
{
    l->act.at =
        stage_now(l->roles->stage) + (int64_t)(seeded_next(&l->chance) % (uint64_t)(most_ns + 1));
}

/* A leader that hears too few servers to commit anything gives up after some ticks. The servers
 * come back before that. */
static void cut(struct limbo *l, bool on)
{
    struct world *world = l->roles->stage->world;
    const int servers = l->roles->servers, leader = world_leader(world);
    int left = servers / 2 + 1, at = (int)below(l, (uint32_t)servers);

    l->roles->stage->faults += on ? 1U : -1U;
    stage_disturbed(l->roles->stage, l->roles->timeout_ms * INT64_C(1000000));
    for (int n = 0; n < servers; n++, at = (at + 1) % servers) {
        if (on && (at == leader || left == 0))
            continue;
        world_cut_server(world, at, on);
        left--;
    }
}

static struct acquisition *some_holder(struct limbo *l)
{
    const GPtrArray *holding = l->roles->stage->oracle.holding;

    return holding->len > 0 ? holding->pdata[below(l, holding->len)] : NULL;
}

static void begin(struct limbo *l)
{
    l->holder = some_holder(l);
    if (!l->holder || world_leader(l->roles->stage->world) < 0) {
        wait_up_to(l, l->roles->timeout_ms * INT64_C(100000));
        return;
    }
    cut(l, true);
    l->steps = 3 + below(l, STEPS_MAX - 2);
    wait_up_to(l, 0);
}

/* Short of time, so that it is told to be unknown before it is known. */
static void make_write(struct limbo *l)
{
    const int64_t timeout_ms = below(l, 3) == 0
                                   ? ZKL_FOREVER
                                   : 1 + (int64_t)below(l, 1 + (uint32_t)(l->most_ns / 1000000));

    if (l->holder->grant && client_runs(l->holder->process))
        write_start(l->holder, false, timeout_ms);
}

/* What was sent once may be refused the next time, and be applied after that. */
static void refuse(struct limbo *l)
{
    struct stage *stage = l->roles->stage;

    l->refusing = !l->refusing;
    stage->oracle.refusing_writes = true;
    world_refuse(stage->world, l->refusing ? STORE_CREATE : STORE_SYNC, write_directory);
}

static void go_on(struct limbo *l)
{
    struct client *p = l->holder->process;
    const uint32_t how = below(l, 10);

    if (how < 5)
        make_write(l);
    else if (how == 5)
        refuse(l);
    else if (!p->dead && below(l, 4) == 0)
        world_reset_after_effect(p->host);
    else if (!p->dead)
        world_reset(p->host);
    wait_up_to(l, l->most_ns);
    if (--l->steps > 0)
        return;
    if (l->refusing)
        refuse(l);
    cut(l, false);
    wait_up_to(l, l->roles->timeout_ms * INT64_C(1000000));
}

static void on_act(void *data)
{
    struct limbo *l = data;

    if (l->roles->stage->calm)
        return;
    if (l->steps > 0)
        go_on(l);
    else
        begin(l);
}

void limbo_draw(struct roles *roles, uint64_t seed, int latency_us)
{
    struct limbo *l = &roles->limbo;

    l->roles = roles;
    l->chance = seed ^ STREAM;
    l->act = (struct alarm){NEVER, NULL, on_act, l};
    l->most_ns = latency_us * INT64_C(1000) * LATENCIES;
    if (below(l, 100) >= PERCENT || roles->servers == 1)
        return;
    wait_up_to(l, roles->timeout_ms * INT64_C(1000000));
    stage_add_alarm(roles->stage, &l->act);
}
