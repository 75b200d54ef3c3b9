/* Fenced transactions over a store that answers what the test says: applied once, or not, or told
 * that nobody knows. */
#include "fake_store.h"
#include "suites.h"

#include <stdatomic.h>
#include <string.h>

#define LOCK "/l"

struct story {
    zkl_session *session;
    zkl_mutex *mutex;
    zkl_grant *grant;
    char *node;
    atomic_int acquired, lost, released;
};

struct ending {
    atomic_int calls;
    zkl_error error;
};

static const zkl_change create_x = {ZKL_CHANGE_CREATE, 0, "/x", "1", 1};

static void on_change(zkl_grant *grant, zkl_state state, void *data)
{
    struct story *story = data;

    (void)grant;
    if (state == ZKL_LOST)
        atomic_fetch_add(&story->lost, 1);
    if (state == ZKL_RELEASED)
        atomic_fetch_add(&story->released, 1);
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct story *story = data;

    CHECK(error == NULL);
    story->grant = grant;
    CHECK_INT(zkl_grant_on_change(grant, on_change, story), 0);
    atomic_store(&story->acquired, 1);
}

static void wait_for(const atomic_int *count, int wanted)
{
    while (atomic_load(count) < wanted)
        g_usleep(1000);
}

static void wait_asked(enum store_kind kind, const char *path)
{
    while (!fake_is_asked(kind, path))
        g_usleep(1000);
}

/* Holds, with the watch on the own node set. */
static void begin(struct story *story)
{
    *story = (struct story){.session = fake_session()};
    REQUIRE(zkl_mutex_new(&story->mutex, story->session, LOCK, NULL) == 0);
    REQUIRE(zkl_mutex_lock_async(story->mutex, ZKL_FOREVER, on_acquired, story, NULL) == 0);
    story->node = fake_created_name(LOCK, 0);
    REQUIRE(story->node != NULL);
    char *child = strrchr(story->node, '/') + 1;
    ANSWER(STORE_CREATE, LOCK, .rc = STORE_OK, .path = story->node, .czxid = 5,
           .owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, LOCK, .rc = STORE_OK, .names = &child, .count = 1);
    wait_for(&story->acquired, 1);
    wait_asked(STORE_GET, story->node);
    ANSWER(STORE_GET, story->node, .rc = STORE_OK, .owner = FAKE_SESSION_ID);
}

static void finish(struct story *story)
{
    zkl_grant_release(story->grant);
    zkl_mutex_free(story->mutex);
    zkl_session_close(story->session);
    g_free(story->node);
}

static void on_ended(const zkl_error *error, void *data)
{
    struct ending *e = data;

    if (error)
        e->error = *error;
    atomic_fetch_add(&e->calls, 1);
}

static void apply(struct story *story, struct ending *e, unsigned flags, int64_t timeout_ms)
{
    *e = (struct ending){.calls = 0};
    CHECK_INT(zkl_grant_multi_async(story->grant, &create_x, 1, flags, timeout_ms, on_ended, e), 0);
}

static void check_ended(struct ending *e, int code)
{
    wait_for(&e->calls, 1);
    CHECK_INT(e->error.code, code);
}

/* What is asked: the fence with that version of the own node, and then the changes. */
static void check_asked(const struct story *story, int version, const char *rest)
{
    char *asked = fake_changes(story->node);
    char *wanted = g_strdup_printf("set %s %d%s", story->node, version, rest);

    CHECK_STR(asked, wanted);
    g_free(asked);
    g_free(wanted);
}

static void lose_answer(struct story *story)
{
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_MULTI, story->node, .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
}

static void applied(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    for (int i = 0; i < 3; i++) {
        apply(&story, &e, 0, ZKL_FOREVER);
        check_asked(&story, i, "; create /x 0");
        CHECK_INT(atomic_load(&e.calls), 0);
        ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
        check_ended(&e, 0);
    }
    CHECK_INT(zkl_grant_state(story.grant), ZKL_HELD);
    finish(&story);
}

/* The lost answer was "applied": the version says so, and it is not sent again. */
static void answer_lost(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    check_ended(&e, 0);
    apply(&story, &e, 0, ZKL_FOREVER);
    check_asked(&story, 1, "; create /x 0");
    finish(&story);
}

