/* The proofs: what moves a deadline on, and to where. */
#include "proofs.h"
#include "runner.h"
#include "seeded.h"

#include <stddef.h>
#include <stdio.h>

TEST_SUITE(proofs);

#define MS INT64_C(1000000)
#define BOOT_BASE (INT64_C(5000000) * MS)
#define RAW_BASE (INT64_C(1000000) * MS)

/* Both clocks at that time since the test's beginning; then one of them apart. */
static struct instant at(int64_t ms)
{
    return (struct instant){BOOT_BASE + ms * MS, RAW_BASE + ms * MS};
}

static struct instant at_ns(int64_t ns)
{
    return (struct instant){BOOT_BASE + ns, RAW_BASE + ns};
}

static struct instant at_each(int64_t boot_ms, int64_t raw_ms)
{
    return (struct instant){BOOT_BASE + boot_ms * MS, RAW_BASE + raw_ms * MS};
}

/* The deadline in ms since the test's beginning. */
static int64_t deadline_ms(const struct proofs *p)
{
    return (p->deadline.boot - BOOT_BASE) / MS;
}

static bool request(struct proofs *p, enum proof_kind kind, int64_t sent, int64_t answered)
{
    proofs_sent(p, kind, at(sent));
    return proofs_answered(p, kind, at(sent), at(answered));
}

static const enum proof_kind wished[] = {[PROOF_SEND_ANCHOR] = PROOF_ANCHOR,
                                         [PROOF_SEND_SYNC] = PROOF_SYNC,
                                         [PROOF_SEND_WRITE] = PROOF_RENEWAL,
                                         [PROOF_SEND_KEEP] = PROOF_KEEP};

static struct proofs p;

/* At a server that reports to the leader itself. */
static void direct_created(struct proofs *at, struct instant begun, int64_t timeout_ns)
{
    proofs_created(at, begun, timeout_ns);
    proofs_direct(at);
}

static void direct_reconnected(struct proofs *at, int64_t timeout_ns)
{
    proofs_reconnected(at, timeout_ns);
    proofs_direct(at);
}

/* A session of 10 s whose making began at 0 and with a tick of 2 s: margin 1.05 s, relay 1.2 s. */
static void start(void)
{
    proofs_init(&p, 2000 * MS, 100);
    direct_created(&p, at(0), 10000 * MS);
}

/* The connection is lost, and there is another one. */
static void connect_anew(int64_t timeout_ms)
{
    proofs_disconnected(&p);
    direct_reconnected(&p, timeout_ms * MS);
}

TEST_CASE(parameters)
{
    CHECK_INT(proofs_margin(10000 * MS, 100), 1050 * MS);
    CHECK_INT(proofs_margin(4000 * MS, 100), 450 * MS);
    CHECK_INT(proofs_margin(10000 * MS, 10), 150 * MS);
    CHECK_INT(proofs_margin(10000 * MS, 0), 50 * MS);
    CHECK_INT(proofs_relay(10000 * MS, 2000 * MS), 1200 * MS);
    CHECK_INT(proofs_relay(4000 * MS, 500 * MS), 300 * MS);
    CHECK_INT(proofs_relay(10000 * MS, 0), 3000 * MS); /* tick unknown */
    start();
    CHECK_INT(p.margin, 1050 * MS);
    CHECK_INT(p.relay, 1200 * MS);
    CHECK_INT(proofs_anchor_period(&p), 600 * MS);
    /* the ring reaches back over a relay period and a renewal */
    CHECK(PROOF_ANCHORS * proofs_anchor_period(&p) > p.relay + proofs_anchor_period(&p));
}

/* A third of what a proof leaves, between a sixth of the timeout and 9/40. */
TEST_CASE(periods)
{
    static const struct {
        int64_t timeout, tick, drift, direct, relayed; /* ms */
    } rows[] = {{10000, 2000, 100, 2250, 1666}, {10000, 0, 100, 1983, 750},
                {10000, 500, 100, 2250, 1666},  {4000, 2000, 100, 783, 300},
                {30000, 0, 100, 5983, 2250},    {1000, 0, 100, 183, 75},
                {10000, 6000, 100, 1783, 900},  {10000, 0, 500, 1666, 750}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        proofs_init(&p, rows[i].tick * MS, (int32_t)rows[i].drift);
        proofs_created(&p, at(0), rows[i].timeout * MS);
        CHECK_INT(proofs_period(&p) / MS, rows[i].relayed);
        proofs_direct(&p);
        if (!CHECK_INT(proofs_period(&p) / MS, rows[i].direct))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
        proofs_alone(&p);
        CHECK_INT(proofs_period(&p), rows[i].timeout * MS / 6);
    }
}

TEST_CASE(no_overflow)
{
    int64_t day = 86400000 * MS;
    CHECK_INT(proofs_margin(30 * day, 100), 3 * day + 50 * MS);
    CHECK_INT(proofs_relay(30 * day, 0), 9 * day);
}

TEST_CASE(nothing_is_proved_at_first)
{
    proofs_init(&p, 2000 * MS, 100);
    CHECK(!proofs_deadline(&p, at(0)));
    CHECK(!p.has_deadline);
    CHECK_INT(proofs_want(&p, at(0)), PROOF_NOTHING);
}

TEST_CASE(proved_by_its_creation)
{
    start();
    CHECK(p.has_deadline && p.connected);
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK_INT(p.deadline.raw, at(8950).raw);
    CHECK(proofs_deadline(&p, at(8949)));
    CHECK(!proofs_deadline(&p, at(8950)));
    proofs_disconnected(&p);
    CHECK(proofs_deadline(&p, at(8949))); /* what is proved stays proved */
}

/* A session that follows another begins anew, whatever was proved before. */
TEST_CASE(creation_replaces_the_old_session)
{
    start();
    proofs_alone(&p);
    request(&p, PROOF_WRITE, 5000, 5010);
    CHECK_INT(deadline_ms(&p), 13950);
    proofs_disconnected(&p);
    direct_created(&p, at(6000), 4000 * MS);
    CHECK_INT(deadline_ms(&p), 6000 + 4000 - 450);
    CHECK(!p.alone);
    CHECK(!request(&p, PROOF_WRITE, 7000, 7010));
    CHECK_INT(deadline_ms(&p), 9550);
}

