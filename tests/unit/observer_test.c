/* Observers over a store that answers what the test says: what is told when, and when it is older.
 */
#include "by_hand.h"
#include "election_story.h"
#include "lib/queue/children_watch.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(observer);

static struct election_story st;

static zkl_watch *observe(struct election_story *s)
{
    zkl_watch *o;

    REQUIRE(zkl_election_watch(&o, s->election, election_on_leader, s) == 0);
    return o;
}

/* One name each, so that who is first is who is there. */
static void answer_list(const char *name)
{
    char *names[] = {(char *)(uintptr_t)name};

    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = names, .count = name ? 1 : 0);
}

#define A "_c_a-latch-0000000001"
#define B "_c_b-latch-0000000002"
#define LOCK "_c_c-lock-0000000000"

#define ANSWER_NODE(name, token, payload)                                                          \
    ANSWER(STORE_GET, PATH_OF(name), .rc = STORE_OK, .czxid = (token), .data = (payload),          \
           .length = (int)strlen(payload))

static void answer_data(const char *data)
{
    CHECK(fake_is_watching(STORE_GET, ELECTION));
    ANSWER(STORE_GET, ELECTION, .rc = STORE_OK, .data = data, .length = (int)strlen(data));
}

static void answer_query(const char *name, uint64_t token, const char *id, const char *data)
{
    char *path = g_strconcat(ELECTION "/", name, NULL);

    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(name);
    CHECK(fake_is_watching(STORE_GET, path));
    ANSWER(STORE_GET, path, .rc = STORE_OK, .czxid = token, .data = id, .length = (int)strlen(id));
    g_free(path);
    answer_data(data);
}

static zkl_watch *begin_with(struct election_story *s, const char *name, uint64_t token,
                             const char *id, const char *data)
{
    election_begin(s, NULL);
    zkl_watch *o = observe(s);
    answer_query(name, token, id, data);
    return o;
}

static void end(struct election_story *s, zkl_watch *o)
{
    zkl_watch_free(o);
    election_end(s);
}

#define OURS "_c_1b4e28ba-2fa1-81d2-883f-0016d3cca427-latch-0000000001"

/* A transaction of the leader's changes its node, not its id. */
TEST_CASE(transactions_unseen)
{
    zkl_watch *o = begin_with(&st, OURS, 5, "a", "");

    TOLD(&st, "a");
    fake_fire(PATH_OF(OURS), STORE_FIRED_CHANGED);
    ANSWER(STORE_GET, PATH_OF(OURS), .rc = STORE_OK, .version = 1, .czxid = 5,
           .data = "a\nzkl tx 1", .length = 11);
    election_flush(&st);
    TOLD(&st, "a");
    end(&st, o);
}

/* After a reconnect everything is looked at again, behind a sync; the same is not told again. */
TEST_CASE(reconnected)
{
    zkl_watch *o = begin_with(&st, A, 5, "a", "5\nx");

    TOLD(&st, "a=x");
    fake_reconnect();
    CHECK(!fake_is_asked(STORE_LIST, ELECTION));
    answer_query(A, 5, "a", "5\nx");
    election_flush(&st);
    TOLD(&st, "a=x");
    fake_reconnect();
    answer_query(B, 7, "b", "7\ny");
    TOLD(&st, "a=x b=y");
    end(&st, o);
}

/* If several changes come while the user is told, he is told the last. */
TEST_CASE(user_is_slow)
{
    static const struct {
        const char *name, *id;
    } next[] = {{B, "b"}, {"_c_c-latch-0000000003", "c"}, {"_c_d-latch-0000000004", "d"}};

    election_begin(&st, NULL);
    election_hold_up(&st, true);
    zkl_watch *o = observe(&st);
    answer_query(A, 5, "a", "");
    TOLD(&st, "a");
    for (unsigned i = 0; i < G_N_ELEMENTS(next); i++) {
        fake_reconnect();
        answer_query(next[i].name, 7 + i, next[i].id, "");
    }
    election_hold_up(&st, false);
    TOLD(&st, "a d");
    end(&st, o);
}

/* The servers' data have gone back. Lower tokens count in the next session, whether or not the
 * servers have since passed what the last session had seen. */
TEST_CASE(servers_have_gone_back)
{
    for (int passed = 0; passed <= 1; passed++) {
        zkl_watch *o = begin_with(&st, B, 5, "b", "");

        TOLD(&st, "b");
        fake_event(STORE_EV_DOWN);
        fake_event(STORE_EV_REFUSED);
        if (passed)
            fake_event(STORE_EV_SERVED);
        fake_next_session();
        answer_query(A, 2, "a", "");
        election_flush(&st);
        TOLD(&st, "b a");
        end(&st, o);
    }
}

