#include "watch.h"

#include <string.h>

/* At a reconnect libzookeeper sets all watches with one packet, and a server accepts no more than 1
 * MiB. Watches of watch_add_optional() take half of our share at most; the rest is for watches
 * without which a recipe cannot go on. */
enum { BYTES_MAX = 512 * 1024, BYTES_OPTIONAL = BYTES_MAX / 2, BYTES_EACH = 8 };

/* After the fifth removal in a row that was lost, removals are tried later, at twice the pause each
 * time, up to almost an hour. */
enum { DOUBLED_MOST = 15 };

#define RETRY_NS (100 * CLOCK_MS)

struct watch {
    zkl_session *session;
    char *path;                         /* an rc_box */
    struct subscription *subscriptions; /* in the order in which they fire; mostly one */
    struct timer *retry;                /* NULL: none was needed yet */
    unsigned asked;                     /* how many requests are under way that set or remove it */
    bool armed;                         /* the server has it, as far as we know */
    bool of_list;                       /* on the children */
};

static size_t watch_bytes(const struct watch *w)
{
    return strlen(w->path) + BYTES_EACH;
}

/* Appends the subscription to those of the watch. */
static void watch_link(struct watch *w, struct subscription *i)
{
    struct subscription **at = &w->subscriptions;

    while (*at)
        at = &(*at)->next;
    *at = i;
    i->watch = w;
    i->next = NULL;
}

static void watch_unlink(struct subscription *i)
{
    struct subscription **at = &i->watch->subscriptions;

    while (*at != i)
        at = &(*at)->next;
    *at = i->next;
    i->watch = NULL;
    i->asked = NULL;
}

static void watch_free(void *data)
{
    struct watch *w = data;

    while (w->subscriptions)
        watch_unlink(w->subscriptions);
    if (w->retry)
        timers_cancel(w->retry);
    g_free(w->retry);
    g_rc_box_release(w->path);
    g_free(w);
}

static guint watch_hash(gconstpointer watch)
{
    const struct watch *w = watch;

    return g_str_hash(w->path) + w->of_list;
}

static gboolean watch_equal(gconstpointer a, gconstpointer b)
{
    const struct watch *x = a, *y = b;

    return x->of_list == y->of_list && strcmp(x->path, y->path) == 0;
}

GHashTable *watch_table_new(void)
{
    return g_hash_table_new_full(watch_hash, watch_equal, NULL, watch_free);
}

static struct watch *watch_find(zkl_session *s, const char *path, bool of_list)
{
    const struct watch key = {.path = (char *)(uintptr_t)path, .of_list = of_list};

    return g_hash_table_lookup(s->watches, &key);
}

/* Finds the watch that the request sets or removes. */
static struct watch *watch_of_request(zkl_session *s, const struct store_request *what)
{
    return watch_find(s, what->path, what->kind == STORE_LIST || what->of_list);
}

static void on_removed(struct request *r, const struct store_reply *reply);

static void watch_remove(struct watch *w)
{
    struct request *r = request_new(STORE_UNWATCH, g_strdup(w->path), on_removed, w->session);

    r->once = true;
    r->what.of_list = w->of_list;
    w->armed = false;
    w->asked++;
    request_send(w->session, r);
}

static void on_retry(void *data)
{
    struct watch *w = data;

    if (w->armed && !w->asked && !w->subscriptions)
        watch_remove(w);
}

static void watch_remove_later(struct watch *w)
{
    const int64_t pause = RETRY_NS << MIN(w->session->removals_lost - 1, DOUBLED_MOST);

    if (!w->retry)
        w->retry = g_new0(struct timer, 1);
    timers_arm(w->session->timers, w->retry, clock_now().boot + pause, on_retry, w);
}

/* Removes a watch that nobody wants, and forgets its entry when nothing of it is left anywhere. */
static void watch_settle(struct watch *w)
{
    zkl_session *s = w->session;

    if (w->asked || w->subscriptions)
        return;
    if (w->armed && s->removals_lost > WATCH_LOST_BEFORE_PAUSE) {
        watch_remove_later(w);
    } else if (w->armed) {
        watch_remove(w);
    } else {
        s->watched_bytes -= watch_bytes(w);
        g_hash_table_remove(s->watches, w);
    }
}

