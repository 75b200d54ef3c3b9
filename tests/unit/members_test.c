/* The members of a group: what an observer reads again when, what it tells, and who reads them
 * once. */
#include "by_hand.h"
#include "lib/session/participant.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(members);

#define GROUP "/root/g"

/* What is asked about the group, and what an observer is told: one at a time. */
static struct {
    zkl_session *s;
    zkl_watch *watch;
    GString *told;
    char log[256];
} observed;

/* "+a=1 ~b=2 -a=1 1": joined, changed, left, and how many there are. */
static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    static const char signs[] = " +-~";
    GString *text = data;

    if (text->len > 0)
        g_string_append_c(text, ' ');
    CHECK_INT(member == NULL, event == ZKL_MEMBERS_ALL);
    CHECK_INT(all == NULL, event != ZKL_MEMBERS_ALL);
    if (event == ZKL_MEMBERS_ALL)
        g_string_append_printf(text, "%zu", zkl_members_count(all));
    else
        g_string_append_printf(text, "%c%s=%s", signs[event], member->id,
                               (const char *)member->data);
}

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_strlcat(observed.log, record->text, sizeof observed.log);
}

static void open_session(void)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    observed.log[0] = '\0';
    o.log = on_log;
    observed.s = hand_session_with(&o);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void observe_as(zkl_member_layout layout)
{
    open_session();
    observed.told = g_string_new(NULL);
    REQUIRE(zkl_members_watch(&observed.watch, observed.s, "/g", layout, on_members,
                              observed.told) == 0);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
}

static void observe(void)
{
    observe_as(ZKL_MEMBER_GROUP);
}

static void end(void)
{
    zkl_watch_free(observed.watch);
    hand_close(observed.s);
    g_string_free(observed.told, TRUE);
}

static void check_told(const char *words)
{
    zkl_session_dispatch(observed.s);
    CHECK_STR(observed.told->str, words);
    g_string_truncate(observed.told, 0);
}

/* Children by names, with blanks between them. */
static void answer_list(uint64_t pzxid, const char *names)
{
    char **list = g_strsplit(names, " ", -1);
    const int count = *names ? (int)g_strv_length(list) : 0;

    CHECK(fake_is_watching(STORE_LIST, GROUP));
    ANSWER(STORE_LIST, GROUP, .rc = STORE_OK, .names = list, .count = count, .pzxid = pzxid);
    g_strfreev(list);
}

static void answer_node(const char *name, uint64_t czxid, uint64_t mzxid, const char *data)
{
    char *path = g_strconcat(GROUP "/", name, NULL);

    CHECK(fake_is_watching(STORE_GET, path));
    ANSWER(STORE_GET, path, .rc = STORE_OK, .czxid = czxid, .mzxid = mzxid, .data = data,
           .length = (int)strlen(data));
    g_free(path);
}

/* "a" and "b", whose nodes are 5 and 6, and of whom the observer has told. */
static void observe_two(void)
{
    observe();
    answer_list(9, "b a");
    answer_node("a", 5, 5, "1");
    check_told("");
    answer_node("b", 6, 6, "1");
    check_told("+a=1 +b=1 2");
}

static void change(const char *name)
{
    char *path = g_strconcat(GROUP "/", name, NULL);

    fake_watch(path, false);
    g_free(path);
}

/* The next list comes 100 ms after the last, and 0.1 ms for each of so many members. */
static void check_rests(int members)
{
    hand_pass(observed.s, 100);
    CHECK_INT(fake_is_asked(STORE_LIST, GROUP), members == 0);
    hand_pass(observed.s, 1);
    CHECK(fake_is_asked(STORE_LIST, GROUP));
}

TEST_CASE(nobody_is_there)
{
    observe();
    answer_list(1, "");
    check_told("0");
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    check_rests(0);
    answer_list(2, "");
    check_told("");
    end();
    observe();
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, GROUP, .rc = STORE_NONODE);
    check_told("0");
    end();
}

