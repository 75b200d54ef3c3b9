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

static void found(struct search *s, const struct state *st, struct move move)
{
    struct fingerprint print = encode_state(st);
    bool new;
    uint32_t state = visited_add(s->visited, &print, s->at, move, &new);

    if (move_is_fair(move))
        g_array_append_val(s->edges, state);
    if (!new)
        return;
    for (int i = 0; i < model_config.contenders; i++)
        reached |= 1U << st->clients[i].machine.state;
    enum broken broken = check_state(st);
    if (broken)
        found_broken(s, broken, move);
    g_array_append_vals(s->next, st, 1);
}

/* Tries every move from st. The assertions of the recipe end up here as well, by a jump: hence the
 * static variables. */
static void expand(struct search *s, const struct state *st)
{
    static struct move moves[MOVES_MAX];
    static volatile int k;
    int count = move_list(st, moves), fair = 0;
    struct state to;

    if (sigsetjmp(assertion, 0)) {
        found_broken(s, BROKEN_ASSERT, moves[k]);
        return;
    }
    for (k = 0; k < count && !s->broken; k++) {
        memcpy(&to, st, model_size());
        move_do(&to, moves[k]);
        s->transitions++;
        fair += move_is_fair(moves[k]);
        if (to.broken)
            found_broken(s, (enum broken)to.broken, moves[k]);
        else
            found(s, &to, moves[k]);
    }
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
