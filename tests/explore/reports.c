/* A session at an observer that a follower feeds, and what its leader knows of it: every
 * interleaving of reports, requests and time, breadth first, over recipes/proofs.h. A report goes
 * from the observer to the follower, and from there to the leader. Each of them asks the next one
 * at each instant, and what is on its way takes as long as it likes, but in order. Then a session
 * that has been cool, there and at a follower, until its deadline is over: at any time somebody
 * needs one, and the leader takes a session out some time before it says so. Then the same with
 * proofs that are less than that, each of which must be found. Nothing is fair. usage: reports
 * [--full] */
#include <stdio.h>
#include <string.h>

#include "breadth.h"
#include "flat.h"
#include "recipes/proofs.h"

#define UNIT INT64_C(1000000000) /* of time, ns: a relay period */

enum { REPORT_ON_WAY = 4 };

enum report_message {
    REPORT_PING = 1,
    REPORT_EMPTY,
    REPORT_TOUCH,
    REPORT_SYNC,
    REPORT_WRITE,
    REPORT_KEEP /* the sync of a session that is cool */
};

enum report_way { OBSERVER_UP, FOLLOWER_UP, LEADER_DOWN, FOLLOWER_DOWN, REPORT_WAYS };

struct report_state {
    struct proofs proofs;
    uint8_t now;
    uint8_t sent; /* when, the chain's request under way */
    struct {
        uint8_t messages[REPORT_ON_WAY];
        uint8_t count;
    } ways[REPORT_WAYS];
    uint8_t observer, follower; /* each has a touch that it has not reported */
    uint8_t expiry;
    uint8_t taken; /* out of the queue of those whose time is up, */
    uint8_t ended; /* and known to be */
    uint8_t faults;
    uint8_t unused[4];
};

enum report_move {
    REPORT_PASS, /* time */
    REPORT_READ, /* is answered */
    REPORT_ASK,  /* a sync or a write */
    REPORT_HEAT,
    REPORT_ARRIVE,
    REPORT_TAKE,
    REPORT_END,
    REPORT_MOVES
};

static const struct breadth_kind moves[REPORT_MOVES] = {
    [REPORT_PASS] = {"time passes", PERHAPS, 1},
    [REPORT_READ] = {"a read is answered", PERHAPS, 1},
    [REPORT_ASK] = {"the client sends a request", PERHAPS, 1},
    [REPORT_HEAT] = {"a deadline is needed", PERHAPS, 1},
    [REPORT_ARRIVE] = {"one message arrives on way", PERHAPS, REPORT_WAYS},
    [REPORT_TAKE] = {"the session's time is up", PERHAPS, 1},
    [REPORT_END] = {"the session ends", PERHAPS, 1},
};

enum report_fault {
    REPORTS_TWO,
    REPORTS_ONE,        /* as at a server that the leader feeds */
    REPORTS_ONE_LONGER, /* the same, after two relay periods */
    REPORTS_AT_SYNC,    /* the first one, before the observer's way is known to be through */
    REPORTS_AT_ONCE,    /* two relay periods, and then both */
    REPORTS_KEEP_ONE,   /* the session is kept by one */
    REPORTS_UNKEPT,     /* a round revives what is not kept */
    REPORTS_UNSETTLED   /* what was not kept is not waited for */
};

struct report_config {
    enum report_fault fault;
    uint8_t timeout, until;
    uint8_t cool;  /* so long it has been; 0: it is hot */
    bool follower; /* at the follower itself */
};

static const struct report_config *config;

/* What must have been seen, or the search says nothing. */
enum { SAW_PROVED, SAW_UNREPORTED, SAW_ENDED, SAW_KEPT, SAW_SETTLED, SAW_IN_VAIN, SAW_COUNT };

static const char *const sights[SAW_COUNT] = {"a deadline moved on",
                                              "a round that showed one report of two",
                                              "an end of the session",
                                              "a deadline revived in a session that was kept",
                                              "a deadline revived by a second round",
                                              "a touch of a session that was taken out"};

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

static void report_touch(struct report_state *st)
{
    *(config->follower ? &st->follower : &st->observer) = true;
}

static void report_ping_all(struct report_state *st)
{
    st->now++;
    report_ping(st, LEADER_DOWN);
    if (!config->follower)
        report_ping(st, FOLLOWER_DOWN);
}

/* ---- the client ---- */

static enum report_message report_wish(const struct report_state *st)
{
    switch (proofs_want(&st->proofs, report_instant(st->now))) {
    case PROOF_SEND_SYNC:
        return REPORT_SYNC;
    case PROOF_SEND_WRITE:
        return REPORT_WRITE;
    case PROOF_SEND_KEEP:
        return REPORT_KEEP;
    default:
        return 0;
    }
}

