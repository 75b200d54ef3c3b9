/* The judge must be able to reject: one good history with everything in it is accepted, and each
 * of many ways to spoil it is rejected for the right reason. */
#include "judge_trial.h"

TEST_SUITE(judge);

/* Path 0: w0 releases; w2 is cut off and loses; w0 is killed while it holds and comes again as 20;
 * w2 is stopped while it holds and its write is refused; an administrator deletes 20's node; w2
 * holds when its session is ended by force. Path 1: w1 alone. */
static const event good[] = {
    {MS(1), 0, 10, EV_WANT, 0, 0, 0},       {MS(2), 2, 12, EV_WANT, 0, 0, 0},
    {MS(3), 1, 11, EV_WANT, 0, 0, 0},       {MS(10), 0, 10, EV_GRANT, 900, 1, 0},
    {MS(10), 1, 11, EV_GRANT, 900, 2, 0},   {MS(11), 0, 10, EV_OWNER, 100, 1, 0},
    {MS(20), 0, 10, EV_WRITE, 1, 1, 0},     {MS(22), 0, 10, EV_SEEN, 890, 1, 0},
    {MS(30), 0, 10, EV_RELEASE, 0, 1, 0},   {MS(31), 1, 11, EV_WRITE, 1, 2, 0},
    {MS(32), 1, 11, EV_RELEASE, 0, 2, 0},   {MS(40), 2, 12, EV_GRANT, 800, 3, 0},
    {MS(41), 2, 12, EV_OWNER, 102, 3, 0},   {MS(50), 2, 12, EV_SEEN, 900, 3, 0},
    {MS(55), -1, 0, EV_FAULT, 1, 0, 0},     {MS(60), 0, 10, EV_WANT, 0, 1, 0},
    {MS(500), 2, 12, EV_SUSPECT, 0, 3, 0},  {MS(940), 2, 12, EV_SEEN, 10, 3, 0},
    {MS(951), 2, 12, EV_TOLD, 0, 3, 0},     {MS(952), 2, 12, EV_LOST, 0, 3, 0},
    {MS(953), 2, 12, EV_ELOST, 0, 3, 0},    {MS(1100), 0, 10, EV_GRANT, 900, 4, 0},
    {MS(1110), 0, 10, EV_WRITE, 2, 4, 0},   {MS(1120), 2, 12, EV_WANT, 0, 3, 0},
    {MS(1130), 0, 10, EV_SEEN, 900, 4, 0},  {MS(1140), 0, 10, EV_KILL, 0, 0, 0},
    {MS(1200), 0, 20, EV_WANT, 0, 0, 0},    {MS(2300), 2, 12, EV_GRANT, 900, 5, 0},
    {MS(2310), 2, 12, EV_SEEN, 900, 5, 0},  {MS(2311), 2, 12, EV_STOP, 0, 0, 0},
    {MS(3500), 0, 20, EV_GRANT, 900, 6, 0}, {MS(3510), 0, 20, EV_WRITE, 3, 6, 0},
    {MS(4000), 2, 12, EV_GOON, 0, 0, 0},    {MS(4001), 2, 12, EV_REFUSED, 0, 5, 0},
    {MS(4002), 2, 12, EV_TOLD, 0, 5, 0},    {MS(4003), 2, 12, EV_LOST, 0, 5, 0},
    {MS(4004), 2, 12, EV_ELOST, 0, 5, 0},   {MS(4005), 2, 12, EV_WANT, 0, 5, 0},
    {MS(4010), -1, 0, EV_DELETE, 0, 6, 0},  {MS(4020), 2, 12, EV_GRANT, 900, 7, 0},
    {MS(4021), 2, 12, EV_OWNER, 102, 7, 0}, {MS(4030), 0, 20, EV_SEEN, 700, 6, 0},
    {MS(4040), 0, 20, EV_TOLD, 0, 6, 0},    {MS(4041), 0, 20, EV_LOST, 0, 6, 0},
    {MS(4042), 0, 20, EV_ELOST, 0, 6, 0},   {MS(4043), 0, 20, EV_WANT, 0, 6, 0},
    {MS(4050), -1, 0, EV_EVICT, 102, 0, 0}, {MS(4060), 0, 20, EV_GRANT, 900, 8, 0},
    {MS(4070), 2, 12, EV_SEEN, 700, 7, 0},  {MS(4080), 2, 12, EV_TOLD, 0, 7, 0},
    {MS(4081), 2, 12, EV_LOST, 0, 7, 0},    {MS(4090), 0, 20, EV_WRITE, 4, 8, 0},
    {MS(4091), 0, 20, EV_RELEASE, 0, 8, 0},
};

