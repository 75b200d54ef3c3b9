/* Asking contenders to give way, and removing them, with answers that no server gives on demand. */
#include "by_hand.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(queue_change);

#define NODE(name, number) "_c_" name "-lock-000000000" number
#define FIRST NODE("a", "1")
#define SECOND NODE("b", "2")
#define AT(node) "/b/" node

struct call {
    zkl_session *s;
    const char *node;
    uint64_t token; /* 0: asks */
    int64_t timeout_ms;
    zkl_queue *q;
    int code;
    zkl_error why;
    pthread_t thread;
};

static void *run(void *data)
{
    struct call *c = data;

    c->code = c->token ? zkl_queue_break(c->s, "/b", c->node, c->token, c->timeout_ms)
                       : zkl_queue_revoke(&c->q, c->s, "/b", c->node, c->timeout_ms);
    zkl_last_error(&c->why);
    return NULL;
}

static void begin(struct call *c, const char *node, uint64_t token)
{
    *c =
        (struct call){.s = fake_session(), .node = node, .token = token, .timeout_ms = ZKL_FOREVER};
    REQUIRE(pthread_create(&c->thread, NULL, run, c) == 0);
}

static void end(struct call *c, int code)
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
static void answer_list(void)
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
    struct call c;

    begin(&c, NULL, 0);
    answer_list();
    CHECK(!fake_is_asked(STORE_GET, AT(SECOND)));
    answer_read(AT(FIRST), 8);
    expect_asked(AT(FIRST));
    CHECK(!fake_is_asked(STORE_SET, AT(SECOND)));
    ANSWER(STORE_SET, AT(FIRST), .rc = STORE_OK);
    pthread_join(c.thread, NULL);
    REQUIRE(c.code == 0 && zkl_queue_count(c.q) == 1);
    const zkl_contender *asked = zkl_queue_get(c.q, 0);
    CHECK_STR(asked->node, FIRST);
    CHECK_STR(asked->owner, "who");
    CHECK_INT(asked->token, 8);
    CHECK_INT(asked->holds, 1);
    zkl_session_close(c.s);
    zkl_queue_free(c.q);
}

TEST_CASE(waiter_is_asked)
{
    struct call c;

    begin(&c, SECOND, 0);
    answer_list();
    CHECK(!fake_is_asked(STORE_GET, AT(FIRST)));
    answer_read(AT(SECOND), 9);
    expect_asked(AT(SECOND));
    ANSWER(STORE_SET, AT(SECOND), .rc = STORE_OK);
    pthread_join(c.thread, NULL);
    REQUIRE(c.code == 0 && zkl_queue_count(c.q) == 1);
    CHECK_STR(zkl_queue_get(c.q, 0)->node, SECOND);
    CHECK_INT(zkl_queue_get(c.q, 0)->holds, 0);
    zkl_session_close(c.s);
    zkl_queue_free(c.q);
}

/* One of two readers goes meanwhile, and the call tells of the other. In the next session only the
 * other is asked again. */
TEST_CASE(readers_are_asked)
{
    char a[] = "_c_a-__READ__0000000001", b[] = "_c_b-__READ__0000000002", *names[] = {a, b};

    for (int again = 0; again < 2; again++) {
        struct call c;
        begin(&c, NULL, 0);
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
        pthread_join(c.thread, NULL);
        REQUIRE(c.code == 0 && zkl_queue_count(c.q) == 1);
        CHECK_STR(zkl_queue_get(c.q, 0)->node, b);
        zkl_session_close(c.s);
        zkl_queue_free(c.q);
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

/* What others read in the node stays there, for exactly the version that it was read of. */
TEST_CASE(numbers_stay)
{
    char node[] = "_c_a-s2-lease-0000000001", *names[] = {node};
    static const char path[] = "/b/_c_a-s2-lease-0000000001";
    struct call c;

    begin(&c, node, 0);
    fake_await(STORE_LIST, "/b");
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 1);
    answer_numbers(path, "who", 0);
    answer_numbers(path, "who", 0);
    check_sets(path, "__REVOKE__", 0);
    ANSWER(STORE_SET, path, .rc = STORE_BADVERSION);
    answer_numbers(path, "who\nzkl numbers 3 4 of 7\nzkl tx 1", 2);
    check_sets(path, "__REVOKE__\nzkl numbers 3 4 of 7", 2);
    ANSWER(STORE_SET, path, .rc = STORE_OK);
    end(&c, 0);
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
        struct call c;
        begin(&c, node, 0);
        fake_await(STORE_LIST, "/b");
        ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 1);
        answer_numbers(path, "who", 0);
        fake_await(STORE_GET, path);
        ANSWER(STORE_GET, path, .rc = rows[i].rc);
        end(&c, rows[i].code);
    }
}

