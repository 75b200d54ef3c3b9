/* The limit of a semaphore as an administrator reads and sets it. */
#include "by_hand.h"
#include "recipes/limit.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(limit_call);

#define NODE "/root/s"

struct call {
    zkl_session *s;
    zkl_semaphore *semaphore;
    int limit; /* to be set; 0: to be read */
    int64_t timeout_ms;
    int code, value;
    zkl_error why;
    pthread_t thread;
};

static void *ask(void *data)
{
    struct call *c = data;

    c->code = c->limit ? zkl_semaphore_set_limit(c->semaphore, c->limit, c->timeout_ms)
                       : zkl_semaphore_get_limit(c->semaphore, c->timeout_ms, &c->value);
    zkl_last_error(&c->why);
    return NULL;
}

static void begin(struct call *c, int limit, int64_t timeout_ms)
{
    *c = (struct call){.s = hand_session(), .limit = limit, .timeout_ms = timeout_ms};
    REQUIRE(zkl_semaphore_new(&c->semaphore, c->s, "/s", NULL) == 0);
    REQUIRE(pthread_create(&c->thread, NULL, ask, c) == 0);
    fake_await(STORE_GET, NODE);
    CHECK_INT(fake_request(STORE_GET, NODE).length, 0);
}

static void end(struct call *c, int code)
{
    pthread_join(c->thread, NULL);
    CHECK_INT(c->code, code);
    if (code)
        CHECK_INT(c->why.code, code);
    zkl_semaphore_free(c->semaphore);
    if (c->s)
        hand_close(c->s);
}

static void answer(const char *data, int version)
{
    ANSWER(STORE_GET, NODE, .rc = STORE_OK, .data = data, .length = (int)strlen(data),
           .version = version);
}

static void check_set(const char *data, int version)
{
    struct store_request asked = fake_request(STORE_SET, NODE);

    REQUIRE(asked.path != NULL);
    CHECK_STR(asked.data, data);
    CHECK_INT(asked.length, (int)strlen(data));
    CHECK_INT(asked.version, version);
}

TEST_CASE(got)
{
    struct call c;

    begin(&c, 0, ZKL_FOREVER);
    answer("12", 3);
    end(&c, 0);
    CHECK_INT(c.value, 12);
}

TEST_CASE(got_in_time)
{
    struct call c;

    begin(&c, 0, 300);
    answer("12", 3);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.value, 12);
    hand_pass(c.s, 300); /* of no interest any more */
    zkl_semaphore_free(c.semaphore);
    hand_close(c.s);
}

TEST_CASE(is_none)
{
    static const char *const data[] = {"", "x", "0"};
    struct call c;

    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        begin(&c, 0, ZKL_FOREVER);
        answer(data[i], 0);
        end(&c, ZKL_ELAYOUT);
        CHECK_STR(c.why.path, "/s");
        CHECK_STR(c.why.text, "/s: its data are no limit of a semaphore");
    }
}

/* For exactly the version that was read. */
TEST_CASE(set)
{
    struct call c;

    begin(&c, 3, ZKL_FOREVER);
    answer("12", 7);
    check_set("3", 7);
    ANSWER(STORE_SET, NODE, .rc = STORE_BADVERSION);
    answer("4", 8);
    check_set("3", 8);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK);
    end(&c, 0);
    begin(&c, 3, ZKL_FOREVER);
    answer("", 0);
    check_set("3", 0);
    ANSWER(STORE_SET, NODE, .rc = STORE_OK);
    end(&c, 0);
}

/* Also by a set whose answer was lost. */
TEST_CASE(is_set_already)
{
    struct call c;

    begin(&c, 3, ZKL_FOREVER);
    answer("3", 7);
    end(&c, 0);
}

TEST_CASE(set_in_what_is_no_semaphore)
{
    struct call c;

    begin(&c, 3, ZKL_FOREVER);
    answer("x", 7);
    end(&c, ZKL_ELAYOUT);
}

TEST_CASE(refused)
{
    static const struct {
        enum store_kind kind;
        enum store_rc rc;
        int code;
    } rows[] = {
        {STORE_GET, STORE_NONODE, ZKL_ENOENT}, {STORE_GET, STORE_NOAUTH, ZKL_EACCES},
        {STORE_GET, STORE_BAD, ZKL_EPROTO},    {STORE_SET, STORE_NONODE, ZKL_ENOENT},
        {STORE_SET, STORE_NOAUTH, ZKL_EACCES}, {STORE_SET, STORE_BAD, ZKL_EPROTO},
    };
    struct call c;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin(&c, 1, ZKL_FOREVER);
        if (rows[i].kind == STORE_SET)
            answer("2", 0);
        ANSWER(rows[i].kind, NODE, .rc = rows[i].rc);
        end(&c, rows[i].code);
        CHECK_STR(c.why.path, "/s");
    }
}

TEST_CASE(late)
{
    struct call c;

    begin(&c, 0, 300);
    hand_pass(c.s, 299);
    CHECK_INT(fake_count(STORE_GET, NODE), 1);
    hand_pass(c.s, 1);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.code, ZKL_ETIMEDOUT);
    CHECK_STR(c.why.path, "/s");
    answer("2", 0); /* of no interest any more */
    CHECK_INT(c.value, 0);
    zkl_semaphore_free(c.semaphore);
    hand_close(c.s);
}

