/* Fenced transactions over a store that answers what the test says: applied or refused as a whole.
 */
#include "multi_story.h"
#include "runner.h"

#include <pthread.h>

TEST_SUITE(multi);

static char sent[256]; /* what the sets of the own node would leave, one behind the other */

TEST_CASE(applied)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    for (int i = 0; i < 3; i++) {
        story_apply(&story, &e, 0, ZKL_FOREVER);
        check_asked(&story, i, "; create /x 0");
        CHECK_INT(atomic_load(&e.calls), 0);
        ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
        check_ended(&e, 0);
    }
    CHECK_INT(zkl_grant_state(story.grant), ZKL_HELD);
    CHECK(!fake_is_asked(STORE_DELETE, story.node));
    story_end(&story);
}

/* Others write to our node: known before anything was sent, and no proof of anything after. */
TEST_CASE(foreign_version)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    answer_read(&story, 3, 0);
    check_asked(&story, 3, "; create /x 0");
    lose_answer(&story);
    answer_read(&story, 5, 1);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    story_end(&story);
}

/* Somebody writes to it all the time. */
TEST_CASE(never_current)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    for (int i = 1; i < 3; i++) {
        ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
        answer_read(&story, i, 0);
    }
    CHECK_INT(atomic_load(&e.calls), 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    check_ended(&e, ZKL_EVERSION);
    story_end(&story);
}

static bool note_sent(const struct store_request *request, struct store_reply *reply)
{
    (void)reply;
    if (request->kind == STORE_MULTI)
        g_strlcat(sent, request->changes[0].data, sizeof sent);
    return false;
}

/* What asks the holder to give way is read before it is overwritten, and so stays; also in what the
 * next one leaves, and where an answer is lost. */
TEST_CASE(asked_to_give_way)
{
    struct story story;
    struct ending e;

    sent[0] = '\0';
    story_begin(&story);
    fake_answer_at_once(note_sent);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    CHECK(read_data(&story, 1, "__REVOKE__"));
    check_asked(&story, 1, "; create /x 0");
    lose_answer(&story);
    CHECK(read_data(&story, 2, "__REVOKE__\nzkl tx 1"));
    check_ended(&e, 0);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    check_asked(&story, 2, "; create /x 0");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    CHECK(read_data(&story, 4, "ops")); /* it is asked no longer */
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    CHECK_STR(sent,
              NAME "\nzkl tx 1__REVOKE__\nzkl tx 1__REVOKE__\nzkl tx 2__REVOKE__\nzkl tx 3" NAME
                   "\nzkl tx 3");
    fake_answer_at_once(NULL);
    story_end(&story);
}

TEST_CASE(node_gone)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_NONODE, .failed = 0);
    check_ended(&e, ZKL_ELOST);
    CHECK_STR(e.error.path, story.node);
    CHECK_INT(zkl_grant_state(story.grant), ZKL_LOST);
    wait_for(&story.lost, 1);
    story_end(&story);
}

TEST_CASE(refused)
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

    story_begin(&story);
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        story_apply(&story, &e, 0, ZKL_FOREVER);
        check_asked(&story, 0, "; create /x 0");
        ANSWER(STORE_MULTI, story.node, .rc = table[i].rc, .failed = 1);
        check_ended(&e, table[i].code);
        CHECK_STR(e.error.path, "/x");
    }
    story_end(&story);
}

/* On a new connection a read comes first: the handle may have expired unseen. */
TEST_CASE(confirmed_first)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    fake_event(STORE_EV_DOWN);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    answer_read(&story, 0, 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    answer_read(&story, 1, 1);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    story_end(&story);
}

TEST_CASE(one_at_a_time)
{
    struct story story;
    struct ending e[2];

    story_begin(&story);
    story_apply(&story, &e[0], 0, ZKL_FOREVER);
    story_apply(&story, &e[1], 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e[0], 0);
    check_asked(&story, 1, "; create /x 0");
    CHECK_INT(atomic_load(&e[1].calls), 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e[1], 0);
    story_end(&story);
}

