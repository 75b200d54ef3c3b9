/* The members of a group: as they were read once, the differences that an observer is told, and
 * which of them owns which shard.
 *
 * A view of a group does the first two: it lists the members and reads each of them, and does so
 * again whenever they may have changed. Data that are older than what was told are held back. An
 * observer keeps a view; a call that reads the members once has a view for that time. Functions
 * in tables are called with the monitor held, and so is what they call; but members_deliver() and
 * the functions of the interface are called without it. The functions that read a zkl_members are
 * called with or without it: they take no lock. */
#include "members.h"

#include <string.h>

#include "lib/base/clean.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/queue/children_watch.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/participant.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"
#include "recipes/children.h"
#include "recipes/group.h"
#include "recipes/name.h"
#include "recipes/shards.h"

static void member_box_clear(void *data)
{
    struct member_box *box = data;

    g_free((char *)(uintptr_t)box->info.id);
    g_free((char *)(uintptr_t)box->info.node);
    g_free((void *)(uintptr_t)box->info.data);
}

static struct member_box *member_box_ref(struct member_box *box)
{
    return g_atomic_rc_box_acquire(box);
}

/* Does nothing if box is NULL. */
static void member_box_unref(struct member_box *box)
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

/* ---- a view ---- */

/* The events of a view, beside those of its machine. */
enum {
    VIEW_EV_CHANGED = MACHINE_EV_OWN, /* a member has written its data */
    VIEW_EV_READ                      /* a member was read: .rc; or the user may be told again */
};

/* The first member of a larger struct, which is freed with it. The caller holds the monitor. */
struct view {
    struct children_watch watch; /* in the session's list of views; the first member */
    zkl_member_layout layout;
    bool watches;                 /* the list and each member are watched */
    bool (*seen)(struct view *v); /* each listed member was read after the list. Returns false if it
                                     cannot be told now: the next VIEW_EV_READ tries again */
    void (*failed)(struct view *v, int code); /* the server refused a request; may be NULL */

    struct children machine;
    struct newest newest;
    GPtrArray *names;    /* in the newest list */
    GHashTable *entries; /* name -> struct view_entry */
    unsigned asked;      /* how many reads are under way */
    bool news;           /* a list was stored, and seen() has not returned true since */
    bool again;          /* a listed member has changed during the query */
};

/* A child that counts as a member, now or in what was told. */
struct view_entry {
    struct view *view;
    char *name;
    bool listed;
    bool dirty; /* to be read */
    const struct request *asked;
    struct group_node now, told;
    struct member_box *now_box, *told_box; /* NULL: none */
    struct subscription watch;
};

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

static void view_give_event(struct view *v, unsigned kind, enum store_rc rc)
{
    driver_hear_event(&v->watch.driver, (struct machine_event){.kind = kind, .rc = rc});
}

/* Marks the member to be read. If its node is gone, no event is needed: the watch on the children
 * fires, too. */
static void view_on_fired(struct subscription *i, bool gone)
{
    struct view_entry *e = SUBSCRIBER(i, struct view_entry, watch);

    e->dirty = true;
    if (!gone)
        view_give_event(e->view, VIEW_EV_CHANGED, STORE_OK);
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

static void view_on_entry_read(struct request *r, const struct store_reply *reply)
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
    view_give_event(v, VIEW_EV_READ, reply->rc);
    driver_unref(&v->watch.driver);
}

/* Reads a member. If there is no room for a watch, the member is read with each list. */
static void view_read_entry(struct view *v, struct view_entry *e)
{
    struct request *r = request_new(STORE_GET, g_strconcat(v->watch.directory, "/", e->name, NULL),
                                    view_on_entry_read, v);

    e->dirty = false;
    if (v->watches)
        watch_add_optional(v->watch.session, r, &e->watch);
    e->asked = r;
    v->asked++;
    driver_ref(&v->watch.driver);
    request_send(v->watch.session, r);
}

