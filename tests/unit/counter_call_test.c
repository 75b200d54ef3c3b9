/* Operations on counters over a store that answers what the test says. */
#include "fake_store.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(counter_call);

#define NODE "/dir/n"

struct call {
    zkl_session *s;
    zkl_counter *counter;
    int64_t delta, timeout_ms, value;
    const zkl_grant *fence;
    int code;
    zkl_error why;
    pthread_t thread;
};

static void *add(void *data)
{
    struct call *c = data;

    c->code = zkl_counter_add(c->counter, c->delta, c->fence, c->timeout_ms, &c->value);
    zkl_last_error(&c->why);
    return NULL;
}

static void begin(struct call *c, int64_t delta, int64_t timeout_ms)
{
    *c = (struct call){.s = fake_session(), .delta = delta, .timeout_ms = timeout_ms};
    REQUIRE(zkl_counter_new(&c->counter, c->s, NODE, ZKL_COUNTER_32) == 0);
    REQUIRE(pthread_create(&c->thread, NULL, add, c) == 0);
    fake_await(STORE_GET, NODE);
}

static void end(struct call *c, int code)
{
    pthread_join(c->thread, NULL);
    CHECK_INT(c->code, code);
    zkl_counter_free(c->counter);
    zkl_session_close(c->s);
}

static void answer_value(const char *data, int length, int version)
{
    ANSWER(STORE_GET, NODE, .rc = STORE_OK, .data = data, .length = length, .version = version,
           .czxid = 5);
}

static void check_set(const char *data, int version)
{
    struct store_request asked = fake_request(STORE_SET, NODE);

    REQUIRE(asked.path != NULL);
    CHECK_INT(asked.length, 4);
    CHECK(memcmp(asked.data, data, 4) == 0);
    CHECK_INT(asked.version, version);
}

TEST_CASE(added)
{
    struct call c;

    begin(&c, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 3);
    check_set("\0\0\0\11", 3);
    ANSWER(STORE_SET, NODE, .rc = STORE_BADVERSION);
    answer_value("\0\0\0\10", 4, 4);
    check_set("\0\0\0\12", 4);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 5);
    end(&c, 0);
    CHECK_INT(c.value, 10);
}

/* Made as 0, with its parents, whoever makes it; then as ever. */
TEST_CASE(made)
{
    struct call c;

    begin(&c, -1, ZKL_FOREVER);
    ANSWER(STORE_GET, NODE, .rc = STORE_NONODE);
    struct store_request asked = fake_request(STORE_CREATE, NODE);
    CHECK_INT(asked.mode, STORE_PERSISTENT);
    CHECK(asked.length == 4 && memcmp(asked.data, "\0\0\0\0", 4) == 0);
    ANSWER(STORE_CREATE, NODE, .rc = STORE_NONODE);
    CHECK_INT(fake_request(STORE_CREATE, "/dir").mode, STORE_CONTAINER);
    ANSWER(STORE_CREATE, "/dir", .rc = STORE_OK);
    ANSWER(STORE_CREATE, NODE, .rc = STORE_EXISTS);
    answer_value("\0\0\0\0", 4, 0);
    check_set("\377\377\377\377", 0);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 5);
    end(&c, 0);
    CHECK_INT(c.value, -1);
}

TEST_CASE(refused)
{
    static const struct {
        enum store_kind kind;
        enum store_rc rc;
        int code;
        const char *text;
    } table[] = {
        {STORE_GET, STORE_NOAUTH, ZKL_EACCES, "read the data of it: the permission read (r) "},
        {STORE_CREATE, STORE_NOCHILDREN, ZKL_EPATH, "ephemeral"},
        {STORE_CREATE, STORE_NOAUTH, ZKL_EACCES, "a child of /dir: the permission create (c) "},
        {STORE_SET, STORE_NOAUTH, ZKL_EACCES, "set the data of it: the permission write (w) "},
        {STORE_SET, STORE_BAD, ZKL_EPROTO, "invalid answer"},
    };
    struct call c;

    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        begin(&c, 1, ZKL_FOREVER);
        if (table[i].kind == STORE_CREATE)
            ANSWER(STORE_GET, NODE, .rc = STORE_NONODE);
        if (table[i].kind == STORE_SET)
            answer_value("", 0, 0);
        ANSWER(table[i].kind, NODE, .rc = table[i].rc);
        end(&c, table[i].code);
        CHECK_STR(c.why.path, NODE);
        CHECK(strstr(c.why.text, table[i].text) != NULL);
    }
    begin(&c, 1, ZKL_FOREVER);
    answer_value("12", 2, 0);
    end(&c, ZKL_ELAYOUT);
    CHECK_STR(c.why.path, NODE);
}

TEST_CASE(no_parents)
{
    struct call c;

    begin(&c, 1, ZKL_FOREVER);
    ANSWER(STORE_GET, NODE, .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, NODE, .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, "/dir", .rc = STORE_NOAUTH);
    end(&c, ZKL_EACCES);
}

