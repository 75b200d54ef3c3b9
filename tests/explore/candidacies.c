/* Every interleaving of a started election's candidacies with their user, a rival and a few faults,
 * breadth first. usage: candidacies [--full] */
#include <glib.h>
#include <stdio.h>

#include "handle.h"

#define ALWAYS .rule = RULE_LATCH, .priority = 3
#define AGAIN ALWAYS
#define YIELD .yield = true

static const struct {
    const char *what;
    struct handle_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"once", {.machine = {ALWAYS}, .faults = 4, .arrivals = 1, .starts = 1}, false},
    {"again and again", {.machine = {AGAIN}, .faults = 4, .arrivals = 1, .starts = 1}, false},
    {"attempts that fail", {.machine = {AGAIN}, .faults = 9}, false},
    {"to a higher priority", {.machine = {AGAIN, YIELD}, .faults = 4, .arrivals = 1}, false},
    {"to two of them", {.machine = {AGAIN, YIELD}, .faults = 3, .arrivals = 2}, false},
    {"started again", {.machine = {AGAIN, YIELD}, .faults = 2, .arrivals = 1, .starts = 1}, false},
    {"once, and to it", {.machine = {ALWAYS, YIELD}, .faults = 3, .arrivals = 1}, false},
    {"again and again", {.machine = {AGAIN}, .faults = 6, .arrivals = 2, .starts = 1}, true},
    {"started again", {.machine = {AGAIN, YIELD}, .faults = 3, .arrivals = 1, .starts = 1}, true},
    {"to two of them", {.machine = {AGAIN, YIELD}, .faults = 5, .arrivals = 2}, true},
};

static uint32_t reached; /* by any search: a bit for each state of the machine */

static void print(const void *state, const struct breadth_step *by)
{
    const struct handle_state *st = state;

    printf("  %s %d:", by ? handle_move_text((enum handle_move)by->kind) : "the beginning",
           by ? by->at : 0);
    for (uint8_t i = 0; i < st->begun; i++)
        printf(" %s, grant %d,", candidacy_state_name(st->c[i].machine.state), st->c[i].grant);
    printf(" %d messages%s%s\n", st->messages, st->rival ? ", a rival" : "",
           st->up ? "" : ", down");
}

static void note_reached(const void *state)
{
    const struct handle_state *st = state;

    for (uint8_t i = 0; i < st->begun; i++)
        reached |= 1U << st->c[i].machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct handle_state),
                                           .broken = offsetof(struct handle_state, broken),
                                           .texts = handle_broken_texts,
                                           .unfair = HANDLE_YIELD,
                                           .init = handle_init,
                                           .list = handle_moves,
                                           .take = handle_do,
                                           .check_end = handle_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    handle_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return candidacy_state_name((enum candidacy_state)state);
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &handle_config.faults,
                                            .reached = &reached,
                                            .states = CANDIDACY_STATES,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
