/* The servers that the real store is to be connected to, and what keeps it from them. Servers that
 * the ensemble names are tried beside the user's, as long as the ensemble knows the server of our
 * connection by the address that we use. The connector, which waits for names, decides that a
 * moment after news, and again while there is no connection. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/path.h"
#include "names.h"
#include "recipes/ensemble.h"
#include "store_zk.h"

/* A session that is only used for a command has ended by then. */
enum { HEARD_MS = 1000, CONFIG_MAX = 64 * 1024 };

/* ---- what keeps it from them ---- */

void store_zk_tell_trouble(struct store *store, enum store_trouble trouble)
{
    pthread_mutex_lock(store->sink.monitor);
    if (!store->closing && store->sink.trouble)
        store->sink.trouble(store->sink.context, trouble);
    pthread_mutex_unlock(store->sink.monitor);
}

static void zk_servers_tell_hosts(struct store *store, const char *good)
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

/* ---- addresses ---- */

unsigned store_zk_count(const char *hosts)
{
    unsigned count = 1;

    for (const char *at = hosts; (at = strchr(at, ',')); at++)
        count++;
    return count;
}

/* After each failure libzookeeper passes over the next server of its list (ZOOKEEPER-2466). With an
 * even number it would try only every other one, for ever, and never pause. */
static char *zk_servers_make_odd(char *addresses)
{
    if (store_zk_count(addresses) % 2 == 1)
        return addresses;
    const char *second = strchr(addresses, ',');
    char *odd = g_strdup_printf("%s,%.*s", addresses, (int)(second - addresses), addresses);
    g_free(addresses);
    return odd;
}

/* An array of struct address. */
static GArray *zk_servers_find_all(const char *hosts)
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

/* "address:port,…" of the names. To be freed. Blocks. */
static char *zk_servers_resolve(const char *hosts)
{
    GArray *found = zk_servers_find_all(hosts);
    GString *all = g_string_new(NULL);

    for (guint i = 0; i < found->len; i++)
        names_append(all, &g_array_index(found, struct address, i));
    g_array_unref(found);
    return g_string_free(all, FALSE);
}

/* Takes a list of the user's; those that the ensemble names stand behind it. */
static char *zk_servers_append_added(char *hosts, const struct store *store)
{
    if (!store->added)
        return hosts;
    char *all = g_strdup_printf("%s%s%s", hosts, hosts[0] ? "," : "", store->added);
    g_free(hosts);
    return all;
}

static char *zk_servers_resolve_all(const struct store *store)
{
    return zk_servers_append_added(zk_servers_resolve(store->hosts), store);
}

/* ---- one that does not answer ---- */

/* A server that the ensemble has named may be the one that serves, or that does not answer. */
static bool zk_servers_drop_stuck(struct store *store)
{
    struct probe_tls tls, *used = store_zk_use_tls(store, &tls);
    char *all = zk_servers_append_added(g_strdup(store->hosts), store);
    const bool serves = !tls.why && probe_serves(all, used);
    GArray *servers = serves ? zk_servers_find_all(all) : NULL;
    const bool dropped = serves && store_zk_drop_stuck(servers);

    store_zk_end_tls(store, &tls, false);
    if (servers)
        g_array_unref(servers);
    g_free(all);
    return dropped;
}

/* This is done as often as there are addresses. If servers need so long to answer, clients that
 * begin again and again make it worse. After that the pauses begin anew, since a server answers. */
void store_zk_pass_on(struct store *store, zhandle_t *zh)
{
    const int state = zoo_state(zh);

    /* It pauses, or it has had its turns. */
    if (state <= 0 || state == ZOO_NOTCONNECTED_STATE || store->dropped >= store->servers)
        return;
    pthread_mutex_unlock(store->sink.monitor);
    const bool dropped = zk_servers_drop_stuck(store);
    pthread_mutex_lock(store->sink.monitor);
    store->dropped += dropped;
    if (dropped)
        store->rounds = 0;
}

/* ---- finding them ---- */

/* again: those that it was without are asked again; if nobody answers, it stays as it was. */
static char *zk_servers_find_hosts(struct store *store, enum store_event *ret, bool again)
{
    struct probe_found found = {.named = true};
    char *resolved = zk_servers_resolve_all(store); /* first: what changes since is found again */
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
        zk_servers_tell_hosts(store, hosts);
    g_free(store->resolved);
    store->resolved = resolved;
    store->silent = found.silent;
    return zk_servers_make_odd(zk_servers_append_added(hosts, store));
}

char *store_zk_find_hosts(struct store *store, enum store_event *ret)
{
    return zk_servers_find_hosts(store, ret, false);
}

