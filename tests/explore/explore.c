/* Every interleaving of a few contenders and faults, over the recipe as it is in production; or
 * with replay.c some of them, over the library. usage: explore|replay [--contenders N] [--faults N]
 * [--max-states N] [--only TEXT] [--full] */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "search.h"

enum { NEAR_END = INT32_MAX - 1 };

/* A lock and latches: whoever comes behind the other is refused. Apache's own waits for what is
 * called as our lock; the lock waits for it, a candidate is refused. */
#define LOCKS RULE_LOCK, RULE_LOCK, RULE_LOCK, RULE_LOCK
#define LATCHES RULE_LATCH, RULE_LATCH, RULE_LATCH, RULE_LATCH
#define MIXED RULE_LATCH, RULE_LOCK, RULE_LATCH, RULE_LOCK
#define APACHE(ours) RULE_APACHE, ours, RULE_APACHE, ours
#define WRITERS RULE_WRITE, RULE_READ, RULE_WRITE, RULE_READ
#define READERS RULE_READ, RULE_WRITE, RULE_READ, RULE_WRITE
#define READERS_AND_LOCK RULE_READ, RULE_LOCK, RULE_WRITE, RULE_LOCK
#define CONFIG(n, ...) BREADTH_CONFIG(model_config, .contenders = (n), __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"mutex", ALWAYS, 4, CONFIG(1, .rules = {LOCKS})},
    {"mutex", ALWAYS, 2, CONFIG(2, .rules = {LOCKS})},
    {"mutex", ALWAYS, 1, CONFIG(3, .rules = {LOCKS})},
    {"lagging servers", TWICE, 1, CONFIG(2, .lag = true, .rules = {LOCKS})},
    {"head hints", ALWAYS, 1, CONFIG(3, .long_queue = 2, .rules = {LOCKS})},
    {"head hints, no directory", ALWAYS, 1,
     CONFIG(3, .no_directory = true, .long_queue = 2, .rules = {LOCKS})},
    {"head hints, lagging servers", ALWAYS, 0,
     CONFIG(3, .lag = true, .long_queue = 2, .rules = {LOCKS})},
    {"head hints among others' data", ALWAYS, 1,
     CONFIG(3, .foreign = true, .long_queue = 1, .rules = {LOCKS})},
    {"one only tries", ALWAYS, 2, CONFIG(2, .rules = {LOCKS}, .try_only = {false, true})},
    {"one only tries, the other retains", ALWAYS, 2,
     CONFIG(2, .rules = {LOCKS}, .try_only = {false, true}, .retains = {true})},
    {"two only try, one retains", ALWAYS, 0,
     CONFIG(3, .rules = {LOCKS}, .try_only = {false, true, true}, .retains = {true, false, true})},
    {"numbers run out", ALWAYS, 2, CONFIG(2, .next = NEAR_END, .rules = {LOCKS})},
    {"no directory", ALWAYS, 1, CONFIG(2, .no_directory = true, .lag = true, .rules = {LOCKS})},
    {"latches", ALWAYS, 2, CONFIG(2, .rules = {LATCHES})},
    {"a latch and a lock", ALWAYS, 2, CONFIG(2, .rules = {MIXED})},
    {"latches and a lock", ALWAYS, 1, CONFIG(3, .rules = {MIXED})},
    {"Apache's and a candidate", ALWAYS, 2, CONFIG(2, .rules = {APACHE(RULE_SELECTOR)})},
    {"Apache's and a lock", TWICE, 1, CONFIG(2, .rules = {APACHE(RULE_LOCK)})},
    {"a latch and a lock at the end", ALWAYS, 1, CONFIG(2, .next = NEAR_END, .rules = {MIXED})},
    {"a writer and a reader", TWICE, 2, CONFIG(2, .rules = {WRITERS})},
    {"writers and a reader", ALWAYS, 1, CONFIG(3, .rules = {WRITERS})},
    {"readers and a writer", ALWAYS, 1, CONFIG(3, .rules = {READERS})},
    {"a writer and a reader, lagging servers", ALWAYS, 1,
     CONFIG(2, .rules = {WRITERS}, .lag = true)},
    {"a reader and a lock", ALWAYS, 2, CONFIG(2, .rules = {READERS_AND_LOCK})},
    {"writers and a reader", SOAK, 2, CONFIG(3, .rules = {WRITERS})},
    {"readers and a writer", SOAK, 2, CONFIG(3, .rules = {READERS})},
    {"writers and a reader, lagging servers", SOAK, 1, CONFIG(3, .rules = {WRITERS}, .lag = true)},
    {"mutex", SOAK, 4, CONFIG(2, .rules = {LOCKS})},
    {"mutex", SOAK, 2, CONFIG(3, .rules = {LOCKS})},
    {"mutex", SOAK, 1, CONFIG(4, .rules = {LOCKS})},
    {"head hints", SOAK, 1, CONFIG(3, .long_queue = 1, .rules = {LOCKS})},
    {"head hints, lagging servers", SOAK, 1,
     CONFIG(3, .lag = true, .long_queue = 2, .rules = {LOCKS})},
    {"lagging servers", SOAK, 3, CONFIG(2, .lag = true, .rules = {LOCKS})},
    {"lagging servers", SOAK, 1, CONFIG(3, .lag = true, .rules = {LOCKS})},
    {"one only tries", SOAK, 2, CONFIG(3, .rules = {LOCKS}, .try_only = {false, false, true})},
    {"one only tries, another retains", SOAK, 1,
     CONFIG(3, .rules = {LOCKS}, .try_only = {false, false, true}, .retains = {true})},
    {"numbers run out", SOAK, 3, CONFIG(2, .next = NEAR_END, .rules = {LOCKS})},
};

