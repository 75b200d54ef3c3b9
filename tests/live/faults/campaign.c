/* campaign: random faults from a seed between servers and workers, and the judgement of what the
 * workers recorded. Without options a short selection with fixed seeds. */
#include "inject.h"

#include "tests/history/worker.h"
#include "tests/support/progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64, EXIT_SKIPPED = 77 };

/* ---- the roles, by what is to be shown ---- */

struct role {
    enum turn_kind takes;
    unsigned paths;
    int retain_ms;
};

struct roles {
    const char *recipe;
    int paths, count;
    int calm_ms; /* more between two faults, of clients and of servers */
    struct role role[ACTORS_MAX];
};

enum { RETAIN_MS = 500, RUN_MS = 200 };

#define LOCK(p)                                                                                    \
    {                                                                                              \
        TURN_LOCK, 1u << (p), 0                                                                    \
    }
#define RETAINED(p)                                                                                \
    {                                                                                              \
        TURN_LOCK, 1u << (p), RETAIN_MS                                                            \
    }
#define SEVERAL(mask)                                                                              \
    {                                                                                              \
        TURN_SEVERAL, mask, 0                                                                      \
    }
#define RWLOCK(p)                                                                                  \
    {                                                                                              \
        TURN_RWLOCK, 1u << (p), 0                                                                  \
    }
#define PERMITS(p)                                                                                 \
    {                                                                                              \
        TURN_PERMITS, 1u << (p), 0                                                                 \
    }
#define NUMBERED(p)                                                                                \
    {                                                                                              \
        TURN_NUMBERED, 1u << (p), 0                                                                \
    }
#define ONCE(p)                                                                                    \
    {                                                                                              \
        TURN_ONCE, 1u << (p), 0                                                                    \
    }
#define LEAD(p)                                                                                    \
    {                                                                                              \
        TURN_CAMPAIGN, 1u << (p), 0                                                                \
    }

/* clang-format off */
static const struct roles roles_of[] = { /* the first one is a mix of all */
    {"mixed", 5, 17, 0,
     {LOCK(0), RETAINED(1), SEVERAL(3), SEVERAL(3), LOCK(1), RETAINED(0),
      RWLOCK(2), RWLOCK(2), RWLOCK(2), RWLOCK(2),
      PERMITS(3), NUMBERED(3), PERMITS(3), NUMBERED(3), ONCE(4), ONCE(4), ONCE(4)}},
    {"mutex", 4, 10, 0,
     {RETAINED(0), LOCK(1), LOCK(2), RETAINED(3), LOCK(0),
      LOCK(1), RETAINED(2), LOCK(3), LOCK(0), RETAINED(1)}},
    {"rwlock", 2, 10, 0,
     {RWLOCK(0), RWLOCK(1), RWLOCK(0), RWLOCK(1), RWLOCK(0),
      RWLOCK(1), RWLOCK(0), RWLOCK(1), RWLOCK(0), RWLOCK(1)}},
    {"semaphore", 2, 10, 0,
     {PERMITS(0), NUMBERED(0), PERMITS(0), NUMBERED(0), NUMBERED(0),
      PERMITS(1), NUMBERED(1), PERMITS(1), NUMBERED(1), NUMBERED(1)}},
    {"multilock", 4, 10, 0,
     {SEVERAL(3), SEVERAL(6), SEVERAL(5), SEVERAL(7), SEVERAL(12), SEVERAL(9),
      LOCK(0), RETAINED(1), LOCK(2), LOCK(3)}},
    {"once", 1, 3, 1000, {ONCE(0), ONCE(0), ONCE(0)}},
    {"fleet", 6, 20, 300,
     {LOCK(0), RETAINED(0), SEVERAL(3), LOCK(1), RETAINED(1), SEVERAL(3),
      RWLOCK(2), RWLOCK(2), RWLOCK(2), RWLOCK(2),
      PERMITS(3), NUMBERED(3), PERMITS(3), NUMBERED(3), ONCE(4), ONCE(4), ONCE(4),
      LEAD(5), LEAD(5), LEAD(5)}},
    {0},
};
/* clang-format on */

