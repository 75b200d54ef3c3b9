#include "model.h"

#include <string.h>

bool server_is_changed_by(const struct ask *ask)
{
    return ask->verb == STORE_CREATE || ask->verb == STORE_DELETE ||
           model_asks(ask, STORE_SET, ATTEMPT_HINT);
}

static bool server_is_quorum(const struct ask *ask)
{
    return model_asks(ask, STORE_SET, ATTEMPT_QUORUM);
}

/* ---- the leader ---- */

/* Nodes of the same attempt do not wait for each other; one of an earlier id is another's. */
static bool must_wait(const struct state *st, int n, int earlier)
{
    const struct node *a = &st->nodes[n], *b = &st->nodes[earlier];

    if (model_node_kind(a) == CHILD_READ && model_node_kind(b) == CHILD_READ)
        return false;
    return b->czxid < a->czxid && (a->client != b->client || a->id != b->id);
}

static void note_heads(struct state *st)
{
    for (int n = 0; n < MODEL_NODES; n++) {
        bool head = (st->standing & MODEL_BIT(n)) != 0;
        for (int m = 0; m < MODEL_NODES && head; m++)
            head = !(st->standing & MODEL_BIT(m)) || !must_wait(st, n, m);
        if (head)
            st->nodes[n].headed = true;
    }
}

static void append(struct state *st, enum change_kind kind, uint16_t nodes)
{
    model_require(st->log_count < MODEL_LOG, "changes");
    st->log[st->log_count++] =
        (struct change){.kind = (uint8_t)kind, .nodes = nodes, .hint = st->hint};
    if (kind == CHANGE_CREATE)
        st->standing |= nodes;
    else if (kind == CHANGE_DELETE || kind == CHANGE_CLOSE)
        st->standing &= (uint16_t)~nodes;
    note_heads(st);
}

static int new_node(struct state *st, int i)
{
    int n = 0;

    while (n < MODEL_NODES && st->nodes[n].used)
        n++;
    model_require(n < MODEL_NODES, "nodes");
    st->nodes[n] = (struct node){.used = true,
                                 .number = st->next,
                                 .czxid = ++st->czxid,
                                 .client = (uint8_t)i,
                                 .id = st->clients[i].id,
                                 .session = st->clients[i].session};
    return n;
}

static bool name_stands(const struct state *st, int i, int32_t number)
{
    for (int n = 0; n < MODEL_NODES; n++)
        if ((st->standing & MODEL_BIT(n)) && st->nodes[n].client == i &&
            st->nodes[n].id == st->clients[i].id && st->nodes[n].number == number)
            return true;
    return false;
}

/* A server at the limit hands out the last number again and again. */
static void server_do_create(struct state *st, int i, struct reply *reply)
{
    if (!st->directory) {
        reply->rc = STORE_NONODE;
    } else if (name_stands(st, i, st->next)) {
        reply->rc = STORE_EXISTS;
    } else {
        reply->to.node = (uint8_t)new_node(st, i);
        append(st, CHANGE_CREATE, MODEL_BIT(reply->to.node));
        if (st->next < INT32_MAX)
            st->next++;
    }
}

static void do_delete(struct state *st, uint8_t n)
{
    if (n != MODEL_NONE && (st->standing & MODEL_BIT(n)))
        append(st, CHANGE_DELETE, MODEL_BIT(n));
}

static enum store_rc server_do_make_directory(struct state *st)
{
    if (st->directory)
        return STORE_EXISTS;
    st->directory = true;
    st->hint = (struct hint){.node = MODEL_NONE};
    st->next = 0;
    append(st, CHANGE_MAKE_DIRECTORY, 0);
    return STORE_OK;
}

static void server_do_hint(struct state *st, const struct ask *ask)
{
    if (!st->directory || ask->version != st->hint.version)
        return;
    if (st->hint.node == MODEL_FOREIGN)
        st->broken = "a hint in place of others' data";
    st->hint.node = ask->node;
    st->hint.version++;
    append(st, CHANGE_HINT, 0);
}

void server_reap(struct state *st)
{
    st->directory = false;
    st->hint = (struct hint){.node = MODEL_NONE};
    append(st, CHANGE_REMOVE_DIRECTORY, 0);
}

