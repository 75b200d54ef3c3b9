/* The chain of proofs as the session runs it, and when it stops. */
#include "by_hand.h"
#include "runner.h"

#include <limits.h>
#include <string.h>

TEST_SUITE(proof_chain);

static zkl_session *s;
static struct acquisition a;

static void check_deadline_in(int64_t ms)
{
    CHECK_INT(instant_left(clock_now(), s->proofs.deadline) / CLOCK_MS, ms);
}

static void answer_config(const char *data)
{
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK, .data = data,
           .length = data ? (int)strlen(data) : 0);
    if (fake_is_watching(STORE_GET, "/zookeeper/config")) /* once more, of an ensemble */
        answer_config(data);
}

TEST_CASE(proved_by_a_chain_in_an_ensemble)
{
    s = hand_session();
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 1000);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_SET, "/zookeeper/zkl-none",
           .rc = STORE_BAD);                                /* the handshake proves nothing then */
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK); /* of the connection before */
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    CHECK_STR(fake_request(STORE_GET, "/zookeeper").path, "/zookeeper/config");
    CHECK(!fake_request(STORE_GET, "/zookeeper").watch);
    hand_pass(s, 100);
    answer_config("server.1=a"); /* an anchor like any other */
    hand_pass(s, 3000 - 1);      /* the relay period of an unknown tick */
    CHECK(!fake_is_asked(STORE_SYNC, "/zookeeper"));
    hand_pass(s, 750);
    CHECK(!fake_is_asked(STORE_SET, "/zookeeper/zkl-none"));
    ANSWER(STORE_SYNC, "/zookeeper", .rc = STORE_OK);
    CHECK_INT(fake_request(STORE_SET, "/zookeeper/zkl-none").version, INT_MAX);
    check_deadline_in(HAND_DEADLINE_MS - 1000 - 100 - 3000 + 1 - 750);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    check_deadline_in(HAND_DEADLINE_MS - 100 - 3000 + 1 - 750); /* from when the anchor was sent */
    hand_close(s);
}

/* The write behind the handshake is sent at once. */
TEST_CASE(proved_by_a_reconnect)
{
    s = hand_session();
    answer_config("server.1=a");
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    hand_pass(s, 1736); /* an anchor of the second round */
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 2000);
    CHECK(!fake_is_asked(STORE_SET, "/zookeeper/zkl-none"));
    fake_event(STORE_EV_UP);
    check_deadline_in(HAND_DEADLINE_MS - 3736);
    CHECK_INT(fake_request(STORE_SET, "/zookeeper/zkl-none").version, INT_MAX);
    hand_pass(s, 10);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    check_deadline_in(HAND_DEADLINE_MS - 2011); /* from when the last request was sent that was
                                                   answered before the outage */
    hand_close(s);
}

/* The same, so late that the deadline passes before another proof can come: that ends no doubt. */
TEST_CASE(proved_too_late_to_last)
{
    s = hand_session();
    answer_config("server.1=a");
    hand_hold(&a, s);
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    hand_pass(s, 1736); /* an anchor of the second round */
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 7000);
    fake_event(STORE_EV_UP);
    check_deadline_in(HAND_DEADLINE_MS - 8736);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    CHECK(instant_left(clock_now(), s->proofs.deadline) > (HAND_DEADLINE_MS - 8736) * CLOCK_MS);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_SUSPECT);
    hand_leave(&a);
    hand_close(s);
}

/* The servers allow so short a timeout that no chain lasts: that is logged, but not of one server;
 * and what is to be set, if that is so only at an observer. The fake session was made at server 0.
 */
