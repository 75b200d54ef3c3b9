#include "search.h"

#include <glib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fair.h"
#include "level.h"
#include "reduce.h"
#include "trace.h"
#include "visited.h"

struct search {
    struct visited *visited;
    struct level *level, *next; /* the states themselves, of this depth and of the one below */
    struct fair *fair;
    uint64_t transitions;
    struct search_ends ends;
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
    return "states are told apart by 96-bit fingerprints";
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

/* What the moves from one state lead to. They are made all at once and then looked up all at once,
 * as each of the two alone would wait for memory most of the time. */
static struct successor {
    struct move move;
    struct fingerprint print;
    struct state state;
} successors[MOVES_MAX];
static volatile int made;
static enum broken made_broken;

static bool note(const struct state *before, struct move move, const struct state *then, void *data)
{
    struct search *s = data;

    (void)before, (void)move;
    s->transitions++;
    for (int i = 0; i < model_config.contenders; i++)
        reached |= 1U << then->clients[i].machine.state;
    made_broken = then->broken ? (enum broken)then->broken : check_state(then);
    return !made_broken && !search_tries_every_order();
}

/* Until one is broken: that is the one behind those that are made. */
static void make_successors(struct search *s, const struct state *st, const struct move *moves,
                            int count)
{
    for (made = 0; made < count; made++) {
        struct successor *to = &successors[made];
        to->move = moves[made];
        memcpy(&to->state, st, model_size());
        reduce_do(&to->state, to->move, note, s);
        if (made_broken)
            return;
        to->print = encode_state(&to->state);
        visited_prefetch_slot(s->visited, &to->print);
    }
}

static void found(struct search *s, const struct successor *to)
{
    bool new;
    uint32_t number = visited_add(s->visited, &to->print, s->at, to->move, &new);

    if (move_is_fair(to->move))
        fair_add(s->fair, number);
    if (new)
        level_put(s->next, &to->state);
}

static int find_successors(struct search *s)
{
    int fair = 0;

    for (int k = 0; k < made; k++)
        visited_prefetch(s->visited, &successors[k].print);
    for (int k = 0; k < made; k++) {
        fair += move_is_fair(successors[k].move);
        found(s, &successors[k]);
    }
    return fair;
}

/* Nothing fair happens any more. */
static void end_here(struct search *s, const struct state *st)
{
    const struct fingerprint print = encode_state(st);

    s->ends.count++;
    s->ends.sum += (uint64_t)print.words[1] << 32 | print.words[0];
    s->broken = check_end(st);
    s->broken_at = s->broken != BROKEN_NOT;
}

/* Tries every move from st. The assertions of the recipe end up here as well, by a jump: hence the
 * static variables. */
static void expand(struct search *s, const struct state *st)
{
    static struct move moves[MOVES_MAX];
    int count = move_list(st, moves);

    made_broken = BROKEN_NOT;
    if (sigsetjmp(assertion, 0))
        made_broken = BROKEN_ASSERT;
    else
        make_successors(s, st, moves, count);
    int fair = find_successors(s);
    if (made_broken) {
        s->broken = made_broken;
        s->broken_by = moves[made];
    } else if (fair == 0) {
        end_here(s, st);
    }
}

static void run_level(struct search *s, uint32_t max_states)
{
    struct level *done = s->level;
    static struct state st;

    s->level = s->next;
    s->next = done;
    level_clear(s->next);
    while (!s->broken && level_get(s->level, &st)) {
        if (visited_count(s->visited) > max_states)
            return;
        expand(s, &st);
        fair_end(s->fair);
        s->at++;
    }
    s->depth++;
}

static void start(struct search *s)
{
    struct model_shares shares = model_first_shares();
    struct state st;
    uint8_t number = 0;
    bool new;

    s->visited = visited_new();
    s->level = level_new();
    s->next = level_new();
    s->fair = fair_new();
    do {
        model_init(&st, &shares);
        struct fingerprint print = encode_state(&st);
        visited_add(s->visited, &print, VISITED_NONE,
                    (struct move){.kind = MOVE_COUNT, .client = number++}, &new);
        if (new)
            level_put(s->next, &st);
    } while (model_next_shares(&shares));
}

static void end(struct search *s)
{
    visited_free(s->visited);
    level_free(s->level);
    level_free(s->next);
    fair_free(s->fair);
}

/* The state whose way is printed, and the move behind it. */
static void tell_broken(struct search *s)
{
    uint32_t last = s->at - 1; /* run_level() has gone on */

    printf("BROKEN: %s\n", check_text(s->broken));
    if (!sigsetjmp(assertion, 0))
        trace_print(s->visited, last, s->broken_at ? NULL : &s->broken_by);
}

/* Without a cycle of fair moves, whatever happens comes to an end once the faults do; and where it
 * ends, check_end() has looked. */
static bool find_cycle(struct search *s)
{
    struct cycle cycle = fair_find_cycle(s->fair);

    if (cycle.length == 0)
        return false;
    printf("BROKEN: %s, by %u moves behind:\n", check_text(BROKEN_ENDLESS), cycle.length);
    trace_print_cycle(s->visited, &cycle);
    g_free(cycle.states);
    return true;
}

/* Only large searches tell it: those of ten million states miss one with a chance of 1e-15. */
static void tell_chance(const struct search *s)
{
    const double count = visited_count(s->visited);
    const double prints = 79228162514264337593543950336.0; /* 2 to the 96th */

    if (count > 1e7)
        printf("  a state was taken for another with a chance of %.0e\n",
               count * count / 2 / prints);
}

enum search_end search_run(const char *title, uint32_t max_states, struct search_ends *ret_ends)
{
    struct search s = {.at = 0};
    gint64 begun = g_get_monotonic_time();
    bool cut = false, cycle = false;

    start(&s);
    set_handler(on_assertion);
    while (level_count(s.next) > 0 && !s.broken && !cut) {
        run_level(&s, max_states);
        cut = visited_count(s.visited) > max_states;
    }
    if (s.broken)
        tell_broken(&s);
    else if (!cut)
        cycle = find_cycle(&s);
    set_handler(SIG_DFL);
    printf("%s: %u states, %" G_GUINT64_FORMAT " transitions, depth %d, %" G_GUINT64_FORMAT
           " ends, %.1f s%s\n",
           title, visited_count(s.visited), s.transitions, s.depth, s.ends.count,
           (double)(g_get_monotonic_time() - begun) / 1e6, cut ? ", not finished" : "");
    tell_chance(&s);
    *ret_ends = s.ends;
    end(&s);
    return s.broken || cycle ? SEARCH_BROKEN : cut ? SEARCH_CUT : SEARCH_HOLDS;
}
