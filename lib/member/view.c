#include "view.h"

#include <string.h>

#include "lib/session/call.h"
#include "lib/session/participant.h"

/* ---- entries ---- */

static void free_entry(void *data)
{
    struct view_entry *e = data;

    watch_drop(&e->watch, false);
    member_box_unref(e->now_box);
    member_box_unref(e->told_box);
    g_free(e->name);
    g_free(e);
}

/* What happens while it is listed or read anyway is seen then. */
static void look_again(struct view *v)
{
    if (v->watch.machine.state == CHILDREN_READING)
        v->again = true;
    else if (v->watch.machine.state == CHILDREN_SETTLED)
        children_watch_fired(&v->watch);
}

/* One that is gone fires the watch on the children, too. */
static void on_entry_fired(void *context, bool gone)
{
    struct view_entry *e = context;

    e->dirty = true;
    if (!gone)
        look_again(e->view);
}

static struct view_entry *entry_of(struct view *v, const char *name)
{
    struct view_entry *e = g_hash_table_lookup(v->entries, name);

    if (e)
        return e;
    e = g_new0(struct view_entry, 1);
    e->view = v;
    e->name = g_strdup(name);
    e->dirty = true;
    e->watch = (struct subscription){.fired = on_entry_fired, .context = e, .optional = true};
    g_hash_table_insert(v->entries, e->name, e);
    return e;
}

static void set_now(struct view_entry *e, struct group_node now, struct member_box *box)
{
    member_box_unref(e->now_box);
    e->now = now;
    e->now_box = box;
}

/* ---- reading ---- */

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct view *v = r->context;
    struct view_entry *e = g_hash_table_lookup(v->entries, strrchr(r->what.path, '/') + 1);

    v->asked--;
    e->asked = NULL;
    if (r->what.watch)
        watch_answered(v->watch.session, r, reply, &e->watch);
    if (reply->rc == STORE_OK)
        set_now(e, (struct group_node){reply->czxid, reply->mzxid},
                member_box_new(e->name, v->layout, reply));
    else if (reply->rc == STORE_NONODE)
        set_now(e, (struct group_node){.czxid = 0}, NULL);
    else
        e->dirty = true;
    if (reply->rc > STORE_NONODE && reply->rc != STORE_GONE &&
        v->watch.machine.state == CHILDREN_READING)
        children_watch_refused(&v->watch, reply->rc);
    view_conclude(v);
    children_watch_unref(&v->watch);
}

/* Where there is no room for a watch, it is read with each list. */
static void ask(struct view *v, struct view_entry *e)
{
    struct request *r =
        request_new(STORE_GET, g_strconcat(v->watch.directory, "/", e->name, NULL), on_read, v);

    e->dirty = false;
    if (v->watches)
        watch_add(v->watch.session, r, &e->watch);
    e->asked = r;
    v->asked++;
    v->watch.refs++;
    request_send(v->watch.session, r);
}

static bool is_to_be_read(const struct view *v, const struct view_entry *e)
{
    return e->listed && !e->asked && (e->dirty || (v->watches && !e->watch.watch));
}

static void read_entries(struct view *v)
{
    GList *all = g_hash_table_get_values(v->entries);

    for (GList *l = all; l; l = l->next)
        if (is_to_be_read(v, l->data))
            ask(v, l->data);
    g_list_free(all);
}

void view_conclude(struct view *v)
{
    GHashTableIter i;
    void *value;

    if (!v->news || v->asked > 0 || v->watch.stopped)
        return;
    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value)) {
        const struct view_entry *e = value;
        if (e->listed && e->dirty && !e->now_box)
            return; /* its session ended, or it was refused: it is read with the next list */
    }
    if (!view_is_older(v) || !view_holds_back(v))
        v->seen(v);
}

static gboolean is_done_with(void *name, void *value, void *data)
{
    const struct view_entry *e = value;

    (void)name;
    (void)data;
    return !e->listed && !e->asked && e->told.czxid == 0;
}

void view_settle(struct view *v)
{
    const bool again = v->again;

    v->news = v->again = false;
    newest_told(&v->newest);
    g_hash_table_foreach_remove(v->entries, is_done_with, NULL);
    if (v->watch.machine.state != CHILDREN_READING)
        return; /* it is being listed anew, or will be */
    children_watch_found(&v->watch, (int)g_hash_table_size(v->entries));
    if (again)
        children_watch_fired(&v->watch);
}

