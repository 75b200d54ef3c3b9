/* Operations on counters over a store that answers what the test says, plain and behind a fence. */
#include "by_hand.h"
#include "runner.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "recipes/attempt.h"
#include "recipes/counter.h"

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

static struct call call;

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
    begin(&call, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 3);
    check_set("\0\0\0\11", 3);
    ANSWER(STORE_SET, NODE, .rc = STORE_BADVERSION);
    answer_value("\0\0\0\10", 4, 4);
    check_set("\0\0\0\12", 4);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 5);
    end(&call, 0);
    CHECK_INT(call.value, 10);
}

/* Made as 0, with its parents, whoever makes it; then as ever. */
TEST_CASE(made)
{
    begin(&call, -1, ZKL_FOREVER);
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
    end(&call, 0);
    CHECK_INT(call.value, -1);
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

    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        begin(&call, 1, ZKL_FOREVER);
        if (table[i].kind == STORE_CREATE)
            ANSWER(STORE_GET, NODE, .rc = STORE_NONODE);
        if (table[i].kind == STORE_SET)
            answer_value("", 0, 0);
        ANSWER(table[i].kind, NODE, .rc = table[i].rc);
        end(&call, table[i].code);
        CHECK_STR(call.why.path, NODE);
        CHECK(strstr(call.why.text, table[i].text) != NULL);
    }
    begin(&call, 1, ZKL_FOREVER);
    answer_value("12", 2, 0);
    end(&call, ZKL_ELAYOUT);
    CHECK_STR(call.why.path, NODE);
}

/* A set has no answer. Then a request comes that the quorum refuses, whatever version the counter
 * has come to. The read that tells comes after that. */
TEST_CASE(lost_answer)
{
    begin(&call, 2, ZKL_FOREVER);
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
    end(&call, ZKL_EUNKNOWN);
}

/* And comes late: behind all that, and before the same set that is sent again. */
TEST_CASE(lost_answer_comes_late)
{
    begin(&call, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 3);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, NODE, .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SET, NODE "/none", .rc = STORE_NONODE);
    answer_value("\0\0\0\7", 4, 3);
    ANSWER(STORE_SET, NODE, .rc = STORE_BADVERSION);
    answer_value("\0\0\0\11", 4, 4);
    CHECK(!fake_is_asked(STORE_SET, NODE));
    end(&call, ZKL_EUNKNOWN);
}

/* Between the read and the set: the version was the same, but its number is overwritten. */
TEST_CASE(made_anew)
{
    begin(&call, 2, ZKL_FOREVER);
    answer_value("\0\0\0\7", 4, 0);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 6);
    end(&call, ZKL_EUNKNOWN);
}

/* Nothing was sent, or nobody knows. */
TEST_CASE(late)
{
    enum { LONG_MS = 1000 }; /* what happens before the end has time for that */

    begin(&call, 1, 30);
    end(&call, ZKL_ETIMEDOUT);
    begin(&call, 1, LONG_MS);
    answer_value("", 0, 0);
    end(&call, ZKL_EUNKNOWN);
    begin(&call, 1, LONG_MS);
    fake_event(STORE_EV_DOWN);
    end(&call, ZKL_EUNREACHABLE);
    begin(&call, 1, LONG_MS);
    fake_busy(true);
    answer_value("", 0, 0); /* the set waits for room */
    fake_event(STORE_EV_DOWN);
    fake_busy(false);
    end(&call, ZKL_EUNREACHABLE); /* the store did not take it */
}

/* Waits for a connection, and is never sent: also not when there is one again. */
TEST_CASE(parked)
{
    begin(&call, 1, 1000);
    fake_event(STORE_EV_DOWN);
    answer_value("", 0, 0);
    pthread_join(call.thread, NULL);
    CHECK_INT(call.code, ZKL_EUNREACHABLE);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_SET, NODE));
    zkl_counter_free(call.counter);
    zkl_session_close(call.s);
}

