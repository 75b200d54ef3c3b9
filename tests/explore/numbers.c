/* Every interleaving of a few contenders with numbered permits and faults, from their admission to
 * the end of what they held, breadth first. permits.c explores which of them are admitted: here,
 * any that finds room may be. A session's nodes go when the session is over, which is behind its
 * holder's deadline. Until the deadline the holder believes, unless it gave back. usage: numbers
 * [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/machine.h"
#include "recipes/numbering.h"

enum {
    NUMBERS_CLIENTS = 3,
    NUMBERS_NODES = 8, /* ever made; the number of each is its index */
    NUMBERS_PERMITS = 2,
    NUMBERS_QUEUE = 6
};

enum numbers_move {
    NUMBERS_SERVE,
    NUMBERS_DELIVER,
    NUMBERS_CONNECT,
    NUMBERS_EXPIRE,
    NUMBERS_ENTER,
    NUMBERS_ADMIT,
    NUMBERS_RELEASE,
    NUMBERS_LOSE,
    NUMBERS_LAPSE,
    NUMBERS_ABORT,
    NUMBERS_CHANGE, /* .at: a node, as of the next */
    NUMBERS_DELETE, /* of one who does not hold */
    NUMBERS_LIMIT,  /* it is one less, or what it was */
    NUMBERS_MOVE_COUNT
};

enum numbers_ask { ASK_LIST, ASK_READ, ASK_OWN, ASK_WATCH, ASK_WRITE, ASK_DELETE, EVENT_NODE };

struct numbers_message {
    uint8_t kind, node, version, answer; /* enum store_rc */

    uint8_t numbers; /* of permits, a bit for each */
    uint8_t ceiling; /* these are, and those of all before: 0: it does not tell */
    uint16_t names;  /* of nodes */
    struct exchange_request number;
};

struct numbers_client {
    struct numbering machine;
    struct exchange exchange;
    struct numbers_message asks[NUMBERS_QUEUE], answers[NUMBERS_QUEUE];
    uint8_t asked, answered;
    uint8_t node;     /* FLAT_NO_NODE: it has none */
    uint16_t before;  /* nodes whose numbers it must know, */
    uint16_t known;   /* and those of them that it knows, or that are gone */
    uint16_t watches; /* at the server */
    uint8_t waits_for;
    uint8_t used;             /* the numbers that they have */
    uint8_t numbers, ceiling; /* its own, as in its node's data */
    uint8_t limit;            /* when it was admitted */
    bool up, admitted, believes;
    bool chosen;  /* its numbers are */
    bool excused; /* somebody has deleted its node */
    bool lapsed;  /* its deadline has passed, and its session is not over yet */
};

struct numbers_node {
    uint8_t client, version, numbers, ceiling;
};

struct numbers_state {
    struct numbers_client clients[NUMBERS_CLIENTS];
    struct numbers_node nodes[NUMBERS_NODES];
    uint16_t standing;
    uint8_t made, limit, faults;
};

struct numbers_config {
    int clients;
    uint8_t limit;
    uint8_t permits[NUMBERS_CLIENTS];
    uint8_t silent; /* a bit for each client whose nodes have no ceiling */
};

static const struct breadth_kind moves[NUMBERS_MOVE_COUNT] = {
    [NUMBERS_SERVE] = {"the server does", FAIR, NUMBERS_CLIENTS},
    [NUMBERS_DELIVER] = {"hears", FAIR, NUMBERS_CLIENTS},
    [NUMBERS_CONNECT] = {"is connected again", FAIR, NUMBERS_CLIENTS},
    [NUMBERS_EXPIRE] = {"its session is over", FAIR, NUMBERS_CLIENTS},
    [NUMBERS_ENTER] = {"enters", PERHAPS, NUMBERS_CLIENTS},
    [NUMBERS_ADMIT] = {"is admitted", PERHAPS, NUMBERS_CLIENTS},
    [NUMBERS_RELEASE] = {"releases", PERHAPS, NUMBERS_CLIENTS},
    [NUMBERS_LOSE] = {"loses its connection", FAULT, NUMBERS_CLIENTS},
    [NUMBERS_LAPSE] = {"its deadline passes", FAULT, NUMBERS_CLIENTS},
    [NUMBERS_ABORT] = {"gives up", FAULT, NUMBERS_CLIENTS},
    [NUMBERS_CHANGE] = {"somebody writes over node", FAULT, NUMBERS_NODES},
    [NUMBERS_DELETE] = {"somebody deletes node", FAULT, NUMBERS_NODES},
    [NUMBERS_LIMIT] = {"somebody changes the limit", FAULT, 1},
};

