/* Callers of work that is run once, over a store that answers what the test says: what they ask
 * for, who is to run it, and what is recorded. */
#include "by_hand.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(once_call);

#define RECORD "/root/l/record"
#define TEXT "zkl once 1 1000 3000 9 4\nweb9v6"

static struct acquisition caller;
static zkl_once *once;
static zkl_session *s;

/* The instant at which a night of 23 hours leaves 02:30 out, and the one after it. */
#define LEFT_OUT INT64_C(1774746000000)
#define BY_CALENDAR "30 2 * * * Europe/Berlin"

static const char *calendar; /* of the callers to come; NULL: none */

static void begin_with(int64_t timeout_ms, int64_t period_ms)
{
    zkl_once_options o = ZKL_ONCE_OPTIONS_INIT;

    o.name = "web1";
    o.calendar = calendar;
    o.zone = calendar ? "Europe/Berlin" : NULL;
    o.period_ms = period_ms;
    s = hand_session();
    caller = (struct acquisition){.calls = 0};
    REQUIRE(zkl_once_new(&once, s, "/l", &o) == 0);
    REQUIRE(zkl_once_begin_async(once, timeout_ms, hand_acquired, &caller, &caller.op) == 0);
    ANSWER(STORE_SYNC, RECORD, .rc = STORE_OK);
}

static void end(void)
{
    zkl_grant_release(caller.grant);
    zkl_op_free(caller.op);
    zkl_once_free(once);
    g_free(caller.node);
    fake_answer_at_once(NULL);
    hand_close(s);
}

static void answer_none(void)
{
    ANSWER(STORE_GET, RECORD, .rc = STORE_NONODE);
}

static void answer_record(uint64_t zxid, const char *text)
{
    ANSWER(STORE_GET, RECORD, .rc = STORE_OK, .mzxid = zxid, .data = text,
           .length = (int)strlen(text));
}

/* In line, behind the contender of that number; -1: first. */
static void enter(int before)
{
    g_free(caller.node);
    caller.node = fake_created_name("/root/l", 7);
    REQUIRE(caller.node != NULL);
    hand_answer_entry(&caller, before);
}

static void touch(int64_t now_ms)
{
    ANSWER(STORE_GET, caller.node, .rc = STORE_OK, .data = "web1", .length = 4);
    const struct store_request set = fake_request(STORE_SET, caller.node);
    CHECK(set.version == 0 && set.length == 4 && memcmp(set.data, "web1", 4) == 0);
    ANSWER(STORE_SET, caller.node, .rc = STORE_OK, .version = 1, .mtime_ms = now_ms);
}

static void check_ended(int code)
{
    zkl_session_dispatch(s);
    CHECK_INT(caller.calls, 1);
    CHECK_INT(caller.error.code, code);
    CHECK((caller.grant != NULL) == (code == 0));
}

/* The caller is to run it, with no record before, or with one. */
static void be_first(int64_t period_ms, const char *text)
{
    begin_with(ZKL_FOREVER, period_ms);
    if (text)
        answer_record(5, text);
    else
        answer_none();
    enter(-1);
    touch(77000);
    if (text)
        answer_record(5, text);
    else
        answer_none();
    check_ended(0);
}

/* ---- the end ---- */

/* What a transaction is answered, and what a read of the record shows then. */
static struct {
    enum store_rc rc;
    int failed;
    const char *read; /* NULL: there is none */
    GString *asked;
} server;

static bool serve(const struct store_request *r, struct store_reply *reply)
{
    if (r->kind == STORE_MULTI) {
        for (int i = 0; i < r->count; i++) {
            const struct store_change *c = &r->changes[i];
            const char *name = strrchr(c->path, '/');
            g_string_append_printf(server.asked, "%d %s %d %.*s; ", c->kind,
                                   strcmp(name, "/record") == 0 ? "record" : "own", c->version,
                                   MAX(c->length, 0), c->data ? c->data : "");
        }
        *reply = (struct store_reply){.rc = server.rc, .failed = server.failed};
        return true;
    }
    if (r->kind == STORE_GET && strcmp(r->path, RECORD) == 0)
        *reply = server.read ? (struct store_reply){.rc = STORE_OK,
                                                    .data = server.read,
                                                    .length = (int)strlen(server.read)}
                             : (struct store_reply){.rc = STORE_NONODE};
    else
        *reply = (struct store_reply){.rc = r->kind == STORE_SYNC ? STORE_OK : STORE_NONODE};
    return g_str_has_prefix(r->path, "/root/l");
}

