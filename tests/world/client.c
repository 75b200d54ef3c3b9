/* What the client library does on its own: it connects, pings, gives up and tries elsewhere. It
 * goes by its host's CLOCK_MONOTONIC_RAW. */
#include "inside.h"

/* ---- while its connection is gone ---- */

/* What the store asks the servers while its connection is gone: would they take it? As the real one
 * does: some times in a session timeout, by what its user was given. */

enum { PROBES = 4 };

static void on_look(void *context);

static void arm(struct store *store)
{
    queue_arm(&store->w->queue, &store->look, store->w->queue.now + store->timeout_ms * MS / PROBES,
              on_look, store);
}

static bool is_reached(const struct store *store, const struct server *s)
{
    const struct host *h = store->host;

    return !h->cut_up[s->number] && !h->cut_down[s->number] && !s->paused && server_serves(s);
}

static enum store_event look(const struct store *store)
{
    enum store_event event = STORE_EV_UNSERVED;

    for (unsigned i = 0; i < store->servers; i++) {
        const struct server *s = &store->w->servers[store->order[i]];
        if (!is_reached(store, s))
            continue;
        if (store->known <= s->tree->zxid)
            return STORE_EV_SERVED;
        event = STORE_EV_REFUSED;
    }
    return event;
}

static void on_look(void *context)
{
    struct store *store = context;

    arm(store);
    if (!store->host->paused)
        store_tell(store, look(store));
}

static void probe_begin(struct store *store)
{
    arm(store);
}

void probe_end(struct store *store)
{
    queue_cancel(&store->w->queue, &store->look);
}

/* ---- towards the servers ---- */

static void on_alarm(void *context);

static int64_t raw_now(const struct store *store)
{
    return host_clock(store->host).raw;
}

static int64_t timeout_ns(const struct store *store)
{
    return store->timeout_ms * MS;
}

/* ---- time ---- */

/* When, by its clock, it has something to do if nothing else happens. */
static int64_t due(const struct store *store)
{
    int64_t silent = store->received + timeout_ns(store) * 2 / 3;

    if (store->state == CLIENT_WAITING)
        return store->sent;
    if (store->state == CLIENT_UP && g_queue_is_empty((GQueue *)(uintptr_t)&store->asks))
        return MIN(silent, store->sent + timeout_ns(store) / 3);
    return silent;
}

/* Late alarms are moved on when they come: what is sent and received costs nothing here. */
static void client_arm(struct store *store)
{
    if (store->host->paused || store->closed || store->state == CLIENT_OVER)
        return;
    int64_t at = host_raw_when(store->host, due(store));
    if (!store->alarm.slot || at < store->alarm.at)
        queue_arm(&store->w->queue, &store->alarm, at, on_alarm, store);
}

void client_wake(struct store *store, int64_t delay_ns)
{
    if (!store->closed && store->state != CLIENT_OVER)
        queue_arm(&store->w->queue, &store->alarm, store->w->queue.now + delay_ns, on_alarm, store);
}

/* ---- connections ---- */

static void connect_next(struct store *store)
{
    store->state = CLIENT_CONNECTING;
    store->received = store->sent = raw_now(store);
    store->conn = conn_new(store, store->order[store->turn]);
    store->turn = (store->turn + 1) % store->servers;
    store->tried++;
    link_send(&store->conn->up,
              (struct message){.kind = MSG_CONNECT,
                               .session = store->session,
                               .timeout_ms = store->timeout_ms,
                               .zxid = store->seen},
              link_latency(store->w));
    client_arm(store);
}

/* At once, but not for ever in a circle. */
static void try_again(struct store *store)
{
    int64_t pause = store->tried < store->servers ? 0 : timeout_ns(store) / 60;

    if (store->tried >= store->servers)
        store->tried = 0;
    store->state = CLIENT_WAITING;
    store->sent = raw_now(store) + pause; /* when to try */
    client_arm(store);
}

void client_begin(struct store *store)
{
    store->state = CLIENT_NEW;
    client_wake(store, link_latency(store->w));
}

void client_lost(struct store *store)
{
    bool was_up = store->state == CLIENT_UP;

    store_ref(store);
    if (store->conn)
        conn_client_closes(store->conn);
    try_again(store);
    if (was_up) {
        probe_begin(store);
        leader_hold_back(store);
        store_tell(store, STORE_EV_DOWN);
        store_fail_all(store, STORE_UNKNOWN);
    }
    store_unref(store);
}

static void look_at_time(struct store *store)
{
    int64_t now = raw_now(store);

    if (now >= store->received + timeout_ns(store) * 2 / 3) {
        client_lost(store);
        return;
    }
    if (store->state == CLIENT_UP && now >= due(store)) {
        store->sent = now;
        link_send(&store->conn->up, (struct message){.kind = MSG_PING}, link_latency(store->w));
    }
    client_arm(store);
}

static void begin(struct store *store)
{
    store->state = CLIENT_WAITING;
    store->sent = raw_now(store);
    store_ref(store);
    store_tell(store, STORE_EV_BEGIN);
    client_arm(store);
    store_unref(store);
}