/* Reads each listed member that has changed, or has no watch that would tell of a change. */
static void view_read_entries(struct view *v)
{
    GList *all = g_hash_table_get_values(v->entries);

    for (GList *l = all; l; l = l->next) {
        struct view_entry *e = l->data;
        const bool unwatched = v->watches && !e->watch.watch;
        if (e->listed && !e->asked && (e->dirty || unwatched))
            view_read_entry(v, e);
    }
    g_list_free(all);
}

/* ---- data that are older than what was told ---- */

/* A list or a member is older than what was told. Returns true if it is held back, and asks for a
 * later query; false: it counts. */
static bool view_holds_back(struct view *v, const struct children_moment *moment,
                            struct machine_actions *out)
{
    const int64_t patience = session_patience_ms(v->watch.session) * CLOCK_MS;

    if (!newest_holds_back(&v->newest, moment->now, patience))
        return false;
    if (v->machine.state == CHILDREN_READING)
        children_older(&v->machine, moment, out);
    return true;
}

/* Whether any member is older than what was told. Such members are read again with the next list.
 */
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

/* ---- the end of a query ---- */

/* Whether each listed member was read after the list. If a read was refused, the data that were
 * read before count, and the member is read with the next list. */
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

/* Tells what was read, if it is complete and not older than what was told. Then the query ends: the
 * members that are gone are forgotten, and the view queries again if anything has changed since the
 * list. */
static void view_conclude(struct view *v, const struct children_moment *moment,
                          struct machine_actions *out)
{
    if (!view_is_complete(v) || (view_is_older(v) && view_holds_back(v, moment, out)))
        return;
    if (!v->seen(v)) /* the user cannot be told now */
        return;
    const bool again = v->again;
    v->news = v->again = false;
    newest_told(&v->newest);
    g_hash_table_foreach_remove(v->entries, view_is_done_with, NULL);
    if (v->machine.state != CHILDREN_READING)
        return; /* it is being listed anew, or will be */
    children_found(&v->machine, moment, g_hash_table_size(v->entries));
    if (again)
        children_changed(&v->machine, moment, out);
}

/* Returns references to all members that were read. */
static GPtrArray *view_boxes(const struct view *v)
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

/* Makes the view accept older data than what was told. All members are read with the next list. */
static void view_rewind(struct view *v)
{
    GHashTableIter i;
    void *value;

    newest_rewind(&v->newest);
    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &value))
        ((struct view_entry *)value)->dirty = true;
}

static void view_on_listed(struct view *v, uint64_t pzxid, const struct children_moment *moment,
                           struct machine_actions *out)
{
    if (v->watches && !newest_list(&v->newest, pzxid)) {
        if (view_holds_back(v, moment, out))
            return;
        view_rewind(v);
        newest_list(&v->newest, pzxid); /* after the rewind this list is the newest */
    }
    view_forget_list(v);
    for (guint i = 0; i < v->names->len; i++)
        view_entry_of(v, v->names->pdata[i])->listed = true;
    v->news = true;
    view_read_entries(v);
    view_conclude(v, moment, out);
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
                             const struct children_moment *moment, struct machine_actions *out)
{
    const enum children_news news = children_step(&v->machine, ev, moment, out);

    if (ev->kind == MACHINE_EV_BEGIN)
        newest_connected(&v->newest);
    else if (ev->kind == MACHINE_EV_STOP)
        view_drop_watches(v);
    if (news == CHILDREN_LISTED) {
        view_on_listed(v, ev->pzxid, moment, out);
    } else if (news == CHILDREN_MISSING) {
        view_forget_list(v);
        v->news = true;
        view_conclude(v, moment, out);
    }
}

static struct view *view_of(struct driver *d)
{
    return (struct view *)children_watch_of(d);
}

