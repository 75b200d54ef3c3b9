/* One session after another: what comes, what goes, and who is told. */
#include "lib/contender/contender.h"
#include "lib/session/incarnation.h"

#include "by_hand.h"
#include "lib/session/orphans.h"
#include "lib/session/request.h"
#include "runner.h"

TEST_SUITE(incarnation);

static zkl_session *s;
static struct acquisition a;
static GString *events, *lines;

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_string_append_printf(lines, "%s; ", record->text);
}

static void on_event(zkl_session *session, zkl_session_event event, int64_t id, void *data)
{
    static const char *const names[] = {"",         "connected", "suspended",
                                        "replaced", "refused",   "closed"};

    (void)session;
    (void)data;
    g_string_append_printf(events, "%s %d; ", names[event], (int)id);
}

/* Opened, and heard, but not connected. */
static void prepare(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    options.log = on_log;
    s = hand_session_with(&options);
    events = g_string_new(NULL);
    lines = g_string_new(NULL);
    CHECK_INT(zkl_session_on_change(s, on_event, NULL), 0);
}

static void start(void)
{
    prepare();
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void stop(void)
{
    hand_close(s);
    g_string_free(events, TRUE);
    g_string_free(lines, TRUE);
}

/* What listeners were told since. */
static void check_events(const char *wanted)
{
    zkl_session_dispatch(s);
    CHECK_STR(events->str, wanted);
    g_string_truncate(events, 0);
}

/* What was logged since. */
static void check_logged(const char *wanted)
{
    zkl_session_dispatch(s);
    CHECK_STR(lines->str, wanted);
    g_string_truncate(lines, 0);
}

static void check_deadline_in(int64_t ms)
{
    CHECK_INT(instant_left(clock_now(), s->proofs.deadline) / CLOCK_MS, ms);
}

TEST_CASE(listeners_are_told)
{
    start();
    check_events("connected 7; ");
    fake_event(STORE_EV_DOWN);
    check_events("suspended 7; ");
    fake_event(STORE_EV_UP);
    check_events("connected 7; ");
    fake_event(STORE_EV_EXPIRED);
    check_events("replaced 7; ");
    CHECK_INT(s->id, 0);
    CHECK(!s->up);
    CHECK(!proofs_deadline(&s->proofs, clock_now())); /* its proofs were of the session before */
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, 8, FAKE_TIMEOUT_MS);
    check_events("connected 8; ");
    fake_event(STORE_EV_AUTH);
    check_events("refused 8; ");
    stop();
}

TEST_CASE(why_there_is_no_connection)
{
    start();
    CHECK_INT(zkl_session_wait(s, 0), 0);
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EUNREACHABLE);
    fake_event(STORE_EV_HOST);
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EHOST);
    fake_event(STORE_EV_BEGIN);
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EUNREACHABLE); /* a name was found */
    fake_event(STORE_EV_HOST);
    fake_event(STORE_EV_FOREIGN);
    CHECK(s->foreigners && !s->host_unknown);
    fake_event(STORE_EV_BEGIN);
    CHECK(!s->foreigners);
    fake_event(STORE_EV_FOREIGN);
    fake_event(STORE_EV_UP);
    CHECK(!s->foreigners);
    fake_event(STORE_EV_HOST);
    fake_event(STORE_EV_UP);
    CHECK(!s->foreigners && !s->host_unknown);
    fake_event(STORE_EV_FOREIGN);
    fake_event(STORE_EV_AUTH);
    CHECK(s->foreigners); /* known still, but no matter any more */
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EAUTH);
    stop();
}

/* Servers that demand credentials let it connect again and again: its nodes would stand for good.
 */
TEST_CASE(refused_and_closed_in_time)
{
    start();
    hand_hold(&a, s);
    fake_event(STORE_EV_AUTH);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    hand_pass(s, FAKE_TIMEOUT_MS - 1);
    CHECK(s->store);
    CHECK(s->credentials);
    hand_pass(s, 1);
    CHECK(!s->store);
    CHECK(!s->credentials);
    CHECK_INT(zkl_session_id(s), 0);
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EAUTH);
    check_events("connected 7; refused 7; ");
    hand_leave(&a);
    stop();
}

