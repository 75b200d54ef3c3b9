#include "model.h"

#include <stdio.h>

static bool is_busy(const struct client *c)
{
    enum attempt_state s = c->machine.state;

    return s != ST_IDLE && (s != ST_DONE || c->asks_count > 0 || c->replies_count > 0);
}

static bool is_queued(const struct client *c)
{
    enum attempt_state s = c->machine.state;

    return s != ST_IDLE && s != ST_DONE && s != ST_HOLDING && s != ST_LOST;
}

static bool has_nodes(const struct state *st, int i)
{
    for (int n = 0; n < MODEL_NODES; n++)
        if ((st->standing & MODEL_BIT(n)) && st->nodes[n].client == i)
            return true;
    return false;
}

static bool is_watched(const struct state *st, int n)
{
    for (int i = 0; i < model_config.contenders; i++)
        if (st->clients[i].watched & MODEL_BIT(n))
            return true;
    return false;
}

static bool can(const struct state *st, enum move_kind kind, int i)
{
    const struct client *c = &st->clients[i];
    enum attempt_state s = c->machine.state;

    switch (kind) {
    case MOVE_ENTER:
        return s == ST_IDLE || s == ST_REENTERING;
    case MOVE_HANDLE:
        return server_can_handle(st, i);
    case MOVE_TAKE:
        return c->replies_count > 0;
    case MOVE_FOLLOW:
        return server_can_follow(st, i);
    case MOVE_CONNECT:
        return !c->connected && !c->expired && is_busy(c);
    case MOVE_NOTICE:
        return c->expired;
    case MOVE_CLOSE_OLD:
        return server_old_nodes(st, i) != 0;
    case MOVE_PROOF:
        return c->connected && !c->expired && !c->in_time && s != ST_DONE;
    case MOVE_PURGE:
        return (c->purge || c->orphan) && !c->expired && s != ST_HOLDING && s != ST_LOST;
    case MOVE_TIMER:
        return c->timer && !(c->machine.awaits && c->connected);
    case MOVE_TELL_DEADLINE:
        return c->deadline_due;
    case MOVE_RELEASE:
        return c->grant;
    case MOVE_CALLBACKS:
        return c->stopping;
    case MOVE_EXPIRE:
        return c->established && !c->expired && !c->in_time && (is_busy(c) || has_nodes(st, i));
    case MOVE_LOSE:
        return c->connected && is_busy(c);
    case MOVE_LOSE_DONE:
        return server_can_handle(st, i) && server_is_changed_by(&c->asks[0]);
    case MOVE_REFUSE:
        return server_can_handle(st, i) && c->asks[0].verb != STORE_UNWATCH;
    case MOVE_DEADLINE:
        return c->in_time && s != ST_IDLE && s != ST_DONE;
    case MOVE_UNPROVED:
        return c->timer && c->machine.awaits && c->connected;
    case MOVE_REPLACE:
        return c->established && !c->expired && is_queued(c);
    case MOVE_ABORT:
        return s != ST_IDLE && !c->decided;
    case MOVE_CLOSE:
        return s != ST_IDLE && s != ST_DONE;
    case MOVE_FORCE_CLOSE:
        return c->established && !c->expired && has_nodes(st, i);
    default:
        return false;
    }
}

int move_list(const struct state *st, struct move *moves)
{
    int count = 0;

    for (int kind = 0; kind < MOVE_FORCE_DELETE; kind++)
        for (int i = 0; i < model_config.contenders; i++)
            if ((kind < MOVE_LOSE || st->clients[i].faults) && can(st, (enum move_kind)kind, i))
                moves[count++] = (struct move){.kind = (uint8_t)kind, .at = (uint8_t)i};
    for (int i = 0; i < model_config.contenders; i++)
        if (can(st, MOVE_CONNECT, i) && server_has_missed(st, i))
            moves[count++] = (struct move){MOVE_CONNECT, (uint8_t)i, true};
    for (uint8_t n = 0; n < MODEL_NODES; n++) {
        if (!(st->standing & MODEL_BIT(n)) || !st->clients[st->nodes[n].client].faults)
            continue;
        moves[count++] = (struct move){MOVE_FORCE_DELETE, st->nodes[n].client, n};
        if (is_watched(st, n) || !st->nodes[n].asked)
            moves[count++] = (struct move){MOVE_TOUCH, st->nodes[n].client, n};
    }
    for (int i = 0; i < model_config.contenders; i++)
        if (st->directory && !st->standing && st->clients[i].faults && !model_is_at_rest(st, i))
            moves[count++] = (struct move){.kind = MOVE_REAP, .at = (uint8_t)i};
    return count;
}

