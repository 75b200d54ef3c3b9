/* The clients of the semaphore's explorer: drivers, connections, users. */
#include "permits_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"

struct permits_config permits_config;

/* An event, and what the machine sees with it. */
struct permits_heard {
    struct machine_event ev;
    struct attempt_moment moment;
    const uint8_t *listed; /* the nodes that were listed */
};

static void permits_answer(struct permits_state *st, int i, const struct permits_message *m);

bool permits_asks(const struct permits_message *m, enum store_kind verb, enum attempt_node about)
{
    return m->heard && m->verb == verb && m->about == about;
}

/* ---- the driver ---- */

static bool is_own(const struct permits_state *st, int i, uint8_t n)
{
    return st->nodes[n].client == i && st->nodes[n].id == st->clients[i].id;
}

static void permits_push(struct permits_client *c, struct permits_message m)
{
    if (c->asked == PERMITS_QUEUE) {
        fputs("permits: the world is too small: requests\n", stderr);
        exit(99);
    }
    c->asks[c->asked++] = m;
}

static uint8_t permits_wanted_bit(unsigned about)
{
    return (uint8_t)(about == ATTEMPT_PREDECESSOR || about == ATTEMPT_CHILDREN ||
                             about == ATTEMPT_LIMIT
                         ? 1U << about
                         : 0);
}

/* A request for that watch is under way. */
static bool permits_asks_to_watch(const struct permits_client *c, unsigned about)
{
    for (int k = 0; k < c->asked; k++)
        if (c->asks[k].watch && c->asks[k].about == about)
            return true;
    for (int k = 0; k < c->answered; k++)
        if (c->answers[k].watch && c->answers[k].about == about)
            return true;
    return false;
}

static void permits_ask(struct permits_client *c, const struct machine_action *a)
{
    const uint8_t watch = a->watch ? permits_wanted_bit(a->node) : 0;

    c->wanted |= watch;
    permits_push(c, (struct permits_message){.number = exchange_ask(&c->exchange, a),
                                             .verb = (uint8_t)a->verb,
                                             .about = (uint8_t)a->node,
                                             .node = a->node == ATTEMPT_OWN ? c->node
                                                     : a->node == ATTEMPT_PREDECESSOR
                                                         ? c->predecessor
                                                         : PERMITS_NO_NODE,
                                             .watch = watch,
                                             .heard = true,
                                             .version = (uint8_t)a->version});
}

static void permits_check_grant(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    unsigned held = 0;

    c->holds = true;
    if (c->node == PERMITS_NO_NODE || !st->nodes[c->node].had_room)
        st->broken = PERMITS_GRANT;
    for (int k = 0; k < permits_config.clients; k++) {
        const struct permits_client *o = &st->clients[k];
        if (o->holds && !o->over && (st->standing & PERMITS_BIT(o->node)))
            held += permits_config.permits[k];
    }
    if (held > st->highest)
        st->broken = PERMITS_LIMIT;
}

/* What is refused asks for more than the limit allowed at some time, or was given up. */
static void permits_check_failure(struct permits_state *st, int i, int error)
{
    const bool could = permits_config.permits[i] > 1 && permits_config.changes > 0;

    if (error == ATTEMPT_ABORTED || (error == ATTEMPT_PERMITS && could))
        return;
    if (error != ATTEMPT_PERMITS || permits_config.permits[i] <= permits_config.limit)
        st->broken = PERMITS_REFUSE;
}

/* OWN, or one that was listed, if it is meant. */
static uint8_t permits_node_of(const struct permits_state *st, int i, uint32_t about,
                               const uint8_t *listed)
{
    const struct permits_client *c = &st->clients[i];

    if (about < ATTEMPT_SPARE)
        return c->node;
    const uint8_t n = listed[about - (about < ATTEMPT_OURS ? ATTEMPT_SPARE : ATTEMPT_OURS)];
    const bool spared = about < ATTEMPT_OURS && n == c->node;
    return st->nodes[n].client == i && !spared ? n : PERMITS_NO_NODE;
}

static void permits_delete_nodes(struct permits_state *st, int i, const struct machine_action *a,
                                 const uint8_t *listed)
{
    for (uint32_t k = a->node; k <= a->node + a->more; k++) {
        const uint8_t n = permits_node_of(st, i, k, listed);
        if (n != PERMITS_NO_NODE)
            permits_push(
                &st->clients[i],
                (struct permits_message){.verb = STORE_DELETE, .about = ATTEMPT_OWN, .node = n});
    }
}

