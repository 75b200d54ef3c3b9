/* Nodes that nobody wants any more: deletes that are refused, creates that are done late, and who
 * waits until all are gone. */
#include "lib/session/orphans.h"

#include "by_hand.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(orphans);

static zkl_session *s;
static struct acquisition a; /* while it holds something the session is kept */
static int errors;

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    if (record->level == ZKL_LOG_ERROR)
        errors += g_str_has_prefix(record->text, "/root/x: cannot delete it");
}

/* ---- deletes that the server refuses ---- */

static void start(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    errors = 0;
    a = (struct acquisition){.calls = 0};
    options.log = on_log;
    s = hand_session_with(&options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void check_errors(int wanted)
{
    zkl_session_dispatch(s);
    CHECK_INT(errors, wanted);
}

/* Asked for exactly ms from now. */
static void check_asked_after(int64_t ms)
{
    hand_pass_proved(s, ms - 1);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    hand_pass_proved(s, 1);
    CHECK_INT(fake_count(STORE_DELETE, "/root/x"), 1);
}

static void answer(enum store_rc rc)
{
    ANSWER(STORE_DELETE, "/root/x", .rc = rc);
}

static void hold_and_be_refused(void)
{
    start();
    hand_stand_alone(s);
    hand_hold(&a, s);
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
}

TEST_CASE(done_at_once)
{
    static const enum store_rc done[] = {STORE_OK, STORE_NONODE};

    for (size_t i = 0; i < G_N_ELEMENTS(done); i++) {
        start();
        orphan_delete(s, g_strdup("/root/x"));
        answer(done[i]);
        hand_pass(s, 5000);
        CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
        CHECK_INT(s->refusals.length, 0);
        check_errors(0);
        stop();
    }
}

/* The answer to the first may be lost with its connection, though it was done. */
TEST_CASE(asked_again_on_the_next_connection)
{
    static const enum store_rc done[] = {STORE_OK, STORE_NONODE};

    for (size_t i = 0; i < G_N_ELEMENTS(done); i++) {
        start();
        orphan_delete(s, g_strdup("/root/x"));
        fake_event(STORE_EV_DOWN);
        answer(STORE_UNKNOWN);
        CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
        fake_event(STORE_EV_UP);
        REQUIRE(fake_is_asked(STORE_DELETE, "/root/x"));
        answer(done[i]);
        check_errors(0);
        hand_close(s);
    }
}

TEST_CASE(retried_later_and_later)
{
    static const int64_t pauses[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};

    hold_and_be_refused();
    for (size_t i = 0; i < G_N_ELEMENTS(pauses); i++) {
        check_asked_after(pauses[i]);
        answer(i % 2 ? STORE_NOAUTH : STORE_BAD);
    }
    check_asked_after(30000);
    answer(STORE_OK);
    CHECK_INT(s->refusals.length, 0);
    hand_pass_proved(s, 70000);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    check_errors(1);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    stop();
}

TEST_CASE(gone_meanwhile)
{
    hold_and_be_refused();
    check_asked_after(500);
    answer(STORE_NONODE);
    CHECK_INT(s->refusals.length, 0);
    stop();
}

/* One refusal for a path, and apart for each. */
TEST_CASE(refused_twice)
{
    hold_and_be_refused();
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    orphan_delete(s, g_strdup("/root/y"));
    ANSWER(STORE_DELETE, "/root/y", .rc = STORE_NOAUTH);
    CHECK_INT(s->refusals.length, 2);
    check_errors(1);
    check_asked_after(500);
    answer(STORE_OK);
    CHECK_INT(s->refusals.length, 1);
    ANSWER(STORE_DELETE, "/root/y", .rc = STORE_OK);
    CHECK_INT(s->refusals.length, 0);
    stop();
}

/* The end of the session removes what a delete cannot, but takes what is held along. */
TEST_CASE(session_replaced_when_nothing_is_held)
{
    hold_and_be_refused();
    hand_pass_proved(s, 100);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    CHECK_INT(zkl_session_keep(s, 1), 0);
    zkl_grant_release(a.grant);
    a.grant = NULL;
    hand_pass(s, 100);
    CHECK_INT(zkl_session_flush(s, ZKL_FOREVER), ZKL_EACCES);
    CHECK_INT(zkl_session_keep(s, 0), 0);
    CHECK_INT(s->id, FAKE_SESSION_ID); /* not in the middle of a step */
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    CHECK_INT(s->refusals.length, 0);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    stop();
}

TEST_CASE(session_replaced_at_once_when_nothing_was_held)
{
    start();
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    stop();
}

TEST_CASE(session_kept_for_who_holds_meanwhile)
{
    start();
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    hand_hold(&a, s);
    hand_pass(s, 0);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    stop();
}

/* A caller that waits enters anew. */
TEST_CASE(session_replaced_while_somebody_waits)
{
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, 3);
    orphan_delete(s, g_strdup("/root/x"));
    answer(STORE_NOAUTH);
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    stop();
}

/* The answer comes when the refusal is forgotten, with the session. */
TEST_CASE(forgotten_while_asked)
{
    hold_and_be_refused();
    check_asked_after(500);
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(s->refusals.length, 0);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/x"));
    stop();
}

/* ---- creates that are done late: whose nodes are looked for, when, and for how long ---- */

enum { IDS = 64 }; /* that are looked for in one directory */

static void list(int count, char **names)
{
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = count);
}