static const struct numbers_config *config;

static int count_bits(unsigned bits)
{
    return __builtin_popcount(bits);
}

/* ---- the server ---- */

static void push_answer(struct numbers_client *c, struct numbers_message m)
{
    flat_push(c->answers, &c->answered, NUMBERS_QUEUE, sizeof m, &m);
}

static void fire(struct numbers_state *st, uint8_t node)
{
    for (int i = 0; i < config->clients; i++) {
        struct numbers_client *c = &st->clients[i];
        if (c->watches & FLAT_BIT(node))
            push_answer(c, (struct numbers_message){.kind = EVENT_NODE, .node = node});
        c->watches &= (uint16_t)~FLAT_BIT(node);
    }
}

static void remove_node(struct numbers_state *st, uint8_t node)
{
    if (!(st->standing & FLAT_BIT(node)))
        return;
    st->standing &= (uint16_t)~FLAT_BIT(node);
    fire(st, node);
}

static void change_node(struct numbers_state *st, uint8_t node, uint8_t numbers, uint8_t ceiling)
{
    st->nodes[node].version++;
    st->nodes[node].numbers = numbers;
    st->nodes[node].ceiling = ceiling;
    fire(st, node);
}

static unsigned count_permits(const struct numbers_state *st, uint16_t nodes)
{
    unsigned sum = 0;

    for (uint8_t n = 0; n < st->made; n++)
        if (nodes & FLAT_BIT(n))
            sum += config->permits[st->nodes[n].client];
    return sum;
}

/* The permits of all up to it are no more than the limit. */
static bool has_room(const struct numbers_state *st, uint8_t node)
{
    return count_permits(st, st->standing & (uint16_t)(2 * FLAT_BIT(node) - 1)) <= st->limit;
}

static void read_node(const struct numbers_state *st, struct numbers_message *m)
{
    if (!(st->standing & FLAT_BIT(m->node))) {
        m->answer = STORE_NONODE;
        return;
    }
    m->numbers = st->nodes[m->node].numbers;
    m->ceiling = st->nodes[m->node].ceiling;
    m->version = st->nodes[m->node].version;
}

static void write_node(struct numbers_state *st, struct numbers_message *m)
{
    if (!(st->standing & FLAT_BIT(m->node)))
        m->answer = STORE_NONODE;
    else if (st->nodes[m->node].version != m->version)
        m->answer = STORE_BADVERSION;
    else
        change_node(st, m->node, m->numbers, m->ceiling);
}

/* The first request; deletes are not answered. */
static void serve(struct numbers_state *st, int i)
{
    struct numbers_client *c = &st->clients[i];
    struct numbers_message m = c->asks[0];

    flat_remove(c->asks, &c->asked, sizeof m, 0);
    if (m.kind == ASK_LIST)
        m.names = st->standing;
    else if (m.kind == ASK_WRITE)
        write_node(st, &m);
    else if (m.kind == ASK_DELETE)
        remove_node(st, m.node);
    else
        read_node(st, &m);
    if (m.kind == ASK_WATCH && m.answer == STORE_OK)
        c->watches |= FLAT_BIT(m.node);
    if (m.kind != ASK_DELETE)
        push_answer(c, m);
}

/* ---- the driver ---- */

static void ask(struct numbers_client *c, struct numbers_message m)
{
    flat_push(c->asks, &c->asked, NUMBERS_QUEUE, sizeof m, &m);
}

static void leave(struct numbers_client *c, bool deletes)
{
    if (deletes)
        ask(c, (struct numbers_message){.kind = ASK_DELETE, .node = c->node});
    c->node = c->waits_for = FLAT_NO_NODE;
    c->machine = (struct numbering){.state = NUMBERING_IDLE};
    c->before = c->known = c->used = c->numbers = c->ceiling = c->limit = 0;
    c->admitted = c->believes = c->chosen = c->excused = false;
    exchange_end(&c->exchange);
}

