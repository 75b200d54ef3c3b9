/* Transactions whose answer was lost: applied once, or not, or told that nobody knows. */
#include "lib/grant.h"
#include "multi_story.h"
#include "suites.h"

/* The lost answer was "applied": the version says so, and it is not sent again. */
static void answer_lost(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    answer_read(&story, 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    check_ended(&e, 0);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    check_asked(&story, 1, "; create /x 0");
    story_end(&story);
}

static void request_lost(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0);
    check_asked(&story, 0, "; create /x 0");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    story_end(&story);
}

/* The first one came through only after the read: the second is refused for its version. */
static void applied_late(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    answer_read(&story, 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    check_ended(&e, 0);
    story_end(&story);
}

/* Known not to be ours: by its data, or since ours would have left no node. */
static void foreign_data(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    CHECK(read_data(&story, 1, "ops"));
    check_ended(&e, ZKL_EUNKNOWN);
    story_apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 2);
    check_ended(&e, ZKL_EUNKNOWN);
    story_end(&story);
}

/* Refused while an earlier sending may still come through: that is shut out first. */
static void refused_in_doubt(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
    CHECK_INT(atomic_load(&e.calls), 0);
    check_asked(&story, 0, "");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, ZKL_EEXIST);
    CHECK_STR(e.error.path, "/x");
    story_apply(&story, &e, 0, ZKL_FOREVER);
    check_asked(&story, 1, "; create /x 0");
    story_end(&story);
}

/* It had come through, or nobody knows. */
static void not_shut_out(void)
{
    for (int known = 0; known < 2; known++) {
        struct story story;
        struct ending e;

        story_begin(&story);
        story_apply(&story, &e, 0, ZKL_FOREVER);
        lose_answer(&story);
        answer_read(&story, 0);
        ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
        if (known) {
            ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
            answer_read(&story, 1);
        } else {
            lose_answer(&story);
        }
        check_ended(&e, known ? 0 : ZKL_EUNKNOWN);
        CHECK(!fake_is_asked(STORE_MULTI, story.node));
        story_end(&story);
    }
}

/* There is no connection to shut it out on. */
static void cannot_be_shut_out(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0);
    fake_busy(true);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
    fake_busy(false);
    check_ended(&e, ZKL_EUNKNOWN);
    story_end(&story);
}

/* Nor to send it again on: it is read anew on the next one. */
static void read_again(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    fake_busy(true);
    answer_read(&story, 0);
    fake_busy(false);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    answer_read(&story, 0);
    check_asked(&story, 0, "; create /x 0");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    story_end(&story);
}

/* What is refused for a version that a read still shows is not sent for ever. */
static void refused_by_one_that_lags(void)
{
    for (int sealing = 0; sealing < 2; sealing++) {
        struct story story;
        struct ending e;

        story_begin(&story);
        story_apply(&story, &e, 0, ZKL_FOREVER);
        for (int i = sealing; i < 2; i++) {
            lose_answer(&story);
            answer_read(&story, 0);
        }
        if (sealing)
            ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
        ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
        answer_read(&story, 0);
        CHECK(!fake_is_asked(STORE_MULTI, story.node));
        check_ended(&e, ZKL_EUNKNOWN);
        story_end(&story);
    }
}

/* The node may not be read: the grant is as good as before. */
static void read_refused(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    ANSWER(STORE_GET, story.node, .rc = STORE_NOAUTH);
    check_ended(&e, ZKL_EACCES);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    answer_read(&story, 0);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_NOAUTH);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(zkl_grant_state(story.grant) != ZKL_LOST);
    story_end(&story);
}

/* A server that lags behind shows the version from before. */
static void lost_in_doubt(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    session_lock(story.session); /* the grant's end, at once */
    grant_set_deadline(story.grant, (struct instant){0}, false);
    session_unlock(story.session);
    CHECK_INT(zkl_grant_state(story.grant), ZKL_LOST);
    answer_read(&story, 0);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    story_end(&story);
}

/* There will be no connection any more: nothing waits for one. */
static void credentials_refused(void)
{
    struct story story;
    struct ending e[2];

    story_begin(&story);
    story_apply(&story, &e[0], 0, ZKL_FOREVER);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_UNKNOWN);
    story_apply(&story, &e[1], ZKL_MULTI_RELEASE, ZKL_FOREVER);
    fake_event(STORE_EV_AUTH);
    check_ended(&e[0], ZKL_EUNKNOWN);
    check_ended(&e[1], ZKL_ELOST);
    story_end(&story);
}

static void node_gone_in_doubt(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_NONODE);
    check_ended(&e, ZKL_EUNKNOWN);
    wait_for(&story.lost, 1);
    story_end(&story);
}

static void three_times_lost(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        lose_answer(&story);
        answer_read(&story, 0);
    }
    CHECK_INT(atomic_load(&e.calls), 0);
    lose_answer(&story);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_GET, story.node));
    CHECK(zkl_grant_state(story.grant) != ZKL_LOST);
    story_end(&story);
}

/* The third is refused since one before it was applied. */
static void twice_lost(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        lose_answer(&story);
        answer_read(&story, 0);
    }
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    answer_read(&story, 1);
    check_ended(&e, 0);
    story_end(&story);
}

/* Who took the node away cannot be told any more. */
static void given_back_unknown(void)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_NONODE);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK_INT(atomic_load(&story.lost), 0);
    story_end(&story);
}

static const struct test_case cases[] = {
    {"answer_lost", answer_lost},
    {"request_lost", request_lost},
    {"applied_late", applied_late},
    {"foreign_data", foreign_data},
    {"refused_in_doubt", refused_in_doubt},
    {"not_shut_out", not_shut_out},
    {"cannot_be_shut_out", cannot_be_shut_out},
    {"read_again", read_again},
    {"refused_by_one_that_lags", refused_by_one_that_lags},
    {"read_refused", read_refused},
    {"lost_in_doubt", lost_in_doubt},
    {"credentials_refused", credentials_refused},
    {"node_gone_in_doubt", node_gone_in_doubt},
    {"three_times_lost", three_times_lost},
    {"twice_lost", twice_lost},
    {"given_back_unknown", given_back_unknown},
    {NULL, NULL},
};

const struct test_suite multi_doubt_suite = {"multi_doubt", NULL, NULL, cases};
