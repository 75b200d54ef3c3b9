#include "client_tree.h"

#include <stdbool.h>
#include <string.h>

struct node {
    GBytes *data;
    struct Stat stat;
};

static GHashTable *nodes, *watches; /* path -> node; path -> session, one at most */
static int64_t zxid;
static int number;

static void free_node(void *data)
{
    struct node *n = data;

    g_bytes_unref(n->data);
    g_free(n);
}

static struct node *find(const char *path)
{
    if (!nodes) {
        nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_node);
        watches = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    }
    return g_hash_table_lookup(nodes, path);
}

static struct node *add(char *path, const char *data, int length)
{
    struct node *n = g_new0(struct node, 1);

    n->data = g_bytes_new(data, (gsize)MAX(length, 0));
    n->stat.czxid = ++zxid;
    n->stat.dataLength = (int32_t)g_bytes_get_size(n->data);
    g_hash_table_insert(nodes, path, n);
    return n;
}

static bool has_parent(const char *path)
{
    char *parent = g_path_get_dirname(path);
    bool there = strcmp(parent, "/") == 0 || find(parent);

    g_free(parent);
    return there;
}

/* The name of the node at path if it is a child of parent. */
static const char *child_name(const char *parent, const char *path)
{
    size_t length = strlen(parent);
    bool below = strncmp(path, parent, length) == 0 && path[length] == '/';

    return below && !strchr(path + length + 1, '/') ? path + length + 1 : NULL;
}

static void fire(int type, const char *path)
{
    const int64_t *watcher = g_hash_table_lookup(watches, path);

    if (watcher)
        client_fire(*watcher, type, path);
    g_hash_table_remove(watches, path);
}

int tree_create(const char *path, const char *data, int length, int mode, int64_t session,
                char **ret_path, struct Stat *ret)
{
    bool own = mode == ZOO_EPHEMERAL_SEQUENTIAL || mode == ZOO_EPHEMERAL;
    char *full = mode == ZOO_EPHEMERAL_SEQUENTIAL ? g_strdup_printf("%s%010d", path, number)
                                                  : g_strdup(path);
    int rc = find(full) ? ZNODEEXISTS : has_parent(full) ? ZOK : ZNONODE;

    if (rc != ZOK) {
        g_free(full);
        return rc;
    }
    number += own;
    struct node *n = add(full, data, length);
    n->stat.ephemeralOwner = own || mode == ZOO_EPHEMERAL ? session : 0;
    *ret = n->stat;
    *ret_path = g_strdup(full);
    return ZOK;
}

int tree_check(const char *path, int version)
{
    const struct node *n = find(path);

    if (!n)
        return ZNONODE;
    return version == -1 || version == n->stat.version ? ZOK : ZBADVERSION;
}

int tree_delete(const char *path, int version)
{
    int rc = tree_check(path, version);

    if (rc != ZOK)
        return rc;
    g_hash_table_remove(nodes, path);
    fire(ZOO_DELETED_EVENT, path);
    return ZOK;
}

int tree_set(const char *path, const char *data, int length, int version, struct Stat *ret)
{
    int rc = tree_check(path, version);

    if (rc != ZOK)
        return rc;
    struct node *n = find(path);
    g_bytes_unref(n->data);
    n->data = g_bytes_new(data, (gsize)MAX(length, 0));
    n->stat.version++;
    n->stat.dataLength = (int32_t)g_bytes_get_size(n->data);
    *ret = n->stat;
    fire(ZOO_CHANGED_EVENT, path);
    return ZOK;
}

int tree_get(const char *path, int64_t watcher, GBytes **ret_data, struct Stat *ret)
{
    const struct node *n = find(path);

    if (!n)
        return ZNONODE;
    if (watcher)
        g_hash_table_insert(watches, g_strdup(path), g_memdup2(&watcher, sizeof watcher));
    *ret_data = g_bytes_ref(n->data);
    *ret = n->stat;
    return ZOK;
}

int tree_list(const char *path, GPtrArray *ret_names, struct Stat *ret)
{
    const struct node *n = find(path);
    GHashTableIter at;
    void *key;

    if (!n)
        return ZNONODE;
    *ret = n->stat;
    g_hash_table_iter_init(&at, nodes);
    while (g_hash_table_iter_next(&at, &key, NULL)) {
        const char *name = child_name(path, key);
        if (name)
            g_ptr_array_add(ret_names, g_strdup(name));
    }
    return ZOK;
}

void tree_unwatch(const char *path)
{
    g_hash_table_remove(watches, path);
}

static gboolean is_watch_of(void *path, void *watcher, void *session)
{
    (void)path;
    return *(int64_t *)watcher == *(int64_t *)session;
}

void tree_end_session(int64_t session)
{
    GHashTableIter at;
    void *path, *n;

    find("/");
    g_hash_table_foreach_remove(watches, is_watch_of, &session);
    g_hash_table_iter_init(&at, nodes);
    while (g_hash_table_iter_next(&at, &path, &n)) {
        if (((const struct node *)n)->stat.ephemeralOwner != session)
            continue;
        fire(ZOO_DELETED_EVENT, path);
        g_hash_table_iter_remove(&at);
    }
}

int tree_count(const char *prefix)
{
    int count = 0;
    GHashTableIter at;
    void *key;

    find(prefix);
    g_hash_table_iter_init(&at, nodes);
    while (g_hash_table_iter_next(&at, &key, NULL))
        count += g_str_has_prefix(key, prefix);
    return count;
}

int tree_watches(void)
{
    return watches ? (int)g_hash_table_size(watches) : 0;
}

void tree_forget(void)
{
    g_clear_pointer(&nodes, g_hash_table_unref);
    g_clear_pointer(&watches, g_hash_table_unref);
}