/* In the order in which they came, and those that left before. */
TEST_CASE(tells_in_order)
{
    observe();
    answer_list(9, "a b c");
    answer_node("a", 7, 7, "x");
    answer_node("b", 5, 9, "y");
    answer_node("c", 6, 6, "z");
    check_told("+b=y +c=z +a=x 3");
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    check_rests(3);
    answer_list(20, "a d e");
    answer_node("d", 20, 20, "v");
    change("a");
    answer_node("e", 19, 19, "w");
    check_told("-b=y -c=z +e=w +d=v 3");
    check_rests(3);
    answer_list(20, "a d e");
    answer_node("a", 7, 21, "u");
    check_told("~a=u 3");
    end();
}

/* Only what is new, or was changed, is read. */
TEST_CASE(reads_what_has_changed)
{
    observe_two();
    change("a");
    CHECK(!fake_is_asked(STORE_GET, GROUP));
    check_rests(2);
    answer_list(9, "a b");
    CHECK(!fake_is_asked(STORE_GET, GROUP "/b"));
    answer_node("a", 5, 8, "2");
    check_told("~a=2 2");
    hand_pass(observed.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    fake_fire(GROUP, STORE_FIRED_CHILDREN); /* at once, after a pause */
    answer_list(10, "a b c");
    CHECK_INT(fake_count(STORE_GET, GROUP), 1);
    answer_node("c", 10, 10, "3");
    check_told("+c=3 3");
    end();
}

/* What has gone is told as it was told before, and forgotten. */
TEST_CASE(tells_who_left)
{
    observe_two();
    fake_watch(GROUP "/a", true);
    CHECK(!fake_is_asked(STORE_LIST, GROUP)); /* the watch on the children fires, too */
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    check_rests(2);
    answer_list(10, "b");
    CHECK(!fake_is_asked(STORE_GET, GROUP));
    check_told("-a=1 1");
    hand_pass(observed.s, 1000);
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    answer_list(11, "a b");
    answer_node("a", 11, 11, "3");
    check_told("+a=3 2");
    fake_fire(GROUP "/b", STORE_FIRED_GONE);
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    check_rests(2);
    answer_list(13, "a b"); /* made anew meanwhile */
    answer_node("b", 12, 12, "4");
    check_told("-b=1 +b=4 2");
    fake_fire(GROUP, STORE_FIRED_GONE);
    check_rests(2);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, GROUP, .rc = STORE_NONODE);
    zkl_session_dispatch(observed.s);
    CHECK(strcmp(observed.told->str, "-a=3 -b=4 0") == 0 ||
          strcmp(observed.told->str, "-b=4 -a=3 0") == 0);
    g_string_truncate(observed.told, 0);
    end();
}

/* It was in the list, and is gone. */
TEST_CASE(is_gone_when_it_is_read)
{
    observe();
    answer_list(9, "a b");
    answer_node("a", 5, 5, "1");
    ANSWER(STORE_GET, GROUP "/b", .rc = STORE_NONODE);
    check_told("+a=1 1");
    hand_pass(observed.s, 1000);
    change("a");
    answer_list(9, "a b"); /* made anew: it has no watch */
    answer_node("b", 8, 8, "2");
    answer_node("a", 5, 5, "1");
    check_told("+b=2 2");
    hand_pass(observed.s, 1000);
    change("b");
    answer_list(9, "a b");
    ANSWER(STORE_GET, GROUP "/b", .rc = STORE_NONODE);
    check_told("-b=2 1");
    end();
}

