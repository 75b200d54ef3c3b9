#include "breadth.h"

#include <glib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fair.h"
#include "progress.h"
#include "scratch.h"

enum { WORD = sizeof(uint64_t), SLOTS_FIRST = 1 << 12, ROOM_FIRST = 1 << 12 };
enum { NO_STATE = UINT32_MAX }; /* the parent of the first */

/* ---- fingerprints ---- */

static uint64_t word_at(const uint8_t *bytes, size_t at, size_t size)
{
    uint64_t word = 0;

    if (at + sizeof word <= size)
        memcpy(&word, &bytes[at], sizeof word);
    else
        memcpy(&word, &bytes[at], size - at);
    return word;
}

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

/* Two independent hashes of 64 bits, a half of the second left out: of the words that are not 0,
 * which few are, and of where. */
struct breadth_print breadth_print_of(const void *bytes, size_t size)
{
    uint64_t a = UINT64_C(0x9e3779b97f4a7c15) ^ size, b = UINT64_C(0xc2b2ae3d27d4eb4f);

    for (size_t i = 0; i < size; i += WORD) {
        const uint64_t word = word_at(bytes, i, size);
        if (word == 0)
            continue;
        a = (a ^ word) * UINT64_C(0xff51afd7ed558ccd);
        a = (a ^ a >> 31) + i;
        b = (b + word) * UINT64_C(0xc4ceb9fe1a85ec53);
        b = (b ^ b >> 33) ^ i;
    }
    a = mix(a);
    return (struct breadth_print){{(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)mix(b)}};
}

/* ---- the states that were seen ---- */

/* Each with the move that first led to it. Room for more is made in small steps, and the table is
 * filled by three quarters. */
struct visited {
    struct breadth_print *prints;
    uint32_t *parents;
    struct move *moves;
    uint32_t count, room;
    uint32_t *slots; /* state + 1, 0: free; open addressing */
    size_t size;     /* a power of two */
};

static void visited_free(struct visited *v)
{
    g_free(v->prints);
    g_free(v->parents);
    g_free(v->moves);
    g_free(v->slots);
}

static size_t first_slot(const struct visited *v, const struct breadth_print *print)
{
    return print->words[0] & (v->size - 1);
}

/* Where it is, or belongs. */
static size_t find_slot(const struct visited *v, const struct breadth_print *print)
{
    size_t at = first_slot(v, print);

    for (; v->slots[at]; at = (at + 1) & (v->size - 1)) {
        if (memcmp(&v->prints[v->slots[at] - 1], print, sizeof *print) == 0)
            break;
    }
    return at;
}

static void grow(struct visited *v)
{
    g_free(v->slots);
    v->size = v->size ? v->size * 2 : SLOTS_FIRST;
    v->slots = g_new0(uint32_t, v->size);
    for (uint32_t state = 0; state < v->count; state++)
        v->slots[find_slot(v, &v->prints[state])] = state + 1;
}

static void make_room(struct visited *v)
{
    v->room += v->room / 8 + ROOM_FIRST;
    v->prints = g_renew(struct breadth_print, v->prints, v->room);
    v->parents = g_renew(uint32_t, v->parents, v->room);
    v->moves = g_renew(struct move, v->moves, v->room);
}

/* The state's number; *ret_new: it was not there. */
static uint32_t visited_add(struct visited *v, const struct breadth_print *print, uint32_t parent,
                            struct move move, bool *ret_new)
{
    const size_t at = find_slot(v, print);

    *ret_new = v->slots[at] == 0;
    if (!*ret_new)
        return v->slots[at] - 1;
    if (v->count == v->room)
        make_room(v);
    v->prints[v->count] = *print;
    v->parents[v->count] = parent;
    v->moves[v->count] = move;
    v->slots[at] = ++v->count;
    if (v->count > v->size / 4 * 3)
        grow(v);
    return v->count - 1;
}

/* ---- the states of one depth ---- */

/* First all are put, then all are got, in the same order. The file has, for each word, a byte with
 * a bit for each byte that is not 0, and those bytes. For words of 0 in a row it has a byte without
 * a bit, and their number. */
struct level {
    FILE *file;
    uint32_t count; /* of states that can be got */
};

static void level_clear(struct level *l)
{
    scratch_empty(l->file);
    l->count = 0;
}

static uint8_t *pack_word(uint8_t *to, const uint8_t *word, size_t size)
{
    uint8_t *bits = to++;

    *bits = 0;
    for (size_t k = 0; k < MIN(size, (size_t)WORD); k++)
        if (word[k]) {
            *bits |= (uint8_t)(1U << k);
            *to++ = word[k];
        }
    return to;
}