TEST_CASE(alone_any_write_is_a_proof)
{
    static const struct {
        enum proof_kind kind;
        bool proves;
    } rows[] = {
        {PROOF_ANCHOR, false}, {PROOF_SYNC, false}, {PROOF_WRITE, true}, {PROOF_RENEWAL, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start();
        proofs_alone(&p);
        CHECK_INT(request(&p, rows[i].kind, 3000, 3400), rows[i].proves);
        CHECK_INT(deadline_ms(&p), rows[i].proves ? 3000 + 8950 : 8950); /* sent, not answered */
    }
}

TEST_CASE(alone_a_users_write_must_gain_something)
{
    static const struct {
        int64_t sent, answered;
        enum proof_kind kind, counts_as;
        bool ensemble;
        int64_t renewal; /* when one was sent that is not answered; 0: none */
    } rows[] = {
        {156, 160, PROOF_WRITE, PROOF_ANCHOR, false, 0}, /* a 64th is 156.25 ms */
        {157, 160, PROOF_WRITE, PROOF_WRITE, false, 0},
        {156, 160, PROOF_RENEWAL, PROOF_RENEWAL, false, 0},
        {156, 160, PROOF_KEEP, PROOF_KEEP, false, 0},
        {156, 160, PROOF_WRITE, PROOF_WRITE, true, 0},
        {156, 4165, PROOF_WRITE, PROOF_ANCHOR, false, 0}, /* overdue at 4166 */
        {156, 4167, PROOF_WRITE, PROOF_WRITE, false, 0},
        {156, 1671, PROOF_WRITE, PROOF_ANCHOR, false, 5}, /* a period after that it does not last */
        {156, 1672, PROOF_WRITE, PROOF_WRITE, false, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start();
        if (!rows[i].ensemble)
            proofs_alone(&p);
        if (rows[i].renewal)
            proofs_sent(&p, PROOF_RENEWAL, at(rows[i].renewal));
        if (!CHECK_INT(proof_by_gain(&p, rows[i].kind, at(rows[i].sent), at(rows[i].answered)),
                       rows[i].counts_as))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

TEST_CASE(deadlines_never_go_back_by_a_proof)
{
    start();
    proofs_alone(&p);
    CHECK(request(&p, PROOF_WRITE, 3000, 3010));
    CHECK(!proofs_answered(&p, PROOF_WRITE, at(2000), at(3020)));
    CHECK_INT(deadline_ms(&p), 11950);
}

TEST_CASE(single_requests_prove_nothing_in_an_ensemble)
{
    static const enum proof_kind kinds[] = {PROOF_ANCHOR, PROOF_SYNC, PROOF_WRITE, PROOF_RENEWAL};
    for (size_t i = 0; i < 4; i++) {
        start();
        CHECK(!request(&p, kinds[i], 3000, 3010));
        CHECK(!request(&p, kinds[i], 6000, 6010));
        CHECK_INT(deadline_ms(&p), 8950);
    }
}

TEST_CASE(chain_extends_from_its_anchor)
{
    start();
    CHECK(!request(&p, PROOF_ANCHOR, 1000, 1100));
    CHECK(!request(&p, PROOF_SYNC, 2300, 2350)); /* 1100 + 1200 */
    CHECK(request(&p, PROOF_RENEWAL, 2360, 2400));
    CHECK_INT(deadline_ms(&p), 1000 + 8950);
    CHECK_INT(p.deadline.raw, at(9950).raw);
}

TEST_CASE(chain_needs_the_relay_period_by_both_clocks)
{
    static const struct {
        int64_t boot, raw; /* when the sync is sent; the anchor was answered at 1100 */
        bool proves;
    } rows[] = {
        {2300, 2300, true},  {2299, 2299, false}, {2299, 2300, false},
        {2300, 2299, false}, {9000, 2299, false}, /* a suspension is no time for the servers' pings
                                                   */
        {2299, 9000, false}, {1100, 1100, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start();
        struct instant sync = at_each(rows[i].boot, rows[i].raw);
        struct instant write = instant_add(sync, 10 * MS);
        request(&p, PROOF_ANCHOR, 1000, 1100);
        proofs_sent(&p, PROOF_SYNC, sync);
        proofs_answered(&p, PROOF_SYNC, sync, instant_add(sync, 5 * MS));
        proofs_sent(&p, PROOF_RENEWAL, write);
        proofs_answered(&p, PROOF_RENEWAL, write, instant_add(write, 5 * MS));
        if (!CHECK_INT(deadline_ms(&p), rows[i].proves ? 9950 : 8950))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

TEST_CASE(chain_rests_on_the_newest_anchor_that_is_old_enough)
{
    start();
    request(&p, PROOF_ANCHOR, 700, 710);
    request(&p, PROOF_ANCHOR, 1400, 1410);
    request(&p, PROOF_ANCHOR, 2100, 2110);
    request(&p, PROOF_SYNC, 2700, 2710); /* 1410 is old enough, 2110 is not */
    CHECK(request(&p, PROOF_RENEWAL, 2720, 2730));
    CHECK_INT(deadline_ms(&p), 1400 + 8950);
}

/* A slow answer says only that the touch was before it. */
TEST_CASE(anchor_counts_from_its_answer)
{
    start();
    request(&p, PROOF_ANCHOR, 1000, 1900);
    request(&p, PROOF_SYNC, 2300, 2310);
    CHECK(!request(&p, PROOF_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&p), 8950);
}

TEST_CASE(an_anchor_answered_during_the_round_is_for_the_next)
{
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    request(&p, PROOF_SYNC, 2300, 2310);
    request(&p, PROOF_ANCHOR, 2315, 2318);
    CHECK(request(&p, PROOF_RENEWAL, 2320, 6000));
    CHECK_INT(deadline_ms(&p), 1000 + 8950);
}

TEST_CASE(chain_is_broken_by_a_failure)
{
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    proofs_failed(&p, PROOF_SYNC);
    CHECK(!request(&p, PROOF_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&p), 8950);

    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    request(&p, PROOF_SYNC, 2300, 2310);
    proofs_sent(&p, PROOF_RENEWAL, at(2320));
    proofs_failed(&p, PROOF_RENEWAL);
    CHECK_INT(deadline_ms(&p), 8950);
    request(&p, PROOF_SYNC, 4000, 4010); /* and the next round is possible */
    CHECK(request(&p, PROOF_RENEWAL, 4020, 4030));
    CHECK_INT(deadline_ms(&p), 2300 + 8950); /* that sync was answered: it is an anchor too */
}

/* A write that was sent before the sync was answered may have overtaken the relay. */
TEST_CASE(write_must_follow_the_answered_sync)
{
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    proofs_sent(&p, PROOF_RENEWAL, at(2305));
    proofs_answered(&p, PROOF_SYNC, at(2300), at(2310));
    proofs_answered(&p, PROOF_RENEWAL, at(2305), at(2320));
    CHECK_INT(deadline_ms(&p), 8950);
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    request(&p, PROOF_SYNC, 2300, 2310);
    CHECK(!proofs_answered(&p, PROOF_WRITE, at(2305), at(2320)));
    CHECK_INT(deadline_ms(&p), 8950);
}

/* ---- an observer that a follower feeds ---- */

static void start_relayed(void)
{
    proofs_init(&p, 2000 * MS, 100);
    proofs_created(&p, at(0), 10000 * MS);
}

/* A round; true if it moved the deadline on. */
static bool one_round(int64_t sync, int64_t write)
{
    request(&p, PROOF_SYNC, sync, sync + 10);
    return request(&p, PROOF_RENEWAL, write, write + 40);
}

TEST_CASE(relayed_rounds_prove_in_pairs)
{
    start_relayed();
    request(&p, PROOF_ANCHOR, 1000, 1100);
    CHECK_INT(proofs_want(&p, at(2299)), PROOF_SEND_ANCHOR);
    CHECK_INT(proofs_want(&p, at(2300)), PROOF_SEND_SYNC); /* 1100 + 1200 */
    CHECK(!one_round(2300, 2360));
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK(!proofs_overdue(&p, at(2400 + 4166))); /* it goes on as it should */
    CHECK_INT(proofs_want(&p, at(3600)), PROOF_SEND_ANCHOR);
    CHECK_INT(proofs_want(&p, at(2300 + 1667)), PROOF_SEND_SYNC);
    CHECK(one_round(3967, 3980));
    CHECK_INT(deadline_ms(&p), 1000 + 8950);
    CHECK_INT(p.deadline.raw, at(9950).raw);
    CHECK(one_round(5640, 5660)); /* the second of another pair: its anchor is the first sync */
    CHECK_INT(deadline_ms(&p), 2300 + 8950);
}

/* What is short of a second report. */
TEST_CASE(relayed_pairs_need_all_steps)
{
    start_relayed(); /* the second sync, too early after the first write's answer, by either clock
                      */
    request(&p, PROOF_ANCHOR, 1000, 1100);
    one_round(2300, 2360);
    CHECK(!one_round(2400 + 1199, 3700));
    start_relayed();
    request(&p, PROOF_ANCHOR, 1000, 1100);
    one_round(2300, 2360);
    proofs_sent(&p, PROOF_SYNC, at_each(3599, 9000));
    proofs_answered(&p, PROOF_SYNC, at_each(3599, 9000), at_each(3610, 9011));
    CHECK(!request(&p, PROOF_RENEWAL, 9100, 9110));

    start_relayed(); /* the first write: it may be still on its way to the follower */
    request(&p, PROOF_ANCHOR, 1000, 1100);
    request(&p, PROOF_SYNC, 2300, 2310);
    proofs_sent(&p, PROOF_RENEWAL, at(2320));
    proofs_failed(&p, PROOF_RENEWAL);
    CHECK(!one_round(4000, 4020));

    start_relayed(); /* twice the relay, and one round */
    request(&p, PROOF_ANCHOR, 1000, 1100);
    CHECK(!one_round(3600, 3620));

    start_relayed(); /* a pair is of one connection */
    request(&p, PROOF_ANCHOR, 1000, 1100);
    one_round(2300, 2360);
    proofs_reconnected(&p, 10000 * MS);
    proofs_failed(&p, PROOF_RENEWAL);
    request(&p, PROOF_ANCHOR, 2500, 2510);
    CHECK(!one_round(3967, 3980));
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK(one_round(5640, 5660));
    CHECK_INT(deadline_ms(&p), 2500 + 8950);
}

/* What a server is shown to be counts for the rounds that begin then, on that connection. */
TEST_CASE(shown_to_be_direct)
{
    start_relayed();
    request(&p, PROOF_ANCHOR, 1000, 1100);
    request(&p, PROOF_SYNC, 2300, 2310);
    proofs_direct(&p);
    CHECK(!request(&p, PROOF_RENEWAL, 2360, 2400));
    CHECK(one_round(3967, 3980));
    CHECK_INT(deadline_ms(&p), 2300 + 8950);
    proofs_reconnected(&p, 10000 * MS);
    proofs_failed(&p, PROOF_RENEWAL);
    request(&p, PROOF_ANCHOR, 4100, 4110);
    CHECK(!one_round(6000, 6010));
    CHECK_INT(deadline_ms(&p), 2300 + 8950);
}

/* A handshake is passed on at once, and is no first round of a pair. */
TEST_CASE(relayed_handshake)
{
    start_relayed();
    request(&p, PROOF_ANCHOR, 3000, 3010);
    proofs_reconnected(&p, 10000 * MS);
    CHECK(request(&p, PROOF_RENEWAL, 6000, 6010));
    CHECK_INT(deadline_ms(&p), 3000 + 8950);
    CHECK(!one_round(7220, 7240));
    CHECK_INT(deadline_ms(&p), 3000 + 8950);
}

/* 10 s and no tick: a relay of 3 s, so four pairs at a time, a round each 750 ms. A round that
 * would come right before the second one of a pair is possible waits for that. */
TEST_CASE(relayed_rounds_wait_for_a_pair)
{
    static const struct {
        int64_t answered, next; /* the first round of a pair, whose sync was sent at 3000 */
    } rows[] = {{3010, 6010}, {3375, 6375}, {3376, 6000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        proofs_init(&p, 0, 100);
        proofs_created(&p, at(0), 10000 * MS);
        CHECK_INT(proofs_period(&p), 750 * MS);
        request(&p, PROOF_ANCHOR, 0, 0);
        request(&p, PROOF_SYNC, 3000, 3005);
        request(&p, PROOF_RENEWAL, 3005, rows[i].answered);
        request(&p, PROOF_SYNC, 5250, 5255);
        request(&p, PROOF_RENEWAL, 5255, 5260);
        if (!CHECK_INT(proofs_wait(&p, at(5260)), (rows[i].next - 5260) * MS) ||
            !CHECK(proofs_want(&p, at(rows[i].next - 1)) != PROOF_SEND_SYNC) ||
            !CHECK_INT(proofs_want(&p, at(rows[i].next)), PROOF_SEND_SYNC))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

TEST_CASE(relayed_deadlines_last)
{
    start_relayed();
    CHECK(proofs_can_last(10000 * MS, 2000 * MS, 100, true));
    CHECK(proofs_can_last(10000 * MS, 0, 100, true));
    CHECK(!proofs_can_last(450 * MS, 0, 100, true) && proofs_can_last(450 * MS, 0, 100, false));
    CHECK(proofs_can_last(450 * MS, 200 * MS, 100, true)); /* so the tick is what to set */
    CHECK(!proofs_can_last(10000 * MS, 5800 * MS, 100, true));
    CHECK(proofs_can_last(10000 * MS, 5800 * MS, 100, false));
}

/* ---- clocks that disagree, and connections that change ---- */

TEST_CASE(instants)
{
    struct instant d = instant_add(at(100), 50 * MS);
    CHECK_INT(d.boot, at(150).boot);
    CHECK_INT(d.raw, at(150).raw);
    static const struct {
        int64_t boot, raw, left;
    } rows[] = {
        {100, 100, 50}, {149, 149, 1},  {150, 150, 0}, {150, 100, 0}, {100, 150, 0},
        {120, 140, 10}, {140, 120, 10}, {900, 0, 0},   {0, 900, 0},   {999, 999, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct instant now = at_each(rows[i].boot, rows[i].raw);
        if (!CHECK_INT(instant_left(now, d), rows[i].left * MS) ||
            !CHECK_INT(instant_reached(now, d), rows[i].left == 0))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
    CHECK(instant_passed(at(150), at(100), 50 * MS));
    CHECK(!instant_passed(at(149), at(100), 50 * MS));
    CHECK(!instant_passed(at_each(500, 149), at(100), 50 * MS));
    CHECK(!instant_passed(at_each(149, 500), at(100), 50 * MS));
}

/* BOOTTIME below it: RAW may have run twice as fast since, and is short of the deadline. */
TEST_CASE(sure_by_one_clock)
{
    static const struct {
        int64_t boot, raw, sure;
    } rows[] = {
        {100, 100, 125}, {110, 100, 130}, {100, 110, 120}, {140, 100, 145},
        {100, 149, 100}, {150, 100, 150}, {100, 150, 100}, {900, 900, 900},
    };
    struct instant d = instant_add(at(100), 50 * MS);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct instant now = at_each(rows[i].boot, rows[i].raw);
        int64_t sure = instant_sure(now, d), passed = sure - now.boot;
        if (!CHECK_INT((sure - at(0).boot) / MS, rows[i].sure))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
        struct instant last = {sure - 1, now.raw + 2 * (passed - 1)};
        CHECK(passed == 0 || !instant_reached(last, d));
    }
}

TEST_CASE(suspended)
{
    start();
    CHECK(proofs_deadline(&p, at(3000)));
    CHECK(!proofs_deadline(&p, at_each(23000, 3000)));
    CHECK(!proofs_deadline(&p, at_each(8950, 3000)));
    CHECK(proofs_deadline(&p, at_each(8949, 3000)));
}

/* BOOTTIME slowed down by a time daemon: RAW is right. */
TEST_CASE(slewed)
{
    start();
    CHECK(proofs_deadline(&p, at_each(8055, 8949)));
    CHECK(!proofs_deadline(&p, at_each(8055, 8950)));
    CHECK_INT(instant_left(at_each(8055, 8900), p.deadline), 50 * MS);
}

/* ---- a handshake is an anchor ---- */

/* The deadline counts from when the newest request was sent that was answered before the handshake:
 * not from the handshake's own time, nor from the write's. */
TEST_CASE(a_handshake_is_an_anchor)
{
    start();
    request(&p, PROOF_ANCHOR, 3000, 3010);
    request(&p, PROOF_ANCHOR, 2900, 3020);
    connect_anew(10000);
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK_INT(proofs_want(&p, at(6000)), PROOF_SEND_WRITE);
    CHECK(request(&p, PROOF_RENEWAL, 6000, 6010));
    CHECK_INT(deadline_ms(&p), 3000 + 8950);
    CHECK_INT(p.deadline.raw, at(3000 + 8950).raw);
    CHECK(!proofs_overdue(&p, at(6010 + 4166)));
    CHECK_INT(proofs_want(&p, at(6020)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(7210)), PROOF_SEND_SYNC); /* as soon as its leader has heard */
    CHECK(!request(&p, PROOF_RENEWAL, 6020, 6030));        /* once */
}

/* Each is an anchor for itself; what was answered between counts for the second. */
TEST_CASE(two_handshakes)
{
    start();
    request(&p, PROOF_ANCHOR, 3000, 3010);
    direct_reconnected(&p, 10000 * MS);
    request(&p, PROOF_ANCHOR, 5000, 5010);
    proofs_sent(&p, PROOF_RENEWAL, at(5020));
    direct_reconnected(&p, 10000 * MS);
    CHECK(!proofs_answered(&p, PROOF_RENEWAL, at(5020), at(5030))); /* sent before it */
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK_INT(proofs_want(&p, at(6000)), PROOF_SEND_WRITE);
    CHECK(request(&p, PROOF_RENEWAL, 6000, 6010));
    CHECK_INT(deadline_ms(&p), 5000 + 8950);
}

/* What was answered on that connection comes behind its handshake. */
TEST_CASE(answers_behind_a_handshake_are_no_part_of_it)
{
    start();
    request(&p, PROOF_ANCHOR, 3000, 3010);
    direct_reconnected(&p, 10000 * MS);
    request(&p, PROOF_ANCHOR, 5000, 5010);
    CHECK(request(&p, PROOF_RENEWAL, 5020, 5030));
    CHECK_INT(deadline_ms(&p), 3000 + 8950);
}

TEST_CASE(a_handshake_needs_its_write)
{
    static const enum proof_kind others[] = {PROOF_ANCHOR, PROOF_SYNC, PROOF_WRITE};
    for (size_t i = 0; i < 3; i++) {
        start();
        request(&p, PROOF_ANCHOR, 3000, 3010);
        direct_reconnected(&p, 10000 * MS);
        CHECK(!request(&p, others[i], 6000, 6010));
        CHECK_INT(deadline_ms(&p), 8950);
    }
    start(); /* it was not carried out */
    request(&p, PROOF_ANCHOR, 3000, 3010);
    direct_reconnected(&p, 10000 * MS);
    proofs_sent(&p, PROOF_RENEWAL, at(6000));
    proofs_failed(&p, PROOF_RENEWAL);
    CHECK(!request(&p, PROOF_RENEWAL, 6020, 6030));
    CHECK_INT(deadline_ms(&p), 8950);
}

/* Its touch may have come between the end of the session's time and the end of the session. */
TEST_CASE(a_handshake_revives_no_deadline)
{
    static const struct {
        int64_t boot, raw;
        bool proves;
    } rows[] = {{8949, 8949, true}, {8950, 8950, false}, {8950, 8000, false}, {8000, 8950, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start();
        request(&p, PROOF_ANCHOR, 3000, 3010);
        direct_reconnected(&p, 10000 * MS);
        proofs_sent(&p, PROOF_RENEWAL, at(7000));
        if (!CHECK_INT(
                proofs_answered(&p, PROOF_RENEWAL, at(7000), at_each(rows[i].boot, rows[i].raw)),
                rows[i].proves) ||
            !CHECK_INT(deadline_ms(&p), rows[i].proves ? 3000 + 8950 : 8950))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
    request(&p, PROOF_ANCHOR, 9500, 9510); /* two chains do */
    request(&p, PROOF_SYNC, 10800, 10810);
    CHECK(!request(&p, PROOF_RENEWAL, 10820, 10830));
    request(&p, PROOF_SYNC, 12200, 12210);
    CHECK(request(&p, PROOF_RENEWAL, 12220, 12230));
    CHECK_INT(deadline_ms(&p), 10800 + 8950);
}

/* Which is known only behind the write: it counts for itself, and is a round. */
TEST_CASE(a_handshake_of_a_lone_server)
{
    start();
    direct_reconnected(&p, 10000 * MS);
    proofs_sent(&p, PROOF_RENEWAL, at(6000));
    proofs_alone(&p);
    CHECK(proofs_answered(&p, PROOF_RENEWAL, at(6000), at(6010)));
    CHECK_INT(deadline_ms(&p), 6000 + 8950);
    CHECK_INT(proofs_want(&p, at(6000 + 1666)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(6000 + 1667)), PROOF_SEND_WRITE);
}

/* A new connection, whose handshake comes to nothing as an anchor. */
static void failed_handshake(int64_t timeout_ms)
{
    direct_reconnected(&p, timeout_ms * MS);
    proofs_failed(&p, PROOF_RENEWAL);
}

TEST_CASE(an_old_connection_is_void)
{
    start(); /* the anchor */
    request(&p, PROOF_ANCHOR, 1000, 1010);
    proofs_disconnected(&p);
    failed_handshake(10000);
    request(&p, PROOF_SYNC, 2300, 2310);
    CHECK(!request(&p, PROOF_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&p), 8950);

    start(); /* the sync */
    request(&p, PROOF_ANCHOR, 1000, 1010);
    request(&p, PROOF_SYNC, 2300, 2310);
    proofs_disconnected(&p);
    failed_handshake(10000);
    CHECK(!request(&p, PROOF_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&p), 8950);

    start(); /* that the server stands alone */
    proofs_alone(&p);
    connect_anew(10000);
    CHECK(!request(&p, PROOF_WRITE, 3000, 3010));
    CHECK_INT(deadline_ms(&p), 8950);
}

TEST_CASE(answers_without_a_connection_prove_nothing)
{
    start();
    proofs_alone(&p);
    proofs_disconnected(&p);
    CHECK(!proofs_answered(&p, PROOF_WRITE, at(3000), at(3010)));
    CHECK_INT(deadline_ms(&p), 8950);
    direct_reconnected(&p, 4000 * MS); /* nor do they soften a smaller timeout */
    CHECK_INT(deadline_ms(&p), 3550);

    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    failed_handshake(10000);
    proofs_answered(&p, PROOF_SYNC, at(2300), at(2310));
    CHECK(proofs_want(&p, at(2320)) != PROOF_SEND_WRITE);
}

TEST_CASE(chain_on_a_new_connection)
{
    start();
    connect_anew(10000);
    request(&p, PROOF_ANCHOR, 3000, 3010);
    request(&p, PROOF_SYNC, 4300, 4310);
    CHECK(request(&p, PROOF_RENEWAL, 4320, 4330));
    CHECK_INT(deadline_ms(&p), 3000 + 8950);
    failed_handshake(10000); /* and the next one need not wait for the old one's period */
    request(&p, PROOF_ANCHOR, 4400, 4410);
    CHECK_INT(proofs_want(&p, at(5610)), PROOF_SEND_SYNC);
}

/* Whatever was answered touched the session under a timeout of at least S'. */
TEST_CASE(smaller_timeout_takes_the_deadline_back)
{
    static const enum proof_kind kinds[] = {PROOF_ANCHOR, PROOF_SYNC, PROOF_WRITE, PROOF_RENEWAL};
    for (size_t i = 0; i < 4; i++) {
        start();
        request(&p, kinds[i], 2000, 2010);
        proofs_disconnected(&p);
        CHECK_INT(deadline_ms(&p), 8950);
        direct_reconnected(&p, 4000 * MS);
        CHECK_INT(deadline_ms(&p), 2000 + 4000 - 450);
        CHECK_INT(p.deadline.raw, at(5550).raw);
    }
    start(); /* nothing was answered since the creation */
    connect_anew(4000);
    CHECK_INT(deadline_ms(&p), 4000 - 450);
}

TEST_CASE(newest_is_by_the_time_of_sending)
{
    start();
    proofs_answered(&p, PROOF_ANCHOR, at(2000), at(2100));
    proofs_answered(&p, PROOF_ANCHOR, at(1500), at(2200));
    connect_anew(4000);
    CHECK_INT(deadline_ms(&p), 2000 + 4000 - 450);
}

TEST_CASE(no_reconnect_moves_a_deadline_on)
{
    start();
    request(&p, PROOF_ANCHOR, 7000, 7010);
    proofs_disconnected(&p);
    direct_reconnected(&p, 4000 * MS); /* 7000 + 3550 would be later */
    CHECK_INT(deadline_ms(&p), 8950);
    connect_anew(40000);
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK(p.timeout <= 10000 * MS); /* never more than at the creation */
    proofs_alone(&p);
    request(&p, PROOF_WRITE, 8000, 8010);
    CHECK(deadline_ms(&p) <= 8000 + 8950);
}

TEST_CASE(smaller_timeout_rules_the_next_proofs)
{
    start();
    connect_anew(4000);
    CHECK_INT(p.timeout, 4000 * MS);
    CHECK_INT(p.margin, 450 * MS);
    proofs_alone(&p);
    CHECK(request(&p, PROOF_WRITE, 3000, 3010));
    CHECK_INT(deadline_ms(&p), 3000 + 3550);
}

TEST_CASE(relay_of_an_unknown_tick_follows_the_timeout)
{
    proofs_init(&p, 0, 100);
    direct_created(&p, at(0), 10000 * MS);
    CHECK_INT(p.relay, 3000 * MS);
    request(&p, PROOF_ANCHOR, 1000, 1010);
    request(&p, PROOF_SYNC, 4009, 4010);
    CHECK(!request(&p, PROOF_RENEWAL, 4011, 4012));
    request(&p, PROOF_SYNC, 4020, 4030);
    CHECK(request(&p, PROOF_RENEWAL, 4040, 4050));
}

TEST_CASE(overdue)
{
    start();
    const int64_t limit = 4166; /* of the timeout, whatever the period */
    CHECK(!proofs_overdue(&p, at(limit)));
    CHECK(proofs_overdue(&p, at(limit + 1)));
    CHECK(proofs_overdue(&p, at_each(limit + 1, 0))); /* by either clock: suspicion costs little */
    CHECK(proofs_overdue(&p, at_each(0, limit + 1)));
    proofs_alone(&p);
    request(&p, PROOF_ANCHOR, 3000, 3000);
    CHECK(proofs_overdue(&p, at(limit + 1))); /* that was no proof */
    request(&p, PROOF_WRITE, 4000, 4000);
    CHECK(!proofs_overdue(&p, at(limit + 1)));
    CHECK(!proofs_overdue(&p, at(4000 + limit)));
    CHECK(proofs_overdue(&p, at(4000 + limit + 1)));
}

/* One of a kind is under way at a time, and what failed is asked for again. */
TEST_CASE(wanted_one_after_the_other)
{
    start();
    CHECK_INT(proofs_want(&p, at(10)), PROOF_SEND_ANCHOR);
    proofs_sent(&p, PROOF_ANCHOR, at(10));
    CHECK_INT(proofs_want(&p, at(900)), PROOF_NOTHING);
    proofs_failed(&p, PROOF_ANCHOR);
    CHECK_INT(proofs_want(&p, at(900)), PROOF_SEND_ANCHOR);
    request(&p, PROOF_ANCHOR, 900, 910);
    CHECK_INT(proofs_want(&p, at(1000)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(2109)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(2110)), PROOF_SEND_SYNC); /* 910 + 1200 */
    proofs_sent(&p, PROOF_SYNC, at(2110));
    CHECK_INT(proofs_want(&p, at(2111)), PROOF_NOTHING);
    proofs_failed(&p, PROOF_SYNC);
    CHECK_INT(proofs_want(&p, at(2110 + 1667)), PROOF_SEND_SYNC);
    request(&p, PROOF_SYNC, 4360, 4370);
    CHECK_INT(proofs_want(&p, at(4370)), PROOF_SEND_WRITE);
    proofs_sent(&p, PROOF_RENEWAL, at(4370));
    CHECK(proofs_want(&p, at(4371)) != PROOF_SEND_WRITE);
    proofs_failed(&p, PROOF_RENEWAL);
    CHECK(proofs_want(&p, at(4371)) != PROOF_SEND_WRITE); /* not without a sync before it */
    CHECK_INT(proofs_want(&p, at(4360 + 1667)), PROOF_SEND_SYNC);
}

TEST_CASE(nothing_is_wanted_when_disconnected)
{
    start();
    CHECK(proofs_want(&p, at(2000)) != PROOF_NOTHING);
    proofs_disconnected(&p);
    for (int64_t ms = 0; ms < 20000; ms += 100) {
        CHECK_INT(proofs_want(&p, at(ms)), PROOF_NOTHING);
        CHECK(proofs_wait(&p, at(ms)) > 0); /* and nobody spins over it */
    }
    direct_reconnected(&p, 10000 * MS);
    CHECK(proofs_want(&p, at(20000)) != PROOF_NOTHING);
}

/* ---- when each request is sent, and what an edge decides ---- */

/* A session of 10 s with a tick of 2 s sends an anchor each 0.6 s until its first renewal, and a
 * renewal each 2.25 s. */

static struct instant later_ns(int64_t boot, int64_t raw)
{
    struct instant t = at(0);

    return (struct instant){t.boot + boot, t.raw + raw};
}

TEST_CASE(the_last_nanosecond)
{
    CHECK_INT(instant_left(at(0), later_ns(1, 1)), 1);
    CHECK_INT(instant_left(at(0), later_ns(1, 5)), 1);
    CHECK_INT(instant_left(at(0), later_ns(5, 1)), 1);
    CHECK_INT(instant_left(at(0), later_ns(0, 5)), 0);
    CHECK_INT(instant_left(at(0), later_ns(5, 0)), 0);
    CHECK_INT(instant_left(at(0), later_ns(-5, 5)), 0);
}

/* Later by one clock and the same by the other is no later. */
TEST_CASE(later_by_both_clocks)
{
    start();
    proofs_alone(&p);
    CHECK(!proofs_answered(&p, PROOF_WRITE, at_each(5000, 0), at(5010)));
    CHECK(!proofs_answered(&p, PROOF_WRITE, at_each(0, 5000), at(5010)));
    CHECK(!proofs_answered(&p, PROOF_WRITE, at_each(5000, -100), at(5010)));
    CHECK_INT(p.deadline.raw, at(8950).raw);
    CHECK(proofs_answered(&p, PROOF_WRITE, at_each(1, 1), at(5010)));
    CHECK_INT(deadline_ms(&p), 8951);
}

/* Whatever was under way on the old connection, announced as lost or not: the write behind the
 * handshake, and an anchor for the rounds to come. */
TEST_CASE(a_new_connection_begins_with_a_write)
{
    for (int announced = 0; announced < 2; announced++) {
        start();
        for (int i = 0; i < PROOF_ANCHORS; i++)
            request(&p, PROOF_ANCHOR, 1000 + 600 * i, 1010 + 600 * i);
        CHECK_INT(p.heard.count, PROOF_ANCHORS);
        proofs_sent(&p, PROOF_ANCHOR, at(10100));
        if (announced)
            proofs_disconnected(&p);
        direct_reconnected(&p, 10000 * MS);
        CHECK_INT(proofs_want(&p, at(10101)), PROOF_SEND_WRITE);
        proofs_sent(&p, PROOF_RENEWAL, at(10101));
        CHECK_INT(proofs_want(&p, at(10101)), PROOF_SEND_ANCHOR);
    }
}

/* Else the ring would not reach back over a relay period. */
TEST_CASE(anchors_are_sparse)
{
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    one_round(2300, 2310);
    CHECK_INT(p.heard.count, 2);
    request(&p, PROOF_ANCHOR, 2600, 2609); /* a quarter of the relay period is 300 */
    CHECK_INT(p.heard.count, 2);
    request(&p, PROOF_ANCHOR, 2600, 2610);
    CHECK_INT(p.heard.count, 3);
}

TEST_CASE(a_failed_round_is_no_reason_to_hurry)
{
    start();
    request(&p, PROOF_ANCHOR, 1100, 1100);
    CHECK_INT(proofs_want(&p, at(2300)), PROOF_SEND_SYNC);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    proofs_failed(&p, PROOF_SYNC);
    proofs_sent(&p, PROOF_ANCHOR, at(2300));
    CHECK_INT(proofs_want(&p, at(2301)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(2300 + 1666)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(2300 + 1667)), PROOF_SEND_SYNC);
}

TEST_CASE(rounds_count_from_their_sync)
{
    start();
    request(&p, PROOF_ANCHOR, 1100, 1100);
    request(&p, PROOF_SYNC, 2300, 2310);
    request(&p, PROOF_RENEWAL, 2900, 2910);
    proofs_sent(&p, PROOF_ANCHOR, at(2920));
    CHECK_INT(proofs_want(&p, at(2300 + 2249)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(2300 + 2250)), PROOF_SEND_SYNC);
}

/* One that rested on an older anchor than it might is followed so much sooner, by a sixth of the
 * timeout at least. */
TEST_CASE(rounds_on_old_anchors_are_followed_sooner)
{
    static const struct {
        int64_t anchor, next;
    } rows[] = {{1100, 4550}, {1000, 4450}, {520, 3970}, {500, 3967}, {10, 3967}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start();
        request(&p, PROOF_ANCHOR, rows[i].anchor, rows[i].anchor);
        one_round(2300, 2310);
        proofs_sent(&p, PROOF_ANCHOR, at(2320));
        if (!CHECK_INT(proofs_want(&p, at(rows[i].next - 1)), PROOF_NOTHING) ||
            !CHECK_INT(proofs_want(&p, at(rows[i].next)), PROOF_SEND_SYNC))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
    start(); /* older by one clock */
    request(&p, PROOF_ANCHOR, 1100, 1100);
    proofs_sent(&p, PROOF_SYNC, at_each(2400, 2300));
    proofs_answered(&p, PROOF_SYNC, at_each(2400, 2300), at_each(2410, 2310));
    request(&p, PROOF_RENEWAL, 2420, 2430);
    proofs_sent(&p, PROOF_ANCHOR, at(2500));
    CHECK_INT(proofs_want(&p, at_each(4549, 4449)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at_each(4549, 4450)), PROOF_SEND_SYNC);
}

/* A machine that was suspended during a round does not send one anchor after the other. */
TEST_CASE(anchors_after_a_suspension)
{
    start();
    request(&p, PROOF_ANCHOR, 1100, 1100);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    CHECK_INT(proofs_want(&p, at_each(3602300, 2310)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at_each(3602300, 3350)), PROOF_SEND_ANCHOR);
    proofs_answered(&p, PROOF_ANCHOR, at_each(3602300, 3350), at_each(3602310, 3360));
    CHECK_INT(proofs_want(&p, at_each(3602310, 3360)), PROOF_NOTHING);
}

TEST_CASE(how_long_to_wait)
{
    start();
    CHECK_INT(proofs_wait(&p, at(0)), 300 * MS); /* half of an anchor's period: none is there yet */
    request(&p, PROOF_ANCHOR, 1100, 1100);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    CHECK_INT(proofs_wait(&p, at(2300)), 300 * MS); /* under way */
    proofs_answered(&p, PROOF_SYNC, at(2300), at(2310));
    request(&p, PROOF_RENEWAL, 2320, 2330);
    CHECK_INT(proofs_wait(&p, at(2330)) / MS, 3068 - 2330); /* the spare anchor of that round */
    request(&p, PROOF_ANCHOR, 3069, 3070);
    CHECK_INT(proofs_wait(&p, at(3070)), (3350 - 3070) * MS); /* the anchor */
    request(&p, PROOF_ANCHOR, 3350, 3360);
    CHECK_INT(proofs_wait(&p, at(3360)), (4560 - 3360) * MS); /* when it is a relay old */
    CHECK_INT(proofs_wait(&p, at(4560)), 300 * MS);

    start();
    proofs_alone(&p);
    request(&p, PROOF_RENEWAL, 1000, 1010);
    CHECK_INT(proofs_wait(&p, at(1010)) / MS, 1000 + 1666 - 1010);
    CHECK_INT(proofs_wait(&p, at(2600)) / MS, 1000 + 1666 - 2600);
}

/* A round is due at 4550, and rests on the anchor of 3350 that is a relay old then. It waits for
 * that for an eighth of its period, else it rests on the spare. */
TEST_CASE(anchors_are_just_in_time)
{
    static const struct {
        int64_t answered, next; /* 0: never */
    } rows[] = {{3350, 4550}, {3352, 4552}, {3631, 4831}, {3632, 4550}, {0, 4550}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const int64_t next = rows[i].next, from = next < 4551 && i > 0 ? 3069 : 3350;
        start();
        request(&p, PROOF_ANCHOR, 1100, 1100);
        one_round(2300, 2310);
        CHECK_INT(proofs_want(&p, at(3068)), PROOF_NOTHING);
        CHECK_INT(proofs_want(&p, at(3069)), PROOF_SEND_ANCHOR);
        request(&p, PROOF_ANCHOR, 3069, 3071);
        CHECK_INT(proofs_want(&p, at(3349)), PROOF_NOTHING);
        CHECK_INT(proofs_want(&p, at(3350)), PROOF_SEND_ANCHOR);
        proofs_sent(&p, PROOF_ANCHOR, at(3350));
        if (rows[i].answered != 0)
            proofs_answered(&p, PROOF_ANCHOR, at(3350), at(rows[i].answered));
        CHECK_INT(proofs_want(&p, at(next - 1)), PROOF_NOTHING);
        CHECK_INT(proofs_want(&p, at(next)), PROOF_SEND_SYNC);
        CHECK(one_round(next, next + 10));
        if (!CHECK_INT(deadline_ms(&p), from + 8950))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

/* The user's requests are anchors, too: one that is answered when one is wanted, or a little
 * sooner. */
TEST_CASE(users_send_anchors)
{
    static const struct {
        int64_t sent, answered;
        enum proof_wish wish; /* at 3370 */
    } rows[] = {
        {3260, 3270, PROOF_SEND_ANCHOR}, {3260, 3285, PROOF_NOTHING}, {3340, 3369, PROOF_NOTHING}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start();
        request(&p, PROOF_ANCHOR, 1100, 1100);
        one_round(2300, 2310);
        request(&p, PROOF_ANCHOR, 3000, 3020); /* 300 ms later is no matter */
        proofs_answered(&p, PROOF_WRITE, at(rows[i].sent), at(rows[i].answered));
        if (!CHECK_INT(proofs_want(&p, at(3370)), rows[i].wish))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
    proofs_sent(&p, PROOF_ANCHOR, at(5000)); /* what was sent before it does not answer it */
    proofs_answered(&p, PROOF_ANCHOR, at(4999), at(5001));
    CHECK_INT(p.anchor_sent.boot, at(5000).boot);
    proofs_answered(&p, PROOF_ANCHOR, at(5000), at(5002));
    CHECK_INT(p.anchor_sent.boot, 0);
}

static void check_lasts_until(int64_t ms)
{
    CHECK_INT(proofs_deadline(&p, at(ms)), DEADLINE_LASTING);
    CHECK_INT(proofs_deadline(&p, at(ms + 1)), DEADLINE_AHEAD);
    CHECK_INT(proofs_deadline(&p, at(deadline_ms(&p) - 1)), DEADLINE_AHEAD);
    CHECK_INT(proofs_deadline(&p, at(deadline_ms(&p))), DEADLINE_NONE);
}

/* A relay period and a quarter until the first round, and 833 ms for its round trips. */
TEST_CASE(a_fresh_deadline_lasts)
{
    start();
    check_lasts_until(8950 - 1500 - 834);
    proofs_disconnected(&p);
    CHECK_INT(proofs_deadline(&p, at(1000)), DEADLINE_AHEAD);
    direct_reconnected(&p, 10000 * MS);
    check_lasts_until(8950 - 1500 - 834);
    proofs_alone(&p);
    check_lasts_until(8950 - 834); /* the write behind the handshake proves */
    start();
    proofs_alone(&p);
    check_lasts_until(8950 - 300 - 834); /* the first write does */
}

/* The same for two rounds, of which the second comes a period or a relay period after the first. */
TEST_CASE(a_fresh_deadline_lasts_relayed)
{
    start_relayed();
    check_lasts_until(8950 - 1350 - 1667 - 833);
    proofs_init(&p, 0, 100);
    proofs_created(&p, at(0), 10000 * MS);
    check_lasts_until(8950 - 3375 - 3000 - 834);
}

TEST_CASE(a_round_under_way_lasts)
{
    start();
    request(&p, PROOF_ANCHOR, 4000, 4010);
    request(&p, PROOF_SYNC, 8000, 8010);
    proofs_sent(&p, PROOF_RENEWAL, at(8020));
    check_lasts_until(8950 - 834);
    start();
    request(&p, PROOF_ANCHOR, 4100, 4100);
    request(&p, PROOF_SYNC, 5300, 5310);
    proofs_sent(&p, PROOF_RENEWAL, at(5320));
    CHECK_INT(proofs_deadline(&p, at(5300 + 2249)), DEADLINE_LASTING);
    CHECK_INT(proofs_deadline(&p, at(5300 + 2250)), DEADLINE_AHEAD); /* the server is silent */
}

/* 30 s and no tick: relay 9 s, a renewal each 6 s, or each 5 s behind one on an old anchor. After a
 * pause there is one anchor, which is as old as the deadline: the first round moves that by
 * nothing, nor does the second. */
TEST_CASE(an_old_anchor_is_of_no_use)
{
    proofs_init(&p, 0, 100);
    direct_created(&p, at(0), 30000 * MS);
    request(&p, PROOF_ANCHOR, 5, 10);
    CHECK_INT(proofs_deadline(&p, at(17000)), DEADLINE_AHEAD);
    request(&p, PROOF_SYNC, 17000, 17010);
    CHECK(request(&p, PROOF_RENEWAL, 17010, 17020));
    CHECK_INT(deadline_ms(&p), 26955);
    CHECK_INT(proofs_deadline(&p, at(17020)), DEADLINE_AHEAD);
    request(&p, PROOF_SYNC, 22000, 22010);
    CHECK(!request(&p, PROOF_RENEWAL, 22010, 22020));
    CHECK_INT(proofs_deadline(&p, at(22020)), DEADLINE_AHEAD);
    request(&p, PROOF_SYNC, 26920, 26930);
    CHECK(request(&p, PROOF_RENEWAL, 26940, 26950));
    CHECK_INT(proofs_deadline(&p, at(26950)), DEADLINE_LASTING);
}

/* With one that is half as old the rounds rest on ever newer ones, each in time. */
TEST_CASE(the_next_anchor_is_in_time)
{
    proofs_init(&p, 0, 100);
    direct_created(&p, at(0), 30000 * MS);
    request(&p, PROOF_ANCHOR, 5, 10);
    request(&p, PROOF_ANCHOR, 6000, 6010);
    CHECK_INT(proofs_deadline(&p, at(17000)), DEADLINE_LASTING);
}

/* ---- adversaries that broke simpler rules ---- */

/* A deadline must not be later than the earliest moment at which the servers may end the session:
 * the last touch that the leader heard of + timeout. */

struct attack_step {
    enum proof_kind kind;
    int64_t sent, answered; /* answered 0: never */
    bool heard;             /* the leader heard of this touch */
};

struct attack {
    const char *what;
    int64_t timeout, tick;
    struct attack_step steps[8];
    int64_t naive; /* what the simpler rule believes */
};

/* S 4 s, tick 1 s: margin 0.45 s, relay 0.6 s. */
static const struct attack attacks[] = {
    {"one write + timeout: stalled 0.6 S, one write succeeds, cut",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true}, {PROOF_WRITE, 2500, 2505, false}},
     2500 + 3550},
    {"the same by the renewal itself",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true}, {PROOF_RENEWAL, 2500, 2505, false}},
     2500 + 3550},
    {"one sync + timeout",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true}, {PROOF_SYNC, 2500, 2505, false}},
     2500 + 3550},
    {"one-step lag by writes: leader paused between the two, its answer's way cut before it "
     "resumes",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_WRITE, 2500, 2505, false},
      {PROOF_WRITE, 3110, 3500, false}},
     2500 + 3550},
    {"one-step lag by the chain: its third step finds no leader",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_WRITE, 2500, 2505, false},
      {PROOF_SYNC, 3110, 3500, false},
      {PROOF_RENEWAL, 3501, 0, false}},
     2500 + 3550},
    {"the follower alone answers pings and reads",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_ANCHOR, 1300, 1301, false},
      {PROOF_ANCHOR, 2600, 2601, false},
      {PROOF_ANCHOR, 3400, 3401, false}},
     3400 + 3550},
    {"a stall inside the chain, before the sync is sent",
     4000,
     1000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_ANCHOR, 2500, 2501, false},
      {PROOF_SYNC, 2502, 2503, false},
      {PROOF_RENEWAL, 2504, 2505, false}},
     2500 + 3550},
    {"Debian's servers: tick 2 s",
     4000,
     2000,
     {{PROOF_ANCHOR, 100, 101, true},
      {PROOF_WRITE, 2500, 2505, false},
      {PROOF_SYNC, 3600, 3601, false},
      {PROOF_RENEWAL, 3602, 3603, false}},
     2500 + 3550},
};

static void expect_attack_fails(const struct attack *a)
{
    int64_t heard = 0; /* the creation was */
    proofs_init(&p, a->tick * MS, 100);
    direct_created(&p, at(0), a->timeout * MS);
    for (size_t i = 0; i < 8 && a->steps[i].sent; i++) {
        const struct attack_step *s = &a->steps[i];
        if (s->heard)
            heard = s->sent;
        if (s->answered)
            request(&p, s->kind, s->sent, s->answered);
        else
            proofs_sent(&p, s->kind, at(s->sent));
    }
    int64_t earliest_end = heard + a->timeout;
    if (!CHECK(a->naive > earliest_end) || !CHECK(deadline_ms(&p) <= earliest_end))
        runner_fail(__FILE__, __LINE__, "%s: naive %lld, ours %lld, earliest end %lld", a->what,
                    (long long)a->naive, (long long)deadline_ms(&p), (long long)earliest_end);
}

TEST_CASE(known_attacks)
{
    for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++)
        expect_attack_fails(&attacks[i]);
}

/* A session on a follower. The leader asks it for its touches at most every relay period; the
 * adversary may cut it off at any time, the worst being right after a proof. Or a session on an
 * observer, which such a follower asks. Times in us. */
struct follower {
    uint64_t seed, random;
    struct proofs proofs;
    int64_t now, timeout, tick;
    bool observes;
    bool direct;            /* what the proofs are told */
    int64_t touched, heard; /* send times: newest at the server, newest at the leader */
    int64_t flies, passed;  /* on its way from an observer at least; newest at its follower */
    int64_t ping;           /* when the leader asks next */
    int64_t master;         /* when the observer's follower does */
    int64_t handshake; /* when sent; the leader hears of it at the latest right before a write */
    unsigned proved, wrong, naive_wrong, kept, kept_wrong;
    unsigned refused; /* writes, by the follower alone */
};

static int64_t between(struct follower *f, int64_t low, int64_t high)
{
    return low + seeded_below(&f->random, (uint32_t)(high - low + 1));
}

/* 20 % late at most. */
static int64_t next_ping(struct follower *f)
{
    return f->now + between(f, f->tick / 2 - f->tick / 20, f->tick * 6 / 10);
}

/* What the observer has reported is at its follower now. */
static void land(struct follower *f)
{
    f->passed = f->flies > f->passed ? f->flies : f->passed;
}

static void pass(struct follower *f, int64_t us)
{
    for (int64_t until = f->now + us;;) {
        const bool master = f->observes && f->master < f->ping;
        f->now = master ? f->master : f->ping;
        if (f->now > until) {
            f->now = until;
            return;
        }
        const int64_t known = f->observes ? f->passed : f->touched;
        if (master) {
            f->flies = f->touched;
            f->master = next_ping(f);
            if (seeded_below(&f->random, 2))
                land(f);
        } else {
            f->heard = known > f->heard ? known : f->heard;
            f->ping = next_ping(f);
        }
    }
}

static void pass_at_random(struct follower *f)
{
    pass(f, seeded_below(&f->random, 20) ? between(f, 10, 3000) : between(f, 0, f->timeout));
}

/* The leader has heard so much, and ends the session no sooner than then. */
static bool is_in_time(struct follower *f, const char *what, struct instant then, int64_t heard,
                       unsigned *wrong)
{
    const int64_t late = then.boot - at_ns((heard + f->timeout) * 1000).boot;

    *wrong += late > 0;
    if (late <= 0 || (f->observes && f->direct))
        return true;
    runner_fail(__FILE__, __LINE__, "seed %llu: at %lld us %s is %lld us too late",
                (unsigned long long)f->seed, (long long)f->now, what, (long long)late / 1000);
    return false;
}

static bool send_one(struct follower *f, enum proof_kind kind)
{
    struct instant sent = at_ns(f->now * 1000);
    int64_t sent_us = f->now;
    proofs_sent(&f->proofs, kind, sent);
    pass_at_random(f); /* to the follower, or a stall right here */
    f->touched = sent_us;
    const bool writes = kind == PROOF_WRITE || kind == PROOF_RENEWAL,
               refused = writes && seeded_below(&f->random, 8) == 0;
    if (kind != PROOF_ANCHOR && !refused) {
        pass(f, between(f, 10, 2000));
        land(f); /* the stream from the observer to its follower is one */
    }
    if (!refused)
        pass(f, between(f, 10, 2000)); /* to the leader */
    if (writes && !refused)
        f->heard = f->handshake > f->heard ? f->handshake : f->heard;
    int64_t heard = f->heard;
    pass_at_random(f); /* and back */
    const enum proof_kind proves = proof_by_answer(kind, refused ? STORE_NOAUTH : STORE_NONODE);
    bool moved = proofs_answered(&f->proofs, proves, sent, at_ns(f->now * 1000));
    if (proves != kind)
        proofs_failed(&f->proofs, kind);
    f->refused += refused;
    if (writes && !refused)
        f->naive_wrong += sent_us + f->timeout - f->timeout / 10 - 50000 > heard + f->timeout;
    if (f->tick < f->timeout / 3 && /* or a tenth of the relay is not waited for */
        !is_in_time(f, "what keeps it", f->proofs.kept, heard, &f->kept_wrong))
        return false;
    f->kept += kind == PROOF_KEEP && f->proofs.kept.boot > at_ns(f->now * 1000).boot;
    f->proved += moved;
    return !moved || is_in_time(f, "the deadline", f->proofs.deadline, heard, &f->wrong);
}

/* To one that has heard nothing of the session yet; completed by the answer to an older handshake,
 * perhaps. */
static void reconnect(struct follower *f)
{
    proofs_disconnected(&f->proofs);
    pass_at_random(f);
    f->handshake = f->now;
    f->touched = f->flies = f->passed = 0;
    pass_at_random(f);
    proofs_reconnected(&f->proofs, f->timeout * 1000);
    if (f->direct)
        proofs_direct(&f->proofs);
}

static bool run_follower(struct follower *f)
{
    proofs_init(&f->proofs, f->tick * 1000, 100);
    proofs_created(&f->proofs, at_ns(0), f->timeout * 1000);
    if (f->direct)
        proofs_direct(&f->proofs);
    for (int i = 0; i < 100; i++) {
        enum proof_wish wish = proofs_want(&f->proofs, at_ns(f->now * 1000));
        bool ok = true;
        if (seeded_below(&f->random, 16) == 0)
            reconnect(f);
        else if (seeded_below(&f->random, 16) == 0)
            proofs_use(&f->proofs, seeded_below(&f->random, 2) ? PROOF_HOT : PROOF_COOL,
                       at_ns(f->now * 1000));
        else if (wish != PROOF_NOTHING)
            ok = send_one(f, wished[wish]);
        else if (seeded_below(&f->random, 3) == 0)
            ok = send_one(f, PROOF_WRITE); /* the user's own */
        else
            pass(f, proofs_wait(&f->proofs, at_ns(f->now * 1000)) / 1000 + 1);
        if (!ok)
            return false;
    }
    return true;
}

/* Adds up in *all. */
static bool run_followers(struct follower *all)
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct follower f = {.seed = seed,
                             .random = seed,
                             .timeout = 4000000,
                             .observes = all->observes,
                             .direct = all->direct};
        f.tick = seed % 2 ? 2000000 : 500000;
        f.ping = between(&f, 0, f.tick / 2);
        f.master = between(&f, 0, f.tick / 2);
        if (!run_follower(&f))
            return false;
        all->proved += f.proved;
        all->wrong += f.wrong;
        all->naive_wrong += f.naive_wrong;
        all->refused += f.refused;
        all->kept += f.kept;
        all->kept_wrong += f.kept_wrong;
    }
    return true;
}

