/* How the calls of a member's users end, which are allowed, and what a member says of itself. */
#include "member_story.h"
#include "runner.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(member_call);

#define LEFT "/g/a: the member has left"

TEST_CASE(waits)
{
    struct member_outcome before, behind, later;

    mstory_begin(NULL);
    mstory_wait(ZKL_FOREVER, &before);
    mstory_pending(&before);
    mstory_joined();
    mstory_ended(&before, 0, NULL);
    mstory_wait(ZKL_FOREVER, &behind);
    mstory_ended(&behind, 0, NULL);
    mstory_replace(FAKE_SESSION_ID + 1);
    mstory_wait(ZKL_FOREVER, &later);
    mstory_pending(&later);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 9);
    mstory_ended(&later, 0, NULL);
    mstory_end();
}

/* Each when its data, or newer ones, are there. */
TEST_CASE(updates_in_turn)
{
    struct member_outcome o[3];

    mstory_begin(NULL);
    mstory_joined();
    mstory_update("two", &o[0]);
    mstory_update("three", &o[1]);
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_OK);
    mstory_ended(&o[0], 0, NULL);
    mstory_pending(&o[1]);
    mstory_update("four", &o[2]);
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_OK);
    mstory_ended(&o[1], 0, NULL);
    mstory_pending(&o[2]);
    mstory_sets("four", 2);
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_NOAUTH);
    mstory_ended(&o[2], ZKL_EACCES, NULL);
    mstory_end();
}

/* An update that is refused ends those before it, not those behind. */
TEST_CASE(refused_in_turn)
{
    struct member_outcome first, second;

    mstory_begin(NULL);
    mstory_joined();
    mstory_update("two", &first);
    mstory_update("three", &second);
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_NOAUTH);
    mstory_ended(&first, ZKL_EACCES, NULL);
    CHECK_STR(first.error.path, "/g/a");
    mstory_pending(&second);
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_OK);
    mstory_ended(&second, 0, NULL);
    mstory_end();
}

/* One caller waits for the member to be in, another for its data to be written. Both hear that this
 * cannot be now. */
TEST_CASE(create_is_refused)
{
    struct member_outcome in, written;

    mstory_begin(NULL);
    mstory_wait(ZKL_FOREVER, &in);
    mstory_update("two", &written);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_NOAUTH);
    mstory_ended(&in, ZKL_EACCES, NULL);
    mstory_ended(&written, ZKL_EACCES, NULL);
    hand_pass(mstory.s, 1000);
    const struct store_request r = fake_request(STORE_CREATE, STORY_NODE);
    CHECK_STR(r.data, "two");
    mstory_end();
}

/* The reason, as far as it is known better than that the time has passed. */
TEST_CASE(time_passes)
{
    struct member_outcome in, out;

    mstory_begin(NULL);
    mstory_wait(300, &in);
    hand_pass(mstory.s, 299);
    mstory_pending(&in);
    hand_pass(mstory.s, 1);
    mstory_ended(&in, ZKL_ETIMEDOUT, NULL);
    fake_event(STORE_EV_DOWN);
    mstory_wait(300, &in);
    hand_pass(mstory.s, 300);
    mstory_ended(&in, ZKL_EUNREACHABLE, NULL);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_NOAUTH);
    mstory_wait(300, &in);
    mstory_leave(300, &out);
    hand_pass(mstory.s, 300);
    mstory_ended(&in, ZKL_EPERM, LEFT);
    mstory_ended(&out, ZKL_ETIMEDOUT, NULL);
    mstory_end();
}

TEST_CASE(is_backed_off)
{
    struct member_outcome in;

    mstory_begin(NULL);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_NOAUTH);
    mstory_wait(300, &in);
    hand_pass(mstory.s, 300);
    mstory_ended(&in, ZKL_EACCES, NULL);
    mstory_end();
}

/* The error says who has the id, to later callers too. If there is no connection, it says that
 * instead. */