/* Its watch fires while it is being read, or others are. */
TEST_CASE(changes_while_they_are_read)
{
    observe();
    answer_list(9, "a b");
    answer_node("a", 5, 5, "1");
    change("a");
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    answer_node("b", 6, 6, "1");
    check_told("+a=1 +b=1 2");
    check_rests(2);
    answer_list(9, "a b");
    answer_node("a", 5, 7, "2");
    check_told("~a=2 2");
    hand_pass(observed.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    end();
}

/* What is found while the last calls are still to come is told together. */
TEST_CASE(is_told_slowly)
{
    observe();
    answer_list(9, "a");
    answer_node("a", 5, 5, "1");
    hand_pass(observed.s, 1000);
    change("a");
    answer_list(9, "a");
    answer_node("a", 5, 6, "2");
    change("a");
    CHECK(!fake_is_asked(STORE_LIST, GROUP)); /* what was read is told first */
    check_told("+a=1 1");
    check_told("~a=2 1");
    check_rests(1);
    answer_list(9, "a");
    answer_node("a", 5, 7, "3");
    check_told("~a=3 1");
    end();
}

/* Neither told nor forgotten: it is tried again, and observed.log. */
TEST_CASE(may_not_be_read)
{
    observe_two();
    hand_pass(observed.s, 1000);
    change("a");
    answer_list(9, "a b");
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_NOAUTH);
    check_told("");
    CHECK(strstr(observed.log, "watching the members: the server refused") != NULL);
    change("b"); /* is seen then, too */
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    hand_pass(observed.s, 999);
    CHECK(!fake_is_asked(STORE_SYNC, GROUP));
    hand_pass(observed.s, 1);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    answer_list(9, "a b");
    answer_node("a", 5, 7, "2");
    answer_node("b", 6, 8, "2");
    check_told("~a=2 ~b=2 2");
    end();
}

/* Nobody is told without it: the first list is not complete. */
TEST_CASE(may_not_be_read_at_first)
{
    observe();
    answer_list(9, "a b");
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_NOAUTH);
    answer_node("b", 6, 6, "1");
    check_told("");
    hand_pass(observed.s, 1000);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    answer_list(9, "a b");
    CHECK(!fake_is_asked(STORE_GET, GROUP "/b"));
    answer_node("a", 5, 5, "1");
    check_told("+a=1 +b=1 2");
    end();
}

/* In the next session all is read again, and differences are told. */
TEST_CASE(in_the_next_session)
{
    observe_two();
    hand_pass(observed.s, 1000);
    change("a");
    answer_list(9, "a b");
    fake_next_session();
    check_told("");
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    answer_list(10, "b c");
    answer_node("c", 10, 10, "1");
    answer_node("b", 6, 8, "2");
    check_told("-a=1 ~b=2 +c=1 2");
    end();
}

/* An older answer is none, unless the servers' data have gone back. */
TEST_CASE(data_go_back)
{
    for (int back = 0; back < 2; back++) {
        observe();
        answer_list(9, "a");
        answer_node("a", 5, 8, "2");
        check_told("+a=2 1");
        hand_pass(observed.s, 1000);
        if (back) {
            session_lock(observed.s);
            participants_tell(observed.s, NEWS_REWOUND);
            session_unlock(observed.s);
        }
        change("a");
        answer_list(back ? 7 : 9, "a");
        answer_node("a", 5, 6, "1");
        check_told(back ? "~a=1 1" : "");
        end();
    }
}

/* Other children of a party are none; ids are what they hold. */
TEST_CASE(of_a_party)
{
    observe_as(ZKL_MEMBER_PARTY);
    answer_list(9, "0__party__ other");
    CHECK(!fake_is_asked(STORE_GET, GROUP "/other"));
    answer_node("0__party__", 5, 5, "me");
    zkl_session_dispatch(observed.s);
    CHECK_STR(observed.told->str, "+me=me 1");
    g_string_truncate(observed.told, 0);
    end();
}

/* When there is no room for the watch of a member, that member is read with each list. Such watches
 * may take half of the room; the other half is for watches that are indispensable, like the
 * list's. */
TEST_CASE(too_much_is_watched)
{
    observe();
    observed.s->watched_bytes += 256 * 1024;
    answer_list(9, "a");
    CHECK(!fake_is_watching(STORE_GET, GROUP "/a"));
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_OK, .czxid = 5, .mzxid = 5, .data = "1", .length = 1);
    check_told("+a=1 1");
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    check_rests(1);
    CHECK(fake_is_watching(STORE_LIST, GROUP));
    observed.s->watched_bytes -= 256 * 1024;
    answer_list(9, "a");
    answer_node("a", 5, 6, "2");
    check_told("~a=2 1");
    end();
}

