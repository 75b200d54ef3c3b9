/* The judge must be able to reject: one good history with everything in it is accepted, and each
 * way to spoil it is rejected for the right reason. */
#include "chaos_judge.h"

#include "tests/support/runner.h"

#include <string.h>

TEST_SUITE(chaos judge);

/* 11 writes 1; 12 reads, is stopped, and 13 writes 2, so that 12 is refused and comes again; 14 is
 * killed before it has written and 15, who writes 4 instead, when it has; 16 is killed behind that
 * before it has written 5; 17 has no time left, and 18 writes 5, as the last. */
static const act good[] = {
    {100, ACT_BEGIN, "zkl", 11, 1, 0, 0},     {110, ACT_END, "zkl", 11, 1, 1, 0},
    {120, ACT_BEGIN, "curator", 12, 2, 1, 0}, {130, ACT_BEGIN, "kazoo", 13, 3, 1, 0},
    {140, ACT_END, "kazoo", 13, 3, 2, 0},     {150, ACT_BEGIN, "curator", 12, 4, 2, 0},
    {160, ACT_END, "curator", 12, 4, 3, 0},   {170, ACT_BEGIN, "kazoo", 14, 5, 3, 0},
    {180, ACT_BEGIN, "curator", 15, 6, 3, 0}, {190, ACT_BEGIN, "kazoo", 16, 7, 4, 0},
    {200, ACT_READ, "careful", 17, 8, 4, 0},  {210, ACT_GO, "careful", 17, 8, 4, 0},
    {220, ACT_SKIP, "careful", 17, 8, 4, 0},  {230, ACT_READ, "careful", 18, 9, 4, 0},
    {240, ACT_GO, "careful", 18, 9, 4, 0},    {250, ACT_END, "careful", 18, 9, 5, 0},
};

static GArray *acts, *killed;
static int64_t number;
static uint64_t token, turn;

static void fresh(void)
{
    const int pids[] = {14, 15, 16};

    if (acts) {
        g_array_free(acts, TRUE);
        g_array_free(killed, TRUE);
    }
    acts = g_array_new(FALSE, TRUE, sizeof(act));
    killed = g_array_new(FALSE, TRUE, sizeof(int));
    g_array_append_vals(acts, good, G_N_ELEMENTS(good));
    g_array_append_vals(killed, pids, G_N_ELEMENTS(pids));
    number = 5;
    token = 9;
    turn = 0;
}

static guint find(act_word word, int pid)
{
    for (guint i = 0; i < acts->len; i++)
        if (g_array_index(acts, act, i).word == word && g_array_index(acts, act, i).pid == pid)
            return i;
    runner_fail_fatal(__FILE__, __LINE__, "no such act");
}

static act *pick(act_word word, int pid)
{
    return &g_array_index(acts, act, find(word, pid));
}

/* Just before the first of the others. */
static void insert(act one, act_word word, int pid)
{
    g_array_insert_val(acts, find(word, pid), one);
}

static void expect(guint increments, guint kept, guint lost, guint stale, guint made_up)
{
    const struct chaos_input in = {acts, killed, number, token, turn};
    struct chaos_verdict v;

    chaos_judge(&in, &v);
    CHECK_INT(v.increments, increments);
    CHECK_INT(v.kept, kept);
    CHECK_INT(v.lost, lost);
    CHECK_INT(v.stale, stale);
    CHECK_INT(v.made_up, made_up);
    CHECK(chaos_passes(&v) == (lost + stale + made_up == 0));
}

TEST_CASE(accepts)
{
    fresh();
    expect(4, 1, 0, 0, 0);
}

TEST_CASE(accepts_nothing)
{
    fresh();
    g_array_set_size(acts, 0);
    number = 0;
    token = 0;
    expect(0, 0, 0, 0, 0);
}

/* Records of different processes come in any order. */
TEST_CASE(accepts_any_order)
{
    fresh();
    const act end = *pick(ACT_END, 11);
    g_array_remove_index(acts, find(ACT_END, 11));
    g_array_append_val(acts, end);
    expect(4, 1, 0, 0, 0);
    const act read = *pick(ACT_BEGIN, 15);
    g_array_remove_index(acts, find(ACT_BEGIN, 15));
    insert(read, ACT_BEGIN, 14);
    expect(4, 1, 0, 0, 0);
}

/* A killed one that had written last of all, and one that had not. */
TEST_CASE(accepts_a_last_word)
{
    fresh();
    g_array_append_vals(acts, &(act){260, ACT_GO, "careful", 14, 10, 5, 0}, 1);
    expect(4, 1, 0, 0, 0);
    number = 6;
    token = 10;
    expect(4, 2, 0, 0, 0);
}

/* Two read the same and both write one more: their tokens may well rise. */
TEST_CASE(rejects_a_lost_increment)
{
    fresh();
    insert((act){145, ACT_END, "curator", 12, 3, 2, 0}, ACT_BEGIN, 14);
    expect(5, 1, 1, 0, 0);
}

TEST_CASE(rejects_a_number_set_back)
{
    fresh();
    number = 3;
    expect(4, 0, 1, 0, 0);
}