static int finish(const char *result, enum store_rc rc, const char *read)
{
    server.rc = rc;
    server.failed = 1;
    server.read = read;
    server.asked = g_string_new("");
    fake_answer_at_once(serve);
    const int code = zkl_once_end(once, caller.grant, result, strlen(result), ZKL_FOREVER);
    fake_answer_at_once(NULL);
    return code;
}

static void check_asked(const char *asked)
{
    CHECK_STR(server.asked->str, asked);
    g_string_free(server.asked, TRUE);
}

TEST_CASE(recorded)
{
    be_first(0, NULL);
    CHECK_INT(finish("v7", STORE_OK, NULL), 0);
    CHECK_INT(zkl_grant_state(caller.grant), ZKL_RELEASED);
    check_asked("5 own 1 web1\nzkl tx 1; 0 record -1 zkl once 1 77000 0 5 4\nweb1v7; 1 own -1 ; ");
    end();
}

TEST_CASE(recorded_anew)
{
    be_first(2000, TEXT);
    CHECK_INT(finish("", STORE_OK, NULL), 0);
    check_asked("5 own 1 web1\nzkl tx 1; 5 record 0 zkl once 1 77000 79000 5 4\nweb1; 1 own -1 ; ");
    end();
}

TEST_CASE(reset_meanwhile)
{
    static const enum store_rc answers[] = {STORE_NONODE, STORE_EXISTS, STORE_BADVERSION};

    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        be_first(0, NULL);
        CHECK_INT(finish("v7", answers[i], NULL), ZKL_EVERSION);
        g_string_free(server.asked, TRUE);
        CHECK_INT(zkl_grant_state(caller.grant), ZKL_RELEASED);
        end();
    }
}

static int64_t reset_timeout_ms;

static void *reset_on_thread(void *unused)
{
    (void)unused;
    return GINT_TO_POINTER(zkl_once_reset(once, reset_timeout_ms));
}

/* The answer to a reset is lost. The default time limits it until the repetition is answered, and
 * a chosen one until the first request cannot be done any more. */
TEST_CASE(reset_settles)
{
    enum { LATE_MS = 22000 }; /* 20 s, and the drift */
    static const struct {
        int64_t timeout_ms, until_ms;
        int code;
    } rows[] = {{0, LATE_MS, 0}, {LATE_MS + 1, LATE_MS, 0}, {10000, 10000, ZKL_ETIMEDOUT}};
    pthread_t thread;
    void *code;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        s = hand_session();
        REQUIRE(zkl_once_new(&once, s, "/l", NULL) == 0);
        reset_timeout_ms = rows[i].timeout_ms;
        REQUIRE(pthread_create(&thread, NULL, reset_on_thread, NULL) == 0);
        fake_await(STORE_DELETE, RECORD);
        fake_event(STORE_EV_DOWN);
        ANSWER(STORE_DELETE, RECORD, .rc = STORE_UNKNOWN);
        fake_event(STORE_EV_UP);
        ANSWER(STORE_DELETE, RECORD, .rc = STORE_OK);
        hand_pass(s, rows[i].until_ms);
        pthread_join(thread, &code);
        CHECK_INT(GPOINTER_TO_INT(code), rows[i].code);
        zkl_once_free(once);
        hand_close(s);
    }
}

/* The answer is lost, and the node is gone: the token in the record tells. */
TEST_CASE(answer_lost)
{
    static const struct {
        const char *read;
        int code;
    } rows[] = {{"zkl once 1 77000 0 5 4\nweb1v7", 0}, {TEXT, ZKL_EUNKNOWN}, {NULL, ZKL_EUNKNOWN}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        be_first(0, NULL);
        CHECK_INT(finish("v7", STORE_UNKNOWN, rows[i].read), rows[i].code);
        g_string_free(server.asked, TRUE);
        end();
    }
}

static bool refuse_any(const struct store_request *unused, struct store_reply *reply)
{
    (void)unused;
    *reply = (struct store_reply){.rc = STORE_NOAUTH};
    return true;
}

