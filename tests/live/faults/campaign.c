/* campaign: random faults from a seed between servers and workers, and the judgement of what the
 * workers recorded. Without options a short selection with fixed seeds. */
#include "campaign.h"

#include "tests/history/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 64, EXIT_SKIPPED = 77 };

static int scaled(int seconds)
{
    const char *scale = getenv("ZKL_TEST_SCALE");

    return MAX(3, scale ? seconds * atoi(scale) / 100 : seconds);
}

static bool run(struct campaign *c, int *passed, int *failed)
{
    if (!campaign_run(c)) {
        printf("FAILED: seed %d could not be started\n", c->seed);
        ++*failed;
        return false;
    }
    campaign_print(c, passed, failed);
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
        run(&selection[i], passed, failed);
    }
}

static bool parse(struct campaign *c, int argc, char **argv)
{
    char *recipe = NULL;
    const GOptionEntry entries[] = {
        {"recipe", 0, 0, G_OPTION_ARG_STRING, &recipe,
         "mixed (default), mutex, rwlock, semaphore or multilock", "NAME"},
        {"seed", 0, 0, G_OPTION_ARG_INT, &c->seed, "what is drawn", "N"},
        {"seconds", 0, 0, G_OPTION_ARG_INT, &c->seconds, "run at least so long", "N"},
        {"grants", 0, 0, G_OPTION_ARG_INT, &c->grants, "and until there were so many of each kind",
         "N"},
        {"nodes", 0, 0, G_OPTION_ARG_INT, &c->nodes, "servers: 1 or 3 (default)", "N"},
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
    bool ok =
        !error && argc == 1 && c->roles && (c->nodes == 1 || c->nodes == NODES) && c->seconds >= 0;
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
        run(&c, &passed, &failed);
    else
        run_selection(&passed, &failed);
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