TEST_CASE(another_has_the_id)
{
    for (int named = 0; named < 2; named++) {
        struct member_outcome in;
        mstory_begin(NULL);
        mstory_taken(STORY_OTHER, named ? "10.0.0.1:80" : "");
        mstory_wait(300, &in);
        hand_pass(mstory.s, 300);
        mstory_ended(&in, ZKL_EBUSY,
                     named ? "/g/a: session 0x9 has this id: 10.0.0.1:80"
                           : "/g/a: session 0x9 has this id");
        CHECK_STR(in.error.path, "/g/a");
        fake_event(STORE_EV_DOWN);
        mstory_wait(300, &in);
        hand_pass(mstory.s, 300);
        mstory_ended(&in, ZKL_EUNREACHABLE, NULL);
        mstory_end();
    }
}

TEST_CASE(leaving_ends_calls)
{
    struct member_outcome in, written, out, again;

    mstory_begin(NULL);
    mstory_wait(ZKL_FOREVER, &in);
    mstory_update("two", &written);
    mstory_leave(ZKL_FOREVER, &out);
    mstory_ended(&in, ZKL_EPERM, LEFT);
    mstory_ended(&written, ZKL_EPERM, LEFT);
    CHECK_STR(in.error.path, "/g/a");
    mstory_pending(&out);
    CHECK_INT(zkl_member_wait_async(mstory.m, 0, mstory_done, &in), ZKL_EPERM);
    CHECK_INT(zkl_member_update_async(mstory.m, "x", 1, 0, mstory_done, &in), ZKL_EPERM);
    mstory_leave(ZKL_FOREVER, &again);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 5);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    mstory_ended(&out, 0, NULL);
    mstory_ended(&again, 0, NULL);
    mstory_told("left");
    mstory_leave(ZKL_FOREVER, &again);
    mstory_ended(&again, 0, NULL);
    CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
    mstory_end();
}

TEST_CASE(freeing_ends_calls)
{
    struct member_outcome in, out;

    mstory_begin_joined();
    mstory_leave(ZKL_FOREVER, &out);
    mstory_free();
    mstory_ended(&out, ZKL_ECLOSED, "the member was freed");
    CHECK_STR(out.error.path, "/g/a");
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    mstory_told("left");
    mstory_end();
    mstory_begin(NULL);
    mstory_wait(ZKL_FOREVER, &in);
    mstory_free();
    mstory_ended(&in, ZKL_ECLOSED, "the member was freed");
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 5);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    mstory_told("left");
    mstory_end();
}

TEST_CASE(closing_ends_calls)
{
    struct member_outcome in, out, late;

    for (int joined = 0; joined < 2; joined++) {
        mstory_begin(NULL);
        if (joined)
            mstory_joined();
        else
            mstory_wait(ZKL_FOREVER, &in);
        mstory_told(joined ? "joined 5" : "");
        mstory_leave(ZKL_FOREVER, &out);
        hand_close(mstory.s);
        CHECK_INT(out.calls, 1);
        CHECK_INT(out.error.code, ZKL_ECLOSED);
        CHECK_STR(mstory.told->str, "left the session was closed");
        CHECK_INT(zkl_member_wait_async(mstory.m, 0, mstory_done, &late), ZKL_ECLOSED);
        CHECK_INT(zkl_member_leave_async(mstory.m, 0, mstory_done, &late), ZKL_ECLOSED);
        CHECK_INT(membership_of(mstory.m).code, ZKL_ECLOSED);
        mstory_free();
        g_string_free(mstory.told, TRUE);
    }
}

/* For good: one that joins then is told the same. */
TEST_CASE(credentials_are_refused)
{
    struct member_outcome in;
    char *why = g_strdup_printf("left %s", zkl_strerror(ZKL_EAUTH));
    zkl_member *other;

    mstory_begin(NULL);
    mstory_wait(ZKL_FOREVER, &in);
    fake_event(STORE_EV_AUTH);
    mstory_ended(&in, ZKL_EAUTH, NULL);
    mstory_told(why);
    CHECK_INT(zkl_member_wait_async(mstory.m, 0, mstory_done, &in), ZKL_EPERM);
    REQUIRE(zkl_member_join(&other, mstory.s, "/g", "b", NULL, 0, NULL) == 0);
    CHECK_INT(membership_state(other), ZKL_RELEASED);
    CHECK(!fake_is_asked(STORE_CREATE, "/root/g/b"));
    zkl_member_free(other);
    g_free(why);
    mstory_end();
}

