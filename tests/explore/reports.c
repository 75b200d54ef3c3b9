/* A session at an observer that a follower feeds, and what its leader knows of it: every
 * interleaving of reports, requests and time, breadth first, over recipes/proofs.h. A report goes
 * from the observer to the follower, and from there to the leader. Each of them asks the next one
 * at each instant, and what is on its way takes as long as it likes, but in order. Then the same
 * with proofs that are less than two reports, each of which must be found. Nothing is fair. usage:
 * reports [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/proofs.h"

#define UNIT INT64_C(1000000000) /* of time, ns: a relay period */

enum { REPORT_ON_WAY = 4 };

enum report_message { REPORT_PING = 1, REPORT_EMPTY, REPORT_TOUCH, REPORT_SYNC, REPORT_WRITE };

enum report_way { OBSERVER_UP, FOLLOWER_UP, LEADER_DOWN, FOLLOWER_DOWN, REPORT_WAYS };

struct report_state {
    struct proofs proofs;
    uint8_t now;
    uint8_t sent; /* when, the request under way */
    struct {
        uint8_t messages[REPORT_ON_WAY];
        uint8_t count;
    } ways[REPORT_WAYS];
    uint8_t observer, follower; /* each has a touch that it has not reported */
    uint8_t expiry, ended;
    uint8_t faults;
    uint8_t unused[5];
};

enum report_move {
    REPORT_PASS, /* time */
    REPORT_READ, /* is answered */
    REPORT_ASK,  /* a sync or a write */
    REPORT_ARRIVE,
    REPORT_END,
    REPORT_MOVES
};

static const struct breadth_kind moves[REPORT_MOVES] = {
    [REPORT_PASS] = {"time passes", PERHAPS, 1},
    [REPORT_READ] = {"a read is answered", PERHAPS, 1},
    [REPORT_ASK] = {"the chain sends a request", PERHAPS, 1},
    [REPORT_ARRIVE] = {"one message arrives on way", PERHAPS, REPORT_WAYS},
    [REPORT_END] = {"the session ends", PERHAPS, 1},
};

enum report_fault {
    REPORTS_TWO,
    REPORTS_ONE,        /* as at a server that the leader feeds */
    REPORTS_ONE_LONGER, /* the same, after two relay periods */
    REPORTS_AT_SYNC,    /* the first one, before the observer's way is known to be through */
    REPORTS_AT_ONCE     /* two relay periods, and then both */
};

struct report_config {
    enum report_fault fault;
    uint8_t timeout, until;
};

static const struct report_config *config;

/* What must have been seen, or the search says nothing. */
enum { SAW_PROVED, SAW_UNREPORTED, SAW_ENDED, SAW_COUNT };

static const char *const sights[SAW_COUNT] = {
    "a deadline moved on", "a round that showed one report of two", "an end of the session"};

static struct instant report_instant(uint8_t units)
{
    return (struct instant){units * UNIT, units * UNIT};
}

static void report_push(struct report_state *st, enum report_way way, enum report_message m)
{
    const uint8_t message = (uint8_t)m;

    flat_push(st->ways[way].messages, &st->ways[way].count, REPORT_ON_WAY, 1, &message);
}

/* One that is last already is as good: it is answered when it arrives. */
static void report_ping(struct report_state *st, enum report_way way)
{
    const uint8_t count = st->ways[way].count;

    if (count == 0 || st->ways[way].messages[count - 1] != REPORT_PING)
        report_push(st, way, REPORT_PING);
}

/* ---- the client ---- */

static enum report_message report_wish(const struct report_state *st)
{
    switch (proofs_want(&st->proofs, report_instant(st->now))) {
    case PROOF_SEND_SYNC:
        return REPORT_SYNC;
    case PROOF_SEND_WRITE:
        return REPORT_WRITE;
    default:
        return 0;
    }
}

static enum proof_kind report_kind(enum report_message m)
{
    return m == REPORT_SYNC ? PROOF_SYNC : PROOF_RENEWAL;
}

static void report_request(struct report_state *st)
{
    const enum report_message m = report_wish(st);

    proofs_sent(&st->proofs, report_kind(m), report_instant(st->now));
    st->sent = st->now;
    st->observer = true;
    report_push(st, OBSERVER_UP, m);
}

static void plant_pass(struct report_state *st, int64_t answered)
{
    struct anchors *passed = &st->proofs.passed;
    const uint32_t at = passed->count++ % PROOF_ANCHORS;

    passed->at[at].sent = st->proofs.chain_passed;
    passed->at[at].answered = (struct instant){answered, answered};
    st->proofs.passes = false;
}

static void report_answered(struct report_state *st, enum report_message m)
{
    const int64_t before = st->proofs.deadline.boot;

    if (st->proofs.passes && config->fault == REPORTS_AT_SYNC && m == REPORT_SYNC)
        plant_pass(st, st->now * UNIT);
    if (st->proofs.passes && config->fault == REPORTS_AT_ONCE && m == REPORT_WRITE)
        plant_pass(st, (st->now - 2) * UNIT);
    if (st->proofs.passes && m == REPORT_WRITE && !st->proofs.rests)
        breadth_reached(1U << SAW_UNREPORTED);
    if (proofs_answered(&st->proofs, report_kind(m), report_instant(st->sent),
                        report_instant(st->now)) &&
        st->proofs.deadline.boot > before)
        breadth_reached(1U << SAW_PROVED);
}

/* ---- servers ---- */