TEST_CASE(not_the_run)
{
    zkl_once *other;

    be_first(0, NULL);
    CHECK_INT(zkl_once_end(once, NULL, NULL, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_once_end(once, caller.grant, NULL, 1, 0), ZKL_EINVAL);
    CHECK_INT(zkl_once_end(once, caller.grant, "", ZKL_ONCE_RESULT_MAX + 1, 0), ZKL_ELIMIT);
    REQUIRE(zkl_once_new(&other, s, "/other", NULL) == 0);
    CHECK_INT(zkl_once_end(other, caller.grant, "", 0, 0), ZKL_EPERM);
    zkl_once_free(other);
    /* of another lock, whatever the token, and though it is held */
    fake_answer_at_once(refuse_any);
    for (uint64_t token = 4; token <= 6; token++) {
        struct tenure *t = hand_tenure(s, "/root/l/x/n", token);
        zkl_grant *of_other = grant_new(&t, 1, NULL, NULL);
        CHECK_INT(zkl_once_end(once, of_other, "", 0, 0), ZKL_EPERM);
        grant_unref(of_other);
        hand_end_tenure(t);
    }
    CHECK_INT(finish("", STORE_OK, NULL), 0);
    g_string_free(server.asked, TRUE);
    CHECK_INT(zkl_once_end(once, caller.grant, "", 0, 0), ZKL_EPERM);
    end();
}

/* Another caller of the handle runs it meanwhile, in another session. */
TEST_CASE(lost_and_begun_anew)
{
    be_first(0, NULL);
    zkl_grant *first = caller.grant;
    zkl_op_free(caller.op);
    caller.calls = 0;
    caller.grant = NULL;
    fake_next_session();
    REQUIRE(zkl_once_begin_async(once, ZKL_FOREVER, hand_acquired, &caller, &caller.op) == 0);
    ANSWER(STORE_SYNC, RECORD, .rc = STORE_OK);
    answer_none();
    g_free(caller.node);
    caller.node = fake_created_name("/root/l", 8);
    REQUIRE(caller.node != NULL);
    char *name = strrchr(caller.node, '/') + 1;
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK, .path = caller.node, .czxid = 6,
           .ephemeral_owner = FAKE_SESSION_ID + 1);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = &name, .count = 1);
    touch(78000);
    answer_none();
    check_ended(0);
    CHECK_INT(zkl_once_end(once, first, "", 0, 0), ZKL_ELOST);
    zkl_last_error(&caller.error);
    CHECK_STR(caller.error.text, "the lock was lost: a later run has begun");
    zkl_grant_release(first);
    end();
}

/* ---- the way ---- */

TEST_CASE(recorded_before)
{
    begin_with(ZKL_FOREVER, 0);
    answer_record(5, TEXT);
    check_ended(ZKL_EEXIST);
    CHECK(!fake_is_asked(STORE_CREATE, "/root/l"));
    end();
}

/* Unless the record is deleted in time. */
TEST_CASE(not_due)
{
    for (int deleted = 0; deleted < 2; deleted++) {
        begin_with(ZKL_FOREVER, 2000);
        answer_record(5, TEXT);
        enter(-1);
        touch(2799);
        if (deleted)
            answer_none();
        else
            answer_record(5, TEXT);
        check_ended(deleted ? 0 : ZKL_EEXIST);
        CHECK(fake_is_asked(STORE_DELETE, caller.node) == !deleted);
        end();
    }
}

/* All of them, without the lock. */
TEST_CASE(leaves_the_line)
{
    begin_with(ZKL_FOREVER, 0);
    answer_none();
    enter(1);
    answer_none();
    CHECK(fake_is_watching(STORE_STAT, RECORD));
    ANSWER(STORE_STAT, RECORD, .rc = STORE_NONODE);
    CHECK_INT(caller.calls, 0);
    fake_fire(RECORD, STORE_FIRED_CREATED);
    answer_record(6, TEXT);
    check_ended(ZKL_EEXIST);
    CHECK(fake_is_asked(STORE_DELETE, caller.node));
    end();
}

static void be_first_at(int64_t timeout_ms, int64_t now_ms)
{
    calendar = "30 2 * * *";
    begin_with(timeout_ms, 0);
    calendar = NULL;
    answer_none();
    enter(-1);
    touch(now_ms);
    answer_none();
}

