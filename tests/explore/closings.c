/* Every interleaving of operations on one barrier, each of a session of its own, with a few faults,
 * breadth first. A request that was not answered may be done much later, behind its
 * repetition and all that was asked since, even if its session was replaced meanwhile. The reset of
 * a record is such an operation, too; one that sets a limit asks for the version that it has read.
 * usage: closings [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/barrier.h"
#include "recipes/limit.h"
#include "recipes/machine.h"
#include "recipes/once.h"

enum { OPS = 3, STRAYS = 4 };

enum close_kind { NONE, CLOSES, OPENS, RESETS, WAITS, LIMITS };

struct close_op {
    struct barrier_call machine;
    struct once reset;
    struct limit_call limit;
    bool asks, hears, repeated, armed, begun, ends;
    bool watches, fired;
    bool late; /* it was under way when its session was replaced */
    uint8_t rc;
    uint8_t strays; /* so many may be done late */
    uint8_t before; /* of sessions that were replaced, too */
    /* LIMITS: */
    uint8_t verb, found;
    int32_t version; /* asked for; -1: any */
    int32_t seen;    /* found */
    int32_t strayed; /* asked for by the last one that may be done late */
};

struct close_state {
    struct close_op ops[OPS];
    bool stands;
    uint8_t faults;
    uint8_t limit, version;
    uint8_t unused[4];
};

enum close_move {
    CLOSE_BEGIN,
    CLOSE_SERVE,
    CLOSE_DELIVER,
    CLOSE_TIMER,
    CLOSE_ARRIVE,
    CLOSE_NEVER,
    CLOSE_BREAK,
    CLOSE_EXPIRE,
    CLOSE_REPLACE,
    CLOSE_MOVES
};

static const struct breadth_kind moves[CLOSE_MOVES] = {
    [CLOSE_BEGIN] = {"begins", FAIR, OPS},
    [CLOSE_SERVE] = {"is served", FAIR, OPS},
    [CLOSE_DELIVER] = {"hears", FAIR, OPS},
    [CLOSE_TIMER] = {"its timer comes:", FAIR, OPS},
    [CLOSE_ARRIVE] = {"a request that was not answered comes late of", PERHAPS, OPS},
    [CLOSE_NEVER] = {"nothing can come late any more of", FAIR, OPS},
    [CLOSE_BREAK] = {"the connection breaks of", FAULT, OPS},
    [CLOSE_EXPIRE] = {"a server ends the session of", FAULT, OPS},
    [CLOSE_REPLACE] = {"no server hears of the end of the session of", FAULT, OPS},
};

struct close_config {
    enum close_kind ops[OPS];
};

static const struct close_config *config;

static bool is_done(const struct machine_action *a, enum close_kind kind)
{
    return a->verdict == (kind == RESETS   ? (int)ONCE_DONE
                          : kind == LIMITS ? (int)LIMIT_DONE
                                           : (int)BARRIER_CALL_DONE);
}

/* The server does not lag: a sync changes nothing. */
static void perform(struct close_op *op, const struct machine_action *a, enum close_kind kind)
{
    if (a->kind == MACHINE_ACT_REQUEST) {
        op->asks = true;
        op->verb = kind == LIMITS ? (uint8_t)a->verb : 0;
        op->version = kind == LIMITS ? a->version : 0;
    }
    if (a->kind == MACHINE_ACT_ARM)
        op->armed = true;
    if (a->kind == MACHINE_ACT_TELL)
        op->ends |= is_done(a, kind);
}

