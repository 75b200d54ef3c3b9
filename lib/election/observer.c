#include "observer.h"

void observer_free(struct children_watch *cw)
{
    struct observer *o = (struct observer *)cw;

    g_clear_pointer(&o->told_data, g_bytes_unref);
    g_clear_pointer(&o->proclaimed, g_bytes_unref);
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

static void free_message(struct children_watch_message *base)
{
    struct message *m = (struct message *)base;

    if (m->data)
        g_bytes_unref(m->data);
    g_free(m->id);
    g_free(m->node);
    g_free(m);
}

static void call(struct children_watch_message *base)
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

static void push(struct observer *o, uint64_t token)
{
    struct message *m = g_new0(struct message, 1);

    m->base.call = call;
    m->base.free = free_message;
    m->token = token;
    m->id = g_strdup(token ? o->id : "");
    m->node = g_strdup(token ? o->node : "");
    m->data = token && o->told_data ? g_bytes_ref(o->told_data) : NULL;
    children_watch_tell(&o->watch, &m->base);
}

void observer_tell(struct observer *o, uint64_t token, GBytes *proclaimed)
{
    g_clear_pointer(&o->told_data, g_bytes_unref);
    if (proclaimed)
        o->told_data = g_bytes_ref(proclaimed);
    if (token) {
        g_free(o->told_node);
        o->told_node = g_strdup(o->node);
    }
    push(o, token);
}

void observer_rewind_all(GQueue *observers)
{
    for (GList *l = observers->head; l; l = l->next)
        observing_rewind(&((struct observer *)l->data)->machine);
}
