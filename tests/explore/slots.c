/* Numbers of permits as nodes of their own, a proposal (docs/design/permits.md): every interleaving
 * of a few contenders, breadth first. An admitted contender makes slots/NUMBER in one transaction
 * with a check of its own node, and deletes both nodes in another. A request that was not answered
 * may be done late, until its session ends. Each list is of the present instant, which favours the
 * proposal. usage: slots [--full] */
#include <stdio.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/machine.h"

enum { SLOTS_CLIENTS = 3, SLOTS_NODES = 12, SLOTS_NUMBERS = 4 };

enum slots_state {
    SLOTS_OUT,
    SLOTS_QUEUED,
    SLOTS_TAKING,
    SLOTS_HOLDING,
    SLOTS_LEAVING,
    SLOTS_STATES
};

enum slots_verb {
    SLOTS_NOTHING,
    SLOTS_TAKE,
    SLOTS_FREE,   /* the contender, its deed, the slot */
    SLOTS_REMOVE, /* the contender is gone: its deed, the slot */
    SLOTS_DROP    /* the slot is gone: the contender, its deed */
};

enum slots_move {
    SLOTS_SERVE,
    SLOTS_HEAR,
    SLOTS_LATE,
    SLOTS_NEVER,
    SLOTS_EXPIRE,
    SLOTS_TRY, /* .at: client * SLOTS_NUMBERS + number */
    SLOTS_WATCH,
    SLOTS_ENTER,
    SLOTS_ADMIT,
    SLOTS_RELEASE,
    SLOTS_LOSE,
    SLOTS_LAPSE,
    SLOTS_BREAK, /* .at: a node, as of the next a number */
    SLOTS_CLEAR,
    SLOTS_LIMIT, /* it is one less, or what it was */
    SLOTS_MOVES
};

struct slots_ask {
    uint8_t verb, node, number;
};

struct slots_client {
    int state; /* enum slots_state */
    struct slots_ask ask, late;
    uint8_t node, number, limit; /* the limit when it was admitted */
    uint8_t rc;                  /* enum store_rc */
    bool answered, lapsed;
    bool excused; /* somebody has deleted a node of its own */
    uint8_t unused;
};

struct slots_world {
    struct slots_client clients[SLOTS_CLIENTS];
    uint8_t nodes[SLOTS_NODES]; /* of which client */
    uint16_t standing;
    uint16_t deeds;               /* contenders whose deed stands, or whose version was raised */
    uint8_t slots[SLOTS_NUMBERS]; /* the contender that has made it; FLAT_NO_NODE: it is free */
    uint8_t made, limit, faults, unused;
};

#define MAY(kind) (1U << (kind))

struct slots_config {
    int clients;
    uint8_t limit;
    bool deed; /* a third node, of a name that nobody else has, is made and deleted with the slot */
    bool own;  /* the slot is slots/NUMBER/NAME, of such a name, and is made if slots/NUMBER has
                  no child. A set, not a check, of the contender's node raises its version */
    bool lowest;   /* a contender takes the lowest free number; all false: any */
    bool leaves;   /* a contender leaves one free number below for each before it that has none */
    uint32_t with; /* faults, a bit for each kind */
};

static const struct breadth_kind moves[SLOTS_MOVES] = {
    [SLOTS_SERVE] = {"the server does", FAIR, SLOTS_CLIENTS},
    [SLOTS_HEAR] = {"hears", FAIR, SLOTS_CLIENTS},
    [SLOTS_LATE] = {"a request that was not answered comes late of", PERHAPS, SLOTS_CLIENTS},
    [SLOTS_NEVER] = {"nothing can come late any more of", FAIR, SLOTS_CLIENTS},
    [SLOTS_EXPIRE] = {"its session is over", FAIR, SLOTS_CLIENTS},
    [SLOTS_TRY] = {"chooses", FAIR, SLOTS_CLIENTS *SLOTS_NUMBERS},
    [SLOTS_WATCH] = {"hears that a node of its own is gone", FAIR, SLOTS_CLIENTS},
    [SLOTS_ENTER] = {"enters", PERHAPS, SLOTS_CLIENTS},
    [SLOTS_ADMIT] = {"is admitted", PERHAPS, SLOTS_CLIENTS},
    [SLOTS_RELEASE] = {"releases", PERHAPS, SLOTS_CLIENTS},
    [SLOTS_LOSE] = {"loses its connection", FAULT, SLOTS_CLIENTS},
    [SLOTS_LAPSE] = {"its deadline passes", FAULT, SLOTS_CLIENTS},
    [SLOTS_BREAK] = {"somebody deletes contender", FAULT, SLOTS_NODES},
    [SLOTS_CLEAR] = {"somebody deletes slot", FAULT, SLOTS_NUMBERS},
    [SLOTS_LIMIT] = {"somebody changes the limit", FAULT, 1},
};