TEST_CASE(cannot_last)
{
    static const struct {
        const char *config;
        int tick_ms;
        const char *logged;
    } rows[] = {{NULL, 8200, ""},
                {"server.1=a", 8200, "tick_ms or drift_permille is too large for 10000 ms"},
                {"server.1=a", 5800, ""},
                {"server.0=a:1:2:observer", 5800, "Set tick_ms, or a longer one"},
                {"server.0=a:1:2:observer", 8200, "tick_ms or drift_permille is too large"},
                {"server.0=a:1:2:observer", 0, ""}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        s = hand_session_logging(ZKL_LOG_WARN);
        s->proofs.tick = rows[i].tick_ms * CLOCK_MS;
        answer_config(rows[i].config);
        zkl_session_dispatch(s);
        CHECK(strstr(hand_logged, rows[i].logged));
        CHECK_INT(hand_logged[0] == '\0', rows[i].logged[0] == '\0');
        hand_close(s);
    }
}

/* A server is an observer by what it says itself. If the session was made on this connection, its
 * id tells which one it is. */
TEST_CASE(shown_to_report_to_the_leader)
{
    static const struct {
        enum store_rc rc;
        const char *config;
        bool made, again; /* whether it is shown on the first connection; on the second */
    } rows[] = {
        {STORE_OK, NULL, true, true},
        {STORE_OK, "server.0=a:1:2:participant", true, true},
        {STORE_OK, "server.0=a:1:2:participant\nserver.1=a:1:2:observer", true, false},
        {STORE_OK, "server.0=a:1:2:observer", false, false},
        {STORE_NONODE, NULL, true, true}, /* before 3.5 */
        {STORE_NOAUTH, NULL, false, false},
        {STORE_BAD, NULL, false, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        s = hand_session();
        for (int again = 0; again < 2; again++) {
            const char *config = rows[i].config;
            CHECK(s->proofs.relayed);
            ANSWER(STORE_GET, "/zookeeper/config", .rc = rows[i].rc, .data = config,
                   .length = config ? (int)strlen(config) : 0);
            if (!CHECK_INT(!s->proofs.relayed, again ? rows[i].again : rows[i].made))
                runner_fail(__FILE__, __LINE__, "row %zu", i);
            if (fake_is_watching(STORE_GET, "/zookeeper/config"))
                answer_config(config);
            fake_event(STORE_EV_DOWN);
            fake_event(STORE_EV_UP);
        }
        hand_close(s);
    }
}

TEST_CASE(relayed_answer_of_an_earlier_connection)
{
    s = hand_session();
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK, .data = "server.1=a", .length = 10);
    CHECK(s->proofs.relayed);
    answer_config("server.1=a");
    CHECK(!s->proofs.relayed);
    hand_close(s);
}

/* At what may be an observer that a follower feeds the second round of a pair proves: as many
 * steps as the row says, in which each request is answered. */
TEST_CASE(proved_by_two_reports)
{
    enum { STEP_MS = 375 };
    static const struct {
        const char *config;
        int steps; /* until the deadline moves on */
    } rows[] = {{"server.0=a:1:2:participant", 14}, {"server.0=a:1:2:observer", 20}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        int steps = 0;
        s = hand_session();
        answer_config(rows[i].config);
        const int64_t before = s->proofs.deadline.boot;
        for (; s->proofs.deadline.boot == before && steps < 24; steps++) {
            hand_pass(s, STEP_MS);
            fake_answer(STORE_GET, "/zookeeper", (struct store_reply){.rc = STORE_OK});
            fake_answer(STORE_SYNC, "/zookeeper", (struct store_reply){.rc = STORE_OK});
            fake_answer(STORE_SET, "/zookeeper/zkl-none", (struct store_reply){.rc = STORE_NONODE});
        }
        CHECK_INT(steps, rows[i].steps);
        hand_close(s);
    }
}

/* An anchor for a later round does not wait for the sync of this one. */
TEST_CASE(sends_all_that_is_wanted)
{
    s = hand_session();
    answer_config("server.1=a");
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    hand_pass(s, 1736);
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    hand_pass(s, 1264);
    CHECK(fake_is_asked(STORE_SYNC, "/zookeeper"));
    CHECK(fake_is_asked(STORE_GET, "/zookeeper"));
    hand_close(s);
}