/* NULL: there are none of that name. */
static const struct roles *roles_find(const char *recipe)
{
    for (const struct roles *r = roles_of; r->recipe; r++)
        if (strcmp(r->recipe, recipe) == 0)
            return r;
    return NULL;
}

/* Which claims they make: a bit for each kind. */
static unsigned roles_claims(const struct roles *r)
{
    static const unsigned claims[] = {
        [TURN_LOCK] = 1u << CLAIM_LOCK,
        [TURN_SEVERAL] = 1u << CLAIM_SEVERAL,
        [TURN_RWLOCK] = 1u << CLAIM_READ | 1u << CLAIM_WRITE,
        [TURN_PERMITS] = 1u << CLAIM_PERMITS,
        [TURN_NUMBERED] = 1u << CLAIM_NUMBERED,
        [TURN_ONCE] = 1u << CLAIM_ONCE,
        [TURN_CAMPAIGN] = 1u << CLAIM_LOCK,
    };
    unsigned all = 0;

    for (int i = 0; i < r->count; i++)
        all |= claims[r->role[i].takes];
    return all;
}

static bool roles_retain(const struct roles *r)
{
    bool any = false;

    for (int i = 0; i < r->count; i++)
        any = any || r->role[i].retain_ms > 0;
    return any;
}

/* ---- one run of random faults ---- */

enum { KINDS_MAX = 32 };

struct campaign {
    const struct roles *roles;
    int seed, nodes, seconds, grants; /* wanted: both at least; grants of each kind of claim */
    char *program[2]; /* zkl-worker over two versions, between which the fleet rolls; or none */
    /* What came out: */
    int injected[KINDS_MAX];
    int rolled; /* restarts by which a worker became one of the other version */
    int ended;  /* those that began with an end by order */
    int took_s;
    judgement *judgement;
};

enum { STEP_US = 10000, ROLL_MS = 600 /* at most, between two restarts of a roll */ };

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
    int later_turns;   /* of tokens */
    bool rolling;      /* a worker is on its way to the other version, */
    int former;        /* after this process of it, */
    bool asked;        /* which was asked to end, and was not killed */
    int64_t next_roll; /* when the next one may begin; monotonic us */
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
    const int S = p->scene.o.timeout_ms, calm_ms = p->c->roles->calm_ms;

    if (fault_kinds[f.kind].end)
        fault_kinds[f.kind].end(&p->scene, &f);
    if (f.worker >= 0) {
        p->busy[f.worker] = false;
    } else {
        p->server_busy = false;
        p->next_server = soon(p, S / 2 + calm_ms, 2 * S + calm_ms);
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
        if (e->kind == EV_GRANT) {
            p->grants[p->wants[e->worker]]++;
            progress_step();
        }
        p->later_turns += e->kind == EV_GRANT && e->turn > 0;
    }
}

/* All workers become the other version, and then again what they were. */
static int restarts_of_roll(const struct campaign *c)
{
    return c->program[0] ? 2 * c->roles->count : 0;
}

/* A rolling restart: one worker after the other is killed or asked to end, and goes on as the other
 * version. If a fault replaces it before, that is the other version, too. */
static void roll(struct play *p, int64_t now)
{
    const int worker = p->c->rolled % p->c->roles->count;
    struct actor *a = &p->scene.actor[worker];

    if (p->c->rolled == restarts_of_roll(p->c) || now < p->next_roll)
        return;
    if (!p->rolling) {
        p->rolling = true;
        p->former = a->number;
        p->asked = g_rand_boolean(p->rand);
        a->version = !a->version;
        if (p->asked)
            scene_end(&p->scene, worker);
        else
            scene_kill(&p->scene, worker);
    }
    scene_running(&p->scene);
    if (a->number == p->former) {
        if (a->pid != 0 || !scene_again(&p->scene, worker))
            return;
        p->c->ended += p->asked;
    }
    p->rolling = false;
    p->c->rolled++;
    p->next_roll = soon(p, 0, ROLL_MS);
    progress_step();
}

