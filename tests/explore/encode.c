#include "search.h"

#include <string.h>

enum { BYTES_MAX = 1024 };

struct encoder {
    const struct state *st;
    uint8_t rank[MODEL_NODES];  /* of each node, by creation */
    uint8_t order[MODEL_NODES]; /* the nodes in that order */
    int nodes;
    uint8_t place[MODEL_CONTENDERS]; /* of each client */
    uint8_t at[MODEL_CONTENDERS];    /* the clients by place */
    uint64_t words[BYTES_MAX / 8];
    size_t count;
};

static void put(struct encoder *e, int byte)
{
    ((uint8_t *)e->words)[e->count++] = (uint8_t)byte;
}

static void put_node(struct encoder *e, uint8_t node)
{
    put(e, node < MODEL_NODES ? e->rank[node] : node);
}

static void put_hint(struct encoder *e, struct hint hint)
{
    put_node(e, hint.node);
    put(e, hint.version);
}

/* What is asked, and of what. */
static uint8_t encode_word_of(const struct ask *ask)
{
    return (uint8_t)(ask->verb << 4 | ask->about << 1 | ask->watch);
}

static void put_nodes(struct encoder *e, uint16_t nodes)
{
    int ranks = 0;

    for (int k = 0; k < e->nodes; k++)
        ranks |= (nodes >> e->order[k] & 1) << k;
    put(e, ranks & 0xff);
    put(e, ranks >> 8);
}

static void rank_nodes(struct encoder *e)
{
    const struct node *nodes = e->st->nodes;

    for (uint8_t n = 0; n < MODEL_NODES; n++) {
        if (!nodes[n].used)
            continue;
        int k = e->nodes++;
        for (; k > 0 && nodes[e->order[k - 1]].czxid > nodes[n].czxid; k--)
            e->order[k] = e->order[k - 1];
        e->order[k] = n;
    }
    for (uint8_t k = 0; k < e->nodes; k++)
        e->rank[e->order[k]] = k;
}

/* What of a client can be told without naming others. Where it does not decide, states that differ
 * in names only may be visited twice: that costs time and nothing else. */
static uint64_t encode_client_key(const struct encoder *e, int i)
{
    const struct client *c = &e->st->clients[i];
    uint64_t key = (uint64_t)model_config.rules[i] << 2 | (uint64_t)model_config.try_only[i] << 1 |
                   model_config.retains[i];

    key = key << 8 | (uint64_t)c->machine.state;
    key = key << 8 | (c->node == MODEL_NONE ? MODEL_NONE : e->rank[c->node]);
    key = key << 4 | c->asks_count;
    key = key << 4 | c->replies_count;
    key = key << 8 | (c->asks_count ? encode_word_of(&c->asks[0]) : 0xffU);
    key = key << 8 |
          (c->replies_count ? encode_word_of(&c->replies[0].to) | c->replies[0].fired * 0x80U
                            : 0xffU);
    key = key << 4 | (uint64_t)(c->connected | c->in_time << 1 | c->expired << 2 | c->grant << 3);
    key = key << 4 | c->faults;
    return key;
}

static void place_clients(struct encoder *e)
{
    uint64_t keys[MODEL_CONTENDERS];

    for (uint8_t i = 0; i < model_config.contenders; i++) {
        int k = i;
        uint64_t key = encode_client_key(e, i);
        for (; k > 0 && keys[k - 1] > key; k--) {
            keys[k] = keys[k - 1];
            e->at[k] = e->at[k - 1];
        }
        keys[k] = key;
        e->at[k] = i;
    }
    for (uint8_t k = 0; k < model_config.contenders; k++)
        e->place[e->at[k]] = k;
}

static int at_most(int value, int limit)
{
    return value < limit ? value : limit;
}

/* How many numbers are lower: their order, and how near the limit is. */
static void put_number(struct encoder *e, int32_t number)
{
    int lower = 0;

    for (int k = 0; k < e->nodes; k++)
        lower += e->st->nodes[e->order[k]].number < number;
    put(e, lower);
    put(e, at_most(INT32_MAX - number, 0xff));
}

/* What was, as far as it will be asked for: whether a grant is right when it is made, and why its
 * node is gone while it is valid. */
static int past_of(const struct state *st, const struct node *n)
{
    const struct client *c = &st->clients[n->client];
    int past = 0;

    if (n->id != c->id)
        return 0;
    if (!c->decided)
        past |= n->headed | (n->czxid <= st->last_token) << 1 | (n->czxid <= st->last_alone) << 2;
    if (!c->decided || c->grant)
        past |= n->forced << 3 | n->heard << 4;
    return past;
}

