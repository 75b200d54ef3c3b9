#include "view.h"

#include <string.h>

#include "lib/base/clean.h"
#include "lib/session/participant.h"
#include "lib/session/request.h"

/* ---- what was read of a member ---- */

static void member_box_clear(void *data)
{
    struct member_box *box = data;

    g_free((char *)(uintptr_t)box->info.id);
    g_free((char *)(uintptr_t)box->info.node);
    g_free((void *)(uintptr_t)box->info.data);
}

struct member_box *member_box_ref(struct member_box *box)
{
    return g_atomic_rc_box_acquire(box);
}

void member_box_unref(struct member_box *box)
{
    if (box)
        g_atomic_rc_box_release_full(box, member_box_clear);
}

struct member_box *member_box_new(const char *name, zkl_member_layout layout,
                                  const struct store_reply *reply)
{
    const gsize length = (gsize)MAX(reply->length, 0);
    const bool party = layout == ZKL_MEMBER_PARTY;
    struct member_box *box = g_atomic_rc_box_new0(struct member_box);
    char *data = g_malloc(length + 1); /* never NULL */

    if (length > 0)
        memcpy(data, reply->data, length);
    data[length] = '\0';
    box->info =
        (zkl_member_info){.token = reply->czxid,
                          .id = party ? clean_text(data, (gssize)length) : clean_text(name, -1),
                          .node = g_strdup(name),
                          .data = data,
                          .size = party ? 0 : length,
                          .session_id = reply->ephemeral_owner,
                          .ctime_ms = reply->ctime_ms};
    return box;
}

/* Whether a child of that name is a member. */
static bool view_counts(const char *name, zkl_member_layout layout)
{
    return layout == ZKL_MEMBER_GROUP || strstr(name, "__party__") != NULL;
}

/* ---- entries ---- */

static void view_free_entry(void *data)
{
    struct view_entry *e = data;

    watch_drop(&e->watch, false);
    member_box_unref(e->now_box);
    member_box_unref(e->told_box);
    g_free(e->name);
    g_free(e);
}

static void view_hear(struct view *v, unsigned kind, enum store_rc rc)
{
    driver_hear(&v->watch.driver, (struct machine_event){.kind = kind, .rc = rc});
}

/* One that is gone fires the watch on the children, too. */
static void view_on_fired(struct subscription *i, bool gone)
{
    struct view_entry *e = SUBSCRIBER(i, struct view_entry, watch);

    e->dirty = true;
    if (!gone)
        view_hear(e->view, VIEW_EV_CHANGED, STORE_OK);
}

static struct view_entry *view_entry_of(struct view *v, const char *name)
{
    struct view_entry *e = g_hash_table_lookup(v->entries, name);

    if (e)
        return e;
    e = g_new0(struct view_entry, 1);
    e->view = v;
    e->name = g_strdup(name);
    e->dirty = true;
    e->watch = (struct subscription){.fired = view_on_fired};
    g_hash_table_insert(v->entries, e->name, e);
    return e;
}

static void view_set_now(struct view_entry *e, struct group_node now, struct member_box *box)
{
    member_box_unref(e->now_box);
    e->now = now;
    e->now_box = box;
}

/* ---- reading ---- */

static void view_entry_read(struct request *r, const struct store_reply *reply)
{
    struct view *v = r->context;
    struct view_entry *e = g_hash_table_lookup(v->entries, strrchr(r->what.path, '/') + 1);

    v->asked--;
    e->asked = NULL;
    if (r->what.watch)
        watch_answered(v->watch.session, r, reply, &e->watch);
    if (reply->rc == STORE_OK)
        view_set_now(e, (struct group_node){reply->czxid, reply->mzxid},
                     member_box_new(e->name, v->layout, reply));
    else if (reply->rc == STORE_NONODE)
        view_set_now(e, (struct group_node){.czxid = 0}, NULL);
    else
        e->dirty = true;
    view_hear(v, VIEW_EV_READ, reply->rc);
    children_watch_unref(&v->watch);
}

/* Where there is no room for a watch, it is read with each list. */
static void view_ask(struct view *v, struct view_entry *e)
{
    struct request *r = request_new(STORE_GET, g_strconcat(v->watch.directory, "/", e->name, NULL),
                                    view_entry_read, v);

    e->dirty = false;
    if (v->watches)
        watch_add_optional(v->watch.session, r, &e->watch);
    e->asked = r;
    v->asked++;
    v->watch.refs++;
    request_send(v->watch.session, r);
}

