/* Watches of one server: one-shot, on the data of nodes that are there. */
#include "inside.h"

void watches_add(struct server *s, struct conn *conn, char *path)
{
    GPtrArray *conns;

    if (!g_hash_table_add(conn->watched, g_ref_string_acquire(path)))
        return;
    conns = g_hash_table_lookup(s->watches, path);
    if (!conns) {
        conns = g_ptr_array_new();
        g_hash_table_insert(s->watches, g_ref_string_acquire(path), conns);
    }
    g_ptr_array_add(conns, conn);
    s->w->watch_count++;
}

static void forget_one(struct server *s, struct conn *conn, const char *path)
{
    GPtrArray *conns = g_hash_table_lookup(s->watches, path);

    g_ptr_array_remove(conns, conn);
    s->w->watch_count--;
    if (conns->len > 0)
        return;
    g_hash_table_remove(s->watches, path);
    g_ptr_array_unref(conns);
}

bool watches_remove(struct server *s, struct conn *conn, const char *path)
{
    if (!g_hash_table_contains(conn->watched, path))
        return false;
    forget_one(s, conn, path);
    g_hash_table_remove(conn->watched, path);
    return true;
}

/* Which goes first does not matter: nothing but counts comes of it. */
void watches_forget(struct server *s, struct conn *conn)
{
    GHashTableIter i;
    void *path;

    g_hash_table_iter_init(&i, conn->watched);
    while (g_hash_table_iter_next(&i, &path, NULL))
        forget_one(s, conn, path);
    g_hash_table_remove_all(conn->watched);
}

static void send_event(struct server *s, struct conn *conn, char *path, bool gone)
{
    s->w->counts.watch_events++;
    note(s->w, (struct note){.kind = NOTE_WATCH,
                             .host = conn->host,
                             .session = conn->session,
                             .server = (int)s->number,
                             .path = path,
                             .zxid = s->tree->zxid,
                             .gone = gone});
    link_send(&conn->down,
              (struct message){.kind = MSG_EVENT, .path = g_ref_string_acquire(path), .gone = gone},
              link_latency(s->w));
}

void watches_fire(void *server, const char *path, bool gone)
{
    struct server *s = server;
    void *key, *value;

    if (!g_hash_table_steal_extended(s->watches, path, &key, &value))
        return;
    GPtrArray *conns = value;
    for (guint i = 0; i < conns->len; i++) {
        struct conn *conn = conns->pdata[i];
        s->w->watch_count--;
        send_event(s, conn, key, gone);
        g_hash_table_remove(conn->watched, key);
    }
    g_ptr_array_unref(conns);
    g_ref_string_release(key);
}

void watches_restore(struct server *s, struct conn *conn, const struct message *m)
{
    for (guint i = 0; i < m->paths->len; i++) {
        char *path = m->paths->pdata[i];
        const struct node *n = tree_find(s->tree, path);
        if (!n || n->mzxid > m->zxid)
            send_event(s, conn, path, !n);
        else
            watches_add(s, conn, path);
    }
}