static enum proof_kind report_kind(enum report_message m)
{
    return m == REPORT_SYNC ? PROOF_SYNC : m == REPORT_KEEP ? PROOF_KEEP : PROOF_RENEWAL;
}

static enum report_way report_first_way(void)
{
    return config->follower ? FOLLOWER_UP : OBSERVER_UP;
}

static void report_request(struct report_state *st)
{
    const enum report_message m = report_wish(st);
    struct proofs direct = st->proofs;

    proofs_sent(&st->proofs, report_kind(m), report_instant(st->now));
    if (m == REPORT_KEEP && config->fault == REPORTS_KEEP_ONE) {
        proofs_direct(&direct);
        proofs_sent(&direct, PROOF_KEEP, report_instant(st->now));
        st->proofs.keep_base = direct.keep_base;
    }
    if (m != REPORT_KEEP)
        st->sent = st->now;
    report_touch(st);
    report_push(st, report_first_way(), m);
}

static void plant_pass(struct report_state *st, int64_t answered)
{
    struct anchors *passed = &st->proofs.passed;
    const uint32_t at = passed->count++ % PROOF_ANCHORS;

    passed->at[at].sent = st->proofs.chain_passed;
    passed->at[at].answered = (struct instant){answered, answered};
    st->proofs.passes = false;
}

static void plant_kept(struct report_state *st)
{
    if (config->fault == REPORTS_UNKEPT)
        st->proofs.kept = report_instant(UINT8_MAX);
    if (config->fault == REPORTS_UNKEPT || config->fault == REPORTS_UNSETTLED)
        st->proofs.settled = report_instant(0);
}

static void report_keep_answered(struct report_state *st)
{
    proofs_answered(&st->proofs, PROOF_KEEP, st->proofs.keep_sent, report_instant(st->now));
    plant_kept(st);
}

static void report_answered(struct report_state *st, enum report_message m)
{
    const int64_t before = st->proofs.deadline.boot;
    const bool over = proofs_deadline(&st->proofs, report_instant(st->now)) == DEADLINE_NONE,
               late = st->proofs.settled.boot > before;

    plant_kept(st);

    if (st->proofs.passes && config->fault == REPORTS_AT_SYNC && m == REPORT_SYNC)
        plant_pass(st, st->now * UNIT);
    if (st->proofs.passes && config->fault == REPORTS_AT_ONCE && m == REPORT_WRITE)
        plant_pass(st, (st->now - 2) * UNIT);
    if (st->proofs.passes && m == REPORT_WRITE && !st->proofs.rests)
        breadth_reached(1U << SAW_UNREPORTED);
    if (proofs_answered(&st->proofs, report_kind(m), report_instant(st->sent),
                        report_instant(st->now)) &&
        st->proofs.deadline.boot > before)
        breadth_reached(1U << (!over ? SAW_PROVED : late ? SAW_SETTLED : SAW_KEPT));
    if (config->fault == REPORTS_UNSETTLED && m == REPORT_WRITE && over)
        st->proofs.chain_begun = report_instant(0);
}

static void report_heard(struct report_state *st, enum report_message m)
{
    if (m == REPORT_KEEP)
        report_keep_answered(st);
    else
        report_answered(st, m);
}

/* ---- servers ---- */

static void report_arrives(struct report_state *st, enum report_way way)
{
    const enum report_message m = st->ways[way].messages[0];

    flat_remove(st->ways[way].messages, &st->ways[way].count, 1, 0);
    switch (way) {
    case OBSERVER_UP:
        if (m >= REPORT_SYNC)
            report_push(st, FOLLOWER_UP, m);
        st->follower |= m == REPORT_TOUCH;
        break;
    case FOLLOWER_UP:
        if (m >= REPORT_SYNC && (m != REPORT_WRITE || !st->ended))
            report_push(st, LEADER_DOWN, m);
        if (m == REPORT_TOUCH && st->taken)
            breadth_reached(1U << SAW_IN_VAIN);
        if (m == REPORT_TOUCH)
            st->expiry = st->now + config->timeout;
        break;
    case LEADER_DOWN:
        if (config->follower && m != REPORT_PING) {
            report_heard(st, m);
            break;
        }
        report_push(st, m == REPORT_PING ? FOLLOWER_UP : FOLLOWER_DOWN,
                    m != REPORT_PING ? m
                    : st->follower   ? REPORT_TOUCH
                                     : REPORT_EMPTY);
        st->follower = st->follower && m != REPORT_PING;
        break;
    default:
        if (m != REPORT_PING) {
            report_heard(st, m);
            break;
        }
        report_push(st, OBSERVER_UP, st->observer ? REPORT_TOUCH : REPORT_EMPTY);
        st->observer = false;
        break;
    }
}

/* ---- the world ---- */

