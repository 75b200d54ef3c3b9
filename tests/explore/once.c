/* Every interleaving of two or three callers of work that is run once, or once a period, with a few
 * faults, breadth first: the lock's queue, the record, the servers' clock, sessions and processes
 * that end, sendings without an answer that come late. A lock is lost before its node goes: that is
 * the lock's own promise. What follows a transaction mirrors zkl_once_end().
 * usage: once [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/machine.h"
#include "recipes/once.h"
#include "recipes/transaction.h"

/* The servers' clock: its steps and jumps. */
enum { BEGINNING = 100, STEP = 3, PERIOD = 4, SLACK = 1, JUMP = 9 };
enum { HOSTS = 3, NODES = 8, STRAYS = 4 };

/* mzxid 0: there is none. The token is the node under which the run was made. */
struct work_record {
    uint8_t mzxid, token, begun, due;
    int32_t version;
};

enum work_stage { NOT_ASKED, ASKED, ANSWERED };

/* What is asked, and then its answer. */
struct work_ask {
    uint8_t verb, node, rc, stage; /* the first two as the machine has them */
    uint8_t failed, watch, rest, mtime;
    uint8_t own, number; /* the contender's node, and which transaction has written it */
    uint8_t unused[2];
    int32_t version, found; /* that it asks for, and that there is */
    struct work_record record;
    struct exchange_request question;
};

struct work_host {
    struct once machine;
    struct transaction line;
    struct exchange exchange; /* of the machine, and then of the line */
    struct work_ask ask;
    struct work_record last; /* that was read */
    struct work_record turn; /* to be written behind the run; its mzxid: what it was judged by */
    uint8_t node, ahead;     /* in the queue, 0: none; and which it has found before it */
    uint8_t calls;           /* so many were made */
    uint8_t runs;            /* until the transaction is over */
    uint8_t verdict;         /* of that */
    uint8_t recorded;        /* the run is, indeed */
    uint8_t watch, fired;
};

struct work_node {
    uint8_t id, number, mtime;
    uint8_t unused;
    int32_t version;
};

struct work_state {
    struct work_host hosts[HOSTS];
    struct work_node queue[NODES];
    struct work_ask strays[STRAYS]; /* without an answer; they may be carried out */
    struct work_record record;
    uint8_t nodes, stray_count, zxid, clock;
    uint8_t origin, used; /* of the series: when it began, and how many of its instants are past */
    uint8_t faults, budget; /* left, and at first */
};

enum work_move {
    WORK_CALL,
    WORK_LIST,
    WORK_SERVE,
    WORK_HEAR,
    WORK_FIRE,
    WORK_END,
    WORK_DROP,
    WORK_ARRIVE,
    WORK_PASS,
    WORK_LOSE,
    WORK_LOSS,
    WORK_CRASH,
    WORK_FAIL,
    WORK_STOP,
    WORK_JUMP, /* .at: ahead or back */
    WORK_RESET,
    WORK_MOVES
};

static const struct breadth_kind moves[WORK_MOVES] = {
    [WORK_CALL] = {"calls:", FAIR, HOSTS},
    [WORK_LIST] = {"finds its place in line:", FAIR, HOSTS},
    [WORK_SERVE] = {"is served:", FAIR, HOSTS},
    [WORK_HEAR] = {"hears:", FAIR, HOSTS},
    [WORK_FIRE] = {"hears that the record has changed:", FAIR, HOSTS},
    [WORK_END] = {"ends its run:", FAIR, HOSTS},
    [WORK_DROP] = {"a node without a contender goes,", FAIR, NODES},
    [WORK_ARRIVE] = {"what was not answered comes late,", PERHAPS, STRAYS},
    [WORK_PASS] = {"time passes", PERHAPS, 1},
    [WORK_LOSE] = {"loses the connection, with what is asked or answered:", FAULT, HOSTS},
    [WORK_LOSS] = {"loses its session, and so the lock:", FAULT, HOSTS},
    [WORK_CRASH] = {"is killed:", FAULT, HOSTS},
    [WORK_FAIL] = {"its run fails:", FAULT, HOSTS},
    [WORK_STOP] = {"has no more time:", FAULT, HOSTS},
    [WORK_JUMP] = {"a leader's clock is ahead, or behind,", FAULT, 2},
    [WORK_RESET] = {"the record is deleted", FAULT, 1},
};