TEST_CASE(random_stalls_on_a_follower)
{
    for (int direct = 0; direct < 2; direct++) {
        struct follower all = {.direct = direct};
        REQUIRE(run_followers(&all));
        CHECK(all.proved > 1500 && all.refused > 1000 && all.kept > 1000);
        CHECK(all.naive_wrong > 500); /* or the adversary has no teeth */
    }
}

/* A proof that counts one report where there are two is wrong. */
TEST_CASE(random_stalls_on_an_observer)
{
    for (int direct = 0; direct < 2; direct++) {
        struct follower all = {.observes = true, .direct = direct};
        REQUIRE(run_followers(&all));
        CHECK(all.proved > 1500 && all.kept > 1000);
        CHECK_INT(all.wrong > 100, direct);
        CHECK_INT(all.kept_wrong > 100, direct);
    }
}

/* ---- the chain kept running in virtual time: what it costs and what it leaves ---- */

struct steady {
    struct proofs proofs;
    bool relayed;
    int64_t now;     /* ns since the beginning */
    int64_t latency; /* of every request */
    int64_t every;   /* other requests of the user, 0: none */
    struct {
        bool out;
        int64_t sent;
    } request[PROOF_WRITE + 1];
    int64_t user_next;
    unsigned sent[PROOF_WRITE + 1];
    unsigned asked;
    unsigned overslept; /* something was wanted while proofs_wait() let us sleep */
    int64_t least_left; /* right before a proof */
};

