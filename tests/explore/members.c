/* Every interleaving of the processes that want one member's id and a few faults, breadth first.
 * usage: members [--full] */
#include <glib.h>
#include <stdio.h>

#include "members_world.h"

static const struct {
    const char *what;
    struct group_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"one that leaves", {.processes = 1, .faults = 3, .updates = 2, .leaves = true}, false},
    {"one with an administrator",
     {.processes = 1, .faults = 3, .updates = 1, .leaves = true, .administrator = true},
     false},
    {"two of one id", {.processes = 2, .faults = 2}, false},
    {"two with data", {.processes = 2, .faults = 1, .updates = 1, .leaves = true}, false},
    {"two that leave", {.processes = 2, .faults = 2, .leaves = true}, false},
    {"two with an administrator",
     {.processes = 2, .faults = 2, .leaves = true, .administrator = true},
     false},
    {"two that leave", {.processes = 2, .faults = 3, .leaves = true}, true},
    {"three of one id", {.processes = 3, .faults = 2}, false},
    {"three that leave", {.processes = 3, .faults = 1, .leaves = true}, true},
};

static uint32_t reached; /* by any search: a bit for each state of the machine */

static void print(const void *state, const struct breadth_step *by)
{
    const struct group_state *st = state;

    printf("  %s %d:", by ? group_move_text((enum group_move)by->kind) : "the beginning",
           by ? by->at : 0);
    for (int i = 0; i < group_config.processes; i++)
        printf(" %s%s%s of session %d, node %d;", member_state_name(st->p[i].machine.state),
               st->p[i].crashed ? " (crashed)" : "", st->p[i].machine.told_in ? " (believes)" : "",
               st->p[i].session, (int)st->p[i].machine.czxid);
    printf(" node %d of session %d\n", (int)st->czxid, st->owner);
}

static void note_reached(const void *state)
{
    const struct group_state *st = state;

    for (int i = 0; i < group_config.processes; i++)
        reached |= 1U << st->p[i].machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct group_state),
                                           .broken = offsetof(struct group_state, broken),
                                           .texts = group_broken_texts,
                                           .unfair = GROUP_LEAVE,
                                           .init = group_init,
                                           .list = group_list_moves,
                                           .take = group_do,
                                           .check_end = group_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    group_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return member_state_name((enum member_state)state);
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &group_config.faults,
                                            .reached = &reached,
                                            .states = MEMBER_STATES,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
