/* Third parties: an administrator deletes nodes at the worst moment, changes limits or writes over
 * nodes, and restores a backup; somebody asks holders to give way. */
#include <string.h>

#include "group.h"
#include "lib/contender/contender.h"
#include "nodes.h"
#include "permits.h"
#include "recipes/payload.h"
#include "roles.h"

#define MS INT64_C(1000000)

/* ---- who deletes nodes ---- */

enum { DELETER_PERCENT = 25 /* of schedules */, DELETER_LOOKS = 40 /* in a session timeout */ };

/* The node of a contender that is first and proved, and just waits for a deadline: the next proof
 * of its session would grant it the lock. The path is to be freed; NULL: there is none. */
static char *claiming_node(const struct client *p)
{
    if (p->dead || !p->session)
        return NULL;
    for (const GList *l = contenders_of(p->session)->by_deadline.head; l; l = l->next) {
        const struct contender *c = l->data;
        if (c->machine.state == ST_CLAIMING)
            return contender_own_node(c);
    }
    return NULL;
}

static void on_delete(void *data)
{
    struct stream *s = data;
    struct roles *roles = s->roles;

    if (roles->stage->calm)
        return;
    for (unsigned i = 0; i < roles->members; i++) {
        char *node = claiming_node(roles->member[i].process);
        if (node && stream_below(s, 2) == 0)
            world_admin_delete(roles->stage->world, node);
        g_free(node);
    }
    stream_wait_exactly(s, roles->timeout_ms * MS / DELETER_LOOKS);
}

/* ---- who asks holders to give way ---- */

/* Holders want to hear of it, in any order. A holder that wants to hear, and whose node was asked,
 * hears it exactly once: as soon as its session has been proved without a break for a while, and no
 * read of the node was refused. */
enum {
    REVOKER_PERCENT = 20,
    REVOKER_LOOKS = 10, /* in a session timeout */
    PATIENCE = 4        /* timeouts */
};

/* A holder that wants to hear. */
struct heeder {
    struct roles *roles;
    const struct acquisition *acquisition;
    char *node;
    unsigned heard;
    int64_t well_since; /* HELD, and its process running, when it was looked at since */
};

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

static void on_revoking(void *data)
{
    struct stream *s = data;
    struct roles *roles = s->roles;
    const GPtrArray *all = roles->stage->acquisitions;

    for (guint i = 0; i < all->len; i++) {
        struct acquisition *a = all->pdata[i];
        if (!holds(a))
            continue;
        if (!a->heeds && stream_below(s, 4) == 0)
            heed(roles, a);
        if (stream_below(s, 4) == 0)
            ask(roles, a);
    }
    for (guint i = 0; i < roles->heeders->len; i++)
        check(roles->heeders->pdata[i]);
    if (!roles->stage->calm)
        stream_wait_exactly(s, roles->timeout_ms * MS / REVOKER_LOOKS);
}

void admin_draw(struct roles *roles)
{
    stream_begin(&roles->deleter, roles, UINT64_C(0x6d6564646c657235), on_delete);
    if (stream_chance(&roles->deleter, DELETER_PERCENT))
        stream_wait_exactly(&roles->deleter, 0);
    stream_begin(&roles->revoker, roles, UINT64_C(0x7265766f6b657235), on_revoking);
    if (stream_chance(&roles->revoker, REVOKER_PERCENT))
        stream_wait_exactly(&roles->revoker, 0);
    roles->heeders = g_ptr_array_new();
    roles->asked_at = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* ---- who restores a backup ---- */

/* A server that stands alone, and whose data go back: to nothing, or to what they were a while ago.
 * The rule of one holder has an exception for that, as for all that third parties do; but all that
 * wait are served, and nothing is left. Only locks take part: what is proclaimed, observed and
 * written goes by tokens, which begin anew. */
enum { RESTORE_PERCENT = 6, KEPT_PERCENT = 70, AFTERMATH = 5 };

/* If the servers took a session back before its process noticed anything, it has nodes again that
 * it had deleted: only an administrator can know. All others have new sessions by now. */
static void on_aftermath(void *data)
{
    struct stream *s = data;
    struct roles *roles = s->roles;
    int64_t session =
        client_grouping ? group_restored(roles->stage->group) : oracle_restored(roles->stage);

    if (session)
        world_expire(roles->stage->world, session);
    stream_wait_exactly(s, roles->tick_ms * MS);
}

static void on_restore(void *data)
{
    struct stream *s = data;
    struct roles *roles = s->roles;

    if (roles->stage->calm)
        return;
    world_restore(roles->stage->world);
    stage_disturbed(roles->stage, roles->timeout_ms * MS);
    roles->stage->tally.restores++;
    s->act.fn = on_aftermath;
    stream_wait_exactly(s, AFTERMATH * roles->timeout_ms * MS);
}

static void on_keep(void *data)
{
    struct stream *s = data;

    if (s->roles->kept)
        world_keep(s->roles->stage->world);
    s->act.fn = on_restore;
    stream_wait(s, 2 * s->roles->timeout_ms * MS - 1);
}

void restore_draw(struct roles *roles)
{
    struct stream *s = &roles->restorer;

    stream_begin(s, roles, UINT64_C(0x726573746f726565), on_keep);
    if (!stream_chance(s, RESTORE_PERCENT) || roles->servers > 1)
        return;
    roles->kept = stream_chance(s, KEPT_PERCENT);
    roles->actors = 0;
    roles->writes = roles->styles = false;
    roles->foreign.act.at = NEVER;
    stream_wait(s, 2 * roles->timeout_ms * MS - 1);
}

/* ---- who changes the limits of semaphores ---- */

/* Or empties their data, and now and then writes over a node. In Curator's layout all agree on a
 * limit for good. */
enum { LIMITS_PERCENT = 60, HIGHEST = 5, LEASES_MOST = 3 };

/* Writes over the node of a contender, even of one that waits. The text means nothing. If that
 * happens too often, transactions fail. It may write over a request to give way that nobody has
 * read yet: then nobody need hear of it. */
static void write_over_somebody(struct roles *roles)
{
    char *node = g_strdup(oracle_some_node(roles->stage));
    int64_t *asked_at = node ? g_hash_table_lookup(roles->asked_at, node) : NULL;

    if (node)
        world_admin_set(roles->stage->world, node, "x");
    if (asked_at)
        *asked_at = NEVER;
    g_free(node);
}

static void on_change(void *data)
{
    struct stream *s = data;
    struct roles *roles = s->roles;
    struct stage *stage = roles->stage;
    const char *path = client_paths[stream_below(s, roles->paths)];
    const unsigned limit = (unsigned)stream_below(s, HIGHEST + 1);
    const char text[2] = {limit ? (char)('0' + limit) : '\0', '\0'};

    if (stage->calm)
        return;
    if (stream_below(s, 4) == 0 && !roles->writes)
        write_over_somebody(roles);
    else
        stage->tally.limits += world_admin_set(stage->world, path, text);
    stream_wait(s, roles->timeout_ms * MS - 1);
}

void limits_draw(struct roles *roles)
{
    struct stream *s = &roles->limiter;

    stream_begin(s, roles, UINT64_C(0x6c696d6974735f35), on_change);
    if (client_counting && !client_leasing && stream_chance(s, LIMITS_PERCENT))
        stream_wait(s, roles->timeout_ms * MS - 1);
    for (int path = 0; client_leasing && path < PATHS; path++)
        limit_log_agree(roles->stage, path, 1 + (int)stream_below(s, LEASES_MOST));
}