static struct options {
    gint contenders, faults;
    gint64 max_states;
    gchar *only;
    gboolean full, every_order;
} options = {.contenders = 0, .faults = -1, .max_states = 250000000};

static int passed, failed, skipped;

bool search_tries_every_order(void)
{
    return options.every_order;
}

static enum breadth_end run(const struct breadth_run *r, struct breadth_ends *ret_ends)
{
    enum breadth_end end;
    char *title;

    model_config = *(const struct model_config *)r->config;
    model_config.faults = r->faults;
    if (options.contenders)
        model_config.contenders = options.contenders;
    if (options.faults >= 0)
        model_config.faults = options.faults;
    else if (breadth_is_slow() && model_config.faults > 0)
        model_config.faults--;
    title = g_strdup_printf("%s, %d contenders, %d faults%s", r->what, model_config.contenders,
                            model_config.faults, options.every_order ? ", every order" : "");
    end = search_run(title, (uint32_t)options.max_states, ret_ends);
    g_free(title);
    passed += end == BREADTH_HOLDS;
    failed += end == BREADTH_BROKEN;
    skipped += end == BREADTH_CUT;
    return end;
}

/* What is left out leads nowhere else: in every order it ends in the same states. */
static void run_twice(const struct breadth_run *r)
{
    const gboolean every_order = options.every_order;
    struct breadth_ends ends, others;

    if (run(r, &ends) != BREADTH_HOLDS || r->when != TWICE || search_uses_library())
        return;
    options.every_order = !every_order;
    if (run(r, &others) == BREADTH_HOLDS) {
        const bool same = ends.count == others.count && ends.sum == others.sum;
        printf("%s\n", same ? "the ends are the same" : "BROKEN: the ends differ");
        failed += !same;
    }
    options.every_order = every_order;
}

static bool is_chosen(const struct breadth_run *r)
{
    if (options.only && !strstr(r->what, options.only))
        return false;
    return r->when != SOAK || options.full;
}

/* A search that does not get there says nothing. ST_FIRST is left out: only a semaphore's contender
 * is first in line, and permits.c explores those. */
static void check_reached(void)
{
    bool ok = true;

    for (int s = 0; s < ST_COUNT; s++) {
        if (breadth_reached(0) >> s & 1U || s == ST_FIRST)
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
        {"every-order", 0, 0, G_OPTION_ARG_NONE, &options.every_order,
         "nothing is left out that leads to the same", NULL},
        {"full", 0, 0, G_OPTION_ARG_NONE, &options.full, "larger bounds: hours, GB", NULL},
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
            run_twice(&runs[i]);
    if (!options.only && options.contenders == 0 && options.faults < 0 && failed + skipped == 0)
        check_reached();
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed ? 1 : passed ? 0 : 77;
}