static void fresh(void)
{
    trial_begin(good, G_N_ELEMENTS(good));
}

TEST_CASE(accepts)
{
    fresh();
    judgement *j = trial_hear(0);
    CHECK(judgement_passes(j));
    CHECK_INT(j->grants, 8);
    CHECK_INT(j->losses, 4);
    CHECK_INT(j->kills, 1);
    CHECK_INT(j->refused, 1);
    CHECK_INT(j->third_party, 2);
    CHECK_INT(j->overlaps, 0);
    CHECK_INT(j->successions, 3);
    CHECK_INT(j->slow_successions, 0);
    CHECK_INT(j->longest_wait, MS(2300));
    CHECK_INT(j->worst_succession, MS(290));
    judgement_free(j);
    trial.service_ns = MS(290) - 1;
    j = trial_hear(0);
    trial.service_ns = MS(3500);
    CHECK_INT(j->slow_successions, 1);
    judgement_free(j);
}

/* Granted, stopped, and over when it was first looked at: nobody believed in it. */
TEST_CASE(accepts_a_grant_seen_too_late)
{
    fresh();
    trial_insert((event){S(5), 2, 12, EV_WANT, 0, 7, 0});
    trial_insert((event){S(6), 0, 20, EV_WANT, 0, 8, 0});
    trial_insert((event){S(7), 0, 20, EV_GRANT, 900, 10, 0});
    trial_insert((event){S(7) + 1, 2, 12, EV_GRANT, 0, 9, 0});
    trial_insert((event){S(7) + 2, 2, 12, EV_TOLD, 0, 9, 0});
    trial_insert((event){S(7) + 3, 2, 12, EV_LOST, 0, 9, 0});
    trial_insert((event){S(7) + 4, 0, 20, EV_RELEASE, 0, 10, 0});
    trial_expect(-1);
}

/* The promise is that nobody else gets it. */
TEST_CASE(accepts_an_owner_again)
{
    fresh();
    trial_drop(EV_RELEASE, 20, 8);
    trial_insert((event){MS(4091), 0, 20, EV_TOLD, 0, 8, 0});
    trial_insert((event){MS(4092), 0, 20, EV_LOST, 0, 8, 0});
    trial_insert((event){MS(4093), 0, 20, EV_WANT, 0, 8, 0});
    trial_insert((event){MS(4094), 0, 20, EV_GRANT, 900, 9, 0});
    trial_insert((event){MS(4095), 0, 20, EV_RELEASE, 0, 9, 0});
    trial_expect(-1);
}

TEST_CASE(rejects_overlap)
{
    fresh();
    trial_pick(EV_SEEN, 12, 5)->ns = MS(3501); /* of a holder that goes on believing */
    trial_pick(EV_SEEN, 12, 5)->value = 0;
    trial_expect(-1);
    fresh();
    trial_insert((event){MS(3501), 2, 12, EV_SEEN, 1, 5, 0});
    trial_expect(1);
    judgement *j = trial_hear(0);
    CHECK_INT(j->overlaps, 1);
    judgement_free(j);
    fresh();
    trial_insert(
        (event){MS(3999), 2, 12, EV_SEEN, 1, 5, 0}); /* the stopped holder: first thing on waking */
    trial_expect(1);
    fresh();
    trial_pick(EV_RELEASE, 10, 1)->ns = MS(45);
    trial_insert((event){MS(44), 0, 10, EV_SEEN, 800, 1, 0});
    trial_expect(1);
}

