/* Which servers are tried beside the user's: those that the ensemble names, while we are connected
 * to one which it calls what we call it. Decided a moment after news, on the connector, which waits
 * for names; and again while there is no connection. */
#include <string.h>

#include "lib/base/clock.h"
#include "recipes/ensemble.h"
#include "store_zk.h"

/* A session that is only used for a command has ended by then. */
enum { HEARD_MS = 1000, CONFIG_MAX = 64 * 1024 };

/* ---- what is heard, with the monitor held ---- */

static void hear(struct store *store, char **what, char *news)
{
    g_free(*what);
    *what = news;
    store->heard = true;
    store->heard_at = clock_after_ms(HEARD_MS);
    pthread_cond_broadcast(&store->wake);
}

void store_zk_set_hosts(struct store *store, const char *hosts)
{
    hear(store, &store->next_hosts, g_strdup(hosts));
}

void store_zk_hear_config(struct store *store, const char *config, int length)
{
    hear(store, &store->config, g_strndup(config, (gsize)CLAMP(length, 0, CONFIG_MAX)));
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

/* ---- what becomes of it ---- */

static void append(GString *list, const char *address)
{
    g_string_append_printf(list, "%s%s", list->len ? "," : "", address);
}

/* The addresses of its servers: of all, and of those that vote. */
static void find_members(const char *config, GString *all, GString *voters)
{
    struct ensemble_member members[ENSEMBLE_MAX];
    const size_t count = ensemble_read(config, strlen(config), members);

    for (size_t i = 0; i < count; i++) {
        const struct ensemble_member *m = &members[i];
        char *name = g_strdup_printf("%.*s:%.*s", m->host_length, m->host, m->port_length, m->port);
        char *found = store_zk_resolve(name);
        if (found[0]) {
            append(all, found);
            if (m->votes)
                append(voters, found);
        }
        g_free(found);
        g_free(name);
    }
}

static bool was_added(const struct store *store, const char *address)
{
    char **list = g_strsplit(store->added ? store->added : "", ",", -1);
    const bool was = g_strv_contains((const char *const *)list, address);

    g_strfreev(list);
    return was;
}

/* Those that were not asked yet must answer first, since libzookeeper does not survive what is no
 * ZooKeeper, and waits long for what is silent. NULL: there are none. */
static char *choose(const struct store *store, const char *own, const char *voters,
                    const char *server)
{
    GString *chosen = g_string_new(NULL), *asked = g_string_new(NULL);
    char **list = g_strsplit(voters, ",", -1);

    for (guint i = 0; list[i]; i++)
        if (ensemble_adds(list[i], own, server))
            append(was_added(store, list[i]) ? chosen : asked, list[i]);
    char *answering = asked->len ? probe_answering(asked->str) : NULL;
    if (answering)
        append(chosen, answering);
    g_free(answering);
    g_strfreev(list);
    g_string_free(asked, TRUE);
    return g_string_free(chosen, chosen->len == 0);
}

/* Whether the ensemble knows the server, or knew it a while ago: one that is removed serves on, and
 * tells of those that have taken its place. */
static bool is_known(struct store *store, const char *members, const char *server)
{
    if (ensemble_knows(members, server)) {
        g_free(store->members);
        store->members = g_strdup(members);
    }
    return store->members && ensemble_knows(store->members, server);
}

/* Unless there is another connection by now, which is to be heard of. */
static void note_strays(struct store *store, const struct address *server, bool strays)
{
    pthread_mutex_lock(store->sink.monitor);
    if (server->length == store->server.length &&
        memcmp(&server->bytes, &store->server.bytes, server->length) == 0)
        store->strays = strays;
    pthread_mutex_unlock(store->sink.monitor);
}

/* Whether others are added now. */
static bool decide(struct store *store, const char *config, const struct address *server)
{
    GString *name = g_string_new(NULL), *all = g_string_new(NULL), *voters = g_string_new(NULL);
    char *own = store_zk_resolve(store->hosts), *chosen = NULL;

    names_append(name, server);
    find_members(config, all, voters);
    note_strays(store, server, !ensemble_knows(own, name->str));
    if (is_known(store, all->str, name->str))
        chosen = choose(store, own, voters->str, name->str);
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
    const bool changed = decide(store, config, &server);
    pthread_mutex_lock(store->sink.monitor);
    g_free(config);
    return changed;
}
