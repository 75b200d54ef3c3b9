/* Shards shared out among hosts in the simulated world, with faults from a seed. The sessions of a
 * host are in trouble at different times, and it ends and begins again now and then, with another
 * weight or for other shards. A visitor asks for shards, and goes again. No two hosts work on a
 * shard, none is given up for nobody, and when all is well each is with its owner, as far as any
 * host takes it. Hosts that decide otherwise than tools/shards_plan.h are found out. */
#include "runner.h"

#include "recipes/shards.h"
#include "sharer.h"
#include "troubled.h"

#include <string.h>

TEST_SUITE(shards);

#define MS INT64_C(1000000)

enum { HOSTS = 3, SCHEDULES = 10, SECONDS = 60, LIMIT_MS = 60000, LIFE_MS = 10000 };
enum { FEWER = 4, VISIT_MS = 500 };

static struct show {
    struct troubled t;
    struct sharer sharers[HOSTS];
    struct alarm lives[HOSTS];
    struct visit {
        struct client *client;
        zkl_mutex *mutexes[SHARDS];
        struct alarm alarm;
        bool asks;
        unsigned count;
    } visit;
    struct shards_shard owners[SHARDS];
    uint32_t taken; /* shards that somebody takes */
    unsigned ends;
    bool over; /* no host ends any more */
} show;

static int64_t after_ms(int64_t ms)
{
    return stage_now(show.t.stage) + ms * MS;
}

static void say_otherwise(struct sharer *h)
{
    h->count = stage_chance(show.t.stage, 50) ? FEWER : SHARDS;
    h->weight = 1 + stage_below(show.t.stage, 3);
}

static void on_life(void *data)
{
    struct sharer *h = data;
    struct alarm *life = &show.lives[h - show.sharers];

    if (!h->stops && !show.over) {
        sharer_stop(h);
        show.ends++;
    } else if (h->stops && sharer_is_idle(h)) {
        if (!show.over)
            say_otherwise(h);
        sharer_go_on(h);
    }
    if (h->stops || !show.over)
        life->at = after_ms(stage_between(show.t.stage, 100, LIFE_MS));
}

/* ---- what must be true ---- */

/* With all hosts as they are. */
static void find_owners(void)
{
    struct shards_host hosts[HOSTS];

    show.taken = 0;
    for (int i = 0; i < HOSTS; i++) {
        const struct sharer *h = &show.sharers[i];
        hosts[i] = (struct shards_host){.id = h->id, .weight = h->weight, .count = h->count};
        show.taken = MAX(show.taken, h->count);
    }
    shards_plan(hosts, HOSTS, show.owners);
}

/* After each step. Returns whether each shard is with its owner, and nobody else asks for it. */
static bool look(const void *unused)
{
    bool settled = show.over && !show.visit.asks;

    (void)unused;
    for (int i = 0; i < HOSTS; i++)
        sharer_look(&show.sharers[i]);
    for (uint32_t k = 0; k < SHARDS; k++) {
        int working = 0;
        for (uint32_t i = 0; i < HOSTS; i++) {
            const struct sharer *h = &show.sharers[i];
            const bool works = sharer_works(h, (int)k),
                       owns = k < show.taken && show.owners[k].owner == i;
            working += works;
            settled = settled && works == owns &&
                      h->slots[k].plan.state == (owns ? SHARD_HELD : SHARD_OUT);
        }
        if (working > 1)
            stage_wrong(show.t.stage, "two work on shard %d", (int)k);
    }
    return settled;
}

/* ---- a visitor ---- */

static void on_visited(zkl_grant *grant, const zkl_error *err, void *data)
{
    (void)err;
    (void)data;
    zkl_grant_release(grant);
    show.visit.asks = false;
}

static void on_visit(void *data)
{
    struct visit *v = data;
    struct host *before = host_enter(v->client->host);

    if (!show.over && !v->asks) {
        v->asks = zkl_mutex_lock_async(v->mutexes[stage_below(show.t.stage, SHARDS)], VISIT_MS,
                                       on_visited, NULL, NULL) == 0;
        v->count += v->asks;
    }
    host_enter(before);
    if (!show.over)
        v->alarm.at = after_ms(stage_between(show.t.stage, 100, 3000));
}

