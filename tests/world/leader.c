/* The leader turns writes into transactions and commits what a majority has logged. */
#include "inside.h"

/* ---- sessions ---- */

/* Sessions as the leader keeps them: expiry in ticks, and nothing else ends one by itself. */

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

static void sessions_add(struct server *leader, int64_t id, int timeout_ms, unsigned server)
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

/* ---- transactions ---- */

static unsigned majority(const struct world *w)
{
    return w->count / 2 + 1;
}

/* ---- the history: what is committed, the same for all ---- */

guint64 history_end(const struct world *w)
{
    return w->history_base + w->history->len;
}

struct txn *history_at(const struct world *w, guint64 number)
{
    return w->history->pdata[number - w->history_base];
}

static void world_trim(struct world *w)
{
    guint64 first = history_end(w);

    for (unsigned i = 0; i < w->count; i++)
        first = MIN(first, w->servers[i].applied);
    if (first - w->history_base < 64)
        return;
    g_ptr_array_remove_range(w->history, 0, (guint)(first - w->history_base));
    w->history_base = first;
}

static void note_part(const struct server *leader, const struct txn *txn, const struct part *p)
{
    struct note n = {.host = txn->ask->host,
                     .path = p->path,
                     .session = p->ephemeral_owner,
                     .asker = txn->session,
                     .zxid = txn->zxid,
                     .cause = txn->cause,
                     .late = txn->ask->late,
                     .server = (int)leader->number};

    if (p->kind == STORE_GET)
        return;
    if (p->data)
        n.data = g_bytes_get_data(p->data, &n.length);
    n.kind = p->kind == STORE_CREATE   ? NOTE_CREATED
             : p->kind == STORE_DELETE ? NOTE_DELETED
                                       : NOTE_CHANGED;
    note(leader->w, n);
}

static void note_txn(const struct server *leader, const struct txn *txn)
{
    struct note n = {.host = txn->ask->host,
                     .session = txn->session,
                     .zxid = txn->zxid,
                     .cause = txn->cause,
                     .server = (int)leader->number};

    for (guint i = 0; i < txn->parts->len; i++)
        note_part(leader, txn, &g_array_index(txn->parts, struct part, i));
    if (txn->kind == TXN_SESSION || txn->kind == TXN_END) {
        n.kind = txn->kind == TXN_SESSION ? NOTE_SESSION : NOTE_SESSION_END;
        note(leader->w, n);
    }
}

/* ---- syncs: answered in the order of the commits ---- */

static void answer_sync(struct server *leader, struct ask *ask)
{
    if (ask->server == leader->number)
        server_settle(leader, ask);
    else
        ensemble_send(leader, ask->server,
                      (struct message){.kind = MSG_SYNCED, .ask = ask_ref(ask)});
}

static void take_sync(struct server *leader, struct ask *ask)
{
    struct txn *last = g_queue_peek_tail(&leader->log);

    if (!last) {
        answer_sync(leader, ask);
        return;
    }
    if (!last->syncs)
        last->syncs = g_ptr_array_new_with_free_func((GDestroyNotify)ask_unref);
    g_ptr_array_add(last->syncs, ask_ref(ask));
}

/* ---- commits ---- */

static void tell_followers(struct server *leader, struct message what)
{
    for (unsigned i = 0; i < leader->w->count; i++) {
        if (!leader->peers[i].follows)
            continue;
        if (what.txn)
            txn_ref(what.txn);
        ensemble_send(leader, i, what);
    }
}

/* It is in the history once, though a deposed leader may hear late that a majority had it. */
static void enter_history(struct server *leader, struct txn *txn)
{
    struct world *w = leader->w;

    if (leader->applied < history_end(w))
        return;
    g_ptr_array_add(w->history, txn_ref(txn));
    w->counts.writes++;
    txn->ask->reply.rc = txn->rc;
    note_txn(leader, txn);
}

static void commit_first(struct server *leader)
{
    struct txn *txn = g_queue_peek_head(&leader->log);

    txn_ref(txn);
    enter_history(leader, txn);
    g_assert(history_at(leader->w, leader->applied)->zxid == txn->zxid);
    tell_followers(leader, (struct message){.kind = MSG_COMMIT, .upto = leader->applied + 1});
    server_apply(leader, leader->applied + 1);
    for (guint i = 0; txn->syncs && i < txn->syncs->len; i++)
        answer_sync(leader, txn->syncs->pdata[i]);
    txn_unref(txn);
}

void leader_commit_all(struct server *leader)
{
    while (!g_queue_is_empty(&leader->log))
        commit_first(leader);
    world_trim(leader->w);
}

