/* How a member sets its data, and how it leaves. */
#include "lib/member/member.h"
#include "member_story.h"
#include "runner.h"

#include <limits.h>
#include <string.h>

TEST_SUITE(member_data);

/* ---- data ---- */

TEST_CASE(is_set)
{
    static const struct {
        enum store_rc rc;
        enum store_kind next; /* about the node; STORE_SYNC: nothing */
        const char *told;
        int ends; /* the update with that; 1: not yet */
    } rows[] = {
        {STORE_OK, STORE_SYNC, "", 0},
        {STORE_BADVERSION, STORE_GET, "", 1},
        {STORE_UNKNOWN, STORE_GET, "", 1},
        {STORE_NONODE, STORE_CREATE, "lost 5 deleted", 1},
        {STORE_NOAUTH, STORE_SYNC, "", ZKL_EACCES},
        {STORE_BAD, STORE_SYNC, "", ZKL_EPROTO},
    };
    static const enum store_kind kinds[] = {STORE_GET, STORE_CREATE, STORE_SET};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct member_outcome o;
        mstory_begin(NULL);
        mstory_joined();
        mstory_told("joined 5");
        mstory_update("two", &o);
        mstory_sets("two", 0);
        ANSWER(STORE_SET, STORY_NODE, .rc = rows[i].rc);
        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
            CHECK_INT(fake_is_asked(kinds[k], STORY_NODE), rows[i].next == kinds[k]);
        mstory_told(rows[i].told);
        if (rows[i].ends <= 0)
            mstory_ended(&o, rows[i].ends, NULL);
        else
            mstory_pending(&o);
        mstory_end();
    }
}

TEST_CASE(counts_versions)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_joined();
    mstory_update("two", &o);
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_OK);
    mstory_update("three", &o);
    mstory_sets("three", 1);
    mstory_end();
}

/* The servers' data may have gone back since, and another have the name. */
TEST_CASE(looks_first_on_another_connection)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_joined();
    for (int down = 0; down < 2; down++) {
        fake_event(STORE_EV_DOWN);
        if (down)
            mstory_update("three", &o);
        fake_event(STORE_EV_UP);
        if (!down)
            mstory_update("two", &o);
        CHECK(!fake_is_asked(STORE_SET, STORY_NODE));
        ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .version = 2 + down,
               .ephemeral_owner = FAKE_SESSION_ID);
        mstory_sets(down ? "three" : "two", 2 + down);
        ANSWER(STORE_SET, STORY_NODE, .rc = STORE_OK);
        mstory_ended(&o, 0, NULL);
    }
    fake_reconnect();
    zkl_session_dispatch(mstory.s);
    g_string_truncate(mstory.told, 0);
    mstory_leave(ZKL_FOREVER, &o);
    CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_BADVERSION);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = STORY_OTHER);
    CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
    mstory_ended(&o, 0, NULL);
    mstory_told("left");
    mstory_end();
}

/* A member that may not read its node does without, or it would never be done. */
TEST_CASE(cannot_look_first)
{
    struct member_outcome o;

    for (int watched = 0; watched < 2; watched++) {
        mstory_begin(NULL);
        if (watched)
            mstory.s->watched_bytes += 512 * 1024;
        mstory_created();
        if (!watched)
            ANSWER(STORE_GET, STORY_NODE, .rc = STORE_NOAUTH);
        CHECK(!fake_is_asked(STORE_GET, STORY_NODE));
        fake_reconnect();
        mstory_update("two", &o);
        mstory_sets("two", 0);
        ANSWER(STORE_SET, STORY_NODE, .rc = STORE_OK);
        mstory_ended(&o, 0, NULL);
        mstory_leave(ZKL_FOREVER, &o);
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
        mstory_ended(&o, 0, NULL);
        if (watched)
            mstory.s->watched_bytes -= 512 * 1024;
        mstory_end();
    }
}

/* ---- leaving ---- */