static uint16_t pack(const uint8_t *state, size_t size, uint8_t *packed)
{
    uint8_t *to = packed;

    for (size_t at = 0; at < size;) {
        uint8_t zeros = 0;
        for (; at < size && zeros < UINT8_MAX && !word_at(state, at, size); at += WORD)
            zeros++;
        if (zeros) {
            *to++ = 0;
            *to++ = zeros;
        } else {
            to = pack_word(to, &state[at], size - at);
            at += WORD;
        }
    }
    return (uint16_t)(to - packed);
}

static void unpack(const uint8_t *from, uint8_t *state, size_t size)
{
    memset(state, 0, size);
    for (size_t at = 0; at < size; at += WORD) {
        const uint8_t bits = *from++;
        if (!bits)
            at += WORD * (size_t)(*from++ - 1);
        for (int k = 0; k < WORD && bits >> k; k++)
            if (bits >> k & 1)
                state[at + (size_t)k] = *from++;
    }
}

/* ---- the search ---- */

struct search {
    const struct breadth_world *world;
    struct visited visited;
    struct level level, next; /* the states themselves, of this depth and of the one below */
    struct fair *fair;
    uint64_t transitions;
    struct breadth_ends ends;
    uint32_t at; /* the state being left */
    int depth;
    uint8_t *state, *plain, *packed;
};

/* What the moves from one state lead to. They are made all at once and then looked up all at once,
 * as each of the two alone would wait for memory most of the time. */
static struct {
    struct move moves[BREADTH_MOVES];
    struct breadth_print prints[BREADTH_MOVES];
    uint8_t *states;
} successors;
static volatile int made;
static const char *volatile broken;
static volatile uint64_t passed;
static uint32_t reached;
static sigjmp_buf assertion;

void breadth_require(bool holds, const char *what)
{
    if (!holds && !broken)
        broken = what;
}

void breadth_pass(void)
{
    passed++;
}

bool breadth_is_slow(void)
{
    const char *instrumented = getenv("ZKL_INSTRUMENTED");

    return instrumented && *instrumented;
}

uint32_t breadth_reached(uint32_t more)
{
    return reached |= more;
}

static void on_assertion(int sig)
{
    (void)sig;
    siglongjmp(assertion, 1);
}

static void set_handler(void (*handler)(int sig))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};

    sigaction(SIGABRT, &action, NULL);
}

static uint8_t *successor(const struct search *s, int k)
{
    return &successors.states[(size_t)k * s->world->size];
}

static bool is_fair(const struct breadth_world *w, struct move move)
{
    return w->is_fair ? w->is_fair(move) : w->kinds[move.kind].when == FAIR;
}

static int list(const struct breadth_world *w, const uint8_t *state, struct move *moves)
{
    int count = 0;

    if (w->list)
        return w->list(state, moves);
    for (uint8_t kind = 0; kind < w->kind_count; kind++) {
        if (w->kinds[kind].when == FAULT && state[w->faults] == 0)
            continue;
        for (uint8_t at = 0; at < w->kinds[kind].ats; at++) {
            const struct move move = {kind, at, 0};
            g_assert(count < BREADTH_MOVES);
            if (w->may(state, move))
                moves[count++] = move;
        }
    }
    return count;
}

static void take(const struct breadth_world *w, uint8_t *state, struct move move)
{
    if (w->kinds && w->kinds[move.kind].when == FAULT)
        state[w->faults]--;
    w->take(state, move);
}

static struct breadth_print print_of(const struct search *s, const uint8_t *state)
{
    const struct breadth_world *w = s->world;

    if (w->print_of)
        return w->print_of(state);
    if (!w->plain)
        return breadth_print_of(state, w->size);
    memcpy(s->plain, state, w->size);
    w->plain(s->plain);
    return breadth_print_of(s->plain, w->size);
}

/* Until one is broken: that is the one behind those that are made. */
static void make_successors(const struct search *s, int count)
{
    for (made = 0; made < count; made++) {
        uint8_t *to = successor(s, made);
        memcpy(to, s->state, s->world->size);
        passed++;
        take(s->world, to, successors.moves[made]);
        if (broken)
            return;
        successors.prints[made] = print_of(s, to);
        __builtin_prefetch(&s->visited.slots[first_slot(&s->visited, &successors.prints[made])]);
    }
}

static unsigned machine_state(const struct breadth_world *w, const uint8_t *state, int i)
{
    unsigned is;

    memcpy(&is, &state[w->machine + w->stride * (size_t)i], sizeof is);
    return is;
}

static void put(struct search *s, const uint8_t *state)
{
    const uint16_t size = pack(state, s->world->size, s->packed);

    scratch_write(s->next.file, &size, sizeof size);
    scratch_write(s->next.file, s->packed, size);
    s->next.count++;
    for (int i = 0; i < s->world->machines; i++)
        reached |= 1U << machine_state(s->world, state, i);
}