struct work_config {
    uint8_t calls[HOSTS];  /* so many of each */
    uint8_t period, until; /* 0: once for all; so far time passes */
    enum {
        AS_IT_IS,
        WITHOUT_VERSION, /* the transaction writes over any record */
        NOT_MOVED_ON,    /* what is recorded is due as before */
        READ_BEFORE,     /* the record is judged as it was before the lock */
        APART            /* the node goes behind the transaction */
    } planted;
};

static const struct work_config *config;

/* ---- what must hold ---- */

/* NULL: it is gone. */
static struct work_node *find(struct work_state *st, uint8_t id)
{
    for (int i = 0; i < st->nodes; i++) {
        if (st->queue[i].id == id)
            return &st->queue[i];
    }
    return NULL;
}

/* How many instants of the series a run uses up that begins then. */
static int count_instants(const struct work_state *st, uint8_t begun)
{
    return st->origin && config->period ? (begun + SLACK - st->origin) / config->period + 1 : 1;
}

/* A run may go on until it is recorded, or its caller knows that the lock is lost. */
static void check_run(struct work_state *st, const struct work_record *run)
{
    for (int i = 0; i < HOSTS; i++) {
        const struct work_host *h = &st->hosts[i];
        breadth_require(!h->runs || h->turn.token == run->token || !find(st, h->node),
                        "another caller's run may still go on");
    }
    breadth_require(count_instants(st, run->begun) > st->used,
                    "a completed run has used up the instant");
}

/* It needs no run. */
static void check_done(struct work_state *st, const struct work_host *h)
{
    breadth_require(h->last.mzxid, "it is told to be done, and no record was seen");
    breadth_require(!find(st, h->last.token), "a run is recorded, and its caller has the lock");
}

/* ---- one host ---- */

static void forget(struct work_host *h, enum once_state state)
{
    const uint8_t calls = h->calls;

    memset(h, 0, sizeof *h);
    h->calls = calls;
    h->machine.state = state;
}

/* The server that answers does not lag: a sync changes nothing. */
static void ask(struct work_host *h, const struct machine_action *a)
{
    const struct exchange_request question = exchange_ask(&h->exchange, a);

    if (a->verb == STORE_SYNC)
        return;
    h->ask = (struct work_ask){.verb = (uint8_t)a->verb,
                               .node = (uint8_t)a->node,
                               .stage = ASKED,
                               .watch = a->watch,
                               .rest = a->rest,
                               .version = a->verb == STORE_MULTI ? a->parts[0].version : a->version,
                               .own = h->node,
                               .number = (uint8_t)transaction_written(&h->line),
                               .record = h->turn,
                               .question = question};
}

static void end_asks(struct work_host *h)
{
    exchange_end(&h->exchange);
    memset(&h->ask, 0, sizeof h->ask);
    h->watch = h->fired = false;
}

static void enter(struct work_state *st, struct work_host *h)
{
    const struct work_node node = {.id = ++st->zxid, .mtime = st->clock};

    flat_push(st->queue, &st->nodes, NODES, sizeof node, &node);
    h->node = h->ahead = node.id; /* it has not looked yet */
}

static void begin_run(struct work_state *st, struct work_host *h)
{
    const uint64_t due = config->planted == NOT_MOVED_ON ? h->machine.now : h->machine.next_due;

    h->turn = (struct work_record){.mzxid = h->last.mzxid,
                                   .token = h->node,
                                   .begun = (uint8_t)h->machine.now,
                                   .due = (uint8_t)due,
                                   .version = h->machine.version};
    h->runs = true;
    breadth_require(st->queue[0].id == h->node, "a run begins without the lock");
    breadth_require(st->queue[0].version > 0, "a run begins at an instant before the lock");
    check_run(st, &h->turn);
}

