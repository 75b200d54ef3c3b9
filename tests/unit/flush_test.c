/* zkl_session_flush(): what it waits for, and what it says when that does not come. */
#include "by_hand.h"
#include "lib/session/request.h"
#include "suites.h"

#include <pthread.h>
#include <stdlib.h>

static zkl_session *s;
static struct acquisition a;

static void begin(void)
{
    s = hand_session();
    hand_stand_alone(s);
}

static void end(void)
{
    hand_leave(&a);
    hand_close(s);
}

static void release(void)
{
    zkl_grant_release(a.grant);
    a.grant = NULL;
}

static void released(void)
{
    begin();
    CHECK_INT(zkl_session_flush(s, 0), 0);
    hand_hold(&a, s);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    release();
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    end();
}

/* Its create is under way: the node is deleted as soon as it is known. */
static void canceled(void)
{
    begin();
    hand_enter(&a, s, ZKL_FOREVER);
    zkl_op_cancel(a.op);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    hand_answer_entry(&a, -1);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    ANSWER(STORE_DELETE, a.node, .rc = STORE_NONODE);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    end();
}

static void refused(void)
{
    zkl_error error;

    begin();
    hand_hold(&a, s);
    request_delete(s, g_strdup("/root/x"));
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_NOAUTH);
    CHECK_INT(zkl_session_flush(s, ZKL_FOREVER), ZKL_EACCES);
    CHECK_INT(zkl_last_error(&error), ZKL_EACCES);
    CHECK_STR(error.path, "/x");
    hand_pass_proved(s, 1000);
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    request_delete(s, g_strdup("/root/x"));
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_NOAUTH);
    release();
    ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    hand_pass(s, 0); /* the session ends, and the node with it */
    CHECK_INT(zkl_session_flush(s, ZKL_FOREVER), 0);
    end();
}

static void without_a_connection(void)
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
    end();
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
static void only_what_was_released_before(void)
{
    pthread_t thread;
    int code;

    begin();
    hand_hold(&a, s);
    release();
    flush_meanwhile(&thread, &code);
    request_delete(s, g_strdup("/root/x"));
    ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
    pthread_join(thread, NULL);
    CHECK_INT(code, 0);
    CHECK(fake_is_asked(STORE_DELETE, "/root/x"));
    end();
}

static void closed_meanwhile(void)
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

static const struct test_case cases[] = {
    {"released", released},
    {"canceled", canceled},
    {"refused", refused},
    {"without_a_connection", without_a_connection},
    {"only_what_was_released_before", only_what_was_released_before},
    {"closed_meanwhile", closed_meanwhile},
    {NULL, NULL},
};

const struct test_suite flush_suite = {.name = "flush", .cases = cases};
