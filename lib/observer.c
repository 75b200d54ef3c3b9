#include "observer.h"

#include "callbacks.h"
#include "error.h"

void observer_unref(zkl_observer *o)
{
    if (--o->refs > 0)
        return;
    session_unref(o->session);
    g_clear_pointer(&o->told_data, g_bytes_unref);
    g_clear_pointer(&o->proclaimed, g_bytes_unref);
    g_free(o->directory);
    g_free(o->node);
    g_free(o->id);
    g_free(o);
}

/* ---- telling ---- */

struct message {
    zkl_observer *observer;
    uint64_t token;
    char *id, *node;
    GBytes *data;
};

static void free_message(struct message *m)
{
    observer_unref(m->observer);
    if (m->data)
        g_bytes_unref(m->data);
    g_free(m->id);
    g_free(m->node);
    g_free(m);
}

static void call(const struct message *m)
{
    zkl_leader leader = {.token = m->token, .id = m->id, .node = m->node};

    if (m->data)
        leader.data = g_bytes_get_data(m->data, &leader.size);
    if (m->data && !leader.data)
        leader.data = ""; /* proclaimed, but empty */
    m->observer->fn(&leader, m->observer->data);
}

static void deliver(void *data)
{
    struct message *m = data;
    zkl_observer *o = m->observer;
    zkl_session *s = o->session; /* open as long as there are callbacks */

    session_lock(s);
    if (!o->stopped) {
        o->calls++;
        session_unlock(s);
        call(m);
        session_lock(s);
        o->calls--;
        pthread_cond_broadcast(&s->changed);
    }
    free_message(m);
    session_unlock(s);
}

static void push(zkl_observer *o, uint64_t token)
{
    struct message *m = g_new0(struct message, 1);

    m->observer = o;
    m->token = token;
    m->id = g_strdup(token ? o->id : "");
    m->node = g_strdup(token ? o->node : "");
    m->data = token && o->told_data ? g_bytes_ref(o->told_data) : NULL;
    o->refs++;
    if (!callbacks_push(o->session->callbacks, deliver, m))
        free_message(m);
}

static bool same_bytes(GBytes *a, GBytes *b)
{
    return a && b ? g_bytes_equal(a, b) : a == b;
}

void observer_tell(zkl_observer *o, uint64_t token)
{
    GBytes *data = token && o->data_token == token ? o->proclaimed : NULL;
    enum observe_tell tell = observe_see(&o->told, token, !same_bytes(data, o->told_data));

    if (tell == OBSERVE_NOTHING)
        return;
    g_clear_pointer(&o->told_data, g_bytes_unref);
    if (tell == OBSERVE_LEADER && data)
        o->told_data = g_bytes_ref(data);
    push(o, tell == OBSERVE_LEADER ? token : 0);
}

/* ---- the handle ---- */

void observer_up(zkl_observer *o)
{
    o->data_known = o->data_asked = false;
    observer_look(o, true);
}

void observer_stop(zkl_observer *o)
{
    if (o->stopped)
        return;
    o->stopped = true;
    o->look++;
    o->data_look++;
    timers_cancel(&o->timer);
    watch_drop(&o->node_interest, false);
    watch_drop(&o->directory_interest, false);
    watch_drop(&o->data_interest, false);
    g_queue_unlink(o->list, &o->link);
    observer_unref(o); /* the election's */
}

static zkl_observer *observer_new(zkl_election *e, zkl_leader_fn fn, void *data)
{
    zkl_observer *o = g_new0(zkl_observer, 1);

    o->refs = 1;
    o->session = session_ref(e->session);
    o->directory = g_strdup(e->directory);
    o->kind = e->kind;
    o->fn = fn;
    o->data = data;
    o->list = &e->observers;
    o->link.data = o;
    g_queue_push_tail_link(o->list, &o->link);
    observer_listen(o);
    return o;
}

int zkl_election_observe(zkl_election *e, zkl_leader_fn fn, void *data, zkl_observer **ret)
{
    int code = election_check(e, false);

    if (code)
        return code;
    if (!fn)
        return error_set(ZKL_EINVAL, election_path(e),
                         "zkl_election_observe: a function is needed");
    session_lock(e->session);
    if (e->session->closing) {
        code = error_set(ZKL_ECLOSED, NULL, "the session was closed");
    } else {
        zkl_observer *o = observer_new(e, fn, data);
        if (ret) {
            o->refs++;
            *ret = o;
        }
        observer_look(o, true);
    }
    session_unlock(e->session);
    return code;
}

void zkl_observer_free(zkl_observer *o)
{
    zkl_session *s;

    if (!o || fork_is_child(o->session->generation))
        return;
    s = session_ref(o->session);
    session_lock(s);
    observer_stop(o);
    while (o->calls > 0 && !callbacks_inside())
        session_wait_change(s, NULL);
    observer_unref(o);
    session_unlock(s);
    session_unref(s);
}