static void *wait_for_a_connection(void *code)
{
    hand_is_waiter();
    *(int *)code = zkl_session_wait(s, ZKL_FOREVER);
    return NULL;
}

TEST_CASE(who_waits_is_woken)
{
    static const struct {
        enum store_event event;
        int code;
    } rows[] = {{STORE_EV_UP, 0}, {STORE_EV_AUTH, ZKL_EAUTH}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        pthread_t thread;
        int code = 1;

        prepare();
        fake_event(STORE_EV_BEGIN);
        REQUIRE(pthread_create(&thread, NULL, wait_for_a_connection, &code) == 0);
        hand_await_waiter(s);
        fake_event(rows[i].event);
        pthread_join(thread, NULL);
        CHECK_INT(code, rows[i].code);
        stop();
    }
}

TEST_CASE(a_smaller_timeout_takes_the_deadline_back)
{
    start();
    hand_hold(&a, s);
    CHECK_INT(zkl_grant_remaining_ms(a.grant), HAND_DEADLINE_MS);
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_SUSPECT);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, 4000);
    CHECK_INT(zkl_grant_remaining_ms(a.grant), 4000 - 450);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_SUSPECT); /* a connection is no proof */
    CHECK_INT(zkl_session_timeout_ms(s), 4000);
    hand_leave(&a);
    stop();
}

/* One that is too long in coming to prove anything is made once more, now that there is a server:
 * slow again, so it is. But what was done with the handle of one that is kept has been done in it.
 */
TEST_CASE(slow_creation)
{
    static const struct {
        int64_t ms;
        bool kept, taken; /* at once */
    } rows[] = {{FAKE_TIMEOUT_MS / 4, false, false},
                {FAKE_TIMEOUT_MS / 4, true, true},
                {FAKE_TIMEOUT_MS / 4 - 1, false, true}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        prepare();
        if (rows[i].kept)
            CHECK_INT(zkl_session_keep(s, 1), 0);
        for (int again = 0; again <= !rows[i].taken; again++) {
            CHECK(!s->up && s->id == 0);
            check_events(""); /* nobody has seen that one */
            fake_event(STORE_EV_BEGIN);
            hand_pass(s, rows[i].ms);
            fake_event(STORE_EV_UP);
        }
        CHECK(s->up);
        check_events("connected 7; ");
        check_deadline_in(HAND_DEADLINE_MS - rows[i].ms);
        stop();
    }
}

TEST_CASE(no_zookeeper)
{
    static const struct {
        int64_t id;
        int timeout_ms;
    } nonsense[] = {{FAKE_SESSION_ID, 0},
                    {FAKE_SESSION_ID, -1},
                    {FAKE_SESSION_ID, SESSION_TIMEOUT_MAX_MS + 1},
                    {0, FAKE_TIMEOUT_MS}};

    for (size_t i = 0; i < G_N_ELEMENTS(nonsense); i++) {
        prepare();
        fake_event(STORE_EV_BEGIN);
        fake_event_of(STORE_EV_UP, nonsense[i].id, nonsense[i].timeout_ms);
        CHECK(!s->up && s->foreigners && !s->store);
        check_logged("fake:1: the server that answers there is not ZooKeeper; ");
        hand_pass(s, 999);
        CHECK(!s->store);
        hand_pass(s, 1);
        CHECK(s->store != NULL);
        stop();
    }
}

/* The session is given up with what it held. */
TEST_CASE(no_zookeeper_any_more)
{
    start();
    hand_hold(&a, s);
    fake_event(STORE_EV_DOWN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, 0);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    check_events("connected 7; suspended 7; replaced 7; ");
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    hand_leave(&a);
    stop();
}

TEST_CASE(no_other_try_once_closed)
{
    prepare();
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, 0);
    session_lock(s);
    incarnation_close(s);
    session_unlock(s);
    hand_pass(s, 2000);
    CHECK(!s->store);
    stop();
}

TEST_CASE(the_longest_and_the_shortest_timeout)
{
    static const int timeouts[] = {SESSION_TIMEOUT_MAX_MS, 1};

    for (size_t i = 0; i < G_N_ELEMENTS(timeouts); i++) {
        prepare();
        fake_event(STORE_EV_BEGIN);
        fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, timeouts[i]);
        CHECK(s->up);
        stop();
    }
}