static int find_successors(struct search *s)
{
    int fair = 0;
    bool new;

    for (int k = 0; k < made; k++) {
        const uint32_t slot = s->visited.slots[first_slot(&s->visited, &successors.prints[k])];
        if (slot)
            __builtin_prefetch(&s->visited.prints[slot - 1]);
    }
    for (int k = 0; k < made; k++) {
        const uint32_t number =
            visited_add(&s->visited, &successors.prints[k], s->at, successors.moves[k], &new);
        if (is_fair(s->world, successors.moves[k])) {
            fair++;
            fair_add(s->fair, number);
        }
        if (new)
            put(s, successor(s, k));
    }
    return fair;
}

/* Nothing fair happens any more. */
static void end_here(struct search *s)
{
    const struct breadth_print print = print_of(s, s->state);

    s->ends.count++;
    s->ends.sum += (uint64_t)print.words[1] << 32 | print.words[0];
    broken = s->world->check_end(s->state);
}

/* Tries every move from s->state. The assertions of the recipe end up here as well, by a jump:
 * hence the static variables. */
static void expand(struct search *s)
{
    const int count = list(s->world, s->state, successors.moves);

    passed = 0;
    if (sigsetjmp(assertion, 0))
        broken = "an assertion of the recipe failed";
    else
        make_successors(s, count);
    s->transitions += passed;
    const bool ends = find_successors(s) == 0;
    if (ends && !broken) {
        made = -1;
        end_here(s);
    }
}

static void run_level(struct search *s, uint32_t max_states)
{
    const struct level done = s->level;
    uint16_t size;

    s->level = s->next;
    s->next = done;
    level_clear(&s->next);
    scratch_seek(s->level.file, 0);
    for (; !broken && s->level.count > 0 && s->visited.count <= max_states; s->level.count--) {
        scratch_read(s->level.file, &size, sizeof size);
        scratch_read(s->level.file, s->packed, size);
        unpack(s->packed, s->state, s->world->size);
        expand(s);
        progress_step();
        fair_end(s->fair);
        s->at++;
    }
    s->depth++;
}

/* ---- the way to a state ---- */

static bool begin(const struct search *s, uint8_t *state, int number)
{
    memset(state, 0, s->world->size);
    return s->world->begin(state, number);
}

static void print_move(const struct breadth_world *w, const uint8_t *state, const struct move *move)
{
    printf("  %s %d:", move ? w->kinds[move->kind].text : "the beginning", move ? move->at : 0);
    w->print(state);
    putchar('\n');
}

static void tell(const struct search *s, uint8_t *state, const struct move *move)
{
    if (s->world->tell) {
        s->world->tell(state, move);
        return;
    }
    if (move)
        take(s->world, state, *move);
    print_move(s->world, state, move);
}

/* Makes it anew, move by move. */
static void print_way(const struct search *s, uint32_t number, uint8_t *state)
{
    const struct move move = s->visited.moves[number];

    if (s->visited.parents[number] == NO_STATE) {
        begin(s, state, move.at);
        tell(s, state, NULL);
    } else {
        print_way(s, s->visited.parents[number], state);
        tell(s, state, &move);
    }
}

/* The state whose way is printed, and the move behind it, if that is broken. */
static void tell_broken(const struct search *s)
{
    const char *what = broken;
    const int by = made;

    printf("BROKEN: %s\n", what);
    if (sigsetjmp(assertion, 0))
        return;
    print_way(s, s->at - 1, s->state); /* run_level() has gone on */
    if (by >= 0)
        tell(s, s->state, &successors.moves[by]);
}

static bool step_to(const struct search *s, uint32_t number)
{
    const int count = list(s->world, s->state, successors.moves);
    uint8_t *to = successor(s, 0);

    for (int k = 0; k < count; k++) {
        memcpy(to, s->state, s->world->size);
        take(s->world, to, successors.moves[k]);
        const struct breadth_print print = print_of(s, to);
        if (!is_fair(s->world, successors.moves[k]) ||
            memcmp(&print, &s->visited.prints[number], sizeof print) != 0)
            continue;
        tell(s, s->state, &successors.moves[k]);
        return true;
    }
    return false;
}

/* Without a cycle of fair moves, whatever happens comes to an end once the faults do; and where it
 * ends, check_end() has looked. */
static bool find_cycle(const struct search *s)
{
    struct cycle cycle = fair_find_cycle(s->fair);
    bool found = true;

    if (cycle.length == 0)
        return false;
    printf("BROKEN: it can go on for ever, by %u moves behind:\n", cycle.length);
    print_way(s, cycle.states[0], s->state);
    puts("and then, again and again:");
    for (guint k = 1; found && k <= cycle.length; k++)
        found = step_to(s, cycle.states[k % cycle.length]);
    g_free(cycle.states);
    return true;
}

