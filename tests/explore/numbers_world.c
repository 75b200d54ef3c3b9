#include "numbers_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"

struct numbers_config numbers_config;

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "numbers: the world is too small: %s\n", what);
    exit(99);
}

static int count_bits(uint8_t bits)
{
    return __builtin_popcount(bits);
}

/* ---- the server ---- */

static void push_answer(struct numbers_client *c, struct numbers_message m)
{
    require(c->answered < NUMBERS_QUEUE, "answers");
    c->answers[c->answered++] = m;
}

static void fire(struct numbers_state *st, uint8_t node)
{
    for (int i = 0; i < numbers_config.clients; i++) {
        struct numbers_client *c = &st->clients[i];
        if (c->watches & NUMBERS_BIT(node))
            push_answer(c, (struct numbers_message){.kind = EVENT_NODE, .node = node});
        c->watches &= (uint8_t)~NUMBERS_BIT(node);
    }
}

static void remove_node(struct numbers_state *st, uint8_t node)
{
    if (!(st->standing & NUMBERS_BIT(node)))
        return;
    st->standing &= (uint8_t)~NUMBERS_BIT(node);
    fire(st, node);
}

static void change_node(struct numbers_state *st, uint8_t node, uint8_t numbers, uint8_t ceiling)
{
    st->nodes[node].version++;
    st->nodes[node].numbers = numbers;
    st->nodes[node].ceiling = ceiling;
    fire(st, node);
}

static unsigned count_permits(const struct numbers_state *st, uint8_t nodes)
{
    unsigned sum = 0;

    for (uint8_t n = 0; n < st->made; n++)
        if (nodes & NUMBERS_BIT(n))
            sum += numbers_config.permits[st->nodes[n].client];
    return sum;
}

/* The permits of all up to it are no more than the limit. */
static bool has_room(const struct numbers_state *st, uint8_t node)
{
    return count_permits(st, st->standing & (uint8_t)(2 * NUMBERS_BIT(node) - 1)) <= st->limit;
}

static void read_node(const struct numbers_state *st, struct numbers_message *m)
{
    if (!(st->standing & NUMBERS_BIT(m->node))) {
        m->answer = STORE_NONODE;
        return;
    }
    m->numbers = st->nodes[m->node].numbers;
    m->ceiling = st->nodes[m->node].ceiling;
    m->version = st->nodes[m->node].version;
}

static void write_node(struct numbers_state *st, struct numbers_message *m)
{
    if (!(st->standing & NUMBERS_BIT(m->node)))
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
        c->watches |= NUMBERS_BIT(m.node);
    if (m.kind != ASK_DELETE)
        push_answer(c, m);
}

/* ---- the driver ---- */

static void ask(struct numbers_client *c, struct numbers_message m)
{
    require(c->asked < NUMBERS_QUEUE, "requests");
    c->asks[c->asked++] = m;
}

static void leave(struct numbers_client *c, bool deletes)
{
    if (deletes)
        ask(c, (struct numbers_message){.kind = ASK_DELETE, .node = c->node});
    c->node = c->waits_for = NUMBERS_NO_NODE;
    c->machine = (struct numbering){.state = NUMBERING_IDLE};
    c->before = c->known = c->used = c->numbers = c->ceiling = c->limit = 0;
    c->admitted = c->believes = c->chosen = c->excused = false;
    exchange_end(&c->exchange);
}

static void check_believers(struct numbers_state *st, int i)
{
    const struct numbers_client *c = &st->clients[i];

    for (int k = 0; k < numbers_config.clients; k++) {
        const struct numbers_client *o = &st->clients[k];
        if (k != i && o->believes && !o->excused && !c->excused && (o->numbers & c->numbers))
            st->broken = NUMBERS_SHARED;
    }
    if (c->numbers >> c->limit || count_bits(c->numbers) != numbers_config.permits[i])
        st->broken = NUMBERS_BEYOND;
}

static uint8_t nth(uint8_t nodes, uint32_t n)
{
    uint8_t at = 0;

    for (;; at++)
        if ((nodes & NUMBERS_BIT(at)) && n-- == 0)
            return at;
}

static uint32_t place_in(uint8_t nodes, uint8_t node)
{
    return (uint32_t)count_bits(nodes & (uint8_t)(NUMBERS_BIT(node) - 1));
}

