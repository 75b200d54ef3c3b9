/* Elections over a store that answers what the test says: ends that cross each other. */
#include "election_story.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(election);

static zkl_election_options yielding(int priority)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;

    o.yield = 1;
    o.priority = priority;
    return o;
}

/* The list of a winner that looks whether it may lead, or of a leader: its node and another. */
static void answer_rivals(struct election_story *s, const char *rival)
{
    char *names[] = {strrchr(s->node, '/') + 1, (char *)(uintptr_t)rival};

    CHECK(fake_is_watching(STORE_LIST, ELECTION));
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = names, .count = rival ? 2 : 1);
}

#define HIGHER "_c_x-p009-latch-0000000077"
#define LOWER "_c_x-latch-0000000077"

/* Given up while nobody knows whether the node was made: it is looked for, and deleted. */
TEST_CASE(resigned_in_doubt)
{
    struct election_story s;

    election_begin(&s, NULL);
    election_start(&s);
    s.node = fake_created_name(ELECTION, 3);
    REQUIRE(s.node != NULL);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_UNKNOWN);
    CHECK_INT(zkl_election_resign(s.election), 0);
    CHECK_INT(zkl_election_resign(s.election), ZKL_EPERM);
    TOLD(&s, "stopped");
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK); /* the one behind the create: it proves nothing */
    ANSWER(STORE_SET, ELECTION, .rc = STORE_NONODE);
    char *child = strrchr(s.node, '/') + 1;
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = &child, .count = 1);
    CHECK(fake_is_asked(STORE_DELETE, s.node));
    CHECK(!fake_is_asked(STORE_CREATE, ELECTION));
    election_flush(&s);
    TOLD(&s, "stopped");
    election_end(&s);
}

/* The loss is on its way to the callback when the user resigns: told in that order. */
TEST_CASE(resigned_after_an_untold_loss)
{
    struct election_story s;

    election_begin(&s, NULL);
    election_hold_up(&s, true);
    election_start(&s);
    election_win(&s, 5);
    TOLD(&s, "leading");
    election_set_own_watch(&s);
    fake_fire(s.node, STORE_FIRED_GONE);
    CHECK_INT(zkl_election_yield(s.election), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(s.election), ZKL_ELOST);
    election_hold_up(&s, false);
    TOLD(&s, "leading deposed stopped");
    CHECK(!fake_is_asked(STORE_CREATE, ELECTION));
    election_end(&s);
}

/* Started again before the end of the first time was told, which does not end the second. */
TEST_CASE(started_anew_before_told)
{
    struct election_story s;
    zkl_election_status status = {.size = sizeof status};

    election_begin(&s, NULL);
    election_hold_up(&s, true);
    election_start(&s);
    election_win(&s, 5);
    TOLD(&s, "leading");
    CHECK_INT(zkl_election_resign(s.election), 0);
    CHECK(fake_is_asked(STORE_DELETE, s.node));
    election_start(&s);
    election_win(&s, 6);
    election_hold_up(&s, false);
    TOLD(&s, "leading resigned stopped leading");
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_LEADING);
    CHECK_INT(status.token, 6);
    CHECK_INT(zkl_election_resign(s.election), 0);
    TOLD(&s, "leading resigned stopped leading resigned stopped");
    election_end(&s);
}

/* The winner gives its place up at once and queues behind the other, without a word. */
TEST_CASE(passes)
{
    struct election_story s;
    zkl_election_options o = yielding(3);

    election_begin(&s, &o);
    election_start(&s);
    election_win(&s, 5);
    answer_rivals(&s, HIGHER);
    fake_await(STORE_CREATE, ELECTION);
    CHECK(fake_is_asked(STORE_DELETE, s.node));
    ANSWER(STORE_DELETE, s.node, .rc = STORE_OK);
    CHECK_INT(fake_count(STORE_CREATE, ELECTION), 1);
    election_win(&s, 78);
    answer_rivals(&s, NULL);
    TOLD(&s, "leading");
    election_end(&s);
}

/* Its session ends while it looks: nothing was told, and it enters the next one, once. */
TEST_CASE(expired_while_checking)
{
    struct election_story s;
    zkl_election_options o = yielding(0);

    election_begin(&s, &o);
    election_start(&s);
    election_win(&s, 5);
    CHECK(fake_is_asked(STORE_LIST, ELECTION));
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    fake_await(STORE_CREATE, ELECTION);
    CHECK_INT(fake_count(STORE_CREATE, ELECTION), 1);
    TOLD(&s, "");
    election_win(&s, 8);
    answer_rivals(&s, LOWER);
    TOLD(&s, "leading");
    CHECK_INT(fake_count(STORE_CREATE, ELECTION), 0);
    election_end(&s);
}

