/* The model as a world of breadth.h: what its states are called, what need not be tried in every
 * order, and how a way is told. */
#include "search.h"

#include <stdio.h>
#include <string.h>

bool search_uses_library(void)
{
    return false;
}

const char *search_about(void)
{
    return "states are told apart by 96-bit fingerprints";
}

/* ---- reduction ---- */

/* Moves that need not be tried in every order with others: partial-order reduction.
 *
 * A move may stand for all that can happen in a state when, whatever the others do first, it can
 * still happen and leads to the same, and when no rule sees the difference between before and
 * behind it. Then each way from that state has the same end, and breaks the same rules, as one that
 * begins with that move. Three kinds are like that:
 *
 *  - a contender enters. Until it does nothing else can happen to it, no fault either, and all it
 *    does is to ask;
 *  - its server does what it asks about a node that is gone, or a watch that is; or reads its own
 *    node, which stands, is of its present session, and cannot go or change unless it asks for that
 *    itself behind the read: for it has no faults left, and other contenders do not touch it;
 *  - it takes an answer or an event, which concerns what it alone knows, and pushes requests to the
 *    end of its own queue, whose head its server takes. It has no faults left, its session and its
 *    connection are in order, and no timer runs, so of what else it does nothing comes in between.
 *    It has no grant before or behind that: a rule looks at grants beside what others hold and
 *    have, and a holder may also give back instead.
 *
 * That nothing is put off for ever needs no care: what can go on for ever is found as such, as ways
 * that differ in their order only are endless together. Where servers lag behind, what a contender
 * does decides how far they do, so that only what it takes stands for the rest. */

/* Nothing becomes of its session but what it asks for. */
static bool is_safe(const struct client *c)
{
    return c->faults == 0 && c->established && c->connected && c->in_time && !c->expired &&
           !c->cut && !c->purge && !c->orphan && !c->deadline_due;
}

/* What is asked next is answered in the same way whenever that is. */
static bool is_certain(const struct state *st, const struct client *c)
{
    const struct ask *ask = &c->asks[0];
    const uint8_t n = ask->node;

    if (c->asks_count == 0 || n == MODEL_NONE || ask->verb == STORE_SET)
        return false;
    if (ask->verb == STORE_UNWATCH)
        return !(c->watched & MODEL_BIT(n));
    if (!(st->standing & MODEL_BIT(n)))
        return true;
    return model_asks(ask, STORE_GET, ATTEMPT_OWN) && st->nodes[n].session == c->session &&
           &st->clients[st->nodes[n].client] == c;
}

/* What it hears is for nobody any more: the end of a watch, or its event. */
static bool is_of_no_interest(const struct client *c)
{
    const struct reply *reply = &c->replies[0];

    const uint8_t n = reply->to.node;

    if (reply->fired)
        return c->own_watch != n && c->predecessor_watch != n;
    return reply->to.verb == STORE_UNWATCH && link_watch_asked(c, n) == 1 &&
           !(c->armed & MODEL_BIT(n));
}

static bool may_stand_for_all(const struct state *st, struct move move)
{
    const struct client *c = &st->clients[move.at];
    const enum attempt_state s = c->machine.state;

    switch (move.kind) {
    case MOVE_ENTER:
        return !model_config.lag && s == ST_IDLE;
    case MOVE_HANDLE:
        return !model_config.lag && is_safe(c) && is_certain(st, c);
    case MOVE_TAKE:
        if (is_safe(c) && !model_config.lag && is_of_no_interest(c))
            return true;
        return is_safe(c) && !c->grant && !c->timer && !c->stopping && s != ST_IDLE &&
               s != ST_REENTERING && !(model_config.lag && s == ST_DONE);
    default:
        return false;
    }
}

/* The move that stands for all in st, and what it leads to. */
static bool next(const struct state *st, struct move *move, struct state *then)
{
    struct move moves[BREADTH_MOVES];
    const int count = move_list(st, moves);

    for (int k = 0; k < count && move_is_fair(moves[k]); k++) {
        const struct client *before = &st->clients[moves[k].at];
        const struct client *c = &then->clients[moves[k].at];
        if (!may_stand_for_all(st, moves[k]))
            continue;
        *move = moves[k];
        memcpy(then, st, model_size());
        move_do(then, *move);
        if (then->broken || move->kind != MOVE_TAKE ||
            (c->grant == before->grant && !(model_config.lag && c->machine.state == ST_DONE)))
            return true;
    }
    return false;
}

/* Hears of each move. False: no further. */
typedef bool reduce_told(const struct state *before, struct move move, const struct state *then);

/* Does the move and then, as long as there is one, that which stands for all. */
static void reduce_do(struct state *st, struct move move, reduce_told *told)
{
    struct state then;

    memcpy(&then, st, model_size());
    move_do(&then, move);
    while (told(st, move, &then)) {
        memcpy(st, &then, model_size());
        if (!next(st, &move, &then))
            return;
    }
    memcpy(st, &then, model_size());
}

/* ---- the world ---- */

static bool behind; /* the move that was chosen */

static bool note(const struct state *before, struct move move, const struct state *then)
{
    (void)before, (void)move;
    const char *broken = then->broken ? then->broken : check_state(then);

    if (behind)
        breadth_pass();
    behind = true;
    for (int i = 0; i < model_config.contenders; i++)
        breadth_reached(1U << then->clients[i].machine.state);
    breadth_require(!broken, broken);
    return !broken && !search_tries_every_order();
}

static void take(void *state, struct move move)
{
    behind = false;
    reduce_do(state, move, note);
}

static int list(const void *state, struct move *moves)
{
    return move_list(state, moves);
}

static struct breadth_print print_of(const void *state)
{
    return encode_state(state);
}

static const char *end(const void *state)
{
    return check_end(state);
}

static bool begin(void *state, int number)
{
    struct model_shares shares = model_first_shares();
    struct state st;

    for (int k = 0; k < number; k++)
        if (!model_next_shares(&shares))
            return false;
    model_init(&st, &shares);
    memcpy(state, &st, model_size());
    return true;
}

/* ---- words ---- */

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

static bool told(const struct state *before, struct move move, const struct state *then)
{
    print_move(before, move, then);
    return !then->broken && !search_tries_every_order();
}

static void tell(void *state, const struct move *move)
{
    if (move)
        reduce_do(state, *move, told);
    else
        print_move(NULL, (struct move){.kind = 0}, state);
}

enum breadth_end search_run(const char *title, uint32_t max_states, struct breadth_ends *ret_ends)
{
    const struct breadth_world world = {.size = model_size(),
                                        .list = list,
                                        .take = take,
                                        .is_fair = move_is_fair,
                                        .begin = begin,
                                        .check_end = end,
                                        .print_of = print_of,
                                        .tell = tell};

    return breadth_search(&world, title, max_states, ret_ends);
}
