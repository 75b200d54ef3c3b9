/* The real store, over libzookeeper_mt. Its hazards, and what keeps them out:
 * - it may lose completions at close and never give them after expiry: every request is in a
 *   registry of ours, failed from there, and freed only when the library can call no more;
 * - a call racing with zookeeper_close() uses freed memory: the handle is only touched under the
 *   monitor, and close takes it away under the monitor first;
 * - it resolves names at every turn of its loop: it gets addresses, and the resolution delay of -1;
 * - of an even number of addresses it tries every other one: it gets an odd one;
 * - it ends the process when it is refused one of its two threads: two are tried before;
 * - init and close block (DNS, a mute server): a connector thread of the store does both;
 * - watch contexts may be used after removal: the context is the store, which outlives the handle;
 * - its sockets stay open in programs that are executed: each is closed on exec once connected.
 */
#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

#include "lib/base/clock.h"
#include "lib/base/credentials.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "names.h"
#include "store_zk.h"

enum {
    RETRY_MS = 500,       /* between attempts to make a handle */
    LOOK_MS = 300,        /* until it is asked why there is no first connection */
    ATTEMPT_LOOKS = 1000, /* for libzookeeper to begin to connect: in 50 ms */
    DRAIN_MS = 2000,      /* for answers under way, at close */
    PROBES = 4,           /* of the servers, in a session timeout without a connection */
    STUCK_LOOK_MS = 1000, /* until libzookeeper may be waiting for the wrong server */
};

static void tell(struct store *store, enum store_event event)
{
    pthread_mutex_lock(store->sink.monitor);
    if (!store->closing)
        store->sink.event(store->sink.context, event, 0, 0);
    pthread_mutex_unlock(store->sink.monitor);
}

static void free_store(struct store *store)
{
    requests_free_all(store);
    store_zk_end_log(store);
    g_free(store->resolved);
    g_free(store->newer);
    g_free(store->added);
    g_free(store->members);
    g_free(store->next_hosts);
    g_free(store->config);
    pthread_cond_destroy(&store->wake);
    store_zk_drop_acl(store);
    g_free(store->hosts);
    store_zk_drop_credentials(store);
    store_zk_sasl_free(store->sasl);
    tls_files_clear(&store->tls);
    g_free(store);
}

bool store_zk_wait(struct store *store, const struct timespec *until)
{
    return pthread_cond_timedwait(&store->wake, store->sink.monitor, until) != ETIMEDOUT;
}

bool store_zk_is_down(const struct store *store)
{
    return !store->up && !store->over && !store->closing;
}

static void wait_retry(struct store *store)
{
    struct timespec until = clock_after_ms(RETRY_MS);

    while (!store->closing && store_zk_wait(store, &until))
        continue;
}

/* libzookeeper's thread begins by converting the addresses, as zookeeper_init() has; see names.h.
 */
static void wait_for_attempt(zhandle_t *zh)
{
    const struct timespec moment = {0, 50000};

    for (int i = 0; i < ATTEMPT_LOOKS && zoo_state(zh) == ZOO_NOTCONNECTED_STATE; i++)
        nanosleep(&moment, NULL);
}

/* Without the monitor: it may block. Returns why there is none, for as much as it is news. */
static enum store_event make_handle(struct store *store, zhandle_t **ret)
{
    enum store_event why;
    char *hosts = store_zk_find_hosts(store, &why);

    *ret = NULL;
    if (!hosts)
        return why;
    /* The library ends the process where the system refuses it one. */
    if (!thread_can_start_two()) {
        store_zk_tell_trouble(store, TROUBLE_MEMORY);
        g_free(hosts);
        return STORE_EV_DOWN;
    }
    tell(store, STORE_EV_BEGIN);
    store->servers = store_zk_count(hosts);
    names_begin();
    *ret = store_zk_init(store, hosts);
    if (*ret)
        wait_for_attempt(*ret);
    names_end();
    g_free(hosts);
    if (!*ret && probe_own_trouble() != TROUBLE_UNKNOWN)
        store_zk_tell_trouble(store, probe_own_trouble());
    if (*ret)
        zoo_set_servers_resolution_delay(*ret, -1);
    return STORE_EV_DOWN;
}

/* Makes the handle; NULL when close came first. Called and returning with the monitor held. */
static zhandle_t *keep_trying(struct store *store)
{
    zhandle_t *zh = NULL;

    while (!store->closing) {
        store_zk_take_hosts(store);
        pthread_mutex_unlock(store->sink.monitor);
        enum store_event why = make_handle(store, &zh);
        pthread_mutex_lock(store->sink.monitor);
        if (zh)
            break;
        log_attempt(store->log);
        if (!store->closing && why != STORE_EV_DOWN)
            store->sink.event(store->sink.context, why, 0, 0);
        wait_retry(store);
    }
    return zh;
}

/* zookeeper_close() waits for anything to read, then closes the socket. With answers still unread
 * that resets the connection, and the server may never see the request to close the session. */
static void drain(struct store *store, zhandle_t *zh)
{
    struct timespec until = clock_after_ms(DRAIN_MS);

    while (!g_queue_is_empty(&store->ops) && zoo_state(zh) == ZOO_CONNECTED_STATE &&
           store_zk_wait(store, &until))
        continue;
}

/* Which servers are tried next, of the ensemble and of the user? The monitor is held but meanwhile.
 */
static void follow_all(struct store *store)
{
    store_zk_take_hosts(store);
    store_zk_follow_ensemble(store);
    store_zk_follow_names(store);
}