/* What was not sent; a create that is not stale hears of it behind the step. */
static void permits_recall(struct permits_client *c, unsigned about, bool all,
                           struct permits_message *ret_create)
{
    for (int k = 0; k < c->asked && !c->up;) {
        const struct permits_message m = c->asks[k];
        if (!m.heard || (!all && m.about != about)) {
            k++;
            continue;
        }
        flat_remove(c->asks, &c->asked, sizeof m, k);
        if (m.verb == STORE_CREATE)
            *ret_create = m;
    }
}

static void permits_tell(struct permits_state *st, int i, const struct machine_action *a,
                         const uint8_t *listed)
{
    struct permits_client *c = &st->clients[i];

    switch ((enum attempt_verdict)a->verdict) {
    case ATTEMPT_ADMIT: /* PERMITS_ADMIT, at any time */
        break;
    case ATTEMPT_FOLLOW:
        c->predecessor = listed[a->why];
        break;
    case ATTEMPT_ADOPT:
        c->node = listed[a->why];
        break;
    case ATTEMPT_GRANT:
        permits_check_grant(st, i);
        break;
    case ATTEMPT_REVOKE:
        c->holds = false;
        break;
    case ATTEMPT_FAIL:
        permits_check_failure(st, i, a->why);
        break;
    default:
        st->broken = PERMITS_ACTION;
    }
}

static void permits_perform(struct permits_state *st, int i, const struct machine_action *a,
                            const uint8_t *listed, struct permits_message *recalled)
{
    struct permits_client *c = &st->clients[i];

    switch (a->kind) {
    case MACHINE_ACT_REQUEST:
        permits_ask(c, a);
        break;
    case MACHINE_ACT_FORGET:
        exchange_forget(&c->exchange, a->slot);
        break;
    case MACHINE_ACT_RECALL:
        permits_recall(c, a->node, false, recalled);
        break;
    case MACHINE_ACT_UNWATCH:
        c->wanted &= (uint8_t)~permits_wanted_bit(a->node);
        break;
    case MACHINE_ACT_DELETE:
        permits_delete_nodes(st, i, a, listed);
        break;
    case MACHINE_ACT_ARM: /* of the watch on the own node, which is not what this is about */
        break;
    case MACHINE_ACT_END:
        exchange_end(&c->exchange);
        c->wanted = 0;
        permits_recall(c, 0, true, recalled);
        break;
    case MACHINE_ACT_TELL:
        permits_tell(st, i, a, listed);
        break;
    default:
        st->broken = PERMITS_ACTION;
    }
}

static void permits_step(struct permits_state *st, int i, struct permits_heard *heard)
{
    struct permits_client *c = &st->clients[i];
    struct permits_message recalled = {.heard = false};
    struct machine_actions actions;

    heard->moment.in_time = true;
    attempt_step(&c->machine, &heard->ev, &heard->moment, &actions);
    for (uint32_t k = 0; k < actions.count; k++)
        permits_perform(st, i, &actions.list[k], heard->listed, &recalled);
    if (c->machine.state != ST_WAITING)
        c->predecessor = PERMITS_NO_NODE;
    recalled.rc = STORE_BAD;
    if (recalled.heard)
        permits_answer(st, i, &recalled);
}

static void permits_step_kind(struct permits_state *st, int i, unsigned kind)
{
    permits_step(st, i, &(struct permits_heard){.ev.kind = kind});
}

/* ---- answers ---- */

static void permits_step_listed(struct permits_state *st, int i, uint16_t names,
                                struct permits_heard *heard)
{
    struct child children[PERMITS_NODES];
    uint8_t listed[PERMITS_NODES];
    uint32_t count = 0;

    for (uint8_t n = 0; n < st->made; n++) {
        if (!(names & PERMITS_BIT(n)))
            continue;
        children[count] = (struct child){.id = count,
                                         .kind = CHILD_LEASE,
                                         .rule = RULE_LEASE,
                                         .number = n,
                                         .permits = permits_config.permits[st->nodes[n].client],
                                         .own = is_own(st, i, n),
                                         .old = st->nodes[n].client == i && !is_own(st, i, n)};
        listed[count++] = n;
    }
    heard->ev.count = count;
    heard->moment.children = children;
    heard->listed = listed;
    permits_step(st, i, heard);
}