TEST_CASE(too_late)
{
    struct story story;
    struct ending e[3];

    story_begin(&story);
    story_apply(&story, &e[0], 0, 20);
    story_apply(&story, &e[1], 0, 20);
    check_ended(&e[0], ZKL_EUNKNOWN);
    check_ended(&e[1], ZKL_ETIMEDOUT);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    fake_event(STORE_EV_DOWN);
    story_apply(&story, &e[2], 0, 20);
    check_ended(&e[2], ZKL_EUNREACHABLE);
    fake_event(STORE_EV_UP);
    answer_read(&story, 1, 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    for (int i = 0; i < 3; i++)
        CHECK_INT(atomic_load(&e[i].calls), 1);
    story_end(&story);
}

TEST_CASE(given_back)
{
    struct story story;
    struct ending e;
    char *rest;

    story_begin(&story);
    rest = g_strdup_printf("; create /x 0; delete %s -1", story.node);
    story_apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
    CHECK_INT(zkl_grant_state(story.grant), ZKL_RELEASED);
    CHECK_INT(zkl_grant_remaining_ms(story.grant), 0);
    check_asked(&story, 0, rest);
    CHECK(!fake_is_asked(STORE_DELETE, story.node));
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    CHECK(!fake_is_asked(STORE_DELETE, story.node));
    CHECK_INT(zkl_grant_multi_async(story.grant, &story_change, 1, 0, 0, on_ended, &e), ZKL_EPERM);
    CHECK_INT(atomic_load(&story.released), 1);
    CHECK_INT(atomic_load(&story.lost), 0);
    g_free(rest);
    story_end(&story);
}

/* Refused, the lock is given back all the same. */
TEST_CASE(given_back_refused)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
    check_ended(&e, ZKL_EEXIST);
    CHECK(fake_is_asked(STORE_DELETE, story.node));
    story_end(&story);
}

static void *end_session(void *node)
{
    ANSWER(STORE_MULTI, node, .rc = STORE_GONE);
    fake_event(STORE_EV_EXPIRED);
    return NULL;
}

/* So many that ending each from within the one before would need more stack than there is. */
TEST_CASE(session_over)
{
    enum { COUNT = 20000, STACK = 256 * 1024 };
    pthread_attr_t attr;
    pthread_t thread;
    struct story story;
    struct ending first, rest = {.calls = 0};

    story_begin(&story);
    story_apply(&story, &first, 0, ZKL_FOREVER);
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
    CHECK_INT(zkl_grant_multi(story.grant, &story_change, 1, 0, 0), ZKL_ELOST);
    CHECK_INT(zkl_grant_multi_async(story.grant, &story_change, 1, 0, 0, on_ended, &rest),
              ZKL_ELOST);
    story_end(&story);
}

/* The node that it gives back is gone: it is not read in the next session. */
TEST_CASE(session_over_before_its_turn)
{
    struct story story;
    struct ending e[2];

    story_begin(&story);
    story_apply(&story, &e[0], 0, ZKL_FOREVER);
    story_apply(&story, &e[1], ZKL_MULTI_RELEASE, ZKL_FOREVER);
    end_session(story.node);
    check_ended(&e[0], ZKL_EUNKNOWN);
    check_ended(&e[1], ZKL_ELOST);
    CHECK(!fake_is_asked(STORE_GET, story.node));
    story_end(&story);
}

TEST_CASE(bad_input)
{
    struct story story;
    const zkl_change none = {0, -1, "/x", NULL, 0}, relative = {ZKL_CHANGE_SET, -1, "x", NULL, 0},
                     no_data = {ZKL_CHANGE_SET, -1, "/x", NULL, 1},
                     nowhere = {ZKL_CHANGE_SET, -1, NULL, NULL, 0},
                     huge = {ZKL_CHANGE_SET, -1, "/x", "", SIZE_MAX};
    zkl_error why;

    story_begin(&story);
    const zkl_change own = {ZKL_CHANGE_DELETE, -1, story.node, NULL, 0};
    const zkl_change *bad[] = {&none, &relative, &no_data, &nowhere, &own};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        const zkl_change behind[] = {story_change, *bad[i]};
        CHECK_INT(zkl_grant_multi(story.grant, bad[i], 1, 0, 0), ZKL_EINVAL);
        CHECK_INT(zkl_grant_multi(story.grant, behind, 2, 0, 0), ZKL_EINVAL);
        char *which = g_strdup_printf("change 1, \"%s\": ", bad[i]->path ? bad[i]->path : "");
        zkl_last_error(&why);
        CHECK(g_str_has_prefix(why.text, which));
        g_free(which);
    }
    CHECK_INT(zkl_grant_multi(story.grant, NULL, 1, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(NULL, &story_change, 1, 0, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(story.grant, &story_change, 1, 2, 0), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi_async(story.grant, &story_change, 1, 0, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_grant_multi(story.grant, &huge, 1, ZKL_MULTI_RELEASE, 0), ZKL_ELIMIT);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    CHECK_INT(zkl_grant_state(story.grant), ZKL_HELD);
    story_end(&story);
}