void store_zk_follow_names(struct store *store)
{
    enum store_event ignored;
    char *hosts = NULL;

    pthread_mutex_unlock(store->sink.monitor);
    char *resolved = zk_servers_resolve_all(store);
    const bool moved = g_strcmp0(resolved, store->resolved) != 0;
    if (moved || store->silent)
        hosts = zk_servers_find_hosts(store, &ignored, !moved);
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

/* ---- what is heard, with the monitor held ---- */

static void zk_servers_hear(struct store *store, char **what, char *news)
{
    g_free(*what);
    *what = news;
    store->heard = true;
    store->heard_at = clock_after_ms(HEARD_MS);
    pthread_cond_broadcast(&store->wake);
}

void store_zk_set_hosts(struct store *store, const char *hosts)
{
    zk_servers_hear(store, &store->next_hosts, g_strdup(hosts));
}

void store_zk_hear_config(struct store *store, const char *config, int length)
{
    zk_servers_hear(store, &store->config, g_strndup(config, (gsize)CLAMP(length, 0, CONFIG_MAX)));
}

bool store_zk_strays(const struct store *store)
{
    return store->strays;
}

bool store_zk_take_hosts(struct store *store)
{
    if (!store->next_hosts)
        return false;
    g_free(store->hosts);
    store->hosts = g_steal_pointer(&store->next_hosts);
    return true;
}

/* ---- what the ensemble names ---- */

static void zk_servers_append(GString *list, const char *address)
{
    g_string_append_printf(list, "%s%s", list->len ? "," : "", address);
}

/* The addresses of its servers: of all, and of those that vote. */
static void zk_servers_find_members(const char *config, GString *all, GString *voters)
{
    struct ensemble_member members[ENSEMBLE_MAX];
    const size_t count = ensemble_read(config, strlen(config), members);

    for (size_t i = 0; i < count; i++) {
        const struct ensemble_member *m = &members[i];
        char *name = g_strdup_printf("%.*s:%.*s", m->host_length, m->host, m->port_length, m->port);
        char *found = zk_servers_resolve(name);
        if (found[0]) {
            zk_servers_append(all, found);
            if (m->votes)
                zk_servers_append(voters, found);
        }
        g_free(found);
        g_free(name);
    }
}

static bool zk_servers_was_added(const struct store *store, const char *address)
{
    char **list = g_strsplit(store->added ? store->added : "", ",", -1);
    const bool was = g_strv_contains((const char *const *)list, address);

    g_strfreev(list);
    return was;
}

/* Servers that were not asked yet must answer first, since libzookeeper does not survive an answer
 * of another program, and waits long for a silent server. Returns NULL if there are none. */
static char *zk_servers_choose(const struct store *store, const char *own, const char *voters,
                               const char *server)
{
    GString *chosen = g_string_new(NULL), *asked = g_string_new(NULL);
    char **list = g_strsplit(voters, ",", -1);

    for (guint i = 0; list[i]; i++)
        if (ensemble_adds(list[i], own, server))
            zk_servers_append(zk_servers_was_added(store, list[i]) ? chosen : asked, list[i]);
    char *answering = asked->len ? probe_answering(asked->str) : NULL;
    if (answering)
        zk_servers_append(chosen, answering);
    g_free(answering);
    g_strfreev(list);
    g_string_free(asked, TRUE);
    return g_string_free(chosen, chosen->len == 0);
}

/* Whether the ensemble knows the server, or knew it a while ago. A server that was removed goes on,
 * and tells of the servers that have taken its place. */
static bool zk_servers_is_known(struct store *store, const char *members, const char *server)
{
    if (ensemble_knows(members, server)) {
        g_free(store->members);
        store->members = g_strdup(members);
    }
    return store->members && ensemble_knows(store->members, server);
}

/* Unless there is another connection by now, which is to be heard of. */
static void zk_servers_note_strays(struct store *store, const struct address *server, bool strays)
{
    pthread_mutex_lock(store->sink.monitor);
    if (server->length == store->server.length &&
        memcmp(&server->bytes, &store->server.bytes, server->length) == 0)
        store->strays = strays;
    pthread_mutex_unlock(store->sink.monitor);
}

/* Whether others are added now. */
static bool zk_servers_decide(struct store *store, const char *config, const struct address *server)
{
    GString *name = g_string_new(NULL), *all = g_string_new(NULL), *voters = g_string_new(NULL);
    char *own = zk_servers_resolve(store->hosts), *chosen = NULL;

    names_append(name, server);
    zk_servers_find_members(config, all, voters);
    zk_servers_note_strays(store, server, !ensemble_knows(own, name->str));
    if (zk_servers_is_known(store, all->str, name->str))
        chosen = zk_servers_choose(store, own, voters->str, name->str);
    const bool changed = g_strcmp0(store->added, chosen) != 0;
    g_free(store->added);
    store->added = chosen;
    g_free(own);
    g_string_free(voters, TRUE);
    g_string_free(all, TRUE);
    g_string_free(name, TRUE);
    return changed;
}

bool store_zk_follow_ensemble(struct store *store)
{
    const struct address server = store->server;
    char *config = g_strdup(store->config);

    store->heard = false;
    if (!config)
        return false;
    pthread_mutex_unlock(store->sink.monitor);
    const bool changed = zk_servers_decide(store, config, &server);
    pthread_mutex_lock(store->sink.monitor);
    g_free(config);
    return changed;
}
