/* The store interface: what callers give, and what they are told, with their monitor held and
 * their host entered. */
#include <pthread.h>
#include <string.h>

#include "inside.h"
#include "lib/base/thread.h"

/* ---- who tells that stores are closed ---- */

/* Tells that stores are closed, from a thread of its own: whoever closes waits for it. */

struct porter {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    GQueue sinks; /* of struct store_sink: to be told */
    bool end;
};

/* NULL: all are told, and no more will come. */
static struct store_sink *next(struct porter *porter)
{
    pthread_mutex_lock(&porter->mutex);
    while (g_queue_is_empty(&porter->sinks) && !porter->end)
        pthread_cond_wait(&porter->wake, &porter->mutex);
    struct store_sink *sink = g_queue_pop_head(&porter->sinks);
    pthread_mutex_unlock(&porter->mutex);
    return sink;
}

static void *run(void *data)
{
    struct store_sink *sink;

    while ((sink = next(data)) != NULL) {
        sink->closed(sink->context);
        g_free(sink);
    }
    return NULL;
}

static struct porter *porter_new(void)
{
    struct porter *porter = g_new0(struct porter, 1);

    pthread_mutex_init(&porter->mutex, NULL);
    pthread_cond_init(&porter->wake, NULL);
    if (thread_start(&porter->thread, run, porter) != 0)
        g_error("no thread for the porter");
    return porter;
}

static void porter_tell(struct world *w, const struct store_sink *sink)
{
    if (!w->porter)
        w->porter = porter_new();
    pthread_mutex_lock(&w->porter->mutex);
    g_queue_push_tail(&w->porter->sinks, g_memdup2(sink, sizeof *sink));
    pthread_cond_signal(&w->porter->wake);
    pthread_mutex_unlock(&w->porter->mutex);
}

void porter_free(struct porter *porter)
{
    if (!porter)
        return;
    pthread_mutex_lock(&porter->mutex);
    porter->end = true;
    pthread_cond_signal(&porter->wake);
    pthread_mutex_unlock(&porter->mutex);
    pthread_join(porter->thread, NULL);
    pthread_mutex_destroy(&porter->mutex);
    pthread_cond_destroy(&porter->wake);
    g_free(porter);
}

/* ---- the store ---- */

struct store *store_ref(struct store *store)
{
    store->refs++;
    return store;
}

void store_unref(struct store *store)
{
    if (--store->refs > 0)
        return;
    queue_cancel(&store->w->queue, &store->alarm);
    probe_end(store);
    for (int kind = 0; kind < WATCH_KINDS; kind++)
        g_hash_table_unref(store->watched[kind]);
    g_free(store);
}

/* ---- calls to the caller ---- */

static bool is_deaf(const struct store *store)
{
    return store->closed || store->host->dead;
}

static struct host *enter(struct store *store)
{
    pthread_mutex_lock(store->sink.monitor);
    return host_enter(store->host);
}

/* The store may be closed by now. */
static void leave(pthread_mutex_t *monitor, struct host *before)
{
    host_enter(before);
    pthread_mutex_unlock(monitor);
}

void store_tell(struct store *store, enum store_event event)
{
    pthread_mutex_t *monitor = store->sink.monitor;
    int timeout_ms = event == STORE_EV_UP ? store->timeout_ms : 0;
    int64_t session = event == STORE_EV_UP ? store->session : 0;

    if (is_deaf(store))
        return;
    if (event < STORE_EV_UNSERVED) /* the others come all the time */
        note(store->w, (struct note){.kind = NOTE_EVENT,
                                     .host = store->host,
                                     .session = store->session,
                                     .event = event});
    struct host *before = enter(store);
    store->sink.event(store->sink.context, event, session, timeout_ms);
    leave(monitor, before);
}

void store_watch(struct store *store, const char *path, enum store_fired fired)
{
    pthread_mutex_t *monitor = store->sink.monitor;

    if (is_deaf(store))
        return;
    struct host *before = enter(store);
    store->sink.watch(store->sink.context, path, fired);
    leave(monitor, before);
}

static void note_ask(const struct store *store, enum note_kind kind, const struct ask *ask,
                     enum store_rc rc)
{
    note(store->w, (struct note){.kind = kind,
                                 .host = store->host,
                                 .session = store->session,
                                 .request = (enum store_kind)ask->kind,
                                 .watch = ask->watch,
                                 .path = ask->path,
                                 .sequence = ask->sequence,
                                 .rc = rc});
}

void store_answer(struct store *store, struct ask *ask, const struct store_reply *reply)
{
    pthread_mutex_t *monitor = store->sink.monitor;

    if (is_deaf(store))
        return;
    note_ask(store, NOTE_ANSWERED, ask, reply->rc);
    struct host *before = enter(store);
    ask->done(ask->context, reply);
    leave(monitor, before);
}

