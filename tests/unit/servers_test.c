/* A list of servers that changes: when the next session is opened, and what becomes of what is
 * under way. */
#include "by_hand.h"
#include "suites.h"

#include <string.h>

static void fire_timers(zkl_session *s)
{
    hand_pass(s, 0);
}

/* With a connection nothing happens; without one, and nothing held, a new session at once. */
static void when_the_connection_is_lost(void)
{
    zkl_session *s = hand_session();
    struct acquisition a;

    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    hand_enter(&a, s, ZKL_FOREVER);
    hand_pass_proved(s, 3000);
    CHECK_STR(fake_hosts(), "fake:1");
    CHECK(fake_is_asked(STORE_CREATE, "/root/l")); /* under way */
    fake_event(STORE_EV_DOWN);
    CHECK_STR(fake_hosts(), "fake:1");
    fire_timers(s);
    CHECK_STR(fake_hosts(), "other:2");
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, 8, FAKE_TIMEOUT_MS);
    g_free(a.node);
    a.node = fake_created_name("/root/l", 7); /* entered anew */
    REQUIRE(a.node != NULL);
    fake_event(STORE_EV_DOWN); /* the change is over */
    hand_pass(s, 3000);
    fake_event_of(STORE_EV_UP, 8, FAKE_TIMEOUT_MS);
    CHECK_INT(zkl_session_id(s), 8);
    zkl_op_cancel(a.op);
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, ZKL_ECANCELED);
    zkl_op_free(a.op);
    zkl_mutex_free(a.mutex);
    g_free(a.node);
    hand_close(s);
}

/* The list that it has changes nothing: whoever waits keeps its place. */
static void keep_place(bool other_before)
{
    zkl_session *s = hand_session();
    struct acquisition a;

    hand_enter(&a, s, ZKL_FOREVER);
    if (other_before) {
        CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
        CHECK_INT(zkl_session_set_servers(s, "third:3/root"), 0);
    }
    CHECK_INT(zkl_session_set_servers(s, "fake:1/root"), 0);
    fake_event(STORE_EV_DOWN);
    fire_timers(s);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l")); /* by the same session still */
    fake_event(STORE_EV_UP);
    CHECK_INT(zkl_session_id(s), FAKE_SESSION_ID);
    zkl_op_cancel(a.op);
    zkl_session_dispatch(s);
    hand_leave(&a);
    hand_close(s);
}

static void same_list(void)
{
    keep_place(false);
}

/* Nor does one that comes back before the session has used another. */
static void same_list_again(void)
{
    keep_place(true);
}

/* What comes back behind that is a change. */
static void former_list(void)
{
    zkl_session *s = hand_session();

    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    fake_event(STORE_EV_DOWN);
    fire_timers(s);
    CHECK_STR(fake_hosts(), "other:2");
    CHECK_INT(zkl_session_set_servers(s, "third:3/root"), 0);
    CHECK_INT(zkl_session_set_servers(s, "fake:1/root"), 0);
    fire_timers(s);
    CHECK_STR(fake_hosts(), "fake:1");
    hand_close(s);
}

/* What is held keeps the session, which the old servers may take back. */
static void held(void)
{
    zkl_session *s = hand_session();
    struct acquisition a;

    hand_hold(&a, s);
    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 3000);
    CHECK_STR(fake_hosts(), "fake:1");
    fake_event(STORE_EV_UP);
    hand_pass(s, 1000);
    CHECK_INT(zkl_grant_state(a.grant) == ZKL_LOST, 0);
    CHECK_STR(fake_hosts(), "fake:1");
    fake_event(STORE_EV_DOWN);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    zkl_session_dispatch(s);
    hand_leave(&a);
    hand_pass(s, 1000);
    CHECK_STR(fake_hosts(), "other:2");
    hand_close(s);
}

/* The program's own nodes keep it, too, for as long as the old servers do. */
static void kept(void)
{
    zkl_session *s = hand_session();

    CHECK_INT(zkl_session_keep(s, 1), 0);
    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, FAKE_TIMEOUT_MS - 1);
    CHECK_STR(fake_hosts(), "fake:1");
    hand_pass(s, 501);
    CHECK_STR(fake_hosts(), "other:2");
    hand_close(s);
}

static void on_entered(const zkl_error *err, void *data)
{
    *(int *)data = err ? err->code : 0;
}

