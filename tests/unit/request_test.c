/* Requests that survive disconnections, deletes that survive refusals, and creates in each form. */
#include "lib/session/request.h"

#include "by_hand.h"
#include "runner.h"

#include <stdatomic.h>
#include <string.h>

TEST_SUITE(request);

static zkl_session *s;

struct heard {
    int calls;
    struct store_reply reply;
    char path[64]; /* of the reply */
    bool again;    /* asks the same again, when told that the session is over */
};

static void on_done(struct request *r, const struct store_reply *reply)
{
    struct heard *heard = r->context;

    heard->calls++;
    heard->reply = *reply;
    g_strlcpy(heard->path, reply->path ? reply->path : "", sizeof heard->path);
    if (heard->again && reply->rc == STORE_GONE)
        request_send(s, request_new(r->what.kind, g_strdup(r->what.path), on_done, heard));
}

static struct request *send(enum store_kind kind, const char *path, bool once, struct heard *heard)
{
    struct request *r = request_new(kind, g_strdup(path), on_done, heard);

    *heard = (struct heard){.again = heard->again};
    r->once = once;
    request_send(s, r);
    return r;
}

static void check_heard(const struct heard *heard, int calls, enum store_rc rc)
{
    CHECK_INT(heard->calls, calls);
    CHECK_INT(heard->reply.rc, rc);
}

TEST_CASE(what_each_proves)
{
    static const struct {
        enum store_kind kind;
        bool writes;
    } rows[] = {{STORE_CREATE, true}, {STORE_DELETE, true},  {STORE_SET, true},
                {STORE_MULTI, true},  {STORE_GET, false},    {STORE_LIST, false},
                {STORE_SYNC, false},  {STORE_UNWATCH, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct request *r = request_new(rows[i].kind, g_strdup("/a"), on_done, NULL);
        CHECK_INT(r->proves, rows[i].writes ? PROOF_WRITE : PROOF_ANCHOR);
        request_free(r);
    }
}

TEST_CASE(answered)
{
    struct heard heard = {0};

    s = hand_session();
    send(STORE_GET, "/a", false, &heard);
    ANSWER(STORE_GET, "/a", .rc = STORE_NONODE);
    check_heard(&heard, 1, STORE_NONODE);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    hand_close(s);
}

/* The bytes of paths and data, with those of each change. */
TEST_CASE(bytes_are_counted)
{
    static const struct store_change changes[] = {
        {.kind = STORE_SET, .path = "/a/bc", .data = "1234567", .length = 7, .version = -1},
        {.kind = STORE_CREATE, .path = "/a/d", .length = -1},
        {.kind = STORE_DELETE, .path = "/a/efg", .version = -1}};
    struct heard heard = {0};

    s = hand_session();
    struct request *r = request_new(STORE_MULTI, g_strdup("/a"), on_done, &heard);
    r->what.changes = changes;
    r->what.count = G_N_ELEMENTS(changes);
    const uint64_t before = s->stats.request_bytes;
    request_send(s, r);
    CHECK_INT(s->stats.request_bytes - before, 2 + 5 + 7 + 4 + 6);
    ANSWER(STORE_MULTI, "/a", .rc = STORE_OK);
    check_heard(&heard, 1, STORE_OK);
    hand_close(s);
}

TEST_CASE(sent_in_order_when_there_is_a_connection)
{
    struct heard a = {0}, b = {0}, c = {0};

    s = hand_session();
    fake_event(STORE_EV_DOWN);
    send(STORE_GET, "/a", false, &a);
    send(STORE_GET, "/b", false, &b);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    fake_event(STORE_EV_UP);
    send(STORE_GET, "/c", false, &c);
    CHECK(fake_place(STORE_GET, "/a") >= 0);
    CHECK(fake_place(STORE_GET, "/a") < fake_place(STORE_GET, "/b"));
    CHECK(fake_place(STORE_GET, "/b") < fake_place(STORE_GET, "/c"));
    ANSWER(STORE_GET, "/b", .rc = STORE_OK);
    check_heard(&b, 1, STORE_OK);
    check_heard(&a, 0, STORE_OK);
    hand_close(s);
    check_heard(&a, 1, STORE_GONE);
    check_heard(&c, 1, STORE_GONE);
}

TEST_CASE(repeated_until_it_is_answered)
{
    struct heard heard = {0}, behind = {0};

    s = hand_session();
    send(STORE_GET, "/a", false, &heard);
    ANSWER(STORE_GET, "/a", .rc = STORE_UNKNOWN);
    check_heard(&heard, 0, STORE_OK);
    send(STORE_GET, "/b", false, &behind); /* the order stays */
    CHECK(!fake_is_asked(STORE_GET, "/b"));
    hand_pass(s, 99);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    hand_pass(s, 1);
    CHECK(fake_place(STORE_GET, "/a") >= 0);
    CHECK(fake_place(STORE_GET, "/a") < fake_place(STORE_GET, "/b"));
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_GET, "/a", .rc = STORE_UNKNOWN);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    fake_event(STORE_EV_UP);
    ANSWER(STORE_GET, "/a", .rc = STORE_OK);
    check_heard(&heard, 1, STORE_OK);
    hand_close(s);
    check_heard(&heard, 1, STORE_OK);
}

