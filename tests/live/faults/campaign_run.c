#include "campaign.h"

#include <stdio.h>

enum { STEP_US = 10000, GRACE_S = 900 };

struct play {
    struct campaign *c;
    struct scene scene;
    GRand *rand;
    GArray *faults;      /* of struct fault, under way */
    int64_t next_client; /* when the next of each sort may begin; monotonic us */
    int64_t next_server;
    bool server_busy;
    bool busy[ACTORS_MAX];
    guint counted;                /* events looked at */
    claim_kind wants[ACTORS_MAX]; /* by the last of those */
    int grants[CLAIM_KINDS];
    int later_turns; /* of tokens */
};

static int64_t soon(struct play *p, int min_ms, int max_ms)
{
    return g_get_monotonic_time() + g_rand_int_range(p->rand, min_ms, max_ms) * INT64_C(1000);
}

static bool fits(const struct play *p, enum fault_scope scope, bool for_client)
{
    if (for_client)
        return scope == SCOPE_CLIENT;
    return scope == SCOPE_SERVER || scope == SCOPE_THIRD ||
           (scope == SCOPE_ENSEMBLE && p->c->nodes > 1);
}

/* By weight. */
static int draw_kind(struct play *p, bool for_client)
{
    int sum = 0, kind = 0;

    for (int k = 0; k < fault_kind_count; k++)
        if (fits(p, fault_kinds[k].scope, for_client))
            sum += fault_kinds[k].weight;
    int left = g_rand_int_range(p->rand, 0, sum);
    for (;; kind++) {
        if (!fits(p, fault_kinds[kind].scope, for_client))
            continue;
        left -= fault_kinds[kind].weight;
        if (left < 0)
            return kind;
    }
}

/* A holder as often as not, since the others have less to lose. */
static int draw_worker(struct play *p)
{
    const int count = p->scene.actors;
    int worker = g_rand_int_range(p->rand, 0, count);
    bool aimed = g_rand_boolean(p->rand);

    for (int i = 0; aimed && i < count; i++)
        if (scene_holds(&p->scene, (worker + i) % count))
            return (worker + i) % count;
    return worker;
}

static void begin(struct play *p, bool for_client)
{
    struct fault f = {.kind = draw_kind(p, for_client), .worker = -1, .node = -1};
    const struct fault_kind *kind = &fault_kinds[f.kind];
    int S = p->scene.o.timeout_ms;

    if (for_client) {
        f.worker = draw_worker(p);
        if (p->busy[f.worker])
            return;
    }
    f.until = soon(p, S * kind->min_permille / 1000, S * kind->max_permille / 1000 + 1);
    scene_record(&p->scene, f.worker, EV_FAULT, f.kind, 0);
    if (!kind->begin(&p->scene, &f, p->rand))
        return;
    p->c->injected[f.kind]++;
    if (for_client)
        p->busy[f.worker] = true;
    else
        p->server_busy = true;
    g_array_append_val(p->faults, f);
}

static void finish(struct play *p, guint i)
{
    const struct fault f = g_array_index(p->faults, struct fault, i);
    int S = p->scene.o.timeout_ms;

    if (fault_kinds[f.kind].end)
        fault_kinds[f.kind].end(&p->scene, &f);
    if (f.worker >= 0) {
        p->busy[f.worker] = false;
    } else {
        p->server_busy = false;
        p->next_server = soon(p, S / 2, 2 * S);
    }
    g_array_remove_index_fast(p->faults, i);
}

static void count_grants(struct play *p)
{
    scene_poll(&p->scene);
    for (; p->counted < p->scene.h->events->len; p->counted++) {
        const event *e = &g_array_index(p->scene.h->events, event, p->counted);

        if (e->kind == EV_WANT)
            p->wants[e->worker] = claim_unpack(e->value).kind;
        if (e->kind == EV_GRANT)
            p->grants[p->wants[e->worker]]++;
        p->later_turns += e->kind == EV_GRANT && e->turn > 0;
    }
}