static void permits_see_node(const struct permits_state *st, int i, uint8_t node,
                             struct permits_heard *heard)
{
    heard->ev.czxid = st->nodes[node].czxid;
    heard->ev.own = is_own(st, i, node);
    heard->moment.number = node;
}

/* The data's version is another one with each change. */
static void permits_answer(struct permits_state *st, int i, const struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];
    const bool of_limit = m->about == ATTEMPT_LIMIT;
    struct permits_heard heard = {
        .ev = {.kind = MACHINE_EV_ANSWER,
               .verb = (enum store_kind)m->verb,
               .node = m->about,
               .slot = (uint8_t)m->number.slot,
               .rc = (enum store_rc)m->rc,
               .version = of_limit ? m->limit_zxid : m->version,
               .mzxid = m->limit_zxid,
               .length = m->limit > 0,
               .watched = m->watch && (c->wanted & permits_wanted_bit(m->about))},
        .moment = {.limit = m->limit}};

    if (exchange_answered(&c->exchange, m->number, &heard.ev) != EXCHANGE_HEARD)
        return;
    if (m->verb == STORE_CREATE && m->rc == STORE_OK)
        c->node = m->node;
    if (m->node != PERMITS_NO_NODE)
        permits_see_node(st, i, m->node, &heard);
    if (m->verb == STORE_LIST)
        permits_step_listed(st, i, m->names, &heard);
    else
        permits_step(st, i, &heard);
}

/* Unless it is wanted no more, or its answer will tell. */
static void permits_watch_fired(struct permits_state *st, int i, const struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];

    if (!(c->wanted & permits_wanted_bit(m->about)) || permits_asks_to_watch(c, m->about) ||
        (m->about == ATTEMPT_PREDECESSOR && m->node != c->predecessor))
        return;
    c->wanted &= (uint8_t)~permits_wanted_bit(m->about);
    permits_step(st, i,
                 &(struct permits_heard){
                     .ev = {MACHINE_EV_FIRED, .node = m->about, .gone = m->rc == STORE_NONODE}});
}

static void permits_deliver(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    const struct permits_message m = c->answers[0];

    flat_remove(c->answers, &c->answered, sizeof m, 0);
    if (m.fired) {
        permits_watch_fired(st, i, &m);
        return;
    }
    if (m.watch && m.rc != STORE_OK && !permits_asks_to_watch(c, m.about))
        c->wanted &= (uint8_t)~permits_wanted_bit(m.about);
    permits_answer(st, i, &m);
}

/* ---- connection and session ---- */

/* As it was asked. */
static struct permits_message permits_unanswered(struct permits_message m)
{
    m.rc = STORE_OK;
    m.version = m.verb == STORE_SET ? m.version : 0;
    m.limit = m.limit_zxid = 0;
    m.names = 0;
    return m;
}

/* What was under way is asked again, in its order; but whether a create was done is not known.
 * Watches that have fired, fire again. */
static void permits_lose(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i], before = *c;
    struct permits_message unknown = {.heard = false};

    c->up = false;
    memset(c->asks, 0, sizeof c->asks);
    memset(c->answers, 0, sizeof c->answers);
    c->asked = c->answered = 0;
    for (int k = 0; k < before.answered + before.asked; k++) {
        const struct permits_message *m =
            k < before.answered ? &before.answers[k] : &before.asks[k - before.answered];
        if (m->fired)
            c->answers[c->answered++] = *m;
        else if (m->verb == STORE_CREATE)
            unknown = *m;
        else
            permits_push(c, permits_unanswered(*m));
    }
    unknown.rc = STORE_UNKNOWN;
    if (unknown.heard)
        permits_answer(st, i, &unknown);
}

static void permits_begin_session(struct permits_client *c)
{
    memset(c->asks, 0, sizeof c->asks);
    memset(c->answers, 0, sizeof c->answers);
    c->asked = c->answered = 0;
    c->wanted = 0;
    c->watches = 0;
    c->watches_children = c->watches_limit = c->over = c->holds = false;
    c->up = true;
    c->id++;
}