/* The retry's time is that of the first that failed. */
/* By the server, instead of an answer. */
TEST_CASE(lost_with_each_connection)
{
    enum { SECONDS = 1000, TRIES_MOST = 400 };
    struct heard first = {0}, next = {0};
    int tries = 0;

    s = hand_session();
    send(STORE_GET, "/a", false, &first);
    for (int second = 0; second < SECONDS; second++) {
        if (fake_is_asked(STORE_GET, "/a")) {
            tries++;
            fake_event(STORE_EV_DOWN);
            ANSWER(STORE_GET, "/a", .rc = STORE_UNKNOWN);
            fake_event(STORE_EV_UP);
            CHECK(tries > 4 || fake_is_asked(STORE_GET, "/a"));
        }
        hand_pass(s, 1000);
    }
    CHECK(tries < TRIES_MOST);
    send(STORE_GET, "/b", false, &next);
    while (!fake_is_asked(STORE_GET, "/a"))
        hand_pass(s, 1000);
    ANSWER(STORE_GET, "/a", .rc = STORE_OK);
    check_heard(&first, 1, STORE_OK);
    ANSWER(STORE_GET, "/b", .rc = STORE_OK);
    check_heard(&next, 1, STORE_OK);
    hand_close(s);
}

TEST_CASE(retried_together)
{
    struct heard a = {0}, b = {0};

    s = hand_session();
    send(STORE_GET, "/a", false, &a);
    send(STORE_GET, "/b", false, &b);
    ANSWER(STORE_GET, "/a", .rc = STORE_UNKNOWN);
    hand_pass(s, 50);
    ANSWER(STORE_GET, "/b", .rc = STORE_UNKNOWN);
    hand_pass(s, 50);
    CHECK(fake_is_asked(STORE_GET, "/a"));
    CHECK(fake_is_asked(STORE_GET, "/b"));
    hand_close(s);
}

TEST_CASE(told_when_unknown_if_marked_once)
{
    struct heard heard = {0};

    s = hand_session();
    send(STORE_CREATE, "/a", true, &heard);
    ANSWER(STORE_CREATE, "/a", .rc = STORE_UNKNOWN);
    check_heard(&heard, 1, STORE_UNKNOWN);
    hand_pass(s, 1000);
    CHECK(!fake_is_asked(STORE_CREATE, "/a"));
    hand_close(s);
}

/* Connected, says the library, and then takes nothing. */
TEST_CASE(not_taken)
{
    struct heard a = {0}, b = {0};

    s = hand_session();
    fake_busy(true);
    send(STORE_GET, "/a", false, &a);
    send(STORE_GET, "/b", false, &b);
    hand_pass(s, 100);
    hand_pass(s, 50);
    fake_busy(false);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    hand_pass(s, 49);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    hand_pass(s, 1);
    CHECK(fake_place(STORE_GET, "/a") >= 0);
    CHECK(fake_place(STORE_GET, "/a") < fake_place(STORE_GET, "/b"));
    hand_close(s);
}

TEST_CASE(tried_once)
{
    struct heard heard = {0};

    s = hand_session();
    CHECK(request_try(s, request_new(STORE_GET, g_strdup("/a"), on_done, &heard)));
    CHECK(fake_is_asked(STORE_GET, "/a"));
    fake_event(STORE_EV_DOWN);
    CHECK(!request_try(s, request_new(STORE_GET, g_strdup("/b"), on_done, &heard)));
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_GET, "/b"));
    CHECK_INT(heard.calls, 0);
    hand_close(s);
    CHECK_INT(heard.calls, 1);
}

TEST_CASE(recalled_if_not_sent)
{
    struct heard a = {0}, b = {0};

    s = hand_session();
    request_recall(send(STORE_GET, "/a", false, &a));
    CHECK_INT(a.calls, 0);
    fake_event(STORE_EV_DOWN);
    request_recall(send(STORE_GET, "/b", false, &b));
    check_heard(&b, 1, STORE_BAD);
    fake_event(STORE_EV_UP);
    CHECK(!fake_is_asked(STORE_GET, "/b"));
    hand_close(s);
}

