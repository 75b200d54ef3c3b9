/* Creates on servers that do not know all operations: what is sent, in which order, and what the
 * caller is told. */
#include "lib/session/request.h"

#include "by_hand.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>

TEST_SUITE(creating);

#define MADE "/l/x-0000000003"

static zkl_session *s;
static atomic_int warnings;

struct heard {
    int calls;
    struct store_reply reply;
    char path[64];
};

static void on_done(struct request *r, const struct store_reply *reply)
{
    struct heard *heard = r->context;

    heard->calls++;
    heard->reply = *reply;
    g_strlcpy(heard->path, reply->path ? reply->path : "", sizeof heard->path);
}

static void count_warning(const zkl_log_record *record, void *data)
{
    (void)data;
    if (record->level == ZKL_LOG_WARN && strstr(record->text, "the servers "))
        atomic_fetch_add(&warnings, 1);
}

static void begin(enum create_form form)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    o.log = count_warning;
    atomic_store(&warnings, 0);
    s = hand_session_with(&o);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    s->forms.form = form;
}

static void end(int warned)
{
    hand_pass(s, 0);
    zkl_session_dispatch(s);
    hand_close(s);
    CHECK_INT(atomic_load(&warnings), warned);
}

static void create(const char *path, enum store_mode mode, bool once, struct heard *heard)
{
    struct request *r = request_new(STORE_CREATE, g_strdup(path), on_done, heard);

    *heard = (struct heard){.calls = 0};
    r->once = once;
    r->what.mode = mode;
    r->what.data = g_strdup("me");
    r->what.length = 2;
    request_send(s, r);
}

static void send(enum store_kind kind, const char *path, struct heard *heard)
{
    *heard = (struct heard){.calls = 0};
    request_send(s, request_new(kind, g_strdup(path), on_done, heard));
}

static void check_sent(const char *path, enum store_mode mode, bool plain)
{
    const struct store_request what = fake_request(STORE_CREATE, path);

    REQUIRE(what.path != NULL);
    CHECK_INT(what.mode, mode);
    CHECK_INT(what.plain, plain);
    CHECK_STR(what.data, "me");
}

static void check_heard(const struct heard *heard, int calls, enum store_rc rc)
{
    CHECK_INT(heard->calls, calls);
    CHECK_INT(heard->reply.rc, rc);
}

/* The answer of a plain create has nothing but the path; the token comes with the stat, and only if
 * the node is ours. The list behind shows the node, so it is not answered before. */
TEST_CASE(stat_behind_it)
{
    struct heard node, list;

    begin(FORM_PLAIN);
    create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &node);
    send(STORE_LIST, "/l", &list);
    check_sent("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true);
    ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_OK, .path = MADE);
    CHECK_INT(node.calls, 0);
    CHECK(!fake_is_asked(STORE_LIST, "/l"));
    ANSWER(STORE_STAT, MADE, .rc = STORE_OK, .czxid = 9, .mzxid = 12, .version = 3, .children = 1,
           .ephemeral_owner = FAKE_SESSION_ID);
    check_heard(&node, 1, STORE_OK);
    CHECK_STR(node.path, MADE);
    CHECK_INT(node.reply.czxid, 9);
    CHECK_INT(node.reply.mzxid, 9); /* as it was created: whatever has become of it */
    CHECK_INT(node.reply.version, 0);
    CHECK_INT(node.reply.children, 0);
    CHECK_INT(node.reply.data_length, 2);
    CHECK_INT(node.reply.ephemeral_owner, FAKE_SESSION_ID);
    CHECK(fake_is_asked(STORE_LIST, "/l"));
    end(0);
}

TEST_CASE(refused_plainly)
{
    struct heard node, list;

    begin(FORM_PLAIN);
    create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &node);
    send(STORE_LIST, "/l", &list);
    ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_NONODE);
    check_heard(&node, 1, STORE_NONODE);
    CHECK(fake_is_asked(STORE_LIST, "/l"));
    create("/l/x-", STORE_EPHEMERAL, true, &node);
    ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_UNIMPLEMENTED);
    check_heard(&node, 1, STORE_BAD);
    end(0);
}

