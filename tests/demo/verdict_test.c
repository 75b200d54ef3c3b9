/* The verdict must be able to fail: one good history passes, each spoiled one does not. */
#include "verdict.h"

#include "tests/support/runner.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(verdict);

#define MS(n) ((int64_t)(n)*1000000)

/* w1 holds while three try to unlock its lock, w2 is killed while it holds, w3 is cut off. */
static const event good[] = {
    {MS(1), 0, 10, EV_WANT, 0, 0, 0},       {MS(2), 1, 11, EV_WANT, 0, 0, 0},
    {MS(3), 2, 12, EV_WANT, 0, 0, 0},       {MS(10), 0, 10, EV_GRANT, 0, 1, 0},
    {MS(12), 0, 10, EV_HOLD, 0, 1, 0},      {MS(20), 0, 10, EV_DENIED, -6, 0, 0},
    {MS(21), 1, 11, EV_DENIED, -6, 0, 0},   {MS(22), 2, 12, EV_DENIED, -6, 0, 0},
    {MS(25), 0, 10, EV_INTACT, 0, 1, 0},    {MS(30), 0, 10, EV_WRITE, 1, 1, 0},
    {MS(31), 0, 10, EV_RELEASE, 0, 1, 0},   {MS(32), 1, 11, EV_GRANT, 0, 2, 0},
    {MS(33), 0, 10, EV_WANT, 0, 1, 0},      {MS(34), 1, 11, EV_HOLD, 0, 2, 0},
    {MS(40), 1, 11, EV_KILL, 0, 0, 0},      {MS(41), 1, 11, EV_DEAD, 9, 0, 0},
    {MS(50), 1, 21, EV_WANT, 0, 0, 0},      {MS(4000), 2, 12, EV_GRANT, 0, 3, 0},
    {MS(4010), 2, 12, EV_WRITE, 2, 3, 0},   {MS(4011), 2, 12, EV_RELEASE, 0, 3, 0},
    {MS(4012), 2, 12, EV_WANT, 0, 3, 0},    {MS(4020), 0, 10, EV_GRANT, 0, 4, 0},
    {MS(4025), 0, 10, EV_WRITE, 3, 4, 0},   {MS(4030), 0, 10, EV_RELEASE, 0, 4, 0},
    {MS(4032), 1, 21, EV_GRANT, 0, 5, 0},   {MS(4040), 1, 21, EV_WRITE, 4, 5, 0},
    {MS(4041), 1, 21, EV_RELEASE, 0, 5, 0}, {MS(4042), 1, 21, EV_WANT, 0, 5, 0},
    {MS(4050), 2, 12, EV_GRANT, 0, 6, 0},   {MS(4055), 2, 12, EV_HOLD, 0, 6, 0},
    {MS(4060), 2, 12, EV_CUT, 0, 0, 0},     {MS(6500), 2, 12, EV_SUSPECT, 0, 6, 0},
    {MS(7500), 2, 12, EV_TOLD, 0, 6, 0},    {MS(7501), 2, 12, EV_LOST, 0, 6, 0},
    {MS(7502), 2, 12, EV_ELOST, 0, 6, 0},   {MS(7503), 2, 12, EV_WANT, 0, 6, 0},
    {MS(8100), 1, 21, EV_GRANT, 0, 7, 0},   {MS(8110), 1, 21, EV_WRITE, 5, 7, 0},
    {MS(8111), 1, 21, EV_RELEASE, 0, 7, 0}, {MS(8500), 2, 12, EV_THAW, 0, 0, 0},
    {MS(8600), 2, 12, EV_GRANT, 0, 8, 0},   {MS(8610), 2, 12, EV_WRITE, 6, 8, 0},
    {MS(8611), 2, 12, EV_RELEASE, 0, 8, 0},
};

static history *h;

static int fresh(void)
{
    h = g_new0(history, 1);
    h->offsets = g_hash_table_new(g_str_hash, g_str_equal);
    h->events = g_array_new(FALSE, TRUE, sizeof(event));
    g_array_append_vals(h->events, good, G_N_ELEMENTS(good));
    return 0;
}

static int index_of(event_kind kind, int worker, int nth)
{
    for (guint i = 0; i < h->events->len; i++) {
        const event *e = &g_array_index(h->events, event, i);

        if (e->kind == kind && e->worker == worker && nth-- == 0)
            return (int)i;
    }
    runner_fail_fatal(__FILE__, __LINE__, "no such event");
}