static void step(struct close_op *op, enum close_kind kind, struct machine_event ev)
{
    const struct once_moment moment = {.odd = false};
    struct machine_actions actions = {.count = 0};

    if (kind == RESETS)
        once_step(&op->reset, &ev, &moment, &actions);
    else if (kind == LIMITS)
        limit_step(&op->limit, &ev, &actions);
    else
        barrier_call_step(&op->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(op, &actions.list[i], kind);
}

/* ---- the server ---- */

static void change(struct close_state *st, int at)
{
    const bool stands = config->ops[at] == CLOSES;

    breadth_require(st->stands == stands || !st->ops[at].ends,
                    "a request is done behind the end of its operation");
    for (int i = 0; i < OPS && st->stands && !stands; i++) {
        st->ops[i].fired |= st->ops[i].watches;
        st->ops[i].watches = false;
    }
    st->stands = stands;
}

static enum store_rc set_limit(struct close_state *st, int at, int32_t version)
{
    if (version >= 0 && version != st->version)
        return STORE_BADVERSION;
    breadth_require(!st->ops[at].ends, "a limit is set behind the end of its operation");
    st->limit = (uint8_t)st->ops[at].limit.wanted;
    st->version++;
    return STORE_OK;
}

static void serve_limit(struct close_state *st, int at)
{
    struct close_op *op = &st->ops[at];

    op->rc = op->verb == STORE_SET ? (uint8_t)set_limit(st, at, op->version) : STORE_OK;
    op->found = st->limit;
    op->seen = st->version;
}

static void serve(struct close_state *st, int at)
{
    struct close_op *op = &st->ops[at];
    const bool closes = config->ops[at] == CLOSES;

    op->asks = false;
    op->hears = true;
    if (config->ops[at] == LIMITS) {
        serve_limit(st, at);
        return;
    }
    if (config->ops[at] == WAITS) {
        op->watches = st->stands;
        op->rc = st->stands ? STORE_OK : STORE_NONODE;
        return;
    }
    op->rc = st->stands != closes ? STORE_OK : closes ? STORE_EXISTS : STORE_NONODE;
    change(st, at);
}

static void deliver(struct close_state *st, int at)
{
    struct close_op *op = &st->ops[at];
    const enum close_kind kind = config->ops[at];
    const char found = (char)('0' + op->found);
    static const enum store_kind verbs[] = {[CLOSES] = STORE_CREATE,
                                            [OPENS] = STORE_DELETE,
                                            [RESETS] = STORE_DELETE,
                                            [WAITS] = STORE_GET};
    const struct machine_event ev = {.kind = MACHINE_EV_ANSWER,
                                     .verb = kind == LIMITS ? op->verb : verbs[kind],
                                     .rc = (enum store_rc)op->rc,
                                     .version = op->seen,
                                     .data = &found,
                                     .length = 1,
                                     .late_until = (op->repeated || op->late) && kind != WAITS};

    if (!op->hears) {
        op->fired = false;
        step(op, kind, (struct machine_event){.kind = MACHINE_EV_FIRED, .gone = true});
        return;
    }
    op->hears = false;
    op->rc = 0;
    step(op, kind, ev);
}

/* What the server had not taken up it may still. Returns how many. */
static uint8_t stray(struct close_op *op, enum close_kind kind)
{
    if (!op->asks || kind == WAITS || (kind == LIMITS && op->verb != STORE_SET))
        return 0;
    op->strayed = op->version;
    return 1;
}

static void break_connection(struct close_op *op, enum close_kind kind)
{
    op->strays = (uint8_t)(op->strays + stray(op, kind));
    op->asks = op->repeated = true;
    op->hears = false;
    op->rc = 0;
}

/* The timer goes on. */
static void end_session(struct close_op *op, enum close_kind kind)
{
    op->asks = op->hears = op->repeated = op->watches = op->fired = false;
    op->rc = op->strays = 0;
    step(op, kind, (struct machine_event){.kind = MACHINE_EV_SESSION});
}

static void replace(struct close_op *op, enum close_kind kind)
{
    op->late |= op->asks || op->hears;
    op->before = (uint8_t)(op->before + op->strays + stray(op, kind));
    end_session(op, kind);
}

/* ---- the world ---- */

static void init(void *state, const void *data)
{
    struct close_state *st = state;

    config = data;
    st->stands = config->ops[0] != CLOSES;
    st->limit = 1;
    for (int i = 0; i < OPS; i++) {
        st->ops[i].machine.goal = config->ops[i] == OPENS   ? BARRIER_REMOVE
                                  : config->ops[i] == WAITS ? BARRIER_WAIT
                                                            : BARRIER_SET;
        st->ops[i].reset.goal = ONCE_RESET;
        st->ops[i].limit.wanted = 2 + i;
        st->ops[i].begun = st->ops[i].ends = config->ops[i] == NONE;
    }
}

static bool may(const void *state, struct move move)
{
    const struct close_op *op = &((const struct close_state *)state)->ops[move.at];

    switch (move.kind) {
    case CLOSE_BEGIN:
        return !op->begun;
    case CLOSE_SERVE:
        return op->asks;
    case CLOSE_DELIVER:
        return op->hears || op->fired;
    case CLOSE_TIMER:
        return op->armed && op->strays + op->before == 0;
    case CLOSE_ARRIVE:
    case CLOSE_NEVER:
        return op->strays + op->before > 0;
    case CLOSE_BREAK:
        return (op->asks || op->hears) && op->strays < STRAYS;
    default:
        return op->begun && !op->ends;
    }
}

static void take(void *state, struct move move)
{
    struct close_state *st = state;
    struct close_op *op = &st->ops[move.at];
    const enum close_kind kind = config->ops[move.at];

    switch (move.kind) {
    case CLOSE_BEGIN:
        op->begun = true;
        step(op, kind, (struct machine_event){.kind = MACHINE_EV_BEGIN});
        break;
    case CLOSE_SERVE:
        serve(st, move.at);
        break;
    case CLOSE_DELIVER:
        deliver(st, move.at);
        break;
    case CLOSE_TIMER:
        op->armed = false;
        step(op, kind, (struct machine_event){.kind = MACHINE_EV_TIMER});
        break;
    case CLOSE_ARRIVE:
        --*(op->strays > 0 ? &op->strays : &op->before);
        if (kind == LIMITS)
            set_limit(st, move.at, op->strayed);
        else
            change(st, move.at);
        break;
    case CLOSE_NEVER:
        op->strays = op->before = 0;
        break;
    case CLOSE_BREAK:
        break_connection(op, kind);
        break;
    case CLOSE_EXPIRE:
        end_session(op, kind);
        break;
    default:
        replace(op, kind);
        break;
    }
}

static const char *check_end(const void *state)
{
    const struct close_state *st = state;

    for (int i = 0; i < OPS; i++) {
        if (!st->ops[i].ends)
            return "nothing can happen, but somebody waits";
    }
    return NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(close_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"one closes, one opens", ALWAYS, 4, CONFIG(.ops = {CLOSES, OPENS})},
    {"one opens, one closes", ALWAYS, 4, CONFIG(.ops = {OPENS, CLOSES})},
    {"one resets, one records", ALWAYS, 4, CONFIG(.ops = {RESETS, CLOSES})},
    {"one opens, one waits", ALWAYS, 3, CONFIG(.ops = {OPENS, WAITS})},
    {"two set a limit", ALWAYS, 3, CONFIG(.ops = {LIMITS, LIMITS})},
    {"three", ALWAYS, 3, CONFIG(.ops = {OPENS, CLOSES, OPENS})},
};

static void print(const void *state)
{
    const struct close_state *st = state;

    printf(" %s;", st->stands ? "closed" : "open");
    for (int i = 0; i < OPS; i++)
        printf(" %s, %d late;", st->ops[i].ends ? "over" : "not over",
               st->ops[i].strays + st->ops[i].before);
}

static const char *state_name(int state)
{
    static const char *const names[] = {"idle", "asking", "watching", "settling", "over"};

    return names[state];
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct close_state),
        .machine = offsetof(struct close_state, ops[0].machine.state),
        .stride = sizeof(struct close_op), .machines = OPS, .states = BARRIER_CALL_STATES};

    return breadth_main(&world, argc, argv);
}
