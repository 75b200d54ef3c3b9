/* chaos: processes of Curator, kazoo and zkl at one lock, killed, stopped and cut off at random
 * from a seed; and the judgement of what they recorded. */
#include "chaos_roles.h"

#include "tests/support/progress.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_US = 200,
    LOOK_STEPS = 250, /* steps between two looks for who has ended by itself */
    AIM_MS = 8000,    /* so long is a holder waited for */
    AT_ONCE = 3,      /* faults in one go, most of whose ways to a dead session then coincide */
    GAP_MIN_MS = 3000,
    GAP_MAX_MS = 7000,
    TURNS_MIN = 40, /* of the lock before the next go, unless that time is over before */
    TURNS_MAX = 240,
    SHORT_MIN_MS = 200,
    LONG_MIN_MS = SESSION_MS + 1500, /* the session is over by then */
    LONG_MAX_MS = SESSION_MS + 3500,
    OVERTIME_S = 20,
    MORE_S = 120, /* between two steps: when somebody comes late is drawn */
    EXIT_USAGE = 64,
    EXIT_SKIPPED = 77,
    PROMISES = 11
};

enum fault { FAULT_KILL, FAULT_STOP, FAULT_CUT, FAULTS };

struct chaos {
    int seed, seconds, grants; /* for so long, and until each kind had so many grants */
    struct roles_options with;
    /* What came out: */
    int took_s;
    int done[FAULTS][KINDS];
    int of_holders[FAULTS][KINDS];                 /* of those: it held, as far as was recorded */
    guint granted[KINDS], refused[KINDS], skipped; /* careful ones' grants without a write */
    bool served[SLOTS];                            /* after the last fault */
    int broken, overdue, nodes_left;
    bool garbled;
    struct register_judgement reg, plain;
};

/* A fault that a slot has to come. */
struct coming {
    enum { NONE, AWAITED, UNDER_WAY } stage;
    enum fault fault;
    bool aimed;    /* at a holder, until due */
    bool silently; /* cut off; else its connection is closed, and new ones are refused */
    int64_t due;   /* monotonic us */
    int64_t until; /* when it is taken back */
    int lasts_ms;
};

struct card {
    enum fault fault;
    enum kind kind;
};

/* Every fault to every kind, in an order that is drawn, and again. */
static const struct card cards[] = {
    {FAULT_KILL, CURATOR}, {FAULT_KILL, KAZOO}, {FAULT_KILL, ZKL}, {FAULT_KILL, CAREFUL},
    {FAULT_STOP, CURATOR}, {FAULT_STOP, KAZOO}, {FAULT_STOP, ZKL}, {FAULT_STOP, CAREFUL},
    {FAULT_CUT, ZKL},      {FAULT_CUT, CAREFUL}};

enum { CARDS = G_N_ELEMENTS(cards) };

struct play {
    struct chaos *c;
    struct roles roles;
    GRand *rand;
    struct card deck[CARDS];
    int left; /* cards in it */
    struct coming coming[SLOTS];
    int64_t next;    /* when the next fault is planned */
    guint next_turn; /* or at how many turns, if that is sooner */
    int steps;
    guint shown, turns_seen; /* at the last look */
};

static struct card draw(struct play *p)
{
    if (p->left == 0) {
        for (int i = 0; i < CARDS; i++)
            p->deck[i] = cards[i];
        p->left = CARDS;
    }
    int i = g_rand_int_range(p->rand, 0, p->left);
    struct card one = p->deck[i];
    p->deck[i] = p->deck[--p->left];
    return one;
}

static int64_t in_ms(int ms)
{
    return g_get_monotonic_time() + ms * INT64_C(1000);
}

/* A holder is stopped for longer than its session, others as often as not. */
static int draw_time(struct play *p, const struct coming *f)
{
    bool longer = g_rand_boolean(p->rand);

    if (longer || (f->fault == FAULT_STOP && f->aimed))
        return g_rand_int_range(p->rand, LONG_MIN_MS, LONG_MAX_MS);
    return g_rand_int_range(p->rand, SHORT_MIN_MS, SESSION_MS / 2);
}

