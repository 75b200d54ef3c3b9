/* Head hints in a directory's data: what the driver asks of the store, and makes of its answers. */
#include "lib/contender/contender.h"
#include "recipes/head_hint.h"

#include "by_hand.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(contender_hint);

#define DIRECTORY "/root/l"
#define FIRST "_c_x-lock-0000000001"
#define SECOND "_c_y-lock-0000000002"

static zkl_session *s;
static struct acquisition a;

/* Two children are a long queue. */
static void start(void)
{
    contender_long_queue = 2;
    s = hand_session();
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
    contender_long_queue = LONG_QUEUE;
}

static char *own_name(void)
{
    return strrchr(a.node, '/') + 1;
}

static void answer_create(void)
{
    ANSWER(STORE_CREATE, DIRECTORY, .rc = STORE_OK, .path = a.node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
}

/* Behind two others, of whom the second goes. */
static void lose_predecessor(void)
{
    char first[] = FIRST, second[] = SECOND;

    hand_enter(&a, s, ZKL_FOREVER);
    answer_create();
    char *names[] = {first, second, own_name()};
    ANSWER(STORE_LIST, DIRECTORY, .rc = STORE_OK, .names = names, .count = 3);
    ANSWER(STORE_GET, DIRECTORY "/" SECOND, .rc = STORE_OK);
    fake_fire(DIRECTORY "/" SECOND, STORE_FIRED_GONE);
}

/* What a read of the directory itself answers; it is before that of the own node. */
static void answer_hint(const char *data, int version, int children)
{
    CHECK_STR(fake_request(STORE_GET, DIRECTORY).path, DIRECTORY);
    CHECK(!fake_is_watching(STORE_GET, DIRECTORY));
    CHECK(fake_place(STORE_GET, DIRECTORY) < fake_place(STORE_GET, a.node));
    ANSWER(STORE_GET, DIRECTORY, .rc = STORE_OK, .data = data, .length = (int)strlen(data),
           .version = version, .children = children);
}

static void answer_own(void)
{
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
    zkl_session_dispatch(s);
}

static void answer_alone(int data_length, int version)
{
    char behind[] = "_c_z-lock-0000000009";
    char *names[] = {own_name(), behind};

    ANSWER(STORE_LIST, DIRECTORY, .rc = STORE_OK, .names = names, .count = 2,
           .data_length = data_length, .version = version);
    zkl_session_dispatch(s);
}

static void check_hint(int version)
{
    struct store_request r = fake_request(STORE_SET, DIRECTORY);
    char *words = g_strconcat("zkl head 1 ", own_name(), NULL);

    REQUIRE(r.path != NULL);
    CHECK_STR(r.path, DIRECTORY);
    CHECK_STR(r.data, words);
    CHECK_INT(r.length, strlen(words));
    CHECK_INT(r.version, version);
    g_free(words);
}

/* Its predecessor was the head: nobody is listed, and it leaves a hint of its own. */
TEST_CASE(goes_by_a_hint)
{
    start();
    lose_predecessor();
    answer_hint("zkl head 1 " SECOND, 4, 9);
    CHECK(!fake_is_asked(STORE_LIST, DIRECTORY));
    zkl_session_dispatch(s);
    CHECK(a.grant == NULL);
    answer_own();
    REQUIRE(a.grant != NULL);
    check_hint(4);
    zkl_grant_release(a.grant);
    a.grant = NULL;
    CHECK(fake_place(STORE_SET, DIRECTORY) < fake_place(STORE_DELETE, a.node));
    stop();
}

TEST_CASE(goes_by_no_others)
{
    static const char *const data[] = {"", "zkl head 1 " FIRST, "zkl head 1 " SECOND "1", SECOND,
                                       "17\nproclaimed"};
    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        start();
        lose_predecessor();
        answer_hint(data[i], 4, 9);
        answer_own();
        CHECK(a.grant == NULL);
        CHECK(fake_is_asked(STORE_LIST, DIRECTORY));
        answer_alone((int)strlen(data[i]), 4);
        CHECK(a.grant != NULL);
        CHECK_INT(fake_count(STORE_SET, DIRECTORY), i < 3);
        stop();
    }
}