static void report_arrives(struct report_state *st, enum report_way way)
{
    const enum report_message m = st->ways[way].messages[0];

    flat_remove(st->ways[way].messages, &st->ways[way].count, 1, 0);
    switch (way) {
    case OBSERVER_UP:
        if (m == REPORT_SYNC || m == REPORT_WRITE)
            report_push(st, FOLLOWER_UP, m);
        st->follower |= m == REPORT_TOUCH;
        break;
    case FOLLOWER_UP:
        if (m == REPORT_SYNC || (m == REPORT_WRITE && !st->ended))
            report_push(st, LEADER_DOWN, m);
        if (m == REPORT_TOUCH)
            st->expiry = st->now + config->timeout;
        break;
    case LEADER_DOWN:
        report_push(st, m == REPORT_PING ? FOLLOWER_UP : FOLLOWER_DOWN,
                    m != REPORT_PING ? m
                    : st->follower   ? REPORT_TOUCH
                                     : REPORT_EMPTY);
        st->follower = st->follower && m != REPORT_PING;
        break;
    default:
        if (m != REPORT_PING) {
            report_answered(st, m);
            break;
        }
        report_push(st, OBSERVER_UP, st->observer ? REPORT_TOUCH : REPORT_EMPTY);
        st->observer = false;
        break;
    }
}

/* ---- the world ---- */

static void init(void *state, const void *data)
{
    struct report_state *st = state;

    config = data;
    proofs_init(&st->proofs, UNIT / 6 * 10, 0);
    proofs_created(&st->proofs, report_instant(0), config->timeout * UNIT);
    if (config->fault == REPORTS_ONE || config->fault == REPORTS_ONE_LONGER)
        proofs_direct(&st->proofs);
    if (config->fault == REPORTS_ONE_LONGER || config->fault == REPORTS_AT_ONCE)
        st->proofs.relay *= 2;
    st->expiry = config->timeout;
}

static bool may_arrive(const struct report_state *st, uint8_t way)
{
    static const uint8_t into[] = {FOLLOWER_UP, LEADER_DOWN, FOLLOWER_DOWN, OBSERVER_UP};
    const uint8_t m = st->ways[way].messages[0];
    const uint8_t to = m != REPORT_PING     ? into[way]
                       : way == LEADER_DOWN ? FOLLOWER_UP
                                            : OBSERVER_UP;

    return st->ways[way].count > 0 && st->ways[to].count < REPORT_ON_WAY;
}

/* Once the session has ended, or may not be used any more, nothing is of interest. */
static bool may(const void *state, struct move move)
{
    const struct report_state *st = state;
    const bool valid =
        proofs_deadline(&st->proofs, report_instant(st->now)) != DEADLINE_NONE && !st->ended;

    switch (move.kind) {
    case REPORT_PASS:
        return valid && st->now < config->until && st->ways[LEADER_DOWN].count < REPORT_ON_WAY &&
               st->ways[FOLLOWER_DOWN].count < REPORT_ON_WAY;
    case REPORT_READ:
        return valid && proofs_want(&st->proofs, report_instant(st->now)) == PROOF_SEND_ANCHOR;
    case REPORT_ASK:
        return valid && report_wish(st) != 0 && st->ways[OBSERVER_UP].count < REPORT_ON_WAY;
    case REPORT_ARRIVE:
        return valid && may_arrive(st, move.at);
    default:
        return !st->ended && st->now >= st->expiry;
    }
}

static void take(void *state, struct move move)
{
    struct report_state *st = state;

    switch (move.kind) {
    case REPORT_PASS:
        st->now++;
        report_ping(st, LEADER_DOWN);
        report_ping(st, FOLLOWER_DOWN);
        break;
    case REPORT_READ:
        st->observer = true;
        proofs_sent(&st->proofs, PROOF_ANCHOR, report_instant(st->now));
        proofs_answered(&st->proofs, PROOF_ANCHOR, report_instant(st->now),
                        report_instant(st->now));
        break;
    case REPORT_ASK:
        report_request(st);
        break;
    case REPORT_ARRIVE:
        report_arrives(st, (enum report_way)move.at);
        break;
    default:
        st->ended = true;
        breadth_reached(1U << SAW_ENDED);
        break;
    }
    breadth_require(!st->ended ||
                        proofs_deadline(&st->proofs, report_instant(st->now)) == DEADLINE_NONE,
                    "the session has ended, and its deadline is ahead");
}

static const char *check_end(const void *state)
{
    (void)state;
    return NULL;
}

static void print(const void *state)
{
    const struct report_state *st = state;

    printf(" at %d; until %.2f; the leader ends it at %d; touches not reported: %s%s", st->now,
           (double)st->proofs.deadline.boot / (double)UNIT, st->expiry,
           st->observer ? "the observer's " : "", st->follower ? "the follower's" : "");
}

/* ---- the program ---- */

#define CONFIG(...) BREADTH_CONFIG(report_config, __VA_ARGS__)

static const struct breadth_run runs[] = {
    {"as it is", ALWAYS, 0, CONFIG(REPORTS_TWO, 4, 5)},
    {"as it is, longer", SOAK, 0, CONFIG(REPORTS_TWO, 5, 7)},
    {"one report of two", PLANTED, 0, CONFIG(REPORTS_ONE, 4, 5)},
    {"one report of two, after two relay periods", PLANTED, 0, CONFIG(REPORTS_ONE_LONGER, 5, 6)},
    {"the first report at its sync", PLANTED, 0, CONFIG(REPORTS_AT_SYNC, 4, 5)},
    {"two relay periods, and then both reports", PLANTED, 0, CONFIG(REPORTS_AT_ONCE, 5, 5)},
};

static const char *state_name(int sight)
{
    return sights[sight];
}

int main(int argc, char **argv)
{
    static const struct breadth_world world = {BREADTH_WORLD(struct report_state),
                                               .states = SAW_COUNT};

    return breadth_main(&world, argc, argv);
}
