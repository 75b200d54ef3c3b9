/* A lock at /b, /a and /c (given in this order) over the fake store, by hand: what is asked of the
 * store at each path, and who is told what. */
#include "by_hand.h"
#include "runner.h"

#include <string.h>
#include <zkl-zookeeper.h>
#include <zookeeper/zookeeper.h>

#include "lib/contender/contender.h"

TEST_SUITE(multilock);

enum { PATHS = 3 };

static struct story {
    zkl_session *s;
    zkl_multilock *lock;
    zkl_op *op;
    zkl_grant *grant;
    zkl_error error;
    int calls;
    char *node[PATHS];                 /* that was named last, of /a, /b, /c */
    int losses, releases, wanted;      /* told of the grant */
    int warnings;                      /* that were logged */
    int nodes_deleted_before_the_loss; /* asked for by then */
} st;

static const char *const directories[PATHS] = {"/root/a", "/root/b", "/root/c"};
static const char *const other = "_c_other-lock-0000000003";

static int place(char path)
{
    return path - 'a';
}

static const char *node_at(char path)
{
    return st.node[place(path)];
}

/* A session that stands alone, so that every answered write is a proof, and the lock. */
static void begin(void)
{
    static const char *const paths[PATHS] = {"/b", "/a", "/c"};

    st = (struct story){.calls = 0};
    st.s = hand_session_counting(&st.warnings);
    hand_stand_alone(st.s);
    REQUIRE(zkl_multilock_new(&st.lock, st.s, paths, PATHS, NULL) == 0);
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)data;
    st.calls++;
    st.grant = grant;
    if (error)
        st.error = *error;
}

static void dispatch(void)
{
    zkl_session_dispatch(st.s);
}

static void lock(int64_t timeout_ms)
{
    zkl_op_free(st.op);
    st.op = NULL;
    st.calls = 0;
    REQUIRE(zkl_multilock_lock_async(st.lock, timeout_ms, on_acquired, NULL, &st.op) == 0);
    dispatch();
}

static void end(void)
{
    zkl_grant_release(st.grant);
    zkl_op_free(st.op);
    zkl_multilock_free(st.lock);
    for (int i = 0; i < PATHS; i++)
        g_free(st.node[i]);
    if (st.s) {
        CHECK_INT(contenders_of(st.s)->callers.list.length, 0);
        hand_close(st.s);
    }
}

static void answer_create(int at)
{
    g_free(st.node[at]);
    st.node[at] = fake_created_name(directories[at], 7);
    REQUIRE(st.node[at] != NULL);
    ANSWER(STORE_CREATE, directories[at], .rc = STORE_OK, .path = st.node[at],
           .czxid = 100 + (uint64_t)at, .ephemeral_owner = st.s->id);
}

static void answer_list(int at, bool behind)
{
    char *names[] = {strrchr(st.node[at], '/') + 1, (char *)(uintptr_t)other};

    ANSWER(STORE_LIST, directories[at], .rc = STORE_OK, .names = names, .count = 1 + behind);
}

/* The create and the list at the path of the letter are answered: the node is the first there, or
 * another is ahead. The token is 100 and the letter's place. */
static void be_first(char path)
{
    answer_create(place(path));
    answer_list(place(path), false);
    dispatch();
}

static void be_behind(char path)
{
    answer_create(place(path));
    answer_list(place(path), true);
    dispatch();
}

/* The reads of the own node and of the head are answered, and then the head goes. The silence of
 * the own watch is the proof. */
static void let_head_go(char path)
{
    const int at = place(path);
    char *head = g_strconcat(directories[at], "/", other, NULL);

    ANSWER(STORE_GET, st.node[at], .rc = STORE_OK, .ephemeral_owner = st.s->id);
    ANSWER(STORE_GET, head, .rc = STORE_OK, .ephemeral_owner = 99);
    fake_watch(head, true);
    g_free(head);
    dispatch();
}

/* What is asked and not answered, as letters of paths: "abc". */
static bool check_asked(enum store_kind kind, const char *paths)
{
    char found[PATHS + 1] = "", *end = found;

    for (int i = 0; i < PATHS; i++) {
        if (fake_is_asked(kind, directories[i]))
            *end++ = (char)('a' + i);
    }
    return CHECK_STR(found, paths);
}