TEST_CASE(ended_while_checking)
{
    struct election_story s;
    zkl_election_options o = yielding(0);

    election_begin(&s, &o);
    election_start(&s);
    election_win(&s, 5);
    CHECK_INT(zkl_election_yield(s.election), ZKL_EPERM); /* no term yet */
    CHECK_INT(zkl_election_resign(s.election), 0);
    CHECK(fake_is_asked(STORE_DELETE, s.node));
    answer_rivals(&s, HIGHER);
    TOLD(&s, "stopped");
    election_start(&s);
    election_win(&s, 6);
    zkl_session_close(s.session);
    TOLD(&s, "stopped stopped-8");
    s.session = NULL;
    election_end(&s);
}

/* Asked once a term; a loss meanwhile is a loss, and the next term may be asked again. */
TEST_CASE(lost_while_asked)
{
    struct election_story s;
    zkl_election_options o = yielding(0);

    election_begin(&s, &o);
    election_start(&s);
    election_win(&s, 5);
    answer_rivals(&s, NULL);
    TOLD(&s, "leading");
    election_set_own_watch(&s);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_rivals(&s, LOWER);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_rivals(&s, HIGHER);
    TOLD(&s, "leading asked");
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    CHECK(!fake_is_asked(STORE_LIST, ELECTION)); /* it has seen enough */
    fake_fire(s.node, STORE_FIRED_GONE);
    TOLD(&s, "leading asked deposed");
    election_flush(&s);
    election_win(&s, 6);
    answer_rivals(&s, NULL);
    TOLD(&s, "leading asked deposed leading");
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_rivals(&s, HIGHER);
    TOLD(&s, "leading asked deposed leading asked");
    election_end(&s);
}

/* What was asked in one term, and answered in the next, is not about it. */
TEST_CASE(stale_look_at_rivals)
{
    struct election_story s;
    zkl_election_options o = yielding(0);

    election_begin(&s, &o);
    election_start(&s);
    election_win(&s, 5);
    answer_rivals(&s, NULL);
    TOLD(&s, "leading");
    election_set_own_watch(&s);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    CHECK(fake_is_watching(STORE_LIST, ELECTION));
    fake_fire(s.node, STORE_FIRED_GONE);
    TOLD(&s, "leading deposed");
    election_flush(&s);
    g_free(s.node);
    s.node = fake_created_name(ELECTION, 6);
    REQUIRE(s.node != NULL);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_OK, .path = s.node, .czxid = 6,
           .ephemeral_owner = FAKE_SESSION_ID);
    answer_rivals(&s, HIGHER); /* the old list */
    char *child = strrchr(s.node, '/') + 1;
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = &child, .count = 1); /* the candidacy's */
    answer_rivals(&s, NULL);
    TOLD(&s, "leading deposed leading");
    CHECK(!fake_is_asked(STORE_CREATE, ELECTION));
    election_end(&s);
}

/* Found out only after the loss: too late to be asked. */
TEST_CASE(not_asked_after_a_loss)
{
    struct election_story s;
    zkl_election_options o = yielding(0);

    election_begin(&s, &o);
    election_start(&s);
    election_win(&s, 5);
    answer_rivals(&s, NULL);
    TOLD(&s, "leading");
    election_set_own_watch(&s);
    election_hold_up(&s, true);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    fake_fire(s.node, STORE_FIRED_GONE);
    answer_rivals(&s, HIGHER);
    election_hold_up(&s, false);
    TOLD(&s, "leading deposed");
    election_flush(&s);
    TOLD(&s, "leading deposed");
    election_end(&s);
}

/* The place in line is known from the list on, and not before; in a new session it is not. */
TEST_CASE(place_in_line)
{
    struct election_story s;
    zkl_election_status status = {.size = sizeof status};
    char first[] = LOWER;

    election_begin(&s, NULL);
    election_start(&s);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(status.ahead, -1);
    s.node = fake_created_name(ELECTION, 99);
    char *names[] = {first, strrchr(s.node, '/') + 1};
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_OK, .path = s.node, .czxid = 9,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = names, .count = 2);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.ahead, 1);
    ANSWER(STORE_GET, PATH_OF(LOWER), .rc = STORE_NONODE);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.ahead, 0); /* to be proved still */
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.ahead, -1);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    election_end(&s);
}

static void ignore(zkl_grant *grant, const zkl_error *err, void *unused)
{
    (void)err;
    (void)unused;
    zkl_grant_release(grant);
}

/* The lowest priority that is one is in the name, and none is not. */
TEST_CASE(named_by_priority)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    struct election_story s;

    for (o.priority = 0; o.priority < 2; o.priority++) {
        election_begin(&s, &o);
        CHECK_INT(zkl_election_campaign_async(s.election, ZKL_FOREVER, ignore, NULL, NULL), 0);
        char *name = fake_created_name(ELECTION, 7);
        if (CHECK(name != NULL))
            CHECK_INT(strstr(name, "-p001-latch-") != NULL, o.priority == 1);
        g_free(name);
        election_end(&s);
    }
}