/* ---- joins and other calls that are allowed, and those that are not ---- */

/* What is wrong is named, and what is not is taken. */
TEST_CASE(bad_arguments)
{
    static const struct {
        const char *path, *id;
        size_t size;
        int layout, parents;
        const char *wrong; /* in the error's text; NULL: nothing */
    } rows[] = {
        {"/p", "a", 3, 0, 0, NULL},
        {"/p", "\xc3\xa4 .", 0, 0, 1, NULL},
        {"/p", "...", 65536, 0, 0, NULL},
        {"/p", "b", 0, ZKL_MEMBER_PARTY, 0, NULL},
        {"p", "a", 0, 0, 0, "path"},
        {"/p", NULL, 0, 0, 0, "id must have 1 to 255 bytes"},
        {"/p", "", 0, 0, 0, "id must have 1 to 255 bytes"},
        {"/p", "\xff", 0, 0, 0, "id has characters"},
        {"/p", "a/b", 0, 0, 0, "id is no name of a node"},
        {"/p", ".", 0, 0, 0, "id is no name of a node"},
        {"/p", "..", 0, 0, 0, "id is no name of a node"},
        {"/p", "a\nb", 0, 0, 0, "id has characters"},
        {"/p", "a\xc2\x85", 0, 0, 0, "id has characters"},
        {"/p", "\xf0\x9f\x98\x80", 0, 0, 0, "id has characters"},
        {"/p", "a", 65537, 0, 0, "data has more than 65536 bytes"},
        {"/p", "a", 1, ZKL_MEMBER_PARTY, 0, "a member of a party has no data"},
        {"/p", "a", 0, 2, 0, "layout is none"},
        {"/p", "a", 0, -1, 0, "layout is none"},
        {"/p", "a", 0, 0, 2, "parents is none"},
        {"/p", "a", 0, 0, -1, "parents is none"},
    };
    char *data = g_malloc0(65537), *longest = g_strnfill(256, 'i');
    zkl_member *m;
    zkl_error why;

    mstory_begin(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
        o.layout = (zkl_member_layout)rows[i].layout;
        o.parents = (zkl_parents)rows[i].parents;
        int code = zkl_member_join(&m, mstory.s, rows[i].path, rows[i].id, data, rows[i].size, &o);
        CHECK_INT(code, rows[i].wrong ? ZKL_EINVAL : 0);
        zkl_last_error(&why);
        if (rows[i].wrong && !CHECK(strstr(why.text, rows[i].wrong) != NULL))
            runner_fail(__FILE__, __LINE__, "row %zu: %s", i, why.text);
        if (!rows[i].wrong)
            zkl_member_free(m);
    }
    CHECK_INT(zkl_member_join(NULL, mstory.s, "/p", "c", NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_join(&m, NULL, "/p", "c", NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_join(&m, mstory.s, "/p", "c", NULL, 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_join(&m, mstory.s, "/p", longest, NULL, 0, NULL), ZKL_EINVAL);
    longest[255] = '\0';
    CHECK_INT(zkl_member_join(&m, mstory.s, "/p", longest, NULL, 0, NULL), 0);
    CHECK_INT(zkl_member_update_async(m, data, 65537, 0, mstory_done, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_update_async(m, NULL, 1, 0, mstory_done, NULL), ZKL_EINVAL);
    zkl_member_free(m);
    mstory_end();
    g_free(data);
    g_free(longest);
}

TEST_CASE(party_has_no_data)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    zkl_error why;

    o.layout = ZKL_MEMBER_PARTY;
    mstory_begin(&o);
    for (size_t size = 0; size < 2; size++) {
        CHECK_INT(zkl_member_update_async(mstory.m, "x", size, 0, mstory_done, NULL), ZKL_EINVAL);
        zkl_last_error(&why);
        CHECK(strstr(why.text, "a member of a party has no data") != NULL);
    }
    mstory_end();
}

/* One of a session at a time; the next one begins when the first has left. */
TEST_CASE(one_behind_the_other)
{
    zkl_member *second = NULL, *other;
    zkl_error why;

    mstory_begin(NULL);
    mstory_joined();
    CHECK_INT(zkl_member_join(&second, mstory.s, "/g", "a", NULL, 0, NULL), ZKL_EBUSY);
    CHECK(second == NULL);
    zkl_last_error(&why);
    CHECK_STR(why.path, "/g/a");
    REQUIRE(zkl_member_join(&other, mstory.s, "/g", "b", NULL, 0, NULL) == 0);
    CHECK(fake_is_asked(STORE_CREATE, "/root/g/b"));
    mstory_free();
    REQUIRE(zkl_member_join(&second, mstory.s, "/g", "a", "two", 3, NULL) == 0);
    CHECK_INT(zkl_member_join(&mstory.m, mstory.s, "/g", "a", NULL, 0, NULL), ZKL_EBUSY);
    CHECK(!fake_is_asked(STORE_CREATE, STORY_NODE));
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    const struct store_request r = fake_request(STORE_CREATE, STORY_NODE);
    REQUIRE(r.path != NULL);
    CHECK_STR(r.data, "two");
    mstory_told("joined 5; left");
    zkl_member_free(second);
    zkl_member_free(other);
    mstory_end();
}

/* The caller is told what is NULL. */
static void check_null(int code, const char *what)
{
    zkl_error why;

    CHECK_INT(code, ZKL_EINVAL);
    zkl_last_error(&why);
    char *text = g_strdup_printf(": %s is NULL", what);
    CHECK(g_str_has_suffix(why.text, text));
    g_free(text);
}

TEST_CASE(nothing_given)
{
    mstory_begin(NULL);
    check_null(zkl_member_wait(NULL, 0), "m");
    check_null(zkl_member_grant(mstory.m, NULL), "ret");
    check_null(zkl_member_wait_async(mstory.m, 0, NULL, NULL), "fn");
    check_null(zkl_member_update_async(mstory.m, "x", 1, 0, NULL, NULL), "fn");
    check_null(zkl_member_leave_async(mstory.m, 0, NULL, NULL), "fn");
    zkl_member_free(NULL);
    mstory_end();
}

/* None needs to block when it has what it waits for. */
TEST_CASE(those_that_need_not_block)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_joined();
    CHECK_INT(zkl_member_wait(mstory.m, 0), 0);
    mstory_leave(ZKL_FOREVER, &o);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    CHECK_INT(zkl_member_leave(mstory.m, 0), 0);
    CHECK_INT(zkl_member_update(mstory.m, "x", 1, 0), ZKL_EPERM);
    mstory_end();
}

/* Nobody is told who has it. */
TEST_CASE(nobody_hears)
{
    zkl_member *deaf;

    mstory_begin(NULL);
    REQUIRE(zkl_member_join(&deaf, mstory.s, "/g", "b", NULL, 0, NULL) == 0);
    ANSWER(STORE_CREATE, "/root/g/b", .rc = STORE_EXISTS);
    ANSWER(STORE_GET, "/root/g/b", .rc = STORE_OK, .czxid = 3, .ephemeral_owner = STORY_OTHER,
           .data = "other", .length = 5);
    mstory_told("");
    CHECK_INT(membership_state(deaf), ZKL_LOST);
    zkl_member_free(deaf);
    mstory_end();
}

/* ---- its grant ---- */

/* ---- what it says of itself ---- */

static void check_grant(int code, zkl_state state, uint64_t token, int64_t remaining_ms)
{
    const struct membership now = membership_of(mstory.m);

    CHECK_INT(now.code, code);
    CHECK_INT(now.state, state);
    CHECK(now.token == token);
    CHECK_INT(now.remaining_ms, remaining_ms);
}

static zkl_grant *own_grant(void)
{
    zkl_grant *grant = NULL;

    REQUIRE(zkl_member_grant(mstory.m, &grant) == 0);
    return grant;
}

TEST_CASE(knows_its_deadline)
{
    mstory_begin(NULL);
    check_grant(ZKL_ELOST, ZKL_LOST, 0, 0);
    mstory_joined();
    check_grant(0, ZKL_HELD, 5, HAND_DEADLINE_MS);
    const zkl_deadline deadline = membership_of(mstory.m).deadline;
    CHECK(deadline.boottime_ns == (5000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    CHECK(deadline.monotonic_raw_ns == (1000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    hand_jump(0, 1000); /* the later of the two clocks counts */
    check_grant(0, ZKL_HELD, 5, HAND_DEADLINE_MS - 1000);
    hand_jump(HAND_DEADLINE_MS - 1, HAND_DEADLINE_MS - 1001);
    check_grant(0, ZKL_HELD, 5, 1);
    hand_jump(1, 0);
    check_grant(ZKL_ELOST, ZKL_LOST, 0, 0); /* nothing has run */
    mstory_told("joined 5");
    struct member_outcome o;
    mstory_wait(ZKL_FOREVER, &o); /* notices it, too */
    mstory_told("lost 5 deadline");
    mstory_pending(&o);
    mstory_end();
}

/* Its turn is over for good, though the member is held again. */
TEST_CASE(grant_is_lost_for_good)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    zkl_grant *first = own_grant();
    fake_event(STORE_EV_DOWN);
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    fake_event(STORE_EV_UP);
    hand_stand_alone(mstory.s);
    mstory_told("joined 5; suspect 5; lost 5 deadline; joined 5 again");
    zkl_grant *second = own_grant();
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    CHECK_INT(zkl_grant_loss(first), ZKL_LOSS_DEADLINE);
    CHECK_INT(zkl_grant_state(second), ZKL_HELD);
    CHECK(zkl_grant_token(first) == 5 && zkl_grant_token(second) == 5);
    CHECK(zkl_grant_turn(second) > zkl_grant_turn(first));
    CHECK_STR(zkl_grant_node(second), "/g/a");
    zkl_grant_release(first);
    zkl_grant_release(second);
    mstory_end();
}

/* It has been seen lost: a proof that comes behind that is another turn's. */
TEST_CASE(proof_comes_too_late)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    zkl_grant *first = own_grant();
    hand_jump(FAKE_TIMEOUT_MS, FAKE_TIMEOUT_MS);
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    hand_pass_proved(mstory.s, 0);
    hand_pass_proved(mstory.s, 1);
    mstory_told("joined 5; lost 5 deadline; joined 5 again");
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    zkl_grant_release(first);
    mstory_end();
}

static void count_states(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    g_string_append_printf(data, "%d", (int)state);
}

/* As any other, but that nobody waits for it, and that its release is no leaving. */
TEST_CASE(grant_is_asked_as_others)
{
    const zkl_change change = {.kind = ZKL_CHANGE_CREATE, .path = "/x"};
    GString *states = g_string_new(NULL), *calls = g_string_new(NULL);
    struct member_outcome o;

    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    zkl_grant *grant = own_grant();
    CHECK_INT(zkl_grant_on_change(grant, count_states, states), 0);
    CHECK_INT(zkl_grant_on_wanted(grant, count_states, calls), 0);
    CHECK_INT(zkl_grant_on_revoke(grant, count_states, calls), 0);
    CHECK_INT(zkl_grant_multi(grant, &change, 1, 0, 0), ZKL_EINVAL);
    fake_event(STORE_EV_DOWN);
    hand_pass(mstory.s, 10);
    fake_event(STORE_EV_UP);
    hand_stand_alone(mstory.s);
    zkl_grant_release(own_grant());
    check_grant(0, ZKL_HELD, 5, HAND_DEADLINE_MS);
    mstory_leave(ZKL_FOREVER, &o);
    zkl_session_dispatch(mstory.s);
    CHECK_INT(zkl_grant_state(grant), ZKL_RELEASED);
    CHECK_STR(states->str, "103");
    CHECK_STR(calls->str, "");
    zkl_grant_release(grant);
    mstory_end();
    g_string_free(states, TRUE);
    g_string_free(calls, TRUE);
}

/* What has ended a membership is its grant's loss. */
TEST_CASE(grant_says_how_it_was_lost)
{
    static const zkl_loss losses[] = {ZKL_LOSS_DELETED, ZKL_LOSS_EXPIRED, ZKL_LOSS_CLOSED,
                                      ZKL_LOSS_REFUSED};

    for (guint i = 0; i < G_N_ELEMENTS(losses); i++) {
        mstory_begin(NULL);
        mstory_joined();
        zkl_grant *grant = own_grant();
        if (losses[i] == ZKL_LOSS_DELETED)
            fake_watch(STORY_NODE, true);
        else if (losses[i] == ZKL_LOSS_EXPIRED)
            mstory_replace(FAKE_SESSION_ID + 1);
        else if (losses[i] == ZKL_LOSS_REFUSED)
            fake_event(STORE_EV_AUTH);
        else
            hand_close(mstory.s);
        CHECK_INT(zkl_grant_state(grant), ZKL_LOST);
        CHECK_INT(zkl_grant_loss(grant), losses[i]);
        zkl_grant_release(grant);
        if (losses[i] == ZKL_LOSS_CLOSED) {
            mstory_free();
            g_string_free(mstory.told, TRUE);
        } else {
            mstory_end();
        }
    }
}

TEST_CASE(is_in_doubt)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    mstory_told("joined 5");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    CHECK_INT(membership_state(mstory.m), ZKL_SUSPECT);
    CHECK(membership_of(mstory.m).remaining_ms > 0);
    hand_pass(mstory.s, 10);
    fake_event(STORE_EV_UP);
    hand_stand_alone(mstory.s);
    mstory_told("held 5");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    mstory_told("lost 5 deadline");
    check_grant(ZKL_ELOST, ZKL_LOST, 0, 0);
    fake_event(STORE_EV_UP);
    hand_pass(mstory.s, 10);
    hand_stand_alone(mstory.s);
    mstory_told("joined 5 again");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    mstory_end();
}

/* Another session begins without doubt. */
TEST_CASE(doubt_ends_with_the_session)
{
    mstory_begin(NULL);
    mstory_joined();
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    fake_event(STORE_EV_DOWN);
    mstory_told("joined 5; suspect 5");
    mstory_replace(FAKE_SESSION_ID + 1);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 9);
    mstory_told("lost 5 session; joined 9 again");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    mstory_end();
}

/* Nobody has asked for its grant, so no deadline of the session is its own. */
TEST_CASE(nobody_asks_for_its_grant)
{
    mstory_begin_joined();
    fake_event(STORE_EV_DOWN);
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    fake_event(STORE_EV_UP);
    mstory_told("");
    CHECK_INT(zkl_member_wait(mstory.m, 1), 0);
    mstory_replace(FAKE_SESSION_ID + 1);
    mstory_told("lost 5 session");
    mstory_end();
}

/* An hour later: it is proved from the first call on, and told when it is. */
TEST_CASE(first_asked_late)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    mstory_told("joined 5");
    mstory.s->warm_until = clock_now();
    hand_pass(mstory.s, 2 * FAKE_TIMEOUT_MS);
    CHECK_INT(mstory.s->proofs.need, PROOF_COOL);
    check_grant(ZKL_EUNREACHABLE, ZKL_LOST, 0, 0);
    CHECK_INT(mstory.s->proofs.need, PROOF_HOT);
    mstory_told("");
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    mstory_told("held 5");
    CHECK_INT(membership_state(mstory.m), ZKL_HELD);
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    mstory_told("suspect 5; lost 5 deadline"); /* as it is for all who go by a deadline */
    mstory_end();
}

/* What may be under way, in the order in which a member comes to it. */
enum step { CREATES, READS, SETS, DELETES, PASSES, SETTLES, WAITS, STEPS };

static void come_to_leave(enum step step, struct member_outcome *o)
{
    mstory_leave(ZKL_FOREVER, o);
    if (step != DELETES)
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_UNKNOWN);
    if (step == SETTLES)
        ANSWER(STORE_SET, STORY_NODE, .rc = STORE_NONODE);
}