static const struct slots_config *config;

/* ---- the server ---- */

static bool stands(const struct slots_world *st, uint8_t node)
{
    return (st->standing & flat_bit(node)) != 0;
}

static enum store_rc serve_take(struct slots_world *st, const struct slots_ask *a)
{
    if (!stands(st, a->node))
        return STORE_NONODE;
    if (st->deeds & flat_bit(a->node) || st->slots[a->number] != FLAT_NO_NODE)
        return STORE_EXISTS;
    st->slots[a->number] = a->node;
    st->deeds |= config->deed || config->own ? flat_bit(a->node) : 0;
    return STORE_OK;
}

/* STORE_BAD: the slot alone is missing. A delete cannot ask whose slot it is. */
static enum store_rc serve_free(struct slots_world *st, const struct slots_ask *a)
{
    if ((a->verb == SLOTS_FREE && !stands(st, a->node)) ||
        (config->deed && !(st->deeds & flat_bit(a->node))))
        return STORE_NONODE;
    if (st->slots[a->number] == FLAT_NO_NODE)
        return STORE_BAD;
    st->slots[a->number] = FLAT_NO_NODE;
    st->standing &= (uint16_t)~flat_bit(a->node);
    st->deeds &= (uint16_t)~flat_bit(a->node);
    return STORE_OK;
}

static enum store_rc serve(struct slots_world *st, const struct slots_ask *a)
{
    if (a->verb == SLOTS_TAKE)
        return serve_take(st, a);
    if (a->verb != SLOTS_DROP && !config->own)
        return serve_free(st, a);
    if (a->verb != SLOTS_DROP && st->slots[a->number] == a->node)
        st->slots[a->number] = FLAT_NO_NODE;
    st->standing &= (uint16_t)~flat_bit(a->node);
    st->deeds &= (uint16_t)~flat_bit(a->node);
    return STORE_OK;
}

/* ---- a contender ---- */

static void ask(struct slots_client *c, enum slots_verb verb, enum slots_state state)
{
    c->state = (int)state;
    c->ask = (struct slots_ask){(uint8_t)verb, c->node, c->number};
}

static void be_out(struct slots_client *c)
{
    c->state = SLOTS_OUT;
    c->ask = (struct slots_ask){SLOTS_NOTHING, FLAT_NO_NODE, 0};
    c->node = FLAT_NO_NODE;
    c->number = c->limit = 0;
    c->excused = false;
}

/* The number of a slot that its contender has made. */
static bool finds_own(const struct slots_world *st, struct slots_client *c)
{
    for (uint8_t k = 0; k < SLOTS_NUMBERS; k++)
        if (st->slots[k] == c->node) {
            c->number = k;
            return true;
        }
    return false;
}

static void hold(struct slots_world *st, struct slots_client *c)
{
    ask(c, SLOTS_NOTHING, SLOTS_HOLDING);
    for (int i = 0; i < config->clients; i++) {
        const struct slots_client *o = &st->clients[i];
        breadth_require(o == c || o->state != SLOTS_HOLDING || o->number != c->number ||
                            o->excused || c->excused,
                        "two hold the same number, and nobody has deleted a node of theirs");
    }
}

/* Its contender is gone. Without a deed nothing would guard a delete of slots/NUMBER. */
static void vanish(const struct slots_world *st, struct slots_client *c)
{
    if ((config->deed || config->own) && finds_own(st, c))
        ask(c, SLOTS_REMOVE, SLOTS_LEAVING);
    else
        be_out(c);
}

static void hear_taken(struct slots_world *st, struct slots_client *c, enum store_rc rc)
{
    if (rc == STORE_NONODE)
        vanish(st, c);
    else if (rc == STORE_OK || st->slots[c->number] == c->node)
        hold(st, c);
    else if (!(st->deeds & flat_bit(c->node)))
        ask(c, SLOTS_NOTHING, SLOTS_TAKING);
    else if (finds_own(st, c))
        hold(st, c);
    else
        ask(c, SLOTS_DROP, SLOTS_LEAVING);
}

