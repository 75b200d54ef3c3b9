/* Queues: who is in one, who is asked to give way or is removed, and what a watch tells of it. */
#include "by_hand.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

#include "lib/queue/children_watch.h"

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

static struct reading reading;

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
    begin(&reading, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_OK, .data = "x\x1b\xff", .length = 3,
           .czxid = 9, .ephemeral_owner = 4);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .czxid = 8, .ctime_ms = 77);
    end(&reading);
    REQUIRE(reading.code == 0 && zkl_queue_count(reading.q) == 2);
    const zkl_contender *c = zkl_queue_get(reading.q, 0);
    CHECK_STR(c->node, NODE("a", "1"));
    CHECK_STR(c->owner, "");
    CHECK_INT(c->number, 1);
    CHECK_INT(c->token, 8);
    CHECK_INT(c->ctime_ms, 77);
    CHECK_INT(c->holds, 1);
    c = zkl_queue_get(reading.q, 1);
    CHECK_STR(c->owner, "x?\xef\xbf\xbd");
    CHECK_INT(c->session_id, 4);
    CHECK_INT(c->holds, 0);
    CHECK(zkl_queue_get(reading.q, 2) == NULL);
    zkl_queue_free(reading.q);
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
        begin(&reading, ZKL_FOREVER);
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
        ANSWER(STORE_GET, path, .rc = STORE_OK, .version = rows[i].version, .data = rows[i].data,
               .length = (int)strlen(rows[i].data));
        end(&reading);
        REQUIRE(reading.code == 0 && zkl_queue_count(reading.q) == 1);
        CHECK_STR(zkl_queue_get(reading.q, 0)->owner, rows[i].owner);
        zkl_queue_free(reading.q);
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
        {{"ex0000000001", "ex0000000002", "sh0000000003"}, "hww"},
        {{"sh0000000001", "sh0000000002", "ex0000000003", "sh0000000004"}, "hhww"},
        /* A contender of Apache's waits for locks, and another library's lock does not wait for it.
         * Ours never hold behind anybody. */
        {{THEIRS("lock-0000000001"), "x-5-0000000002"}, "hw"},
        {{"x-5-0000000001", THEIRS("lock-0000000002"), OURS("lock-0000000003")}, "hhw"},
        {{"x-5-0000000001", OURS("lock-0000000002")}, "hw"},
        {{THEIRS("__READ__0000000001"), OURS("latch-0000000002")}, "hw"},
        {{OURS("lamp-0000000001"), OURS("lock-0000000002")}, "hw"},
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
        {OURS("lamp-0000000009"), ZKL_KIND_LATER, ZKL_CLIENT_ZKL},
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
    begin(&reading, 0);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_NONODE);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_NONODE);
    end(&reading);
    REQUIRE(reading.code == 0);
    CHECK_INT(zkl_queue_count(reading.q), 0);
    zkl_queue_free(reading.q);
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
    begin(&reading, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_NOAUTH);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_BAD);
    end(&reading);
    CHECK_INT(reading.code, ZKL_EACCES);
}

TEST_CASE(timed_out)
{
    begin(&reading, 10);
    pthread_join(reading.thread, NULL);
    CHECK_INT(reading.code, ZKL_ETIMEDOUT);
    answer_list(); /* too late: nobody is asked any more */
    CHECK(!fake_is_asked(STORE_GET, "/b"));
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_queue_read(&reading.q, reading.s, "/b", NULL, 10), ZKL_EUNREACHABLE);
    zkl_session_close(reading.s);
}