/* Stores the names of the members, if the event is an answer that lists them. */
static void view_store_names(struct view *v, const struct machine_event *ev)
{
    if (ev->kind != MACHINE_EV_ANSWER || ev->verb != STORE_LIST || ev->rc != STORE_OK)
        return;
    g_ptr_array_set_size(v->names, 0);
    for (size_t i = 0; i < ev->count; i++)
        if (v->layout == ZKL_MEMBER_GROUP || strstr(ev->names[i], NAME_PARTY))
            g_ptr_array_add(v->names, g_strdup(ev->names[i]));
}

static void view_step(struct driver *d, const struct machine_event *ev, struct machine_actions *out)
{
    struct view *v = view_of(d);
    const struct children_moment moment = children_watch_moment(&v->watch);

    view_store_names(v, ev);
    if (ev->kind == VIEW_EV_CHANGED || ev->kind == MACHINE_EV_FIRED) {
        if (v->machine.state == CHILDREN_READING)
            v->again = true; /* it queries again at the end of this query */
        else if (v->machine.state == CHILDREN_SETTLED)
            children_changed(&v->machine, &moment, out);
    } else if (ev->kind == VIEW_EV_READ) {
        const bool refused = ev->rc > STORE_NONODE && ev->rc != STORE_GONE;
        if (refused && v->machine.state == CHILDREN_READING)
            children_refused(&v->machine, &moment, out, ev->rc);
        view_conclude(v, &moment, out);
    } else {
        view_on_children(v, ev, &moment, out);
    }
}

static void view_on_verdict(struct driver *d, const struct machine_action *a)
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
        .step = view_step, .path = children_watch_path, .on_verdict = view_on_verdict,             \
        .free = children_watch_free                                                                \
    }

static const struct children_watch_kind observes = {
    .driver = CALLS, .doing = "watching the members", .free = view_free};
static const struct children_watch_kind reads = {.driver = CALLS, .free = view_free};

/* ---- all views of a session ---- */

static void view_list_on_rewound(struct participant *p)
{
    for (GList *l = ((struct drivers *)p)->list.head; l; l = l->next)
        view_rewind((struct view *)children_watch_of(l->data));
}

static const struct participant_ops participant = {
    .on = {[NEWS_UP] = children_watches_on_up,
           [NEWS_REWOUND] = view_list_on_rewound,
           [NEWS_REFUSED] = children_watches_on_up,
           [NEWS_CLOSED] = children_watches_on_closed}};

/* Fills in a view that is all zero but for layout, watches, seen and failed. Its one reference is
 * that of the session's list. children_watch_begin() comes next. */
static void view_init(struct view *v, zkl_session *s, const char *path)
{
    char *directory = g_strconcat(s->chroot, path, NULL);

    children_watch_init(&v->watch, s, directory, v->watches ? &observes : &reads,
                        &drivers_of(s, &participant)->list);
    if (v->watches)
        v->machine =
            (struct children){.watch = true, .gap = 100 * CLOCK_MS, .gap_each = CLOCK_MS / 10};
    v->names = g_ptr_array_new_with_free_func(g_free);
    v->entries = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, view_free_entry);
    g_free(directory);
}

/* ---- what is handed out ---- */

struct zkl_members {
    GPtrArray *boxes; /* of struct member_box */
};

static int members_compare(gconstpointer a, gconstpointer b)
{
    const struct member_box *x = *(struct member_box *const *)a;
    const struct member_box *y = *(struct member_box *const *)b;
    const int by_id = strcmp(x->info.id, y->info.id);

    return by_id ? by_id : strcmp(x->info.node, y->info.node);
}

zkl_members *members_new(GPtrArray *boxes)
{
    zkl_members *ms = g_new(zkl_members, 1);

    g_ptr_array_sort(boxes, members_compare);
    ms->boxes = boxes;
    return ms;
}

size_t zkl_members_count(const zkl_members *ms)
{
    return ms ? ms->boxes->len : 0;
}