static void hear(struct slots_world *st, struct slots_client *c)
{
    const enum store_rc rc = (enum store_rc)c->rc;
    const uint8_t verb = c->ask.verb;

    c->answered = false;
    c->rc = 0;
    if (verb == SLOTS_TAKE)
        hear_taken(st, c, rc);
    else if (rc == STORE_BAD)
        ask(c, SLOTS_DROP, SLOTS_LEAVING);
    else if (rc == STORE_NONODE && verb == SLOTS_FREE)
        vanish(st, c);
    else
        be_out(c);
}

/* A request that was not done yet may come late, and is repeated. */
static void lose(struct slots_client *c)
{
    if (!c->answered)
        c->late = c->ask;
    c->answered = false;
    c->rc = 0;
}

/* ---- the world ---- */

static void init(void *state, const void *data)
{
    struct slots_world *st = state;

    config = data;
    st->limit = config->limit;
    for (int k = 0; k < SLOTS_NUMBERS; k++)
        st->slots[k] = FLAT_NO_NODE;
    for (int i = 0; i < SLOTS_CLIENTS; i++) {
        be_out(&st->clients[i]);
        st->clients[i].late = st->clients[i].ask;
    }
}

/* It and those before it are no more than the limit. */
static bool has_room(const struct slots_world *st, uint8_t node)
{
    return stands(st, node) &&
           __builtin_popcount(st->standing & (2U * flat_bit(node) - 1)) <= st->limit;
}

static bool has_slot(const struct slots_world *st, uint8_t node)
{
    for (int k = 0; k < SLOTS_NUMBERS; k++)
        if (st->slots[k] == node)
            return true;
    return false;
}

/* How many numbers it leaves free below its own. */
static int leaves_free(const struct slots_world *st, uint8_t node)
{
    int count = 0;

    for (uint8_t n = 0; config->leaves && n < node; n++)
        count += stands(st, n) && !has_slot(st, n);
    return count;
}

static bool may_try(const struct slots_world *st, const struct slots_client *c, uint8_t number)
{
    const uint8_t limit = c->limit > st->limit ? c->limit : st->limit;
    int below = 0;

    for (uint8_t k = 0; k < number; k++)
        below += st->slots[k] == FLAT_NO_NODE;
    if ((config->lowest || config->leaves) && st->slots[number] == FLAT_NO_NODE &&
        below != leaves_free(st, c->node))
        return false;
    return c->state == SLOTS_TAKING && c->ask.verb == SLOTS_NOTHING && number < limit &&
           stands(st, c->node) &&
           (st->slots[number] == FLAT_NO_NODE || st->slots[number] == c->node);
}

static bool may_hear_of_loss(const struct slots_world *st, const struct slots_client *c)
{
    if (c->state == SLOTS_HOLDING)
        return !stands(st, c->node) || st->slots[c->number] != c->node;
    return (c->state == SLOTS_QUEUED || c->state == SLOTS_TAKING) && c->ask.verb == SLOTS_NOTHING &&
           !stands(st, c->node);
}

static bool may_happen_to(const struct slots_world *st, enum slots_move kind,
                          const struct slots_client *c)
{
    const bool asks = c->ask.verb != SLOTS_NOTHING;

    if (kind == SLOTS_EXPIRE)
        return c->lapsed;
    if (kind == SLOTS_LATE || kind == SLOTS_NEVER)
        return c->late.verb != SLOTS_NOTHING;
    if (c->lapsed)
        return false;
    switch (kind) {
    case SLOTS_SERVE:
        return asks && !c->answered;
    case SLOTS_HEAR:
        return c->answered;
    case SLOTS_WATCH:
        return may_hear_of_loss(st, c);
    case SLOTS_ENTER:
        return c->state == SLOTS_OUT;
    case SLOTS_ADMIT:
        return c->state == SLOTS_QUEUED && has_room(st, c->node);
    case SLOTS_RELEASE:
        return c->state == SLOTS_HOLDING;
    case SLOTS_LOSE:
        return asks && c->late.verb == SLOTS_NOTHING;
    default:
        return c->state != SLOTS_OUT; /* LAPSE */
    }
}

