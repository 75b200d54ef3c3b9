/* The driver over a store that answers what the test says. */
#include "fake_store.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>

TEST_SUITE(driver);

struct outcome {
    atomic_int calls;
    atomic_int held_up; /* the callback does not return while it is set */
    int code;
};

static void decided(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct outcome *o = data;

    o->code = error ? error->code : 0;
    zkl_grant_release(grant);
    atomic_fetch_add(&o->calls, 1);
    while (atomic_load(&o->held_up))
        g_usleep(1000);
}

static void wait_outcome(struct outcome *o)
{
    while (atomic_load(&o->calls) == 0)
        g_usleep(1000);
}

/* The create's outcome is unknown, the list that would tell is cut off too, and the caller gives
 * up: the list must still come after the reconnect, or the node stands as long as the session. */
TEST_CASE(aborted_while_settling)
{
    zkl_session *s = fake_session();
    zkl_mutex *m;
    zkl_op *op;
    struct outcome o = {.calls = 0};

    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, &o, &op) == 0);
    char *name = fake_created_name("/b", 0);
    REQUIRE(name != NULL);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, "/b", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/b", .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK); /* the one behind the create: it proves nothing */
    ANSWER(STORE_SET, "/b", .rc = STORE_NONODE);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_LIST, "/b", .rc = STORE_UNKNOWN);
    zkl_op_cancel(op);
    wait_outcome(&o);
    CHECK_INT(o.code, ZKL_ECANCELED);
    fake_event(STORE_EV_UP);
    char *child = strrchr(name, '/') + 1;
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = &child, .count = 1);
    CHECK(fake_is_asked(STORE_DELETE, name));
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(name);
}

/* What was never sent needs no settling, and is not sent later either. */
TEST_CASE(aborted_before_sent)
{
    zkl_session *s = fake_session();
    zkl_mutex *m;
    zkl_op *op;
    struct outcome o = {.calls = 0};

    fake_event(STORE_EV_DOWN);
    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, &o, &op) == 0);
    zkl_op_cancel(op);
    wait_outcome(&o);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_CREATE, "/b"));
    CHECK(!fake_is_asked(STORE_LIST, "/b"));
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_session_close(s);
}

/* What was decided but not told yet is still cancelled. */
TEST_CASE(canceled_before_told)
{
    zkl_session *s = fake_session();
    zkl_mutex *m;
    zkl_op *op;
    char first[] = "_c_other-lock-0000000000";
    struct outcome before = {.held_up = 1}, o = {.calls = 0};

    REQUIRE(zkl_mutex_new(&m, s, "/b", NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, decided, &before, NULL) == 0);
    ANSWER(STORE_CREATE, "/b", .rc = STORE_NOAUTH);
    wait_outcome(&before);
    ANSWER(STORE_LIST, "/b", .rc = STORE_NOAUTH);
    REQUIRE(zkl_mutex_lock_async(m, 0, decided, &o, &op) == 0);
    char *name = fake_created_name("/b", 1);
    REQUIRE(name != NULL);
    char *names[] = {first, strrchr(name, '/') + 1};
    ANSWER(STORE_CREATE, "/b", .rc = STORE_OK, .path = name, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 2);
    CHECK(fake_is_asked(STORE_DELETE, name)); /* decided: others are first */
    zkl_op_cancel(op);
    atomic_store(&before.held_up, 0);
    wait_outcome(&o);
    CHECK_INT(before.code, ZKL_EACCES);
    CHECK_INT(o.code, ZKL_ECANCELED);
    zkl_op_free(op);
    zkl_mutex_free(m);
    zkl_session_close(s);
    g_free(name);
}
