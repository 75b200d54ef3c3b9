#include "search.h"

#include <glib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "cycle.h"
#include "trace.h"
#include "visited.h"

struct search {
    struct visited *visited;
    GArray *level, *next; /* the states themselves, of this depth and of the one below */
    GArray *edges;        /* of uint32_t: where the fair moves of each state lead */
    GArray *first_edge;   /* of uint32_t, for each state */
    uint64_t transitions;
    uint32_t at; /* the state being left */
    int depth;
    enum broken broken;
    struct move broken_by; /* behind at, unless it is at that is broken */
    bool broken_at;
};

static uint32_t reached;
static sigjmp_buf assertion;

uint32_t search_reached(void)
{
    return reached;
}

bool search_uses_library(void)
{
    return false;
}

const char *search_about(void)
{
    return "states are told apart by 128-bit fingerprints";
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

static void found_broken(struct search *s, enum broken broken, struct move move)
{
    s->broken = broken;
    s->broken_by = move;
}

/* What the moves from one state lead to. They are made all at once and then looked up all at once,
 * as each of the two alone would wait for memory most of the time. */
static struct successor {
    struct move move;
    struct fingerprint print;
    struct state state;
} successors[MOVES_MAX];
static volatile int made;
static enum broken made_broken;

/* Until one is broken: that is the one behind those that are made. */
static void make_successors(struct search *s, const struct state *st, const struct move *moves,
                            int count)
{
    for (made = 0; made < count; made++) {
        struct successor *to = &successors[made];
        to->move = moves[made];
        memcpy(&to->state, st, model_size());
        move_do(&to->state, to->move);
        s->transitions++;
        made_broken = (enum broken)to->state.broken;
        if (made_broken)
            return;
        to->print = encode_state(&to->state);
        visited_prefetch_slot(s->visited, &to->print);
    }
}

static void found(struct search *s, const struct successor *to)
{
    const struct state *st = &to->state;
    bool new;
    uint32_t number = visited_add(s->visited, &to->print, s->at, to->move, &new);

    if (move_is_fair(to->move))
        g_array_append_val(s->edges, number);
    if (!new)
        return;
    for (int i = 0; i < model_config.contenders; i++)
        reached |= 1U << st->clients[i].machine.state;
    enum broken broken = check_state(st);
    if (broken)
        found_broken(s, broken, to->move);
    g_array_append_vals(s->next, st, 1);
}

static int find_successors(struct search *s)
{
    int fair = 0;

    for (int k = 0; k < made; k++)
        visited_prefetch(s->visited, &successors[k].print);
    for (int k = 0; k < made && !s->broken; k++) {
        fair += move_is_fair(successors[k].move);
        found(s, &successors[k]);
    }
    return fair;
}

/* Tries every move from st. The assertions of the recipe end up here as well, by a jump: hence the
 * static variables. */
static void expand(struct search *s, const struct state *st)
{
    static struct move moves[MOVES_MAX];
    int count = move_list(st, moves);

    if (sigsetjmp(assertion, 0))
        made_broken = BROKEN_ASSERT;
    else
        make_successors(s, st, moves, count);
    int fair = find_successors(s);
    if (made < count && !s->broken)
        found_broken(s, made_broken, moves[made]);
    if (fair == 0 && !s->broken) {
        s->broken = check_end(st);
        s->broken_at = s->broken != BROKEN_NOT;
    }
}

static void run_level(struct search *s, uint32_t max_states)
{
    GArray *done = s->level;

    s->level = s->next;
    s->next = done;
    g_array_set_size(s->next, 0);
    for (guint k = 0; k < s->level->len && !s->broken; k++) {
        if (visited_count(s->visited) > max_states)
            return;
        guint edge = s->edges->len;
        g_array_append_val(s->first_edge, edge);
        expand(s, (const struct state *)(s->level->data + (size_t)k * model_size()));
        s->at++;
    }
    s->depth++;
}

static void start(struct search *s)
{
    struct state st;
    bool new;

    model_init(&st);
    struct fingerprint print = encode_state(&st);
    s->visited = visited_new();
    visited_add(s->visited, &print, VISITED_NONE, (struct move){.kind = 0}, &new);
    s->level = g_array_new(FALSE, FALSE, (guint)model_size());
    s->next = g_array_new(FALSE, FALSE, (guint)model_size());
    s->edges = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    s->first_edge = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_array_append_vals(s->next, &st, 1);
}

static void end(struct search *s)
{
    visited_free(s->visited);
    g_array_unref(s->level);
    g_array_unref(s->next);
    g_array_unref(s->edges);
    g_array_unref(s->first_edge);
}

/* The state whose way is printed, and the move behind it. */
static void tell_broken(struct search *s)
{
    uint32_t last = s->at - 1; /* run_level() has gone on */

    printf("BROKEN: %s\n", check_text(s->broken));
    trace_print(s->visited, last, s->broken_at ? NULL : &s->broken_by);
}

/* Without a cycle of fair moves, whatever happens comes to an end once the faults do; and where it
 * ends, check_end() has looked. */
static bool find_cycle(struct search *s)
{
    struct cycle cycle = cycle_find(s->first_edge, s->edges);

    if (cycle.length == 0)
        return false;
    printf("BROKEN: %s, by %u moves behind:\n", check_text(BROKEN_ENDLESS), cycle.length);
    trace_print_cycle(s->visited, &cycle);
    g_free(cycle.states);
    return true;
}

enum search_end search_run(const char *title, uint32_t max_states)
{
    struct search s = {.at = 0};
    gint64 begun = g_get_monotonic_time();
    bool cut = false, cycle = false;

    start(&s);
    set_handler(on_assertion);
    while (s.next->len > 0 && !s.broken && !cut) {
        run_level(&s, max_states);
        cut = visited_count(s.visited) > max_states;
    }
    set_handler(SIG_DFL);
    if (s.broken)
        tell_broken(&s);
    else if (!cut)
        cycle = find_cycle(&s);
    printf("%s: %u states, %" G_GUINT64_FORMAT " transitions, depth %d, %.1f s%s\n", title,
           visited_count(s.visited), s.transitions, s.depth,
           (double)(g_get_monotonic_time() - begun) / 1e6, cut ? ", not finished" : "");
    end(&s);
    return s.broken || cycle ? SEARCH_BROKEN : cut ? SEARCH_CUT : SEARCH_HOLDS;
}
