/* A server may have older data than an observer of an election has already seen: the server lags,
 * or its data have gone back. These tests say what the observer does then. */
#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(observer_older);

#define ELECTION "/root/e"
#define A "_c_a-latch-0000000003"
#define B "_c_b-latch-0000000002"
#define C "_c_c-latch-0000000005"
#define USED_UP "_c_u-latch-2147483647"

enum { STEP_MS = 50 };

/* What a server has: the candidate that is first, and what is proclaimed. */
struct server {
    uint64_t pzxid;
    const char *name; /* NULL: there are no candidates */
    uint64_t token;
    const char *data;
    uint64_t mzxid;
};

static const struct server at_first = {10, A, 9, "9\nnew", 11};

static struct story {
    zkl_session *s;
    zkl_election *election;
    zkl_watch *watch;
    struct server server;
    int lists;
    GString *told;
} story;

static void on_leader(const zkl_leader *leader, void *data)
{
    (void)data;
    if (leader->token == 0)
        g_string_append(story.told, "nobody ");
    else
        g_string_append_printf(story.told, "%.1s%d:%.*s ", leader->id, (int)leader->token,
                               (int)leader->size, leader->data ? (const char *)leader->data : "");
}

static void answer_read(const char *path, uint64_t czxid, uint64_t mzxid, const char *data)
{
    fake_answer(STORE_GET, path,
                (struct store_reply){.rc = STORE_OK,
                                     .czxid = czxid,
                                     .mzxid = mzxid,
                                     .data = data,
                                     .length = (int)strlen(data)});
}

static void serve(void)
{
    const struct server *now = &story.server;
    char *names[] = {(char *)(uintptr_t)now->name};
    char *path = g_strconcat(ELECTION "/", now->name, NULL);

    fake_answer(STORE_SYNC, ELECTION, (struct store_reply){.rc = STORE_OK});
    while (fake_answer(
        STORE_LIST, ELECTION,
        (struct store_reply){
            .rc = STORE_OK, .names = names, .count = now->name != NULL, .pzxid = now->pzxid}))
        story.lists++;
    if (now->name)
        answer_read(path, now->token, now->token, now->name + 3); /* behind "_c_" */
    answer_read(ELECTION, 1, now->mzxid, now->data);
    zkl_session_dispatch(story.s);
    g_free(path);
}

static void pass(int ms)
{
    for (; ms > 0; ms -= STEP_MS) {
        hand_pass_proved(story.s, STEP_MS);
        serve();
    }
}

static void check_told(const char *text, const char *what)
{
    if (!CHECK_STR(story.told->str, text))
        runner_fail(__FILE__, __LINE__, "%s", what);
    g_string_truncate(story.told, 0);
}

static void begin(const struct server *server)
{
    story = (struct story){.s = hand_session(), .server = *server, .told = g_string_new(NULL)};
    hand_stand_alone(story.s);
    REQUIRE(zkl_election_new(&story.election, story.s, "/e", NULL, NULL) == 0);
    REQUIRE(zkl_election_watch(&story.watch, story.election, on_leader, NULL) == 0);
    pass(1000);
    g_string_truncate(story.told, 0);
    story.lists = 0;
}

static void end(void)
{
    zkl_watch_free(story.watch);
    zkl_election_free(story.election);
    hand_close(story.s);
    g_string_free(story.told, TRUE);
}

static void turn_to(const struct server *server)
{
    char *path = g_strconcat(ELECTION "/", story.server.name, NULL);

    story.server = *server;
    fake_fire(path, STORE_FIRED_GONE);
    g_free(path);
    pass(200);
}

