/* Every interleaving of a few contenders of one semaphore, each with a session of its own, of
 * changes of its limit and of faults, breadth first. The watch on the own node is left out; there
 * is one server, and deadlines are always ahead. Holders may hold for ever: whoever could be
 * admitted then and is not, waits in vain. usage: permits [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/attempt.h"
#include "recipes/machine.h"

enum {
    PERMITS_CLIENTS = 4,
    PERMITS_NODES = 10, /* ever made; the number of each is its index */
    PERMITS_LIMITS = 4, /* 0 and more */
    PERMITS_QUEUE = 8
};

enum permits_move {
    PERMITS_SERVE,
    PERMITS_DELIVER,
    PERMITS_CONNECT,
    PERMITS_NOTICE,
    PERMITS_ADMIT,
    PERMITS_ENTER,
    PERMITS_RELEASE,
    PERMITS_SET_LIMIT, /* .at: to how many; 0: its data are none */
    PERMITS_LOSE,
    PERMITS_EXPIRE,
    PERMITS_ABORT,
    PERMITS_DELETE_NODE, /* .at: which node, as of the next */
    PERMITS_CHANGE_NODE,
    PERMITS_MOVE_COUNT
};

/* A request, or its answer; or the event of a watch. Without padding. */
struct permits_message {
    struct exchange_request number; /* .heard: of its question */
    uint8_t verb, about;            /* enum store_kind, enum attempt_node */
    uint8_t node, rc;
    bool watch;
    bool heard; /* by the machine; else it is a delete */
    bool fired; /* no answer but an event: STORE_NONODE: .node is gone */
    uint8_t version, limit, limit_zxid;
    uint16_t names;
};

struct permits_client {
    struct attempt machine;
    struct exchange exchange;
    struct permits_message asks[PERMITS_QUEUE], answers[PERMITS_QUEUE];
    uint8_t asked, answered;
    uint8_t node, predecessor;
    uint8_t id;     /* one for each entry */
    uint8_t wanted; /* watches: a bit for each enum attempt_node, but for the own one's */
    bool up, over;  /* over: its session, and it does not know */
    bool holds;
    /* at the server */
    bool watches_children, watches_limit;
    uint16_t watches;
};

struct permits_node {
    uint8_t client, id, czxid, version;
    bool had_room; /* at some instant it and all before it were no more than the limit */
    bool forced;   /* removed by a third party */
};

struct permits_state {
    struct permits_client clients[PERMITS_CLIENTS];
    struct permits_node nodes[PERMITS_NODES];
    uint16_t standing;
    uint8_t made, zxid, limit, limit_zxid, highest; /* highest: limit ever */
    uint8_t faults, changes;                        /* left; changes: of the limit */
};

struct permits_config {
    int clients, changes;
    uint8_t limit, limit_max;
    uint8_t permits[PERMITS_CLIENTS]; /* 0 is 1 */
    bool unknown;                     /* the limit, to all at first */
    bool empties;                     /* an administrator does, who changes the limit */
    bool leases; /* in Curator's layout: those that wait and those that came later count, too */
};

static const struct permits_config *config;

static const struct breadth_kind moves[PERMITS_MOVE_COUNT] = {
    [PERMITS_SERVE] = {"the server does", FAIR, PERMITS_CLIENTS},
    [PERMITS_DELIVER] = {"hears", FAIR, PERMITS_CLIENTS},
    [PERMITS_CONNECT] = {"is connected again", FAIR, PERMITS_CLIENTS},
    [PERMITS_NOTICE] = {"hears that its session is over", FAIR, PERMITS_CLIENTS},
    [PERMITS_ADMIT] = {"enters again", FAIR, PERMITS_CLIENTS},
    [PERMITS_ENTER] = {"enters", PERHAPS, PERMITS_CLIENTS},
    [PERMITS_RELEASE] = {"releases", PERHAPS, PERMITS_CLIENTS},
    [PERMITS_SET_LIMIT] = {"the limit is set to", PERHAPS, PERMITS_LIMITS},
    [PERMITS_LOSE] = {"loses its connection", FAULT, PERMITS_CLIENTS},
    [PERMITS_EXPIRE] = {"its session is ended", FAULT, PERMITS_CLIENTS},
    [PERMITS_ABORT] = {"gives up", FAULT, PERMITS_CLIENTS},
    [PERMITS_DELETE_NODE] = {"somebody deletes node", FAULT, PERMITS_NODES},
    [PERMITS_CHANGE_NODE] = {"somebody changes node", FAULT, PERMITS_NODES},
};

/* How many it asks for. */
static uint8_t permits_of(int client)
{
    return config->permits[client] ? config->permits[client] : 1;
}

/* ---- the server: one copy of the directory, and who watches what ---- */

