/* What an election says of itself: completions, and why its last term or campaign ended. */
#include "election_story.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

TEST_SUITE(election_status);

static void keep_grant(zkl_grant *grant, const zkl_error *err, void *data)
{
    CHECK(err == NULL);
    atomic_store((_Atomic(zkl_grant *) *)data, grant);
}

static void keep_code(zkl_grant *grant, const zkl_error *err, void *code)
{
    CHECK_INT(grant != NULL, err == NULL);
    zkl_grant_release(grant);
    atomic_store((_Atomic(int) *)code, err ? err->code : 0);
}

/* Leading already, and resigned before that was told: no completion says that it leads. */
TEST_CASE(resigned_before_leading_was_told)
{
    struct election_story s;
    _Atomic(int) code = 1;

    election_begin(&s, NULL);
    election_hold_up(&s, true);
    election_start(&s);
    election_win(&s, 5);
    TOLD(&s, "leading");
    REQUIRE(zkl_election_campaign_async(s.election, ZKL_FOREVER, keep_code, &code, NULL) == 0);
    CHECK_INT(zkl_election_resign(s.election), 0);
    election_hold_up(&s, false);
    TOLD(&s, "leading resigned stopped");
    election_flush(&s);
    CHECK_INT(atomic_load(&code), ZKL_ECANCELED);
    election_end(&s);
}

static int last_code(struct election_story *s)
{
    zkl_election_status status = ZKL_ELECTION_STATUS_INIT;

    CHECK_INT(zkl_election_get_status(s->election, &status), 0);
    return status.last.code;
}

static void campaign_once(struct election_story *s, _Atomic(int) *code)
{
    atomic_store(code, 1);
    REQUIRE(zkl_election_campaign_async(s->election, ZKL_FOREVER, keep_code, code, NULL) == 0);
}

/* What was asked to end, or won, did not fail, whatever came before. */
TEST_CASE(an_old_failure_is_forgotten)
{
    struct election_story s;
    _Atomic(int) code;

    election_begin(&s, NULL);
    campaign_once(&s, &code);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    election_flush(&s);
    CHECK_INT(last_code(&s), ZKL_EACCES);
    campaign_once(&s, &code);
    CHECK_INT(last_code(&s), ZKL_EACCES);
    CHECK_INT(zkl_election_resign(s.election), 0);
    election_flush(&s);
    CHECK_INT(atomic_load(&code), ZKL_ECANCELED);
    CHECK_INT(last_code(&s), 0);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    election_start(&s);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    CHECK_INT(last_code(&s), ZKL_EACCES);
    CHECK_INT(zkl_election_resign(s.election), 0);
    CHECK_INT(last_code(&s), ZKL_EACCES); /* in the pause behind it */
    election_start(&s);
    CHECK_INT(zkl_election_resign(s.election), 0);
    CHECK_INT(last_code(&s), 0);
    election_end(&s);
}

/* A loss that nobody asked about is not that of the campaign that follows. */
TEST_CASE(started_after_a_loss)
{
    struct election_story s;
    _Atomic(zkl_grant *) grant = NULL;
    zkl_election_status status = {.size = sizeof status};

    election_begin(&s, NULL);
    REQUIRE(zkl_election_campaign_async(s.election, ZKL_FOREVER, keep_grant, &grant, NULL) == 0);
    election_win(&s, 5);
    while (!atomic_load(&grant))
        g_usleep(1000);
    election_set_own_watch(&s);
    fake_fire(s.node, STORE_FIRED_GONE);
    election_start(&s);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(status.last.code, ZKL_ELOST);
    CHECK_INT(status.terms, 1);
    CHECK_INT(zkl_election_resign(s.election), 0);
    TOLD(&s, "stopped");
    zkl_grant_release(atomic_load(&grant));
    election_end(&s);
}

static void keep_proclaimed(const zkl_error *err, void *code)
{
    atomic_store((_Atomic(int) *)code, err ? err->code : 0);
}

