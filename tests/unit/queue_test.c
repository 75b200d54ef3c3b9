/* Reading who queues, with answers that no server of ours gives on demand. */
#include "fake_store.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(queue);

#define NODE(name, number) "_c_" name "-lock-000000000" number

struct reading {
    zkl_session *s;
    int64_t timeout_ms;
    zkl_queue_options options;
    zkl_queue *q;
    int code;
    zkl_error why;
    pthread_t thread;
};

static void *read_queue(void *data)
{
    struct reading *r = data;
    int cancel_state;

    r->code = zkl_queue_read(&r->q, r->s, "/b", &r->options, r->timeout_ms);
    zkl_last_error(&r->why);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    CHECK_INT(cancel_state, PTHREAD_CANCEL_ENABLE); /* as before */
    return NULL;
}

static void read_with(struct reading *r, const zkl_queue_options *options)
{
    r->options = *options;
    REQUIRE(pthread_create(&r->thread, NULL, read_queue, r) == 0);
    fake_await(STORE_LIST, "/b");
}

static void begin(struct reading *r, int64_t timeout_ms)
{
    *r = (struct reading){.s = fake_session(), .timeout_ms = timeout_ms};
    read_with(r, &(zkl_queue_options)ZKL_QUEUE_OPTIONS_INIT);
}

static void end(struct reading *r)
{
    pthread_join(r->thread, NULL);
    zkl_session_close(r->s);
}

static void answer_list(void)
{
    static char second[] = NODE("b", "2"), foreign[] = "junk", first[] = NODE("a", "1");
    static char *names[] = {second, foreign, first};

    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 3);
}

/* In order, without what is no contender, and fit for a terminal. */
TEST_CASE(sorted_and_clean)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_OK, .data = "x\x1b\xff", .length = 3,
           .czxid = 9, .ephemeral_owner = 4);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .czxid = 8, .ctime_ms = 77);
    end(&r);
    REQUIRE(r.code == 0 && zkl_queue_count(r.q) == 2);
    const zkl_contender *c = zkl_queue_get(r.q, 0);
    CHECK_STR(c->node, NODE("a", "1"));
    CHECK_STR(c->owner, "");
    CHECK_INT(c->number, 1);
    CHECK_INT(c->token, 8);
    CHECK_INT(c->ctime_ms, 77);
    CHECK_INT(c->holds, 1);
    c = zkl_queue_get(r.q, 1);
    CHECK_STR(c->owner, "x?\xef\xbf\xbd");
    CHECK_INT(c->session_id, 4);
    CHECK_INT(c->holds, 0);
    CHECK(zkl_queue_get(r.q, 2) == NULL);
    zkl_queue_free(r.q);
}

#define THEIRS(name) "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-" name
#define OURS(name) "_c_1b4e28ba-2fa1-81d2-883f-0016d3cca427-" name

/* What a transaction of ours has left behind the payload is not shown; what others wrote is. */
TEST_CASE(behind_the_payload)
{
    static const struct {
        const char *name, *data;
        int version;
        const char *owner;
    } rows[] = {
        {OURS("lock-0000000001"), "who\nzkl tx 17", 1, "who"},
        {OURS("lock-0000000001"), "\nzkl tx 4294967295", 1, ""},
        {OURS("lock-0000000001"), "who\nzkl tx 1\nzkl tx 2", 2, "who?zkl tx 1"},
        {OURS("lock-0000000001"), "who\nzkl tx 17", 0, "who?zkl tx 17"},
        {THEIRS("lock-0000000001"), "who\nzkl tx 17", 1, "who?zkl tx 17"},
        {OURS("lock-0000000001"), "who\nzkl tx 017", 1, "who?zkl tx 017"},
        {OURS("lock-0000000001"), "who\nzkl tx 0", 1, "who?zkl tx 0"},
        {OURS("lock-0000000001"), "who\nzkl tx ", 1, "who?zkl tx "},
        {OURS("lock-0000000001"), "who\nzkl tx 4294967296", 1, "who?zkl tx 4294967296"},
        {OURS("lock-0000000001"), "who\nzkl tx 17 ", 1, "who?zkl tx 17 "},
        {OURS("lock-0000000001"), "who zkl tx 17", 1, "who zkl tx 17"},
        {OURS("lock-0000000001"), "17", 1, "17"},
        {OURS("lock-0000000001"), "__REVOKE__", 1, "__REVOKE__"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *path = g_strconcat("/b/", rows[i].name, NULL), *name = strrchr(path, '/') + 1;
        struct reading r;
        begin(&r, ZKL_FOREVER);
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
        ANSWER(STORE_GET, path, .rc = STORE_OK, .version = rows[i].version, .data = rows[i].data,
               .length = (int)strlen(rows[i].data));
        end(&r);
        REQUIRE(r.code == 0 && zkl_queue_count(r.q) == 1);
        CHECK_STR(zkl_queue_get(r.q, 0)->owner, rows[i].owner);
        zkl_queue_free(r.q);
        g_free(path);
    }
}

/* The queue of those that are there. */
static zkl_queue *queue_of(const char *const *names, int count)
{
    struct reading r;
    char **list = g_new(char *, (gsize)count);

    for (int i = 0; i < count; i++)
        list[i] = g_strdup(names[i]);
    begin(&r, ZKL_FOREVER);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = list, .count = count);
    for (int i = 0; i < count; i++) {
        char *path = g_strconcat("/b/", list[i], NULL);
        ANSWER(STORE_GET, path, .rc = STORE_OK);
        g_free(path);
        g_free(list[i]);
    }
    g_free(list);
    end(&r);
    REQUIRE(r.code == 0 && zkl_queue_count(r.q) == (size_t)count);
    return r.q;
}