static void push_answer(struct permits_client *c, struct permits_message message)
{
    flat_push(c->answers, &c->answered, PERMITS_QUEUE, sizeof message, &message);
}

/* By the order of the creates, an independent opinion; leases are in none. */
static bool has_room(const struct permits_state *st, uint8_t node)
{
    const uint8_t last = config->leases ? (uint8_t)(st->made - 1) : node;
    unsigned sum = 0;

    for (uint8_t n = 0; n <= last; n++)
        if (st->standing & FLAT_BIT(n))
            sum += permits_of(st->nodes[n].client);
    return sum <= st->limit;
}

static void note_room(struct permits_state *st)
{
    for (uint8_t n = 0; n < st->made; n++)
        if ((st->standing & FLAT_BIT(n)) && has_room(st, n))
            st->nodes[n].had_room = true;
}

static void fire_node(struct permits_state *st, uint8_t node, bool gone)
{
    for (int i = 0; i < config->clients; i++) {
        struct permits_client *c = &st->clients[i];
        if (!(c->watches & FLAT_BIT(node)))
            continue;
        c->watches &= (uint16_t)~FLAT_BIT(node);
        push_answer(c, (struct permits_message){.fired = true,
                                                .about = ATTEMPT_PREDECESSOR,
                                                .node = node,
                                                .rc = gone ? STORE_NONODE : STORE_OK});
    }
}

static void fire_directory(struct permits_client *c, bool *watches, enum attempt_node about)
{
    if (*watches)
        push_answer(c, (struct permits_message){
                           .fired = true, .about = (uint8_t)about, .node = FLAT_NO_NODE});
    *watches = false;
}

static void fire_children(struct permits_state *st)
{
    for (int i = 0; i < config->clients; i++)
        fire_directory(&st->clients[i], &st->clients[i].watches_children, ATTEMPT_CHILDREN);
}

static void set_limit(struct permits_state *st, uint8_t limit)
{
    st->limit = limit;
    st->limit_zxid = ++st->zxid;
    if (limit > st->highest)
        st->highest = limit;
    note_room(st);
    for (int i = 0; i < config->clients; i++)
        fire_directory(&st->clients[i], &st->clients[i].watches_limit, ATTEMPT_LIMIT);
}

static void delete_nodes(struct permits_state *st, uint16_t nodes)
{
    for (uint8_t n = 0; n < st->made; n++) {
        if (!(st->standing & nodes & FLAT_BIT(n)))
            continue;
        st->standing &= (uint16_t)~FLAT_BIT(n);
        fire_node(st, n, true);
        fire_children(st);
        note_room(st);
    }
}

static void change_node(struct permits_state *st, uint8_t node)
{
    if (!(st->standing & FLAT_BIT(node)))
        return;
    st->nodes[node].version++;
    fire_node(st, node, false);
}

static uint16_t nodes_of(const struct permits_state *st, int i)
{
    uint16_t nodes = 0;

    for (uint8_t n = 0; n < st->made; n++)
        if ((st->standing & FLAT_BIT(n)) && st->nodes[n].client == i)
            nodes |= FLAT_BIT(n);
    return nodes;
}

static uint8_t create(struct permits_state *st, int i)
{
    const struct permits_node node = {
        .client = (uint8_t)i, .id = st->clients[i].id, .czxid = ++st->zxid};
    const uint8_t n = st->made;

    flat_push(st->nodes, &st->made, PERMITS_NODES, sizeof node, &node);
    st->standing |= FLAT_BIT(n);
    fire_children(st);
    note_room(st);
    return n;
}

static bool stands(const struct permits_state *st, uint8_t node)
{
    return st->standing & FLAT_BIT(node);
}

static void look_at_node(const struct permits_state *st, struct permits_client *c,
                         struct permits_message *m)
{
    m->rc = stands(st, m->node) ? STORE_OK : STORE_NONODE;
    if (m->rc != STORE_OK)
        return;
    m->version = st->nodes[m->node].version;
    if (m->watch)
        c->watches |= FLAT_BIT(m->node);
}

static void touch(struct permits_state *st, struct permits_message *m)
{
    m->rc = !stands(st, m->node)                       ? STORE_NONODE
            : m->version != st->nodes[m->node].version ? STORE_BADVERSION
                                                       : STORE_OK;
    if (m->rc == STORE_OK)
        change_node(st, m->node);
}

static void write_limit(struct permits_state *st, struct permits_message *m)
{
    m->rc = m->version == st->limit_zxid ? STORE_OK : STORE_BADVERSION;
    if (m->rc == STORE_OK)
        set_limit(st, config->limit);
}

static void serve_set(struct permits_state *st, struct permits_message *m)
{
    if (m->about == ATTEMPT_OWN)
        touch(st, m);
    else if (m->about == ATTEMPT_LIMIT)
        write_limit(st, m);
    else
        m->rc = STORE_NONODE; /* for the quorum */
}

