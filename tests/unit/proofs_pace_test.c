/* When each request is sent, and what an edge decides. A session of 10 s with a tick of 2 s has a
 * margin of 1.05 s, a relay of 1.2 s, an anchor each 0.6 s, and a renewal each 1.666 s. */
#include "proofs.h"

#include "proofs_clock.h"
#include "runner.h"

#include <stddef.h>

TEST_SUITE(proofs_pace);

static struct proofs p;

static void start(void)
{
    proofs_init(&p, 2000 * MS, 100);
    proofs_created(&p, at(0), 10000 * MS);
}

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
    CHECK(proofs_answered(&p, PROOF_WRITE, at_each(1, 1), at(5010)));
    CHECK_INT(deadline_ms(&p), 8951);
}

/* A smaller timeout takes back what is too late, by either clock, and nothing else. */
TEST_CASE(taken_back_by_each_clock)
{
    start();
    request(&p, PROOF_ANCHOR, 8000, 8010);
    proofs_disconnected(&p);
    proofs_reconnected(&p, 4000 * MS); /* 8000 + 4000 - 450 is later than 8950 */
    CHECK_INT(deadline_ms(&p), 8950);
    CHECK_INT(p.deadline.raw, at(8950).raw);
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
    proofs_disconnected(&p);
    proofs_reconnected(&p, 4000 * MS);
    CHECK_INT(deadline_ms(&p), 4550);
    CHECK_INT(p.deadline.raw, at(4550).raw);
}

/* Whatever was under way on the old connection, announced as lost or not: the write behind the
 * handshake, and an anchor for the rounds to come. */
TEST_CASE(a_new_connection_begins_with_a_write)
{
    for (int announced = 0; announced < 2; announced++) {
        start();
        for (int i = 0; i < PROOF_ANCHORS; i++)
            request(&p, PROOF_ANCHOR, 1000 + 600 * i, 1010 + 600 * i);
        CHECK_INT(p.anchors, PROOF_ANCHORS);
        proofs_sent(&p, PROOF_ANCHOR, at(10100));
        if (announced)
            proofs_disconnected(&p);
        proofs_reconnected(&p, 10000 * MS);
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
    request(&p, PROOF_ANCHOR, 1300, 1309); /* a quarter of the relay period is 300 */
    CHECK_INT(p.anchors, 1);
    request(&p, PROOF_ANCHOR, 1300, 1310);
    CHECK_INT(p.anchors, 2);
}

TEST_CASE(a_failed_round_is_no_reason_to_hurry)
{
    start();
    request(&p, PROOF_ANCHOR, 1000, 1010);
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
    request(&p, PROOF_ANCHOR, 1000, 1010);
    request(&p, PROOF_SYNC, 2300, 2310);
    request(&p, PROOF_RENEWAL, 2900, 2910);
    proofs_sent(&p, PROOF_ANCHOR, at(2920));
    CHECK_INT(proofs_want(&p, at(2300 + 1666)), PROOF_NOTHING);
    CHECK_INT(proofs_want(&p, at(2300 + 1667)), PROOF_SEND_SYNC);
}

TEST_CASE(how_long_to_wait)
{
    start();
    CHECK_INT(proofs_wait(&p, at(0)), 300 * MS); /* half of an anchor's period: none is there yet */
    request(&p, PROOF_ANCHOR, 1000, 1010);
    proofs_sent(&p, PROOF_SYNC, at(2300));
    CHECK_INT(proofs_wait(&p, at(2300)), 300 * MS); /* under way */
    proofs_answered(&p, PROOF_SYNC, at(2300), at(2310));
    request(&p, PROOF_RENEWAL, 2320, 2330);
    CHECK_INT(proofs_wait(&p, at(2330)) / MS, 2300 + 1666 - 2330);
    CHECK_INT(proofs_wait(&p, at(3800)), 300 * MS); /* soon: what is older by then serves better */

    start();
    proofs_alone(&p);
    request(&p, PROOF_RENEWAL, 1000, 1010);
    CHECK_INT(proofs_wait(&p, at(1010)) / MS, 1000 + 1666 - 1010);
    CHECK_INT(proofs_wait(&p, at(2600)) / MS, 1000 + 1666 - 2600);
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
    proofs_reconnected(&p, 10000 * MS);
    check_lasts_until(8950 - 1500 - 834);
    proofs_alone(&p);
    check_lasts_until(8950 - 834); /* the write behind the handshake proves */
    start();
    proofs_alone(&p);
    check_lasts_until(8950 - 300 - 834); /* the first write does */
}

TEST_CASE(a_round_under_way_lasts)
{
    start();
    request(&p, PROOF_ANCHOR, 4000, 4010);
    request(&p, PROOF_SYNC, 8000, 8010);
    proofs_sent(&p, PROOF_RENEWAL, at(8020));
    check_lasts_until(8950 - 834);
    start();
    request(&p, PROOF_ANCHOR, 4000, 4010);
    request(&p, PROOF_SYNC, 5300, 5310);
    proofs_sent(&p, PROOF_RENEWAL, at(5320));
    CHECK_INT(proofs_deadline(&p, at(5300 + 1666)), DEADLINE_LASTING);
    CHECK_INT(proofs_deadline(&p, at(5300 + 1667)), DEADLINE_AHEAD); /* the server is silent */
}

/* 30 s and no tick: relay 9 s, a renewal each 5 s. After a pause there is one anchor,
 * which is as old as the deadline: the first round moves that by nothing, nor does the second. */
TEST_CASE(an_old_anchor_is_of_no_use)
{
    proofs_init(&p, 0, 100);
    proofs_created(&p, at(0), 30000 * MS);
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
    proofs_created(&p, at(0), 30000 * MS);
    request(&p, PROOF_ANCHOR, 5, 10);
    request(&p, PROOF_ANCHOR, 6000, 6010);
    CHECK_INT(proofs_deadline(&p, at(17000)), DEADLINE_LASTING);
}