/* A line when it begins, one a minute, one when it ends; none for what is over at once. */
TEST_CASE(an_outage_is_told)
{
    prepare();
    hand_pass(s, 999);
    check_logged("");
    hand_pass(s, 1);
    check_logged("no connection for 1 s: fake:1: no server answers; ");
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    check_logged("fake:1: connected again after 1 s; ");
    hand_pass(s, 120000);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 999);
    fake_event(STORE_EV_UP);
    check_logged("");
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 60999);
    check_logged("no connection for 1 s: fake:1: no server answers; ");
    fake_event(STORE_EV_HOST);
    fake_event(STORE_EV_EXPIRED); /* it goes on in the next session */
    check_logged("session 0x7 expired; ");
    hand_pass(s, 60000);
    check_logged("no connection for 61 s: fake:1: no server name can be resolved; ");
    fake_event(STORE_EV_AUTH);
    hand_pass(s, 120000);
    check_logged(""); /* nothing is waited for any more */
    stop();
}

/* However often servers say so, and whatever they say in between. */
TEST_CASE(told_once_in_an_outage)
{
    start();
    fake_event(STORE_EV_DOWN);
    for (int i = 0; i < 5; i++) {
        fake_event(STORE_EV_REFUSED);
        fake_event(STORE_EV_SERVED);
        fake_event(STORE_EV_UNSERVED);
    }
    check_logged("session 0x7: the servers' data is older than what this session has seen: "
                 "restored, emptied or late; ");
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, 0);
    check_logged("fake:1: the server that answers there is not ZooKeeper; ");
    hand_pass(s, 1000);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, 0);
    check_logged("no connection for 1 s: fake:1: the server that answers there is not ZooKeeper; ");
    stop();
}

/* Evidence comes every so often, as the store brings it; the session is up no more. */
static void hear_for(enum store_event event, int64_t ms)
{
    for (int64_t done = 0; done < ms; done += 500) {
        fake_event(event);
        hand_pass(s, 500);
    }
    fake_event(event);
}

#define REFUSED_LINE                                                                               \
    "session 0x7: the servers' data is older than what this session has seen: restored, emptied "  \
    "or late; no connection for 1 s: fake:1: the servers' data is older than what the session "    \
    "has "                                                                                         \
    "seen; "
#define REPLACED_LINE                                                                              \
    "session 0x7: the servers run but do not accept it any more; opening a new session; "

/* Longer than either timeout: by the time a waiter enters anew what was held is lost. */
TEST_CASE(servers_have_gone_back)
{
    static const struct {
        enum store_event event;
        int timeout_ms; /* granted; asked for are 10 s */
        int64_t ms;
        const char *refusal; /* as logged */
    } rows[] = {
        {STORE_EV_REFUSED, 10000, 10000, REFUSED_LINE},
        {STORE_EV_REFUSED, 4000, 10000, REFUSED_LINE},
        {STORE_EV_REFUSED, 20000, 20000, REFUSED_LINE},
        {STORE_EV_SERVED, 10000, 30000, "no connection for 1 s: fake:1: no server answers; "},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        prepare();
        fake_event(STORE_EV_BEGIN);
        fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, rows[i].timeout_ms);
        hand_hold(&a, s);
        fake_event(STORE_EV_DOWN);
        check_events("connected 7; suspended 7; ");
        hear_for(rows[i].event, rows[i].ms - 500);
        CHECK_INT(s->id, FAKE_SESSION_ID);
        hand_pass(s, 500);
        fake_event(rows[i].event);
        CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
        CHECK_INT(s->id, 0);
        check_events("replaced 7; ");
        char *wanted =
            g_strdup_printf("%s%s: lost: it could not be renewed before its deadline; %s",
                            rows[i].refusal, a.node, REPLACED_LINE);
        check_logged(wanted);
        g_free(wanted);
        fake_event(STORE_EV_BEGIN);
        fake_event_of(STORE_EV_UP, 8, rows[i].timeout_ms);
        check_events("connected 8; ");
        hand_leave(&a);
        stop();
    }
}