static void check_believers(const struct numbers_state *st, int i)
{
    const struct numbers_client *c = &st->clients[i];

    for (int k = 0; k < config->clients; k++) {
        const struct numbers_client *o = &st->clients[k];
        breadth_require(k == i || !o->believes || o->excused || c->excused ||
                            !(o->numbers & c->numbers),
                        "two who believe that they hold have the same number");
    }
    breadth_require(!(c->numbers >> c->limit) && count_bits(c->numbers) == config->permits[i],
                    "a number is not below the limit, or there are not as many as permits");
}

static uint8_t nth(uint16_t nodes, uint32_t n)
{
    uint8_t at = 0;

    for (;; at++)
        if ((nodes & FLAT_BIT(at)) && n-- == 0)
            return at;
}

static uint32_t place_in(uint16_t nodes, uint8_t node)
{
    return (uint32_t)count_bits(nodes & (FLAT_BIT(node) - 1U));
}

/* Each lower one is its own, or of one that its list has shown; unless one of these is gone, or was
 * written over. */
static bool is_lowest(const struct numbers_state *st, const struct numbers_client *c)
{
    uint8_t used = c->numbers;

    for (uint8_t n = 0; n < st->made; n++) {
        if (!(c->before & FLAT_BIT(n)))
            continue;
        if (!(st->standing & FLAT_BIT(n)) || !st->nodes[n].numbers)
            return true;
        used |= st->nodes[n].numbers;
    }
    for (uint8_t n = 0; c->numbers >> n; n++)
        if (!(used & FLAT_BIT(n)))
            return false;
    return true;
}

static void choose_numbers(struct numbers_state *st, int i)
{
    struct numbers_client *c = &st->clients[i];
    int32_t used[8], chosen[NUMBERS_PERMITS];
    size_t count = 0;

    for (uint8_t n = 0; n < 8; n++)
        if (c->used & FLAT_BIT(n))
            used[count++] = n;
    c->ceiling =
        (uint8_t)numbering_choose(used, count, c->machine.first, chosen, config->permits[i]);
    if (config->silent & FLAT_BIT(i))
        c->ceiling = 0;
    for (int k = 0; k < config->permits[i]; k++)
        c->numbers |= (uint8_t)FLAT_BIT(chosen[k]);
    c->chosen = true;
    breadth_require(is_lowest(st, c), "it takes a number though a lower one is free");
}

static uint8_t node_of(const struct numbers_client *c, uint32_t node)
{
    if (node == NUMBERING_DIRECTORY)
        return FLAT_NO_NODE;
    return node == NUMBERING_OWN ? c->node : nth(c->before, node - NUMBERING_BEFORE);
}

static enum numbers_ask kind_of(const struct machine_action *a)
{
    if (a->verb == STORE_LIST)
        return ASK_LIST;
    if (a->verb == STORE_SET)
        return ASK_WRITE;
    if (a->node == NUMBERING_OWN)
        return ASK_OWN;
    return a->watch ? ASK_WATCH : ASK_READ;
}

/* A node that it knows is not asked for. */
static void request(struct numbers_state *st, int i, const struct machine_action *a)
{
    struct numbers_client *c = &st->clients[i];
    struct numbers_message m = {.kind = (uint8_t)kind_of(a),
                                .number = exchange_ask(&c->exchange, a)};

    if (m.kind == ASK_WRITE && !c->chosen)
        choose_numbers(st, i);
    if (m.kind == ASK_WRITE) {
        m.version = (uint8_t)a->version;
        m.numbers = c->numbers;
        m.ceiling = c->ceiling;
    }
    for (uint32_t k = 0; k <= a->more; k++) {
        m.node = node_of(c, a->node + k);
        if (m.kind != ASK_READ || !(c->known & FLAT_BIT(m.node)))
            ask(c, m);
    }
    if (m.kind == ASK_WATCH)
        c->waits_for = m.node;
}