/* What is proclaimed stands behind the term's token, by which observers know whose it is. */
TEST_CASE(proclaimed_behind_the_token)
{
    struct election_story s;
    _Atomic(int) code = 1;

    election_begin(&s, NULL);
    election_start(&s);
    election_win(&s, 5);
    TOLD(&s, "leading");
    REQUIRE(zkl_election_proclaim_async(s.election, "data", 4, ZKL_FOREVER, keep_proclaimed,
                                        &code) == 0);
    char *written = fake_changed_data(s.node);
    CHECK(written && g_str_has_suffix(written, "5\ndata"));
    g_free(written);
    ANSWER(STORE_MULTI, s.node, .rc = STORE_OK);
    election_flush(&s);
    CHECK_INT(atomic_load(&code), 0);
    election_end(&s);
}

/* Until the one campaign is given up. */
TEST_CASE(of_one_campaign)
{
    struct election_story s;
    zkl_election_status status = {.size = sizeof status};
    _Atomic(int) code;

    election_begin(&s, NULL);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(zkl_election_campaign_async(s.election, 0, NULL, NULL, NULL), ZKL_EINVAL);
    campaign_once(&s, &code);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(status.ahead, -1);
    CHECK_INT(zkl_election_resign(s.election), 0);
    election_flush(&s);
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_NONE);
    election_end(&s);
}

/* A term's end is the last one's, however the handle got to know of it. */
TEST_CASE(why_a_term_ended)
{
    struct election_story s;
    _Atomic(zkl_grant *) grant = NULL;

    election_begin(&s, NULL);
    REQUIRE(zkl_election_campaign_async(s.election, ZKL_FOREVER, keep_grant, &grant, NULL) == 0);
    election_win(&s, 5);
    election_flush(&s);
    election_set_own_watch(&s);
    fake_fire(s.node, STORE_FIRED_GONE);
    CHECK_INT(last_code(&s), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(s.election), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(s.election), ZKL_EPERM); /* that term was ended */
    CHECK_INT(last_code(&s), ZKL_ELOST);
    zkl_grant_release(atomic_load(&grant));
    REQUIRE(zkl_election_campaign_async(s.election, ZKL_FOREVER, keep_grant, &grant, NULL) == 0);
    election_win(&s, 6);
    election_flush(&s);
    zkl_grant_release(atomic_load(&grant));
    CHECK_INT(last_code(&s), 0);
    election_end(&s);
}

/* A failure is told, and can be given up in the pause behind it; or the session closes there. */
TEST_CASE(ended_in_a_pause)
{
    struct election_story s;
    zkl_election_status status = {.size = sizeof status};

    election_begin(&s, NULL);
    election_start(&s);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    TOLD(&s, "failed-13");
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_PAUSED);
    CHECK_INT(zkl_election_resign(s.election), 0);
    TOLD(&s, "failed-13 stopped");
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    election_start(&s);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    TOLD(&s, "failed-13 stopped failed-13");
    zkl_session_close(s.session);
    TOLD(&s, "failed-13 stopped failed-13 stopped-8");
    s.session = NULL;
    election_end(&s);
}

static bool refuse_at_once(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NOAUTH};
    return g_str_has_prefix(request->path, ELECTION);
}

