/* Clocks that disagree, connections that change, and what is wanted when. */
#include "proofs_clock.h"
#include "runner.h"

#include <stddef.h>

TEST_SUITE(proofs_clock);

static struct proofs p;

static void start(void)
{
    proofs_init(&p, 2000 * MS, 100);
    proofs_created(&p, at(0), 10000 * MS);
}

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
    proofs_disconnected(&p);
    proofs_reconnected(&p, 10000 * MS);
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
    proofs_reconnected(&p, 10000 * MS);
    request(&p, PROOF_ANCHOR, 5000, 5010);
    proofs_sent(&p, PROOF_RENEWAL, at(5020));
    proofs_reconnected(&p, 10000 * MS);
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
    proofs_reconnected(&p, 10000 * MS);
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
        proofs_reconnected(&p, 10000 * MS);
        CHECK(!request(&p, others[i], 6000, 6010));
        CHECK_INT(deadline_ms(&p), 8950);
    }
    start(); /* it was not carried out */
    request(&p, PROOF_ANCHOR, 3000, 3010);
    proofs_reconnected(&p, 10000 * MS);
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
        proofs_reconnected(&p, 10000 * MS);
        proofs_sent(&p, PROOF_RENEWAL, at(7000));
        if (!CHECK_INT(
                proofs_answered(&p, PROOF_RENEWAL, at(7000), at_each(rows[i].boot, rows[i].raw)),
                rows[i].proves) ||
            !CHECK_INT(deadline_ms(&p), rows[i].proves ? 3000 + 8950 : 8950))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    }
    request(&p, PROOF_ANCHOR, 9500, 9510); /* a chain does */
    request(&p, PROOF_SYNC, 10800, 10810);
    CHECK(request(&p, PROOF_RENEWAL, 10820, 10830));
    CHECK_INT(deadline_ms(&p), 9500 + 8950);
}

/* Which is known only behind the write: it counts for itself, and is a round. */
TEST_CASE(a_handshake_of_a_lone_server)
{
    start();
    proofs_reconnected(&p, 10000 * MS);
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
    proofs_reconnected(&p, timeout_ms * MS);
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
    proofs_disconnected(&p);
    proofs_reconnected(&p, 10000 * MS);
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
    proofs_reconnected(&p, 4000 * MS); /* nor do they soften a smaller timeout */
    CHECK_INT(deadline_ms(&p), 3550);

    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    failed_handshake(10000);
    proofs_answered(&p, PROOF_SYNC, at(2300), at(2310));
    CHECK(proofs_want(&p, at(2320)) != PROOF_SEND_WRITE);
}

TEST_CASE(reconnected_without_a_notice_between)
{
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    request(&p, PROOF_SYNC, 2300, 2310);
    failed_handshake(10000);
    CHECK(!request(&p, PROOF_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&p), 8950);
}

TEST_CASE(chain_on_a_new_connection)
{
    start();
    proofs_disconnected(&p);
    proofs_reconnected(&p, 10000 * MS);
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
        proofs_reconnected(&p, 4000 * MS);
        CHECK_INT(deadline_ms(&p), 2000 + 4000 - 450);
        CHECK_INT(p.deadline.raw, at(5550).raw);
    }
    start(); /* nothing was answered since the creation */
    proofs_disconnected(&p);
    proofs_reconnected(&p, 4000 * MS);
    CHECK_INT(deadline_ms(&p), 4000 - 450);
}

TEST_CASE(newest_is_by_the_time_of_sending)
{
    start();
    proofs_answered(&p, PROOF_ANCHOR, at(2000), at(2100));
    proofs_answered(&p, PROOF_ANCHOR, at(1500), at(2200));
    proofs_disconnected(&p);
    proofs_reconnected(&p, 4000 * MS);
    CHECK_INT(deadline_ms(&p), 2000 + 4000 - 450);
}

TEST_CASE(no_reconnect_moves_a_deadline_on)
{
    start();
    request(&p, PROOF_ANCHOR, 7000, 7010);
    proofs_disconnected(&p);
    proofs_reconnected(&p, 4000 * MS); /* 7000 + 3550 would be later */
    CHECK_INT(deadline_ms(&p), 8950);
    proofs_disconnected(&p);
    proofs_reconnected(&p, 40000 * MS);
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK(p.timeout <= 10000 * MS); /* never more than at the creation */
    proofs_alone(&p);
    request(&p, PROOF_WRITE, 8000, 8010);
    CHECK(deadline_ms(&p) <= 8000 + 8950);
}

TEST_CASE(smaller_timeout_rules_the_next_proofs)
{
    start();
    proofs_disconnected(&p);
    proofs_reconnected(&p, 4000 * MS);
    CHECK_INT(p.timeout, 4000 * MS);
    CHECK_INT(p.margin, 450 * MS);
    proofs_alone(&p);
    CHECK(request(&p, PROOF_WRITE, 3000, 3010));
    CHECK_INT(deadline_ms(&p), 3000 + 3550);
}

TEST_CASE(relay_of_an_unknown_tick_follows_the_timeout)
{
    proofs_init(&p, 0, 100);
    proofs_created(&p, at(0), 10000 * MS);
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
    int64_t limit = proofs_period(&p) * 5 / 2 / MS; /* 4166 */
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
    CHECK_INT(proofs_want(&p, at(1510)), PROOF_SEND_ANCHOR);
    request(&p, PROOF_ANCHOR, 1510, 1520);
    CHECK_INT(proofs_want(&p, at(2109)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(2110)), PROOF_SEND_SYNC); /* 910 + 1200 */
    proofs_sent(&p, PROOF_SYNC, at(2110));
    CHECK_INT(proofs_want(&p, at(2111)), PROOF_NOTHING);
    proofs_failed(&p, PROOF_SYNC);
    CHECK_INT(proofs_want(&p, at(2110 + 1700)), PROOF_SEND_SYNC);
    request(&p, PROOF_SYNC, 3810, 3820);
    CHECK_INT(proofs_want(&p, at(3820)), PROOF_SEND_WRITE);
    proofs_sent(&p, PROOF_RENEWAL, at(3820));
    CHECK(proofs_want(&p, at(3821)) != PROOF_SEND_WRITE);
    proofs_failed(&p, PROOF_RENEWAL);
    CHECK(proofs_want(&p, at(3821)) != PROOF_SEND_WRITE); /* not without a sync before it */
    CHECK_INT(proofs_want(&p, at(3810 + 1700)), PROOF_SEND_SYNC);
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
    proofs_reconnected(&p, 10000 * MS);
    CHECK(proofs_want(&p, at(20000)) != PROOF_NOTHING);
}