/* What is being read is not asked for again, whatever is listed meanwhile. */
TEST_CASE(is_listed_while_it_is_read)
{
    observe();
    observed.s->watched_bytes += 256 * 1024;
    answer_list(9, "a");
    fake_reconnect();
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    answer_list(9, "a");
    CHECK_INT(fake_count(STORE_GET, GROUP), 1);
    ANSWER(STORE_GET, GROUP "/a", .rc = STORE_OK, .czxid = 5, .mzxid = 5, .data = "1", .length = 1);
    check_told("+a=1 1");
    observed.s->watched_bytes -= 256 * 1024;
    end();
}

/* Nothing is left of it. */
TEST_CASE(ends)
{
    observe_two();
    zkl_watch_free(g_steal_pointer(&observed.watch));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP "/a"));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP "/b"));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP));
    change("a");
    hand_pass(observed.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    end();
    observe();
    answer_list(9, "a");
    zkl_watch_free(g_steal_pointer(&observed.watch));
    answer_node("a", 5, 5, "1");
    check_told("");
    end();
    observe_two(); /* at once, even while one is read */
    hand_pass(observed.s, 1000);
    change("a");
    answer_list(9, "a b");
    zkl_watch_free(g_steal_pointer(&observed.watch));
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP "/b"));
    answer_node("a", 5, 7, "2");
    check_told("");
    end();
}

/* ---- reading the members once, and calls that are refused at once ---- */

TEST_CASE(bad_observers)
{
    zkl_watch *w = NULL;

    open_session();
    observed.told = g_string_new(NULL);
    CHECK_INT(zkl_members_watch(&w, NULL, "/g", ZKL_MEMBER_GROUP, on_members, observed.told),
              ZKL_EINVAL);
    CHECK_INT(zkl_members_watch(&w, observed.s, "g", ZKL_MEMBER_GROUP, on_members, observed.told),
              ZKL_EINVAL);
    CHECK_INT(zkl_members_watch(&w, observed.s, "/g", ZKL_MEMBER_GROUP, NULL, observed.told),
              ZKL_EINVAL);
    for (int layout = -1; layout <= 2; layout += 3) {
        CHECK_INT(zkl_members_watch(&w, observed.s, "/g", (zkl_member_layout)layout, on_members,
                                    observed.told),
                  ZKL_EINVAL);
    }
    CHECK(w == NULL && !fake_is_asked(STORE_SYNC, GROUP));
    CHECK_INT(
        zkl_members_watch(NULL, observed.s, "/g", ZKL_MEMBER_GROUP, on_members, observed.told), 0);
    CHECK_INT(zkl_members_watch(&observed.watch, observed.s, "/g", ZKL_MEMBER_GROUP, on_members,
                                observed.told),
              0);
    session_ref(observed.s);
    hand_close(observed.s);
    CHECK_INT(zkl_members_watch(&w, observed.s, "/g", ZKL_MEMBER_GROUP, on_members, observed.told),
              ZKL_ECLOSED);
    zkl_watch_free(observed.watch);
    session_unref(observed.s);
    g_string_free(observed.told, TRUE);
}

/* ---- reading ---- */

static enum store_rc refusal; /* of c */

static bool answer_at_once(const struct store_request *r, struct store_reply *reply)
{
    static char *const names[] = {(char *)(uintptr_t) "1__party__b", (char *)(uintptr_t) "c",
                                  (char *)(uintptr_t) "0__party__a", (char *)(uintptr_t) "\xff"};

    *reply = (struct store_reply){.rc = STORE_OK};
    if (r->kind == STORE_LIST) {
        CHECK(!r->watch);
        reply->names = names;
        reply->count = G_N_ELEMENTS(names);
    } else if (r->kind == STORE_GET) {
        CHECK(!r->watch);
        *reply = (struct store_reply){.rc = g_str_has_suffix(r->path, "/c") ? refusal : STORE_OK,
                                      .czxid = (uint64_t)strlen(r->path),
                                      .ctime_ms = 77,
                                      .ephemeral_owner = 88,
                                      .data = "m\xff",
                                      .length = g_str_has_suffix(r->path, "\xff") ? -1 : 2};
    }
    return true;
}

