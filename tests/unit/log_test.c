/* What is logged: each line with its event, session and path, and never many of one event. */
#include "lib/base/log.h"

#include <string.h>

#include "by_hand.h"
#include "runner.h"

TEST_SUITE(log);

static zkl_session *s;
static GPtrArray *lines; /* "LEVEL EVENT SESSION PATH SUPPRESSED TEXT" */

static void on_log(const zkl_log_record *r, void *data)
{
    (void)data;
    CHECK_INT(r->size, sizeof *r);
    g_ptr_array_add(lines, g_strdup_printf("%d %s %d %s %d %s", (int)r->level, r->event,
                                           (int)r->session_id, r->path ? r->path : "-",
                                           (int)r->suppressed, r->text));
}

static void start(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.log = on_log;
    options.log_level = ZKL_LOG_DEBUG;
    lines = g_ptr_array_new_with_free_func(g_free);
    s = hand_session_with(&options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void stop(void)
{
    hand_close(s);
    g_ptr_array_unref(lines);
}

/* The next of those that were logged; they are all taken. */
static void check_next(guint i, const char *wanted)
{
    zkl_session_dispatch(s);
    REQUIRE(i < lines->len);
    CHECK_STR(lines->pdata[i], wanted);
}

static void check_count(guint wanted)
{
    zkl_session_dispatch(s);
    CHECK_INT(lines->len, wanted);
    g_ptr_array_set_size(lines, 0);
}

/* A loss behind the end of the session is still a matter of that session. */
TEST_CASE(lines_have_all)
{
    struct acquisition a;

    start();
    hand_hold(&a, s);
    check_next(0, "3 session 7 - 0 session 0x7, timeout 10000 ms");
    check_count(1);
    fake_event(STORE_EV_EXPIRED);
    char *lost = g_strdup_printf("2 lost 7 %s 0 %s: lost: %s", zkl_grant_node(a.grant), a.node,
                                 zkl_strloss(ZKL_LOSS_EXPIRED));
    check_next(0, "2 expired 7 - 0 session 0x7 expired");
    check_next(1, lost);
    check_count(2);
    hand_pass(s, 1000);
    check_next(0, "2 no-connection 0 - 0 no connection for 1 s: fake:1: no server answers");
    check_count(1);
    g_free(lost);
    hand_leave(&a);
    stop();
}

static void log_some(int count, const char *event)
{
    for (int i = 1; i <= count; i++)
        log_line(s->log, ZKL_LOG_WARN, event, "/p", "no. %d", i);
}

TEST_CASE(many_lines_are_counted)
{
    start();
    check_count(1);
    log_some(25, "x");
    log_some(2, "y");
    check_next(8, "2 x 7 /p 0 no. 9");
    check_next(9, "2 x 7 /p 0 no. 10 (more such lines are only counted, for 60 s)");
    check_next(10, "2 y 7 /p 0 no. 1");
    check_count(12);
    hand_pass(s, 59999);
    log_some(1, "x");
    check_count(0);
    hand_pass(s, 1);
    log_some(1, "y");
    check_next(0, "2 x 7 - 16 16 more lines of the event x left out");
    check_next(1, "2 y 7 /p 0 no. 1");
    check_count(2);
    log_some(11, "x");
    check_next(9, "2 x 7 /p 0 no. 10 (more such lines are only counted, for 120 s)");
    check_count(10);
    hand_pass(s, 120000);
    log_some(1, "x");
    check_next(0, "2 x 7 - 1 1 more line of the event x left out");
    check_count(2);
    hand_pass(s, 240000);
    log_some(11, "x"); /* nothing was left out meanwhile, and it is as at the beginning */
    check_next(9, "2 x 7 /p 0 no. 10 (more such lines are only counted, for 60 s)");
    check_count(10);
    stop();
}

TEST_CASE(the_end_tells_how_many)
{
    start();
    log_some(12, "x");
    check_count(11);
    hand_close(s);
    REQUIRE(lines->len == 1);
    CHECK_STR(lines->pdata[0], "2 x 7 - 2 2 more lines of the event x left out");
    g_ptr_array_unref(lines);
}

/* As libzookeeper says it, thirty times a second. */
static void attempt(void)
{
    static const char text[] = "2026-01-01 00:00:00,000:1(0x1):ZOO_ERROR@check_events@1: Socket "
                               "127.0.0.1:1 zk retcode=-4, errno=111(Connection refused)\n";

    log_library(s->log, ZKL_LOG_DEBUG, LIBRARY_FAILED, text);
}

static guint count_of(const char *event)
{
    guint count = 0;

    for (guint i = 0; i < lines->len; i++)
        count += strstr(lines->pdata[i], event) != NULL;
    return count;
}

/* 30 attempts a second, for an hour. */
TEST_CASE(an_hour_is_a_handful)
{
    start();
    fake_event(STORE_EV_DOWN);
    for (int i = 0; i < 3600 * 2; i++) {
        for (int n = 0; n < 15; n++)
            attempt();
        hand_pass(s, 500);
        zkl_session_dispatch(s);
    }
    CHECK_INT(count_of(" no-connection "), 6);
    CHECK(count_of(" libzookeeper-connect ") > 10 && count_of(" libzookeeper-connect ") <= 66);
    CHECK(count_of("no connection for 61 s, 1830 attempts: fake:1: no server answers") == 1);
    check_count(7 + count_of(" libzookeeper-connect "));
    fake_event(STORE_EV_UP);
    check_next(0, "2 connected-again 7 - 0 fake:1: connected again after 3600 s, 108000 attempts");
    check_count(1);
    stop();
}

TEST_CASE(a_line_of_the_library)
{
    start();
    log_library(s->log, ZKL_LOG_ERROR, LIBRARY_LINE, "ours \n");
    check_next(1, "1 libzookeeper 7 - 0 ours");
    check_count(2);
    stop();
}
