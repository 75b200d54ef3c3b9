#include "model.h"

#include <string.h>

/* ---- watches ---- */

uint8_t *link_watch_wanted(struct client *c, unsigned about)
{
    return about == ATTEMPT_OWN           ? &c->own_watch
           : about == ATTEMPT_PREDECESSOR ? &c->predecessor_watch
                                          : NULL;
}

int link_watch_asked(const struct client *c, uint8_t node)
{
    int count = 0;

    for (int k = 0; k < c->replies_count; k++)
        count += c->replies[k].to.node == node &&
                 (c->replies[k].to.watch || c->replies[k].to.verb == STORE_UNWATCH);
    for (int k = 0; k < c->asks_count; k++)
        count += c->asks[k].node == node && (c->asks[k].watch || c->asks[k].verb == STORE_UNWATCH);
    return count;
}

/* A request for the subscription is under way, behind the one that was answered or has fired. */
static bool link_asks_anew(const struct client *c, unsigned about)
{
    for (int k = 0; k < c->replies_count; k++)
        if (c->replies[k].to.watch && c->replies[k].to.about == about)
            return true;
    for (int k = 0; k < c->asks_count; k++)
        if (c->asks[k].watch && c->asks[k].about == about)
            return true;
    return false;
}

/* settle(): removes the watch nobody wants. */
static void link_settle(struct client *c, uint8_t node)
{
    if (!(c->armed & MODEL_BIT(node)) || c->own_watch == node || c->predecessor_watch == node ||
        link_watch_asked(c, node) > 0)
        return;
    c->armed &= (uint16_t)~MODEL_BIT(node);
    model_push_ask(c, (struct ask){.verb = STORE_UNWATCH, .node = node, .once = true});
}

void link_watch_add(struct client *c, const struct ask *ask)
{
    uint8_t *wanted = link_watch_wanted(c, ask->about);

    if (*wanted != ask->node)
        link_watch_drop(c, ask->about, false);
    *wanted = ask->node;
}

void link_watch_drop(struct client *c, unsigned about, bool deleting)
{
    uint8_t *wanted = link_watch_wanted(c, about), node = *wanted;

    *wanted = MODEL_NONE;
    if (node != MODEL_NONE && !deleting)
        link_settle(c, node);
}

void link_watch_answered(struct client *c, const struct ask *ask, enum store_rc rc)
{
    if (rc == STORE_OK) {
        c->armed |= MODEL_BIT(ask->node);
        c->kept |= MODEL_BIT(ask->node);
    } else if (!link_asks_anew(c, ask->about)) {
        *link_watch_wanted(c, ask->about) = MODEL_NONE;
    }
    link_settle(c, ask->node);
}

/* In fire(): whether it is told. */
static bool link_fires(struct client *c, unsigned about, uint8_t node)
{
    uint8_t *wanted = link_watch_wanted(c, about);

    if (*wanted != node || link_asks_anew(c, about)) /* the answer will tell */
        return false;
    *wanted = MODEL_NONE;
    return true;
}

/* on_removed() */
static void link_unwatched(struct client *c, uint8_t node, enum store_rc rc)
{
    if (rc == STORE_UNKNOWN)
        c->armed |= MODEL_BIT(node);
    else
        c->kept &= (uint16_t)~MODEL_BIT(node);
    link_settle(c, node);
}

/* watch_fired() */
static void link_fired(struct state *st, int i, uint8_t node, bool gone)
{
    static const unsigned both[] = {ATTEMPT_OWN, ATTEMPT_PREDECESSOR};
    struct client *c = &st->clients[i];

    c->kept &= (uint16_t)~MODEL_BIT(node);
    c->armed &= (uint16_t)~MODEL_BIT(node);
    for (int k = 0; k < 2; k++) {
        if (!link_fires(c, both[k], node))
            continue;
        if (both[k] == ATTEMPT_OWN)
            st->nodes[node].heard |= gone;
        client_step(st, i,
                    &(struct heard){.ev = {MACHINE_EV_FIRED, .node = both[k], .gone = gone}});
    }
    link_settle(c, node);
}

