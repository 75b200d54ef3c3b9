/* The manual says some things of many functions alike. This tests them for each: every function in
 * every plight. tests/lint/errors.sh compares what the tests saw with the manual's lists. */
#include "every_call.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(every_call);

TEST_CASE(without_handle)
{
    memset(&estate, 0, sizeof estate);
    for (const struct every_call *c = every_call; c->name; c++)
        if (c->may & GETS_NULL)
            every_check(c, SHORT_MS, ZKL_EINVAL);
}

static void try_as_child(void)
{
    for (const struct every_call *c = every_call; c->name; c++)
        if ((c->may & IN_CHILD) && c->fn(&estate, ZKL_FOREVER) != ZKL_ECHILD) {
            dprintf(2, "%s in a child\n", c->name);
            _exit(1);
        }
    _exit(0);
}

TEST_CASE(in_a_child)
{
    int status = -1;

    estate_begin(&estate);
    estate_joining(&estate);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        try_as_child();
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    estate_end(&estate);
}

static void close_session(void)
{
    estate_joining(&estate);
    estate_close(&estate);
}

TEST_CASE(after_the_close)
{
    every_check_all(CLOSED, close_session, SHORT_MS, ZKL_ECLOSED);
}

static void call_when_closed(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)id, (void)data;
    if (event == ZKL_SESSION_CLOSED)
        for (const struct every_call *c = every_call; c->name; c++)
            if (c->may & CLOSING)
                every_check(c, SHORT_MS, ZKL_ECLOSED);
}

TEST_CASE(in_the_last_callback)
{
    estate_begin(&estate);
    CHECK_INT(zkl_session_on_change(estate.s, call_when_closed, NULL), 0);
    zkl_session *s = estate.s;
    zkl_session_close(s);
    estate.s = NULL;
    estate_end(&estate);
}

static atomic_bool called;

static void call_inside(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    (void)s, (void)id, (void)data;
    if (event == ZKL_SESSION_CONNECTED && !called) {
        for (const struct every_call *c = every_call; c->name; c++)
            if (c->may & BLOCKS)
                every_check(c, SHORT_MS, ZKL_EDEADLK);
        called = true;
    }
}

TEST_CASE(in_a_callback)
{
    called = false;
    estate_begin(&estate);
    CHECK_INT(zkl_session_on_change(estate.s, call_inside, NULL), 0);
    while (!called)
        g_usleep(200);
    estate_end(&estate);
}

static void disconnect(void)
{
    fake_event(STORE_EV_DOWN);
}

static void lose_name(void)
{
    disconnect();
    fake_event(STORE_EV_HOST);
}

static void refuse_credentials(void)
{
    fake_event(STORE_EV_AUTH);
}

TEST_CASE(without_a_connection)
{
    every_check_all(CONNECTED, disconnect, SHORT_MS, ZKL_EUNREACHABLE);
    every_check_all(CONNECTED, lose_name, SHORT_MS, ZKL_EHOST);
    every_check_but(CONNECTED, ENDED | HOLDER, refuse_credentials, SHORT_MS, ZKL_EAUTH);
}

TEST_CASE(without_an_answer)
{
    every_check_all(ANSWERED, NULL, SHORT_MS, ZKL_ETIMEDOUT);
}

static enum store_rc refusal;

static bool refuse(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = refusal};
    return g_str_has_prefix(request->path, "/x");
}

static void refuse_all(void)
{
    fake_answer_at_once(refuse);
}

TEST_CASE(refused)
{
    refusal = STORE_NOAUTH;
    every_check_all(PERMITTED, refuse_all, LONG_MS, ZKL_EACCES);
    refusal = STORE_BAD;
    every_check_all(UNDERSTOOD, refuse_all, LONG_MS, ZKL_EPROTO);
}

/* Nothing is there yet, and nothing can be made. */
static bool below_ephemeral(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){
        .rc = request->kind == STORE_CREATE || request->kind == STORE_MULTI ? STORE_NOCHILDREN
              : request->kind == STORE_SYNC                                 ? STORE_OK
                                                                            : STORE_NONODE};
    return g_str_has_prefix(request->path, "/x");
}

static void be_below_ephemeral(void)
{
    fake_answer_at_once(below_ephemeral);
}

TEST_CASE(no_children)
{
    every_check_all(CREATES, be_below_ephemeral, LONG_MS, ZKL_EPATH);
}