/* A set has no answer. Then a request comes that the quorum refuses, whatever version the counter
 * has come to. The read that tells comes after that. */
TEST_CASE(lost_answer)
{
    struct call c;

    begin(&c, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 3);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, NODE, .rc = STORE_UNKNOWN);
    CHECK(!fake_is_asked(STORE_SET, NODE));
    fake_event(STORE_EV_UP);
    CHECK_INT(fake_request(STORE_SET, NODE).version, INT32_MAX);
    CHECK(strcmp(fake_request(STORE_SET, NODE).path, NODE) != 0);
    CHECK(!fake_is_asked(STORE_GET, NODE));
    ANSWER(STORE_SET, NODE, .rc = STORE_BADVERSION);
    answer_value("\0\0\0\7", 4, 3);
    check_set("\0\0\0\11", 3);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, NODE, .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SET, NODE, .rc = STORE_NONODE);
    ANSWER(STORE_GET, NODE, .rc = STORE_NONODE);
    end(&c, ZKL_EUNKNOWN);
}

/* And comes late: behind all that, and before the same set that is sent again. */
TEST_CASE(lost_answer_comes_late)
{
    struct call c;

    begin(&c, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 3);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, NODE, .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SET, NODE "/none", .rc = STORE_NONODE);
    answer_value("\0\0\0\7", 4, 3);
    ANSWER(STORE_SET, NODE, .rc = STORE_BADVERSION);
    answer_value("\0\0\0\11", 4, 4);
    CHECK(!fake_is_asked(STORE_SET, NODE));
    end(&c, ZKL_EUNKNOWN);
}

/* Between the read and the set: the version was the same, but its number is overwritten. */
TEST_CASE(made_anew)
{
    struct call c;

    begin(&c, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 0);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 6);
    end(&c, ZKL_EUNKNOWN);
}

/* What comes before that read has to be answered by the quorum, or the read would tell nothing. */
TEST_CASE(not_passed)
{
    struct call c;

    begin(&c, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 3);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, NODE, .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SET, NODE, .rc = STORE_BAD);
    end(&c, ZKL_EUNKNOWN);
}

/* Nothing was sent, or nobody knows. */
TEST_CASE(late)
{
    struct call c;

    begin(&c, 1, 30);
    end(&c, ZKL_ETIMEDOUT);
    begin(&c, 1, 30);
    answer_value("", 0, 0);
    end(&c, ZKL_EUNKNOWN);
    begin(&c, 1, 30);
    fake_event(STORE_EV_DOWN);
    end(&c, ZKL_EUNREACHABLE);
    begin(&c, 1, 300);
    fake_busy(true);
    answer_value("", 0, 0); /* the set waits for room */
    fake_event(STORE_EV_DOWN);
    fake_busy(false);
    end(&c, ZKL_EUNREACHABLE); /* the store did not take it */
}

/* Waits for a connection, and is never sent: also not when there is one again. */
TEST_CASE(parked)
{
    struct call c;

    begin(&c, 1, 200);
    fake_event(STORE_EV_DOWN);
    answer_value("", 0, 0);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.code, ZKL_EUNREACHABLE);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_SET, NODE));
    zkl_counter_free(c.counter);
    zkl_session_close(c.s);
}

/* The same, and another session comes before the time has passed: it begins anew. */
TEST_CASE(parked_until_the_session_ends)
{
    struct call c;

    begin(&c, 1, ZKL_FOREVER);
    fake_event(STORE_EV_DOWN);
    answer_value("\0\0\0\7", 4, 3);
    fake_next_session();
    CHECK(!fake_is_asked(STORE_SET, NODE));
    answer_value("\0\0\0\11", 4, 4);
    check_set("\0\0\0\12", 4);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 5);
    end(&c, 0);
    CHECK_INT(c.value, 10);
}

TEST_CASE(session_ends)
{
    struct call c;

    begin(&c, 1, ZKL_FOREVER);
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    answer_value("", 0, 0);
    fake_event(STORE_EV_EXPIRED);
    end(&c, ZKL_EUNKNOWN);
    begin(&c, 1, ZKL_FOREVER);
    zkl_session *s = c.s;
    zkl_session_close(s);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.code, ZKL_ECLOSED);
    CHECK_INT(zkl_counter_get(c.counter, 0, &c.value), ZKL_ECLOSED);
    zkl_counter_free(c.counter);
    begin(&c, 1, ZKL_FOREVER);
    fake_event(STORE_EV_AUTH);
    end(&c, ZKL_EAUTH);
}

/* Never before the server has caught up. */
TEST_CASE(get_is_behind_a_sync)
{
    struct call c;

    begin(&c, 1, ZKL_FOREVER);
    CHECK(!fake_is_asked(STORE_SYNC, NODE));
    answer_value("", 0, 0);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 5);
    pthread_join(c.thread, NULL);
    CHECK_INT(zkl_counter_get(c.counter, 20, &c.value), ZKL_ETIMEDOUT);
    CHECK(fake_place(STORE_SYNC, NODE) >= 0);
    CHECK(fake_place(STORE_SYNC, NODE) < fake_place(STORE_GET, NODE));
    CHECK_INT(c.value, 1);
    zkl_counter_free(c.counter);
    zkl_session_close(c.s);
}