TEST_CASE(chain_begun_anew_when_a_step_fails)
{
    static const enum store_rc failures[] = {STORE_BAD, STORE_UNKNOWN};

    for (size_t i = 0; i < G_N_ELEMENTS(failures); i++) {
        s = hand_session();
        answer_config("server.1=a");
        ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
        hand_pass(s, 4000);
        ANSWER(STORE_SYNC, "/zookeeper", .rc = failures[i]);
        CHECK(!fake_is_asked(STORE_SET, "/zookeeper/zkl-none"));
        hand_pass(s, 200); /* not parked: a step that is late would prove too much */
        CHECK(!fake_is_asked(STORE_SYNC, "/zookeeper"));
        hand_pass(s, 2300);
        CHECK_INT(fake_count(STORE_SYNC, "/zookeeper"), 1);
        hand_close(s);
    }
}

/* A server that checks permissions by itself refuses a write without its leader: that is a read. */
TEST_CASE(refused_by_the_server_alone)
{
    s = hand_session_logging(ZKL_LOG_WARN);
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 1000);
    fake_event(STORE_EV_UP); /* so the anchors are later than the session's creation */
    zkl_session_dispatch(s);
    hand_logged[0] = '\0';
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_BAD);
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK);
    answer_config("server.1=a");
    for (int round = 0; round < 2; round++) {
        ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
        hand_pass(s, 4000);
        ANSWER(STORE_SYNC, "/zookeeper", .rc = STORE_OK);
        const struct instant before = s->proofs.deadline;
        ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NOAUTH);
        CHECK_INT(s->proofs.deadline.boot, before.boot);
    }
    zkl_session_dispatch(s);
    CHECK_STR(hand_logged, "somebody has made /zookeeper/zkl-none, and a server refuses to set it: "
                           "no grant can be renewed; ");
    /* The deadline was over, so one does not do; and the first is late itself. */
    for (int round = 0; round < 3; round++) {
        fake_answer(STORE_GET, "/zookeeper", (struct store_reply){.rc = STORE_OK});
        hand_pass(s, round == 0 ? 4000 : FAKE_TIMEOUT_MS / 12 + 1);
        ANSWER(STORE_SYNC, "/zookeeper", .rc = STORE_OK);
        const struct instant before = s->proofs.deadline;
        ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_BADVERSION); /* the leader's word */
        CHECK_INT(s->proofs.deadline.boot > before.boot, round == 2);
    }
    hand_close(s);
}

/* What libzookeeper had between two connections it sends on the later one. */
TEST_CASE(answered_on_the_next_connection)
{
    s = hand_session();
    answer_config("server.1=a");
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    hand_pass(s, 4000);
    ANSWER(STORE_SYNC, "/zookeeper", .rc = STORE_OK);
    const struct instant before = s->proofs.deadline;
    CHECK_INT(fake_count(STORE_SET, "/zookeeper/zkl-none"), 1);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    CHECK_INT(fake_count(STORE_SET, "/zookeeper/zkl-none"), 2);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    CHECK_INT(s->proofs.deadline.boot, before.boot);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    CHECK(s->proofs.deadline.boot > before.boot);
    hand_close(s);
}

/* A step that could not be sent is not one under way. */
TEST_CASE(step_not_taken)
{
    s = hand_session();
    answer_config("server.1=a");
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    fake_busy(true);
    hand_pass(s, 4000);
    fake_busy(false);
    CHECK(!fake_is_asked(STORE_SYNC, "/zookeeper"));
    hand_pass(s, 2500);
    CHECK(fake_is_asked(STORE_SYNC, "/zookeeper"));
    hand_close(s);
}

TEST_CASE(proved_by_each_write_of_a_lone_server)
{
    s = hand_session();
    CHECK(!fake_is_asked(STORE_SET, "/zookeeper/zkl-none"));
    answer_config(NULL);
    hand_pass(s, 10);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    check_deadline_in(HAND_DEADLINE_MS - 10);
    hand_pass(s, 1666 - 10);
    CHECK(!fake_is_asked(STORE_SET, "/zookeeper/zkl-none"));
    hand_pass(s, 1);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    check_deadline_in(HAND_DEADLINE_MS - 1); /* it was sent a third of a ms ago */
    hand_close(s);
}