/* Each lower one is its own, or of one that its list has shown; unless one of these is gone, or was
 * written over. */
static bool is_lowest(const struct numbers_state *st, const struct numbers_client *c)
{
    uint8_t used = c->numbers;

    for (uint8_t n = 0; n < st->made; n++) {
        if (!(c->before & NUMBERS_BIT(n)))
            continue;
        if (!(st->standing & NUMBERS_BIT(n)) || !st->nodes[n].numbers)
            return true;
        used |= st->nodes[n].numbers;
    }
    for (uint8_t n = 0; c->numbers >> n; n++)
        if (!(used & NUMBERS_BIT(n)))
            return false;
    return true;
}

static void choose_numbers(struct numbers_state *st, int i)
{
    struct numbers_client *c = &st->clients[i];
    int32_t used[8], chosen[NUMBERS_PERMITS];
    size_t count = 0;

    for (uint8_t n = 0; n < 8; n++)
        if (c->used & NUMBERS_BIT(n))
            used[count++] = n;
    c->ceiling =
        (uint8_t)numbering_choose(used, count, c->machine.first, chosen, numbers_config.permits[i]);
    if (numbers_config.silent & NUMBERS_BIT(i))
        c->ceiling = 0;
    for (int k = 0; k < numbers_config.permits[i]; k++)
        c->numbers |= NUMBERS_BIT(chosen[k]);
    c->chosen = true;
    if (!is_lowest(st, c))
        st->broken = NUMBERS_GAP;
}

static uint8_t node_of(const struct numbers_client *c, uint32_t node)
{
    if (node == NUMBERING_DIRECTORY)
        return NUMBERS_NO_NODE;
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
        if (m.kind != ASK_READ || !(c->known & NUMBERS_BIT(m.node)))
            ask(c, m);
    }
    if (m.kind == ASK_WATCH)
        c->waits_for = m.node;
}

