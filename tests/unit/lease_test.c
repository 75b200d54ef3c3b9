/* The proofs: what moves a deadline on, and to where. */
#include "lease.h"

#include "lease_clock.h"
#include "suites.h"

#include <stddef.h>

static struct lease l;

/* A session of 10 s whose making began at 0 and with a tick of 2 s: margin 1.05 s, relay 1.2 s. */
static void start(void)
{
    lease_init(&l, 2000 * MS, 100);
    lease_created(&l, at(0), 10000 * MS);
}

static void parameters(void)
{
    CHECK_INT(lease_margin(10000 * MS, 100), 1050 * MS);
    CHECK_INT(lease_margin(4000 * MS, 100), 450 * MS);
    CHECK_INT(lease_margin(10000 * MS, 10), 150 * MS);
    CHECK_INT(lease_margin(10000 * MS, 0), 50 * MS);
    CHECK_INT(lease_relay(10000 * MS, 2000 * MS), 1200 * MS);
    CHECK_INT(lease_relay(4000 * MS, 500 * MS), 300 * MS);
    CHECK_INT(lease_relay(10000 * MS, 0), 3000 * MS); /* tick unknown */
    start();
    CHECK_INT(l.margin, 1050 * MS);
    CHECK_INT(l.relay, 1200 * MS);
    CHECK_INT(lease_period(&l) / MS, 1666);
    CHECK_INT(lease_anchor_period(&l), 600 * MS);
    /* the ring reaches back over a relay period and a renewal */
    CHECK(LEASE_ANCHORS * lease_anchor_period(&l) > l.relay + lease_anchor_period(&l));
}

static void no_overflow(void)
{
    int64_t day = 86400000 * MS;
    CHECK_INT(lease_margin(30 * day, 100), 3 * day + 50 * MS);
    CHECK_INT(lease_relay(30 * day, 0), 9 * day);
}

static void nothing_is_proved_at_first(void)
{
    lease_init(&l, 2000 * MS, 100);
    CHECK(!lease_valid(&l, at(0)));
    CHECK(!l.has_deadline);
    CHECK_INT(lease_want(&l, at(0)), LEASE_NOTHING);
}

static void proved_by_its_creation(void)
{
    start();
    CHECK(l.has_deadline && l.connected);
    CHECK_INT(deadline_ms(&l), 8950);
    CHECK_INT(l.deadline.raw, at(8950).raw);
    CHECK(lease_valid(&l, at(8949)));
    CHECK(!lease_valid(&l, at(8950)));
    lease_disconnected(&l);
    CHECK(lease_valid(&l, at(8949))); /* what is proved stays proved */
}

/* A session that follows another begins anew, whatever was proved before. */
static void creation_replaces_the_old_session(void)
{
    start();
    lease_alone(&l);
    request(&l, LEASE_WRITE, 5000, 5010);
    CHECK_INT(deadline_ms(&l), 13950);
    lease_disconnected(&l);
    lease_created(&l, at(6000), 4000 * MS);
    CHECK_INT(deadline_ms(&l), 6000 + 4000 - 450);
    CHECK(!l.alone);
    CHECK(!request(&l, LEASE_WRITE, 7000, 7010));
    CHECK_INT(deadline_ms(&l), 9550);
}

static void alone_any_write_is_a_proof(void)
{
    static const struct {
        enum lease_kind kind;
        bool proves;
    } rows[] = {
        {LEASE_ANCHOR, false}, {LEASE_SYNC, false}, {LEASE_WRITE, true}, {LEASE_RENEWAL, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        start();
        lease_alone(&l);
        CHECK_INT(request(&l, rows[i].kind, 3000, 3400), rows[i].proves);
        CHECK_INT(deadline_ms(&l), rows[i].proves ? 3000 + 8950 : 8950); /* sent, not answered */
    }
}

static void deadlines_never_go_back_by_a_proof(void)
{
    start();
    lease_alone(&l);
    CHECK(request(&l, LEASE_WRITE, 3000, 3010));
    CHECK(!lease_answered(&l, LEASE_WRITE, at(2000), at(3020)));
    CHECK_INT(deadline_ms(&l), 11950);
}

/* No clock's part of a deadline is given up for the other's. */
static void deadlines_never_go_back_by_either_clock(void)
{
    start();
    lease_alone(&l);
    CHECK(!lease_answered(&l, LEASE_WRITE, at_each(5000, -100), at(5010)));
    CHECK(!lease_answered(&l, LEASE_WRITE, at_each(-100, 5000), at(5010)));
    CHECK_INT(deadline_ms(&l), 8950);
    CHECK_INT(l.deadline.raw, at(8950).raw);
}

static void single_requests_prove_nothing_in_an_ensemble(void)
{
    static const enum lease_kind kinds[] = {LEASE_ANCHOR, LEASE_SYNC, LEASE_WRITE, LEASE_RENEWAL};
    for (size_t i = 0; i < 4; i++) {
        start();
        CHECK(!request(&l, kinds[i], 3000, 3010));
        CHECK(!request(&l, kinds[i], 6000, 6010));
        CHECK_INT(deadline_ms(&l), 8950);
    }
}

static void chain_extends_from_its_anchor(void)
{
    start();
    CHECK(!request(&l, LEASE_ANCHOR, 1000, 1100));
    CHECK(!request(&l, LEASE_SYNC, 2300, 2350)); /* 1100 + 1200 */
    CHECK(request(&l, LEASE_RENEWAL, 2360, 2400));
    CHECK_INT(deadline_ms(&l), 1000 + 8950);
    CHECK_INT(l.deadline.raw, at(9950).raw);
}

static void chain_needs_the_relay_period_by_both_clocks(void)
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
        request(&l, LEASE_ANCHOR, 1000, 1100);
        lease_sent(&l, LEASE_SYNC, sync);
        lease_answered(&l, LEASE_SYNC, sync, instant_add(sync, 5 * MS));
        lease_sent(&l, LEASE_RENEWAL, write);
        lease_answered(&l, LEASE_RENEWAL, write, instant_add(write, 5 * MS));
        if (!CHECK_INT(deadline_ms(&l), rows[i].proves ? 9950 : 8950))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
}