TEST_CASE(a_lone_server_is_shown_on_its_connection)
{
    s = hand_session();
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_NOAUTH);
    CHECK(!s->proofs.alone);
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    fake_event(STORE_EV_DOWN);
    CHECK(!s->proof_timer.at);
    fake_event(STORE_EV_UP);
    fake_event(STORE_EV_DOWN);
    answer_config(NULL); /* too late: nothing is to be proved */
    CHECK(!s->proof_timer.at);
    fake_event(STORE_EV_UP);
    answer_config(NULL); /* to the question of the connection before */
    CHECK(!s->proofs.alone);
    answer_config(NULL);
    CHECK(s->proofs.alone);
    hand_close(s);
}

/* Each connection asks for itself. */
TEST_CASE(asked_once_for_each_connection)
{
    s = hand_session();
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    CHECK_INT(fake_count(STORE_GET, "/zookeeper/config"), 1);
    hand_close(s);
}

/* ---- warm and cold ---- */

TEST_CASE(proofs_end_when_nobody_needs_them)
{
    s = hand_session();
    hand_stand_alone(s);
    hand_pass_proved(s, 59000);
    CHECK(proofs_deadline(&s->proofs, clock_now()));
    hand_pass_proved(s, 2000);
    hand_pass(s, 5000);
    CHECK(!fake_is_asked(STORE_SET, "/zookeeper/zkl-none"));
    CHECK(!s->proof_timer.at);
    hand_pass(s, 10000);
    CHECK(!proofs_deadline(&s->proofs, clock_now()));
    CHECK_INT(s->id, FAKE_SESSION_ID);
    hand_enter(&a, s, ZKL_FOREVER); /* the first write is a proof */
    CHECK_INT(s->id, FAKE_SESSION_ID);
    CHECK(fake_is_asked(STORE_SET, "/zookeeper/zkl-none"));
    hand_leave(&a);
    hand_close(s);
}

/* An ensemble would need a chain, a new session is proved by its creation. */
TEST_CASE(cold_session_is_replaced)
{
    s = hand_session_with(NULL);
    session_set_warm_ms(s, 1000);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    answer_config("server.1=a");
    hand_pass(s, 4000);
    hand_enter(&a, s, ZKL_FOREVER);
    CHECK_INT(s->id, FAKE_SESSION_ID); /* cold, but its deadline lasts still */
    hand_leave(&a);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NOAUTH);
    hand_pass(s, 4500);
    CHECK(proofs_deadline(&s->proofs, clock_now()) == DEADLINE_AHEAD);
    hand_enter(&a, s, ZKL_FOREVER);
    CHECK_INT(s->id, 0);
    hand_leave(&a);
    hand_close(s);
}

TEST_CASE(cold_session_stays_while_kept)
{
    s = hand_session();
    answer_config("server.1=a");
    CHECK_INT(zkl_session_keep(s, 0), ZKL_EPERM);
    CHECK_INT(zkl_session_keep(s, 1), 0);
    CHECK_INT(zkl_session_keep(s, 1), 0);
    CHECK_INT(zkl_session_keep(s, 0), 0);
    for (int i = 0; i < 2; i++) {
        hand_pass(s, 70000);
        CHECK(!s->proof_timer.at && !proofs_deadline(&s->proofs, clock_now()));
        hand_enter(&a, s, ZKL_FOREVER);
        CHECK_INT(s->id, i == 0 ? FAKE_SESSION_ID : 0);
        CHECK_INT(fake_is_asked(STORE_GET, "/zookeeper"), i == 0); /* the chain begins */
        hand_leave(&a);
        if (i > 0)
            break;
        ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NOAUTH);
        CHECK_INT(zkl_session_keep(s, 0), 0);
    }
    hand_close(s);
}

/* It may live on, and what it has with it. */
TEST_CASE(not_replaced_while_disconnected)
{
    s = hand_session();
    fake_event(STORE_EV_DOWN);
    hand_pass(s, 100000);
    hand_enter(&a, s, ZKL_FOREVER);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    hand_leave(&a);
    hand_close(s);
}