static void serve_request(struct permits_state *st, int i, struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];

    switch (m->verb) {
    case STORE_CREATE:
        m->node = create(st, i);
        break;
    case STORE_SET:
        serve_set(st, m);
        break;
    case STORE_LIST:
        m->names = st->standing;
        c->watches_children |= m->watch;
        break;
    case STORE_DELETE:
        delete_nodes(st, FLAT_BIT(m->node));
        break;
    default:
        if (m->about == ATTEMPT_LIMIT)
            c->watches_limit |= m->watch;
        else
            look_at_node(st, c, m);
        break;
    }
}

/* The first request; a delete is not answered. */
static void serve(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    struct permits_message m = c->asks[0];

    flat_remove(c->asks, &c->asked, sizeof m, 0);
    serve_request(st, i, &m);
    m.limit = st->limit;
    m.limit_zxid = st->limit_zxid;
    if (m.heard)
        push_answer(c, m);
}

/* An event, and what the machine sees with it. */
struct permits_heard {
    struct machine_event ev;
    struct attempt_moment moment;
    const uint8_t *listed; /* the nodes that were listed */
};

static void hear_answer(struct permits_state *st, int i, const struct permits_message *m);

static bool is_for(const struct permits_message *m, enum store_kind verb, enum attempt_node about)
{
    return m->heard && m->verb == verb && m->about == about;
}

/* ---- the driver ---- */

static bool is_own(const struct permits_state *st, int i, uint8_t n)
{
    return st->nodes[n].client == i && st->nodes[n].id == st->clients[i].id;
}

static void push_ask(struct permits_client *c, struct permits_message m)
{
    flat_push(c->asks, &c->asked, PERMITS_QUEUE, sizeof m, &m);
}

static uint8_t wanted_bit(unsigned about)
{
    return (uint8_t)(about == ATTEMPT_PREDECESSOR || about == ATTEMPT_CHILDREN ||
                             about == ATTEMPT_LIMIT
                         ? 1U << about
                         : 0);
}

/* A request for that watch is under way. */
static bool asks_to_watch(const struct permits_client *c, unsigned about)
{
    for (int k = 0; k < c->asked; k++)
        if (c->asks[k].watch && c->asks[k].about == about)
            return true;
    for (int k = 0; k < c->answered; k++)
        if (c->answers[k].watch && c->answers[k].about == about)
            return true;
    return false;
}

static void ask(struct permits_client *c, const struct machine_action *a)
{
    const uint8_t watch = a->watch ? wanted_bit(a->node) : 0;

    c->wanted |= watch;
    push_ask(c, (struct permits_message){.number = exchange_ask(&c->exchange, a),
                                         .verb = (uint8_t)a->verb,
                                         .about = (uint8_t)a->node,
                                         .node = a->node == ATTEMPT_OWN           ? c->node
                                                 : a->node == ATTEMPT_PREDECESSOR ? c->predecessor
                                                                                  : FLAT_NO_NODE,
                                         .watch = watch,
                                         .heard = true,
                                         .version = (uint8_t)a->version});
}

static void check_grant(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    unsigned held = 0;

    c->holds = true;
    breadth_require(c->node != FLAT_NO_NODE && st->nodes[c->node].had_room,
                    "granted, and there was never room for it");
    for (int k = 0; k < config->clients; k++) {
        const struct permits_client *o = &st->clients[k];
        if (o->holds && !o->over && (st->standing & FLAT_BIT(o->node)))
            held += permits_of(k);
    }
    breadth_require(held <= st->highest, "more permits are held than there ever were");
}

/* What is refused asks for more than the limit allowed at some time, or was given up. */
static void check_failure(int i, int error)
{
    const bool could = permits_of(i) > 1 && config->changes > 0;

    breadth_require(error == ATTEMPT_ABORTED ||
                        (error == ATTEMPT_PERMITS && (could || permits_of(i) > config->limit)),
                    "refused without reason");
}

/* OWN, or one that was listed, if it is meant. */
static uint8_t node_of(const struct permits_state *st, int i, uint32_t about, const uint8_t *listed)
{
    const struct permits_client *c = &st->clients[i];

    if (about < ATTEMPT_SPARE)
        return c->node;
    const uint8_t n = listed[about - (about < ATTEMPT_OURS ? ATTEMPT_SPARE : ATTEMPT_OURS)];
    const bool spared = about < ATTEMPT_OURS && n == c->node;
    return st->nodes[n].client == i && !spared ? n : FLAT_NO_NODE;
}