/* ---- one search ---- */

static void start(struct search *s, const struct breadth_world *world)
{
    bool new;

    *s = (struct search){.world = world,
                         .level.file = scratch_open(),
                         .next.file = scratch_open(),
                         .fair = fair_new(),
                         .state = g_malloc(world->size),
                         .plain = g_malloc(world->size),
                         .packed = g_malloc(world->size / WORD * (WORD + 1) + 2 * WORD)};
    successors.states = g_malloc(BREADTH_MOVES * world->size);
    grow(&s->visited);
    broken = NULL;
    for (int number = 0; begin(s, s->state, number); number++) {
        const struct breadth_print print = print_of(s, s->state);
        visited_add(&s->visited, &print, NO_STATE, (struct move){.at = (uint8_t)number}, &new);
        if (new)
            put(s, s->state);
    }
}

static void end(struct search *s)
{
    visited_free(&s->visited);
    fclose(s->level.file);
    fclose(s->next.file);
    fair_free(s->fair);
    g_free(s->state);
    g_free(s->plain);
    g_free(s->packed);
    g_free(successors.states);
}

/* Only large searches tell it. */
static void tell_chance(double count)
{
    const double prints = 79228162514264337593543950336.0; /* 2 to the 96th */

    if (count > 1e7)
        printf("  a state was taken for another with a chance of %.0e\n",
               count * count / 2 / prints);
}

enum breadth_end breadth_search(const struct breadth_world *world, const char *title,
                                uint32_t max_states, struct breadth_ends *ret_ends)
{
    const gint64 begun = g_get_monotonic_time();
    struct search s;
    bool cut = false, cycle = false;

    start(&s, world);
    set_handler(on_assertion);
    while (s.next.count > 0 && !broken && !cut) {
        run_level(&s, max_states);
        cut = s.visited.count > max_states;
    }
    const bool found = broken != NULL;
    if (found)
        tell_broken(&s);
    else if (!cut)
        cycle = find_cycle(&s);
    set_handler(SIG_DFL);
    printf("%s: %u states, %" G_GUINT64_FORMAT " transitions, depth %d, %" G_GUINT64_FORMAT
           " ends, %.1f s%s\n",
           title, s.visited.count, s.transitions, s.depth, s.ends.count,
           (double)(g_get_monotonic_time() - begun) / 1e6, cut ? ", not finished" : "");
    tell_chance(s.visited.count);
    *ret_ends = s.ends;
    end(&s);
    return found || cycle ? BREADTH_BROKEN : cut ? BREADTH_CUT : BREADTH_HOLDS;
}

/* ---- programs ---- */

static const struct breadth_world *program;
static const struct breadth_run *run;
static int faults;

static bool begin_run(void *state, int number)
{
    ((uint8_t *)state)[program->faults] = (uint8_t)faults;
    program->init(state, run->config);
    return number == 0;
}

/* What only something planted reaches is not reached. */
static bool search(struct breadth_world *world)
{
    const uint32_t before = reached;
    struct breadth_ends ends;

    faults = run->faults - (breadth_is_slow() && run->faults > 0 && run->when != PLANTED);
    char *title = g_strdup_printf("%s%s, %d faults", run->when == PLANTED ? "planted: " : "",
                                  run->what, faults);
    const enum breadth_end end = breadth_search(world, title, UINT32_MAX - 1, &ends);
    g_free(title);
    if (run->when == PLANTED)
        reached = before;
    return end == (run->when == PLANTED ? BREADTH_BROKEN : BREADTH_HOLDS);
}

/* A search that does not get there says nothing. */
static bool all_reached(const struct breadth_world *world)
{
    for (int state = 0; state < world->states; state++) {
        if (reached >> state & 1U)
            continue;
        printf("never %s\n", world->state_name(state));
        return false;
    }
    return true;
}

int breadth_main(const struct breadth_world *world, int argc, char **argv)
{
    const bool full = argc == 2 && strcmp(argv[1], "--full") == 0;
    struct breadth_world begun = *world;
    int right = 0, wrong = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    program = world;
    begun.begin = begin_run;
    for (size_t i = 0; i < world->run_count; i++) {
        run = &world->runs[i];
        if (run->when == SOAK && !full)
            continue;
        if (search(&begun))
            right++;
        else
            wrong++;
    }
    if (wrong == 0 && all_reached(world))
        right++;
    else
        wrong++;
    printf("%d passed, %d failed, 0 skipped\n", right, wrong);
    return wrong ? 1 : 0;
}