TEST_CASE(reads_once)
{
    zkl_members *ms;

    open_session();
    refusal = STORE_OK;
    fake_answer_at_once(answer_at_once);
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_GROUP, 1000) == 0);
    CHECK_INT(zkl_members_count(ms), 4);
    CHECK_STR(zkl_members_get(ms, 0)->id, "0__party__a");
    CHECK_STR(zkl_members_get(ms, 1)->id, "1__party__b");
    CHECK_STR(zkl_members_get(ms, 2)->id, "c");
    const zkl_member_info *last = zkl_members_get(ms, 3);
    CHECK_STR(last->id, "\xef\xbf\xbd");
    CHECK_STR(last->node, "\xff");
    CHECK(last->size == 0 && last->data != NULL);
    const zkl_member_info *c = zkl_members_get(ms, 2);
    CHECK_INT(c->size, 2);
    CHECK(memcmp(c->data, "m\xff", 3) == 0);
    CHECK(c->token == strlen(GROUP "/c") && c->session_id == 88 && c->ctime_ms == 77);
    CHECK(zkl_members_get(ms, 4) == NULL && zkl_members_get(NULL, 0) == NULL);
    CHECK_INT(zkl_members_count(NULL), 0);
    zkl_members_free(ms);
    zkl_members_free(NULL);
    refusal = STORE_NONODE;
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_GROUP, 1000) == 0);
    CHECK_INT(zkl_members_count(ms), 3);
    zkl_members_free(ms);
    refusal = STORE_NOAUTH;
    CHECK_INT(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_GROUP, 1000), ZKL_EACCES);
    fake_answer_at_once(NULL);
    hand_close(observed.s);
}

/* ---- reading in another thread ---- */

struct reading {
    const char *path;
    zkl_members *ms;
    zkl_error why;
    pthread_t thread;
};

static void *run(void *data)
{
    struct reading *r = data;

    if (zkl_members_read(&r->ms, observed.s, r->path, ZKL_MEMBER_GROUP, 5000) != 0)
        zkl_last_error(&r->why);
    return NULL;
}

static void begin_reading(struct reading *r, const char *path, const char *asked)
{
    *r = (struct reading){.path = path};
    REQUIRE(pthread_create(&r->thread, NULL, run, r) == 0);
    fake_await(STORE_SYNC, asked);
}

static void end_reading(struct reading *r, int code)
{
    pthread_join(r->thread, NULL);
    CHECK_INT(r->why.code, code);
    CHECK(r->ms == NULL);
}

TEST_CASE(reads_in_vain)
{
    char *late[] = {(char *)(uintptr_t) "a"};
    struct reading r;

    open_session();
    begin_reading(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NOAUTH);
    end_reading(&r, ZKL_EACCES);
    CHECK_STR(r.why.text, "/g: the server refused to list the children of it: the permission read "
                          "(r) is missing");
    begin_reading(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_BAD);
    end_reading(&r, ZKL_EPROTO);
    observed.s->watched_bytes += 512 * 1024;
    begin_reading(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    end_reading(&r, ZKL_ELIMIT);
    observed.s->watched_bytes -= 512 * 1024;
    zkl_session_dispatch(observed.s);
    CHECK_STR(observed.log, ""); /* whoever reads is told */
    begin_reading(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    hand_pass(observed.s, 5000);
    end_reading(&r, ZKL_ETIMEDOUT);
    CHECK(!fake_is_watching(STORE_LIST, GROUP));
    ANSWER(STORE_LIST, GROUP, .rc = STORE_OK, .names = late, .count = 1); /* nobody waits for it */
    CHECK(!fake_is_asked(STORE_GET, GROUP "/a"));
    hand_close(observed.s);
}

/* A session that is closed tells its observers first, or its calls, depending on which of them it
 * had first. Both orders are played. */
TEST_CASE(closing_ends_a_read)
{
    for (int first = 0; first < 2; first++) {
        struct reading r;

        open_session();
        if (first)
            CHECK_INT(zkl_members_watch(NULL, observed.s, "/g", ZKL_MEMBER_GROUP, on_members, NULL),
                      0);
        begin_reading(&r, "/h", "/root/h");
        hand_close(observed.s);
        end_reading(&r, ZKL_ECLOSED);
    }
}

/* By ids, and those of one id by nodes. */
TEST_CASE(reads_a_party)
{
    zkl_members *ms = NULL;

    open_session();
    fake_answer_at_once(answer_at_once);
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_PARTY, 1000) == 0);
    fake_answer_at_once(NULL);
    REQUIRE(zkl_members_count(ms) == 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_STR(zkl_members_get(ms, i)->id, "m\xef\xbf\xbd");
        CHECK_STR(zkl_members_get(ms, i)->node, i == 0 ? "0__party__a" : "1__party__b");
        CHECK_INT(zkl_members_get(ms, i)->size, 0);
    }
    zkl_members_free(ms);
    CHECK_INT(zkl_members_read(NULL, observed.s, "/g", ZKL_MEMBER_GROUP, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, observed.s, "g", ZKL_MEMBER_GROUP, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, observed.s, "/g", (zkl_member_layout)2, 0), ZKL_EINVAL);
    hand_close(observed.s);
}