static void begin_visits(struct visit *v)
{
    v->client = show.t.clients[2 * HOSTS];
    for (int k = 0; k < SHARDS; k++) {
        char *path = g_strdup_printf("/s/shards/%d", k);
        REQUIRE(zkl_mutex_new(&v->mutexes[k], v->client->session, path, NULL) == 0);
        g_free(path);
    }
    v->alarm = (struct alarm){after_ms(LIFE_MS / 10), v->client, on_visit, v};
    stage_add_alarm(show.t.stage, &v->alarm);
}

static void end_visits(const struct visit *v)
{
    struct host *before = host_enter(v->client->host);

    for (int k = 0; k < SHARDS; k++)
        zkl_mutex_free(v->mutexes[k]);
    host_enter(before);
}

/* ---- schedules ---- */

typedef void (*careless_fn)(const struct shard_slot *s, struct shard_facts *f);

static void begin(uint64_t seed, careless_fn careless)
{
    show = (struct show){.over = false};
    troubled_begin(&show.t, 2 * HOSTS + 1, seed, NULL);
    for (int i = 0; i < HOSTS; i++) {
        struct sharer *h = &show.sharers[i];
        *h = (struct sharer){.id = {(char)('x' + i), 0},
                             .client = show.t.clients[i],
                             .locker = show.t.clients[HOSTS + i],
                             .careless = careless};
        say_otherwise(h);
        sharer_begin(h);
        show.lives[i] = (struct alarm){after_ms(LIFE_MS), h->client, on_life, h};
        stage_add_alarm(show.t.stage, &show.lives[i]);
    }
    begin_visits(&show.visit);
}

static void settle(void)
{
    show.over = true;
    find_owners();
    troubled_heal(&show.t);
    for (int i = 0; i < HOSTS; i++)
        show.lives[i].at = stage_now(show.t.stage);
    if (!stage_run(show.t.stage, after_ms(LIMIT_MS), look, NULL))
        stage_wrong(show.t.stage, "a shard is not with its owner, though all is well");
}

/* What was found wrong, or NULL; to be freed. */
static char *play(uint64_t seed, careless_fn careless)
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
    show.visit.alarm.at = NEVER;
    end_visits(&show.visit);
    troubled_end(&show.t);
    return wrong;
}

TEST_CASE(owners_have_their_shards_alone)
{
    for (uint64_t seed = troubled_schedules(SCHEDULES); seed > 0; seed--) {
        char *wrong = play(seed, NULL);
        unsigned grants = 0;
        for (int i = 0; i < HOSTS; i++)
            grants += show.sharers[i].grants;
        if (!CHECK_STR(wrong, NULL))
            runner_fail(__FILE__, __LINE__, "seed %d", (int)seed);
        CHECK(grants > SECONDS / 4 && show.ends > 3 && show.t.faults > SECONDS / 10 &&
              show.visit.count > SECONDS / 10);
        g_free(wrong);
    }
}

/* ---- hosts that decide otherwise ---- */

static void begins_before_it_is_granted(const struct shard_slot *s, struct shard_facts *f)
{
    (void)s;
    f->granted = true;
}

static void never_gives_up(const struct shard_slot *s, struct shard_facts *f)
{
    (void)s;
    f->wanted = false;
}

static void never_asks(const struct shard_slot *s, struct shard_facts *f)
{
    (void)s;
    f->confirmed = false;
}

static void asks_for_all(const struct shard_slot *s, struct shard_facts *f)
{
    (void)s;
    f->owned = true;
}

static void goes_by_what_it_heard(const struct shard_slot *s, struct shard_facts *f)
{
    (void)s;
    f->looked_at = f->now;
    f->waits = f->wanted;
}

/* Neither weights, nor that some hosts take fewer. */
static void goes_by_hashes(const struct shard_slot *s, struct shard_facts *f)
{
    const uint64_t shard = (uint64_t)(s - s->sharer->slots);
    const uint64_t mine = shard_hash(s->sharer->id, shard);

    f->owned = true;
    for (int i = 0; i < HOSTS; i++)
        f->owned = f->owned && shard_hash(show.sharers[i].id, shard) <= mine;
}

TEST_CASE(careless_hosts_are_caught)
{
    static const struct {
        careless_fn careless;
        const char *wrong;
    } rows[] = {
        {begins_before_it_is_granted, "two work on shard"},
        {never_gives_up, "a shard is not with its owner"},
        {never_asks, "a shard is not with its owner"},
        {asks_for_all, "a shard is not with its owner"},
        {goes_by_what_it_heard, "a shard is given up for nobody"},
        {goes_by_hashes, "a shard is not with its owner"},
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
