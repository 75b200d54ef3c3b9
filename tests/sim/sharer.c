#include "sharer.h"
#include "membership.h"

#include <string.h>

#include "troubled.h"

#define MS INT64_C(1000000)

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

void sharer_go_on(struct sharer *h)
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

void sharer_stop(struct sharer *h)
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

void sharer_look(struct sharer *h)
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

bool sharer_is_idle(const struct sharer *h)
{
    for (int k = 0; k < SHARDS; k++)
        if (h->slots[k].plan.state != SHARD_OUT)
            return false;
    return true;
}

bool sharer_works(const struct sharer *h, int shard)
{
    const struct shard_slot *slot = &h->slots[shard];
    struct host *before = host_enter(h->locker->host);
    const bool valid = !slot->grant || zkl_grant_remaining_ms(slot->grant) > 0;

    host_enter(before);
    return slot->plan.held_at != 0 && valid;
}

/* ---- the host ---- */

void sharer_begin(struct sharer *h)
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

void sharer_end(struct sharer *h)
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