static void be_first_everywhere(void)
{
    be_first('a');
    be_first('b');
    be_first('c');
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)data;
    (void)grant;
    st.losses += state == ZKL_LOST;
    st.releases += state == ZKL_RELEASED;
    for (int i = 0; i < PATHS && state == ZKL_LOST; i++)
        st.nodes_deleted_before_the_loss += fake_is_asked(STORE_DELETE, directories[i]);
}

static void hold(void)
{
    lock(ZKL_FOREVER);
    be_first_everywhere();
    REQUIRE(st.grant != NULL);
    CHECK_INT(zkl_grant_on_change(st.grant, on_change, NULL), 0);
}

static void begin_locking(void)
{
    begin();
    lock(ZKL_FOREVER);
}

/* For /b. */
static void begin_waiting(void)
{
    begin_locking();
    be_first('a');
    be_behind('b');
}

static void begin_holding(void)
{
    begin();
    hold();
}

static void check_told(int calls, int code)
{
    dispatch();
    CHECK_INT(st.calls, calls);
    CHECK_INT(st.error.code, code);
}

/* One round trip of creates and lists for all; and the grant in the order that the user gave. */
TEST_CASE(free_paths)
{
    static const uint64_t tokens[] = {101, 100, 102};
    zkl_part part;

    begin_locking();
    check_asked(STORE_CREATE, "abc");
    check_asked(STORE_LIST, "abc");
    be_first('c');
    be_first('a');
    CHECK_INT(st.calls, 0);
    be_first('b');
    check_told(1, 0);
    for (size_t i = 0; i < PATHS; i++) {
        CHECK_INT(zkl_grant_part(st.grant, i, &part), 0);
        CHECK_INT(part.token, tokens[i]);
        CHECK_STR(part.node, node_at("bac"[i]) + strlen("/root"));
        CHECK_INT(part.slot, -1);
    }
    CHECK_INT(zkl_grant_part(st.grant, PATHS, &part), ZKL_ENOENT);
    CHECK_INT(zkl_grant_token(st.grant), 101);
    CHECK_STR(zkl_grant_node(st.grant), node_at('b') + strlen("/root"));
    CHECK_INT(zkl_grant_state(st.grant), ZKL_HELD);
    CHECK(zkl_grant_remaining_ms(st.grant) > 0);
    end();
}

TEST_CASE(released)
{
    begin_holding();
    zkl_grant_release(st.grant);
    st.grant = NULL;
    check_asked(STORE_DELETE, "abc");
    CHECK(fake_place(STORE_DELETE, "/root/c") < fake_place(STORE_DELETE, "/root/a"));
    dispatch();
    CHECK_INT(st.releases, 1);
    CHECK_INT(st.losses, 0);
    end();
}

static const char *at_once; /* below that */

static bool answer(const struct store_request *request, struct store_reply *reply)
{
    fake_alone(request, reply);
    return request->kind != STORE_DELETE && g_str_has_prefix(request->path, at_once);
}

/* Before their contenders are known: each is left once. */
TEST_CASE(granted_at_once)
{
    static const char *const below[] = {"/root/a", "/root/"};

    for (size_t i = 0; i < G_N_ELEMENTS(below); i++) {
        begin();
        at_once = below[i];
        fake_answer_at_once(answer);
        lock(ZKL_FOREVER);
        fake_answer_at_once(NULL);
        if (i == 0) {
            be_first('b');
            be_first('c');
        }
        check_told(1, 0);
        zkl_grant_release(st.grant);
        st.grant = NULL;
        check_asked(STORE_DELETE, "abc");
        CHECK_INT(fake_count(STORE_DELETE, "/root/a"), 1);
        end();
    }
}

static bool refuse_a(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NOAUTH};
    return g_str_has_prefix(request->path, "/root/a");
}

/* Before the others have entered: they are left all the same. */
TEST_CASE(refused_at_once)
{
    begin();
    fake_answer_at_once(refuse_a);
    lock(ZKL_FOREVER);
    fake_answer_at_once(NULL);
    check_told(1, ZKL_EACCES);
    be_first('b');
    be_first('c');
    check_asked(STORE_DELETE, "bc");
    end();
}

