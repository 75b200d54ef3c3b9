/* The server of the semaphore's explorer: one copy of the directory, and who watches what. */
#include <stdio.h>
#include <stdlib.h>

#include "permits_world.h"

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "permits: the world is too small: %s\n", what);
    exit(99);
}

void permits_push_answer(struct permits_client *c, struct permits_message message)
{
    require(c->answered < PERMITS_QUEUE, "answers");
    c->answers[c->answered++] = message;
}

/* By the order of the creates, an independent opinion; leases are in none. */
bool permits_server_room(const struct permits_state *st, uint8_t node)
{
    const uint8_t last = permits_config.leases ? (uint8_t)(st->made - 1) : node;
    unsigned sum = 0;

    for (uint8_t n = 0; n <= last; n++)
        if (st->standing & PERMITS_BIT(n))
            sum += permits_config.permits[st->nodes[n].client];
    return sum <= st->limit;
}

static void note_room(struct permits_state *st)
{
    for (uint8_t n = 0; n < st->made; n++)
        if ((st->standing & PERMITS_BIT(n)) && permits_server_room(st, n))
            st->nodes[n].had_room = true;
}

static void fire_node(struct permits_state *st, uint8_t node, bool gone)
{
    for (int i = 0; i < permits_config.clients; i++) {
        struct permits_client *c = &st->clients[i];
        if (!(c->watches & PERMITS_BIT(node)))
            continue;
        c->watches &= (uint16_t)~PERMITS_BIT(node);
        permits_push_answer(c, (struct permits_message){.kind = EVENT_NODE,
                                                        .node = node,
                                                        .answer = gone ? ANSWER_NONODE : 0});
    }
}

static void fire_children(struct permits_state *st)
{
    for (int i = 0; i < permits_config.clients; i++) {
        if (st->clients[i].watches_children)
            permits_push_answer(&st->clients[i], (struct permits_message){.kind = EVENT_CHILDREN});
        st->clients[i].watches_children = false;
    }
}

void permits_server_limit(struct permits_state *st, uint8_t limit)
{
    st->limit = limit;
    st->limit_zxid = ++st->zxid;
    if (limit > st->highest)
        st->highest = limit;
    note_room(st);
    for (int i = 0; i < permits_config.clients; i++) {
        if (st->clients[i].watches_limit)
            permits_push_answer(&st->clients[i], (struct permits_message){.kind = EVENT_LIMIT});
        st->clients[i].watches_limit = false;
    }
}

void permits_server_delete(struct permits_state *st, uint16_t nodes)
{
    for (uint8_t n = 0; n < st->made; n++) {
        if (!(st->standing & nodes & PERMITS_BIT(n)))
            continue;
        st->standing &= (uint16_t)~PERMITS_BIT(n);
        fire_node(st, n, true);
        fire_children(st);
        note_room(st);
    }
}

void permits_server_change(struct permits_state *st, uint8_t node)
{
    if (!(st->standing & PERMITS_BIT(node)))
        return;
    st->nodes[node].version++;
    fire_node(st, node, false);
}

uint16_t permits_server_nodes(const struct permits_state *st, int i)
{
    uint16_t nodes = 0;

    for (uint8_t n = 0; n < st->made; n++)
        if ((st->standing & PERMITS_BIT(n)) && st->nodes[n].client == i)
            nodes |= PERMITS_BIT(n);
    return nodes;
}

static uint8_t create(struct permits_state *st, int i)
{
    const uint8_t n = st->made;

    require(n < PERMITS_NODES, "nodes");
    st->made++;
    st->nodes[n] =
        (struct permits_node){.client = (uint8_t)i, .id = st->clients[i].id, .czxid = ++st->zxid};
    st->standing |= PERMITS_BIT(n);
    fire_children(st);
    note_room(st);
    return n;
}

static void look_at_node(const struct permits_state *st, struct permits_message *m)
{
    if (st->standing & PERMITS_BIT(m->node))
        m->version = st->nodes[m->node].version;
    else
        m->answer = ANSWER_NONODE;
}

/* The first request; deletes and touches are not answered. */
void permits_server_do(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    struct permits_message m = c->asks[0];

    c->asked--;
    for (int k = 0; k < c->asked; k++)
        c->asks[k] = c->asks[k + 1];
    c->asks[c->asked] = (struct permits_message){.kind = 0};
    if (m.kind == ASK_CREATE)
        m.node = create(st, i);
    if (m.kind == ASK_WRITE && m.limit_zxid == st->limit_zxid)
        permits_server_limit(st, permits_config.limit);
    m.limit = st->limit;
    m.limit_zxid = st->limit_zxid;
    if (m.kind == ASK_LIST) {
        m.names = st->standing;
        c->watches_children |= m.watch;
    } else if (m.kind == ASK_LIMIT) {
        c->watches_limit |= m.watch;
    } else if (m.kind == ASK_READ || m.kind == ASK_WATCH) {
        look_at_node(st, &m);
        if (m.kind == ASK_WATCH && m.answer == ANSWER_OK)
            c->watches |= PERMITS_BIT(m.node);
    } else if (m.kind == ASK_DELETE) {
        permits_server_delete(st, PERMITS_BIT(m.node));
    } else if (m.kind == ASK_TOUCH) {
        permits_server_change(st, m.node);
    }
    if (m.kind != ASK_DELETE && m.kind != ASK_TOUCH)
        permits_push_answer(c, m);
}