/* The session ends in between: asked again in the next. */
TEST_CASE(asked_again)
{
    begin(&reading, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK);
    fake_next_session();
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK);
    end(&reading);
    REQUIRE(reading.code == 0);
    CHECK_INT(zkl_queue_count(reading.q), 0);
    zkl_queue_free(reading.q);
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
    zkl_queue *before;
    static char first[] = NODE("a", "1"), second[] = NODE("b", "2"), third[] = NODE("c", "3");
    char *names[] = {third, second, first};

    begin(&reading, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .data = "x", .length = 1, .czxid = 8);
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_OK, .data = "y", .length = 1, .czxid = 9,
           .ephemeral_owner = 4, .ctime_ms = 77);
    pthread_join(reading.thread, NULL);
    before = reading.q;
    read_with(&reading, &(zkl_queue_options){sizeof(zkl_queue_options), .previous = before});
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 3);
    CHECK(!fake_is_asked(STORE_GET, "/b/" NODE("b", "2")));
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .data = "z", .length = 1, .czxid = 8);
    ANSWER(STORE_GET, "/b/" NODE("c", "3"), .rc = STORE_OK, .data = "w", .length = 1, .czxid = 10);
    end(&reading);
    zkl_queue_free(before); /* it is not needed any more */
    REQUIRE(reading.code == 0 && zkl_queue_count(reading.q) == 3);
    CHECK_STR(zkl_queue_get(reading.q, 0)->owner, "z");
    const zkl_contender *c = zkl_queue_get(reading.q, 1);
    CHECK_STR(c->owner, "y");
    CHECK_INT(c->token, 9);
    CHECK_INT(c->session_id, 4);
    CHECK_INT(c->ctime_ms, 77);
    CHECK_INT(c->holds, 0);
    CHECK_STR(zkl_queue_get(reading.q, 2)->owner, "w");
    zkl_queue_free(reading.q);
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
        begin(&reading, ZKL_FOREVER);
        CHECK(fake_answer(STORE_LIST, "/b", list));
        ANSWER(STORE_GET, "/b/ex0000000001", .rc = STORE_OK, .czxid = 4);
        ANSWER(STORE_GET, "/b/ex0000000002", .rc = STORE_OK, .czxid = 5);
        pthread_join(reading.thread, NULL);
        zkl_queue *before = reading.q;
        read_with(&reading, &(zkl_queue_options){sizeof(zkl_queue_options), .previous = before});
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 2, .czxid = rows[i].made,
               .pzxid = rows[i].changed);
        ANSWER(STORE_GET, "/b/ex0000000001", .rc = STORE_OK, .czxid = 9);
        CHECK_INT(fake_is_asked(STORE_GET, "/b/ex0000000002"), rows[i].again);
        fake_answer(STORE_GET, "/b/ex0000000002", (struct store_reply){.rc = STORE_OK, .czxid = 6});
        end(&reading);
        REQUIRE(reading.code == 0 && zkl_queue_count(reading.q) == 2);
        CHECK_INT(zkl_queue_get(reading.q, 1)->token, rows[i].again ? 6 : 5);
        zkl_queue_free(before);
        zkl_queue_free(reading.q);
    }
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

/* The limit was changed in zxid 20, to 1. An earlier one may have admitted whoever came before; of
 * those with numbers it has who has some. */
TEST_CASE(behind_a_lowered_limit)
{
    static const char numbers[] = "\nzkl numbers 1 "; /* before no data, whose length is -1 */
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
        {OURS("s1-lease-0000000008"), numbers + sizeof numbers - 1, 16},
    };
    char *names[G_N_ELEMENTS(rows)];

    for (int changed = 0; changed < 2; changed++) {
        GString *found = g_string_new(NULL);
        begin(&reading, ZKL_FOREVER);
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
                   .length = rows[i].data[0] ? (int)strlen(rows[i].data) : -1, .version = 1);
            g_free(path);
        }
        end(&reading);
        REQUIRE(reading.code == 0);
        for (size_t i = 0; i < zkl_queue_count(reading.q); i++)
            g_string_append_printf(found, "%d", zkl_queue_get(reading.q, i)->holds);
        CHECK_STR(found->str, changed ? "11101000" : "10000000");
        zkl_queue_free(reading.q);
        g_string_free(found, TRUE);
    }
}

/* Nothing more is asked behind a limit that cannot be read; in the next session all is. */
TEST_CASE(limit_is_not_read)
{
    char *name = OURS("lease-0000000001");

    for (int again = 0; again < 2; again++) {
        begin(&reading, ZKL_FOREVER);
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
        if (again)
            fake_next_session();
        else
            ANSWER(STORE_GET, "/b", .rc = STORE_NOAUTH);
        CHECK_INT(fake_count(STORE_LIST, "/b"), again);
        if (again)
            ANSWER(STORE_LIST, "/b", .rc = STORE_OK);
        end(&reading);
        CHECK_INT(reading.code, again ? 0 : ZKL_EACCES);
        zkl_queue_free(reading.q);
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

    begin(&reading, ZKL_FOREVER);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
    ANSWER(STORE_GET, "/b", .rc = STORE_OK, .data = "1", .length = 1);
    CHECK(fake_is_asked(STORE_LIST, "/b"));
    fake_next_session();
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &name, .count = 1);
    CHECK(!fake_is_asked(STORE_GET, "/b/"));
    ANSWER(STORE_GET, "/b", .rc = STORE_NOAUTH);
    end(&reading);
    CHECK_INT(reading.code, ZKL_EACCES);
}

