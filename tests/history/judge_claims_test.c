/* The judge of what several may have at once, or one at several places: as in judge_test.c. */
#include "judge_trial.h"

TEST_SUITE(judge_claims);

/* Worker w is the process 10 + w. */
static void at(int ms, int worker, event_kind kind, int64_t value, uint64_t token)
{
    trial_insert((event){MS(ms), worker, worker < 0 ? 0 : 10 + worker, kind, value, token, 0});
}

static void want(int ms, int worker, claim c)
{
    at(ms, worker, EV_WANT, claim_pack(&c), 0);
}

static void starts(int ms, int worker, uint64_t token, int64_t session)
{
    at(ms, worker, EV_GRANT, 900, token);
    at(ms, worker, EV_OWNER, session, token);
}

static void loses(int ms, int worker, uint64_t token)
{
    at(ms, worker, EV_TOLD, 0, token);
    at(ms, worker, EV_LOST, 0, token);
}

/* A grant is seen for the last time and released at other times, or has another token. */
static void ends(int process, uint64_t token, int seen_ms, int released_ms)
{
    trial_pick(EV_SEEN, process, token)->ns = MS(seen_ms);
    trial_pick(EV_RELEASE, process, token)->ns = MS(released_ms);
}

static void renumber(int process, uint64_t token, uint64_t to)
{
    static const event_kind kinds[] = {EV_GRANT, EV_OWNER, EV_SEEN, EV_RELEASE};

    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
        trial_pick(kinds[i], process, token)->token = to;
}

static const claim reading = {CLAIM_READ, 1, 0, 0}, writing = {CLAIM_WRITE, 1, 0, 0};

/* w0 and w2 read at once; then w4 writes; then w0 and w6 read at once. */
static void shared(void)
{
    trial_begin(NULL, 0);
    want(1, 0, reading);
    want(2, 2, reading);
    want(15, 4, writing);
    want(55, 0, reading);
    want(56, 6, reading);
    starts(10, 0, 1, 100);
    starts(12, 2, 2, 102);
    at(20, 0, EV_SEEN, 890, 1);
    at(20, 2, EV_SEEN, 890, 2);
    at(30, 0, EV_RELEASE, 0, 1);
    at(40, 2, EV_RELEASE, 0, 2);
    starts(50, 4, 3, 104);
    at(51, 4, EV_WRITE, 1, 3);
    at(60, 4, EV_SEEN, 890, 3);
    at(61, 4, EV_RELEASE, 0, 3);
    starts(62, 0, 4, 100);
    starts(63, 6, 5, 106);
    at(64, 6, EV_READ, 1, 5);
    at(64, 0, EV_READ, 1, 4);
    at(70, 0, EV_SEEN, 890, 4);
    at(70, 6, EV_SEEN, 890, 5);
    at(80, 6, EV_RELEASE, 0, 5);
    at(81, 0, EV_RELEASE, 0, 4);
}

TEST_CASE(accepts_readers)
{
    shared();
    judgement *j = trial_hear(0);
    CHECK(judgement_passes(j));
    CHECK_INT(j->readers, 2);
    CHECK_INT(j->of[CLAIM_READ].grants, 4);
    CHECK_INT(j->of[CLAIM_READ].longest_wait, MS(10));
    CHECK_INT(j->of[CLAIM_WRITE].grants, 1);
    CHECK_INT(j->of[CLAIM_WRITE].longest_wait, MS(35));
    CHECK_INT(j->longest_unused, 0); /* a reader may have been there */
    judgement_free(j);
}

static void expect_readers(guint count)
{
    judgement *j = trial_hear(0);

    CHECK(judgement_passes(j));
    CHECK_INT(j->readers, count);
    judgement_free(j);
}