/* The one in between does not hide it. */
TEST_CASE(rejects_overlap_with_the_next_but_one)
{
    fresh();
    trial_insert((event){MS(3600), 0, 20, EV_RELEASE, 0, 6, 0});
    trial_drop(EV_DELETE, 0, 6);
    trial_drop(EV_TOLD, 20, 6);
    trial_drop(EV_LOST, 20, 6);
    trial_drop(EV_ELOST, 20, 6);
    trial_pick(EV_SEEN, 20, 6)->value = 0;
    trial_expect(-1);
    trial_insert((event){MS(3700), 4, 14, EV_WANT, 0, 0, 0});
    trial_insert((event){MS(3800), 4, 14, EV_GRANT, 100, 6 + 1, 0});
    trial_insert((event){MS(3900), 4, 14, EV_RELEASE, 0, 7, 0});
    trial_pick(EV_GRANT, 12, 7)->token = 70;
    trial_pick(EV_OWNER, 12, 7)->token = 70;
    trial_pick(EV_SEEN, 12, 7)->token = 70;
    trial_pick(EV_TOLD, 12, 7)->token = 70;
    trial_pick(EV_LOST, 12, 7)->token = 70;
    trial_pick(EV_GRANT, 20, 8)->token = 80;
    trial_pick(EV_WRITE, 20, 8)->token = 80;
    trial_pick(EV_RELEASE, 20, 8)->token = 80;
    trial_expect(-1);
    trial_insert((event){MS(3950), 2, 12, EV_SEEN, 1, 5, 0});
    trial_expect(1);
}

TEST_CASE(rejects_broken_promise)
{
    fresh();
    trial_pick(EV_SEEN, 12, 3)->value =
        1051; /* at 50: up to 1101, and the next is granted at 1100 */
    trial_expect(2);
    fresh();
    trial_pick(EV_SEEN, 10, 4)->value = 1171; /* killed: it cannot see, but the promise stands */
    trial_expect(2);
    fresh();
    trial_pick(EV_SEEN, 10, 1)->value = 60000; /* it released: the promise is void */
    trial_expect(-1);
}

/* The session of a killed holder was ended by force: before the next grant, or behind it. */
TEST_CASE(rejects_but_for_a_third_party)
{
    static const int64_t evicted[] = {MS(1150), MS(2301)};

    for (int i = 0; i < 2; i++) {
        fresh();
        trial_pick(EV_SEEN, 10, 4)->value = 1171;
        trial_insert((event){MS(1101), 0, 10, EV_OWNER, 110, 4, 0});
        trial_insert((event){evicted[i], -1, 0, EV_EVICT, 110, 0, 0});
        trial_expect(i == 0 ? -1 : 2);
    }
}

TEST_CASE(rejects_falling_tokens)
{
    fresh();
    trial_pick(EV_GRANT, 12, 3)->token = 1;
    trial_pick(EV_OWNER, 12, 3)->token = 1;
    trial_pick(EV_SUSPECT, 12, 3)->token = 1;
    trial_pick(EV_SEEN, 12, 3)->token = 1;
    trial_pick(EV_SEEN, 12, 3)->token = 1;
    trial_pick(EV_TOLD, 12, 3)->token = 1;
    trial_pick(EV_LOST, 12, 3)->token = 1;
    trial_pick(EV_ELOST, 12, 3)->token = 1;
    trial_expect(3);
    fresh();
    trial_pick(EV_GRANT, 11, 2)->token = 1000; /* another path's tokens are its own affair */
    trial_pick(EV_WRITE, 11, 2)->token = 1000;
    trial_pick(EV_RELEASE, 11, 2)->token = 1000;
    trial_expect(-1);
}

/* w2 stands in line before its first grant; whom the end of its session moved is not overtaken. */
TEST_CASE(rejects_a_lost_place)
{
    const event place = {MS(3), 2, 12, EV_LINE, 102, 3, 0};

    fresh();
    trial_insert(place);
    judgement *j = trial_hear(0);
    CHECK(judgement_passes(j));
    CHECK_INT(j->kept, 1);
    judgement_free(j);
    trial_pick(EV_LINE, 12, 3)->token = 2;
    trial_expect(3);
    trial_pick(EV_LINE, 12, 2)->value = 101;
    trial_expect(-1);
}

TEST_CASE(rejects_a_careless_register)
{
    fresh();
    trial_pick(EV_REFUSED, 12, 5)->value = 4; /* after token 6 */
    trial_pick(EV_REFUSED, 12, 5)->kind = EV_WRITE;
    trial_pick(EV_WRITE, 20, 8)->value = 5;
    trial_expect(4);
    fresh();
    trial_pick(EV_WRITE, 20, 8)->value = 3; /* the write before was lost */
    trial_expect(4);
}