static enum store_rc server_do_remove_directory(struct state *st)
{
    if (!st->directory)
        return STORE_NONODE;
    if (st->standing)
        return STORE_NOTEMPTY;
    server_reap(st);
    return STORE_OK;
}

static void server_do_change(struct state *st, int i, struct reply *reply)
{
    const struct ask *ask = &reply->to;

    if (model_asks(ask, STORE_CREATE, ATTEMPT_NEW))
        server_do_create(st, i, reply);
    else if (ask->verb == STORE_CREATE)
        reply->rc = (uint8_t)server_do_make_directory(st);
    else if (ask->verb == STORE_SET)
        server_do_hint(st, ask);
    else if (ask->about == ATTEMPT_OWN)
        do_delete(st, ask->node);
    else
        reply->rc = (uint8_t)server_do_remove_directory(st);
}

static uint16_t session_nodes(const struct state *st, int i, bool old)
{
    uint16_t nodes = 0;
    const struct client *c = &st->clients[i];

    for (int n = 0; n < MODEL_NODES; n++)
        if ((st->standing & MODEL_BIT(n)) && st->nodes[n].client == i &&
            (st->nodes[n].session != c->session || !c->established) == old)
            nodes |= MODEL_BIT(n);
    return nodes;
}

void server_close_session(struct state *st, int i)
{
    struct client *c = &st->clients[i];

    append(st, CHANGE_CLOSE, session_nodes(st, i, false));
    st->log[st->log_count - 1].client = (uint8_t)i;
    st->log[st->log_count - 1].session = c->session;
    c->expired = true;
}

uint16_t server_old_nodes(const struct state *st, int i)
{
    return session_nodes(st, i, true);
}

void server_close_old(struct state *st, int i)
{
    append(st, CHANGE_CLOSE, session_nodes(st, i, true));
}

void server_force_delete(struct state *st, int n)
{
    st->nodes[n].forced = true;
    append(st, CHANGE_DELETE, MODEL_BIT(n));
}

void server_force_close(struct state *st, int i)
{
    uint16_t nodes = session_nodes(st, i, false);

    for (int n = 0; n < MODEL_NODES; n++)
        if (nodes & MODEL_BIT(n))
            st->nodes[n].forced = true;
    server_close_session(st, i);
}

void server_touch(struct state *st, int n)
{
    st->nodes[n].asked = true;
    append(st, CHANGE_TOUCH, MODEL_BIT(n));
}

/* ---- a client's server ---- */

static void server_fire(struct client *c, uint16_t nodes, bool gone, bool backwards)
{
    for (uint8_t k = 0; k < MODEL_NODES; k++) {
        uint8_t n = backwards ? (uint8_t)(MODEL_NODES - 1 - k) : k;
        if (nodes & c->watched & MODEL_BIT(n))
            model_push_reply(
                c, (struct reply){
                       .to = {.node = n}, .fired = true, .gone = gone, .hint.node = MODEL_NONE});
    }
    c->watched &= (uint16_t)~nodes;
}

void server_follow(struct state *st, int i)
{
    struct client *c = &st->clients[i];
    const struct change *change = &st->log[c->followed++];

    c->sees_hint = change->hint;
    switch (change->kind) {
    case CHANGE_CREATE:
        c->view |= change->nodes;
        break;
    case CHANGE_DELETE:
    case CHANGE_CLOSE:
        c->view &= (uint16_t)~change->nodes;
        c->sees_asked &= (uint16_t)~change->nodes;
        c->missed &= (uint16_t)~change->nodes;
        server_fire(c, change->nodes, true, false);
        if (change->client == i && change->session == c->session && c->established) {
            c->cut = true;
            c->watched = 0;
        }
        break;
    case CHANGE_TOUCH:
        c->sees_asked |= change->nodes;
        if (!c->connected)
            c->missed |= change->nodes & c->kept;
        server_fire(c, change->nodes, false, false);
        break;
    case CHANGE_HINT:
        break;
    default:
        c->sees_directory = change->kind == CHANGE_MAKE_DIRECTORY;
    }
}

