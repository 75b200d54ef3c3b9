/* Barriers, and double barriers, whose members enter together and leave together, each in its own
 * session. */
#include "live.h"
#include "runner.h"

#include <stdatomic.h>

TEST_SUITE(barrier, .init = live_init);

struct member {
    zkl_session *session;
    zkl_double_barrier *barrier;
    atomic_int done; /* completions so far */
    int wanted;      /* as many as were asked for */
    int code;        /* of the last */
};

struct waiting {
    atomic_int done;
    int code;
};

static void on_done(const zkl_error *err, void *data)
{
    struct waiting *w = data;

    w->code = err ? err->code : 0;
    atomic_fetch_add(&w->done, 1);
}

static zkl_barrier *barrier_of(struct live *t)
{
    zkl_barrier *b;

    REQUIRE(zkl_barrier_new(&b, t->session, t->lock, NULL) == 0);
    return b;
}

static void start(struct waiting *w, zkl_barrier *b, int64_t timeout_ms)
{
    *w = (struct waiting){.code = 1};
    REQUIRE(zkl_barrier_wait_async(b, timeout_ms, on_done, w) == 0);
}

static int end(struct waiting *w)
{
    LIVE_UNTIL(atomic_load(&w->done) == 1);
    return w->code;
}

TEST_CASE(set_and_removed)
{
    struct live *t = live_begin();
    zkl_barrier *b = barrier_of(t);
    struct waiting w[2];
    struct Stat stat;

    CHECK_INT(zkl_barrier_wait(b, ZKL_FOREVER), 0); /* nobody has closed it */
    CHECK_INT(zkl_barrier_set(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_barrier_set(b, ZKL_FOREVER), 0);
    CHECK_INT(raw_exists(t->admin, t->lock, &stat), ZOK);
    CHECK_INT(stat.ephemeralOwner, 0);
    CHECK_INT(zkl_barrier_wait(b, 20), ZKL_ETIMEDOUT);
    CHECK_ERROR(ZKL_ETIMEDOUT, t->lock);
    for (int i = 0; i < 2; i++)
        start(&w[i], b, ZKL_FOREVER);
    LIVE_UNTIL(live_watches(t) == 1);
    CHECK_INT(raw_set(t->admin, t->lock, "still", 5), ZOK);
    LIVE_UNTIL(live_watches(t) == 1);
    CHECK_INT(atomic_load(&w[0].done), 0);
    CHECK_INT(zkl_barrier_remove(b, ZKL_FOREVER), 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(end(&w[i]), 0);
    CHECK_INT(zkl_barrier_remove(b, ZKL_FOREVER), 0);
    zkl_barrier_free(b);
    live_end(t);
}

/* It is waited for in the next session, behind what that one sees. */
TEST_CASE(session_replaced)
{
    struct live *t = live_begin();
    zkl_barrier *b = barrier_of(t);
    struct waiting w;
    int64_t id = zkl_session_id(t->session);

    REQUIRE(zkl_barrier_set(b, ZKL_FOREVER) == 0);
    start(&w, b, ZKL_FOREVER);
    LIVE_UNTIL(live_watches(t) == 1);
    REQUIRE(raw_expire(t->port, id));
    LIVE_UNTIL(zkl_session_id(t->session) != id && live_watches(t) == 1);
    CHECK_INT(atomic_load(&w.done), 0);
    CHECK_INT(zkl_barrier_remove(b, ZKL_FOREVER), 0);
    CHECK_INT(end(&w), 0);
    zkl_barrier_free(b);
    live_end(t);
}

/* ---- members of a double barrier, whose calls go on in the background ---- */

/* In a session of its own, with a timeout of 10 s. */
static void member_begin(struct member *m, struct live *t, int members)
{
    *m = (struct member){.session = live_open(t, t->connect, NULL)};
    REQUIRE(zkl_double_barrier_new(&m->barrier, m->session, t->lock, members, NULL) == 0);
}

static void member_end(struct member *m)
{
    zkl_double_barrier_free(m->barrier);
}

static void on_member_done(const zkl_error *err, void *data)
{
    struct member *m = data;

    m->code = err ? err->code : 0;
    atomic_fetch_add(&m->done, 1);
}

static void member_enter(struct member *m, int64_t timeout_ms)
{
    m->wanted++;
    REQUIRE(zkl_double_barrier_enter_async(m->barrier, timeout_ms, on_member_done, m) == 0);
}

static void member_leave(struct member *m, int64_t timeout_ms)
{
    m->wanted++;
    REQUIRE(zkl_double_barrier_leave_async(m->barrier, timeout_ms, on_member_done, m) == 0);
}

static bool member_is_done(struct member *m)
{
    return atomic_load(&m->done) == m->wanted;
}

/* Waits for the end of its call: the code. */
static int member_wait(struct member *m)
{
    LIVE_UNTIL(member_is_done(m));
    return m->code;
}

static int nodes_in(struct live *t)
{
    char **names = raw_children(t->admin, t->lock);
    int count = names ? (int)g_strv_length(names) : -1;

    g_strfreev(names);
    return count;
}

/* Waits until so many nodes, ready among them, are in the directory. */
static void directory_has(struct live *t, int nodes)
{
    LIVE_UNTIL(nodes_in(t) == nodes);
}

static char *ready_of(struct live *t)
{
    return g_strconcat(t->lock, "/ready", NULL);
}

static bool has_ready(struct live *t)
{
    char *path = ready_of(t);
    bool has = raw_exists(t->admin, path, NULL) == ZOK;

    g_free(path);
    return has;
}

/* ---- rounds ---- */

enum { MEMBERS = 3 };

static void begin_all(struct member *m, struct live *t, int count, int members)
{
    for (int i = 0; i < count; i++)
        member_begin(&m[i], t, members);
}

static void end_all(struct live *t, struct member *m, int count)
{
    for (int i = 0; i < count; i++)
        member_end(&m[i]);
    LIVE_UNTIL(live_contenders(t, t->lock) <= 0);
    live_end(t);
}

/* Round after round, none entering before all are there, none leaving before all leave. */
TEST_CASE(double_rounds)
{
    struct live *t = live_begin();
    struct member m[MEMBERS];

    begin_all(m, t, MEMBERS, MEMBERS);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < MEMBERS; i++) {
            member_enter(&m[i], ZKL_FOREVER);
            if (i == MEMBERS - 1)
                break;
            directory_has(t, i + 1);
            for (int k = 0; k <= i; k++)
                CHECK(!member_is_done(&m[k]));
        }
        for (int i = 0; i < MEMBERS; i++)
            CHECK_INT(member_wait(&m[i]), 0);
        CHECK(has_ready(t));
        for (int i = 0; i < MEMBERS - 1; i++)
            member_leave(&m[i], ZKL_FOREVER);
        CHECK(!member_is_done(&m[0]) && !member_is_done(&m[1]));
        member_leave(&m[MEMBERS - 1], ZKL_FOREVER);
        for (int i = 0; i < MEMBERS; i++)
            CHECK_INT(member_wait(&m[i]), 0);
        directory_has(t, 0);
    }
    end_all(t, m, MEMBERS);
}