TEST_CASE(rejects_starvation)
{
    fresh();
    trial_insert((event){S(5), 2, 12, EV_WANT, 0, 7, 0});
    trial_expect(5);
    trial_insert((event){S(6), 2, 12, EV_KILL, 0, 0, 0});
    trial_expect(-1);
    g_array_set_size(trial.events, 0);
    trial_expect(5);
}

TEST_CASE(rejects_left_nodes)
{
    fresh();
    trial_expect_left(6, 1);
}

TEST_CASE(rejects_a_silent_loss)
{
    fresh();
    trial_drop(EV_TOLD, 12, 3);
    trial_expect(7);
    fresh();
    trial_drop(EV_TOLD, 20, 6); /* a third party took it: told all the same */
    trial_expect(7);
    fresh();
    trial_drop(EV_LOST, 12, 5); /* ended by a release that answered ZKL_ELOST */
    trial_insert((event){MS(4003), 2, 12, EV_RELEASE, 0, 5, 0});
    trial_expect(-1);
    trial_drop(EV_TOLD, 12, 5);
    trial_expect(7);
    trial_insert((event){S(8), 2, 12, EV_KILL, 0, 0, 0}); /* before it could be told */
    trial_expect(-1);
    trial_pick(EV_KILL, 12, 0)->ns = S(70);
    trial_expect(7);
}

TEST_CASE(rejects_two_words)
{
    fresh();
    trial_insert((event){MS(990), 2, 12, EV_TOLD, 0, 3, 0});
    trial_expect(7);
    fresh();
    trial_insert((event){MS(990), 2, 12, EV_HELD, 0, 3, 0});
    trial_expect(7);
    fresh();
    trial_insert((event){MS(35), 0, 10, EV_TOLD, 0, 1, 0}); /* after a release that was well */
    trial_expect(7);
}

/* Late by its own stopped time only. */
TEST_CASE(rejects_a_late_word)
{
    fresh();
    trial_pick(EV_TOLD, 12, 5)->ns = S(70);
    trial_pick(EV_GOON, 12, 0)->ns = S(69);
    trial_expect(-1);
    trial_pick(EV_GOON, 12, 0)->ns = S(4);
    trial_expect(7);
    judgement *j = trial_hear(0);
    CHECK_INT(j->latest_told, S(70) - S(4) + MS(0));
    judgement_free(j);
}

TEST_CASE(rejects_failed_calls)
{
    fresh();
    trial_insert((event){MS(100), 0, 10, EV_ERROR, -3, 0, 0});
    trial_expect(0);
    fresh();
    trial_insert((event){MS(100), 0, 10, EV_DEAD, 11, 0, 0});
    trial_expect(0);
    fresh();
    trial_drop(EV_RELEASE, 20, 8);
    trial_expect(0);
    fresh();
    trial.garbled = true;
    trial_expect(0);
    trial.garbled = false;
}

/* w1 has its grant for two turns, of which the second begins when the first is over. */
static void later_turn(void)
{
    fresh();
    trial_insert((event){MS(33), 1, 11, EV_WANT, 0, 2, 0});
    trial_insert((event){MS(34), 1, 11, EV_GRANT, 900, 2, 1});
    trial_insert((event){MS(35), 1, 11, EV_WRITE, 2, 2, 1});
    trial_insert((event){MS(36), 1, 11, EV_RELEASE, 0, 2, 1});
}