/* All that is drawn is drawn here, and the same whether or not the slot has one coming already, and
 * gets none. */
static void plan(struct play *p)
{
    struct card one = draw(p);
    int i = (int)one.kind * EACH + g_rand_int_range(p->rand, 0, EACH);
    struct coming next = {.stage = AWAITED, .fault = one.fault};

    next.aimed = g_rand_int_range(p->rand, 0, 4) < (one.fault == FAULT_STOP ? 3 : 2);
    next.lasts_ms = draw_time(p, &next);
    next.silently = g_rand_boolean(p->rand);
    next.due = in_ms(next.aimed ? AIM_MS : 0);
    if (p->coming[i].stage != NONE)
        return;
    p->coming[i] = next;
    if (next.fault == FAULT_CUT)
        roles_hold(&p->roles, &p->roles.slot[i], true);
}

static void plan_some(struct play *p)
{
    for (int i = g_rand_int_range(p->rand, 1, AT_ONCE + 1); i > 0; i--)
        plan(p);
    p->next = in_ms(g_rand_int_range(p->rand, GAP_MIN_MS, GAP_MAX_MS));
    p->next_turn = p->roles.turns + (guint)g_rand_int_range(p->rand, TURNS_MIN, TURNS_MAX);
}

/* false: not now. ok is false if it cannot go on. */
static bool strike(struct play *p, struct slot *s, const struct coming *f, bool *ok)
{
    switch (f->fault) {
    case FAULT_KILL:
        *ok = roles_kill(&p->roles, s);
        return true;
    case FAULT_STOP:
        if (!roles_stop(&p->roles, s))
            return false;
        if (!f->aimed || slot_holds(s) || g_get_monotonic_time() >= f->due)
            return true;
        scene_let_on(&p->roles.scene, s->worker); /* too late: it has written */
        return false;
    default:
        if (f->silently)
            proxy_freeze(roles_way(&p->roles, s), PROXY_BOTH);
        else
            proxy_cut(roles_way(&p->roles, s));
        return true;
    }
}

static bool begin(struct play *p, int i)
{
    struct coming *f = &p->coming[i];
    struct slot *s = &p->roles.slot[i];
    bool held = slot_holds(s), ok = true;

    if (f->aimed && !held && g_get_monotonic_time() < f->due)
        return true;
    if (!strike(p, s, f, &ok))
        return ok;
    if (f->fault == FAULT_STOP)
        held = slot_holds(s);
    p->c->done[f->fault][s->kind]++;
    p->c->of_holders[f->fault][s->kind] += held;
    f->stage = f->fault == FAULT_KILL ? NONE : UNDER_WAY;
    f->until = in_ms(f->lasts_ms);
    return ok;
}

static void take_back(struct play *p, int i)
{
    struct coming *f = &p->coming[i];
    struct slot *s = &p->roles.slot[i];

    if (f->stage == UNDER_WAY && f->fault == FAULT_STOP)
        scene_let_on(&p->roles.scene, s->worker);
    if (f->fault == FAULT_CUT) {
        proxy_heal(roles_way(&p->roles, s));
        roles_hold(&p->roles, s, false);
    }
    f->stage = NONE;
}

/* A process that was stopped while it held sleeps until another has been at the same number after
 * it, so that it comes late. */
static bool is_over(const struct play *p, int i)
{
    const struct slot *s = &p->roles.slot[i];
    int64_t over = g_get_monotonic_time() - p->coming[i].until;

    if (over < 0 || !p->coming[i].aimed || !p->roles.scene.actor[s->worker].stopped ||
        !slot_holds(s))
        return over >= 0;
    return slot_is_overtaken(&p->roles, s) || over >= OVERTIME_S * G_USEC_PER_SEC;
}