static void answer(struct steady *s, enum proof_kind kind, int64_t sent)
{
    int64_t left = instant_left(at_ns(s->now), s->proofs.deadline);
    if (proofs_answered(&s->proofs, kind, at_ns(sent), at_ns(s->now)) && left < s->least_left &&
        s->now > 10000 * MS) /* once it is steady */
        s->least_left = left;
}

static void send_wish(struct steady *s, enum proof_wish wish)
{
    enum proof_kind kind = wish == PROOF_SEND_ANCHOR ? PROOF_ANCHOR
                           : wish == PROOF_SEND_SYNC ? PROOF_SYNC
                                                     : PROOF_RENEWAL;
    REQUIRE(!s->request[kind].out); /* one of a kind at a time */
    s->request[kind].out = true;
    s->request[kind].sent = s->now;
    s->sent[kind]++;
    proofs_sent(&s->proofs, kind, at_ns(s->now));
}

/* Goes on to the next thing that happens. */
static void next(struct steady *s)
{
    int64_t wait = proofs_wait(&s->proofs, at_ns(s->now));
    int64_t until = s->now + wait;
    int kind = -1;
    enum proof_wish wish = proofs_want(&s->proofs, at_ns(until - 1));
    s->overslept += wait <= 0 || wish == PROOF_SEND_SYNC || wish == PROOF_SEND_WRITE;
    for (int k = 0; k <= PROOF_WRITE; k++)
        if (s->request[k].out && s->request[k].sent + s->latency < until) {
            until = s->request[k].sent + s->latency;
            kind = k;
        }
    if (s->every && s->user_next < until) {
        s->now = s->user_next;
        s->user_next += s->every;
        answer(s, s->user_next / s->every % 2 ? PROOF_ANCHOR : PROOF_WRITE, s->now - s->latency);
        return;
    }
    s->now = until;
    if (kind >= 0) {
        s->request[kind].out = false;
        answer(s, (enum proof_kind)kind, s->request[kind].sent);
    }
}

