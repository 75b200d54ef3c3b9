/* One replica of what ZooKeeper keeps. */
#include <string.h>

#include "inside.h"

/* As every server has them. */
static const char *const fresh[] = {"/zookeeper", "/zookeeper/config", "/zookeeper/quota"};

static void free_node(void *data)
{
    struct node *n = data;

    g_ref_string_release(n->path);
    g_ref_string_release(n->name);
    if (n->data)
        g_bytes_unref(n->data);
    g_ptr_array_unref(n->children);
    g_free(n);
}

static void free_session(void *data)
{
    struct replica_session *s = data;

    g_ptr_array_unref(s->nodes);
    g_free(s);
}

/* Takes over nothing: path and name get a reference each. */
static struct node *add_node(struct tree *tree, struct node *parent, char *path, char *name)
{
    struct node *n = g_new0(struct node, 1);

    n->path = g_ref_string_acquire(path);
    n->name = g_ref_string_acquire(name);
    n->children = g_ptr_array_new();
    n->parent = parent;
    if (parent) {
        n->at = parent->children->len;
        g_ptr_array_add(parent->children, n);
    }
    g_hash_table_insert(tree->nodes, n->path, n);
    return n;
}

static struct tree *new_tree(void)
{
    struct tree *tree = g_new0(struct tree, 1);

    tree->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_node);
    tree->sessions = g_ptr_array_new_with_free_func(free_session);
    return tree;
}

static struct node *add_fresh(struct tree *tree, struct node *parent, const char *path)
{
    char *full = g_ref_string_new(path), *name = g_ref_string_new(strrchr(path, '/') + 1);
    struct node *n = add_node(tree, parent, full, name);

    g_ref_string_release(full);
    g_ref_string_release(name);
    return n;
}

struct tree *tree_new(bool alone)
{
    static const char config[] = "server.1=simulated:participant\nversion=0";
    struct tree *tree = new_tree();

    tree->root = add_fresh(tree, NULL, "/");
    for (size_t i = 0; i < G_N_ELEMENTS(fresh); i++) {
        struct node *n = add_fresh(tree, i == 0 ? tree->root : tree_find(tree, fresh[0]), fresh[i]);
        if (i == 1 && !alone)
            n->data = g_bytes_new_static(config, sizeof config - 1);
    }
    return tree;
}

void tree_free(struct tree *tree)
{
    g_hash_table_unref(tree->nodes);
    g_ptr_array_unref(tree->sessions);
    g_free(tree);
}

struct node *tree_find(const struct tree *tree, const char *path)
{
    return g_hash_table_lookup(tree->nodes, path);
}

struct replica_session *tree_session(const struct tree *tree, int64_t id)
{
    for (guint i = 0; i < tree->sessions->len; i++) {
        struct replica_session *s = tree->sessions->pdata[i];
        if (s->id == id)
            return s;
    }
    return NULL;
}

unsigned tree_count(const struct tree *tree)
{
    return g_hash_table_size(tree->nodes) - 1 - (unsigned)G_N_ELEMENTS(fresh);
}

/* ---- transactions ---- */

static void add_session(struct tree *tree, int64_t id, int timeout_ms)
{
    struct replica_session *s = g_new0(struct replica_session, 1);

    *s = (struct replica_session){id, timeout_ms, g_ptr_array_new()};
    g_ptr_array_add(tree->sessions, s);
}

static void own(struct tree *tree, struct node *n)
{
    struct replica_session *s = n->ephemeral_owner ? tree_session(tree, n->ephemeral_owner) : NULL;

    if (!s)
        return;
    n->at_owner = s->nodes->len;
    g_ptr_array_add(s->nodes, n);
}

static void disown(struct tree *tree, struct node *n)
{
    struct replica_session *s = n->ephemeral_owner ? tree_session(tree, n->ephemeral_owner) : NULL;

    if (!s)
        return;
    g_ptr_array_remove_index_fast(s->nodes, n->at_owner);
    if (n->at_owner < s->nodes->len)
        ((struct node *)s->nodes->pdata[n->at_owner])->at_owner = n->at_owner;
}

