/* What a member asks of the store about its own node, what it makes of each answer, how it sets its
 * data and how it leaves; and what members of one session have to do with each other. */
#include "lib/member/member.h"
#include "lib/member/members.h"
#include "lib/session/orphans.h"
#include "member_story.h"
#include "recipes/name.h"
#include "runner.h"

#include <limits.h>
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

/* The end of a session that has very many nodes would be too much for the servers. */
TEST_CASE(too_much_is_owned)
{
    zkl_member *second;

    mstory_begin_joined();
    mstory.s->owned_bytes += 1024 * 1024;
    REQUIRE(zkl_member_join(&second, mstory.s, "/g", "b", "", 0, NULL) == 0);
    CHECK(!fake_is_asked(STORE_CREATE, "/root/g/b"));
    mstory.s->owned_bytes -= 1024 * 1024;
    hand_pass_proved(mstory.s, 1000);
    CHECK(fake_is_asked(STORE_CREATE, "/root/g/b"));
    zkl_member_free(second);
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

/* ---- its data ---- */

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
        mstory_begin_joined();
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

/* The session was ended for it. The next one sees the node until the servers have heard of that. */
static void parts(void)
{
    CHECK_INT(mstory.s->id, 0);
    CHECK_INT(mstory.s->orphans, 0);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID + 1, FAKE_TIMEOUT_MS);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
    mstory_told("");
    fake_watch(STORY_NODE, true);
}

/* The data are too large for a server, or for what is between: it hangs up on each set. The first
 * ones come at once; no pause keeps the member from leaving. A set may still come late, so it
 * leaves with its session. */
TEST_CASE(is_hung_up_on)
{
    enum { SECONDS = 1000, AT_ONCE = 5, SETS_MOST = 400 };
    static const struct store_reply own = {
        .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID};
    struct member_outcome o, leaves;
    int sets = 0;

    mstory_begin_joined();
    mstory_update("two", &o);
    for (int second = 0; second < SECONDS; second++) {
        while (fake_is_asked(STORE_SET, STORY_NODE) && sets < SETS_MOST) {
            fake_event(STORE_EV_DOWN);
            ANSWER(STORE_SET, STORY_NODE, .rc = STORE_UNKNOWN);
            fake_event(STORE_EV_UP);
            fake_answer(STORE_GET, STORY_NODE, own);
            CHECK_INT(fake_is_asked(STORE_SET, STORY_NODE), ++sets < AT_ONCE);
        }
        hand_pass(mstory.s, 1000);
        fake_answer(STORE_GET, STORY_NODE, own);
    }
    CHECK(sets > AT_ONCE);
    CHECK(sets < SETS_MOST);
    mstory_pending(&o);
    CHECK(!fake_is_asked(STORE_SET, STORY_NODE));
    mstory_leave(ZKL_FOREVER, &leaves);
    CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
    hand_pass(mstory.s, 0);
    mstory_told("");
    parts();
    mstory_ended(&leaves, 0, NULL);
    mstory_end();
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
        mstory_begin_joined();
        CHECK(mstory.s->owned_bytes > 0);
        mstory_leave(ZKL_FOREVER, &o);
        CHECK(!fake_is_asked(STORE_UNWATCH, STORY_NODE));
        ANSWER(STORE_DELETE, STORY_NODE, .rc = rows[i].rc);
        CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
        CHECK_INT(fake_is_asked(STORE_GET, STORY_NODE), rows[i].next == STORE_GET);
        CHECK_INT(fake_is_asked(STORE_SET, STORY_NODE), rows[i].next == STORE_SET);
        if (rows[i].next == STORE_SYNC) {
            mstory_ended(&o, 0, NULL);
            mstory_told("left");
            CHECK_INT(mstory.s->owned_bytes, 0); /* although the handle stays */
        } else {
            mstory_pending(&o);
            CHECK(mstory.s->owned_bytes > 0);
        }
        mstory_end();
    }
}

static void still_own(void)
{
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
}

/* What the quorum refuses goes before the question whose the node is. The first delete may still
 * be done, so the second one waits. */
