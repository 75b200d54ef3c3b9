/* A session that reconnects, and what its leader knows of it: every interleaving of handshakes,
 * answers that come late, a leader that is deposed and goes on, servers that refuse a write without
 * asking their leader, and time, breadth first, over recipes/proofs.h. Only reconnects prove here:
 * no follower ever reports what it has heard. Then somebody waits in a cool session whose leader
 * was deposed long ago, and at any time needs a deadline. Then the same with faults planted, each
 * of which must be found. Nothing is fair. usage: anchors
 * [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/ending.h"
#include "recipes/proofs.h"

#define UNIT INT64_C(1000000000) /* of time, ns */

enum { SERVERS = 2, LEADERS = 2, ON_WAY = 3 };

/* Between a follower and its leader. A validation says only whether, not to which handshake. */
struct anchor_message {
    enum {
        ANCHOR_REVALIDATE = 1,
        ANCHOR_VALID,
        ANCHOR_WRITE, /* from here on: */
        ANCHOR_COMMIT,
        ANCHOR_SYNC,
        ANCHOR_KEEP
    } kind : 8;
    uint8_t conn; /* of those */
    uint8_t valid;
};

struct anchor_way {
    struct anchor_message messages[ON_WAY];
    uint8_t count;
};

struct anchor_server {
    uint8_t leader;
    uint8_t pending; /* the connection that the next validation is for; 0: none */
    uint8_t unsent;  /* planted: its revalidation is not on its way yet */
    struct anchor_way up, down;
};

struct anchor_state {
    struct proofs proofs;
    uint8_t now;
    /* the client's connection, counted from 1 */
    uint8_t conn, server, link;
    uint8_t sent;       /* when, the chain's request on it */
    uint8_t kept, held; /* planted: the anchor of the connection before; whether there is one */
    struct anchor_server servers[SERVERS];
    struct {
        uint8_t expiry, leads;
        uint8_t taken;   /* out of the queue of those whose time is up, */
        uint8_t closing; /* and known to be */
    } leaders[LEADERS];
    uint8_t deposed; /* the first leader, and not every server has heard of it */
    uint8_t ended;   /* the session, for all */
    uint8_t faults;  /* so often it may connect yet */
    uint8_t replaced;
    uint8_t unused[5];
};

enum { LINK_NONE, LINK_HANDSHAKE, LINK_UP };

enum anchor_move {
    ANCHOR_PASS, /* time */
    ANCHOR_READ, /* is answered */
    ANCHOR_LOSE,
    ANCHOR_CONNECT,
    ANCHOR_SEND, /* planted: the revalidation that the write may overtake */
    ANCHOR_PROVE,
    ANCHOR_REFUSE,
    ANCHOR_ASK,
    ANCHOR_HEAT,
    ANCHOR_REPLACE,
    ANCHOR_UP, /* at: server */
    ANCHOR_DOWN,
    ANCHOR_TAKE, /* at: leader */
    ANCHOR_CLOSE,
    ANCHOR_DEPOSE,
    ANCHOR_REJOIN,
    ANCHOR_MOVES
};

static const struct breadth_kind moves[ANCHOR_MOVES] = {
    [ANCHOR_PASS] = {"time passes", PERHAPS, 1},
    [ANCHOR_READ] = {"a read is answered", PERHAPS, 1},
    [ANCHOR_LOSE] = {"the connection is lost", PERHAPS, 1},
    [ANCHOR_CONNECT] = {"the client connects to", FAULT, SERVERS},
    [ANCHOR_SEND] = {"the revalidation is sent by", PERHAPS, SERVERS},
    [ANCHOR_PROVE] = {"the client writes", PERHAPS, 1},
    [ANCHOR_REFUSE] = {"the client writes, and its server refuses that alone", PERHAPS, 1},
    [ANCHOR_ASK] = {"the client syncs", PERHAPS, 1},
    [ANCHOR_HEAT] = {"a deadline is needed", PERHAPS, 1},
    [ANCHOR_REPLACE] = {"somebody else comes, and has the session replaced", PERHAPS, 1},
    [ANCHOR_UP] = {"the leader hears", PERHAPS, SERVERS},
    [ANCHOR_DOWN] = {"the leader is heard by", PERHAPS, SERVERS},
    [ANCHOR_TAKE] = {"the session's time is up at leader", PERHAPS, LEADERS},
    [ANCHOR_CLOSE] = {"the session is closing at leader", PERHAPS, LEADERS},
    [ANCHOR_DEPOSE] = {"another one leads", PERHAPS, 1},
    [ANCHOR_REJOIN] = {"the new leader is followed by", PERHAPS, SERVERS},
};