/* Each kind was granted often enough, and what else there is to see was seen. */
static bool has_enough(const struct play *p)
{
    const unsigned claims = roles_claims(p->c->roles);

    if (p->c->rolled < restarts_of_roll(p->c))
        return false;
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
        p->next_client = soon(p, 100 + p->c->roles->calm_ms, 700 + p->c->roles->calm_ms);
    }
    if (now >= p->next_server && !p->server_busy)
        begin(p, false);
    roll(p, now);
    g_usleep(STEP_US);
}

/* Long enough, and with grants enough. */
static void play(struct play *p)
{
    int64_t begun = g_get_monotonic_time(), second = G_USEC_PER_SEC;

    p->next_server = soon(p, 500, 1500);
    for (;;) {
        int64_t ran = (g_get_monotonic_time() - begun) / second;

        if ((ran >= p->c->seconds && has_enough(p)) || progress_is_late())
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
                                     .paths = p->c->roles->paths,
                                     .program = {p->c->program[0], p->c->program[1]}};

    printf("campaign: %s, seed %d, %d server%s, tick %d ms, session timeout %d ms, %d workers on "
           "%d paths\n",
           p->c->roles->recipe, p->c->seed, so.nodes, so.nodes > 1 ? "s" : "", so.tick_ms,
           so.timeout_ms, p->c->roles->count, so.paths);
    fflush(stdout);
    if (!scene_start(&p->scene, &so))
        return false;
    for (int w = 0; w < p->c->roles->count; w++) {
        const struct role *role = &p->c->roles->role[w];
        const struct actor_options ao = {
            .node = -1,
            .does = {.hold_min_ms = role->takes == TURN_ONCE ? RUN_MS : 0,
                     .hold_max_ms = so.timeout_ms * 4,
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

/* false: no server or worker could be started. The judgement is the caller's. */
static bool play_campaign(struct campaign *c)
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

/* ---- what came out ---- */

static const char *const loss_names[] = {
    [ZKL_LOSS_DEADLINE] = "lost to the deadline",
    [ZKL_LOSS_EXPIRED] = "expired",
    [ZKL_LOSS_DELETED] = "deleted",
    [ZKL_LOSS_CLOSED] = "closed",
    [ZKL_LOSS_REPLACED] = "replaced",
    [ZKL_LOSS_REFUSED] = "refused",
};

enum { SHARED_OF = 50 }; /* grants of readers, of which some must have been at once */

static void row(const char *what, long long count)
{
    printf("  %-34s %8lld\n", what, count);
}

static void row_seconds(const char *what, int64_t ns)
{
    printf("  %-34s %8.2f s\n", what, (double)ns / 1e9);
}

static void print_faults(const struct campaign *c)
{
    int sum = 0;

    for (int k = 0; k < fault_kind_count; k++) {
        sum += c->injected[k];
        if (c->injected[k] > 0)
            row(fault_kinds[k].name, c->injected[k]);
    }
    row("faults in all", sum);
    if (c->program[0])
        row("became the other version", c->rolled);
}

/* What each kind of claim came to. */
static void print_kinds(const struct campaign *c)
{
    const judgement *j = c->judgement;

    for (int k = 0; k < CLAIM_KINDS; k++)
        if (roles_claims(c->roles) >> k & 1)
            printf("  %-34s %8u grants, longest wait %.2f s\n", claim_kind_name((claim_kind)k),
                   j->of[k].grants, (double)j->of[k].longest_wait / 1e9);
    if (j->readers > 0)
        row("readers at once", j->readers);
    if (j->permits > 0)
        row("permits at once", j->permits);
}

static void print_runs(const struct runs_judgement *r)
{
    row("runs completed", r->completed);
    row("  given up", r->given_up);
    row("  lost or refused", r->failed);
    row("  unknown", r->unknown);
    row("due instants", r->recorded + r->missed);
    row("  with one recorded run", r->recorded);
    row("  without, as nobody was answered", r->missed);
}

/* The sums that the sessions counted, and those of the record. */
static void print_counts(const judgement *j)
{
    printf("  counted by %u sessions, of recorded: grants %lld/%lld", j->sessions,
           (long long)j->counted[COUNTED_GRANTS], (long long)j->recorded[COUNTED_GRANTS]);
    for (int loss = ZKL_LOSS_DEADLINE; loss <= ZKL_LOSS_REFUSED; loss++)
        printf(", %s %lld/%lld", loss_names[loss], (long long)j->counted[loss],
               (long long)j->recorded[loss]);
    printf("\n");
}

/* That the rules had something to be broken by. */
static void demand(const struct campaign *c, int *failed)
{
    const judgement *j = c->judgement;
    const unsigned claims = roles_claims(c->roles);

    for (int k = 0; k < CLAIM_KINDS; k++) {
        if (!(claims >> k & 1) || j->of[k].grants >= (guint)MAX(1, c->grants))
            continue;
        printf("FAILED: %s: %u grants, %d were wanted\n", claim_kind_name((claim_kind)k),
               j->of[k].grants, MAX(1, c->grants));
        ++*failed;
    }
    if (roles_retain(c->roles) && j->turns == 0) {
        printf("FAILED: nothing was retained\n");
        ++*failed;
    }
    if (claims >> CLAIM_ONCE & 1 && j->runs.completed == 0) {
        printf("FAILED: no run was completed\n");
        ++*failed;
    }
    if (c->rolled < restarts_of_roll(c)) {
        printf("FAILED: %d of %d restarts of the fleet\n", c->rolled, restarts_of_roll(c));
        ++*failed;
    }
    if (j->sessions < (guint)(c->roles->count + c->ended)) {
        printf("FAILED: %u sessions said what they counted, %d workers ended\n", j->sessions,
               c->roles->count + c->ended);
        ++*failed;
    }
    if (j->of[CLAIM_READ].grants >= SHARED_OF && j->readers < 2) {
        printf("FAILED: no two readers were there at once\n");
        ++*failed;
    }
}

/* The table, and one line for each verdict; counts them. */
static void print_campaign(const struct campaign *c, int *passed, int *failed)
{
    const judgement *j = c->judgement;

    printf("  ---- %s, seed %d, %d server%s, %d s ----\n", c->roles->recipe, c->seed, c->nodes,
           c->nodes > 1 ? "s" : "", c->took_s);
    print_faults(c);
    row("grants", j->grants);
    print_kinds(c);
    if (roles_claims(c->roles) >> CLAIM_ONCE & 1)
        print_runs(&j->runs);
    row("  later turns of a token", j->turns);
    row("losses", j->losses);
    row("holders killed", j->kills);
    row("taken away by a third party", j->third_party);
    row("overlaps", j->overlaps);
    row("stale writes refused", j->refused);
    row("unserved", j->unserved);
    row("nodes left", j->nodes_left);
    row_seconds("longest wait", j->longest_wait);
    row_seconds("  and for a lock that nobody used", j->longest_unused);
    printf("  %-34s %8.2f\n", "    of timeout and 1.5 ticks", j->unused_share);
    row("    waits beyond that", j->slow_unused);
    row_seconds("latest word of a loss", j->latest_told);
    row("grants after a loss or a kill", j->successions);
    row("  of them later than the aim", j->slow_successions);
    row_seconds("  the latest after the deadline", j->worst_succession);
    print_counts(j);
    for (int v = 0; v < VERDICTS; v++) {
        guint count = judgement_count(j, v);

        printf("%s: %s\n", count > 0 ? "FAILED" : "ok", judge_promise(v));
        *(count > 0 ? failed : passed) += 1;
    }
    demand(c, failed);
    fflush(stdout);
}

/* ---- the program ---- */

static int scaled(int seconds)
{
    const char *scale = getenv("ZKL_TEST_SCALE");

    return MAX(3, scale ? seconds * atoi(scale) / 100 : seconds);
}

static bool run_one(struct campaign *c, int *passed, int *failed)
{
    if (!play_campaign(c)) {
        printf("FAILED: seed %d could not be started\n", c->seed);
        ++*failed;
        return false;
    }
    print_campaign(c, passed, failed);
    judgement_free(c->judgement);
    return true;
}

static void run_selection(int *passed, int *failed)
{
    struct campaign selection[] = {
        {.seed = 11, .nodes = 3, .seconds = 30},
        {.seed = 12, .nodes = 1, .seconds = 10},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(selection); i++) {
        selection[i].roles = roles_of;
        selection[i].seconds = scaled(selection[i].seconds);
        run_one(&selection[i], passed, failed);
    }
}

static bool parse(struct campaign *c, int argc, char **argv)
{
    char *recipe = NULL;
    const GOptionEntry entries[] = {
        {"recipe", 0, 0, G_OPTION_ARG_STRING, &recipe,
         "mixed (default), mutex, rwlock, semaphore, multilock, once or fleet", "NAME"},
        {"seed", 0, 0, G_OPTION_ARG_INT, &c->seed, "what is drawn", "N"},
        {"seconds", 0, 0, G_OPTION_ARG_INT, &c->seconds, "run at least so long", "N"},
        {"grants", 0, 0, G_OPTION_ARG_INT, &c->grants, "and until there were so many of each kind",
         "N"},
        {"nodes", 0, 0, G_OPTION_ARG_INT, &c->nodes, "servers: 1 or 3 (default)", "N"},
        {"worker", 0, 0, G_OPTION_ARG_STRING, &c->program[0], "zkl-worker, for a rolling restart",
         "PROGRAM"},
        {"other-worker", 0, 0, G_OPTION_ARG_STRING, &c->program[1],
         "the same over another version of zkl", "PROGRAM"},
        {0},
    };
    GOptionContext *context = g_option_context_new(NULL);
    GError *error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error))
        fprintf(stderr, "campaign: %s\n", error->message);
    g_option_context_free(context);
    c->roles = recipe ? roles_find(recipe) : roles_of;
    g_free(recipe);
    bool ok = !error && argc == 1 && c->roles && (c->nodes == 1 || c->nodes == NODES) &&
              c->seconds >= 0 && !c->program[0] == !c->program[1];
    g_clear_error(&error);
    return ok;
}

static int skip(void)
{
    bool required = g_strcmp0(getenv("ZKL_REQUIRE_SERVER"), "1") == 0;

    printf("no ZooKeeper server here\n0 passed, %d failed, %d skipped\n", required, !required);
    return required ? EXIT_FAILURE : EXIT_SKIPPED;
}

int main(int argc, char **argv)
{
    struct campaign c = {.seed = 1, .nodes = NODES, .seconds = 60};
    int passed = 0, failed = 0;
    bool chosen = argc > 1;

    if (chosen && strcmp(argv[1], "worker") == 0)
        return worker_main(argc - 1, argv + 1);
    if (!parse(&c, argc, argv))
        return EXIT_USAGE;
    if (!zk_server_available())
        return skip();
    signal(SIGPIPE, SIG_IGN); /* a worker that was killed takes no orders */
    if (chosen)
        run_one(&c, &passed, &failed);
    else
        run_selection(&passed, &failed);
    g_free(c.program[0]);
    g_free(c.program[1]);
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