static void put_table(struct encoder *e)
{
    const struct state *st = e->st;

    put(e, e->nodes);
    for (int k = 0; k < e->nodes; k++) {
        const struct node *n = &st->nodes[e->order[k]];
        const struct client *client = &st->clients[n->client];
        put(e, e->place[n->client]);
        put(e, at_most(client->id - n->id, 2) << 4 | at_most(client->session - n->session, 1));
        put(e, past_of(st, n) | n->asked << 5);
        put_number(e, n->number);
    }
    put_nodes(e, st->standing);
    put_number(e, st->next);
    put(e, st->directory);
    put_hint(e, st->hint);
}

static void put_log(struct encoder *e)
{
    put(e, e->st->log_count);
    for (int k = 0; k < e->st->log_count; k++) {
        const struct change *change = &e->st->log[k];
        put(e, change->kind);
        put_nodes(e, change->nodes);
        put_hint(e, change->hint);
        put(e, change->session ? e->place[change->client] : MODEL_NONE);
        put(e, change->session && change->session == e->st->clients[change->client].session);
    }
}

/* Only whether its question is the present one matters. */
static void encode_put_ask(struct encoder *e, const struct client *c, const struct ask *ask)
{
    const bool present = ask->heard && exchange_plain_request(&c->exchange, ask->number).question;

    put(e, encode_word_of(ask) | present << 7);
    put_node(e, ask->node);
    put(e, ask->version);
}

static void encode_put_queues(struct encoder *e, const struct client *c)
{
    put(e, c->asks_count << 4 | c->replies_count);
    for (int k = 0; k < c->asks_count; k++)
        encode_put_ask(e, c, &c->asks[k]);
    for (int k = 0; k < c->replies_count; k++) {
        const struct reply *reply = &c->replies[k];
        encode_put_ask(e, c, &reply->to);
        put(e, reply->rc | reply->fired << 5 | reply->asked << 6 | reply->gone << 7);
        put_nodes(e, reply->names);
        put_hint(e, reply->hint);
    }
}

/* Number and token count while there is a node, ahead while one is waited for. How often the
 * directory was made (rounds) is left out: no bound reaches its limit. */
static void encode_put_machine(struct encoder *e, const struct client *c)
{
    const struct attempt *m = &c->machine;
    const struct node *own = c->node == MODEL_NONE ? NULL : &e->st->nodes[c->node];
    const uint32_t now = c->connected ? c->connection : 0;

    put(e, (int)m->state);
    put(e, m->try_only | m->has_node << 1 | m->watching << 2 | m->told << 3 | m->own_watched << 4 |
               (m->own_watched && m->own_connection == now) << 5 | m->shared_session << 6 |
               (m->try_only && m->waited) << 7);
    put(e, m->asked | m->awaits << 1 | (m->awaits && m->awaited_on == now) << 2 | m->creating << 3);
    put(e, m->state == ST_WAITING || m->state == ST_SUCCEEDING ? (int)m->ahead : 0);
    put(e, m->hintable && !m->told ? 1 + m->version : 0);
    put(e, m->hintable && !m->told ? (int)m->count : 0);
    put(e, own && own->number == m->number);
    put(e, own && own->czxid == m->token);
}

static void encode_put_client(struct encoder *e, int i)
{
    const struct client *c = &e->st->clients[i];

    put(e, (int)model_config.rules[i] << 1 | model_config.retains[i]);
    if (model_is_at_rest(e->st, i)) {
        put(e, MODEL_NONE);
        return;
    }
    put(e, c->faults);
    encode_put_machine(e, c);
    put_node(e, c->node);
    put_node(e, c->predecessor);
    put_node(e, c->own_watch);
    put_node(e, c->predecessor_watch);
    put(e, c->timer | c->established << 1 | c->connected << 2 | c->in_time << 3 |
               c->deadline_due << 4 | c->expired << 5 | c->cut << 6);
    put(e, c->sees_directory | c->decided << 1 | c->grant << 2 | c->stopping << 3 | c->purge << 4 |
               c->orphan << 5 | c->told_asked << 6);
    put(e, c->followed);
    put_nodes(e, c->armed);
    put_nodes(e, c->kept);
    put_nodes(e, c->view);
    put_nodes(e, c->watched);
    put_nodes(e, c->sees_asked);
    put_nodes(e, c->missed);
    put_hint(e, c->sees_hint);
    encode_put_queues(e, c);
}

struct breadth_print encode_state(const struct state *st)
{
    struct encoder e = {.nodes = 0};

    e.st = st;
    rank_nodes(&e);
    place_clients(&e);
    put_table(&e);
    put_log(&e);
    for (int k = 0; k < model_config.contenders; k++)
        encode_put_client(&e, e.at[k]);
    while (e.count % sizeof e.words[0])
        put(&e, 0);
    return breadth_print_of(e.words, e.count);
}