static void told(struct numbers_state *st, int i, enum numbering_verdict verdict)
{
    struct numbers_client *c = &st->clients[i];

    if (verdict == NUMBERING_FAILED) {
        breadth_require(false, "it is told a refusal that there was not");
    } else if (verdict == NUMBERING_NODE_GONE) {
        leave(c, false);
    } else {
        c->believes = true;
        c->ceiling = 0; /* of no interest any more */
        check_believers(st, i);
    }
}

static void perform(struct numbers_state *st, int i, const struct machine_action *a)
{
    struct numbers_client *c = &st->clients[i];

    if (a->kind == MACHINE_ACT_REQUEST)
        request(st, i, a);
    else if (a->kind == MACHINE_ACT_TELL)
        told(st, i, (enum numbering_verdict)a->verdict);
    else
        c->waits_for = FLAT_NO_NODE;
    if (a->kind == MACHINE_ACT_END)
        exchange_end(&c->exchange);
}

static void step(struct numbers_state *st, int i, const struct machine_event *ev,
                 const struct numbering_moment *shown)
{
    struct numbers_client *c = &st->clients[i];
    struct machine_actions out = {.count = 0};

    numbering_step(&c->machine, ev, shown, &out);
    for (uint32_t k = 0; k < out.count; k++)
        perform(st, i, &out.list[k]);
    if (c->machine.state == NUMBERING_READING || c->machine.state == NUMBERING_WAITING)
        return;
    c->before = c->known = c->used = 0;
    c->machine.before = 0;
    c->machine.permits = 0;
    c->machine.first = 0;
}

static void step_kind(struct numbers_state *st, int i, enum machine_event_kind kind)
{
    step(st, i, &(struct machine_event){.kind = kind}, &(struct numbering_moment){.count = 0});
}

/* ---- answers ---- */

static void see_list(const struct numbers_state *st, struct numbers_client *c,
                     const struct numbers_message *m, struct numbering_moment *shown)
{
    c->before = m->names & (uint16_t)(FLAT_BIT(c->node) - 1);
    shown->count = (uint32_t)count_bits(c->before);
    shown->permits = count_permits(st, c->before);
}

static void see_own(struct numbers_client *c, const struct numbers_message *m, int permits,
                    struct numbering_moment *shown)
{
    shown->numbered = m->answer == STORE_OK && count_bits(m->numbers) == permits;
    if (!shown->numbered)
        return;
    c->numbers = m->numbers;
    c->ceiling = m->ceiling;
}

static void see_before(struct numbers_client *c, const struct numbers_message *m,
                       struct numbering_moment *shown)
{
    shown->numbered = m->answer == STORE_OK && m->numbers != 0;
    if (shown->numbered) {
        c->used |= m->numbers;
        shown->ceiling = m->ceiling;
    }
    if (shown->numbered || m->answer == STORE_NONODE)
        c->known |= FLAT_BIT(m->node);
}

static enum store_kind verb_of(uint8_t ask)
{
    return ask == ASK_LIST ? STORE_LIST : ask == ASK_WRITE ? STORE_SET : STORE_GET;
}

static uint32_t machine_node(const struct numbers_client *c, const struct numbers_message *m)
{
    return m->kind == ASK_LIST  ? NUMBERING_DIRECTORY
           : m->node == c->node ? NUMBERING_OWN
                                : NUMBERING_BEFORE + place_in(c->before, m->node);
}

static void hear(struct numbers_state *st, int i, const struct numbers_message *m)
{
    struct numbers_client *c = &st->clients[i];
    const struct machine_event ev = {.kind = MACHINE_EV_ANSWER,
                                     .verb = verb_of(m->kind),
                                     .rc = (enum store_rc)m->answer,
                                     .node = machine_node(c, m),
                                     .version = m->version};
    struct numbering_moment shown = {.count = 0};

    if (exchange_answered(&c->exchange, m->number, &ev) != EXCHANGE_HEARD)
        return;
    if (m->kind == ASK_LIST)
        see_list(st, c, m, &shown);
    else if (m->kind == ASK_OWN)
        see_own(c, m, config->permits[i], &shown);
    else if (m->kind != ASK_WRITE)
        see_before(c, m, &shown);
    step(st, i, &ev, &shown);
}