/* ---- asking contenders to give way, and removing them ---- */

#define FIRST NODE("a", "1")
#define SECOND NODE("b", "2")
#define AT(node) "/b/" node

struct asking {
    zkl_session *s;
    const char *node;
    uint64_t token; /* 0: asks */
    int64_t timeout_ms;
    zkl_queue *q;
    int code;
    zkl_error why;
    pthread_t thread;
};

static struct asking asking;

static void *run(void *data)
{
    struct asking *c = data;

    c->code = c->token ? zkl_queue_break(c->s, "/b", c->node, c->token, c->timeout_ms)
                       : zkl_queue_revoke(&c->q, c->s, "/b", c->node, c->timeout_ms);
    zkl_last_error(&c->why);
    return NULL;
}

static void ask(struct asking *c, const char *node, uint64_t token)
{
    *c = (struct asking){
        .s = fake_session(), .node = node, .token = token, .timeout_ms = ZKL_FOREVER};
    REQUIRE(pthread_create(&c->thread, NULL, run, c) == 0);
}

static void asked(struct asking *c, int code)
{
    pthread_join(c->thread, NULL);
    if (!CHECK_INT(c->code, code))
        runner_fail(__FILE__, __LINE__, "%s", c->why.text);
    if (code)
        CHECK_INT(c->why.code, code);
    zkl_session_close(c->s);
    zkl_queue_free(c->q);
}

/* Two in line, of which the first holds; and what is no contender. */
static void answer_line(void)
{
    char second[] = SECOND, foreign[] = "junk", first[] = FIRST;
    char *names[] = {second, foreign, first};

    fake_await(STORE_LIST, "/b");
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 3);
}

static void answer_read(const char *path, uint64_t czxid)
{
    fake_await(STORE_GET, path);
    ANSWER(STORE_GET, path, .rc = STORE_OK, .data = "who", .length = 3, .czxid = czxid,
           .ephemeral_owner = 4);
}

static void expect_asked(const char *path)
{
    fake_await(STORE_SET, path);
    const struct store_request r = fake_request(STORE_SET, path);

    CHECK_INT(r.length, 10);
    CHECK(memcmp(r.data, "__REVOKE__", 10) == 0);
    CHECK_INT(r.version, -1);
}

TEST_CASE(holder_is_asked)
{
    ask(&asking, NULL, 0);
    answer_line();
    CHECK(!fake_is_asked(STORE_GET, AT(SECOND)));
    answer_read(AT(FIRST), 8);
    expect_asked(AT(FIRST));
    CHECK(!fake_is_asked(STORE_SET, AT(SECOND)));
    ANSWER(STORE_SET, AT(FIRST), .rc = STORE_OK);
    pthread_join(asking.thread, NULL);
    REQUIRE(asking.code == 0 && zkl_queue_count(asking.q) == 1);
    const zkl_contender *asked = zkl_queue_get(asking.q, 0);
    CHECK_STR(asked->node, FIRST);
    CHECK_STR(asked->owner, "who");
    CHECK_INT(asked->token, 8);
    CHECK_INT(asked->holds, 1);
    zkl_session_close(asking.s);
    zkl_queue_free(asking.q);
}

TEST_CASE(waiter_is_asked)
{
    ask(&asking, SECOND, 0);
    answer_line();
    CHECK(!fake_is_asked(STORE_GET, AT(FIRST)));
    answer_read(AT(SECOND), 9);
    expect_asked(AT(SECOND));
    ANSWER(STORE_SET, AT(SECOND), .rc = STORE_OK);
    pthread_join(asking.thread, NULL);
    REQUIRE(asking.code == 0 && zkl_queue_count(asking.q) == 1);
    CHECK_STR(zkl_queue_get(asking.q, 0)->node, SECOND);
    CHECK_INT(zkl_queue_get(asking.q, 0)->holds, 0);
    zkl_session_close(asking.s);
    zkl_queue_free(asking.q);
}