/* A look is behind a transaction that has ended as unknown. */
static void tell(struct work_state *st, struct work_host *h, enum once_verdict verdict)
{
    const bool done = verdict == ONCE_DONE, looks = h->machine.goal == ONCE_LOOK;

    if (verdict == ONCE_ENTER) {
        enter(st, h);
    } else if (verdict == ONCE_RUN) {
        begin_run(st, h);
    } else {
        if (done && !looks)
            check_done(st, h);
        breadth_require(done || verdict == ONCE_STOPPED || (looks && verdict == ONCE_NONE),
                        "a call ends for no reason");
        breadth_require(!looks || !done || h->last.token != h->turn.token || h->recorded,
                        "a run is told to be recorded, and is not");
        forget(h, ONCE_OVER);
    }
}

static void step_machine(struct work_state *st, struct work_host *h, struct machine_event ev)
{
    const struct once_record r = {.begun = h->last.begun, .due = h->last.due};
    const struct once_moment m = {.record = h->last.mzxid ? &r : NULL};
    struct machine_actions actions = {.count = 0};

    once_step(&h->machine, &ev, &m, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct machine_action *a = &actions.list[i];
        if (a->kind == MACHINE_ACT_REQUEST)
            ask(h, a);
        else if (a->kind == MACHINE_ACT_TELL)
            tell(st, h, (enum once_verdict)a->verdict);
        else
            end_asks(h);
    }
}

static void begin(struct work_state *st, struct work_host *h, enum once_goal goal)
{
    memset(&h->machine, 0, sizeof h->machine);
    h->machine.goal = goal;
    h->machine.plan.period_ms = config->period;
    h->machine.plan.slack_ms = config->period ? SLACK : 0;
    step_machine(st, h, (struct machine_event){.kind = MACHINE_EV_BEGIN});
}

static void call(struct work_state *st, struct work_host *h)
{
    h->calls++;
    begin(st, h, ONCE_CALL);
}

/* Where the transaction does not know, the record tells. */
static void settle(struct work_state *st, struct work_host *h)
{
    h->node = h->runs = 0;
    breadth_require(h->verdict == TX_TOLD_UNKNOWN || h->recorded == (h->verdict == TX_TOLD_APPLIED),
                    "it is told wrongly whether a run is recorded");
    breadth_require(h->recorded || st->faults < st->budget, "no fault, and no run is recorded");
    if (h->verdict == TX_TOLD_UNKNOWN)
        begin(st, h, ONCE_LOOK);
    else
        forget(h, ONCE_OVER);
}

static void step_line(struct work_state *st, struct work_host *h, struct machine_event ev,
                      uint8_t number)
{
    const struct transaction_moment now = {.number = number, .release = true};
    struct machine_actions actions = {.count = 0};

    transaction_step(&h->line, &ev, &now, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct machine_action *a = &actions.list[i];
        if (a->kind == MACHINE_ACT_REQUEST)
            ask(h, a);
        else if (a->kind != MACHINE_ACT_TELL)
            end_asks(h);
        else if (a->verdict < TX_ENDED)
            h->verdict = (uint8_t)a->verdict;
        else
            settle(st, h);
    }
}

static bool is_recording(const struct work_host *h)
{
    return h->line.state != TX_IDLE;
}

static void answer(struct work_state *st, struct work_host *h, const struct work_ask *a)
{
    const struct machine_event ev = {.kind = MACHINE_EV_ANSWER,
                                     .verb = (enum store_kind)a->verb,
                                     .node = a->node,
                                     .rc = (enum store_rc)a->rc,
                                     .failed = a->failed,
                                     .version = a->found,
                                     .mzxid = a->record.mzxid,
                                     .mtime_ms = a->mtime,
                                     .connection = 1};

    memset(&h->ask, 0, sizeof h->ask);
    if (exchange_answered(&h->exchange, a->question, &ev) != EXCHANGE_HEARD)
        return;
    if (is_recording(h))
        step_line(st, h, ev, a->number);
    else
        step_machine(st, h, ev);
}

static void hear(struct work_state *st, struct work_host *h)
{
    const struct work_ask heard = h->ask;

    if (heard.verb == STORE_SET && heard.rc == STORE_OK)
        h->line.version = heard.found; /* transactions go on from there */
    else if (heard.verb == STORE_GET && heard.node == ONCE_RECORD && !is_recording(h))
        h->last = heard.record;
    answer(st, h, &heard);
}

/* ---- the servers ---- */

