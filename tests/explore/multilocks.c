/* Every interleaving of locks at several paths with one another, with somebody who takes the same
 * paths one by one, and with a few faults, breadth first; and the same of those who take permits in
 * Curator's layout. usage: multilocks [--full] */
#include <glib.h>
#include <stdio.h>

#include "multilock.h"

#define AT_ONCE(x)                                                                                 \
    {                                                                                              \
        .paths = x, .user = &multilock_at_once                                                     \
    }
#define LOCKS(x, y) .client = {AT_ONCE(x), AT_ONCE(y)}
#define NESTED(x, y, z) .client = {AT_ONCE(x), AT_ONCE(y), {.paths = z, .user = &multilock_nested}}
#define TRY(x)                                                                                     \
    {                                                                                              \
        .paths = x, .user = &multilock_at_once, .keeps = true, .tries = true                       \
    }
#define PASSES(x)                                                                                  \
    {                                                                                              \
        .paths = x, .user = &multilock_at_once, .tries = true                                      \
    }
#define TRIES(...) .client = {__VA_ARGS__}, .rounds = 1
#define THREE(x, y, z) .client = {AT_ONCE(x), AT_ONCE(y), AT_ONCE(z)}

#define TAKES(x)                                                                                   \
    {                                                                                              \
        .paths = x, .user = &multilock_leases                                                      \
    }
#define LEASE TAKES("01")
#define TWO TAKES("011")
#define KEPT                                                                                       \
    {                                                                                              \
        .paths = "01", .user = &multilock_leases, .keeps = true                                    \
    }
#define LEASES(...) .client = {__VA_ARGS__}, .rounds = 1

static const struct {
    const char *what;
    struct multilock_config config;
    bool soak; /* with --full only */
} runs[] = {
    {"two locks", {LOCKS("01", "01"), .rounds = 1, .faults = 2}, false},
    {"two locks again", {LOCKS("01", "01"), .rounds = 2, .faults = 1}, false},
    {"two locks of three", {LOCKS("012", "012"), .rounds = 1, .faults = 1}, false},
    {"and one by one", {NESTED("01", "01", "01"), .rounds = 1, .faults = 1}, false},
    {"and one by one again", {NESTED("01", "01", "01"), .rounds = 2, .faults = 0}, false},
    {"in a ring", {THREE("01", "12", "02"), .rounds = 1, .faults = 1}, false},
    {"two tries", {TRIES(TRY("01"), TRY("01")), .faults = 2}, false},
    {"three tries", {TRIES(TRY("01"), TRY("01"), TRY("01")), .faults = 1}, false},
    {"three tries of three", {TRIES(TRY("012"), TRY("012"), TRY("012")), .faults = 0}, false},
    {"a try beside locks",
     {.client = {AT_ONCE("01"), AT_ONCE("01"), PASSES("01")}, .rounds = 1, .faults = 1},
     false},
    {"tries in a ring", {TRIES(TRY("01"), TRY("12"), TRY("02")), .faults = 1}, false},
    {"a permit for two", {LEASES(LEASE, LEASE), .faults = 2, .limit = 1}, false},
    {"a permit for three", {LEASES(LEASE, LEASE, LEASE), .faults = 1, .limit = 1}, false},
    {"two permits, one kept", {LEASES(KEPT, LEASE, LEASE), .faults = 1, .limit = 2}, false},
    {"two permits at once for two", {LEASES(TWO, TWO), .faults = 1, .limit = 2}, false},
    {"three permits, two at once", {LEASES(TWO, TWO, LEASE), .faults = 0, .limit = 3}, false},
    {"two locks again", {LOCKS("01", "01"), .rounds = 2, .faults = 2}, true},
    {"two locks of three", {LOCKS("012", "012"), .rounds = 1, .faults = 2}, true},
    {"and one by one", {NESTED("01", "01", "01"), .rounds = 1, .faults = 2}, true},
    {"in a ring", {THREE("01", "12", "02"), .rounds = 1, .faults = 2}, true},
    {"a permit for three", {LEASES(LEASE, LEASE, LEASE), .faults = 2, .limit = 1}, true},
    {"two permits for three", {LEASES(LEASE, LEASE, LEASE), .faults = 2, .limit = 2}, true},
    {"two permits, one kept", {LEASES(KEPT, LEASE, LEASE), .faults = 2, .limit = 2}, true},
    {"two permits at once for two", {LEASES(TWO, TWO), .faults = 2, .limit = 2}, true},
    {"three permits, two at once", {LEASES(TWO, TWO, LEASE), .faults = 1, .limit = 3}, true},
};

static uint32_t reached; /* by any search: a bit for each state of the machines */

static void print(const void *state, const struct breadth_step *by)
{
    const struct multilock_state *st = state;

    printf("  %s %d:", by ? multilock_move_text((enum multilock_move)by->kind) : "the beginning",
           by ? by->at % MULTILOCK_CLIENTS : 0);
    for (int i = 0; i < MULTILOCK_CLIENTS; i++) {
        const struct multilock_client *c = &st->c[i];
        printf(" %s ", multilock_config.limit > 0 ? leasing_state_name(c->leasing.state)
                                                  : multi_lock_state_name(c->machine.state));
        for (uint32_t k = 0; k < c->machine.count; k++)
            putchar("-ewh"[c->paths[k].place]);
        printf(" %d/%d,", c->requests, c->answers);
    }
    for (int i = 0; i < MULTILOCK_PLACES; i++) {
        printf(" [");
        for (uint8_t k = 0; k < st->queue[i].count; k++)
            printf("%d", st->queue[i].owner[k]);
        printf("]");
    }
    puts("");
}

static void note_reached(const void *state)
{
    const struct multilock_state *st = state;

    for (int i = 0; i < MULTILOCK_CLIENTS; i++)
        reached |= multilock_config.limit > 0
                       ? 1U << ((int)MULTI_LOCK_STATES + (int)st->c[i].leasing.state)
                       : 1U << st->c[i].machine.state;
}

static const struct breadth_world world = {.size = sizeof(struct multilock_state),
                                           .broken = offsetof(struct multilock_state, broken),
                                           .texts = multilock_broken_texts,
                                           .unfair = MULTILOCK_DELETE,
                                           .init = multilock_init,
                                           .list = multilock_list,
                                           .take = multilock_take,
                                           .check_end = multilock_check_end,
                                           .print = print,
                                           .reached = note_reached};

static const char *configure(size_t search, bool full)
{
    multilock_config = runs[search].config;
    return runs[search].soak && !full ? NULL : runs[search].what;
}

static const char *state_name(int state)
{
    return state < MULTI_LOCK_STATES
               ? multi_lock_state_name((enum multi_lock_state)state)
               : leasing_state_name((enum leasing_state)(state - MULTI_LOCK_STATES));
}

int main(int argc, char **argv)
{
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &multilock_config.faults,
                                            .reached = &reached,
                                            .states = (int)MULTI_LOCK_STATES + (int)LEASING_STATES,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