/* One of two readers goes meanwhile, and the call tells of the other. In the next session only the
 * other is asked again. */
TEST_CASE(readers_are_asked)
{
    char a[] = "_c_a-__READ__0000000001", b[] = "_c_b-__READ__0000000002", *names[] = {a, b};

    for (int again = 0; again < 2; again++) {
        ask(&asking, NULL, 0);
        fake_await(STORE_LIST, "/b");
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 2);
        answer_read("/b/_c_a-__READ__0000000001", 8);
        answer_read("/b/_c_b-__READ__0000000002", 9);
        fake_await(STORE_SET, "/b/_c_b");
        ANSWER(STORE_SET, "/b/_c_a", .rc = STORE_NONODE);
        if (again) {
            fake_next_session();
            CHECK_INT(fake_count(STORE_SET, "/b"), 1);
        }
        ANSWER(STORE_SET, "/b/_c_b", .rc = STORE_OK);
        pthread_join(asking.thread, NULL);
        REQUIRE(asking.code == 0 && zkl_queue_count(asking.q) == 1);
        CHECK_STR(zkl_queue_get(asking.q, 0)->node, b);
        zkl_session_close(asking.s);
        zkl_queue_free(asking.q);
    }
}

static void answer_numbers(const char *path, const char *data, int version)
{
    fake_await(STORE_GET, path);
    ANSWER(STORE_GET, path, .rc = STORE_OK, .data = data, .length = (int)strlen(data),
           .version = version, .czxid = 8);
}

static void check_sets(const char *path, const char *data, int version)
{
    fake_await(STORE_SET, path);
    const struct store_request r = fake_request(STORE_SET, path);

    CHECK_INT(r.length, (int)strlen(data));
    CHECK_STR(r.data, data);
    CHECK_INT(r.version, version);
}

/* Beyond a limit that was changed in zxid 20, only the data tell who holds. */
TEST_CASE(waiters_are_not_asked)
{
    char first[] = OURS("s1-lease-0000000001"), waiter[] = OURS("lease-0000000002");
    char third[] = OURS("s1-lease-0000000003"), *names[] = {first, waiter, third};
    static const char numbers[] = "who\nzkl numbers 1", word[] = "__REVOKE__\nzkl numbers 1";

    ask(&asking, NULL, 0);
    for (int list = 0; list < 2; list++) {
        fake_await(STORE_LIST, "/b");
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 3);
        if (list == 0)
            ANSWER(STORE_GET, "/b", .rc = STORE_OK, .data = "1", .length = 1, .mzxid = 20);
    }
    answer_numbers(AT(OURS("s1-lease-0000000001")), numbers, 0);
    answer_read(AT(OURS("lease-0000000002")), 21);
    answer_numbers(AT(OURS("s1-lease-0000000003")), numbers, 0);
    for (int i = 0; i < 3; i += 2) {
        char *path = g_strconcat("/b/", names[i], NULL);
        answer_numbers(path, numbers, 0);
        check_sets(path, word, 0);
        REQUIRE(!fake_is_asked(STORE_SET, AT(OURS("lease-0000000002"))));
        ANSWER(STORE_SET, path, .rc = STORE_OK);
        g_free(path);
    }
    asked(&asking, 0);
}

/* What others read in the node stays there, for exactly the version that it was read of. */
TEST_CASE(numbers_stay)
{
    char node[] = "_c_a-s2-lease-0000000001", *names[] = {node};
    static const char path[] = "/b/_c_a-s2-lease-0000000001";

    ask(&asking, node, 0);
    fake_await(STORE_LIST, "/b");
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 1);
    answer_numbers(path, "who", 0);
    answer_numbers(path, "who", 0);
    check_sets(path, "__REVOKE__", 0);
    ANSWER(STORE_SET, path, .rc = STORE_BADVERSION);
    answer_numbers(path, "who\nzkl numbers 3 4 of 7\nzkl tx 1", 2);
    check_sets(path, "__REVOKE__\nzkl numbers 3 4 of 7", 2);
    ANSWER(STORE_SET, path, .rc = STORE_OK);
    asked(&asking, 0);
}