static void change_record(struct work_state *st, struct work_record record)
{
    st->record = record;
    for (int i = 0; i < HOSTS; i++) {
        struct work_host *h = &st->hosts[i];
        h->recorded = h->recorded || (h->turn.token && h->turn.token == record.token);
        h->fired = h->fired || h->watch;
        h->watch = false;
    }
}

/* The next run begins another series. */
static void reset(struct work_state *st)
{
    st->origin = st->used = 0;
    change_record(st, (struct work_record){.mzxid = 0});
}

static void drop(struct work_state *st, const struct work_node *node)
{
    flat_remove(st->queue, &st->nodes, sizeof *node, (int)(node - st->queue));
}

/* The change of the record, which is made if it is missing, and else set. */
static enum store_rc try_change(const struct work_state *st, int32_t version)
{
    const bool there = st->record.mzxid;

    if (config->planted == WITHOUT_VERSION)
        return STORE_OK;
    if (version < 0)
        return there ? STORE_EXISTS : STORE_OK;
    if (!there)
        return STORE_NONODE;
    return version == st->record.version ? STORE_OK : STORE_BADVERSION;
}

static void complete(struct work_state *st, struct work_record run)
{
    const bool there = st->record.mzxid;

    check_run(st, &run);
    breadth_require(st->record.mzxid == run.mzxid,
                    "a run is recorded over another record than it was judged by");
    st->used = (uint8_t)count_instants(st, run.begun);
    st->origin = st->origin ? st->origin : run.begun;
    run.mzxid = ++st->zxid;
    run.version = there ? st->record.version + 1 : 0;
    change_record(st, run);
}

/* A read or a set of the own node, or a set and the changes behind it. */
static enum store_rc serve_own(struct work_state *st, struct work_ask *a)
{
    struct work_node *node = find(st, a->own);

    if (!node)
        return STORE_NONODE;
    if (a->verb != STORE_GET && a->version != node->version)
        return STORE_BADVERSION;
    const enum store_rc rc = a->rest ? try_change(st, a->record.version) : STORE_OK;
    a->failed = rc != STORE_OK;
    if (a->failed)
        return rc;
    if (a->verb == STORE_MULTI)
        node->number = a->number;
    if (a->verb != STORE_GET) {
        node->version++;
        node->mtime = st->clock;
    }
    a->number = node->number;
    a->found = node->version;
    a->mtime = node->mtime;
    if (a->rest && config->planted != APART)
        drop(st, node);
    if (a->rest)
        complete(st, a->record);
    return STORE_OK;
}

static enum store_rc serve_record(struct work_state *st, struct work_host *h)
{
    const bool early = config->planted == READ_BEFORE && h->machine.state == ONCE_JUDGING;

    h->ask.record = early ? h->last : st->record;
    h->ask.found = h->ask.record.version;
    h->watch = h->watch || (h->ask.watch && (st->record.mzxid || h->ask.verb == STORE_STAT));
    return h->ask.record.mzxid ? STORE_OK : STORE_NONODE;
}

static void serve(struct work_state *st, struct work_host *h)
{
    const bool own = h->ask.node == ONCE_OWN || is_recording(h);

    h->ask.stage = ANSWERED;
    h->ask.rc = (uint8_t)(own ? serve_own(st, &h->ask) : serve_record(st, h));
}

/* ---- the lock ---- */

static uint8_t find_ahead(const struct work_state *st, uint8_t id)
{
    uint8_t ahead = 0;

    for (int i = 0; st->queue[i].id != id; i++)
        ahead = st->queue[i].id;
    return ahead;
}

static void list(struct work_state *st, struct work_host *h)
{
    h->ahead = find_ahead(st, h->node);
    step_machine(st, h, (struct machine_event){.kind = h->ahead ? ONCE_EV_WAITS : ONCE_EV_FIRST});
}

static bool is_nobodys(const struct work_state *st, int at)
{
    for (int i = 0; i < HOSTS; i++) {
        if (st->hosts[i].node == st->queue[at].id)
            return false;
    }
    return at < st->nodes;
}

/* ---- runs and faults ---- */

static void fire(struct work_state *st, struct work_host *h)
{
    h->fired = false;
    step_machine(st, h, (struct machine_event){.kind = MACHINE_EV_FIRED});
}