/* The node with which it waits, at the first path where it does. */
static void check_waits_with(const char *full_node)
{
    char node[256];

    CHECK_INT(zkl_op_node(st.op, node, sizeof node), 0);
    CHECK_STR(node, full_node + strlen("/root"));
}

/* Behind what is waited for nothing stays queued or held. */
TEST_CASE(waits_in_order)
{
    begin_locking();
    be_first('c');
    be_first('a');
    check_asked(STORE_DELETE, "");
    be_behind('b');
    check_asked(STORE_DELETE, "c");
    check_asked(STORE_CREATE, "");
    CHECK_INT(st.calls, 0);
    check_waits_with(node_at('b'));
    let_head_go('b');
    check_asked(STORE_CREATE, "c");
    CHECK_INT(st.calls, 0);
    be_first('c');
    check_told(1, 0);
    check_asked(STORE_DELETE, "c"); /* the one from before, and none besides */
    CHECK_INT(fake_count(STORE_DELETE, "/root/c"), 1);
    end();
}

/* What is not known to be there yet goes as soon as it is. */
TEST_CASE(leaves_what_is_being_made)
{
    begin_locking();
    be_behind('a');
    check_asked(STORE_DELETE, "");
    be_first('b');
    be_first('c');
    check_asked(STORE_DELETE, "bc");
    CHECK_INT(st.calls, 0);
    end();
}

/* A try has no node at a path before it holds all others before that. */
TEST_CASE(busy)
{
    begin();
    lock(0);
    check_asked(STORE_CREATE, "a");
    be_first('a');
    check_asked(STORE_CREATE, "b");
    be_first('b');
    check_asked(STORE_CREATE, "c");
    be_behind('c');
    check_told(1, ZKL_EBUSY);
    CHECK_STR(st.error.path, "/c");
    check_asked(STORE_DELETE, "abc");
    end();
}

TEST_CASE(timed_out)
{
    begin();
    lock(1000);
    be_first('a');
    be_behind('b');
    hand_pass_proved(st.s, 999);
    check_told(0, 0);
    hand_pass_proved(st.s, 1);
    check_told(1, ZKL_ETIMEDOUT);
    CHECK_STR(st.error.text, "/b: not acquired within 1000 ms");
    check_asked(STORE_DELETE, "ab");
    end();
}

/* Won, but nobody knows yet. */
TEST_CASE(canceled_before_it_is_told)
{
    begin_locking();
    be_first('a');
    be_first('b');
    char *node = fake_created_name("/root/c", 7), *name = strrchr(node, '/') + 1;
    ANSWER(STORE_CREATE, "/root/c", .rc = STORE_OK, .path = node, .czxid = 9,
           .ephemeral_owner = st.s->id);
    ANSWER(STORE_LIST, "/root/c", .rc = STORE_OK, .names = &name, .count = 1);
    check_asked(STORE_DELETE, "");
    zkl_op_cancel(st.op);
    check_asked(STORE_DELETE, "abc");
    check_told(1, ZKL_ECANCELED);
    CHECK(st.grant == NULL);
    g_free(node);
    end();
}

TEST_CASE(freed)
{
    begin_locking();
    be_behind('a');
    zkl_multilock_free(st.lock);
    st.lock = NULL;
    check_told(1, ZKL_ECLOSED);
    end();
}

TEST_CASE(freed_while_held)
{
    begin_holding();
    zkl_multilock_free(st.lock);
    st.lock = NULL;
    CHECK_INT(zkl_grant_state(st.grant), ZKL_HELD);
    check_asked(STORE_DELETE, "");
    zkl_grant_release(st.grant);
    st.grant = NULL;
    check_asked(STORE_DELETE, "abc");
    end();
}

TEST_CASE(fails)
{
    begin_locking();
    be_first('a');
    ANSWER(STORE_CREATE, "/root/b", .rc = STORE_NOAUTH);
    check_told(1, ZKL_EACCES);
    CHECK_STR(st.error.path, "/b");
    check_asked(STORE_DELETE, "a");
    end();
}

/* ---- losses ---- */

