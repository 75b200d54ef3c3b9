/* chaos: processes of Curator, kazoo and zkl at one lock, killed, stopped and cut off at random
 * from a seed; and the judgement of what they recorded. */
#include "chaos_play.h"
#include "chaos_worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64, EXIT_SKIPPED = 77 };

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
        return chaos_worker(argc - 1, argv + 1);
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
    chaos_print(&c, &passed, &failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