/* Alone at a barrier of one. */
static void enter_barrier(zkl_double_barrier *b, zkl_session *s)
{
    int code = 1;

    REQUIRE(zkl_double_barrier_enter_async(b, ZKL_FOREVER, on_entered, &code) == 0);
    char *node = g_strdup(fake_request(STORE_CREATE, "/root/d/").path);
    REQUIRE(node != NULL);
    ANSWER(STORE_CREATE, node, .rc = STORE_OK, .path = node, .czxid = 5);
    ANSWER(STORE_GET, "/root/d", .rc = STORE_OK);
    ANSWER(STORE_STAT, "/root/d/ready", .rc = STORE_NONODE);
    char *names[] = {strrchr(node, '/') + 1};
    ANSWER(STORE_LIST, "/root/d", .rc = STORE_OK, .names = names, .count = 1);
    ANSWER(STORE_STAT, node, .rc = STORE_OK, .czxid = 5);
    ANSWER(STORE_MULTI, "/root/d", .rc = STORE_OK);
    zkl_session_dispatch(s);
    CHECK_INT(code, 0);
    g_free(node);
}

static void check_moves_at_the_deadline(zkl_session *s)
{
    CHECK_INT(zkl_session_set_servers(s, "other:2/root"), 0);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, HAND_DEADLINE_MS - 1000);
    CHECK_STR(fake_hosts(), "fake:1");
    hand_pass(s, 2000);
    CHECK_STR(fake_hosts(), "other:2");
}

/* A member inside is, as long as the old servers may take the session back. */
static void member_inside(void)
{
    zkl_session *s = hand_session();
    zkl_double_barrier *b;

    REQUIRE(zkl_double_barrier_new(&b, s, "/d", 1, NULL) == 0);
    enter_barrier(b, s);
    check_moves_at_the_deadline(s);
    CHECK_INT(zkl_double_barrier_leave(b, ZKL_FOREVER), ZKL_ELOST);
    zkl_double_barrier_free(b);
    hand_close(s);
}

/* One that waits for others, too: they may have counted it. */
static void member_waiting(void)
{
    zkl_session *s = hand_session();
    zkl_double_barrier *b;
    int code = 1;

    REQUIRE(zkl_double_barrier_new(&b, s, "/d", 2, NULL) == 0);
    REQUIRE(zkl_double_barrier_enter_async(b, ZKL_FOREVER, on_entered, &code) == 0);
    ANSWER(STORE_CREATE, "/root/d/", .rc = STORE_OK, .czxid = 5);
    check_moves_at_the_deadline(s);
    zkl_session_dispatch(s);
    CHECK_INT(code, ZKL_ELOST);
    zkl_double_barrier_free(b);
    hand_close(s);
}

/* So is one of a group, which joins again on the new servers. */
static void member_of_a_group(void)
{
    zkl_session *s = hand_session();
    zkl_member *m;

    REQUIRE(zkl_member_join(&m, s, "/g", "a", NULL, 0, NULL) == 0);
    ANSWER(STORE_CREATE, "/root/g/a", .rc = STORE_OK, .czxid = 5);
    CHECK_INT(zkl_member_state(m), ZKL_HELD);
    check_moves_at_the_deadline(s);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID + 1, FAKE_TIMEOUT_MS);
    CHECK(fake_is_asked(STORE_CREATE, "/root/g/a"));
    zkl_member_free(m);
    hand_close(s);
}

/* One that was never connected. */
static void before_a_connection(void)
{
    zkl_session *s = hand_session_with(NULL);

    CHECK_INT(zkl_session_set_servers(s, "other:2,[::1]:3/root"), 0);
    fire_timers(s);
    CHECK_STR(fake_hosts(), "other:2,::1:3");
    hand_close(s);
}

static void bad_arguments(void)
{
    zkl_session *s = hand_session();

    CHECK_INT(zkl_session_set_servers(NULL, "other:2/root"), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, "other:x/root"), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, "other:2"), ZKL_EINVAL);
    CHECK_INT(zkl_session_set_servers(s, "other:2/boot"), ZKL_EINVAL);
    fake_event(STORE_EV_DOWN);
    fire_timers(s);
    CHECK_STR(fake_hosts(), "fake:1");
    hand_close(s);
}

static const struct test_case cases[] = {
    {"when_the_connection_is_lost", when_the_connection_is_lost},
    {"same_list", same_list},
    {"same_list_again", same_list_again},
    {"former_list", former_list},
    {"held", held},
    {"kept", kept},
    {"member_inside", member_inside},
    {"member_waiting", member_waiting},
    {"member_of_a_group", member_of_a_group},
    {"before_a_connection", before_a_connection},
    {"bad_arguments", bad_arguments},
    {NULL, NULL},
};

const struct test_suite servers_suite = {"servers", NULL, NULL, cases};
