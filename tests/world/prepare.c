/* What the leader makes of a write: the changes it consists of, or why there are none. It looks at
 * everything proposed so far, and at what the parts before would have done. */
#include <string.h>

#include "inside.h"

/* What a part looks at and leaves for those behind it. The path lives as long as the view. */
struct record {
    const char *path;
    bool exists;
    int32_t version, creations;
    unsigned children;
    int64_t ephemeral_owner;
};

struct view {
    struct server *leader;
    const struct ask *ask;
    struct txn *txn;
    GArray *records; /* of struct record: as the parts before have left them */
};

bool prepare_is_refused(const struct world *w, enum store_kind kind, const char *path)
{
    for (guint i = 0; i < w->refusals->len; i++) {
        const struct refusal *r = &g_array_index(w->refusals, struct refusal, i);
        if (r->kind == kind && path_is_below(path, r->path))
            return true;
    }
    return false;
}

static struct record look(const struct view *v, const char *path)
{
    for (guint i = v->records->len; i > 0; i--) {
        const struct record *r = &g_array_index(v->records, struct record, i - 1);
        if (strcmp(r->path, path) == 0)
            return *r;
    }
    const struct node *n = tree_find(v->leader->head, path);
    if (!n)
        return (struct record){.path = path};
    return (struct record){n->path,           true, n->version, n->creations, n->children->len,
                           n->ephemeral_owner};
}

static void leave(struct view *v, struct record r)
{
    g_array_append_val(v->records, r);
}

static bool is_refused(const struct view *v, enum store_kind kind, const char *path)
{
    const struct world *w = v->leader->w;

    /* Nobody refuses an administrator. */
    if (v->ask->session == 0)
        return false;
    return prepare_is_refused(w, kind, path) ||
           (v->ask->kind == STORE_MULTI && prepare_is_refused(w, STORE_MULTI, path));
}

/* ---- one change; what it becomes is added to the transaction ---- */

static struct part *add_part(struct view *v, enum store_kind kind, const char *path)
{
    struct part p = {.kind = kind};

    p.path = g_ref_string_new(path);
    p.name = g_ref_string_new(strrchr(path, '/') + 1);
    g_array_append_val(v->txn->parts, p);
    return &g_array_index(v->txn->parts, struct part, v->txn->parts->len - 1);
}

static enum store_rc create(struct view *v, const char *wanted, GBytes *data, enum store_mode mode)
{
    /* The name may be nothing but its number, in the root too. */
    char *above = wanted[1] == '\0' ? g_strdup("/") : path_parent(wanted);
    struct record parent = look(v, above);
    bool sequential = mode == STORE_EPHEMERAL_SEQUENTIAL;
    bool ephemeral = sequential || mode == STORE_EPHEMERAL;
    char *path = sequential ? g_strdup_printf("%s%010d", wanted, parent.creations) : NULL;
    enum store_rc rc = !parent.exists                         ? STORE_NONODE
                       : is_refused(v, STORE_CREATE, wanted)  ? STORE_NOAUTH
                       : look(v, path ? path : wanted).exists ? STORE_EXISTS
                       : parent.ephemeral_owner               ? STORE_NOCHILDREN
                                                              : STORE_OK;
    if (rc == STORE_OK) {
        struct part *p = add_part(v, STORE_CREATE, path ? path : wanted);
        p->data = data ? g_bytes_ref(data) : NULL;
        /* It wraps, and is then not taken over. */
        p->creations = (int32_t)((uint32_t)parent.creations + 1);
        p->ephemeral_owner = ephemeral ? v->ask->session : 0;
        p->container = mode == STORE_CONTAINER;
        leave(v, (struct record){
                     .path = p->path, .exists = true, .ephemeral_owner = p->ephemeral_owner});
        parent.creations = MAX(parent.creations, p->creations);
        parent.children++;
        leave(v, parent);
    }
    g_free(path);
    g_free(above);
    return rc;
}

static bool is_version(int32_t wanted, const struct record *r)
{
    return wanted == -1 || wanted == r->version;
}

static enum store_rc delete (struct view *v, const char *path, int32_t version) {
    struct record node = look(v, path); char *above = path_parent(path);
    struct record parent = look(v, above ? above : "");
    enum store_rc rc = !above                              ? STORE_BAD
                       : !parent.exists                    ? STORE_NONODE
                       : is_refused(v, STORE_DELETE, path) ? STORE_NOAUTH
                       : !node.exists                      ? STORE_NONODE
                       : !is_version(version, &node)       ? STORE_BADVERSION
                       : node.children > 0                 ? STORE_NOTEMPTY
                                                           : STORE_OK;
    if (rc == STORE_OK){
        struct part *p = add_part(v, STORE_DELETE, path); p->ephemeral_owner = node.ephemeral_owner;
        leave(v, (struct record){.path = p->path}); parent.children--; leave(v, parent);}
g_free(above);
return rc;
}