enum anchor_fault {
    FAULT_NONE,
    FAULT_CONNECT_TIME,
    FAULT_NO_WRITE,
    FAULT_TWO_HANDSHAKES,
    FAULT_REVIVES,
    FAULT_OVERTAKES,
    FAULT_EAGER,
    FAULT_UNPROVED,
    FAULT_CARRIES,
    FAULT_REPLACES
};

struct anchor_config {
    enum anchor_fault fault;
    uint8_t timeout, until;
    uint8_t cool; /* so long it has been, and its leader was deposed at 1; 0: it is hot */
};

static const struct anchor_config *config;

/* What must have been seen, or the search says nothing. */
enum {
    SAW_EXTENDED,
    SAW_LATE,
    SAW_DEPOSED_VALID,
    SAW_TOUCHED_CLOSING,
    SAW_REFUSED_BY_DEPOSED,
    SAW_KEPT_BY_DEPOSED,
    SAW_COUNT
};

static const char *const sights[SAW_COUNT] = {"a deadline moved on",
                                              "a handshake completed by the answer to an older one",
                                              "a handshake completed by a deposed leader",
                                              "a session touched that was about to end",
                                              "a write refused by a server of a deposed leader",
                                              "a session that a deposed leader keeps"};

static void see(int what, bool is)
{
    if (is)
        breadth_reached(1U << what);
}

static struct instant at_unit(uint8_t units)
{
    return (struct instant){units * UNIT, units * UNIT};
}

static bool is_deposed(const struct anchor_state *st, uint8_t leader)
{
    return leader == 0 && st->deposed;
}

/* ---- ways ---- */

static bool way_has_room(const struct anchor_way *way)
{
    return way->count < ON_WAY;
}

static void way_push(struct anchor_way *way, struct anchor_message m)
{
    flat_push(way->messages, &way->count, ON_WAY, sizeof m, &m);
}

static struct anchor_message way_pop(struct anchor_way *way)
{
    const struct anchor_message first = way->messages[0];

    flat_remove(way->messages, &way->count, sizeof first, 0);
    return first;
}

/* ---- the client ---- */

/* Nobody hears any more what was written on it. */
static void forget_on_way(struct anchor_way *way)
{
    for (int i = way->count; i-- > 0;) {
        if (way->messages[i].kind >= ANCHOR_WRITE)
            flat_remove(way->messages, &way->count, sizeof way->messages[0], i);
    }
}

static void drop_connection(struct anchor_state *st)
{
    if (st->link == LINK_UP)
        proofs_disconnected(&st->proofs);
    st->link = LINK_NONE;
    st->sent = 0;
    forget_on_way(&st->servers[st->server].up);
    forget_on_way(&st->servers[st->server].down);
}

static void believe(struct anchor_state *st, struct instant anchor)
{
    struct instant deadline = instant_add(anchor, st->proofs.timeout - st->proofs.margin);

    if (proofs_deadline(&st->proofs, at_unit(st->now)) != DEADLINE_NONE &&
        deadline.boot > st->proofs.deadline.boot)
        st->proofs.deadline = deadline;
}

/* As if it were the same connection. */
static void plant_carry(struct proofs *p, const struct proofs *before)
{
    p->relayed = before->relayed;
    p->heard = before->heard;
    p->kept = before->kept;
    p->settled = before->settled;
}

