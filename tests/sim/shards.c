/* Shards shared out among hosts in the simulated world, with faults from a seed. The sessions of a
 * host are in trouble at different times, and it ends and begins again now and then. No two hosts
 * work on a shard, and when all is well its owner has it. Hosts that decide otherwise than
 * tools/shards_plan.h are found out. */
#include "barriers.h"

#include "recipes/shards.h"
#include "sharer.h"
#include "troubled.h"

#include <string.h>

#define MS INT64_C(1000000)

enum { HOSTS = 3, SCHEDULES = 10, SECONDS = 60, LIMIT_MS = 60000, LIFE_MS = 10000 };

static struct show {
    struct troubled t;
    struct sharer sharers[HOSTS];
    struct alarm lives[HOSTS];
    unsigned ends;
    bool over; /* no host ends any more */
} show;

static int64_t after_ms(int64_t ms)
{
    return stage_now(show.t.stage) + ms * MS;
}

static void on_life(void *data)
{
    struct sharer *h = data;
    struct alarm *life = &show.lives[h - show.sharers];

    if (!h->stops && !show.over) {
        sharer_stop(h);
        show.ends++;
    } else if (h->stops && sharer_is_idle(h)) {
        sharer_go_on(h);
    }
    if (h->stops || !show.over)
        life->at = after_ms(stage_between(show.t.stage, 100, LIFE_MS));
}

/* ---- what must be true ---- */

static const struct sharer *owner_of(int shard)
{
    const struct sharer *owner = &show.sharers[0];

    for (int i = 1; i < HOSTS; i++)
        if (shard_weight(show.sharers[i].id, (uint64_t)shard) >
            shard_weight(owner->id, (uint64_t)shard))
            owner = &show.sharers[i];
    return owner;
}

/* After each step. Returns whether each shard is with its owner, and nobody else asks for it. */
static bool look(const void *unused)
{
    bool settled = show.over;

    (void)unused;
    for (int k = 0; k < SHARDS; k++) {
        int working = 0;
        for (int i = 0; i < HOSTS; i++) {
            const struct sharer *h = &show.sharers[i];
            const bool works = sharer_works(h, k), owns = h == owner_of(k);
            working += works;
            settled = settled && works == owns &&
                      h->slots[k].plan.state == (owns ? SHARD_HELD : SHARD_OUT);
        }
        if (working > 1)
            stage_wrong(show.t.stage, "two work on shard %d", k);
    }
    return settled;
}

/* ---- schedules ---- */

static void begin(uint64_t seed, void (*careless)(struct shard_facts *f))
{
    show = (struct show){.over = false};
    troubled_begin(&show.t, 2 * HOSTS, seed, NULL);
    for (int i = 0; i < HOSTS; i++) {
        struct sharer *h = &show.sharers[i];
        *h = (struct sharer){.id = {(char)('x' + i), 0},
                             .client = show.t.clients[i],
                             .locker = show.t.clients[HOSTS + i],
                             .careless = careless};
        sharer_begin(h);
        show.lives[i] = (struct alarm){after_ms(LIFE_MS), h->client, on_life, h};
        stage_add_alarm(show.t.stage, &show.lives[i]);
    }
}

static void settle(void)
{
    show.over = true;
    troubled_heal(&show.t);
    for (int i = 0; i < HOSTS; i++)
        show.lives[i].at = stage_now(show.t.stage);
    if (!stage_run(show.t.stage, after_ms(LIMIT_MS), look, NULL))
        stage_wrong(show.t.stage, "a shard is not with its owner, though all is well");
}

/* What was found wrong, or NULL; to be freed. */
static char *play(uint64_t seed, void (*careless)(struct shard_facts *f))
{
    char *wrong;

    begin(seed, careless);
    stage_run(show.t.stage, after_ms((int64_t)SECONDS * 1000), look, NULL);
    settle();
    wrong = g_steal_pointer(&show.t.stage->wrong);
    for (int i = 0; i < HOSTS; i++) {
        show.lives[i].at = NEVER;
        sharer_end(&show.sharers[i]);
    }
    troubled_end(&show.t);
    return wrong;
}

static void owners_have_their_shards_alone(void)
{
    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        char *wrong = play(seed, NULL);
        unsigned grants = 0;
        for (int i = 0; i < HOSTS; i++)
            grants += show.sharers[i].grants;
        if (!CHECK_STR(wrong, NULL))
            runner_fail(__FILE__, __LINE__, "seed %d", (int)seed);
        CHECK(grants > SECONDS / 4 && show.ends > 3 && show.t.faults > SECONDS / 10);
        g_free(wrong);
    }
}

/* ---- hosts that decide otherwise ---- */

static void begins_before_it_is_granted(struct shard_facts *f)
{
    f->granted = true;
}

static void never_gives_up(struct shard_facts *f)
{
    f->wanted = false;
}

static void never_asks(struct shard_facts *f)
{
    f->confirmed = false;
}

static void asks_for_all(struct shard_facts *f)
{
    f->owned = true;
}

static void careless_hosts_are_caught(void)
{
    static const struct {
        void (*careless)(struct shard_facts *f);
        const char *wrong;
    } rows[] = {
        {begins_before_it_is_granted, "two work on shard"},
        {never_gives_up, "a shard is not with its owner"},
        {never_asks, "a shard is not with its owner"},
        {asks_for_all, "a shard is not with its owner"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool caught = false;
        for (uint64_t seed = 1; seed <= SCHEDULES && !caught; seed++) {
            char *wrong = play(seed, rows[i].careless);
            caught = wrong && g_str_has_prefix(wrong, rows[i].wrong);
            g_free(wrong);
        }
        if (!CHECK(caught))
            runner_fail(__FILE__, __LINE__, "row %d: %s", (int)i, rows[i].wrong);
    }
}

static const struct test_case cases[] = {
    {"owners_have_their_shards_alone", owners_have_their_shards_alone},
    {"careless_hosts_are_caught", careless_hosts_are_caught},
    {NULL, NULL},
};
const struct test_suite sim_shards = {"shards", NULL, NULL, cases};