/* The nodes go behind the callback. */
TEST_CASE(node_deleted)
{
    begin_holding();
    hand_pass_proved(st.s, 20);
    ANSWER(STORE_GET, node_at('c'), .rc = STORE_OK, .ephemeral_owner = st.s->id);
    fake_watch(node_at('c'), true);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_LOST);
    CHECK_INT(zkl_grant_loss(st.grant), ZKL_LOSS_DELETED);
    CHECK_INT(zkl_grant_remaining_ms(st.grant), 0);
    check_asked(STORE_DELETE, "");
    dispatch();
    CHECK_INT(st.losses, 1);
    CHECK_INT(st.nodes_deleted_before_the_loss, 0);
    check_asked(STORE_DELETE, "ab");
    dispatch();
    CHECK_INT(st.losses, 1);
    end();
}

/* With nobody to be told they go at once. */
TEST_CASE(node_deleted_unwatched)
{
    begin_locking();
    be_first_everywhere();
    hand_pass_proved(st.s, 20);
    ANSWER(STORE_GET, node_at('a'), .rc = STORE_OK, .ephemeral_owner = st.s->id);
    fake_watch(node_at('a'), true);
    check_asked(STORE_DELETE, "bc");
    CHECK_INT(zkl_grant_state(st.grant), ZKL_LOST);
    end();
}

TEST_CASE(deadline_passes)
{
    begin_holding();
    hand_pass(st.s, FAKE_TIMEOUT_MS);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_LOST);
    check_asked(STORE_DELETE, "");
    dispatch();
    CHECK_INT(st.losses, 1);
    CHECK_INT(st.nodes_deleted_before_the_loss, 0);
    check_asked(STORE_DELETE, "abc");
    end();
}

/* A part of it is. */
TEST_CASE(in_doubt_when_it_is_whole)
{
    begin_locking();
    be_first('a');
    be_first('b');
    fake_event(STORE_EV_DOWN);
    hand_pass(st.s, 10);
    fake_event(STORE_EV_UP);
    be_first('c');
    check_told(1, 0);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_SUSPECT);
    hand_stand_alone(st.s);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_HELD);
    end();
}

/* /a is lost while /b is waited for: /b is left before /a is entered again. */
TEST_CASE(lost_while_another_is_waited_for)
{
    begin_waiting();
    be_first('c'); /* which was left */
    hand_pass_proved(st.s, 20);
    ANSWER(STORE_GET, node_at('a'), .rc = STORE_OK, .ephemeral_owner = st.s->id);
    fake_watch(node_at('a'), true);
    check_asked(STORE_DELETE, "bc");
    check_asked(STORE_CREATE, "abc");
    CHECK(fake_place(STORE_DELETE, "/root/b") < fake_place(STORE_CREATE, "/root/a"));
    be_first('a');
    be_first('b');
    CHECK_INT(st.calls, 0);
    be_first('c');
    check_told(1, 0);
    end();
}

/* Nobody knows of what was granted: its node goes before the next one comes. */
TEST_CASE(lapses_while_another_is_waited_for)
{
    begin_waiting();
    hand_pass(st.s, FAKE_TIMEOUT_MS);
    check_asked(STORE_DELETE, "ab");
    check_asked(STORE_CREATE, "abc");
    CHECK(fake_place(STORE_DELETE, "/root/a") < fake_place(STORE_CREATE, "/root/a"));
    CHECK(fake_place(STORE_DELETE, "/root/b") < fake_place(STORE_CREATE, "/root/b"));
    CHECK_INT(st.calls, 0);
    end();
}

/* ---- sessions ---- */

TEST_CASE(session_replaced)
{
    begin_waiting();
    fake_event(STORE_EV_EXPIRED);
    fake_event_of(STORE_EV_BEGIN, 8, FAKE_TIMEOUT_MS);
    fake_event_of(STORE_EV_UP, 8, FAKE_TIMEOUT_MS);
    hand_pass(st.s, 0);
    check_asked(STORE_CREATE, "abc");
    CHECK_INT(fake_count(STORE_CREATE, "/root/a") + fake_count(STORE_CREATE, "/root/b") +
                  fake_count(STORE_CREATE, "/root/c"),
              3);
    be_first_everywhere();
    check_told(1, 0);
    CHECK_INT(st.warnings, 1); /* of the session, nothing else was had */
    CHECK_INT(zkl_grant_session_id(st.grant), 8);
    end();
}