static void ask_deletes(struct permits_state *st, int i, const struct machine_action *a,
                        const uint8_t *listed)
{
    for (uint32_t k = a->node; k <= a->node + a->more; k++) {
        const uint8_t n = node_of(st, i, k, listed);
        if (n != FLAT_NO_NODE)
            push_ask(&st->clients[i], (struct permits_message){
                                          .verb = STORE_DELETE, .about = ATTEMPT_OWN, .node = n});
    }
}

/* What was not sent; a create that is not stale hears of it behind the step. */
static void recall(struct permits_client *c, unsigned about, bool all,
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

static void tell(struct permits_state *st, int i, const struct machine_action *a,
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
        check_grant(st, i);
        break;
    case ATTEMPT_LOSE:
        c->holds = false;
        break;
    case ATTEMPT_FAIL:
        check_failure(i, a->why);
        break;
    default:
        breadth_require(false, "an action that nobody understands");
    }
}

static void perform(struct permits_state *st, int i, const struct machine_action *a,
                    const uint8_t *listed, struct permits_message *recalled)
{
    struct permits_client *c = &st->clients[i];

    switch (a->kind) {
    case MACHINE_ACT_REQUEST:
        ask(c, a);
        break;
    case MACHINE_ACT_NAME:
        c->id++;
        break;
    case MACHINE_ACT_FORGET:
        exchange_forget(&c->exchange, a->slot);
        break;
    case MACHINE_ACT_RECALL:
        recall(c, a->node, false, recalled);
        break;
    case MACHINE_ACT_UNWATCH:
        c->wanted &= (uint8_t)~wanted_bit(a->node);
        break;
    case MACHINE_ACT_DELETE:
        ask_deletes(st, i, a, listed);
        break;
    case MACHINE_ACT_ARM: /* of the watch on the own node, which is not what this is about */
        break;
    case MACHINE_ACT_END:
        exchange_end(&c->exchange);
        c->wanted = 0;
        recall(c, 0, true, recalled);
        break;
    case MACHINE_ACT_TELL:
        tell(st, i, a, listed);
        break;
    default:
        breadth_require(false, "an action that nobody understands");
    }
}

static void step(struct permits_state *st, int i, struct permits_heard *heard)
{
    struct permits_client *c = &st->clients[i];
    struct permits_message recalled = {.heard = false};
    struct machine_actions actions;

    heard->moment.in_time = true;
    heard->moment.connection = 1;
    attempt_step(&c->machine, &heard->ev, &heard->moment, &actions);
    for (uint32_t k = 0; k < actions.count; k++)
        perform(st, i, &actions.list[k], heard->listed, &recalled);
    if (c->machine.state != ST_WAITING)
        c->predecessor = FLAT_NO_NODE;
    recalled.rc = STORE_BAD;
    if (recalled.heard)
        hear_answer(st, i, &recalled);
}

static void step_kind(struct permits_state *st, int i, unsigned kind)
{
    step(st, i, &(struct permits_heard){.ev.kind = kind});
}

/* ---- answers ---- */

static void step_listed(struct permits_state *st, int i, uint16_t names,
                        struct permits_heard *heard)
{
    struct child children[PERMITS_NODES];
    uint8_t listed[PERMITS_NODES];
    uint32_t count = 0;

    for (uint8_t n = 0; n < st->made; n++) {
        if (!(names & FLAT_BIT(n)))
            continue;
        children[count] = (struct child){.id = count,
                                         .kind = CHILD_LEASE,
                                         .rule = RULE_LEASE,
                                         .number = n,
                                         .permits = permits_of(st->nodes[n].client),
                                         .own = is_own(st, i, n),
                                         .old = st->nodes[n].client == i && !is_own(st, i, n)};
        listed[count++] = n;
    }
    heard->ev.count = count;
    heard->moment.children = children;
    heard->listed = listed;
    step(st, i, heard);
}

static void see_node(const struct permits_state *st, int i, uint8_t node,
                     struct permits_heard *heard)
{
    heard->ev.czxid = st->nodes[node].czxid;
    heard->ev.own = is_own(st, i, node);
    heard->moment.number = node;
}

/* The data's version is another one with each change. */
static void hear_answer(struct permits_state *st, int i, const struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];
    const bool of_limit = m->about == ATTEMPT_LIMIT;
    struct permits_heard heard = {.ev = {.kind = MACHINE_EV_ANSWER,
                                         .verb = (enum store_kind)m->verb,
                                         .node = m->about,
                                         .slot = (uint8_t)m->number.slot,
                                         .rc = (enum store_rc)m->rc,
                                         .version = of_limit ? m->limit_zxid : m->version,
                                         .mzxid = m->limit_zxid,
                                         .length = m->limit > 0,
                                         .watched = m->watch && (c->wanted & wanted_bit(m->about))},
                                  .moment = {.limit = m->limit}};

    if (exchange_answered(&c->exchange, m->number, &heard.ev) != EXCHANGE_HEARD)
        return;
    if (m->verb == STORE_CREATE && m->rc == STORE_OK)
        c->node = m->node;
    if (m->node != FLAT_NO_NODE)
        see_node(st, i, m->node, &heard);
    if (m->verb == STORE_LIST)
        step_listed(st, i, m->names, &heard);
    else
        step(st, i, &heard);
}

