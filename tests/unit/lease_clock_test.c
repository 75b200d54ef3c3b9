/* Clocks that disagree, connections that change, and what is wanted when. */
#include "lease_clock.h"
#include "suites.h"

#include <stddef.h>

static struct lease l;

static void start(void)
{
    lease_init(&l, 2000 * MS, 100);
    lease_created(&l, at(0), 10000 * MS);
}

static void instants(void)
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
static void sure_by_one_clock(void)
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

static void suspended(void)
{
    start();
    CHECK(lease_valid(&l, at(3000)));
    CHECK(!lease_valid(&l, at_each(23000, 3000)));
    CHECK(!lease_valid(&l, at_each(8950, 3000)));
    CHECK(lease_valid(&l, at_each(8949, 3000)));
}

/* BOOTTIME slowed down by a time daemon: RAW is right. */
static void slewed(void)
{
    start();
    CHECK(lease_valid(&l, at_each(8055, 8949)));
    CHECK(!lease_valid(&l, at_each(8055, 8950)));
    CHECK_INT(instant_left(at_each(8055, 8900), l.deadline), 50 * MS);
}

static void an_old_connection_is_void(void)
{
    start(); /* the anchor */
    request(&l, LEASE_ANCHOR, 1000, 1010);
    lease_disconnected(&l);
    lease_reconnected(&l, 10000 * MS);
    request(&l, LEASE_SYNC, 2300, 2310);
    CHECK(!request(&l, LEASE_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&l), 8950);

    start(); /* the sync */
    request(&l, LEASE_ANCHOR, 1000, 1010);
    request(&l, LEASE_SYNC, 2300, 2310);
    lease_disconnected(&l);
    lease_reconnected(&l, 10000 * MS);
    CHECK(!request(&l, LEASE_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&l), 8950);

    start(); /* that the server stands alone */
    lease_alone(&l);
    lease_disconnected(&l);
    lease_reconnected(&l, 10000 * MS);
    CHECK(!request(&l, LEASE_WRITE, 3000, 3010));
    CHECK_INT(deadline_ms(&l), 8950);
}

static void answers_without_a_connection_prove_nothing(void)
{
    start();
    lease_alone(&l);
    lease_disconnected(&l);
    CHECK(!lease_answered(&l, LEASE_WRITE, at(3000), at(3010)));
    CHECK_INT(deadline_ms(&l), 8950);
    lease_reconnected(&l, 4000 * MS); /* nor do they soften a smaller timeout */
    CHECK_INT(deadline_ms(&l), 3550);

    start();
    request(&l, LEASE_ANCHOR, 1000, 1010);
    lease_sent(&l, LEASE_SYNC, at(2300));
    lease_reconnected(&l, 10000 * MS);
    lease_answered(&l, LEASE_SYNC, at(2300), at(2310));
    CHECK(lease_want(&l, at(2320)) != LEASE_SEND_WRITE);
}

static void reconnected_without_a_notice_between(void)
{
    start();
    request(&l, LEASE_ANCHOR, 1000, 1010);
    request(&l, LEASE_SYNC, 2300, 2310);
    lease_reconnected(&l, 10000 * MS);
    CHECK(!request(&l, LEASE_RENEWAL, 2320, 2330));
    CHECK_INT(deadline_ms(&l), 8950);
}

static void chain_on_a_new_connection(void)
{
    start();
    lease_disconnected(&l);
    lease_reconnected(&l, 10000 * MS);
    request(&l, LEASE_ANCHOR, 3000, 3010);
    request(&l, LEASE_SYNC, 4300, 4310);
    CHECK(request(&l, LEASE_RENEWAL, 4320, 4330));
    CHECK_INT(deadline_ms(&l), 3000 + 8950);
    lease_reconnected(&l, 10000 * MS); /* and the next one need not wait for the old one's period */
    request(&l, LEASE_ANCHOR, 4400, 4410);
    CHECK_INT(lease_want(&l, at(5610)), LEASE_SEND_SYNC);
}