TEST_CASE(session_replaced_while_held)
{
    begin_holding();
    fake_event(STORE_EV_EXPIRED);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_LOST);
    dispatch();
    CHECK_INT(st.losses, 1);
    check_asked(STORE_CREATE, "");
    CHECK_INT(st.warnings, 1 + PATHS); /* of the session, and of each node */
    end();
}

/* Part of it is held: it must not enter again while the session ends. */
TEST_CASE(session_closed)
{
    begin_waiting();
    hand_close(st.s);
    st.s = NULL;
    CHECK_INT(st.calls, 1);
    CHECK_INT(st.error.code, ZKL_ECLOSED);
    zkl_grant *none = NULL;
    CHECK_INT(zkl_multilock_lock(st.lock, 0, &none), ZKL_ECLOSED);
    CHECK_INT(zkl_multilock_lock_async(st.lock, 0, NULL, NULL, NULL), ZKL_EINVAL);
    end();
}

TEST_CASE(credentials_refused)
{
    begin_waiting();
    fake_event(STORE_EV_AUTH);
    check_told(1, ZKL_EAUTH);
    end();
}

/* ---- others, transactions ---- */

static void on_wanted(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant, (void)state, (void)data;
    st.wanted++;
}

TEST_CASE(wanted)
{
    char *names[2] = {NULL, (char *)(uintptr_t) "_c_other-lock-0000000099"};

    begin_holding();
    CHECK_INT(zkl_grant_on_wanted(st.grant, on_wanted, NULL), 0);
    check_asked(STORE_LIST, "abc");
    names[0] = strrchr(node_at('c'), '/') + 1;
    ANSWER(STORE_LIST, "/root/c", .rc = STORE_OK, .names = names, .count = 2);
    dispatch();
    CHECK_INT(st.wanted, 1);
    CHECK_INT(zkl_grant_on_wanted(st.grant, on_wanted, NULL), 0);
    dispatch();
    CHECK_INT(st.wanted, 2);
    end();
}

/* Its path was wanted before the others were had. */
TEST_CASE(wanted_before_it_is_whole)
{
    char *names[2] = {NULL, (char *)(uintptr_t) "_c_other-lock-0000000099"};

    for (char path = 'a'; path <= 'c'; path++) {
        const char directory[] = {'/', 'r', 'o', 'o', 't', '/', path, '\0'};

        begin_locking();
        char *node = fake_created_name(directory, 7);
        names[0] = strrchr(node, '/') + 1;
        ANSWER(STORE_CREATE, directory, .rc = STORE_OK, .path = node, .czxid = 9,
               .ephemeral_owner = st.s->id);
        ANSWER(STORE_LIST, directory, .rc = STORE_OK, .names = names, .count = 2);
        for (char rest = 'a'; rest <= 'c'; rest++)
            if (rest != path)
                be_first(rest);
        check_told(1, 0);
        CHECK_INT(zkl_grant_on_wanted(st.grant, on_wanted, NULL), 0);
        dispatch();
        CHECK_INT(st.wanted, 1);
        g_free(node);
        end();
    }
}

static void on_applied(const zkl_error *error, void *data)
{
    *(int *)data = error ? error->code : 0;
}

static void apply(unsigned flags, int *code)
{
    const zkl_change change = {ZKL_CHANGE_CREATE, 0, "/x", "1", 1};

    *code = 1;
    CHECK_INT(zkl_grant_multi_async(st.grant, &change, 1, flags, ZKL_FOREVER, on_applied, code), 0);
}

static void check_changes(const char *expected)
{
    char *changes = fake_changes("/root/b"), *plain = g_strdup(changes ? changes : "");

    for (int i = 0; i < PATHS; i++) {
        char **parts = g_strsplit(plain, st.node[i], -1);
        char letter[] = {(char)('A' + i), '\0'};
        g_free(plain);
        plain = g_strjoinv(letter, parts);
        g_strfreev(parts);
    }
    CHECK_STR(plain, expected);
    g_free(plain);
    g_free(changes);
}

