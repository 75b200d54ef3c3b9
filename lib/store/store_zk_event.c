/* What the real store hears from libzookeeper: of its session, and of nodes that are watched. */
#include <string.h>

#include "lib/base/credentials.h"
#include "store_zk.h"

void store_zk_drop_credentials(struct store *store)
{
    credentials_unref(store->credentials);
    store->credentials = NULL;
}

void store_zk_give_credentials(struct store *store)
{
    const struct credentials *all = store->credentials;

    for (; all && store->given < all->count; store->given++) {
        const struct credential *c = &all->each[store->given];
        if (strcmp(c->scheme, STORE_SASL) == 0)
            continue;
        /* No completion: it would run under libzookeeper's own lock. A refusal comes as an event.
         */
        int rc = zoo_add_auth(store->zh, c->scheme, c->secret, (int)strlen(c->secret), NULL, NULL);
        if (rc == ZINVALIDSTATE)
            return;
    }
    store_zk_drop_credentials(store);
}

void store_zk_session_event(struct store *store, zhandle_t *zh, int state)
{
    void *context = store->sink.context;

    store->away = false;
    store->up = state == ZOO_CONNECTED_STATE;
    if (store->up) {
        store->rounds = 0;
        store->dropped = 0;
        store_zk_give_credentials(store);
        store->sink.event(context, STORE_EV_UP, zoo_client_id(zh)->client_id, zoo_recv_timeout(zh));
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        store->over = true;
        requests_fail_all(store);
        store->sink.event(context, STORE_EV_EXPIRED, 0, 0);
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        store->over = true;
        requests_fail_all(store);
        store->sink.event(context, STORE_EV_AUTH, 0, 0);
    } else {
        store->away = true;
        pthread_cond_broadcast(&store->wake);
        store->sink.event(context, STORE_EV_DOWN, 0, 0);
    }
}

static bool to_fired(int type, enum store_fired *ret)
{
    *ret = type == ZOO_DELETED_EVENT   ? STORE_FIRED_GONE
           : type == ZOO_CHILD_EVENT   ? STORE_FIRED_CHILDREN
           : type == ZOO_CREATED_EVENT ? STORE_FIRED_CREATED
                                       : STORE_FIRED_CHANGED;
    return *ret != STORE_FIRED_CHANGED || type == ZOO_CHANGED_EVENT;
}

void store_zk_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct store *store = context;
    enum store_fired fired;
    struct address server;
    const bool connected = type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE;

    if (connected)
        store_zk_keep_socket(zh, &server);
    pthread_mutex_lock(store->sink.monitor);
    if (!store->closing && !store->over) {
        store->zh = zh;
        if (connected) {
            store->server = server;
            store->strays = false;
        }
        if (type == ZOO_SESSION_EVENT)
            store_zk_session_event(store, zh, state);
        else if (to_fired(type, &fired))
            store->sink.watch(store->sink.context, path, fired);
    }
    pthread_mutex_unlock(store->sink.monitor);
}
