/* Shards shared out among hosts in the simulated world, with faults from a seed. The sessions of a
 * host are in trouble at different times, and it ends and begins again now and then, with another
 * weight or for other shards. A visitor asks for shards, and goes again. No two hosts work on a
 * shard, none is given up for nobody, and when all is well each is with its owner, as far as any
 * host takes it. Hosts that decide otherwise than recipes/shard.h are found out. */
#include <string.h>

#include "membership.h"
#include "recipes/shard.h"
#include "recipes/shards.h"
#include "runner.h"
#include "troubled.h"

#define MS INT64_C(1000000)

/* ---- a host ---- */

/* It decides by recipes/shard.h, over a member, locks and zkl_shards_plan(), as zkl shards does
 * it for commands. It has a session for its member and one for its locks. */
enum { SHARDS = 6, SHARER_DRAIN_MS = 800 };

struct shard_slot {
    struct sharer *sharer;
    zkl_mutex *mutex;
    zkl_op *op;
    zkl_grant *grant;
    struct shard_plan plan;
    bool owned, granted, wanted;
    bool over; /* lost, or not granted */
    struct {
        int64_t from, ends_at; /* ms; 0: none is under way */
        bool finds;            /* another contender */
    } look;
    int64_t looked_at;
    bool waits;
    bool asked;      /* somebody else was in line since another one should have it: the oracle's */
    int64_t ends_at; /* its command, which was told to end; ms; 0: it was not */
};

struct sharer {
    char id[2];
    struct client *client, *locker;
    void (*careless)(const struct shard_slot *s, struct shard_facts *f); /* it decides otherwise */
    unsigned count, weight;                                              /* what it says */
    zkl_member *member;
    zkl_watch *watch;
    uint64_t joined, seen; /* as in tools/shards.c */
    bool confirmed;
    int64_t confirmed_since;
    bool stops; /* it gives up its shards, or has */
    bool ended;
    struct shard_slot slots[SHARDS];
    unsigned grants;
    struct alarm turn;
};

#define MEMBERS "/s/members"

static struct stage *stage_of(const struct sharer *h)
{
    return h->client->stage;
}

static int64_t now_ms(const struct sharer *h)
{
    return stage_now(stage_of(h)) / MS;
}

static void wake(struct sharer *h)
{
    h->turn.at = h->ended ? NEVER : stage_now(stage_of(h));
}

/* ---- the member ---- */

static void publish(struct sharer *h)
{
    const bool confirmed = h->joined != 0 && h->joined == h->seen;

    if (confirmed != h->confirmed)
        h->confirmed_since = now_ms(h);
    h->confirmed = confirmed;
    wake(h);
}

static void on_event(zkl_member *m, zkl_member_event event, const zkl_member_news *news, void *data)
{
    struct sharer *h = data;

    if (m != h->member)
        return; /* a former one */
    if (event == ZKL_MEMBER_JOINED)
        h->joined = news->token;
    else if (event == ZKL_MEMBER_LOST || event == ZKL_MEMBER_LEFT)
        h->joined = 0;
    publish(h);
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    struct sharer *h = data;
    const zkl_member_info *owners[SHARDS];

    (void)member;
    if (event != ZKL_MEMBERS_ALL)
        return;
    h->seen = 0;
    for (size_t i = 0; i < zkl_members_count(all); i++)
        if (strcmp(zkl_members_get(all, i)->id, h->id) == 0)
            h->seen = zkl_members_get(all, i)->token;
    zkl_shards_plan(owners, SHARDS, all);
    for (int k = 0; k < SHARDS; k++)
        h->slots[k].owned = owners[k] && strcmp(owners[k]->id, h->id) == 0;
    publish(h);
}

/* It joins again: it was stopped, and is idle. */
static void sharer_go_on(struct sharer *h)
{
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;
    struct host *before = host_enter(h->client->host);
    char *share = g_strdup_printf("mine\nzkl-shards %u %u", h->count, h->weight);

    options.fn = on_event;
    options.fn_data = h;
    if (zkl_member_join(&h->member, h->client->session, MEMBERS, h->id, share, strlen(share),
                        &options) == 0)
        h->stops = false; /* else the former one is leaving */
    g_free(share);
    host_enter(before);
    wake(h);
}