TEST_CASE(transactions)
{
    const zkl_change own = {ZKL_CHANGE_DELETE, -1, NULL, NULL, 0};
    zkl_change changes[] = {own};
    zkl_part part;
    int code;

    begin_holding();
    apply(0, &code);
    check_changes("set B 0; check A -1; check C -1; create /root/x 0");
    ANSWER(STORE_MULTI, "/root/b", .rc = STORE_OK);
    dispatch();
    CHECK_INT(code, 0);
    CHECK_INT(zkl_grant_part(st.grant, 2, &part), 0);
    changes[0].path = part.node;
    CHECK_INT(zkl_grant_multi_async(st.grant, changes, 1, 0, 0, on_applied, &code), ZKL_EINVAL);
    apply(ZKL_MULTI_RELEASE, &code);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_RELEASED);
    check_changes("set B 1; check A -1; check C -1; create /root/x 0; delete B -1; delete A -1; "
                  "delete C -1");
    ANSWER(STORE_MULTI, "/root/b", .rc = STORE_OK);
    dispatch();
    CHECK_INT(code, 0);
    CHECK_INT(st.releases, 1);
    CHECK_INT(st.losses, 0);
    end();
}

/* The user has let go of it before the transaction is decided, and then the session ends. */
/* With what is done to the nodes besides the first: a check, and at the end a delete. */
TEST_CASE(transaction_size)
{
    enum { BYTES_MAX = 1000000, BYTES_EACH = 64 };
    static const char *const paths[] = {"/b", "/c", "/a"};
    char *data = g_malloc0(BYTES_MAX);
    zkl_change change = {ZKL_CHANGE_SET, -1, "/x", data, 0};

    for (size_t count = 2; count <= G_N_ELEMENTS(paths); count++) {
        int code = 1;
        begin();
        zkl_multilock_free(st.lock);
        REQUIRE(zkl_multilock_new(&st.lock, st.s, paths, count, NULL) == 0);
        lock(ZKL_FOREVER);
        for (size_t i = 0; i < count; i++)
            be_first(paths[i][1]);
        check_told(1, 0);
        change.size = BYTES_MAX - strlen("/root/x") - BYTES_EACH -
                      2 * (count - 1) * (strlen(node_at('c')) + BYTES_EACH);
        CHECK_INT(zkl_grant_multi_async(st.grant, &change, 1, 0, ZKL_FOREVER, on_applied, &code),
                  0);
        ANSWER(STORE_MULTI, "/root/b", .rc = STORE_OK);
        dispatch();
        CHECK_INT(code, 0);
        change.size++;
        CHECK_INT(zkl_grant_multi_async(st.grant, &change, 1, 0, ZKL_FOREVER, on_applied, &code),
                  ZKL_ELIMIT);
        end();
    }
    g_free(data);
}

TEST_CASE(released_by_a_transaction_and_lost)
{
    int code;

    begin_holding();
    apply(ZKL_MULTI_RELEASE, &code);
    zkl_grant_release(st.grant);
    st.grant = NULL;
    fake_event(STORE_EV_EXPIRED);
    dispatch();
    CHECK_INT(code, ZKL_EUNKNOWN);
    CHECK_INT(st.releases, 1);
    CHECK_INT(st.losses, 0);
    end();
}

/* Whatever it comes to, there is nothing left to give back. */
TEST_CASE(transaction_decided_after_the_loss)
{
    for (unsigned flags = 0; flags <= ZKL_MULTI_RELEASE; flags += ZKL_MULTI_RELEASE) {
        int code;

        begin_holding();
        apply(flags, &code);
        hand_pass(st.s, FAKE_TIMEOUT_MS);
        dispatch();
        ANSWER(STORE_MULTI, "/root/b", .rc = STORE_NONODE, .failed = 0);
        dispatch();
        CHECK_INT(code, ZKL_ELOST);
        end();
    }
}

/* It makes no difference which node is missing: the grant is lost, and the other nodes go. */
TEST_CASE(transaction_without_a_node)
{
    static const char *const others[] = {"ac", "bc", "ab"};

    for (int failed = 0; failed < PATHS; failed++) {
        int code;

        begin_holding();
        apply(0, &code);
        ANSWER(STORE_MULTI, "/root/b", .rc = STORE_NONODE, .failed = failed);
        CHECK_INT(zkl_grant_state(st.grant), ZKL_LOST);
        dispatch();
        CHECK_INT(code, ZKL_ELOST);
        CHECK_INT(st.losses, 1);
        check_asked(STORE_DELETE, others[failed]);
        end();
    }
}