/* It was done, and what stands there is not it: who asked finds out, or it is done again. */
TEST_CASE(stat_of_no_node_of_ours)
{
    static const struct store_reply rows[] = {
        {.rc = STORE_NONODE},
        {.rc = STORE_UNKNOWN},
        {.rc = STORE_NOAUTH},
        {.rc = STORE_OK, .czxid = 9, .ephemeral_owner = FAKE_SESSION_ID + 1},
        {.rc = STORE_OK, .czxid = 9, .ephemeral_owner = 0},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct heard once, again, behind;
        begin(FORM_PLAIN);
        create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &once);
        ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_OK, .path = MADE);
        CHECK(fake_answer(STORE_STAT, MADE, rows[i]));
        check_heard(&once, 1, STORE_UNKNOWN);
        create("/l/y", STORE_EPHEMERAL, false, &again);
        ANSWER(STORE_CREATE, "/l/y", .rc = STORE_OK, .path = "/l/y");
        CHECK(fake_answer(STORE_STAT, "/l/y", rows[i]));
        CHECK_INT(again.calls, 0);
        hand_pass(s, 100);
        send(STORE_LIST, "/l", &behind);
        check_sent("/l/y", STORE_EPHEMERAL, true);
        CHECK(!fake_is_asked(STORE_LIST, "/l"));
        ANSWER(STORE_CREATE, "/l/y", .rc = STORE_EXISTS);
        check_heard(&again, 1, STORE_EXISTS);
        CHECK(fake_is_asked(STORE_LIST, "/l"));
        end(0);
    }
}

/* The connection goes between the two, or the client takes no more. */
TEST_CASE(no_stat)
{
    struct heard node, list;

    begin(FORM_PLAIN);
    create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &node);
    fake_busy(true);
    ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_OK, .path = MADE);
    fake_busy(false);
    check_heard(&node, 1, STORE_UNKNOWN);
    send(STORE_LIST, "/l", &list);
    CHECK(fake_is_asked(STORE_LIST, "/l"));
    create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &node);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_UNKNOWN);
    check_heard(&node, 1, STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    send(STORE_GET, "/l", &list);
    CHECK(fake_is_asked(STORE_GET, "/l"));
    end(0);
}

/* Nobody asks for the token of a persistent node, and nothing would prove that it is ours. */
TEST_CASE(persistent_has_none)
{
    struct heard node, behind;

    begin(FORM_PLAIN);
    create("/d", STORE_CONTAINER, false, &node);
    send(STORE_LIST, "/d", &behind);
    check_sent("/d", STORE_PERSISTENT, true);
    CHECK(fake_is_asked(STORE_LIST, "/d"));
    ANSWER(STORE_CREATE, "/d", .rc = STORE_OK, .path = "/d");
    check_heard(&node, 1, STORE_OK);
    CHECK(!fake_is_asked(STORE_STAT, "/d"));
    end(0);
}

/* Both parents are under way when the first is refused. */
TEST_CASE(containers_unknown)
{
    struct heard one, two, node;

    begin(FORM_CONTAINERS);
    create("/d", STORE_CONTAINER, false, &one);
    create("/d/e", STORE_CONTAINER, false, &two);
    check_sent("/d/e", STORE_CONTAINER, false);
    ANSWER(STORE_CREATE, "/d", .rc = STORE_UNIMPLEMENTED);
    ANSWER(STORE_CREATE, "/d/e", .rc = STORE_UNIMPLEMENTED);
    hand_pass(s, 100);
    check_sent("/d", STORE_PERSISTENT, false);
    check_sent("/d/e", STORE_PERSISTENT, false);
    CHECK(fake_place(STORE_CREATE, "/d/e") > fake_place(STORE_CREATE, "/d"));
    CHECK_INT(one.calls + two.calls, 0);
    create("/n", STORE_EPHEMERAL, false, &node);
    check_sent("/n", STORE_EPHEMERAL, false);
    end(1);
}