/* And what was parked and then sent is not parked. */
TEST_CASE(recalled_too_late)
{
    struct heard a = {0}, b = {0};

    s = hand_session();
    fake_event(STORE_EV_DOWN);
    struct request *r = send(STORE_GET, "/a", false, &a);
    fake_event(STORE_EV_UP);
    request_recall(r);
    CHECK_INT(a.calls, 0);
    fake_busy(true);
    r = send(STORE_GET, "/b", false, &b);
    hand_pass(s, 100);
    fake_busy(false);
    request_recall(r); /* tried in vain: still parked */
    check_heard(&b, 1, STORE_BAD);
    hand_close(s);
}

/* A caller that asks again at once means the session to come. */
TEST_CASE(over_with_the_session)
{
    struct heard once = {0}, again = {.again = true};

    s = hand_session();
    fake_event(STORE_EV_DOWN);
    send(STORE_GET, "/a", false, &once);
    send(STORE_GET, "/b", false, &again);
    fake_event(STORE_EV_EXPIRED);
    check_heard(&once, 1, STORE_GONE);
    check_heard(&again, 1, STORE_GONE);
    again.again = false;
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, FAKE_SESSION_ID + 1, FAKE_TIMEOUT_MS);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    CHECK(fake_is_asked(STORE_GET, "/b"));
    hand_close(s);
}

TEST_CASE(closing)
{
    struct heard heard = {0};

    s = hand_session();
    s->closing = true;
    send(STORE_GET, "/a", false, &heard);
    check_heard(&heard, 1, STORE_GONE);
    CHECK(!fake_is_asked(STORE_GET, "/a"));
    s->closing = false;
    hand_close(s);
}

/* ---- no more under way than a proof may wait for ---- */

enum { WINDOW = 1024, SOME = 10 };

TEST_CASE(many_small_ones)
{
    struct heard heard[WINDOW + SOME], proof = {0};
    char path[16];

    s = hand_session();
    for (int i = 0; i < WINDOW + SOME; i++) {
        g_snprintf(path, sizeof path, "/a/%05d", i);
        heard[i].again = false;
        send(STORE_GET, path, false, &heard[i]);
    }
    CHECK_INT(fake_count(STORE_GET, "/a"), WINDOW);
    CHECK(request_try(s, request_new(STORE_SET, g_strdup("/b"), on_done, &proof)));
    CHECK(fake_is_asked(STORE_SET, "/b"));
    for (int i = 0; i < SOME; i++) {
        g_snprintf(path, sizeof path, "/a/%05d", WINDOW + i);
        CHECK(!fake_is_asked(STORE_GET, path));
        ANSWER(STORE_GET, "/a", .rc = STORE_OK);
        CHECK(fake_is_asked(STORE_GET, path));
        check_heard(&heard[i], 1, STORE_OK);
    }
    ANSWER(STORE_GET, "/a", .rc = STORE_OK);
    CHECK_INT(fake_count(STORE_GET, "/a"), WINDOW - 1);
    hand_close(s);
    check_heard(&proof, 1, STORE_GONE);
    for (int i = 0; i < WINDOW + SOME; i++)
        CHECK_INT(heard[i].calls, 1);
}

static void send_here(uint32_t connection, struct heard *heard)
{
    struct request *r = request_new(STORE_SET, g_strdup("/b"), on_done, heard);

    *heard = (struct heard){.calls = 0};
    r->once = r->only = true;
    r->connection = connection;
    request_send(s, r);
}

/* Whether it waits for room or not. */
TEST_CASE(sent_on_one_connection_only)
{
    struct heard heard[WINDOW], sent, parked;

    s = hand_session();
    const uint32_t first = s->connection;
    send_here(first, &sent);
    ANSWER(STORE_SET, "/b", .rc = STORE_OK);
    check_heard(&sent, 1, STORE_OK);
    fake_event(STORE_EV_DOWN);
    send_here(first, &sent);
    check_heard(&sent, 1, STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    send_here(first, &sent);
    check_heard(&sent, 1, STORE_UNKNOWN);
    for (int i = 0; i < WINDOW; i++) {
        heard[i].again = false;
        send(STORE_GET, "/a", false, &heard[i]);
    }
    send_here(s->connection, &sent);
    send_here(s->connection, &parked);
    CHECK(!fake_is_asked(STORE_SET, "/b"));
    ANSWER(STORE_GET, "/a", .rc = STORE_OK);
    CHECK(fake_is_asked(STORE_SET, "/b"));
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_SET, "/b", .rc = STORE_UNKNOWN);
    check_heard(&sent, 1, STORE_UNKNOWN);
    while (fake_answer(STORE_GET, "/a", (struct store_reply){.rc = STORE_UNKNOWN}))
        continue;
    fake_event(STORE_EV_UP);
    ANSWER(STORE_GET, "/a", .rc = STORE_OK);
    check_heard(&parked, 1, STORE_UNKNOWN);
    CHECK(!fake_is_asked(STORE_SET, "/b"));
    hand_close(s);
    check_heard(&parked, 1, STORE_UNKNOWN);
}

