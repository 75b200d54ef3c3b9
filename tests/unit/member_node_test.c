/* What a member asks of the store about its own node, and what it makes of each answer. */
#include "member_story.h"
#include "recipes/name.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(member_node);

TEST_CASE(makes_its_node)
{
    mstory_begin(NULL);
    const struct store_request node = fake_request(STORE_CREATE, STORY_NODE);
    REQUIRE(node.path != NULL);
    CHECK_STR(node.path, STORY_NODE);
    CHECK_INT(node.mode, STORE_EPHEMERAL);
    CHECK_STR(node.data, "one");
    CHECK_INT(node.length, 3);
    mstory_created();
    CHECK(fake_is_watching(STORE_GET, STORY_NODE));
    mstory_told("joined 5");
    CHECK_INT(fake_count(STORE_CREATE, STORY_NODE), 0);
    mstory_end();
}

TEST_CASE(makes_its_directory)
{
    static const enum store_mode modes[] = {
        [ZKL_PARENTS_CONTAINER] = STORE_CONTAINER, [ZKL_PARENTS_PERSISTENT] = STORE_PERSISTENT};

    for (int parents = 0; parents < 2; parents++) {
        zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
        o.parents = (zkl_parents)parents;
        mstory_begin(&o);
        ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_NONODE);
        CHECK(!fake_is_asked(STORE_CREATE, STORY_NODE));
        CHECK_INT(fake_request(STORE_CREATE, "/root").mode, modes[parents]);
        CHECK_INT(fake_request(STORE_CREATE, "/root/g").mode, modes[parents]);
        ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
        ANSWER(STORE_CREATE, "/root/g", .rc = STORE_OK);
        mstory_joined();
        mstory_told("joined 5");
        mstory_end();
    }
}

/* It is told once, and tried again; even when the directory or the node itself is refused. */
TEST_CASE(may_not_make_it)
{
    static const struct {
        enum store_rc node, directory;
        int code;
        const char *refused; /* NULL: as the code says */
    } rows[] = {{STORE_NOAUTH, STORE_OK, ZKL_EACCES, "/g"},
                {STORE_NOCHILDREN, STORE_OK, ZKL_EPATH, NULL},
                {STORE_NONODE, STORE_NOAUTH, ZKL_EACCES, "/root"},
                {STORE_NONODE, STORE_BAD, ZKL_EPROTO, NULL}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct member_outcome waits = {.calls = 0};
        mstory_begin(NULL);
        CHECK_INT(zkl_member_wait_async(mstory.m, ZKL_FOREVER, mstory_done, &waits), 0);
        for (int64_t pause = 1000; pause <= 2000; pause *= 2) {
            ANSWER(STORE_CREATE, STORY_NODE, .rc = rows[i].node);
            if (rows[i].node == STORE_NONODE) {
                ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
                ANSWER(STORE_CREATE, "/root/g", .rc = rows[i].directory);
            }
            hand_pass(mstory.s, pause - 1);
            CHECK(!fake_is_asked(STORE_CREATE, STORY_NODE));
            hand_pass(mstory.s, 1);
        }
        char *words = rows[i].refused
                          ? g_strdup_printf("failed /g/a: the server refused to create a child "
                                            "of %s: the permission create (c) is missing",
                                            rows[i].refused)
                          : g_strdup_printf("failed /g/a: %s", zkl_strerror(rows[i].code));
        mstory_told(words); /* once */
        mstory_ended(&waits, rows[i].code, NULL);
        CHECK_STR(waits.error.path, "/g/a");
        g_free(words);
        mstory_joined();
        mstory_told("joined 5");
        mstory_end();
    }
}

/* What was asked for in the old session is for nothing. */
TEST_CASE(joins_in_the_next_session)
{
    for (int made = 0; made < 2; made++) {
        mstory_begin(NULL);
        if (made)
            mstory_joined();
        else
            ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_NONODE);
        mstory_told(made ? "joined 5" : "");
        mstory_replace(FAKE_SESSION_ID + 1);
        mstory_told(made ? "lost 5 session" : "");
        CHECK_INT(fake_count(STORE_CREATE, "/root"), 1);
        ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 9);
        mstory_told(made ? "joined 9 again" : "joined 9");
        mstory_end();
    }
}