/* Whatever was answered touched the session under a timeout of at least S'. */
static void smaller_timeout_takes_the_deadline_back(void)
{
    static const enum lease_kind kinds[] = {LEASE_ANCHOR, LEASE_SYNC, LEASE_WRITE, LEASE_RENEWAL};
    for (size_t i = 0; i < 4; i++) {
        start();
        request(&l, kinds[i], 2000, 2010);
        lease_disconnected(&l);
        CHECK_INT(deadline_ms(&l), 8950);
        lease_reconnected(&l, 4000 * MS);
        CHECK_INT(deadline_ms(&l), 2000 + 4000 - 450);
        CHECK_INT(l.deadline.raw, at(5550).raw);
    }
    start(); /* nothing was answered since the creation */
    lease_disconnected(&l);
    lease_reconnected(&l, 4000 * MS);
    CHECK_INT(deadline_ms(&l), 4000 - 450);
}

static void newest_is_by_the_time_of_sending(void)
{
    start();
    lease_answered(&l, LEASE_ANCHOR, at(2000), at(2100));
    lease_answered(&l, LEASE_ANCHOR, at(1500), at(2200));
    lease_disconnected(&l);
    lease_reconnected(&l, 4000 * MS);
    CHECK_INT(deadline_ms(&l), 2000 + 4000 - 450);
}

static void no_reconnect_moves_a_deadline_on(void)
{
    start();
    request(&l, LEASE_ANCHOR, 7000, 7010);
    lease_disconnected(&l);
    lease_reconnected(&l, 4000 * MS); /* 7000 + 3550 would be later */
    CHECK_INT(deadline_ms(&l), 8950);
    lease_disconnected(&l);
    lease_reconnected(&l, 40000 * MS);
    CHECK_INT(deadline_ms(&l), 8950);
    CHECK(l.timeout <= 10000 * MS); /* never more than at the creation */
    lease_alone(&l);
    request(&l, LEASE_WRITE, 8000, 8010);
    CHECK(deadline_ms(&l) <= 8000 + 8950);
}

static void smaller_timeout_rules_the_next_proofs(void)
{
    start();
    lease_disconnected(&l);
    lease_reconnected(&l, 4000 * MS);
    CHECK_INT(l.timeout, 4000 * MS);
    CHECK_INT(l.margin, 450 * MS);
    lease_alone(&l);
    CHECK(request(&l, LEASE_WRITE, 3000, 3010));
    CHECK_INT(deadline_ms(&l), 3000 + 3550);
}

static void relay_of_an_unknown_tick_follows_the_timeout(void)
{
    lease_init(&l, 0, 100);
    lease_created(&l, at(0), 10000 * MS);
    CHECK_INT(l.relay, 3000 * MS);
    request(&l, LEASE_ANCHOR, 1000, 1010);
    request(&l, LEASE_SYNC, 4009, 4010);
    CHECK(!request(&l, LEASE_RENEWAL, 4011, 4012));
    request(&l, LEASE_SYNC, 4020, 4030);
    CHECK(request(&l, LEASE_RENEWAL, 4040, 4050));
}

static void overdue(void)
{
    start();
    int64_t limit = lease_period(&l) * 5 / 2 / MS; /* 4166 */
    CHECK(!lease_overdue(&l, at(limit)));
    CHECK(lease_overdue(&l, at(limit + 1)));
    CHECK(lease_overdue(&l, at_each(limit + 1, 0))); /* by either clock: suspicion costs little */
    CHECK(lease_overdue(&l, at_each(0, limit + 1)));
    lease_alone(&l);
    request(&l, LEASE_ANCHOR, 3000, 3000);
    CHECK(lease_overdue(&l, at(limit + 1))); /* that was no proof */
    request(&l, LEASE_WRITE, 4000, 4000);
    CHECK(!lease_overdue(&l, at(limit + 1)));
    CHECK(!lease_overdue(&l, at(4000 + limit)));
    CHECK(lease_overdue(&l, at(4000 + limit + 1)));
}

