#include "reduce.h"

#include <string.h>

#include "link.h"

/* Nothing becomes of its session but what it asks for. */
static bool is_safe(const struct client *c)
{
    return c->faults == 0 && c->established && c->connected && c->in_time && !c->expired &&
           !c->cut && !c->purge && !c->orphan && !c->lapse_due;
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
    const struct client *c = &st->clients[move.client];
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
    struct move moves[MOVES_MAX];
    const int count = move_list(st, moves);

    for (int k = 0; k < count && move_is_fair(moves[k]); k++) {
        const struct client *before = &st->clients[moves[k].client];
        const struct client *c = &then->clients[moves[k].client];
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

void reduce_do(struct state *st, struct move move, reduce_told *told, void *data)
{
    struct state then;

    memcpy(&then, st, model_size());
    move_do(&then, move);
    while (told(st, move, &then, data)) {
        memcpy(st, &then, model_size());
        if (!next(st, &move, &then))
            return;
    }
    memcpy(st, &then, model_size());
}
