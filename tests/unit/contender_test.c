/* What the driver asks of the store for one attempt, what it makes of the answers, and what it does
 * about children of other layouts. */
#include "lib/contender/contender.h"

#include "by_hand.h"
#include "lib/base/layout.h"
#include "recipes/head_hint.h"
#include "runner.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

TEST_SUITE(contender);

static zkl_session *s;
static struct acquisition a;

static void start(void)
{
    s = hand_session_logging(ZKL_LOG_INFO);
}

/* With an attempt, whose requests are not answered yet. */
static void start_entering(void)
{
    start();
    hand_enter(&a, s, ZKL_FOREVER);
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
}

static bool is_logged(const char *text)
{
    zkl_session_dispatch(s);
    return strstr(hand_logged, text) != NULL;
}

static void list(int count, char *const *names)
{
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = count);
}

/* The answer to the create is lost, and the quorum refuses what is asked behind it: a list tells.
 */
static void lose_create(void)
{
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
}

static char *own_name(void)
{
    return strrchr(a.node, '/') + 1;
}

static void created(int number)
{
    g_free(a.node);
    a.node = fake_created_name("/root/l", number);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK, .path = a.node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
}

/* ---- entering ---- */

TEST_CASE(enters)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    start();
    options.name = "who";
    a = (struct acquisition){.calls = 0};
    REQUIRE(zkl_mutex_new(&a.mutex, s, "/l", &options) == 0);
    REQUIRE(zkl_mutex_lock_async(a.mutex, ZKL_FOREVER, NULL, NULL, NULL) != 0);
    zkl_mutex_free(a.mutex);
    hand_enter(&a, s, ZKL_FOREVER);
    struct store_request r = fake_request(STORE_CREATE, "/root/l/_c_");
    CHECK_INT(r.mode, STORE_EPHEMERAL_SEQUENTIAL);
    CHECK(r.data != NULL && r.length == (int)strlen(r.data) && r.length > 0);
    CHECK_INT(strlen(r.path), strlen("/root/l/_c_") + 36 + strlen("-lock-"));
    CHECK(fake_place(STORE_CREATE, "/root/l") < fake_place(STORE_LIST, "/root/l"));
    stop();
}

TEST_CASE(makes_its_directory)
{
    start_entering();
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NONODE);
    CHECK_INT(fake_count(STORE_CREATE, "/root"), 2);
    CHECK(!fake_is_asked(STORE_SET, "/root/l"));
    CHECK_STR(fake_request(STORE_CREATE, "/root").path, "/root");
    CHECK_STR(fake_request(STORE_CREATE, "/root/l").path, "/root/l");
    CHECK_INT(fake_request(STORE_CREATE, "/root/l").mode, STORE_CONTAINER);
    CHECK_INT(fake_request(STORE_CREATE, "/root").mode, STORE_CONTAINER);
    ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    CHECK_INT(fake_count(STORE_CREATE, "/root/l/_c_"), 0);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK);
    CHECK_INT(fake_count(STORE_CREATE, "/root/l/_c_"), 1);
    stop();
}

/* The directory's answer counts; who could not make a parent is blamed if that is why. Where the
 * directory is there the own node's answer counts. */