static void hear_fired(struct numbers_state *st, int i, const struct numbers_message *m)
{
    struct numbers_client *c = &st->clients[i];
    const struct machine_event ev = {.kind = MACHINE_EV_FIRED, .node = machine_node(c, m)};

    c->waits_for = FLAT_NO_NODE;
    step(st, i, &ev, &(struct numbering_moment){.count = 0});
}

static void deliver(struct numbers_state *st, int i)
{
    struct numbers_client *c = &st->clients[i];
    const struct numbers_message m = c->answers[0];

    flat_remove(c->answers, &c->answered, sizeof m, 0);
    if (!c->admitted || c->believes)
        return;
    if (m.kind != EVENT_NODE)
        hear(st, i, &m);
    else if (c->waits_for == m.node)
        hear_fired(st, i, &m);
}

/* What was under way is asked again, in its order. Watches that have fired, fire again. */
static void lose(struct numbers_client *c)
{
    const struct numbers_client before = *c;

    c->up = false;
    memset(c->asks, 0, sizeof c->asks);
    memset(c->answers, 0, sizeof c->answers);
    c->asked = c->answered = 0;
    for (int k = 0; k < before.answered; k++) {
        struct numbers_message m = before.answers[k];
        if (m.kind == EVENT_NODE) {
            push_answer(c, m);
            continue;
        }
        if (m.kind != ASK_WRITE)
            m.version = m.numbers = m.ceiling = 0;
        m.names = m.answer = 0;
        ask(c, m);
    }
    for (int k = 0; k < before.asked; k++)
        ask(c, before.asks[k]);
}

/* ---- what a state looks like without names ---- */

static uint16_t named_by(const struct numbers_client *c)
{
    uint16_t nodes = flat_bit(c->node) | flat_bit(c->waits_for) | c->before | c->watches;

    for (int k = 0; k < c->asked; k++)
        nodes |= (uint16_t)(c->asks[k].names | flat_bit(c->asks[k].node));
    for (int k = 0; k < c->answered; k++)
        nodes |= (uint16_t)(c->answers[k].names | flat_bit(c->answers[k].node));
    return nodes;
}

static void move_message(const struct flat_places *p, struct numbers_message *m)
{
    flat_move(p, &m->node);
    flat_move_all(p, &m->names);
}

static void move_names(const struct flat_places *p, struct numbers_client *c)
{
    flat_move(p, &c->node);
    flat_move(p, &c->waits_for);
    flat_move_all(p, &c->before);
    flat_move_all(p, &c->known);
    flat_move_all(p, &c->watches);
    for (int k = 0; k < c->asked; k++)
        move_message(p, &c->asks[k]);
    for (int k = 0; k < c->answered; k++)
        move_message(p, &c->answers[k]);
}

/* Nodes that nobody names are none; of one that is gone only whose it was is known. */
static void drop_nodes(struct numbers_state *st)
{
    uint16_t used = st->standing;

    for (int i = 0; i < config->clients; i++)
        used |= named_by(&st->clients[i]);
    for (uint8_t n = 0; n < st->made; n++)
        if (!(st->standing & FLAT_BIT(n)))
            st->nodes[n] = (struct numbers_node){.client = st->nodes[n].client};
    const struct flat_places places = flat_keep(used, st->nodes, &st->made, sizeof st->nodes[0]);
    flat_move_all(&places, &st->standing);
    for (int i = 0; i < config->clients; i++)
        move_names(&places, &st->clients[i]);
}

static void swap(struct numbers_state *st, uint8_t a, uint8_t b)
{
    const struct numbers_client was = st->clients[a];

    st->clients[a] = st->clients[b];
    st->clients[b] = was;
    for (uint8_t n = 0; n < st->made; n++) {
        struct numbers_node *node = &st->nodes[n];
        node->client = node->client == a ? b : node->client == b ? a : node->client;
    }
}

/* The same of all that differ only in names. */
static void plain(void *state)
{
    struct numbers_state *st = state;

    for (int rounds = 1; rounds < config->clients; rounds++)
        for (uint8_t i = 0; i + 1 < config->clients; i++)
            if (config->permits[i] == config->permits[i + 1] &&
                !(config->silent & (FLAT_BIT(i) | FLAT_BIT(i + 1))) &&
                memcmp(&st->clients[i], &st->clients[i + 1], sizeof st->clients[i]) > 0)
                swap(st, i, i + 1);
}