/* A stale one sets the number back, and the others go on from there. */
TEST_CASE(rejects_a_stale_write)
{
    fresh();
    insert((act){145, ACT_END, "curator", 12, 2, 2, 0}, ACT_BEGIN, 14);
    expect(5, 1, 1, 1, 0);
}

/* Nothing is lost, but another with a higher token had been at it before. */
TEST_CASE(rejects_a_write_below_a_read)
{
    fresh();
    pick(ACT_END, 13)->token = 2;
    expect(4, 1, 0, 1, 0);
}

TEST_CASE(rejects_a_stale_read)
{
    fresh();
    pick(ACT_BEGIN, 16)->token = 3;
    expect(4, 1, 0, 1, 0);
}

TEST_CASE(rejects_a_stale_last_write)
{
    fresh();
    token = 8;
    expect(4, 1, 0, 1, 0);
}

TEST_CASE(rejects_what_nobody_wrote)
{
    fresh();
    number = 6;
    expect(4, 1, 0, 0, 1);
}

/* A living process records its writes: one that it meant and did not record is not there. */
TEST_CASE(rejects_an_unrecorded_write_of_the_living)
{
    fresh();
    g_array_remove_range(killed, 0, 2);
    expect(4, 0, 0, 0, 1);
}

/* Nor was it the killed one's, who went on to something else. */
TEST_CASE(rejects_an_intention_given_up)
{
    fresh();
    pick(ACT_BEGIN, 14)->pid = 15;
    expect(4, 1, 0, 0, 0);
    pick(ACT_BEGIN, 16)->pid = 15;
    expect(4, 0, 0, 0, 1);
}

/* What was only read was not meant. */
TEST_CASE(rejects_a_write_of_a_reader)
{
    fresh();
    pick(ACT_BEGIN, 15)->word = ACT_READ;
    expect(4, 1, 0, 0, 0); /* 14 may have written it */
    pick(ACT_BEGIN, 14)->word = ACT_READ;
    expect(4, 0, 0, 0, 1);
}

static guint count_refused(void)
{
    guint count = 0;

    for (guint i = 0; i < acts->len; i++)
        count += chaos_refused(acts, i);
    return count;
}

/* A begin without an end, of one that has gone on. */
TEST_CASE(counts_the_refused)
{
    fresh();
    CHECK(chaos_refused(acts, find(ACT_BEGIN, 12)));
    CHECK_INT(count_refused(), 1);
    insert((act){155, ACT_END, "kazoo", 13, 4, 4, 0}, ACT_END, 12);
    CHECK_INT(count_refused(), 1);
    g_array_remove_index(acts, find(ACT_END, 12));
    CHECK_INT(count_refused(), 1); /* its second begin is its last act */
    insert((act){195, ACT_BEGIN, "curator", 12, 9, 4, 0}, ACT_READ, 17);
    CHECK_INT(count_refused(), 2);
}

/* 11 goes on with later turns of its token, before 12 and 13 come. */
TEST_CASE(accepts_turns)
{
    fresh();
    pick(ACT_BEGIN, 11)->turn = pick(ACT_END, 11)->turn = 3;
    expect(4, 1, 0, 0, 0);
    pick(ACT_READ, 18)->turn = pick(ACT_GO, 18)->turn = pick(ACT_END, 18)->turn = 1;
    turn = 1;
    expect(4, 1, 0, 0, 0);
}

/* Turns count among writes with one token. */
TEST_CASE(rejects_a_stale_turn)
{
    fresh();
    act *end = pick(ACT_END, 18);
    end->turn = 2;
    turn = 2;
    g_array_append_vals(acts, &(act){260, ACT_BEGIN, "zkl", 19, 9, 5, 1}, 1);
    expect(4, 1, 0, 1, 0);
    g_array_index(acts, act, acts->len - 1).turn = 2;
    expect(4, 1, 0, 0, 0);
    turn = 1; /* and that of the last write */
    expect(4, 1, 0, 1, 0);
}

TEST_CASE(parses)
{
    static const char *const bad[] = {
        "",
        "1 begin zkl 11 5",
        "1 began zkl 11 5 0",
        "1 begin zkl 11 5 0 6",
        "1 begin zkl 11 5 -1",
        "1 begin zkl 11 x 0",
        "1 begin zkl 11 5. 0",
        "1 begin zkl 11 5.x 0",
        "1 begin zkl 11 5.1.2 0",
        "1 begin zkl 11 .1 0",
        "1 begin a-kind-of-16-letters 11 5 0",
    };
    act a;

    CHECK(act_parse(&a, "17 skip kazoo-curator 11 18446744073709551615 9"));
    CHECK_INT(a.ns, 17);
    CHECK_STR(act_word_name(a.word), "skip");
    CHECK_STR(a.kind, "kazoo-curator");
    CHECK_INT(a.pid, 11);
    CHECK(a.token == UINT64_MAX);
    CHECK(a.turn == 0);
    CHECK_INT(a.number, 9);
    CHECK(act_parse(&a, "17 end zkl-retain 11 5.18446744073709551615 9"));
    CHECK(a.token == 5 && a.turn == UINT64_MAX);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        CHECK(!act_parse(&a, bad[i]));
}

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
