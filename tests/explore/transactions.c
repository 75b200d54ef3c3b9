/* Every interleaving of two or three fenced transactions of one grant and a few faults, breadth
 * first. usage: transactions [--full] */
#include <glib.h>
#include <stdio.h>

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

static uint32_t reached; /* by any search: a bit for each state of the machine */

static void print(const void *state, const struct breadth_step *by)
{
    const struct line_state *st = state;

    printf("  %s %d: transaction %d %s for %d, node %d%s\n",
           by ? line_move_text((enum line_move)by->kind) : "the beginning", by ? by->at : 0,
           st->begun, transaction_state_name(st->machine.state), st->machine.asked, st->version,
           st->up ? "" : ", down");
}

static void note_reached(const void *state)
{
    reached |= 1U << ((const struct line_state *)state)->machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct line_state),
                                           .broken = offsetof(struct line_state, broken),
                                           .texts = line_broken_texts,
                                           .unfair = LINE_LAG,
                                           .init = line_init,
                                           .list = line_list,
                                           .take = line_do,
                                           .check_end = line_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    line_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return transaction_state_name((enum transaction_state)state);
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &line_config.faults,
                                            .reached = &reached,
                                            .states = TX_COUNT,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
