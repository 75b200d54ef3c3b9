/* Fenced transactions over a store that answers what the test says. What their machine does when
 * answers are lost is in transaction_test.c; here is what its driver makes of that. */
#include "by_hand.h"
#include "lib/grant/grant.h"
#include "lib/grant/multi.h"
#include "multi_story.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

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

/* ---- answers are lost: applied once, or not, or told that nobody knows ---- */

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
    grant_move_deadline(grant_tenure(story.grant, 0), (struct instant){0}, false);
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

/* ---- at their limits: of time, of size, of versions; and one that is waited for ---- */

#define ACL "world:anyone:cdrwa"

enum { BYTES_MAX = 1000000, BYTES_EACH = 64 };

/* The time is over when nothing of the transaction is under way. So it was not applied: an old
 * version was refused, or the store did not take it. */
TEST_CASE(timed_out_unsent)
{
    for (int busy = 0; busy < 2; busy++) {
        zkl_session *s = hand_session();
        struct acquisition a;
        struct ending e = {.calls = 0};

        hand_hold(&a, s);
        fake_busy(busy);
        CHECK_INT(zkl_grant_multi_async(a.grant, &story_change, 1, 0, 1000, on_ended, &e), 0);
        if (!busy)
            ANSWER(STORE_MULTI, a.node, .rc = STORE_BADVERSION, .failed = 0);
        hand_pass(s, 1000);
        fake_busy(false);
        CHECK(!fake_is_asked(STORE_MULTI, a.node));
        zkl_session_dispatch(s);
        CHECK_INT(atomic_load(&e.calls), 1);
        CHECK_INT(e.error.code, ZKL_ETIMEDOUT);
        hand_leave(&a);
        hand_close(s);
    }
}

/* The one after the last version could mean any. */
TEST_CASE(versions_run_out)
{
    struct story story;
    struct ending e[2];

    story_begin(&story);
    multi_go_on_from(grant_tenure(story.grant, 0), INT32_MAX - 1);
    for (int i = 0; i < 2; i++)
        story_apply(&story, &e[i], 0, ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
        check_ended(&e[i], 0);
    }
    CHECK_INT(grant_tenure(story.grant, 0)->multi_queue->machine.version, INT32_MAX);
    CHECK_INT(zkl_grant_multi(story.grant, &story_change, 1, 0, ZKL_FOREVER), ZKL_ELIMIT);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    story_end(&story);
}

/* All paths below the chroot, all data, and what a server adds; of a node that is made its ACL,
 * too. */
TEST_CASE(size_limited)
{
    static const struct {
        zkl_change_kind kind;
        size_t count, more; /* changes; bytes of each besides its data */
    } rows[] = {{ZKL_CHANGE_SET, 1, 0},
                {ZKL_CHANGE_SET, 2, 0},
                {ZKL_CHANGE_CREATE, 1, 3 * (sizeof ACL - 1)},
                {ZKL_CHANGE_CREATE, 2, 3 * (sizeof ACL - 1)}};
    char *data = g_malloc0(BYTES_MAX);

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const size_t size =
            BYTES_MAX / rows[i].count - strlen("/root/x") - BYTES_EACH - rows[i].more;
        zkl_change changes[] = {{rows[i].kind, -1, "/x", data, size},
                                {rows[i].kind, -1, "/x", data, size}};
        zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
        struct acquisition a;
        struct ending e = {.calls = 0};
        o.acl = ACL;
        zkl_session *s = hand_session_with(&o);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
        hand_hold(&a, s);
        CHECK_INT(
            zkl_grant_multi_async(a.grant, changes, rows[i].count, 0, ZKL_FOREVER, on_ended, &e),
            0);
        ANSWER(STORE_MULTI, a.node, .rc = STORE_OK);
        zkl_session_dispatch(s);
        CHECK_INT(atomic_load(&e.calls), 1);
        CHECK_INT(e.error.code, 0);
        changes[rows[i].count - 1].size++;
        CHECK_INT(
            zkl_grant_multi_async(a.grant, changes, rows[i].count, 0, ZKL_FOREVER, on_ended, &e),
            ZKL_ELIMIT);
        hand_leave(&a);
        hand_close(s);
    }
    g_free(data);
}

static GString *each; /* the data of each change */

static bool note_data(const struct store_request *request, struct store_reply *reply)
{
    for (int i = 0; i < request->count; i++) {
        const struct store_change *c = &request->changes[i];
        g_string_append_printf(each, "%d %.*s; ", c->length, MAX(c->length, 0),
                               c->data ? c->data : "");
    }
    (void)reply;
    return false;
}

TEST_CASE(data_of_each_kind)
{
    const zkl_change changes[] = {
        {ZKL_CHANGE_CREATE, 0, "/a", "one", 3}, {ZKL_CHANGE_SET, 1, "/b", "other", 5},
        {ZKL_CHANGE_CREATE, 0, "/c", NULL, 0},  {ZKL_CHANGE_DELETE, 2, "/d", "no", 2},
        {ZKL_CHANGE_CHECK, 3, "/e", "no", 2},
    };
    struct story story;
    struct ending e = {.calls = 0};

    story_begin(&story);
    each = g_string_new(NULL);
    fake_answer_at_once(note_data);
    CHECK_INT(zkl_grant_multi_async(story.grant, changes, G_N_ELEMENTS(changes), 0, ZKL_FOREVER,
                                    on_ended, &e),
              0);
    fake_answer_at_once(NULL);
    CHECK_STR(each->str, "12 " NAME "\nzkl tx 1; 3 one; 5 other; -1 ; -1 ; -1 ; ");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    g_string_free(each, TRUE);
    story_end(&story);
}

static void answer_when_closed(zkl_session *session, zkl_session_event event, int64_t id,
                               void *node)
{
    (void)id;
    if (event != ZKL_SESSION_CLOSED)
        return;
    ANSWER(STORE_MULTI, node, .rc = STORE_NOAUTH, .failed = 1);
    CHECK(!session->denial.node); /* the path of the change was not read */
}

/* The transaction is freed before its answer comes, and the path of its change with it. */
TEST_CASE(closed_under_way)
{
    struct story story;
    struct ending e;

    story_begin(&story);
    CHECK_INT(zkl_session_on_change(story.session, answer_when_closed, story.node), 0);
    story_apply(&story, &e, 0, ZKL_FOREVER);
    zkl_session_close(story.session);
    check_ended(&e, ZKL_EUNKNOWN);
    zkl_grant_release(story.grant);
    zkl_mutex_free(story.mutex);
    g_free(story.node);
}

struct blocked {
    zkl_grant *grant;
    int code;
    zkl_error error;
};

static void *apply(void *data)
{
    struct blocked *b = data;

    b->code = zkl_grant_multi(b->grant, &story_change, 1, 0, ZKL_FOREVER);
    zkl_last_error(&b->error);
    return NULL;
}

TEST_CASE(waited_for)
{
    static const struct {
        enum store_rc rc;
        int code;
    } rows[] = {{STORE_OK, 0}, {STORE_EXISTS, ZKL_EEXIST}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct story story;
        pthread_t thread;

        story_begin(&story);
        struct blocked b = {.grant = story.grant, .code = 1};
        REQUIRE(pthread_create(&thread, NULL, apply, &b) == 0);
        while (!fake_is_asked(STORE_MULTI, story.node))
            g_usleep(1000);
        ANSWER(STORE_MULTI, story.node, .rc = rows[i].rc, .failed = 1);
        pthread_join(thread, NULL);
        CHECK_INT(b.code, rows[i].code);
        CHECK_INT(b.error.code, rows[i].code);
        story_end(&story);
    }
}