/* Unless it is wanted no more, or its answer will tell. */
static void hear_fired(struct permits_state *st, int i, const struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];

    if (!(c->wanted & wanted_bit(m->about)) || asks_to_watch(c, m->about) ||
        (m->about == ATTEMPT_PREDECESSOR && m->node != c->predecessor))
        return;
    c->wanted &= (uint8_t)~wanted_bit(m->about);
    step(st, i,
         &(struct permits_heard){
             .ev = {MACHINE_EV_FIRED, .node = m->about, .gone = m->rc == STORE_NONODE}});
}

static void deliver(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    const struct permits_message m = c->answers[0];

    flat_remove(c->answers, &c->answered, sizeof m, 0);
    if (m.fired) {
        hear_fired(st, i, &m);
        return;
    }
    if (m.watch && m.rc != STORE_OK && !asks_to_watch(c, m.about))
        c->wanted &= (uint8_t)~wanted_bit(m.about);
    hear_answer(st, i, &m);
}

/* ---- connection and session ---- */

/* As it was asked. */
static struct permits_message unanswered(struct permits_message m)
{
    m.rc = STORE_OK;
    m.version = m.verb == STORE_SET ? m.version : 0;
    m.limit = m.limit_zxid = 0;
    m.names = 0;
    return m;
}

static void drop_all(struct permits_client *c)
{
    memset(c->asks, 0, sizeof c->asks);
    memset(c->answers, 0, sizeof c->answers);
    c->asked = c->answered = 0;
}

/* What was under way is asked again, in its order; but whether a create was done is not known.
 * Watches that have fired, fire again. */
static void lose(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i], before = *c;
    struct permits_message unknown = {.heard = false};

    c->up = false;
    drop_all(c);
    for (int k = 0; k < before.answered + before.asked; k++) {
        const struct permits_message *m =
            k < before.answered ? &before.answers[k] : &before.asks[k - before.answered];
        if (m->fired)
            push_answer(c, *m);
        else if (m->verb == STORE_CREATE)
            unknown = *m;
        else
            push_ask(c, unanswered(*m));
    }
    unknown.rc = STORE_UNKNOWN;
    if (unknown.heard)
        hear_answer(st, i, &unknown);
}

static void begin_session(struct permits_client *c)
{
    drop_all(c);
    c->wanted = 0;
    c->watches = 0;
    c->watches_children = c->watches_limit = c->over = c->holds = false;
    c->up = true;
}

static void expire(struct permits_state *st, int i)
{
    st->clients[i].over = true;
    delete_nodes(st, nodes_of(st, i));
    st->clients[i].watches = 0;
    st->clients[i].watches_children = st->clients[i].watches_limit = false;
}

/* ---- moves ---- */

static void init(void *state, const void *data)
{
    struct permits_state *st = state;

    /* Deadlines are always ahead here, the directory stands, and numbers do not run out. */
    breadth_reached(1U << ST_PARENTS | 1U << ST_SUCCEEDING | 1U << ST_PROVING | 1U << ST_CLAIMING |
                    1U << ST_RESETTING | 1U << ST_LOST);
    config = data;
    st->limit = st->highest = config->limit;
    st->limit_zxid = st->zxid = 1;
    st->changes = (uint8_t)config->changes;
    for (int i = 0; i < config->clients; i++) {
        struct permits_client *c = &st->clients[i];
        attempt_init(&c->machine, RULE_LEASE, false);
        c->machine.permits = permits_of(i);
        c->machine.has_limit = true;
        if (config->leases) {
            attempt_count_leases(&c->machine, config->limit);
        } else if (!config->unknown) {
            c->machine.limit = config->limit;
            c->machine.limit_zxid = 1;
        }
        c->node = c->predecessor = FLAT_NO_NODE;
        c->up = true;
        c->id = 1;
    }
}

static bool may_happen_to(const struct permits_state *st, enum permits_move move, int i)
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

static bool may_change(const struct permits_state *st, uint8_t limit)
{
    return st->changes && (limit > 0 || config->empties) && limit <= config->limit_max &&
           limit != st->limit;
}

/* By a third party. A holder's node, or that of one that was told, is left alone. */
static bool may_be_touched(const struct permits_state *st, uint8_t node)
{
    const struct permits_client *c = &st->clients[st->nodes[node].client];

    return (st->standing & FLAT_BIT(node)) && !c->holds && !c->machine.told;
}