/* At one path, and when one comes the others see themselves own later. */
TEST_CASE(counts_readers)
{
    const claim elsewhere = {CLAIM_READ, 2, 0, 0};

    shared();
    trial_drop(EV_SEEN, 10, 1);
    expect_readers(2); /* the last two */
    shared();
    trial_drop(EV_SEEN, 10, 4);
    expect_readers(2); /* the first two */
    trial_drop(EV_SEEN, 10, 1);
    expect_readers(1);
    want(1, 1, elsewhere);
    starts(11, 1, 7, 101);
    at(70, 1, EV_SEEN, 890, 7);
    at(71, 1, EV_RELEASE, 0, 7);
    expect_readers(1);
}

TEST_CASE(rejects_a_reader_beside_a_writer)
{
    shared();
    trial_pick(EV_GRANT, 10, 4)->ns = MS(59); /* before that one ended */
    trial_expect(1);
    shared();
    at(65, 4, EV_SEEN, 880, 3);
    trial_pick(EV_RELEASE, 14, 3)->ns = MS(66);
    trial_expect(1);
}

TEST_CASE(rejects_a_writer_beside_readers)
{
    shared();
    at(51, 2, EV_SEEN, 880, 2);
    trial_pick(EV_RELEASE, 12, 2)->ns = MS(52);
    trial_expect(1);
    shared();
    want(56, 2, writing);
    starts(65, 2, 6, 102); /* beside the last two */
    at(90, 2, EV_RELEASE, 0, 6);
    trial_expect(1);
}

TEST_CASE(rejects_a_broken_promise_of_sharing)
{
    shared();
    trial_pick(EV_RELEASE, 12, 2)->kind = EV_KILL; /* a reader's binds the writer */
    trial_expect(2);
    shared();
    trial_pick(EV_RELEASE, 10, 4)->kind = EV_KILL; /* but no reader */
    trial_pick(EV_SEEN, 10, 4)->ns = MS(63);
    trial_expect(-1);
    want(85, 2, writing);
    starts(90, 2, 6, 102);
    at(91, 2, EV_RELEASE, 0, 6);
    trial_expect(2);
}

TEST_CASE(rejects_falling_tokens_of_writers)
{
    shared();
    renumber(10, 1, 9); /* above the writer's */
    trial_expect(3);
    shared();
    renumber(10, 1, 2); /* readers among themselves: 2, then 1 */
    renumber(12, 2, 1);
    trial_expect(-1);
}

TEST_CASE(rejects_a_stale_read)
{
    shared();
    trial_pick(EV_READ, 10, 4)->value = 0; /* what is written is gone */
    trial_expect(4);
    shared();
    at(75, 2, EV_READ, 1, 2); /* who read before the writer */
    trial_expect(4);
}

/* ---- permits ---- */

static claim permits(int count)
{
    return (claim){CLAIM_PERMITS, 1, count, 3};
}

static claim numbered(int count)
{
    return (claim){CLAIM_NUMBERED, 1, count, 3};
}

/* w0 has the numbers 0 and 1, w2 has 2, and w4 gets it after that. */
static void counted(void)
{
    trial_begin(NULL, 0);
    want(1, 0, numbered(2));
    want(1, 2, numbered(1));
    want(2, 4, numbered(1));
    starts(10, 0, 2, 100);
    at(10, 0, EV_NUMBERS, 3, 2);
    starts(11, 2, 1, 102); /* tokens need not rise */
    at(11, 2, EV_NUMBERS, 4, 1);
    at(20, 2, EV_SEEN, 880, 1);
    at(21, 2, EV_RELEASE, 0, 1);
    starts(30, 4, 3, 104);
    at(30, 4, EV_NUMBERS, 4, 3);
    at(40, 0, EV_SEEN, 890, 2);
    at(41, 0, EV_RELEASE, 0, 2);
    at(50, 4, EV_RELEASE, 0, 3);
}

TEST_CASE(accepts_permits)
{
    counted();
    judgement *j = trial_hear(0);
    CHECK(judgement_passes(j));
    CHECK_INT(j->permits, 3);
    CHECK_INT(j->readers, 0);
    CHECK_INT(j->of[CLAIM_NUMBERED].grants, 3);
    CHECK_INT(j->of[CLAIM_NUMBERED].longest_wait, MS(28));
    judgement_free(j);
}

