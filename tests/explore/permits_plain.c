/* What a state of the semaphore's explorer looks like: without names. Which of the like clients is
 * which, the numbers of nodes, transaction ids, sessions: only what is compared of them counts. */
#include <stdlib.h>
#include <string.h>

#include "permits_world.h"

enum { ZXIDS = 256 };

static bool has_node(const struct permits_message *m)
{
    return m->node != PERMITS_NO_NODE;
}

/* ---- nodes ---- */

static uint16_t bit_of(uint8_t node)
{
    return (uint16_t)(node == PERMITS_NO_NODE ? 0 : PERMITS_BIT(node));
}

static uint16_t named_by(const struct permits_client *c)
{
    uint16_t nodes = (uint16_t)(c->watches | bit_of(c->node) | bit_of(c->predecessor));

    for (int k = 0; k < c->asked; k++)
        nodes |= (uint16_t)(c->asks[k].names | bit_of(c->asks[k].node));
    for (int k = 0; k < c->answered; k++)
        nodes |= (uint16_t)(c->answers[k].names | bit_of(c->answers[k].node));
    return (uint16_t)(nodes | (c->machine.has_node ? PERMITS_BIT(c->machine.number) : 0));
}

struct places {
    uint8_t to[PERMITS_NODES];
};

static uint8_t move_node(const struct places *p, uint8_t node)
{
    return node == PERMITS_NO_NODE ? node : p->to[node];
}

static uint16_t move_nodes(const struct places *p, uint16_t nodes)
{
    uint16_t moved = 0;

    for (uint8_t n = 0; n < PERMITS_NODES; n++)
        if (nodes & PERMITS_BIT(n))
            moved |= PERMITS_BIT(p->to[n]);
    return moved;
}

static void move_message(const struct places *p, struct permits_message *m)
{
    m->node = has_node(m) ? p->to[m->node] : m->node;
    m->names = move_nodes(p, m->names);
}

static void move_names(const struct places *p, struct permits_client *c)
{
    c->watches = move_nodes(p, c->watches);
    c->node = move_node(p, c->node);
    c->predecessor = move_node(p, c->predecessor);
    c->machine.number = c->machine.has_node ? p->to[c->machine.number] : 0;
    for (int k = 0; k < c->asked; k++)
        move_message(p, &c->asks[k]);
    for (int k = 0; k < c->answered; k++)
        move_message(p, &c->answers[k]);
}

/* Those that nobody names any more are none. */
static void drop_nodes(struct permits_state *st)
{
    struct permits_node kept[PERMITS_NODES] = {{.client = 0}};
    struct places places = {{0}};
    uint16_t used = st->standing;
    uint8_t count = 0;

    for (int i = 0; i < permits_config.clients; i++)
        used |= named_by(&st->clients[i]);
    for (uint8_t n = 0; n < st->made; n++) {
        if (!(used & PERMITS_BIT(n)))
            continue;
        places.to[n] = count;
        kept[count++] = st->nodes[n];
    }
    memcpy(st->nodes, kept, sizeof kept);
    st->made = count;
    st->standing = move_nodes(&places, st->standing);
    for (int i = 0; i < permits_config.clients; i++)
        move_names(&places, &st->clients[i]);
}

/* ---- transactions ---- */

/* Their order is all that matters. */
static void rank_zxids(struct permits_state *st)
{
    uint8_t rank[ZXIDS] = {0}, count = 0;

    rank[st->limit_zxid] = 1;
    for (uint8_t n = 0; n < st->made; n++)
        rank[st->nodes[n].czxid] = 1;
    for (int i = 0; i < permits_config.clients; i++) {
        rank[st->clients[i].machine.limit_zxid] = 1;
        for (int k = 0; k < st->clients[i].answered; k++)
            rank[st->clients[i].answers[k].limit_zxid] = 1;
    }
    for (int z = 1; z < ZXIDS; z++)
        if (rank[z])
            rank[z] = ++count;
    rank[0] = 0;
    st->zxid = count;
    st->limit_zxid = rank[st->limit_zxid];
    for (uint8_t n = 0; n < st->made; n++)
        st->nodes[n].czxid = rank[st->nodes[n].czxid];
    for (int i = 0; i < permits_config.clients; i++) {
        st->clients[i].machine.limit_zxid = rank[st->clients[i].machine.limit_zxid];
        for (int k = 0; k < st->clients[i].answered; k++)
            st->clients[i].answers[k].limit_zxid = rank[st->clients[i].answers[k].limit_zxid];
    }
}

/* ---- what says nothing ---- */

/* It matters only whether a version is the present one; and another's node, whether it has changed.
 */
static void permits_plain_forget_version(const struct permits_state *st, struct permits_message *m)
{
    if (m->about == ATTEMPT_OWN && m->heard)
        m->version = m->version == st->nodes[m->node].version;
    else if (permits_asks(m, STORE_SET, ATTEMPT_LIMIT))
        m->version = m->version == st->limit_zxid;
    else
        m->version = m->version > 0;
}

/* Only a list and a read of the limit tell of it. */
static void permits_plain_forget_limit(struct permits_message *m)
{
    const bool read = permits_asks(m, STORE_GET, ATTEMPT_LIMIT);

    if (!read)
        m->limit = 0;
    if (!read && !permits_asks(m, STORE_LIST, ATTEMPT_CHILDREN))
        m->limit_zxid = 0;
}

static void permits_plain_forget_in_queues(const struct permits_state *st, struct permits_client *c)
{
    for (int k = 0; k < c->asked; k++) {
        c->asks[k].number = exchange_plain_request(&c->exchange, c->asks[k].number);
        permits_plain_forget_version(st, &c->asks[k]);
    }
    for (int k = 0; k < c->answered; k++) {
        c->answers[k].number = exchange_plain_request(&c->exchange, c->answers[k].number);
        permits_plain_forget_version(st, &c->answers[k]);
        permits_plain_forget_limit(&c->answers[k]);
    }
    exchange_plain(&c->exchange);
}

static void permits_plain_forget(struct permits_state *st)
{
    for (int i = 0; i < permits_config.clients; i++)
        permits_plain_forget_in_queues(st, &st->clients[i]);
    for (uint8_t n = 0; n < st->made; n++) {
        struct permits_node *node = &st->nodes[n];
        node->id = node->id == st->clients[node->client].id ? 2 : 1;
        node->version = node->version > 0;
        node->forced = false;
    }
    for (int i = 0; i < permits_config.clients; i++) {
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

    return order ? order : permits_server_nodes(st, a) - permits_server_nodes(st, b);
}

/* Sorts those that ask for the same number of permits. */
static void sort_clients(struct permits_state *st)
{
    for (int rounds = 1; rounds < permits_config.clients; rounds++)
        for (uint8_t i = 0; i + 1 < permits_config.clients; i++)
            if (permits_config.permits[i] == permits_config.permits[i + 1] &&
                compare(st, i, i + 1) > 0)
                swap(st, i, i + 1);
}

void permits_plain(void *state)
{
    struct permits_state *st = state;

    permits_plain_forget(st);
    drop_nodes(st);
    rank_zxids(st);
    sort_clients(st);
}
