/* What the driver asks of the store for one attempt, and what it does with a grant. */
#include "lib/contender/contender.h"

#include "by_hand.h"
#include "runner.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

TEST_SUITE(contender);

static zkl_session *s;
static struct acquisition a;
static char lines[512]; /* of the log */
static int lost;

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_strlcat(lines, record->text, sizeof lines);
    g_strlcat(lines, "\n", sizeof lines);
}

static void start(void)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;

    lines[0] = '\0';
    lost = 0;
    options.log = on_log;
    options.log_level = ZKL_LOG_INFO;
    s = hand_session_with(&options);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

static void stop(void)
{
    hand_leave(&a);
    hand_close(s);
}

static bool is_logged(const char *text)
{
    zkl_session_dispatch(s);
    return strstr(lines, text) != NULL;
}

static void list(int count, char *const *names)
{
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = count);
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
    start();
    hand_enter(&a, s, ZKL_FOREVER);
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

/* The directory's answer counts; who could not make a parent is blamed if that is why. */
TEST_CASE(cannot_make_its_directory)
{
    static const struct {
        enum store_rc parent, directory;
        int code;
        const char *path, *text;
    } rows[] = {
        {STORE_NOAUTH, STORE_NONODE, ZKL_EACCES, "/root", "create a child of /: "},
        {STORE_EXISTS, STORE_NOAUTH, ZKL_EACCES, "/l", "create a child of /root: "},
        {STORE_NOCHILDREN, STORE_NONODE, ZKL_EPATH, "/root", "ephemeral"},
        {STORE_NOAUTH, STORE_OK, 0, NULL, ""}, /* somebody else made it */
        {STORE_NOAUTH, STORE_EXISTS, 0, NULL, ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_enter(&a, s, ZKL_FOREVER);
        ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NONODE);
        ANSWER(STORE_CREATE, "/root", .rc = rows[i].parent);
        ANSWER(STORE_CREATE, "/root/l", .rc = rows[i].directory);
        zkl_session_dispatch(s);
        CHECK_INT(a.error.code, rows[i].code);
        CHECK_INT(fake_count(STORE_CREATE, "/root/l/_c_"), rows[i].code == 0);
        CHECK(strstr(a.error.text, rows[i].text) != NULL);
        if (rows[i].path && !CHECK(strstr(a.error.path, rows[i].path) != NULL))
            runner_fail(__FILE__, __LINE__, "%s", a.error.path);
        stop();
    }
}