TEST_CASE(rejects_a_permit_too_many)
{
    counted();
    want(3, 6, permits(1));
    starts(12, 6, 4, 106);
    at(19, 6, EV_RELEASE, 0, 4);
    trial_expect(1);
    judgement *j = trial_hear(0);
    CHECK_INT(j->overlaps, 1);
    CHECK_INT(j->permits, 4);
    judgement_free(j);
    counted();
    want(3, 6, permits(1)); /* w4 comes, too, when the three are taken */
    starts(25, 6, 4, 106);
    at(39, 6, EV_SEEN, 890, 4);
    at(39, 6, EV_RELEASE, 0, 4);
    trial_expect(1);
    ends(16, 4, 29, 29);
    trial_expect(-1);
}

/* Each semaphore has its own. */
TEST_CASE(accepts_permits_elsewhere)
{
    claim elsewhere = numbered(3);

    counted();
    elsewhere.paths = 2;
    want(3, 7, elsewhere);
    starts(12, 7, 4, 107);
    at(12, 7, EV_NUMBERS, 7, 4);
    at(39, 7, EV_SEEN, 890, 4);
    at(39, 7, EV_RELEASE, 0, 4);
    trial_expect(-1);
}

TEST_CASE(rejects_a_permit_that_is_promised)
{
    counted();
    trial_pick(EV_RELEASE, 12, 1)->kind = EV_KILL;
    trial_pick(EV_NUMBERS, 12, 1)->value = 0; /* killed before it could say */
    trial_expect(2);
    trial_pick(EV_SEEN, 12, 1)->value = 9;
    trial_pick(EV_GRANT, 12, 1)->value = 9; /* up to 29 ms */
    trial_expect(-1);
    counted();
    trial_pick(EV_RELEASE, 12, 1)->kind = EV_KILL;
    at(25, -1, EV_DELETE, 0, 1); /* a third party */
    trial_expect(-1);
}

TEST_CASE(rejects_a_number_twice)
{
    counted();
    ends(10, 2, 28, 29); /* there are permits enough */
    ends(12, 1, 35, 36);
    trial_expect(1);
    trial_pick(EV_NUMBERS, 14, 3)->value = 1; /* of the first of all */
    trial_expect(-1);
    ends(10, 2, 31, 32);
    ends(12, 1, 25, 26);
    trial_expect(1);
    ends(10, 2, 28, 29);
    ends(12, 1, 20, 21);
    trial_pick(EV_NUMBERS, 14, 3)->value = 4;
    trial_pick(EV_RELEASE, 12, 1)->kind = EV_KILL; /* its deadline is ahead */
    trial_expect(2);
}

/* Over when it was first looked at: nobody believed in it. */
TEST_CASE(accepts_permits_seen_too_late)
{
    counted();
    want(3, 6, permits(3));
    at(15, 6, EV_GRANT, 0, 4);
    at(15, 6, EV_TOLD, 0, 4);
    at(16, 6, EV_LOST, 0, 4);
    trial_expect(-1);
}

TEST_CASE(rejects_wrong_numbers)
{
    static const int64_t wrong[] = {0, 1, 7, 8 | 1}; /* for two permits of three */

    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        counted();
        trial_pick(EV_NUMBERS, 12, 1)->value = 0;
        trial_drop(EV_RELEASE, 12, 1);
        at(12, 2, EV_KILL, 0, 0);
        trial_pick(EV_SEEN, 12, 1)->ns = MS(11);
        trial_pick(EV_SEEN, 12, 1)->value = 1;
        trial_pick(EV_GRANT, 12, 1)->value = 1;
        ends(10, 2, 28, 29);
        trial_expect(-1);
        trial_pick(EV_NUMBERS, 10, 2)->value = wrong[i];
        trial_expect(8);
    }
}

/* ---- several paths ---- */

static const claim both = {CLAIM_SEVERAL, 3, 0, 0}, first = {CLAIM_LOCK, 1, 0, 0},
                   second = {CLAIM_LOCK, 2, 0, 0};