/* Made again, whatever became of it, even in the next session. */
TEST_CASE(answer_to_asking_is_lost)
{
    struct call c;

    begin(&c, NULL, 0);
    answer_list();
    answer_read(AT(FIRST), 8);
    fake_await(STORE_SET, AT(FIRST));
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, AT(FIRST), .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    expect_asked(AT(FIRST));
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    expect_asked(AT(FIRST));
    ANSWER(STORE_SET, AT(FIRST), .rc = STORE_OK);
    end(&c, 0);
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
        struct call c;
        begin(&c, rows[i].node, 0);
        fake_await(STORE_LIST, "/b");
        ANSWER(STORE_LIST, "/b", .rc = rows[i].list, .names = names, .count = rows[i].count);
        if (rows[i].count && !rows[i].node)
            ANSWER(STORE_GET, AT(FIRST), .rc = rows[i].read, .czxid = 8);
        if (rows[i].count && !rows[i].node && rows[i].read == STORE_OK) {
            fake_await(STORE_SET, AT(FIRST));
            ANSWER(STORE_SET, AT(FIRST), .rc = rows[i].set);
        }
        end(&c, rows[i].code);
        CHECK(strstr(c.why.text, rows[i].text) != NULL);
    }
}

TEST_CASE(bad_input)
{
    zkl_session *s = fake_session();
    zkl_queue *q;

    CHECK_INT(zkl_queue_revoke(NULL, s, "/b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_revoke(&q, NULL, "/b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_revoke(&q, s, "b", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_break(s, "/b", NULL, 5, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_break(NULL, "/b", "c", 5, 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_break(s, NULL, "c", 5, 0), ZKL_EINVAL);
    zkl_session_close(s);
}

/* ---- breaking ---- */

TEST_CASE(is_removed)
{
    struct call c;

    begin(&c, SECOND, 9);
    answer_list();
    answer_read(AT(SECOND), 9);
    fake_await(STORE_DELETE, AT(SECOND));
    CHECK(!fake_is_asked(STORE_DELETE, AT(FIRST)));
    ANSWER(STORE_DELETE, AT(SECOND), .rc = STORE_OK);
    end(&c, 0);
}

/* One that is another's by now is left alone, and so is one that has gone. */
TEST_CASE(is_another_one)
{
    struct call c;

    begin(&c, FIRST, 9);
    answer_list();
    answer_read(AT(FIRST), 8);
    end(&c, ZKL_ENOENT);
    begin(&c, FIRST, 9);
    answer_list();
    ANSWER(STORE_GET, AT(FIRST), .rc = STORE_NONODE);
    end(&c, ZKL_ENOENT);
    begin(&c, FIRST, 8);
    answer_list();
    answer_read(AT(FIRST), 8);
    fake_await(STORE_DELETE, AT(FIRST));
    ANSWER(STORE_DELETE, AT(FIRST), .rc = STORE_NONODE); /* gone is gone */
    end(&c, 0);
}

/* What may be another's by now is read again before another try. */
TEST_CASE(answer_to_removing_is_lost)
{
    for (int taken = 0; taken < 2; taken++) {
        struct call c;
        begin(&c, FIRST, 8);
        answer_list();
        answer_read(AT(FIRST), 8);
        fake_await(STORE_DELETE, AT(FIRST));
        fake_event(STORE_EV_DOWN);
        ANSWER(STORE_DELETE, AT(FIRST), .rc = STORE_UNKNOWN);
        fake_event(STORE_EV_UP);
        answer_list();
        CHECK(!fake_is_asked(STORE_DELETE, AT(FIRST)));
        answer_read(AT(FIRST), taken ? 12 : 8);
        if (!taken) {
            fake_await(STORE_DELETE, AT(FIRST));
            fake_event(STORE_EV_EXPIRED);
            fake_event(STORE_EV_BEGIN);
            fake_event(STORE_EV_UP);
            answer_list();
            answer_read(AT(FIRST), 12);
        }
        end(&c, 0);
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
        struct call c;
        begin(&c, FIRST, 8);
        if (rows[i].list == STORE_OK) {
            answer_list();
            answer_read(AT(FIRST), 8);
            fake_await(STORE_DELETE, AT(FIRST));
            ANSWER(STORE_DELETE, AT(FIRST), .rc = rows[i].rc);
        } else {
            fake_await(STORE_LIST, "/b");
            ANSWER(STORE_LIST, "/b", .rc = rows[i].list);
        }
        end(&c, rows[i].code);
    }
}

/* The time is that of all that is asked. */
TEST_CASE(too_late)
{
    for (int removes = 0; removes < 2; removes++) {
        struct call c = {.s = fake_session(), .node = FIRST, .token = removes ? 8 : 0};
        c.timeout_ms = 300;
        REQUIRE(pthread_create(&c.thread, NULL, run, &c) == 0);
        answer_list();
        answer_read(AT(FIRST), 8);
        end(&c, ZKL_ETIMEDOUT);
    }
}

/* No time is left for the second request: it must not get all the time that a call has. */
TEST_CASE(no_time_is_left)
{
    char first[] = FIRST, *names[] = {first};
    struct call c = {.s = hand_session(), .node = FIRST, .timeout_ms = 1000};

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

TEST_CASE(closed_meanwhile)
{
    struct call c;

    begin(&c, FIRST, 8);
    answer_list();
    answer_read(AT(FIRST), 8);
    fake_await(STORE_DELETE, AT(FIRST));
    zkl_session_close(c.s);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.code, ZKL_ECLOSED);
}
