/* Observers of a group: the differences between what they were told and what was read since. */
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/session/call.h"
#include "members_options.h"
#include "view.h"

struct observer {
    struct view view; /* the first member */
    zkl_members_fn fn;
    void *data;
    unsigned telling; /* messages on their way */
    bool held;        /* what was read is told when they have arrived */
    bool told;        /* ALL, once at least */
};

/* ---- telling ---- */

struct message {
    struct children_watch_message base;
    zkl_members_event event;
    struct member_box *box; /* or */
    zkl_members *all;
};

static void free_message(struct children_watch_message *base)
{
    struct message *m = (struct message *)base;

    member_box_unref(m->box);
    zkl_members_free(m->all);
    g_free(m);
}

/* What comes faster than it is told is told together. */
static void call(struct children_watch_message *base)
{
    const struct message *m = (struct message *)base;
    struct observer *o = (struct observer *)base->watch;
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
static void tell(struct observer *o, zkl_members_event event, struct member_box *box,
                 zkl_members *all)
{
    struct message *m = g_new0(struct message, 1);

    *m = (struct message){
        .base = {.call = call, .free = free_message}, .event = event, .box = box, .all = all};
    o->telling++;
    children_watch_tell(&o->view.watch, &m->base);
}

/* ---- differences ---- */

struct news {
    struct group_news what;
    struct member_box *before, *now; /* with a reference; NULL: none */
};

static void collect(struct view_entry *e, GArray *all)
{
    static const struct group_node none;
    struct member_box *now = e->listed ? e->now_box : NULL;
    struct news n = {.before = e->told_box};

    n.what = group_see(&e->told, now ? e->now : none, member_boxes_differ(e->told_box, now));
    if (!n.what.left && !n.what.joined && !n.what.changed)
        return;
    n.now = now ? member_box_ref(now) : NULL;
    e->told_box = n.now ? member_box_ref(n.now) : NULL;
    g_array_append_val(all, n);
}

static int compare(gconstpointer a, gconstpointer b)
{
    const struct news *x = a, *y = b;

    return x->what.at < y->what.at ? -1 : x->what.at > y->what.at;
}

static void tell_all(struct observer *o, const GArray *all)
{
    for (guint i = 0; i < all->len; i++) {
        const struct news *n = &g_array_index(all, struct news, i);
        if (n->what.left)
            tell(o, ZKL_MEMBERS_LEFT, member_box_ref(n->before), NULL);
    }
    for (guint i = 0; i < all->len; i++) {
        const struct news *n = &g_array_index(all, struct news, i);
        if (n->what.joined || n->what.changed)
            tell(o, n->what.joined ? ZKL_MEMBERS_JOINED : ZKL_MEMBERS_CHANGED,
                 member_box_ref(n->now), NULL);
        member_box_unref(n->before);
        member_box_unref(n->now);
    }
}

static bool on_seen(struct view *v)
{
    struct observer *o = (struct observer *)v;
    GArray *all;
    GHashTableIter i;
    void *entry;

    if (o->telling > 0) {
        o->held = true;
        return false;
    }
    all = g_array_new(FALSE, FALSE, sizeof(struct news));
    g_hash_table_iter_init(&i, v->entries);
    while (g_hash_table_iter_next(&i, NULL, &entry))
        collect(entry, all);
    g_array_sort(all, compare);
    tell_all(o, all);
    if (all->len > 0 || !o->told)
        tell(o, ZKL_MEMBERS_ALL, NULL, members_new(view_boxes(v)));
    o->told = true;
    g_array_unref(all);
    return true;
}

/* ---- the handle ---- */

int zkl_members_watch(zkl_watch **ret, zkl_session *s, const char *path,
                      const zkl_members_options *options, zkl_members_fn fn, void *data)
{
    zkl_members_options o = ZKL_MEMBERS_OPTIONS_INIT;
    int code = members_options_take(&o, "zkl_members_watch", s, path, options, false);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, path, "zkl_members_watch: fn is NULL");
    session_lock(s);
    if (s->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        struct observer *observer = g_new0(struct observer, 1);
        observer->fn = fn;
        observer->data = data;
        observer->view.layout = o.layout;
        observer->view.watches = true;
        observer->view.seen = on_seen;
        view_init(&observer->view, s, path);
        if (ret)
            *ret = children_watch_handle(&observer->view.watch);
        children_watch_begin(&observer->view.watch);
    }
    session_unlock(s);
    return code;
}
