#include "model.h"

#include "recipes/rule.h"

static bool stands(const struct state *st, uint8_t n)
{
    return n != MODEL_NONE && (st->standing & MODEL_BIT(n));
}

/* By the order of creation, which knows nothing of numbers or of layouts: an independent opinion.
 */
static bool is_preceded(const struct state *st, int i)
{
    const struct node *own = &st->nodes[st->clients[i].node];

    for (int n = 0; n < MODEL_NODES; n++)
        if ((st->standing & MODEL_BIT(n)) && st->nodes[n].client != i &&
            st->nodes[n].czxid < own->czxid &&
            (model_node_kind(own) != CHILD_READ || model_node_kind(&st->nodes[n]) != CHILD_READ))
            return true;
    return false;
}

/* A reader's need not rise above those of other readers. */
static bool is_token_low(struct state *st, const struct node *own)
{
    const bool shares = model_node_kind(own) == CHILD_READ;
    const bool low = own->czxid <= (shares ? st->last_alone : st->last_token);

    if (own->czxid > st->last_token)
        st->last_token = own->czxid;
    if (!shares && own->czxid > st->last_alone)
        st->last_alone = own->czxid;
    return low;
}

void check_grant(struct state *st, int i)
{
    const struct client *c = &st->clients[i];
    const struct node *own = &st->nodes[c->node == MODEL_NONE ? 0 : c->node];

    if (!c->in_time)
        st->broken = "granted without a deadline";
    else if (c->node == MODEL_NONE || c->machine.token != own->czxid)
        st->broken = "the token is not the node's, or did not rise";
    else if (!own->headed)
        st->broken = "granted a node that was never first";
    if (st->broken || !stands(st, c->node))
        return;
    if (is_preceded(st, i))
        st->broken = "granted although another is to be waited for";
    else if (is_token_low(st, own))
        st->broken = "the token is not the node's, or did not rise";
}

void check_asked(struct state *st, int i)
{
    const struct client *c = &st->clients[i];

    if (c->told_asked || !c->decided || c->node == MODEL_NONE || !st->nodes[c->node].asked)
        st->broken = "told that it is asked to give way: wrongly, or twice";
}

/* Layouts of which one does not wait for the other, told apart by hand. */
static bool is_incompatible(int i, const struct node *n)
{
    const enum rule rule = model_config.rules[i];
    const enum child_kind other = model_node_kind(n);

    return rule == RULE_LATCH      ? other != CHILD_LATCH
           : rule == RULE_SELECTOR ? other != CHILD_LOCK
           : rule == RULE_READ || rule == RULE_WRITE
               ? other != CHILD_READ && other != CHILD_WRITE && other != CHILD_LOCK
               : other != CHILD_LOCK && other != CHILD_APACHE;
}

void check_refusal(struct state *st, int i, uint8_t child)
{
    const struct node *n = &st->nodes[child], *own = &st->nodes[st->clients[i].node];

    if (child == MODEL_NONE || n->client == i || n->czxid > own->czxid || !is_incompatible(i, n))
        st->broken = "refused, and the child named is no reason";
}

static bool check_is_create(const struct ask *ask)
{
    return model_asks(ask, STORE_CREATE, ATTEMPT_NEW);
}

static bool check_is_delete(const struct ask *ask)
{
    return model_asks(ask, STORE_DELETE, ATTEMPT_OWN);
}

/* It leaves the own node's watch. */
static bool check_is_watching_read(const struct ask *ask)
{
    return model_asks(ask, STORE_GET, ATTEMPT_OWN) && ask->watch;
}

static bool check_asks_for(const struct client *c, bool (*is)(const struct ask *ask), uint8_t n)
{
    for (int k = 0; k < c->asks_count; k++)
        if (is(&c->asks[k]) && c->asks[k].node == n)
            return true;
    return false;
}

/* Its delete is on the way, or the refusal that makes it be sent again. */
static bool check_will_be_deleted(const struct client *c, uint8_t n)
{
    for (int k = 0; k < c->replies_count; k++)
        if (check_is_delete(&c->replies[k].to) && c->replies[k].to.node == n)
            return true;
    return check_asks_for(c, check_is_delete, n);
}

static bool check_hears_of(const struct client *c, uint8_t n)
{
    for (int k = 0; k < c->replies_count; k++)
        if (c->replies[k].to.node == n &&
            (c->replies[k].fired || check_is_watching_read(&c->replies[k].to)))
            return true;
    return false;
}