TEST_CASE(numbers_are_not_told)
{
    static const struct {
        enum store_rc rc;
        int code;
    } rows[] = {{STORE_NONODE, ZKL_ENOENT}, {STORE_NOAUTH, ZKL_EACCES}, {STORE_BAD, ZKL_EPROTO}};
    static const char path[] = "/b/_c_a-s1-lease-0000000001";

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char node[] = "_c_a-s1-lease-0000000001", *names[] = {node};
        ask(&asking, node, 0);
        fake_await(STORE_LIST, "/b");
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 1);
        answer_numbers(path, "who", 0);
        fake_await(STORE_GET, path);
        ANSWER(STORE_GET, path, .rc = rows[i].rc);
        asked(&asking, rows[i].code);
    }
}

/* Made again, whatever became of it, even in the next session. */
TEST_CASE(answer_to_asking_is_lost)
{
    ask(&asking, NULL, 0);
    answer_line();
    answer_read(AT(FIRST), 8);
    fake_await(STORE_SET, AT(FIRST));
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, AT(FIRST), .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    expect_asked(AT(FIRST));
    fake_next_session();
    expect_asked(AT(FIRST));
    ANSWER(STORE_SET, AT(FIRST), .rc = STORE_OK);
    asked(&asking, 0);
}

TEST_CASE(nobody_is_asked)
{
    static const struct {
        const char *node;
        enum store_rc list, read, set;
        int count, code;
        const char *text;
    } rows[] = {
        {NULL, STORE_OK, STORE_OK, STORE_OK, 0, ZKL_ENOENT, "/b: nobody holds it"},
        {"none", STORE_OK, STORE_OK, STORE_OK, 3, ZKL_ENOENT, "/b: no contender none"},
        {"junk", STORE_OK, STORE_OK, STORE_OK, 3, ZKL_ENOENT, "/b: no contender junk"},
        {NULL, STORE_NONODE, STORE_OK, STORE_OK, 0, ZKL_ENOENT, "/b: no such node"},
        {NULL, STORE_NOAUTH, STORE_OK, STORE_OK, 0, ZKL_EACCES, "/b"},
        {NULL, STORE_OK, STORE_NONODE, STORE_OK, 3, ZKL_ENOENT, "/b: nobody holds it"},
        {NULL, STORE_OK, STORE_NOAUTH, STORE_OK, 3, ZKL_EACCES, "/b"},
        {NULL, STORE_OK, STORE_OK, STORE_NONODE, 3, ZKL_ENOENT, "/b: nobody holds it"},
        {NULL, STORE_OK, STORE_OK, STORE_NOAUTH, 3, ZKL_EACCES, "/b"},
        {NULL, STORE_OK, STORE_OK, STORE_BAD, 3, ZKL_EPROTO, "/b"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char second[] = SECOND, foreign[] = "junk", first[] = FIRST;
        char *names[] = {second, foreign, first};
        ask(&asking, rows[i].node, 0);
        fake_await(STORE_LIST, "/b");
        ANSWER(STORE_LIST, "/b", .rc = rows[i].list, .names = names, .count = rows[i].count);
        if (rows[i].count && !rows[i].node)
            ANSWER(STORE_GET, AT(FIRST), .rc = rows[i].read, .czxid = 8);
        if (rows[i].count && !rows[i].node && rows[i].read == STORE_OK) {
            fake_await(STORE_SET, AT(FIRST));
            ANSWER(STORE_SET, AT(FIRST), .rc = rows[i].set);
        }
        asked(&asking, rows[i].code);
        CHECK(strstr(asking.why.text, rows[i].text) != NULL);
    }
}

/* ---- breaking ---- */

TEST_CASE(is_removed)
{
    ask(&asking, SECOND, 9);
    answer_line();
    answer_read(AT(SECOND), 9);
    fake_await(STORE_DELETE, AT(SECOND));
    CHECK(!fake_is_asked(STORE_DELETE, AT(FIRST)));
    ANSWER(STORE_DELETE, AT(SECOND), .rc = STORE_OK);
    asked(&asking, 0);
}

/* One that is another's by now is left alone, and so is one that has gone. */
TEST_CASE(is_another_one)
{
    ask(&asking, FIRST, 9);
    answer_line();
    answer_read(AT(FIRST), 8);
    asked(&asking, ZKL_ENOENT);
    ask(&asking, FIRST, 9);
    answer_line();
    ANSWER(STORE_GET, AT(FIRST), .rc = STORE_NONODE);
    asked(&asking, ZKL_ENOENT);
    ask(&asking, FIRST, 8);
    answer_line();
    answer_read(AT(FIRST), 8);
    fake_await(STORE_DELETE, AT(FIRST));
    ANSWER(STORE_DELETE, AT(FIRST), .rc = STORE_NONODE); /* gone is gone */
    asked(&asking, 0);
}

/* What may be another's by now is read again before another try. */
TEST_CASE(answer_to_removing_is_lost)
{
    for (int taken = 0; taken < 2; taken++) {
        ask(&asking, FIRST, 8);
        answer_line();
        answer_read(AT(FIRST), 8);
        fake_await(STORE_DELETE, AT(FIRST));
        fake_event(STORE_EV_DOWN);
        ANSWER(STORE_DELETE, AT(FIRST), .rc = STORE_UNKNOWN);
        fake_event(STORE_EV_UP);
        answer_line();
        CHECK(!fake_is_asked(STORE_DELETE, AT(FIRST)));
        answer_read(AT(FIRST), taken ? 12 : 8);
        if (!taken) {
            fake_await(STORE_DELETE, AT(FIRST));
            fake_next_session();
            answer_line();
            answer_read(AT(FIRST), 12);
        }
        asked(&asking, 0);
    }
}

TEST_CASE(is_not_removed)
{
    static const struct {
        enum store_rc list, rc;
        int code;
    } rows[] = {{STORE_OK, STORE_NOAUTH, ZKL_EACCES},
                {STORE_OK, STORE_NOTEMPTY, ZKL_ENOTEMPTY},
                {STORE_OK, STORE_BAD, ZKL_EPROTO},
                {STORE_NOAUTH, STORE_OK, ZKL_EACCES},
                {STORE_NONODE, STORE_OK, ZKL_ENOENT}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        ask(&asking, FIRST, 8);
        if (rows[i].list == STORE_OK) {
            answer_line();
            answer_read(AT(FIRST), 8);
            fake_await(STORE_DELETE, AT(FIRST));
            ANSWER(STORE_DELETE, AT(FIRST), .rc = rows[i].rc);
        } else {
            fake_await(STORE_LIST, "/b");
            ANSWER(STORE_LIST, "/b", .rc = rows[i].list);
        }
        asked(&asking, rows[i].code);
    }
}

/* The time is that of all that is asked. */
TEST_CASE(too_late)
{
    for (int removes = 0; removes < 2; removes++) {
        struct asking c = {.s = fake_session(), .node = FIRST, .token = removes ? 8 : 0};
        c.timeout_ms = 300;
        REQUIRE(pthread_create(&c.thread, NULL, run, &c) == 0);
        answer_line();
        answer_read(AT(FIRST), 8);
        asked(&c, ZKL_ETIMEDOUT);
    }
}

/* No time is left for the second request: it must not get all the time that a call has. */
TEST_CASE(no_time_is_left)
{
    char first[] = FIRST, *names[] = {first};
    struct asking c = {.s = hand_session(), .node = FIRST, .timeout_ms = 1000};

    REQUIRE(pthread_create(&c.thread, NULL, run, &c) == 0);
    fake_await(STORE_LIST, "/root/b");
    ANSWER(STORE_LIST, "/root/b", .rc = STORE_OK, .names = names, .count = 1);
    hand_jump(1000, 1000);
    ANSWER(STORE_GET, "/root/b", .rc = STORE_OK, .czxid = 8);
    fake_await(STORE_SET, "/root/b");
    hand_pass(c.s, 1);
    ANSWER(STORE_SET, "/root/b", .rc = STORE_OK);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.code, ZKL_ETIMEDOUT);
    hand_close(c.s);
}