static void chain_rests_on_the_newest_anchor_that_is_old_enough(void)
{
    start();
    request(&l, LEASE_ANCHOR, 700, 710);
    request(&l, LEASE_ANCHOR, 1400, 1410);
    request(&l, LEASE_ANCHOR, 2100, 2110);
    request(&l, LEASE_SYNC, 2700, 2710); /* 1410 is old enough, 2110 is not */
    CHECK(request(&l, LEASE_RENEWAL, 2720, 2730));
    CHECK_INT(deadline_ms(&l), 1400 + 8950);
}

/* A slow answer says only that the touch was before it. */
static void anchor_counts_from_its_answer(void)
{
    start();
    request(&l, LEASE_ANCHOR, 1000, 1900);
    request(&l, LEASE_SYNC, 2300, 2310);
    CHECK(!request(&l, LEASE_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&l), 8950);
}

static void an_anchor_answered_during_the_round_is_for_the_next(void)
{
    start();
    request(&l, LEASE_ANCHOR, 1000, 1010);
    request(&l, LEASE_SYNC, 2300, 2310);
    request(&l, LEASE_ANCHOR, 2315, 2318);
    CHECK(request(&l, LEASE_RENEWAL, 2320, 6000));
    CHECK_INT(deadline_ms(&l), 1000 + 8950);
}

static void chain_is_broken_by_a_failure(void)
{
    start();
    request(&l, LEASE_ANCHOR, 1000, 1010);
    lease_sent(&l, LEASE_SYNC, at(2300));
    lease_failed(&l, LEASE_SYNC);
    CHECK(!request(&l, LEASE_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&l), 8950);

    start();
    request(&l, LEASE_ANCHOR, 1000, 1010);
    request(&l, LEASE_SYNC, 2300, 2310);
    lease_sent(&l, LEASE_RENEWAL, at(2320));
    lease_failed(&l, LEASE_RENEWAL);
    CHECK_INT(deadline_ms(&l), 8950);
    request(&l, LEASE_SYNC, 4000, 4010); /* and the next round is possible */
    CHECK(request(&l, LEASE_RENEWAL, 4020, 4030));
    CHECK_INT(deadline_ms(&l), 2300 + 8950); /* that sync was answered: it is an anchor too */
}

/* A write that was sent before the sync was answered may have overtaken the relay. */
static void write_must_follow_the_answered_sync(void)
{
    start();
    request(&l, LEASE_ANCHOR, 1000, 1010);
    lease_sent(&l, LEASE_SYNC, at(2300));
    lease_sent(&l, LEASE_RENEWAL, at(2305));
    lease_answered(&l, LEASE_SYNC, at(2300), at(2310));
    lease_answered(&l, LEASE_RENEWAL, at(2305), at(2320));
    CHECK_INT(deadline_ms(&l), 8950);
    start();
    request(&l, LEASE_ANCHOR, 1000, 1010);
    request(&l, LEASE_SYNC, 2300, 2310);
    CHECK(!lease_answered(&l, LEASE_WRITE, at(2305), at(2320)));
    CHECK_INT(deadline_ms(&l), 8950);
}

static const struct test_case cases[] = {
    {"parameters", parameters},
    {"no_overflow", no_overflow},
    {"nothing_is_proved_at_first", nothing_is_proved_at_first},
    {"proved_by_its_creation", proved_by_its_creation},
    {"creation_replaces_the_old_session", creation_replaces_the_old_session},
    {"alone_any_write_is_a_proof", alone_any_write_is_a_proof},
    {"deadlines_never_go_back_by_a_proof", deadlines_never_go_back_by_a_proof},
    {"deadlines_never_go_back_by_either_clock", deadlines_never_go_back_by_either_clock},
    {"single_requests_prove_nothing_in_an_ensemble", single_requests_prove_nothing_in_an_ensemble},
    {"chain_extends_from_its_anchor", chain_extends_from_its_anchor},
    {"chain_needs_the_relay_period_by_both_clocks", chain_needs_the_relay_period_by_both_clocks},
    {"chain_rests_on_the_newest_anchor_that_is_old_enough",
     chain_rests_on_the_newest_anchor_that_is_old_enough},
    {"anchor_counts_from_its_answer", anchor_counts_from_its_answer},
    {"an_anchor_answered_during_the_round_is_for_the_next",
     an_anchor_answered_during_the_round_is_for_the_next},
    {"chain_is_broken_by_a_failure", chain_is_broken_by_a_failure},
    {"write_must_follow_the_answered_sync", write_must_follow_the_answered_sync},
    {NULL, NULL},
};

const struct test_suite lease_suite = {.name = "lease", .cases = cases};
