/* The proofs: what moves a deadline on, and to where. */
#include "proofs.h"

#include "proofs_clock.h"
#include "runner.h"

#include <stddef.h>

TEST_SUITE(proofs);

static struct proofs p;

/* A session of 10 s whose making began at 0 and with a tick of 2 s: margin 1.05 s, relay 1.2 s. */
static void start(void)
{
    proofs_init(&p, 2000 * MS, 100);
    proofs_created(&p, at(0), 10000 * MS);
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
    CHECK_INT(proofs_period(&p) / MS, 1666);
    CHECK_INT(proofs_anchor_period(&p), 600 * MS);
    /* the ring reaches back over a relay period and a renewal */
    CHECK(PROOF_ANCHORS * proofs_anchor_period(&p) > p.relay + proofs_anchor_period(&p));
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
    proofs_created(&p, at(6000), 4000 * MS);
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

TEST_CASE(deadlines_never_go_back_by_a_proof)
{
    start();
    proofs_alone(&p);
    CHECK(request(&p, PROOF_WRITE, 3000, 3010));
    CHECK(!proofs_answered(&p, PROOF_WRITE, at(2000), at(3020)));
    CHECK_INT(deadline_ms(&p), 11950);
}

/* No clock's part of a deadline is given up for the other's. */
TEST_CASE(deadlines_never_go_back_by_either_clock)
{
    start();
    proofs_alone(&p);
    CHECK(!proofs_answered(&p, PROOF_WRITE, at_each(5000, -100), at(5010)));
    CHECK(!proofs_answered(&p, PROOF_WRITE, at_each(-100, 5000), at(5010)));
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK_INT(p.deadline.raw, at(8950).raw);
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
