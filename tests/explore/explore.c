/* Every interleaving of a few contenders and faults, over the recipe as it is in production; or
 * with replay.c some of them, over the library. usage: explore|replay [--contenders N] [--faults N]
 * [--max-states N] [--only TEXT] [--full] */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "search.h"

struct run {
    const char *what;
    struct model_config config;
    bool soak; /* with --full only */
};

enum { NEAR_END = INT32_MAX - 1 };

#define LOCKS                                                                                      \
    {                                                                                              \
        CHILD_LOCK, CHILD_LOCK, CHILD_LOCK, CHILD_LOCK                                             \
    }

#define LATCHES                                                                                    \
    {                                                                                              \
        CHILD_LATCH, CHILD_LATCH, CHILD_LATCH, CHILD_LATCH                                         \
    }

/* A lock and latches: whoever comes behind the other is refused. */
#define MIXED                                                                                      \
    {                                                                                              \
        CHILD_LATCH, CHILD_LOCK, CHILD_LATCH, CHILD_LOCK                                           \
    }

/* Apache's own waits for our lock; the lock is refused behind it. With .peers it is one of ours. */
#define APACHE                                                                                     \
    {                                                                                              \
        CHILD_APACHE, CHILD_LOCK, CHILD_APACHE, CHILD_LOCK                                         \
    }

/* Writers, which may go on as readers, and readers. */
#define WRITERS                                                                                    \
    {                                                                                              \
        CHILD_WRITE, CHILD_READ, CHILD_WRITE, CHILD_READ                                           \
    }
#define READERS                                                                                    \
    {                                                                                              \
        CHILD_READ, CHILD_WRITE, CHILD_READ, CHILD_WRITE                                           \
    }
#define READERS_AND_LOCK                                                                           \
    {                                                                                              \
        CHILD_READ, CHILD_LOCK, CHILD_WRITE, CHILD_LOCK                                            \
    }

static const struct run runs[] = {
    {"mutex", {.contenders = 1, .faults = 4, .kinds = LOCKS}, false},
    {"mutex", {.contenders = 2, .faults = 3, .kinds = LOCKS}, false},
    {"mutex", {.contenders = 3, .faults = 1, .kinds = LOCKS}, false},
    {"lagging servers", {.contenders = 2, .faults = 2, .lag = true, .kinds = LOCKS}, false},
    {"head hints", {.contenders = 3, .faults = 1, .long_queue = 2, .kinds = LOCKS}, false},
    {"head hints, no directory",
     {.contenders = 3, .faults = 1, .no_directory = true, .long_queue = 2, .kinds = LOCKS},
     false},
    {"head hints, lagging servers",
     {.contenders = 3, .faults = 0, .lag = true, .long_queue = 2, .kinds = LOCKS},
     false},
    {"head hints among others' data",
     {.contenders = 3, .faults = 1, .foreign = true, .long_queue = 1, .kinds = LOCKS},
     false},
    {"one only tries",
     {.contenders = 2, .faults = 2, .kinds = LOCKS, .try_only = {false, true}},
     false},
    {"one only tries, the other retains",
     {.contenders = 2, .faults = 2, .kinds = LOCKS, .try_only = {false, true}, .retains = {true}},
     false},
    {"two only try, one retains",
     {.contenders = 3,
      .faults = 0,
      .kinds = LOCKS,
      .try_only = {false, true, true},
      .retains = {true, false, true}},
     false},
    {"numbers run out", {.contenders = 2, .faults = 2, .next = NEAR_END, .kinds = LOCKS}, false},
    {"no directory",
     {.contenders = 2, .faults = 1, .no_directory = true, .lag = true, .kinds = LOCKS},
     false},
    {"latches", {.contenders = 2, .faults = 2, .kinds = LATCHES}, false},
    {"a latch and a lock", {.contenders = 2, .faults = 2, .kinds = MIXED}, false},
    {"latches and a lock", {.contenders = 3, .faults = 1, .kinds = MIXED}, false},
    {"Apache's and a lock", {.contenders = 2, .faults = 2, .kinds = APACHE}, false},
    {"a peer and a lock", {.contenders = 2, .faults = 1, .kinds = APACHE, .peers = true}, false},
    {"a latch and a lock at the end",
     {.contenders = 2, .faults = 1, .next = NEAR_END, .kinds = MIXED},
     false},
    {"a writer and a reader",
     {.contenders = 2, .faults = 1, .kinds = WRITERS, .downgrades = true, .no_library = true},
     false},
    {"writers and a reader",
     {.contenders = 3, .faults = 0, .kinds = WRITERS, .downgrades = true, .no_library = true},
     false},
    {"readers and a writer",
     {.contenders = 3, .faults = 0, .kinds = READERS, .downgrades = true, .no_library = true},
     false},
    {"a writer and a reader, lagging servers",
     {.contenders = 2,
      .faults = 1,
      .kinds = WRITERS,
      .downgrades = true,
      .no_library = true,
      .lag = true},
     false},
    {"a reader and a lock",
     {.contenders = 2,
      .faults = 2,
      .kinds = READERS_AND_LOCK,
      .downgrades = true,
      .no_library = true},
     false},
    {"a writer and a reader",
     {.contenders = 2, .faults = 2, .kinds = WRITERS, .downgrades = true, .no_library = true},
     true},
    {"writers and a reader",
     {.contenders = 3, .faults = 2, .kinds = WRITERS, .downgrades = true, .no_library = true},
     true},
    {"readers and a writer",
     {.contenders = 3, .faults = 2, .kinds = READERS, .downgrades = true, .no_library = true},
     true},
    {"writers and a reader, lagging servers",
     {.contenders = 3,
      .faults = 1,
      .kinds = WRITERS,
      .downgrades = true,
      .no_library = true,
      .lag = true},
     true},
    {"mutex", {.contenders = 2, .faults = 4, .kinds = LOCKS}, true},
    {"mutex", {.contenders = 3, .faults = 2, .kinds = LOCKS}, true},
    {"mutex", {.contenders = 4, .faults = 1, .kinds = LOCKS}, true},
    {"head hints", {.contenders = 3, .faults = 1, .long_queue = 1, .kinds = LOCKS}, true},
    {"head hints, lagging servers",
     {.contenders = 3, .faults = 1, .lag = true, .long_queue = 2, .kinds = LOCKS},
     true},
    {"lagging servers", {.contenders = 2, .faults = 3, .lag = true, .kinds = LOCKS}, true},
    {"lagging servers", {.contenders = 3, .faults = 1, .lag = true, .kinds = LOCKS}, true},
    {"one only tries",
     {.contenders = 3, .faults = 2, .kinds = LOCKS, .try_only = {false, false, true}},
     true},
    {"one only tries, another retains",
     {.contenders = 3,
      .faults = 1,
      .kinds = LOCKS,
      .try_only = {false, false, true},
      .retains = {true}},
     true},
    {"numbers run out", {.contenders = 2, .faults = 3, .next = NEAR_END, .kinds = LOCKS}, true},
};

