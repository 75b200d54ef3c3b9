/* Reading who queues, with answers that no server of ours gives on demand. */
#include "fake_store.h"
#include "suites.h"

#include <pthread.h>
#include <string.h>

#define NODE(name, number) "_c_" name "-lock-000000000" number

struct reading {
    zkl_session *s;
    int64_t timeout_ms;
    zkl_queue *q;
    int code;
    zkl_error why;
    pthread_t thread;
};

static void *read_queue(void *data)
{
    struct reading *r = data;

    r->code = zkl_queue_read(&r->q, r->s, "/b", r->timeout_ms);
    zkl_last_error(&r->why);
    return NULL;
}

static void begin(struct reading *r, int64_t timeout_ms)
{
    *r = (struct reading){.s = fake_session(), .timeout_ms = timeout_ms};
    REQUIRE(pthread_create(&r->thread, NULL, read_queue, r) == 0);
    while (!fake_is_asked(STORE_LIST, "/b"))
        g_usleep(1000);
}

static void end(struct reading *r)
{
    pthread_join(r->thread, NULL);
    zkl_session_close(r->s);
}

static void answer_list(void)
{
    static char second[] = NODE("b", "2"), foreign[] = "junk", first[] = NODE("a", "1");
    static char *names[] = {second, foreign, first};

    ANSWER(STORE_LIST, "/b", .rc = STORE_OK, .names = names, .count = 3);
}

/* In order, without what is no contender, and fit for a terminal. */
static void sorted_and_clean(void)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_OK, .data = "x\x1b\xff", .length = 3,
           .czxid = 9, .owner = 4);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK, .czxid = 8, .ctime_ms = 77);
    end(&r);
    REQUIRE(r.code == 0 && zkl_queue_count(r.q) == 2);
    const zkl_contender *c = zkl_queue_get(r.q, 0);
    CHECK_STR(c->node, NODE("a", "1"));
    CHECK_STR(c->owner, "");
    CHECK_INT(c->number, 1);
    CHECK_INT(c->token, 8);
    CHECK_INT(c->ctime_ms, 77);
    CHECK_INT(c->holds, 1);
    c = zkl_queue_get(r.q, 1);
    CHECK_STR(c->owner, "x?\xef\xbf\xbd");
    CHECK_INT(c->session_id, 4);
    CHECK_INT(c->holds, 0);
    CHECK(zkl_queue_get(r.q, 2) == NULL);
    zkl_queue_free(r.q);
}

static void who_left_is_left_out(void)
{
    struct reading r;

    begin(&r, 0);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_NONODE);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_NONODE);
    end(&r);
    REQUIRE(r.code == 0);
    CHECK_INT(zkl_queue_count(r.q), 0);
    zkl_queue_free(r.q);
}

static void check_list(enum store_rc rc, int code)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    ANSWER(STORE_LIST, "/b", .rc = rc);
    end(&r);
    CHECK_INT(r.code, code);
    CHECK_INT(r.why.code, code);
    CHECK_STR(r.why.path, "/b");
}

static void refused_lists(void)
{
    check_list(STORE_NONODE, ZKL_ENOENT);
    check_list(STORE_NOAUTH, ZKL_EACCES);
    check_list(STORE_BAD, ZKL_EPROTO);
}

/* The first error counts; the other read is still waited for. */
static void refused_read(void)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("b", "2"), .rc = STORE_NOAUTH);
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_BAD);
    end(&r);
    CHECK_INT(r.code, ZKL_EACCES);
}

static void timed_out(void)
{
    struct reading r;

    begin(&r, 10);
    pthread_join(r.thread, NULL);
    CHECK_INT(r.code, ZKL_ETIMEDOUT);
    answer_list(); /* too late: nobody is asked any more */
    CHECK(!fake_is_asked(STORE_GET, "/b"));
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_queue_read(&r.q, r.s, "/b", 10), ZKL_EUNREACHABLE);
    zkl_session_close(r.s);
}

/* The session ends in between: asked again in the next. */
static void asked_again(void)
{
    struct reading r;

    begin(&r, ZKL_FOREVER);
    answer_list();
    ANSWER(STORE_GET, "/b/" NODE("a", "1"), .rc = STORE_OK);
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_LIST, "/b", .rc = STORE_OK);
    end(&r);
    REQUIRE(r.code == 0);
    CHECK_INT(zkl_queue_count(r.q), 0);
    zkl_queue_free(r.q);
}

static void closed_meanwhile(void)
{
    struct reading r;
    zkl_mutex *keeps; /* the handle good after close */

    begin(&r, ZKL_FOREVER);
    REQUIRE(zkl_mutex_new(&keeps, r.s, "/b", NULL) == 0);
    zkl_session_close(r.s);
    pthread_join(r.thread, NULL);
    CHECK_INT(r.code, ZKL_ECLOSED);
    CHECK_INT(zkl_queue_read(&r.q, r.s, "/b", 0), ZKL_ECLOSED);
    zkl_mutex_free(keeps);
}

static void bad_arguments(void)
{
    zkl_session *s = fake_session();
    zkl_queue *q;

    CHECK_INT(zkl_queue_read(&q, NULL, "/b", 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(NULL, s, "/b", 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(&q, s, "b", 0), ZKL_EINVAL);
    CHECK_INT(zkl_queue_read(&q, s, NULL, 0), ZKL_EINVAL);
    zkl_session_close(s);
}

static const struct test_case cases[] = {
    {"sorted_and_clean", sorted_and_clean},
    {"who_left_is_left_out", who_left_is_left_out},
    {"refused_lists", refused_lists},
    {"refused_read", refused_read},
    {"timed_out", timed_out},
    {"asked_again", asked_again},
    {"closed_meanwhile", closed_meanwhile},
    {"bad_arguments", bad_arguments},
    {NULL, NULL},
};

const struct test_suite queue_suite = {"queue", NULL, NULL, cases};