const zkl_member_info *zkl_members_get(const zkl_members *ms, size_t i)
{
    if (!ms || i >= ms->boxes->len)
        return NULL;
    return &((struct member_box *)ms->boxes->pdata[i])->info;
}

void zkl_members_free(zkl_members *ms)
{
    if (!ms)
        return;
    for (guint i = 0; i < ms->boxes->len; i++)
        member_box_unref(ms->boxes->pdata[i]);
    g_ptr_array_unref(ms->boxes);
    g_free(ms);
}

/* Checks the arguments that the calls have in common; doing: the name of the function, which blocks
 * if blocking. Returns 0, or the thread's last error. */
static int members_check(const char *doing, zkl_session *s, const char *path,
                         zkl_member_layout layout, bool blocking)
{
    const int code = call_check(s, doing, path, blocking);

    if (code || layout == ZKL_MEMBER_GROUP || layout == ZKL_MEMBER_PARTY)
        return code;
    return error_set(ZKL_EINVAL, path, "%s: layout is none of zkl_member_layout", doing);
}

/* ---- reading them once ---- */

struct members_look;

struct members_call {
    struct call call;
    zkl_member_layout layout;
    struct members_look *look; /* NULL: the call has ended */
    zkl_members *ret;
};

struct members_look {
    struct view view; /* the first member */
    struct members_call *call;
};

/* Ends the call and its look. */
static void members_end_call(struct members_call *c, const zkl_error *why)
{
    struct members_look *l = c->look;

    if (!l)
        return;
    c->look = NULL;
    l->call = NULL;
    children_watch_stop(&l->view.watch);
    driver_unref(&l->view.watch.driver);
    call_end_as(&c->call, why);
}

static void members_call_stop(struct call *call, const zkl_error *why)
{
    struct members_call *c = (struct members_call *)call;

    if (c->look)
        members_end_call(c, why);
    else
        call_end_as(call, why);
}

static void members_call_free(struct call *call)
{
    struct members_call *c = (struct members_call *)call;

    zkl_members_free(c->ret);
    g_free(c);
}

static void members_look_failed(struct view *v, int code)
{
    const struct members_look *l = (struct members_look *)v;
    const char *path = session_path(v->watch.session, v->watch.directory);
    zkl_error why;

    if (!l->call)
        return;
    denial_fill(v->watch.session, &why, code, path);
    members_end_call(l->call, &why);
}

static bool members_look_seen(struct view *v)
{
    const struct members_look *l = (struct members_look *)v;

    if (!l->call)
        return false;
    l->call->ret = members_new(view_boxes(v));
    members_end_call(l->call, NULL);
    return true;
}

static void members_call_begin(struct call *call)
{
    struct members_call *c = (struct members_call *)call;
    struct members_look *l = g_new0(struct members_look, 1);

    l->call = c;
    l->view.layout = c->layout;
    l->view.seen = members_look_seen;
    l->view.failed = members_look_failed;
    view_init(&l->view, call->session, session_path(call->session, call->path));
    c->look = l;
    driver_ref(&l->view.watch.driver); /* the call's reference: when the session is closed, the look
                                          may end before the call */
    driver_ref(&l->view.watch.driver); /* the look may end at once */
    children_watch_begin(&l->view.watch);
    driver_unref(&l->view.watch.driver);
}

static const struct call_ops members_call_ops = {
    .begin = members_call_begin, .stop = members_call_stop, .free = members_call_free};

int zkl_members_read(zkl_members **ret, zkl_session *s, const char *path, zkl_member_layout layout,
                     int64_t timeout_ms)
{
    int code;

    if (!ret)
        return error_set(ZKL_EINVAL, path, "zkl_members_read: ret is NULL");
    code = members_check("zkl_members_read", s, path, layout, true);
    if (code)
        return code;
    struct members_call *c = g_new0(struct members_call, 1);
    c->layout = layout;
    call_init(&c->call, &members_call_ops, s, g_strconcat(s->chroot, path, NULL), NULL, NULL);
    call_ref(&c->call); /* no lock: nobody else has it yet */
    code = call_run(&c->call, timeout_ms);
    if (!code)
        *ret = g_steal_pointer(&c->ret);
    call_free(&c->call);
    return code;
}

