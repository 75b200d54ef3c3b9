/* A session that reconnects, and what its leader knows of it: every interleaving of handshakes,
 * answers that come late, a leader that is deposed and goes on, servers that refuse a write without
 * asking their leader, and time, breadth first, over recipes/proofs.h. Only reconnects prove here:
 * no follower ever reports what it has heard. Then the same with faults planted, each of which must
 * be found. Nothing is fair. usage: anchors
 * [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/proofs.h"

#define UNIT INT64_C(1000000000) /* of time, ns */

enum { TIMEOUT = 3, SERVERS = 2, LEADERS = 2, ON_WAY = 3 };

/* Between a follower and its leader. A validation says only whether, not to which handshake. */
struct anchor_message {
    enum { ANCHOR_REVALIDATE = 1, ANCHOR_WRITE, ANCHOR_VALID, ANCHOR_COMMIT } kind : 8;
    uint8_t conn; /* WRITE, COMMIT */
    uint8_t valid;
};

struct anchor_way {
    struct anchor_message messages[ON_WAY];
    uint8_t count;
};

struct anchor_state {
    struct proofs proofs;
    uint8_t now;
    /* the client's connection, counted from 1 */
    uint8_t conn, server, link;
    uint8_t sent;       /* when, the write on it */
    uint8_t kept, held; /* planted: the anchor of the connection before; whether there is one */
    struct {
        uint8_t leader;
        uint8_t pending; /* the connection that the next validation is for; 0: none */
        uint8_t unsent;  /* planted: its revalidation is not on its way yet */
        struct anchor_way up, down;
    } servers[SERVERS];
    struct {
        uint8_t expiry, leads;
        uint8_t taken;   /* out of the queue of those whose time is up, */
        uint8_t closing; /* and known to be */
    } leaders[LEADERS];
    uint8_t deposed; /* the first leader, and not every server has heard of it */
    uint8_t ended;   /* the session, for all */
    uint8_t faults;  /* so often it may connect yet */
    uint8_t unused[6];
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
    FAULT_EAGER
};

struct anchor_config {
    enum anchor_fault fault;
    uint8_t until;
};

static const struct anchor_config *config;

/* What must have been seen, or the search says nothing. */
enum {
    SAW_EXTENDED,
    SAW_LATE,
    SAW_DEPOSED_VALID,
    SAW_TOUCHED_CLOSING,
    SAW_REFUSED_BY_DEPOSED,
    SAW_COUNT
};

static const char *const sights[SAW_COUNT] = {
    "a deadline moved on", "a handshake completed by the answer to an older one",
    "a handshake completed by a deposed leader", "a session touched that was about to end",
    "a write refused by a server of a deposed leader"};

static void see(int what, bool is)
{
    if (is)
        breadth_reached(1U << what);
}

