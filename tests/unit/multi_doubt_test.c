/* Transactions whose answer was lost: applied once, or not, or told that nobody knows. */
#include "lib/grant/grant.h"
#include "multi_story.h"
#include "runner.h"

TEST_SUITE(multi_doubt);

/* The lost answer was "applied": the version says so, and it is not sent again. */
TEST_CASE(answer_lost)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    answer_read(&story, 1, 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    check_ended(&e, 0);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    check_asked(&story, 1, "; create /x 0");
    story_end(&story);
}

TEST_CASE(request_lost)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0, 0);
    check_asked(&story, 0, "; create /x 0");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    story_end(&story);
}

/* The first one came through only after the read: the second is refused for its version. */
TEST_CASE(applied_late)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0, 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    answer_read(&story, 1, 1);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    check_ended(&e, 0);
    story_end(&story);
}

/* Known not to be ours: by its data, or since ours would have left no node. */
TEST_CASE(foreign_data)
{
    static const char *const data[] = {"ops",
                                       NAME,
                                       NAME "\nzkl tx 2",
                                       NAME "\nzkl tx 01",
                                       NAME "\nzkl tx 1\n",
                                       "us\nzkl tx 1",
                                       "how\nzkl tx 1",
                                       "wh\nzkl tx 1",
                                       ""};
    struct ending e;

    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        struct story story;
        story_begin(&story);
        story_apply(&story, &e, 0, ZKL_FOREVER);
        lose_answer(&story);
        CHECK(read_data(&story, 1, data[i]));
        check_ended(&e, ZKL_EUNKNOWN);
        story_apply(&story, &e, ZKL_MULTI_RELEASE, ZKL_FOREVER);
        lose_answer(&story);
        answer_read(&story, 2, 2);
        check_ended(&e, ZKL_EUNKNOWN);
        story_end(&story);
    }
}

/* Ours, but overwritten: nobody can tell any more. */
TEST_CASE(two_versions_on)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 2, 1);
    check_ended(&e, ZKL_EUNKNOWN);
    story_end(&story);
}

/* The first transaction was told to be unknown. It is applied when the second is sent for the
 * version that it takes. So the second was not applied, and is sent for the next version. */
TEST_CASE(overtaken_by_an_earlier_one)
{
    struct story story;
    struct ending e[2];

    story_begin(&story);
    story_apply(&story, &e[0], 0, 20);
    check_ended(&e[0], ZKL_EUNKNOWN);
    lose_answer(&story);
    story_apply(&story, &e[1], 0, ZKL_FOREVER);
    answer_read(&story, 0, 0);
    check_asked(&story, 0, "; create /x 0");
    lose_answer(&story);
    answer_read(&story, 1, 1);
    CHECK_INT(atomic_load(&e[1].calls), 0);
    check_asked(&story, 1, "; create /x 0");
    lose_answer(&story);
    answer_read(&story, 2, 2);
    check_ended(&e[1], 0);
    CHECK_INT(atomic_load(&e[0].calls), 1);
    story_end(&story);
}

static GString *sets; /* the data that each set of the own node leaves */

static bool note_set(const struct store_request *request, struct store_reply *reply)
{
    (void)reply;
    if (request->kind == STORE_MULTI)
        g_string_append_printf(sets, "%.*s; ", request->changes[0].length,
                               request->changes[0].data);
    return false;
}

/* Another one for each transaction, and for the set that shuts it out; the same for what is but
 * sent again. */
TEST_CASE(data_of_its_own)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    sets = g_string_new(NULL);
    fake_answer_at_once(note_set);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0, 0);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, ZKL_EEXIST);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    fake_answer_at_once(NULL);
    CHECK_STR(sets->str,
              NAME "\nzkl tx 1; " NAME "\nzkl tx 1; " NAME "\nzkl tx 2; " NAME "\nzkl tx 3; ");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    g_string_free(sets, TRUE);
    story_end(&story);
}

/* Refused while an earlier sending may still come through: that is shut out first. */
TEST_CASE(refused_in_doubt)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    answer_read(&story, 0, 0);
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

static void refuse_in_doubt(struct story *story, struct ending *e)
{
    story_begin(story);
    story_apply(story, e, 0, ZKL_FOREVER);
    lose_answer(story);
    answer_read(story, 0, 0);
    ANSWER(STORE_MULTI, story->node, .rc = STORE_EXISTS, .failed = 1);
}

/* What the node shows when the set that was to shut it out is refused, or lost: it had come
 * through, it was shut out, or nobody knows. */