static void come_to(enum step step, bool leaves, struct member_outcome *o)
{
    mstory_begin(NULL);
    if (step == WAITS)
        mstory_taken(STORY_OTHER, "");
    else if (step >= SETS)
        mstory_joined();
    else if (step == READS)
        mstory_created();
    if (leaves)
        come_to_leave(step, o);
    else
        mstory_update("two", o);
    zkl_session_dispatch(mstory.s);
    g_string_truncate(mstory.told, 0);
}

/* What is under way is for nothing then: neither told as a refusal nor asked for again. */
TEST_CASE(session_ends_meanwhile)
{
    for (enum step step = CREATES; step < STEPS; step++) {
        const bool leaves = step >= DELETES && step <= SETTLES;
        const bool joined = step >= READS && step <= SETS;
        struct member_outcome o;

        come_to(step, leaves, &o);
        mstory_replace(FAKE_SESSION_ID + 1);
        mstory_told(leaves ? "left" : joined ? "lost 5 session" : "");
        CHECK_INT(fake_count(STORE_CREATE, "/root"), !leaves);
        CHECK_INT(fake_is_asked(STORE_CREATE, STORY_NODE), !leaves);
        CHECK(!fake_is_asked(STORE_GET, "/root") && !fake_is_asked(STORE_SET, "/root"));
        CHECK(!fake_is_asked(STORE_DELETE, "/root"));
        if (!leaves) {
            mstory_pending(&o);
            CHECK_STR(fake_request(STORE_CREATE, STORY_NODE).data, "two");
        }
        mstory_end();
    }
}

