/* Which servers the real store is to be connected to, and what keeps it from them. */
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/path.h"
#include "names.h"
#include "store_zk.h"

void store_zk_tell_trouble(struct store *store, enum store_trouble trouble)
{
    pthread_mutex_lock(store->sink.monitor);
    if (!store->closing && store->sink.trouble)
        store->sink.trouble(store->sink.context, trouble);
    pthread_mutex_unlock(store->sink.monitor);
}

static void tell_hosts(struct store *store, const char *good)
{
    char *shown = path_show_hosts(store->hosts), *shown_good = path_show_hosts(good);

    log_line(store->log, ZKL_LOG_WARN, "not-zookeeper", NULL, "of %s only %s are ZooKeeper servers",
             shown, shown_good);
    g_free(shown);
    g_free(shown_good);
}

struct probe_tls *store_zk_use_tls(const struct store *store, struct probe_tls *tls)
{
    *tls = (struct probe_tls){NULL, NULL};
    if (store->tls.ca)
        tls->tls = tls_new(&store->tls, &tls->why);
    return tls->tls ? tls : NULL;
}

void store_zk_end_tls(struct store *store, struct probe_tls *tls, bool tells)
{
    pthread_mutex_lock(store->sink.monitor);
    if (tells && tls->why && !store->closing && !store->up && store->sink.unusable)
        store->sink.unusable(store->sink.context, tls->why);
    pthread_mutex_unlock(store->sink.monitor);
    tls_free(tls->tls);
    g_free(tls->why);
}

unsigned store_zk_count(const char *hosts)
{
    unsigned count = 1;

    for (const char *at = hosts; (at = strchr(at, ',')); at++)
        count++;
    return count;
}

/* After each failure libzookeeper passes over the next of its list (ZOOKEEPER-2466): of an even
 * number it would try only every other one, for ever, and never pause. */
static char *make_odd(char *addresses)
{
    if (store_zk_count(addresses) % 2 == 1)
        return addresses;
    const char *second = strchr(addresses, ',');
    char *odd = g_strdup_printf("%s,%.*s", addresses, (int)(second - addresses), addresses);
    g_free(addresses);
    return odd;
}

/* An array of struct address. */
static GArray *find_all(const char *hosts)
{
    char **list = g_strsplit(hosts, ",", -1);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct address));

    for (guint i = 0; list[i]; i++) {
        GArray *found = names_find(list[i]);
        if (found->len > 0)
            g_array_append_vals(all, found->data, found->len);
        g_array_unref(found);
    }
    g_strfreev(list);
    return all;
}

char *store_zk_resolve(const char *hosts)
{
    GArray *found = find_all(hosts);
    GString *all = g_string_new(NULL);

    for (guint i = 0; i < found->len; i++)
        names_append(all, &g_array_index(found, struct address, i));
    g_array_unref(found);
    return g_string_free(all, FALSE);
}

/* Takes a list of the user's; those that the ensemble names stand behind it. */
static char *append_added(char *hosts, const struct store *store)
{
    if (!store->added)
        return hosts;
    char *all = g_strdup_printf("%s%s%s", hosts, hosts[0] ? "," : "", store->added);
    g_free(hosts);
    return all;
}

static char *resolve_all(const struct store *store)
{
    return append_added(store_zk_resolve(store->hosts), store);
}

/* A server that the ensemble has named may be the one that serves, or that does not answer. */
static bool drop_stuck(struct store *store)
{
    struct probe_tls tls, *used = store_zk_use_tls(store, &tls);
    char *all = append_added(g_strdup(store->hosts), store);
    const bool serves = !tls.why && probe_serves(all, used);
    GArray *servers = serves ? find_all(all) : NULL;
    const bool dropped = serves && store_zk_drop_stuck(servers);

    store_zk_end_tls(store, &tls, false);
    if (servers)
        g_array_unref(servers);
    g_free(all);
    return dropped;
}

/* As often as there are addresses: where servers need so long to answer, clients that begin anew
 * again and again make it worse. Behind it the pauses begin anew, as one serves. */
void store_zk_pass_on(struct store *store, zhandle_t *zh)
{
    const int state = zoo_state(zh);

    /* It pauses, or it has had its turns. */
    if (state <= 0 || state == ZOO_NOTCONNECTED_STATE || store->dropped >= store->servers)
        return;
    pthread_mutex_unlock(store->sink.monitor);
    const bool dropped = drop_stuck(store);
    pthread_mutex_lock(store->sink.monitor);
    store->dropped += dropped;
    if (dropped)
        store->rounds = 0;
}

/* again: those that it was without are asked again; if nobody answers, it stays as it was. */
static char *find_hosts(struct store *store, enum store_event *ret, bool again)
{
    struct probe_found found = {.named = true};
    char *resolved = resolve_all(store); /* first: what changes since is found again */
    struct probe_tls tls, *used = store_zk_use_tls(store, &tls);
    char *hosts = tls.why ? NULL : probe_hosts(store->hosts, used, &found);

    *ret = !found.named                                        ? STORE_EV_HOST
           : store->tls.ca && found.trouble != TROUBLE_FOREIGN ? STORE_EV_DOWN
                                                               : STORE_EV_FOREIGN;
    store_zk_tell_trouble(store, found.trouble);
    store_zk_end_tls(store, &tls, !hosts);
    if (!hosts || (again && !found.answered)) {
        g_free(resolved);
        g_free(hosts);
        return NULL;
    }
    if (found.foreign && !again)
        tell_hosts(store, hosts);
    g_free(store->resolved);
    store->resolved = resolved;
    store->silent = found.silent;
    return make_odd(append_added(hosts, store));
}

char *store_zk_find_hosts(struct store *store, enum store_event *ret)
{
    return find_hosts(store, ret, false);
}

void store_zk_follow_names(struct store *store)
{
    enum store_event ignored;
    char *hosts = NULL;

    pthread_mutex_unlock(store->sink.monitor);
    char *resolved = resolve_all(store);
    const bool moved = g_strcmp0(resolved, store->resolved) != 0;
    if (moved || store->silent)
        hosts = find_hosts(store, &ignored, !moved);
    g_free(resolved);
    if (moved && hosts)
        log_line(store->log, ZKL_LOG_INFO, "servers-changed", NULL, "the servers are now %s",
                 hosts);
    pthread_mutex_lock(store->sink.monitor);
    if (!hosts)
        return;
    g_free(store->newer);
    store->newer = hosts;
    pthread_cond_broadcast(&store->wake);
}