TEST_CASE(cannot_make_its_node)
{
    static const struct {
        enum store_rc node, parent, directory;
        int code;
        const char *path, *text;
    } rows[] = {
        {STORE_NONODE, STORE_NOAUTH, STORE_NONODE, ZKL_EACCES, "/root", "create a child of /: "},
        {STORE_NONODE, STORE_EXISTS, STORE_NOAUTH, ZKL_EACCES, "/l", "create a child of /root: "},
        {STORE_NONODE, STORE_NOCHILDREN, STORE_NONODE, ZKL_EPATH, "/root", "ephemeral"},
        {STORE_NONODE, STORE_NOAUTH, STORE_OK, 0, "", ""}, /* somebody else made it */
        {STORE_NONODE, STORE_NOAUTH, STORE_EXISTS, 0, "", ""},
        {STORE_NOAUTH, STORE_OK, STORE_OK, ZKL_EACCES, "/l",
         "/l: the server refused to create a child of it: the permission create (c) is missing"},
        {STORE_NOCHILDREN, STORE_OK, STORE_OK, ZKL_EPATH, "/l", "it is below an ephemeral node"},
        {STORE_BAD, STORE_OK, STORE_OK, ZKL_EPROTO, "/l", "/l: "},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start_entering();
        ANSWER(STORE_CREATE, "/root/l/", .rc = rows[i].node);
        if (rows[i].node == STORE_NONODE) {
            ANSWER(STORE_CREATE, "/root", .rc = rows[i].parent);
            ANSWER(STORE_CREATE, "/root/l", .rc = rows[i].directory);
        }
        zkl_session_dispatch(s);
        CHECK_INT(a.error.code, rows[i].code);
        CHECK_INT(fake_count(STORE_CREATE, "/root/l/_c_"), rows[i].code == 0);
        CHECK(strstr(a.error.text, rows[i].text) != NULL);
        CHECK_INT(strstr(a.error.text, "ephemeral") != NULL, rows[i].code == ZKL_EPATH);
        if (!CHECK(strstr(a.error.path, rows[i].path) != NULL))
            runner_fail(__FILE__, __LINE__, "row %zu: %s", i, a.error.path);
        stop();
    }
}

/* What stopped an earlier try to make the directory is not to blame for what comes later. */
TEST_CASE(blames_nobody_of_before)
{
    for (int again = 0; again < 2; again++) {
        start_entering();
        for (int i = 0; i < 2; i++) {
            ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NONODE);
            ANSWER(STORE_CREATE, "/root", .rc = STORE_NONODE); /* reaped above it: once more */
            ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NONODE);
        }
        if (again) {
            ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NONODE);
            ANSWER(STORE_CREATE, "/root", .rc = STORE_NOAUTH);
            ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NONODE);
        } else {
            ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
        }
        zkl_session_dispatch(s);
        CHECK_INT(a.error.code, ZKL_EACCES);
        CHECK_STR(a.error.path, again ? "/root" : "/l");
        stop();
    }
}

/* ---- waiting ---- */

TEST_CASE(waits_for_its_predecessor)
{
    char first[] = "_c_x-lock-0000000001", second[] = "_c_y-lock-0000000002", foreign[] = "junk";

    start_entering();
    char *names[] = {foreign, second, first, own_name()};
    created(7);
    names[3] = own_name();
    list(4, names);
    CHECK(is_logged("/root/l: ignoring \"junk\""));
    CHECK(fake_request(STORE_GET, "/root/l/_c_y-lock-0000000002").watch);
    CHECK(!fake_is_asked(STORE_GET, "/root/l/_c_x"));
    ANSWER(STORE_GET, "/root/l/_c_y", .rc = STORE_OK);
    fake_fire("/root/l/_c_y-lock-0000000002", STORE_FIRED_CHANGED); /* changed: watched again */
    ANSWER(STORE_GET, "/root/l/_c_y", .rc = STORE_OK);
    fake_fire("/root/l/_c_y-lock-0000000002", STORE_FIRED_GONE);
    hand_logged[0] = '\0';
    char *less[] = {foreign, first, own_name()};
    list(3, less);
    CHECK(!is_logged("ignoring")); /* once is enough */
    ANSWER(STORE_GET, "/root/l/_c_x", .rc = STORE_NONODE);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 5);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 5);
    zkl_session_dispatch(s);
    CHECK_INT(a.calls, 1);
    CHECK(a.grant != NULL);
    stop();
}