/* The nth (from 0) event of this kind and worker. */
static event *pick(event_kind kind, int worker, int nth)
{
    return &g_array_index(h->events, event, index_of(kind, worker, nth));
}

static void drop(event_kind kind, int worker, int nth)
{
    g_array_remove_index(h->events, (guint)index_of(kind, worker, nth));
}

static void insert(int64_t ns, int worker, event_kind kind, int64_t value, uint64_t token)
{
    event e = {ns, worker, 99, kind, value, token, 0};

    g_array_append_val(h->events, e);
}

static verdict *judge(int64_t number)
{
    verdict_input in = {h->events, number, 3, 2};

    history_sort(h);
    return verdict_new(&in);
}

static bool gives(const verdict *v, const char *part)
{
    for (guint i = 0; i < v->reasons->len; i++)
        if (strstr(g_ptr_array_index(v->reasons, i), part))
            return true;
    return false;
}

/* Judges the spoiled history: it must fail for this reason. */
static void must_fail(int64_t number, const char *reason)
{
    verdict *v = judge(number);

    CHECK(!v->pass);
    if (!gives(v, reason))
        runner_fail(__FILE__, __LINE__, "no reason says \"%s\"", reason);
    verdict_free(v);
    history_free(h);
    h = NULL;
}

TEST_CASE(passes_good)
{
    verdict *v;

    fresh();
    v = judge(6);
    CHECK(v->pass);
    CHECK_INT(v->reasons->len, 0);
    CHECK_INT(v->acknowledged, 6);
    CHECK_INT(v->lost, 0);
    CHECK_INT(v->overlaps, 0);
    CHECK_INT(v->grants, 8);
    CHECK_INT(v->foreign.refused, 3);
    CHECK_INT(v->foreign.by_thread, 1);
    CHECK_INT(v->foreign.by_process, 2);
    CHECK_INT(v->kill.next, MS(4000));
    CHECK_INT(v->cut.lost, MS(7501));
    CHECK_INT(v->cut.next, MS(8100));
    CHECK_INT(v->cut.back, MS(8600));
    CHECK_INT(v->stats[1].longest_wait, MS(8100 - 4042));
    verdict_free(v);
    history_free(h);
}

TEST_CASE(overlap)
{
    fresh();
    pick(EV_GRANT, 0, 1)->ns = MS(4005);
    must_fail(6, "1 pairs of grants overlap");
}

TEST_CASE(overlap_of_the_lost)
{
    fresh();
    pick(EV_TOLD, 2, 0)->ns = MS(8104);
    pick(EV_LOST, 2, 0)->ns = MS(8105);
    pick(EV_ELOST, 2, 0)->ns = pick(EV_WANT, 2, 2)->ns = MS(8106);
    must_fail(6, "told LOST 5 ms after another's grant");
    fresh();
    pick(EV_LOST, 2, 0)->ns = MS(8105);
    must_fail(6, "1 pairs of grants overlap");
}

TEST_CASE(overlap_of_the_killed)
{
    fresh();
    pick(EV_DEAD, 1, 0)->ns = MS(4005);
    must_fail(6, "1 pairs of grants overlap");
}

TEST_CASE(lost_in_file)
{
    fresh();
    must_fail(5, "1 acknowledged increments are lost");
    fresh();
    must_fail(7, "more than");
    fresh();
    must_fail(-1, "lost"); /* an unreadable file */
}

TEST_CASE(lost_in_history)
{
    fresh();
    pick(EV_WRITE, 0, 1)->value = 2; /* overwrote what w3 had written */
    must_fail(6, "1 acknowledged increments are lost");
}

TEST_CASE(tokens)
{
    fresh();
    pick(EV_GRANT, 1, 1)->token = 4;
    must_fail(6, "1 grants have a token");
    fresh();
    pick(EV_GRANT, 1, 1)->token = 3;
    must_fail(6, "1 grants have a token");
}

TEST_CASE(no_kill)
{
    fresh();
    drop(EV_KILL, 1, 0);
    must_fail(6, "no worker was killed");
    fresh();
    pick(EV_KILL, 1, 0)->ns = MS(5);
    must_fail(6, "but not while it held");
    fresh();
    insert(MS(36), 1, EV_RELEASE, 0, 2);
    must_fail(6, "but not while it held");
}