TEST_CASE(has_left)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_joined();
    mstory_leave(ZKL_FOREVER, &o);
    check_grant(ZKL_EPERM, ZKL_RELEASED, 0, 0);
    hand_pass(mstory.s, 100);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    mstory_told("joined 5; left");
    check_grant(ZKL_EPERM, ZKL_RELEASED, 0, 0);
    CHECK(mstory.s->warm_until.boot == clock_now().boot + mstory.s->warm_ns);
    mstory_end();
}

/* Members need the session, as other users do. */
TEST_CASE(session_is_in_use)
{
    zkl_member *other;

    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    hand_pass_proved(mstory.s, 70 * 1000);
    CHECK(mstory.s->proof_timer.at != 0);
    mstory_end();
    mstory_begin(NULL);
    mstory_free();
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_EXISTS);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_NONODE);
    hand_pass(mstory.s, 70 * 1000);
    CHECK(!mstory.s->proof_timer.at);
    REQUIRE(zkl_member_join(&other, mstory.s, "/g", "b", NULL, 0, NULL) == 0);
    CHECK_INT(mstory.s->id, 0);
    zkl_member_free(other);
    mstory_end();
}

/* In a child the parent's is none; it may have its own. */
TEST_CASE(in_a_child)
{
    int status = -1;

    mstory_begin(NULL);
    mstory_joined();
    const pid_t child = fork();
    if (child == 0) {
        bool right = membership_of(mstory.m).code == ZKL_ECHILD;
        zkl_member_free(mstory.m);
        mstory_begin(NULL);
        mstory_joined();
        _exit(right && membership_state(mstory.m) == ZKL_HELD ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    mstory_end();
}
