#include "sharer.h"

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
    else if (event == ZKL_MEMBER_GONE || event == ZKL_MEMBER_LEFT)
        h->joined = 0;
    publish(h);
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    struct sharer *h = data;

    (void)member;
    if (event != ZKL_MEMBERS_ALL)
        return;
    h->seen = 0;
    for (size_t i = 0; i < zkl_members_count(all); i++)
        if (strcmp(zkl_members_get(all, i)->id, h->id) == 0)
            h->seen = zkl_members_get(all, i)->token;
    for (int k = 0; k < SHARDS; k++) {
        const zkl_member_info *owner = zkl_shard_owner(all, (uint64_t)k);
        h->slots[k].owned = owner && strcmp(owner->id, h->id) == 0;
    }
    publish(h);
}

void sharer_go_on(struct sharer *h)
{
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;
    struct host *before = host_enter(h->client->host);

    options.fn = on_event;
    options.fn_data = h;
    if (zkl_member_join(&h->member, h->client->session, MEMBERS, h->id, NULL, 0, &options) == 0)
        h->stops = false; /* else the former one is leaving */
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

static void on_wanted(zkl_grant *grant, zkl_state state, void *data)
{
    struct shard_slot *slot = data;

    (void)grant;
    (void)state;
    slot->wanted = true;
    wake(slot->sharer);
}

static void on_change(zkl_grant *grant, zkl_state state, void *data)
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
    slot->granted = slot->wanted = slot->over = false;
    slot->ends_at = 0;
    shard_ended(&slot->plan, !lost, now_ms(slot->sharer));
    wake(slot->sharer);
}

/* A command may be slow to end, or have to be killed; one that was not begun is called off. */
static void stop(struct shard_slot *slot)
{
    if (slot->plan.held_at == 0)
        zkl_op_cancel(slot->op);
    else
        slot->ends_at = now_ms(slot->sharer) +
                        stage_between(stage_of(slot->sharer), 1, (int64_t)2 * SHARER_DRAIN_MS);
}

static struct shard_facts facts_of(const struct shard_slot *slot)
{
    const struct sharer *h = slot->sharer;
    struct shard_facts facts = {.now = now_ms(h),
                                .confirmed_since = h->confirmed_since,
                                .drain_ms = SHARER_DRAIN_MS,
                                .doubt_ms = TROUBLED_TIMEOUT_MS,
                                .confirmed = h->confirmed,
                                .owned = slot->owned,
                                .granted = slot->granted,
                                .wanted = slot->wanted,
                                .stop = h->stops};

    if (h->careless)
        h->careless(&facts);
    return facts;
}

/* Returns when it is due again. */
static int64_t look_at(struct shard_slot *slot)
{
    const struct shard_facts facts = facts_of(slot);
    int64_t due;

    switch (shard_step(&slot->plan, &facts, &due)) {
    case SHARD_REST:
        break;
    case SHARD_SEEK:
        seek(slot);
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
    int code = 0;

    h->turn = (struct alarm){NEVER, h->locker, on_turn, h};
    stage_add_alarm(stage_of(h), &h->turn);
    for (int k = 0; k < SHARDS; k++) {
        char *path = g_strdup_printf("/s/shards/%d", k);
        h->slots[k].sharer = h;
        code += zkl_mutex_new(&h->slots[k].mutex, h->locker->session, path, NULL);
        g_free(path);
    }
    code += zkl_members_watch(&h->watch, h->client->session, MEMBERS, NULL, on_members, h);
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
