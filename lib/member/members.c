/* The members of a group: as they were read once, and the differences that an observer is told. */
#include "members.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "view.h"

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

/* For a call of doing, which may wait. 0, or the thread's last error. */
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
    struct members_look *look; /* NULL once it has ended */
    zkl_members *ret;
};

struct members_look {
    struct view view; /* the first member */
    struct members_call *call;
};

/* Ends the look, too. The call has another reference, but one that nobody is told of any more. */
static void members_end_call(struct members_call *c, const zkl_error *why)
{
    struct members_look *l = c->look;

    if (!l)
        return;
    c->look = NULL;
    l->call = NULL;
    children_watch_stop(&l->view.watch);
    children_watch_unref(&l->view.watch);
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
    l->view.watch.refs++; /* the call's: when the session is closed, the look may be told first */
    l->view.watch.refs++; /* it may end at once */
    children_watch_begin(&l->view.watch);
    children_watch_unref(&l->view.watch);
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
    call_ref(&c->call); /* nobody else has it yet */
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
    unsigned telling; /* messages on their way */
    bool held;        /* what was read is told when they have arrived */
    bool told;        /* ALL, once at least */
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

/* What comes faster than it is told is told together. */
static void members_deliver(struct children_watch_message *base)
{
    const struct members_message *m = (struct members_message *)base;
    struct members_observer *o = (struct members_observer *)base->watch;
    zkl_session *s = base->watch->session;

    o->fn(m->event, m->box ? &m->box->info : NULL, m->all, o->data);
    session_lock(s);
    if (--o->telling == 0 && o->held) {
        o->held = false;
        view_try_again(&o->view);
    }
    session_unlock(s);
}

/* Takes box, or all. */
static void members_tell(struct members_observer *o, zkl_members_event event,
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

/* ---- the differences between what it was told and what was read since ---- */

/* Whether they say different things of the same node; either may be NULL, which is no node. */
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

static void members_collect(struct view_entry *e, GArray *all)
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

static void members_tell_all(struct members_observer *o, const GArray *all)
{
    for (guint i = 0; i < all->len; i++) {
        const struct members_news *n = &g_array_index(all, struct members_news, i);
        if (n->what.left)
            members_tell(o, ZKL_MEMBERS_LEFT, member_box_ref(n->before), NULL);
    }
    for (guint i = 0; i < all->len; i++) {
        const struct members_news *n = &g_array_index(all, struct members_news, i);
        if (n->what.joined || n->what.changed)
            members_tell(o, n->what.joined ? ZKL_MEMBERS_JOINED : ZKL_MEMBERS_CHANGED,
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
        members_collect(entry, all);
    g_array_sort(all, members_compare_news);
    members_tell_all(o, all);
    if (all->len > 0 || !o->told)
        members_tell(o, ZKL_MEMBERS_ALL, NULL, members_new(view_boxes(v)));
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
