#include "observer.h"

#include "lib/base/clock.h"
#include "lib/queue/queue.h"
#include "recipes/name.h"
#include "recipes/rule.h"

struct observer {
    struct children_watch watch; /* the first member */
    enum rule rule;              /* of its candidates */
    zkl_leader_fn fn;
    void *data;
    struct observing machine;
    char *first;        /* in the newest list; NULL: nobody */
    char *node, *id;    /* of the first in line that is read */
    char *told_node;    /* of the last leader told */
    GBytes *proclaimed; /* as read last; NULL: nothing, or not known */
    GBytes *told_data;  /* with the last leader; NULL: nothing */
};

static void observer_free(struct children_watch *cw)
{
    struct observer *o = (struct observer *)cw;

    g_clear_pointer(&o->told_data, g_bytes_unref);
    g_clear_pointer(&o->proclaimed, g_bytes_unref);
    g_free(o->first);
    g_free(o->node);
    g_free(o->told_node);
    g_free(o->id);
    g_free(o);
}

/* ---- telling ---- */

struct message {
    struct children_watch_message base;
    uint64_t token;
    char *id, *node;
    GBytes *data;
};

static void observer_free_message(struct children_watch_message *base)
{
    struct message *m = (struct message *)base;

    if (m->data)
        g_bytes_unref(m->data);
    g_free(m->id);
    g_free(m->node);
    g_free(m);
}

static void observer_call(struct children_watch_message *base)
{
    const struct message *m = (struct message *)base;
    const struct observer *o = (struct observer *)base->watch;
    zkl_leader leader = {.token = m->token, .id = m->id, .node = m->node};

    if (m->data)
        leader.data = g_bytes_get_data(m->data, &leader.size);
    if (m->data && !leader.data)
        leader.data = ""; /* proclaimed, but empty */
    o->fn(&leader, o->data);
}

static void observer_push(struct observer *o, bool leads)
{
    struct message *m = g_new0(struct message, 1);

    m->base.call = observer_call;
    m->base.free = observer_free_message;
    m->token = leads ? o->machine.token : 0;
    m->id = g_strdup(leads ? o->id : "");
    m->node = g_strdup(leads ? o->node : "");
    m->data = leads && o->told_data ? g_bytes_ref(o->told_data) : NULL;
    children_watch_tell(&o->watch, &m->base);
}

static struct observer *observer_of(struct driver *d)
{
    return (struct observer *)children_watch_of(d);
}

static void observer_tell(struct driver *d, const struct machine_action *a)
{
    struct observer *o = observer_of(d);
    const bool leads = a->verdict != OBSERVING_TELL_NOBODY;

    if (a->verdict < CHILDREN_TELL_OWN) {
        children_watch_log(&o->watch, (enum children_tell)a->verdict);
        return;
    }
    g_clear_pointer(&o->told_data, g_bytes_unref);
    if (a->verdict == OBSERVING_TELL_PROCLAIMED && o->proclaimed)
        o->told_data = g_bytes_ref(o->proclaimed);
    if (leads) {
        g_free(o->told_node);
        o->told_node = g_strdup(o->node);
    }
    observer_push(o, leads);
}

/* ---- steps ---- */

static bool observer_is_used_up(const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    return rule_exhausted(child.number);
}

static bool observer_same_bytes(GBytes *a, GBytes *b)
{
    return a && b ? g_bytes_equal(a, b) : a == b;
}

static void observer_keep_proclaimed(struct observer *o, const struct machine_event *ev)
{
    const char *data = ev->data ? ev->data : "";
    uint64_t token;
    size_t at;

    g_clear_pointer(&o->proclaimed, g_bytes_unref);
    if (ev->rc == STORE_OK && observe_data(data, ev->length, &token, &at))
        o->proclaimed = g_bytes_new(data + at, ev->length - at);
}

static void observer_keep_id(struct observer *o, const struct machine_event *ev)
{
    const int length = queue_payload_length(o->node, ev->data, (int)ev->length, ev->version);

    g_free(o->id);
    o->id = g_utf8_make_valid(ev->data ? ev->data : "", length);
}

static void observer_keep(struct observer *o, const struct machine_event *ev)
{
    if (ev->node == OBSERVING_DATA && (ev->rc == STORE_OK || ev->rc == STORE_NONODE)) {
        observer_keep_proclaimed(o, ev);
    } else if (ev->verb == STORE_LIST && ev->rc == STORE_OK) {
        g_free(o->first);
        o->first = g_strdup(queue_first(ev->names, (int)ev->count, o->rule));
    } else if (ev->node == OBSERVING_FIRST && ev->rc == STORE_OK) {
        observer_keep_id(o, ev);
    }
}

static void observer_step(struct driver *d, const struct machine_event *ev,
                          struct machine_actions *out)
{
    struct observer *o = observer_of(d);

    if (ev->kind == MACHINE_EV_ANSWER)
        observer_keep(o, ev);
    const struct observing_moment moment = {
        .children = children_watch_moment(&o->watch),
        .patience = session_patience_ms(o->watch.session) * CLOCK_MS,
        .some = o->first != NULL,
        .used_up = o->first && observer_is_used_up(o->first),
        .other_node = g_strcmp0(o->node, o->told_node) != 0,
        .told_any = o->told_data != NULL,
        .same = observer_same_bytes(o->proclaimed, o->told_data)};

    observing_step(&o->machine, ev, &moment, out);
}

static char *observer_path(struct driver *d, unsigned node)
{
    const struct observer *o = observer_of(d);

    return node == OBSERVING_FIRST ? g_strconcat(o->watch.directory, "/", o->node, NULL)
                                   : g_strdup(o->watch.directory);
}

static void observer_name(struct driver *d, unsigned node)
{
    struct observer *o = observer_of(d);

    (void)node;
    g_free(o->node);
    o->node = g_strdup(o->first);
}

static const struct children_watch_kind observer_kind = {
    .driver = {.step = observer_step,
               .path = observer_path,
               .name = observer_name,
               .tell = observer_tell,
               .ref = children_watch_driver_ref,
               .unref = children_watch_driver_unref},
    .doing = "looking for the leader",
    .free = observer_free};

struct children_watch *observer_new(zkl_session *s, const char *directory, enum rule rule,
                                    zkl_leader_fn fn, void *data, GQueue *list)
{
    struct observer *o = g_new0(struct observer, 1);

    o->rule = rule;
    o->fn = fn;
    o->data = data;
    children_watch_init(&o->watch, s, directory, &observer_kind, list);
    return &o->watch;
}

void observer_rewind_all(GQueue *observers)
{
    for (GList *l = observers->head; l; l = l->next)
        observing_rewind(&((struct observer *)l->data)->machine);
}
