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
        m->answer = NUMBERING_GONE;
        return;
    }
    m->numbers = st->nodes[m->node].numbers;
    m->ceiling = st->nodes[m->node].ceiling;
    m->version = st->nodes[m->node].version;
}

static void write_node(struct numbers_state *st, struct numbers_message *m)
{
    if (!(st->standing & NUMBERS_BIT(m->node)))
        m->answer = NUMBERING_GONE;
    else if (st->nodes[m->node].version != m->version)
        m->answer = NUMBERING_CHANGED;
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
    if (m.kind == ASK_WATCH && m.answer == NUMBERING_OK)
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

static void ask_about(struct numbers_client *c, enum numbers_ask kind, uint8_t node)
{
    ask(c, (struct numbers_message){.kind = (uint8_t)kind, .node = node, .current = true});
}

static void leave(struct numbers_client *c, bool deletes)
{
    if (deletes)
        ask(c, (struct numbers_message){.kind = ASK_DELETE, .node = c->node});
    c->node = c->waits_for = NUMBERS_NO_NODE;
    c->machine = (struct numbering){.state = NUMBERING_IDLE};
    c->before = c->known = c->used = c->numbers = c->ceiling = c->version = c->limit = 0;
    c->admitted = c->believes = c->chosen = c->excused = false;
    for (int k = 0; k < c->asked; k++)
        c->asks[k].current = false;
    for (int k = 0; k < c->answered; k++)
        c->answers[k].current = false;
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

static void write_numbers(struct numbers_state *st, int i)
{
    struct numbers_client *c = &st->clients[i];

    if (!c->chosen)
        choose_numbers(st, i);
    ask(c, (struct numbers_message){.kind = ASK_WRITE,
                                    .node = c->node,
                                    .version = c->version,
                                    .numbers = c->numbers,
                                    .ceiling = c->ceiling,
                                    .current = true});
}

static void perform(struct numbers_state *st, int i, const struct numbering_action *a)
{
    struct numbers_client *c = &st->clients[i];

    switch (a->kind) {
    case NUMBERING_ACT_LIST:
        ask_about(c, ASK_LIST, NUMBERS_NO_NODE);
        break;
    case NUMBERING_ACT_OWN:
        ask_about(c, ASK_OWN, c->node);
        break;
    case NUMBERING_ACT_LOOK:
        ask_about(c, ASK_READ, nth(c->before, a->who));
        break;
    case NUMBERING_ACT_READ:
        for (uint8_t n = 0; n < st->made; n++)
            if (c->before & ~c->known & NUMBERS_BIT(n))
                ask_about(c, ASK_READ, n);
        break;
    case NUMBERING_ACT_WATCH:
        c->waits_for = nth(c->before, a->who);
        ask_about(c, ASK_WATCH, c->waits_for);
        break;
    case NUMBERING_ACT_UNWATCH:
        c->waits_for = NUMBERS_NO_NODE;
        break;
    case NUMBERING_ACT_WRITE:
        write_numbers(st, i);
        break;
    case NUMBERING_ACT_DONE:
        c->believes = true;
        c->ceiling = 0; /* of no interest any more */
        check_believers(st, i);
        break;
    case NUMBERING_ACT_VANISHED:
        leave(c, false);
        break;
    default:
        st->broken = NUMBERS_ACTION;
    }
}

/* Which request is the newest is all that tags tell. */
static void step(struct numbers_state *st, int i, const struct numbering_event *ev)
{
    struct numbers_client *c = &st->clients[i];
    const uint32_t tag = c->machine.tag;
    struct numbering_actions out;

    numbering_step(&c->machine, ev, &out);
    for (int k = 0; c->machine.tag != tag && k < c->asked; k++)
        c->asks[k].current = false;
    for (int k = 0; c->machine.tag != tag && k < c->answered; k++)
        c->answers[k].current = false;
    for (uint32_t k = 0; k < out.count; k++)
        perform(st, i, &out.list[k]);
    c->machine.tag = 1;
    if (c->machine.state == NUMBERING_READING || c->machine.state == NUMBERING_WAITING)
        return;
    c->before = c->known = c->used = 0;
    c->machine.permits = 0;
    c->machine.first = 0;
}

/* ---- answers ---- */

static void hear_list(struct numbers_state *st, int i, const struct numbers_message *m,
                      struct numbering_event *ev)
{
    struct numbers_client *c = &st->clients[i];

    if (m->current)
        c->before = m->names & (uint8_t)(NUMBERS_BIT(c->node) - 1);
    ev->count = (uint32_t)count_bits(c->before);
    ev->permits = count_permits(st, c->before);
    step(st, i, ev);
}

static void hear_read(struct numbers_state *st, int i, const struct numbers_message *m,
                      struct numbering_event *ev)
{
    struct numbers_client *c = &st->clients[i];
    const bool own = m->kind == ASK_OWN;

    if (ev->answer == NUMBERING_OK)
        ev->answer = NUMBERING_NONE_YET;
    if (m->current && own && m->answer == NUMBERING_OK) {
        c->version = m->version;
        if (count_bits(m->numbers) == numbers_config.permits[i]) {
            c->numbers = m->numbers;
            c->ceiling = m->ceiling;
            ev->answer = NUMBERING_OK;
        }
    } else if (m->current && m->answer == NUMBERING_OK && m->numbers) {
        c->used |= m->numbers;
        ev->ceiling = m->ceiling;
        ev->answer = NUMBERING_OK;
    }
    if (m->current && !own && ev->answer != NUMBERING_NONE_YET)
        c->known |= NUMBERS_BIT(m->node);
    ev->who = m->current && !own ? place_in(c->before, m->node) : 0;
    step(st, i, ev);
}

static enum numbering_event_kind event_kind(uint8_t ask)
{
    static const enum numbering_event_kind kinds[] = {
        [ASK_LIST] = NUMBERING_EV_LISTED,   [ASK_READ] = NUMBERING_EV_READ,
        [ASK_OWN] = NUMBERING_EV_OWN,       [ASK_WATCH] = NUMBERING_EV_WATCHED,
        [ASK_WRITE] = NUMBERING_EV_WRITTEN, [EVENT_NODE] = NUMBERING_EV_FIRED};

    return kinds[ask];
}

static void deliver(struct numbers_state *st, int i)
{
    struct numbers_client *c = &st->clients[i];
    const struct numbers_message m = c->answers[0];
    struct numbering_event ev = {.kind = event_kind(m.kind),
                                 .answer = (enum numbering_answer)m.answer,
                                 .tag = m.current ? c->machine.tag : c->machine.tag - 1};

    flat_remove(c->answers, &c->answered, sizeof m, 0);
    if (!c->admitted || c->believes || (m.kind == EVENT_NODE && c->waits_for != m.node))
        return;
    if (m.kind == ASK_LIST)
        hear_list(st, i, &m, &ev);
    else if (m.kind == EVENT_NODE || m.kind == ASK_WRITE)
        step(st, i, &ev);
    else
        hear_read(st, i, &m, &ev);
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

void numbers_init(void *state)
{
    struct numbers_state *st = state;

    memset(st, 0, sizeof *st);
    st->limit = numbers_config.limit;
    st->faults = (uint8_t)numbers_config.faults;
    for (int i = 0; i < numbers_config.clients; i++) {
        leave(&st->clients[i], false);
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
        step(st, i, &(struct numbering_event){.kind = NUMBERING_EV_BEGIN});
    } else if (move == NUMBERS_LOSE) {
        lose(c);
    } else {
        if (is_numbering(c))
            step(st, i, &(struct numbering_event){.kind = NUMBERING_EV_END});
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
    [NUMBERS_ACTION] = "an action that nobody understands",
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
