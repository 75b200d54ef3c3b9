/* Every interleaving of a few contenders with numbered permits and faults, breadth first.
 * usage: numbers [--full] */
#include <glib.h>
#include <stdio.h>

#include "numbers_world.h"

static const struct {
    const char *what;
    struct numbers_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"limit 2, two contenders", {2, 2, 2, {1, 1}, 0}, false},
    {"limit 3, two contenders, one of two permits", {2, 2, 3, {1, 2}, 0}, false},
    {"limit 2, three contenders", {3, 0, 2, {1, 1, 1}, 0}, false},
    {"limit 3, three contenders", {3, 0, 3, {1, 1, 1}, 0}, false},
    {"limit 3, three contenders, one without a ceiling", {3, 0, 3, {1, 1, 1}, 4}, true},
    {"limit 2, three contenders", {3, 2, 2, {1, 1, 1}, 0}, true},
    {"limit 3, three contenders", {3, 1, 3, {1, 1, 1}, 0}, true},
    {"limit 3, three contenders", {3, 2, 3, {1, 1, 1}, 0}, true},
    {"limit 3, three contenders, one of two permits", {3, 2, 3, {1, 1, 2}, 0}, true},
};

static uint32_t reached; /* by any search: a bit for each state of the machine */

static void print(const void *state, const struct breadth_step *by)
{
    const struct numbers_state *st = state;

    printf("  %s %d: limit %d;", by ? numbers_move_text((enum numbers_move)by->kind) : "begin",
           by ? by->at : 0, st->limit);
    for (int i = 0; i < numbers_config.clients; i++)
        printf(" %s%s", numbering_state_name(st->clients[i].machine.state),
               st->clients[i].believes ? "!" : "");
    for (int n = 0; n < st->made; n++)
        if (st->standing & NUMBERS_BIT(n))
            printf(", %d of %d has %#x", n, st->nodes[n].client, st->nodes[n].numbers);
    putchar('\n');
}

/* A contender whose admission ends enters again; none is over. */
static void note_reached(const void *state)
{
    const struct numbers_state *st = state;

    reached |= 1U << NUMBERING_OVER;
    for (int i = 0; i < numbers_config.clients; i++)
        reached |= 1U << st->clients[i].machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct numbers_state),
                                           .broken = offsetof(struct numbers_state, broken),
                                           .texts = numbers_broken_texts,
                                           .unfair = NUMBERS_ENTER,
                                           .init = numbers_init,
                                           .list = numbers_list,
                                           .take = numbers_take,
                                           .plain = numbers_plain,
                                           .check_end = numbers_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    numbers_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return numbering_state_name((enum numbering_state)state);
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &numbers_config.faults,
                                            .reached = &reached,
                                            .states = NUMBERING_STATES,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