static void told(struct numbers_state *st, int i, enum numbering_verdict verdict)
{
    struct numbers_client *c = &st->clients[i];

    if (verdict == NUMBERING_FAILED) {
        st->broken = NUMBERS_FAILED;
    } else if (verdict == NUMBERING_VANISHED) {
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
        c->waits_for = NUMBERS_NO_NODE;
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
    c->before = m->names & (uint8_t)(NUMBERS_BIT(c->node) - 1);
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
        c->known |= NUMBERS_BIT(m->node);
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
        see_own(c, m, numbers_config.permits[i], &shown);
    else if (m->kind != ASK_WRITE)
        see_before(c, m, &shown);
    step(st, i, &ev, &shown);
}

static void hear_fired(struct numbers_state *st, int i, const struct numbers_message *m)
{
    struct numbers_client *c = &st->clients[i];
    const struct machine_event ev = {.kind = MACHINE_EV_FIRED, .node = machine_node(c, m)};

    c->waits_for = NUMBERS_NO_NODE;
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

/* ---- moves ---- */

static void make_plain(struct numbers_client *c)
{
    for (int k = 0; k < c->asked; k++)
        c->asks[k].number = exchange_plain_request(&c->exchange, c->asks[k].number);
    for (int k = 0; k < c->answered; k++)
        c->answers[k].number = exchange_plain_request(&c->exchange, c->answers[k].number);
    exchange_plain(&c->exchange);
}

void numbers_init(void *state)
{
    struct numbers_state *st = state;

    memset(st, 0, sizeof *st);
    st->limit = numbers_config.limit;
    st->faults = (uint8_t)numbers_config.faults;
    for (int i = 0; i < numbers_config.clients; i++) {
        leave(&st->clients[i], false);
        make_plain(&st->clients[i]);
        st->clients[i].up = true;
    }
}

static bool is_numbering(const struct numbers_client *c)
{
    return c->admitted && !c->believes && !c->lapsed;
}

static bool can(const struct numbers_state *st, enum numbers_move move, int i)
{
    const struct numbers_client *c = &st->clients[i];
    const bool has_node = c->node != NUMBERS_NO_NODE;

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
        return has_node && !c->admitted && c->up && (st->standing & NUMBERS_BIT(c->node)) &&
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

int numbers_list(const void *state, struct breadth_step *steps)
{
    const struct numbers_state *st = state;
    const int moves = st->faults ? NUMBERS_CHANGE : NUMBERS_LOSE;
    int count = 0;

    for (int move = 0; move < moves; move++)
        for (int i = 0; i < numbers_config.clients; i++)
            if (can(st, (enum numbers_move)move, i))
                steps[count++] = (struct breadth_step){(uint8_t)move, (uint8_t)i};
    for (uint8_t n = 0; st->faults && n < st->made; n++) {
        if (!(st->standing & NUMBERS_BIT(n)))
            continue;
        steps[count++] = (struct breadth_step){NUMBERS_CHANGE, n};
        if (!st->clients[st->nodes[n].client].believes)
            steps[count++] = (struct breadth_step){NUMBERS_DELETE, n};
    }
    if (st->faults)
        steps[count++] = (struct breadth_step){NUMBERS_LIMIT, 0};
    return count;
}

static void enter(struct numbers_state *st, int i)
{
    require(st->made < NUMBERS_NODES, "nodes");
    st->clients[i].node = st->made;
    st->nodes[st->made] = (struct numbers_node){.client = (uint8_t)i};
    st->standing |= NUMBERS_BIT(st->made);
    st->made++;
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

void numbers_take(void *state, struct breadth_step by)
{
    struct numbers_state *st = state;

    if (by.kind >= NUMBERS_LOSE)
        st->faults--;
    if (by.kind == NUMBERS_LIMIT)
        st->limit = st->limit == numbers_config.limit ? st->limit - 1 : numbers_config.limit;
    else if (by.kind == NUMBERS_CHANGE)
        change_node(st, by.at, 0, 0);
    else if (by.kind == NUMBERS_DELETE)
        delete_node(st, by.at);
    else
        take_client(st, (enum numbers_move)by.kind, by.at);
    for (int i = 0; i < numbers_config.clients; i++)
        make_plain(&st->clients[i]);
    numbers_drop_nodes(st);
}

int numbers_check_end(const void *state)
{
    const struct numbers_state *st = state;

    for (int i = 0; i < numbers_config.clients; i++) {
        const struct numbers_client *c = &st->clients[i];
        if (is_numbering(c) && c->machine.state != NUMBERING_WAITING)
            return NUMBERS_ASLEEP;
        if (is_numbering(c) &&
            (!(st->standing & NUMBERS_BIT(c->waits_for)) || st->nodes[c->waits_for].numbers))
            return NUMBERS_ASLEEP;
    }
    for (uint8_t n = 0; n < st->made; n++)
        if ((st->standing & NUMBERS_BIT(n)) && st->clients[st->nodes[n].client].node != n)
            return NUMBERS_LEFT;
    return NUMBERS_WHOLE;
}

/* ---- words ---- */

const char *const numbers_broken_texts[NUMBERS_BROKEN_COUNT] = {
    [NUMBERS_WHOLE] = "nothing",
    [NUMBERS_SHARED] = "two who believe that they hold have the same number",
    [NUMBERS_BEYOND] = "a number is not below the limit, or there are not as many as permits",
    [NUMBERS_GAP] = "it takes a number though a lower one is free",
    [NUMBERS_ASLEEP] = "it waits for numbers that are known, and will never hear of them",
    [NUMBERS_LEFT] = "a node is left that nobody wants",
    [NUMBERS_FAILED] = "it is told a refusal that there was not",
};

const char *numbers_move_text(enum numbers_move move)
{
    static const char *const texts[NUMBERS_MOVE_COUNT] = {
        [NUMBERS_SERVE] = "the server does",
        [NUMBERS_DELIVER] = "hears",
        [NUMBERS_CONNECT] = "is connected again",
        [NUMBERS_EXPIRE] = "its session is over",
        [NUMBERS_ENTER] = "enters",
        [NUMBERS_ADMIT] = "is admitted",
        [NUMBERS_RELEASE] = "releases",
        [NUMBERS_LOSE] = "FAULT: loses its connection",
        [NUMBERS_LAPSE] = "FAULT: its deadline passes",
        [NUMBERS_ABORT] = "FAULT: gives up",
        [NUMBERS_CHANGE] = "FAULT: somebody writes over node",
        [NUMBERS_DELETE] = "FAULT: somebody deletes node",
        [NUMBERS_LIMIT] = "FAULT: somebody changes the limit",
    };

    return texts[move];
}