/* Checks a line: h is for one that holds, w for one that waits. */
static void expect_holders(const char *const *names, const char *due)
{
    int count = (int)strlen(due);
    zkl_queue *q = queue_of(names, count);

    for (int i = 0; i < count; i++) {
        const zkl_contender *c = zkl_queue_get(q, (size_t)i);
        CHECK_STR(c->node, names[i]);
        if (!CHECK_INT(c->holds, due[i] == 'h'))
            runner_fail(__FILE__, __LINE__, "%s of %s, %s", names[i], names[0], due);
    }
    zkl_queue_free(q);
}

/* The name alone tells which retain, first or later in line; whether one holds does not. */
TEST_CASE(those_that_retain)
{
    static const char *const names[] = {OURS("lock-0000000001"),
                                        "_c_1b4e28ba-2fa1-8e7a-883f-0016d3cca427-lock-0000000002",
                                        "1b4e28ba2fa18e7a883f0016d3cca427__lock__0000000003",
                                        "_c_1b4e28ba-2fa1-4e7a-883f-0016d3cca427-lock-0000000004"};
    zkl_queue *q = queue_of(names, G_N_ELEMENTS(names));

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        CHECK_INT(zkl_queue_get(q, i)->retains, i == 1 || i == 2);
    zkl_queue_free(q);
}