/* Waits for a connection. The monitor is held but meanwhile. */
static void stay_down(struct store *store, zhandle_t *zh, int ms)
{
    if (zh && store->away && store->silent)
        store_zk_follow_names(store);
    for (int left = ms; left > 0 && store_zk_is_down(store); left -= STUCK_LOOK_MS) {
        const struct timespec until = clock_after_ms(MIN(left, STUCK_LOOK_MS));
        while (store_zk_is_down(store) && !store->heard && store_zk_wait(store, &until))
            continue;
        if (zh && store_zk_is_down(store))
            store_zk_pass_on(store, zh);
        if (zh && store_zk_is_down(store) && store->heard)
            follow_all(store);
        else if (zh && store_zk_is_down(store))
            store_zk_follow_names(store);
    }
}

/* While there is no connection: is that the servers' doing? The monitor is held but meanwhile. */
static void look_around(struct store *store, zhandle_t *zh, int after_ms)
{
    static const enum store_event told[] = {
        [ROLLBACK_NONE] = STORE_EV_UNSERVED,
        [ROLLBACK_SERVES] = STORE_EV_SERVED,
        [ROLLBACK_REFUSES] = STORE_EV_REFUSED,
    };
    enum rollback_evidence evidence = ROLLBACK_NONE;

    stay_down(store, zh, after_ms);
    if (!store_zk_is_down(store))
        return;
    const bool away = store->away;
    pthread_mutex_unlock(store->sink.monitor);
    struct probe_tls tls, *used = store_zk_use_tls(store, &tls);
    if (away && !tls.why)
        evidence = probe_zxid(store->hosts, store->seen, used);
    if (evidence == ROLLBACK_NONE && !tls.why)
        store_zk_tell_trouble(store, probe_trouble(store->hosts, used));
    store_zk_end_tls(store, &tls, evidence == ROLLBACK_NONE);
    pthread_mutex_lock(store->sink.monitor);
    if (store_zk_is_down(store) && away)
        store->sink.event(store->sink.context, told[evidence], 0, 0);
    if (store_zk_is_down(store))
        follow_all(store);
}

/* While there is a connection. The monitor is held but meanwhile. */
static void follow_news(struct store *store)
{
    if (store_zk_wait(store, &store->heard_at) || !store->up)
        return;
    const bool set = store_zk_take_hosts(store);
    if (store_zk_follow_ensemble(store) || set)
        store_zk_follow_names(store);
}

/* The library does not tell when SASL fails. With the monitor held, but while it waits. */
static void wait_for_news(struct store *store, zhandle_t *zh)
{
    const bool sasl = !store->over && store->sasl;

    if (sasl && zoo_state(zh) == ZOO_AUTH_FAILED_STATE)
        store_zk_session_event(store, zh, ZOO_AUTH_FAILED_STATE);
    else if (store_zk_is_down(store))
        look_around(store, zh, sasl ? RETRY_MS : store->timeout_ms / PROBES);
    else if (store->up && store->heard)
        follow_news(store);
    else
        pthread_cond_wait(&store->wake, store->sink.monitor);
}

static void *keep(void *data)
{
    struct store *store = data;
    pthread_mutex_t *monitor = store->sink.monitor;
    struct store_sink sink = store->sink;

    pthread_mutex_lock(monitor);
    zhandle_t *zh = keep_trying(store);
    if (zh && !store->closing) {
        store->zh = zh;
        if (!store->over)
            store_zk_give_credentials(store);
    }
    if (store_zk_is_down(store))
        look_around(store, zh, LOOK_MS);
    while (!store->closing)
        wait_for_news(store, zh);
    store->zh = NULL;
    while (store->borrowed > 0)
        pthread_cond_wait(&store->wake, monitor);
    if (zh)
        drain(store, zh);
    pthread_mutex_unlock(monitor);
    if (zh)
        zookeeper_close(zh);
    free_store(store);
    sink.closed(sink.context);
    return NULL;
}

_Static_assert(sizeof(((clientid_t *)NULL)->passwd) == STORE_PASSWORD, "the library's length");

static bool claim(struct store *store, struct store_claim *ret)
{
    const clientid_t *id = store->zh && !store->over ? zoo_client_id(store->zh) : NULL;

    if (!id || id->client_id == 0)
        return false;
    ret->id = id->client_id;
    memcpy(ret->password, id->passwd, STORE_PASSWORD);
    return true;
}

static void take_claim(struct store *store, const struct store_claim *given)
{
    store->claimed.client_id = given->id;
    memcpy(store->claimed.passwd, given->password, STORE_PASSWORD);
}

static int open_store(struct store **ret, const struct store_config *config,
                      const struct store_sink *sink)
{
    struct store *store = g_new0(struct store, 1);

    store->sink = *sink;
    store->log = config->log;
    store->hosts = g_strdup(config->hosts);
    store->credentials = config->credentials ? credentials_ref(config->credentials) : NULL;
    store->timeout_ms = config->timeout_ms;
    if (config->claim)
        take_claim(store, config->claim);
    store->sasl = store_zk_sasl_new(store->credentials);
    store->tls = tls_files_copy(config->tls);
    store_zk_use_acl(store, config->acl);
    thread_cond_init(&store->wake);
    if (thread_start_detached(keep, store) != 0) {
        free_store(store);
        return -1;
    }
    *ret = store;
    return 0;
}

static void close_store(struct store *store)
{
    store->closing = true;
    store->zh = NULL;
    requests_fail_all(store);
    pthread_cond_broadcast(&store->wake);
}

static void *borrow(struct store *store)
{
    if (!store->zh || store->over)
        return NULL;
    store->borrowed++;
    store->lent = true;
    return store->zh;
}

static void give_back(struct store *store)
{
    if (--store->borrowed == 0 && store->closing)
        pthread_cond_broadcast(&store->wake);
}

const struct store_ops store_zk = {
    open_store, requests_submit,    close_store,          borrow,         give_back,
    claim,      store_zk_set_hosts, store_zk_hear_config, store_zk_strays};
