/* How the calls of a member's users end. */
#include "member_story.h"
#include "runner.h"

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
    char *why = g_strdup_printf("/g/a: %s", zkl_strerror(ZKL_ETIMEDOUT));

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
    g_free(why);
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

    mstory_begin(NULL);
    mstory_joined();
    mstory_told("joined 5");
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