static bool view_is_to_be_read(const struct view *v, const struct view_entry *e)
{
    return e->listed && !e->asked && (e->dirty || (v->watches && !e->watch.watch));
}

static void view_read_entries(struct view *v)
{
    GList *all = g_hash_table_get_values(v->entries);

    for (GList *l = all; l; l = l->next)
        if (view_is_to_be_read(v, l->data))
            view_ask(v, l->data);
    g_list_free(all);
}

/* ---- data that are older than what was told ---- */

/* A list or a member is: whether all is to be read again, later; else it counts. */
static bool view_holds_back(struct view *v, struct machine_actions *out)
{
    const struct children_moment moment = children_watch_moment(&v->watch);
    const int64_t patience = session_patience_ms(v->watch.session) * CLOCK_MS;

    if (!newest_holds_back(&v->newest, moment.now, patience))
        return false;
    if (v->machine.state == CHILDREN_READING)
        children_older(&v->machine, &moment, out);
    return true;
}

/* Whether any member is, as it was read. Those are read again with the next list. */
static bool view_is_older(const struct view *v)
{
    GHashTableIter i;
    void *value;
    bool older = false;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value)) {
        struct view_entry *e = value;
        if (e->listed && group_is_older(e->told, e->now))
            older = e->dirty = true;
    }
    return older;
}

/* All are, if they are listed. */
static void view_reread(struct view *v)
{
    GHashTableIter i;
    void *value;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value))
        ((struct view_entry *)value)->dirty = true;
}

/* ---- the end of a query ---- */

/* Whether each member that was listed was read since. A member whose session ended, or whose read
 * was refused, is read with the next list. */
static bool view_is_complete(const struct view *v)
{
    GHashTableIter i;
    void *value;

    if (!v->news || v->asked > 0 || v->watch.stopped)
        return false;
    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value)) {
        const struct view_entry *e = value;
        if (e->listed && e->dirty && !e->now_box)
            return false;
    }
    return true;
}

static gboolean view_is_done_with(void *name, void *value, void *data)
{
    const struct view_entry *e = value;

    (void)name;
    (void)data;
    return !e->listed && !e->asked && e->told.czxid == 0;
}

/* Forgets the members that are gone, and looks again if anything has changed since. */
static void view_settle(struct view *v, struct machine_actions *out)
{
    const struct children_moment moment = children_watch_moment(&v->watch);
    const bool again = v->again;

    v->news = v->again = false;
    newest_told(&v->newest);
    g_hash_table_foreach_remove(v->entries, view_is_done_with, NULL);
    if (v->machine.state != CHILDREN_READING)
        return; /* it is being listed anew, or will be */
    children_found(&v->machine, &moment, g_hash_table_size(v->entries));
    if (again)
        children_changed(&v->machine, &moment, out);
}

static void view_conclude(struct view *v, struct machine_actions *out)
{
    if (!view_is_complete(v) || (view_is_older(v) && view_holds_back(v, out)))
        return;
    if (v->seen(v))
        view_settle(v, out);
}

void view_try_again(struct view *v)
{
    view_hear(v, VIEW_EV_READ, STORE_OK);
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

static void view_forget_list(struct view *v)
{
    GHashTableIter i;
    void *value;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value))
        ((struct view_entry *)value)->listed = false;
}

/* From now on, data is reported even if it is older than what was reported last. */
static void view_rewind(struct view *v)
{
    newest_rewind(&v->newest);
    view_reread(v);
}

static void view_on_listed(struct view *v, uint64_t pzxid, struct machine_actions *out)
{
    if (v->watches && !newest_list(&v->newest, pzxid)) {
        if (view_holds_back(v, out))
            return;
        view_rewind(v);
        newest_list(&v->newest, pzxid);
    }
    view_forget_list(v);
    for (guint i = 0; i < v->names->len; i++)
        view_entry_of(v, v->names->pdata[i])->listed = true;
    v->news = true;
    view_read_entries(v);
    view_conclude(v, out);
}

static void view_on_missing(struct view *v, struct machine_actions *out)
{
    view_forget_list(v);
    v->news = true;
    view_conclude(v, out);
}

/* What happens while it is listed or read anyway is seen then. */
static void view_on_changed(struct view *v, struct machine_actions *out)
{
    const struct children_moment moment = children_watch_moment(&v->watch);

    if (v->machine.state == CHILDREN_READING)
        v->again = true;
    else if (v->machine.state == CHILDREN_SETTLED)
        children_changed(&v->machine, &moment, out);
}

