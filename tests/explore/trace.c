#include "trace.h"

#include <stdio.h>
#include <string.h>

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

/* The states are made anew, from the moves. */
static void replay(const struct visited *v, uint32_t state, struct state *st)
{
    struct state before;

    if (visited_parent(v, state) == VISITED_NONE) {
        model_init(st);
        print_move(NULL, (struct move){.kind = 0}, st);
        return;
    }
    replay(v, visited_parent(v, state), &before);
    *st = before;
    move_do(st, visited_move(v, state));
    print_move(&before, visited_move(v, state), st);
}

void trace_print(const struct visited *v, uint32_t state, const struct move *more)
{
    struct state st;
    char text[100];

    replay(v, state, &st);
    if (!more)
        return;
    move_describe(&st, *more, text, sizeof(text));
    printf("   + %s\n", text);
}

static bool step_to(struct state *st, const struct fingerprint *wanted)
{
    struct move moves[MOVES_MAX];
    int count = move_list(st, moves);

    for (int k = 0; k < count; k++) {
        struct state to = *st;
        move_do(&to, moves[k]);
        struct fingerprint print = encode_state(&to);
        if (!move_is_fair(moves[k]) || memcmp(&print, wanted, sizeof(print)) != 0)
            continue;
        print_move(st, moves[k], &to);
        *st = to;
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
