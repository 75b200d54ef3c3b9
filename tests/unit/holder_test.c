/* The driver of one who holds: the own watch, the loss and its reason, the node's end. */
#include "lib/contender/contender.h"

#include "by_hand.h"
#include "lib/grant/grant.h"
#include "runner.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(holder);

static zkl_session *s;
static struct acquisition a;
static int changes, losses; /* that were told */
static zkl_state last;
static zkl_loss told_loss;

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)data;
    CHECK((zkl_grant_loss(grant) != ZKL_LOSS_NONE) == (zkl_grant_state(grant) == ZKL_LOST));
    changes++;
    last = state;
    losses += state == ZKL_LOST;
    if (state == ZKL_LOST)
        told_loss = zkl_grant_loss(grant);
}

static void start(void)
{
    changes = losses = 0;
    told_loss = ZKL_LOSS_NONE;
    s = hand_session_logging(ZKL_LOG_WARN);
    hand_hold(&a, s);
}

/* And hears of all changes. */
static void start_listening(void)
{
    start();
    CHECK_INT(zkl_grant_on_change(a.grant, on_change, NULL), 0);
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
}

static void check_told(int calls, zkl_state state)
{
    zkl_session_dispatch(s);
    CHECK_INT(changes, calls);
    CHECK_INT(last, state);
}

TEST_CASE(watches_itself_after_a_while)
{
    start();
    hand_pass(s, 19);
    CHECK(!fake_is_asked(STORE_GET, a.node));
    hand_pass(s, 1);
    CHECK(fake_request(STORE_GET, a.node).watch);
    ANSWER(STORE_GET, a.node, .rc = STORE_BAD); /* tried again, but not at once */
    hand_pass(s, 999);
    CHECK(!fake_is_asked(STORE_GET, a.node));
    hand_pass(s, 1);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    fake_fire(a.node, STORE_FIRED_GONE);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    zkl_session_dispatch(s);
    CHECK(strstr(hand_logged, ": lost") != NULL);
    stop();
}

TEST_CASE(released)
{
    start();
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    zkl_grant_release(a.grant);
    a.grant = NULL;
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK(!fake_is_asked(STORE_UNWATCH, a.node)); /* goes with the node */
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    fake_fire(a.node, STORE_FIRED_GONE);
    CHECK_INT(s->watched_bytes, 0);
    zkl_session_dispatch(s);
    CHECK_STR(hand_logged, "");
    stop();
}

static void on_applied(const zkl_error *error, void *data)
{
    (void)data;
    CHECK(error == NULL);
    changes++;
}

/* The node has gone with the transaction, and its watch with it: that is no loss. */
TEST_CASE(released_by_a_transaction)
{
    start();
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    CHECK_INT(
        zkl_grant_multi_async(a.grant, NULL, 0, ZKL_MULTI_RELEASE, ZKL_FOREVER, on_applied, NULL),
        0);
    ANSWER(STORE_MULTI, a.node, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    CHECK(!fake_is_asked(STORE_UNWATCH, a.node));
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    zkl_session_dispatch(s);
    CHECK_INT(changes, 1);
    CHECK_STR(hand_logged, "");
    stop();
}

TEST_CASE(lost_at_the_deadline)
{
    start();
    hand_pass(s, HAND_DEADLINE_MS - 1);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 1);
    CHECK(fake_is_asked(STORE_DELETE, a.node)); /* nobody has to be told first */
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    stop();
}

/* The timer runs by one clock, the deadline is by two. */
TEST_CASE(not_lost_before_either_clock)
{
    start();
    hand_jump(0, -1000);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    stop();

    start();
    s->proofs.deadline = instant_add(s->proofs.deadline, 1000 * CLOCK_MS);
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 1000);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    stop();
}