/* ---- what an observer is told ---- */

struct members_observer {
    struct view view; /* the first member */
    zkl_members_fn fn;
    void *data;
    unsigned telling; /* how many messages are not told yet */
    bool held;        /* more was read: it is told after them */
    bool told;        /* ZKL_MEMBERS_ALL was told once at least */
};

struct members_message {
    struct children_watch_message base;
    zkl_members_event event;
    struct member_box *box; /* or */
    zkl_members *all;
};

static void members_free_message(struct children_watch_message *base)
{
    struct members_message *m = (struct members_message *)base;

    member_box_unref(m->box);
    zkl_members_free(m->all);
    g_free(m);
}

/* Tells a message, without the monitor held. After the last one, the user is told at once all that
 * was read during the calls. */
static void members_deliver(struct children_watch_message *base)
{
    const struct members_message *m = (struct members_message *)base;
    struct members_observer *o = (struct members_observer *)base->watch;
    zkl_session *s = base->watch->session;

    o->fn(m->event, m->box ? &m->box->info : NULL, m->all, o->data);
    session_lock(s);
    if (--o->telling == 0 && o->held) {
        o->held = false;
        view_give_event(&o->view, VIEW_EV_READ, STORE_OK); /* now seen() tells it */
    }
    session_unlock(s);
}

/* Tells the user an event. Takes the reference to box, or all. */
static void members_tell_event(struct members_observer *o, zkl_members_event event,
                               struct member_box *box, zkl_members *all)
{
    struct members_message *m = g_new0(struct members_message, 1);

    *m = (struct members_message){.base = {.call = members_deliver, .free = members_free_message},
                                  .event = event,
                                  .box = box,
                                  .all = all};
    o->telling++;
    children_watch_tell(&o->view.watch, &m->base);
}

/* ---- the differences between what the observer was told and what was read since ---- */

/* Whether two boxes say different things of one node. Either may be NULL: there is no node. */
static bool members_differ(const struct member_box *a, const struct member_box *b)
{
    return a && b && a != b &&
           (a->info.session_id != b->info.session_id || a->info.size != b->info.size ||
            memcmp(a->info.data, b->info.data, a->info.size) != 0 ||
            strcmp(a->info.id, b->info.id) != 0);
}

struct members_news {
    struct group_news what;
    struct member_box *before, *now; /* with a reference; NULL: none */
};

/* Adds to all how the member differs from what was told, which is now what was read. */
static void members_collect_news(struct view_entry *e, GArray *all)
{
    static const struct group_node none;
    struct member_box *now = e->listed ? e->now_box : NULL;
    struct members_news n = {.before = e->told_box};

    n.what = group_see(&e->told, now ? e->now : none, members_differ(e->told_box, now));
    if (!n.what.left && !n.what.joined && !n.what.changed)
        return;
    n.now = now ? member_box_ref(now) : NULL;
    e->told_box = n.now ? member_box_ref(n.now) : NULL;
    g_array_append_val(all, n);
}

static int members_compare_news(gconstpointer a, gconstpointer b)
{
    const struct members_news *x = a, *y = b;

    return x->what.at < y->what.at ? -1 : x->what.at > y->what.at;
}

static void members_tell_differences(struct members_observer *o, const GArray *all)
{
    for (guint i = 0; i < all->len; i++) {
        const struct members_news *n = &g_array_index(all, struct members_news, i);
        if (n->what.left)
            members_tell_event(o, ZKL_MEMBERS_LEFT, member_box_ref(n->before), NULL);
    }
    for (guint i = 0; i < all->len; i++) {
        const struct members_news *n = &g_array_index(all, struct members_news, i);
        if (n->what.joined || n->what.changed)
            members_tell_event(o, n->what.joined ? ZKL_MEMBERS_JOINED : ZKL_MEMBERS_CHANGED,
                               member_box_ref(n->now), NULL);
        member_box_unref(n->before);
        member_box_unref(n->now);
    }
}