static void end_run(struct work_state *st, struct work_host *h)
{
    if (h->node)
        step_line(st, h, (struct machine_event){.kind = MACHINE_EV_BEGIN, .connection = 1}, 0);
    else
        forget(h, ONCE_OVER);
}

/* A set that is not answered may be carried out. */
static void abandon(struct work_state *st, struct work_host *h)
{
    h->ask.question = (struct exchange_request){.question = 0};
    if (h->ask.stage == ASKED && h->ask.verb != STORE_GET && h->ask.verb != STORE_STAT)
        flat_push(st->strays, &st->stray_count, STRAYS, sizeof h->ask, &h->ask);
    memset(&h->ask, 0, sizeof h->ask);
}

static void arrive(struct work_state *st, int at)
{
    struct work_ask a = st->strays[at];

    flat_remove(st->strays, &st->stray_count, sizeof a, at);
    serve_own(st, &a);
}

/* All but a transaction is asked again. */
static void lose(struct work_state *st, struct work_host *h)
{
    struct work_ask asked = h->ask;

    abandon(st, h);
    asked.stage = ASKED;
    asked.rc = STORE_UNKNOWN;
    if (asked.verb == STORE_MULTI)
        answer(st, h, &asked);
    else
        h->ask = asked;
}

/* The session. A contender in line comes into it anew. */
static void work_lose(struct work_state *st, struct work_host *h)
{
    const bool reads = h->machine.state == ONCE_READING;

    abandon(st, h);
    h->node = h->watch = h->fired = 0;
    if (is_recording(h))
        step_line(st, h, (struct machine_event){.kind = MACHINE_EV_SESSION}, 0);
    else if (h->machine.state == ONCE_QUEUED)
        enter(st, h);
    else if (!h->runs)
        step_machine(st, h,
                     (struct machine_event){.kind = reads ? MACHINE_EV_SESSION : ONCE_EV_LOST});
}

static void stop(struct work_state *st, struct work_host *h)
{
    abandon(st, h);
    step_machine(st, h, (struct machine_event){.kind = MACHINE_EV_STOP});
}

static void crash(struct work_state *st, struct work_host *h)
{
    abandon(st, h);
    forget(h, ONCE_IDLE);
}

/* ---- the world ---- */

static void init(void *state, const void *data)
{
    struct work_state *st = state;

    config = data;
    st->clock = BEGINNING;
    st->budget = st->faults;
}

static bool is_idle(const struct work_host *h)
{
    return !h->runs && (h->machine.state == ONCE_IDLE || h->machine.state == ONCE_OVER);
}

static bool may_host(const struct work_state *st, enum work_move kind, int i)
{
    const struct work_host *h = &st->hosts[i];

    switch (kind) {
    case WORK_CALL:
        return is_idle(h) && h->calls < config->calls[i];
    case WORK_LIST:
        return h->machine.state == ONCE_QUEUED && find_ahead(st, h->node) != h->ahead;
    case WORK_SERVE:
        return h->ask.stage == ASKED;
    case WORK_HEAR:
        return h->ask.stage == ANSWERED;
    case WORK_FIRE:
        return h->fired;
    case WORK_LOSE:
        return h->ask.stage;
    case WORK_END:
    case WORK_FAIL:
        return h->runs && !is_recording(h);
    case WORK_LOSS:
        return !is_idle(h) && (h->node || !h->runs);
    case WORK_STOP:
        return !is_idle(h) && !h->runs;
    default: /* WORK_CRASH */
        return !is_idle(h);
    }
}

static bool may(const void *state, struct move move)
{
    const struct work_state *st = state;

    switch (move.kind) {
    case WORK_DROP:
        return is_nobodys(st, move.at);
    case WORK_ARRIVE:
        return move.at < st->stray_count;
    case WORK_PASS:
        return st->clock < config->until;
    case WORK_JUMP:
        return config->period;
    case WORK_RESET:
        return st->record.mzxid;
    default:
        return may_host(st, (enum work_move)move.kind, move.at);
    }
}