/* What the callbacks stop is stopped before another is granted. */
TEST_CASE(node_stays_until_the_loss_is_told)
{
    start_listening();
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    check_told(2, ZKL_LOST); /* suspect before: nothing was proved for too long */
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 20000);
    CHECK_INT(fake_count(STORE_DELETE, a.node), 1);
    stop();
}

/* A caller that asks only now is told at once, though the node still stands. */
TEST_CASE(loss_is_told_to_who_asks_late)
{
    start_listening();
    hand_pass(s, HAND_DEADLINE_MS);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    zkl_grant_on_change(a.grant, on_change, NULL);
    check_told(3, ZKL_LOST); /* the first one was told suspect before */
    stop();
}

TEST_CASE(node_stays_one_timeout_at_most)
{
    start_listening();
    hand_pass(s, HAND_DEADLINE_MS);
    hand_pass(s, FAKE_TIMEOUT_MS - 1);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    hand_pass(s, 1);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    check_told(2, ZKL_LOST);
    CHECK_INT(fake_count(STORE_DELETE, a.node), 1);
    stop();
}

/* A proof that comes when the deadline has passed extends the session's, but not the grant's. */
TEST_CASE(proved_too_late)
{
    start();
    hand_stand_alone(s);
    hand_pass(s, 2000);
    hand_jump(HAND_DEADLINE_MS - 2000, HAND_DEADLINE_MS - 2000);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    CHECK(proofs_deadline(&s->proofs, clock_now()));
    CHECK_INT(zkl_grant_state(a.grant), ZKL_LOST);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    stop();
}

/* What is answered then proves something, but not that there is a connection. */
TEST_CASE(answered_while_disconnected)
{
    start();
    hand_stand_alone(s);
    hand_pass(s, 2000);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, "/zookeeper/zkl-none", .rc = STORE_NONODE);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_SUSPECT);
    CHECK_INT(zkl_grant_remaining_ms(a.grant), HAND_DEADLINE_MS - 2000);
    stop();
}

TEST_CASE(suspect_while_disconnected)
{
    start();
    hand_stand_alone(s);
    zkl_grant_on_change(a.grant, on_change, NULL);
    fake_event(STORE_EV_DOWN);
    check_told(1, ZKL_SUSPECT);
    hand_pass(s, 10);
    fake_event(STORE_EV_UP);
    check_told(1, ZKL_SUSPECT);
    hand_stand_alone(s);
    check_told(2, ZKL_HELD);
    stop();
}

/* Two and a half periods of renewal without a proof. */
TEST_CASE(suspect_when_overdue)
{
    start_listening();
    hand_pass(s, 4100);
    check_told(0, last);
    hand_pass(s, 1000);
    check_told(1, ZKL_SUSPECT);
    stop();
}

TEST_CASE(numbers_run_out)
{
    static const struct {
        int number;
        bool warned;
    } rows[] = {{INT32_MAX - (1 << 20) - 1, false}, {INT32_MAX - (1 << 20), true}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_leave(&a);
        zkl_session_dispatch(s);
        ANSWER(STORE_DELETE, "/root/l", .rc = STORE_OK);
        hand_enter(&a, s, ZKL_FOREVER);
        g_free(a.node);
        a.node = fake_created_name("/root/l", rows[i].number);
        hand_answer_entry(&a, -1);
        zkl_session_dispatch(s);
        CHECK(a.grant != NULL);
        CHECK_INT(strstr(hand_logged, "sequence numbers of its directory end") != NULL,
                  rows[i].warned);
        stop();
    }
}

/* The directory is deleted only if it is one that we would make, has no children, and no data but a
 * leader's words or a hint. Then its numbers begin anew, and the attempt begins again. */