TEST_CASE(by_calendar)
{
    be_first_at(ZKL_FOREVER, LEFT_OUT + 3600000);
    check_ended(0);
    CHECK_INT(finish("v7", STORE_OK, NULL), 0);
    check_asked("5 own 1 web1\nzkl tx 1; 0 record -1 zkl once 2 1774749600000 1774830600000 5 4 "
                "1774746000000 1774753200000 24\nweb1" BY_CALENDAR "v7; 1 own -1 ; ");
    end();
    be_first_at(ZKL_FOREVER, LEFT_OUT + 3600001);
    check_ended(ZKL_EOVERDUE);
    end();
}

/* Even a try, for longer than a session timeout. After that it has a limit again. */
TEST_CASE(waits_for_its_instant)
{
    static const struct {
        int64_t timeout_ms;
        bool answered;
        int code;
    } rows[] = {{ZKL_FOREVER, true, 0}, {0, true, 0}, {0, false, ZKL_EUNREACHABLE}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        be_first_at(rows[i].timeout_ms, LEFT_OUT - 25000);
        hand_stand_alone(s);
        hand_pass_proved(s, 1000);
        ANSWER(STORE_GET, caller.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID,
               .czxid = 5); /* the holder's watch */
        hand_pass_proved(s, 23999);
        CHECK(!fake_is_asked(STORE_GET, caller.node) && caller.calls == 0);
        hand_pass_proved(s, 1);
        if (rows[i].answered) {
            ANSWER(STORE_GET, caller.node, .rc = STORE_OK, .version = 1);
            ANSWER(STORE_SET, caller.node, .rc = STORE_OK, .version = 2, .mtime_ms = LEFT_OUT);
            answer_none();
        } else {
            hand_pass_proved(s, s->timeout_ms - 1);
            CHECK_INT(caller.calls, 0);
            hand_pass_proved(s, 1);
        }
        check_ended(rows[i].code);
        end();
    }
}