static void handshake_heard(struct anchor_state *st)
{
    const struct proofs before = st->proofs;

    st->link = LINK_UP;
    proofs_reconnected(&st->proofs, config->timeout * UNIT);
    if (config->fault == FAULT_CARRIES)
        plant_carry(&st->proofs, &before);
    if (config->fault == FAULT_CONNECT_TIME)
        st->proofs.chain_base = at_unit(st->now);
    if (config->fault == FAULT_NO_WRITE)
        believe(st, st->proofs.newest);
    if (config->fault != FAULT_TWO_HANDSHAKES)
        return;
    if (st->held)
        believe(st, at_unit(st->kept));
    st->kept = (uint8_t)(st->proofs.newest.boot / UNIT);
    st->held = true;
}

static void proof_heard(struct anchor_state *st)
{
    const int64_t before = st->proofs.deadline.boot;

    if (config->fault == FAULT_REVIVES) {
        st->proofs.on_handshake = false;
        st->proofs.kept = at_unit(UINT8_MAX);
    }
    proofs_answered(&st->proofs, PROOF_RENEWAL, at_unit(st->sent), at_unit(st->now));
    see(SAW_EXTENDED, st->proofs.deadline.boot > before);
    st->held = false;
}

static void sync_heard(struct anchor_state *st, bool keeps)
{
    struct proofs *p = &st->proofs;

    proofs_answered(p, keeps ? PROOF_KEEP : PROOF_SYNC, keeps ? p->keep_sent : at_unit(st->sent),
                    at_unit(st->now));
    see(SAW_KEPT_BY_DEPOSED,
        is_deposed(st, st->servers[st->server].leader) && p->kept.boot > p->deadline.boot);
    if (config->fault == FAULT_UNPROVED && p->kept.boot > p->deadline.boot)
        p->deadline = p->kept;
}

static enum proof_wish wish_now(const struct anchor_state *st)
{
    return proofs_want(&st->proofs, at_unit(st->now));
}

static void sync_behind(struct anchor_state *st)
{
    const bool keeps = wish_now(st) == PROOF_SEND_KEEP;

    proofs_sent(&st->proofs, keeps ? PROOF_KEEP : PROOF_SYNC, at_unit(st->now));
    if (!keeps)
        st->sent = st->now;
    way_push(&st->servers[st->server].up,
             (struct anchor_message){keeps ? ANCHOR_KEEP : ANCHOR_SYNC, st->conn, 0});
}

static void read_something(struct anchor_state *st)
{
    proofs_sent(&st->proofs, PROOF_ANCHOR, at_unit(st->now));
    proofs_answered(&st->proofs, PROOF_ANCHOR, at_unit(st->now), at_unit(st->now));
}

static void write_behind(struct anchor_state *st)
{
    proofs_sent(&st->proofs, PROOF_RENEWAL, at_unit(st->now));
    st->sent = st->now;
    way_push(&st->servers[st->server].up, (struct anchor_message){ANCHOR_WRITE, st->conn, 0});
}

/* Where somebody else has made the node that is set: a server with enableEagerACLCheck. */
static void refuse_alone(struct anchor_state *st)
{
    const enum proof_kind asked = PROOF_RENEWAL,
                          proves = config->fault == FAULT_EAGER
                                       ? asked
                                       : proof_by_answer(asked, STORE_NOAUTH);

    proofs_sent(&st->proofs, asked, at_unit(st->now));
    proofs_answered(&st->proofs, proves, at_unit(st->now), at_unit(st->now));
    if (proves != asked)
        proofs_failed(&st->proofs, asked);
    see(SAW_REFUSED_BY_DEPOSED, is_deposed(st, st->servers[st->server].leader));
}

/* ---- servers ---- */

/* The entry of an older handshake is replaced, and the revalidation sent, before anything else of
 * that connection is read. */
static void send_handshake(struct anchor_state *st, uint8_t server)
{
    st->conn++;
    st->server = server;
    st->link = LINK_HANDSHAKE;
    st->servers[server].pending = st->conn;
    if (config->fault == FAULT_OVERTAKES)
        st->servers[server].unsent = true;
    else
        way_push(&st->servers[server].up, (struct anchor_message){ANCHOR_REVALIDATE, 0, 0});
}