TEST_CASE(accepts_turns)
{
    later_turn();
    judgement *j = trial_hear(0);
    CHECK(judgement_passes(j));
    CHECK_INT(j->turns, 1);
    CHECK_INT(j->longest_unused, MS(10)); /* from w0's release to w2's first grant */
    CHECK(j->unused_share == 10.0 / 1500);
    CHECK_INT(j->slow_unused, 0);
    judgement_free(j);
    trial.idle_ns = MS(10) - 1;
    j = trial_hear(0);
    trial.idle_ns = MS(1500);
    CHECK(judgement_passes(j));
    CHECK_INT(j->slow_unused, 1);
    judgement_free(j);
    trial_insert((event){MS(37), 1, 11, EV_REFUSED, 0, 2, 0}); /* a write of the first comes late */
    trial_expect(-1);
    trial_insert((event){MS(38), 1, 11, EV_WANT, 0, 2, 1});
    trial_insert((event){MS(39), 1, 11, EV_GRANT, 0, 2, 2}); /* over when it was looked at */
    trial_insert((event){MS(40), 1, 11, EV_TOLD, 0, 2, 2});
    trial_insert((event){MS(41), 1, 11, EV_LOST, 0, 2, 2});
    j = trial_hear(0);
    CHECK(judgement_passes(j));
    CHECK_INT(j->turns, 1);
    judgement_free(j);
}

static event *pick_turn(event_kind kind, uint64_t turn)
{
    for (guint i = 0; i < trial.events->len; i++) {
        event *e = &g_array_index(trial.events, event, i);

        if (e->kind == kind && e->pid == 11 && e->turn == turn)
            return e;
    }
    runner_fail_fatal(__FILE__, __LINE__, "no such event");
}

TEST_CASE(rejects_turns_that_do_not_rise)
{
    later_turn();
    pick_turn(EV_GRANT, 1)->turn = 0;
    trial_expect(3);
}

TEST_CASE(rejects_a_turn_of_anothers_token)
{
    later_turn();
    for (guint i = 0; i < trial.events->len; i++)
        if (g_array_index(trial.events, event, i).ns >= MS(33) &&
            g_array_index(trial.events, event, i).ns <= MS(36) &&
            g_array_index(trial.events, event, i).pid == 11) {
            g_array_index(trial.events, event, i).pid = 15;
            g_array_index(trial.events, event, i).worker = 5;
        }
    trial_expect(3);
}

TEST_CASE(rejects_a_write_of_an_earlier_turn)
{
    later_turn();
    trial_insert((event){MS(37), 1, 11, EV_WRITE, 3, 2, 0});
    trial_expect(4);
}

/* pid 11 had one grant, and pid 20 two, of which it lost one. */
static void end_with_counts(void)
{
    static const int64_t grants[] = {1, 2}, deleted[] = {0, 1};

    fresh();
    trial_pick(EV_TOLD, 20, 6)->value = ZKL_LOSS_DELETED;
    for (int i = 0; i < 2; i++) {
        const int worker = 1 - i, pid = i == 0 ? 11 : 20;
        for (int of = 0; of < COUNTED; of++) {
            const bool is_grants = of == COUNTED_GRANTS || of >= COUNTED_WAITS;
            const int64_t count = is_grants ? grants[i] : of == ZKL_LOSS_DELETED ? deleted[i] : 0;
            trial_insert((event){S(8), worker, pid, EV_COUNTED, count, (uint64_t)of, 0});
        }
    }
}

TEST_CASE(accepts_counts)
{
    end_with_counts();
    trial_expect(-1);
    judgement *j = trial_hear(0);
    CHECK_INT(j->sessions, 2);
    CHECK_INT(j->counted[COUNTED_GRANTS], 3);
    CHECK_INT(j->recorded[COUNTED_GRANTS], 3);
    CHECK_INT(j->counted[ZKL_LOSS_DELETED], 1);
    CHECK_INT(j->recorded[ZKL_LOSS_DELETED], 1);
    judgement_free(j);
}

TEST_CASE(rejects_wrong_counts)
{
    for (int of = 0; of < COUNTED; of++) {
        for (int by = -1; by <= 1; by += 2) {
            end_with_counts();
            trial_pick(EV_COUNTED, 20, (uint64_t)of)->value += by;
            trial_expect(9);
        }
    }
    end_with_counts();
    trial_drop(EV_COUNTED, 20, COUNTED_HOLDS);
    trial_expect(9);
    end_with_counts(); /* another kind than the user was told */
    trial_pick(EV_TOLD, 20, 6)->value = ZKL_LOSS_EXPIRED;
    trial_expect(9);
    end_with_counts(); /* the sums are right */
    trial_pick(EV_COUNTED, 20, COUNTED_GRANTS)->value--;
    trial_pick(EV_COUNTED, 11, COUNTED_GRANTS)->value++;
    trial_expect(9);
}

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
