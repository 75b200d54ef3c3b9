/* Requests to libzookeeper, each answered exactly once: by its completion, or by us when the
 * session is over, since the library loses some. */
#include "store_zk.h"

struct op {
    struct store *store;
    GList link;
    store_done done; /* NULL: answered by us already */
    void *context;
    char *asked;              /* CREATE: the path */
    int count;                /* MULTI */
    zoo_op_result_t *results; /* written by the library until it has answered */
};

static void op_free(struct op *op)
{
    g_free(op->asked);
    g_free(op->results);
    g_free(op);
}

static enum store_rc map_rc(int rc)
{
    switch (rc) {
    case ZOK:
        return STORE_OK;
    case ZNONODE:
        return STORE_NONODE;
    case ZNODEEXISTS:
        return STORE_EXISTS;
    case ZBADVERSION:
        return STORE_BADVERSION;
    case ZNOAUTH:
    case ZINVALIDACL: /* "auth" without credentials, or a scheme the server does not have */
        return STORE_NOAUTH;
    case ZNOCHILDRENFOREPHEMERALS:
        return STORE_NOCHILDREN;
    case ZNOTEMPTY:
        return STORE_NOTEMPTY;
    case ZUNIMPLEMENTED:
        return STORE_UNIMPLEMENTED;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZRUNTIMEINCONSISTENCY:
    case ZMARSHALLINGERROR:
    case ZINVALIDSTATE:
    case ZSESSIONEXPIRED: /* the event decides, and it follows */
    case ZCLOSING:
    case ZSESSIONMOVED:
    case ZSYSTEMERROR: /* a socket's, with requests under way */
    case ZAUTHFAILED:
    case -127: /* throttled */
        return STORE_UNKNOWN;
    default:
        return STORE_BAD;
    }
}

static void finish(const void *data, struct store_reply *reply, int rc)
{
    struct op *op = (struct op *)(uintptr_t)data;
    struct store *store = op->store;

    reply->rc = map_rc(rc);
    reply->bad_acl = rc == ZINVALIDACL;
    pthread_mutex_lock(store->sink.monitor);
    g_queue_unlink(&store->ops, &op->link);
    if (op->done)
        op->done(op->context, reply);
    if (store->closing)
        pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(store->sink.monitor);
    op_free(op);
}

void requests_fail_all(struct store *store)
{
    const struct store_reply gone = {.rc = STORE_GONE};

    for (GList *l = store->ops.head; l; l = l->next) {
        struct op *op = l->data;
        store_done done = op->done;
        op->done = NULL;
        if (done)
            done(op->context, &gone);
    }
}

static void note_zxid(struct store *store, int64_t zxid)
{
    if ((uint64_t)zxid > store->seen)
        store->seen = (uint64_t)zxid;
}

static void use_stat(const void *data, struct store_reply *reply, const struct Stat *stat)
{
    const struct op *op = data;

    if (!stat)
        return;
    note_zxid(op->store, stat->czxid);
    note_zxid(op->store, stat->mzxid);
    note_zxid(op->store, stat->pzxid);
    reply->czxid = (uint64_t)stat->czxid;
    reply->mzxid = (uint64_t)stat->mzxid;
    reply->pzxid = (uint64_t)stat->pzxid;
    reply->version = stat->version;
    reply->ephemeral_owner = stat->ephemeralOwner;
    reply->ctime_ms = stat->ctime;
    reply->children = stat->numChildren;
    reply->data_length = stat->dataLength;
}

static void on_created(int rc, const char *path, const struct Stat *stat, const void *data)
{
    const struct op *op = data;
    struct store_reply reply = {.path = path};

    rc = store_zk_check_path(rc, path, op->asked);
    if (rc == ZOK)
        use_stat(data, &reply, stat);
    finish(data, &reply, rc);
}

static void on_created_plain(int rc, const char *path, const void *data)
{
    const struct op *op = data;

    rc = store_zk_check_path(rc, path, op->asked);
    finish(data, &(struct store_reply){.path = path}, rc);
}

static void on_data(int rc, const char *value, int length, const struct Stat *stat,
                    const void *data)
{
    struct store_reply reply = {.data = value, .length = length > 0 ? length : 0};

    rc = store_zk_check_data(rc, value, length);
    if (rc == ZOK)
        use_stat(data, &reply, stat);
    finish(data, &reply, rc);
}

static void on_names(int rc, const struct String_vector *names, const struct Stat *stat,
                     const void *data)
{
    struct store_reply reply = {.names = NULL};

    rc = store_zk_check_names(rc, names);
    if (rc == ZOK) {
        use_stat(data, &reply, stat);
        reply.names = names->data;
        reply.count = names->count;
    }
    finish(data, &reply, rc);
}

static void on_void(int rc, const void *data)
{
    finish(data, &(struct store_reply){.path = NULL}, rc);
}

static void on_stat(int rc, const struct Stat *stat, const void *data)
{
    struct store_reply reply = {.path = NULL};

    if (rc == ZOK)
        use_stat(data, &reply, stat);
    finish(data, &reply, rc);
}

static void on_string(int rc, const char *value, const void *data)
{
    (void)value;
    on_void(rc, data);
}

