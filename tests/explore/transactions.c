/* Every interleaving of two or three fenced transactions of one grant and a few faults, breadth
 * first. usage: transactions [--full] */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cycle.h"
#include "line.h"

static const struct {
    const char *what;
    struct line_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"one", {.txs = 1, .faults = 6, .lag = true}, false},
    {"two", {.txs = 2, .faults = 4, .lag = true}, false},
    {"two, the last gives back", {.txs = 2, .faults = 4, .lag = true, .release = true}, false},
    {"three", {.txs = 3, .faults = 3, .lag = true}, false},
    {"one", {.txs = 1, .faults = 8, .lag = true}, true},
    {"two", {.txs = 2, .faults = 6, .lag = true}, true},
    {"three", {.txs = 3, .faults = 5, .lag = true}, true},
    {"three, the last gives back", {.txs = 3, .faults = 4, .lag = true, .release = true}, true},
};

struct found {
    struct line_state state;
    guint32 number, parent;
    struct line_step by;
};

struct search {
    GHashTable *known; /* a set of struct found */
    GPtrArray *all;    /* of struct found, in the order in which they were found */
    GArray *edges, *first_edge;
    guint64 transitions;
};

static guint32 reached; /* by any search: a bit for each state of the machine */

static guint hash(gconstpointer key)
{
    const guint8 *bytes = key;
    guint64 h = 1469598103934665603U;

    for (size_t i = 0; i < sizeof(struct line_state); i++)
        h = (h ^ bytes[i]) * 1099511628211U;
    return (guint)(h ^ h >> 32);
}

static gboolean equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct line_state)) == 0;
}

static void print_way(const struct search *s, const struct found *f)
{
    const struct line_state *st = &f->state;

    if (f->number > 0)
        print_way(s, s->all->pdata[f->parent]);
    printf("  %s %d: transaction %d %s for %d, node %d%s\n",
           f->number > 0 ? line_move_text((enum line_move)f->by.kind) : "the beginning", f->by.at,
           st->begun, transaction_state_name(st->machine.state), st->machine.asked, st->version,
           st->up ? "" : ", down");
}

static guint32 add(struct search *s, const struct line_state *st, guint32 parent,
                   struct line_step by)
{
    struct found *f = g_hash_table_lookup(s->known, st);

    if (f)
        return f->number;
    f = g_new(struct found, 1);
    memcpy(&f->state, st, sizeof *st);
    f->number = s->all->len;
    f->parent = parent;
    f->by = by;
    g_ptr_array_add(s->all, f);
    g_hash_table_add(s->known, f);
    reached |= 1U << st->machine.state;
    return f->number;
}

/* Tries all that can happen to f. What is broken is printed. */
static bool expand(struct search *s, const struct found *f)
{
    struct line_step steps[LINE_STEPS_MAX];
    int count = line_list(&f->state, steps), fair = 0;
    enum line_broken broken = LINE_WHOLE;

    for (int k = 0; k < count && !broken; k++) {
        struct line_state to;
        memcpy(&to, &f->state, sizeof to);
        line_do(&to, steps[k]);
        guint32 number = add(s, &to, f->number, steps[k]);
        s->transitions++;
        fair += line_is_fair(steps[k]);
        if (line_is_fair(steps[k]))
            g_array_append_val(s->edges, number);
        broken = (enum line_broken)to.broken;
        if (broken)
            print_way(s, s->all->pdata[number]);
    }
    if (fair == 0 && !broken && (broken = line_check_end(&f->state)))
        print_way(s, f);
    if (broken)
        printf("BROKEN: %s\n", line_broken_text(broken));
    return !broken;
}

static bool has_cycle(const struct search *s)
{
    struct cycle cycle = cycle_find(s->first_edge, s->edges);

    if (cycle.length > 0) {
        print_way(s, s->all->pdata[cycle.states[0]]);
        puts("BROKEN: it never ends");
    }
    g_free(cycle.states);
    return cycle.length > 0;
}

static bool explore(const char *title)
{
    struct search s = {.known = g_hash_table_new(hash, equal),
                       .all = g_ptr_array_new_with_free_func(g_free),
                       .edges = g_array_new(FALSE, FALSE, sizeof(guint32)),
                       .first_edge = g_array_new(FALSE, FALSE, sizeof(guint32))};
    struct line_state first;
    bool whole = true;

    line_init(&first);
    add(&s, &first, 0, (struct line_step){LINE_BEGIN, 0});
    for (guint i = 0; i < s.all->len && whole; i++) {
        guint edge = s.edges->len;
        g_array_append_val(s.first_edge, edge);
        whole = expand(&s, s.all->pdata[i]);
    }
    whole = whole && !has_cycle(&s);
    printf("%s, %d faults: %u states, %" G_GUINT64_FORMAT " transitions\n", title,
           line_config.faults, s.all->len, s.transitions);
    g_hash_table_unref(s.known);
    g_ptr_array_unref(s.all);
    g_array_unref(s.edges);
    g_array_unref(s.first_edge);
    return whole;
}

/* A search that does not get there says nothing. */
static bool all_reached(void)
{
    for (int state = 0; state < TX_COUNT; state++) {
        if (reached >> state & 1U)
            continue;
        printf("never %s\n", transaction_state_name((enum transaction_state)state));
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const bool full = argc == 2 && strcmp(argv[1], "--full") == 0;
    const char *instrumented = getenv("ZKL_INSTRUMENTED");
    int failed = 0, passed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(runs); i++) {
        if (runs[i].soak && !full)
            continue;
        line_config = runs[i].config;
        if (instrumented && *instrumented)
            line_config.faults--;
        if (explore(runs[i].what))
            passed++;
        else
            failed++;
    }
    if (failed == 0 && all_reached())
        passed++;
    else
        failed++;
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? 1 : 0;
}
