/* A follower logs what the leader proposes, applies what it commits, and passes on what its own
 * clients write. It may serve for long after it has lost its leader. */
#include "inside.h"

enum { TORN_OF = 100 }; /* beats of an odd world, of which one goes so */

/* ---- what every server does with what is committed ---- */

static void welcome(struct server *s, struct ask *ask)
{
    struct conn *conn = ask->conn;

    if (!conn || conn->server != s)
        return;
    ask->conn = NULL;
    g_queue_remove(&conn->asks, ask);
    handshake_done(conn, ask->session);
    ask_unref(ask);
}

static void apply(struct server *s, struct txn *txn)
{
    struct ask *ask = txn->ask;

    tree_apply(s->tree, txn, watches_fire, s);
    if (txn->kind == TXN_SESSION) {
        welcome(s, ask);
    } else if (txn->kind == TXN_END) {
        sessions_forget(s, txn->session);
        server_end_session(s, txn->session);
    } else if (ask->conn && ask->conn->server == s) {
        answer_write(s, ask, txn);
        server_settle(s, ask);
    }
}

static void forget_logged(struct server *s, uint64_t zxid)
{
    struct txn *first;

    while ((first = g_queue_peek_head(&s->log)) != NULL && first->zxid <= zxid)
        txn_unref(g_queue_pop_head(&s->log));
}

void server_apply(struct server *s, guint64 upto)
{
    while (s->applied < upto) {
        struct txn *txn = txn_ref(history_at(s->w, s->applied));
        s->applied++;
        forget_logged(s, txn->zxid);
        apply(s, txn);
        txn_unref(txn);
    }
}

/* ---- following ---- */

void forward(struct server *s, struct ask *ask)
{
    if (ask->late)
        return;
    if (s->role == SERVER_LEADING)
        leader_take(s, ask);
    else
        ensemble_send(s, s->leader, (struct message){.kind = MSG_FORWARD, .ask = ask_ref(ask)});
}

void follower_stream(struct link *link, struct message *m)
{
    struct server *s = link->context;

    if (m->kind == MSG_COMMIT)
        server_apply(s, m->upto);
    else
        server_settle(s, m->ask);
}

static void report_touches(struct server *s)
{
    struct message what = {.kind = MSG_TOUCHES, .sessions = s->touches};

    s->touches = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_hash_table_remove_all(s->touched);
    ensemble_send(s, s->leader, what);
}

/* It may be the answer to an older handshake of that session. */
static void revalidated(struct server *s, const struct message *m)
{
    struct conn *conn = g_hash_table_lookup(s->revalidating, &m->session);

    if (!conn)
        return;
    conn_ref(conn);
    g_hash_table_remove(s->revalidating, &m->session);
    if (conn->server == s)
        handshake_done(conn, m->valid ? conn->session : 0);
    conn_unref(conn);
}

static void log_proposal(struct server *s, struct txn *txn)
{
    g_queue_push_tail(&s->log, txn_ref(txn));
    ensemble_send(s, s->leader, (struct message){.kind = MSG_ACK, .zxid = txn->zxid});
}

void follower_receive(struct server *s, struct message *m)
{
    s->heard = s->w->queue.now;
    switch (m->kind) {
    case MSG_PROPOSAL:
        log_proposal(s, m->txn);
        break;
    case MSG_COMMIT:
        link_send(&s->stream, (struct message){.kind = MSG_COMMIT, .upto = m->upto}, s->lag);
        break;
    case MSG_SYNCED:
        link_send(&s->stream, (struct message){.kind = MSG_SYNCED, .ask = ask_ref(m->ask)}, s->lag);
        break;
    case MSG_VALID:
        revalidated(s, m);
        break;
    case MSG_BEAT:
        report_touches(s);
        if (s->w->config.odd && chance_below(&s->w->queue, TORN_OF) == 0)
            ensemble_tear(s);
        break;
    default:
        ensemble_look(s);
        break;
    }
}

void follower_beat(struct server *s)
{
    if (s->w->queue.now - s->heard > s->w->config.sync_limit * s->w->tick)
        ensemble_look(s);
}
