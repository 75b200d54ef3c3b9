/* Joins and other calls that are allowed, and those that are not. */
#include "member_story.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(member_join);

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
        {"/p", "\xff", 0, 0, 0, "id is not UTF-8"},
        {"/p", "a/b", 0, 0, 0, "id is no name of a node"},
        {"/p", ".", 0, 0, 0, "id is no name of a node"},
        {"/p", "..", 0, 0, 0, "id is no name of a node"},
        {"/p", "a\nb", 0, 0, 0, "id has a control character"},
        {"/p", "a\xc2\x85", 0, 0, 0, "id has a control character"},
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

TEST_CASE(no_member_given)
{
    zkl_grant *grant;

    mstory_begin(NULL);
    check_null(zkl_member_grant(NULL, &grant), "m");
    check_null(zkl_member_grant(mstory.m, NULL), "ret");
    check_null(zkl_member_wait(NULL, 0), "m");
    check_null(zkl_member_update(NULL, "x", 1, 0), "m");
    check_null(zkl_member_leave(NULL, 0), "m");
    check_null(zkl_member_wait_async(NULL, 0, mstory_done, NULL), "m");
    check_null(zkl_member_update_async(NULL, "x", 1, 0, mstory_done, NULL), "m");
    check_null(zkl_member_leave_async(NULL, 0, mstory_done, NULL), "m");
    check_null(zkl_member_wait_async(mstory.m, 0, NULL, NULL), "fn");
    check_null(zkl_member_update_async(mstory.m, "x", 1, 0, NULL, NULL), "fn");
    check_null(zkl_member_leave_async(mstory.m, 0, NULL, NULL), "fn");
    zkl_member_free(NULL);
    mstory_end();
}

static void on_change(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    int *codes = data;

    (void)s;
    (void)id;
    if (event != ZKL_SESSION_CONNECTED)
        return;
    codes[0] = zkl_member_wait(mstory.m, 0);
    codes[1] = zkl_member_update(mstory.m, "x", 1, 0);
    codes[2] = zkl_member_leave(mstory.m, 0);
}

/* None blocks inside a callback; elsewhere none needs to when it has what it waits for. */
TEST_CASE(those_that_block)
{
    struct member_outcome o;
    int codes[3] = {0};

    mstory_begin(NULL);
    REQUIRE(zkl_session_on_change(mstory.s, on_change, codes) == 0);
    zkl_session_dispatch(mstory.s);
    for (int i = 0; i < 3; i++)
        CHECK_INT(codes[i], ZKL_EDEADLK);
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