static void view_on_read(struct view *v, enum store_rc rc, struct machine_actions *out)
{
    const struct children_moment moment = children_watch_moment(&v->watch);
    const bool refused = rc > STORE_NONODE && rc != STORE_GONE;

    if (refused && v->machine.state == CHILDREN_READING)
        children_refused(&v->machine, &moment, out, rc);
    view_conclude(v, out);
}

static void view_drop_watches(struct view *v)
{
    GHashTableIter i;
    void *value;

    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value))
        watch_drop(&((struct view_entry *)value)->watch, false);
}

static void view_on_children(struct view *v, const struct machine_event *ev,
                             struct machine_actions *out)
{
    const struct children_moment moment = children_watch_moment(&v->watch);
    const enum children_news news = children_step(&v->machine, ev, &moment, out);

    if (ev->kind == MACHINE_EV_BEGIN)
        newest_connected(&v->newest);
    else if (ev->kind == MACHINE_EV_STOP)
        view_drop_watches(v);
    if (news == CHILDREN_LISTED)
        view_on_listed(v, ev->pzxid, out);
    else if (news == CHILDREN_MISSING)
        view_on_missing(v, out);
}

static struct view *view_of(struct driver *d)
{
    return (struct view *)children_watch_of(d);
}

static void view_keep(struct view *v, const struct machine_event *ev)
{
    if (ev->kind != MACHINE_EV_ANSWER || ev->verb != STORE_LIST || ev->rc != STORE_OK)
        return;
    g_ptr_array_set_size(v->names, 0);
    for (size_t i = 0; i < ev->count; i++)
        if (view_counts(ev->names[i], v->layout))
            g_ptr_array_add(v->names, g_strdup(ev->names[i]));
}

static void view_step(struct driver *d, const struct machine_event *ev, struct machine_actions *out)
{
    struct view *v = view_of(d);

    view_keep(v, ev);
    if (ev->kind == VIEW_EV_CHANGED || ev->kind == MACHINE_EV_FIRED)
        view_on_changed(v, out);
    else if (ev->kind == VIEW_EV_READ)
        view_on_read(v, ev->rc, out);
    else
        view_on_children(v, ev, out);
}

static void view_tell(struct driver *d, const struct machine_action *a)
{
    struct view *v = view_of(d);

    children_watch_log(&v->watch, (enum children_tell)a->verdict);
    if (v->failed && a->verdict != CHILDREN_TELL_BARRED)
        v->failed(v, children_watch_code((enum children_tell)a->verdict));
}

static void view_free(struct children_watch *cw)
{
    struct view *v = (struct view *)cw;

    g_hash_table_unref(v->entries);
    g_ptr_array_unref(v->names);
    g_free(v);
}

#define CALLS                                                                                      \
    {                                                                                              \
        .step = view_step, .path = children_watch_path, .tell = view_tell,                         \
        .ref = children_watch_driver_ref, .unref = children_watch_driver_unref                     \
    }

static const struct children_watch_kind observes = {
    .driver = CALLS, .doing = "watching the members", .free = view_free};
static const struct children_watch_kind reads = {.driver = CALLS, .free = view_free};

/* ---- all of a session ---- */

struct view_list {
    struct participant participant;
    GQueue list; /* of struct children_watch */
};

static void view_list_on_up(struct participant *p)
{
    children_watch_begin_all(&((struct view_list *)p)->list);
}

static void view_list_on_rewound(struct participant *p)
{
    for (GList *l = ((struct view_list *)p)->list.head; l; l = l->next)
        view_rewind(l->data);
}

static void view_list_on_closed(struct participant *p)
{
    children_watch_stop_all(&((struct view_list *)p)->list);
}

static const struct participant_ops participant = {.on = {[NEWS_UP] = view_list_on_up,
                                                          [NEWS_REWOUND] = view_list_on_rewound,
                                                          [NEWS_REFUSED] = view_list_on_up,
                                                          [NEWS_CLOSED] = view_list_on_closed}};

static GQueue *view_list_of(zkl_session *s)
{
    return &((struct view_list *)participant_of(s, &participant, sizeof(struct view_list)))->list;
}

void view_init(struct view *v, zkl_session *s, const char *path)
{
    char *directory = g_strconcat(s->chroot, path, NULL);

    children_watch_init(&v->watch, s, directory, v->watches ? &observes : &reads, view_list_of(s));
    if (v->watches)
        v->machine =
            (struct children){.watch = true, .gap = 100 * CLOCK_MS, .gap_each = CLOCK_MS / 10};
    v->names = g_ptr_array_new_with_free_func(g_free);
    v->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, view_free_entry);
    g_free(directory);
}
