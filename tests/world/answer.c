/* What a server answers, from what it has applied. */
#include "inside.h"

static void use_stat(struct ask *ask, const struct node *n)
{
    ask->reply.czxid = n->czxid;
    ask->reply.mzxid = n->mzxid;
    ask->reply.pzxid = n->pzxid;
    ask->reply.version = n->version;
    ask->reply.ephemeral_owner = n->ephemeral_owner;
    ask->reply.ctime_ms = n->ctime_ms;
    ask->reply.children = (int32_t)n->children->len;
    ask->reply.data_length = n->data ? (int32_t)g_bytes_get_size(n->data) : 0;
}

static void use_data(struct ask *ask, const struct node *n)
{
    gsize length = 0;

    use_stat(ask, n);
    if (!n->data)
        return;
    ask->reply_data = g_bytes_ref(n->data);
    ask->reply.data = g_bytes_get_data(n->data, &length);
    ask->reply.length = (int)length;
}

/* A server lists in the order of its hash table, which is as good as any. */
static void use_names(struct server *s, struct ask *ask, const struct node *n)
{
    guint count = n->children->len;

    use_stat(ask, n);
    ask->names = g_ptr_array_new_full(count, (GDestroyNotify)g_ref_string_release);
    for (guint i = 0; i < count; i++) {
        const struct node *child = n->children->pdata[i];
        g_ptr_array_add(ask->names, g_ref_string_acquire(child->name));
    }
    chance_shuffle(&s->w->queue, ask->names->pdata, count);
    ask->reply.names = (char *const *)ask->names->pdata;
    ask->reply.count = (int)count;
    s->w->counts.listed_names += count;
}

static void use_node(struct server *s, struct ask *ask, const struct node *n)
{
    if (ask->kind == STORE_LIST)
        use_names(s, ask, n);
    else if (ask->kind == STORE_STAT)
        use_stat(ask, n);
    else
        use_data(ask, n);
}

void answer_read(struct server *s, struct ask *ask)
{
    struct node *n = tree_find(s->tree, ask->path);
    enum store_kind kind = (enum store_kind)ask->kind;

    enum watch_kind watch = kind == STORE_LIST || ask->of_list ? WATCH_CHILDREN : WATCH_NODE;

    if (ask->unknown) {
        ask->reply.rc = STORE_UNIMPLEMENTED;
        return;
    }
    if (kind == STORE_UNWATCH) {
        ask->reply.rc = watches_remove(s, ask->conn, watch, ask->path) ? STORE_OK : STORE_BAD;
        return;
    }
    if (!n)
        ask->reply.rc = STORE_NONODE;
    else if (prepare_is_refused(s->w, kind, ask->path))
        ask->reply.rc = STORE_NOAUTH;
    if (ask->watch && (ask->reply.rc == STORE_OK || (!n && kind == STORE_STAT)))
        watches_add(s, ask->conn, watch, ask->path);
    if (ask->reply.rc == STORE_OK)
        use_node(s, ask, n);
}

void answer_write(const struct server *s, struct ask *ask, const struct txn *txn)
{
    ask->reply.rc = txn->rc;
    ask->reply.failed = txn->failed;
    if ((ask->kind != STORE_CREATE && ask->kind != STORE_SET) || txn->rc != STORE_OK)
        return;
    const struct node *n = tree_find(s->tree, g_array_index(txn->parts, struct part, 0).path);
    if (!ask->plain)
        use_stat(ask, n);
    if (ask->kind == STORE_SET)
        return;
    ask->reply_path = g_ref_string_acquire(n->path);
    ask->reply.path = ask->reply_path;
}