/* What a deposed leader takes is not committed. */
static void leader_hears(struct anchor_state *st, uint8_t server)
{
    const struct anchor_message m = way_pop(&st->servers[server].up);
    const uint8_t leader = st->servers[server].leader;
    const bool valid = !st->leaders[leader].closing;

    if (m.kind == ANCHOR_REVALIDATE) {
        if (valid)
            st->leaders[leader].expiry = st->now + config->timeout;
        see(SAW_TOUCHED_CLOSING, valid && st->leaders[leader].taken);
        way_push(&st->servers[server].down, (struct anchor_message){ANCHOR_VALID, 0, valid});
    } else if (m.kind != ANCHOR_WRITE) {
        way_push(&st->servers[server].down, m);
    } else if (valid && !is_deposed(st, leader)) {
        way_push(&st->servers[server].down, (struct anchor_message){ANCHOR_COMMIT, m.conn, 0});
    }
}

static bool has_revalidation(const struct anchor_state *st, uint8_t server)
{
    for (int i = 0; i < ON_WAY; i++)
        if (st->servers[server].up.messages[i].kind == ANCHOR_REVALIDATE)
            return true;
    return false;
}

static void validated(struct anchor_state *st, uint8_t server, bool valid)
{
    const uint8_t conn = st->servers[server].pending;

    st->servers[server].pending = 0;
    if (st->link != LINK_HANDSHAKE || st->server != server || st->conn != conn)
        return;
    if (!valid) {
        drop_connection(st); /* and knows why */
        return;
    }
    see(SAW_LATE, has_revalidation(st, server));
    see(SAW_DEPOSED_VALID, is_deposed(st, st->servers[server].leader));
    handshake_heard(st);
}

static void server_hears(struct anchor_state *st, uint8_t server)
{
    const struct anchor_message m = way_pop(&st->servers[server].down);

    if (m.kind == ANCHOR_VALID)
        validated(st, server, m.valid);
    else if (st->link == LINK_UP && st->server == server && st->conn == m.conn) {
        if (m.kind == ANCHOR_COMMIT)
            proof_heard(st);
        else
            sync_heard(st, m.kind == ANCHOR_KEEP);
    }
}

static void follow_anew(struct anchor_state *st, uint8_t server)
{
    if (st->server == server)
        drop_connection(st);
    memset(&st->servers[server], 0, sizeof st->servers[server]);
    st->servers[server].leader = 1;
}

static void depose_first(struct anchor_state *st)
{
    st->deposed = true;
    st->leaders[1].leads = true;
    st->leaders[1].expiry = st->now + config->timeout;
}

/* ---- the world ---- */

/* Its leader does not end it, and is not heard of by the other server. */
static void stay_cool(struct anchor_state *st)
{
    st->now = 1;
    depose_first(st);
    proofs_direct(&st->proofs);
    proofs_use(&st->proofs, PROOF_COOL, at_unit(st->now));
    for (; st->now < config->cool; st->now++) {
        while (wish_now(st) == PROOF_SEND_KEEP) {
            sync_behind(st);
            leader_hears(st, 0);
            server_hears(st, 0);
        }
    }
    st->servers[1].leader = 1;
    st->leaders[0].expiry = UINT8_MAX;
}

static void init(void *state, const void *data)
{
    struct anchor_state *st = state;

    config = data;
    proofs_init(&st->proofs, config->cool ? 4 * UNIT : 0, 0); /* a relay of 2.4 */
    proofs_created(&st->proofs, at_unit(0), config->timeout * UNIT);
    st->conn = 1;
    st->link = LINK_UP;
    st->leaders[0].leads = true;
    st->leaders[0].expiry = config->timeout;
    if (config->cool)
        stay_cool(st);
}

/* Where it is hot, nothing is left of a chain with a sync, nor of a round that is over. */
static void plain_proofs(struct proofs *proofs)
{
    const struct proofs p = *proofs;

    memset(proofs, 0, sizeof *proofs);
    proofs->deadline = p.deadline;
    proofs->newest = p.newest;
    proofs->chain = p.chain;
    if (p.chain != CHAIN_IDLE)
        proofs->chain_base = p.chain_base;
}

static bool has_request(const struct anchor_server *server)
{
    for (int i = 0; i < ON_WAY; i++)
        if (server->up.messages[i].kind >= ANCHOR_WRITE ||
            server->down.messages[i].kind >= ANCHOR_WRITE)
            return true;
    return false;
}

