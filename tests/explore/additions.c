/* Every interleaving of two operations on one counter, whose node may be made anew, with a few
 * faults, breadth first. A set that was not answered may be carried out much later, behind all that
 * was asked since; but not on a node that was made anew. usage: additions [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/counter.h"
#include "recipes/machine.h"

enum { OPS = 2, STRAYS = 3, WIDTH = 4, ANEW = 100 };

/* A set on its way, or what is asked and heard otherwise. */
struct count_ask {
    uint8_t verb, rc, waits; /* a verb of the machine, and the answer */
    uint8_t version, czxid;
    uint8_t unused[3];
    int32_t value;
    struct exchange_request number;
};

struct count_op {
    struct counter machine;
    struct exchange exchange;
    struct count_ask asks, hears, strays[STRAYS];
    uint8_t written, here; /* what it set was, ever; how often to the present node */
    uint8_t exact;         /* the last time from the number that it was to be from */
    uint8_t ends, told;    /* the verdict */
    uint8_t unused[7];
};

struct count_state {
    struct count_op ops[OPS];
    int32_t value;
    uint8_t version, czxid; /* of the node; czxid 0: there is none */
    uint8_t made;           /* the czxid of the last one */
    uint8_t faults, unused[8];
};

enum count_move {
    COUNT_BEGIN,
    COUNT_SERVE,
    COUNT_DELIVER,
    COUNT_ARRIVE,
    COUNT_LOSE,
    COUNT_LATE,
    COUNT_ANEW,
    COUNT_GONE,
    COUNT_MOVES
};

static const struct breadth_kind moves[COUNT_MOVES] = {
    [COUNT_BEGIN] = {"begins", FAIR, OPS},
    [COUNT_SERVE] = {"is served", FAIR, OPS},
    [COUNT_DELIVER] = {"hears", FAIR, OPS},
    [COUNT_ARRIVE] = {"a set that was not answered comes late of", PERHAPS, OPS},
    [COUNT_LOSE] = {"loses the connection, with what is asked or answered:", FAULT, OPS},
    [COUNT_LATE] = {"has no more time", FAULT, OPS},
    [COUNT_ANEW] = {"the node is deleted and made anew", FAULT, 1},
    [COUNT_GONE] = {"the node is deleted", FAULT, 1},
};

struct count_config {
    struct counter ops[OPS];
    bool absent; /* the node, at first */
};

static const struct count_config *config;

/* ---- one operation ---- */

/* May a set of it be carried out still? */
static bool may_come(const struct count_state *st, const struct count_op *op)
{
    for (int i = 0; i < STRAYS; i++) {
        if (op->strays[i].waits && op->strays[i].czxid == st->czxid &&
            op->strays[i].version == st->version)
            return true;
    }
    return false;
}

static void check_told(const struct count_state *st, const struct count_op *op)
{
    const bool written = op->written || may_come(st, op);

    breadth_require(op->told == COUNTER_DONE || op->told == COUNTER_UNKNOWN || !written,
                    "it is told not to be written, and is");
    if (op->told != COUNTER_DONE || op->machine.goal == COUNTER_GET ||
        op->machine.goal == COUNTER_SET) /* the same number of another is as good */
        return;
    breadth_require(op->written, "it is told to be written, and is not");
    breadth_require(op->exact, "it is told to be written, over another number");
}

/* The server that answers does not lag: a sync changes nothing. */
static void ask(struct count_op *op, const struct machine_action *a)
{
    const struct exchange_request number = exchange_ask(&op->exchange, a);

    if (a->verb == STORE_SYNC)
        return;
    op->asks = (struct count_ask){.verb = (uint8_t)a->verb, .waits = true, .number = number};
    if (a->verb != STORE_SET || a->node != COUNTER_NODE)
        return;
    op->asks.version = (uint8_t)a->version;
    op->asks.value = (int32_t)counter_written(&op->machine);
    op->asks.czxid = (uint8_t)op->machine.czxid;
}

static void perform(struct count_state *st, struct count_op *op, const struct machine_action *a)
{
    switch (a->kind) {
    case MACHINE_ACT_REQUEST:
        ask(op, a);
        break;
    case MACHINE_ACT_END:
        exchange_end(&op->exchange);
        break;
    default:
        op->ends = true;
        op->told = (uint8_t)a->verdict;
        check_told(st, op);
        break;
    }
}

