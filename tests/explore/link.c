#include "link.h"

#include <string.h>

#include "driver.h"
#include "watches.h"

/* watch_fired() */
static void watch_fired(struct state *st, int i, uint8_t node, bool gone)
{
    struct client *c = &st->clients[i];

    c->kept &= (uint16_t)~MODEL_BIT(node);
    c->armed &= (uint16_t)~MODEL_BIT(node);
    if (watches_fires(&c->own_subscription, node)) {
        st->nodes[node].heard |= gone;
        driver_step(st, i, &(struct event){.kind = EV_OWN_FIRED, .gone = gone});
    }
    if (watches_fires(&c->predecessor_subscription, node)) {
        driver_step(st, i, &(struct event){.kind = EV_PRED_FIRED, .gone = gone});
    }
    watches_settle(c, node);
}

/* ---- answers ---- */

/* Names of nodes are compared, as they can be the same again in a directory made anew. */
static bool have_one_name(const struct state *st, uint8_t a, uint8_t b)
{
    const struct node *x = &st->nodes[a], *y = &st->nodes[b];

    return x->client == y->client && x->id == y->id && x->number == y->number;
}

/* on_hint_read() */
static void hints_read(struct state *st, int i, const struct reply *reply, struct event *ev)
{
    uint8_t named = reply->hint.node;

    ev->kind = EV_HINT_READ;
    ev->version = reply->hint.version;
    ev->count = (size_t)__builtin_popcount(reply->names);
    if (named == MODEL_FOREIGN)
        ev->hint = HINT_FOREIGN;
    else if (named != MODEL_NONE)
        ev->hint = st->clients[i].predecessor != MODEL_NONE &&
                           have_one_name(st, named, st->clients[i].predecessor)
                       ? HINT_NAMED
                       : HINT_OTHER;
    driver_step(st, i, ev);
}

/* parse_child(), for on_listed() */
static void listed(struct state *st, int i, const struct reply *reply, struct event *ev)
{
    struct child children[MODEL_NODES];

    ev->kind = EV_LISTED;
    ev->version = reply->hint.version;
    ev->hint = reply->hint.node == MODEL_NONE ? HINT_NONE : HINT_UNREAD;
    ev->children = children;
    for (int n = 0; n < MODEL_NODES; n++)
        if (reply->names & MODEL_BIT(n))
            children[ev->count++] =
                (struct child){.id = (uint32_t)n,
                               .kind = model_node_kind(&st->nodes[n]),
                               .rule = model_config.rules[st->nodes[n].client],
                               .number = st->nodes[n].number,
                               .own = driver_is_own(st, i, n),
                               .old = driver_is_old(st, i, n),
                               .retains = model_config.retains[st->nodes[n].client]};
    driver_step_seeing(st, i, ev, reply->names);
}

static void use_stat(const struct state *st, const struct reply *reply, struct event *ev)
{
    if (reply->answer != ANSWER_OK)
        return;
    ev->czxid = st->nodes[reply->node].czxid;
    ev->ephemeral_owner = st->nodes[reply->node].session;
    ev->number = st->nodes[reply->node].number;
}

static void own_read(struct state *st, int i, const struct reply *reply, struct event *ev)
{
    struct client *c = &st->clients[i];

    if (reply->answer == ANSWER_NONODE && reply->tag == c->machine.tag)
        st->nodes[reply->node].heard = true;
    if (reply->kind == ASK_READ)
        watches_answered(c, reply, &c->own_subscription);
    use_stat(st, reply, ev);
    ev->kind = EV_READ;
    ev->asked = reply->asked;
    driver_step(st, i, ev);
}

/* on_directory_read() */
static void directory_read(struct state *st, int i, const struct reply *reply, struct event *ev)
{
    if (reply->answer == ANSWER_OK && !reply->names) {
        model_push_ask(&st->clients[i], ASK_DIRECTORY_DELETE, MODEL_NONE, reply->tag);
        return;
    }
    if (reply->answer == ANSWER_OK)
        ev->answer = ANSWER_NOTEMPTY;
    ev->kind = EV_RESET;
    driver_step(st, i, ev);
}

static void created(struct state *st, int i, const struct reply *reply, struct event *ev)
{
    if (reply->answer == ANSWER_OK)
        st->clients[i].node = reply->node;
    use_stat(st, reply, ev);
    ev->kind = EV_CREATED;
    driver_step(st, i, ev);
}