TEST_CASE(numbers_have_run_out)
{
    static const struct {
        zkl_parents parents;
        enum store_rc rc;
        const char *data;
        int children, code;
    } rows[] = {{ZKL_PARENTS_CONTAINER, STORE_OK, "", 0, 0},
                {ZKL_PARENTS_CONTAINER, STORE_OK, "", 1, ZKL_EOVERFLOW},
                {ZKL_PARENTS_CONTAINER, STORE_OK, "abc", 0, ZKL_EOVERFLOW},
                {ZKL_PARENTS_CONTAINER, STORE_OK, "7\nproclaimed", 0, 0},
                {ZKL_PARENTS_CONTAINER, STORE_OK, "zkl head 1 _c_x-lock-0000000001", 0, 0},
                {ZKL_PARENTS_CONTAINER, STORE_NOAUTH, "", 0, ZKL_EOVERFLOW},
                {ZKL_PARENTS_PERSISTENT, STORE_OK, "", 0, ZKL_EOVERFLOW}};

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
        zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
        const bool made = i % 2; /* it has the last number; or none was left for it */

        o.parents = rows[i / 2].parents;
        s = hand_session();
        a = (struct acquisition){.calls = 0};
        REQUIRE(zkl_mutex_new(&a.mutex, s, "/l", &o) == 0);
        REQUIRE(zkl_mutex_lock_async(a.mutex, ZKL_FOREVER, hand_acquired, &a, &a.op) == 0);
        a.node = fake_created_name("/root/l", INT32_MAX);
        ANSWER(STORE_CREATE, "/root/l", .rc = made ? STORE_OK : STORE_EXISTS, .path = a.node,
               .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
        if (made)
            ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
        CHECK_STR(fake_request(STORE_GET, "/root/l").path, "/root/l");
        ANSWER(STORE_GET, "/root/l", .rc = rows[i / 2].rc, .children = rows[i / 2].children,
               .length = (int)strlen(rows[i / 2].data), .data = rows[i / 2].data);
        if (rows[i / 2].code == 0) {
            CHECK_STR(fake_request(STORE_DELETE, "/root/l").path, "/root/l");
            ANSWER(STORE_DELETE, "/root/l", .rc = STORE_OK);
            CHECK(fake_is_asked(STORE_CREATE, "/root/l/_c_"));
        }
        zkl_session_dispatch(s);
        CHECK_INT(a.error.code, rows[i / 2].code);
        stop();
    }
}

/* The directory has gone meanwhile, and its numbers with it. */
TEST_CASE(numbers_have_begun_anew)
{
    start();
    hand_leave(&a);
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_EXISTS);
    ANSWER(STORE_GET, "/root/l", .rc = STORE_NONODE);
    CHECK(fake_is_asked(STORE_CREATE, "/root/l/_c_"));
    stop();
}

/* ---- why it was lost ---- */

static void let_the_deadline_pass(void)
{
    hand_pass(s, HAND_DEADLINE_MS);
}

/* The first call that looks makes the loss final, before any driver has run. */
static void look_before_all_else(void)
{
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_DEADLINE);
    fake_event(STORE_EV_EXPIRED);
}

static void expire(void)
{
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_EXPIRED);
}

static void delete_its_node(void)
{
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    fake_fire(a.node, STORE_FIRED_GONE);
}

static void put_another_in_its_place(void)
{
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID + 1);
}

/* It is not the deadline. */
static void let_the_servers_go_back(void)
{
    session_lock(s);
    s->proofs.deadline = instant_add(clock_now(), 3600000 * CLOCK_MS);
    CHECK(grant_move_deadline(grant_tenure(a.grant, 0), s->proofs.deadline, true));
    session_unlock(s);
    fake_event(STORE_EV_DOWN);
    for (int i = 0; i < 200 && losses == 0; i++) {
        fake_event(STORE_EV_REFUSED);
        hand_jump(500, 500);
        zkl_session_dispatch(s);
    }
}

static void be_no_zookeeper(void)
{
    fake_event(STORE_EV_DOWN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, 0);
}

static void refuse_credentials(void)
{
    fake_event(STORE_EV_AUTH);
}