static bool may(const void *state, struct move move)
{
    const struct permits_state *st = state;

    if (moves[move.kind].ats == PERMITS_NODES)
        return move.at < st->made && may_be_touched(st, move.at);
    if (move.kind == PERMITS_SET_LIMIT)
        return may_change(st, move.at);
    return move.at < config->clients && may_happen_to(st, (enum permits_move)move.kind, move.at);
}

static void take_admin(struct permits_state *st, struct move move)
{
    if (move.kind == PERMITS_SET_LIMIT) {
        st->changes--;
        set_limit(st, move.at);
    } else if (move.kind == PERMITS_DELETE_NODE) {
        st->nodes[move.at].forced = true;
        delete_nodes(st, FLAT_BIT(move.at));
    } else {
        change_node(st, move.at);
    }
}

static void take_client(struct permits_state *st, enum permits_move move, int i)
{
    struct permits_client *c = &st->clients[i];

    switch (move) {
    case PERMITS_SERVE:
        serve(st, i);
        break;
    case PERMITS_DELIVER:
        deliver(st, i);
        break;
    case PERMITS_CONNECT:
        c->up = true;
        if (c->machine.state == ST_FIRST)
            step_kind(st, i, ATTEMPT_EV_DOUBT);
        break;
    case PERMITS_NOTICE:
        begin_session(c);
        step_kind(st, i, MACHINE_EV_SESSION);
        break;
    case PERMITS_RELEASE:
        c->holds = false;
        step_kind(st, i, ATTEMPT_EV_RELEASE);
        break;
    case PERMITS_LOSE:
        lose(st, i);
        break;
    case PERMITS_EXPIRE:
        expire(st, i);
        break;
    case PERMITS_ABORT:
        step_kind(st, i, MACHINE_EV_STOP);
        break;
    default:
        step_kind(st, i, MACHINE_EV_BEGIN);
    }
}

/* One that is not first in line has no use for what the directory tells. */
static bool wants_too_much(const struct permits_client *c)
{
    const enum attempt_state s = c->machine.state;
    const uint8_t directory = wanted_bit(ATTEMPT_CHILDREN) | wanted_bit(ATTEMPT_LIMIT);

    return (s == ST_DONE && c->wanted) ||
           ((s == ST_WAITING || s == ST_HOLDING) && (c->wanted & directory));
}

static void take(void *state, struct move move)
{
    struct permits_state *st = state;

    if (move.kind == PERMITS_SET_LIMIT || move.kind >= PERMITS_DELETE_NODE)
        take_admin(st, move);
    else
        take_client(st, (enum permits_move)move.kind, move.at);
    for (int i = 0; i < config->clients; i++)
        breadth_require(!wants_too_much(&st->clients[i]), "a watch is left that nobody wants");
}

static const char *check_end(const void *state)
{
    const struct permits_state *st = state;

    for (int i = 0; i < config->clients; i++) {
        const struct permits_client *c = &st->clients[i];
        const enum attempt_state s = c->machine.state;
        const uint16_t nodes = nodes_of(st, i);
        if ((s == ST_IDLE || s == ST_DONE) && nodes)
            return "a node is left that nobody wants";
        if (s == ST_IDLE || s == ST_DONE || s == ST_HOLDING)
            continue;
        /* One whose node was removed hears of it when it is to be admitted. */
        if ((s != ST_WAITING && s != ST_FIRST) ||
            ((nodes & FLAT_BIT(c->node)) && has_room(st, c->node)))
            return "there is room for one that waits, and it will never hear of it";
    }
    return NULL;
}

/* ---- what a state looks like without names: only what is compared of them counts ---- */

static uint16_t named_by(const struct permits_client *c)
{
    uint16_t nodes = (uint16_t)(c->watches | flat_bit(c->node) | flat_bit(c->predecessor));

    for (int k = 0; k < c->asked; k++)
        nodes |= (uint16_t)(c->asks[k].names | flat_bit(c->asks[k].node));
    for (int k = 0; k < c->answered; k++)
        nodes |= (uint16_t)(c->answers[k].names | flat_bit(c->answers[k].node));
    return (uint16_t)(nodes | (c->machine.has_node ? FLAT_BIT(c->machine.number) : 0));
}

static void move_message(const struct flat_places *p, struct permits_message *m)
{
    flat_move(p, &m->node);
    flat_move_all(p, &m->names);
}

static void move_names(const struct flat_places *p, struct permits_client *c)
{
    flat_move_all(p, &c->watches);
    flat_move(p, &c->node);
    flat_move(p, &c->predecessor);
    c->machine.number = c->machine.has_node ? p->to[c->machine.number] : 0;
    for (int k = 0; k < c->asked; k++)
        move_message(p, &c->asks[k]);
    for (int k = 0; k < c->answered; k++)
        move_message(p, &c->answers[k]);
}