/* The change that made the others fail: those behind it have -2, those before it 0. */
static void on_multi(int rc, const void *data)
{
    const struct op *op = data;
    struct store_reply reply = {.failed = 0};

    while (rc != ZOK && reply.failed < op->count - 1 && op->results[reply.failed].err != rc)
        reply.failed++;
    finish(data, &reply, rc);
}

static int start_create(struct store *store, const struct store_request *r, struct op *op)
{
    int mode = r->mode == STORE_EPHEMERAL_SEQUENTIAL ? ZOO_EPHEMERAL_SEQUENTIAL
               : r->mode == STORE_EPHEMERAL          ? ZOO_EPHEMERAL
                                                     : ZOO_PERSISTENT;

#ifdef HAVE_ZOO_CONTAINER
    if (r->mode == STORE_CONTAINER)
        mode = ZOO_CONTAINER;
#endif
    op->asked = g_strdup(r->path);
    if (r->plain)
        return zoo_acreate(store->zh, r->path, r->data, r->length, &store->acl, mode,
                           on_created_plain, op);
    return zoo_acreate2(store->zh, r->path, r->data, r->length, &store->acl, mode, on_created, op);
}

static void use_change(struct store *store, zoo_op_t *op, const struct store_change *c)
{
    switch (c->kind) {
    case STORE_CREATE:
        zoo_create_op_init(op, c->path, c->data, c->length, &store->acl, ZOO_PERSISTENT, NULL, 0);
        break;
    case STORE_SET:
        zoo_set_op_init(op, c->path, c->data, c->length, c->version, NULL);
        break;
    case STORE_DELETE:
        zoo_delete_op_init(op, c->path, c->version);
        break;
    default:
        zoo_check_op_init(op, c->path, c->version);
        break;
    }
}

/* On an expired or refused handle zoo_amulti() frees what it never set. From CONNECTED, which is
 * asked for here, neither is reached but by another connection: this thread would have to stand
 * still inside the call for as long as that takes. */
static int start_multi(struct store *store, const struct store_request *r, struct op *op)
{
    zoo_op_t *ops;

    if (zoo_state(store->zh) != ZOO_CONNECTED_STATE)
        return ZINVALIDSTATE;
    ops = g_new0(zoo_op_t, (gsize)r->count);
    op->count = r->count;
    op->results = g_new0(zoo_op_result_t, (gsize)r->count);
    for (int i = 0; i < r->count; i++)
        use_change(store, &ops[i], &r->changes[i]);
    int rc = zoo_amulti(store->zh, r->count, ops, op->results, on_multi, op);
    g_free(ops);
    return rc;
}

/* All of the path go, on the server too; but of a handle that was lent ours alone, as there may be
 * one of the borrower's. The server then keeps its own until that fires or the connection ends. */
static int start_unwatch(struct store *store, const struct store_request *r, struct op *op)
{
    const ZooWatcherType type = r->of_list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;
    /* The header asks for a pointer to the function pointer, the code wants the function. */
    void_completion_t *done = (void_completion_t *)(uintptr_t)on_void;

    if (store->lent)
        return zoo_aremove_watches(store->zh, r->path, type, store_zk_event, store, 0, done, op);
    return zoo_aremove_all_watches(store->zh, r->path, type, 0, done, op);
}

static int start(struct store *store, const struct store_request *r, struct op *op)
{
    switch (r->kind) {
    case STORE_CREATE:
        return start_create(store, r, op);
    case STORE_DELETE:
        return zoo_adelete(store->zh, r->path, -1, on_void, op);
    case STORE_GET:
        return r->watch ? zoo_awget(store->zh, r->path, store_zk_event, store, on_data, op)
                        : zoo_aget(store->zh, r->path, 0, on_data, op);
    case STORE_LIST:
        return r->watch
                   ? zoo_awget_children2(store->zh, r->path, store_zk_event, store, on_names, op)
                   : zoo_aget_children2(store->zh, r->path, 0, on_names, op);
    case STORE_SYNC:
        return zoo_async(store->zh, r->path, on_string, op);
    case STORE_SET:
        return zoo_aset(store->zh, r->path, r->data, r->length, r->version, on_stat, op);
    case STORE_UNWATCH:
        return start_unwatch(store, r, op);
    case STORE_MULTI:
        return start_multi(store, r, op);
    case STORE_STAT:
        return r->watch ? zoo_awexists(store->zh, r->path, store_zk_event, store, on_stat, op)
                        : zoo_aexists(store->zh, r->path, 0, on_stat, op);
    }
    return ZBADARGUMENTS;
}

bool requests_submit(struct store *store, const struct store_request *request, store_done done,
                     void *context)
{
    struct op *op;

    if (!store->zh || store->over)
        return false;
    op = g_new0(struct op, 1);
    op->store = store;
    op->link.data = op;
    op->done = done;
    op->context = context;
    /* Linked first: the completion cannot pass the monitor, but it will expect the link. */
    g_queue_push_tail_link(&store->ops, &op->link);
    int rc = start(store, request, op);
    if (rc == ZOK)
        return true;
    g_queue_unlink(&store->ops, &op->link);
    op_free(op);
    const struct store_reply reply = {.rc = map_rc(rc)};
    if (reply.rc == STORE_UNKNOWN)
        return false;
    done(context, &reply);
    return true;
}

void requests_free_all(struct store *store)
{
    for (GList *l = store->ops.head, *next; l; l = next) {
        next = l->next;
        op_free(l->data);
    }
}
