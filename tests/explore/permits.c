/* Every interleaving of a few contenders of a semaphore, changes of its limit and faults, breadth
 * first. usage: permits [--full] */
#include <glib.h>
#include <stdio.h>

#include "permits_world.h"

#define ONES                                                                                       \
    {                                                                                              \
        1, 1, 1, 1                                                                                 \
    }

static const struct {
    const char *what;
    struct permits_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"limit 1, two contenders", {2, 2, 0, 1, 1, ONES, true, false, false}, false},
    {"limit 1, two contenders, the limit changes",
     {2, 1, 1, 1, 2, ONES, true, false, false},
     false},
    {"limit 1, two contenders, its data are emptied",
     {2, 1, 1, 1, 1, ONES, true, true, false},
     false},
    {"limit 1, two contenders, its data are emptied, or changed",
     {2, 1, 2, 1, 2, ONES, true, true, false},
     true},
    {"limit 2, two contenders that do not know it, its data are emptied",
     {2, 1, 1, 2, 2, {1, 2}, false, true, false},
     true},
    {"limit 1, three contenders, its data are emptied",
     {3, 0, 1, 1, 1, ONES, true, true, false},
     true},
    {"limit 2, three contenders", {3, 0, 0, 2, 2, ONES, true, false, false}, false},
    {"limit 1, three contenders, the limit changes",
     {3, 0, 1, 1, 2, ONES, true, false, false},
     true},
    {"limit 2, three contenders, one of two permits",
     {3, 0, 0, 2, 2, {1, 2, 1}, true, false, false},
     false},
    {"limit 2, two contenders, the limit is lowered and raised",
     {2, 0, 2, 2, 3, {2, 1}, true, false, false},
     false},
    {"limit 2, two contenders that do not know it",
     {2, 1, 1, 2, 2, {1, 2}, false, false, false},
     false},
    {"limit 1, two leases", {2, 2, 0, 1, 1, ONES, true, false, true}, false},
    {"limit 2, three leases", {3, 1, 0, 2, 2, ONES, true, false, true}, false},
    {"limit 1, three leases", {3, 2, 0, 1, 1, ONES, true, false, true}, true},
    {"limit 2, three leases", {3, 2, 0, 2, 2, ONES, true, false, true}, true},
    {"limit 1, three contenders", {3, 1, 0, 1, 1, ONES, true, false, false}, true},
    {"limit 2, three contenders", {3, 1, 0, 2, 2, ONES, true, false, false}, true},
    {"limit 2, three contenders, the limit changes",
     {3, 0, 2, 2, 3, ONES, true, false, false},
     true},
    {"limit 2, three contenders, the limit changes",
     {3, 1, 1, 2, 2, ONES, true, false, false},
     true},
    {"limit 2, three contenders", {3, 2, 0, 2, 2, ONES, true, false, false}, true},
    {"limit 3, three contenders, of two permits and one",
     {3, 0, 1, 3, 3, {2, 2, 1}, true, false, false},
     true},
    {"limit 2, four contenders", {4, 0, 0, 2, 2, ONES, true, false, false}, true},
};

static uint32_t reached; /* by any search: a bit for each state of the machine */

static void print(const void *state, const struct breadth_step *by)
{
    const struct permits_state *st = state;

    printf("  %s %d: limit %d;", by ? permits_move_text((enum permits_move)by->kind) : "begin",
           by ? by->at : 0, st->limit);
    for (int i = 0; i < permits_config.clients; i++)
        printf(" %s", attempt_state_name(st->clients[i].machine.state));
    for (int n = 0; n < st->made; n++)
        if (st->standing & PERMITS_BIT(n))
            printf(", %d of %d", n, st->nodes[n].client);
    putchar('\n');
}

/* Deadlines are always ahead here, the directory stands, and numbers do not run out. */
static void note_reached(const void *state)
{
    const struct permits_state *st = state;

    reached |= 1U << ST_PARENTS | 1U << ST_SUCCEEDING | 1U << ST_PROVING | 1U << ST_CLAIMING |
               1U << ST_RESETTING | 1U << ST_LAPSED;
    for (int i = 0; i < permits_config.clients; i++)
        reached |= 1U << st->clients[i].machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct permits_state),
                                           .broken = offsetof(struct permits_state, broken),
                                           .texts = permits_broken_texts,
                                           .unfair = PERMITS_ENTER,
                                           .init = permits_init,
                                           .list = permits_list,
                                           .take = permits_take,
                                           .plain = permits_plain,
                                           .check_end = permits_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    permits_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return attempt_state_name((enum attempt_state)state);
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &permits_config.faults,
                                            .reached = &reached,
                                            .states = ST_COUNT,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
