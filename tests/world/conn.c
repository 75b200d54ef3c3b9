/* A connection has two ends, and each may think it stands when the other does not. */
#include "inside.h"

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
