/* Every interleaving of the members of a double barrier and a few faults, breadth first.
 * usage: rounds [--full] */
#include <glib.h>
#include <stdio.h>

#include "round.h"

static const struct {
    const char *what;
    struct round_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"two of two", {.members = 2, .wanted = 2, .enters = 3, .faults = 2}, false},
    {"two of three", {.members = 3, .wanted = 2, .enters = 1, .faults = 0}, false},
    {"three of three", {.members = 3, .wanted = 3, .enters = 1, .faults = 0}, false},
    {"behind another's ready",
     {.members = 2, .wanted = 2, .enters = 1, .faults = 2, .foreign = true},
     false},
    {"three of three", {.members = 3, .wanted = 3, .enters = 1, .faults = 1}, true},
    {"two of three", {.members = 3, .wanted = 2, .enters = 1, .faults = 1}, true},
    {"two of three", {.members = 3, .wanted = 2, .enters = 1, .faults = 2}, true},
    {"three of three", {.members = 3, .wanted = 3, .enters = 1, .faults = 2}, true},
};

static uint32_t reached; /* by any search: a bit for each state of the machine */

static void print(const void *state, const struct breadth_step *by)
{
    const struct round_state *st = state;

    printf("  %s %d:", by ? round_move_text((enum round_move)by->kind) : "the beginning",
           by ? by->at : 0);
    for (int i = 0; i < round_config.members; i++)
        printf(" %s%s, node %d;", barrier_state_name(st->m[i].machine.state),
               st->m[i].crashed ? " (crashed)" : "", (int)st->node[i]);
    printf(" ready %d for %d\n", (int)st->ready, (int)st->bound);
}

static void note_reached(const void *state)
{
    const struct round_state *st = state;

    for (int i = 0; i < round_config.members; i++)
        reached |= 1U << st->m[i].machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct round_state),
                                           .broken = offsetof(struct round_state, broken),
                                           .texts = round_broken_texts,
                                           .unfair = ROUND_STOP,
                                           .init = round_init,
                                           .list = round_list,
                                           .take = round_do,
                                           .check_end = round_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    round_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return barrier_state_name((enum barrier_state)state);
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &round_config.faults,
                                            .reached = &reached,
                                            .states = BARRIER_STATES,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