TEST_CASE(holders)
{
    static const struct {
        const char *names[5];
        const char *due;
    } rows[] = {
        {{THEIRS("lock-0000000001"), THEIRS("lock-0000000002"), OURS("lock-0000000003")}, "hww"},
        {{THEIRS("latch-0000000001"), THEIRS("lock-0000000002"), THEIRS("latch-0000000003")},
         "hhw"},
        /* read-write: readers together, writers alone, of whichever library */
        {{THEIRS("__READ__0000000001"), THEIRS("__READ__0000000002"), THEIRS("__WRIT__0000000003"),
          THEIRS("__READ__0000000004")},
         "hhww"},
        {{THEIRS("__WRIT__0000000001"), THEIRS("__READ__0000000002")}, "hw"},
        /* one owner's, as Curator makes them for a writer that reads */
        {{THEIRS("__READ__0000000001"), THEIRS("__WRIT__0000000001"), THEIRS("__READ__0000000002")},
         "hhw"},
        {{THEIRS("__WRIT__0000000001"), THEIRS("__READ__0000000001"), THEIRS("__WRIT__0000000002")},
         "hhw"},
        {{THEIRS("__READ__0000000001"), THEIRS("__WRIT__0000000002"), THEIRS("__READ__0000000002")},
         "hww"},
        {{"1b4e28ba2fa141d2883f0016d3cca427__rlock__0000000001",
          "2b4e28ba2fa141d2883f0016d3cca427__rlock__0000000002",
          "3b4e28ba2fa141d2883f0016d3cca427__lock__0000000003",
          "4b4e28ba2fa141d2883f0016d3cca427__rlock__0000000004"},
         "hhww"},
        {{"1b4e28ba2fa141d2883f0016d3cca427__lock__0000000001",
          "2b4e28ba2fa141d2883f0016d3cca427__rlock__0000000002"},
         "hw"},
        {{THEIRS("lease-0000000001"), THEIRS("lease-0000000002")}, "hh"},
        {{"ex0000000001", "ex0000000002"}, "hw"},
        /* A contender of Apache's waits for locks, and another library's lock does not wait for it.
         * Ours never hold behind anybody. */
        {{THEIRS("lock-0000000001"), "x-5-0000000002"}, "hw"},
        {{"x-5-0000000001", THEIRS("lock-0000000002"), OURS("lock-0000000003")}, "hhw"},
        {{"x-5-0000000001", OURS("lock-0000000002")}, "hw"},
        {{THEIRS("__READ__0000000001"), OURS("latch-0000000002")}, "hw"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        expect_holders(rows[i].names, rows[i].due);
}

/* What a contender is and whose, for people. */
TEST_CASE(kinds_and_clients)
{
    static const struct {
        const char *name;
        zkl_kind kind;
        zkl_client client;
    } rows[] = {
        {OURS("lock-0000000001"), ZKL_KIND_LOCK, ZKL_CLIENT_ZKL},
        {THEIRS("latch-0000000002"), ZKL_KIND_LATCH, ZKL_CLIENT_CURATOR},
        {"x-5-0000000003", ZKL_KIND_APACHE, ZKL_CLIENT_APACHE},
        {"ex0000000004", ZKL_KIND_RUBY, ZKL_CLIENT_RUBY},
        {"1b4e28ba2fa141d2883f0016d3cca427__rlock__0000000005", ZKL_KIND_READ, ZKL_CLIENT_KAZOO},
        {THEIRS("__WRIT__0000000006"), ZKL_KIND_WRITE, ZKL_CLIENT_CURATOR},
        {"lease-0000000007", ZKL_KIND_LEASE, ZKL_CLIENT_UNKNOWN},
        {"_c_1b4e28ba2fa141d2883f0016d3cca427-lock-0000000008", ZKL_KIND_LOCK, ZKL_CLIENT_GO},
    };
    enum { COUNT = G_N_ELEMENTS(rows) };
    const char *names[COUNT];

    for (int i = 0; i < COUNT; i++)
        names[i] = rows[i].name;
    zkl_queue *q = queue_of(names, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const zkl_contender *c = zkl_queue_get(q, (size_t)i);
        if (!CHECK_INT(c->kind, rows[i].kind) || !CHECK_INT(c->client, rows[i].client))
            runner_fail(__FILE__, __LINE__, "%s", c->node);
    }
    zkl_queue_free(q);
}

TEST_CASE(who_left_is_left_out)
{
    struct reading r;

    begin(&r, 0);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_NONODE);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_NONODE);
    end(&r);
    REQUIRE(r.code == 0);
    CHECK_INT(zkl_queue_count(r.q), 0);
    zkl_queue_free(r.q);
}

static void check_list(enum store_rc rc, int code)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    ANSWER(STORE_LIST, "/b", .rc = rc);
    end(&r);
    CHECK_INT(r.code, code);
    CHECK_INT(r.why.code, code);
    CHECK_STR(r.why.path, "/b");
}

TEST_CASE(refused_lists)
{
    check_list(STORE_NONODE, ZKL_ENOENT);
    check_list(STORE_NOAUTH, ZKL_EACCES);
    check_list(STORE_BAD, ZKL_EPROTO);
}

/* The first error counts; the other read is still waited for. */
TEST_CASE(refused_read)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_NOAUTH);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_BAD);
    end(&r);
    CHECK_INT(r.code, ZKL_EACCES);
}

TEST_CASE(timed_out)
{
    struct reading r;

    begin(&r, 10);
    pthread_join(r.thread, NULL);
    CHECK_INT(r.code, ZKL_ETIMEDOUT);
    answer_list(); /* too late: nobody is asked any more */
    CHECK(!fake_is_asked(STORE_GET, "/b"));
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_queue_read(&r.q, r.s, "/b", NULL, 10), ZKL_EUNREACHABLE);
    zkl_session_close(r.s);
}

/* The session ends in between: asked again in the next. */
TEST_CASE(asked_again)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK);
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK);
    end(&r);
    REQUIRE(r.code == 0);
    CHECK_INT(zkl_queue_count(r.q), 0);
    zkl_queue_free(r.q);
}

