/* The clients of the semaphore's explorer: drivers, connections, users. */
#include "permits_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"

struct permits_config permits_config;

static void step(struct permits_state *st, int i, struct event *ev);

/* ---- the driver ---- */

static bool is_own(const struct permits_state *st, int i, uint8_t n)
{
    return st->nodes[n].client == i && st->nodes[n].id == st->clients[i].id;
}

static void ask(struct permits_client *c, enum permits_ask kind, uint8_t node, bool current,
                bool watch)
{
    if (c->asked == PERMITS_QUEUE) {
        fputs("permits: the world is too small: requests\n", stderr);
        exit(99);
    }
    c->asks[c->asked++] = (struct permits_message){
        .kind = (uint8_t)kind, .node = node, .current = current, .watch = watch};
}

/* The attempt may have ended while the limit was written. */
static void ask_limit(struct permits_client *c, bool current, bool watch)
{
    if (c->machine.state == ST_DONE)
        return;
    c->limit_sub = watch ? SUB_ASKED : c->limit_sub;
    ask(c, ASK_LIMIT, PERMITS_NO_NODE, current, watch);
}

static void delete_own(struct permits_state *st, int i, uint16_t names, uint8_t keep)
{
    for (uint8_t n = 0; n < st->made; n++)
        if ((names & PERMITS_BIT(n)) && n != keep && st->nodes[n].client == i)
            ask(&st->clients[i], ASK_DELETE, n, false, false);
}

static void check_grant(struct permits_state *st, int i)
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
static void check_failure(struct permits_state *st, int i, int error)
{
    const bool could = permits_config.permits[i] > 1 && permits_config.changes > 0;

    if (error == ATTEMPT_ABORTED || (error == ATTEMPT_PERMITS && could))
        return;
    if (error != ATTEMPT_PERMITS || permits_config.permits[i] <= permits_config.limit)
        st->broken = PERMITS_REFUSE;
}

static void perform_store(struct permits_state *st, int i, const struct action *a, uint16_t names)
{
    struct permits_client *c = &st->clients[i];

    switch (a->kind) {
    case ACT_CREATE:
        ask(c, ASK_CREATE, PERMITS_NO_NODE, true, false);
        break;
    case ACT_BARRIER:
        ask(c, ASK_BARRIER, PERMITS_NO_NODE, true, false);
        break;
    case ACT_LIST:
        c->children_sub = a->watch ? SUB_ASKED : c->children_sub;
        ask(c, ASK_LIST, PERMITS_NO_NODE, true, a->watch);
        break;
    case ACT_READ_LIMIT:
        ask_limit(c, true, a->watch);
        break;
    case ACT_UNWATCH_LIMIT:
        c->limit_sub = SUB_NONE;
        break;
    case ACT_READ:
        ask(c, ASK_READ, c->node, true, false);
        break;
    case ACT_WATCH:
        c->predecessor = (uint8_t)a->id;
        c->predecessor_sub = SUB_ASKED;
        ask(c, ASK_WATCH, c->predecessor, true, true);
        break;
    case ACT_UNWATCH:
        c->predecessor_sub = SUB_NONE;
        break;
    case ACT_TOUCH:
        ask(c, ASK_TOUCH, c->node, false, false);
        break;
    case ACT_DELETE:
        ask(c, ASK_DELETE, c->node, false, false);
        break;
    case ACT_DELETE_SPARE:
        delete_own(st, i, names, c->node);
        break;
    case ACT_DELETE_ALL:
        delete_own(st, i, names, PERMITS_NO_NODE);
        break;
    default:
        st->broken = PERMITS_ACTION;
    }
}

static void perform(struct permits_state *st, int i, const struct action *a, uint16_t names)
{
    switch (a->kind) {
    case ACT_ADMIT: /* PERMITS_ADMIT, at any time */
    case ACT_ARM:   /* of the watch on the own node, which is not what this is about */
        break;
    case ACT_ADOPT:
        st->clients[i].node = (uint8_t)a->id;
        break;
    case ACT_GRANT:
        check_grant(st, i);
        break;
    case ACT_REVOKE:
        st->clients[i].holds = false;
        break;
    case ACT_FAIL:
        check_failure(st, i, a->error);
        break;
    default:
        perform_store(st, i, a, names);
    }
}

