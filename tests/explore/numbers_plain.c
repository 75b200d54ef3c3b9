/* What a state of the explorer of numbers looks like: without the numbers of nodes that are gone,
 * and whichever of the like clients is which. */
#include <string.h>

#include "numbers_world.h"

static uint8_t bit_of(uint8_t node)
{
    return (uint8_t)(node == NUMBERS_NO_NODE ? 0 : NUMBERS_BIT(node));
}

static uint8_t named_by(const struct numbers_client *c)
{
    uint8_t nodes = (uint8_t)(bit_of(c->node) | bit_of(c->waits_for) | c->before | c->watches);

    for (int k = 0; k < c->asked; k++)
        nodes |= (uint8_t)(c->asks[k].names | bit_of(c->asks[k].node));
    for (int k = 0; k < c->answered; k++)
        nodes |= (uint8_t)(c->answers[k].names | bit_of(c->answers[k].node));
    return nodes;
}

static uint8_t move_node(const uint8_t *to, uint8_t node)
{
    return node == NUMBERS_NO_NODE ? node : to[node];
}

static uint8_t move_nodes(const uint8_t *to, uint8_t nodes)
{
    uint8_t moved = 0;

    for (uint8_t n = 0; n < NUMBERS_NODES; n++)
        if (nodes & NUMBERS_BIT(n))
            moved |= NUMBERS_BIT(to[n]);
    return moved;
}

static void move_message(const uint8_t *to, struct numbers_message *m)
{
    m->node = move_node(to, m->node);
    m->names = move_nodes(to, m->names);
}

static void move_names(const uint8_t *to, struct numbers_client *c)
{
    c->node = move_node(to, c->node);
    c->waits_for = move_node(to, c->waits_for);
    c->before = move_nodes(to, c->before);
    c->known = move_nodes(to, c->known);
    c->watches = move_nodes(to, c->watches);
    for (int k = 0; k < c->asked; k++)
        move_message(to, &c->asks[k]);
    for (int k = 0; k < c->answered; k++)
        move_message(to, &c->answers[k]);
}

void numbers_drop_nodes(struct numbers_state *st)
{
    struct numbers_node kept[NUMBERS_NODES] = {{.client = 0}};
    uint8_t to[NUMBERS_NODES] = {0}, used = st->standing, count = 0;

    for (int i = 0; i < numbers_config.clients; i++)
        used |= named_by(&st->clients[i]);
    for (uint8_t n = 0; n < st->made; n++) {
        if (!(used & NUMBERS_BIT(n)))
            continue;
        to[n] = count;
        kept[count] = (struct numbers_node){.client = st->nodes[n].client};
        if (st->standing & NUMBERS_BIT(n))
            kept[count] = st->nodes[n];
        count++;
    }
    memcpy(st->nodes, kept, sizeof kept);
    st->made = count;
    st->standing = move_nodes(to, st->standing);
    for (int i = 0; i < numbers_config.clients; i++)
        move_names(to, &st->clients[i]);
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

void numbers_plain(void *state)
{
    struct numbers_state *st = state;

    for (int rounds = 1; rounds < numbers_config.clients; rounds++)
        for (uint8_t i = 0; i + 1 < numbers_config.clients; i++)
            if (numbers_config.permits[i] == numbers_config.permits[i + 1] &&
                !(numbers_config.silent & (NUMBERS_BIT(i) | NUMBERS_BIT(i + 1))) &&
                memcmp(&st->clients[i], &st->clients[i + 1], sizeof st->clients[i]) > 0)
                swap(st, i, i + 1);
}