/* Nothing of it is left when the session has its connection again. */
TEST_CASE(servers_take_it_back)
{
    static const struct {
        enum store_event heard;
        int64_t ms;
        enum store_event then;
    } rows[] = {
        {STORE_EV_REFUSED, 9500, STORE_EV_UNSERVED},
        {STORE_EV_SERVED, 29500, STORE_EV_UNSERVED},
        {STORE_EV_SERVED, 29500, STORE_EV_UP},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        fake_event(STORE_EV_DOWN);
        hear_for(rows[i].heard, rows[i].ms);
        fake_event(rows[i].then);
        if (s->up)
            fake_event(STORE_EV_DOWN);
        hand_pass(s, 500);
        hear_for(rows[i].heard, rows[i].ms);
        CHECK_INT(s->id, FAKE_SESSION_ID);
        stop();
    }
}

/* A server with older data than the session had seen refused it. Other clients have since made the
 * servers count past that, so they accept the session. Nodes that it had deleted may stand again,
 * so it is ended as soon as it holds nothing. */
TEST_CASE(taken_back_after_a_refusal)
{
    for (int held = 0; held <= 1; held++) {
        start();
        if (held)
            hand_hold(&a, s);
        fake_event(STORE_EV_DOWN);
        fake_event(STORE_EV_REFUSED);
        fake_event(STORE_EV_SERVED);
        fake_event(STORE_EV_UP);
        hand_pass(s, 100);
        CHECK(s->up); /* it was a server that lagged, which has caught up */
        fake_event(STORE_EV_DOWN);
        fake_event(STORE_EV_REFUSED);
        fake_event(STORE_EV_UP);
        hand_pass(s, 100);
        CHECK(s->up == held);
        if (held)
            hand_leave(&a);
        hand_pass(s, 100);
        CHECK(!s->up);
        stop();
    }
}

/* However long. */
TEST_CASE(a_plain_outage)
{
    start();
    fake_event(STORE_EV_DOWN);
    hear_for(STORE_EV_UNSERVED, 3600000);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    check_events("connected 7; suspended 7; ");
    stop();
}

TEST_CASE(not_opened)
{
    start();
    fake_busy(true);
    fake_event(STORE_EV_EXPIRED);
    CHECK(!s->store);
    check_logged("session 0x7 expired; fake:1: the system refused a thread or descriptor; ");
    hand_pass(s, 1000);
    CHECK(!s->store);
    fake_busy(false);
    hand_pass(s, 999);
    CHECK(!s->store);
    hand_pass(s, 1);
    CHECK(s->store != NULL);
    stop();
}

/* ---- what is timed ends with the session it is about ---- */

static struct acquisition b;

static void ignore(struct request *r, const struct store_reply *reply)
{
    (void)r, (void)reply;
}

static void ignore_state(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant, (void)state, (void)data;
}

static void arm_retry(void)
{
    request_send(s, request_new(STORE_GET, g_strdup("/x"), ignore, NULL));
    ANSWER(STORE_GET, "/x", .rc = STORE_UNKNOWN);
}

static void arm_redelete(void)
{
    orphan_delete(s, g_strdup("/x"));
    ANSWER(STORE_DELETE, "/x", .rc = STORE_NOAUTH);
}

static void arm_own_watch(void)
{
    hand_hold(&b, s);
}

static void arm_unwatch(void)
{
    hand_enter(&b, s, ZKL_FOREVER);
    hand_answer_entry(&b, 5);
    ANSWER(STORE_GET, "/root/l/_c_other", .rc = STORE_OK);
    zkl_op_cancel(b.op);
    ANSWER(STORE_UNWATCH, "/root/l/_c_other", .rc = STORE_UNKNOWN);
}

static void arm_settling(void)
{
    hand_enter(&b, s, ZKL_FOREVER);
    zkl_op_cancel(b.op);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_BAD);
}