/* While it is still being asked: nobody is in line then. */
TEST_CASE(fails_at_once)
{
    struct election_story s;
    zkl_election_status status = {.size = sizeof status};

    election_begin(&s, NULL);
    fake_answer_at_once(refuse_at_once);
    election_start(&s);
    fake_answer_at_once(NULL);
    TOLD(&s, "failed-13");
    CHECK_INT(zkl_election_get_status(s.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_PAUSED);
    CHECK_INT(status.ahead, -1);
    election_end(&s);
}

/* Refused credentials are for good. */
TEST_CASE(refused)
{
    struct election_story s;

    election_begin(&s, NULL);
    election_start(&s);
    fake_event(STORE_EV_AUTH);
    TOLD(&s, "stopped-14");
    election_start(&s);
    TOLD(&s, "stopped-14 stopped-14");
    CHECK_INT(zkl_election_resign(s.election), ZKL_EPERM);
    election_end(&s);
}

TEST_CASE(refused_before_it_started)
{
    struct election_story s;

    election_begin(&s, NULL);
    fake_event(STORE_EV_AUTH);
    election_start(&s);
    TOLD(&s, "stopped-14");
    CHECK_INT(last_code(&s), ZKL_EAUTH);
    election_end(&s);
}

/* ---- who leads, asked in another thread ---- */

#define A "_c_a-latch-0000000001"
#define B "_c_b-latch-0000000002"

struct asking {
    zkl_election *election;
    char id[16];
    uint64_t token;
    int code;
    pthread_t thread;
};

static void *ask(void *data)
{
    struct asking *a = data;

    a->code = zkl_election_leader(a->election, a->id, sizeof a->id, &a->token);
    return NULL;
}

/* Behind a sync, in which the server catches up. */
static void begin_asking(struct election_story *s, struct asking *a)
{
    election_begin(s, NULL);
    *a = (struct asking){.election = s->election, .code = 1};
    REQUIRE(pthread_create(&a->thread, NULL, ask, a) == 0);
    fake_await(STORE_SYNC, ELECTION);
    CHECK(!fake_is_asked(STORE_LIST, ELECTION));
}

static void end_asking(struct election_story *s, struct asking *a, int code, const char *id)
{
    pthread_join(a->thread, NULL);
    CHECK_INT(a->code, code);
    CHECK_STR(a->id, id);
    election_end(s);
}

static void answer_line(bool with_first)
{
    static char a[] = A, b[] = B, lock[] = "_c_c-lock-0000000000", junk[] = "junk";
    char *names[] = {junk, b, lock, a};

    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = names, .count = with_first ? 4 : 3);
}

/* The first alone is read, and its id is told as it is, but for what is no text. */
TEST_CASE(leader_is_asked_for)
{
    struct election_story s;
    struct asking a;

    begin_asking(&s, &a);
    answer_line(true);
    CHECK_INT(fake_count(STORE_GET, ELECTION), 1);
    ANSWER(STORE_GET, PATH_OF(A), .rc = STORE_OK, .czxid = 8, .data = "a\x1b\xff", .length = 3);
    end_asking(&s, &a, 0, "a\x1b\xef\xbf\xbd");
    CHECK_INT(a.token, 8);
}

TEST_CASE(nobody_leads)
{
    struct election_story s;
    struct asking a;

    begin_asking(&s, &a);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK);
    end_asking(&s, &a, ZKL_ENOENT, "");
}

TEST_CASE(leader_is_not_told)
{
    static const enum store_kind refused[] = {STORE_SYNC, STORE_LIST, STORE_GET};

    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        struct election_story s;
        struct asking a;
        begin_asking(&s, &a);
        if (refused[i] == STORE_LIST)
            ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
        if (refused[i] == STORE_GET)
            answer_line(true);
        ANSWER(refused[i], ELECTION, .rc = STORE_NOAUTH);
        end_asking(&s, &a, ZKL_EACCES, "");
    }
}

/* The first has gone when it is read, or the session has ended: all is asked again. */
TEST_CASE(leader_is_asked_for_again)
{
    for (int answered = 0; answered < 4; answered++) {
        struct election_story s;
        struct asking a;
        begin_asking(&s, &a);
        if (answered == 1)
            ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
        if (answered >= 2)
            answer_line(true);
        if (answered == 3)
            ANSWER(STORE_GET, PATH_OF(A), .rc = STORE_NONODE);
        else
            fake_next_session();
        answer_line(false);
        ANSWER(STORE_GET, PATH_OF(B), .rc = STORE_OK, .czxid = 9, .data = "b", .length = 1);
        end_asking(&s, &a, 0, "b");
        CHECK_INT(a.token, 9);
    }
}