/* ---- answers ---- */

/* Names of nodes are compared, as they can be the same again in a directory made anew. */
static bool link_have_one_name(const struct state *st, uint8_t a, uint8_t b)
{
    const struct node *x = &st->nodes[a], *y = &st->nodes[b];

    return x->client == y->client && x->id == y->id && x->number == y->number;
}

/* head_hint_read() */
static enum head_hint link_read_hint(const struct state *st, int i, struct hint hint)
{
    const uint8_t predecessor = st->clients[i].predecessor;

    if (hint.node == MODEL_FOREIGN || hint.node == MODEL_NONE)
        return hint.node == MODEL_NONE ? HINT_NONE : HINT_FOREIGN;
    return predecessor != MODEL_NONE && link_have_one_name(st, hint.node, predecessor) ? HINT_NAMED
                                                                                       : HINT_OTHER;
}

/* contender_parse_list() */
static struct child link_child(const struct state *st, int i, uint8_t n, uint32_t id)
{
    const struct node *node = &st->nodes[n];

    return (struct child){.id = id,
                          .kind = model_node_kind(node),
                          .rule = model_config.rules[node->client],
                          .number = node->number,
                          .own = client_is_own(st, i, n),
                          .old = client_is_old(st, i, n),
                          .retains = model_config.retains[node->client]};
}

static void link_step_listed(struct state *st, int i, const struct reply *reply,
                             struct heard *heard)
{
    struct child children[MODEL_NODES];
    uint8_t listed[MODEL_NODES];
    uint32_t count = 0;

    for (uint8_t n = 0; n < MODEL_NODES; n++) {
        if (!(reply->names & MODEL_BIT(n)))
            continue;
        children[count] = link_child(st, i, n, count);
        listed[count++] = n;
    }
    heard->moment.hint = reply->hint.node == MODEL_NONE ? HINT_NONE : HINT_UNREAD;
    heard->moment.children = children;
    heard->listed = listed;
    client_step(st, i, heard);
}

/* contender_see_answer() */
static void link_see(struct state *st, int i, const struct reply *reply, struct heard *heard)
{
    const uint8_t n = reply->to.node;

    if (reply->rc != STORE_OK)
        return;
    heard->moment.asked = reply->asked;
    heard->moment.unused = reply->hint.node != MODEL_FOREIGN;
    heard->moment.hint = link_read_hint(st, i, reply->hint);
    if (n == MODEL_NONE)
        return;
    heard->moment.number = st->nodes[n].number;
    heard->ev.czxid = st->nodes[n].czxid;
    heard->ev.own = st->nodes[n].client == i && st->nodes[n].session == st->clients[i].session;
}

/* contender_keep() */
static void link_keep(struct state *st, int i, const struct reply *reply)
{
    if (model_asks(&reply->to, STORE_CREATE, ATTEMPT_NEW) && reply->rc == STORE_OK)
        st->clients[i].node = reply->to.node;
    if (model_asks(&reply->to, STORE_GET, ATTEMPT_OWN) && reply->rc == STORE_NONODE)
        st->nodes[reply->to.node].heard = true;
}

void link_answer(struct state *st, int i, const struct reply *reply)
{
    struct client *c = &st->clients[i];
    struct heard heard = {.ev = {.kind = MACHINE_EV_ANSWER,
                                 .rc = (enum store_rc)reply->rc,
                                 .verb = (enum store_kind)reply->to.verb,
                                 .node = reply->to.about,
                                 .slot = (uint8_t)reply->to.number.slot,
                                 .version = reply->hint.version,
                                 .count = (size_t)__builtin_popcount(reply->names)}};
    const enum exchange_answer answer =
        exchange_answered(&c->exchange, reply->to.number, &heard.ev);

    if (answer == EXCHANGE_PARENTS)
        st->broken = "an action that nobody understands";
    if (answer != EXCHANGE_HEARD)
        return;
    link_keep(st, i, reply);
    link_see(st, i, reply, &heard);
    if (reply->to.verb == STORE_LIST)
        link_step_listed(st, i, reply, &heard);
    else
        client_step(st, i, &heard);
}