/* A member whose session ends: one that waits is told, and so is one that is inside. */
TEST_CASE(double_session_lost)
{
    struct live *t = live_begin();
    struct member m[2];

    begin_all(m, t, 2, 2);
    member_enter(&m[0], ZKL_FOREVER);
    directory_has(t, 1);
    REQUIRE(raw_expire(t->port, zkl_session_id(m[0].session)));
    CHECK_INT(member_wait(&m[0]), ZKL_ELOST);
    for (int i = 0; i < 2; i++)
        member_enter(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    int64_t id = zkl_session_id(m[0].session);
    REQUIRE(raw_expire(t->port, id));
    LIVE_UNTIL(zkl_session_id(m[0].session) != id && zkl_session_id(m[0].session) != 0);
    CHECK_INT(zkl_double_barrier_leave(m[0].barrier, ZKL_FOREVER), ZKL_ELOST);
    CHECK_INT(zkl_double_barrier_leave(m[1].barrier, ZKL_FOREVER), 0);
    directory_has(t, 0);
    end_all(t, m, 2);
}

/* If more members come than are asked for, the first ones enter, and the others when those have
 * left. */
TEST_CASE(double_too_many)
{
    struct live *t = live_begin();
    struct member m[4];
    int inside = 0;

    for (int i = 0; i < 4; i++)
        member_begin(&m[i], t, 2);
    for (int i = 0; i < 4; i++)
        member_enter(&m[i], ZKL_FOREVER);
    LIVE_UNTIL(member_is_done(&m[0]) + member_is_done(&m[1]) + member_is_done(&m[2]) +
                   member_is_done(&m[3]) ==
               2);
    directory_has(t, 5);
    bool first[4];
    for (int i = 0; i < 4; i++)
        inside += first[i] = member_is_done(&m[i]);
    CHECK_INT(inside, 2);
    for (int i = 0; i < 4; i++) {
        if (first[i])
            member_leave(&m[i], ZKL_FOREVER);
    }
    for (int i = 0; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    for (int i = 0; i < 4; i++) {
        if (!first[i])
            member_leave(&m[i], ZKL_FOREVER);
    }
    for (int i = 0; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    directory_has(t, 0);
    for (int i = 0; i < 4; i++)
        member_end(&m[i]);
    live_end(t);
}

/* The last member inside dies, and its ready stays: those who wait are not held up. */
TEST_CASE(double_member_dies_inside)
{
    struct live *t = live_begin();
    struct member m[4];

    for (int i = 0; i < 4; i++)
        member_begin(&m[i], t, 2);
    for (int i = 0; i < 2; i++)
        member_enter(&m[i], ZKL_FOREVER);
    for (int i = 0; i < 2; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    for (int i = 2; i < 4; i++)
        member_enter(&m[i], ZKL_FOREVER);
    directory_has(t, 5);
    CHECK(!member_is_done(&m[2]) && !member_is_done(&m[3]));
    for (int i = 0; i < 2; i++)
        live_close(t, m[i].session);
    for (int i = 2; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    directory_has(t, 3);
    for (int i = 2; i < 4; i++)
        member_leave(&m[i], ZKL_FOREVER);
    for (int i = 2; i < 4; i++)
        CHECK_INT(member_wait(&m[i]), 0);
    directory_has(t, 0);
    for (int i = 0; i < 4; i++)
        member_end(&m[i]);
    live_end(t);
}
