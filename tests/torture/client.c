#include "client.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "fault.h"

/* ---- the library ---- */

struct _zhandle {
    watcher_fn watcher;
    void *context;
    clientid_t id;
    atomic_int state;
    bool closing;
    GQueue queue; /* of struct answer */
    pthread_t thread;
};

enum { TIMEOUT_MS = 4000, DONE_MIN = ANSWER_DONE / 2 };

/* What the thread is to call: a completion, or with event the watcher. */
struct answer {
    int event;
    void_completion_t on_void;
    stat_completion_t on_stat;
    data_completion_t on_data;
    strings_stat_completion_t on_names;
    string_completion_t on_string;
    string_stat_completion_t on_created;
    const void *data;
    int rc, forced;
    char *path;
    GBytes *bytes;
    struct Stat stat;
    GPtrArray *names;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static zhandle_t *open_handle;
static int64_t last_id;
static bool ensemble;

static void push(zhandle_t *zh, struct answer *a)
{
    g_queue_push_tail(&zh->queue, a);
    pthread_cond_broadcast(&changed);
}

static void client_fire(int64_t session, int type, const char *path)
{
    if (!open_handle || open_handle->id.client_id != session)
        return;
    struct answer *a = g_new0(struct answer, 1);

    a->event = type;
    a->path = g_strdup(path);
    push(open_handle, a);
}

/* ---- the server: nodes and one-shot watches. Callers hold the client's lock ---- */

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

static struct node *find_node(const char *path)
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
    bool there = strcmp(parent, "/") == 0 || find_node(parent);

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

static int tree_create(const char *path, const char *data, int length, int mode, int64_t session,
                       char **ret_path, struct Stat *ret)
{
    bool own = mode == ZOO_EPHEMERAL_SEQUENTIAL || mode == ZOO_EPHEMERAL;
    char *full = mode == ZOO_EPHEMERAL_SEQUENTIAL ? g_strdup_printf("%s%010d", path, number)
                                                  : g_strdup(path);
    int rc = find_node(full) ? ZNODEEXISTS : has_parent(full) ? ZOK : ZNONODE;

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

static int tree_check(const char *path, int version)
{
    const struct node *n = find_node(path);

    if (!n)
        return ZNONODE;
    return version == -1 || version == n->stat.version ? ZOK : ZBADVERSION;
}

static int tree_delete(const char *path, int version)
{
    int rc = tree_check(path, version);

    if (rc != ZOK)
        return rc;
    g_hash_table_remove(nodes, path);
    fire(ZOO_DELETED_EVENT, path);
    return ZOK;
}

static int tree_set(const char *path, const char *data, int length, int version, struct Stat *ret)
{
    int rc = tree_check(path, version);

    if (rc != ZOK)
        return rc;
    struct node *n = find_node(path);
    g_bytes_unref(n->data);
    n->data = g_bytes_new(data, (gsize)MAX(length, 0));
    n->stat.version++;
    n->stat.dataLength = (int32_t)g_bytes_get_size(n->data);
    *ret = n->stat;
    fire(ZOO_CHANGED_EVENT, path);
    return ZOK;
}

static int tree_get(const char *path, int64_t watcher, GBytes **ret_data, struct Stat *ret)
{
    const struct node *n = find_node(path);

    if (!n)
        return ZNONODE;
    if (watcher)
        g_hash_table_insert(watches, g_strdup(path), g_memdup2(&watcher, sizeof watcher));
    *ret_data = g_bytes_ref(n->data);
    *ret = n->stat;
    return ZOK;
}

static int tree_list(const char *path, GPtrArray *ret_names, struct Stat *ret)
{
    const struct node *n = find_node(path);
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

static void tree_unwatch(const char *path)
{
    g_hash_table_remove(watches, path);
}

static gboolean is_watch_of(void *path, void *watcher, void *session)
{
    (void)path;
    return *(int64_t *)watcher == *(int64_t *)session;
}

static void tree_end_session(int64_t session)
{
    GHashTableIter at;
    void *path, *n;

    find_node("/");
    g_hash_table_foreach_remove(watches, is_watch_of, &session);
    g_hash_table_iter_init(&at, nodes);
    while (g_hash_table_iter_next(&at, &path, &n)) {
        if (((const struct node *)n)->stat.ephemeralOwner != session)
            continue;
        fire(ZOO_DELETED_EVENT, path);
        g_hash_table_iter_remove(&at);
    }
}

static int tree_count(const char *prefix)
{
    int count = 0;
    GHashTableIter at;
    void *key;

    find_node(prefix);
    g_hash_table_iter_init(&at, nodes);
    while (g_hash_table_iter_next(&at, &key, NULL))
        count += g_str_has_prefix(key, prefix);
    return count;
}

static int tree_watches(void)
{
    return watches ? (int)g_hash_table_size(watches) : 0;
}

static void tree_forget(void)
{
    g_clear_pointer(&nodes, g_hash_table_unref);
    g_clear_pointer(&watches, g_hash_table_unref);
}

/* ---- the thread ---- */

static void call(zhandle_t *zh, const struct answer *a)
{
    struct String_vector names = {0, NULL};
    gsize length = 0;
    const char *bytes = a->bytes ? g_bytes_get_data(a->bytes, &length) : NULL;

    if (a->names)
        names = (struct String_vector){(int32_t)a->names->len, (char **)a->names->pdata};
    if (a->event)
        zh->watcher(zh, a->event, ZOO_CONNECTED_STATE, a->path, zh->context);
    else if (a->on_void)
        a->on_void(a->rc, a->data);
    else if (a->on_stat)
        a->on_stat(a->rc, &a->stat, a->data);
    else if (a->on_data)
        a->on_data(a->rc, bytes, (int)length, &a->stat, a->data);
    else if (a->on_names)
        a->on_names(a->rc, &names, &a->stat, a->data);
    else if (a->on_string)
        a->on_string(a->rc, a->path, a->data);
    else
        a->on_created(a->rc, a->path, &a->stat, a->data);
}

static void give(zhandle_t *zh, struct answer *a)
{
    pthread_mutex_unlock(&lock);
    call(zh, a);
    g_free(a->path);
    if (a->bytes)
        g_bytes_unref(a->bytes);
    if (a->names)
        g_ptr_array_unref(a->names);
    g_free(a);
    pthread_mutex_lock(&lock);
}

static void give_all(zhandle_t *zh, int rc)
{
    struct answer *a;

    while ((a = g_queue_pop_head(&zh->queue)) != NULL) {
        a->rc = rc;
        give(zh, a);
    }
}

static void set_state(zhandle_t *zh, int state)
{
    zh->state = state;
    pthread_mutex_unlock(&lock);
    zh->watcher(zh, ZOO_SESSION_EVENT, state, "", zh->context);
    pthread_mutex_lock(&lock);
}

/* All that is under way shares the connection's fate. */
static void answer(zhandle_t *zh, struct answer *a)
{
    int rc = a->rc;
    bool forced = a->forced != 0;

    give(zh, a);
    if (!forced || zh->closing)
        return;
    if (rc == ZCONNECTIONLOSS) {
        give_all(zh, rc);
        set_state(zh, ZOO_CONNECTING_STATE);
        set_state(zh, ZOO_CONNECTED_STATE);
    } else if (rc == ZSESSIONEXPIRED) {
        tree_end_session(zh->id.client_id);
        give_all(zh, rc);
        set_state(zh, ZOO_EXPIRED_SESSION_STATE);
    }
}

static void *serve(void *data)
{
    zhandle_t *zh = data;

    pthread_mutex_lock(&lock);
    set_state(zh, ZOO_CONNECTED_STATE);
    while (!zh->closing) {
        if (g_queue_is_empty(&zh->queue))
            pthread_cond_wait(&changed, &lock);
        else
            answer(zh, g_queue_pop_head(&zh->queue));
    }
    give_all(zh, ZCLOSING);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- the handle ---- */

#define WRAP(type, name, ...)                                                                      \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAP(zhandle_t *, zookeeper_init2, const char *host, watcher_fn fn, int timeout_ms,
     const clientid_t *id, void *context, int flags, log_callback_fn log)
{
    int error = fault_of(CALL_zookeeper_init2);

    (void)host, (void)timeout_ms, (void)id, (void)flags;
    log("1:ZOO_INFO@played: a handle");
    if (error) {
        errno = error;
        return NULL;
    }
    zhandle_t *zh = g_new0(zhandle_t, 1);
    zh->watcher = fn;
    zh->context = context;
    pthread_mutex_lock(&lock);
    zh->id.client_id = ++last_id;
    open_handle = zh;
    fault_spare(true);
    if (pthread_create(&zh->thread, NULL, serve, zh) != 0)
        g_error("no thread for a handle");
    fault_spare(false);
    pthread_mutex_unlock(&lock);
    return zh;
}

WRAP(int, zookeeper_close, zhandle_t *zh)
{
    pthread_mutex_lock(&lock);
    zh->closing = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(zh->thread, NULL);
    pthread_mutex_lock(&lock);
    tree_end_session(zh->id.client_id);
    if (open_handle == zh)
        open_handle = NULL;
    pthread_mutex_unlock(&lock);
    g_free(zh);
    return ZOK;
}

WRAP(int, zoo_set_servers_resolution_delay, zhandle_t *zh, int ms)
{
    (void)zh, (void)ms;
    return ZOK;
}

WRAP(int, zoo_state, zhandle_t *zh)
{
    return zh->state;
}

WRAP(struct sockaddr *, zookeeper_get_connected_host, zhandle_t *zh, struct sockaddr *address,
     socklen_t *length)
{
    (void)zh, (void)address, (void)length;
    return NULL;
}

WRAP(int, zoo_recv_timeout, zhandle_t *zh)
{
    (void)zh;
    return ensemble ? TIMEOUT_MS / 4 : TIMEOUT_MS;
}

WRAP(const clientid_t *, zoo_client_id, zhandle_t *zh)
{
    return &zh->id;
}

WRAP(int, zoo_add_auth, zhandle_t *zh, const char *scheme, const char *cert, int length,
     void_completion_t fn, const void *data)
{
    (void)zh, (void)scheme, (void)cert, (void)length, (void)fn, (void)data;
    return fault_of(CALL_zoo_add_auth);
}

/* ---- requests: carried out when they are sent, answered by the thread ---- */

static int sent(zhandle_t *zh, struct answer *a, int rc)
{
    a->rc = a->forced > DONE_MIN ? a->forced - ANSWER_DONE : a->forced ? a->forced : rc;
    push(zh, a);
    pthread_mutex_unlock(&lock);
    return ZOK;
}

/* Sends what name is called with: the answer a with its completion, and what it does. */
#define REQUEST(name, completion, effect)                                                          \
    {                                                                                              \
        int error = fault_of(CALL_##name);                                                         \
        if (error || zh->state == ZOO_EXPIRED_SESSION_STATE)                                       \
            return error ? error : ZINVALIDSTATE;                                                  \
        struct answer *a = g_new0(struct answer, 1);                                               \
        a->completion = fn;                                                                        \
        a->data = data;                                                                            \
        a->forced = fault_of(CALL_answer);                                                         \
        pthread_mutex_lock(&lock);                                                                 \
        return sent(zh, a, !a->forced || a->forced > DONE_MIN ? (effect) : ZOK);                   \
    }

static int list(struct answer *a, const char *path)
{
    a->names = g_ptr_array_new_with_free_func(g_free);
    return tree_list(path, a->names, &a->stat);
}

/* /zookeeper/config is there, and empty if the server stands alone. */
static int get(struct answer *a, const char *path, int64_t watcher)
{
    if (g_str_has_prefix(path, "/zookeeper")) {
        a->bytes = g_bytes_new_static("server.1=…", ensemble ? 8 : 0);
        return ZOK;
    }
    return tree_get(path, watcher, &a->bytes, &a->stat);
}

static int set(struct answer *a, const char *path, const char *value, int length, int version)
{
    if (g_str_has_prefix(path, "/zookeeper"))
        return ZNONODE;
    return tree_set(path, value, length, version, &a->stat);
}

static int unwatch(const char *path)
{
    tree_unwatch(path);
    return ZOK;
}

static int do_one(zhandle_t *zh, const zoo_op_t *op)
{
    struct Stat stat;
    char *made = NULL;
    int rc;

    switch (op->type) {
    case ZOO_SETDATA_OP:
        return tree_set(op->set_op.path, op->set_op.data, op->set_op.datalen, op->set_op.version,
                        &stat);
    case ZOO_DELETE_OP:
        return tree_delete(op->delete_op.path, op->delete_op.version);
    case ZOO_CREATE_OP:
        rc = tree_create(op->create_op.path, op->create_op.data, op->create_op.datalen, 0,
                         zh->id.client_id, &made, &stat);
        g_free(made);
        return rc;
    default:
        return tree_check(op->check_op.path, op->check_op.version);
    }
}

/* All that are sent here could be carried out, or already the first cannot. */
static int multi(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results)
{
    for (int i = 0; i < count; i++) {
        results[i].err = do_one(zh, &ops[i]);
        if (results[i].err != ZOK)
            return results[i].err;
    }
    return ZOK;
}

/* clang-format off */
WRAP(int, zoo_acreate2, zhandle_t *zh, const char *path, const char *value, int length,
     const struct ACL_vector *acl, int mode, string_stat_completion_t fn, const void *data)
    REQUEST(zoo_acreate2, on_created, ((void)acl, tree_create(path, value, length, mode,
                                               zh->id.client_id, &a->path, &a->stat)))
WRAP(int, zoo_adelete, zhandle_t *zh, const char *path, int version, void_completion_t fn,
     const void *data)
    REQUEST(zoo_adelete, on_void, tree_delete(path, version))
WRAP(int, zoo_aget, zhandle_t *zh, const char *path, int watch, data_completion_t fn,
     const void *data)
    REQUEST(zoo_aget, on_data, ((void)watch, get(a, path, 0)))
WRAP(int, zoo_awget, zhandle_t *zh, const char *path, watcher_fn watcher, void *context,
     data_completion_t fn, const void *data)
    REQUEST(zoo_awget, on_data, ((void)watcher, (void)context, get(a, path, zh->id.client_id)))
WRAP(int, zoo_aget_children2, zhandle_t *zh, const char *path, int watch,
     strings_stat_completion_t fn, const void *data)
    REQUEST(zoo_aget_children2, on_names, ((void)watch, list(a, path)))
WRAP(int, zoo_async, zhandle_t *zh, const char *path, string_completion_t fn, const void *data)
    REQUEST(zoo_async, on_string, ((void)path, ZOK))
WRAP(int, zoo_aset, zhandle_t *zh, const char *path, const char *value, int length, int version,
     stat_completion_t fn, const void *data)
    REQUEST(zoo_aset, on_stat, set(a, path, value, length, version))
WRAP(int, zoo_aremove_all_watches, zhandle_t *zh, const char *path, ZooWatcherType type, int local,
     void_completion_t *fn_as_pointer, const void *data)
{
    void_completion_t fn = (void_completion_t)(uintptr_t)fn_as_pointer;

    (void)type, (void)local;
    REQUEST(zoo_aremove_all_watches, on_void, unwatch(path))
}
WRAP(int, zoo_amulti, zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
     void_completion_t fn, const void *data)
    REQUEST(zoo_amulti, on_void, multi(zh, count, ops, results))
/* clang-format on */

void client_is_ensemble(void)
{
    ensemble = true;
}

int client_nodes(const char *prefix)
{
    pthread_mutex_lock(&lock);
    int count = tree_count(prefix);
    pthread_mutex_unlock(&lock);
    return count;
}

int client_watches(void)
{
    pthread_mutex_lock(&lock);
    int count = tree_watches();
    pthread_mutex_unlock(&lock);
    return count;
}

void client_rival(bool there)
{
    static const char *const above[] = {"/a", "/a/l"};
    static char *path;
    struct Stat stat;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; there && i < G_N_ELEMENTS(above); i++)
        if (!find_node(above[i]))
            add(g_strdup(above[i]), NULL, 0);
    if (there)
        tree_create("/a/l/_c_6a5b2c1d-0e4f-4a3b-9c8d-7e6f5a4b3c2d-lock-", NULL, 0,
                    ZOO_EPHEMERAL_SEQUENTIAL, INT64_MAX, &path, &stat);
    else
        tree_delete(path, -1);
    pthread_mutex_unlock(&lock);
    if (!there)
        g_clear_pointer(&path, g_free);
}

void client_forget(void)
{
    pthread_mutex_lock(&lock);
    tree_forget();
    pthread_mutex_unlock(&lock);
}
