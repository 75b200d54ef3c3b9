#include "watch.h"

#include <string.h>

/* At a reconnect libzookeeper sets all watches in one packet, of which the server takes 1 MiB. */
enum { BYTES_MAX = 512 * 1024, BYTES_EACH = 8 };

struct watch {
    zkl_session *session;
    char *path;
    GQueue interests; /* of struct interest */
    unsigned asked;   /* requests on their way that set it */
    bool armed;       /* the server has it, as far as we know */
};

static size_t cost(const struct watch *w)
{
    return strlen(w->path) + BYTES_EACH;
}

static void unlink_interest(struct interest *i)
{
    g_queue_unlink(&i->watch->interests, &i->link);
    i->watch = NULL;
    i->asked = NULL;
}

static void free_watch(void *data)
{
    struct watch *w = data;

    while (!g_queue_is_empty(&w->interests))
        unlink_interest(g_queue_peek_head(&w->interests));
    g_free(w->path);
    g_free(w);
}

GHashTable *watch_table_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_watch);
}

static struct watch *find(zkl_session *s, const char *path)
{
    return g_hash_table_lookup(s->watches, path);
}

static void on_removed(struct request *r, const struct store_reply *reply);

/* Removes the watch nobody wants; forgets the entry when nothing of it is left anywhere. */
static void settle(struct watch *w)
{
    zkl_session *s = w->session;

    if (w->asked || !g_queue_is_empty(&w->interests))
        return;
    if (w->armed) {
        struct request *r = request_new(STORE_UNWATCH, g_strdup(w->path), on_removed, s);
        r->once = true;
        w->armed = false;
        w->asked++;
        request_send(s, r);
        return;
    }
    s->watched_bytes -= cost(w);
    g_hash_table_remove(s->watches, w->path);
}

static void on_removed(struct request *r, const struct store_reply *reply)
{
    struct watch *w = find(r->owner, r->what.path);

    if (!w || reply->rc == STORE_GONE)
        return;
    w->asked--;
    /* Set again at the reconnect, by libzookeeper: remove it again, if still nobody wants it. */
    w->armed = reply->rc == STORE_UNKNOWN;
    if (!w->armed || !w->session->up)
        settle(w);
}

bool watch_add(zkl_session *s, struct request *r, struct interest *i)
{
    struct watch *w = find(s, r->what.path);

    if (!w) {
        if (s->watched_bytes + strlen(r->what.path) + BYTES_EACH > BYTES_MAX)
            return false;
        w = g_new0(struct watch, 1);
        w->session = s;
        w->path = g_strdup(r->what.path);
        g_hash_table_insert(s->watches, w->path, w);
        s->watched_bytes += cost(w);
    }
    w->asked++;
    r->what.watch = true;
    if (i->watch != w) {
        watch_drop(i, false);
        i->watch = w;
        i->link.data = i;
        g_queue_push_tail_link(&w->interests, &i->link);
    }
    i->asked = r;
    return true;
}

void watch_answered(zkl_session *s, const struct request *r, const struct store_reply *reply,
                    struct interest *i)
{
    struct watch *w = find(s, r->what.path);
    bool newest = i->asked == r;

    if (newest)
        i->asked = NULL;
    if (!w || reply->rc == STORE_GONE)
        return;
    w->asked--;
    if (reply->rc == STORE_OK)
        w->armed = true;
    else if (newest)
        unlink_interest(i);
    settle(w);
}

void watch_drop(struct interest *i, bool deleting)
{
    struct watch *w = i->watch;

    if (!w)
        return;
    unlink_interest(i);
    if (!deleting || !w->armed)
        settle(w);
}

/* Firing may add and drop interests, and even end the session: each round looks anew. */
void watch_fired(zkl_session *s, const char *path, bool gone)
{
    struct watch *w = find(s, path);
    GList *l;

    if (!w)
        return;
    w->armed = false;
    for (guint n = w->interests.length; n > 0; n--) {
        w = find(s, path);
        if (!w || !(l = g_queue_pop_head_link(&w->interests)))
            break;
        struct interest *i = l->data;
        if (i->asked) {
            g_queue_push_tail_link(&w->interests, l);
            continue;
        }
        i->watch = NULL;
        i->fired(i->owner, gone);
    }
    w = find(s, path);
    if (w)
        settle(w);
}

void watch_clear(zkl_session *s)
{
    g_hash_table_remove_all(s->watches);
    s->watched_bytes = 0;
}