static void expire(struct permits_state *st, int i)
{
    st->clients[i].over = true;
    permits_server_delete(st, permits_server_nodes(st, i));
    st->clients[i].watches = 0;
    st->clients[i].watches_children = st->clients[i].watches_limit = false;
}

/* ---- moves ---- */

void permits_init(void *state)
{
    struct permits_state *st = state;

    memset(st, 0, sizeof *st);
    st->limit = st->highest = permits_config.limit;
    st->limit_zxid = st->zxid = 1;
    st->faults = (uint8_t)permits_config.faults;
    st->changes = (uint8_t)permits_config.changes;
    for (int i = 0; i < permits_config.clients; i++) {
        struct permits_client *c = &st->clients[i];
        attempt_init(&c->machine, RULE_LEASE, false);
        c->machine.permits = permits_config.permits[i];
        c->machine.has_limit = true;
        if (permits_config.leases) {
            attempt_count_leases(&c->machine, permits_config.limit);
        } else if (permits_config.limit_known) {
            c->machine.limit = permits_config.limit;
            c->machine.limit_zxid = 1;
        }
        c->node = c->predecessor = PERMITS_NO_NODE;
        c->up = true;
        c->id = 1;
    }
}

static bool can(const struct permits_state *st, enum permits_move move, int i)
{
    const struct permits_client *c = &st->clients[i];
    const enum attempt_state s = c->machine.state;

    switch (move) {
    case PERMITS_SERVE:
        return c->up && !c->over && c->asked > 0;
    case PERMITS_DELIVER:
        return c->up && !c->over && c->answered > 0;
    case PERMITS_CONNECT:
        return !c->up && !c->over;
    case PERMITS_NOTICE:
        return c->over;
    case PERMITS_ADMIT:
        return s == ST_REENTERING;
    case PERMITS_ENTER:
        return s == ST_IDLE;
    case PERMITS_RELEASE:
        return s == ST_HOLDING;
    case PERMITS_LOSE:
        return c->up && !c->over && s != ST_IDLE && (s != ST_DONE || c->asked > 0);
    case PERMITS_EXPIRE:
        return !c->over && s != ST_IDLE && s != ST_DONE;
    case PERMITS_ABORT:
        return s != ST_IDLE && !c->machine.told;
    default:
        return false;
    }
}

int permits_list(const void *state, struct breadth_step *steps)
{
    const struct permits_state *st = state;
    const int moves = st->faults ? PERMITS_DELETE_NODE : PERMITS_LOSE;
    int count = 0;

    for (int move = 0; move < moves; move++)
        for (int i = 0; i < permits_config.clients; i++)
            if (can(st, (enum permits_move)move, i))
                steps[count++] = (struct breadth_step){(uint8_t)move, (uint8_t)i};
    for (uint8_t limit = !permits_config.empties; st->changes && limit <= permits_config.limit_max;
         limit++)
        if (limit != st->limit)
            steps[count++] = (struct breadth_step){PERMITS_SET_LIMIT, limit};
    for (uint8_t n = 0; st->faults && n < st->made; n++) {
        const struct permits_client *c = &st->clients[st->nodes[n].client];
        if (!(st->standing & PERMITS_BIT(n)) || c->holds || c->machine.told)
            continue;
        steps[count++] = (struct breadth_step){PERMITS_DELETE_NODE, n};
        steps[count++] = (struct breadth_step){PERMITS_CHANGE_NODE, n};
    }
    return count;
}

static void take_admin(struct permits_state *st, struct breadth_step step)
{
    if (step.kind == PERMITS_SET_LIMIT) {
        st->changes--;
        permits_server_limit(st, step.at);
    } else if (step.kind == PERMITS_DELETE_NODE) {
        st->nodes[step.at].forced = true;
        permits_server_delete(st, PERMITS_BIT(step.at));
    } else {
        permits_server_change(st, step.at);
    }
}