TEST_CASE(session_ends)
{
    begin(&call, 1, ZKL_FOREVER);
    fake_next_session();
    answer_value("", 0, 0);
    fake_event(STORE_EV_EXPIRED);
    end(&call, ZKL_EUNKNOWN);
    begin(&call, 1, ZKL_FOREVER);
    zkl_session_close(g_steal_pointer(&call.s));
    end(&call, ZKL_ECLOSED);
    begin(&call, 1, ZKL_FOREVER);
    fake_event(STORE_EV_AUTH);
    end(&call, ZKL_EAUTH);
}

/* Never before the server has caught up. */
TEST_CASE(get_is_behind_a_sync)
{
    begin(&call, 1, ZKL_FOREVER);
    CHECK(!fake_is_asked(STORE_SYNC, NODE));
    answer_value("", 0, 0);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK, .czxid = 5);
    pthread_join(call.thread, NULL);
    CHECK_INT(zkl_counter_get(call.counter, 20, &call.value), ZKL_ETIMEDOUT);
    CHECK(fake_place(STORE_SYNC, NODE) >= 0);
    CHECK(fake_place(STORE_SYNC, NODE) < fake_place(STORE_GET, NODE));
    CHECK_INT(call.value, 1);
    zkl_counter_free(call.counter);
    zkl_session_close(call.s);
}

/* Reads of 8 bytes, a missing counter, and comparisons. */
static bool serve_wide(const struct store_request *r, struct store_reply *reply)
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
    fake_answer_at_once(serve_wide);
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