static bool is_on_way(const struct report_state *st, uint8_t way, enum report_message m)
{
    for (int i = 0; i < st->ways[way].count; i++)
        if (st->ways[way].messages[i] == m)
            return true;
    return false;
}

/* From 1 on: what was asked before is answered. Then nothing arrives that no answer waits for. */
static void stay_cool(struct report_state *st)
{
    st->now = 1;
    proofs_use(&st->proofs, PROOF_COOL, report_instant(st->now));
    for (; st->now < config->cool; report_ping_all(st)) {
        while (report_wish(st) == REPORT_KEEP) {
            report_request(st);
            while (st->proofs.keep_under_way)
                for (uint8_t way = 0; way < REPORT_WAYS; way++)
                    if (is_on_way(st, way, REPORT_KEEP))
                        report_arrives(st, (enum report_way)way);
        }
    }
}

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
    if (config->follower)
        proofs_direct(&st->proofs);
    st->expiry = config->timeout;
    if (config->cool)
        stay_cool(st);
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

/* A client whose session is cool is in time. Between the tracker's queue and its mark no time
 * passes that could be told. */
static bool may_pass(const struct report_state *st)
{
    return st->now < config->until && report_wish(st) != REPORT_KEEP && !st->taken &&
           st->ways[LEADER_DOWN].count < REPORT_ON_WAY &&
           st->ways[FOLLOWER_DOWN].count < REPORT_ON_WAY;
}

/* Once the session has ended, or may not be used any more, nothing is of interest. */
static bool may(const void *state, struct move move)
{
    const struct report_state *st = state;
    const bool valid =
        !st->ended &&
        (config->cool || proofs_deadline(&st->proofs, report_instant(st->now)) != DEADLINE_NONE);

    switch (move.kind) {
    case REPORT_PASS:
        return valid && may_pass(st);
    case REPORT_READ:
        return valid && proofs_want(&st->proofs, report_instant(st->now)) == PROOF_SEND_ANCHOR;
    case REPORT_ASK:
        return valid && report_wish(st) != 0 && st->ways[report_first_way()].count < REPORT_ON_WAY;
    case REPORT_HEAT:
        return valid && st->proofs.need == PROOF_COOL;
    case REPORT_ARRIVE:
        return valid && may_arrive(st, move.at);
    case REPORT_TAKE:
        return !st->taken && st->now >= st->expiry;
    default:
        return st->taken && !st->ended;
    }
}

static void take(void *state, struct move move)
{
    struct report_state *st = state;

    switch (move.kind) {
    case REPORT_PASS:
        report_ping_all(st);
        break;
    case REPORT_READ:
        report_touch(st);
        proofs_sent(&st->proofs, PROOF_ANCHOR, report_instant(st->now));
        proofs_answered(&st->proofs, PROOF_ANCHOR, report_instant(st->now),
                        report_instant(st->now));
        break;
    case REPORT_ASK:
        report_request(st);
        break;
    case REPORT_HEAT:
        proofs_use(&st->proofs, PROOF_HOT, report_instant(st->now));
        break;
    case REPORT_ARRIVE:
        report_arrives(st, (enum report_way)move.at);
        break;
    case REPORT_TAKE:
        st->taken = true;
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
    {"as it is", ALWAYS, 0, CONFIG(REPORTS_TWO, 4, 5, 0, false)},
    {"as it is, longer", SOAK, 0, CONFIG(REPORTS_TWO, 5, 7, 0, false)},
    {"cool at a follower", ALWAYS, 0, CONFIG(REPORTS_TWO, 7, 8, 5, true)},
    {"cool at an observer", ALWAYS, 0, CONFIG(REPORTS_TWO, 7, 7, 5, false)},
    {"cool at an observer, longer", SOAK, 0, CONFIG(REPORTS_TWO, 7, 8, 5, false)},
    {"one report of two", PLANTED, 0, CONFIG(REPORTS_ONE, 4, 5, 0, false)},
    {"one report of two, after two relay periods", PLANTED, 0,
     CONFIG(REPORTS_ONE_LONGER, 5, 6, 0, false)},
    {"the first report at its sync", PLANTED, 0, CONFIG(REPORTS_AT_SYNC, 4, 5, 0, false)},
    {"two relay periods, and then both reports", PLANTED, 0,
     CONFIG(REPORTS_AT_ONCE, 5, 5, 0, false)},
    {"kept by one report of two", PLANTED, 0, CONFIG(REPORTS_KEEP_ONE, 7, 7, 5, false)},
    {"a round revives what is not kept", PLANTED, 0, CONFIG(REPORTS_UNKEPT, 7, 8, 5, true)},
    {"a second round at once", PLANTED, 0, CONFIG(REPORTS_UNSETTLED, 7, 8, 5, true)},
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