/* A deadline that is ahead, but may pass before a proof moves it, is none to be granted on. */
TEST_CASE(waits_for_a_deadline_that_lasts)
{
    start_entering();
    hand_pass(s, HAND_DEADLINE_MS - 1000);
    hand_answer_entry(&a, -1);
    zkl_session_dispatch(s);
    CHECK_INT(a.calls, 0);
    hand_stand_alone(s);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID);
    zkl_session_dispatch(s);
    CHECK(a.grant != NULL);
    stop();
}

/* A contender right behind the head watches its own node first, and needs no other proof than the
 * silence of that watch, unless the connection was another one then. */
TEST_CASE(watches_its_own_node)
{
    for (int again = 0; again < 2; again++) {
        start_entering();
        hand_answer_entry(&a, 3);
        CHECK(fake_is_watching(STORE_GET, a.node));
        CHECK(fake_place(STORE_GET, a.node) < fake_place(STORE_GET, "/root/l/_c_other"));
        ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
        ANSWER(STORE_GET, "/root/l/_c_other", .rc = STORE_OK);
        if (again) {
            fake_reconnect();
        }
        fake_fire("/root/l/_c_other-lock-0000000003", STORE_FIRED_GONE);
        zkl_session_dispatch(s);
        CHECK_INT(a.grant != NULL, !again);
        CHECK_INT(fake_is_asked(STORE_GET, a.node), again);
        stop();
    }
}

TEST_CASE(leaves_no_watch_behind)
{
    start_entering();
    hand_answer_entry(&a, 3);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_GET, "/root/l/_c_other", .rc = STORE_OK);
    zkl_op_cancel(a.op);
    CHECK(fake_is_asked(STORE_UNWATCH, "/root/l/_c_other-lock-0000000003"));
    CHECK(!fake_is_asked(STORE_UNWATCH, a.node)); /* which goes with the node */
    CHECK_INT(fake_count(STORE_DELETE, a.node), 1);
    ANSWER(STORE_UNWATCH, "/root/l/_c_other", .rc = STORE_OK);
    fake_fire(a.node, STORE_FIRED_GONE);
    CHECK_INT(s->watched_bytes, 0);
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    stop();
}

/* What was logged of very many directories is forgotten, and logged once more. */
TEST_CASE(logs_of_many_directories)
{
    char other[] = "no-contender";

    start();
    for (int i = 0; i < 1000; i++)
        g_hash_table_add(s->logged, g_strdup_printf("foreign /%d", i));
    hand_enter(&a, s, ZKL_FOREVER);
    created(7);
    char *names[] = {own_name(), other};
    list(2, names);
    CHECK_INT(g_hash_table_size(s->logged), 1);
    zkl_session_dispatch(s); /* the grant comes */
    stop();
}

TEST_CASE(too_much_is_watched)
{
    start_entering();
    s->watched_bytes = 512 * 1024;
    hand_answer_entry(&a, 3);
    s->watched_bytes = 0;
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, ZKL_ELIMIT);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK(!fake_is_asked(STORE_GET, "/root/l"));
    stop();
}

/* The newest list goes with the attempt, though an older one is answered first. */
TEST_CASE(asks_nothing_any_more)
{
    start_entering();
    fake_busy(true);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK, .path = a.node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID - 1);
    fake_busy(false);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    zkl_op_cancel(a.op);
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    hand_pass(s, 100);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK(!fake_is_asked(STORE_CREATE, "/root/l"));
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    stop();
}

/* A new session, a new id; what carries the old one goes wherever it is seen. */
TEST_CASE(enters_anew_in_the_next_session)
{
    char other[] = "_c_x-lock-0000000001";

    start_entering();
    hand_answer_entry(&a, 3);
    char *old = g_strdup(a.node), *old_name = strrchr(old, '/') + 1;
    fake_next_session();
    g_free(a.node);
    a.node = fake_created_name("/root/l", 9);
    REQUIRE(a.node != NULL);
    CHECK(strncmp(a.node, old, strlen("/root/l/_c_") + 36) != 0);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK, .path = a.node, .czxid = 6,
           .ephemeral_owner = FAKE_SESSION_ID + 1);
    char *names[] = {other, old_name, own_name()};
    list(3, names);
    CHECK(fake_is_asked(STORE_DELETE, old));
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    CHECK(!fake_is_asked(STORE_DELETE, "/root/l/_c_x"));
    g_free(old);
    stop();
}