static void create(struct tree *tree, const struct part *p, const struct txn *txn)
{
    char *above = path_parent(p->path);
    struct node *parent = tree_find(tree, above), *n = add_node(tree, parent, p->path, p->name);

    n->data = p->data ? g_bytes_ref(p->data) : NULL;
    n->czxid = n->mzxid = n->pzxid = txn->zxid;
    n->ctime_ms = n->mtime_ms = txn->time_ms;
    n->ephemeral_owner = p->ephemeral_owner;
    n->container = p->container;
    own(tree, n);
    /* Never lowered: at its end the counter stands still. */
    if (p->creations > parent->creations) {
        parent->creations = p->creations;
        parent->pzxid = txn->zxid;
    }
    g_free(above);
}

static void delete (struct tree *tree, const struct part *p, const struct txn *txn)
{
    struct node *n = tree_find(tree, p->path), *parent = n->parent;

    disown(tree, n);
    g_ptr_array_remove_index_fast(parent->children, n->at);
    if (n->at < parent->children->len)
        ((struct node *)parent->children->pdata[n->at])->at = n->at;
    parent->pzxid = txn->zxid;
    g_hash_table_remove(tree->nodes, n->path);
}

static void set(struct tree *tree, const struct part *p, const struct txn *txn)
{
    struct node *n = tree_find(tree, p->path);

    if (n->data)
        g_bytes_unref(n->data);
    n->data = p->data ? g_bytes_ref(p->data) : NULL;
    n->version = p->version;
    n->mzxid = txn->zxid;
    n->mtime_ms = txn->time_ms;
}

static void apply_part(struct tree *tree, const struct part *p, const struct txn *txn)
{
    if (p->kind == STORE_CREATE)
        create(tree, p, txn);
    else if (p->kind == STORE_DELETE)
        delete (tree, p, txn);
    else if (p->kind == STORE_SET)
        set(tree, p, txn);
}

void tree_apply(struct tree *tree, const struct txn *txn,
                void (*changed)(void *data, const char *path, enum store_fired fired), void *data)
{
    static const enum store_fired fired[] = {[STORE_CREATE] = STORE_FIRED_CREATED,
                                             [STORE_SET] = STORE_FIRED_CHANGED,
                                             [STORE_DELETE] = STORE_FIRED_GONE};

    tree->zxid = txn->zxid;
    if (txn->kind == TXN_SESSION)
        add_session(tree, txn->session, txn->timeout_ms);
    for (guint i = 0; i < txn->parts->len; i++) {
        const struct part *p = &g_array_index(txn->parts, struct part, i);
        apply_part(tree, p, txn);
        if (changed && p->kind != STORE_GET)
            changed(data, p->path, fired[p->kind]);
    }
    if (txn->kind == TXN_END)
        g_ptr_array_remove(tree->sessions, tree_session(tree, txn->session));
}

/* ---- a copy ---- */

static void copy_below(struct tree *tree, struct node *parent, const struct node *from)
{
    struct node *n = add_node(tree, parent, from->path, from->name);

    if (!parent)
        tree->root = n;
    n->data = from->data ? g_bytes_ref(from->data) : NULL;
    n->version = from->version;
    n->creations = from->creations;
    n->czxid = from->czxid;
    n->mzxid = from->mzxid;
    n->pzxid = from->pzxid;
    n->ctime_ms = from->ctime_ms;
    n->mtime_ms = from->mtime_ms;
    n->ephemeral_owner = from->ephemeral_owner;
    n->container = from->container;
    own(tree, n);
    for (guint i = 0; i < from->children->len; i++)
        copy_below(tree, n, from->children->pdata[i]);
}

struct tree *tree_copy(const struct tree *from)
{
    struct tree *tree = new_tree();

    tree->zxid = from->zxid;
    for (guint i = 0; i < from->sessions->len; i++) {
        const struct replica_session *s = from->sessions->pdata[i];
        add_session(tree, s->id, s->timeout_ms);
    }
    copy_below(tree, NULL, from->root);
    return tree;
}

/* ---- paths ---- */

char *path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash || path[1] == '\0')
        return NULL;
    return slash == path ? g_strdup("/") : g_strndup(path, (gsize)(slash - path));
}

bool path_is_below(const char *path, const char *top)
{
    size_t length = strlen(top);

    return strcmp(top, "/") == 0 ||
           (strncmp(path, top, length) == 0 && (path[length] == '\0' || path[length] == '/'));
}
