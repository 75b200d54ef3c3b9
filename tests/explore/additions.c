/* Every interleaving of two operations on one counter, whose node may be made anew, with a few
 * faults, breadth first. A set that was not answered may be carried out much later, behind all that
 * was asked since; but not on a node that was made anew. usage: additions [--full] */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "breadth.h"
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
    uint8_t faults, broken, unused[7];
};

enum count_broken {
    COUNT_WHOLE,
    COUNT_TWICE,
    COUNT_NEVER,
    COUNT_ALL_THE_SAME,
    COUNT_INEXACT,
    COUNT_STUCK,
    COUNT_BROKEN_COUNT
};

static const char *const broken_texts[COUNT_BROKEN_COUNT] = {
    [COUNT_WHOLE] = "nothing",
    [COUNT_TWICE] = "one operation has written twice",
    [COUNT_NEVER] = "it is told to be written, and is not",
    [COUNT_ALL_THE_SAME] = "it is told not to be written, and is",
    [COUNT_INEXACT] = "it is told to be written, over another number",
    [COUNT_STUCK] = "nothing can happen, but somebody waits",
};

enum count_move {
    /* sooner or later; .at: whose */
    COUNT_BEGIN,
    COUNT_SERVE,
    COUNT_DELIVER,
    /* may never happen */
    COUNT_ARRIVE, /* the first of the sets that were not answered, at last */
    /* faults: one of the budget each */
    COUNT_LOSE, /* the connection, with what is asked or answered */
    COUNT_LATE, /* its time passes */
    COUNT_ANEW, /* the node is deleted and made anew */
    COUNT_GONE, /* the node is deleted */
    COUNT_MOVES
};

static const char *const moves[COUNT_MOVES] = {
    "begins",           "is served",        "hears",        "comes late",
    "loses the answer", "has no more time", "is made anew", "is deleted"};

static const struct count_run {
    const char *what;
    struct counter ops[OPS];
    int faults;
    bool absent, soak;
} runs[] = {
    {"two sums", .ops = {{.goal = COUNTER_ADD, .operand = 2}, {.goal = COUNTER_ADD, .operand = 1}},
     .faults = 3},
    {"equal sums",
     .ops = {{.goal = COUNTER_ADD, .operand = 2}, {.goal = COUNTER_ADD, .operand = 2}},
     .faults = 3},
    {"of no node",
     .ops = {{.goal = COUNTER_ADD, .operand = 2}, {.goal = COUNTER_SWAP, .operand = 5}},
     .faults = 2, .absent = true},
    {"a sum and a swap",
     .ops = {{.goal = COUNTER_ADD, .operand = 2},
             {.goal = COUNTER_SWAP, .expected = 9, .operand = 5}},
     .faults = 3},
    {"a sum and a set",
     .ops = {{.goal = COUNTER_ADD, .operand = 2}, {.goal = COUNTER_SET, .operand = 9}},
     .faults = 3},
    {"a sum and a look", .ops = {{.goal = COUNTER_ADD, .operand = 2}, {.goal = COUNTER_GET}},
     .faults = 3},
    {"two sums", .ops = {{.goal = COUNTER_ADD, .operand = 2}, {.goal = COUNTER_ADD, .operand = 1}},
     .faults = 4, .soak = true},
};

static const struct count_run *run;
static int faults;
static uint32_t reached;

static void fail(struct count_state *st, enum count_broken broken)
{
    if (!st->broken)
        st->broken = (uint8_t)broken;
}

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