/* What the user asked for is the user's. */
TEST_CASE(transaction_refused)
{
    int code;

    begin_holding();
    apply(0, &code);
    ANSWER(STORE_MULTI, "/root/b", .rc = STORE_NONODE, .failed = PATHS);
    dispatch();
    CHECK_INT(code, ZKL_ENOENT);
    CHECK_INT(zkl_grant_state(st.grant), ZKL_HELD);
    end();
}

TEST_CASE(check_ops)
{
    struct zoo_op ops[PATHS];

    begin_holding();
    ops[0].type = -1;
    CHECK_INT(zkl_grant_check_op(st.grant, ops, 2), ZKL_ERANGE);
    CHECK_INT(ops[0].type, -1);
    CHECK_INT(zkl_grant_check_op(st.grant, ops, 3), 3);
    CHECK_STR(ops[0].check_op.path, node_at('b'));
    CHECK_STR(ops[1].check_op.path, node_at('a'));
    CHECK_STR(ops[2].check_op.path, node_at('c'));
    end();
}

/* ---- arguments ---- */

/* What is asked of the parts of a whole, of a mutex. */
TEST_CASE(one_path)
{
    struct acquisition a;
    zkl_part part = {0};
    zkl_error why;
    zkl_session *s = hand_session();

    hand_stand_alone(s);
    hand_hold(&a, s);
    CHECK_INT(zkl_grant_part(a.grant, 0, &part), 0);
    CHECK_INT(part.token, zkl_grant_token(a.grant));
    CHECK_STR(part.node, zkl_grant_node(a.grant));
    CHECK_INT(part.slot, -1);
    CHECK_INT(zkl_grant_part(a.grant, 1, &part), ZKL_ENOENT);
    CHECK_INT(zkl_grant_part(a.grant, SIZE_MAX, &part), ZKL_ENOENT);
    zkl_last_error(&why);
    CHECK_STR(why.path, zkl_grant_node(a.grant));
    hand_leave(&a);
    hand_close(s);
}

static uint64_t one_key(void *unused)
{
    (void)unused;
    return 1;
}

TEST_CASE(arguments)
{
    static const char *const paths[] = {"/a", "/b", "/a", "/x/", NULL};
    const char *many[ZKL_MULTILOCK_PATHS + 1];
    const zkl_mutex_options bad[] = {{.size = 0},
                                     {.size = sizeof bad[0], .parents = (zkl_parents)7},
                                     {.size = sizeof bad[0], .key = one_key},
                                     {.size = sizeof bad[0], .retain_ms = 1},
                                     {.size = sizeof bad[0], .fence64 = 1}};
    zkl_multilock *l = NULL;
    char names[ZKL_MULTILOCK_PATHS + 1][8];

    for (int i = 0; i <= ZKL_MULTILOCK_PATHS; i++) {
        g_snprintf(names[i], sizeof names[i], "/%d", i);
        many[i] = names[i];
    }
    zkl_session *s = hand_session();
    CHECK_INT(zkl_multilock_new(NULL, s, paths, 2, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_new(&l, NULL, paths, 2, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_new(&l, s, NULL, 2, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_new(&l, s, paths, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_new(&l, s, paths, 3, NULL), ZKL_EINVAL); /* one is there twice */
    CHECK_INT(zkl_multilock_new(&l, s, paths + 3, 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_new(&l, s, paths + 4, 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_new(&l, s, many, ZKL_MULTILOCK_PATHS + 1, NULL), ZKL_EINVAL);
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        CHECK_INT(zkl_multilock_new(&l, s, paths, 2, &bad[i]), ZKL_EINVAL);
    CHECK(l == NULL);
    CHECK_INT(zkl_multilock_new(&l, s, many, ZKL_MULTILOCK_PATHS, NULL), 0);
    CHECK_INT(zkl_multilock_lock(l, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_lock(NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_multilock_lock_async(l, 0, NULL, NULL, NULL), ZKL_EINVAL);
    zkl_multilock_free(l);
    zkl_multilock_free(NULL);
    hand_close(s);
}