/* One turn of the watch over all of them. */
static bool step(struct play *p)
{
    bool ok = true;

    roles_follow(&p->roles);
    for (int i = 0; ok && i < SLOTS; i++) {
        if (p->coming[i].stage == AWAITED)
            ok = begin(p, i);
        else if (p->coming[i].stage == UNDER_WAY && is_over(p, i))
            take_back(p, i);
    }
    if (++p->steps % LOOK_STEPS == 0)
        ok = ok && roles_look_after(&p->roles);
    g_usleep(STEP_US);
    return ok;
}

/* ---- what has happened so far ---- */

static void count_all(struct chaos *c, const struct roles *roles)
{
    for (int k = 0; k < KINDS; k++)
        c->granted[k] = c->refused[k] = 0;
    c->skipped = 0;
    for (guint i = 0; i < roles->scene.h->events->len; i++) {
        const event *e = &g_array_index(roles->scene.h->events, event, i);
        const enum kind kind = roles_kind(roles, e);

        if (kind == KINDS)
            continue;
        c->granted[kind] += e->kind == EV_BEGIN || e->kind == EV_GRANT;
        c->refused[kind] += register_refused(roles->scene.h->events, i);
        c->skipped += e->kind == EV_SKIP || e->kind == EV_LOST;
    }
}

/* Curator or kazoo came late, and was refused. */
static bool chaos_late(const struct chaos *c)
{
    return c->refused[CURATOR] + c->refused[KAZOO] > 0;
}

static bool chaos_all_granted(const struct chaos *c)
{
    for (int k = 0; k < KINDS; k++)
        if (c->granted[k] < (guint)c->grants)
            return false;
    return true;
}

static bool is_spoilt(const struct roles *roles, bool careful)
{
    struct register_judgement r;

    roles_judge(roles, careful, &r);
    return r.lost + r.stale > 0;
}

/* Has all happened that a run is to show? All kinds had their grants and each its faults; and
 * somebody came late, which was refused, or where that is left out did harm. */
static bool has_shown_all(const struct chaos *c, const struct roles *roles)
{
    for (int k = 0; k < KINDS; k++)
        for (int f = 0; f < FAULTS; f++)
            if (c->done[f][k] == 0 && (f != FAULT_CUT || kind_has_way((enum kind)k)))
                return false;
    if (!chaos_all_granted(c))
        return false;
    if (!c->with.careful)
        return is_spoilt(roles, true);
    return c->with.fenced ? chaos_late(c) : is_spoilt(roles, false);
}

/* Within the time that was asked for each turn is a step, later only what is still wanted. */
static void tell_progress(struct play *p, bool in_time)
{
    const struct chaos *c = p->c;
    guint shown = 0;

    for (int k = 0; k < KINDS; k++) {
        shown += MIN(c->granted[k], (guint)c->grants);
        for (int f = 0; f < FAULTS; f++)
            shown += c->done[f][k] > 0;
    }
    if (shown > p->shown || (in_time && p->roles.turns > p->turns_seen)) {
        progress_step();
        progress_allow(MORE_S);
    }
    p->shown = shown;
    p->turns_seen = p->roles.turns;
}

/* ---- the run ---- */

static bool rage(struct play *p)
{
    int64_t begun = g_get_monotonic_time(), ran_s = 0;
    bool done = false;

    while (!done && !progress_is_late()) {
        if (g_get_monotonic_time() >= p->next || p->roles.turns >= p->next_turn)
            plan_some(p);
        if (!step(p))
            return false;
        ran_s = (g_get_monotonic_time() - begun) / G_USEC_PER_SEC;
        if (p->steps % LOOK_STEPS > 0)
            continue;
        count_all(p->c, &p->roles);
        tell_progress(p, ran_s < p->c->seconds);
        done = ran_s >= p->c->seconds && has_shown_all(p->c, &p->roles);
    }
    for (int i = 0; i < SLOTS; i++)
        take_back(p, i);
    p->c->took_s = (int)ran_s;
    return true;
}

