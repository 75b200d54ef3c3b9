/* Watches of one server: one-shot, on nodes and on the children of nodes. */
#include "inside.h"

GHashTable *watches_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, (GDestroyNotify)g_ref_string_release,
                                 NULL);
}

void watches_add(struct server *s, struct conn *conn, enum watch_kind kind, char *path)
{
    GPtrArray *conns;

    if (!g_hash_table_add(conn->watched[kind], g_ref_string_acquire(path)))
        return;
    conns = g_hash_table_lookup(s->watches[kind], path);
    if (!conns) {
        conns = g_ptr_array_new();
        g_hash_table_insert(s->watches[kind], g_ref_string_acquire(path), conns);
    }
    g_ptr_array_add(conns, conn);
}

static void forget_one(struct server *s, struct conn *conn, enum watch_kind kind, const char *path)
{
    GPtrArray *conns = g_hash_table_lookup(s->watches[kind], path);

    g_ptr_array_remove(conns, conn);
    if (conns->len > 0)
        return;
    g_hash_table_remove(s->watches[kind], path);
    g_ptr_array_unref(conns);
}

bool watches_remove(struct server *s, struct conn *conn, enum watch_kind kind, const char *path)
{
    if (!g_hash_table_contains(conn->watched[kind], path))
        return false;
    forget_one(s, conn, kind, path);
    g_hash_table_remove(conn->watched[kind], path);
    return true;
}

/* Which goes first does not matter: nothing but counts comes of it. */
void watches_forget(struct server *s, struct conn *conn)
{
    GHashTableIter i;
    void *path;

    for (int kind = 0; kind < WATCH_KINDS_SERVED; kind++) {
        g_hash_table_iter_init(&i, conn->watched[kind]);
        while (g_hash_table_iter_next(&i, &path, NULL))
            forget_one(s, conn, (enum watch_kind)kind, path);
        g_hash_table_remove_all(conn->watched[kind]);
    }
}

static void send_event(struct server *s, struct conn *conn, const char *path,
                       enum store_fired fired)
{
    s->w->counts.watch_events++;
    note(s->w, (struct note){.kind = NOTE_WATCH,
                             .host = conn->host,
                             .session = conn->session,
                             .server = (int)s->number,
                             .path = path,
                             .zxid = s->tree->zxid,
                             .fired = fired});
    link_send(&conn->down,
              (struct message){.kind = MSG_EVENT, .path = g_ref_string_new(path), .fired = fired},
              link_latency(s->w));
}

/* Those who watch it are told, but those told already. Returns who was, or NULL. */
static GPtrArray *fire(struct server *s, enum watch_kind kind, const char *path,
                       enum store_fired fired, GPtrArray *told)
{
    void *key, *value;

    if (!g_hash_table_steal_extended(s->watches[kind], path, &key, &value))
        return NULL;
    GPtrArray *conns = value;
    for (guint i = 0; i < conns->len; i++) {
        struct conn *conn = conns->pdata[i];
        if (!told || !g_ptr_array_find(told, conn, NULL))
            send_event(s, conn, path, fired);
        g_hash_table_remove(conn->watched[kind], path);
    }
    g_ref_string_release(key);
    return conns;
}

static void fire_once(struct server *s, enum watch_kind kind, const char *path,
                      enum store_fired fired, GPtrArray *told)
{
    GPtrArray *conns = fire(s, kind, path, fired, told);

    if (conns)
        g_ptr_array_unref(conns);
}

static void fire_children(struct server *s, const char *path, enum store_fired fired,
                          GPtrArray *told)
{
    char *parent = path_parent(path);

    if (fired == STORE_FIRED_GONE)
        fire_once(s, WATCH_CHILDREN, path, fired, told);
    if (fired != STORE_FIRED_CHANGED && parent)
        fire_once(s, WATCH_CHILDREN, parent, STORE_FIRED_CHILDREN, NULL);
    g_free(parent);
}

void watches_fire(void *server, const char *path, enum store_fired fired)
{
    struct server *s = server;
    GPtrArray *told = fire(s, WATCH_NODE, path, fired, NULL);

    if (g_hash_table_size(s->watches[WATCH_CHILDREN]) > 0)
        fire_children(s, path, fired, told);
    if (told)
        g_ptr_array_unref(told);
}

/* What a watch of before has missed, if anything. */
static bool has_missed(const struct node *n, enum watch_kind kind, uint64_t zxid,
                       enum store_fired *ret)
{
    if (kind == WATCH_ABSENT) {
        *ret = STORE_FIRED_CREATED;
        return n != NULL;
    }
    *ret = !n                       ? STORE_FIRED_GONE
           : kind == WATCH_CHILDREN ? STORE_FIRED_CHILDREN
                                    : STORE_FIRED_CHANGED;
    return !n || (kind == WATCH_CHILDREN ? n->pzxid : n->mzxid) > zxid;
}

static void restore(struct server *s, struct conn *conn, enum watch_kind kind,
                    const struct message *m)
{
    enum watch_kind served = kind == WATCH_ABSENT ? WATCH_NODE : kind;
    enum store_fired fired;

    for (guint i = 0; i < m->paths[kind]->len; i++) {
        char *path = m->paths[kind]->pdata[i];
        if (has_missed(tree_find(s->tree, path), kind, m->zxid, &fired))
            send_event(s, conn, path, fired);
        else
            watches_add(s, conn, served, path);
    }
}

void watches_restore(struct server *s, struct conn *conn, const struct message *m)
{
    restore(s, conn, WATCH_NODE, m);
    restore(s, conn, WATCH_ABSENT, m);
    restore(s, conn, WATCH_CHILDREN, m);
}