TEST_CASE(closed_meanwhile)
{
    struct reading r;
    zkl_mutex *keeps; /* the handle good after close */

    begin(&r, ZKL_FOREVER);
    REQUIRE(zkl_mutex_new(&keeps, r.s, "/b", NULL) == 0);
    zkl_session_close(r.s);
    pthread_join(r.thread, NULL);
    CHECK_INT(r.code, ZKL_ECLOSED);
    CHECK_INT(zkl_queue_read(&r.q, r.s, "/b", NULL, 0), ZKL_ECLOSED);
    zkl_mutex_free(keeps);
}

TEST_CASE(bad_arguments)
{
    zkl_session *s = fake_session();
    zkl_queue *q;

    CHECK_INT(zkl_queue_read(&q, NULL, "/b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(NULL, s, "/b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(&q, s, "b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(&q, s, NULL, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_count(NULL), 0);
    CHECK(zkl_queue_get(NULL, 0) == NULL);
    zkl_queue_free(NULL);
    zkl_session_close(s);
}

/* Only the names of those beyond the most are known. */
TEST_CASE(no_more_than)
{
    struct reading r = {.s = fake_session(), .timeout_ms = ZKL_FOREVER};

    read_with(&r, &(zkl_queue_options){sizeof(zkl_queue_options), .max_nodes = 1});
    answer_list();
    CHECK(!fake_is_asked(STORE_GET, "/b/" NODE("b", "2")));
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .data = "x", .length = 1, .czxid = 8);
    end(&r);
    REQUIRE(r.code == 0 && zkl_queue_count(r.q) == 2);
    CHECK_STR(zkl_queue_get(r.q, 0)->owner, "x");
    const zkl_contender *c = zkl_queue_get(r.q, 1);
    CHECK_STR(c->node, NODE("b", "2"));
    CHECK_STR(c->owner, "");
    CHECK_INT(c->token, 0);
    CHECK_INT(c->number, 2);
    CHECK_INT(c->kind, ZKL_KIND_LOCK);
    CHECK_INT(c->holds, 0);
    zkl_queue_free(r.q);
}

/* A contender that waits and was read before is not read again. One that holds is, and so is one
 * that was not read before. */
TEST_CASE(not_again)
{
    struct reading r;
    zkl_queue *before;
    static char first[] = NODE("a", "1"), second[] = NODE("b", "2"), third[] = NODE("c", "3");
    char *names[] = {third, second, first};

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .data = "x", .length = 1, .czxid = 8);
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_OK, .data = "y", .length = 1, .czxid = 9,
           .ephemeral_owner = 4, .ctime_ms = 77);
    pthread_join(r.thread, NULL);
    before = r.q;
    read_with(&r, &(zkl_queue_options){sizeof(zkl_queue_options), .previous = before});
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 3);
    CHECK(!fake_is_asked(STORE_GET, "/b/" NODE("b", "2")));
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .data = "z", .length = 1, .czxid = 8);
    ANSWER(STORE_GET, "/b/" NODE("c", "3"), .rc = STORE_OK, .data = "w", .length = 1, .czxid = 10);
    end(&r);
    zkl_queue_free(before); /* it is not needed any more */
    REQUIRE(r.code == 0 && zkl_queue_count(r.q) == 3);
    CHECK_STR(zkl_queue_get(r.q, 0)->owner, "z");
    const zkl_contender *c = zkl_queue_get(r.q, 1);
    CHECK_STR(c->owner, "y");
    CHECK_INT(c->token, 9);
    CHECK_INT(c->session_id, 4);
    CHECK_INT(c->ctime_ms, 77);
    CHECK_INT(c->holds, 0);
    CHECK_STR(zkl_queue_get(r.q, 2)->owner, "w");
    zkl_queue_free(r.q);
}