static void request_lost(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 0);
    check_asked(&story, 0, "; create /x 0");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    finish(&story);
}

/* The first one came through only after the read: the second is refused for its version. */
static void applied_late(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    check_ended(&e, 0);
    finish(&story);
}

/* Others write to our node: known before anything was sent, and no proof of anything after. */
static void foreign_version(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 3);
    check_asked(&story, 3, "; create /x 0");
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 5);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    finish(&story);
}

/* Somebody writes to it all the time. */
static void never_current(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    for (int i = 1; i < 3; i++) {
        ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
        ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = i);
    }
    CHECK_INT(atomic_load(&e.calls), 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    check_ended(&e, ZKL_EVERSION);
    finish(&story);
}

static void node_gone(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_NONODE, .failed = 0);
    check_ended(&e, ZKL_ELOST);
    CHECK_STR(e.error.path, story.node);
    CHECK_INT(zkl_grant_state(story.grant), ZKL_LOST);
    wait_for(&story.lost, 1);
    finish(&story);
}

static void node_gone_in_doubt(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_NONODE);
    check_ended(&e, ZKL_EUNKNOWN);
    wait_for(&story.lost, 1);
    finish(&story);
}

static void refused(void)
{
    static const struct {
        enum store_rc rc;
        int code;
    } table[] = {
        {STORE_NONODE, ZKL_ENOENT}, {STORE_EXISTS, ZKL_EEXIST},    {STORE_BADVERSION, ZKL_EVERSION},
        {STORE_NOAUTH, ZKL_EACCES}, {STORE_NOCHILDREN, ZKL_EPATH}, {STORE_NOTEMPTY, ZKL_ENOTEMPTY},
        {STORE_BAD, ZKL_EPROTO},
    };
    struct story story;
    struct ending e;

    begin(&story);
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        apply(&story, &e, 0, ZKL_FOREVER);
        check_asked(&story, 0, "; create /x 0");
        ANSWER(STORE_MULTI, story.node, .rc = table[i].rc, .failed = 1);
        check_ended(&e, table[i].code);
        CHECK_STR(e.error.path, "/x");
    }
    finish(&story);
}

/* On a new connection a read comes first: the handle may have expired unseen. */
static void confirmed_first(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    fake_event(STORE_EV_DOWN);
    apply(&story, &e, 0, ZKL_FOREVER);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    apply(&story, &e, 0, ZKL_FOREVER);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 1);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    finish(&story);
}

static void one_at_a_time(void)
{
    struct story story;
    struct ending e[2];

    begin(&story);
    apply(&story, &e[0], 0, ZKL_FOREVER);
    apply(&story, &e[1], 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e[0], 0);
    check_asked(&story, 1, "; create /x 0");
    CHECK_INT(atomic_load(&e[1].calls), 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e[1], 0);
    finish(&story);
}

static void too_late(void)
{
    struct story story;
    struct ending e[3];

    begin(&story);
    apply(&story, &e[0], 0, 20);
    apply(&story, &e[1], 0, 20);
    check_ended(&e[0], ZKL_EUNKNOWN);
    check_ended(&e[1], ZKL_ETIMEDOUT);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    fake_event(STORE_EV_DOWN);
    apply(&story, &e[2], 0, 20);
    check_ended(&e[2], ZKL_EUNREACHABLE);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    for (int i = 0; i < 3; i++)
        CHECK_INT(atomic_load(&e[i].calls), 1);
    finish(&story);
}

static void three_times_lost(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, 0, ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        lose_answer(&story);
        ANSWER(STORE_GET, story.node, .rc = STORE_OK, .version = 0);
    }
    CHECK_INT(atomic_load(&e.calls), 0);
    lose_answer(&story);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_GET, story.node));
    finish(&story);
}