/* One server is as good as the other one. */
static void plain_servers(struct anchor_state *st)
{
    const struct anchor_server first = st->servers[0];
    const int order = memcmp(&first, &st->servers[1], sizeof first);

    if (order > 0) {
        st->servers[0] = st->servers[1];
        st->servers[1] = first;
        st->server = !st->server;
    }
    if (order == 0 || st->link == LINK_NONE)
        st->server = 0;
}

/* Without what nobody asks for any more: when a request was sent that is answered, for which
 * handshake a validation was that has come, and when a leader without servers ends the session. */
static void plain(void *state)
{
    struct anchor_state *st = state;

    if (!config->cool)
        plain_proofs(&st->proofs);
    if (!has_request(&st->servers[st->server]))
        st->sent = 0;
    for (int i = 0; i < SERVERS; i++)
        if (st->link != LINK_HANDSHAKE || st->servers[i].pending != st->conn)
            st->servers[i].pending = 0;
    if (st->deposed && st->servers[0].leader == 1 && st->servers[1].leader == 1)
        memset(&st->leaders[0], 0, sizeof st->leaders[0]);
    plain_servers(st);
}

static bool may_there(const struct anchor_state *st, enum anchor_move kind, uint8_t i)
{
    const struct anchor_way *up = &st->servers[i].up, *down = &st->servers[i].down;

    switch (kind) {
    case ANCHOR_CONNECT:
        return st->link == LINK_NONE && way_has_room(up) && !st->servers[i].unsent;
    case ANCHOR_SEND:
        return st->servers[i].unsent && way_has_room(up);
    case ANCHOR_UP:
        return up->count > 0 && way_has_room(down);
    case ANCHOR_DOWN:
        return down->count > 0;
    case ANCHOR_TAKE:
        return st->leaders[i].leads && !st->leaders[i].taken && st->now >= st->leaders[i].expiry;
    case ANCHOR_CLOSE:
        return st->leaders[i].taken && !st->leaders[i].closing;
    default:
        return st->deposed && st->servers[i].leader == 0; /* REJOIN */
    }
}

/* What is not its own: a place in a queue. */
static bool may_replace(const struct anchor_state *st)
{
    static const struct users nobody;

    return users_let_end(&nobody, config->fault == FAULT_REPLACES ? PRESENCE_NONE : PRESENCE_WAITS,
                         ENDING_COLD, 0, st->proofs.timeout);
}

/* Where it is hot, a deadline that is over stays over, but for what is on its way. */
static bool may(const void *state, struct move move)
{
    const struct anchor_state *st = state;
    const enum anchor_move kind = (enum anchor_move)move.kind;
    const bool over = proofs_deadline(&st->proofs, at_unit(st->now)) == DEADLINE_NONE,
               valid = config->cool || !over;
    const enum proof_wish wish = wish_now(st);

    switch (kind) {
    case ANCHOR_PASS:
        return st->now < config->until && (valid || st->link == LINK_HANDSHAKE);
    case ANCHOR_READ:
        return st->link == LINK_UP && valid && !config->cool;
    case ANCHOR_ASK:
        return config->cool && (wish == PROOF_SEND_KEEP || wish == PROOF_SEND_SYNC) &&
               way_has_room(&st->servers[st->server].up);
    case ANCHOR_HEAT:
        return config->cool && st->proofs.need == PROOF_COOL;
    case ANCHOR_REPLACE:
        return config->cool && over && may_replace(st);
    case ANCHOR_LOSE:
        return st->link != LINK_NONE && valid;
    case ANCHOR_PROVE:
        return wish == PROOF_SEND_WRITE && way_has_room(&st->servers[st->server].up);
    case ANCHOR_REFUSE:
        return wish == PROOF_SEND_WRITE;
    case ANCHOR_DEPOSE:
        return !st->deposed && !st->ended;
    case ANCHOR_CONNECT:
        return valid && may_there(st, kind, move.at);
    default:
        return may_there(st, kind, move.at);
    }
}

