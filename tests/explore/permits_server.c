/* The server of the semaphore's explorer: one copy of the directory, and who watches what. */
#include <stdio.h>
#include <stdlib.h>

#include "flat.h"
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

static void permits_server_fire_node(struct permits_state *st, uint8_t node, bool gone)
{
    for (int i = 0; i < permits_config.clients; i++) {
        struct permits_client *c = &st->clients[i];
        if (!(c->watches & PERMITS_BIT(node)))
            continue;
        c->watches &= (uint16_t)~PERMITS_BIT(node);
        permits_push_answer(c, (struct permits_message){.fired = true,
                                                        .about = ATTEMPT_PREDECESSOR,
                                                        .node = node,
                                                        .rc = gone ? STORE_NONODE : STORE_OK});
    }
}

static void permits_server_fire_directory(struct permits_client *c, bool *watches,
                                          enum attempt_node about)
{
    if (*watches)
        permits_push_answer(c, (struct permits_message){.fired = true,
                                                        .about = (uint8_t)about,
                                                        .node = PERMITS_NO_NODE});
    *watches = false;
}

static void permits_server_fire_children(struct permits_state *st)
{
    for (int i = 0; i < permits_config.clients; i++)
        permits_server_fire_directory(&st->clients[i], &st->clients[i].watches_children,
                                      ATTEMPT_CHILDREN);
}

void permits_server_limit(struct permits_state *st, uint8_t limit)
{
    st->limit = limit;
    st->limit_zxid = ++st->zxid;
    if (limit > st->highest)
        st->highest = limit;
    note_room(st);
    for (int i = 0; i < permits_config.clients; i++)
        permits_server_fire_directory(&st->clients[i], &st->clients[i].watches_limit,
                                      ATTEMPT_LIMIT);
}

void permits_server_delete(struct permits_state *st, uint16_t nodes)
{
    for (uint8_t n = 0; n < st->made; n++) {
        if (!(st->standing & nodes & PERMITS_BIT(n)))
            continue;
        st->standing &= (uint16_t)~PERMITS_BIT(n);
        permits_server_fire_node(st, n, true);
        permits_server_fire_children(st);
        note_room(st);
    }
}

void permits_server_change(struct permits_state *st, uint8_t node)
{
    if (!(st->standing & PERMITS_BIT(node)))
        return;
    st->nodes[node].version++;
    permits_server_fire_node(st, node, false);
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
    permits_server_fire_children(st);
    note_room(st);
    return n;
}

static bool permits_server_stands(const struct permits_state *st, uint8_t node)
{
    return st->standing & PERMITS_BIT(node);
}

static void permits_server_look_at_node(const struct permits_state *st, struct permits_client *c,
                                        struct permits_message *m)
{
    m->rc = permits_server_stands(st, m->node) ? STORE_OK : STORE_NONODE;
    if (m->rc != STORE_OK)
        return;
    m->version = st->nodes[m->node].version;
    if (m->watch)
        c->watches |= PERMITS_BIT(m->node);
}

static void permits_server_touch(struct permits_state *st, struct permits_message *m)
{
    m->rc = !permits_server_stands(st, m->node)        ? STORE_NONODE
            : m->version != st->nodes[m->node].version ? STORE_BADVERSION
                                                       : STORE_OK;
    if (m->rc == STORE_OK)
        permits_server_change(st, m->node);
}

static void permits_server_write_limit(struct permits_state *st, struct permits_message *m)
{
    m->rc = m->version == st->limit_zxid ? STORE_OK : STORE_BADVERSION;
    if (m->rc == STORE_OK)
        permits_server_limit(st, permits_config.limit);
}

static void permits_server_set(struct permits_state *st, struct permits_message *m)
{
    if (m->about == ATTEMPT_OWN)
        permits_server_touch(st, m);
    else if (m->about == ATTEMPT_LIMIT)
        permits_server_write_limit(st, m);
    else
        m->rc = STORE_NONODE; /* for the quorum */
}

static void permits_server_do_request(struct permits_state *st, int i, struct permits_message *m)
{
    struct permits_client *c = &st->clients[i];

    switch (m->verb) {
    case STORE_CREATE:
        m->node = create(st, i);
        break;
    case STORE_SET:
        permits_server_set(st, m);
        break;
    case STORE_LIST:
        m->names = st->standing;
        c->watches_children |= m->watch;
        break;
    case STORE_DELETE:
        permits_server_delete(st, PERMITS_BIT(m->node));
        break;
    default:
        if (m->about == ATTEMPT_LIMIT)
            c->watches_limit |= m->watch;
        else
            permits_server_look_at_node(st, c, m);
        break;
    }
}

/* The first request; a delete is not answered. */
void permits_server_do(struct permits_state *st, int i)
{
    struct permits_client *c = &st->clients[i];
    struct permits_message m = c->asks[0];

    flat_remove(c->asks, &c->asked, sizeof m, 0);
    permits_server_do_request(st, i, &m);
    m.limit = st->limit;
    m.limit_zxid = st->limit_zxid;
    if (m.heard)
        permits_push_answer(c, m);
}
