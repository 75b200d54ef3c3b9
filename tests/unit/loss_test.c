/* Why a grant was lost: each reason, provoked by what a store says, as the holder is told it. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by_hand.h"
#include "lib/grant/grant.h"
#include "multilock_story.h"
#include "runner.h"

TEST_SUITE(loss);

static zkl_session *s;
static struct acquisition a;
static char lines[512]; /* of the log */
static int told;        /* losses */
static zkl_loss told_loss;

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_strlcat(lines, record->text, sizeof lines);
    g_strlcat(lines, "; ", sizeof lines);
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)data;
    CHECK((zkl_grant_loss(grant) != ZKL_LOSS_NONE) == (zkl_grant_state(grant) == ZKL_LOST));
    if (state != ZKL_LOST)
        return;
    told++;
    told_loss = zkl_grant_loss(grant);
}

static void start(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    told = 0;
    told_loss = ZKL_LOSS_NONE;
    options.log = on_log;
    s = hand_session_with(&options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    hand_hold(&a, s);
    REQUIRE(zkl_grant_on_change(a.grant, on_change, NULL) == 0);
    CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_NONE);
    lines[0] = '\0';
}

/* Lost for that, whatever happens from here on. */
static void check_lost(zkl_loss loss)
{
    zkl_session_dispatch(s);
    CHECK_INT(told, 1);
    CHECK_INT(told_loss, loss);
    CHECK_INT(zkl_grant_loss(a.grant), loss);
    CHECK(strstr(lines, "lost: ") && strstr(lines, zkl_strloss(loss)));
    hand_jump(60000, 60000);
    CHECK_INT(zkl_grant_loss(a.grant), loss);
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
}

TEST_CASE(by_the_deadline)
{
    start();
    hand_pass(s, HAND_DEADLINE_MS);
    check_lost(ZKL_LOSS_DEADLINE);
    stop();
}

/* The first call that looks makes the loss final, before any driver has run. */
TEST_CASE(by_the_deadline_before_all_else)
{
    start();
    hand_jump(HAND_DEADLINE_MS, HAND_DEADLINE_MS);
    CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_DEADLINE);
    fake_event(STORE_EV_EXPIRED);
    check_lost(ZKL_LOSS_DEADLINE);
    stop();
}

TEST_CASE(by_expiry)
{
    start();
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_EXPIRED);
    check_lost(ZKL_LOSS_EXPIRED);
    stop();
}

TEST_CASE(by_deletion)
{
    start();
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    fake_fire(a.node, STORE_FIRED_GONE);
    check_lost(ZKL_LOSS_DELETED);
    stop();
}

/* Somebody has put another node there. */
TEST_CASE(by_another_node_in_its_place)
{
    start();
    hand_pass(s, 20);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID + 1);
    check_lost(ZKL_LOSS_DELETED);
    stop();
}

TEST_CASE(by_closing)
{
    start();
    hand_close(s); /* tells it before it returns */
    CHECK_INT(told, 1);
    CHECK_INT(told_loss, ZKL_LOSS_CLOSED);
    CHECK_INT(zkl_grant_loss(a.grant), ZKL_LOSS_CLOSED);
    hand_leave(&a);
}

TEST_CASE(by_servers_that_have_gone_back)
{
    start();
    session_lock(s); /* it is not the deadline */
    s->proofs.deadline = instant_add(clock_now(), 3600000 * CLOCK_MS);
    CHECK(grant_extend(grant_tenure(a.grant, 0), s->proofs.deadline, true));
    session_unlock(s);
    fake_event(STORE_EV_DOWN);
    for (int i = 0; i < 200 && told == 0; i++) {
        fake_event(STORE_EV_REFUSED);
        hand_jump(500, 500);
        zkl_session_dispatch(s);
    }
    CHECK_INT(told_loss, ZKL_LOSS_REPLACED);
    stop();
}

TEST_CASE(by_what_is_no_zookeeper)
{
    start();
    fake_event(STORE_EV_DOWN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID, 0);
    check_lost(ZKL_LOSS_REPLACED);
    stop();
}

TEST_CASE(by_refused_credentials)
{
    start();
    fake_event(STORE_EV_AUTH);
    check_lost(ZKL_LOSS_REFUSED);
    stop();
}

TEST_CASE(not_by_a_release)
{
    start();
    zkl_grant *g = a.grant;
    a.grant = NULL;
    zkl_grant_on_change(g, on_change, NULL);
    zkl_grant_release(g); /* on_change() looks */
    zkl_session_dispatch(s);
    CHECK_INT(told, 0);
    stop();
}

/* The reason is that of the one node that went; the other nodes end with it. */
TEST_CASE(of_one_path_of_several)
{
    struct multi_story story;

    multi_story_begin(&story);
    multi_story_lock(&story, ZKL_FOREVER);
    multi_story_hold(&story);
    hand_pass_proved(story.s, 20);
    ANSWER(STORE_GET, multi_story_node(&story, 'c'), .rc = STORE_NONODE);
    CHECK_INT(zkl_grant_loss(story.grant), ZKL_LOSS_DELETED);
    multi_story_dispatch(&story);
    CHECK_INT(story.losses, 1);
    CHECK_INT(zkl_grant_loss(story.grant), ZKL_LOSS_DELETED);
    multi_story_end(&story);
}

TEST_CASE(of_a_turn)
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

TEST_CASE(of_a_forked_child)
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

TEST_CASE(texts)
{
    for (int i = ZKL_LOSS_NONE; i <= ZKL_LOSS_FORKED; i++)
        for (int j = ZKL_LOSS_NONE; j < i; j++)
            CHECK(strcmp(zkl_strloss((zkl_loss)i), zkl_strloss((zkl_loss)j)) != 0);
    CHECK_STR(zkl_strloss((zkl_loss)(ZKL_LOSS_FORKED + 1)), "unknown reason");
    CHECK_STR(zkl_strloss((zkl_loss)-1), "unknown reason");
    CHECK_INT(zkl_grant_loss(NULL), ZKL_LOSS_NONE);
}