/* A contender whose create was not answered leaves, and asks for a last list. Returns the name that
 * its node would have, for g_free(). */
static char *begin_leaving(int number)
{
    hand_enter(&a, s, 0);
    char *late = fake_created_name("/root/l/", number);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    zkl_op_cancel(a.op);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    return late;
}

static char *leave(int number)
{
    char *late = begin_leaving(number);

    list(0, NULL);
    hand_leave(&a);
    return late;
}

static void check_listed_after(int64_t ms)
{
    hand_pass(s, ms - 1);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    hand_pass(s, 1);
    CHECK(fake_is_asked(STORE_LIST, "/root/l"));
}

/* After that many seconds, and in longer and longer intervals; then no more. */
static void check_intervals(int first_s)
{
    for (int pause_s = first_s; pause_s <= 81; pause_s *= 3) {
        check_listed_after(pause_s * 1000);
        list(0, NULL);
    }
    hand_pass(s, 1000 * 1000);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
}

/* Returns the name of the node that the lost create would make. */
static char *enter_with_create_lost(void)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    char *late = fake_created_name("/root/l", 9);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    list(0, NULL);
    return late;
}

/* A server had kept the create back, and it is done after all: when another was made instead, was
 * granted and is gone. */
TEST_CASE(deletes_what_is_made_late)
{
    char *late = enter_with_create_lost(), *name = strrchr(late, '/') + 1;
    g_free(a.node);
    a.node = fake_created_name("/root/l", 4);
    hand_answer_entry(&a, -1);
    zkl_session_dispatch(s);
    REQUIRE(a.grant != NULL);
    hand_leave(&a);
    check_listed_after(1000);
    list(0, NULL); /* not yet */
    check_listed_after(3000);
    list(1, &name);
    CHECK(fake_is_asked(STORE_DELETE, late));
    check_intervals(9);
    g_free(late);
    hand_close(s);
}

/* A contender that enters anew has another id, and its lists show the one before alone. So the
 * directory is listed for a create of an earlier entry while it waits. */
TEST_CASE(deletes_what_is_made_late_of_an_earlier_entry)
{
    char *late = enter_with_create_lost(), *name = strrchr(late, '/') + 1;
    for (int entry = 0; entry < 2; entry++) {
        hand_answer_entry(&a, 3);
        ANSWER(STORE_GET, a.node, .rc = STORE_NONODE);
        g_free(a.node);
        a.node = fake_created_name("/root/l", 7);
    }
    hand_answer_entry(&a, 3);
    check_listed_after(1000);
    list(1, &name);
    CHECK(fake_is_asked(STORE_DELETE, late));
    check_intervals(3);
    g_free(late);
    hand_leave(&a);
    hand_close(s);
}

/* Those of two contenders at once, and nobody else's. */
TEST_CASE(deletes_all_that_are_made_late)
{
    char *names[] = {"_c_other-lock-0000000003", NULL, NULL};

    s = hand_session();
    char *first = leave(4), *second = leave(5);
    names[1] = strrchr(second, '/') + 1;
    names[2] = strrchr(first, '/') + 1;
    check_listed_after(1000);
    list(3, names);
    CHECK_INT(fake_count(STORE_DELETE, "/root/l/"), 2);
    CHECK(fake_is_asked(STORE_DELETE, first));
    CHECK(fake_is_asked(STORE_DELETE, second));
    check_intervals(3);
    g_free(first);
    g_free(second);
    hand_close(s);
}