/* What is older is told behind one session timeout on one connection: it is all there is. */
TEST_CASE(what_is_older_counts_in_the_end)
{
    static const struct {
        const char *what;
        struct server then;
        const char *told, *in_the_end;
    } rows[] = {
        {"an older list", {4, B, 4, "", 1}, "", "b4: "},
        {"an older list of nobody", {4, NULL, 0, "", 1}, "", "nobody "},
        {"others have written since, and it leads", {12, B, 4, "", 13}, "nobody ", "b4: "},
        {"the same, by a higher number", {12, C, 4, "", 13}, "nobody ", "c4: "},
        {"its token came again", {10, B, 9, "9\nnew", 11}, "nobody ", "b9:new "},
        {"what it proclaimed", {10, A, 9, "9\nold", 8}, "", "a9:old "},
        {"a newer one", {12, C, 12, "12\nx", 13}, "c12:x ", ""},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (int again = 0; again <= 1; again++) {
            begin(&at_first);
            story.server = rows[i].then;
            if (again)
                fake_reconnect();
            else
                fake_next_session();
            pass(FAKE_TIMEOUT_MS - 100);
            check_told(rows[i].told, rows[i].what);
            pass(FAKE_TIMEOUT_MS);
            check_told(rows[i].in_the_end, rows[i].what);
            const int lists = story.lists;
            pass(10 * FAKE_TIMEOUT_MS);
            check_told("", rows[i].what);
            CHECK_INT(story.lists, lists);
            end();
        }
    }
}

/* A leader that leads no more does not come back, unless it has in older data. */
TEST_CASE(one_that_was_gone_counts_in_the_end)
{
    static const struct server gone = {12, NULL, 0, "9\nnew", 11};

    begin(&at_first);
    turn_to(&gone);
    check_told("nobody ", "gone");
    story.server = at_first;
    fake_next_session();
    pass(FAKE_TIMEOUT_MS - 100);
    check_told("", "held back");
    pass(FAKE_TIMEOUT_MS);
    check_told("a9:new ", "told again");
    end();
}

/* At once, and 1, 3 and 7 s later; and the log says so once. */
TEST_CASE(it_is_read_less_and_less_often)
{
    begin(&at_first);
    story.server = (struct server){12, B, 4, "", 13};
    fake_next_session();
    pass(900);
    CHECK_INT(story.lists, 1);
    pass(FAKE_TIMEOUT_MS - 1000);
    CHECK_INT(story.lists, 4);
    end();
}

/* On one connection no server's data go back: what comes behind the leader told is no restored
 * one, but one that its number put there. */
TEST_CASE(the_present_connection_shows_nothing_restored)
{
    static const struct server lower = {12, B, 4, "", 13};

    for (int connections = 1; connections <= 2; connections++) {
        begin(&at_first);
        if (connections == 2) {
            fake_reconnect();
            pass(1000);
            check_told("", "seen on this connection, too");
        }
        turn_to(&lower);
        check_told("nobody ", "at once");
        pass(10 * FAKE_TIMEOUT_MS);
        check_told("", "ever");
        end();
    }
}

/* Where numbers are used up, who came later may be first. */
TEST_CASE(used_up_numbers_show_nothing)
{
    static const struct server rows[][2] = {
        {{10, A, 9, "", 11}, {12, USED_UP, 4, "", 13}},
        {{10, USED_UP, 9, "", 11}, {12, A, 4, "", 13}},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin(&rows[i][0]);
        story.server = rows[i][1];
        fake_next_session();
        pass(1000);
        check_told("nobody ", "at once");
        pass(10 * FAKE_TIMEOUT_MS);
        check_told("", "ever");
        end();
    }
}

/* A server that lagged catches up. */
TEST_CASE(newer_data_are_told_at_once)
{
    begin(&at_first);
    story.server = (struct server){4, B, 4, "", 1};
    fake_next_session();
    pass(500);
    story.server = (struct server){12, C, 12, "", 13};
    pass(1000);
    check_told("c12: ", "caught up");
    CHECK_INT(story.lists, 2);
    end();
}

/* Each connection may be to another server: its time begins anew. */
TEST_CASE(each_connection_is_given_time)
{
    static const struct server rows[] = {{4, B, 4, "", 1}, {12, B, 4, "", 13}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin(&at_first);
        story.server = rows[i];
        for (int k = 0; k < 3; k++) {
            fake_reconnect();
            pass(FAKE_TIMEOUT_MS - 1000);
            check_told(i > 0 && k == 0 ? "nobody " : "", "not long enough");
        }
        end();
    }
}