/* One that may rely on the order of what is behind it finds out itself that it was not done. */
TEST_CASE(create2_unknown)
{
    struct heard once, again;

    begin(FORM_CONTAINERS);
    create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &once);
    create("/l/y", STORE_EPHEMERAL, false, &again);
    check_sent("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, false);
    ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_UNIMPLEMENTED);
    check_heard(&once, 1, STORE_UNKNOWN);
    ANSWER(STORE_CREATE, "/l/y", .rc = STORE_UNIMPLEMENTED);
    CHECK_INT(again.calls, 0);
    hand_pass(s, 100);
    check_sent("/l/y", STORE_EPHEMERAL, true);
    end(1);
}

static void serve(void)
{
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_NONODE);
}

static void lose(const char *path)
{
    fake_event(STORE_EV_DOWN);
    fake_answer(STORE_GET, "/zookeeper/config", (struct store_reply){.rc = STORE_UNKNOWN});
    ANSWER(STORE_CREATE, path, .rc = STORE_UNKNOWN);
}

/* The session goes on elsewhere, and knows what it knew. The first hang-up takes the answers to
 * other requests with it; then the create waits for one, and what is behind the create as well. */
TEST_CASE(hung_up_on)
{
    struct heard node, list;

    begin(FORM_CONTAINERS);
    create("/l/y", STORE_EPHEMERAL, false, &node);
    send(STORE_LIST, "/l", &list);
    for (int i = 0; i <= CREATE_LOST_MAX; i++) {
        check_sent("/l/y", STORE_EPHEMERAL, false);
        CHECK(fake_is_asked(STORE_LIST, "/l"));
        lose("/l/y");
        ANSWER(STORE_LIST, "/l", .rc = STORE_UNKNOWN);
        fake_event(STORE_EV_UP);
        if (i < CREATE_LOST_MAX)
            serve();
    }
    check_sent("/l/y", STORE_EPHEMERAL, true);
    end(1);
}

/* What was answered once is known, however many connections end. */
TEST_CASE(lost_and_answered)
{
    struct heard node;

    begin(FORM_CONTAINERS);
    create("/l/y", STORE_EPHEMERAL, true, &node);
    lose("/l/y");
    fake_event(STORE_EV_UP);
    create("/l/y", STORE_EPHEMERAL, true, &node);
    serve();
    ANSWER(STORE_CREATE, "/l/y", .rc = STORE_EXISTS);
    create("/l/z", STORE_EPHEMERAL, false, &node);
    for (int i = 0; i <= CREATE_LOST_MAX; i++) {
        check_sent("/l/z", STORE_EPHEMERAL, false);
        lose("/l/z");
        fake_event(STORE_EV_UP);
    }
    end(0);
}

/* A server that is busy answers later, on the same connection. */
TEST_CASE(lost_on_a_standing_connection)
{
    struct heard node;

    begin(FORM_CONTAINERS);
    create("/l/y", STORE_EPHEMERAL, false, &node);
    serve();
    ANSWER(STORE_CREATE, "/l/y", .rc = STORE_UNKNOWN);
    hand_pass(s, 100);
    check_sent("/l/y", STORE_EPHEMERAL, false);
    CHECK_INT(s->forms.ops[CREATE_STAT].lost, 0);
    end(0);
}

/* Our own doing. */
TEST_CASE(sessions_end)
{
    struct heard node;

    begin(FORM_CONTAINERS);
    for (int i = 0; i <= CREATE_LOST_MAX; i++) {
        serve();
        create("/l/y", STORE_EPHEMERAL, false, &node);
        check_sent("/l/y", STORE_EPHEMERAL, false);
        fake_event(STORE_EV_EXPIRED);
        check_heard(&node, 1, STORE_GONE);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
    }
    create("/l/y", STORE_EPHEMERAL, false, &node);
    check_sent("/l/y", STORE_EPHEMERAL, false);
    end(0);
}