enum { STEP_MS = 50 };

/* ---- a server that lags, or whose data have gone back ---- */

/* The server, and what is told of it. */
static struct lagging {
    zkl_session *s;
    zkl_watch *watch;
    uint64_t pzxid, czxid, mzxid;
    int64_t owner; /* its session */
    const char *data;
    int lists, reads;
    GString *told;
} lagging;

static void on_older(zkl_members_event event, const zkl_member_info *member, const zkl_members *all,
                     void *data)
{
    static const char signs[] = " +-~=";
    const zkl_member_info *m = all ? zkl_members_get(all, 0) : member;

    (void)data;
    g_string_append_printf(lagging.told, "%c%d:%.*s ", signs[event], m ? (int)m->token : 0,
                           m ? (int)m->size : 0, m ? (const char *)m->data : "");
}

static void serve(void)
{
    static char member[] = "m";
    char *names[] = {member};

    fake_answer(STORE_SYNC, GROUP, (struct store_reply){.rc = STORE_OK});
    if (fake_answer(STORE_LIST, GROUP,
                    (struct store_reply){.rc = STORE_OK,
                                         .names = names,
                                         .count = lagging.czxid != 0,
                                         .pzxid = lagging.pzxid}))
        lagging.lists++;
    if (fake_answer(STORE_GET, GROUP "/m",
                    (struct store_reply){.rc = STORE_OK,
                                         .czxid = lagging.czxid,
                                         .mzxid = lagging.mzxid,
                                         .ephemeral_owner = lagging.owner,
                                         .data = lagging.data,
                                         .length = (int)strlen(lagging.data)}))
        lagging.reads++;
    zkl_session_dispatch(lagging.s);
}

static void pass(int ms)
{
    for (; ms > 0; ms -= STEP_MS) {
        hand_pass_proved(lagging.s, STEP_MS);
        serve();
    }
}

#define TOLD(text)                                                                                 \
    do {                                                                                           \
        CHECK_STR(lagging.told->str, text);                                                        \
        g_string_truncate(lagging.told, 0);                                                        \
    } while (0)

/* One member, which has been told; then another connection. */
static void begin_older(void)
{
    lagging = (struct lagging){.s = hand_session(),
                               .pzxid = 7,
                               .czxid = 5,
                               .mzxid = 9,
                               .data = "new",
                               .told = g_string_new(NULL)};
    hand_stand_alone(lagging.s);
    REQUIRE(zkl_members_watch(&lagging.watch, lagging.s, "/g", ZKL_MEMBER_GROUP, on_older, NULL) ==
            0);
    pass(1000);
    TOLD("+5:new =5:new ");
    CHECK_INT(lagging.lists, 1);
    CHECK_INT(lagging.reads, 1);
    lagging.lists = lagging.reads = 0;
}

