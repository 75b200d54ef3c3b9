#include "viewer.h"

#include <string.h>

#include "client.h"
#include "lib/session/core.h"

static struct stage *stage_of(const struct viewer *v)
{
    return v->process->stage;
}

void viewer_wrong(const struct viewer *v, const char *name, const char *what)
{
    stage_wrong(stage_of(v), "%s/v%u at %s, of %s: %s", host_name(v->process->host), v->number,
                group_paths[v->path], name, what);
}

/* ---- the truth ---- */

const char *viewer_errs(const struct viewer *v)
{
    const struct group *g = stage_of(v)->group;

    if (!v->any)
        return "nobody has told it who is there";
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        const struct told *t = g_hash_table_lookup(v->told, n->name);
        const bool told = t && t->node == n;
        if (n->path != v->path)
            continue;
        if (told != (n->gone_at == NEVER))
            return told ? "one has left, and it was not told" : "one is there, and it was not told";
        if (told && strcmp(n->data->pdata[t->at], n->data->pdata[n->data->len - 1]) != 0)
            return "one has other data, and it was not told";
    }
    return NULL;
}

/* What has been so since then is known. */
static bool is_known(const struct viewer *v, int64_t at)
{
    const struct stage *stage = stage_of(v);
    const int64_t since = MAX(MAX(at, v->well_since), v->process->running_since);

    return stage_now(stage) - since > stage->group->stale_ns;
}

void viewer_check(struct viewer *v)
{
    const struct stage *stage = stage_of(v);
    const struct group *g = stage->group;

    if (!viewer_is_there(v) || !client_runs(v->process) || !v->process->session->up ||
        stage->oracle.refusing || g->restored)
        return;
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        const struct told *t = g_hash_table_lookup(v->told, n->name);
        const bool told = t && t->node == n;
        if (n->path != v->path)
            continue;
        if (told && n->gone_at != NEVER && is_known(v, n->gone_at))
            viewer_wrong(v, n->name, "it has left long ago, and that was not told");
        if (!told && n->gone_at == NEVER && is_known(v, n->made_at))
            viewer_wrong(v, n->name, "it has been there for long, and that was not told");
    }
}

/* ---- the handle ---- */

struct viewer *viewer_new(struct client *p, int path)
{
    struct viewer *v = g_new0(struct viewer, 1);
    struct host *before = host_enter(p->host);

    g_ptr_array_add(p->stage->group->viewers, v);
    v->process = p;
    v->number = p->stage->group->viewers->len;
    v->path = path;
    v->well_since = stage_now(p->stage);
    v->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    v->last = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    const zkl_member_layout layout = path == GROUP_PARTY ? ZKL_MEMBER_PARTY : ZKL_MEMBER_GROUP;
    trace_line(p->stage->trace, stage_now(p->stage), host_name(p->host), "v%u observes %s",
               v->number, group_paths[path]);
    if (zkl_members_watch(&v->watch, p->session, group_paths[path], layout, viewer_hears, v) != 0)
        viewer_wrong(v, "all", "nothing can be observed");
    host_enter(before);
    return v;
}

void viewer_free(void *viewer)
{
    struct viewer *v = viewer;

    g_hash_table_unref(v->told);
    g_hash_table_unref(v->last);
    g_free(v);
}

bool viewer_is_there(const struct viewer *v)
{
    return v->watch && !v->ended && !v->abandoned;
}

void viewer_end(struct viewer *v)
{
    struct host *before = host_enter(v->process->host);

    trace_line(stage_of(v)->trace, stage_now(stage_of(v)), host_name(v->process->host),
               "v%u observes no more", v->number);
    v->ended = true;
    zkl_watch_free(g_steal_pointer(&v->watch));
    host_enter(before);
}

void viewers_shaken(struct group *g, const struct host *host)
{
    for (guint i = 0; i < g->viewers->len; i++) {
        struct viewer *v = g->viewers->pdata[i];
        if (v->process->host == host)
            v->well_since = stage_now(g->stage);
    }
}

void viewers_closed(struct client *p)
{
    const struct group *g = p->stage->group;

    for (guint i = 0; i < g->viewers->len; i++) {
        struct viewer *v = g->viewers->pdata[i];
        if (v->process != p)
            continue;
        v->ended = true;
        zkl_watch_free(g_steal_pointer(&v->watch));
    }
}

void viewers_abandon(struct client *p)
{
    const struct group *g = p->stage->group;

    for (guint i = 0; i < g->viewers->len; i++) {
        struct viewer *v = g->viewers->pdata[i];
        if (v->process == p)
            v->abandoned = true;
    }
}