/* ---- a watch tells that a queue may have changed: once for each change ---- */

#define QUEUE "/root/q"

struct watching {
    zkl_session *s;
    zkl_watch *watch;
    int told, warnings;
    bool freed;
    pthread_t freer;
};

static struct watching watching;

static void on_change(void *data)
{
    struct watching *w = data;

    w->told++;
}

static void watch_queue(struct watching *w)
{
    *w = (struct watching){.told = 0};
    w->s = hand_session_counting(&w->warnings);
    REQUIRE(zkl_queue_watch(&w->watch, w->s, "/q", on_change, w) == 0);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
}

static void end_watch(struct watching *w)
{
    zkl_watch_free(w->watch);
    hand_close(w->s);
}

static void answer_children(int count)
{
    static char name[] = "lock-0000000000";
    char **names = g_new(char *, (gsize)count + 1);

    for (int i = 0; i < count; i++)
        names[i] = name;
    CHECK(fake_is_watching(STORE_LIST, QUEUE));
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_OK, .names = names, .count = count);
    g_free(names);
}

/* Calls since the last time. */
static int told(struct watching *w)
{
    int before = w->told;

    zkl_session_dispatch(w->s);
    return w->told - before;
}

/* Told when the watch stands, so that nothing can be missed behind it. */
TEST_CASE(once_for_each_change)
{
    watch_queue(&watching);
    CHECK_INT(told(&watching), 0);
    answer_children(1);
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 1000);
    CHECK_INT(told(&watching), 0);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    CHECK_INT(told(&watching), 0);
    CHECK(!fake_is_asked(STORE_SYNC, QUEUE)); /* the event shows that the server is there */
    answer_children(2);
    CHECK_INT(told(&watching), 1);
    CHECK_INT(watching.warnings, 0);
    end_watch(&watching);
}

