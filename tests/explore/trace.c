#include "trace.h"

#include <stdio.h>
#include <string.h>

#include "reduce.h"
#include "search.h"

/* "waiting #1 (2 asked)*": the star is a valid grant. */
static void print_client(const struct state *st, int i)
{
    const struct client *c = &st->clients[i];

    printf("  %c %s", 'A' + i, attempt_state_name(c->machine.state));
    if (c->node != MODEL_NONE)
        printf(" #%d%s", st->nodes[c->node].number,
               st->standing & MODEL_BIT(c->node) ? "" : " (gone)");
    printf("%s%s%s%s", c->grant ? " GRANT" : "", c->expired ? " expired" : "",
           c->connected ? "" : " down", c->in_time ? "" : " no deadline");
    if (c->asks_count || c->replies_count)
        printf(" %d>%d<", c->asks_count, c->replies_count);
}

static void print_move(const struct state *before, struct move move, const struct state *after)
{
    static int number;
    char text[100];

    number = before ? number + 1 : 0;
    if (before)
        move_describe(before, move, text, sizeof(text));
    printf("%4d %-52s", number, before ? text : "the beginning");
    for (int i = 0; i < model_config.contenders; i++)
        print_client(after, i);
    putchar('\n');
}

static bool told(const struct state *before, struct move move, const struct state *then, void *data)
{
    (void)data;
    print_move(before, move, then);
    return !then->broken && !search_tries_every_order();
}

/* The states are made anew, from the moves. The first has the number of its shares. */
static void replay(const struct visited *v, uint32_t state, struct state *st)
{
    const struct move move = visited_move(v, state);

    if (move.kind < MOVE_COUNT) {
        replay(v, visited_parent(v, state), st);
        reduce_do(st, move, told, NULL);
        return;
    }
    struct model_shares shares = model_first_shares();
    for (int k = 0; k < move.client; k++)
        model_next_shares(&shares);
    model_init(st, &shares);
    print_move(NULL, move, st);
}

void trace_print(const struct visited *v, uint32_t state, const struct move *more)
{
    struct state st;

    replay(v, state, &st);
    if (more)
        reduce_do(&st, *more, told, NULL);
}

static bool quiet(const struct state *before, struct move move, const struct state *then,
                  void *data)
{
    (void)before, (void)move, (void)then, (void)data;
    return !search_tries_every_order();
}

static bool step_to(struct state *st, const struct fingerprint *wanted)
{
    struct move moves[MOVES_MAX];
    int count = move_list(st, moves);

    for (int k = 0; k < count; k++) {
        struct state to = *st;
        reduce_do(&to, moves[k], quiet, NULL);
        struct fingerprint print = encode_state(&to);
        if (!move_is_fair(moves[k]) || memcmp(&print, wanted, sizeof(print)) != 0)
            continue;
        reduce_do(st, moves[k], told, NULL);
        return true;
    }
    return false;
}

void trace_print_cycle(const struct visited *v, const struct cycle *cycle)
{
    struct state st;

    puts("and then, again and again:");
    replay(v, cycle->states[0], &st);
    for (guint k = 1; k <= cycle->length; k++)
        if (!step_to(&st, visited_print(v, cycle->states[k % cycle->length])))
            return;
}
