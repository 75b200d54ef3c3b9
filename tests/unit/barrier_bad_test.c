/* Calls of barriers, single and double, that are not allowed. */
#include "by_hand.h"
#include "runner.h"

TEST_SUITE(barrier_bad);

static zkl_session *s;
static zkl_barrier *b;
static zkl_double_barrier *double_barrier;

static void never(const zkl_error *err, void *data)
{
    (void)err;
    (void)data;
    runner_fail(__FILE__, __LINE__, "a call has begun");
}

static void begin(void)
{
    s = hand_session();
    REQUIRE(zkl_barrier_new(&b, s, "/b/c", NULL) == 0);
}

static void end(void)
{
    zkl_barrier_free(b);
    hand_close(s);
}

TEST_CASE(bad_arguments)
{
    zkl_barrier_options o = ZKL_BARRIER_OPTIONS_INIT;
    zkl_double_barrier *d = NULL;
    begin();
    zkl_barrier *other = NULL;
    CHECK_INT(zkl_barrier_new(NULL, s, "/b", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_new(&other, NULL, "/b", NULL), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_new(&other, s, "b", NULL), ZKL_EINVAL);
    o.name = "\xff";
    CHECK_INT(zkl_barrier_new(&other, s, "/b", &o), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&d, s, "/b", 1, &o), ZKL_EINVAL);
    o.name = NULL;
    o.parents = (zkl_parents)2;
    CHECK_INT(zkl_barrier_new(&other, s, "/b", &o), ZKL_EINVAL);
    o.size = 0;
    CHECK_INT(zkl_barrier_new(&other, s, "/b", &o), ZKL_EINVAL);
    CHECK(other == NULL);
    CHECK_INT(zkl_barrier_set(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_remove(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_wait(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_wait_async(NULL, 0, never, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_barrier_wait_async(b, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(NULL, s, "/b", 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&d, NULL, "/b", 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&d, s, "b", 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&d, s, "/b", 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_new(&d, s, "/b", 1001, NULL), ZKL_EINVAL);
    CHECK(d == NULL);
    for (int members = 1; members <= 1000; members += 999) {
        CHECK_INT(zkl_double_barrier_new(&d, s, "/b", members, NULL), 0);
        CHECK_INT(zkl_double_barrier_enter_async(d, 0, NULL, NULL), ZKL_EINVAL);
        CHECK_INT(zkl_double_barrier_leave_async(d, 0, NULL, NULL), ZKL_EINVAL);
        zkl_double_barrier_free(d);
    }
    CHECK_INT(zkl_double_barrier_enter(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_leave(NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_enter_async(NULL, 0, never, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_double_barrier_leave_async(NULL, 0, never, NULL), ZKL_EINVAL);
    zkl_double_barrier_free(NULL);
    end();
}

static void on_change(zkl_session *session, zkl_session_event event, int64_t id, void *data)
{
    int *codes = data;

    (void)session;
    (void)id;
    if (event != ZKL_SESSION_CONNECTED)
        return;
    codes[0] = zkl_barrier_wait(b, 0);
    codes[1] = zkl_barrier_set(b, 0);
    codes[2] = zkl_barrier_remove(b, 0);
    codes[3] = zkl_double_barrier_enter(double_barrier, 0);
    codes[4] = zkl_double_barrier_leave(double_barrier, 0);
}

TEST_CASE(inside_a_callback)
{
    int codes[5] = {0};

    begin();
    REQUIRE(zkl_double_barrier_new(&double_barrier, s, "/d", 2, NULL) == 0);
    REQUIRE(zkl_session_on_change(s, on_change, codes) == 0);
    zkl_session_dispatch(s);
    for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
        CHECK_INT(codes[i], ZKL_EDEADLK);
    zkl_double_barrier_free(double_barrier);
    end();
}