/* It leaves, and then gives up its shards. */
static void sharer_stop(struct sharer *h)
{
    struct host *before = host_enter(h->client->host);

    zkl_member_free(g_steal_pointer(&h->member));
    host_enter(before);
    h->stops = true;
    h->joined = 0;
    publish(h);
}

/* ---- a shard ---- */

static void on_wanted(const zkl_grant *grant, zkl_state state, void *data)
{
    struct shard_slot *slot = data;

    (void)grant;
    (void)state;
    slot->wanted = true;
    wake(slot->sharer);
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct shard_slot *slot = data;

    if (state != ZKL_LOST || slot->grant != grant)
        return;
    slot->over = true;
    wake(slot->sharer);
}

static void on_acquired(zkl_grant *grant, const zkl_error *err, void *data)
{
    struct shard_slot *slot = data;

    (void)err;
    slot->grant = grant;
    slot->granted = grant != NULL;
    slot->over = grant == NULL;
    slot->sharer->grants += slot->granted;
    if (grant) {
        zkl_grant_on_wanted(grant, on_wanted, slot);
        zkl_grant_on_change(grant, on_change, slot);
    }
    wake(slot->sharer);
}

static void seek(struct shard_slot *slot)
{
    if (zkl_mutex_lock_async(slot->mutex, ZKL_FOREVER, on_acquired, slot, &slot->op) != 0)
        stage_wrong(stage_of(slot->sharer), "no lock can be asked for");
}

/* Its process has ended, and so it has neither a contender nor a grant. */
static void end(struct shard_slot *slot)
{
    const bool lost = slot->over;

    zkl_op_cancel(slot->op);
    zkl_op_free(g_steal_pointer(&slot->op));
    zkl_grant_release(g_steal_pointer(&slot->grant));
    slot->granted = slot->wanted = slot->over = slot->asked = false;
    slot->ends_at = slot->looked_at = slot->look.from = 0;
    shard_ended(&slot->plan, !lost, now_ms(slot->sharer));
    wake(slot->sharer);
}

/* A command may be slow to end, or have to be killed; one that was not begun is called off. */
static void stop(struct shard_slot *slot)
{
    if (slot->plan.held_at != 0 && !slot->sharer->stops && !slot->asked)
        stage_wrong(stage_of(slot->sharer), "a shard is given up for nobody");
    if (slot->plan.held_at == 0)
        zkl_op_cancel(slot->op);
    else
        slot->ends_at = now_ms(slot->sharer) +
                        stage_between(stage_of(slot->sharer), 1, (int64_t)2 * SHARER_DRAIN_MS);
}

/* ---- who else is in line ---- */

static bool others_in_line(const struct shard_slot *slot)
{
    const struct sharer *h = slot->sharer;
    char *path = g_strdup_printf("/s/shards/%d", (int)(slot - h->slots));
    char **names = world_children(stage_of(h)->world, path);
    const bool others = names && names[0] && names[1];

    g_strfreev(names);
    g_free(path);
    return others;
}

/* The answer comes later, and is as old as the question. */
static void begin_look(struct shard_slot *slot)
{
    slot->looked_at = 0;
    slot->look.from = now_ms(slot->sharer);
    slot->look.ends_at = slot->look.from + stage_between(stage_of(slot->sharer), 1, 300);
    slot->look.finds = others_in_line(slot);
}

static void end_look(struct shard_slot *slot)
{
    if (slot->look.from == 0 || now_ms(slot->sharer) < slot->look.ends_at)
        return;
    slot->looked_at = slot->look.from;
    slot->waits = slot->look.finds;
    slot->look.from = 0;
}

/* After each step: who is in line. */
static void sharer_look(struct sharer *h)
{
    for (int k = 0; k < SHARDS; k++) {
        struct shard_slot *slot = &h->slots[k];
        const bool free = slot->plan.state == SHARD_HELD && !(h->confirmed && slot->owned);
        slot->asked = free && (slot->asked || others_in_line(slot));
    }
}

/* ---- what it decides ---- */

static int64_t member_until(const struct sharer *h)
{
    struct host *before = host_enter(h->client->host);
    const int64_t remaining = membership_of(h->member).remaining_ms;

    host_enter(before);
    return now_ms(h) + remaining;
}