static void given_back(void)
{
    struct story story;
    struct ending e;
    char *rest;

    begin(&story);
    rest = g_strdup_printf("; create /x 0; delete %s -1", story.node);
    apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
    CHECK_INT(zkl_grant_state(story.grant), ZKL_RELEASED);
    CHECK_INT(zkl_grant_remaining_ms(story.grant), 0);
    check_asked(&story, 0, rest);
    CHECK(!fake_is_asked(STORE_DELETE, story.node));
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    CHECK(!fake_is_asked(STORE_DELETE, story.node));
    CHECK_INT(zkl_grant_multi_async(story.grant, &create_x, 1, 0, 0, on_ended, &e), ZKL_EPERM);
    CHECK_INT(atomic_load(&story.released), 1);
    CHECK_INT(atomic_load(&story.lost), 0);
    g_free(rest);
    finish(&story);
}

/* Refused, the lock is given back all the same. */
static void given_back_refused(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
    check_ended(&e, ZKL_EEXIST);
    CHECK(fake_is_asked(STORE_DELETE, story.node));
    finish(&story);
}

/* Who took the node away cannot be told any more. */
static void given_back_unknown(void)
{
    struct story story;
    struct ending e;

    begin(&story);
    apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_NONODE);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK_INT(atomic_load(&story.lost), 0);
    finish(&story);
}

static void *end_session(void *node)
{
    ANSWER(STORE_MULTI, node, .rc = STORE_GONE);
    fake_event(STORE_EV_EXPIRED);
    return NULL;
}

/* So many that ending each from within the one before would need more stack than there is. */
static void session_over(void)
{
    enum { COUNT = 20000, STACK = 256 * 1024 };
    pthread_attr_t attr;
    pthread_t thread;
    struct story story;
    struct ending first, rest = {.calls = 0};

    begin(&story);
    apply(&story, &first, 0, ZKL_FOREVER);
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(zkl_grant_multi_async(story.grant, NULL, 0, 0, ZKL_FOREVER, on_ended, &rest), 0);
    pthread_attr_init(&attr);
    REQUIRE(pthread_attr_setstacksize(&attr, STACK) == 0);
    REQUIRE(pthread_create(&thread, &attr, end_session, story.node) == 0);
    pthread_attr_destroy(&attr);
    pthread_join(thread, NULL);
    check_ended(&first, ZKL_EUNKNOWN);
    wait_for(&rest.calls, COUNT);
    CHECK_INT(rest.error.code, ZKL_ELOST);
    CHECK_INT(zkl_grant_multi(story.grant, &create_x, 1, 0, 0), ZKL_ELOST);
    finish(&story);
}

static void bad_input(void)
{
    struct story story;
    const zkl_change none = {0, -1, "/x", NULL, 0}, relative = {ZKL_CHANGE_SET, -1, "x", NULL, 0},
                     no_data = {ZKL_CHANGE_SET, -1, "/x", NULL, 1},
                     nowhere = {ZKL_CHANGE_SET, -1, NULL, NULL, 0},
                     huge = {ZKL_CHANGE_SET, -1, "/x", "", SIZE_MAX};

    begin(&story);
    const zkl_change own = {ZKL_CHANGE_DELETE, -1, story.node, NULL, 0};
    const zkl_change *bad[] = {&none, &relative, &no_data, &nowhere, &own};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        CHECK_INT(zkl_grant_multi(story.grant, bad[i], 1, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(story.grant, NULL, 1, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(NULL, &create_x, 1, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(story.grant, &create_x, 1, 2, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi_async(story.grant, &create_x, 1, 0, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(story.grant, &huge, 1, 0, 0), ZKL_ELIMIT);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    CHECK_INT(zkl_grant_state(story.grant), ZKL_HELD);
    finish(&story);
}

static const struct test_case cases[] = {
    {"applied", applied},
    {"answer_lost", answer_lost},
    {"request_lost", request_lost},
    {"applied_late", applied_late},
    {"foreign_version", foreign_version},
    {"never_current", never_current},
    {"node_gone", node_gone},
    {"node_gone_in_doubt", node_gone_in_doubt},
    {"refused", refused},
    {"confirmed_first", confirmed_first},
    {"one_at_a_time", one_at_a_time},
    {"too_late", too_late},
    {"three_times_lost", three_times_lost},
    {"given_back", given_back},
    {"given_back_refused", given_back_refused},
    {"given_back_unknown", given_back_unknown},
    {"session_over", session_over},
    {"bad_input", bad_input},
    {NULL, NULL},
};

const struct test_suite multi_suite = {"multi", NULL, NULL, cases};