/* One of a kind is under way at a time, and what failed is asked for again. */
static void wanted_one_after_the_other(void)
{
    start();
    CHECK_INT(lease_want(&l, at(10)), LEASE_SEND_ANCHOR);
    lease_sent(&l, LEASE_ANCHOR, at(10));
    CHECK_INT(lease_want(&l, at(900)), LEASE_NOTHING);
    lease_failed(&l, LEASE_ANCHOR);
    CHECK_INT(lease_want(&l, at(900)), LEASE_SEND_ANCHOR);
    request(&l, LEASE_ANCHOR, 900, 910);
    CHECK_INT(lease_want(&l, at(1000)), LEASE_NOTHING);
    CHECK_INT(lease_want(&l, at(1510)), LEASE_SEND_ANCHOR);
    request(&l, LEASE_ANCHOR, 1510, 1520);
    CHECK_INT(lease_want(&l, at(2109)), LEASE_NOTHING);
    CHECK_INT(lease_want(&l, at(2110)), LEASE_SEND_SYNC); /* 910 + 1200 */
    lease_sent(&l, LEASE_SYNC, at(2110));
    CHECK_INT(lease_want(&l, at(2111)), LEASE_NOTHING);
    lease_failed(&l, LEASE_SYNC);
    CHECK_INT(lease_want(&l, at(2110 + 1700)), LEASE_SEND_SYNC);
    request(&l, LEASE_SYNC, 3810, 3820);
    CHECK_INT(lease_want(&l, at(3820)), LEASE_SEND_WRITE);
    lease_sent(&l, LEASE_RENEWAL, at(3820));
    CHECK(lease_want(&l, at(3821)) != LEASE_SEND_WRITE);
    lease_failed(&l, LEASE_RENEWAL);
    CHECK(lease_want(&l, at(3821)) != LEASE_SEND_WRITE); /* not without a sync before it */
    CHECK_INT(lease_want(&l, at(3810 + 1700)), LEASE_SEND_SYNC);
}

static void nothing_is_wanted_when_disconnected(void)
{
    start();
    CHECK(lease_want(&l, at(2000)) != LEASE_NOTHING);
    lease_disconnected(&l);
    for (int64_t ms = 0; ms < 20000; ms += 100) {
        CHECK_INT(lease_want(&l, at(ms)), LEASE_NOTHING);
        CHECK(lease_wait(&l, at(ms)) > 0); /* and nobody spins over it */
    }
    lease_reconnected(&l, 10000 * MS);
    CHECK(lease_want(&l, at(20000)) != LEASE_NOTHING);
}

static const struct test_case cases[] = {
    {"instants", instants},
    {"sure_by_one_clock", sure_by_one_clock},
    {"suspended", suspended},
    {"slewed", slewed},
    {"an_old_connection_is_void", an_old_connection_is_void},
    {"answers_without_a_connection_prove_nothing", answers_without_a_connection_prove_nothing},
    {"reconnected_without_a_notice_between", reconnected_without_a_notice_between},
    {"chain_on_a_new_connection", chain_on_a_new_connection},
    {"smaller_timeout_takes_the_deadline_back", smaller_timeout_takes_the_deadline_back},
    {"newest_is_by_the_time_of_sending", newest_is_by_the_time_of_sending},
    {"no_reconnect_moves_a_deadline_on", no_reconnect_moves_a_deadline_on},
    {"smaller_timeout_rules_the_next_proofs", smaller_timeout_rules_the_next_proofs},
    {"relay_of_an_unknown_tick_follows_the_timeout", relay_of_an_unknown_tick_follows_the_timeout},
    {"overdue", overdue},
    {"wanted_one_after_the_other", wanted_one_after_the_other},
    {"nothing_is_wanted_when_disconnected", nothing_is_wanted_when_disconnected},
    {NULL, NULL},
};

const struct test_suite lease_clock_suite = {.name = "lease_clock", .cases = cases};
