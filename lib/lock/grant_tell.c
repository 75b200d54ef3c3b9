/* Who is told what of a grant. */
#include "grant_struct.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/probes.h"

_Static_assert((int)LOSS_NONE == ZKL_LOSS_NONE && (int)LOSS_DEADLINE == ZKL_LOSS_DEADLINE &&
                   (int)LOSS_EXPIRED == ZKL_LOSS_EXPIRED && (int)LOSS_DELETED == ZKL_LOSS_DELETED &&
                   (int)LOSS_CLOSED == ZKL_LOSS_CLOSED && (int)LOSS_REPLACED == ZKL_LOSS_REPLACED &&
                   (int)LOSS_REFUSED == ZKL_LOSS_REFUSED,
               "the same numbers");

const char *zkl_strloss(zkl_loss loss)
{
    static const char *const texts[] = {
        [ZKL_LOSS_NONE] = "not lost",
        [ZKL_LOSS_DEADLINE] = "it could not be renewed before its deadline",
        [ZKL_LOSS_EXPIRED] = "the ZooKeeper session expired, or another client closed it",
        [ZKL_LOSS_DELETED] = "somebody else deleted the node",
        [ZKL_LOSS_CLOSED] = "the session was closed",
        [ZKL_LOSS_REPLACED] = "the servers no longer accept the ZooKeeper session",
        [ZKL_LOSS_REFUSED] = "the server refused the credentials",
        [ZKL_LOSS_FORKED] = "called in a forked child",
    };

    return (unsigned)loss < G_N_ELEMENTS(texts) ? texts[loss] : "unknown reason";
}

struct watcher {
    zkl_grant_fn fn;
    void *data;
};

struct message {
    zkl_grant *grant;
    struct watcher watcher;
    zkl_state state;
};

GArray *grant_watchers_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(struct watcher));
}

static void deliver(void *data)
{
    struct message *m = data;

    m->watcher.fn(m->grant, m->state, m->watcher.data);
    grant_unref(m->grant);
    g_free(m);
}

static void tell_one(zkl_grant *g, const struct watcher *watcher, zkl_state state)
{
    struct message *m = g_new(struct message, 1);

    *m = (struct message){grant_ref(g), *watcher, state};
    if (!callbacks_push(g->session->callbacks, deliver, m)) {
        atomic_fetch_sub(&g->refs, 1); /* the caller has one */
        g_free(m);
    }
}

void grant_tell(zkl_grant *g, zkl_state state)
{
    if (g->since != 0 && state == ZKL_SUSPECT)
        PROBE(3, suspect, grant_full_node(g), g->session_id, g->token);
    else if (g->since != 0 && state == ZKL_HELD)
        PROBE(3, held, grant_full_node(g), g->session_id, g->token);
    for (guint i = 0; i < g->watchers->len; i++)
        tell_one(g, &g_array_index(g->watchers, struct watcher, i), state);
    if (state == ZKL_LOST || state == ZKL_RELEASED)
        g_array_set_size(g->watchers, 0);
}

void grant_watch(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    struct watcher watcher = {fn, data};
    zkl_state state = zkl_grant_state(g);
    /* Lost by its deadline, but the contender has not said so yet: that will be the one call. */
    bool final = state == ZKL_RELEASED || (state == ZKL_LOST && !g->contender);

    if (state == ZKL_SUSPECT || final)
        tell_one(g, &watcher, state);
    if (!final)
        g_array_append_val(g->watchers, watcher);
}

int grant_register(zkl_grant *g, zkl_grant_fn fn, void *data, const char *what,
                   void (*watch)(zkl_grant *g, zkl_grant_fn fn, void *data))
{
    int code = 0;

    if (!g || !fn)
        return error_set(ZKL_EINVAL, NULL, "%s: %s is NULL", what, g ? "fn" : "g");
    if (fork_is_child(g->generation))
        return error_set(ZKL_ECHILD, NULL, "%s", zkl_strerror(ZKL_ECHILD));
    session_lock(g->session);
    if (g->session->closed)
        code = error_set(ZKL_ECLOSED, zkl_grant_node(g), "%s: the session was closed",
                         zkl_grant_node(g));
    else
        watch(g, fn, data);
    session_unlock(g->session);
    return code;
}

int zkl_grant_on_change(zkl_grant *g, zkl_grant_fn fn, void *data)
{
    return grant_register(g, fn, data, "zkl_grant_on_change", grant_watch);
}

/* ---- what a holder is called for ---- */

void grant_call(zkl_grant *g, enum grant_call call)
{
    zkl_grant *told = g->turn ? g->turn : g;
    GArray *callees = told->callees[call];

    g->called[call] = true;
    if (told->parts)
        told->called[call] = true;
    if (zkl_grant_state(told) >= ZKL_LOST)
        return;
    for (guint i = 0; callees && i < callees->len; i++)
        tell_one(told, &g_array_index(callees, struct watcher, i), zkl_grant_state(told));
    if (callees)
        g_array_set_size(callees, 0);
}

bool grant_watch_call(zkl_grant *g, enum grant_call call, zkl_grant_fn fn, void *data)
{
    struct watcher watcher = {fn, data};

    if (zkl_grant_state(g) >= ZKL_LOST)
        return false;
    if ((g->span ? g->span : g)->called[call]) {
        tell_one(g, &watcher, zkl_grant_state(g));
        return false;
    }
    if (!g->callees[call])
        g->callees[call] = grant_watchers_new();
    g_array_append_val(g->callees[call], watcher);
    return true;
}

bool grant_is_listened_to(const zkl_grant *g)
{
    guint count = g->watchers->len;

    for (int call = 0; call < GRANT_CALLS; call++)
        count += g->callees[call] ? g->callees[call]->len : 0;
    return count > 0;
}