static void answered(struct state *st, int i, const struct reply *reply)
{
    struct client *c = &st->clients[i];
    struct event ev = {.answer = (enum answer)reply->answer, .tag = reply->tag};

    switch (reply->kind) {
    case ASK_CREATE:
        created(st, i, reply, &ev);
        break;
    case ASK_LIST:
        listed(st, i, reply, &ev);
        break;
    case ASK_HINT_READ:
        hints_read(st, i, reply, &ev);
        break;
    case ASK_PROVE:
    case ASK_READ:
        own_read(st, i, reply, &ev);
        break;
    case ASK_WATCH:
        watches_answered(c, reply, &c->predecessor_subscription);
        ev.kind = EV_WATCHED;
        if (reply->answer == ANSWER_OK && st->nodes[reply->node].client == i)
            ev.ephemeral_owner = st->nodes[reply->node].session;
        driver_step(st, i, &ev);
        break;
    case ASK_DIRECTORY_READ:
        directory_read(st, i, reply, &ev);
        break;
    default:
        ev.kind = reply->kind == ASK_BARRIER   ? EV_PASSED
                  : reply->kind == ASK_PARENTS ? EV_PARENTS_MADE
                                               : EV_RESET;
        driver_step(st, i, &ev);
    }
}

/* refuse() of lib/session/request.c: tried again, and the session goes. */
static void delete_refused(struct client *c, uint8_t node)
{
    c->purge = true;
    model_push_ask(c, ASK_DELETE, node, 0);
}

void link_take(struct state *st, int i)
{
    struct client *c = &st->clients[i];
    struct reply reply = model_take_reply(c);

    if (reply.kind == REPLY_FIRED)
        watch_fired(st, i, reply.node, reply.gone);
    else if (reply.kind == ASK_DELETE)
        delete_refused(c, reply.node);
    else if (reply.kind == ASK_UNWATCH)
        watches_removed(c, reply.node, ANSWER_OK);
    else
        answered(st, i, &reply);
}

/* ---- connection and session ---- */

/* on_reply() of lib/session/request.c, with STORE_UNKNOWN: those that are told so, and may ask for
 * more */
static void lost_once(struct state *st, int i, const struct ask *a)
{
    if (a->kind == ASK_CREATE)
        driver_step(st, i,
                    &(struct event){.kind = EV_CREATED, .answer = ANSWER_UNKNOWN, .tag = a->tag});
    else if (a->kind == ASK_UNWATCH)
        watches_removed(&st->clients[i], a->node, ANSWER_UNKNOWN);
}

/* park(): those that are asked again stay before whatever is asked now */
static void ask_again(struct client *c, const struct ask *a)
{
    if (a->kind != ASK_CREATE && a->kind != ASK_UNWATCH && a->kind != ASK_HINT)
        model_push_ask(c, (enum ask_kind)a->kind, a->node, a->tag);
}

/* on_down(); the library tells of the connection first and then of what was under way. */
void link_down(struct state *st, int i)
{
    struct client *c = &st->clients[i];
    struct ask under_way[2 * MODEL_QUEUE];
    int count = 0;

    for (int k = 0; k < c->replies_count; k++)
        if (c->replies[k].kind == REPLY_FIRED && !c->replies[k].gone)
            c->missed |= MODEL_BIT(c->replies[k].node);
        else if (c->replies[k].kind != REPLY_FIRED)
            under_way[count++] = (struct ask){
                .kind = c->replies[k].kind, .node = c->replies[k].node, .tag = c->replies[k].tag};
    for (int k = 0; k < c->asks_count; k++)
        under_way[count++] = c->asks[k];
    c->connected = false;
    c->connection++;
    c->watched = 0;
    c->asks_count = c->replies_count = 0;
    for (int k = 0; k < count; k++)
        ask_again(c, &under_way[k]);
    for (int k = 0; k < count; k++)
        lost_once(st, i, &under_way[k]);
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
    driver_extend(st, i);
}

/* incarnation_close() */
static void end_session(struct client *c)
{
    c->established = c->connected = c->in_time = c->lapse_due = c->purge = false;
    c->expired = c->cut = false;
    c->connection++;
    c->asks_count = c->replies_count = 0;
    watches_clear(c);
    c->watched = c->kept = c->armed = c->missed = 0;
    memset(c->asked, 0, sizeof(c->asked));
}

/* incarnation_replace() and on_replaced() */
void link_replace(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    end_session(c);
    if (c->retired)
        return;
    c->id++;
    driver_step(st, i, &(struct event){.kind = EV_REPLACED});
}

/* contender_end_all(), and what closing does behind it */
void link_close(struct state *st, int i)
{
    driver_abort(st, i);
    driver_step(st, i, &(struct event){.kind = EV_END});
    end_session(&st->clients[i]);
}