/* The next ones of that path are taken to be as long. */
static void answer_list(const char *path, int count)
{
    char **names = g_new(char *, (gsize)count);

    for (int i = 0; i < count; i++)
        names[i] = (char *)(uintptr_t) "x";
    ANSWER(STORE_LIST, path, .rc = STORE_OK, .names = names, .count = count);
    g_free(names);
}

TEST_CASE(few_long_lists)
{
    struct heard lists[2 * SOME], behind = {0}, other = {0};

    s = hand_session();
    send(STORE_LIST, "/a", false, &other);
    answer_list("/a", 3200);
    for (int i = 0; i < 2 * SOME; i++) {
        lists[i].again = false;
        send(STORE_LIST, "/a", false, &lists[i]);
    }
    send(STORE_GET, "/b", false, &behind);
    CHECK_INT(fake_count(STORE_LIST, "/a"), SOME); /* of 32 names each as much as a small one */
    CHECK(!fake_is_asked(STORE_GET, "/b"));        /* the order stays */
    answer_list("/a", 3200);
    CHECK_INT(fake_count(STORE_LIST, "/a"), SOME);
    answer_list("/a", 0);
    answer_list("/a", 0);
    CHECK_INT(fake_count(STORE_LIST, "/a"), 2 * SOME - 3);
    CHECK(fake_is_asked(STORE_GET, "/b"));
    hand_close(s);
}

/* One that is more than all that may be under way goes alone. */
TEST_CASE(one_huge_list_at_a_time)
{
    struct heard before = {0}, list = {0}, behind = {0};

    s = hand_session();
    send(STORE_LIST, "/a", false, &list);
    answer_list("/a", 100000);
    send(STORE_GET, "/b", false, &before);
    send(STORE_LIST, "/a", false, &list);
    send(STORE_GET, "/c", false, &behind);
    CHECK(!fake_is_asked(STORE_LIST, "/a"));
    ANSWER(STORE_GET, "/b", .rc = STORE_OK);
    CHECK(fake_is_asked(STORE_LIST, "/a"));
    CHECK(!fake_is_asked(STORE_GET, "/c"));
    ANSWER(STORE_LIST, "/a", .rc = STORE_NONODE);
    CHECK(fake_is_asked(STORE_GET, "/c"));
    hand_close(s);
}

/* What was under way comes before what was not sent yet, however often the connection goes. */
TEST_CASE(order_kept_through_disconnections)
{
    static const char *const paths[] = {"/a/0", "/a/1", "/a/2", "/a/3"};
    struct heard heard[G_N_ELEMENTS(paths)], list = {0}, last = {0};

    s = hand_session();
    send(STORE_LIST, "/a", false, &list);
    answer_list("/a", 100000);
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        heard[i].again = false;
        send(STORE_GET, paths[i], false, &heard[i]);
    }
    send(STORE_LIST, "/a", false, &last);
    for (int round = 0; round < 2; round++) {
        fake_event(STORE_EV_DOWN);
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
            ANSWER(STORE_GET, paths[i], .rc = STORE_UNKNOWN);
        fake_event(STORE_EV_UP);
        CHECK(!fake_is_asked(STORE_LIST, "/a"));
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
            CHECK(fake_place(STORE_GET, paths[i]) >= 0);
            CHECK(i == 0 || fake_place(STORE_GET, paths[i - 1]) < fake_place(STORE_GET, paths[i]));
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        ANSWER(STORE_GET, paths[i], .rc = STORE_OK);
    CHECK(fake_is_asked(STORE_LIST, "/a"));
    hand_close(s);
}