static void step(struct count_state *st, struct count_op *op, struct machine_event ev)
{
    struct machine_actions actions = {.count = 0};

    counter_step(&op->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(st, op, &actions.list[i]);
}

/* ---- the server ---- */

static void write_number(struct count_state *st, struct count_op *op, const struct count_ask *set)
{
    const int64_t expected =
        op->machine.goal == COUNTER_ADD ? set->value - op->machine.operand : op->machine.expected;

    op->exact = st->value == expected;
    st->value = set->value;
    st->version++;
    op->written = true;
    breadth_require(++op->here == 1, "one operation has written twice");
    breadth_require(!op->ends || op->told == COUNTER_UNKNOWN,
                    "it is told not to be written, and is");
}

static void make(struct count_state *st, int32_t value)
{
    st->czxid = ++st->made;
    for (int i = 0; i < OPS; i++)
        st->ops[i].here = 0;
    st->version = 0;
    st->value = value;
}

static uint8_t set(struct count_state *st, struct count_op *op, const struct count_ask *asked)
{
    if (!st->czxid)
        return STORE_NONODE;
    if (asked->version != st->version)
        return STORE_BADVERSION;
    write_number(st, op, asked);
    return STORE_OK;
}

static bool is_set(const struct count_ask *asked)
{
    return asked->verb == STORE_SET && asked->czxid != 0;
}

static void serve(struct count_state *st, struct count_op *op)
{
    struct count_ask reply = op->asks;

    op->asks.waits = false;
    reply.rc = st->czxid ? STORE_OK : STORE_NONODE;
    if (is_set(&reply))
        reply.rc = set(st, op, &reply);
    else if (reply.verb == STORE_SET)
        reply.rc = STORE_NONODE;
    else if (reply.verb == STORE_CREATE)
        reply.rc = st->czxid ? STORE_EXISTS : STORE_OK;
    if (reply.verb == STORE_CREATE && !st->czxid)
        make(st, 0);
    reply.version = st->version;
    reply.czxid = st->czxid;
    reply.value = st->value;
    op->hears = reply;
}

static void deliver(struct count_state *st, struct count_op *op)
{
    const struct count_ask heard = op->hears;
    uint8_t bytes[WIDTH];
    const struct machine_event ev = {.kind = MACHINE_EV_ANSWER,
                                     .verb = (enum store_kind)heard.verb,
                                     .rc = (enum store_rc)heard.rc,
                                     .data = bytes,
                                     .length = WIDTH,
                                     .version = heard.version,
                                     .czxid = heard.czxid};

    counter_encode(WIDTH, heard.value, bytes);
    memset(&op->hears, 0, sizeof op->hears);
    if (exchange_answered(&op->exchange, heard.number, &ev) == EXCHANGE_HEARD)
        step(st, op, ev);
}

/* ---- faults ---- */

static void stray(struct count_op *op)
{
    for (int i = 0; i < STRAYS; i++) {
        if (op->strays[i].waits)
            continue;
        op->strays[i] = op->asks;
        break;
    }
    memset(&op->asks, 0, sizeof op->asks);
}

/* What is no set is asked again. */
static void lose(struct count_state *st, struct count_op *op)
{
    memset(&op->hears, 0, sizeof op->hears);
    if (!is_set(&op->asks)) {
        op->asks.waits = true;
        return;
    }
    if (op->asks.waits)
        stray(op);
    step(st, op,
         (struct machine_event){.kind = MACHINE_EV_ANSWER, .verb = STORE_SET, .rc = STORE_UNKNOWN});
}

static void pass_time(struct count_state *st, struct count_op *op)
{
    if (op->asks.waits && is_set(&op->asks))
        stray(op);
    memset(&op->asks, 0, sizeof op->asks);
    memset(&op->hears, 0, sizeof op->hears);
    step(st, op, (struct machine_event){.kind = MACHINE_EV_STOP});
}

static void arrive(struct count_state *st, struct count_op *op)
{
    const struct count_ask first = op->strays[0];

    memmove(&op->strays[0], &op->strays[1], sizeof first * (STRAYS - 1));
    memset(&op->strays[STRAYS - 1], 0, sizeof first);
    if (first.czxid == st->czxid)
        set(st, op, &first);
}

/* ---- the world ---- */

static void init(void *state, const void *data)
{
    struct count_state *st = state;

    config = data;
    if (!config->absent)
        make(st, 7);
    for (int i = 0; i < OPS; i++) {
        memcpy(&st->ops[i].machine, &config->ops[i], sizeof config->ops[i]);
        st->ops[i].machine.width = WIDTH;
        exchange_plain(&st->ops[i].exchange);
    }
}

static bool may(const void *state, struct move move)
{
    const struct count_state *st = state;
    const struct count_op *op = &st->ops[move.at];

    switch (move.kind) {
    case COUNT_BEGIN:
        return op->machine.state == COUNTER_IDLE;
    case COUNT_SERVE:
        return op->asks.waits;
    case COUNT_DELIVER:
        return op->hears.waits;
    case COUNT_ARRIVE:
        return op->strays[0].waits;
    case COUNT_LOSE:
    case COUNT_LATE:
        return (op->asks.waits || op->hears.waits);
    default:
        return st->czxid;
    }
}

static void plain(struct count_op *op)
{
    op->asks.number = exchange_plain_request(&op->exchange, op->asks.number);
    op->hears.number = exchange_plain_request(&op->exchange, op->hears.number);
    for (int i = 0; i < STRAYS; i++)
        op->strays[i].number = (struct exchange_request){.question = 0}; /* nobody is told */
    exchange_plain(&op->exchange);
}

static void take(void *state, struct move move)
{
    struct count_state *st = state;
    struct count_op *op = &st->ops[move.at];

    switch (move.kind) {
    case COUNT_BEGIN:
        step(st, op, (struct machine_event){.kind = MACHINE_EV_BEGIN});
        break;
    case COUNT_SERVE:
        serve(st, op);
        break;
    case COUNT_DELIVER:
        deliver(st, op);
        break;
    case COUNT_ARRIVE:
        arrive(st, op);
        break;
    case COUNT_LOSE:
        lose(st, op);
        break;
    case COUNT_LATE:
        pass_time(st, op);
        break;
    case COUNT_ANEW:
        make(st, ANEW);
        break;
    default:
        st->czxid = 0;
        break;
    }
    plain(op);
}

static const char *check_end(const void *state)
{
    const struct count_state *st = state;

    for (int i = 0; i < OPS; i++) {
        if (!st->ops[i].ends)
            return "nothing can happen, but somebody waits";
    }
    return NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(count_config, __VA_ARGS__)
#define ADD(n)                                                                                     \
    {                                                                                              \
        .goal = COUNTER_ADD, .operand = (n)                                                        \
    }
#define SWAP(from, to)                                                                             \
    {                                                                                              \
        .goal = COUNTER_SWAP, .expected = (from), .operand = (to)                                  \
    }

static const struct breadth_run runs[] = {
    {"two sums", ALWAYS, 3, CONFIG(.ops = {ADD(2), ADD(1)})},
    {"equal sums", ALWAYS, 3, CONFIG(.ops = {ADD(2), ADD(2)})},
    {"of no node", ALWAYS, 2, CONFIG(.ops = {ADD(2), SWAP(0, 5)}, .absent = true)},
    {"a sum and a swap", ALWAYS, 3, CONFIG(.ops = {ADD(2), SWAP(9, 5)})},
    {"a sum and a set", ALWAYS, 3, CONFIG(.ops = {ADD(2), {.goal = COUNTER_SET, .operand = 9}})},
    {"a sum and a look", ALWAYS, 3, CONFIG(.ops = {ADD(2), {.goal = COUNTER_GET}})},
    {"two sums", SOAK, 4, CONFIG(.ops = {ADD(2), ADD(1)})},
};

static void print(const void *state)
{
    const struct count_state *st = state;

    printf(" %d, version %d of %d;", (int)st->value, st->version, st->czxid);
    for (int i = 0; i < OPS; i++)
        printf(" %s, written %d times;", counter_state_name(st->ops[i].machine.state),
               st->ops[i].here);
}

static const char *state_name(int state)
{
    return counter_state_name((enum counter_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct count_state),
        .machine = offsetof(struct count_state, ops[0].machine.state),
        .stride = sizeof(struct count_op), .machines = OPS, .states = COUNTER_STATES};

    return breadth_main(&world, argc, argv);
}