static struct options {
    gint contenders, faults;
    gint64 max_states;
    gchar *only;
    gboolean full;
} options = {.contenders = 0, .faults = -1, .max_states = 20000000};

static int passed, failed, skipped;

bool search_is_slow(void)
{
    const char *instrumented = getenv("ZKL_INSTRUMENTED");

    return instrumented && *instrumented;
}

static void run(const struct run *r)
{
    char *title;

    model_config = r->config;
    if (options.contenders)
        model_config.contenders = options.contenders;
    if (options.faults >= 0)
        model_config.faults = options.faults;
    else if (search_is_slow() && model_config.faults > 0)
        model_config.faults--;
    title = g_strdup_printf("%s, %d contenders, %d faults", r->what, model_config.contenders,
                            model_config.faults);
    switch (search_run(title, (uint32_t)options.max_states)) {
    case SEARCH_HOLDS:
        passed++;
        break;
    case SEARCH_BROKEN:
        failed++;
        break;
    case SEARCH_CUT:
        skipped++;
        break;
    }
    g_free(title);
}

static bool is_chosen(const struct run *r)
{
    if (options.only && !strstr(r->what, options.only))
        return false;
    return (!r->soak || options.full) && (!r->config.no_library || !search_uses_library());
}

/* A search that does not get there says nothing. Who is first in line is a semaphore's contender,
 * whom permits.c explores. */
static void check_reached(void)
{
    bool ok = true;

    for (int s = 0; s < ST_COUNT; s++) {
        if (search_reached() >> s & 1U || s == ST_FIRST)
            continue;
        printf("never %s\n", attempt_state_name((enum attempt_state)s));
        ok = false;
    }
    if (ok)
        passed++;
    else
        failed++;
}

static bool parse(int argc, char **argv)
{
    const GOptionEntry entries[] = {
        {"contenders", 0, 0, G_OPTION_ARG_INT, &options.contenders, "in all runs, 1 to 4", "N"},
        {"faults", 0, 0, G_OPTION_ARG_INT, &options.faults, "in all runs", "N"},
        {"max-states", 0, 0, G_OPTION_ARG_INT64, &options.max_states, "or walks: give up beyond",
         "N"},
        {"only", 0, 0, G_OPTION_ARG_STRING, &options.only, "runs with that in their name", "TEXT"},
        {"full", 0, 0, G_OPTION_ARG_NONE, &options.full, "larger bounds: hours", NULL},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    GOptionContext *context = g_option_context_new(NULL);
    GError *error = NULL;

    g_option_context_add_main_entries(context, entries, NULL);
    bool ok = g_option_context_parse(context, &argc, &argv, &error);
    if (!ok)
        fprintf(stderr, "explore: %s\n", error->message);
    g_clear_error(&error);
    g_option_context_free(context);
    return ok && options.contenders >= 0 && options.contenders <= MODEL_CONTENDERS &&
           options.max_states > 0 && options.max_states < UINT32_MAX;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!parse(argc, argv))
        return 64;
    puts(search_about());
    for (size_t i = 0; i < G_N_ELEMENTS(runs); i++)
        if (is_chosen(&runs[i]))
            run(&runs[i]);
    if (!options.only && options.contenders == 0 && options.faults < 0 && failed + skipped == 0)
        check_reached();
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : passed ? 0 : 77;
}