GPtrArray *view_boxes(const struct view *v)
{
    GPtrArray *boxes = g_ptr_array_new();
    GHashTableIter i;
    void *value;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value)) {
        const struct view_entry *e = value;
        if (e->listed && e->now_box)
            g_ptr_array_add(boxes, member_box_ref(e->now_box));
    }
    return boxes;
}

/* ---- listing ---- */

static void forget_list(struct view *v)
{
    GHashTableIter i;
    void *value;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value))
        ((struct view_entry *)value)->listed = false;
}

/* What is read from now on may be older than what was told, and is told. */
static void rewind_view(struct view *v)
{
    newest_rewind(&v->newest);
    view_reread(v);
}

static void on_listed(struct children_watch *cw, const struct store_reply *reply, bool watched)
{
    struct view *v = (struct view *)cw;

    (void)watched;
    if (v->watches && !newest_list(&v->newest, reply->pzxid)) {
        if (view_holds_back(v))
            return;
        rewind_view(v);
        newest_list(&v->newest, reply->pzxid);
    }
    forget_list(v);
    for (int i = 0; i < reply->count; i++)
        if (members_counts(reply->names[i], v->layout))
            entry_of(v, reply->names[i])->listed = true;
    v->news = true;
    read_entries(v);
    view_conclude(v);
}

static void on_missing(struct children_watch *cw)
{
    struct view *v = (struct view *)cw;

    forget_list(v);
    v->news = true;
    view_conclude(v);
}

static void on_children_fired(void *context, bool gone)
{
    (void)gone;
    look_again(context);
}

static void on_connected(struct children_watch *cw)
{
    newest_connected(&((struct view *)cw)->newest);
}

static void on_failed(struct children_watch *cw)
{
    static const int codes[] = {
        [CHILDREN_DENIED] = ZKL_EACCES, [CHILDREN_ODD] = ZKL_EPROTO, [CHILDREN_LIMIT] = ZKL_ELIMIT};
    struct view *v = (struct view *)cw;

    if (v->failed && cw->machine.last_why != CHILDREN_NOT_REFUSED)
        v->failed(v, codes[cw->machine.last_why]);
}

static void on_stop(struct children_watch *cw)
{
    GHashTableIter i;
    void *value;

    g_hash_table_iter_init(&i, ((struct view *)cw)->entries);
    while (g_hash_table_iter_next(&i, NULL, &value))
        watch_drop(&((struct view_entry *)value)->watch, false);
}

static void on_free(struct children_watch *cw)
{
    struct view *v = (struct view *)cw;

    g_hash_table_unref(v->entries);
    g_free(v);
}

#define CALLS                                                                                      \
    .up = on_connected, .listed = on_listed, .missing = on_missing, .failed = on_failed,           \
    .stop = on_stop, .free = on_free

static const struct children_watch_kind observes = {.doing = "watching the members",
                                                    .watch = true,
                                                    .gap_ns = 100 * CLOCK_MS,
                                                    .gap_each_ns = CLOCK_MS / 10,
                                                    CALLS};
static const struct children_watch_kind reads = {CALLS};

/* ---- all of a session ---- */

struct views {
    struct participant participant;
    GQueue list; /* of struct children_watch */
};

static void on_up(struct participant *p)
{
    children_watch_up_all(&((struct views *)p)->list);
}

static void on_rewound(struct participant *p)
{
    for (GList *l = ((struct views *)p)->list.head; l; l = l->next)
        rewind_view(l->data);
}

static void on_closed(struct participant *p)
{
    children_watch_stop_all(&((struct views *)p)->list);
}

static const struct participant_ops participant = {.on = {[NEWS_UP] = on_up,
                                                          [NEWS_REWOUND] = on_rewound,
                                                          [NEWS_REFUSED] = on_up,
                                                          [NEWS_CLOSED] = on_closed}};

static GQueue *views_of(zkl_session *s)
{
    return &((struct views *)participant_of(s, &participant, sizeof(struct views)))->list;
}

void view_init(struct view *v, zkl_session *s, const char *path)
{
    char *directory = g_strconcat(s->chroot, path, NULL);

    children_watch_init(&v->watch, s, directory, v->watches ? &observes : &reads, views_of(s));
    v->watch.children.fired = on_children_fired;
    v->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_entry);
    g_free(directory);
}