/* Until everybody has written after the last fault, or does not come to it. */
static bool serve_all(struct play *p)
{
    int served = 0, before = 0;

    progress_step();
    roles_follow(&p->roles);
    for (int i = 0; i < SLOTS; i++)
        p->roles.slot[i].served = false;
    while (served < SLOTS && !progress_is_late()) {
        if (!step(p))
            return false;
        if (served > before)
            progress_step();
        before = served;
        served = 0;
        for (int i = 0; i < SLOTS; i++) {
            p->c->served[i] = p->roles.slot[i].served;
            served += p->c->served[i];
        }
    }
    return true;
}

static void look_back(struct play *p)
{
    struct chaos *c = p->c;

    c->nodes_left = scene_nodes_left(&p->roles.scene);
    count_all(c, &p->roles);
    for (int i = 0; i < SLOTS; i++) {
        c->broken += p->roles.slot[i].broken;
        c->overdue += p->roles.slot[i].overdue;
    }
    c->garbled = p->roles.scene.garbled;
    roles_judge(&p->roles, false, &c->reg);
    roles_judge(&p->roles, true, &c->plain);
}

/* ---- what came of it ---- */

struct promise {
    const char *text;
    bool kept;
};

static bool all_served(const struct chaos *c)
{
    for (int i = 0; i < SLOTS; i++)
        if (!c->served[i])
            return false;
    return true;
}

static void check_promises(const struct chaos *c, struct promise ret[PROMISES])
{
    const struct promise promises[PROMISES] = {
        {"the register accepts nothing below a higher token", c->reg.stale == 0},
        {"later turns of a token wrote to it as well", c->reg.turns > 0},
        {"it keeps every increment that it accepted", c->reg.lost == 0 && c->reg.made_up == 0},
        {"it refused others' libraries when they came late", chaos_late(c)},
        {"careful zkl holders lose no increment of a plain counter",
         c->plain.lost == 0 && c->plain.made_up == 0},
        {"and their tokens rise", c->plain.stale == 0},
        {"every kind had its grants", chaos_all_granted(c)},
        {"after the last fault every process gets the lock again", all_served(c)},
        {"every process ends by order, and no earlier", c->broken == 0 && c->overdue == 0},
        {"nothing is left at the path", c->nodes_left == 0},
        {"the records make sense", !c->garbled},
    };

    for (int i = 0; i < PROMISES; i++)
        ret[i] = promises[i];
}

static bool chaos_failed(const struct chaos *c)
{
    struct promise promises[PROMISES];

    check_promises(c, promises);
    for (int i = 0; i < PROMISES; i++)
        if (!promises[i].kept)
            return true;
    return false;
}

static void row(const char *what, const int *each)
{
    int sum = 0;

    printf("  %-30s", what);
    for (int k = 0; k < KINDS; k++) {
        printf(" %8d", each[k]);
        sum += each[k];
    }
    printf(" %8d\n", sum);
}

static void row_unsigned(const char *what, const guint *each)
{
    int numbers[KINDS];

    for (int k = 0; k < KINDS; k++)
        numbers[k] = (int)each[k];
    row(what, numbers);
}

static void print_verdict(const char *what, const struct register_judgement *v)
{
    printf("  %-10s %u increments recorded, %u more of killed processes; %u lost, %u stale ones "
           "accepted, %u nobody's\n",
           what, v->increments, v->kept, v->lost, v->stale, v->made_up);
}

static void print_table(const struct chaos *c)
{
    static const char *const names[FAULTS][2] = {{"killed -9", "  while holding"},
                                                 {"stopped", "  while holding"},
                                                 {"cut off", "  while holding"}};

    printf("  ---- seed %d, %d s, sessions of %d ms, %d processes each ----\n", c->seed, c->took_s,
           SESSION_MS, EACH);
    printf("  careful: of zkl, at a plain counter, written with %d ms or more to go\n", MARGIN_MS);
    printf("  %-30s %8s %8s %8s %8s %8s\n", "", "Curator", "kazoo", "zkl", "careful", "all");
    row_unsigned("grants used", c->granted);
    for (int f = 0; f < FAULTS; f++) {
        row(names[f][0], c->done[f]);
        row(names[f][1], c->of_holders[f]);
    }
    row_unsigned("stale writes refused", c->refused);
    row_unsigned("not written, too little time", (const guint[KINDS]){[CAREFUL] = c->skipped});
    print_verdict("register:", &c->reg);
    print_verdict("counter:", &c->plain);
    printf("  later turns of a token that zkl retained: %u increments\n", c->reg.turns);
}