/* The next one may be done as late as the first, so it is looked for as long. */
TEST_CASE(begins_anew_with_the_next)
{
    static const struct {
        int64_t lists_ms[2]; /* before the next one, one behind the other; 0: none */
        int64_t next_ms;     /* later */
        int64_t left_ms;     /* until the first list for it */
    } rows[] = {
        {{0, 0}, 600, 400}, /* that of the first comes soon */
        {{1000, 0}, 600, 1000},
        {{1000, 3000}, 600, 1000},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        s = hand_session();
        g_free(leave(4));
        for (int n = 0; n < 2 && rows[i].lists_ms[n] > 0; n++) {
            check_listed_after(rows[i].lists_ms[n]);
            list(0, NULL);
        }
        hand_pass(s, rows[i].next_ms);
        g_free(leave(5));
        check_listed_after(rows[i].left_ms);
        list(0, NULL);
        check_intervals(3);
        hand_close(s);
    }
}

/* A list that is under way is the first for the next one, too. */
TEST_CASE(begins_anew_while_it_lists)
{
    s = hand_session();
    g_free(leave(4));
    check_listed_after(1000);
    list(0, NULL);
    char *late = begin_leaving(5), *name = strrchr(late, '/') + 1;
    hand_pass(s, 3000);
    CHECK_INT(fake_count(STORE_LIST, "/root/l"), 2);
    list(0, NULL); /* that of the contender, which ends */
    hand_leave(&a);
    list(1, &name);
    CHECK(fake_is_asked(STORE_DELETE, late));
    check_intervals(3);
    g_free(late);
    hand_close(s);
}

/* The oldest id of too many is forgotten; its node goes with the session. */
TEST_CASE(forgets_the_oldest)
{
    char *nodes[IDS + 1], *names[IDS + 1];

    s = hand_session();
    for (int i = 0; i <= IDS; i++) {
        nodes[i] = leave(i);
        names[i] = strrchr(nodes[i], '/') + 1;
    }
    check_listed_after(1000);
    list(IDS + 1, names);
    CHECK_INT(fake_count(STORE_DELETE, "/root/l/"), IDS);
    CHECK(!fake_is_asked(STORE_DELETE, nodes[0]));
    for (int i = 0; i <= IDS; i++)
        g_free(nodes[i]);
    hand_close(s);
}

/* What may come late goes with its session; a list that is under way is for nothing then. */
TEST_CASE(nothing_is_late_in_another_session)
{
    for (int asked = 0; asked < 2; asked++) {
        s = hand_session();
        g_free(leave(4));
        hand_pass(s, asked ? 1000 : 500);
        CHECK_INT(fake_is_asked(STORE_LIST, "/root/l"), asked);
        fake_next_session();
        hand_pass(s, 1000 * 1000);
        CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
        hand_close(s);
    }
}

/* A contender that enters again in the next session has left nothing there. */
TEST_CASE(nothing_is_late_of_the_session_before)
{
    s = hand_session();
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    fake_next_session();
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NOAUTH);
    list(0, NULL);
    hand_leave(&a);
    hand_pass(s, 1000 * 1000);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    hand_close(s);
}

/* Likewise where nothing will work any more, and a list is answered all the same. */
TEST_CASE(nothing_is_late_behind_the_end)
{
    for (int asked = 0; asked < 2; asked++) {
        s = hand_session();
        char *late = leave(4), *name = strrchr(late, '/') + 1;
        hand_pass(s, asked ? 1000 : 500);
        fake_event(STORE_EV_AUTH);
        if (asked)
            list(1, &name);
        hand_pass(s, 1000 * 1000);
        CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
        CHECK(!fake_is_asked(STORE_DELETE, late));
        hand_close(s);
        s = hand_session();
        g_free(leave(4));
        hand_pass(s, asked ? 1000 : 500);
        hand_close(s);
        g_free(late);
    }
}

/* ---- zkl_session_flush(): what it waits for, and what it says when that does not come ---- */

static void begin(void)
{
    start();
    hand_stand_alone(s);
}