/* Where its directory was made again the numbers begin anew, and the delete of the former node may
 * come late: the next one has another name even with the number of that one. */
TEST_CASE(enters_anew_with_another_name)
{
    start_entering();
    hand_answer_entry(&a, 3);
    char *old = g_strdup(a.node), *old_name = strrchr(old, '/') + 1;
    ANSWER(STORE_GET, a.node, .rc = STORE_NONODE);
    CHECK_INT(fake_count(STORE_DELETE, old), 1);
    ANSWER(STORE_CREATE, "/root/l/_c_", .rc = STORE_NONODE);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_NONODE);
    ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK);
    created(7);
    CHECK(strcmp(a.node, old) != 0);
    char *names[] = {old_name, own_name()};
    list(2, names); /* and where it stands all the same it is waited for */
    CHECK_INT(fake_count(STORE_DELETE, old), 2);
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    g_free(old);
    stop();
}

/* Any answer of the quorum to the write will do; another leaves open what a list would show. */
TEST_CASE(asks_the_quorum_before_it_lists)
{
    static const struct {
        enum store_rc rc;
        bool passed;
    } rows[] = {{STORE_NONODE, true},
                {STORE_BADVERSION, true},
                {STORE_NOAUTH, false}, /* the server alone */
                {STORE_OK, true},
                {STORE_BAD, false}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start_entering();
        ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
        char *node = g_strdup(fake_request(STORE_CREATE, "/root/l").path);
        ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
        struct store_request write = fake_request(STORE_SET, "/root/l");
        CHECK_STR(write.path, node); /* never that of a node: those have a number */
        CHECK_INT(write.version, INT_MAX);
        CHECK(!fake_is_asked(STORE_SYNC, "/root/l"));
        CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
        ANSWER(STORE_SET, "/root/l", .rc = rows[i].rc);
        CHECK_INT(fake_is_asked(STORE_LIST, "/root/l"), rows[i].passed);
        CHECK_INT(s->orphans, !rows[i].passed);
        g_free(node);
        stop();
    }
}

/* The outcome of the create is unknown: of what the list shows, one is kept. */
TEST_CASE(adopts_what_was_made)
{
    start_entering();
    char *later = fake_created_name("/root/l", 9);
    lose_create();
    char *names[] = {strrchr(later, '/') + 1, own_name()};
    list(2, names);
    CHECK(fake_is_asked(STORE_DELETE, later));
    CHECK(!fake_is_asked(STORE_DELETE, a.node));
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 77);
    list(1, &names[1]);
    zkl_session_dispatch(s);
    CHECK(a.grant != NULL);
    CHECK_INT(zkl_grant_token(a.grant), 77);
    g_free(later);
    stop();
}

/* Another has made it, with the id but in another style, and in our session. */
TEST_CASE(adopts_an_odd_name)
{
    start_entering();
    char *odd = g_strdup_printf("%.36s__lock__0000000004", own_name() + strlen("_c_"));
    char *node = g_strconcat("/root/l/", odd, NULL);
    lose_create();
    list(1, &odd);
    ANSWER(STORE_GET, node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 77);
    list(1, &odd);
    zkl_session_dispatch(s);
    REQUIRE(a.grant != NULL);
    CHECK_STR(zkl_grant_node(a.grant), node + strlen("/root"));
    hand_leave(&a);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_LIST, "/root/l")); /* no other can come late */
    hand_close(s);
    g_free(node);
    g_free(odd);
}

/* The caller that waited has left, so all that was made goes; the session has no reason to end. */
TEST_CASE(deletes_what_was_made)
{
    start_entering();
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    zkl_op_cancel(a.op);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    char *names[] = {own_name()};
    list(1, names);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    hand_pass(s, 0);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    stop();
}