static enum store_rc set(struct view *v, const char *path, GBytes *data, int32_t version)
{
    struct record node = look(v, path);

    if (!node.exists)
        return STORE_NONODE;
    if (is_refused(v, STORE_SET, path))
        return STORE_NOAUTH;
    if (!is_version(version, &node))
        return STORE_BADVERSION;
    struct part *p = add_part(v, STORE_SET, path);
    p->data = data ? g_bytes_ref(data) : NULL;
    p->version = node.version + 1;
    p->ephemeral_owner = node.ephemeral_owner;
    node.path = p->path;
    node.version++;
    leave(v, node);
    return STORE_OK;
}

static enum store_rc check(struct view *v, const char *path, int32_t version)
{
    struct record node = look(v, path);

    if (!node.exists)
        return STORE_NONODE;
    if (is_refused(v, STORE_GET, path))
        return STORE_NOAUTH;
    if (!is_version(version, &node))
        return STORE_BADVERSION;
    add_part(v, STORE_GET, path);
    return STORE_OK;
}

static enum store_rc change(struct view *v, const struct part *p)
{
    switch (p->kind) {
    case STORE_CREATE:
        return create(v, p->path, p->data, STORE_PERSISTENT);
    case STORE_SET:
        return set(v, p->path, p->data, p->version);
    case STORE_DELETE:
        return delete (v, p->path, p->version);
    default:
        return check(v, p->path, p->version);
    }
}

static enum store_rc multi(struct view *v)
{
    const GArray *parts = v->ask->parts;
    enum store_rc rc = STORE_OK;

    for (guint i = 0; i < parts->len && rc == STORE_OK; i++) {
        v->txn->failed = (int)i;
        rc = change(v, &g_array_index(parts, struct part, i));
    }
    return rc;
}

/* ---- sessions ---- */

/* Its nodes go with it, in whatever order the server finds them. */
static void end_session(struct view *v)
{
    const struct replica_session *s = tree_session(v->leader->head, v->ask->session);

    v->txn->kind = TXN_END;
    chance_shuffle(&v->leader->w->queue, s->nodes->pdata, s->nodes->len);
    for (guint i = 0; i < s->nodes->len; i++) {
        struct node *n = s->nodes->pdata[i];
        n->at_owner = i;
        add_part(v, STORE_DELETE, n->path)->ephemeral_owner = n->ephemeral_owner;
    }
}

/* A session that ended, or was taken over by another server, has no say any more. What comes late
 * has: the session has tried that server again since, and the leader has heard of that first. */
static bool may_ask(const struct server *leader, const struct ask *ask)
{
    const struct tracked *t = sessions_find(leader, ask->session);

    if (ask->session == 0 || ask->kind == ASK_SESSION)
        return true;
    if (!t || !tree_session(leader->head, ask->session))
        return false;
    if (ask->kind == ASK_END)
        return true;
    return !t->closing && (t->server == ask->server || ask->late);
}

static enum store_rc dispatch(struct view *v)
{
    const struct ask *ask = v->ask;

    switch (ask->kind) {
    case STORE_CREATE:
        return create(v, ask->path, ask->data, ask->mode);
    case STORE_DELETE:
        return delete (v, ask->path, ask->version);
    case STORE_SET:
        return set(v, ask->path, ask->data, ask->version);
    case STORE_MULTI:
        return multi(v);
    case ASK_SESSION:
        v->txn->kind = TXN_SESSION;
        v->txn->timeout_ms = ask->timeout_ms;
        return STORE_OK;
    default:
        end_session(v);
        return STORE_OK;
    }
}

struct txn *prepare(struct server *leader, struct ask *ask)
{
    struct txn *txn = txn_new(TXN_NODES, ask->session);
    struct view v = {leader, ask, txn, g_array_new(FALSE, FALSE, sizeof(struct record))};

    txn->zxid = leader->next_zxid++;
    txn->time_ms = leader->w->queue.now / MS + leader->clock_ms;
    txn->cause = ask->cause;
    txn->ask = ask_ref(ask);
    txn->rc = may_ask(leader, ask) ? dispatch(&v) : STORE_UNKNOWN;
    if (txn->rc != STORE_OK) {
        txn->kind = TXN_ERROR;
        g_array_set_size(txn->parts, 0);
    }
    g_array_unref(v.records);
    return txn;
}
