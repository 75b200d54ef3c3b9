/* What a member says of itself, who may join, and which process this is. */
#include "lib/member/process.h"
#include "member_story.h"
#include "suites.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- its state ---- */

static void check_state(zkl_state state, uint64_t token, int64_t remaining_ms, int code)
{
    zkl_deadline deadline = {1, 1};

    CHECK_INT(zkl_member_state(mstory.m), state);
    CHECK(zkl_member_token(mstory.m) == token);
    CHECK_INT(zkl_member_remaining_ms(mstory.m), remaining_ms);
    CHECK_INT(zkl_member_deadline(mstory.m, &deadline), code);
    if (code)
        CHECK(deadline.boottime_ns == 0 && deadline.monotonic_raw_ns == 0);
}

static void knows_its_deadline(void)
{
    zkl_deadline deadline;

    mstory_begin(NULL);
    check_state(ZKL_LOST, 0, 0, ZKL_ELOST);
    mstory_joined();
    check_state(ZKL_HELD, 5, HAND_DEADLINE_MS, 0);
    CHECK_INT(zkl_member_deadline(mstory.m, &deadline), 0);
    CHECK(deadline.boottime_ns == (5000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    CHECK(deadline.monotonic_raw_ns == (1000000 + HAND_DEADLINE_MS) * CLOCK_MS);
    hand_jump(0, 1000); /* the later of the two clocks counts */
    check_state(ZKL_HELD, 5, HAND_DEADLINE_MS - 1000, 0);
    hand_jump(HAND_DEADLINE_MS - 1, HAND_DEADLINE_MS - 1001);
    check_state(ZKL_HELD, 5, 1, 0);
    hand_jump(1, 0);
    check_state(ZKL_LOST, 5, 0, ZKL_ELOST); /* nothing has run */
    mstory_told("joined 5");
    struct member_outcome o;
    mstory_wait(ZKL_FOREVER, &o); /* notices it, too */
    mstory_told("gone 5 deadline");
    mstory_pending(&o);
    mstory_end();
}

static void is_in_doubt(void)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_joined();
    mstory_told("joined 5");
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_SUSPECT);
    CHECK(zkl_member_remaining_ms(mstory.m) > 0);
    fake_event(STORE_EV_UP);
    hand_pass(mstory.s, 10);
    hand_stand_alone(mstory.s);
    mstory_told("proved 5");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_HELD);
    fake_event(STORE_EV_DOWN);
    mstory_told("suspect 5");
    hand_pass(mstory.s, FAKE_TIMEOUT_MS);
    mstory_told("gone 5 deadline");
    check_state(ZKL_LOST, 5, 0, ZKL_ELOST);
    fake_event(STORE_EV_UP);
    hand_pass(mstory.s, 10);
    hand_stand_alone(mstory.s);
    mstory_told("joined 5 again");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_HELD);
    mstory_end();
}

/* Another session begins without doubt. */
static void doubt_ends_with_the_session(void)
{
    mstory_begin(NULL);
    mstory_joined();
    fake_event(STORE_EV_DOWN);
    mstory_told("joined 5; suspect 5");
    mstory_replace(FAKE_SESSION_ID + 1);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 9);
    mstory_told("gone 5 session; joined 9 again");
    CHECK_INT(zkl_member_state(mstory.m), ZKL_HELD);
    mstory_end();
}

