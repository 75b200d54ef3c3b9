/* Elections over a store that answers what the test says: ends that cross each other, and what they
 * say. */
#include "election_story.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

TEST_SUITE(election);

static struct election_story st;

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

/* It leads, would yield, and its own watch is set. */
static void lead_yielding(struct election_story *s)
{
    zkl_election_options o = yielding(0);

    election_begin_started(s, &o);
    election_win(s, 5);
    answer_rivals(s, NULL);
    TOLD(s, "leading");
    election_set_own_watch(s);
}

/* The loss is on its way to the callback when the user resigns: told in that order. */
TEST_CASE(resigned_after_an_untold_loss)
{
    election_begin(&st, NULL);
    election_hold_up(&st, true);
    election_start(&st);
    election_win(&st, 5);
    TOLD(&st, "leading");
    election_set_own_watch(&st);
    fake_fire(st.node, STORE_FIRED_GONE);
    CHECK_INT(zkl_election_yield(st.election), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(st.election), ZKL_ELOST);
    election_hold_up(&st, false);
    TOLD(&st, "leading deposed stopped");
    CHECK(!fake_is_asked(STORE_CREATE, ELECTION));
    election_end(&st);
}

/* Started again before the end of the first time was told, which does not end the second. */
TEST_CASE(started_anew_before_told)
{
    zkl_election_status status = {.size = sizeof status};

    election_begin(&st, NULL);
    election_hold_up(&st, true);
    election_start(&st);
    election_win(&st, 5);
    TOLD(&st, "leading");
    CHECK_INT(zkl_election_resign(st.election), 0);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    election_start(&st);
    election_win(&st, 6);
    election_hold_up(&st, false);
    TOLD(&st, "leading resigned stopped leading");
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_LEADING);
    CHECK_INT(status.token, 6);
    CHECK_INT(zkl_election_resign(st.election), 0);
    TOLD(&st, "leading resigned stopped leading resigned stopped");
    election_end(&st);
}

/* The winner gives its place up at once and queues behind the other, without a word. */
TEST_CASE(passes)
{
    zkl_election_options o = yielding(3);

    election_begin_started(&st, &o);
    election_win(&st, 5);
    answer_rivals(&st, HIGHER);
    fake_await(STORE_CREATE, ELECTION);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    ANSWER(STORE_DELETE, st.node, .rc = STORE_OK);
    CHECK_INT(fake_count(STORE_CREATE, ELECTION), 1);
    election_win(&st, 78);
    answer_rivals(&st, NULL);
    TOLD(&st, "leading");
    election_end(&st);
}

/* Its session ends while it looks: nothing was told, and it enters the next one, once. */
TEST_CASE(expired_while_checking)
{
    zkl_election_options o = yielding(0);

    election_begin_started(&st, &o);
    election_win(&st, 5);
    CHECK(fake_is_asked(STORE_LIST, ELECTION));
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    fake_await(STORE_CREATE, ELECTION);
    CHECK_INT(fake_count(STORE_CREATE, ELECTION), 1);
    TOLD(&st, "");
    election_win(&st, 8);
    answer_rivals(&st, LOWER);
    TOLD(&st, "leading");
    CHECK_INT(fake_count(STORE_CREATE, ELECTION), 0);
    election_end(&st);
}

TEST_CASE(ended_while_checking)
{
    zkl_election_options o = yielding(0);

    election_begin_started(&st, &o);
    election_win(&st, 5);
    CHECK_INT(zkl_election_yield(st.election), ZKL_EPERM); /* no term yet */
    CHECK_INT(zkl_election_resign(st.election), 0);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    answer_rivals(&st, HIGHER);
    TOLD(&st, "stopped");
    election_start(&st);
    election_win(&st, 6);
    zkl_session_close(st.session);
    TOLD(&st, "stopped stopped-8");
    st.session = NULL;
    election_end(&st);
}

/* Asked once a term; a loss meanwhile is a loss, and the next term may be asked again. */
TEST_CASE(lost_while_asked)
{
    lead_yielding(&st);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_rivals(&st, LOWER);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_rivals(&st, HIGHER);
    TOLD(&st, "leading asked");
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    CHECK(!fake_is_asked(STORE_LIST, ELECTION)); /* it has seen enough */
    fake_fire(st.node, STORE_FIRED_GONE);
    TOLD(&st, "leading asked deposed");
    election_flush(&st);
    election_win(&st, 6);
    answer_rivals(&st, NULL);
    TOLD(&st, "leading asked deposed leading");
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    answer_rivals(&st, HIGHER);
    TOLD(&st, "leading asked deposed leading asked");
    election_end(&st);
}