/* Nobody can tell what was made: the end of the session removes it. */
static void leave_an_orphan(enum store_rc rc, int code)
{
    start_entering();
    lose_create();
    ANSWER(STORE_LIST, "/root/l", .rc = rc);
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, code);
    CHECK(!fake_is_asked(STORE_GET, "/root/l"));
    CHECK_INT(s->id, FAKE_SESSION_ID);
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
}

TEST_CASE(replaces_the_session_for_an_orphan)
{
    leave_an_orphan(STORE_BAD, ZKL_EPROTO);
    stop();

    leave_an_orphan(STORE_NOAUTH, ZKL_EACCES);
    hand_leave(&a);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID + 1, FAKE_TIMEOUT_MS);
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_NOAUTH);
    hand_pass(s, 0);
    CHECK_INT(s->id, FAKE_SESSION_ID + 1); /* once is enough */
    stop();
}

static struct acquisition holder; /* while it holds the session is kept */

static void leave_an_orphan_beside_a_holder(void)
{
    start();
    hand_stand_alone(s);
    hand_hold(&holder, s);
    hand_enter(&a, s, ZKL_FOREVER);
    lose_create();
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_NOAUTH);
    CHECK(is_logged("/root/l: cannot list it, and a node of ours may be there"));
    CHECK_INT(a.error.code, ZKL_EACCES);
    CHECK_INT(s->orphans, 1);
    hand_logged[0] = '\0';
}

static void check_looked_for_after(int64_t ms)
{
    hand_pass_proved(s, ms - 1);
    CHECK(!fake_is_asked(STORE_SET, "/root/l"));
    hand_pass_proved(s, 1);
    CHECK(fake_is_asked(STORE_SET, "/root/l"));
}

/* Then there is no reason to replace the session any more. */
TEST_CASE(finds_an_orphan)
{
    leave_an_orphan_beside_a_holder();
    check_looked_for_after(500);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_BAD);
    check_looked_for_after(1000);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    CHECK_INT(s->orphans, 1);
    CHECK(!is_logged("a node of ours may be there"));
    char *names[] = {own_name()};
    list(1, names);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(s->orphans, 0);
    CHECK_INT(contenders_of(s)->drivers.list.length, 1);
    hand_leave(&holder);
    hand_pass_proved(s, 1000);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    stop();
}

TEST_CASE(replaces_the_session_when_nothing_is_held_any_more)
{
    leave_an_orphan_beside_a_holder();
    hand_pass_proved(s, 100);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    hand_leave(&holder);
    hand_pass(s, 0);
    CHECK_INT(s->id, 0);
    CHECK_INT(s->orphans, 0);
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    stop();
}

/* The end of a node that was given up is no loss of the next. */
TEST_CASE(forgets_the_node_given_up)
{
    start_entering();
    lose_create();
    char *names[] = {own_name()};
    list(1, names);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 77);
    list(0, NULL); /* it is gone, or this server lags behind */
    char *old = g_strdup(a.node);
    CHECK(fake_is_asked(STORE_DELETE, old));
    created(9);
    names[0] = own_name();
    list(1, names);
    zkl_session_dispatch(s);
    REQUIRE(a.grant != NULL);
    fake_fire(old, STORE_FIRED_GONE);
    CHECK_INT(zkl_grant_state(a.grant), ZKL_HELD);
    g_free(old);
    stop();
}

/* ---- hints in a directory's data, by which the head is known without a list ---- */

#define DIRECTORY "/root/l"
#define FIRST "_c_x-lock-0000000001"
#define SECOND "_c_y-lock-0000000002"

/* Two children are a long queue. */
static void start_long(void)
{
    contender_long_queue = 2;
    s = hand_session();
}