/* The table, and one line for each promise; counts them. */
static void print_all(const struct chaos *c, int *passed, int *failed)
{
    struct promise promises[PROMISES];

    print_table(c);
    check_promises(c, promises);
    for (int i = 0; i < PROMISES; i++) {
        printf("%s: %s\n", promises[i].kept ? "ok" : "FAILED", promises[i].text);
        *(promises[i].kept ? passed : failed) += 1;
    }
    fflush(stdout);
}

/* ---- the program ---- */

/* false: it could not be started, or not be gone on with. */
static bool chaos_run(struct chaos *c)
{
    struct play p = {.c = c, .rand = g_rand_new_with_seed((guint32)c->seed)};
    bool ok = roles_start(&p.roles, &c->with) && rage(&p) && serve_all(&p);

    if (ok) {
        roles_dismiss(&p.roles);
        look_back(&p);
    }
    if (!ok || chaos_failed(c)) {
        char *folder = g_strdup_printf("chaos-%d", c->seed);
        scratch_keep(&p.roles.scene.scratch, folder);
        g_free(folder);
    }
    roles_end(&p.roles);
    g_rand_free(p.rand);
    return ok;
}

static bool parse(struct chaos *c, int argc, char **argv)
{
    gboolean unfenced = FALSE, careless = FALSE;
    const GOptionEntry entries[] = {
        {"seed", 0, 0, G_OPTION_ARG_INT, &c->seed, "what is drawn", "N"},
        {"seconds", 0, 0, G_OPTION_ARG_INT, &c->seconds, "run at least so long", "N"},
        {"grants", 0, 0, G_OPTION_ARG_INT, &c->grants, "and until each kind had so many", "N"},
        {"curator", 0, 0, G_OPTION_ARG_STRING, &c->with.command[CURATOR], "Peer.java", "COMMAND"},
        {"kazoo", 0, 0, G_OPTION_ARG_STRING, &c->with.command[KAZOO], "peer.py", "COMMAND"},
        {"zkl", 0, 0, G_OPTION_ARG_STRING, &c->with.command[ZKL], "zkl-peer", "COMMAND"},
        {"unfenced", 0, 0, G_OPTION_ARG_NONE, &unfenced, "no look at tokens: must fail", NULL},
        {"careless", 0, 0, G_OPTION_ARG_NONE, &careless, "no look at the grant: must fail", NULL},
        {0},
    };
    GOptionContext *context = g_option_context_new(NULL);
    GError *error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error))
        fprintf(stderr, "chaos: %s\n", error->message);
    g_option_context_free(context);
    bool ok = !error && argc == 1 && c->with.command[CURATOR] && c->with.command[KAZOO] &&
              c->with.command[ZKL];
    g_clear_error(&error);
    c->with.fenced = !unfenced;
    c->with.careful = !careless;
    return ok;
}

int main(int argc, char **argv)
{
    struct chaos c = {.seed = 1, .seconds = 25, .grants = 20};
    int passed = 0, failed = 0;

    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker_main(argc - 1, argv + 1);
    if (!parse(&c, argc, argv))
        return EXIT_USAGE;
    if (!zk_server_available())
        return EXIT_SKIPPED;
    signal(SIGPIPE, SIG_IGN); /* a process that was killed takes no orders */
    printf("chaos: seed %d\n", c.seed);
    fflush(stdout);
    if (!chaos_run(&c)) {
        printf("FAILED: the run broke off\n");
        return EXIT_FAILURE;
    }
    print_all(&c, &passed, &failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
