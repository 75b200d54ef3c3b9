/* The leader turns writes into transactions and commits what a majority has logged. */
#include "inside.h"

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
                     .zxid = txn->zxid,
                     .cause = txn->cause,
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
    struct txn *txn = prepare(leader, ask);
    if (txn->kind == TXN_SESSION)
        sessions_add(leader, txn->session, txn->timeout_ms, ask->server);
    if (leader->head != leader->tree)
        tree_apply(leader->head, txn, NULL, NULL);
    g_queue_push_tail(&leader->log, txn);
    tell_followers(leader, (struct message){.kind = MSG_PROPOSAL, .txn = txn});
    commit(leader);
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
