/* Somebody asks holders to give way, and holders want to hear of it, in any order. A holder that
 * wants to hear, and whose node was asked, hears it exactly once: as soon as its session has been
 * proved without a break for a while, and no read of the node was refused. The draws come from a
 * stream of their own, as admin.c's do. */
#include <string.h>

#include "nodes.h"
#include "recipes/revoke.h"
#include "roles.h"
#include "unit/seeded.h"

#define MS INT64_C(1000000)
#define STREAM UINT64_C(0x7265766f6b657235)

enum { SCHEDULES_PERCENT = 20, LOOKS = 10 /* in a session timeout */, PATIENCE = 4 /* timeouts */ };

/* A holder that wants to hear. */
struct heeder {
    struct roles *roles;
    const struct acquisition *acquisition;
    char *node;
    unsigned heard;
    int64_t well_since; /* HELD, and its process running, when it was looked at since */
};

void revoker_draw(struct roles *roles, uint64_t seed)
{
    roles->revoking = seed ^ STREAM;
    roles->revokes = seeded_below(&roles->revoking, 100) < SCHEDULES_PERCENT;
    roles->heeders = g_ptr_array_new();
    roles->asked_at = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static void free_heeder(void *data, void *unused)
{
    struct heeder *h = data;

    (void)unused;
    g_free(h->node);
    g_free(h);
}

void revoker_end(struct roles *roles)
{
    g_ptr_array_foreach(roles->heeders, free_heeder, NULL);
    g_ptr_array_unref(roles->heeders);
    g_hash_table_unref(roles->asked_at);
}

/* When the node was asked; 0: it was not. */
static int64_t asked_at(const struct heeder *h, const char *node)
{
    const int64_t *at = g_hash_table_lookup(h->roles->asked_at, node);

    return at ? *at : 0;
}

/* A lock at both paths has two nodes, and either counts. */
static int64_t own_asked_at(const struct heeder *h)
{
    const int64_t at = asked_at(h, h->node);
    const struct acquisition *with = h->acquisition->with;

    return at == 0 && with ? asked_at(h, with->node) : at;
}

static void on_revoke(const zkl_grant *grant, zkl_state state, void *data)
{
    struct heeder *h = data;
    struct stage *stage = h->roles->stage;

    (void)grant;
    (void)state;
    h->heard++;
    stage->tally.revoked++;
    if (h->heard > 1)
        stage_wrong(stage, "%s hears twice that it is asked to give way", h->node);
    if (own_asked_at(h) == 0)
        stage_wrong(stage, "%s hears that it is asked to give way, and is not", h->node);
}

/* Only locks count: observers of an election would find the request where an id should be. */
static bool holds(const struct acquisition *a)
{
    return a->grant && a->path < PATHS && !a->abandoned && client_runs(a->process);
}

static void heed(struct roles *roles, struct acquisition *a)
{
    struct heeder *h = g_new0(struct heeder, 1);
    struct host *before = host_enter(a->process->host);

    *h = (struct heeder){.roles = roles,
                         .acquisition = a,
                         .node = g_strdup(a->node),
                         .well_since = stage_now(roles->stage)};
    a->heeds = zkl_grant_on_revoke(a->grant, on_revoke, h) == 0;
    host_enter(before);
    if (a->heeds)
        g_ptr_array_add(roles->heeders, h);
    else
        free_heeder(h, NULL);
}

static void ask(struct roles *roles, const struct acquisition *a)
{
    const int64_t now = stage_now(roles->stage);

    if (!g_hash_table_contains(roles->asked_at, a->node) &&
        world_admin_set(roles->stage->world, a->node, REVOKE_WORD))
        g_hash_table_insert(roles->asked_at, g_strdup(a->node), g_memdup2(&now, sizeof now));
}

static void check(struct heeder *h)
{
    struct stage *stage = h->roles->stage;
    const int64_t now = stage_now(stage), patience = PATIENCE * h->roles->timeout_ms * MS;
    const struct acquisition *a = h->acquisition;

    if (h->heard > 0)
        return;
    bool well = holds(a);
    if (well) {
        struct host *before = host_enter(a->process->host);
        well = zkl_grant_state(a->grant) == ZKL_HELD;
        host_enter(before);
    }
    const struct contender_node *n = nodes_find(&stage->oracle, h->node);
    h->well_since = !well ? now : n ? MAX(h->well_since, n->refused_at) : h->well_since;
    if (strcmp(a->node, h->node) == 0 && own_asked_at(h) > 0 &&
        now - MAX(h->well_since, own_asked_at(h)) > patience)
        stage_wrong(stage, "%s was asked to give way and does not hear it", h->node);
}

static void on_look(void *data)
{
    struct roles *roles = data;
    const GPtrArray *all = roles->stage->acquisitions;

    for (guint i = 0; i < all->len; i++) {
        struct acquisition *a = all->pdata[i];
        if (!holds(a))
            continue;
        if (!a->heeds && seeded_below(&roles->revoking, 4) == 0)
            heed(roles, a);
        if (seeded_below(&roles->revoking, 4) == 0)
            ask(roles, a);
    }
    for (guint i = 0; i < roles->heeders->len; i++)
        check(roles->heeders->pdata[i]);
    if (!roles->stage->calm)
        roles->revoking_alarm.at = stage_now(roles->stage) + roles->timeout_ms * MS / LOOKS;
}

void revoker_start(struct roles *roles)
{
    roles->revoking_alarm = (struct alarm){NEVER, NULL, on_look, roles};
    if (roles->revokes)
        roles->revoking_alarm.at = stage_now(roles->stage);
    stage_add_alarm(roles->stage, &roles->revoking_alarm);
}