static void take(void *state, struct move move)
{
    struct anchor_state *st = state;

    switch (move.kind) {
    case ANCHOR_PASS:
        st->now++;
        break;
    case ANCHOR_READ:
        read_something(st);
        break;
    case ANCHOR_ASK:
        sync_behind(st);
        break;
    case ANCHOR_HEAT:
        proofs_use(&st->proofs, PROOF_HOT, at_unit(st->now));
        break;
    case ANCHOR_REPLACE:
        st->replaced = true;
        break;
    case ANCHOR_LOSE:
        drop_connection(st);
        break;
    case ANCHOR_CONNECT:
        send_handshake(st, move.at);
        break;
    case ANCHOR_SEND:
        st->servers[move.at].unsent = false;
        way_push(&st->servers[move.at].up, (struct anchor_message){ANCHOR_REVALIDATE, 0, 0});
        break;
    case ANCHOR_PROVE:
        write_behind(st);
        break;
    case ANCHOR_REFUSE:
        refuse_alone(st);
        break;
    case ANCHOR_UP:
        leader_hears(st, move.at);
        break;
    case ANCHOR_DOWN:
        server_hears(st, move.at);
        break;
    case ANCHOR_TAKE:
        st->leaders[move.at].taken = true;
        break;
    case ANCHOR_CLOSE:
        st->leaders[move.at].closing = true;
        st->ended |= !is_deposed(st, move.at);
        break;
    case ANCHOR_DEPOSE:
        depose_first(st);
        break;
    default:
        follow_anew(st, move.at);
        break;
    }
    breadth_require(!st->ended || proofs_deadline(&st->proofs, at_unit(st->now)) == DEADLINE_NONE,
                    "the session has ended, and its deadline is ahead");
    breadth_require(!st->replaced, "the waiter has lost its place");
}

static const char *check_end(const void *state)
{
    (void)state;
    return NULL;
}

static void print(const void *state)
{
    const struct anchor_state *st = state;

    printf(" at %d; connection %d%s, newest %d, until %.2f; leaders end it at %d and %d", st->now,
           st->conn, st->link == LINK_UP ? " is up" : "", (int)(st->proofs.newest.boot / UNIT),
           (double)st->proofs.deadline.boot / (double)UNIT, st->leaders[0].expiry,
           st->leaders[1].expiry);
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(anchor_config, __VA_ARGS__)

/* So many times it may connect again. */
static const struct breadth_run runs[] = {
    {"as it is", ALWAYS, 3, CONFIG(FAULT_NONE, 3, 5, 0)},
    {"as it is, longer", SOAK, 4, CONFIG(FAULT_NONE, 3, 6, 0)},
    {"cool", ALWAYS, 2, CONFIG(FAULT_NONE, 10, 12, 10)},
    {"the anchor is the time of the connect", PLANTED, 3, CONFIG(FAULT_CONNECT_TIME, 3, 5, 0)},
    {"no write behind the handshake", PLANTED, 3, CONFIG(FAULT_NO_WRITE, 3, 5, 0)},
    {"an anchor that the next handshake confirms", PLANTED, 3,
     CONFIG(FAULT_TWO_HANDSHAKES, 3, 5, 0)},
    {"a deadline that was over is moved on", PLANTED, 3, CONFIG(FAULT_REVIVES, 3, 5, 0)},
    {"servers whose write overtakes the handshake", PLANTED, 3, CONFIG(FAULT_OVERTAKES, 3, 5, 0)},
    {"a write that a server refuses alone", PLANTED, 3, CONFIG(FAULT_EAGER, 3, 5, 0)},
    {"granted without the proof", PLANTED, 1, CONFIG(FAULT_UNPROVED, 10, 12, 10)},
    {"an anchor of another connection", PLANTED, 1, CONFIG(FAULT_CARRIES, 10, 12, 10)},
    {"a session replaced under a waiter", PLANTED, 1, CONFIG(FAULT_REPLACES, 10, 12, 10)},
};

static const char *state_name(int sight)
{
    return sights[sight];
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {BREADTH_WORLD(struct anchor_state), .plain = plain,
                                               .states = SAW_COUNT};

    return breadth_main(&world, argc, argv);
}