static bool is_logged(const struct server *leader, uint64_t zxid)
{
    unsigned count = 1;

    for (unsigned i = 0; i < leader->w->count; i++)
        count += leader->peers[i].follows && leader->peers[i].acked >= zxid;
    return count >= majority(leader->w);
}

static void commit(struct server *leader)
{
    struct txn *first;

    while ((first = g_queue_peek_head(&leader->log)) != NULL && is_logged(leader, first->zxid))
        commit_first(leader);
    world_trim(leader->w);
}

void leader_take(struct server *leader, struct ask *ask)
{
    if (ask->kind == STORE_SYNC) {
        take_sync(leader, ask);
        return;
    }
    ask->taken = true;
    struct txn *txn = prepare(leader, ask);
    if (txn->kind == TXN_SESSION)
        sessions_add(leader, txn->session, txn->timeout_ms, ask->server);
    if (leader->head != leader->tree)
        tree_apply(leader->head, txn, NULL, NULL);
    g_queue_push_tail(&leader->log, txn);
    tell_followers(leader, (struct message){.kind = MSG_PROPOSAL, .txn = txn});
    commit(leader);
}

/* ---- what comes late: docs/design/late.md ---- */

/* What one connection has lost, in order. */
struct late {
    struct world *w;
    GQueue asks; /* of struct ask */
    unsigned epoch;
    struct alarm alarm;
};

void late_free(void *late)
{
    struct late *l = late;

    queue_cancel(&l->w->queue, &l->alarm);
    g_queue_clear_full(&l->asks, (GDestroyNotify)ask_unref);
    g_free(l);
}

/* What a server has kept dies with its link to the leader. */
static void on_late(void *context)
{
    struct late *l = context;
    struct world *w = l->w;
    struct server *leader = world_working(w);

    for (struct ask *ask; (ask = g_queue_pop_head(&l->asks)) != NULL; ask_unref(ask))
        if (leader && w->epoch == l->epoch)
            leader_take(leader, ask);
    g_ptr_array_remove(w->late, l);
}

static int64_t late_after(struct world *w, int64_t ms)
{
    return ms != 0 ? ms * MS : (int64_t)chance_below(&w->queue, (uint64_t)(w->config.late_ms * MS));
}

void leader_hold_back(struct store *store)
{
    struct world *w = store->w;
    const int64_t ms = store->host->late_ms;

    store->host->late_ms = 0;
    if (ms == 0 && (w->config.late_ms == 0 || chance_is(&w->queue, 50)))
        return;
    struct late *l = g_new0(struct late, 1);
    l->w = w;
    l->epoch = w->epoch;
    for (GList *link = store->asks.head; link; link = link->next) {
        struct ask *ask = link->data;
        if (!ask_is_write(ask) || ask->taken)
            continue;
        ask->late = true;
        ask->session = store->session;
        g_queue_push_tail(&l->asks, ask_ref(ask));
    }
    g_ptr_array_add(w->late, l);
    queue_arm(&w->queue, &l->alarm, w->queue.now + late_after(w, ms), on_late, l);
}

/* ---- its followers ---- */

static void revalidate(struct server *leader, unsigned from, const struct message *m)
{
    bool valid = sessions_touch(leader, m->session);

    if (valid)
        sessions_find(leader, m->session)->server = from;
    ensemble_send(leader, from,
                  (struct message){.kind = MSG_VALID, .session = m->session, .valid = valid});
}

void leader_receive(struct server *s, unsigned from, struct message *m)
{
    struct peer *peer = &s->peers[from];

    peer->heard = s->w->queue.now;
    switch (m->kind) {
    case MSG_FORWARD:
        if (!m->ask->late)
            leader_take(s, m->ask);
        break;
    case MSG_REVALIDATE:
        revalidate(s, from, m);
        break;
    case MSG_ACK:
        peer->acked = m->zxid;
        commit(s);
        break;
    case MSG_TOUCHES:
        for (guint i = 0; i < m->sessions->len; i++)
            sessions_touch(s, g_array_index(m->sessions, int64_t, i));
        break;
    default:
        peer->follows = false;
        break;
    }
}

static bool leader_has_quorum(const struct server *leader)
{
    const struct world *w = leader->w;
    unsigned count = 1;

    for (unsigned i = 0; i < w->count; i++) {
        const struct peer *peer = &leader->peers[i];
        count += peer->follows && w->queue.now - peer->heard <= w->config.sync_limit * w->tick;
    }
    return count >= majority(w);
}

void leader_beat(struct server *s)
{
    if (leader_has_quorum(s))
        tell_followers(s, (struct message){.kind = MSG_BEAT});
    else
        ensemble_look(s);
}