static void permits_take_client(struct permits_state *st, enum permits_move move, int i)
{
    struct permits_client *c = &st->clients[i];

    switch (move) {
    case PERMITS_SERVE:
        permits_server_do(st, i);
        break;
    case PERMITS_DELIVER:
        permits_deliver(st, i);
        break;
    case PERMITS_CONNECT:
        c->up = true;
        if (c->machine.state == ST_FIRST)
            permits_step_kind(st, i, ATTEMPT_EV_DOUBT);
        break;
    case PERMITS_NOTICE:
        permits_begin_session(c);
        permits_step_kind(st, i, MACHINE_EV_SESSION);
        break;
    case PERMITS_RELEASE:
        c->holds = false;
        permits_step_kind(st, i, ATTEMPT_EV_RELEASE);
        break;
    case PERMITS_LOSE:
        permits_lose(st, i);
        break;
    case PERMITS_EXPIRE:
        expire(st, i);
        break;
    case PERMITS_ABORT:
        permits_step_kind(st, i, MACHINE_EV_STOP);
        break;
    default:
        permits_step_kind(st, i, MACHINE_EV_BEGIN);
    }
}

/* One that is not first in line has no use for what the directory tells. */
static bool permits_wants_too_much(const struct permits_client *c)
{
    const enum attempt_state s = c->machine.state;
    const uint8_t directory =
        permits_wanted_bit(ATTEMPT_CHILDREN) | permits_wanted_bit(ATTEMPT_LIMIT);

    return (s == ST_DONE && c->wanted) ||
           ((s == ST_WAITING || s == ST_HOLDING) && (c->wanted & directory));
}

void permits_take(void *state, struct breadth_step step)
{
    struct permits_state *st = state;

    if (step.kind >= PERMITS_LOSE)
        st->faults--;
    if (step.kind == PERMITS_SET_LIMIT || step.kind >= PERMITS_DELETE_NODE)
        take_admin(st, step);
    else
        permits_take_client(st, (enum permits_move)step.kind, step.at);
    for (int i = 0; i < permits_config.clients; i++)
        if (permits_wants_too_much(&st->clients[i]))
            st->broken = PERMITS_WATCH;
}

int permits_check_end(const void *state)
{
    const struct permits_state *st = state;

    for (int i = 0; i < permits_config.clients; i++) {
        const struct permits_client *c = &st->clients[i];
        const enum attempt_state s = c->machine.state;
        const uint16_t nodes = permits_server_nodes(st, i);
        if ((s == ST_IDLE || s == ST_DONE) && nodes)
            return PERMITS_LEFT;
        if (s == ST_IDLE || s == ST_DONE || s == ST_HOLDING)
            continue;
        if (s != ST_WAITING && s != ST_FIRST)
            return PERMITS_ASLEEP;
        /* One whose node was removed hears of it when it is to be admitted. */
        if ((nodes & PERMITS_BIT(c->node)) && permits_server_room(st, c->node))
            return PERMITS_ASLEEP;
    }
    return PERMITS_WHOLE;
}

/* ---- words ---- */

const char *const permits_broken_texts[PERMITS_BROKEN_COUNT] = {
    [PERMITS_WHOLE] = "nothing",
    [PERMITS_GRANT] = "granted, and there was never room for it",
    [PERMITS_LIMIT] = "more permits are held than there ever were",
    [PERMITS_REFUSE] = "refused without reason",
    [PERMITS_ASLEEP] = "there is room for one that waits, and it will never hear of it",
    [PERMITS_LEFT] = "a node is left that nobody wants",
    [PERMITS_WATCH] = "a watch is left that nobody wants",
    [PERMITS_ACTION] = "an action that nobody understands",
};

const char *permits_move_text(enum permits_move move)
{
    static const char *const texts[PERMITS_MOVE_COUNT] = {
        [PERMITS_SERVE] = "the server does",
        [PERMITS_DELIVER] = "hears",
        [PERMITS_CONNECT] = "is connected again",
        [PERMITS_NOTICE] = "hears that its session is over",
        [PERMITS_ADMIT] = "enters again",
        [PERMITS_ENTER] = "enters",
        [PERMITS_RELEASE] = "releases",
        [PERMITS_SET_LIMIT] = "the limit is set to",
        [PERMITS_LOSE] = "FAULT: loses its connection",
        [PERMITS_EXPIRE] = "FAULT: its session is ended",
        [PERMITS_ABORT] = "FAULT: gives up",
        [PERMITS_DELETE_NODE] = "FAULT: somebody deletes node",
        [PERMITS_CHANGE_NODE] = "FAULT: somebody changes node",
    };

    return texts[move];
}