/* As a store says it, and as the holder is told it, once; whatever happens from there on. */
TEST_CASE(why_it_was_lost)
{
    static const struct {
        void (*lose)(void);
        zkl_loss loss;
    } rows[] = {
        {let_the_deadline_pass, ZKL_LOSS_DEADLINE},
        {look_before_all_else, ZKL_LOSS_DEADLINE},
        {expire, ZKL_LOSS_EXPIRED},
        {delete_its_node, ZKL_LOSS_DELETED},
        {put_another_in_its_place, ZKL_LOSS_DELETED},
        {let_the_servers_go_back, ZKL_LOSS_REPLACED},
        {be_no_zookeeper, ZKL_LOSS_REPLACED},
        {refuse_credentials, ZKL_LOSS_REFUSED},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start_listening();
        CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_NONE);
        hand_logged[0] = '\0';
        rows[i].lose();
        zkl_session_dispatch(s);
        bool right = CHECK_INT(losses, 1) && CHECK_INT(told_loss, rows[i].loss);
        right = CHECK_INT(zkl_grant_loss(a.grant), rows[i].loss) && right;
        right = CHECK(strstr(hand_logged, "lost: ") != NULL) && right;
        right = CHECK(strstr(hand_logged, zkl_strloss(rows[i].loss)) != NULL) && right;
        CHECK_INT(contenders_of(s)->drivers.list.length, 0);
        hand_jump(60000, 60000);
        if (!CHECK_INT(zkl_grant_loss(a.grant), rows[i].loss) || !right)
            runner_fail(__FILE__, __LINE__, "row %zu", i);
        stop();
    }
}

/* Which tells it before it returns. */
TEST_CASE(lost_by_closing)
{
    start_listening();
    hand_close(s);
    CHECK_INT(losses, 1);
    CHECK_INT(told_loss, ZKL_LOSS_CLOSED);
    CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_CLOSED);
    hand_leave(&a);
}

/* on_change() looks for a reason. */
TEST_CASE(not_lost_by_a_release)
{
    start_listening();
    zkl_grant_release(g_steal_pointer(&a.grant));
    zkl_session_dispatch(s);
    CHECK_INT(losses, 0);
    CHECK_INT(last, ZKL_RELEASED);
    stop();
}

TEST_CASE(loss_of_a_turn)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;
    const zkl_grant *g = NULL;

    s = hand_session();
    hand_stand_alone(s);
    fake_answer_at_once(fake_alone);
    options.retain_ms = 1000;
    REQUIRE(zkl_mutex_new(&m, s, "/l", &options) == 0);
    REQUIRE(zkl_mutex_lock(m, 0, &g) == 0);
    CHECK_INT(zkl_grant_loss(g), ZKL_LOSS_NONE);
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(zkl_grant_loss(g), ZKL_LOSS_EXPIRED);
    CHECK_INT(zkl_mutex_unlock(m), ZKL_ELOST);
    fake_answer_at_once(NULL);
    zkl_mutex_free(m);
    hand_close(s);
}

TEST_CASE(loss_of_a_forked_child)
{
    int status = 0;

    start();
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(zkl_grant_loss(a.grant) == ZKL_LOSS_FORKED ? 0 : 1);
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_NONE);
    stop();
}

TEST_CASE(reasons_in_words)
{
    for (int i = ZKL_LOSS_NONE; i <= ZKL_LOSS_FORKED; i++)
        for (int j = ZKL_LOSS_NONE; j < i; j++)
            CHECK(strcmp(zkl_strloss((zkl_loss)i), zkl_strloss((zkl_loss)j)) != 0);
    CHECK_STR(zkl_strloss((zkl_loss)(ZKL_LOSS_FORKED + 1)), "unknown reason");
    CHECK_STR(zkl_strloss((zkl_loss)-1), "unknown reason");
    CHECK_INT(zkl_grant_loss(NULL), ZKL_LOSS_NONE);
}