/* Those that wait for room wait for the retry of one before them, too. */
TEST_CASE(none_passes_one_that_is_retried)
{
    struct heard list = {0}, a = {0}, b = {0}, behind = {0};

    s = hand_session();
    send(STORE_LIST, "/l", false, &list);
    answer_list("/l", 100000);
    send(STORE_GET, "/a", false, &a);
    send(STORE_GET, "/b", false, &b);
    send(STORE_LIST, "/l", false, &behind);
    ANSWER(STORE_GET, "/a", .rc = STORE_UNKNOWN);
    ANSWER(STORE_GET, "/b", .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_GET, "/a") && !fake_is_asked(STORE_LIST, "/l"));
    hand_pass(s, 100);
    CHECK(fake_is_asked(STORE_GET, "/a") && !fake_is_asked(STORE_LIST, "/l"));
    ANSWER(STORE_GET, "/a", .rc = STORE_OK);
    CHECK(fake_is_asked(STORE_LIST, "/l"));
    hand_close(s);
}

/* If each was sent in the midst of the answer to the one before, the stack would not hold them. */
static bool answer_gets(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_OK};
    return request->kind == STORE_GET && g_str_has_prefix(request->path, "/a");
}

TEST_CASE(answered_at_once)
{
    enum { MANY = 100000 };
    struct heard heard = {0};

    s = hand_session();
    fake_event(STORE_EV_DOWN);
    for (int i = 0; i < MANY; i++)
        request_send(s, request_new(STORE_GET, g_strdup("/a"), on_done, &heard));
    fake_answer_at_once(answer_gets);
    fake_event(STORE_EV_UP);
    fake_answer_at_once(NULL);
    check_heard(&heard, MANY, STORE_OK);
    hand_close(s);
}

/* Only what was sent and answered on the present connection says anything about the session. */
TEST_CASE(proves_on_its_connection_only)
{
    struct heard heard = {0};

    s = hand_session();
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK); /* it stands alone */
    hand_jump(1000, 1000);
    send(STORE_DELETE, "/a", false, &heard);
    struct instant before = s->proofs.deadline;
    ANSWER(STORE_DELETE, "/a", .rc = STORE_BAD);
    CHECK_INT(s->proofs.deadline.boot, before.boot);
    send(STORE_DELETE, "/a", false, &heard);
    hand_jump(500, 500);
    ANSWER(STORE_DELETE, "/a", .rc = STORE_NOTEMPTY);
    CHECK_INT(s->proofs.deadline.boot - before.boot, 1000 * CLOCK_MS); /* from when it was sent */
    send(STORE_DELETE, "/a", false, &heard);
    fake_reconnect();
    ANSWER(STORE_GET, "/zookeeper/config", .rc = STORE_OK);
    CHECK(s->confirmed == s->connection);
    uint32_t confirmed = s->confirmed;
    fake_reconnect();
    before = s->proofs.deadline;
    ANSWER(STORE_DELETE, "/a", .rc = STORE_OK);
    CHECK_INT(s->proofs.deadline.boot, before.boot);
    CHECK_INT(s->confirmed, confirmed);
    hand_close(s);
}

#define MADE "/l/x-0000000003"

/* ---- creates on servers that do not know all operations ---- */

static atomic_int warnings;

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

static void send_behind(enum store_kind kind, const char *path, struct heard *heard)
{
    heard->again = false;
    send(kind, path, false, heard);
}

static void check_sent(const char *path, enum store_mode mode, bool plain)
{
    const struct store_request what = fake_request(STORE_CREATE, path);

    REQUIRE(what.path != NULL);
    CHECK_INT(what.mode, mode);
    CHECK_INT(what.plain, plain);
    CHECK_STR(what.data, "me");
}

/* The answer of a plain create has nothing but the path; the token comes with the stat, and only if
 * the node is ours. The list behind shows the node, so it is not answered before. */
TEST_CASE(stat_behind_it)
{
    struct heard node, list;

    begin(FORM_PLAIN);
    create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &node);
    send_behind(STORE_LIST, "/l", &list);
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
    send_behind(STORE_LIST, "/l", &list);
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
        send_behind(STORE_LIST, "/l", &behind);
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
    send_behind(STORE_LIST, "/l", &list);
    CHECK(fake_is_asked(STORE_LIST, "/l"));
    create("/l/x-", STORE_EPHEMERAL_SEQUENTIAL, true, &node);
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_CREATE, "/l/x-", .rc = STORE_UNKNOWN);
    check_heard(&node, 1, STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
    send_behind(STORE_GET, "/l", &list);
    CHECK(fake_is_asked(STORE_GET, "/l"));
    end(0);
}

/* Nobody asks for the token of a persistent node, and nothing would prove that it is ours. */
TEST_CASE(persistent_has_none)
{
    struct heard node, behind;

    begin(FORM_PLAIN);
    create("/d", STORE_CONTAINER, false, &node);
    send_behind(STORE_LIST, "/d", &behind);
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
    send_behind(STORE_LIST, "/l", &list);
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
TEST_CASE(creating_when_sessions_end)
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
