#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"
#include "recipes/rule.h"

struct model_config model_config;

struct model_shares model_first_shares(void)
{
    return (struct model_shares){.of = {(uint8_t)model_config.faults}};
}

/* One fault goes from the last that has some, but for the very last, to the one behind it, and so
 * do all that the very last had. */
bool model_next_shares(struct model_shares *shares)
{
    const int last = model_config.contenders - 1;
    const uint8_t rest = shares->of[last];
    int k = last - 1;

    while (k >= 0 && !shares->of[k])
        k--;
    if (k < 0)
        return false;
    shares->of[last] = 0;
    shares->of[k]--;
    shares->of[k + 1] = (uint8_t)(rest + 1);
    return true;
}

void model_init(struct state *st, const struct model_shares *shares)
{
    memset(st, 0, sizeof(*st));
    st->next = model_config.next;
    st->directory = !model_config.no_directory;
    st->hint.node = model_config.foreign ? MODEL_FOREIGN : MODEL_NONE;
    for (int i = 0; i < MODEL_CONTENDERS; i++) {
        struct client *c = &st->clients[i];
        attempt_init(&c->machine, model_config.rules[i], model_config.try_only[i]);
        c->machine.long_queue = model_config.long_queue;
        c->sees_hint = st->hint;
        c->node = c->predecessor = MODEL_NONE;
        c->own_watch = c->predecessor_watch = MODEL_NONE;
        c->id = c->session = c->connection = 1;
        c->established = c->connected = c->in_time = true;
        c->sees_directory = st->directory;
        c->faults = shares->of[i];
    }
}

size_t model_size(void)
{
    return offsetof(struct state, clients) +
           (size_t)model_config.contenders * sizeof(struct client);
}

enum child_kind model_node_kind(const struct node *n)
{
    return rule_kind(model_config.rules[n->client]);
}

bool model_is_at_rest(const struct state *st, int i)
{
    const struct client *c = &st->clients[i];

    if (c->machine.state != ST_DONE || !c->decided || c->grant || c->stopping)
        return false;
    if (c->asks_count || c->replies_count || c->watched || c->expired || c->purge ||
        c->deadline_due)
        return false;
    for (int n = 0; n < MODEL_NODES; n++)
        if ((st->standing & MODEL_BIT(n)) && st->nodes[n].client == i)
            return false;
    return true;
}

void model_require(bool fits, const char *what)
{
    if (fits)
        return;
    fprintf(stderr, "explore: the model is too small: %s\n", what);
    exit(99);
}

bool model_asks(const struct ask *ask, enum store_kind verb, enum attempt_node about)
{
    return ask->verb == verb && ask->about == about;
}

void model_push_ask(struct client *c, struct ask ask)
{
    model_require(c->asks_count < MODEL_QUEUE, "requests");
    c->asks[c->asks_count++] = ask;
}

void model_push_reply(struct client *c, struct reply reply)
{
    model_require(c->replies_count < MODEL_QUEUE, "answers");
    c->replies[c->replies_count++] = reply;
}

struct ask model_take_ask(struct client *c, int at)
{
    const struct ask ask = c->asks[at];

    flat_remove(c->asks, &c->asks_count, sizeof ask, at);
    return ask;
}

struct reply model_take_reply(struct client *c)
{
    const struct reply reply = c->replies[0];

    flat_remove(c->replies, &c->replies_count, sizeof reply, 0);
    return reply;
}

static uint16_t bit_of(uint8_t node)
{
    return (uint16_t)(node < MODEL_NODES ? MODEL_BIT(node) : 0);
}

static uint16_t nodes_of(struct client *c)
{
    uint16_t nodes = c->view | c->watched | c->kept | c->armed;

    if (!c->machine.has_node)
        c->node = MODEL_NONE;
    if (!c->machine.watching && c->machine.state != ST_SUCCEEDING)
        c->predecessor = MODEL_NONE;
    nodes |= bit_of(c->node) | bit_of(c->predecessor) | bit_of(c->own_watch) |
             bit_of(c->predecessor_watch) | bit_of(c->sees_hint.node);
    for (int k = 0; k < c->asks_count; k++)
        nodes |= bit_of(c->asks[k].node);
    for (int k = 0; k < c->replies_count; k++)
        nodes |=
            bit_of(c->replies[k].to.node) | bit_of(c->replies[k].hint.node) | c->replies[k].names;
    return nodes;
}

void model_collect(struct state *st)
{
    uint16_t nodes = st->standing | bit_of(st->hint.node);

    for (int i = 0; i < model_config.contenders; i++)
        nodes |= nodes_of(&st->clients[i]);
    for (int k = 0; k < st->log_count; k++)
        nodes |= st->log[k].nodes | bit_of(st->log[k].hint.node);
    for (int n = 0; n < MODEL_NODES; n++)
        if (!(nodes & MODEL_BIT(n)))
            st->nodes[n] = (struct node){.used = false};
}
