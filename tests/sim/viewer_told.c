/* The story that an observer is told. */
#include "viewer.h"

#include <string.h>

#include "client.h"

/* A party's ids are data. */
static const char *data_of(const zkl_member_info *m, int path)
{
    return path == GROUP_PARTY ? m->id : m->data;
}

/* Where the node had these data, from then on; -1: it never had. */
static int find_data(const struct member_node *n, const zkl_member_info *m, guint from)
{
    const char *data = data_of(m, n->path);

    for (guint i = from; i < n->data->len; i++)
        if (strcmp(n->data->pdata[i], data) == 0)
            return (int)i;
    return -1;
}

static const char *on_joined(struct viewer *v, const zkl_member_info *m)
{
    const struct group *g = v->process->stage->group;
    const struct member_node *n = group_find(g, v->path, m->node, m->token);
    const uint64_t *last = g_hash_table_lookup(v->last, m->node);
    const int at = n ? find_data(n, m, 0) : -1;

    if (g_hash_table_contains(v->told, m->node))
        return "it joins, and has not left";
    if (last && m->token <= *last && !g->restored)
        return "it joins again with a token that is not above the last one";
    if (v->batch >= m->token && !g->restored)
        return "it joins, and one that joined later was told before";
    if (!n || n->session != m->session_id || at < 0)
        return "it was never so";
    const struct told t = {n, (guint)at};
    g_hash_table_insert(v->told, g_strdup(m->node), g_memdup2(&t, sizeof t));
    g_hash_table_insert(v->last, g_strdup(m->node), g_memdup2(&m->token, sizeof m->token));
    v->batch = m->token;
    v->others = true;
    return NULL;
}

static const char *on_left(struct viewer *v, const zkl_member_info *m)
{
    const struct told *t = g_hash_table_lookup(v->told, m->node);

    if (!t || t->node->token != m->token)
        return "it leaves, and is not there";
    if (v->others)
        return "it leaves, and one that joined was told before";
    if (strcmp(t->node->data->pdata[t->at], data_of(m, v->path)) != 0)
        return "it leaves with other data than it had";
    if (t->node->gone_at == NEVER && !v->process->stage->group->restored)
        return "it leaves, and is there all the time";
    g_hash_table_remove(v->told, m->node);
    return NULL;
}

/* Another node may have the same token where the servers' data have gone back. */
static const char *on_changed(struct viewer *v, const zkl_member_info *m)
{
    struct group *g = v->process->stage->group;
    struct told *t = g_hash_table_lookup(v->told, m->node);
    int at = t ? find_data(t->node, m, t->at + 1) : -1;

    if (!t || t->node->token != m->token)
        return "it changes, and is not there";
    if (at < 0 && g->restored) {
        t->node = group_find(g, v->path, m->node, m->token);
        at = find_data(t->node, m, 0);
    }
    if (at < 0)
        return "it changes, and had no such data since";
    t->at = (guint)at;
    v->others = true;
    return NULL;
}

static const char *on_all(struct viewer *v, const zkl_members *all)
{
    if (!v->news && v->any)
        return "all are told again";
    if (zkl_members_count(all) != g_hash_table_size(v->told))
        return "all are more or fewer than it was told";
    for (size_t i = 0; i < zkl_members_count(all); i++) {
        const zkl_member_info *m = zkl_members_get(all, i);
        const struct told *t = g_hash_table_lookup(v->told, m->node);
        if (!t || t->node->token != m->token ||
            strcmp(t->node->data->pdata[t->at], data_of(m, v->path)) != 0)
            return "one of all is not as it was told";
    }
    v->any = true;
    v->news = v->others = false;
    v->batch = 0;
    return NULL;
}

void viewer_hears(zkl_members_event event, const zkl_member_info *m, const zkl_members *all,
                  void *data)
{
    static const char signs[] = " +-~=";
    struct viewer *v = data;
    const char *what;

    if (v->abandoned)
        return;
    trace_line(v->process->stage->trace, stage_now(v->process->stage), host_name(v->process->host),
               "v%u is told %c%s %" G_GINT64_MODIFIER "x", v->number, signs[event],
               m ? m->node : "", m ? m->token : zkl_members_count(all));
    what = v->ended                       ? "it is told something behind its end"
           : event == ZKL_MEMBERS_JOINED  ? on_joined(v, m)
           : event == ZKL_MEMBERS_LEFT    ? on_left(v, m)
           : event == ZKL_MEMBERS_CHANGED ? on_changed(v, m)
                                          : on_all(v, all);
    if (what)
        viewer_wrong(v, m ? m->node : "all", what);
    v->news |= event != ZKL_MEMBERS_ALL;
    v->process->stage->tally.seen += event != ZKL_MEMBERS_ALL;
}
