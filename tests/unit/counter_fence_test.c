/* Operations on counters behind a fence: what is read, and what the grant's transactions then ask
 * for, over a store that answers at once what the test says. */
#include "by_hand.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

#include "recipes/attempt.h"
#include "recipes/counter.h"

TEST_SUITE(counter_fence);

#define NODE "/root/n"

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
    return r->kind == STORE_MULTI || (r->kind != STORE_SYNC && g_str_has_prefix(r->path, NODE)) ||
           (r->kind == STORE_CREATE && strcmp(r->path, "/root") == 0);
}

static void note_change(const struct store_change *c)
{
    int64_t number = -1;

    CHECK_STR(c->path, NODE);
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

static void begin(const struct served *answers)
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

static void end(void)
{
    fake_answer_at_once(NULL);
    g_string_free(server.asked, TRUE);
    zkl_counter_free(counter);
    hand_leave(&holder);
    hand_close(server.s);
}

static int add(int64_t delta, int64_t timeout_ms, int64_t *ret)
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
TEST_CASE(added)
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
        begin(rows[i].answers);
        const int code = add(2, ZKL_FOREVER, &value);
        bool good = CHECK_INT(code, rows[i].code);
        good = CHECK_STR(server.asked->str, rows[i].asked) && good;
        good = CHECK_INT(value, code ? -1 : rows[i].value) && good;
        if (!good)
            printf("  %s\n", rows[i].what);
        end();
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
        begin(rows[i].answers);
        fake_answer_at_once(serve);
        const int code =
            rows[i].expected < 0
                ? zkl_counter_set(counter, rows[i].operand, holder.grant, ZKL_FOREVER)
                : zkl_counter_compare_and_set(counter, rows[i].expected, rows[i].operand,
                                              holder.grant, ZKL_FOREVER);
        CHECK_INT(code, rows[i].code);
        CHECK_STR(server.asked->str, rows[i].asked);
        end();
    }
}

TEST_CASE(sum_does_not_fit)
{
    static const struct served answers[] = {GOT("\7", 3)};
    int64_t value = -1;

    begin(answers);
    CHECK_INT(add(INT32_MAX, ZKL_FOREVER, &value), ZKL_EOVERFLOW);
    CHECK_INT(value, -1);
    CHECK_INT(server.transactions, 0);
    end();
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

    begin(NULL);
    fake_answer_at_once(be_faster);
    CHECK_INT(zkl_counter_add(counter, 1, holder.grant, ZKL_FOREVER, NULL), ZKL_EBUSY);
    zkl_last_error(&why);
    CHECK_STR(why.path, "/n");
    CHECK_INT(server.transactions, COUNTER_TRIES);
    end();
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
        begin(answers);
        server.pause_ms = rows[i].pause_ms;
        const int64_t own_ms = (timers_next(server.s->timers) - clock_now().boot) / CLOCK_MS;
        CHECK_INT(add(2, rows[i].timeout_ms, NULL), 0);
        REQUIRE(server.count == 4);
        for (int k = 0; k < 4; k++) {
            const int64_t none = own_ms - k * rows[i].pause_ms;
            if (!CHECK_INT(server.due_ms[k], rows[i].due_ms[k] < 0 ? none : rows[i].due_ms[k]))
                printf("  %zu, %d\n", i, k);
        }
        end();
    }
}

/* Nothing is asked for. */
TEST_CASE(of_another_session)
{
    zkl_error why;

    begin(NULL);
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