/* One call for all that is found before it begins. */
TEST_CASE(told_together)
{
    watch_queue(&watching);
    answer_children(1);
    for (int i = 0; i < 3; i++) {
        hand_pass(watching.s, 1000);
        fake_fire(QUEUE, STORE_FIRED_CHILDREN);
        answer_children(i);
    }
    CHECK_INT(told(&watching), 1);
    CHECK_INT(told(&watching), 0);
    end_watch(&watching);
}

/* The first change after a pause at once, those behind it 100 ms later, and later yet for many. */
TEST_CASE(not_too_often)
{
    watch_queue(&watching);
    answer_children(0);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    hand_pass(watching.s, 99);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    hand_pass(watching.s, 1);
    answer_children(1000);
    hand_pass(watching.s, 150);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    hand_pass(watching.s, 49);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    hand_pass(watching.s, 1);
    answer_children(0);
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    CHECK(fake_is_asked(STORE_LIST, QUEUE));
    end_watch(&watching);
}

TEST_CASE(path_comes_and_goes)
{
    watch_queue(&watching);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NONODE);
    CHECK(fake_is_watching(STORE_STAT, QUEUE));
    CHECK_INT(told(&watching), 0);
    ANSWER(STORE_STAT, QUEUE, .rc = STORE_NONODE);
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CREATED);
    answer_children(0);
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 100);
    fake_fire(QUEUE, STORE_FIRED_GONE);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, QUEUE, .rc = STORE_OK); /* made anew just then */
    answer_children(0);
    CHECK_INT(told(&watching), 1);
    end_watch(&watching);
}

/* Behind a sync, since the next server may lag; even when a look was waiting for its time. */
TEST_CASE(after_a_connection)
{
    watch_queue(&watching);
    answer_children(0);
    CHECK_INT(told(&watching), 1);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    fake_event(STORE_EV_DOWN);
    hand_pass(watching.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_children(0);
    CHECK_INT(told(&watching), 1);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    fake_reconnect();
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_children(0);
    hand_pass(watching.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE)); /* that was the look which had to wait */
    CHECK_INT(told(&watching), 1);
    end_watch(&watching);
}

/* Told that it fails, and logged, once, so that a read can say why; tried again later. */
TEST_CASE(watch_is_refused)
{
    watch_queue(&watching);
    answer_children(0);
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NOAUTH);
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 999);
    CHECK(!fake_is_asked(STORE_SYNC, QUEUE));
    hand_pass(watching.s, 1);
    CHECK_INT(watching.warnings, 1);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_NOAUTH);
    CHECK_INT(told(&watching), 0);
    CHECK_INT(watching.warnings, 1);
    hand_pass(watching.s, 2000);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_children(0);
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 100);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NOAUTH); /* news again, and soon tried again */
    CHECK_INT(told(&watching), 1);
    hand_pass(watching.s, 1000);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    end_watch(&watching);
}