/* refusal_begin() of lib/session/orphans.c: tried again, and the session goes. */
static void link_refused(struct client *c, struct ask delete)
{
    c->purge = true;
    model_push_ask(c, delete);
}

void link_take(struct state *st, int i)
{
    struct client *c = &st->clients[i];
    const struct reply reply = model_take_reply(c);

    if (reply.fired) {
        link_fired(st, i, reply.to.node, reply.gone);
    } else if (reply.to.heard) {
        if (reply.to.watch)
            link_watch_answered(c, &reply.to, (enum store_rc)reply.rc);
        link_answer(st, i, &reply);
    } else if (reply.to.verb == STORE_DELETE) {
        link_refused(c, reply.to);
    } else {
        link_unwatched(c, reply.to.node, STORE_OK);
    }
}

/* ---- connection and session ---- */

/* request_on_reply() of lib/session/request.c, with STORE_UNKNOWN, of what is sent once. */
static void link_lose(struct state *st, int i, const struct ask *ask)
{
    if (ask->heard)
        link_answer(st, i, &(struct reply){.to = *ask, .rc = STORE_UNKNOWN});
    else if (ask->verb == STORE_UNWATCH)
        link_unwatched(&st->clients[i], ask->node, STORE_UNKNOWN);
}

/* on_down(); the library tells of the connection first and then of what was under way. What is
 * asked again stays before whatever is asked now: park(). */
void link_down(struct state *st, int i)
{
    struct client *c = &st->clients[i];
    struct ask under_way[2 * MODEL_QUEUE];
    int count = 0;

    for (int k = 0; k < c->replies_count; k++)
        if (c->replies[k].fired && !c->replies[k].gone)
            c->missed |= MODEL_BIT(c->replies[k].to.node);
        else if (!c->replies[k].fired)
            under_way[count++] = c->replies[k].to;
    for (int k = 0; k < c->asks_count; k++)
        under_way[count++] = c->asks[k];
    c->connected = false;
    c->connection++;
    c->watched = 0;
    c->asks_count = c->replies_count = 0;
    for (int k = 0; k < count; k++)
        if (!under_way[k].once)
            model_push_ask(c, under_way[k]);
    for (int k = 0; k < count; k++)
        if (under_way[k].once)
            link_lose(st, i, &under_way[k]);
}

/* on_up(): a new session is proved by its creation. */
void link_up(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    c->connected = true;
    c->connection++;
    if (!c->established) {
        c->session++;
        c->established = true;
        c->in_time = true;
    }
    client_extend(st, i);
}

/* incarnation_close(): what is under way is answered with STORE_GONE, of which no machine hears. */
static void link_end_session(struct client *c)
{
    c->established = c->connected = c->in_time = c->deadline_due = c->purge = false;
    c->expired = c->cut = false;
    c->connection++;
    c->asks_count = c->replies_count = 0;
    c->own_watch = c->predecessor_watch = MODEL_NONE;
    c->watched = c->kept = c->armed = c->missed = 0;
}

/* incarnation_replace() and on_replaced() of locks.c */
void link_replace(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    link_end_session(c);
    if (c->machine.state == ST_DONE)
        return;
    client_step_kind(st, i, MACHINE_EV_SESSION);
}

/* end_all() of locks.c, and what closing does behind it */
void link_close(struct state *st, int i)
{
    client_step_kind(st, i, MACHINE_EV_STOP);
    client_step_kind(st, i, MACHINE_EV_OVER);
    link_end_session(&st->clients[i]);
}