/* What was asked in one term, and answered in the next, is not about it. */
TEST_CASE(stale_look_at_rivals)
{
    lead_yielding(&st);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    CHECK(fake_is_watching(STORE_LIST, ELECTION));
    fake_fire(st.node, STORE_FIRED_GONE);
    TOLD(&st, "leading deposed");
    election_flush(&st);
    g_free(st.node);
    st.node = fake_created_name(ELECTION, 6);
    REQUIRE(st.node != NULL);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_OK, .path = st.node, .czxid = 6,
           .ephemeral_owner = FAKE_SESSION_ID);
    answer_rivals(&st, HIGHER); /* the old list */
    char *child = strrchr(st.node, '/') + 1;
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = &child, .count = 1); /* the candidacy's */
    answer_rivals(&st, NULL);
    TOLD(&st, "leading deposed leading");
    CHECK(!fake_is_asked(STORE_CREATE, ELECTION));
    election_end(&st);
}

/* Found out only after the loss: too late to be asked. */
TEST_CASE(not_asked_after_a_loss)
{
    lead_yielding(&st);
    election_hold_up(&st, true);
    fake_fire(ELECTION, STORE_FIRED_CHILDREN);
    fake_fire(st.node, STORE_FIRED_GONE);
    answer_rivals(&st, HIGHER);
    election_hold_up(&st, false);
    TOLD(&st, "leading deposed");
    election_flush(&st);
    TOLD(&st, "leading deposed");
    election_end(&st);
}

/* The place in line is known from the list on, and not before; in a new session it is not. */
TEST_CASE(place_in_line)
{
    zkl_election_status status = {.size = sizeof status};
    char first[] = LOWER;

    election_begin_started(&st, NULL);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(status.ahead, -1);
    st.node = fake_created_name(ELECTION, 99);
    char *names[] = {first, strrchr(st.node, '/') + 1};
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_OK, .path = st.node, .czxid = 9,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = names, .count = 2);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.ahead, 1);
    ANSWER(STORE_GET, PATH_OF(LOWER), .rc = STORE_NONODE);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.ahead, 0); /* to be proved still */
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.ahead, -1);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    election_end(&st);
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

    for (o.priority = 0; o.priority < 2; o.priority++) {
        election_begin(&st, &o);
        CHECK_INT(zkl_election_campaign_async(st.election, ZKL_FOREVER, ignore, NULL, NULL), 0);
        char *name = fake_created_name(ELECTION, 7);
        if (CHECK(name != NULL))
            CHECK_INT(strstr(name, "-p001-latch-") != NULL, o.priority == 1);
        g_free(name);
        election_end(&st);
    }
}

/* ---- what an election says of itself: completions, and why its last term or campaign ended ----
 */

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
    _Atomic(int) code = 1;

    election_begin(&st, NULL);
    election_hold_up(&st, true);
    election_start(&st);
    election_win(&st, 5);
    TOLD(&st, "leading");
    REQUIRE(zkl_election_campaign_async(st.election, ZKL_FOREVER, keep_code, &code, NULL) == 0);
    CHECK_INT(zkl_election_resign(st.election), 0);
    election_hold_up(&st, false);
    TOLD(&st, "leading resigned stopped");
    election_flush(&st);
    CHECK_INT(atomic_load(&code), ZKL_ECANCELED);
    election_end(&st);
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
    _Atomic(int) code;

    election_begin(&st, NULL);
    campaign_once(&st, &code);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    election_flush(&st);
    CHECK_INT(last_code(&st), ZKL_EACCES);
    campaign_once(&st, &code);
    CHECK_INT(last_code(&st), ZKL_EACCES);
    CHECK_INT(zkl_election_resign(st.election), 0);
    election_flush(&st);
    CHECK_INT(atomic_load(&code), ZKL_ECANCELED);
    CHECK_INT(last_code(&st), 0);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    election_start(&st);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    CHECK_INT(last_code(&st), ZKL_EACCES);
    CHECK_INT(zkl_election_resign(st.election), 0);
    CHECK_INT(last_code(&st), ZKL_EACCES); /* in the pause behind it */
    election_start(&st);
    CHECK_INT(zkl_election_resign(st.election), 0);
    CHECK_INT(last_code(&st), 0);
    election_end(&st);
}