/* Those that nobody names any more are none. */
static void drop_nodes(struct permits_state *st)
{
    uint16_t used = st->standing;

    for (int i = 0; i < config->clients; i++)
        used |= named_by(&st->clients[i]);
    const struct flat_places places = flat_keep(used, st->nodes, &st->made, sizeof st->nodes[0]);
    flat_move_all(&places, &st->standing);
    for (int i = 0; i < config->clients; i++)
        move_names(&places, &st->clients[i]);
}

/* Transactions matter only by their order. */
static void rank_zxids(struct permits_state *st)
{
    uint8_t rank[UINT8_MAX + 1] = {0}, count = 0;

    rank[st->limit_zxid] = 1;
    for (uint8_t n = 0; n < st->made; n++)
        rank[st->nodes[n].czxid] = 1;
    for (int i = 0; i < config->clients; i++) {
        rank[st->clients[i].machine.limit_zxid] = 1;
        for (int k = 0; k < st->clients[i].answered; k++)
            rank[st->clients[i].answers[k].limit_zxid] = 1;
    }
    for (int z = 1; z <= UINT8_MAX; z++)
        if (rank[z])
            rank[z] = ++count;
    rank[0] = 0;
    st->zxid = count;
    st->limit_zxid = rank[st->limit_zxid];
    for (uint8_t n = 0; n < st->made; n++)
        st->nodes[n].czxid = rank[st->nodes[n].czxid];
    for (int i = 0; i < config->clients; i++) {
        st->clients[i].machine.limit_zxid = rank[st->clients[i].machine.limit_zxid];
        for (int k = 0; k < st->clients[i].answered; k++)
            st->clients[i].answers[k].limit_zxid = rank[st->clients[i].answers[k].limit_zxid];
    }
}

/* ---- what says nothing ---- */

/* It matters only whether a version is the present one; and another's node, whether it has changed.
 */
static void forget_version(const struct permits_state *st, struct permits_message *m)
{
    if (m->about == ATTEMPT_OWN && m->heard)
        m->version = m->version == st->nodes[m->node].version;
    else if (is_for(m, STORE_SET, ATTEMPT_LIMIT))
        m->version = m->version == st->limit_zxid;
    else
        m->version = m->version > 0;
}

/* Only a list and a read of the limit tell of it. */
static void forget_limit(struct permits_message *m)
{
    const bool read = is_for(m, STORE_GET, ATTEMPT_LIMIT);

    if (!read)
        m->limit = 0;
    if (!read && !is_for(m, STORE_LIST, ATTEMPT_CHILDREN))
        m->limit_zxid = 0;
}

static void forget_in_queues(const struct permits_state *st, struct permits_client *c)
{
    for (int k = 0; k < c->asked; k++) {
        c->asks[k].number = exchange_plain_request(&c->exchange, c->asks[k].number);
        forget_version(st, &c->asks[k]);
    }
    for (int k = 0; k < c->answered; k++) {
        c->answers[k].number = exchange_plain_request(&c->exchange, c->answers[k].number);
        forget_version(st, &c->answers[k]);
        forget_limit(&c->answers[k]);
    }
    exchange_plain(&c->exchange);
}

static void forget(struct permits_state *st)
{
    for (int i = 0; i < config->clients; i++)
        forget_in_queues(st, &st->clients[i]);
    for (uint8_t n = 0; n < st->made; n++) {
        struct permits_node *node = &st->nodes[n];
        node->id = node->id == st->clients[node->client].id ? 2 : 1;
        node->version = node->version > 0;
        node->forced = false;
    }
    for (int i = 0; i < config->clients; i++) {
        struct permits_client *c = &st->clients[i];
        c->id = 2;
        c->machine.token = c->machine.ahead = 0;
    }
}

/* ---- clients ---- */

static void swap(struct permits_state *st, uint8_t a, uint8_t b)
{
    const struct permits_client was = st->clients[a];

    st->clients[a] = st->clients[b];
    st->clients[b] = was;
    for (uint8_t n = 0; n < st->made; n++) {
        struct permits_node *node = &st->nodes[n];
        node->client = node->client == a ? b : node->client == b ? a : node->client;
    }
}

static int compare(const struct permits_state *st, uint8_t a, uint8_t b)
{
    const int order = memcmp(&st->clients[a], &st->clients[b], sizeof st->clients[a]);

    return order ? order : nodes_of(st, a) - nodes_of(st, b);
}