static struct shard_facts facts_of(const struct shard_slot *slot)
{
    const struct sharer *h = slot->sharer;
    struct shard_facts facts = {.now = now_ms(h),
                                .confirmed_since = h->confirmed_since,
                                .member_until = member_until(h),
                                .looked_at = slot->looked_at,
                                .waits = slot->waits,
                                .drain_ms = SHARER_DRAIN_MS,
                                .doubt_ms = TROUBLED_TIMEOUT_MS,
                                .confirmed = h->confirmed,
                                .owned = slot->owned,
                                .granted = slot->granted,
                                .wanted = slot->wanted,
                                .stop = h->stops};

    if (h->careless)
        h->careless(slot, &facts);
    return facts;
}

/* Returns when it is due again. */
static int64_t look_at(struct shard_slot *slot)
{
    end_look(slot);
    const struct shard_facts facts = facts_of(slot);
    int64_t due;

    switch (shard_step(&slot->plan, &facts, &due)) {
    case SHARD_REST:
        break;
    case SHARD_SEEK:
        seek(slot);
        break;
    case SHARD_LOOK:
        begin_look(slot);
        break;
    case SHARD_STOP:
        stop(slot);
        break;
    case SHARD_KILL:
        slot->ends_at = facts.now;
        break;
    }
    if (slot->over || (slot->ends_at != 0 && facts.now >= slot->ends_at))
        end(slot);
    if (slot->look.from != 0)
        due = MIN(due, slot->look.ends_at);
    return slot->ends_at != 0 ? MIN(due, slot->ends_at) : due;
}

static void on_turn(void *data)
{
    struct sharer *h = data;
    struct host *before = host_enter(h->locker->host);

    for (int k = 0; k < SHARDS; k++) {
        const int64_t due = look_at(&h->slots[k]);
        if (due != INT64_MAX)
            h->turn.at = MIN(h->turn.at, due * MS);
    }
    host_enter(before);
}

static bool sharer_is_idle(const struct sharer *h)
{
    for (int k = 0; k < SHARDS; k++)
        if (h->slots[k].plan.state != SHARD_OUT)
            return false;
    return true;
}

/* Its command runs. A guard ends it by the deadline of its lock. */
static bool sharer_works(const struct sharer *h, int shard)
{
    const struct shard_slot *slot = &h->slots[shard];
    struct host *before = host_enter(h->locker->host);
    const bool valid = !slot->grant || zkl_grant_remaining_ms(slot->grant) > 0;

    host_enter(before);
    return slot->plan.held_at != 0 && valid;
}

/* ---- the host ---- */

/* Joins, and begins to observe. All but id, client, locker, careless, count and weight is 0. */
static void sharer_begin(struct sharer *h)
{
    struct host *before = host_enter(h->client->host);
    int code = 0;

    h->turn = (struct alarm){NEVER, h->locker, on_turn, h};
    stage_add_alarm(stage_of(h), &h->turn);
    for (int k = 0; k < SHARDS; k++) {
        char *path = g_strdup_printf("/s/shards/%d", k);
        h->slots[k].sharer = h;
        code += zkl_mutex_new(&h->slots[k].mutex, h->locker->session, path, NULL);
        g_free(path);
    }
    code +=
        zkl_members_watch(&h->watch, h->client->session, MEMBERS, ZKL_MEMBER_GROUP, on_members, h);
    host_enter(before);
    if (code != 0)
        stage_wrong(stage_of(h), "a host cannot begin");
    sharer_go_on(h);
}

/* For good, whatever it has. */
static void sharer_end(struct sharer *h)
{
    struct host *before = host_enter(h->locker->host);

    h->ended = true;
    for (int k = 0; k < SHARDS; k++) {
        if (h->slots[k].plan.state != SHARD_OUT)
            end(&h->slots[k]);
        zkl_mutex_free(h->slots[k].mutex);
    }
    host_enter(h->client->host);
    zkl_watch_free(h->watch);
    zkl_member_free(g_steal_pointer(&h->member));
    host_enter(before);
}

/* ---- all of them ---- */

TEST_SUITE(shards);

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