/* Nothing more is asked for who has gone. */
TEST_CASE(late_while_it_is_set)
{
    static const enum store_rc rcs[] = {STORE_BADVERSION, STORE_OK, STORE_NOAUTH, STORE_GONE};
    struct call c;

    for (size_t i = 0; i < G_N_ELEMENTS(rcs); i++) {
        begin(&c, 1, 300);
        answer("2", 0);
        hand_pass(c.s, 300);
        pthread_join(c.thread, NULL);
        CHECK_INT(c.code, ZKL_ETIMEDOUT);
        ANSWER(STORE_SET, NODE, .rc = rcs[i]);
        CHECK(!fake_is_asked(STORE_GET, NODE));
        zkl_semaphore_free(c.semaphore);
        hand_close(c.s);
    }
}

TEST_CASE(late_before_it_is_set)
{
    static const enum store_rc rcs[] = {STORE_OK, STORE_NOAUTH, STORE_GONE};
    struct call c;

    for (size_t i = 0; i < G_N_ELEMENTS(rcs); i++) {
        begin(&c, 1, 300);
        hand_pass(c.s, 300);
        pthread_join(c.thread, NULL);
        CHECK_INT(c.code, ZKL_ETIMEDOUT);
        ANSWER(STORE_GET, NODE, .rc = rcs[i], .data = "2", .length = 1);
        CHECK(!fake_is_asked(STORE_SET, NODE));
        CHECK(!fake_is_asked(STORE_GET, NODE));
        zkl_semaphore_free(c.semaphore);
        hand_close(c.s);
    }
}

TEST_CASE(without_a_connection)
{
    struct call c;

    begin(&c, 0, 300);
    fake_event(STORE_EV_DOWN);
    hand_pass(c.s, 300);
    end(&c, ZKL_EUNREACHABLE);
}

/* The next one is asked. */
TEST_CASE(session_ends)
{
    struct call c;

    begin(&c, 1, ZKL_FOREVER);
    answer("2", 0);
    CHECK_INT(fake_count(STORE_SET, NODE), 1);
    fake_next_session();
    CHECK_INT(fake_count(STORE_GET, NODE), 1);
    fake_next_session();
    answer("1", 1);
    end(&c, 0);
}

TEST_CASE(session_is_closed)
{
    struct call c;
    int limit;

    begin(&c, 0, ZKL_FOREVER);
    hand_close(c.s);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.code, ZKL_ECLOSED);
    CHECK_STR(c.why.text, "/s: the session was closed");
    CHECK_INT(zkl_semaphore_get_limit(c.semaphore, 0, &limit), ZKL_ECLOSED);
    CHECK_INT(zkl_semaphore_set_limit(c.semaphore, 1, 0), ZKL_ECLOSED);
    zkl_semaphore_free(c.semaphore);
}

TEST_CASE(credentials_are_refused)
{
    struct call c;
    int limit;

    begin(&c, 0, ZKL_FOREVER);
    fake_busy(true);
    ANSWER(STORE_GET, NODE, .rc = STORE_GONE);
    fake_event(STORE_EV_AUTH);
    fake_busy(false);
    pthread_join(c.thread, NULL);
    CHECK_INT(c.code, ZKL_EAUTH);
    CHECK_INT(zkl_semaphore_get_limit(c.semaphore, 0, &limit), ZKL_EAUTH);
    zkl_semaphore_free(c.semaphore);
    hand_close(c.s);
}

TEST_CASE(machine)
{
    static const struct {
        int32_t wanted;
        struct machine_event heard[3];
        const char *acts;
    } rows[] = {
#define HEARD(name, ...) {.kind = MACHINE_EV_ANSWER, .rc = STORE_##name, ##__VA_ARGS__}
        {0, {HEARD(OK, .data = "12", .length = 2)}, "get; end 0 12"},
        {0, {HEARD(OK)}, "get; end 1 0"},
        {3, {HEARD(OK, .version = 4), HEARD(OK)}, "get; set 4; end 0 0"},
        {3, {HEARD(OK, .data = "3", .length = 1)}, "get; end 0 3"},
        {3, {HEARD(OK, .data = "x", .length = 1)}, "get; end 1 0"},
        {3, {HEARD(OK), HEARD(BADVERSION), HEARD(NONODE)}, "get; set 0; get; end 2 0"},
        {3, {HEARD(OK), {.kind = MACHINE_EV_SESSION}, HEARD(NOAUTH)}, "get; set 0; get; end 2 0"},
        {3, {HEARD(OK), {.kind = MACHINE_EV_STOP}, HEARD(OK)}, "get; set 0; end 3 0"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct limit_call l = {.wanted = rows[i].wanted};
        struct machine_event ev = {.kind = MACHINE_EV_BEGIN};
        GString *text = g_string_new(NULL);
        for (int k = 0; k <= 3; k++) {
            struct machine_actions out = {.count = 0};
            limit_step(&l, &ev, &out);
            for (uint32_t n = 0; n < out.count; n++) {
                const struct machine_action *a = &out.list[n];
                if (a->kind == MACHINE_ACT_TELL)
                    g_string_append_printf(text, "end %d %d", a->verdict, (int)l.limit);
                else if (a->kind == MACHINE_ACT_REQUEST && a->verb == STORE_SET)
                    g_string_append_printf(text, "set %d; ", a->version);
                else if (a->kind == MACHINE_ACT_REQUEST)
                    g_string_append(text, "get; ");
            }
            if (k < 3)
                ev = rows[i].heard[k];
        }
        CHECK_STR(text->str, rows[i].acts);
        CHECK_INT(l.state, LIMIT_OVER);
        g_string_free(text, TRUE);
    }
    CHECK(!limit_may_move(LIMIT_SETTING, LIMIT_SETTING));
    CHECK(!limit_may_move(LIMIT_OVER, LIMIT_READING));
}