/* What is under way then is for nothing: it is neither told as a refusal nor asked for again. */
static void session_ends_meanwhile(void)
{
    enum { CREATES, READS, MARKS, PARENTS, SETS, DELETES, PASSES, SETTLES, JUDGES, CLAIMS, STEPS };
    struct process_id dead;
    char text[PROCESS_ID_TEXT];

    process_self(&dead);
    dead.start++; /* of the process that had this one's id before */
    const int length = (int)process_id_write(&dead, text);
    for (int step = CREATES; step < STEPS; step++) {
        const bool leaves = step >= DELETES && step <= SETTLES;
        struct member_outcome o;
        mstory_begin(NULL);
        if (step == JUDGES || step == CLAIMS)
            mstory_taken(STORY_OTHER);
        else if (step != CREATES)
            mstory_created();
        if (step == MARKS || step == PARENTS)
            mstory_read();
        if (step == PARENTS)
            ANSWER(STORE_CREATE, STORY_MARK, .rc = STORE_NONODE);
        if (step == SETS || leaves) {
            mstory_read();
            ANSWER(STORE_CREATE, STORY_MARK, .rc = STORE_OK);
        }
        if (step == CLAIMS)
            ANSWER(STORE_GET, STORY_OTHER_MARK, .rc = STORE_OK, .ephemeral_owner = STORY_OTHER,
                   .data = text, .length = length);
        if (leaves)
            mstory_leave(ZKL_FOREVER, &o);
        else
            mstory_update("two", &o);
        if (step == PASSES || step == SETTLES)
            ANSWER(STORE_MULTI, STORY_NODE, .rc = STORE_UNKNOWN);
        if (step == SETTLES)
            ANSWER(STORE_SET, STORY_NODE, .rc = STORE_NONODE);
        zkl_session_dispatch(mstory.s);
        g_string_truncate(mstory.told, 0);
        mstory_replace(FAKE_SESSION_ID + 1);
        mstory_told(leaves ? "left" : step >= READS && step <= SETS ? "gone 5 session" : "");
        CHECK_INT(fake_count(STORE_CREATE, "/root"), !leaves);
        CHECK_INT(fake_is_asked(STORE_CREATE, STORY_NODE), !leaves);
        CHECK_INT(fake_count(STORE_GET, "/root") + fake_count(STORE_SET, "/root") +
                      fake_count(STORE_MULTI, "/root") + fake_count(STORE_DELETE, "/root"),
                  0);
        if (!leaves)
            CHECK_STR(fake_request(STORE_CREATE, STORY_NODE).data, "two");
        mstory_end();
    }
}

static void has_left(void)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_joined();
    mstory_leave(ZKL_FOREVER, &o);
    check_state(ZKL_RELEASED, 0, 0, ZKL_EPERM);
    ANSWER(STORE_MULTI, STORY_NODE, .rc = STORE_OK);
    mstory_told("joined 5; left");
    check_state(ZKL_RELEASED, 0, 0, ZKL_EPERM);
    mstory_end();
}

/* ---- joining ---- */

/* What is wrong is named, and what is not is taken. */
static void bad_arguments(void)
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

static void party_has_no_data(void)
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
static void one_behind_the_other(void)
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
    ANSWER(STORE_MULTI, STORY_NODE, .rc = STORE_OK);
    const struct store_request r = fake_request(STORE_CREATE, STORY_NODE);
    REQUIRE(r.path != NULL);
    CHECK_STR(r.data, "two");
    mstory_told("joined 5; left");
    zkl_member_free(second);
    zkl_member_free(other);
    mstory_end();
}

/* ---- this process ---- */

/* As the kernel says it elsewhere. */
static void this_process(void)
{
    struct process_id self, other;
    char host[PROCESS_ID_HOST + 1] = "", *boot, *stat, *link;
    unsigned long long start = 0, space = 0;
    int state;

    process_self(&self);
    CHECK_INT(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state), 0);
    CHECK_INT(state, PTHREAD_CANCEL_ENABLE);
    CHECK(self.pid == (uint64_t)getpid());
    gethostname(host, sizeof host - 1);
    CHECK_STR(self.host, host);
    REQUIRE(g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL));
    CHECK_STR(self.boot, g_strstrip(boot));
    REQUIRE(g_file_get_contents("/proc/self/stat", &stat, NULL, NULL));
    char **fields = g_strsplit(strrchr(stat, ')') + 2, " ", -1);
    start = g_ascii_strtoull(fields[19], NULL, 10);
    CHECK(start != 0 && self.start == start);
    link = g_file_read_link("/proc/self/ns/pid", NULL);
    CHECK(sscanf(link, "pid:[%llu]", &space) == 1 && self.space == space);
    CHECK(!process_is_dead(&self, &self));
    other = self;
    other.pid = (uint64_t)getppid();
    CHECK(!process_is_dead(&other, &self));
    g_free(link);
    g_strfreev(fields);
    g_free(stat);
    g_free(boot);
}

static const struct test_case cases[] = {
    {"knows_its_deadline", knows_its_deadline},
    {"is_in_doubt", is_in_doubt},
    {"doubt_ends_with_the_session", doubt_ends_with_the_session},
    {"session_ends_meanwhile", session_ends_meanwhile},
    {"has_left", has_left},
    {"bad_arguments", bad_arguments},
    {"party_has_no_data", party_has_no_data},
    {"one_behind_the_other", one_behind_the_other},
    {"this_process", this_process},
    {NULL, NULL},
};

const struct test_suite member_state_suite = {.name = "member_state", .cases = cases};