bool move_is_fair(struct move move)
{
    return move.kind < MOVE_EXPIRE;
}

static void connect(struct state *st, int i, bool backwards)
{
    bool same = st->clients[i].established;

    if (same)
        server_resume(st, i, backwards);
    else
        server_begin(st, i);
    link_up(st, i);
}

static void do_to_client(struct state *st, struct move move)
{
    int i = move.at;

    switch (move.kind) {
    case MOVE_ENTER:
        client_step_kind(st, i, MACHINE_EV_BEGIN);
        break;
    case MOVE_TAKE:
        link_take(st, i);
        break;
    case MOVE_CONNECT:
        connect(st, i, move.node);
        break;
    case MOVE_NOTICE:
    case MOVE_PURGE:
    case MOVE_REPLACE:
        link_replace(st, i);
        break;
    case MOVE_PROOF:
        client_proof(st, i);
        break;
    case MOVE_TIMER:
    case MOVE_UNPROVED:
        client_timer(st, i);
        break;
    case MOVE_TELL_DEADLINE:
        client_tell_deadline_passed(st, i);
        break;
    case MOVE_RELEASE:
    case MOVE_CALLBACKS:
        client_release(st, i);
        break;
    case MOVE_LOSE_DONE:
        server_do_unheard(st, i);
        link_down(st, i);
        break;
    case MOVE_LOSE:
        link_down(st, i);
        break;
    case MOVE_DEADLINE:
        client_deadline(st, i);
        break;
    case MOVE_ABORT:
        client_step_kind(st, i, MACHINE_EV_STOP);
        break;
    case MOVE_CLOSE:
        link_close(st, i);
        break;
    default:
        break;
    }
}

static void do_to_server(struct state *st, struct move move)
{
    switch (move.kind) {
    case MOVE_HANDLE:
        server_handle(st, move.at);
        break;
    case MOVE_REFUSE:
        server_refuse(st, move.at);
        break;
    case MOVE_FOLLOW:
        server_follow(st, move.at);
        break;
    case MOVE_CLOSE_OLD:
        server_close_old(st, move.at);
        break;
    case MOVE_EXPIRE:
        server_close_session(st, move.at);
        break;
    case MOVE_FORCE_CLOSE:
        server_force_close(st, move.at);
        break;
    case MOVE_FORCE_DELETE:
        server_force_delete(st, move.node);
        break;
    case MOVE_TOUCH:
        server_touch(st, move.node);
        break;
    case MOVE_REAP:
        server_reap(st);
        break;
    default:
        break;
    }
}

void move_do(struct state *st, struct move move)
{
    if (move.kind >= MOVE_LOSE)
        st->clients[move.at].faults--;
    do_to_client(st, move);
    do_to_server(st, move);
    server_settle(st);
    model_collect(st);
}

/* ---- words ---- */

/* "get predecessor, watching" */
static const char *move_name_ask(const struct ask *ask, char *text, size_t size)
{
    static const char *const verbs[] = {
        [STORE_CREATE] = "create", [STORE_DELETE] = "delete", [STORE_GET] = "get",
        [STORE_LIST] = "list",     [STORE_SET] = "set",       [STORE_UNWATCH] = "unwatch"};
    static const char *const nodes[] = {
        [ATTEMPT_NEW] = "its node",           [ATTEMPT_QUORUM] = "nothing",
        [ATTEMPT_OWN] = "its node",           [ATTEMPT_PREDECESSOR] = "predecessor",
        [ATTEMPT_CHILDREN] = "the directory", [ATTEMPT_DIRECTORY] = "the directory",
        [ATTEMPT_HINT] = "the hint"};

    snprintf(text, size, "%s%s%s%s", verbs[ask->verb], ask->verb == STORE_UNWATCH ? "" : " ",
             ask->verb == STORE_UNWATCH ? "" : nodes[ask->about], ask->watch ? ", watching" : "");
    return text;
}