static void take_host(struct work_state *st, enum work_move kind, struct work_host *h)
{
    if (kind == WORK_CALL)
        call(st, h);
    else if (kind == WORK_LIST)
        list(st, h);
    else if (kind == WORK_SERVE)
        serve(st, h);
    else if (kind == WORK_HEAR)
        hear(st, h);
    else if (kind == WORK_FIRE)
        fire(st, h);
    else if (kind == WORK_END)
        end_run(st, h);
    else if (kind == WORK_LOSE)
        lose(st, h);
    else if (kind == WORK_LOSS)
        work_lose(st, h);
    else if (kind == WORK_CRASH)
        crash(st, h);
    else if (kind == WORK_FAIL)
        forget(h, ONCE_OVER);
    else
        stop(st, h);
}

/* What can never be carried out is no part of the state, nor is the number of a question. */
static void tidy(struct work_state *st)
{
    for (int i = st->stray_count; i-- > 0;) {
        const struct work_node *node = find(st, st->strays[i].own);
        if (!node || node->version != st->strays[i].version)
            flat_remove(st->strays, &st->stray_count, sizeof st->strays[i], i);
    }
    for (int i = 0; i < HOSTS; i++) {
        struct work_host *h = &st->hosts[i];
        if (h->ask.stage)
            h->ask.question = exchange_plain_request(&h->exchange, h->ask.question);
        exchange_plain(&h->exchange);
    }
}

static void take(void *state, struct move move)
{
    struct work_state *st = state;

    if (move.kind == WORK_DROP)
        drop(st, &st->queue[move.at]);
    else if (move.kind == WORK_ARRIVE)
        arrive(st, move.at);
    else if (move.kind == WORK_PASS)
        st->clock += STEP;
    else if (move.kind == WORK_JUMP)
        st->clock = (uint8_t)(st->clock + (move.at ? -JUMP : JUMP));
    else if (move.kind == WORK_RESET)
        reset(st);
    else
        take_host(st, (enum work_move)move.kind, &st->hosts[move.at]);
    tidy(st);
}

static const char *check_end(const void *state)
{
    const struct work_state *st = state;

    for (int i = 0; i < HOSTS; i++) {
        if (!is_idle(&st->hosts[i]))
            return "nothing can happen, but somebody waits";
    }
    return NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(work_config, __VA_ARGS__)
#define A_PERIOD PERIOD, BEGINNING + 2 * STEP

static const struct breadth_run runs[] = {
    {"once for all", ALWAYS, 2, CONFIG({1, 1}, 0, 0, AS_IT_IS)},
    {"three callers", ALWAYS, 1, CONFIG({1, 1, 1}, 0, 0, AS_IT_IS)},
    {"a period", ALWAYS, 1, CONFIG({2, 1}, A_PERIOD, AS_IT_IS)},
    {"three callers", SOAK, 2, CONFIG({1, 1, 1}, 0, 0, AS_IT_IS)},
    {"a period", SOAK, 2, CONFIG({2, 1}, A_PERIOD, AS_IT_IS)},
    {"without a version", PLANTED, 1, CONFIG({1, 1}, A_PERIOD, WITHOUT_VERSION)},
    {"the due instant stays", PLANTED, 0, CONFIG({1, 1}, A_PERIOD, NOT_MOVED_ON)},
    {"the record is read before the lock", PLANTED, 0, CONFIG({1, 1}, 0, 0, READ_BEFORE)},
    {"the release is apart", PLANTED, 0, CONFIG({1, 1}, 0, 0, APART)},
};

static void print(const void *state)
{
    const struct work_state *st = state;

    for (int i = 0; i < HOSTS; i++) {
        const struct work_host *h = &st->hosts[i];
        printf(" %s%s, node %d;", h->runs ? "runs " : once_state_name(h->machine.state),
               h->runs ? transaction_state_name(h->line.state) : "", h->node);
    }
    printf(" record %d, due at %d, at %d", st->record.mzxid, st->record.due, st->clock);
}

static const char *state_name(int state)
{
    return once_state_name((enum once_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct work_state),
        .machine = offsetof(struct work_state, hosts[0].machine.state),
        .stride = sizeof(struct work_host), .machines = HOSTS,
        .states = ONCE_SETTLING}; /* closings.c resets */

    return breadth_main(&world, argc, argv);
}