/* One whose node a third party removed is excused; it must hear of it, though. */
static const char *check_holder(const struct state *st, const struct client *c)
{
    if (c->node == MODEL_NONE)
        return "a valid grant without a node";
    if (stands(st, c->node))
        return NULL;
    if (!st->nodes[c->node].forced)
        return "a valid grant without a node";
    if (st->nodes[c->node].heard)
        return "it heard that its node is gone, and holds still";
    if (c->expired || c->timer || check_asks_for(c, check_is_watching_read, c->node) ||
        check_hears_of(c, c->node) || (c->watched & MODEL_BIT(c->node)) ||
        (!c->connected && (c->kept & MODEL_BIT(c->node))))
        return NULL;
    return "a holder will never hear that its node is gone";
}

/* A watch is of use until its server has seen the request; from then on the event, the timer that
 * sets the first watch, or a read must be under way. */
static const char *check_heeding(const struct client *c)
{
    const uint16_t bit = MODEL_BIT(c->node);
    const bool pending = c->timer || c->expired ||
                         check_asks_for(c, check_is_watching_read, c->node) ||
                         check_hears_of(c, c->node) || (c->missed & bit);

    if (pending || (!(c->sees_asked & bit) && ((c->connected ? c->watched : c->kept) & bit)))
        return NULL;
    return "a holder will never hear that it is asked to give way";
}

/* Every node of a finished attempt has a delete under way, or its session ends. */
static const char *check_done(const struct state *st, int i)
{
    const struct client *c = &st->clients[i];

    if (!c->established || c->expired || c->purge)
        return NULL;
    if (check_asks_for(c, check_is_create, MODEL_NONE))
        return "a node is left that nobody will delete";
    for (uint8_t n = 0; n < MODEL_NODES; n++)
        if (stands(st, n) && st->nodes[n].client == i && st->nodes[n].session == c->session &&
            !check_will_be_deleted(c, n))
            return "a node is left that nobody will delete";
    return NULL;
}

/* A watch that stands has a subscription, or goes with its node, or its removal is under way. */
static const char *check_watches(const struct client *c)
{
    for (uint8_t n = 0; n < MODEL_NODES; n++)
        if ((c->armed & c->watched & MODEL_BIT(n)) && c->own_watch != n &&
            c->predecessor_watch != n && !link_watch_asked(c, n) && !check_will_be_deleted(c, n))
            return "a watch is left that nobody wants";
    return NULL;
}

/* One that tries waits for one that retains alone, and a timer ends it. */
static bool waits_in_vain(const struct state *st, int i)
{
    const struct client *c = &st->clients[i];

    return model_config.try_only[i] && c->machine.state == ST_WAITING &&
           !(c->timer && model_config.retains[st->nodes[c->predecessor].client]);
}

/* Its caller has gone, and it was not sent yet. */
static bool check_keeps_create(const struct client *c)
{
    return c->machine.state == ST_LEAVING && !c->connected &&
           check_asks_for(c, check_is_create, MODEL_NONE);
}

const char *check_state(const struct state *st)
{
    int valid = 0, alone = 0; /* of all layouts together */
    const char *broken = NULL;

    for (int i = 0; i < model_config.contenders && !broken; i++) {
        const struct client *c = &st->clients[i];
        if (!attempt_invariant(&c->machine))
            return "the recipe is inconsistent";
        if (waits_in_vain(st, i))
            return "one that only tries waits for others";
        if (check_keeps_create(c))
            return "a create waits to be sent that nobody wants any more";
        if (c->grant) {
            broken = check_holder(st, c);
            if (!broken && stands(st, c->node) && st->nodes[c->node].asked && !c->told_asked)
                broken = check_heeding(c);
            alone += stands(st, c->node) && rule_kind(c->machine.rule) != CHILD_READ;
            if (stands(st, c->node) && ++valid > 1 && alone > 0)
                return "two grants are valid";
        }
        if (!broken && c->machine.state == ST_DONE)
            broken = check_done(st, i);
        if (!broken)
            broken = check_watches(c);
    }
    return broken;
}

const char *check_end(const struct state *st)
{
    for (int i = 0; i < model_config.contenders; i++)
        if (st->clients[i].machine.state != ST_DONE || !st->clients[i].decided)
            return "somebody waits for ever";
    if (st->standing)
        return "everybody is done, and something is left at the server";
    for (int i = 0; i < model_config.contenders; i++) {
        const struct client *c = &st->clients[i];
        if (c->watched || c->asks_count || c->replies_count)
            return "everybody is done, and something is left at the server";
    }
    return NULL;
}