static bool may(const void *state, struct move move)
{
    const struct slots_world *st = state;

    if (moves[move.kind].when == FAULT && !(config->with & MAY(move.kind)))
        return false;
    switch (move.kind) {
    case SLOTS_TRY:
        return may_try(st, &st->clients[move.at / SLOTS_NUMBERS], move.at % SLOTS_NUMBERS);
    case SLOTS_BREAK:
        return stands(st, move.at);
    case SLOTS_CLEAR:
        return st->slots[move.at] != FLAT_NO_NODE;
    case SLOTS_LIMIT:
        return true;
    default:
        return move.at < config->clients &&
               may_happen_to(st, (enum slots_move)move.kind, &st->clients[move.at]);
    }
}

static void expire(struct slots_world *st, uint8_t i)
{
    struct slots_client *c = &st->clients[i];

    for (uint8_t k = 0; k < SLOTS_NUMBERS; k++)
        if (st->slots[k] != FLAT_NO_NODE && st->nodes[st->slots[k]] == i)
            st->slots[k] = FLAT_NO_NODE;
    for (uint8_t n = 0; n < st->made; n++)
        if (st->nodes[n] == i) {
            st->standing &= (uint16_t)~flat_bit(n);
            st->deeds &= (uint16_t)~flat_bit(n);
        }
    be_out(c);
    c->late = c->ask;
    c->answered = c->lapsed = false;
    c->rc = 0;
}

/* Nodes that nobody names are none. */
static void drop_nodes(struct slots_world *st)
{
    uint16_t used = st->standing | st->deeds;

    for (int i = 0; i < config->clients; i++) {
        const struct slots_client *c = &st->clients[i];
        used |= flat_bit(c->node) | flat_bit(c->ask.node) | flat_bit(c->late.node);
    }
    for (int k = 0; k < SLOTS_NUMBERS; k++)
        used |= flat_bit(st->slots[k]);
    const struct flat_places places = flat_keep(used, st->nodes, &st->made, sizeof st->nodes[0]);
    flat_move_all(&places, &st->standing);
    flat_move_all(&places, &st->deeds);
    for (int i = 0; i < config->clients; i++) {
        flat_move(&places, &st->clients[i].node);
        flat_move(&places, &st->clients[i].ask.node);
        flat_move(&places, &st->clients[i].late.node);
    }
    for (int k = 0; k < SLOTS_NUMBERS; k++)
        flat_move(&places, &st->slots[k]);
}

static void excuse(struct slots_world *st, uint8_t node)
{
    struct slots_client *c = &st->clients[st->nodes[node]];

    c->excused = c->excused || c->node == node;
}

static void take_client(struct slots_world *st, enum slots_move kind, uint8_t i)
{
    struct slots_client *c = &st->clients[i];

    if (kind == SLOTS_SERVE) {
        c->rc = (uint8_t)serve(st, &c->ask);
        c->answered = true;
    } else if (kind == SLOTS_HEAR) {
        hear(st, c);
    } else if (kind == SLOTS_LATE || kind == SLOTS_NEVER) {
        if (kind == SLOTS_LATE)
            serve(st, &c->late);
        c->late = (struct slots_ask){SLOTS_NOTHING, FLAT_NO_NODE, 0};
    } else if (kind == SLOTS_EXPIRE) {
        expire(st, i);
    } else if (kind == SLOTS_WATCH && stands(st, c->node)) {
        ask(c, SLOTS_DROP, SLOTS_LEAVING);
    } else if (kind == SLOTS_WATCH) {
        vanish(st, c);
    } else if (kind == SLOTS_ENTER) {
        c->state = SLOTS_QUEUED;
        c->node = st->made;
        st->standing |= flat_bit(st->made);
        flat_push(st->nodes, &st->made, SLOTS_NODES, sizeof st->nodes[0], &i);
    } else if (kind == SLOTS_ADMIT) {
        c->state = SLOTS_TAKING;
        c->limit = st->limit;
    } else if (kind == SLOTS_RELEASE) {
        ask(c, SLOTS_FREE, SLOTS_LEAVING);
    } else if (kind == SLOTS_LOSE) {
        lose(c);
    } else {
        c->state = SLOTS_LEAVING;
        c->lapsed = true;
    }
}