static void run(struct steady *s, int64_t timeout, int64_t tick, int64_t seconds)
{
    s->least_left = INT64_MAX;
    proofs_init(&s->proofs, tick * MS, 100);
    proofs_created(&s->proofs, at_ns(0), timeout * MS);
    if (!s->relayed)
        proofs_direct(&s->proofs);
    while (s->now < seconds * 1000 * MS && s->asked < 20000000) {
        enum proof_wish wish = proofs_want(&s->proofs, at_ns(s->now));
        s->asked++;
        if (wish == PROOF_NOTHING)
            next(s);
        else
            send_wish(s, wish);
        if (proofs_deadline(&s->proofs, at_ns(s->now)) != DEADLINE_LASTING ||
            proofs_overdue(&s->proofs, at_ns(s->now))) {
            runner_fail(__FILE__, __LINE__, "lost at %lld ms", (long long)(s->now / MS));
            return;
        }
    }
    printf("  S %lld ms, tick %lld ms%s: %.2f reads, %.2f syncs, %.2f writes per s, %lld ms left\n",
           (long long)timeout, (long long)tick, s->relayed ? ", relayed" : "",
           s->sent[PROOF_ANCHOR] / (double)seconds, s->sent[PROOF_SYNC] / (double)seconds,
           s->sent[PROOF_RENEWAL] / (double)seconds, (long long)(s->least_left / MS));
}

