/* A server may have older data than an observer of a group has already told of: the server lags, or
 * its data have gone back. These tests say what the observer does then. */
#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(members_watch);

#define GROUP "/root/g"

enum { STEP_MS = 50 };

/* The server, and what is told of it. */
static struct story {
    zkl_session *s;
    zkl_watch *watch;
    uint64_t pzxid, czxid, mzxid;
    int64_t owner; /* its session */
    const char *data;
    int lists, reads;
    GString *told;
} story;

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    static const char signs[] = " +-~=";
    const zkl_member_info *m = all ? zkl_members_get(all, 0) : member;

    (void)data;
    g_string_append_printf(story.told, "%c%d:%.*s ", signs[event], m ? (int)m->token : 0,
                           m ? (int)m->size : 0, m ? (const char *)m->data : "");
}

static void serve(void)
{
    static char member[] = "m";
    char *names[] = {member};

    fake_answer(STORE_SYNC, GROUP, (struct store_reply){.rc = STORE_OK});
    if (fake_answer(
            STORE_LIST, GROUP,
            (struct store_reply){
                .rc = STORE_OK, .names = names, .count = story.czxid != 0, .pzxid = story.pzxid}))
        story.lists++;
    if (fake_answer(STORE_GET, GROUP "/m",
                    (struct store_reply){.rc = STORE_OK,
                                         .czxid = story.czxid,
                                         .mzxid = story.mzxid,
                                         .ephemeral_owner = story.owner,
                                         .data = story.data,
                                         .length = (int)strlen(story.data)}))
        story.reads++;
    zkl_session_dispatch(story.s);
}

static void pass(int ms)
{
    for (; ms > 0; ms -= STEP_MS) {
        hand_pass_proved(story.s, STEP_MS);
        serve();
    }
}

#define TOLD(text)                                                                                 \
    do {                                                                                           \
        CHECK_STR(story.told->str, text);                                                          \
        g_string_truncate(story.told, 0);                                                          \
    } while (0)

/* One member, which has been told; then another connection. */
static void begin(void)
{
    story = (struct story){.s = hand_session(),
                           .pzxid = 7,
                           .czxid = 5,
                           .mzxid = 9,
                           .data = "new",
                           .told = g_string_new(NULL)};
    hand_stand_alone(story.s);
    REQUIRE(zkl_members_watch(&story.watch, story.s, "/g", ZKL_MEMBER_GROUP, on_members, NULL) ==
            0);
    pass(1000);
    TOLD("+5:new =5:new ");
    CHECK_INT(story.lists, 1);
    CHECK_INT(story.reads, 1);
    story.lists = story.reads = 0;
}

static void end(void)
{
    zkl_watch_free(story.watch);
    hand_close(story.s);
    g_string_free(story.told, TRUE);
}

/* At once, and 1, 3 and 7 s later; none of it is told. */
TEST_CASE(older_lists_are_read_less_and_less_often)
{
    begin();
    story.pzxid = 4;
    story.czxid = 0;
    fake_reconnect();
    pass(900);
    CHECK_INT(story.lists, 1);
    pass(FAKE_TIMEOUT_MS - 1000);
    CHECK_INT(story.lists, 4);
    CHECK_INT(story.reads, 0);
    TOLD("");
    end();
}

/* Behind one session timeout it is all there is. */
TEST_CASE(older_lists_count_in_the_end)
{
    begin();
    story.pzxid = story.czxid = story.mzxid = 4;
    story.data = "old";
    fake_next_session();
    pass(FAKE_TIMEOUT_MS - 100);
    TOLD("");
    pass(FAKE_TIMEOUT_MS);
    TOLD("-5:new +4:old =4:old ");
    CHECK_INT(story.lists, 5);
    pass(10 * FAKE_TIMEOUT_MS);
    CHECK_INT(story.lists, 5);
    end();
}

/* The list is the same. */
TEST_CASE(older_members_count_in_the_end)
{
    begin();
    story.mzxid = 6;
    story.data = "old";
    fake_next_session();
    pass(FAKE_TIMEOUT_MS - 100);
    CHECK_INT(story.lists, 4);
    CHECK_INT(story.reads, 4);
    TOLD("");
    pass(FAKE_TIMEOUT_MS);
    TOLD("~5:old =5:old ");
    end();
}

/* In the same session each member is watched, but not by a server that has forgotten its data. */
TEST_CASE(members_of_older_lists_are_read_again)
{
    begin();
    story.pzxid = 4;
    story.mzxid = 6;
    story.data = "old";
    fake_reconnect();
    pass(FAKE_TIMEOUT_MS - 100);
    CHECK_INT(story.reads, 0);
    TOLD("");
    pass(FAKE_TIMEOUT_MS);
    TOLD("~5:old =5:old ");
    CHECK_INT(story.reads, 1);
    end();
}

/* A server that lagged catches up. */
TEST_CASE(newer_data_are_told_at_once)
{
    begin();
    story.pzxid = 4;
    story.czxid = 0;
    fake_next_session();
    pass(500);
    story.pzxid = 11;
    story.czxid = 5;
    story.mzxid = 10;
    story.data = "newer";
    pass(1000);
    TOLD("~5:newer =5:newer ");
    CHECK_INT(story.lists, 2);
    end();
}

/* Each connection may be to another server: its time begins anew. */
TEST_CASE(each_connection_is_given_time)
{
    begin();
    story.pzxid = 4;
    story.czxid = 0;
    for (int i = 0; i < 3; i++) {
        fake_reconnect();
        pass(FAKE_TIMEOUT_MS - 1000);
        TOLD("");
    }
    end();
}

/* A session that was refused before it was let in, and has a member, so that it goes on: what it
 * watches is read again, and told at once. */
TEST_CASE(refused_sessions_read_all_again)
{
    zkl_member *m;

    begin();
    REQUIRE(zkl_member_join(&m, story.s, "/h", "a", NULL, 0, NULL) == 0);
    ANSWER(STORE_CREATE, "/root/h/a", .rc = STORE_OK, .czxid = 10);
    story.mzxid = 6;
    story.data = "old";
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_REFUSED);
    fake_event(STORE_EV_UP);
    pass(500);
    TOLD("~5:old =5:old ");
    CHECK_INT(story.reads, 1);
    zkl_member_free(m);
    end();
}

/* Where the servers' data have gone back, zxids come again. */
TEST_CASE(other_data_of_the_same_zxid_are_told)
{
    static const struct {
        const char *data;
        int64_t owner;
        const char *told;
    } rows[] = {
        {"new", 0, ""},
        {"odd", 0, "~5:odd =5:odd "},
        {"newer", 0, "~5:newer =5:newer "},
        {"ne", 0, "~5:ne =5:ne "},
        {"new", 8, "~5:new =5:new "},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin();
        story.data = rows[i].data;
        story.owner = rows[i].owner;
        fake_next_session();
        pass(500);
        TOLD(rows[i].told);
        end();
    }
}
