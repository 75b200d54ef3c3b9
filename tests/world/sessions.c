/* Sessions as the leader keeps them: expiry in ticks, and nothing else ends one by itself. */
#include "inside.h"

struct tracked *sessions_find(const struct server *leader, int64_t id)
{
    for (guint i = 0; i < leader->tracked->len; i++) {
        struct tracked *t = leader->tracked->pdata[i];
        if (t->id == id)
            return t;
    }
    return NULL;
}

static void on_expiry(void *context)
{
    struct server *leader = context;

    /* On resumption it is the first thing a server does, or not: see world_pause_server(). */
    if (!leader->paused)
        sessions_check(leader);
}

static void await(struct server *leader)
{
    int64_t first = INT64_MAX;

    for (guint i = 0; i < leader->tracked->len; i++) {
        const struct tracked *t = leader->tracked->pdata[i];
        if (!t->closing)
            first = MIN(first, t->expiry);
    }
    if (first < INT64_MAX)
        queue_arm(&leader->w->queue, &leader->expiry, first, on_expiry, leader);
}

/* In whole ticks, and never early. */
static void touch(struct server *leader, struct tracked *t)
{
    struct world *w = leader->w;

    t->expiry = ((w->queue.now + t->timeout) / w->tick + 1) * w->tick;
    if (!leader->expiry.slot)
        queue_arm(&w->queue, &leader->expiry, t->expiry, on_expiry, leader);
    else if (t->expiry < leader->expiry.at)
        queue_arm(&w->queue, &leader->expiry, t->expiry, on_expiry, leader);
}

void sessions_add(struct server *leader, int64_t id, int timeout_ms, unsigned server)
{
    struct tracked *t = sessions_find(leader, id);

    if (!t) {
        t = g_new0(struct tracked, 1);
        g_ptr_array_add(leader->tracked, t);
    }
    *t = (struct tracked){.id = id, .timeout = timeout_ms * MS, .server = server};
    touch(leader, t);
}

bool sessions_touch(struct server *leader, int64_t id)
{
    struct tracked *t = sessions_find(leader, id);

    if (!t || t->closing)
        return false;
    touch(leader, t);
    return true;
}

void sessions_forget(struct server *leader, int64_t id)
{
    struct tracked *t = sessions_find(leader, id);

    if (t)
        g_ptr_array_remove(leader->tracked, t);
}

static void expire(struct server *leader, struct tracked *t)
{
    struct ask *ask = ask_new(ASK_END, t->id);

    t->closing = true;
    ask->cause = CAUSE_EXPIRY;
    note(leader->w,
         (struct note){.kind = NOTE_EXPIRING, .session = t->id, .server = (int)leader->number});
    leader_take(leader, ask);
    ask_unref(ask);
}

void sessions_check(struct server *leader)
{
    int64_t now = leader->w->queue.now;

    /* Ending one may take it out of the list. */
    for (guint i = leader->tracked->len; i > 0; i--) {
        struct tracked *t = leader->tracked->pdata[i - 1];
        if (!t->closing && t->expiry <= now)
            expire(leader, t);
    }
    await(leader);
}

/* A new leader does not know when it last heard of them. */
void sessions_start(struct server *leader)
{
    const GPtrArray *known = leader->tree->sessions;

    g_ptr_array_set_size(leader->tracked, 0);
    queue_cancel(&leader->w->queue, &leader->expiry);
    for (guint i = 0; i < known->len; i++) {
        const struct replica_session *s = known->pdata[i];
        sessions_add(leader, s->id, s->timeout_ms, WORLD_SERVERS_MAX);
    }
}