/* In a directory that was made anew, or older than it was, the same name is another's. */
TEST_CASE(another_of_that_name)
{
    static const struct {
        uint64_t made, changed;
        bool again;
    } rows[] = {{3, 7, false}, {3, 8, false}, {3, 6, true}, {8, 8, true}};
    static char first[] = "ex0000000001", second[] = "ex0000000002";
    static char *names[] = {first, second};
    struct store_reply list = {.rc = STORE_OK, .names = names, .count = 2, .czxid = 3, .pzxid = 7};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct reading r;
        begin(&r, ZKL_FOREVER);
        CHECK(fake_answer(STORE_LIST, "/b", list));
        ANSWER(STORE_GET, "/b/ex0000000001", .rc = STORE_OK, .czxid = 4);
        ANSWER(STORE_GET, "/b/ex0000000002", .rc = STORE_OK, .czxid = 5);
        pthread_join(r.thread, NULL);
        zkl_queue *before = r.q;
        read_with(&r, &(zkl_queue_options){sizeof(zkl_queue_options), .previous = before});
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 2, .czxid = rows[i].made,
               .pzxid = rows[i].changed);
        ANSWER(STORE_GET, "/b/ex0000000001", .rc = STORE_OK, .czxid = 9);
        CHECK_INT(fake_is_asked(STORE_GET, "/b/ex0000000002"), rows[i].again);
        fake_answer(STORE_GET, "/b/ex0000000002", (struct store_reply){.rc = STORE_OK, .czxid = 6});
        end(&r);
        REQUIRE(r.code == 0 && zkl_queue_count(r.q) == 2);
        CHECK_INT(zkl_queue_get(r.q, 1)->token, rows[i].again ? 6 : 5);
        zkl_queue_free(before);
        zkl_queue_free(r.q);
    }
}

/* A refused list ends it, whatever was known. */
TEST_CASE(refused_when_known)
{
    struct reading r;
    zkl_queue *before;

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .czxid = 8);
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_OK, .czxid = 9);
    pthread_join(r.thread, NULL);
    before = r.q;
    read_with(&r, &(zkl_queue_options){sizeof(zkl_queue_options), .previous = before});
    ANSWER(STORE_LIST, "/b", .rc = STORE_NOAUTH);
    end(&r);
    CHECK_INT(r.code, ZKL_EACCES);
    zkl_queue_free(before);
}

/* A contender of which only the name was known counts as unknown. */
TEST_CASE(not_known_by_name_alone)
{
    struct reading r = {.s = fake_session(), .timeout_ms = ZKL_FOREVER};
    zkl_queue *before;

    read_with(&r, &(zkl_queue_options){sizeof(zkl_queue_options), .max_nodes = 1});
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK);
    pthread_join(r.thread, NULL);
    before = r.q;
    read_with(&r, &(zkl_queue_options){sizeof(zkl_queue_options), .previous = before});
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK);
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_OK, .czxid = 9);
    end(&r);
    REQUIRE(r.code == 0 && zkl_queue_count(r.q) == 2);
    CHECK_INT(zkl_queue_get(r.q, 1)->token, 9);
    zkl_queue_free(before);
    zkl_queue_free(r.q);
}

/* The names, each in the queue order, and who of them holds. */
static void check_holders(const char *names, const char *holders)
{
    struct reading r;
    char **list = g_strsplit(names, " ", -1);
    GString *found = g_string_new(NULL);

    begin(&r, ZKL_FOREVER);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = list, .count = (int)g_strv_length(list));
    for (int i = 0; list[i]; i++)
        CHECK(fake_answer(STORE_GET, "/b", (struct store_reply){.rc = STORE_OK}));
    end(&r);
    REQUIRE(r.code == 0);
    for (size_t i = 0; i < zkl_queue_count(r.q); i++)
        g_string_append_c(found, zkl_queue_get(r.q, i)->holds ? 'h' : 'w');
    runner_check_str(found->str, holders, names, __FILE__, __LINE__);
    zkl_queue_free(r.q);
    g_string_free(found, TRUE);
    g_strfreev(list);
}

TEST_CASE(who_holds)
{
    check_holders("a-lock-0000000001 b-lock-0000000002", "hw");
    check_holders("a__READ__0000000001 b__READ__0000000002 c__WRIT__0000000003 d__READ__0000000004",
                  "hhww");
    check_holders("a__WRIT__0000000001 b__READ__0000000002", "hw");
    check_holders("a__rlock__0000000001 b__lock__0000000002", "hw"); /* kazoo's */
    check_holders("a-lease-0000000001 b-lease-0000000002", "hh");
    check_holders("sh0000000001 sh0000000002 ex0000000003 sh0000000004", "hhww");
    check_holders("ex0000000001 ex0000000002 sh0000000003", "hww");
}

/* The limit was changed in zxid 20, to 1. An earlier one may have admitted whoever came before; of
 * those with numbers it has who has some. */