static void check_told(struct count_state *st, const struct count_op *op)
{
    const bool written = op->written || may_come(st, op);

    if (op->told != COUNTER_DONE && op->told != COUNTER_UNKNOWN && written)
        fail(st, COUNT_ALL_THE_SAME);
    if (op->told != COUNTER_DONE || op->machine.goal == COUNTER_GET ||
        op->machine.goal == COUNTER_SET) /* the same number of another is as good */
        return;
    if (!op->written)
        fail(st, COUNT_NEVER);
    if (!op->exact)
        fail(st, COUNT_INEXACT);
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
    if (++op->here > 1)
        fail(st, COUNT_TWICE);
    if (op->ends && op->told != COUNTER_UNKNOWN)
        fail(st, COUNT_ALL_THE_SAME);
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

static void init(void *state)
{
    struct count_state *st = state;

    memset(st, 0, sizeof *st);
    st->faults = (uint8_t)faults;
    if (!run->absent)
        make(st, 7);
    for (int i = 0; i < OPS; i++) {
        memcpy(&st->ops[i].machine, &run->ops[i], sizeof run->ops[i]);
        st->ops[i].machine.width = WIDTH;
        exchange_plain(&st->ops[i].exchange);
    }
}

static bool is_possible(const struct count_state *st, enum count_move kind,
                        const struct count_op *op)
{
    switch (kind) {
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
        return st->faults > 0 && (op->asks.waits || op->hears.waits);
    default:
        return st->faults > 0 && st->czxid && op == st->ops;
    }
}

static int list(const void *state, struct breadth_step *steps)
{
    const struct count_state *st = state;
    int count = 0;

    for (uint8_t kind = 0; kind < COUNT_MOVES; kind++) {
        for (uint8_t at = 0; at < OPS; at++) {
            if (is_possible(st, kind, &st->ops[at]))
                steps[count++] = (struct breadth_step){kind, at};
        }
    }
    return count;
}

static void plain(struct count_op *op)
{
    op->asks.number = exchange_plain_request(&op->exchange, op->asks.number);
    op->hears.number = exchange_plain_request(&op->exchange, op->hears.number);
    for (int i = 0; i < STRAYS; i++)
        op->strays[i].number = (struct exchange_request){.question = 0}; /* nobody is told */
    exchange_plain(&op->exchange);
}

static void take(void *state, struct breadth_step by)
{
    struct count_state *st = state;
    struct count_op *op = &st->ops[by.at];

    if (by.kind > COUNT_ARRIVE)
        st->faults--;
    switch (by.kind) {
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

static int check_end(const void *state)
{
    const struct count_state *st = state;

    for (int i = 0; i < OPS; i++) {
        if (!st->ops[i].ends)
            return COUNT_STUCK;
    }
    return COUNT_WHOLE;
}

static void print(const void *state, const struct breadth_step *by)
{
    const struct count_state *st = state;

    printf("  %s %d: %d, version %d of %d;", by ? moves[by->kind] : "the beginning",
           by ? by->at : 0, (int)st->value, st->version, st->czxid);
    for (int i = 0; i < OPS; i++)
        printf(" %s, written %d times;", counter_state_name(st->ops[i].machine.state),
               st->ops[i].here);
    printf("\n");
}

static void note_reached(const void *state)
{
    const struct count_state *st = state;

    for (int i = 0; i < OPS; i++)
        reached |= 1U << st->ops[i].machine.state;
}

static const char *configure(size_t search, bool full)
{
    run = &runs[search];
    faults = run->faults;
    return run->soak && !full ? NULL : run->what;
}

static const char *state_name(int state)
{
    return counter_state_name((enum counter_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {.size = sizeof(struct count_state),
                                               .broken = offsetof(struct count_state, broken),
                                               .texts = broken_texts,
                                               .unfair = COUNT_ARRIVE,
                                               .init = init,
                                               .list = list,
                                               .take = take,
                                               .check_end = check_end,
                                               .print = print,
                                               .reached = note_reached};
    const struct breadth_program program = {.world = &world,
                                            .count = G_N_ELEMENTS(runs),
                                            .configure = configure,
                                            .faults = &faults,
                                            .reached = &reached,
                                            .states = COUNTER_STATES,
                                            .state_name = state_name};

    return breadth_main(&program, argc, argv);
}
