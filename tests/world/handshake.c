/* How a client gets or regains its session. */
#include "inside.h"

static int negotiate(const struct world *w, int timeout_ms)
{
    int tick_ms = (int)(w->tick / MS);

    return CLAMP(timeout_ms, 2 * tick_ms, 20 * tick_ms);
}

void handshake_done(struct conn *conn, int64_t session)
{
    conn->session = session;
    conn->established = session != 0;
    conn->since = conn->w->queue.now;
    link_send(
        &conn->down,
        (struct message){.kind = MSG_WELCOME, .session = session, .timeout_ms = conn->timeout_ms},
        link_latency(conn->w));
    if (session == 0)
        conn_server_closes(conn);
}

static void begin_session(struct server *s, struct conn *conn)
{
    struct ask *ask = ask_new(ASK_SESSION, 0);

    ask->session = ((int64_t)(s->number + 1) << 56) + ++s->w->sessions;
    ask->timeout_ms = conn->timeout_ms;
    ask->server = s->number;
    ask->host = conn->host;
    ask->conn = conn;
    g_queue_push_tail(&conn->asks, ask_ref(ask));
    forward(s, ask);
    ask_unref(ask);
}

/* The session's older connection to this server ends first. */
static void replace_older(struct server *s, const struct conn *conn)
{
    for (guint i = s->conns->len; i > 0; i--) {
        struct conn *other = s->conns->pdata[i - 1];
        if (other != conn && other->session == conn->session)
            conn_server_closes(other);
    }
}

static void resume_session(struct server *s, struct conn *conn)
{
    replace_older(s, conn);
    if (s->role == SERVER_LEADING) {
        struct tracked *t = sessions_find(s, conn->session);
        bool valid = sessions_touch(s, conn->session);
        if (valid)
            t->server = s->number;
        handshake_done(conn, valid ? conn->session : 0);
    } else {
        g_hash_table_insert(s->revalidating, g_memdup2(&conn->session, sizeof conn->session),
                            conn_ref(conn));
        ensemble_send(s, s->leader,
                      (struct message){.kind = MSG_REVALIDATE, .session = conn->session});
    }
}

void handshake(struct conn *conn, const struct message *m)
{
    struct server *s = conn->server;

    conn->timeout_ms = negotiate(s->w, m->timeout_ms);
    conn->session = m->session;
    /* It has seen more than this server: elsewhere, please. */
    if (m->zxid > s->tree->zxid)
        conn_server_closes(conn);
    else if (m->session == 0)
        begin_session(s, conn);
    else
        resume_session(s, conn);
}