static void release(void)
{
    zkl_grant_release(a.grant);
    a.grant = NULL;
}

TEST_CASE(flushed)
{
    begin();
    CHECK_INT(zkl_session_flush(s, 0), 0);
    hand_hold(&a, s);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    release();
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    stop();
}

/* Its create is under way: the node is deleted as soon as it is known. */
TEST_CASE(flushed_when_canceled)
{
    begin();
    hand_enter(&a, s, ZKL_FOREVER);
    zkl_op_cancel(a.op);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    hand_answer_entry(&a, -1);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    ANSWER(STORE_DELETE, a.node, .rc = STORE_NONODE);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    stop();
}

TEST_CASE(flushes_all)
{
    begin();
    orphan_delete(s, g_strdup("/root/x"));
    orphan_delete(s, g_strdup("/root/y"));
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    ANSWER(STORE_DELETE, "/root/y", .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    stop();
}

TEST_CASE(flushes_what_is_refused)
{
    zkl_error error;

    begin();
    hand_hold(&a, s);
    orphan_delete(s, g_strdup("/root/x"));
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_NOAUTH);
    CHECK_INT(zkl_session_flush(s, ZKL_FOREVER), ZKL_EACCES);
    CHECK_INT(zkl_last_error(&error), ZKL_EACCES);
    CHECK_STR(error.path, "/x");
    hand_pass_proved(s, 1000);
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    orphan_delete(s, g_strdup("/root/x"));
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_NOAUTH);
    release();
    ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    hand_pass(s, 0); /* the session ends, and the node with it */
    CHECK_INT(zkl_session_flush(s, ZKL_FOREVER), 0);
    stop();
}

TEST_CASE(flushed_without_a_connection)
{
    begin();
    hand_hold(&a, s);
    release();
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_EUNREACHABLE);
    fake_event(STORE_EV_HOST);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_EHOST);
    fake_event(STORE_EV_AUTH);
    CHECK_INT(zkl_session_flush(s, ZKL_FOREVER), ZKL_EAUTH);
    stop();
}

/* ---- by a thread ---- */

static void *flush(void *code)
{
    hand_is_waiter();
    *(int *)code = zkl_session_flush(s, ZKL_FOREVER);
    return NULL;
}

static void flush_meanwhile(pthread_t *thread, int *code)
{
    *code = 1;
    REQUIRE(pthread_create(thread, NULL, flush, code) == 0);
    hand_await_waiter(s);
}

/* What is released behind it does not hold it up. */
TEST_CASE(flushes_only_what_was_released_before)
{
    pthread_t thread;
    int code;

    begin();
    hand_hold(&a, s);
    release();
    flush_meanwhile(&thread, &code);
    orphan_delete(s, g_strdup("/root/x"));
    ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
    pthread_join(thread, NULL);
    CHECK_INT(code, 0);
    CHECK(fake_is_asked(STORE_DELETE, "/root/x"));
    stop();
}

/* A server that throttles refuses a delete: it is sent again, and later ones are answered before.
 */
TEST_CASE(flushes_what_is_answered_behind_others)
{
    for (int closes = 0; closes < 2; closes++) {
        pthread_t thread;
        int code;

        begin();
        orphan_delete(s, g_strdup("/root/x"));
        orphan_delete(s, g_strdup("/root/y"));
        flush_meanwhile(&thread, &code);
        answer(STORE_UNKNOWN);
        ANSWER(STORE_DELETE, "/root/y", .rc = STORE_OK);
        orphan_delete(s, g_strdup("/root/z"));
        hand_pass(s, 100);
        answer(STORE_UNKNOWN);
        ANSWER(STORE_DELETE, "/root/z", .rc = STORE_OK);
        hand_await_waiter(s); /* it has seen that */
        hand_pass(s, 100);
        if (closes)
            hand_close(s);
        else
            answer(STORE_OK);
        pthread_join(thread, NULL);
        CHECK_INT(code, closes ? ZKL_ECLOSED : 0);
        if (!closes)
            stop();
    }
}

TEST_CASE(closed_while_it_flushes)
{
    pthread_t thread;
    int code;

    begin();
    hand_hold(&a, s);
    release();
    flush_meanwhile(&thread, &code);
    hand_close(s);
    pthread_join(thread, NULL);
    CHECK_INT(code, ZKL_ECLOSED);
    hand_leave(&a);
}