/* Sorts those that ask for the same number of permits. */
static void sort_clients(struct permits_state *st)
{
    for (int rounds = 1; rounds < config->clients; rounds++)
        for (uint8_t i = 0; i + 1 < config->clients; i++)
            if (permits_of(i) == permits_of(i + 1) && compare(st, i, i + 1) > 0)
                swap(st, i, i + 1);
}

/* The same of all that differ only in names. */
static void plain(void *state)
{
    struct permits_state *st = state;

    forget(st);
    drop_nodes(st);
    rank_zxids(st);
    sort_clients(st);
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(permits_config, __VA_ARGS__)
#define LIMIT(first, most) .limit = (first), .limit_max = (most)

static const struct breadth_run runs[] = {
    {"limit 1, two contenders", ALWAYS, 2, CONFIG(.clients = 2, LIMIT(1, 1))},
    {"limit 1, two contenders, the limit changes", ALWAYS, 1,
     CONFIG(.clients = 2, LIMIT(1, 2), .changes = 1)},
    {"limit 1, two contenders, its data are emptied", ALWAYS, 1,
     CONFIG(.clients = 2, LIMIT(1, 1), .changes = 1, .empties = true)},
    {"limit 1, two contenders, its data are emptied, or changed", SOAK, 1,
     CONFIG(.clients = 2, LIMIT(1, 2), .changes = 2, .empties = true)},
    {"limit 2, two contenders that do not know it, its data are emptied", SOAK, 1,
     CONFIG(.clients = 2, LIMIT(2, 2), .changes = 1, .permits = {1, 2}, .unknown = true,
            .empties = true)},
    {"limit 1, three contenders, its data are emptied", SOAK, 0,
     CONFIG(.clients = 3, LIMIT(1, 1), .changes = 1, .empties = true)},
    {"limit 2, three contenders", ALWAYS, 0, CONFIG(.clients = 3, LIMIT(2, 2))},
    {"limit 1, three contenders, the limit changes", SOAK, 0,
     CONFIG(.clients = 3, LIMIT(1, 2), .changes = 1)},
    {"limit 2, three contenders, one of two permits", ALWAYS, 0,
     CONFIG(.clients = 3, LIMIT(2, 2), .permits = {1, 2, 1})},
    {"limit 2, two contenders, the limit is lowered and raised", ALWAYS, 0,
     CONFIG(.clients = 2, LIMIT(2, 3), .changes = 2, .permits = {2, 1})},
    {"limit 2, two contenders that do not know it", ALWAYS, 1,
     CONFIG(.clients = 2, LIMIT(2, 2), .changes = 1, .permits = {1, 2}, .unknown = true)},
    {"limit 1, two leases", ALWAYS, 2, CONFIG(.clients = 2, LIMIT(1, 1), .leases = true)},
    {"limit 2, three leases", ALWAYS, 1, CONFIG(.clients = 3, LIMIT(2, 2), .leases = true)},
    {"limit 1, three leases", SOAK, 2, CONFIG(.clients = 3, LIMIT(1, 1), .leases = true)},
    {"limit 2, three leases", SOAK, 2, CONFIG(.clients = 3, LIMIT(2, 2), .leases = true)},
    {"limit 1, three contenders", SOAK, 1, CONFIG(.clients = 3, LIMIT(1, 1))},
    {"limit 2, three contenders", SOAK, 1, CONFIG(.clients = 3, LIMIT(2, 2))},
    {"limit 2, three contenders, the limit changes", SOAK, 0,
     CONFIG(.clients = 3, LIMIT(2, 3), .changes = 2)},
    {"limit 2, three contenders, the limit changes", SOAK, 1,
     CONFIG(.clients = 3, LIMIT(2, 2), .changes = 1)},
    {"limit 2, three contenders", SOAK, 2, CONFIG(.clients = 3, LIMIT(2, 2))},
    {"limit 3, three contenders, of two permits and one", SOAK, 0,
     CONFIG(.clients = 3, LIMIT(3, 3), .changes = 1, .permits = {2, 2, 1})},
    {"limit 2, four contenders", SOAK, 0, CONFIG(.clients = 4, LIMIT(2, 2))},
};

static void print(const void *state)
{
    const struct permits_state *st = state;

    printf(" limit %d;", st->limit);
    for (int i = 0; i < config->clients; i++)
        printf(" %s", attempt_state_name(st->clients[i].machine.state));
    for (int n = 0; n < st->made; n++)
        if (st->standing & FLAT_BIT(n))
            printf(", %d of %d", n, st->nodes[n].client);
}

static const char *state_name(int state)
{
    return attempt_state_name((enum attempt_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct permits_state),
        .plain = plain,
        .machine = offsetof(struct permits_state, clients[0].machine.state),
        .stride = sizeof(struct permits_client),
        .machines = PERMITS_CLIENTS,
        .states = ST_COUNT};

    return breadth_main(&world, argc, argv);
}