TEST_CASE(no_timer_outlives_its_session)
{
    static const struct {
        void (*arm)(void);
        int due_ms;
        bool held; /* by another meanwhile, so that the session is not replaced */
    } rows[] = {
        {arm_retry, 100, true},    {arm_redelete, 500, true}, {arm_redelete, 0, false},
        {arm_own_watch, 20, true}, {arm_unwatch, 100, true},  {arm_settling, 500, true},
        {arm_settling, 0, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        a = b = (struct acquisition){.calls = 0};
        start();
        hand_stand_alone(s);
        if (rows[i].held) {
            hand_hold(&a, s);
            hand_pass_proved(s, 1000);
            ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
            CHECK_INT(zkl_grant_on_change(a.grant, ignore_state, NULL), 0); /* may hang */
        }
        rows[i].arm();
        CHECK_INT(timers_next(s->timers) - clock_now().boot, rows[i].due_ms * CLOCK_MS);
        CHECK(s->proof_timer.at && s->deadline_timer.at);
        fake_event(STORE_EV_EXPIRED);
        CHECK(s->outage.timer.at != NULL); /* which goes on until there is a connection */
        timers_cancel(&s->outage.timer);
        CHECK(timers_next(s->timers) == INT64_MAX);
        hand_leave(&a);
        hand_leave(&b);
        stop();
    }
}

/* As a value and in words, whatever the store finds out. */
TEST_CASE(told_why)
{
    static const struct {
        enum store_trouble trouble;
        zkl_outage outage;
        const char *text;
    } rows[] = {
        {TROUBLE_NO_ROUTE, ZKL_OUTAGE_NO_ROUTE, "no server answers: there is no route to it"},
        {TROUBLE_REFUSED, ZKL_OUTAGE_REFUSED, "no server answers: connection refused"},
        {TROUBLE_SILENT, ZKL_OUTAGE_SILENT, "no server answers: nothing comes back"},
        {TROUBLE_HANGS_UP, ZKL_OUTAGE_HANGS_UP, "no server answers: it closes the connection"},
        {TROUBLE_NOT_SERVING, ZKL_OUTAGE_NOT_SERVING, "does not serve: it is starting, or has no"},
        {TROUBLE_FOREIGN, ZKL_OUTAGE_FOREIGN, "the server that answers there is not ZooKeeper"},
        {TROUBLE_TLS, ZKL_OUTAGE_TLS, "speaks TLS, and this connection does not"},
        {TROUBLE_MEMORY, ZKL_OUTAGE_MEMORY, "the system refuses memory or a thread"},
        {TROUBLE_DESCRIPTORS, ZKL_OUTAGE_DESCRIPTORS, "no file descriptor is left"},
        {TROUBLE_NONE, ZKL_OUTAGE_UNKNOWN, "fake:1: no server answers"},
    };
    zkl_error error;

    prepare();
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_UNKNOWN);
    fake_trouble(TROUBLE_HANGS_UP, "a:1: its certificate is not accepted");
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_CERTIFICATE);
    CHECK_INT(zkl_session_wait(s, 0), ZKL_EUNREACHABLE);
    zkl_last_error(&error);
    CHECK_STR(error.text, "a:1: its certificate is not accepted");
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) { /* what is found last counts */
        fake_trouble(rows[i].trouble, NULL);
        CHECK_INT(zkl_session_outage(s), rows[i].outage);
        CHECK_INT(zkl_session_wait(s, 0), ZKL_EUNREACHABLE);
        zkl_last_error(&error);
        if (!CHECK(strstr(error.text, rows[i].text) != NULL))
            runner_fail(__FILE__, __LINE__, "%s", error.text);
    }
    fake_event(STORE_EV_HOST);
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_HOST);
    fake_trouble(TROUBLE_DESCRIPTORS, NULL); /* names cannot be looked up without */
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_DESCRIPTORS);
    fake_trouble(TROUBLE_REFUSED, NULL);
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_HOST);
    fake_event(STORE_EV_BEGIN); /* the name is known now */
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_REFUSED);
    fake_event(STORE_EV_UP);
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_NONE);
    fake_trouble(TROUBLE_SILENT, "late"); /* too late */
    fake_event(STORE_EV_DOWN);
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_UNKNOWN);
    fake_event(STORE_EV_REFUSED);
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_ROLLED_BACK);
    fake_event(STORE_EV_AUTH);
    CHECK_INT(zkl_session_outage(s), ZKL_OUTAGE_AUTH);
    CHECK_INT(zkl_session_outage(NULL), ZKL_OUTAGE_UNKNOWN);
    stop();
}