/* Which request is the newest is all that tags tell. */
static void forget_tags(struct permits_client *c)
{
    const enum attempt_state s = c->machine.state;

    c->machine.tag = 1;
    if (s != ST_WAITING)
        c->predecessor = PERMITS_NO_NODE;
    if (s == ST_DONE || s == ST_CLAIMING || s == ST_HOLDING || s == ST_WAITING)
        c->children_sub = SUB_NONE;
    if (s == ST_DONE)
        c->limit_sub = SUB_NONE;
}

static void step_seeing(struct permits_state *st, int i, struct event *ev, uint16_t names)
{
    struct permits_client *c = &st->clients[i];
    const uint32_t tag = c->machine.tag;
    struct actions out;

    ev->session = ev->ephemeral_owner = c->id;
    ev->in_time = true;
    attempt_step(&c->machine, ev, &out);
    if (c->machine.tag != tag) {
        for (int k = 0; k < c->asked; k++)
            c->asks[k].current = false;
        for (int k = 0; k < c->answered; k++)
            c->answers[k].current = false;
    }
    for (uint32_t k = 0; k < out.count; k++)
        perform(st, i, &out.list[k], names);
    forget_tags(c);
}

static void step(struct permits_state *st, int i, struct event *ev)
{
    step_seeing(st, i, ev, 0);
}

static void step_kind(struct permits_state *st, int i, enum event_kind kind)
{
    step(st, i, &(struct event){.kind = kind, .error = ATTEMPT_ABORTED});
}

/* ---- answers ---- */

static void listed(struct permits_state *st, int i, const struct permits_message *m,
                   struct event *ev)
{
    struct permits_client *c = &st->clients[i];
    struct child children[PERMITS_NODES];

    if (m->watch && c->children_sub == SUB_ASKED)
        c->children_sub = SUB_STANDS;
    ev->watched = m->watch && c->children_sub == SUB_STANDS;
    ev->children = children;
    for (uint8_t n = 0; n < st->made; n++)
        if (m->names & PERMITS_BIT(n))
            children[ev->count++] =
                (struct child){.id = n,
                               .kind = CHILD_LEASE,
                               .rule = RULE_LEASE,
                               .number = n,
                               .permits = permits_config.permits[st->nodes[n].client],
                               .own = is_own(st, i, n),
                               .old = st->nodes[n].client == i && !is_own(st, i, n)};
    step_seeing(st, i, ev, m->names);
}

static void watch_fired(struct permits_state *st, int i, const struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];

    if (m->kind == EVENT_CHILDREN && c->children_sub == SUB_STANDS) {
        c->children_sub = SUB_NONE;
        step_kind(st, i, EV_CHILDREN_FIRED);
    } else if (m->kind == EVENT_LIMIT && c->limit_sub == SUB_STANDS) {
        c->limit_sub = SUB_NONE;
        step_kind(st, i, EV_LIMIT_FIRED);
    } else if (m->kind == EVENT_NODE && c->predecessor_sub == SUB_STANDS &&
               c->predecessor == m->node) {
        c->predecessor_sub = SUB_NONE;
        step(st, i, &(struct event){.kind = EV_PRED_FIRED, .gone = m->answer == ANSWER_NONODE});
    }
}

static enum event_kind answer_kind(uint8_t ask)
{
    static const enum event_kind kinds[] = {
        [ASK_CREATE] = EV_CREATED,   [ASK_BARRIER] = EV_PASSED, [ASK_LIST] = EV_LISTED,
        [ASK_LIMIT] = EV_LIMIT_READ, [ASK_READ] = EV_READ,      [ASK_WATCH] = EV_WATCHED};

    return kinds[ask];
}