/* The answer was lost: it is its own, or that of a session before. */
TEST_CASE(finds_its_node)
{
    mstory_begin(NULL);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_EXISTS);
    CHECK(fake_is_watching(STORE_GET, STORY_NODE));
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .version = 2,
           .ephemeral_owner = FAKE_SESSION_ID, .data = "one", .length = 3);
    mstory_told("joined 5");
    CHECK(!fake_is_asked(STORE_SET, STORY_NODE)); /* it has the data */
    fake_watch(STORY_NODE, false);
    CHECK(fake_is_watching(STORE_GET, STORY_NODE));
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_NONODE);
    mstory_told("lost 5 deleted");
    CHECK(fake_is_asked(STORE_CREATE, STORY_NODE));
    mstory_end();
}

/* It is what was to be written, or not: of another length, or of the same. */
TEST_CASE(finds_data)
{
    static const struct {
        const char *wanted, *data;
        int length;
    } rows[] = {{"two", "one", 3}, {"two", "tw", 2}, {"two", "twos", 4}, {"two", NULL, 0},
                {"two", NULL, -1}, {"2", "1", 1},    {"", "1", 1},       {"two", "two", 3},
                {"", NULL, 0},     {"", NULL, -1}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct member_outcome o;
        mstory_begin(NULL);
        mstory_update(rows[i].wanted, &o);
        ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_EXISTS);
        ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .version = 2,
               .ephemeral_owner = FAKE_SESSION_ID, .data = rows[i].data, .length = rows[i].length);
        if (rows[i].data ? strcmp(rows[i].data, rows[i].wanted) == 0 : !*rows[i].wanted)
            mstory_ended(&o, 0, NULL);
        else
            mstory_sets(rows[i].wanted, 2);
        mstory_end();
    }
}

/* By a third party: it is there again. */
TEST_CASE(is_deleted)
{
    mstory_begin(NULL);
    mstory_joined();
    mstory_told("joined 5");
    fake_watch(STORY_NODE, true);
    mstory_told("lost 5 deleted");
    CHECK(!fake_is_asked(STORE_GET, STORY_NODE));
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 6);
    mstory_told("joined 6 again");
    mstory_end();
}

TEST_CASE(may_not_be_read)
{
    mstory_begin(NULL);
    hand_stand_alone(mstory.s);
    mstory_created();
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_NOAUTH);
    CHECK_INT(mstory.s->orphans, 0); /* it is to stand */
    hand_pass_proved(mstory.s, 29999);
    CHECK(!fake_is_asked(STORE_GET, STORY_NODE));
    hand_pass_proved(mstory.s, 1);
    CHECK(fake_is_watching(STORE_GET, STORY_NODE));
    mstory_end();
}

/* There is no room for its watch: as if the server refused it. */
TEST_CASE(too_much_is_watched)
{
    mstory_begin(NULL);
    mstory.s->watched_bytes += 512 * 1024;
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_EXISTS);
    CHECK(!fake_is_asked(STORE_GET, STORY_NODE));
    char *text = g_strdup_printf("failed /g/a: %s", zkl_strerror(ZKL_ELIMIT));
    mstory_told(text);
    g_free(text);
    mstory.s->watched_bytes -= 512 * 1024;
    hand_pass(mstory.s, 1000);
    mstory_joined();
    mstory_told("joined 5");
    mstory_end();
}

/* ---- another has its name ---- */

/* The node is left alone, whatever it holds, until it is gone. */
TEST_CASE(waits_for_another)
{
    static const struct {
        int64_t session_id;
        const char *data, *told;
    } rows[] = {{STORY_OTHER, "", "busy 3 of 9"},
                {STORY_OTHER, "10.0.0.1:80", "busy 3 of 9: 10.0.0.1:80"},
                {STORY_OTHER, "one", "busy 3 of 9: one"}, /* as its own */
                {STORY_OTHER, "\x1b\xff", "busy 3 of 9: ?\xef\xbf\xbd"},
                {0, "stays", "busy 3 of 0: stays"}}; /* not ephemeral */

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        mstory_begin(NULL);
        mstory_taken(rows[i].session_id, rows[i].data);
        mstory_told(rows[i].told);
        hand_pass(mstory.s, 2000);
        CHECK(!fake_is_asked(STORE_GET, STORY_NODE) && !fake_is_asked(STORE_DELETE, STORY_NODE));
        CHECK(!fake_is_asked(STORE_SET, STORY_NODE) && !fake_is_asked(STORE_CREATE, STORY_NODE));
        fake_watch(STORY_NODE, true);
        mstory_joined();
        mstory_told("joined 5");
        mstory_end();
    }
}