/* Nobody has read whose data they are. */
TEST_CASE(overwrites_nothing_unread)
{
    for (int length = 0; length < 2; length++) {
        start();
        hand_enter(&a, s, ZKL_FOREVER);
        answer_create();
        answer_alone(length, 3);
        REQUIRE(a.grant != NULL);
        CHECK_INT(fake_count(STORE_SET, DIRECTORY), length == 0);
        if (length == 0)
            check_hint(3);
        stop();
    }
}

static void hold(void)
{
    hand_enter(&a, s, ZKL_FOREVER);
    answer_create();
    answer_alone(0, 0);
    REQUIRE(a.grant != NULL);
}

static void release(void)
{
    ANSWER(STORE_GET, a.node, .rc = STORE_OK,
           .ephemeral_owner = FAKE_SESSION_ID); /* its own watch */
    zkl_grant_release(a.grant);
    a.grant = NULL;
    ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
    hand_leave(&a);
}

/* After a refusal a hint is not tried again for a minute. It is no refusal that another hint came
 * first. */
TEST_CASE(refused)
{
    static const struct {
        enum store_rc rc;
        bool again;
    } rows[] = {
        {STORE_OK, true},      {STORE_BADVERSION, true}, {STORE_NONODE, true},
        {STORE_UNKNOWN, true}, {STORE_NOAUTH, false},    {STORE_BAD, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_stand_alone(s);
        hold();
        ANSWER(STORE_SET, DIRECTORY, .rc = rows[i].rc);
        CHECK(!fake_is_asked(STORE_SET, DIRECTORY)); /* nor repeated, as others are */
        hand_pass_proved(s, 20);
        release();
        hold();
        CHECK_INT(fake_count(STORE_SET, DIRECTORY), rows[i].again);
        fake_answer(STORE_SET, DIRECTORY, (struct store_reply){.rc = STORE_OK});
        hand_pass_proved(s, 60000);
        release();
        hold();
        CHECK_INT(fake_count(STORE_SET, DIRECTORY), 1);
        stop();
    }
}

static void on_won(zkl_grant *grant, const zkl_error *error, void *data)
{
    CHECK(!error);
    *(zkl_grant **)data = grant;
}

/* The head of an election proclaims there. */
TEST_CASE(candidates_leave_none)
{
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    zkl_election *e;
    zkl_grant *grant = NULL;

    start();
    a = (struct acquisition){.calls = 0};
    options.layout = ZKL_LAYOUT_SELECTOR;
    REQUIRE(zkl_election_new(&e, s, "/l", "me", &options) == 0);
    REQUIRE(zkl_election_campaign_async(e, ZKL_FOREVER, on_won, &grant, NULL) == 0);
    a.node = fake_created_name(DIRECTORY, 7);
    answer_create();
    answer_alone(0, 0);
    CHECK(grant != NULL);
    CHECK(!fake_is_asked(STORE_SET, DIRECTORY));
    zkl_grant_release(grant);
    zkl_election_free(e);
    stop();
}

/* A directory whose numbers are used up is empty in spite of a hint. */
TEST_CASE(reset)
{
    static const struct {
        const char *data;
        int children;
        bool empty;
    } rows[] = {
        {"", 0, true},
        {"zkl head 1 " FIRST, 0, true},
        {"zkl head 1 " FIRST, 1, false},
        {"theirs", 0, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_enter(&a, s, ZKL_FOREVER);
        g_free(a.node);
        a.node = fake_created_name(DIRECTORY, INT32_MAX);
        answer_create();
        ANSWER(STORE_GET, DIRECTORY, .rc = STORE_OK, .data = rows[i].data,
               .length = (int)strlen(rows[i].data), .children = rows[i].children);
        CHECK_INT(strcmp(fake_request(STORE_DELETE, DIRECTORY).path, a.node) == 0, true);
        ANSWER(STORE_DELETE, a.node, .rc = STORE_OK);
        CHECK_INT(fake_is_asked(STORE_DELETE, DIRECTORY), rows[i].empty);
        stop();
    }
}
