/* One server towards its clients: a session's requests are answered in their order, reads from what
 * is applied here, writes when what the leader made of them is. */
#include "inside.h"

/* ---- what it answers, from what it has applied ---- */

static void use_stat(struct ask *ask, const struct node *n)
{
    ask->reply.czxid = n->czxid;
    ask->reply.mzxid = n->mzxid;
    ask->reply.pzxid = n->pzxid;
    ask->reply.version = n->version;
    ask->reply.ephemeral_owner = n->ephemeral_owner;
    ask->reply.ctime_ms = n->ctime_ms;
    ask->reply.mtime_ms = n->mtime_ms;
    ask->reply.children = (int32_t)n->children->len;
    ask->reply.data_length = n->data ? (int32_t)g_bytes_get_size(n->data) : 0;
}

static void use_data(struct ask *ask, const struct node *n)
{
    gsize length = 0;

    use_stat(ask, n);
    if (!n->data)
        return;
    ask->reply_data = g_bytes_ref(n->data);
    ask->reply.data = g_bytes_get_data(n->data, &length);
    ask->reply.length = (int)length;
}

/* A server lists in the order of its hash table, which is as good as any. */
static void use_names(struct server *s, struct ask *ask, const struct node *n)
{
    guint count = n->children->len;

    use_stat(ask, n);
    ask->names = g_ptr_array_new_full(count, (GDestroyNotify)g_ref_string_release);
    for (guint i = 0; i < count; i++) {
        const struct node *child = n->children->pdata[i];
        g_ptr_array_add(ask->names, g_ref_string_acquire(child->name));
    }
    chance_shuffle(&s->w->queue, ask->names->pdata, count);
    ask->reply.names = (char *const *)ask->names->pdata;
    ask->reply.count = (int)count;
    s->w->counts.listed_names += count;
}

static void use_node(struct server *s, struct ask *ask, const struct node *n)
{
    if (ask->kind == STORE_LIST)
        use_names(s, ask, n);
    else if (ask->kind == STORE_STAT)
        use_stat(ask, n);
    else
        use_data(ask, n);
}

static void answer_read(struct server *s, struct ask *ask)
{
    struct node *n = tree_find(s->tree, ask->path);
    enum store_kind kind = (enum store_kind)ask->kind;

    enum watch_kind watch = kind == STORE_LIST || ask->of_list ? WATCH_CHILDREN : WATCH_NODE;

    if (ask->unknown) {
        ask->reply.rc = STORE_UNIMPLEMENTED;
        return;
    }
    if (kind == STORE_UNWATCH) {
        ask->reply.rc = watches_remove(s, ask->conn, watch, ask->path) ? STORE_OK : STORE_BAD;
        return;
    }
    if (!n)
        ask->reply.rc = STORE_NONODE;
    else if (prepare_is_refused(s->w, kind, ask->path))
        ask->reply.rc = STORE_NOAUTH;
    if (ask->watch && (ask->reply.rc == STORE_OK || (!n && kind == STORE_STAT)))
        watches_add(s, ask->conn, watch, ask->path);
    if (ask->reply.rc == STORE_OK)
        use_node(s, ask, n);
}

void answer_write(const struct server *s, struct ask *ask, const struct txn *txn)
{
    ask->reply.rc = txn->rc;
    ask->reply.failed = txn->failed;
    if ((ask->kind != STORE_CREATE && ask->kind != STORE_SET) || txn->rc != STORE_OK)
        return;
    const struct node *n = tree_find(s->tree, g_array_index(txn->parts, struct part, 0).path);
    if (!ask->plain)
        use_stat(ask, n);
    if (ask->kind == STORE_SET)
        return;
    ask->reply_path = g_ref_string_acquire(n->path);
    ask->reply.path = ask->reply_path;
}

/* ---- how a client gets or regains its session ---- */

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

/* ---- requests ---- */

bool server_serves(const struct server *s)
{
    return s->role == SERVER_FOLLOWING || s->role == SERVER_LEADING;
}

void server_init(struct world *w, unsigned number)
{
    struct server *s = &w->servers[number];

    s->w = w;
    s->number = number;
    s->role = SERVER_LOOKING;
    s->tree = tree_new(w->count == 1);
    s->conns = g_ptr_array_new();
    for (int kind = 0; kind < WATCH_KINDS_SERVED; kind++)
        s->watches[kind] = watches_new();
    s->touches = g_array_new(FALSE, FALSE, sizeof(int64_t));
    s->touched = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    s->revalidating =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, (GDestroyNotify)conn_unref);
    s->tracked = g_ptr_array_new_with_free_func(g_free);
}

void server_clear(struct server *s)
{
    server_drop_all(s);
    for (unsigned i = 0; i < s->w->count; i++)
        link_flush(&s->to[i]);
    link_flush(&s->stream);
    if (s->head && s->head != s->tree)
        tree_free(s->head);
    tree_free(s->tree);
    g_queue_clear_full(&s->log, (GDestroyNotify)txn_unref);
    g_ptr_array_unref(s->conns);
    for (int kind = 0; kind < WATCH_KINDS_SERVED; kind++)
        g_hash_table_unref(s->watches[kind]);
    g_array_unref(s->touches);
    g_hash_table_unref(s->touched);
    g_hash_table_unref(s->revalidating);
    g_ptr_array_unref(s->tracked);
}