static bool members_watch_seen(struct view *v)
{
    struct members_observer *o = (struct members_observer *)v;
    GArray *all;
    GHashTableIter i;
    void *entry;

    if (o->telling > 0) {
        o->held = true;
        return false;
    }
    all = g_array_new(FALSE, FALSE, sizeof(struct members_news));
    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &entry))
        members_collect_news(entry, all);
    g_array_sort(all, members_compare_news);
    members_tell_differences(o, all);
    if (all->len > 0 || !o->told)
        members_tell_event(o, ZKL_MEMBERS_ALL, NULL, members_new(view_boxes(v)));
    o->told = true;
    g_array_unref(all);
    return true;
}

int zkl_members_watch(zkl_watch **ret, zkl_session *s, const char *path, zkl_member_layout layout,
                      zkl_members_fn fn, void *data)
{
    int code = members_check("zkl_members_watch", s, path, layout, false);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, path, "zkl_members_watch: fn is NULL");
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        struct members_observer *observer = g_new0(struct members_observer, 1);
        observer->fn = fn;
        observer->data = data;
        observer->view.layout = layout;
        observer->view.watches = true;
        observer->view.seen = members_watch_seen;
        view_init(&observer->view, s, path);
        if (ret)
            *ret = children_watch_handle(&observer->view.watch);
        children_watch_begin(&observer->view.watch);
    }
    session_unlock(s);
    return code;
}

/* ---- shards ---- */

int zkl_shards_share_of(const zkl_member_info *member, zkl_shards_share *ret)
{
    struct shards_host host;
    const bool says = member && shards_read(member->data, member->size, &host);

    if (ret)
        *ret = says ? (zkl_shards_share){host.count, host.weight} : (zkl_shards_share){0, 0};
    return says;
}

/* Fills in hosts, and returns how many shards there are. If no member says anything, all take part.
 * Otherwise a member that says nothing, such as zkl member, works on no shards: if it owned some,
 * nobody else would seek them. */
static uint32_t members_read_hosts(struct shards_host *hosts, const zkl_members *ms, uint32_t count)
{
    uint32_t highest = 0;

    for (size_t i = 0; i < zkl_members_count(ms); i++) {
        const zkl_member_info *m = zkl_members_get(ms, i);
        hosts[i] = (struct shards_host){.id = m->id};
        if (!shards_read(m->data, m->size, &hosts[i]))
            hosts[i].count = 0;
        highest = MAX(highest, hosts[i].count);
    }
    for (size_t i = 0; i < zkl_members_count(ms) && highest == 0; i++) {
        hosts[i].count = count;
        hosts[i].weight = 1;
    }
    return highest ? highest : count;
}

int zkl_shards_plan(const zkl_member_info **owners, size_t count, const zkl_members *ms)
{
    const uint32_t members = (uint32_t)zkl_members_count(ms);

    if (!owners || !ms || count == 0 || count > ZKL_SHARDS_MAX)
        return error_set(ZKL_EINVAL, NULL, "zkl_shards_plan: %s",
                         owners && ms ? "count is not 1 to 65536" : "owners or ms is NULL");
    struct shards_host *hosts = g_new(struct shards_host, members);
    const uint32_t all = members_read_hosts(hosts, ms, (uint32_t)count);
    struct shards_shard *shards = g_new(struct shards_shard, all);
    shards_plan(hosts, members, shards);
    for (size_t k = 0; k < count; k++)
        owners[k] = members > 0 && k < all ? zkl_members_get(ms, shards[k].owner) : NULL;
    g_free(shards);
    g_free(hosts);
    return 0;
}