/* What stopped an earlier try to make the directory is not to blame for what comes later. */
TEST_CASE(blames_nobody_of_before)
{
    for (int again = 0; again < 2; again++) {
        start();
        hand_enter(&a, s, ZKL_FOREVER);
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

TEST_CASE(told_why)
{
    static const struct {
        enum store_rc rc;
        int code;
        const char *text;
    } rows[] = {
        {STORE_NOAUTH, ZKL_EACCES,
         "/l: the server refused to create a child of it: the permission create (c) is missing"},
        {STORE_NOCHILDREN, ZKL_EPATH, "it is below an ephemeral node"},
        {STORE_BAD, ZKL_EPROTO, "/l: "},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_enter(&a, s, ZKL_FOREVER);
        ANSWER(STORE_CREATE, "/root/l", .rc = rows[i].rc);
        zkl_session_dispatch(s);
        CHECK_INT(a.error.code, rows[i].code);
        CHECK_STR(a.error.path, "/l");
        CHECK(strstr(a.error.text, rows[i].text) != NULL);
        CHECK((strstr(a.error.text, "ephemeral") != NULL) == (rows[i].rc == STORE_NOCHILDREN));
        stop();
    }
}

/* ---- waiting ---- */

TEST_CASE(waits_for_its_predecessor)
{
    char first[] = "_c_x-lock-0000000001", second[] = "_c_y-lock-0000000002", foreign[] = "junk";

    start();
    hand_enter(&a, s, ZKL_FOREVER);
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
    lines[0] = '\0';
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

/* A contender right behind the head watches its own node first, and needs no other proof than the
 * silence of that watch, unless the connection was another one then. */
TEST_CASE(watches_its_own_node)
{
    for (int again = 0; again < 2; again++) {
        start();
        hand_enter(&a, s, ZKL_FOREVER);
        hand_answer_entry(&a, 3);
        CHECK(fake_is_watching(STORE_GET, a.node));
        CHECK(fake_place(STORE_GET, a.node) < fake_place(STORE_GET, "/root/l/_c_other"));
        ANSWER(STORE_GET, a.node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
        ANSWER(STORE_GET, "/root/l/_c_other", .rc = STORE_OK);
        if (again) {
            fake_event(STORE_EV_DOWN);
            fake_event(STORE_EV_UP);
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
    start();
    hand_enter(&a, s, ZKL_FOREVER);
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
    CHECK_INT(contenders_of(s)->list.length, 0);
    stop();
}

/* What was logged of very many directories is forgotten, and logged once more. */
TEST_CASE(logs_of_many_directories)
{
    start();
    for (int i = 0; i < 1000; i++)
        g_hash_table_add(s->logged, g_strdup_printf("foreign /%d", i));
    hand_enter(&a, s, ZKL_FOREVER);
    char *names[] = {strrchr(a.node, '/') + 1, "no-contender"};
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK, .path = a.node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = 2);
    CHECK_INT(g_hash_table_size(s->logged), 1);
    zkl_session_dispatch(s); /* the grant comes */
    stop();
}

TEST_CASE(too_much_is_watched)
{
    start();
    hand_enter(&a, s, ZKL_FOREVER);
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
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    fake_busy(true);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_OK, .path = a.node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID - 1);
    fake_busy(false);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    zkl_op_cancel(a.op);
    CHECK_INT(contenders_of(s)->list.length, 0);
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

    start();
    hand_enter(&a, s, ZKL_FOREVER);
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

/* Any definite answer to the write will do; another leaves open what a list would show. */
TEST_CASE(asks_the_quorum_before_it_lists)
{
    static const struct {
        enum store_rc rc;
        bool passed;
    } rows[] = {{STORE_NONODE, true},
                {STORE_BADVERSION, true},
                {STORE_NOAUTH, true},
                {STORE_OK, true},
                {STORE_BAD, false}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        start();
        hand_enter(&a, s, ZKL_FOREVER);
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
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    char *later = fake_created_name("/root/l", 9);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
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
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    char *odd = g_strdup_printf("%.36s__lock__0000000004", own_name() + strlen("_c_"));
    char *node = g_strconcat("/root/l/", odd, NULL);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
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
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    zkl_op_cancel(a.op);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    char *names[] = {own_name()};
    list(1, names);
    CHECK(fake_is_asked(STORE_DELETE, a.node));
    CHECK_INT(contenders_of(s)->list.length, 0);
    hand_pass(s, 0);
    CHECK_INT(s->id, FAKE_SESSION_ID);
    stop();
}

/* Nobody can tell what was made: the end of the session removes it. */
static void leave_an_orphan(enum store_rc rc, int code)
{
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
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
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_NOAUTH);
    CHECK(is_logged("/root/l: cannot list it, and a node of ours may be there"));
    CHECK_INT(a.error.code, ZKL_EACCES);
    CHECK_INT(s->orphans, 1);
    lines[0] = '\0';
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
    CHECK_INT(contenders_of(s)->list.length, 1);
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
    CHECK_INT(contenders_of(s)->list.length, 0);
    stop();
}

/* The end of a node that was given up is no loss of the next. */
TEST_CASE(forgets_the_node_given_up)
{
    start();
    hand_enter(&a, s, ZKL_FOREVER);
    ANSWER(STORE_CREATE, "/root/l", .rc = STORE_UNKNOWN);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
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