static void on_removed(struct request *r, const struct store_reply *reply)
{
    zkl_session *s = r->context;
    struct watch *w = watch_of_request(s, &r->what);

    if (!w || reply->rc == STORE_GONE)
        return;
    w->asked--;
    /* libzookeeper sets the watch again at the reconnect: then it is removed again, if still nobody
     * wants it. On a connection that stands the removal would fail again, so it waits. */
    w->armed = reply->rc == STORE_UNKNOWN;
    if (!w->armed)
        s->removals_lost = 0;
    else if (s->removals_lost == 0 || s->removal_lost != r->connection)
        s->removals_lost++; /* of one connection, only the first counts */
    s->removal_lost = r->connection;
    if (w->armed && s->up)
        watch_remove_later(w);
    else
        watch_settle(w);
}

static bool watch_add_within(zkl_session *s, struct request *r, struct subscription *i, size_t most)
{
    struct watch *w = watch_of_request(s, &r->what);

    if (!w) {
        if (s->watched_bytes + strlen(r->what.path) + BYTES_EACH > most)
            return false;
        w = g_new0(struct watch, 1);
        w->session = s;
        size_t size = strlen(r->what.path) + 1;
        w->path = memcpy(g_rc_box_alloc(size), r->what.path, size);
        w->of_list = r->what.kind == STORE_LIST;
        g_hash_table_add(s->watches, w);
        s->watched_bytes += watch_bytes(w);
    }
    w->asked++;
    r->what.watch = true;
    if (i->watch != w) {
        watch_drop(i, false);
        watch_link(w, i);
    }
    i->asked = r;
    return true;
}

bool watch_add(zkl_session *s, struct request *r, struct subscription *i)
{
    return watch_add_within(s, r, i, BYTES_MAX);
}

bool watch_add_optional(zkl_session *s, struct request *r, struct subscription *i)
{
    return watch_add_within(s, r, i, BYTES_OPTIONAL);
}

char *watch_path(const struct subscription *i)
{
    return i->watch->path;
}

void watch_answered(zkl_session *s, const struct request *r, const struct store_reply *reply,
                    struct subscription *i)
{
    struct watch *w = watch_of_request(s, &r->what);
    bool newest = i->asked == r;

    if (newest)
        i->asked = NULL;
    if (!w || reply->rc == STORE_GONE)
        return;
    w->asked--;
    if (reply->rc == STORE_OK || (reply->rc == STORE_NONODE && r->what.kind == STORE_STAT))
        w->armed = true;
    else if (newest)
        watch_unlink(i);
    watch_settle(w);
}

void watch_drop(struct subscription *i, bool deleting)
{
    struct watch *w = i->watch;

    if (!w)
        return;
    watch_unlink(i);
    if (!deleting || !w->armed)
        watch_settle(w);
}

/* Fires the subscriptions of a watch. This may add and drop subscriptions, and even end the
 * session: each round looks anew. used_up: the server does not have the watch any more. */
static void watch_fire(zkl_session *s, const char *path, bool of_list, bool gone, bool used_up)
{
    struct watch *w = watch_find(s, path, of_list);
    unsigned n = 0;

    if (!w || (!used_up && !w->subscriptions))
        return;
    if (used_up)
        w->armed = false;
    for (const struct subscription *i = w->subscriptions; i; i = i->next)
        n++;
    for (; n > 0; n--) {
        w = watch_find(s, path, of_list);
        if (!w || !w->subscriptions)
            break;
        struct subscription *i = w->subscriptions;
        if (i->asked) {
            w->subscriptions = i->next;
            watch_link(w, i);
            continue;
        }
        watch_unlink(i);
        i->fired(i, gone);
    }
    w = watch_find(s, path, of_list);
    if (w)
        watch_settle(w);
}

void watch_fired(zkl_session *s, const char *path, enum store_fired fired)
{
    bool gone = fired == STORE_FIRED_GONE;

    if (fired != STORE_FIRED_CHILDREN)
        watch_fire(s, path, false, gone, true);
    if (fired == STORE_FIRED_CHILDREN || gone)
        watch_fire(s, path, true, gone, true);
}

void watch_doubt_all(zkl_session *s)
{
    const guint count = g_hash_table_size(s->watches);
    struct doubted {
        char *path;
        bool of_list;
    } *all = g_new(struct doubted, count);
    GHashTableIter i;
    void *key;
    guint n = 0;

    g_hash_table_iter_init(&i, s->watches);
    while (g_hash_table_iter_next(&i, &key, NULL)) {
        const struct watch *w = key;
        all[n++] = (struct doubted){.path = g_rc_box_acquire(w->path), .of_list = w->of_list};
    }
    for (n = 0; n < count; n++) {
        watch_fire(s, all[n].path, all[n].of_list, false, false);
        g_rc_box_release(all[n].path);
    }
    g_free(all);
}

void watch_clear(zkl_session *s)
{
    g_hash_table_remove_all(s->watches);
    s->watched_bytes = 0;
}