/* A loss that nobody asked about is not that of the campaign that follows. */
TEST_CASE(started_after_a_loss)
{
    _Atomic(zkl_grant *) grant = NULL;
    zkl_election_status status = {.size = sizeof status};

    election_begin(&st, NULL);
    REQUIRE(zkl_election_campaign_async(st.election, ZKL_FOREVER, keep_grant, &grant, NULL) == 0);
    election_win(&st, 5);
    while (!atomic_load(&grant))
        g_usleep(1000);
    election_set_own_watch(&st);
    fake_fire(st.node, STORE_FIRED_GONE);
    election_start(&st);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(status.last.code, ZKL_ELOST);
    CHECK_INT(status.terms, 1);
    CHECK_INT(zkl_election_resign(st.election), 0);
    TOLD(&st, "stopped");
    zkl_grant_release(atomic_load(&grant));
    election_end(&st);
}

static void keep_applied(const zkl_error *err, void *code)
{
    atomic_store((_Atomic(int) *)code, err ? err->code : 0);
}

/* What is proclaimed stands behind the term's token, by which observers know whose it is. */
TEST_CASE(proclaimed_behind_the_token)
{
    _Atomic(int) code = 1;

    election_begin_started(&st, NULL);
    election_win(&st, 5);
    TOLD(&st, "leading");
    REQUIRE(zkl_election_proclaim_async(st.election, "data", 4, ZKL_FOREVER, keep_applied, &code) ==
            0);
    char *written = fake_changed_data(st.node);
    CHECK(written && g_str_has_suffix(written, "5\ndata"));
    g_free(written);
    ANSWER(STORE_MULTI, st.node, .rc = STORE_OK);
    election_flush(&st);
    CHECK_INT(atomic_load(&code), 0);
    election_end(&st);
}

/* ---- given back by a transaction ---- */

/* The leader gives its term back, and the transaction is under way. */
static void leave_by_transaction(struct election_story *s, _Atomic(int) *code)
{
    _Atomic(zkl_grant *) grant = NULL;

    REQUIRE(zkl_election_campaign_async(s->election, ZKL_FOREVER, keep_grant, &grant, NULL) == 0);
    election_flush(s);
    zkl_grant *g = atomic_load(&grant);
    REQUIRE(g != NULL);
    REQUIRE(zkl_grant_multi_async(g, NULL, 0, ZKL_MULTI_RELEASE, ZKL_FOREVER, keep_applied, code) ==
            0);
    zkl_grant_release(g);
}

/* Asked to give way when the election is over and freed, but its node stands until the answer. */
TEST_CASE(asked_after_a_transaction_gave_it_back)
{
    zkl_election_options o = ZKL_ELECTION_OPTIONS_INIT;
    _Atomic(int) code = 1;

    o.once = 1;
    election_begin_started(&st, &o);
    election_win(&st, 5);
    TOLD(&st, "leading");
    election_set_own_watch(&st);
    leave_by_transaction(&st, &code);
    TOLD(&st, "leading resigned stopped");
    election_flush(&st);
    zkl_election_free(st.election);
    st.election = NULL;
    fake_fire(st.node, STORE_FIRED_CHANGED);
    ANSWER(STORE_GET, st.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .version = 1,
           .data = "__REVOKE__", .length = 10);
    ANSWER(STORE_MULTI, st.node, .rc = STORE_OK);
    election_flush(&st);
    CHECK_INT(atomic_load(&code), 0);
    TOLD(&st, "leading resigned stopped");
    election_end(&st);
}

TEST_CASE(ids)
{
    char *longest = g_strnfill(1024, 'x'), *longer = g_strnfill(1025, 'x');
    zkl_election *e = NULL;

    election_begin(&st, NULL);
    CHECK_INT(zkl_election_new(&e, st.session, ELECTION, longer, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_election_new(&e, st.session, ELECTION, "\xff", NULL), ZKL_EINVAL);
    CHECK(!e);
    CHECK_INT(zkl_election_new(&e, st.session, ELECTION, longest, NULL), 0);
    zkl_election_free(e);
    election_end(&st);
    g_free(longest);
    g_free(longer);
}

/* Until the one campaign is given up. */
TEST_CASE(of_one_campaign)
{
    zkl_election_status status = {.size = sizeof status};
    _Atomic(int) code;

    election_begin(&st, NULL);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_NONE);
    CHECK_INT(zkl_election_campaign_async(st.election, 0, NULL, NULL, NULL), ZKL_EINVAL);
    campaign_once(&st, &code);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_QUEUED);
    CHECK_INT(status.ahead, -1);
    CHECK_INT(zkl_election_resign(st.election), 0);
    election_flush(&st);
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_NONE);
    election_end(&st);
}

