/* chaos: processes of Curator, kazoo and zkl at one lock, killed, stopped and cut off at random
 * from a seed; and the judgement of what they recorded. */
#include "chaos_play.h"

#include "tests/history/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64, EXIT_SKIPPED = 77, PROMISES = 11 };

/* ---- what came of it ---- */

struct promise {
    const char *text;
    bool kept;
};

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

bool chaos_failed(const struct chaos *c)
{
    struct promise promises[PROMISES];

    check_promises(c, promises);
    for (int i = 0; i < PROMISES; i++)
        if (!promises[i].kept)
            return true;
    return false;
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