static void stop_long(void)
{
    hand_leave(&a);
    hand_close(s);
    contender_long_queue = LONG_QUEUE;
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
    start_long();
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
    stop_long();
}

TEST_CASE(goes_by_no_others)
{
    static const char *const data[] = {"", "zkl head 1 " FIRST, "zkl head 1 " SECOND "1", SECOND,
                                       "17\nproclaimed"};
    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        start_long();
        lose_predecessor();
        answer_hint(data[i], 4, 9);
        answer_own();
        CHECK(a.grant == NULL);
        CHECK(fake_is_asked(STORE_LIST, DIRECTORY));
        answer_alone((int)strlen(data[i]), 4);
        CHECK(a.grant != NULL);
        CHECK_INT(fake_count(STORE_SET, DIRECTORY), i < 3);
        stop_long();
    }
}

/* Nobody has read whose data they are. */
TEST_CASE(overwrites_nothing_unread)
{
    for (int length = 0; length < 2; length++) {
        start_long();
        hand_enter(&a, s, ZKL_FOREVER);
        answer_create();
        answer_alone(length, 3);
        REQUIRE(a.grant != NULL);
        CHECK_INT(fake_count(STORE_SET, DIRECTORY), length == 0);
        if (length == 0)
            check_hint(3);
        stop_long();
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
TEST_CASE(hint_is_refused)
{
    static const struct {
        enum store_rc rc;
        bool again;
    } rows[] = {
        {STORE_OK, true},      {STORE_BADVERSION, true}, {STORE_NONODE, true},
        {STORE_UNKNOWN, true}, {STORE_NOAUTH, false},    {STORE_BAD, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start_long();
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
        stop_long();
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

    start_long();
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
    stop_long();
}

/* ---- children of other layouts, and in the styles of its peers ---- */

#define UUID "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
#define OUR_UUID "1b4e28ba-2fa1-81d2-883f-0016d3cca427"
#define HEX "1b4e28ba2fa141d2883f0016d3cca427"

/* Enters at that path below the chroot, and is answered number 7. */
static void enter_at(const char *path, zkl_peer peer)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    s = hand_session_logging(ZKL_LOG_WARN);
    a = (struct acquisition){.calls = 0};
    o.peer = peer;
    REQUIRE(zkl_mutex_new(&a.mutex, s, path, &o) == 0);
    REQUIRE(zkl_mutex_lock_async(a.mutex, ZKL_FOREVER, hand_acquired, &a, &a.op) == 0);
    a.node = fake_created_name("/root/", 7);
    REQUIRE(a.node != NULL);
    ANSWER(STORE_CREATE, "/root/", .rc = STORE_OK, .path = a.node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
}

static void list_beside(const char *other)
{
    char *copy = g_strdup(other);
    char *both[] = {strrchr(a.node, '/') + 1, copy};

    ANSWER(STORE_LIST, "/root/", .rc = STORE_OK, .names = both, .count = 2);
    zkl_session_dispatch(s);
    g_free(copy);
}

/* The caller hears which child it is, and where, by its own name for the path. */
TEST_CASE(refused_for_another_layout)
{
    static const char node[] = "_c_" UUID "-__WRIT__0000000003";

    enter_at("/l", ZKL_PEER_CURATOR);
    list_beside(node);
    CHECK_INT(a.calls, 1);
    CHECK(a.grant == NULL);
    CHECK_INT(a.error.code, ZKL_ELAYOUT);
    CHECK_STR(a.error.path, "/l");
    CHECK_STR(a.error.text, "/l: \"_c_" UUID "-__WRIT__0000000003\" is of a read-write lock: "
                            "use one of that kind, or another path");
    CHECK_INT(fake_count(STORE_DELETE, a.node), 1);
    CHECK_INT(contenders_of(s)->drivers.list.length, 0);
    CHECK(g_str_has_suffix(hand_logged, "its recipe does not wait for the contenders here; give it "
                                        "another path; "));
    stop();
}

/* A long path is cut, not the child. */
TEST_CASE(refused_at_a_long_path)
{
    char path[301];

    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    enter_at(path, ZKL_PEER_CURATOR);
    list_beside("_c_" UUID "-latch-0000000003");
    CHECK_INT(a.error.code, ZKL_ELAYOUT);
    CHECK(g_str_has_prefix(a.error.text, "/pppp"));
    CHECK(g_str_has_suffix(a.error.text, "ppp: \"_c_" UUID "-latch-0000000003\" is of a latch's "
                                         "election: use one of that kind, or another path"));
    stop();
}

/* The longest name there may be, with what a terminal would obey. */
TEST_CASE(refused_for_a_strange_name)
{
    char name[600];

    memset(name, '\x1b', sizeof name - 1);
    g_strlcpy(name + 400, "latch-0000000003", sizeof name - 400);
    enter_at("/l", ZKL_PEER_CURATOR);
    list_beside(name);
    CHECK_INT(a.error.code, ZKL_ELAYOUT);
    CHECK(strchr(a.error.text, '\x1b') == NULL);
    CHECK(strstr(a.error.text, "is of a latch's election") != NULL);
    stop();
}

/* A contender that comes behind, and would not wait, is worth a warning; one that waits is not. */
TEST_CASE(warned)
{
    static const struct {
        const char *name;
        zkl_peer peer;
        bool warned;
    } rows[] = {
        {"latch-0000000009", ZKL_PEER_CURATOR, true},
        {"__READ__0000000009", ZKL_PEER_CURATOR, true},
        {"__WRIT__0000000009", ZKL_PEER_CURATOR, true},
        {"_c_" OUR_UUID "-__WRIT__0000000009", ZKL_PEER_CURATOR, false},
        {"_c_" UUID "-lock-0000000009", ZKL_PEER_KAZOO, false},
        {"lease-0000000009", ZKL_PEER_KAZOO, true},
        {"sh0000000009", ZKL_PEER_CURATOR, true},
        {"ex0000000009", ZKL_PEER_CURATOR, false},
        {"x-5-0000000009", ZKL_PEER_CURATOR, false},
        {"x-5-0000000009", ZKL_PEER_KAZOO, true},
        {"x-0123456789abcdef-0000000009", ZKL_PEER_CURATOR, false},
        {"lock-0000000009", ZKL_PEER_CURATOR, false},
        {"lock-0000000009", ZKL_PEER_KAZOO, false},
        {"junk", ZKL_PEER_CURATOR, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        enter_at("/l", rows[i].peer);
        list_beside(rows[i].name);
        CHECK(a.grant != NULL);
        char *due = layout_incompatible(rows[i].name);
        if (!CHECK_INT(strstr(hand_logged, due) != NULL, rows[i].warned) ||
            !CHECK_INT(hand_logged[0] != '\0', rows[i].warned))
            runner_fail(__FILE__, __LINE__, "\"%s\", %d: %s", rows[i].name, rows[i].peer,
                        hand_logged);
        g_free(due);
        stop();
    }
}

/* Apache's, which do not wait for kazoo's names, are waited for by those that they wait for. */
TEST_CASE(apaches)
{
    static const char *const nodes[] = {"x-72057594037927936-0000000003",
                                        "x--72057594037927936-0000000003",
                                        "x-0100f6a2c3d4e5b7-0000000003"};

    for (size_t i = 0; i < G_N_ELEMENTS(nodes); i++) {
        char *path = g_strconcat("/root/l/", nodes[i], NULL);
        enter_at("/l", ZKL_PEER_KAZOO);
        list_beside(nodes[i]);
        CHECK_INT(a.error.code, ZKL_ELAYOUT);
        stop();
        enter_at("/l", ZKL_PEER_CURATOR);
        list_beside(nodes[i]);
        CHECK_INT(a.calls, 0);
        CHECK(fake_request(STORE_GET, path).watch);
        stop();
        g_free(path);
    }
}

/* The same of a lock at several paths. */
TEST_CASE(apaches_at_several_paths)
{
    static const char *const paths[] = {"/l"};
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    for (o.peer = ZKL_PEER_CURATOR; o.peer <= ZKL_PEER_KAZOO; o.peer++) {
        zkl_multilock *l;
        s = hand_session();
        a = (struct acquisition){.calls = 0};
        REQUIRE(zkl_multilock_new(&l, s, paths, 1, &o) == 0);
        REQUIRE(zkl_multilock_lock_async(l, ZKL_FOREVER, hand_acquired, &a, &a.op) == 0);
        a.node = fake_created_name("/root/", 7);
        REQUIRE(a.node != NULL);
        ANSWER(STORE_CREATE, "/root/", .rc = STORE_OK, .path = a.node, .czxid = 5,
               .ephemeral_owner = FAKE_SESSION_ID);
        list_beside("x-5-0000000003");
        CHECK_INT(a.error.code, o.peer == ZKL_PEER_KAZOO ? ZKL_ELAYOUT : 0);
        CHECK_INT(fake_is_asked(STORE_GET, "/root/l/x-5-0000000003"), o.peer == ZKL_PEER_CURATOR);
        zkl_multilock_free(l);
        stop();
    }
}

/* The answer to the create is lost. The contender finds its node of kazoo's style by the id, and
 * takes no node of kazoo's own for it. */
TEST_CASE(adopts_in_kazoos_style)
{
    static char theirs[] = HEX "__lock__0000000003", *names[2] = {theirs, NULL};

    enter_at("/l", ZKL_PEER_KAZOO);
    list_beside("junk");
    CHECK(g_regex_match_simple("^/root/l/[0-9a-f]{32}__lock__0000000007$", a.node, 0, 0));
    zkl_grant_release(a.grant);
    a.grant = NULL;
    REQUIRE(zkl_mutex_lock_async(a.mutex, ZKL_FOREVER, hand_acquired, &a, NULL) == 0);
    g_free(a.node);
    a.node = fake_created_name("/root/l", 9);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    names[1] = strrchr(a.node, '/') + 1;
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = 2);
    CHECK_INT(fake_count(STORE_CREATE, "/root/l"), 0);
    ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID, .czxid = 77);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = 2);
    CHECK(fake_request(STORE_GET, "/root/l/" HEX "__lock__0000000003").watch);
    CHECK(!fake_is_asked(STORE_DELETE, "/root/l/" HEX));
    stop();
}

/* ---- given up, or refused, at an odd time ---- */

/* The create's outcome is unknown, the list that would tell is cut off too, and the caller gives
 * up: the list must still come after the reconnect, or the node stands as long as the session. */
TEST_CASE(given_up_while_settling)
{
    start_entering();
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    ANSWER(STORE_LIST, "/root/l",
           .rc = STORE_OK); /* the one behind the create: it proves nothing */
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_UNKNOWN);
    zkl_op_cancel(a.op);
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, ZKL_ECANCELED);
    fake_event(STORE_EV_UP);
    char *names[] = {own_name()};
    list(1, names);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    stop();
}

/* What was never sent needs no settling, and is not sent later either. */
TEST_CASE(given_up_before_it_is_sent)
{
    start();
    fake_event(STORE_EV_DOWN);
    hand_enter(&a, s, ZKL_FOREVER);
    zkl_op_cancel(a.op);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_CREATE, "/root/l"));
    CHECK(!fake_is_asked(STORE_LIST, "/root/l"));
    stop();
}

/* A list that the store refuses itself does not wait for the create before it: the attempt must end
 * all the same, and the node that is made must go. */
TEST_CASE(list_is_refused_before_the_create)
{
    start_entering();
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_BAD);
    zkl_session_dispatch(s);
    CHECK_INT(a.error.code, ZKL_EPROTO);
    created(7);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    stop();
}
