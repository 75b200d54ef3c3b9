#include "group.h"

#include <string.h>

#include "client.h"
#include "joiner.h"
#include "viewer.h"

const char *const group_paths[GROUP_PATHS] = {"/g", "/p"};

/* ---- making one ---- */

static void free_node(void *node)
{
    struct member_node *n = node;

    g_ptr_array_unref(n->data);
    g_free(n->name);
    g_free(n);
}

struct group *group_new(struct stage *stage)
{
    struct group *g = g_new0(struct group, 1);

    g->stage = stage;
    g->nodes = g_ptr_array_new_with_free_func(free_node);
    g->joiners = g_ptr_array_new_with_free_func(joiner_free);
    g->viewers = g_ptr_array_new_with_free_func(viewer_free);
    return g;
}

void group_free(struct group *g)
{
    if (!g)
        return;
    g_ptr_array_unref(g->viewers);
    g_ptr_array_unref(g->joiners);
    g_ptr_array_unref(g->nodes);
    g_free(g);
}

/* ---- looking ---- */

struct member_node *group_find(const struct group *g, int path, const char *name, uint64_t token)
{
    for (guint i = g->nodes->len; i-- > 0;) {
        struct member_node *n = g->nodes->pdata[i];
        if (n->path == path && n->token == token && strcmp(n->name, name) == 0)
            return n;
    }
    return NULL;
}

struct member_node *group_standing(const struct group *g, int path, const char *name)
{
    for (guint i = g->nodes->len; i-- > 0;) {
        struct member_node *n = g->nodes->pdata[i];
        if (n->path == path && n->gone_at == NEVER && strcmp(n->name, name) == 0)
            return n;
    }
    return NULL;
}

static guint group_size(const struct group *g, int path)
{
    guint size = 0;

    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        size += n->path == path && n->gone_at == NEVER;
    }
    return size;
}

static char *full_path(const struct member_node *n)
{
    return g_strconcat(group_paths[n->path], "/", n->name, NULL);
}

char *group_some_node(const struct group *g, uint32_t random)
{
    const guint all = group_size(g, 0) + group_size(g, GROUP_PARTY);
    guint at = all ? random % all : 0;

    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->gone_at == NEVER && at-- == 0)
            return full_path(n);
    }
    return NULL;
}

int64_t group_restored(const struct group *g)
{
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->gone_at == NEVER && n->undone)
            return n->session;
    }
    return 0;
}

char *group_remains(const struct group *g)
{
    for (guint i = 0; i < g->nodes->len; i++) {
        const struct member_node *n = g->nodes->pdata[i];
        if (n->gone_at == NEVER)
            return full_path(n);
    }
    return NULL;
}

/* ---- what the servers commit ---- */

static int path_of(const char *node, const char **ret_name)
{
    for (int i = 0; i < GROUP_PATHS; i++) {
        const size_t length = strlen(group_paths[i]);
        if (strncmp(node, group_paths[i], length) == 0 && node[length] == '/') {
            *ret_name = node + length + 1;
            return i;
        }
    }
    return -1;
}

static const struct client *client_on(const struct stage *stage, const struct host *host)
{
    for (guint i = 0; i < stage->processes->len; i++) {
        const struct client *p = stage->processes->pdata[i];
        if (p->host == host)
            return p;
    }
    return NULL;
}

static void add_data(struct member_node *n, const char *data, size_t length)
{
    g_ptr_array_add(n->data, g_strndup(data ? data : "", data ? length : 0));
}

static void wrong(const struct group *g, const struct member_node *n, const struct host *who,
                  const char *what)
{
    stage_wrong(g->stage, "%s %s %s/%s, of %s", who ? host_name(who) : "nobody", what,
                group_paths[n->path], n->name, n->owner ? host_name(n->owner->host) : "nobody");
}

static void note_created(struct group *g, const struct note *note, int path, const char *name)
{
    struct member_node *n = g_new0(struct member_node, 1);

    n->path = path;
    n->name = g_strdup(name);
    n->token = note->zxid;
    n->session = note->session;
    n->owner = client_on(g->stage, note->host);
    n->data = g_ptr_array_new_with_free_func(g_free);
    n->made_at = stage_now(g->stage);
    n->gone_at = NEVER;
    add_data(n, note->data, note->length);
    g_ptr_array_add(g->nodes, n);
    if (path != GROUP_PARTY)
        joiner_stored(g, n);
}

/* Third parties, and the one case that is left (see above). */
static bool is_taken(const struct group *g, const struct member_node *n, const struct note *note)
{
    if (note->cause != CAUSE_REQUEST)
        return note->cause == CAUSE_ADMIN || note->cause == CAUSE_FORCED;
    return g->administered[n->path] && n->owner && n->owner->host != note->host;
}

static void note_deleted(struct group *g, const struct note *note, int path, const char *name)
{
    struct member_node *n = group_standing(g, path, name);

    if (!n)
        return;
    n->gone_at = stage_now(g->stage);
    n->taken = is_taken(g, n, note);
    g->administered[path] |= note->cause == CAUSE_ADMIN;
    if (note->cause == CAUSE_REQUEST && !n->taken && n->session != note->session)
        wrong(g, n, note->host, "deletes");
}

static void note_changed(struct group *g, const struct note *note, int path, const char *name)
{
    struct member_node *n = group_standing(g, path, name);

    if (!n)
        return;
    if (!n->owner || (n->owner->host != note->host && !g->administered[path]))
        wrong(g, n, note->host, "writes into");
    add_data(n, note->data, note->length);
    joiner_stored(g, n);
}

/* Nodes are as they were. */
static void note_restored(struct group *g)
{
    g->restored = true;
    for (guint i = 0; i < g->nodes->len; i++) {
        struct member_node *n = g->nodes->pdata[i];
        char *path = full_path(n);
        uint64_t token = 0;
        size_t length = 0;
        const bool stands = world_exists(g->stage->world, path, NULL, &token) && token == n->token;
        n->undone = n->undone || (stands && n->gone_at != NEVER);
        n->taken = n->taken || (!stands && n->gone_at == NEVER);
        if (stands != (n->gone_at == NEVER))
            n->gone_at = stands ? NEVER : stage_now(g->stage);
        if (stands) {
            const char *data = world_data(g->stage->world, path, &length);
            add_data(n, data, length);
        }
        g_free(path);
    }
}

void group_note(struct stage *stage, const struct note *note)
{
    static void (*const handlers[])(struct group * g, const struct note *note, int path,
                                    const char *name) = {[NOTE_CREATED] = note_created,
                                                         [NOTE_DELETED] = note_deleted,
                                                         [NOTE_CHANGED] = note_changed};
    struct group *g = stage->group;
    const char *name;
    int path;

    if (g && note->kind == NOTE_RESTORED)
        note_restored(g);
    else if (g && note->kind == NOTE_EVENT)
        viewers_shaken(g, note->host);
    if (!g || note->kind > NOTE_CHANGED || (path = path_of(note->path, &name)) < 0)
        return;
    handlers[note->kind](g, note, path, name);
}

/* ---- all of them ---- */

void group_check(struct stage *stage)
{
    if (stage->group)
        joiners_check(stage->group);
}

void group_close(struct client *p)
{
    if (p->stage->group)
        joiners_close(p);
}

void group_closed(struct client *p)
{
    if (!p->stage->group)
        return;
    joiners_closed(p);
    viewers_closed(p);
}

void group_abandon(struct client *p)
{
    if (!p->stage->group)
        return;
    joiners_abandon(p);
    viewers_abandon(p);
}