static void end_older(void)
{
    zkl_watch_free(lagging.watch);
    hand_close(lagging.s);
    g_string_free(lagging.told, TRUE);
}

/* At once, and 1, 3 and 7 s later; none of it is told. */
TEST_CASE(older_lists_are_read_less_and_less_often)
{
    begin_older();
    lagging.pzxid = 4;
    lagging.czxid = 0;
    fake_reconnect();
    pass(900);
    CHECK_INT(lagging.lists, 1);
    pass(FAKE_TIMEOUT_MS - 1000);
    CHECK_INT(lagging.lists, 4);
    CHECK_INT(lagging.reads, 0);
    TOLD("");
    end_older();
}

/* Behind one session timeout it is all there is: of a list, of members alone, and of members that
 * are watched, but not by a server that has forgotten their data. */
TEST_CASE(what_is_older_counts_in_the_end)
{
    static const struct {
        uint64_t pzxid, czxid, mzxid;
        bool same_session;
        int lists, reads; /* before that; -1: any */
        const char *told;
    } rows[] = {{4, 4, 4, false, -1, -1, "-5:new +4:old =4:old "},
                {7, 5, 6, false, 4, 4, "~5:old =5:old "},
                {4, 5, 6, true, -1, 0, "~5:old =5:old "}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_older();
        lagging.pzxid = rows[i].pzxid;
        lagging.czxid = rows[i].czxid;
        lagging.mzxid = rows[i].mzxid;
        lagging.data = "old";
        if (rows[i].same_session)
            fake_reconnect();
        else
            fake_next_session();
        pass(FAKE_TIMEOUT_MS - 100);
        TOLD("");
        CHECK_INT(lagging.lists, rows[i].lists < 0 ? lagging.lists : rows[i].lists);
        CHECK_INT(lagging.reads, rows[i].reads < 0 ? lagging.reads : rows[i].reads);
        pass(FAKE_TIMEOUT_MS);
        TOLD(rows[i].told);
        const int lists = lagging.lists, reads = lagging.reads;
        CHECK(lists == 5 && (!rows[i].same_session || reads == 1));
        pass(10 * FAKE_TIMEOUT_MS);
        CHECK_INT(lagging.lists, lists);
        end_older();
    }
}

/* A server that lagged catches up. */
TEST_CASE(newer_data_are_told_at_once)
{
    begin_older();
    lagging.pzxid = 4;
    lagging.czxid = 0;
    fake_next_session();
    pass(500);
    lagging.pzxid = 11;
    lagging.czxid = 5;
    lagging.mzxid = 10;
    lagging.data = "newer";
    pass(1000);
    TOLD("~5:newer =5:newer ");
    CHECK_INT(lagging.lists, 2);
    end_older();
}

/* Each connection may be to another server: its time begins anew. */
TEST_CASE(each_connection_is_given_time)
{
    begin_older();
    lagging.pzxid = 4;
    lagging.czxid = 0;
    for (int i = 0; i < 3; i++) {
        fake_reconnect();
        pass(FAKE_TIMEOUT_MS - 1000);
        TOLD("");
    }
    end_older();
}

/* A session that was refused before it was let in, and has a member, so that it goes on: what it
 * watches is read again, and told at once. */
TEST_CASE(refused_sessions_read_all_again)
{
    zkl_member *m;

    begin_older();
    REQUIRE(zkl_member_join(&m, lagging.s, "/h", "a", NULL, 0, NULL) == 0);
    ANSWER(STORE_CREATE, "/root/h/a", .rc = STORE_OK, .czxid = 10);
    lagging.mzxid = 6;
    lagging.data = "old";
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_REFUSED);
    fake_event(STORE_EV_UP);
    pass(500);
    TOLD("~5:old =5:old ");
    CHECK_INT(lagging.reads, 1);
    zkl_member_free(m);
    end_older();
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
        begin_older();
        lagging.data = rows[i].data;
        lagging.owner = rows[i].owner;
        fake_next_session();
        pass(500);
        TOLD(rows[i].told);
        end_older();
    }
}
