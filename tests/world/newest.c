/* The newest state there is. */
#include <string.h>

#include "inside.h"

static struct node *find(const struct world *w, const char *path)
{
    return tree_find(world_newest(w)->tree, path);
}

bool world_exists(const struct world *w, const char *path, int64_t *ret_owner, uint64_t *ret_czxid)
{
    const struct node *n = find(w, path);

    if (n && ret_owner)
        *ret_owner = n->ephemeral_owner;
    if (n && ret_czxid)
        *ret_czxid = n->czxid;
    return n != NULL;
}

const char *world_data(const struct world *w, const char *path, size_t *ret_length)
{
    const struct node *n = find(w, path);

    *ret_length = 0;
    return n && n->data ? g_bytes_get_data(n->data, ret_length) : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **world_children(const struct world *w, const char *path)
{
    const struct node *n = find(w, path);

    if (!n)
        return NULL;
    char **names = g_new0(char *, n->children->len + 1);
    for (guint i = 0; i < n->children->len; i++)
        names[i] = g_strdup(((const struct node *)n->children->pdata[i])->name);
    qsort(names, n->children->len, sizeof *names, by_name);
    return names;
}

unsigned world_node_count(const struct world *w)
{
    return tree_count(world_newest(w)->tree);
}

unsigned world_session_count(const struct world *w)
{
    return world_newest(w)->tree->sessions->len;
}

unsigned world_watch_count(const struct world *w)
{
    unsigned count = 0;

    for (unsigned i = 0; i < w->count; i++) {
        const GPtrArray *conns = w->servers[i].conns;
        for (guint k = 0; k < conns->len; k++) {
            const struct conn *conn = conns->pdata[k];
            for (int kind = 0; kind < WATCH_KINDS_SERVED && conn->client; kind++)
                count += g_hash_table_size(conn->watched[kind]);
        }
    }
    return count;
}

unsigned world_watchers(const struct world *w, const char *path)
{
    unsigned count = 0;

    for (unsigned i = 0; i < w->count; i++) {
        const GPtrArray *conns = g_hash_table_lookup(w->servers[i].watches[WATCH_NODE], path);
        count += conns ? conns->len : 0;
    }
    return count;
}

struct world_counts world_counts(const struct world *w)
{
    return w->counts;
}