/* ---- answers ---- */

static void send_answer(struct server *s, struct ask *ask)
{
    struct conn *conn = ask->conn;

    ask->conn = NULL;
    /* A session that has moved ends the connection (FinalRequestProcessor), or one that the leader
     * thinks elsewhere would be told so for ever. */
    if (ask->breaks_after || ask->reply.rc == STORE_UNKNOWN) {
        conn_server_closes(conn);
        return;
    }
    link_send(&conn->down,
              (struct message){.kind = MSG_ANSWER, .ask = ask_ref(ask), .zxid = s->tree->zxid},
              link_latency(s->w));
}

/* Answers what can be answered: reads wait behind the session's own writes. */
static void drain(struct server *s, struct conn *conn)
{
    struct ask *ask;

    conn_ref(conn);
    while (conn->server && (ask = g_queue_peek_head(&conn->asks)) != NULL) {
        bool read = !ask_is_write(ask) && ask->kind != STORE_SYNC;
        if (!read && !ask->settled)
            break;
        if (read)
            answer_read(s, ask);
        g_queue_pop_head(&conn->asks);
        send_answer(s, ask);
        ask_unref(ask);
    }
    conn_unref(conn);
}

void server_settle(struct server *s, struct ask *ask)
{
    ask->settled = true;
    if (ask->conn && ask->conn->server == s)
        drain(s, ask->conn);
}

/* ---- what clients send ---- */

/* A follower believes that the session lives, the leader knows. */
static bool touch(struct server *s, int64_t session)
{
    if (s->role == SERVER_LEADING)
        return sessions_touch(s, session);
    if (!g_hash_table_contains(s->touched, &session)) {
        g_hash_table_add(s->touched, g_memdup2(&session, sizeof session));
        g_array_append_val(s->touches, session);
    }
    return true;
}

static bool is_unknown(const struct world_config *config, const struct ask *ask)
{
    return ask->kind == STORE_CREATE && !ask->plain &&
           config->lacks >= (ask->mode == STORE_CONTAINER ? LACKS_CONTAINERS : LACKS_CREATE2);
}

/* The leader may know better: that there is no such node any more. */
static bool refuses_alone(const struct server *s, const struct ask *ask)
{
    return s->w->config.odd && ask->kind == STORE_SET && tree_find(s->tree, ask->path) &&
           prepare_is_refused(s->w, STORE_SET, ask->path);
}

static void take(struct server *s, struct conn *conn, struct ask *ask)
{
    ask->unknown = is_unknown(&s->w->config, ask);
    if (ask->unknown && s->w->config.hangs_up) {
        conn_server_closes(conn);
        return;
    }
    s->w->counts.requests[ask->kind]++;
    ask->server = s->number;
    ask->session = conn->session;
    ask->conn = conn;
    g_queue_push_tail(&conn->asks, ask_ref(ask));
    if (refuses_alone(s, ask)) {
        ask->reply.rc = STORE_NOAUTH;
        server_settle(s, ask);
    } else if (ask_is_write(ask) || ask->kind == STORE_SYNC) {
        forward(s, ask);
    } else {
        drain(s, conn);
    }
}

static void end_session(struct server *s, struct conn *conn)
{
    struct ask *ask = ask_new(ASK_END, conn->session);

    ask->cause = CAUSE_CLOSE;
    ask->server = s->number;
    forward(s, ask);
    ask_unref(ask);
}

static void on_message(struct server *s, struct conn *conn, const struct message *m)
{
    if (m->kind == MSG_REQUEST && m->ask->breaks_before) {
        conn_server_closes(conn);
        return;
    }
    /* A server answers nothing to a session that is over. */
    if (!conn->established || conn->ghost || !touch(s, conn->session))
        return;
    if (m->kind == MSG_REQUEST)
        take(s, conn, m->ask);
    else if (m->kind == MSG_WATCHES)
        watches_restore(s, conn, m);
    else if (m->kind == MSG_END)
        end_session(s, conn);
    else if (m->kind == MSG_PING)
        link_send(&conn->down, (struct message){.kind = MSG_PONG, .zxid = s->tree->zxid},
                  link_latency(s->w));
}

void server_receive(struct link *link, struct message *m)
{
    struct conn *conn = link->context;
    struct server *s = conn->server;

    if (!s)
        return;
    conn->reached = true;
    if (m->kind == MSG_FIN || !server_serves(s))
        conn_server_closes(conn);
    else if (m->kind == MSG_CONNECT)
        handshake(conn, m);
    else
        on_message(s, conn, m);
}

/* ---- ends ---- */

void server_drop_all(struct server *s)
{
    while (s->conns->len > 0)
        conn_server_closes(s->conns->pdata[s->conns->len - 1]);
}

/* A client that is just being accepted may be left without a word. */
static void end_conn(struct server *s, struct conn *conn)
{
    if (conn->established && s->w->queue.now - conn->since < 2 * link_latency(s->w) &&
        chance_is(&s->w->queue, 50))
        conn->ghost = true;
    else
        conn_server_closes(conn);
}

void server_end_session(struct server *s, int64_t session)
{
    for (guint i = s->conns->len; i > 0; i--) {
        struct conn *conn = s->conns->pdata[i - 1];
        if (conn->session == session)
            end_conn(s, conn);
    }
}