static struct instant at_unit(uint8_t units)
{
    return (struct instant){units * UNIT, units * UNIT};
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
static void forget_on_way(struct anchor_way *way, const uint8_t kind)
{
    for (int i = way->count; i-- > 0;) {
        if (way->messages[i].kind == kind)
            flat_remove(way->messages, &way->count, sizeof way->messages[0], i);
    }
}

static void drop_connection(struct anchor_state *st)
{
    if (st->link == LINK_UP)
        proofs_disconnected(&st->proofs);
    st->link = LINK_NONE;
    st->sent = 0;
    forget_on_way(&st->servers[st->server].up, ANCHOR_WRITE);
    forget_on_way(&st->servers[st->server].down, ANCHOR_COMMIT);
}

static void believe(struct anchor_state *st, struct instant anchor)
{
    struct instant deadline = instant_add(anchor, st->proofs.timeout - st->proofs.margin);

    if (proofs_deadline(&st->proofs, at_unit(st->now)) != DEADLINE_NONE &&
        deadline.boot > st->proofs.deadline.boot)
        st->proofs.deadline = deadline;
}

static void handshake_heard(struct anchor_state *st)
{
    st->link = LINK_UP;
    proofs_reconnected(&st->proofs, TIMEOUT * UNIT);
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
    see(SAW_REFUSED_BY_DEPOSED, st->deposed && st->servers[st->server].leader == 0);
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

static bool is_deposed(const struct anchor_state *st, uint8_t leader)
{
    return leader == 0 && st->deposed;
}

/* What a deposed leader takes is not committed. */
static void leader_hears(struct anchor_state *st, uint8_t server)
{
    const struct anchor_message m = way_pop(&st->servers[server].up);
    const uint8_t leader = st->servers[server].leader;
    const bool valid = !st->leaders[leader].closing;

    if (m.kind == ANCHOR_REVALIDATE) {
        if (valid)
            st->leaders[leader].expiry = st->now + TIMEOUT;
        see(SAW_TOUCHED_CLOSING, valid && st->leaders[leader].taken);
        way_push(&st->servers[server].down, (struct anchor_message){ANCHOR_VALID, 0, valid});
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
    else if (st->link == LINK_UP && st->server == server && st->conn == m.conn)
        proof_heard(st);
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
    st->leaders[1].expiry = st->now + TIMEOUT;
}

/* ---- the world ---- */

static void init(void *state, const void *data)
{
    struct anchor_state *st = state;

    config = data;
    proofs_init(&st->proofs, 0, 0);
    proofs_created(&st->proofs, at_unit(0), TIMEOUT * UNIT);
    st->conn = 1;
    st->link = LINK_UP;
    st->leaders[0].leads = true;
    st->leaders[0].expiry = TIMEOUT;
}

/* Nothing of a chain with a sync. */
static void plain(void *state)
{
    struct anchor_state *st = state;
    const struct proofs p = st->proofs;

    memset(&st->proofs, 0, sizeof st->proofs);
    st->proofs.deadline = p.deadline;
    st->proofs.newest = p.newest;
    st->proofs.chain_base = p.chain_base;
    st->proofs.chain = p.chain;
    st->proofs.on_handshake = p.on_handshake;
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

/* A deadline that is over stays over, but for what is on its way. */
static bool may(const void *state, struct move move)
{
    const struct anchor_state *st = state;
    const enum anchor_move kind = (enum anchor_move)move.kind;
    const bool valid = proofs_deadline(&st->proofs, at_unit(st->now)) != DEADLINE_NONE;

    switch (kind) {
    case ANCHOR_PASS:
        return st->now < config->until && (valid || st->link == LINK_HANDSHAKE);
    case ANCHOR_READ:
        return st->link == LINK_UP && valid;
    case ANCHOR_LOSE:
        return st->link != LINK_NONE && valid;
    case ANCHOR_PROVE:
        return proofs_want(&st->proofs, at_unit(st->now)) == PROOF_SEND_WRITE &&
               way_has_room(&st->servers[st->server].up);
    case ANCHOR_REFUSE:
        return proofs_want(&st->proofs, at_unit(st->now)) == PROOF_SEND_WRITE;
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
    {"as it is", ALWAYS, 3, CONFIG(FAULT_NONE, 5)},
    {"as it is, longer", SOAK, 4, CONFIG(FAULT_NONE, 6)},
    {"the anchor is the time of the connect", PLANTED, 3, CONFIG(FAULT_CONNECT_TIME, 5)},
    {"no write behind the handshake", PLANTED, 3, CONFIG(FAULT_NO_WRITE, 5)},
    {"an anchor that the next handshake confirms", PLANTED, 3, CONFIG(FAULT_TWO_HANDSHAKES, 5)},
    {"a deadline that was over is moved on", PLANTED, 3, CONFIG(FAULT_REVIVES, 5)},
    {"servers whose write overtakes the handshake", PLANTED, 3, CONFIG(FAULT_OVERTAKES, 5)},
    {"a write that a server refuses alone", PLANTED, 3, CONFIG(FAULT_EAGER, 5)},
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