bool server_can_follow(const struct state *st, int i)
{
    return st->clients[i].followed < st->log_count;
}

static void follow_all(struct state *st, int i)
{
    while (server_can_follow(st, i))
        server_follow(st, i);
}

static void server_look(struct client *c, struct reply *reply)
{
    const struct ask *ask = &reply->to;

    if (server_is_quorum(ask)) {
        reply->rc = STORE_NONODE;
    } else if (ask->verb == STORE_UNWATCH) {
        c->watched &= (uint16_t)~MODEL_BIT(ask->node);
    } else if (ask->node == MODEL_NONE) {
        reply->hint = c->sees_hint;
        reply->names = c->sees_directory ? c->view : 0;
        reply->rc = c->sees_directory ? STORE_OK : STORE_NONODE;
    } else if (!(c->view & MODEL_BIT(ask->node))) {
        reply->rc = STORE_NONODE;
    } else {
        reply->asked = ask->about == ATTEMPT_OWN && (c->sees_asked & MODEL_BIT(ask->node));
        if (ask->watch)
            c->watched |= MODEL_BIT(ask->node);
    }
}

/* An ended session's requests are refused by the leader at once, by its server when that knows. */
bool server_can_handle(const struct state *st, int i)
{
    const struct client *c = &st->clients[i];

    if (!c->connected || c->asks_count == 0 || c->cut)
        return false;
    return !c->expired || (!server_is_changed_by(&c->asks[0]) && !server_is_quorum(&c->asks[0]));
}

/* The answer to a delete is left out: what it would lead to, if lost, is deleting nothing. Nobody
 * waits for a hint's. */
void server_handle(struct state *st, int i)
{
    struct client *c = &st->clients[i];
    struct reply reply = {.to = model_take_ask(c, 0), .hint.node = MODEL_NONE};
    const bool change = server_is_changed_by(&reply.to);

    if (change)
        server_do_change(st, i, &reply);
    if (change || server_is_quorum(&reply.to))
        follow_all(st, i);
    if (!change)
        server_look(c, &reply);
    if (reply.to.heard || reply.to.verb == STORE_UNWATCH)
        model_push_reply(c, reply);
}

void server_refuse(struct state *st, int i)
{
    struct client *c = &st->clients[i];
    const struct ask ask = model_take_ask(c, 0);

    if (ask.heard || ask.verb == STORE_DELETE)
        model_push_reply(c, (struct reply){.to = ask,
                                           .rc = server_is_quorum(&ask) ? STORE_BAD : STORE_NOAUTH,
                                           .hint.node = MODEL_NONE});
}

void server_do_unheard(struct state *st, int i)
{
    struct reply reply = {.to = st->clients[i].asks[0]};

    server_do_change(st, i, &reply);
}

void server_begin(struct state *st, int i)
{
    follow_all(st, i);
}

void server_resume(struct state *st, int i, bool backwards)
{
    struct client *c = &st->clients[i];

    c->watched = c->kept;
    server_fire(c, (uint16_t)(c->kept & ~c->view), true, backwards);
    server_fire(c, c->missed, false, backwards);
    c->missed = 0;
}

bool server_has_missed(const struct state *st, int i)
{
    const struct client *c = &st->clients[i];

    return c->established && __builtin_popcount(c->kept & ~c->view) > 1;
}

/* The first thing an idle one does is a change; a finished one looks at nothing. */
static bool may_lag(const struct client *c)
{
    if (c->machine.state == ST_IDLE || (c->machine.state == ST_DONE && c->asks_count == 0))
        return false;
    return model_config.lag;
}

void server_settle(struct state *st)
{
    int all = st->log_count;

    for (int i = 0; i < model_config.contenders; i++) {
        if (!may_lag(&st->clients[i]))
            follow_all(st, i);
        if (st->clients[i].followed < all)
            all = st->clients[i].followed;
    }
    st->log_count = (uint8_t)(st->log_count - all);
    memmove(&st->log[0], &st->log[all], st->log_count * sizeof(st->log[0]));
    for (int i = 0; i < model_config.contenders; i++)
        st->clients[i].followed = (uint8_t)(st->clients[i].followed - all);
}