void store_fail_all(struct store *store, enum store_rc rc)
{
    const struct store_reply reply = {.rc = rc};

    while (!is_deaf(store) && !g_queue_is_empty(&store->asks)) {
        struct ask *ask = g_queue_pop_head(&store->asks);
        store_answer(store, ask, &reply);
        ask_unref(ask);
    }
}

/* ---- calls by the caller ---- */

/* "server2:1" means that one; anything else all of them. */
static void choose_servers(struct store *store, const char *hosts)
{
    struct world *w = store->w;
    void *order[WORLD_SERVERS_MAX];
    bool named = strstr(hosts, "server") != NULL;

    for (unsigned i = 0; i < w->count; i++) {
        char *name = g_strdup_printf("server%u:", i);
        if (!named || strstr(hosts, name))
            order[store->servers++] = GUINT_TO_POINTER(i);
        g_free(name);
    }
    chance_shuffle(&w->queue, order, store->servers);
    for (unsigned i = 0; i < store->servers; i++)
        store->order[i] = GPOINTER_TO_UINT(order[i]);
}

static int open_store(struct store **ret, const struct store_config *config,
                      const struct store_sink *sink)
{
    struct store *store = g_new0(struct store, 1);

    store->refs = 1;
    store->host = host_entered();
    store->w = store->host->w;
    store->sink = *sink;
    store->timeout_ms = config->timeout_ms;
    for (int kind = 0; kind < WATCH_KINDS; kind++)
        store->watched[kind] = watches_new();
    choose_servers(store, config->hosts);
    g_ptr_array_add(store->host->stores, store);
    client_begin(store);
    *ret = store;
    return 0;
}

/* Does this one end the connection? */
static void count_down(struct host *h, struct ask *ask)
{
    if (h->break_in == 0 || --h->break_in > 0)
        return;
    ask->breaks_before = !h->break_after;
    ask->breaks_after = h->break_after;
}

static void send_request(struct store *store, const struct store_request *request, store_done done,
                         void *context)
{
    struct ask *ask = ask_of(request);

    ask->host = store->host;
    ask->session = store->session;
    ask->sequence = ++store->host->sequence;
    ask->done = done;
    ask->context = context;
    count_down(store->host, ask);
    note_ask(store, NOTE_SENT, ask, STORE_OK);
    g_queue_push_tail(&store->asks, ask);
    store->sent = host_clock(store->host).raw;
    link_send(&store->conn->up, (struct message){.kind = MSG_REQUEST, .ask = ask_ref(ask)},
              link_latency(store->w));
}

static bool watches(const struct store *store, const struct store_request *r)
{
    if (r->of_list)
        return g_hash_table_contains(store->watched[WATCH_CHILDREN], r->path);
    return g_hash_table_contains(store->watched[WATCH_NODE], r->path) ||
           g_hash_table_contains(store->watched[WATCH_ABSENT], r->path);
}

static bool submit(struct store *store, const struct store_request *request, store_done done,
                   void *context)
{
    if (store->state != CLIENT_UP || store->host->dead)
        return false;
    /* libzookeeper knows what it watches, and refuses by itself. */
    if (request->kind == STORE_UNWATCH && !watches(store, request))
        done(context, &(struct store_reply){.rc = STORE_BAD});
    else
        send_request(store, request, done, context);
    return true;
}

/* With the monitor held already, and perhaps inside a callback of this very store. */
static void give_up_all(struct store *store)
{
    const struct store_reply gone = {.rc = STORE_GONE};
    struct ask *ask;

    while ((ask = g_queue_pop_head(&store->asks)) != NULL) {
        note_ask(store, NOTE_ANSWERED, ask, STORE_GONE);
        ask->done(ask->context, &gone);
        ask_unref(ask);
    }
}

static void close_store(struct store *store)
{
    struct conn *conn = store->conn;

    store->closed = true;
    give_up_all(store);
    if (conn && store->state == CLIENT_UP)
        link_send(&conn->up, (struct message){.kind = MSG_END}, link_latency(store->w));
    if (conn)
        conn_client_closes(conn);
    queue_cancel(&store->w->queue, &store->alarm);
    probe_end(store);
    g_ptr_array_remove(store->host->stores, store);
    porter_tell(store->w, &store->sink);
    store_unref(store);
}

static void *borrow(struct store *store)
{
    (void)store;
    return NULL;
}

static void give_back(struct store *store)
{
    (void)store;
}

const struct store_ops world_store = {open_store, submit, close_store, borrow, give_back,
                                      NULL,       NULL,   NULL,        NULL};