/* ---- moves ---- */

static void make_plain(struct numbers_client *c)
{
    for (int k = 0; k < c->asked; k++)
        c->asks[k].number = exchange_plain_request(&c->exchange, c->asks[k].number);
    for (int k = 0; k < c->answered; k++)
        c->answers[k].number = exchange_plain_request(&c->exchange, c->answers[k].number);
    exchange_plain(&c->exchange);
}

static void init(void *state, const void *data)
{
    struct numbers_state *st = state;

    /* A contender whose admission ends enters again; none is over. */
    breadth_reached(1U << NUMBERING_OVER);
    config = data;
    st->limit = config->limit;
    for (int i = 0; i < config->clients; i++) {
        leave(&st->clients[i], false);
        make_plain(&st->clients[i]);
        st->clients[i].up = true;
    }
}

static bool is_numbering(const struct numbers_client *c)
{
    return c->admitted && !c->believes && !c->lapsed;
}

static bool may_happen_to(const struct numbers_state *st, enum numbers_move move, int i)
{
    const struct numbers_client *c = &st->clients[i];
    const bool has_node = c->node != FLAT_NO_NODE;

    switch (move) {
    case NUMBERS_SERVE:
        return c->up && c->asked > 0;
    case NUMBERS_DELIVER:
        return c->up && c->answered > 0;
    case NUMBERS_CONNECT:
        return !c->up && !c->lapsed;
    case NUMBERS_EXPIRE:
        return c->lapsed;
    case NUMBERS_ENTER:
        return !has_node && !c->lapsed && c->up && c->asked == 0 && c->answered == 0;
    case NUMBERS_ADMIT:
        return has_node && !c->admitted && c->up && (st->standing & FLAT_BIT(c->node)) &&
               has_room(st, c->node);
    case NUMBERS_RELEASE:
        return c->believes;
    case NUMBERS_LOSE:
        return c->up && has_node;
    case NUMBERS_LAPSE:
        return has_node && !c->lapsed;
    case NUMBERS_ABORT:
        return has_node && !c->believes && !c->lapsed;
    default:
        return false;
    }
}

static bool may(const void *state, struct move move)
{
    const struct numbers_state *st = state;

    if (move.kind == NUMBERS_LIMIT)
        return true;
    if (move.kind == NUMBERS_CHANGE)
        return st->standing & FLAT_BIT(move.at);
    if (move.kind == NUMBERS_DELETE)
        return (st->standing & FLAT_BIT(move.at)) &&
               !st->clients[st->nodes[move.at].client].believes;
    return move.at < config->clients && may_happen_to(st, (enum numbers_move)move.kind, move.at);
}

static void enter(struct numbers_state *st, int i)
{
    const struct numbers_node node = {.client = (uint8_t)i};

    st->clients[i].node = st->made;
    st->standing |= FLAT_BIT(st->made);
    flat_push(st->nodes, &st->made, NUMBERS_NODES, sizeof node, &node);
}

static void expire(struct numbers_state *st, int i)
{
    struct numbers_client *c = &st->clients[i];

    for (uint8_t n = 0; n < st->made; n++)
        if (st->nodes[n].client == i)
            remove_node(st, n);
    memset(c, 0, sizeof *c);
    leave(c, false);
    c->up = true;
}

static void take_client(struct numbers_state *st, enum numbers_move move, int i)
{
    struct numbers_client *c = &st->clients[i];

    if (move == NUMBERS_SERVE) {
        serve(st, i);
    } else if (move == NUMBERS_DELIVER) {
        deliver(st, i);
    } else if (move == NUMBERS_CONNECT) {
        c->up = true;
    } else if (move == NUMBERS_EXPIRE) {
        expire(st, i);
    } else if (move == NUMBERS_ENTER) {
        enter(st, i);
    } else if (move == NUMBERS_ADMIT) {
        c->admitted = true;
        c->limit = st->limit;
        step_kind(st, i, MACHINE_EV_BEGIN);
    } else if (move == NUMBERS_LOSE) {
        lose(c);
    } else {
        if (is_numbering(c))
            step_kind(st, i, MACHINE_EV_STOP);
        c->lapsed = move == NUMBERS_LAPSE;
        leave(c, !c->lapsed);
        c->up = c->up && !c->lapsed;
    }
}

