/* Every interleaving of mutexes that retain their lock, their callers, a contender of another
 * library and a few faults, breadth first. usage: retains [--full] */
#include <glib.h>
#include <stdio.h>

#include "retained.h"

#define HANDLES(n, of, locking) .handles = (n), .callers = (of), .locks = (locking)
#define OTHERS(coming, failing) .arrivals = (coming), .faults = (failing)
#define TURNS(n) .local_turns = (n)
#define USERS .tries = true, .ends = true

static const struct {
    const char *what;
    struct retained_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"users", {HANDLES(1, 2, 2), OTHERS(1, 1), TURNS(1), USERS}, false},
    {"three callers", {HANDLES(1, 3, 2), OTHERS(1, 1), TURNS(1), .ticks = 1}, false},
    {"a token for each",
     {HANDLES(1, 2, 2), OTHERS(1, 1), TURNS(1), .fence64 = true, .tries = true},
     false},
    {"the guard", {HANDLES(1, 2, 2), OTHERS(2, 0), TURNS(1), .ticks = 2, .guard = true}, false},
    {"two handles", {HANDLES(2, 2, 1), OTHERS(1, 1), TURNS(1), .blind = true}, false},
    {"idle forever", {HANDLES(1, 2, 2), OTHERS(2, 2), TURNS(1), .forever = true}, false},
    {"two, idle forever",
     {HANDLES(2, 1, 1), OTHERS(1, 2), TURNS(1), .blind = true, .forever = true},
     false},
    {"users", {HANDLES(1, 2, 2), OTHERS(2, 2), TURNS(1), USERS, .ticks = 1}, true},
    {"three callers", {HANDLES(1, 3, 2), OTHERS(1, 2), TURNS(2), .ticks = 2}, true},
    {"two handles again", {HANDLES(2, 1, 2), OTHERS(1, 1), TURNS(1), .ticks = 1}, true},
    {"the guard", {HANDLES(1, 2, 2), OTHERS(2, 1), TURNS(1), .ticks = 2, .guard = true}, true},
    {"two handles", {HANDLES(2, 2, 1), OTHERS(1, 2), TURNS(1)}, true},
};

static uint32_t reached; /* by any search: a bit for each state of the machine */

static void print(const void *state, const struct breadth_step *by)
{
    const struct retained_state *st = state;

    printf("  %s %d:", by ? retained_move_text((enum retained_move)by->kind) : "the beginning",
           by ? by->at : 0);
    for (int i = 0; i < retained_config.handles; i++) {
        const struct retained_handle *h = &st->h[i];
        printf(" %s, %d wait, %d sent, %d to come%s%s%s,", retain_state_name(h->machine.state),
               h->waiting, h->requests, h->answers, h->up ? "" : ", down",
               h->doubt ? ", in doubt" : "", h->machine.wanted ? ", wanted" : "");
    }
    printf(" nodes of");
    for (int i = 0; i < st->nodes; i++)
        printf(" %d", st->node[i].owner);
    puts("");
}

static void note_reached(const void *state)
{
    const struct retained_state *st = state;

    for (int i = 0; i < retained_config.handles; i++)
        reached |= 1U << st->h[i].machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct retained_state),
                                           .broken = offsetof(struct retained_state, broken),
                                           .texts = retained_broken_texts,
                                           .unfair = RETAINED_LOCK,
                                           .init = retained_init,
                                           .list = retained_list,
                                           .take = retained_do,
                                           .check_end = retained_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    retained_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return retain_state_name((enum retain_state)state);
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &retained_config.faults,
                                            .reached = &reached,
                                            .states = RETAIN_STATES,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
