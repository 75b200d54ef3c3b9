/* Messages on their way, and connections, which are two such ways. */
#include "inside.h"

static void free_message(struct message *m)
{
    if (m->ask)
        ask_unref(m->ask);
    if (m->txn)
        txn_unref(m->txn);
    if (m->conn)
        conn_unref(m->conn);
    if (m->path)
        g_ref_string_release(m->path);
    for (size_t i = 0; i < G_N_ELEMENTS(m->paths); i++)
        g_clear_pointer(&m->paths[i], g_ptr_array_unref);
    if (m->sessions)
        g_array_unref(m->sessions);
    g_free(m);
}

static struct message *pop(struct link *link)
{
    struct message *m = link->first;

    if (!m)
        return NULL;
    link->first = m->next;
    if (!link->first)
        link->last = NULL;
    return m;
}

static void on_due(void *context);

static void await(struct link *link)
{
    if (link->first && !link->alarm.slot && !link->blocked(link))
        queue_arm(&link->w->queue, &link->alarm, link->first->at, on_due, link);
}

bool link_deliver_next(struct link *link)
{
    struct message *m = pop(link);

    if (!m)
        return false;
    queue_cancel(&link->w->queue, &link->alarm);
    await(link);
    /* Last, as the link may end by it. */
    link->deliver(link, m);
    free_message(m);
    return true;
}

static void on_due(void *context)
{
    struct link *link = context;

    if (!link->blocked(link))
        link_deliver_next(link);
}

int64_t link_latency(struct world *w)
{
    uint64_t spread = (uint64_t)(w->config.latency_max_us - w->config.latency_min_us + 1);

    return (w->config.latency_min_us + (int64_t)chance_below(&w->queue, spread)) * 1000;
}

void link_send(struct link *link, struct message what, int64_t delay_ns)
{
    struct message *m = g_new(struct message, 1);

    *m = what;
    m->next = NULL;
    link->latest = m->at = MAX(link->latest, link->w->queue.now + delay_ns);
    if (link->last)
        link->last->next = m;
    else
        link->first = m;
    link->last = m;
    await(link);
}

void link_kick(struct link *link, int64_t delay_ns)
{
    int64_t soonest = link->w->queue.now + delay_ns;

    for (struct message *m = link->first; m && m->at < soonest; m = m->next)
        m->at = soonest;
    link->latest = MAX(link->latest, soonest);
    queue_cancel(&link->w->queue, &link->alarm);
    await(link);
}

void link_flush(struct link *link)
{
    for (struct message *m; (m = pop(link)) != NULL;)
        free_message(m);
    queue_cancel(&link->w->queue, &link->alarm);
}

/* ---- connections ---- */

/* A connection has two ends, and each may think it stands when the other does not. */

static bool is_up_blocked(const struct link *link)
{
    const struct conn *conn = link->context;

    return conn->host->cut_up[conn->to] || conn->w->servers[conn->to].paused;
}

static bool is_down_blocked(const struct link *link)
{
    const struct conn *conn = link->context;

    return conn->host->cut_down[conn->to] || conn->host->paused;
}

/* Both ends have it, though the server does not know yet. */
struct conn *conn_new(struct store *client, unsigned server)
{
    struct conn *conn = g_new0(struct conn, 1);
    struct world *w = client->w;

    conn->refs = 2;
    conn->w = w;
    conn->host = client->host;
    conn->client = client;
    conn->to = server;
    conn->server = &w->servers[server];
    conn->up =
        (struct link){.w = w, .context = conn, .blocked = is_up_blocked, .deliver = server_receive};
    conn->down = (struct link){
        .w = w, .context = conn, .blocked = is_down_blocked, .deliver = client_receive};
    for (int kind = 0; kind < WATCH_KINDS_SERVED; kind++)
        conn->watched[kind] = watches_new();
    g_ptr_array_add(conn->server->conns, conn);
    return conn;
}

struct conn *conn_ref(struct conn *conn)
{
    conn->refs++;
    return conn;
}

void conn_unref(struct conn *conn)
{
    if (--conn->refs > 0)
        return;
    link_flush(&conn->up);
    link_flush(&conn->down);
    for (int kind = 0; kind < WATCH_KINDS_SERVED; kind++)
        g_hash_table_unref(conn->watched[kind]);
    g_free(conn);
}

static void say_goodbye(struct link *link)
{
    link_send(link, (struct message){.kind = MSG_FIN}, link_latency(link->w));
}

void conn_client_closes(struct conn *conn)
{
    conn->client->conn = NULL;
    conn->client = NULL;
    link_flush(&conn->down);
    if (conn->server && !conn->reached) {
        conn_server_closes(conn);
    } else if (conn->server) {
        /* What a cut holds back may be sent again and again, even after the end; or not. */
        if (is_up_blocked(&conn->up) && chance_is(&conn->w->queue, 50))
            link_flush(&conn->up);
        else
            say_goodbye(&conn->up);
    }
    conn_unref(conn);
}

static void drop_asks(struct conn *conn)
{
    struct ask *ask;

    while ((ask = g_queue_pop_head(&conn->asks)) != NULL) {
        ask->conn = NULL;
        ask_unref(ask);
    }
}

void conn_server_closes(struct conn *conn)
{
    struct server *s = conn->server;

    g_ptr_array_remove(s->conns, conn);
    watches_forget(s, conn);
    drop_asks(conn);
    conn->server = NULL;
    link_flush(&conn->up);
    if (conn->client)
        say_goodbye(&conn->down);
    conn_unref(conn);
}