/* Only what carries the leader's token is its own; and changes of it are told. */
TEST_CASE(whose_data)
{
    zkl_watch *o = begin_with(&st, A, 5, "a", "4\nold");

    TOLD(&st, "a");
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    answer_data("5\nnew");
    TOLD(&st, "a a=new");
    fake_fire(PATH_OF(A), STORE_FIRED_CHANGED); /* as proclaiming does */
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    ANSWER_NODE(A, 5, "a");
    answer_data("5\nnewer");
    TOLD(&st, "a a=new a=newer");
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    answer_data("7\nof the next"); /* which is not seen yet */
    TOLD(&st, "a a=new a=newer a");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    answer_list(B);
    ANSWER_NODE(B, 7, "b"); /* its watch stands: nothing is read again */
    TOLD(&st, "a a=new a=newer a b=of the next");
    CHECK(!fake_is_asked(STORE_GET, ELECTION));
    end(&st, o);
}

/* Nobody: by a watch on the children, or on the path's coming. Other layouts are nobody. */
TEST_CASE(nobody)
{
    election_begin(&st, NULL);
    zkl_watch *o = observe(&st);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NONODE);
    CHECK(fake_is_watching(STORE_STAT, ELECTION));
    ANSWER(STORE_STAT, ELECTION, .rc = STORE_NONODE);
    TOLD(&st, "nobody");
    fake_fire(ELECTION, STORE_FIRED_CREATED);
    CHECK(!fake_is_watching(STORE_LIST, ELECTION));
    answer_list(LOCK);
    CHECK(fake_is_watching(STORE_LIST, ELECTION));
    answer_list(LOCK);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_list(A);
    ANSWER_NODE(A, 5, "a");
    answer_data("");
    TOLD(&st, "nobody a");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    answer_list(NULL);
    answer_list(NULL);
    TOLD(&st, "nobody a nobody");
    fake_fire(ELECTION, STORE_FIRED_GONE); /* the directory: both of its watches */
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, ELECTION, .rc = STORE_OK); /* made anew just then */
    answer_list(B);
    ANSWER_NODE(B, 7, "b");
    answer_data("");
    TOLD(&st, "nobody a nobody b");
    end(&st, o);
}

/* A watch set for an observer that is gone by then is removed; one on the children leaves that on
 * the node alone. */
TEST_CASE(watches_are_removed)
{
    election_begin(&st, NULL);
    zkl_watch *o = observe(&st);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    answer_list(A);
    zkl_watch_free(o);
    CHECK_INT(fake_count(STORE_UNWATCH, ELECTION), 0);
    ANSWER_NODE(A, 5, "a");
    CHECK(fake_is_asked(STORE_UNWATCH, PATH_OF(A)));
    ANSWER(STORE_GET, ELECTION, .rc = STORE_NONODE); /* it left none */
    CHECK_INT(fake_count(STORE_UNWATCH, ELECTION), 1);
    election_flush(&st);
    TOLD(&st, "");
    election_end(&st);
}

static void *free_observer(void *o)
{
    zkl_watch_free(o);
    return NULL;
}

static const struct children_watch *watch_of(const zkl_watch *o)
{
    return (const struct children_watch *)o;
}

static bool is_stopped(struct election_story *s, const zkl_watch *o)
{
    session_lock(s->session);
    bool stopped = watch_of(o)->stopped;
    session_unlock(s->session);
    return stopped;
}

/* What is queued behind the call under way is not told any more. */
TEST_CASE(freed_with_more_to_tell)
{
    zkl_watch *o = begin_with(&st, A, 5, "a", "");
    pthread_t thread;

    TOLD(&st, "a");
    election_hold_up(&st, true);
    fake_fire(ELECTION, STORE_FIRED_CHANGED);
    answer_data("5\nx");
    TOLD(&st, "a a=x");
    fake_fire(PATH_OF(A), STORE_FIRED_GONE);
    answer_list(B);
    ANSWER_NODE(B, 7, "b");
    REQUIRE(pthread_create(&thread, NULL, free_observer, o) == 0);
    while (!is_stopped(&st, o))
        g_usleep(1000);
    election_hold_up(&st, false);
    pthread_join(thread, NULL);
    election_flush(&st);
    TOLD(&st, "a a=x");
    election_end(&st);
}

/* The session's end is the observer's, also between two tries. */
TEST_CASE(closed_in_a_pause)
{
    election_begin(&st, NULL);
    zkl_watch *o = observe(&st);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    zkl_session_close(st.session);
    st.session = NULL;
    CHECK(watch_of(o)->stopped && !watch_of(o)->driver.timer->at);
    end(&st, o);
}

/* ---- a server that lags, or whose data have gone back: older than what was seen ---- */

#define OLDER_ELECTION "/root/e"
#define OLDER_A "_c_a-latch-0000000003"
#define OLDER_B "_c_b-latch-0000000002"
#define OLDER_C "_c_c-latch-0000000005"
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

static const struct server at_first = {10, OLDER_A, 9, "9\nnew", 11};

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
    char *path = g_strconcat(OLDER_ELECTION "/", now->name, NULL);

    fake_answer(STORE_SYNC, OLDER_ELECTION, (struct store_reply){.rc = STORE_OK});
    while (fake_answer(
        STORE_LIST, OLDER_ELECTION,
        (struct store_reply){
            .rc = STORE_OK, .names = names, .count = now->name != NULL, .pzxid = now->pzxid}))
        story.lists++;
    if (now->name)
        answer_read(path, now->token, now->token, now->name + 3); /* behind "_c_" */
    answer_read(OLDER_ELECTION, 1, now->mzxid, now->data);
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