/* Each kind was granted often enough, and what else there is to see was seen. */
static bool has_enough(const struct play *p)
{
    const unsigned claims = roles_claims(p->c->roles);

    for (int k = 0; k < CLAIM_KINDS; k++)
        if (claims >> k & 1 && p->grants[k] < MAX(1, p->c->grants))
            return false;
    return p->later_turns > 0 || !roles_retain(p->c->roles);
}

static void step(struct play *p)
{
    int64_t now = g_get_monotonic_time();

    for (guint i = p->faults->len; i > 0; i--)
        if (g_array_index(p->faults, struct fault, i - 1).until <= now)
            finish(p, i - 1);
    if (now >= p->next_client) {
        begin(p, true);
        p->next_client = soon(p, 100, 700);
    }
    if (now >= p->next_server && !p->server_busy)
        begin(p, false);
    g_usleep(STEP_US);
}

/* Long enough, and with grants enough; but not for ever. */
static void play(struct play *p)
{
    int64_t begun = g_get_monotonic_time(), second = G_USEC_PER_SEC;

    p->next_server = soon(p, 500, 1500);
    for (;;) {
        int64_t ran = (g_get_monotonic_time() - begun) / second;

        if ((ran >= p->c->seconds && has_enough(p)) || ran >= p->c->seconds + GRACE_S)
            break;
        for (int i = 0; i < 20; i++)
            step(p);
        count_grants(p);
    }
    while (p->faults->len > 0)
        finish(p, 0);
    p->c->took_s = (int)((g_get_monotonic_time() - begun) / second);
}

static bool start(struct play *p)
{
    const struct scene_options so = {.nodes = p->c->nodes,
                                     .tick_ms = g_rand_int_range(p->rand, 200, 301),
                                     .timeout_ms = g_rand_int_range(p->rand, 1000, 1601),
                                     .sync_limit = 16, /* longer than any session timeout */
                                     .paths = p->c->roles->paths};

    printf("campaign: %s, seed %d, %d server%s, tick %d ms, session timeout %d ms, %d workers on "
           "%d paths\n",
           p->c->roles->recipe, p->c->seed, so.nodes, so.nodes > 1 ? "s" : "", so.tick_ms,
           so.timeout_ms, p->c->roles->count, so.paths);
    fflush(stdout);
    if (!scene_start(&p->scene, &so))
        return false;
    for (int w = 0; w < p->c->roles->count; w++) {
        const struct role *role = &p->c->roles->role[w];
        const struct actor_options ao = {.node = -1,
                                         .does = {.hold_max_ms = so.timeout_ms * 4,
                                                  .rest_ms = 20,
                                                  .retain_ms = role->retain_ms,
                                                  .takes = (int)role->takes,
                                                  .paths = (int)role->paths,
                                                  .seed = p->c->seed * 1000 + w * 100}};
        if (scene_add(&p->scene, &ao) < 0)
            return false;
    }
    return true;
}

static void explain(struct play *p)
{
    char *name = g_strdup_printf("campaign-%s-%d-%d", p->c->roles->recipe, p->c->nodes, p->c->seed);
    judge_input in;

    scene_input(&p->scene, &in, p->c->judgement->nodes_left);
    judgement_explain(p->c->judgement, &in, 5);
    scratch_keep(&p->scene.scratch, name);
    g_free(name);
}

bool campaign_run(struct campaign *c)
{
    struct play p = {.c = c, .scene = {.record = -1}};
    bool ok;

    p.rand = g_rand_new_with_seed((guint32)c->seed);
    p.faults = g_array_new(FALSE, TRUE, sizeof(struct fault));
    ok = start(&p);
    if (ok) {
        play(&p);
        c->judgement = scene_judge(&p.scene);
        if (!judgement_passes(c->judgement))
            explain(&p);
    }
    scene_stop(&p.scene);
    g_array_free(p.faults, TRUE);
    g_rand_free(p.rand);
    return ok;
}