TEST_CASE(shut_out_or_not)
{
    static const struct {
        int version;
        unsigned number;
        int code;
    } rows[] = {{1, 1, 0}, {1, 2, ZKL_EEXIST}, {1, 0, ZKL_EUNKNOWN}, {2, 2, ZKL_EUNKNOWN}};

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
        struct story story;
        struct ending e;

        refuse_in_doubt(&story, &e);
        if (i % 2)
            lose_answer(&story);
        else
            ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
        CHECK_INT(atomic_load(&e.calls), 0);
        answer_read(&story, rows[i / 2].version, rows[i / 2].number);
        check_ended(&e, rows[i / 2].code);
        CHECK(!fake_is_asked(STORE_MULTI, story.node));
        story_end(&story);
    }
}

/* For want of an answer or of a connection. */
TEST_CASE(shut_out_again)
{
    for (int busy = 0; busy < 2; busy++) {
        struct story story;
        struct ending e;

        story_begin(&story);
        story_apply(&story, &e, 0, ZKL_FOREVER);
        lose_answer(&story);
        answer_read(&story, 0, 0);
        fake_busy(busy);
        ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
        fake_busy(false);
        if (busy) {
            fake_event(STORE_EV_DOWN);
            fake_event(STORE_EV_UP);
        } else {
            lose_answer(&story);
        }
        answer_read(&story, 0, 0);
        check_asked(&story, 0, "");
        CHECK_INT(atomic_load(&e.calls), 0);
        ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
        check_ended(&e, ZKL_EEXIST);
        story_end(&story);
    }
}

/* The third answer lost is the last that is waited for. */
TEST_CASE(lost_shutting_out)
{
    struct story story;
    struct ending e;

    refuse_in_doubt(&story, &e);
    lose_answer(&story);
    answer_read(&story, 0, 0);
    lose_answer(&story);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_GET, story.node));
    story_end(&story);
}

/* Nor to send it again on: it is read anew on the next one. */
TEST_CASE(read_again)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    fake_busy(true);
    answer_read(&story, 0, 0);
    fake_busy(false);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    answer_read(&story, 0, 0);
    check_asked(&story, 0, "; create /x 0");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    story_end(&story);
}

/* What is refused for a version that a read still shows is not sent for ever. */
TEST_CASE(refused_by_one_that_lags)
{
    for (int sealing = 0; sealing < 2; sealing++) {
        struct story story;
        struct ending e;

        story_begin(&story);
        story_apply(&story, &e, 0, ZKL_FOREVER);
        for (int i = sealing; i < 2; i++) {
            lose_answer(&story);
            answer_read(&story, 0, 0);
        }
        if (sealing)
            ANSWER(STORE_MULTI, story.node, .rc = STORE_EXISTS, .failed = 1);
        ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
        answer_read(&story, 0, 0);
        CHECK(!fake_is_asked(STORE_MULTI, story.node));
        check_ended(&e, ZKL_EUNKNOWN);
        story_end(&story);
    }
}

/* The node may not be read: the grant is as good as before. */
TEST_CASE(read_refused)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    ANSWER(STORE_GET, story.node, .rc = STORE_NOAUTH);
    check_ended(&e, ZKL_EACCES);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    answer_read(&story, 0, 0);
    lose_answer(&story);
    ANSWER(STORE_GET, story.node, .rc = STORE_NOAUTH);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(zkl_grant_state(story.grant) != ZKL_LOST);
    story_end(&story);
}

/* A server that lags behind shows the version from before. */
TEST_CASE(lost_in_doubt)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    lose_answer(&story);
    session_lock(story.session); /* the grant's end, at once */
    grant_extend(grant_tenure(story.grant, 0), (struct instant){0}, false);
    session_unlock(story.session);
    CHECK_INT(zkl_grant_state(story.grant), ZKL_LOST);
    answer_read(&story, 0, 0);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    story_end(&story);
}

/* There will be no connection any more: nothing waits for one. */
TEST_CASE(credentials_refused)
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

TEST_CASE(node_gone_in_doubt)
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

TEST_CASE(three_times_lost)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        lose_answer(&story);
        answer_read(&story, 0, 0);
    }
    CHECK_INT(atomic_load(&e.calls), 0);
    lose_answer(&story);
    check_ended(&e, ZKL_EUNKNOWN);
    CHECK(!fake_is_asked(STORE_GET, story.node));
    CHECK(zkl_grant_state(story.grant) != ZKL_LOST);
    story_end(&story);
}

/* The third is refused since one before it was applied. */
TEST_CASE(twice_lost)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        lose_answer(&story);
        answer_read(&story, 0, 0);
    }
    ANSWER(STORE_MULTI, story.node, .rc = STORE_BADVERSION, .failed = 0);
    answer_read(&story, 1, 1);
    check_ended(&e, 0);
    story_end(&story);
}

/* Nobody can tell any more who took the node away. */
TEST_CASE(given_back_unknown)
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