TEST_CASE(bad_arguments)
{
    zkl_session *s = fake_session();
    zkl_counter *c = NULL;
    zkl_error why;

    CHECK_INT(zkl_counter_new(NULL, s, NODE, ZKL_COUNTER_32), ZKL_EINVAL);
    zkl_last_error(&why);
    CHECK_STR(why.text, "zkl_counter_new: ret is NULL");
    CHECK_INT(zkl_counter_new(&c, s, "n", ZKL_COUNTER_32), ZKL_EINVAL);
    CHECK_INT(zkl_counter_new(&c, s, NODE, (zkl_counter_width)5), ZKL_EINVAL);
    zkl_last_error(&why);
    CHECK_STR(why.text, "zkl_counter_new: width is none of zkl_counter_width");
    CHECK(c == NULL);
    REQUIRE(zkl_counter_new(&c, s, NODE, ZKL_COUNTER_32) == 0);
    CHECK_INT(zkl_counter_get(c, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_counter_set(c, INT64_C(1) << 31, NULL, 0), ZKL_EOVERFLOW);
    CHECK_INT(zkl_counter_compare_and_set(c, 0, INT64_C(1) << 31, NULL, 0), ZKL_EOVERFLOW);
    CHECK(!fake_is_asked(STORE_GET, NODE));
    zkl_counter_free(c);
    zkl_counter_free(NULL);
    zkl_session_close(s);
}

/* ---- behind a fence: what is read, and what the grant's transactions then ask for ---- */

#define FENCED_NODE "/root/n"

enum { ANSWERS_MAX = 8 };

struct served {
    enum store_kind kind;
    struct store_reply reply;
};

/* What the counter's requests are answered, in this order; and what they were. */
static struct {
    const struct served *next;
    GString *asked;
    int transactions;
    int64_t due_ms[ANSWERS_MAX]; /* of each: when a timer is due that is for it */
    int64_t pause_ms;            /* that each answer takes */
    int count;
    zkl_session *s;
} server;

/* A counter's request; what it is about otherwise is the session's own business. */
static bool is_of_counter(const struct store_request *r)
{
    return r->kind == STORE_MULTI ||
           (r->kind != STORE_SYNC && g_str_has_prefix(r->path, FENCED_NODE)) ||
           (r->kind == STORE_CREATE && strcmp(r->path, "/root") == 0);
}

static void note_change(const struct store_change *c)
{
    int64_t number = -1;

    CHECK_STR(c->path, FENCED_NODE);
    CHECK(counter_decode(ZKL_COUNTER_32, c->data, (size_t)c->length, &number));
    if (c->kind == STORE_CREATE)
        g_string_append_printf(server.asked, "create=%d", (int)number);
    else
        g_string_append_printf(server.asked, "set:%d=%d", c->version, (int)number);
}

static void note(const struct store_request *r)
{
    static const char *const words[] = {
        [STORE_GET] = "get", [STORE_CREATE] = "make", [STORE_SET] = "plain"};

    g_string_append(server.asked, server.asked->len ? " " : "");
    if (r->kind != STORE_MULTI) {
        g_string_append(server.asked, words[r->kind]);
        return;
    }
    server.transactions++;
    CHECK_INT(r->count, 2); /* the fence, and the number */
    note_change(&r->changes[1]);
}

static bool serve(const struct store_request *r, struct store_reply *reply)
{
    if (!is_of_counter(r))
        return false;
    note(r);
    if (server.count < ANSWERS_MAX)
        server.due_ms[server.count++] =
            (timers_next(server.s->timers) - clock_now().boot) / CLOCK_MS;
    if (r->kind != server.next->kind)
        return CHECK_INT(r->kind, server.next->kind);
    *reply = (server.next++)->reply;
    hand_jump(server.pause_ms, server.pause_ms);
    return true;
}

static struct acquisition holder;
static zkl_counter *counter;

static void begin_fenced(const struct served *answers)
{
    server.s = hand_session();
    hand_hold(&holder, server.s);
    hand_pass_proved(server.s, ATTEMPT_OWN_WATCH_MS);
    ANSWER(STORE_GET, "/root/l", .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    REQUIRE(zkl_counter_new(&counter, server.s, "/n", ZKL_COUNTER_32) == 0);
    server.next = answers;
    server.asked = g_string_new("");
    server.transactions = server.count = 0;
    server.pause_ms = 0;
}

static void end_fenced(void)
{
    fake_answer_at_once(NULL);
    g_string_free(server.asked, TRUE);
    zkl_counter_free(counter);
    hand_leave(&holder);
    hand_close(server.s);
}

static int add_fenced(int64_t delta, int64_t timeout_ms, int64_t *ret)
{
    fake_answer_at_once(serve);
    return zkl_counter_add(counter, delta, holder.grant, timeout_ms, ret);
}

#define GOT(number, version_)                                                                      \
    {                                                                                              \
        STORE_GET,                                                                                 \
        {                                                                                          \
            .rc = STORE_OK, .data = "\0\0\0" number, .length = 4, .version = version_, .czxid = 5  \
        }                                                                                          \
    }
#define SAYS(kind, ...)                                                                            \
    {                                                                                              \
        STORE_##kind,                                                                              \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NONE SAYS(GET, .rc = STORE_NONODE)
#define DONE SAYS(MULTI, .rc = STORE_OK)
#define NOT(rc_) SAYS(MULTI, .rc = rc_, .failed = 1)

/* 2 is added. */
TEST_CASE(added_behind_a_fence)
{
    static const struct {
        const char *what;
        struct served answers[ANSWERS_MAX];
        const char *asked;
        int code;
        int value; /* if there is no error */
    } rows[] = {
        {"a number", {GOT("\7", 3), DONE}, "get set:3=9", 0, 9},
        {"another is faster",
         {GOT("\7", 3), NOT(STORE_BADVERSION), GOT("\10", 4), DONE},
         "get set:3=9 get set:4=10",
         0,
         10},
        {"there is none", {NONE, DONE}, "get create=2", 0, 2},
        {"another makes it",
         {NONE, NOT(STORE_EXISTS), GOT("\5", 0), DONE},
         "get create=2 get set:0=7",
         0,
         7},
        {"it goes",
         {GOT("\7", 3), NOT(STORE_NONODE), NONE, DONE},
         "get set:3=9 get create=2",
         0,
         2},
        {"it is made with its parents",
         {NONE, NOT(STORE_NONODE), NONE, SAYS(CREATE, .rc = STORE_OK), GOT("\0", 0),
          SAYS(SET, .rc = STORE_OK, .czxid = 5), GOT("\0", 1), DONE},
         "get create=2 get make get plain get set:1=2",
         0,
         2},
        {"it cannot be made",
         {NONE, NOT(STORE_NONODE), NONE, SAYS(CREATE, .rc = STORE_NOAUTH)},
         "get create=2 get make",
         ZKL_EACCES,
         0},
        {"a missing one makes no version",
         {NONE, NOT(STORE_BADVERSION), NONE, DONE},
         "get create=2 get create=2",
         0,
         2},
        {"it cannot be read", {SAYS(GET, .rc = STORE_NOAUTH)}, "get", ZKL_EACCES, 0},
        {"it is no number",
         {SAYS(GET, .rc = STORE_OK, .data = "12", .length = 2)},
         "get",
         ZKL_ELAYOUT,
         0},
        {"it cannot be written", {GOT("\7", 3), NOT(STORE_NOAUTH)}, "get set:3=9", ZKL_EACCES, 0},
        {"the grant is lost",
         {GOT("\7", 3), SAYS(MULTI, .rc = STORE_NONODE)},
         "get set:3=9",
         ZKL_ELOST,
         0},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        int64_t value = -1;
        begin_fenced(rows[i].answers);
        const int code = add_fenced(2, ZKL_FOREVER, &value);
        bool good = CHECK_INT(code, rows[i].code);
        good = CHECK_STR(server.asked->str, rows[i].asked) && good;
        good = CHECK_INT(value, code ? -1 : rows[i].value) && good;
        if (!good)
            printf("  %s\n", rows[i].what);
        end_fenced();
    }
}

/* Each of them may write, and says what it found. */
TEST_CASE(set_and_compared)
{
    static const struct {
        int64_t expected; /* -1: it is set, whatever it is */
        int64_t operand;
        struct served answers[ANSWERS_MAX];
        const char *asked;
        int code;
    } rows[] = {
        {-1, 4, {GOT("\7", 3), DONE}, "get set:3=4", 0},
        {-1, 7, {GOT("\7", 3), DONE}, "get set:3=7", 0},
        {-1, 0, {NONE, DONE}, "get create=0", 0},
        {7, 4, {GOT("\7", 3), DONE}, "get set:3=4", 0},
        {8, 4, {GOT("\7", 3)}, "get", ZKL_EVERSION},
        {7,
         4,
         {GOT("\7", 3), NOT(STORE_BADVERSION), GOT("\10", 4)},
         "get set:3=4 get",
         ZKL_EVERSION},
        {0, 4, {NONE, DONE}, "get create=4", 0},
        {1, 4, {NONE}, "get", ZKL_EVERSION},
        {-1, INT64_C(1) << 31, {NONE}, "", ZKL_EOVERFLOW},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_fenced(rows[i].answers);
        fake_answer_at_once(serve);
        const int code =
            rows[i].expected < 0
                ? zkl_counter_set(counter, rows[i].operand, holder.grant, ZKL_FOREVER)
                : zkl_counter_compare_and_set(counter, rows[i].expected, rows[i].operand,
                                              holder.grant, ZKL_FOREVER);
        CHECK_INT(code, rows[i].code);
        CHECK_STR(server.asked->str, rows[i].asked);
        end_fenced();
    }
}

TEST_CASE(sum_does_not_fit)
{
    static const struct served answers[] = {GOT("\7", 3)};
    int64_t value = -1;

    begin_fenced(answers);
    CHECK_INT(add_fenced(INT32_MAX, ZKL_FOREVER, &value), ZKL_EOVERFLOW);
    CHECK_INT(value, -1);
    CHECK_INT(server.transactions, 0);
    end_fenced();
}

static bool be_faster(const struct store_request *r, struct store_reply *reply)
{
    if (!is_of_counter(r))
        return false;
    server.transactions += r->kind == STORE_MULTI;
    *reply = (struct store_reply){.rc = r->kind == STORE_MULTI ? STORE_BADVERSION : STORE_OK,
                                  .failed = 1};
    return true;
}

TEST_CASE(always_too_late)
{
    zkl_error why;

    begin_fenced(NULL);
    fake_answer_at_once(be_faster);
    CHECK_INT(zkl_counter_add(counter, 1, holder.grant, ZKL_FOREVER, NULL), ZKL_EBUSY);
    zkl_last_error(&why);
    CHECK_STR(why.path, "/n");
    CHECK_INT(server.transactions, COUNTER_TRIES);
    end_fenced();
}

/* What is left of the time is that of each request, and there is always some left to hear the
 * answer of one that is sent. */
TEST_CASE(time_is_shared)
{
    static const struct served answers[] = {GOT("\7", 3), NOT(STORE_BADVERSION), GOT("\7", 3),
                                            DONE};
    static const struct {
        int64_t timeout_ms, pause_ms;
        int64_t due_ms[4]; /* -1: no timer of its own */
    } rows[] = {
        {100, 0, {100, 100, 100, 100}},
        {100, 30, {100, 70, 40, 10}},
        {100, 60, {100, 40, 1, 1}},
        {1, 0, {1, 1, 1, 1}},
        {0, 1, {-1, -1, -1, -1}},
        {ZKL_FOREVER, 1, {-1, -1, -1, -1}},
        {-2, 1, {-1, -1, -1, -1}},
        {INT64_MAX, 1, {-1, -1, -1, -1}},
        {INT64_MAX / CLOCK_MS, 1, {-1, -1, -1, -1}},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_fenced(answers);
        server.pause_ms = rows[i].pause_ms;
        const int64_t own_ms = (timers_next(server.s->timers) - clock_now().boot) / CLOCK_MS;
        CHECK_INT(add_fenced(2, rows[i].timeout_ms, NULL), 0);
        REQUIRE(server.count == 4);
        for (int k = 0; k < 4; k++) {
            const int64_t none = own_ms - k * rows[i].pause_ms;
            if (!CHECK_INT(server.due_ms[k], rows[i].due_ms[k] < 0 ? none : rows[i].due_ms[k]))
                printf("  %zu, %d\n", i, k);
        }
        end_fenced();
    }
}

/* Nothing is asked for. */
TEST_CASE(of_another_session)
{
    zkl_error why;

    begin_fenced(NULL);
    hand_close(server.s);
    zkl_session *s = fake_session();
    zkl_counter *other;
    REQUIRE(zkl_counter_new(&other, s, "/n", ZKL_COUNTER_32) == 0);
    fake_answer_at_once(serve);
    CHECK_INT(zkl_counter_set(other, 1, holder.grant, ZKL_FOREVER), ZKL_EINVAL);
    zkl_last_error(&why);
    CHECK_STR(why.text, "zkl_counter_set: fence is a grant of another session");
    CHECK_STR(server.asked->str, "");
    fake_answer_at_once(NULL);
    zkl_counter_free(other);
    zkl_session_close(s);
    g_string_free(server.asked, TRUE);
    zkl_counter_free(counter);
    hand_leave(&holder);
}

/* ---- a watch ---- */

#define WATCHED "/root" NODE

static GString *numbers;

static void on_number(int64_t value, void *data)
{
    g_string_append_printf(data, " %d", (int)value);
}

static zkl_watch *begin_watch(void)
{
    zkl_watch *watch;

    server.s = hand_session_logging(ZKL_LOG_WARN);
    numbers = g_string_new("");
    REQUIRE(zkl_counter_new(&counter, server.s, NODE, ZKL_COUNTER_32) == 0);
    CHECK_INT(zkl_counter_watch(NULL, counter, on_number, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_counter_watch(&watch, NULL, on_number, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_counter_watch(&watch, counter, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_counter_watch(&watch, counter, on_number, numbers), 0);
    zkl_counter_free(counter);
    return watch;
}

static void end_watch(void)
{
    g_string_free(numbers, TRUE);
    hand_close(server.s);
}

static void answer_list(enum store_rc rc)
{
    fake_answer(STORE_SYNC, WATCHED, (struct store_reply){.rc = STORE_OK});
    CHECK(fake_is_watching(STORE_LIST, WATCHED));
    ANSWER(STORE_LIST, WATCHED, .rc = rc);
}

static void answer_none(void)
{
    answer_list(STORE_NONODE);
    ANSWER(STORE_STAT, WATCHED, .rc = STORE_NONODE);
}

static void answer_watched(const char *data, int length)
{
    CHECK(fake_is_watching(STORE_GET, WATCHED));
    ANSWER(STORE_GET, WATCHED, .rc = STORE_OK, .data = data, .length = length);
}

static void check_told(const char *told)
{
    zkl_session_dispatch(server.s);
    CHECK_STR(numbers->str, told);
    g_string_truncate(numbers, 0);
}

TEST_CASE(watched)
{
    zkl_watch *watch = begin_watch();

    answer_none();
    check_told(" 0");
    fake_fire(WATCHED, STORE_FIRED_CREATED);
    answer_list(STORE_OK);
    answer_watched("\0\0\0\7", 4);
    check_told(" 7");
    fake_fire(WATCHED, STORE_FIRED_CHANGED);
    answer_watched("\0\0\0\7", 4);
    check_told("");
    fake_reconnect();
    answer_list(STORE_OK);
    answer_watched("\0\0\0\6", 4);
    check_told(" 6");
    fake_next_session();
    answer_list(STORE_OK);
    ANSWER(STORE_GET, WATCHED, .rc = STORE_NONODE);
    answer_none();
    check_told(" 0");
    zkl_watch_free(watch);
    fake_fire(WATCHED, STORE_FIRED_CREATED);
    check_told("");
    end_watch();
}

/* If several numbers come before the user is told, he is told the last. */
TEST_CASE(watched_by_one_who_is_slow)
{
    zkl_watch *watch = begin_watch();

    answer_list(STORE_OK);
    for (char number = 1; number <= 3; number++) {
        const char data[] = {0, 0, 0, number};
        answer_watched(data, sizeof data);
        fake_fire(WATCHED, STORE_FIRED_CHANGED);
    }
    check_told(" 3");
    for (char number = 2; number <= 3; number++) { /* and back */
        const char data[] = {0, 0, 0, number};
        answer_watched(data, sizeof data);
        fake_fire(WATCHED, STORE_FIRED_CHANGED);
    }
    check_told("");
    zkl_watch_free(watch);
    end_watch();
}

/* What is said of it is said once, and the next number is told, even if it is the same. */
TEST_CASE(watched_that_is_none)
{
    zkl_watch *watch = begin_watch();

    answer_list(STORE_OK);
    answer_watched("\0\0\0\7", 4);
    check_told(" 7");
    for (int i = 0; i < 2; i++) {
        fake_fire(WATCHED, STORE_FIRED_CHANGED);
        answer_watched("\7", 1);
        check_told("");
        CHECK_STR(hand_logged, "/dir/n: watching the counter: its data is no number of that many "
                               "bytes; ");
    }
    fake_fire(WATCHED, STORE_FIRED_CHANGED);
    answer_watched("\0\0\0\7", 4);
    check_told(" 7");
    zkl_watch_free(watch);
    end_watch();
}

TEST_CASE(watched_behind_a_refusal)
{
    zkl_watch *watch = begin_watch();

    for (int i = 0; i < 2; i++) {
        answer_list(STORE_OK);
        ANSWER(STORE_GET, WATCHED, .rc = STORE_NOAUTH);
        check_told("");
        CHECK(strstr(hand_logged, "watching the counter"));
        hand_logged[0] = '\0';
        hand_pass(server.s, 2000);
        answer_list(STORE_OK);
        answer_watched("\0\0\0\7", 4);
        check_told(i == 0 ? " 7" : "");
        fake_reconnect();
    }
    answer_list(STORE_OK);
    answer_watched("\0\0\0\10", 4);
    check_told(" 8");
    fake_fire(WATCHED, STORE_FIRED_GONE);
    answer_none();
    check_told(" 0");
    zkl_watch_free(watch);
    end_watch();
}