static void take(void *state, struct move move)
{
    struct slots_world *st = state;

    if (move.kind == SLOTS_TRY) {
        struct slots_client *c = &st->clients[move.at / SLOTS_NUMBERS];
        c->number = move.at % SLOTS_NUMBERS;
        ask(c, SLOTS_TAKE, SLOTS_TAKING);
    } else if (move.kind == SLOTS_BREAK) {
        excuse(st, move.at);
        st->standing &= (uint16_t)~flat_bit(move.at);
    } else if (move.kind == SLOTS_CLEAR) {
        excuse(st, st->slots[move.at]);
        st->slots[move.at] = FLAT_NO_NODE;
    } else if (move.kind == SLOTS_LIMIT) {
        st->limit = st->limit == config->limit ? st->limit - 1 : config->limit;
    } else {
        take_client(st, (enum slots_move)move.kind, move.at);
    }
    drop_nodes(st);
}

static const char *check_end(const void *state)
{
    const struct slots_world *st = state;

    for (int i = 0; i < config->clients; i++)
        if (st->clients[i].state == SLOTS_TAKING)
            return "it is admitted, and no number below the limit is free";
    return NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(slots_config, __VA_ARGS__)
#define USUAL MAY(SLOTS_LAPSE)

static const struct breadth_run runs[] = {
    {"sessions end", ALWAYS, 2, CONFIG(.clients = 3, .limit = 2, .with = USUAL)},
    {"a request comes late", PLANTED, 1,
     CONFIG(.clients = 2, .limit = 2, .with = USUAL | MAY(SLOTS_LOSE))},
    {"somebody deletes a contender", PLANTED, 1,
     CONFIG(.clients = 2, .limit = 1, .with = USUAL | MAY(SLOTS_BREAK))},
    {"somebody deletes a slot", PLANTED, 1,
     CONFIG(.clients = 3, .limit = 2, .with = USUAL | MAY(SLOTS_CLEAR))},
    {"the limit changes", PLANTED, 2,
     CONFIG(.clients = 3, .limit = 3, .lowest = true, .with = USUAL | MAY(SLOTS_LIMIT))},
    {"a deed", ALWAYS, 1,
     CONFIG(.clients = 3, .limit = 2, .deed = true,
            .with = USUAL | MAY(SLOTS_LOSE) | MAY(SLOTS_BREAK))},
    {"a deed", SOAK, 2,
     CONFIG(.clients = 3, .limit = 2, .deed = true,
            .with = USUAL | MAY(SLOTS_LOSE) | MAY(SLOTS_BREAK))},
    {"a deed, and somebody deletes a slot", PLANTED, 1,
     CONFIG(.clients = 3, .limit = 2, .deed = true, .with = USUAL | MAY(SLOTS_CLEAR))},
    {"a slot of a name of its own", ALWAYS, 1,
     CONFIG(.clients = 3, .limit = 3, .own = true, .leaves = true, .with = UINT32_MAX)},
    {"a slot of a name of its own", SOAK, 2,
     CONFIG(.clients = 3, .limit = 3, .own = true, .leaves = true, .with = UINT32_MAX)},
    {"a slot of a name of its own", SOAK, 2,
     CONFIG(.clients = 3, .limit = 2, .own = true, .leaves = true, .with = UINT32_MAX)},
};

static const char *state_name(int state)
{
    static const char *const names[] = {"out", "queued", "taking", "holding", "leaving"};

    return names[state];
}

static void print(const void *state)
{
    const struct slots_world *st = state;

    printf(" limit %d;", st->limit);
    for (int i = 0; i < config->clients; i++) {
        const struct slots_client *c = &st->clients[i];
        printf(" %s", state_name(c->state));
        if (c->state == SLOTS_HOLDING)
            printf(" %d", c->number);
        if (c->ask.verb)
            printf(" (asks %d of %d)", c->ask.verb, c->ask.number);
    }
    for (int n = 0; n < st->made; n++)
        if (stands(st, (uint8_t)n))
            printf(", contender %d of %d", n, st->nodes[n]);
    for (int k = 0; k < SLOTS_NUMBERS; k++)
        if (st->slots[k] != FLAT_NO_NODE)
            printf(", slot %d of contender %d", k, st->slots[k]);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct slots_world),
        .machine = offsetof(struct slots_world, clients[0].state),
        .stride = sizeof(struct slots_client), .machines = SLOTS_CLIENTS, .states = SLOTS_STATES};

    return breadth_main(&world, argc, argv);
}