TEST_CASE(leaves)
{
    static const struct {
        enum store_rc rc;
        enum store_kind next; /* STORE_SYNC: it is over */
    } rows[] = {{STORE_OK, STORE_SYNC}, {STORE_NONODE, STORE_SYNC}, {STORE_UNKNOWN, STORE_SET}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct member_outcome o;
        mstory_begin(NULL);
        mstory_joined();
        mstory_told("joined 5");
        mstory_leave(ZKL_FOREVER, &o);
        CHECK(!fake_is_asked(STORE_UNWATCH, STORY_NODE));
        ANSWER(STORE_DELETE, STORY_NODE, .rc = rows[i].rc);
        CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
        CHECK_INT(fake_is_asked(STORE_GET, STORY_NODE), rows[i].next == STORE_GET);
        CHECK_INT(fake_is_asked(STORE_SET, STORY_NODE), rows[i].next == STORE_SET);
        if (rows[i].next == STORE_SYNC) {
            mstory_ended(&o, 0, NULL);
            mstory_told("left");
        } else {
            mstory_pending(&o);
        }
        mstory_end();
    }
}

/* What the quorum refuses goes before the question whose the node is. */
TEST_CASE(asks_what_became_of_it)
{
    static const enum store_rc passed[] = {STORE_OK, STORE_BADVERSION, STORE_NONODE, STORE_NOAUTH};

    for (size_t i = 0; i < G_N_ELEMENTS(passed); i++) {
        struct member_outcome o;
        mstory_begin(NULL);
        mstory_joined();
        mstory_told("joined 5");
        mstory_leave(ZKL_FOREVER, &o);
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_UNKNOWN);
        CHECK_INT(fake_request(STORE_SET, STORY_NODE).version, INT_MAX);
        CHECK(!mstory.m->driver.timer);
        CHECK(!fake_is_asked(STORE_GET, STORY_NODE));
        ANSWER(STORE_SET, STORY_NODE, .rc = passed[i]);
        CHECK(fake_is_asked(STORE_GET, STORY_NODE));
        CHECK(!fake_is_watching(STORE_GET, STORY_NODE));
        ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5,
               .ephemeral_owner = FAKE_SESSION_ID);
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
        mstory_ended(&o, 0, NULL);
        mstory_told("left");
        CHECK(!fake_is_asked(STORE_UNWATCH, STORY_NODE)); /* the delete fires it */
        fake_watch(STORY_NODE, true);
        CHECK_INT(mstory.s->watched_bytes, 0);
        mstory_end();
    }
}

/* The session ends with it, as nobody else needs it. */
TEST_CASE(may_not_leave)
{
    struct member_outcome first, second;

    mstory_begin(NULL);
    mstory_joined();
    mstory_told("joined 5");
    mstory_leave(ZKL_FOREVER, &first);
    mstory_leave(ZKL_FOREVER, &second);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_NOAUTH);
    mstory_ended(&first, ZKL_EACCES, NULL);
    mstory_ended(&second, ZKL_EACCES, NULL);
    CHECK_STR(first.error.path, "/g/a");
    CHECK(mstory_logged("cannot delete /g/a: "));
    CHECK(g_str_has_prefix(mstory.told->str, "failed /g/a: "));
    g_string_truncate(mstory.told, 0);
    CHECK_INT(mstory.s->orphans, 1);
    mstory.log[0] = '\0';
    hand_pass(mstory.s, 0);
    CHECK_INT(mstory.s->id, 0);
    CHECK_INT(mstory.s->orphans, 0);
    mstory_told("left");
    mstory_end();
}

/* Or it is deleted at last: whoever holds the session keeps it. */
TEST_CASE(may_leave_later)
{
    struct acquisition holder;
    struct member_outcome o;

    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    hand_hold(&holder, mstory.s);
    mstory_joined();
    mstory_leave(ZKL_FOREVER, &o);
    for (int64_t pause = 1000; pause <= 2000; pause *= 2) {
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_NOAUTH);
        CHECK_INT(mstory.s->orphans, 1);
        hand_pass_proved(mstory.s, pause);
        ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5,
               .ephemeral_owner = FAKE_SESSION_ID);
    }
    CHECK(mstory_logged("cannot delete"));
    CHECK(!strstr(strstr(mstory.log, "cannot delete") + 1, "cannot delete")); /* once */
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
    CHECK_INT(mstory.s->orphans, 0);
    CHECK(mstory.s->id != 0);
    hand_leave(&holder);
    hand_pass_proved(mstory.s, 1000);
    CHECK(mstory.s->id != 0);
    mstory_end();
}