/* Neither what was queued before nor what comes behind; and the server's watch goes. */
TEST_CASE(not_after_free)
{
    watch_queue(&watching);
    answer_children(0);
    zkl_watch_free(watching.watch);
    CHECK_INT(told(&watching), 0);
    CHECK_INT(fake_count(STORE_UNWATCH, QUEUE), 1);
    REQUIRE(zkl_queue_watch(&watching.watch, watching.s, "/q", on_change, &watching) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    zkl_watch_free(watching.watch);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NONODE); /* asked before */
    CHECK(!fake_is_asked(STORE_STAT, QUEUE));
    CHECK_INT(told(&watching), 0);
    REQUIRE(zkl_queue_watch(&watching.watch, watching.s, "/q", on_change, &watching) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_children(0);
    fake_fire(QUEUE, STORE_FIRED_CHILDREN);
    zkl_watch_free(watching.watch); /* while it rests */
    hand_pass(watching.s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, QUEUE));
    CHECK_INT(told(&watching), 0);
    zkl_watch_free(NULL);
    hand_close(watching.s);
}

static void free_itself(void *data)
{
    struct watching *w = data;

    w->told++;
    zkl_watch_free(w->watch);
}

TEST_CASE(freed_when_told)
{
    struct watching w = {.s = hand_session()};

    REQUIRE(zkl_queue_watch(&w.watch, w.s, "/q", free_itself, &w) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_children(0);
    CHECK_INT(told(&w), 1);
    fake_reconnect();
    CHECK(!fake_is_asked(STORE_SYNC, QUEUE));
    hand_close(w.s);
}

static void *free_watch(void *data)
{
    struct watching *w = data;

    hand_is_waiter();
    zkl_watch_free(w->watch);
    w->freed = true;
    return NULL;
}

/* A thread that frees it waits until the call is through. */
static void let_it_be_freed(void *data)
{
    struct watching *w = data;

    REQUIRE(pthread_create(&w->freer, NULL, free_watch, w) == 0);
    hand_await_waiter(w->s);
    CHECK(!w->freed);
    w->told++;
}

TEST_CASE(freed_while_told)
{
    struct watching w = {.s = hand_session()};

    REQUIRE(zkl_queue_watch(&w.watch, w.s, "/q", let_it_be_freed, &w) == 0);
    ANSWER(STORE_SYNC, QUEUE, .rc = STORE_OK);
    answer_children(0);
    CHECK_INT(told(&w), 1);
    pthread_join(w.freer, NULL);
    CHECK(w.freed);
    hand_close(w.s);
}

/* Also between two tries. */
TEST_CASE(ends_with_the_session)
{
    watch_queue(&watching);
    ANSWER(STORE_LIST, QUEUE, .rc = STORE_NOAUTH);
    CHECK_INT(told(&watching), 1);
    hand_close(watching.s);
    CHECK_INT(watching.told, 1);
    CHECK_INT(zkl_queue_watch(&watching.watch, watching.s, "/q", on_change, &watching),
              ZKL_ECLOSED);
    zkl_watch_free(watching.watch);
}

TEST_CASE(bad_input)
{
    zkl_session *s = fake_session();
    zkl_watch *w = NULL;
    zkl_queue *q;
    int i = 0;

    CHECK_INT(zkl_queue_read(NULL, s, "/b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(&q, s, "b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(&q, s, NULL, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_revoke(NULL, s, "/b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_revoke(&q, s, "b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_break(s, "/b", NULL, 5, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_break(s, NULL, "c", 5, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(NULL, s, "/b", on_change, &i), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, s, "b", on_change, &i), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, s, NULL, on_change, &i), ZKL_EINVAL);
    CHECK_INT(zkl_queue_watch(&w, s, "/b", NULL, &i), ZKL_EINVAL);
    CHECK(w == NULL && !fake_is_asked(STORE_SYNC, "/b"));
    zkl_session_close(s);
}

/* As a read would be: told to those who watch, and to who begins to. */
TEST_CASE(watch_without_credentials)
{
    zkl_watch *late;

    watch_queue(&watching);
    answer_children(1);
    CHECK_INT(told(&watching), 1);
    fake_event(STORE_EV_AUTH);
    CHECK_INT(told(&watching), 1);
    REQUIRE(zkl_queue_watch(&late, watching.s, "/q", on_change, &watching) == 0);
    CHECK_INT(told(&watching), 1);
    zkl_watch_free(late);
    end_watch(&watching);
}
