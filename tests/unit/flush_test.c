/* zkl_session_flush(): what it waits for, and what it says when that does not come. */
#include "by_hand.h"
#include "lib/session/orphans.h"
#include "runner.h"

#include <pthread.h>
#include <stdlib.h>

TEST_SUITE(flush);

static zkl_session *s;
static struct acquisition a;

static void begin(void)
{
    a = (struct acquisition){.calls = 0};
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

TEST_CASE(released)
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
TEST_CASE(canceled)
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

TEST_CASE(all_of_them)
{
    begin();
    orphan_delete(s, g_strdup("/root/x"));
    orphan_delete(s, g_strdup("/root/y"));
    ANSWER(STORE_DELETE, "/root/x", .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), ZKL_ETIMEDOUT);
    ANSWER(STORE_DELETE, "/root/y", .rc = STORE_OK);
    CHECK_INT(zkl_session_flush(s, 0), 0);
    end();
}

TEST_CASE(refused)
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
    end();
}

TEST_CASE(without_a_connection)
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
TEST_CASE(only_what_was_released_before)
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
    end();
}

TEST_CASE(closed_meanwhile)
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