static void answered(struct permits_state *st, int i, const struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];
    struct event ev = {.kind = answer_kind(m->kind),
                       .answer = (enum answer)m->answer,
                       .tag = m->current ? c->machine.tag : c->machine.tag - 1,
                       .limit = m->limit,
                       .data_zxid = m->limit_zxid,
                       .version = m->version};

    if (m->kind == ASK_LIMIT && m->watch && c->limit_sub == SUB_ASKED)
        c->limit_sub = SUB_STANDS;
    if (m->kind == ASK_LIMIT && m->limit == 0) {
        ask(c, ASK_WRITE, PERMITS_NO_NODE, m->current, m->watch);
        c->asks[c->asked - 1].limit_zxid = m->limit_zxid;
        return;
    }
    if (m->kind == ASK_WRITE) {
        ask_limit(c, m->current, m->watch);
        return;
    }
    if (m->kind == ASK_WATCH && m->current && c->predecessor_sub == SUB_ASKED)
        c->predecessor_sub = m->answer == ANSWER_OK ? SUB_STANDS : SUB_NONE;
    if (m->kind == ASK_CREATE && m->answer == ANSWER_OK)
        c->node = m->node;
    if (m->node != PERMITS_NO_NODE) {
        ev.number = m->node;
        ev.czxid = st->nodes[m->node].czxid;
    }
    if (m->kind == ASK_LIST)
        listed(st, i, m, &ev);
    else
        step(st, i, &ev);
}

static void deliver(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    const struct permits_message m = c->answers[0];

    flat_remove(c->answers, &c->answered, sizeof m, 0);
    if (m.kind >= EVENT_NODE)
        watch_fired(st, i, &m);
    else
        answered(st, i, &m);
}

/* ---- connection and session ---- */

/* What was under way is asked again, in its order; but whether a create was done is not known.
 * Watches that have fired, fire again. */
static void lose(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i], before = *c;
    bool unknown = false;

    c->up = false;
    memset(c->asks, 0, sizeof c->asks);
    memset(c->answers, 0, sizeof c->answers);
    c->asked = c->answered = 0;
    for (int k = 0; k < before.answered + before.asked; k++) {
        const struct permits_message *m =
            k < before.answered ? &before.answers[k] : &before.asks[k - before.answered];
        if (m->kind >= EVENT_NODE)
            c->answers[c->answered++] = *m;
        else if (m->kind == ASK_CREATE)
            unknown = unknown || m->current;
        else
            ask(c, (enum permits_ask)m->kind, m->node, m->current, m->watch);
        if (m->kind == ASK_WRITE)
            c->asks[c->asked - 1].limit_zxid = m->limit_zxid;
    }
    if (unknown)
        step(st, i,
             &(struct event){.kind = EV_CREATED, .answer = ANSWER_UNKNOWN, .tag = c->machine.tag});
}

static void begin_session(struct permits_client *c)
{
    memset(c->asks, 0, sizeof c->asks);
    memset(c->answers, 0, sizeof c->answers);
    c->asked = c->answered = 0;
    c->predecessor_sub = c->children_sub = c->limit_sub = SUB_NONE;
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

static void take_client(struct permits_state *st, enum permits_move move, int i)
{
    struct permits_client *c = &st->clients[i];

    switch (move) {
    case PERMITS_SERVE:
        permits_server_do(st, i);
        break;
    case PERMITS_DELIVER:
        deliver(st, i);
        break;
    case PERMITS_CONNECT:
        c->up = true;
        if (c->machine.state == ST_FIRST)
            step_kind(st, i, EV_LIMIT_FIRED);
        break;
    case PERMITS_NOTICE:
        begin_session(c);
        step_kind(st, i, EV_REPLACED);
        break;
    case PERMITS_RELEASE:
        c->holds = false;
        step_kind(st, i, EV_RELEASE);
        break;
    case PERMITS_LOSE:
        lose(st, i);
        break;
    case PERMITS_EXPIRE:
        expire(st, i);
        break;
    case PERMITS_ABORT:
        step_kind(st, i, EV_ABORT);
        break;
    default:
        step_kind(st, i, EV_ENTER);
    }
}

void permits_take(void *state, struct breadth_step step)
{
    struct permits_state *st = state;

    if (step.kind >= PERMITS_LOSE)
        st->faults--;
    if (step.kind == PERMITS_SET_LIMIT || step.kind >= PERMITS_DELETE_NODE)
        take_admin(st, step);
    else
        take_client(st, (enum permits_move)step.kind, step.at);
    for (int i = 0; i < permits_config.clients; i++)
        if (st->clients[i].machine.state == ST_DONE && st->clients[i].limit_sub != SUB_NONE)
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
    [PERMITS_WATCH] = "a watch is left by one that is over",
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
