#include "breadth.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fair.h"

struct found {
    guint32 number, parent;
    struct breadth_step by;
    _Alignas(8) guint8 state[];
};

struct search {
    const struct breadth_world *world;
    GHashTable *known; /* a set of struct found */
    GPtrArray *all;    /* of struct found, in the order in which they were found */
    struct fair *fair;
    guint64 transitions;
    struct found *next; /* room for the next one */
};

static size_t state_size; /* of the present search: a hash table's functions hear of no other */

static guint hash(gconstpointer key)
{
    const struct found *f = key;
    guint64 h = 1469598103934665603U, word;

    for (size_t i = 0; i < state_size; i += sizeof word) {
        word = 0;
        memcpy(&word, &f->state[i], MIN(sizeof word, state_size - i));
        h = (h ^ word) * 1099511628211U;
        h ^= h >> 29;
    }
    return (guint)(h ^ h >> 32);
}

static gboolean equal(gconstpointer a, gconstpointer b)
{
    return memcmp(((const struct found *)a)->state, ((const struct found *)b)->state, state_size) ==
           0;
}

static void print_way(const struct search *s, const struct found *f)
{
    if (f->number > 0)
        print_way(s, s->all->pdata[f->parent]);
    s->world->print(f->state, f->number > 0 ? &f->by : NULL);
}

static struct found *room(void)
{
    return g_malloc0(sizeof(struct found) + state_size);
}

/* s->next, unless it is known. */
static const struct found *add(struct search *s, guint32 parent, struct breadth_step by)
{
    const struct found *known = g_hash_table_lookup(s->known, s->next);
    struct found *f = s->next;

    if (known)
        return known;
    f->number = s->all->len;
    f->parent = parent;
    f->by = by;
    g_ptr_array_add(s->all, f);
    g_hash_table_add(s->known, f);
    s->world->reached(f->state);
    s->next = room();
    return f;
}

/* Tries all that can happen to f. What is broken is printed. */
static bool expand(struct search *s, const struct found *f)
{
    struct breadth_step steps[BREADTH_STEPS];
    int count = s->world->list(f->state, steps), fair = 0;
    const char *broken = NULL;

    for (int k = 0; k < count && !broken; k++) {
        memcpy(s->next->state, f->state, state_size);
        s->world->take(s->next->state, steps[k]);
        const struct found *to = add(s, f->number, steps[k]);
        s->transitions++;
        fair += s->world->is_fair(steps[k]);
        if (s->world->is_fair(steps[k]))
            fair_add(s->fair, to->number);
        if ((broken = s->world->broken(to->state)))
            print_way(s, to);
    }
    if (fair == 0 && !broken && (broken = s->world->stuck(f->state)))
        print_way(s, f);
    if (broken)
        printf("BROKEN: %s\n", broken);
    return !broken;
}

static bool has_cycle(const struct search *s)
{
    struct cycle cycle = fair_find_cycle(s->fair);

    if (cycle.length > 0) {
        print_way(s, s->all->pdata[cycle.states[0]]);
        puts("BROKEN: it never ends");
    }
    g_free(cycle.states);
    return cycle.length > 0;
}

bool breadth_search(const struct breadth_world *world, const char *title)
{
    struct search s = {.world = world,
                       .known = g_hash_table_new(hash, equal),
                       .all = g_ptr_array_new_with_free_func(g_free),
                       .fair = fair_new()};
    bool whole = true;

    state_size = world->size;
    s.next = room();
    world->init(s.next->state);
    add(&s, 0, (struct breadth_step){0, 0});
    for (guint i = 0; i < s.all->len && whole; i++) {
        whole = expand(&s, s.all->pdata[i]);
        fair_end(s.fair);
    }
    whole = whole && !has_cycle(&s);
    printf("%s: %u states, %" G_GUINT64_FORMAT " transitions\n", title, s.all->len, s.transitions);
    g_hash_table_unref(s.known);
    g_ptr_array_unref(s.all);
    fair_free(s.fair);
    g_free(s.next);
    return whole;
}

/* ---- programs ---- */

static bool search(const struct breadth_program *p, const char *what)
{
    char *title = g_strdup_printf("%s, %d faults", what, *p->faults);
    bool whole = breadth_search(p->world, title);

    g_free(title);
    return whole;
}

/* A search that does not get there says nothing. */
static bool all_reached(const struct breadth_program *p)
{
    for (int state = 0; state < p->states; state++) {
        if (*p->reached >> state & 1U)
            continue;
        printf("never %s\n", p->state_name(state));
        return false;
    }
    return true;
}

int breadth_main(const struct breadth_program *program, int argc, char **argv)
{
    const bool full = argc == 2 && strcmp(argv[1], "--full") == 0;
    const char *instrumented = getenv("ZKL_INSTRUMENTED");
    int failed = 0, passed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < program->count; i++) {
        const char *what = program->configure(i, full);
        if (!what)
            continue;
        if (instrumented && *instrumented && *program->faults > 0)
            --*program->faults;
        if (search(program, what))
            passed++;
        else
            failed++;
    }
    if (failed == 0 && all_reached(program))
        passed++;
    else
        failed++;
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? 1 : 0;
}
