/* libzookeeper has no setting for the pauses between its attempts, and takes no other servers
 * without harm from another thread, or while it is connected. But each time when it has tried all
 * of them it says so, by a log function, in the thread that connects; and nothing else is done in
 * there until it returns. The same holds for each failure. */
#include "lib/base/clock.h"
#include "lib/base/layout.h"
#include "recipes/back_off.h"
#include "store_zk.h"

/* Behind it libzookeeper waits for a sixtieth of its timeout. */
static int64_t pause_ms(struct store *store)
{
    const struct store_sink *sink = &store->sink;
    const int64_t left_ns = sink->left ? sink->left(sink->context) : 0;
    const int timeout_ms = store->zh ? zoo_recv_timeout(store->zh) : store->timeout_ms;
    uint32_t chance;

    layout_random(&chance, sizeof chance);
    return back_off_round(store->rounds, store->servers, left_ns / CLOCK_MS, chance) -
           timeout_ms / 60;
}

void store_zk_tried_all(struct store *store)
{
    pthread_mutex_lock(store->sink.monitor);
    const int64_t ms = pause_ms(store);
    const struct timespec until = clock_after_ms(MAX(ms, 0));
    store->rounds++;
    while (ms > 0 && !store->newer && store_zk_is_down(store) && store_zk_wait(store, &until))
        continue;
    pthread_mutex_unlock(store->sink.monitor);
}

/* Other servers taken while it is connected, or has found that the session has expired, would hide
 * that from us: it ends the connection, as after a failure, and forgets its state. */
static bool takes_servers(zhandle_t *zh)
{
    const int state = zoo_state(zh);

    return state >= 0 && state != ZOO_CONNECTED_STATE && state != ZOO_READONLY_STATE;
}

/* Not when it has tried all, since later versions (3.9.4) have the list locked there. */
void store_zk_failed(struct store *store)
{
    pthread_mutex_lock(store->sink.monitor);
    zhandle_t *zh = store->zh; /* closing it waits for this thread */
    char *newer = zh && takes_servers(zh) ? g_steal_pointer(&store->newer) : NULL;
    if (newer)
        store->servers = store_zk_count(newer);
    pthread_mutex_unlock(store->sink.monitor);
    if (newer)
        zoo_set_servers(zh, newer);
    g_free(newer);
}
