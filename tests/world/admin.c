/* What an administrator does, and what containers come to. */
#include <string.h>

#include "inside.h"

/* Done at once: whoever asks does not wait for a majority, but there must be one. */
static bool decree(struct world *w, struct ask *ask, enum cause cause)
{
    struct server *leader = world_working(w);
    bool done = false;

    if (leader) {
        ask->cause = cause;
        ask->server = leader->number;
        leader_take(leader, ask);
        leader_commit_all(leader);
        done = ask->reply.rc == STORE_OK;
    }
    ask_unref(ask);
    return done;
}

static struct ask *ask_about(enum store_kind kind, const char *path)
{
    const struct store_request request = {.kind = kind, .path = path, .version = -1};

    return ask_of(&request);
}

/* Parents first. */
static void collect(const struct node *n, GPtrArray *paths)
{
    g_ptr_array_add(paths, g_strdup(n->path));
    for (guint i = 0; i < n->children->len; i++)
        collect(n->children->pdata[i], paths);
}

/* Children first. */
bool world_admin_delete(struct world *w, const char *path)
{
    const struct server *leader = world_working(w);
    const struct node *n = leader ? tree_find(leader->head, path) : NULL;
    GPtrArray *paths;
    bool done = n != NULL;

    if (!n)
        return false;
    paths = g_ptr_array_new_with_free_func(g_free);
    collect(n, paths);
    for (guint i = paths->len; i > 0 && done; i--)
        done = decree(w, ask_about(STORE_DELETE, paths->pdata[i - 1]), CAUSE_ADMIN);
    g_ptr_array_unref(paths);
    return done;
}

bool world_admin_set(struct world *w, const char *path, const char *data)
{
    const struct store_request request = {
        .kind = STORE_SET, .path = path, .data = data, .length = (int)strlen(data), .version = -1};

    return decree(w, ask_of(&request), CAUSE_ADMIN);
}

bool world_admin_create(struct world *w, const char *path, const char *data, bool container)
{
    const struct store_request request = {
        .kind = STORE_CREATE,
        .path = path,
        .data = data,
        .length = data ? (int)strlen(data) : 0,
        .mode = container ? STORE_CONTAINER : STORE_PERSISTENT,
    };

    return decree(w, ask_of(&request), CAUSE_ADMIN);
}

bool world_expire(struct world *w, int64_t session)
{
    struct server *leader = world_working(w);
    struct tracked *t = leader ? sessions_find(leader, session) : NULL;

    if (!t)
        return false;
    t->closing = true;
    return decree(w, ask_new(ASK_END, session), CAUSE_FORCED);
}

static void collect_empty(const struct node *n, GPtrArray *paths)
{
    if (n->container && n->creations > 0 && n->children->len == 0)
        g_ptr_array_add(paths, g_strdup(n->path));
    for (guint i = 0; i < n->children->len; i++)
        collect_empty(n->children->pdata[i], paths);
}

void world_reap(struct world *w)
{
    const struct server *leader = world_working(w);
    GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);

    if (leader)
        collect_empty(leader->head->root, paths);
    for (guint i = 0; i < paths->len; i++)
        decree(w, ask_about(STORE_DELETE, paths->pdata[i]), CAUSE_REAPED);
    g_ptr_array_unref(paths);
}

static void set_counter(struct tree *tree, const char *path, int32_t next)
{
    struct node *n = tree ? tree_find(tree, path) : NULL;

    if (n)
        n->creations = next;
}

bool world_set_counter(struct world *w, const char *path, int32_t next)
{
    if (!tree_find(world_newest(w)->tree, path))
        return false;
    for (unsigned i = 0; i < w->count; i++) {
        struct server *s = &w->servers[i];
        set_counter(s->tree, path, next);
        if (s->head != s->tree)
            set_counter(s->head, path, next);
    }
    return true;
}

void world_lack(struct world *w, enum world_lacks lacks)
{
    w->config.lacks = lacks;
}

void world_refuse(struct world *w, enum store_kind kind, const char *path)
{
    if (kind == STORE_SYNC) {
        g_array_set_size(w->refusals, 0);
        return;
    }
    struct refusal r = {kind, g_strdup(path)};
    g_array_append_val(w->refusals, r);
}