TEST_CASE(no_cut)
{
    fresh();
    drop(EV_CUT, 2, 0);
    must_fail(6, "no worker was cut off");
    fresh();
    pick(EV_CUT, 2, 0)->ns = MS(4045);
    must_fail(6, "cut off, but not while it held");
    fresh();
    drop(EV_THAW, 2, 0);
    must_fail(6, "did not take part again");
}

TEST_CASE(never_told)
{
    fresh();
    pick(EV_LOST, 2, 0)->kind = EV_RELEASE;
    must_fail(6, "never told that it had lost");
    fresh();
    drop(EV_TOLD, 2, 0);
    must_fail(6, "no callback came");
}

TEST_CASE(wrote_after)
{
    fresh();
    insert(MS(7600), 2, EV_WRITE, 5, 6);
    must_fail(6, "written without a grant");
    fresh();
    insert(MS(7000), 2, EV_WRITE, 5, 6);
    must_fail(6, "wrote after it was cut off");
}

TEST_CASE(foreign)
{
    fresh();
    pick(EV_DENIED, 1, 0)->kind = EV_ALLOWED;
    must_fail(6, "1 of 3 foreign unlocks were not refused");
    fresh();
    drop(EV_DENIED, 0, 0);
    must_fail(6, "no second thread");
    fresh();
    drop(EV_DENIED, 2, 0);
    drop(EV_DENIED, 1, 0);
    must_fail(6, "no other process");
    fresh();
    pick(EV_INTACT, 0, 0)->kind = EV_BROKEN;
    must_fail(6, "untouched");
    fresh();
    for (int w = 0; w < 3; w++)
        drop(EV_DENIED, w, 0);
    must_fail(6, "nobody tried");
}

TEST_CASE(unfinished)
{
    fresh();
    drop(EV_WRITE, 2, 1);
    must_fail(5, "5 of 6 increments were made");
    fresh();
    drop(EV_RELEASE, 2, 1);
    must_fail(6, "no recorded end");
    fresh();
    insert(MS(9000), 0, EV_ERROR, -3, 0);
    must_fail(6, "calls of the library failed");
}

TEST_CASE(ended_badly)
{
    fresh();
    insert(MS(9000), 0, EV_DEAD, 256, 0);
    must_fail(6, "w1 ended badly");
}

TEST_CASE(nonsense)
{
    fresh();
    insert(MS(9000), 7, EV_GRANT, 0, 9);
    must_fail(6, "does not exist");
    fresh();
    g_array_set_size(h->events, 0);
    must_fail(0, "nothing was ever granted");
}

/* What a worker records is what the demo reads, half a line is left for later, junk is noticed. */
TEST_CASE(recorded)
{
    char *dir = g_dir_make_tmp("zkl-history-XXXXXX", NULL), *file;
    history *r = history_new(dir);
    int fd = history_open(dir, "w1");
    bool ok;

    REQUIRE(fd >= 0);
    history_add(fd, 3, 44, EV_WRITE, -5, UINT64_MAX);
    REQUIRE(write(fd, "12 0 1 gra", 10) == 10);
    history_poll(r, &ok);
    CHECK(ok);
    REQUIRE(r->events->len == 1);
    CHECK_INT(g_array_index(r->events, event, 0).worker, 3);
    CHECK_INT(g_array_index(r->events, event, 0).pid, 44);
    CHECK_INT(g_array_index(r->events, event, 0).kind, EV_WRITE);
    CHECK_INT(g_array_index(r->events, event, 0).value, -5);
    CHECK(g_array_index(r->events, event, 0).token == UINT64_MAX);
    REQUIRE(write(fd, "nt 0 17 2\n", 10) == 10);
    CHECK_INT(history_poll(r, &ok), 1);
    CHECK(ok && r->events->len == 2);
    CHECK_INT(g_array_index(r->events, event, 0).turn, 0);
    CHECK_INT(g_array_index(r->events, event, 1).turn, 2);
    REQUIRE(write(fd, "12 0 1 dance 0 17 2\n", 20) == 20);
    history_poll(r, &ok);
    CHECK(!ok && r->events->len == 2);
    close(fd);
    file = g_build_filename(dir, "w1.history", NULL);
    g_remove(file);
    g_rmdir(dir);
    g_free(file);
    g_free(dir);
    history_free(r);
}

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