static const char *const answers[] = {
    [STORE_OK] = "ok",          [STORE_NONODE] = "no node",     [STORE_EXISTS] = "exists",
    [STORE_NOAUTH] = "refused", [STORE_NOTEMPTY] = "not empty", [STORE_BAD] = "bad",
};

static const char *const words[MOVE_COUNT] = {
    [MOVE_ENTER] = "enters",
    [MOVE_HANDLE] = "its server does",
    [MOVE_TAKE] = "hears",
    [MOVE_FOLLOW] = "its server catches up by a change",
    [MOVE_CONNECT] = "is connected",
    [MOVE_NOTICE] = "hears that its session ended, begins a new one",
    [MOVE_CLOSE_OLD] = "the server ends its old session",
    [MOVE_PROOF] = "has a deadline again",
    [MOVE_PURGE] = "replaces its session",
    [MOVE_TIMER] = "timer",
    [MOVE_TELL_DEADLINE] = "is told that its deadline passed",
    [MOVE_RELEASE] = "releases",
    [MOVE_CALLBACKS] = "its callbacks are through",
    [MOVE_EXPIRE] = "the server expires its session",
    [MOVE_LOSE] = "FAULT: loses its connection",
    [MOVE_LOSE_DONE] = "FAULT: loses its connection, but this is done:",
    [MOVE_REFUSE] = "FAULT: its server refuses",
    [MOVE_DEADLINE] = "FAULT: its deadline passes",
    [MOVE_UNPROVED] = "FAULT: has no deadline for a session timeout",
    [MOVE_REPLACE] = "FAULT: begins a new session",
    [MOVE_ABORT] = "FAULT: gives up",
    [MOVE_CLOSE] = "FAULT: closes",
    [MOVE_FORCE_CLOSE] = "FAULT: somebody closes its session",
    [MOVE_FORCE_DELETE] = "FAULT: somebody deletes its node",
    [MOVE_TOUCH] = "FAULT: somebody asks it to give way, in its node",
    [MOVE_REAP] = "FAULT: the empty directory is reaped",
};

static void move_describe_reply(const struct client *c, char *text, size_t size)
{
    const struct reply *reply = &c->replies[0];
    char what[40];

    if (reply->fired)
        snprintf(text, size, " watch event: %s", reply->gone ? "gone" : "changed");
    else
        snprintf(text, size, " %s: %s%s", move_name_ask(&reply->to, what, sizeof(what)),
                 answers[reply->rc],
                 reply->to.heard && exchange_is_stale(&c->exchange, reply->to.number) ? " (stale)"
                                                                                      : "");
}

void move_describe(const struct state *st, struct move move, char *text, size_t size)
{
    const struct client *c = &st->clients[move.at];
    int length = snprintf(text, size, "%c: %s", 'A' + move.at, words[move.kind]);
    size_t left = size - (size_t)length;
    char what[40];

    if (move.kind == MOVE_HANDLE || move.kind == MOVE_LOSE_DONE || move.kind == MOVE_REFUSE)
        snprintf(text + length, left, " %s", move_name_ask(&c->asks[0], what, sizeof(what)));
    else if (move.kind == MOVE_TAKE)
        move_describe_reply(c, text + length, left);
    else if (move.kind == MOVE_CONNECT && move.node)
        snprintf(text + length, left, ", and told backwards what it has missed");
    else if (move.kind == MOVE_FORCE_DELETE || move.kind == MOVE_TOUCH)
        snprintf(text + length, left, " %d", st->nodes[move.node].number);
}