static void delete_node(struct numbers_state *st, uint8_t node)
{
    struct numbers_client *c = &st->clients[st->nodes[node].client];

    c->excused = c->excused || c->node == node;
    remove_node(st, node);
}

static void take(void *state, struct move move)
{
    struct numbers_state *st = state;

    if (move.kind == NUMBERS_LIMIT)
        st->limit = st->limit == config->limit ? st->limit - 1 : config->limit;
    else if (move.kind == NUMBERS_CHANGE)
        change_node(st, move.at, 0, 0);
    else if (move.kind == NUMBERS_DELETE)
        delete_node(st, move.at);
    else
        take_client(st, (enum numbers_move)move.kind, move.at);
    for (int i = 0; i < config->clients; i++)
        make_plain(&st->clients[i]);
    drop_nodes(st);
}

static const char *check_end(const void *state)
{
    const struct numbers_state *st = state;

    for (int i = 0; i < config->clients; i++) {
        const struct numbers_client *c = &st->clients[i];
        if (is_numbering(c) && c->machine.state != NUMBERING_WAITING)
            return "it waits for numbers that are known, and will never hear of them";
        if (is_numbering(c) &&
            (!(st->standing & FLAT_BIT(c->waits_for)) || st->nodes[c->waits_for].numbers))
            return "it waits for numbers that are known, and will never hear of them";
    }
    for (uint8_t n = 0; n < st->made; n++)
        if ((st->standing & FLAT_BIT(n)) && st->clients[st->nodes[n].client].node != n)
            return "a node is left that nobody wants";
    return NULL;
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(numbers_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"limit 2, two contenders", ALWAYS, 2, CONFIG(.clients = 2, .limit = 2, .permits = {1, 1})},
    {"limit 3, two contenders, one of two permits", ALWAYS, 2,
     CONFIG(.clients = 2, .limit = 3, .permits = {1, 2})},
    {"limit 2, three contenders", ALWAYS, 0,
     CONFIG(.clients = 3, .limit = 2, .permits = {1, 1, 1})},
    {"limit 3, three contenders", ALWAYS, 0,
     CONFIG(.clients = 3, .limit = 3, .permits = {1, 1, 1})},
    {"limit 3, three contenders, one without a ceiling", SOAK, 0,
     CONFIG(.clients = 3, .limit = 3, .permits = {1, 1, 1}, .silent = 4)},
    {"limit 2, three contenders", SOAK, 2, CONFIG(.clients = 3, .limit = 2, .permits = {1, 1, 1})},
    {"limit 3, three contenders", SOAK, 1, CONFIG(.clients = 3, .limit = 3, .permits = {1, 1, 1})},
    {"limit 3, three contenders", SOAK, 2, CONFIG(.clients = 3, .limit = 3, .permits = {1, 1, 1})},
    {"limit 3, three contenders, one of two permits", SOAK, 2,
     CONFIG(.clients = 3, .limit = 3, .permits = {1, 1, 2})},
};

static void print(const void *state)
{
    const struct numbers_state *st = state;

    printf(" limit %d;", st->limit);
    for (int i = 0; i < config->clients; i++)
        printf(" %s%s", numbering_state_name(st->clients[i].machine.state),
               st->clients[i].believes ? "!" : "");
    for (int n = 0; n < st->made; n++)
        if (st->standing & FLAT_BIT(n))
            printf(", %d of %d has %#x", n, st->nodes[n].client, st->nodes[n].numbers);
}

static const char *state_name(int state)
{
    return numbering_state_name((enum numbering_state)state);
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {
        BREADTH_WORLD(struct numbers_state),
        .plain = plain,
        .machine = offsetof(struct numbers_state, clients[0].machine.state),
        .stride = sizeof(struct numbers_client),
        .machines = NUMBERS_CLIENTS,
        .states = NUMBERING_STATES};

    return breadth_main(&world, argc, argv);
}
