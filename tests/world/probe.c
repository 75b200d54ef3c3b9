/* What the store asks the servers while its connection is gone: would they take it? As the real one
 * does: some times in a session timeout, by what its user was given. */
#include "inside.h"

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

void probe_begin(struct store *store)
{
    arm(store);
}

void probe_end(struct store *store)
{
    queue_cancel(&store->w->queue, &store->look);
}