TEST_CASE(cost_and_remaining_time)
{
    struct steady s = {.latency = 2 * MS};
    run(&s, 10000, 2000, 1000);
    CHECK(s.sent[PROOF_ANCHOR] <= 900);
    CHECK(s.sent[PROOF_SYNC] <= 450 && s.sent[PROOF_SYNC] >= 400);
    CHECK(s.sent[PROOF_RENEWAL] <= 450 && s.sent[PROOF_RENEWAL] >= 400);
    CHECK(s.least_left >= 5450 * MS);
    CHECK(s.asked < 20000);  /* it sleeps between */
    CHECK(s.overslept <= 1); /* the very first round is found by polling */
}

TEST_CASE(slow_servers)
{
    struct steady s = {.latency = 100 * MS};
    run(&s, 10000, 2000, 1000);
    CHECK(s.least_left >= 4800 * MS);
}

TEST_CASE(other_timeouts)
{
    static const struct {
        int64_t timeout, tick, left;
        unsigned rounds; /* in 300 s */
    } rows[] = {{4000, 2000, 1545, 390}, {4000, 1000, 2000, 340}, {30000, 2000, 16945, 46},
                {30000, 0, 11945, 52},   {10000, 0, 3945, 156},   {10000, 6000, 3450, 170},
                {10000, 500, 6000, 135}, {1000, 200, 480, 1350},  {1000, 0, 345, 1640},
                {600, 0, 180, 2920}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct steady s = {.latency = 2 * MS};
        run(&s, rows[i].timeout, rows[i].tick, 300);
        if (!CHECK(s.least_left > rows[i].left * MS) ||
            !CHECK(s.sent[PROOF_RENEWAL] <= rows[i].rounds) ||
            !CHECK(s.sent[PROOF_ANCHOR] <= 3 * rows[i].rounds) || !CHECK(s.overslept <= 1))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

/* At an observer that a follower feeds. If the tick is known, it takes no more requests. */
TEST_CASE(two_reports)
{
    static const struct {
        int64_t timeout, tick, latency, left;
        unsigned rounds; /* in 300 s */
    } rows[] = {{10000, 2000, 2, 3900, 181}, {10000, 2000, 200, 3100, 181},
                {10000, 500, 2, 3900, 181},  {10000, 0, 2, 2150, 400},
                {10000, 0, 100, 1300, 400},  {4000, 2000, 2, 800, 1000},
                {4000, 500, 2, 1500, 451},   {30000, 2000, 2, 11900, 61},
                {30000, 0, 200, 5000, 134},  {1000, 0, 2, 100, 4000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct steady s = {.latency = rows[i].latency * MS, .relayed = true};
        CHECK(proofs_can_last(rows[i].timeout * MS, rows[i].tick * MS, 100, true));
        run(&s, rows[i].timeout, rows[i].tick, 300);
        if (!CHECK(s.least_left > rows[i].left * MS) ||
            !CHECK(s.sent[PROOF_RENEWAL] <= rows[i].rounds) || !CHECK(s.overslept <= 1))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

/* Thousands of answers a second must not push out the anchors that are old enough. */
TEST_CASE(busy_session)
{
    struct steady s = {.latency = 2 * MS, .every = MS / 5, .user_next = 3 * MS};
    run(&s, 10000, 2000, 100);
    CHECK(s.least_left >= 5450 * MS);
    CHECK(s.sent[PROOF_RENEWAL] <= 46);
}

TEST_CASE(standing_alone)
{
    struct steady s = {.latency = 2 * MS, .least_left = INT64_MAX};
    proofs_init(&s.proofs, 2000 * MS, 100);
    direct_created(&s.proofs, at_ns(0), 10000 * MS);
    proofs_alone(&s.proofs);
    while (s.now < 1000000 * MS && s.asked++ < 100000) {
        enum proof_wish wish = proofs_want(&s.proofs, at_ns(s.now));
        if (wish == PROOF_NOTHING)
            next(&s);
        else
            send_wish(&s, wish);
        REQUIRE(proofs_deadline(&s.proofs, at_ns(s.now)) == DEADLINE_LASTING);
    }
    CHECK(s.asked < 20000);
    CHECK(s.sent[PROOF_RENEWAL] <= 601);
    CHECK(s.sent[PROOF_ANCHOR] == 0 &&
          s.sent[PROOF_SYNC] == 0); /* each write is a proof by itself */
    CHECK(s.least_left >= 7000 * MS);
}

/* ---- who needs a deadline, and what the others cost ---- */

TEST_CASE(needs)
{
    static const struct {
        bool needs_deadline, in_use, lately, entered;
        enum proof_need need;
    } rows[] = {{true, true, false, true, PROOF_HOT},    {true, false, false, true, PROOF_HOT},
                {false, true, true, true, PROOF_HOT},    {false, false, true, true, PROOF_HOT},
                {false, true, false, true, PROOF_COOL},  {false, true, true, false, PROOF_COOL},
                {false, false, true, false, PROOF_COOL}, {false, false, false, true, PROOF_COLD},
                {false, false, false, false, PROOF_COLD}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(
            proofs_need(rows[i].needs_deadline, rows[i].in_use, rows[i].lately, rows[i].entered),
            rows[i].need);
}

/* Sends a sync in place of a ping, and answers it. */
static void keep_at(int64_t sent, int64_t answered)
{
    CHECK_INT(proofs_want(&p, at(sent)), PROOF_SEND_KEEP);
    request(&p, PROOF_KEEP, sent, answered);
}

/* A session of 10 s with an unknown tick: its relay is 3 s, that for syncs in place of pings 2.7 s,
 * and it sends such a sync each 2.857 s. */
static void start_cool(void)
{
    proofs_init(&p, 0, 100);
    direct_created(&p, at(0), 10000 * MS);
    proofs_use(&p, PROOF_COOL, at(0));
}

enum { EACH = 2858 };

/* Until then: at EACH 0, 1, … */
static void stay_cool(int64_t first, int times)
{
    for (int i = 0; i < times; i++) {
        const int64_t sent = first + (int64_t)EACH * i;
        CHECK_INT(proofs_want(&p, at(sent - 2)), PROOF_NOTHING);
        keep_at(sent, sent + 10);
        CHECK_INT(proofs_wait(&p, at(sent + 10)) / MS, EACH - 11);
    }
}

/* The head of a queue: the chain begins at once. */
static bool come_to_head(int64_t now)
{
    proofs_use(&p, PROOF_HOT, at(now));
    CHECK(!proofs_overdue(&p, at(now)));
    CHECK_INT(proofs_want(&p, at(now)), PROOF_SEND_SYNC);
    request(&p, PROOF_SYNC, now, now + 10);
    CHECK_INT(proofs_want(&p, at(now + 10)), PROOF_SEND_WRITE);
    return request(&p, PROOF_RENEWAL, now + 10, now + 20);
}

/* The last sync but two is always old enough, and known to the leader. */
TEST_CASE(cool_for_long)
{
    for (int64_t late = 40; late < EACH; late += 50) {
        start_cool();
        keep_at(1, 10);
        const int times = 90 + (int)(late / 50 % PROOF_ANCHORS);
        stay_cool(1 + EACH, times);
        const int64_t last = 1 + (int64_t)EACH * times, base = last - (late < 2990 ? EACH : 0);
        CHECK(!proofs_deadline(&p, at(last)));
        CHECK(come_to_head(last + late));
        CHECK_INT(deadline_ms(&p), (late + EACH < 3010 ? base - EACH : base) + 8950);
        CHECK_INT(proofs_deadline(&p, at(last + late + 20)), DEADLINE_LASTING);
    }
}

/* What an answered sync has shown: of one that comes too late for the ones before, the session may
 * have been taken out before. */
TEST_CASE(kept_by_syncs_that_are_in_time)
{
    static const struct {
        int64_t late; /* the last sync but one */
        bool proves;  /* the first round */
    } rows[] = {{0, true}, {300, true}, {450, false}, {3000, false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start_cool();
        keep_at(1, 10);
        stay_cool(1 + EACH, 10);
        const int64_t then = 1 + EACH * 11 + rows[i].late;
        keep_at(then, then + 10);
        if (!CHECK_INT(come_to_head(then + 300), rows[i].proves))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
        if (rows[i].proves)
            continue;
        CHECK(!proofs_deadline(&p, at(then + 320)));
        const int64_t settled = then + (rows[i].late < 1000 ? 10 : 320) + 834;
        CHECK(proofs_want(&p, at(settled - 2)) != PROOF_SEND_SYNC);
        CHECK(come_to_head(settled)); /* the moment of a tracker is over */
    }
}

/* A touch is known to the leader of its connection. Two syncs follow each other, and then the
 * tracker's moment has to pass. */
TEST_CASE(kept_on_a_new_connection)
{
    start_cool();
    keep_at(1, 10);
    stay_cool(1 + EACH, 10);
    connect_anew(10000);
    proofs_use(&p, PROOF_COOL, at(30000));
    keep_at(30000, 30010);
    CHECK_INT(proofs_want(&p, at(32857)), PROOF_NOTHING);
    keep_at(32858, 32870); /* at once after it: */
    keep_at(32870, 32880);
    CHECK_INT(proofs_want(&p, at(32880)), PROOF_NOTHING);
    struct proofs before = p;
    CHECK(!come_to_head(33030));
    p = before;
    CHECK(come_to_head(32880 + 834));
    CHECK_INT(deadline_ms(&p), 30000 + 8950);

    p = before; /* the connection is lost once more */
    connect_anew(10000);
    proofs_use(&p, PROOF_COOL, at(33000));
    keep_at(33000, 33010);
    CHECK(!come_to_head(36020));
}

/* Where two reports are shown, two syncs at a time, the second one behind the first. */
static void pair_at(int64_t sent)
{
    CHECK_INT(proofs_want(&p, at(sent - 2)), PROOF_NOTHING);
    keep_at(sent, sent + 10);
    keep_at(sent + 10, sent + 20);
    CHECK_INT(proofs_wait(&p, at(sent + 20)) / MS, EACH - 11);
}

/* A tick of 2 s: a relay of 1.2 s. A pair is passed on, and then reported by the next one. */
TEST_CASE(kept_by_two_reports)
{
    start_relayed();
    proofs_use(&p, PROOF_COOL, at(0));
    keep_at(11, 21);
    for (int64_t i = 1; i < 100; i++)
        pair_at(1 + (EACH + 10) * i);
    const int64_t last = 1 + (EACH + 10) * 99;
    struct proofs before = p;
    CHECK(!proofs_deadline(&p, at(last)));
    CHECK(come_to_head(last + 100));
    CHECK_INT(deadline_ms(&p), last - 2 * (EACH + 10) + 8950);
    CHECK_INT(proofs_deadline(&p, at(last + 120)), DEADLINE_LASTING);

    p = before; /* on a new connection */
    proofs_disconnected(&p);
    proofs_reconnected(&p, 10000 * MS);
    const int64_t anew = last + 8950;
    keep_at(anew, anew + 10);
    pair_at(anew + EACH);
    before = p;
    CHECK(!come_to_head(anew + EACH + 500)); /* there is no more than one report */
    CHECK(!p.rests);
    p = before;
    proofs_use(&p, PROOF_COOL, at(anew + EACH + 500));
    pair_at(anew + EACH + EACH + 10);
    CHECK(!come_to_head(anew + EACH + EACH + 40));
    CHECK(come_to_head(anew + EACH + EACH + 30 + 1200)); /* and for a newer anchor */
    CHECK_INT(deadline_ms(&p), anew + EACH + 8950);
}

/* No write, and no gap in which libzookeeper would ping: a third of the timeout. Where a pair comes
 * too late for a deadline, it is not sent. */
TEST_CASE(cost_of_a_cool_session)
{
    static const struct {
        int64_t timeout, tick;
        bool relayed;
        unsigned syncs; /* within 1,000 times the timeout */
    } rows[] = {{1000, 0, false, 3500},     {4000, 0, false, 3500},   {10000, 0, false, 3500},
                {60000, 0, false, 3500},    {10000, 0, true, 3500},   {4000, 2000, true, 3500},
                {10000, 2000, false, 3500}, {10000, 2000, true, 7000}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct steady s = {.latency = 5 * MS};
        int64_t last = 0;
        proofs_init(&s.proofs, rows[i].tick * MS, 100);
        proofs_created(&s.proofs, at_ns(0), rows[i].timeout * MS);
        if (!rows[i].relayed)
            proofs_direct(&s.proofs);
        proofs_use(&s.proofs, PROOF_COOL, at_ns(0));
        unsigned syncs = 0;
        while (s.now < 1000 * rows[i].timeout * MS) {
            if (proofs_want(&s.proofs, at_ns(s.now)) == PROOF_SEND_KEEP) {
                CHECK((s.now - last) < rows[i].timeout * MS / 3);
                last = s.now;
                syncs++;
                proofs_sent(&s.proofs, PROOF_KEEP, at_ns(s.now));
                s.now += s.latency;
                proofs_answered(&s.proofs, PROOF_KEEP, at_ns(last), at_ns(s.now));
            }
            s.now += proofs_wait(&s.proofs, at_ns(s.now)) + MS;
        }
        CHECK(syncs <= rows[i].syncs + 1 && syncs >= rows[i].syncs * 9 / 10);
        CHECK_INT(proofs_left(&s.proofs, at_ns(last)), s.proofs.timeout - s.proofs.margin);
    }
}

/* Does what is wanted at that time, in 2 ms, or lets 10 ms pass. */
static int64_t step_at(int64_t now)
{
    const enum proof_wish wish = proofs_want(&p, at(now));

    if (wish == PROOF_NOTHING)
        return now + 10;
    request(&p, wished[wish], now, now + 2);
    return now + 2;
}

/* From when its turn comes until its deadline lasts, at worst. */
TEST_CASE(wait_of_a_head)
{
    static const struct {
        int64_t tick;
        bool relayed;
        int64_t most;
    } rows[] = {{2000, false, 10}, {0, false, 10}, {2000, true, 1700}, {0, true, 7100}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t worst = 0;
        for (int64_t turn = 40000; turn < 43000; turn += 50) {
            int64_t now = 0;
            proofs_init(&p, rows[i].tick * MS, 100);
            proofs_created(&p, at(0), 10000 * MS);
            if (!rows[i].relayed)
                proofs_direct(&p);
            proofs_use(&p, PROOF_COOL, at(0));
            while (now < turn)
                now = step_at(now);
            proofs_use(&p, PROOF_HOT, at(now));
            const int64_t hot = now;
            while (proofs_deadline(&p, at(now)) != DEADLINE_LASTING)
                now = step_at(now);
            worst = now - hot > worst ? now - hot : worst;
        }
        printf("  tick %lld ms%s: a head waits for %lld ms at worst\n", (long long)rows[i].tick,
               rows[i].relayed ? ", relayed" : "", (long long)worst);
        CHECK(worst <= rows[i].most);
    }
}

/* With a server that stands alone a write is enough, as ever. */
TEST_CASE(cool_beside_a_lone_server)
{
    start_cool();
    proofs_alone(&p);
    keep_at(1, 10);
    stay_cool(1 + EACH, 10);
    proofs_use(&p, PROOF_HOT, at(40000));
    CHECK_INT(proofs_want(&p, at(40000)), PROOF_SEND_WRITE);
    CHECK(request(&p, PROOF_RENEWAL, 40000, 40010));
}

/* What began while it was hot: a round is not gone on with an hour later. */
TEST_CASE(cool_in_the_midst_of_a_round)
{
    start_cool();
    proofs_use(&p, PROOF_HOT, at(0));
    request(&p, PROOF_ANCHOR, 10, 20);
    request(&p, PROOF_SYNC, 3100, 3110);
    proofs_use(&p, PROOF_COOL, at(3110));
    keep_at(3110, 3120);
    stay_cool(3110 + EACH, 10);
    CHECK(come_to_head(33000));
    proofs_use(&p, PROOF_COLD, at(34000));
    CHECK_INT(proofs_want(&p, at(44000)), PROOF_NOTHING);
}
