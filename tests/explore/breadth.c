#include "breadth.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fair.h"

enum { SLOTS_FIRST = 1 << 12 };

/* A fingerprint of what a state looks like. */
struct print {
    guint64 a, b;
};

struct origin {
    guint32 parent;
    struct breadth_step by;
};

struct search {
    const struct breadth_world *world;
    GArray *prints;  /* of struct print: of all, in the order in which they were found */
    GArray *origins; /* of struct origin, of all */
    GArray *slots;   /* of guint32: which of them, and 1; 0: free; open addressing */
    GQueue *ahead;   /* of GByteArray: those whose steps are to be tried, packed */
    struct fair *fair;
    guint64 transitions;
    guint8 *state, *next, *plain; /* as the world has them; what next looks like */
};

/* ---- states ---- */

static guint64 mix(guint64 h)
{
    h = (h ^ h >> 33) * G_GUINT64_CONSTANT(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * G_GUINT64_CONSTANT(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

static guint64 word_at(const guint8 *state, size_t at, size_t size)
{
    guint64 word = 0;

    if (at + sizeof word <= size)
        memcpy(&word, &state[at], sizeof word);
    else
        memcpy(&word, &state[at], size - at);
    return word;
}

/* Two independent hashes of 64 bits: of the words that are not 0, which few are, and of where. */
static struct print print_of(const guint8 *state, size_t size)
{
    struct print p = {G_GUINT64_CONSTANT(0x9e3779b97f4a7c15),
                      G_GUINT64_CONSTANT(0xc2b2ae3d27d4eb4f)};

    for (size_t i = 0; i < size; i += sizeof(guint64)) {
        const guint64 word = word_at(state, i, size);
        if (word == 0)
            continue;
        p.a = (p.a ^ word) * G_GUINT64_CONSTANT(0xff51afd7ed558ccd);
        p.a = (p.a ^ p.a >> 31) + i;
        p.b = (p.b + word) * G_GUINT64_CONSTANT(0xc4ceb9fe1a85ec53);
        p.b = (p.b ^ p.b >> 33) ^ i;
    }
    return (struct print){mix(p.a), mix(p.b)};
}

/* How many bytes are 0 from there on, as far as a byte can count. */
static guint8 count_zeros(const guint8 *state, size_t from, size_t size)
{
    size_t at = from, end = MIN(size, from + G_MAXUINT8);

    while (at + sizeof(guint64) <= end && word_at(state, at, size) == 0)
        at += sizeof(guint64);
    while (at < end && state[at] == 0)
        at++;
    return (guint8)(at - from);
}

/* Most bytes are 0: how many of them, how many others, these; and so on. */
static GByteArray *pack(const guint8 *state, size_t size)
{
    GByteArray *packed = g_byte_array_new();

    for (size_t i = 0; i < size;) {
        guint8 counts[2] = {count_zeros(state, i, size), 0};
        i += counts[0];
        while (i + counts[1] < size && counts[1] < G_MAXUINT8 && state[i + counts[1]] != 0)
            counts[1]++;
        g_byte_array_append(packed, counts, 2);
        g_byte_array_append(packed, &state[i], counts[1]);
        i += counts[1];
    }
    return packed;
}

static void unpack(const GByteArray *packed, guint8 *state, size_t size)
{
    size_t to = 0;

    memset(state, 0, size);
    for (guint at = 0; at < packed->len; at += 2U + packed->data[at + 1]) {
        to += packed->data[at];
        memcpy(&state[to], &packed->data[at + 2], packed->data[at + 1]);
        to += packed->data[at + 1];
    }
}

static const struct origin *origin_of(const struct search *s, guint32 number)
{
    return &g_array_index(s->origins, struct origin, number);
}

/* Makes it anew, step by step, into state. */
static void print_way(const struct search *s, guint32 number, guint8 *state)
{
    const struct origin *from = origin_of(s, number);

    if (number == 0) {
        memset(state, 0, s->world->size);
        s->world->init(state);
    } else {
        print_way(s, from->parent, state);
        s->world->take(state, from->by);
    }
    s->world->print(state, number > 0 ? &from->by : NULL);
}

/* ---- those that were found ---- */

/* Where it is, or belongs. */
static guint32 *find(const struct search *s, const struct print *p)
{
    size_t at = p->a & (s->slots->len - 1);
    guint32 *slot;

    for (;; at = (at + 1) & (s->slots->len - 1)) {
        slot = &g_array_index(s->slots, guint32, at);
        if (*slot == 0)
            return slot;
        const struct print *other = &g_array_index(s->prints, struct print, *slot - 1);
        if (other->a == p->a && other->b == p->b)
            return slot;
    }
}

static void grow(struct search *s)
{
    const guint size = s->slots->len * 2;

    g_array_set_size(s->slots, 0);
    g_array_set_size(s->slots, size);
    for (guint32 i = 0; i < s->prints->len; i++)
        *find(s, &g_array_index(s->prints, struct print, i)) = i + 1;
}

/* The number of s->next, which is new unless one that looks the same was found before. */
static guint32 add(struct search *s, guint32 parent, struct breadth_step by)
{
    const struct breadth_world *w = s->world;
    const struct origin origin = {parent, by};
    guint8 *looks = s->next;

    if (w->plain) {
        memcpy(s->plain, s->next, w->size);
        w->plain(s->plain);
        looks = s->plain;
    }
    const struct print print = print_of(looks, w->size);
    guint32 *slot = find(s, &print);
    if (*slot)
        return *slot - 1;
    g_array_append_val(s->prints, print);
    g_array_append_val(s->origins, origin);
    *slot = s->prints->len;
    g_queue_push_tail(s->ahead, pack(s->next, w->size));
    w->reached(s->next);
    if (s->prints->len * 2 > s->slots->len)
        grow(s);
    return s->prints->len - 1;
}

static void print_broken(const struct search *s, guint32 number, const char *broken)
{
    print_way(s, number, s->next);
    printf("BROKEN: %s\n", broken);
}

/* Tries all that can happen to s->state. What is broken is printed. */
static bool expand(struct search *s, guint32 number)
{
    const struct breadth_world *w = s->world;
    struct breadth_step steps[BREADTH_STEPS];
    int count = w->list(s->state, steps), fair = 0, broken = 0;

    for (int k = 0; k < count; k++) {
        memcpy(s->next, s->state, w->size);
        w->take(s->next, steps[k]);
        const guint32 to = add(s, number, steps[k]);
        s->transitions++;
        if (steps[k].kind < w->unfair) {
            fair++;
            fair_add(s->fair, to);
        }
        if ((broken = s->next[w->broken])) {
            print_broken(s, to, w->texts[broken]);
            return false;
        }
    }
    if (fair == 0 && (broken = w->check_end(s->state)))
        print_broken(s, number, w->texts[broken]);
    return !broken;
}

static bool has_cycle(const struct search *s)
{
    struct cycle cycle = fair_find_cycle(s->fair);

    if (cycle.length > 0)
        print_broken(s, cycle.states[0], "it never ends");
    g_free(cycle.states);
    return cycle.length > 0;
}

static void begin(struct search *s, const struct breadth_world *world)
{
    *s = (struct search){.world = world,
                         .prints = g_array_new(FALSE, FALSE, sizeof(struct print)),
                         .origins = g_array_new(FALSE, FALSE, sizeof(struct origin)),
                         .slots = g_array_new(FALSE, TRUE, sizeof(guint32)),
                         .ahead = g_queue_new(),
                         .fair = fair_new(),
                         .state = g_malloc0(world->size),
                         .next = g_malloc0(world->size),
                         .plain = g_malloc0(world->size)};
    g_array_set_size(s->slots, SLOTS_FIRST);
    world->init(s->next);
    add(s, 0, (struct breadth_step){0, 0});
}

static void end(struct search *s)
{
    g_array_unref(s->prints);
    g_array_unref(s->origins);
    g_array_unref(s->slots);
    g_queue_free_full(s->ahead, (GDestroyNotify)g_byte_array_unref);
    fair_free(s->fair);
    g_free(s->state);
    g_free(s->next);
    g_free(s->plain);
}

bool breadth_search(const struct breadth_world *world, const char *title)
{
    struct search s;
    bool whole = true;

    begin(&s, world);
    for (guint32 i = 0; whole && !g_queue_is_empty(s.ahead); i++) {
        GByteArray *packed = g_queue_pop_head(s.ahead);
        unpack(packed, s.state, world->size);
        g_byte_array_unref(packed);
        whole = expand(&s, i);
        fair_end(s.fair);
    }
    whole = whole && !has_cycle(&s);
    printf("%s: %u states, %" G_GUINT64_FORMAT " transitions\n", title, s.prints->len,
           s.transitions);
    end(&s);
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