/* Each node of another is told once, with what it holds when it is seen first. */
TEST_CASE(another_writes)
{
    mstory_begin(NULL);
    mstory_taken(STORY_OTHER, "one");
    fake_watch(STORY_NODE, false);
    CHECK(fake_is_watching(STORE_GET, STORY_NODE));
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 3, .version = 1,
           .ephemeral_owner = STORY_OTHER, .data = "two", .length = 3);
    mstory_told("busy 3 of 9: one");
    fake_watch(STORY_NODE, false);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 4, .ephemeral_owner = STORY_OTHER + 1);
    mstory_told("busy 4 of 10");
    fake_watch(STORY_NODE, false);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_NONODE);
    mstory_joined();
    mstory_told("joined 5");
    mstory_end();
}

/* A former session of this very one has it, with the node that was its own. */
TEST_CASE(of_a_former_session)
{
    mstory_begin(NULL);
    mstory_joined();
    mstory_replace(FAKE_SESSION_ID + 1);
    mstory_told("joined 5; lost 5 session");
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_EXISTS);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID,
           .data = "one", .length = 3);
    char *words = g_strdup_printf("busy 5 of %d: one", (int)FAKE_SESSION_ID);
    mstory_told(words);
    g_free(words);
    CHECK_INT(membership_state(mstory.m), ZKL_LOST);
    CHECK(membership_token(mstory.m) == 0);
    hand_pass(mstory.s, 2000);
    CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE) && !fake_is_asked(STORE_SET, STORY_NODE));
    CHECK(!fake_is_asked(STORE_CREATE, STORY_NODE));
    fake_watch(STORY_NODE, true);
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .czxid = 9);
    mstory_told("joined 9 again");
    mstory_end();
}

/* Its watch goes with who leaves. */
TEST_CASE(leaves_while_it_waits)
{
    struct member_outcome o;

    mstory_begin(NULL);
    mstory_taken(STORY_OTHER, "");
    mstory_told("busy 3 of 9");
    mstory_leave(ZKL_FOREVER, &o);
    mstory_ended(&o, 0, NULL);
    mstory_told("left");
    CHECK(fake_is_asked(STORE_UNWATCH, STORY_NODE));
    CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
    mstory_end();
}

/* A name that nobody had yet, for each session; and its id. */
TEST_CASE(of_a_party)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    char *names[2];

    o.layout = ZKL_MEMBER_PARTY;
    mstory_begin(&o);
    for (int i = 0; i < 2; i++) {
        const struct store_request r = fake_request(STORE_CREATE, "/root/g/");
        REQUIRE(r.path != NULL);
        names[i] = g_strdup(r.path);
        CHECK_INT(strlen(names[i]), strlen("/root/g/") + 32 + strlen("__party__"));
        CHECK(g_str_has_suffix(names[i], "__party__"));
        CHECK(!g_str_has_prefix(names[i] + strlen("/root/g/") + 13, NAME_UUID_RETAINS));
        CHECK_STR(r.data, "a");
        CHECK_INT(r.length, 1);
        ANSWER(STORE_CREATE, names[i], .rc = STORE_OK, .czxid = 5 + (uint64_t)i);
        CHECK(!fake_is_asked(STORE_CREATE, "/root/g"));
        mstory_told(i == 0 ? "joined 5" : "joined 6 again");
        mstory_replace(FAKE_SESSION_ID + 1);
        mstory_told(i == 0 ? "lost 5 session" : "lost 6 session");
    }
    CHECK(strcmp(names[0], names[1]) != 0);
    g_free(names[0]);
    g_free(names[1]);
    mstory_end();
}

/* Its node may stand, though it may not look: under another name there would be two. */
TEST_CASE(of_a_party_unseen)
{
    static const enum store_rc rcs[] = {STORE_EXISTS, STORE_NOAUTH};
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;

    o.layout = ZKL_MEMBER_PARTY;
    for (size_t i = 0; i < G_N_ELEMENTS(rcs); i++) {
        mstory_begin(&o);
        char *name = g_strdup(fake_request(STORE_CREATE, "/root/g/").path);
        REQUIRE(name != NULL);
        ANSWER(STORE_CREATE, name, .rc = rcs[i]);
        if (rcs[i] == STORE_EXISTS)
            ANSWER(STORE_GET, name, .rc = STORE_NOAUTH);
        hand_pass(mstory.s, 1000);
        CHECK(fake_is_asked(STORE_CREATE, name));
        g_free(name);
        mstory_end();
    }
}