static void on_alarm(void *context)
{
    struct store *store = context;

    if (store->closed || store->host->paused || store->host->dead)
        return;
    if (store->state == CLIENT_NEW)
        begin(store);
    else if (store->state != CLIENT_WAITING)
        look_at_time(store);
    else if (raw_now(store) >= store->sent)
        connect_next(store);
    else
        client_arm(store);
}

/* ---- what servers send ---- */

static int by_age(const void *a, const void *b, void *watched)
{
    const void *x = g_hash_table_lookup(watched, *(const char *const *)a);
    const void *y = g_hash_table_lookup(watched, *(const char *const *)b);

    return GPOINTER_TO_INT(x) - GPOINTER_TO_INT(y);
}

/* In an order that chance decides, not their names. */
static GPtrArray *paths_of(struct store *store, GHashTable *watched)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func((GDestroyNotify)g_ref_string_release);
    GHashTableIter i;
    void *path;

    g_hash_table_iter_init(&i, watched);
    while (g_hash_table_iter_next(&i, &path, NULL))
        g_ptr_array_add(paths, g_ref_string_acquire(path));
    g_ptr_array_sort_with_data(paths, by_age, watched);
    chance_shuffle(&store->w->queue, paths->pdata, paths->len);
    return paths;
}

/* All in one packet, before anything else. */
static void restore_watches(struct store *store)
{
    struct message m = {.kind = MSG_WATCHES, .zxid = store->seen};
    guint count = 0;

    for (int kind = 0; kind < WATCH_KINDS; kind++)
        count += g_hash_table_size(store->watched[kind]);
    if (count == 0)
        return;
    for (int kind = 0; kind < WATCH_KINDS; kind++)
        m.paths[kind] = paths_of(store, store->watched[kind]);
    link_send(&store->conn->up, m, link_latency(store->w));
}

static void on_welcome(struct store *store, const struct message *m)
{
    probe_end(store);
    if (m->session == 0) {
        store->state = CLIENT_OVER;
        conn_client_closes(store->conn);
        store_fail_all(store, STORE_GONE);
        store_tell(store, STORE_EV_EXPIRED);
        return;
    }
    store->session = m->session;
    store->timeout_ms = m->timeout_ms;
    store->state = CLIENT_UP;
    store->tried = 0;
    store->sent = raw_now(store);
    restore_watches(store);
    store_tell(store, STORE_EV_UP);
}

static void keep_watch(struct store *store, struct ask *ask)
{
    enum watch_kind kind = ask->kind == STORE_LIST         ? WATCH_CHILDREN
                           : ask->reply.rc == STORE_NONODE ? WATCH_ABSENT
                                                           : WATCH_NODE;

    if (ask->reply.rc == STORE_OK || (ask->reply.rc == STORE_NONODE && ask->kind == STORE_STAT))
        g_hash_table_insert(store->watched[kind], g_ref_string_acquire(ask->path),
                            GINT_TO_POINTER(++store->armed));
}

/* Whether there was any. */
static bool forget_watches(struct store *store, const char *path, bool of_node, bool of_list)
{
    bool any = of_node && g_hash_table_remove(store->watched[WATCH_NODE], path);

    any |= of_node && g_hash_table_remove(store->watched[WATCH_ABSENT], path);
    any |= of_list && g_hash_table_remove(store->watched[WATCH_CHILDREN], path);
    return any;
}

static void on_fired(struct store *store, const struct message *m)
{
    bool of_list = m->fired == STORE_FIRED_CHILDREN || m->fired == STORE_FIRED_GONE;

    if (forget_watches(store, m->path, m->fired != STORE_FIRED_CHILDREN, of_list))
        store_watch(store, m->path, m->fired);
}

static void on_answer(struct store *store, const struct message *m)
{
    struct ask *ask = m->ask;

    store->seen = MAX(store->seen, m->zxid);
    store->known = MAX(store->known, ask->reply.czxid);
    g_queue_remove(&store->asks, ask);
    if (ask->watch && ask->kind != STORE_SET)
        keep_watch(store, ask);
    if (ask->kind == STORE_UNWATCH && ask->reply.rc == STORE_OK)
        forget_watches(store, ask->path, !ask->of_list, ask->of_list);
    store_answer(store, ask, &ask->reply);
    ask_unref(ask);
}

void client_receive(struct link *link, struct message *m)
{
    struct conn *conn = link->context;
    struct store *store = conn->client;

    if (!store)
        return;
    store_ref(store);
    store->received = raw_now(store);
    if (m->kind == MSG_FIN)
        client_lost(store);
    else if (m->kind == MSG_WELCOME)
        on_welcome(store, m);
    else if (m->kind == MSG_ANSWER)
        on_answer(store, m);
    else if (m->kind == MSG_EVENT)
        on_fired(store, m);
    else if (m->kind == MSG_PONG)
        store->seen = MAX(store->seen, m->zxid);
    if (!store->closed)
        client_arm(store);
    store_unref(store);
}