/* Reads of 8 bytes, a missing counter, and comparisons. */
static bool serve(const struct store_request *r, struct store_reply *reply)
{
    static char number[] = "\0\0\0\1\0\0\0\2";

    *reply = (struct store_reply){.rc = STORE_OK, .data = number, .length = 8, .version = 3};
    if (g_str_has_suffix(r->path, "/missing"))
        reply->rc = STORE_NONODE;
    if (r->kind == STORE_SET)
        CHECK(r->length == 8 && r->version == 3 && memcmp(r->data, "\0\0\0\1\0\0\0\5", 8) == 0);
    return true;
}

TEST_CASE(wide)
{
    const int64_t number = (INT64_C(1) << 32) + 2;
    zkl_session *s = fake_session();
    zkl_counter *c, *missing;
    int64_t value = -1;

    REQUIRE(zkl_counter_new(&c, s, NODE, ZKL_COUNTER_64) == 0);
    REQUIRE(zkl_counter_new(&missing, s, "/missing", ZKL_COUNTER_64) == 0);
    fake_answer_at_once(serve);
    CHECK_INT(zkl_counter_get(c, 1000, &value), 0);
    CHECK(value == number);
    CHECK_INT(zkl_counter_get(missing, 1000, &value), 0);
    CHECK_INT(value, 0);
    CHECK_INT(zkl_counter_compare_and_set(c, 7, 8, NULL, 1000), ZKL_EVERSION);
    CHECK_INT(zkl_counter_compare_and_set(c, number, number + 3, NULL, 1000), 0);
    CHECK_INT(zkl_counter_set(c, number + 3, NULL, 1000), 0);
    CHECK_INT(zkl_counter_add(c, 3, NULL, 1000, NULL), 0);
    CHECK_INT(zkl_counter_add(c, INT64_MAX, NULL, 1000, &value), ZKL_EOVERFLOW);
    CHECK_INT(value, 0);
    CHECK_INT(zkl_counter_get(c, 1000, &value), 0);
    CHECK_INT(zkl_last_error(NULL), ZKL_EOVERFLOW); /* a success leaves it */
    fake_answer_at_once(NULL);
    zkl_counter_free(c);
    zkl_counter_free(missing);
    zkl_session_close(s);
}

static void in_callback(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct call *c = data;

    (void)s;
    (void)id;
    if (event == ZKL_SESSION_CONNECTED)
        c->code = zkl_counter_add(c->counter, 1, NULL, 0, NULL);
}

TEST_CASE(bad_arguments)
{
    zkl_session *s = fake_session();
    zkl_counter *c = NULL, *other = NULL;
    int64_t value;

    CHECK_INT(zkl_counter_new(NULL, s, NODE, ZKL_COUNTER_32), ZKL_EINVAL);
    zkl_error why;
    zkl_last_error(&why);
    CHECK_STR(why.text, "zkl_counter_new: ret is NULL");
    CHECK_INT(zkl_counter_new(&c, NULL, NODE, ZKL_COUNTER_32), ZKL_EINVAL);
    CHECK_INT(zkl_counter_new(&c, s, "n", ZKL_COUNTER_32), ZKL_EINVAL);
    CHECK_INT(zkl_counter_new(&c, s, NODE, (zkl_counter_width)5), ZKL_EINVAL);
    zkl_last_error(&why);
    CHECK_STR(why.text, "zkl_counter_new: width is none of zkl_counter_width");
    CHECK(c == NULL);
    REQUIRE(zkl_counter_new(&c, s, NODE, ZKL_COUNTER_32) == 0);
    CHECK_INT(zkl_counter_get(NULL, 0, &value), ZKL_EINVAL);
    CHECK_INT(zkl_counter_get(c, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_counter_set(NULL, 1, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_counter_set(c, INT64_C(1) << 31, NULL, 0), ZKL_EOVERFLOW);
    CHECK_INT(zkl_counter_compare_and_set(c, 0, INT64_C(1) << 31, NULL, 0), ZKL_EOVERFLOW);
    CHECK(!fake_is_asked(STORE_GET, NODE));
    struct call inside = {.s = s, .counter = c};
    REQUIRE(zkl_session_on_change(s, in_callback, &inside) == 0);
    zkl_session_close(s);
    CHECK_INT(inside.code, ZKL_EDEADLK);
    CHECK_INT(zkl_counter_set(c, 1, NULL, 0), ZKL_ECLOSED);
    CHECK_INT(zkl_counter_new(&other, s, NODE, ZKL_COUNTER_32), ZKL_ECLOSED); /* c has it still */
    zkl_counter_free(c);
    zkl_counter_free(NULL);
}
