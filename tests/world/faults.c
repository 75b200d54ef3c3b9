/* What goes wrong between hosts and servers, and between servers. */
#include "inside.h"

/* ---- hosts ---- */

static void kick(struct host *h)
{
    struct world *w = h->w;

    for (unsigned i = 0; i < w->count; i++) {
        GPtrArray *conns = w->servers[i].conns;
        for (guint k = 0; k < conns->len; k++) {
            struct conn *conn = conns->pdata[k];
            if (conn->host == h)
                link_kick(&conn->up, link_latency(w));
        }
    }
    for (guint i = 0; i < h->stores->len; i++) {
        struct store *store = h->stores->pdata[i];
        if (store->conn)
            link_kick(&store->conn->down, link_latency(w));
    }
}

void world_cut(struct host *h, int server, bool to_server, bool to_host)
{
    for (int i = 0; i < WORLD_SERVERS_MAX; i++) {
        if (server != -1 && server != i)
            continue;
        h->cut_up[i] |= to_server;
        h->cut_down[i] |= to_host;
    }
}

void world_heal(struct host *h, int server)
{
    for (int i = 0; i < WORLD_SERVERS_MAX; i++) {
        if (server == -1 || server == i)
            h->cut_up[i] = h->cut_down[i] = false;
    }
    kick(h);
}

/* In both directions at once: neither end hears what was on its way. A host that stands still
 * learns of it when it goes on. */
static void reset(struct store *store)
{
    if (!store->conn)
        return;
    struct conn *conn = conn_ref(store->conn);
    link_flush(&conn->down);
    if (conn->server)
        conn_server_closes(conn);
    if (!store->host->paused)
        client_lost(store);
    conn_unref(conn);
}

/* Callbacks may close stores, and open others. */
static void for_each_store(struct host *h, void (*fn)(struct store *store))
{
    GPtrArray *stores = g_ptr_array_new_with_free_func((GDestroyNotify)store_unref);

    for (guint i = 0; i < h->stores->len; i++)
        g_ptr_array_add(stores, store_ref(h->stores->pdata[i]));
    for (guint i = 0; i < stores->len; i++)
        fn(stores->pdata[i]);
    g_ptr_array_unref(stores);
}

void world_reset(struct host *h)
{
    for_each_store(h, reset);
}

static void reset_after_effect(struct store *store)
{
    struct conn *conn = store->conn;

    if (!conn)
        return;
    conn_ref(conn);
    while (conn->server && !conn->server->paused && link_deliver_next(&conn->up))
        continue;
    reset(store);
    conn_unref(conn);
}

void world_reset_after_effect(struct host *h)
{
    for_each_store(h, reset_after_effect);
}

void world_break_at(struct host *h, unsigned k, bool after_effect)
{
    h->break_in = k;
    h->break_after = after_effect;
}

void world_hold_back(struct host *h, int64_t ms)
{
    h->late_ms = ms;
}

/* ---- servers ---- */

int world_leader(const struct world *w)
{
    return w->leader;
}

static int64_t soon(struct world *w)
{
    return (int64_t)chance_below(&w->queue, 1000) * 1000;
}

static void kick_peers(struct server *s)
{
    for (unsigned i = 0; i < s->w->count; i++) {
        link_kick(&s->to[i], soon(s->w));
        link_kick(&s->w->servers[i].to[s->number], soon(s->w));
    }
}

void world_cut_server(struct world *w, int server, bool cut)
{
    struct server *s = &w->servers[server];

    s->cut = cut;
    if (cut)
        return;
    kick_peers(s);
    ensemble_elect_soon(w);
}

void world_deafen_server(struct world *w, int server, bool deaf)
{
    struct server *s = &w->servers[server];

    if (s->deaf == deaf)
        return;
    s->deaf = deaf;
    if (deaf)
        return;
    kick_peers(s);
    ensemble_elect_soon(w);
}

static void on_late_expiry(void *context)
{
    sessions_check(context);
}

/* What was due meanwhile mostly comes before what has arrived, but not always. */
static void resume(struct server *s)
{
    struct world *w = s->w;

    ensemble_beat_in(s, soon(w));
    if (s->role == SERVER_LEADING)
        queue_arm(&w->queue, &s->expiry, w->queue.now + soon(w) / 4, on_late_expiry, s);
    kick_peers(s);
    link_kick(&s->stream, soon(w));
    for (guint i = 0; i < s->conns->len; i++)
        link_kick(&((struct conn *)s->conns->pdata[i])->up, soon(w));
    ensemble_elect_soon(w);
}

void world_pause_server(struct world *w, int server, bool paused)
{
    struct server *s = &w->servers[server];

    if (s->paused == paused)
        return;
    s->paused = paused;
    if (!paused)
        resume(s);
}

void world_crash_server(struct world *w, int server, bool down)
{
    struct server *s = &w->servers[server];

    if (down == (s->role == SERVER_DOWN))
        return;
    ensemble_leave(s, down ? SERVER_DOWN : SERVER_LOOKING);
    s->paused = false;
    if (!down)
        ensemble_beat_in(s, soon(w));
    ensemble_elect_soon(w);
}

void world_keep(struct world *w)
{
    if (w->kept)
        tree_free(w->kept);
    w->kept = tree_copy(w->servers[0].tree);
}

void world_restore(struct world *w)
{
    struct server *s = &w->servers[0];

    g_assert(w->count == 1);
    world_crash_server(w, 0, true);
    tree_free(s->tree);
    s->tree = w->kept ? tree_copy(w->kept) : tree_new(true);
    g_queue_clear_full(&s->log, (GDestroyNotify)txn_unref);
    w->history_base = s->applied = history_end(w);
    g_ptr_array_set_size(w->history, 0);
    note(w, (struct note){.kind = NOTE_RESTORED});
    world_crash_server(w, 0, false);
}

void world_set_clock(struct world *w, int server, int64_t ms)
{
    w->servers[server].clock_ms = ms;
}

void world_lag(struct world *w, int server, int64_t ns)
{
    w->servers[server].lag = ns;
}