TEST_CASE(behind_a_lowered_limit)
{
    static const struct {
        char *name;
        const char *data;
        uint64_t czxid;
    } rows[] = {
        {OURS("lease-0000000001"), "a", 11},
        {OURS("s1-lease-0000000002"), "b\nzkl numbers 1", 12},
        {OURS("s1-lease-0000000003"), "c\nzkl numbers 2 of 3\nzkl tx 1", 13},
        {OURS("s1-lease-0000000004"), "d", 14},
        {OURS("lease-0000000005"), "e", 15},
        {OURS("lease-0000000006"), "f", 21},
        {OURS("s1-lease-0000000007"), "g\nzkl numbers 3", 22},
    };
    char *names[G_N_ELEMENTS(rows)];

    for (int changed = 0; changed < 2; changed++) {
        struct reading r;
        GString *found = g_string_new(NULL);
        begin(&r, ZKL_FOREVER);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
            names[i] = rows[i].name;
        for (int list = 0; list < 2; list++) {
            ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = G_N_ELEMENTS(rows));
            if (list == 0)
                ANSWER(STORE_GET, "/b", .rc = STORE_OK, .data = "1", .length = 1, .czxid = 10,
                       .mzxid = changed ? 20 : 10);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
            char *path = g_strconcat("/b/", rows[i].name, NULL);
            ANSWER(STORE_GET, path, .rc = STORE_OK, .data = rows[i].data, .czxid = rows[i].czxid,
                   .length = (int)strlen(rows[i].data), .version = 1);
            g_free(path);
        }
        end(&r);
        REQUIRE(r.code == 0);
        for (size_t i = 0; i < zkl_queue_count(r.q); i++)
            g_string_append_printf(found, "%d", zkl_queue_get(r.q, i)->holds);
        CHECK_STR(found->str, changed ? "1110100" : "1000000");
        zkl_queue_free(r.q);
        g_string_free(found, TRUE);
    }
}

/* Nothing more is asked behind a limit that cannot be read; in the next session all is. */
TEST_CASE(limit_is_not_read)
{
    char *name = OURS("lease-0000000001");

    for (int again = 0; again < 2; again++) {
        struct reading r;
        begin(&r, ZKL_FOREVER);
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
        if (again)
            fake_next_session();
        else
            ANSWER(STORE_GET, "/b", .rc = STORE_NOAUTH);
        CHECK_INT(fake_count(STORE_LIST, "/b"), again);
        if (again)
            ANSWER(STORE_LIST, "/b", .rc = STORE_OK);
        end(&r);
        CHECK_INT(r.code, again ? 0 : ZKL_EACCES);
        zkl_queue_free(r.q);
    }
}

/* A lease that waits is not read again, unless the limit was changed. */
TEST_CASE(leases_known)
{
    char *names[] = {OURS("lease-0000000001"), OURS("lease-0000000002")};

    for (int changed = 0; changed < 2; changed++) {
        struct reading r = {.s = fake_session(), .timeout_ms = ZKL_FOREVER};
        zkl_queue *before = NULL;
        for (int i = 0; i < 2; i++) {
            read_with(&r, &(zkl_queue_options){sizeof(zkl_queue_options), .previous = before});
            ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 2);
            ANSWER(STORE_GET, "/b", .rc = STORE_OK, .data = "1", .length = 1, .czxid = 10,
                   .mzxid = changed ? 20 : 10);
            ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 2);
            CHECK_INT(fake_count(STORE_GET, "/b"), i == 0 || changed ? 2 : 1);
            while (fake_answer(STORE_GET, "/b", (struct store_reply){.rc = STORE_OK, .czxid = 11}))
                ;
            pthread_join(r.thread, NULL);
            zkl_queue_free(before);
            before = r.q;
        }
        zkl_queue_free(before);
        zkl_session_close(r.s);
    }
}

/* What an earlier session has seen may be another's by now. */
TEST_CASE(limit_is_read_again)
{
    char *name = OURS("lease-0000000001");
    struct reading r;

    begin(&r, ZKL_FOREVER);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
    ANSWER(STORE_GET, "/b", .rc = STORE_OK, .data = "1", .length = 1);
    CHECK(fake_is_asked(STORE_LIST, "/b"));
    fake_next_session();
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
    CHECK(!fake_is_asked(STORE_GET, "/b/"));
    ANSWER(STORE_GET, "/b", .rc = STORE_NOAUTH);
    end(&r);
    CHECK_INT(r.code, ZKL_EACCES);
}