TEST_CASE(asks_what_became_of_it)
{
    static const enum store_rc passed[] = {STORE_OK, STORE_BADVERSION, STORE_NONODE, STORE_NOAUTH};
    enum { LATE_MS = 22000 }; /* 20 s, and the drift */

    for (size_t i = 0; i < G_N_ELEMENTS(passed); i++) {
        struct member_outcome o;
        mstory_begin_joined();
        zkl_session_keep(mstory.s, 1);
        mstory_leave(ZKL_FOREVER, &o);
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_UNKNOWN);
        CHECK_INT(fake_request(STORE_SET, STORY_NODE).version, INT_MAX);
        CHECK(!mstory.m->driver.timer);
        CHECK(!fake_is_asked(STORE_GET, STORY_NODE));
        ANSWER(STORE_SET, STORY_NODE, .rc = passed[i]);
        CHECK(fake_is_asked(STORE_GET, STORY_NODE));
        CHECK(!fake_is_watching(STORE_GET, STORY_NODE));
        still_own();
        hand_pass(mstory.s, LATE_MS - 1);
        CHECK(!fake_is_asked(STORE_GET, STORY_NODE));
        CHECK(!fake_is_asked(STORE_DELETE, STORY_NODE));
        mstory_pending(&o);
        hand_pass(mstory.s, 1);
        still_own();
        ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_OK);
        mstory_ended(&o, 0, NULL);
        mstory_told("left");
        CHECK(!fake_is_asked(STORE_UNWATCH, STORY_NODE)); /* the delete fires it */
        fake_watch(STORY_NODE, true);
        CHECK_INT(mstory.s->watched_bytes, 0);
        CHECK_INT(zkl_session_id(mstory.s), FAKE_SESSION_ID);
        zkl_session_keep(mstory.s, 0);
        mstory_end();
    }
}

/* Nobody else needs the session: it ends, and with it what may still be done. */
TEST_CASE(settles_with_its_session)
{
    struct member_outcome o;

    mstory_begin_joined();
    mstory_leave(ZKL_FOREVER, &o);
    ANSWER(STORE_DELETE, STORY_NODE, .rc = STORE_UNKNOWN);
    ANSWER(STORE_SET, STORY_NODE, .rc = STORE_NONODE);
    still_own();
    mstory_pending(&o);
    hand_pass(mstory.s, 0);
    parts();
    mstory_ended(&o, 0, NULL);
    mstory_end();
}

/* The session ends with it, as nobody else needs it. */
TEST_CASE(may_not_leave)
{
    struct member_outcome first, second;

    mstory_begin_joined();
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
    parts();
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

/* Nobody need have proved it: a session that is to end does not end under its members. */
TEST_CASE(holds_its_session_past_its_deadline)
{
    mstory_begin_joined();
    hand_pass(mstory.s, HAND_DEADLINE_MS);
    orphan_delete(mstory.s, g_strdup("/x"));
    ANSWER(STORE_DELETE, "/x", .rc = STORE_NOAUTH);
    hand_pass(mstory.s, 0);
    CHECK_INT(mstory.s->id, FAKE_SESSION_ID);
    mstory_end();
}

/* ---- the members of one session: what each answer costs all of them, and who has an id in turn
 * ---- */

#define GROUP "/root/g"

enum { STEP_MS = 50 };

static zkl_member *join_as(zkl_session *s, const char *id)
{
    zkl_member *m = NULL;

    REQUIRE(zkl_member_join(&m, s, "/g", id, NULL, 0, NULL) == 0);
    return m;
}

static void answer_create(const char *node, uint64_t czxid)
{
    ANSWER(STORE_CREATE, node, .rc = STORE_OK, .czxid = czxid);
}

/* The server answers the create of another member, which was sent just now. */
static zkl_member *join_proved(zkl_session *s, const char *id, uint64_t czxid)
{
    char *node = g_strconcat(GROUP "/", id, NULL);
    zkl_member *m = join_as(s, id);

    answer_create(node, czxid);
    g_free(node);
    return m;
}

/* A proof moves every member's deadline at once; a write that gains little is none, unless nobody
 * has a deadline yet. */
TEST_CASE(proofs_move_deadlines)
{
    zkl_session *s = hand_session();
    zkl_member *members[4];

    hand_stand_alone(s);
    hand_pass(s, STEP_MS);
    members[0] = join_proved(s, "a", 5);
    const int64_t most = membership_of(members[0]).remaining_ms;
    CHECK_INT(most, (s->proofs.timeout - s->proofs.margin) / CLOCK_MS);
    hand_pass(s, STEP_MS);
    members[1] = join_proved(s, "b", 6);
    CHECK_INT(membership_of(members[1]).remaining_ms, most - STEP_MS);
    CHECK_INT(membership_of(members[0]).remaining_ms, most - STEP_MS);
    hand_pass(s, FAKE_TIMEOUT_MS / 64);
    members[2] = join_proved(s, "c", 7);
    CHECK_INT(membership_of(members[0]).remaining_ms, most);
    CHECK_INT(membership_of(members[1]).remaining_ms, most);
    hand_pass(s, STEP_MS);
    members[3] = join_proved(s, "d", 8);
    CHECK_INT(membership_of(members[0]).remaining_ms, most - STEP_MS);
    /* A member that is in doubt hears at once that it is in doubt no more. */
    fake_event(STORE_EV_DOWN);
    CHECK_INT(membership_state(members[0]), ZKL_SUSPECT);
    hand_pass(s, STEP_MS);
    fake_event(STORE_EV_UP);
    hand_stand_alone(s);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(membership_state(members[i]), ZKL_HELD);
        zkl_member_free(members[i]);
    }
    hand_close(s);
}