TEST_CASE(of_another_series)
{
    static const struct {
        const char *calendar, *record, *said;
    } rows[] = {
        {"30 2 * * *", TEXT, "no calendar, and not of " BY_CALENDAR},
        {"31 2 * * *", "zkl once 2 1 2 3 0 1774746000000 1774753200000 24\n" BY_CALENDAR,
         BY_CALENDAR ", and not of 31 2"},
        {NULL, "zkl once 2 1 2 3 0 1774746000000 1774753200000 24\n" BY_CALENDAR,
         BY_CALENDAR ", and not of no calendar"},
        {"30 2 * * *", "zkl once 2 1 2 3 0 1774746000000 1774749600000 24\n" BY_CALENDAR,
         "another time of the zone"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        calendar = rows[i].calendar;
        begin_with(ZKL_FOREVER, 0);
        calendar = NULL;
        answer_record(5, rows[i].record);
        check_ended(ZKL_ELAYOUT);
        if (!CHECK(strstr(caller.error.text, rows[i].said)))
            runner_fail(__FILE__, __LINE__, "%s", caller.error.text);
        end();
    }
}

/* In line when a run is recorded for that instant: it may be here for the next one, if that has
 * come. */
TEST_CASE(in_line_by_calendar)
{
    static const char text[] = "zkl once 2 1 2 3 0 1774746000000 1774753200000 24\n" BY_CALENDAR;

    for (int next = 0; next < 2; next++) {
        calendar = "30 2 * * *";
        begin_with(ZKL_FOREVER, 0);
        calendar = NULL;
        answer_none();
        enter(1);
        ANSWER(STORE_GET, RECORD, .rc = STORE_OK, .mzxid = 6, .data = text,
               .length = (int)strlen(text), .mtime_ms = LEFT_OUT + (next ? 84600000 : 84000000));
        zkl_session_dispatch(s);
        CHECK_INT(caller.calls, !next);
        if (!next)
            check_ended(ZKL_EEXIST);
        end();
    }
}

TEST_CASE(busy)
{
    begin_with(0, 0);
    answer_none();
    enter(1);
    check_ended(ZKL_EBUSY);
    end();
}

TEST_CASE(no_record)
{
    begin_with(ZKL_FOREVER, 0);
    answer_record(5, "7");
    check_ended(ZKL_ELAYOUT);
    end();
}

/* It was lost before anybody knew that it was granted: the caller comes into line again. */
TEST_CASE(lost_before_it_is_judged)
{
    for (int sooner = 0; sooner < 2; sooner++) {
        begin_with(ZKL_FOREVER, 0);
        answer_none();
        enter(-1);
        if (!sooner)
            touch(77000);
        fake_next_session();
        zkl_session_dispatch(s);
        CHECK_INT(caller.calls, 0);
        while (fake_is_asked(STORE_GET, RECORD))
            answer_none();
        CHECK(fake_is_asked(STORE_CREATE, "/root/l"));
        zkl_op_cancel(caller.op);
        check_ended(ZKL_ECANCELED);
        end();
    }
}

TEST_CASE(node_deleted)
{
    begin_with(ZKL_FOREVER, 0);
    answer_none();
    enter(-1);
    ANSWER(STORE_GET, caller.node, .rc = STORE_NONODE);
    fake_answer(STORE_SYNC, RECORD, (struct store_reply){.rc = STORE_OK});
    answer_none();
    CHECK(fake_is_asked(STORE_CREATE, "/root/l"));
    end();
}

/* A proof of the session, while the lock is held and nothing is judged yet, ends nothing. */
TEST_CASE(proved_meanwhile)
{
    begin_with(ZKL_FOREVER, 0);
    hand_stand_alone(s);
    answer_none();
    enter(-1);
    hand_pass_proved(s, 2 * HAND_DEADLINE_MS);
    touch(77000);
    answer_none();
    check_ended(0);
    end();
}

/* Before there was anything to ask for in the line. */
TEST_CASE(another_session)
{
    begin_with(ZKL_FOREVER, 0);
    fake_next_session();
    fake_answer(STORE_SYNC, RECORD, (struct store_reply){.rc = STORE_OK});
    answer_record(5, TEXT);
    check_ended(ZKL_EEXIST);
    end();
}

TEST_CASE(handle_freed)
{
    begin_with(ZKL_FOREVER, 0);
    answer_none();
    zkl_once_free(once);
    once = NULL;
    check_ended(ZKL_ECLOSED);
    end();
}

TEST_CASE(jumps_are_said)
{
    zkl_once_options o = ZKL_ONCE_OPTIONS_INIT;

    o.period_ms = 2000;
    for (int ahead = 0; ahead < 2; ahead++) {
        s = hand_session_logging(ZKL_LOG_WARN);
        caller = (struct acquisition){.calls = 0};
        REQUIRE(zkl_once_new(&once, s, "/l", &o) == 0);
        REQUIRE(zkl_once_begin_async(once, ZKL_FOREVER, hand_acquired, &caller, &caller.op) == 0);
        answer_record(5, "zkl once 1 4000 6000 9 0\n");
        enter(-1);
        ANSWER(STORE_GET, caller.node, .rc = STORE_OK);
        ANSWER(STORE_SET, caller.node, .rc = STORE_OK, .mtime_ms = ahead ? 8000 : 2000);
        answer_record(5, "zkl once 1 4000 6000 9 0\n");
        check_ended(ahead ? 0 : ZKL_EEXIST);
        CHECK(strstr(hand_logged, ahead ? "nobody called" : "have gone back"));
        CHECK(!strstr(hand_logged, ahead ? "have gone back" : "nobody called"));
        end();
    }
}

/* ---- calls that block ---- */

static const char *recorded_text; /* NULL: none */
static int runs;

static bool serve_alone(const struct store_request *r, struct store_reply *reply)
{
    if (!fake_alone(r, reply))
        return false;
    if (r->kind == STORE_MULTI && r->count == 3)
        recorded_text = TEXT;
    if (r->kind == STORE_GET && g_str_has_suffix(r->path, "/record"))
        *reply = recorded_text ? (struct store_reply){.rc = STORE_OK,
                                                      .data = recorded_text,
                                                      .length = (int)strlen(recorded_text)}
                               : (struct store_reply){.rc = STORE_NONODE};
    return true;
}

static int work(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    runs++;
    *ret = "v7";
    *ret_size = 2;
    return *(int *)data;
}

/* The servers' clocks say that the last instant was two hours ago. */
static bool serve_too_late(const struct store_request *r, struct store_reply *reply)
{
    if (!serve_alone(r, reply))
        return false;
    if (r->kind == STORE_SET)
        reply->mtime_ms = LEFT_OUT + 7200000;
    return true;
}

TEST_CASE(overdue)
{
    zkl_once_options o = ZKL_ONCE_OPTIONS_INIT;
    zkl_grant *grant;
    zkl_once_run *run = NULL;
    int code = 0;

    s = fake_session();
    recorded_text = NULL;
    runs = 0;
    fake_answer_at_once(serve_too_late);
    o.calendar = "30 2 * * *";
    o.zone = "Europe/Berlin";
    REQUIRE(zkl_once_new(&once, s, "/l", &o) == 0);
    CHECK_INT(zkl_once_call(once, 0, work, &code, NULL), ZKL_EOVERDUE);
    CHECK_INT(zkl_once_begin(once, 0, &grant), ZKL_EOVERDUE);
    zkl_once_free(once);
    o.late_ms = 7200000;
    REQUIRE(zkl_once_new(&once, s, "/l", &o) == 0);
    CHECK_INT(zkl_once_call(once, 0, work, &code, NULL), 0);
    CHECK_INT(runs, 1);
    recorded_text = "zkl once 2 1 2 3 0 1774746000000 1774753200000 24\n" BY_CALENDAR "v7";
    REQUIRE(zkl_once_done(once, 0, &run) == 0);
    CHECK_STR(run->calendar, BY_CALENDAR);
    CHECK(run->instant_ms == LEFT_OUT && run->local_ms == LEFT_OUT + 7200000 && run->size == 2);
    zkl_once_run_free(run);
    zkl_once_free(once);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

TEST_CASE(blocking)
{
    zkl_stats stats = ZKL_STATS_INIT;
    zkl_once_run *run = NULL;
    int code = 5;

    s = fake_session();
    recorded_text = NULL;
    runs = 0;
    fake_answer_at_once(serve_alone);
    REQUIRE(zkl_once_new(&once, s, "/l", NULL) == 0);
    CHECK_INT(zkl_once_done(once, 0, &run), ZKL_ENOENT);
    CHECK_INT(zkl_once_call(once, ZKL_FOREVER, work, &code, &run), 5);
    CHECK(run == NULL && runs == 1);
    code = 0;
    CHECK_INT(zkl_once_call(once, ZKL_FOREVER, work, &code, &run), 0);
    REQUIRE(run != NULL);
    CHECK(run->due_ms == 0 && run->size == 2 && memcmp(run->result, "v7", 2) == 0);
    zkl_once_run_free(run);
    run = NULL;
    CHECK_INT(zkl_once_call(once, ZKL_FOREVER, work, &code, &run), 0);
    REQUIRE(run != NULL);
    CHECK(run->begun_ms == 1000 && run->due_ms == 3000 && run->token == 9);
    CHECK_STR(run->name, "web9");
    CHECK(run->size == 2 && memcmp(run->result, "v6", 2) == 0);
    zkl_once_run_free(run);
    CHECK_INT(runs, 2);
    CHECK_INT(zkl_session_stats(s, &stats), 0);
    CHECK(stats.acquisitions == 2 && stats.failed_other == 0);
    CHECK_INT(zkl_once_done(once, 0, NULL), 0);
    CHECK_INT(zkl_once_reset(once, 0), 0);
    CHECK_INT(zkl_once_call(once, 0, NULL, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_once_begin(once, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_once_begin_async(once, 0, NULL, NULL, NULL), ZKL_EINVAL);
    zkl_once_free(once);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

/* ---- two that look at once ---- */

struct looker {
    pthread_t thread;
    int code;
    zkl_once_run *run;
};

static void *look_on_thread(void *data)
{
    struct looker *l = data;

    l->code = zkl_once_done(once, ZKL_FOREVER, &l->run);
    return NULL;
}

/* The record is deleted between the two reads. */
static bool serve_first(const struct store_request *r, struct store_reply *reply)
{
    if (r->kind != STORE_GET || strcmp(r->path, RECORD) != 0)
        return false;
    *reply = recorded_text ? (struct store_reply){.rc = STORE_OK,
                                                  .data = recorded_text,
                                                  .length = (int)strlen(recorded_text)}
                           : (struct store_reply){.rc = STORE_NONODE};
    recorded_text = NULL;
    return true;
}

/* Each has what it has read itself, though both answers come before either wakes. */
TEST_CASE(beside_another_look)
{
    struct looker l[2] = {{.code = 1}, {.code = 1}};

    s = hand_session();
    REQUIRE(zkl_once_new(&once, s, "/l", NULL) == 0);
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_create(&l[i].thread, NULL, look_on_thread, &l[i]) == 0);
        fake_await(STORE_SYNC, RECORD);
        ANSWER(STORE_SYNC, RECORD, .rc = STORE_OK);
    }
    CHECK_INT(fake_count(STORE_GET, RECORD), 2);
    recorded_text = TEXT;
    fake_answer_all(serve_first);
    for (int i = 0; i < 2; i++) {
        pthread_join(l[i].thread, NULL);
        CHECK_INT(l[i].code, l[i].run ? 0 : ZKL_ENOENT);
    }
    CHECK((l[0].run != NULL) + (l[1].run != NULL) == 1);
    for (int i = 0; i < 2; i++)
        zkl_once_run_free(l[i].run);
    zkl_once_free(once);
    fake_answer_at_once(NULL);
    hand_close(s);
}

/* ---- work that does not end as others do, and handles that are gone ---- */

static gint released; /* nodes of callers */

static bool serve_releases(const struct store_request *r, struct store_reply *reply)
{
    if (r->kind == STORE_DELETE)
        g_atomic_int_inc(&released);
    return serve_alone(r, reply);
}

static void begin_serving(void)
{
    s = fake_session();
    recorded_text = NULL;
    released = 0;
    fake_answer_at_once(serve_releases);
    REQUIRE(zkl_once_new(&once, s, "/l", NULL) == 0);
}

static void end_serving(void)
{
    zkl_once_free(once);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

static int work_and_exit(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    (void)grant, (void)data, (void)ret, (void)ret_size;
    pthread_exit(NULL);
}

static int work_and_free(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    (void)grant, (void)data, (void)ret, (void)ret_size;
    zkl_once_free(g_steal_pointer(&once));
    return 0;
}

static void *call_with_an_exit(void *unused)
{
    zkl_once_call(once, ZKL_FOREVER, work_and_exit, NULL, NULL);
    return unused;
}

TEST_CASE(work_ends_its_thread)
{
    pthread_t thread;

    begin_serving();
    REQUIRE(pthread_create(&thread, NULL, call_with_an_exit, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK_INT(g_atomic_int_get(&released), 1);
    CHECK(!recorded_text);
    end_serving();
}

TEST_CASE(work_frees_the_handle)
{
    zkl_once_run *run = NULL;

    begin_serving();
    CHECK_INT(zkl_once_call(once, ZKL_FOREVER, work_and_free, NULL, &run), 0);
    CHECK(run && recorded_text);
    zkl_once_run_free(run);
    end_serving();
}

static enum store_rc multi_rc, delete_rc;

static bool serve_badly(const struct store_request *r, struct store_reply *reply)
{
    if (!serve_alone(r, reply))
        return false;
    if (r->kind == STORE_MULTI && r->count == 3)
        *reply = (struct store_reply){.rc = multi_rc, .failed = 1};
    if (r->kind == STORE_DELETE && g_str_has_suffix(r->path, "/record"))
        reply->rc = delete_rc;
    return true;
}

static int work_too_long(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    (void)grant, (void)data, (void)ret, (void)ret_size;
    fake_event(STORE_EV_EXPIRED);
    return 0;
}

TEST_CASE(failing)
{
    static const struct {
        zkl_once_fn fn;
        enum store_rc rc;
        int code;
    } rows[] = {{work, STORE_BADVERSION, ZKL_EVERSION},
                {work, STORE_UNKNOWN, ZKL_EUNKNOWN},
                {work_too_long, STORE_OK, ZKL_ELOST}};
    int code = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_once_run *run = NULL;
        s = fake_session();
        recorded_text = NULL;
        multi_rc = rows[i].rc;
        fake_answer_at_once(serve_badly);
        REQUIRE(zkl_once_new(&once, s, "/l", NULL) == 0);
        CHECK_INT(zkl_once_call(once, ZKL_FOREVER, rows[i].fn, &code, &run), rows[i].code);
        CHECK(run == NULL);
        zkl_once_free(once);
        fake_answer_at_once(NULL);
        zkl_session_close(s);
    }
}

/* The record is odd, or has children. */
TEST_CASE(odd_record)
{
    s = fake_session();
    recorded_text = "odd";
    delete_rc = STORE_NOTEMPTY;
    fake_answer_at_once(serve_badly);
    REQUIRE(zkl_once_new(&once, s, "/l", NULL) == 0);
    CHECK_INT(zkl_once_done(once, 0, NULL), ZKL_ELAYOUT);
    CHECK_INT(zkl_once_reset(once, 0), ZKL_ENOTEMPTY);
    zkl_once_free(once);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

TEST_CASE(options)
{
    static const struct {
        int64_t period_ms, slack_ms;
        int code;
    } rows[] = {{0, 0, 0},
                {10, 0, 0},
                {9, 0, ZKL_EINVAL},
                {-1, 0, ZKL_EINVAL},
                {10, 4, 0},
                {10, 5, ZKL_EINVAL},
                {0, 1, ZKL_EINVAL},
                {10, -1, ZKL_EINVAL},
                {INT64_C(31622400000), 0, 0},
                {INT64_C(31622400001), 0, ZKL_EINVAL}};

    s = fake_session();
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_once_options o = ZKL_ONCE_OPTIONS_INIT;
        o.period_ms = rows[i].period_ms;
        o.slack_ms = rows[i].slack_ms;
        once = NULL;
        CHECK_INT(zkl_once_new(&once, s, "/l", &o), rows[i].code);
        zkl_once_free(once);
    }
    zkl_session_close(s);
}

TEST_CASE(options_of_calendars)
{
    static const struct {
        zkl_once_options o;
        const char *said; /* NULL: nothing is wrong */
    } rows[] = {
        {{.calendar = "30 2 * * *"}, NULL},
        {{.calendar = "30 2 * * *", .zone = "Europe/Berlin", .late_ms = 1, .slack_ms = 3600000},
         NULL},
        {{.calendar = "30 2 * *"}, "calendar: the fifth field"},
        {{.calendar = "30 2 * * *", .zone = "Berlin"}, "zone is none"},
        {{.calendar = "30 2 * * *", .period_ms = 1000}, "exclude each other"},
        {{.calendar = "30 2 * * *", .slack_ms = 3600001}, "slack_ms must be 3600000 at most"},
        {{.calendar = "30 2 * * *", .slack_ms = -1}, "slack_ms must be 3600000 at most"},
        {{.calendar = "30 2 * * *", .late_ms = -1}, "late_ms must be"},
        {{.calendar = "30 2 * * *", .late_ms = INT64_C(31622400001)}, "late_ms must be"},
        {{.zone = "UTC"}, "are for calendar"},
        {{.late_ms = 1, .period_ms = 1000}, "are for calendar"},
    };

    s = fake_session();
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        zkl_once_options o = rows[i].o;
        zkl_error error;
        o.size = sizeof o;
        once = NULL;
        CHECK_INT(zkl_once_new(&once, s, "/l", &o), rows[i].said ? ZKL_EINVAL : 0);
        zkl_last_error(&error);
        if (rows[i].said && !CHECK(strstr(error.text, rows[i].said)))
            runner_fail(__FILE__, __LINE__, "%s", error.text);
        zkl_once_free(once);
    }
    zkl_session_close(s);
}

static void *make_canceled(void *data)
{
    zkl_once_options o = ZKL_ONCE_OPTIONS_INIT;

    o.calendar = "30 2 * * *";
    o.zone = "Pacific/Apia"; /* which nothing has read before */
    pthread_cancel(pthread_self());
    CHECK_INT(zkl_once_new(&once, s, "/l", &o), 0);
    pthread_testcancel();
    return data;
}

/* A file is read, which is a point of cancellation, and GLib's lock would stay taken. */
TEST_CASE(zone_is_read_whole)
{
    pthread_t thread;
    void *result;

    s = fake_session();
    once = NULL;
    REQUIRE(pthread_create(&thread, NULL, make_canceled, NULL) == 0);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(once != NULL);
    zkl_once_free(once);
    zkl_session_close(s);
}