/* w0 has both paths, by the tokens 1 and 2; then w1 has the second and w2 the first. */
static void several(void)
{
    trial_begin(NULL, 0);
    want(1, 0, both);
    want(2, 1, second);
    want(3, 2, first);
    starts(10, 0, 1, 100);
    at(10, 0, EV_PART, 2, 1);
    at(11, 0, EV_WRITE, 1, 1);
    at(12, 0, EV_WRITE, 1, 2);
    at(20, 0, EV_SEEN, 890, 1);
    at(21, 0, EV_RELEASE, 0, 1);
    starts(30, 1, 5, 101);
    at(31, 1, EV_WRITE, 2, 5);
    starts(30, 2, 4, 102);
    at(31, 2, EV_WRITE, 2, 4);
    at(40, 1, EV_RELEASE, 0, 5);
    at(40, 2, EV_RELEASE, 0, 4);
}

TEST_CASE(accepts_several_paths)
{
    several();
    judgement *j = trial_hear(0);
    CHECK(judgement_passes(j));
    CHECK_INT(j->of[CLAIM_SEVERAL].grants, 1);
    CHECK_INT(j->of[CLAIM_SEVERAL].longest_wait, MS(9));
    CHECK_INT(j->of[CLAIM_LOCK].grants, 2);
    CHECK_INT(j->of[CLAIM_LOCK].longest_wait, MS(28));
    judgement_free(j);
}

TEST_CASE(rejects_another_at_one_of_them)
{
    for (int w = 1; w <= 2; w++) {
        const uint64_t token = w == 1 ? 5 : 4;
        several();
        trial_pick(EV_GRANT, 10 + w, token)->ns = MS(19);
        trial_expect(1);
        several();
        trial_pick(EV_GRANT, 10 + w, token)->ns = MS(29); /* a promise */
        trial_pick(EV_RELEASE, 10, 1)->kind = EV_KILL;
        trial_expect(2);
    }
}

TEST_CASE(rejects_a_part_of_them)
{
    several();
    trial_drop(EV_PART, 10, 1);
    trial_drop(EV_WRITE, 10, 2);
    trial_pick(EV_WRITE, 11, 5)->value = 1;
    trial_expect(8);
    trial_drop(EV_RELEASE, 10, 1);
    at(21, 0, EV_KILL, 0, 0); /* before it could say; its promise is seen to hold all the same */
    trial_expect(2);
}

/* Killed before it could say what it has at the second path, where somebody was before. */
TEST_CASE(accepts_one_killed_with_a_part)
{
    several();
    want(41, 0, both);
    starts(42, 0, 8, 100);
    at(43, 0, EV_KILL, 0, 0);
    trial_expect(-1);
}

TEST_CASE(rejects_falling_tokens_at_one_of_them)
{
    several();
    trial_pick(EV_PART, 10, 1)->value = 6;
    trial_pick(EV_WRITE, 10, 2)->kind = EV_REFUSED;
    trial_pick(EV_WRITE, 11, 5)->value = 1;
    trial_expect(3);
}

TEST_CASE(rejects_a_careless_register_at_one_of_them)
{
    several();
    trial_pick(EV_WRITE, 11, 5)->value = 1;
    trial_expect(4);
    several();
    at(35, 0, EV_WRITE, 3, 2);
    trial_expect(4);
}

/* A holder that lost the second path may not go on at the first. */
TEST_CASE(accepts_a_third_party_at_one_of_them)
{
    several();
    at(13, -1, EV_DELETE, 100, 2);
    trial_pick(EV_GRANT, 11, 5)->ns = MS(19);
    trial_expect(-1);
    trial_pick(EV_GRANT, 12, 4)->ns = MS(19);
    trial_expect(1);
    trial_pick(EV_GRANT, 12, 4)->ns = MS(23);
    trial_drop(EV_RELEASE, 10, 1);
    loses(21, 0, 1); /* before its deadline, so it binds nobody any more */
    trial_expect(-1);
}