/* A term's end is the last one's, however the handle got to know of it. */
TEST_CASE(why_a_term_ended)
{
    _Atomic(zkl_grant *) grant = NULL;

    election_begin(&st, NULL);
    REQUIRE(zkl_election_campaign_async(st.election, ZKL_FOREVER, keep_grant, &grant, NULL) == 0);
    election_win(&st, 5);
    election_flush(&st);
    election_set_own_watch(&st);
    fake_fire(st.node, STORE_FIRED_GONE);
    CHECK_INT(last_code(&st), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(st.election), ZKL_ELOST);
    CHECK_INT(zkl_election_resign(st.election), ZKL_EPERM); /* that term was ended */
    CHECK_INT(last_code(&st), ZKL_ELOST);
    zkl_grant_release(atomic_load(&grant));
    REQUIRE(zkl_election_campaign_async(st.election, ZKL_FOREVER, keep_grant, &grant, NULL) == 0);
    election_win(&st, 6);
    election_flush(&st);
    zkl_grant_release(atomic_load(&grant));
    CHECK_INT(last_code(&st), 0);
    election_end(&st);
}

/* A failure is told, and can be given up in the pause behind it; or the session closes there. */
TEST_CASE(ended_in_a_pause)
{
    zkl_election_status status = {.size = sizeof status};

    election_begin_started(&st, NULL);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    TOLD(&st, "failed-13");
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_PAUSED);
    CHECK_INT(zkl_election_resign(st.election), 0);
    TOLD(&st, "failed-13 stopped");
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_NOAUTH);
    election_start(&st);
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_NOAUTH);
    TOLD(&st, "failed-13 stopped failed-13");
    zkl_session_close(st.session);
    TOLD(&st, "failed-13 stopped failed-13 stopped-8");
    st.session = NULL;
    election_end(&st);
}

static bool refuse_at_once(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NOAUTH};
    return g_str_has_prefix(request->path, ELECTION);
}

/* While it is still being asked: nobody is in line then. */
TEST_CASE(fails_at_once)
{
    zkl_election_status status = {.size = sizeof status};

    election_begin(&st, NULL);
    fake_answer_at_once(refuse_at_once);
    election_start(&st);
    fake_answer_at_once(NULL);
    TOLD(&st, "failed-13");
    CHECK_INT(zkl_election_get_status(st.election, &status), 0);
    CHECK_INT(status.candidacy, ZKL_CANDIDACY_PAUSED);
    CHECK_INT(status.ahead, -1);
    election_end(&st);
}

/* Refused credentials are for good. */
TEST_CASE(refused)
{
    election_begin_started(&st, NULL);
    fake_event(STORE_EV_AUTH);
    TOLD(&st, "stopped-14");
    election_start(&st);
    TOLD(&st, "stopped-14 stopped-14");
    CHECK_INT(zkl_election_resign(st.election), ZKL_EPERM);
    election_end(&st);
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

static struct asking asking;

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
    begin_asking(&st, &asking);
    answer_line(true);
    CHECK_INT(fake_count(STORE_GET, ELECTION), 1);
    ANSWER(STORE_GET, PATH_OF(A), .rc = STORE_OK, .czxid = 8, .data = "a\x1b\xff", .length = 3);
    end_asking(&st, &asking, 0, "a\x1b\xef\xbf\xbd");
    CHECK_INT(asking.token, 8);
}

TEST_CASE(nobody_leads)
{
    begin_asking(&st, &asking);
    ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK);
    end_asking(&st, &asking, ZKL_ENOENT, "");
}

TEST_CASE(leader_is_not_told)
{
    static const enum store_kind refused[] = {STORE_SYNC, STORE_LIST, STORE_GET};

    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        begin_asking(&st, &asking);
        if (refused[i] == STORE_LIST)
            ANSWER(STORE_SYNC, ELECTION, .rc = STORE_OK);
        if (refused[i] == STORE_GET)
            answer_line(true);
        ANSWER(refused[i], ELECTION, .rc = STORE_NOAUTH);
        end_asking(&st, &asking, ZKL_EACCES, "");
    }
}

/* The first has gone when it is read, or the session has ended: all is asked again. */
TEST_CASE(leader_is_asked_for_again)
{
    for (int answered = 0; answered < 4; answered++) {
        begin_asking(&st, &asking);
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
        end_asking(&st, &asking, 0, "b");
        CHECK_INT(asking.token, 9);
    }
}