/* A grant counts whole microseconds. One that ends before the session's deadline has ended all the
 * same, and the member is held anew. */
TEST_CASE(early_deadline_is_kept)
{
    zkl_session *s = hand_session();
    zkl_grant *first, *second;
    zkl_member *all[4];

    hand_stand_alone(s);
    zkl_member *m = all[0] = join_proved(s, "a", 5);
    REQUIRE(zkl_member_grant(m, &first) == 0);
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
    all[1] = join_proved(s, "b", 6);
    hand_pass(s, STEP_MS);
    all[2] = join_proved(s, "c", 7);
    const int64_t left = zkl_grant_remaining_ms(first);
    s->proofs.deadline = instant_add(s->proofs.deadline, 999);
    hand_jump(left, left);
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    all[3] = join_proved(s, "d", 8); /* the first notices */
    CHECK_INT(membership_of(m).code, ZKL_ELOST);
    CHECK_INT(zkl_member_wait(m, 0), 0);
    REQUIRE(zkl_member_grant(m, &second) == 0);
    CHECK_INT(zkl_grant_state(first), ZKL_LOST);
    CHECK_INT(zkl_grant_state(second), ZKL_HELD);
    CHECK(zkl_grant_turn(second) > zkl_grant_turn(first));
    zkl_grant_release(first);
    zkl_grant_release(second);
    for (int i = 0; i < 4; i++)
        zkl_member_free(all[i]);
    hand_close(s);
}

/* A member that joins afterwards has nothing to do with the doubt. */
TEST_CASE(doubt_is_over_for_all)
{
    zkl_session *s = hand_session();

    hand_stand_alone(s);
    zkl_member *m = join_as(s, "a");
    hand_pass_proved(s, 0);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, STEP_MS);
    fake_event(STORE_EV_UP);
    hand_stand_alone(s);
    answer_create(GROUP "/a", 5);
    CHECK_INT(membership_state(m), ZKL_HELD);
    zkl_member_free(m);
    hand_close(s);
}

/* One behind the other, and who has left while it waited is passed by. */
TEST_CASE(members_of_one_id_take_turns)
{
    zkl_session *s = hand_session();
    zkl_member *first = join_as(s, "a"), *next = NULL;

    CHECK_INT(zkl_member_join(&next, s, "/g", "a", NULL, 0, NULL), ZKL_EBUSY);
    answer_create(GROUP "/a", 5);
    zkl_member_free(first);
    zkl_member_free(join_as(s, "a"));
    zkl_member *last = join_as(s, "a");
    zkl_member *other = join_as(s, "b");
    CHECK_INT(zkl_member_join(&next, s, "/g", "a", NULL, 0, NULL), ZKL_EBUSY);
    CHECK(!fake_is_asked(STORE_CREATE, GROUP "/a"));
    answer_create(GROUP "/b", 6);
    REQUIRE(fake_is_asked(STORE_DELETE, GROUP "/a"));
    CHECK(!fake_is_asked(STORE_CREATE, GROUP "/a"));
    ANSWER(STORE_DELETE, GROUP "/a", .rc = STORE_OK);
    answer_create(GROUP "/a", 8);
    CHECK_INT(membership_token(last), 8);
    zkl_member_free(last);
    zkl_member_free(other);
    hand_close(s);
}