static void begin_older(const struct server *server)
{
    story = (struct story){.s = hand_session(), .server = *server, .told = g_string_new(NULL)};
    hand_stand_alone(story.s);
    REQUIRE(zkl_election_new(&story.election, story.s, "/e", NULL, NULL) == 0);
    REQUIRE(zkl_election_watch(&story.watch, story.election, on_leader, NULL) == 0);
    pass(1000);
    g_string_truncate(story.told, 0);
    story.lists = 0;
}

static void end_older(void)
{
    zkl_watch_free(story.watch);
    zkl_election_free(story.election);
    hand_close(story.s);
    g_string_free(story.told, TRUE);
}

static void turn_to(const struct server *server)
{
    char *path = g_strconcat(OLDER_ELECTION "/", story.server.name, NULL);

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
        {"an older list", {4, OLDER_B, 4, "", 1}, "", "b4: "},
        {"an older list of nobody", {4, NULL, 0, "", 1}, "", "nobody "},
        {"others have written since, and it leads", {12, OLDER_B, 4, "", 13}, "nobody ", "b4: "},
        {"the same, by a higher number", {12, OLDER_C, 4, "", 13}, "nobody ", "c4: "},
        {"its token came again", {10, OLDER_B, 9, "9\nnew", 11}, "nobody ", "b9:new "},
        {"what it proclaimed", {10, OLDER_A, 9, "9\nold", 8}, "", "a9:old "},
        {"a newer one", {12, OLDER_C, 12, "12\nx", 13}, "c12:x ", ""},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        for (int again = 0; again <= 1; again++) {
            begin_older(&at_first);
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
            end_older();
        }
    }
}

/* OLDER_A leader that leads no more does not come back, unless it has in older data. */
TEST_CASE(one_that_was_gone_counts_in_the_end)
{
    static const struct server gone = {12, NULL, 0, "9\nnew", 11};

    begin_older(&at_first);
    turn_to(&gone);
    check_told("nobody ", "gone");
    story.server = at_first;
    fake_next_session();
    pass(FAKE_TIMEOUT_MS - 100);
    check_told("", "held back");
    pass(FAKE_TIMEOUT_MS);
    check_told("a9:new ", "told again");
    end_older();
}

/* At once, and 1, 3 and 7 s later; and the log says so once. */
TEST_CASE(it_is_read_less_and_less_often)
{
    begin_older(&at_first);
    story.server = (struct server){12, OLDER_B, 4, "", 13};
    fake_next_session();
    pass(900);
    CHECK_INT(story.lists, 1);
    pass(FAKE_TIMEOUT_MS - 1000);
    CHECK_INT(story.lists, 4);
    end_older();
}

/* On one connection no server's data go back: what comes behind the leader told is no restored
 * one, but one that its number put there. */
TEST_CASE(the_present_connection_shows_nothing_restored)
{
    static const struct server lower = {12, OLDER_B, 4, "", 13};

    for (int connections = 1; connections <= 2; connections++) {
        begin_older(&at_first);
        if (connections == 2) {
            fake_reconnect();
            pass(1000);
            check_told("", "seen on this connection, too");
        }
        turn_to(&lower);
        check_told("nobody ", "at once");
        pass(10 * FAKE_TIMEOUT_MS);
        check_told("", "ever");
        end_older();
    }
}

/* Where numbers are used up, who came later may be first. */
TEST_CASE(used_up_numbers_show_nothing)
{
    static const struct server rows[][2] = {
        {{10, OLDER_A, 9, "", 11}, {12, USED_UP, 4, "", 13}},
        {{10, USED_UP, 9, "", 11}, {12, OLDER_A, 4, "", 13}},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_older(&rows[i][0]);
        story.server = rows[i][1];
        fake_next_session();
        pass(1000);
        check_told("nobody ", "at once");
        pass(10 * FAKE_TIMEOUT_MS);
        check_told("", "ever");
        end_older();
    }
}

/* OLDER_A server that lagged catches up. */
TEST_CASE(newer_data_are_told_at_once)
{
    begin_older(&at_first);
    story.server = (struct server){4, OLDER_B, 4, "", 1};
    fake_next_session();
    pass(500);
    story.server = (struct server){12, OLDER_C, 12, "", 13};
    pass(1000);
    check_told("c12: ", "caught up");
    CHECK_INT(story.lists, 2);
    end_older();
}

/* Each connection may be to another server: its time begins anew. */
TEST_CASE(each_connection_is_given_time)
{
    static const struct server rows[] = {{4, OLDER_B, 4, "", 1}, {12, OLDER_B, 4, "", 13}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_older(&at_first);
        story.server = rows[i];
        for (int k = 0; k < 3; k++) {
            fake_reconnect();
            pass(FAKE_TIMEOUT_MS - 1000);
            check_told(i > 0 && k == 0 ? "nobody " : "", "not long enough");
        }
        end_older();
    }
}