TEST_CASE(kept_warm_by_a_holder_and_after_it)
{
    s = hand_session();
    hand_stand_alone(s);
    hand_hold(&a, s);
    hand_pass_proved(s, 100000);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    zkl_grant_release(a.grant);
    a.grant = NULL;
    hand_pass_proved(s, 59000);
    CHECK(proofs_deadline(&s->proofs, clock_now()));
    hand_pass_proved(s, 70000);
    CHECK(!proofs_deadline(&s->proofs, clock_now()));
    hand_leave(&a);
    hand_close(s);
}

/* ---- cool: somebody waits, and has for long ---- */

#define ASKED_WRITES fake_count(STORE_SET, "/zookeeper/zkl-none")
#define OTHER "/root/l/_c_other-lock-0000000006"

/* For so long, of an ensemble; each sync is answered. Returns how many there were. */
static int stay_cool(int64_t ms)
{
    int syncs = 0;

    for (int64_t passed = 0; passed < ms; passed += 10) {
        hand_pass(s, 10);
        syncs += fake_answer(STORE_SYNC, "/zookeeper", (struct store_reply){.rc = STORE_OK});
        CHECK_INT(ASKED_WRITES, 0);
    }
    return syncs;
}

static void begin_waiting_cool(void)
{
    s = hand_session();
    answer_config("server.1=a");
    ANSWER(STORE_GET, "/zookeeper", .rc = STORE_OK);
    hand_enter(&a, s, ZKL_FOREVER);
    hand_answer_entry(&a, 6);
    ANSWER(STORE_GET, OTHER, .rc = STORE_OK);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
    s->warm_until = clock_now();
    hand_pass(s, 2000);
    CHECK_INT(s->proofs.need, PROOF_COOL);
}

/* It costs what pings cost, and is proved by a sync and a write when the one before it goes. */
TEST_CASE(a_waiter_is_cool)
{
    begin_waiting_cool();
    const int syncs = stay_cool(10 * FAKE_TIMEOUT_MS);
    CHECK(syncs > 30 && syncs <= 36);
    CHECK(!proofs_deadline(&s->proofs, clock_now()));
    fake_fire(OTHER, STORE_FIRED_GONE);
    CHECK_INT(s->proofs.need, PROOF_HOT);
    ANSWER(STORE_SYNC, "/zookeeper", .rc = STORE_OK);
    zkl_session_dispatch(s);
    CHECK(!a.grant);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    zkl_session_dispatch(s);
    CHECK(a.grant);
    hand_leave(&a);
    hand_close(s);
}

static void ignore_done(const zkl_error *error, void *unused)
{
    (void)error;
    (void)unused;
}

/* A contender, a member and a double barrier that come later do not replace a waiter's session. */
TEST_CASE(not_replaced_under_a_waiter)
{
    static const char *const ways[] = {"contender", "member", "double barrier"};

    for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
        struct acquisition b = {.grant = NULL};
        zkl_member *m = NULL;
        zkl_double_barrier *d = NULL;
        begin_waiting_cool();
        stay_cool(2 * FAKE_TIMEOUT_MS);
        if (i == 0)
            hand_enter(&b, s, ZKL_FOREVER);
        else if (i == 1)
            REQUIRE(zkl_member_join(&m, s, "/g", "a", NULL, 0, NULL) == 0);
        else
            REQUIRE(zkl_double_barrier_new(&d, s, "/d", 2, NULL) == 0 &&
                    zkl_double_barrier_enter_async(d, ZKL_FOREVER, ignore_done, NULL) == 0);
        if (!CHECK_INT(s->id, FAKE_SESSION_ID))
            runner_fail(__FILE__, __LINE__, "replaced for a %s", ways[i]);
        CHECK_INT(s->proofs.need, PROOF_HOT);
        zkl_member_free(m);
        zkl_double_barrier_free(d);
        if (i == 0)
            hand_leave(&b);
        hand_leave(&a);
        hand_close(s);
    }
}
