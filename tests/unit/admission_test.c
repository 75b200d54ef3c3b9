/* Many contenders of one session on one path: how they go in, and what each of them keeps. */
#include <malloc.h>

#include "by_hand.h"
#include "runner.h"

TEST_SUITE(admission);

enum { ABREAST = 32, WAITERS = 40, THRONG = 20000 };

static zkl_session *s;
static GPtrArray *mutexes; /* one for each contender: those of one would wait for each other */
static zkl_op *ops[WAITERS];
static int acquired, refused, code;

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)data;
    acquired += grant != NULL;
    refused += error != NULL;
    code = error ? error->code : 0;
    zkl_grant_release(grant);
}

static void free_mutex(void *mutex)
{
    zkl_mutex_free(mutex);
}

static void start(void)
{
    acquired = refused = 0;
    s = hand_session();
    mutexes = g_ptr_array_new_with_free_func(free_mutex);
}

static zkl_mutex *add_mutex(const char *path, const char *name)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;

    options.name = name;
    REQUIRE(zkl_mutex_new(&m, s, path, &options) == 0);
    g_ptr_array_add(mutexes, m);
    return m;
}

static void add_waiters(void)
{
    char name[8];

    for (int i = 0; i < WAITERS; i++) {
        g_snprintf(name, sizeof name, "%d", i);
        REQUIRE(zkl_mutex_lock_async(add_mutex("/l", name), ZKL_FOREVER, on_acquired, NULL,
                                     &ops[i]) == 0);
    }
}

static void start_waiters(void)
{
    start();
    add_waiters();
}

static void stop(void)
{
    for (int i = 0; i < WAITERS; i++)
        zkl_op_free(ops[i]);
    g_ptr_array_unref(mutexes);
    hand_close(s);
    CHECK_INT(acquired + refused, WAITERS);
}

static int creates(void)
{
    return fake_count(STORE_CREATE, "/root/l/");
}

/* The first of those who enter finds that another is before it. */
static void one_queues(int number)
{
    char *node = fake_created_name("/root/l/", number);
    char *names[] = {strrchr(node, '/') + 1, "_c_other-lock-0000000001"};

    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = s->id);
    ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK, .names = names, .count = 2);
    g_free(node);
}

TEST_CASE(enter_abreast)
{
    start_waiters();
    CHECK_INT(creates(), ABREAST);
    one_queues(10);
    CHECK_INT(creates(), ABREAST);
    for (int i = 11; i < 10 + WAITERS - ABREAST; i++)
        one_queues(i);
    CHECK_INT(creates(), ABREAST);
    for (int left = ABREAST - 1; left >= 0; left--) {
        one_queues(60 - left);
        CHECK_INT(creates(), left);
    }
    stop();
}

TEST_CASE(another_path_is_open)
{
    zkl_op *op;

    start_waiters();
    zkl_mutex *other = add_mutex("/m", NULL);
    REQUIRE(zkl_mutex_lock_async(other, ZKL_FOREVER, on_acquired, NULL, &op) == 0);
    CHECK_INT(fake_count(STORE_CREATE, "/root/m/"), 1);
    g_ptr_array_remove(mutexes, other);
    zkl_session_dispatch(s);
    CHECK_INT(refused, 1);
    refused = 0;
    zkl_op_free(op);
    stop();
}

/* It is told at once, and others go in in its place. */
TEST_CASE(given_up_outside)
{
    start_waiters();
    zkl_op_cancel(ops[ABREAST]);
    zkl_session_dispatch(s);
    CHECK_INT(refused, 1);
    CHECK_INT(code, ZKL_ECANCELED);
    for (int i = 1; i < WAITERS; i++)
        one_queues(10 + i);
    CHECK_INT(creates(), 0);
    stop();
}

/* A waiter that gives up while its create is under way is inside until that is answered. */
TEST_CASE(given_up_while_entering)
{
    start_waiters();
    zkl_op_cancel(ops[0]);
    CHECK_INT(creates(), ABREAST);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    CHECK_INT(creates(), ABREAST);
    for (int i = 1; i < WAITERS - ABREAST; i++)
        ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    CHECK_INT(creates(), ABREAST);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    CHECK_INT(creates(), ABREAST - 1);
    stop();
}

/* The waiter whose create is the first that is not answered. */
static int creator(void)
{
    const char *name = fake_request(STORE_CREATE, "/root/l/").data;

    return name ? atoi(name) : -1;
}

static void replace_session(void)
{
    int64_t id = s->id;

    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, id + 1, FAKE_TIMEOUT_MS);
}

/* With another session all enter again, in the order in which they came: those who waited, those
 * who were entering, and after them those who were outside. That holds whichever gave up
 * meanwhile. */
TEST_CASE(session_replaced)
{
    static const struct {
        int queued, canceled;
    } rows[] = {{4, 4}, {4, 20}, {0, 0}, {WAITERS, -1}, {7, 2}, {0, WAITERS - 1}};
    for (size_t row = 0; row < G_N_ELEMENTS(rows); row++) {
        start_waiters();
        for (int i = 0; i < rows[row].queued; i++)
            one_queues(10 + i);
        if (rows[row].canceled >= 0)
            zkl_op_cancel(ops[rows[row].canceled]);
        replace_session();
        CHECK_INT(creates(), ABREAST);
        for (int i = 0; i < WAITERS; i++) {
            if (i == rows[row].canceled)
                continue;
            CHECK_INT(creator(), i);
            one_queues(60 + i);
        }
        CHECK_INT(creates(), 0);
        stop();
    }
}

/* While they are at it, it ends once more. */
TEST_CASE(session_replaced_again)
{
    start_waiters();
    replace_session();
    for (int i = 0; i < 3; i++)
        one_queues(10 + i);
    replace_session();
    CHECK_INT(creates(), ABREAST);
    for (int i = 0; i < WAITERS; i++) {
        CHECK_INT(creator(), i);
        one_queues(60 + i);
    }
    stop();
}

/* All find their nodes gone, in whatever order they hear it: those who must wait go in as they
 * came.
 */
TEST_CASE(directory_deleted)
{
    char *nodes[WAITERS];

    start_waiters();
    for (int i = 0; i < WAITERS; i++) {
        nodes[i] = fake_created_name("/root/l/", 10 + i);
        one_queues(10 + i);
        ANSWER(STORE_GET, nodes[i], .rc = STORE_OK, .ephemeral_owner = s->id);
        ANSWER(STORE_GET, "/root/l/_c_other", .rc = STORE_OK);
    }
    for (int i = WAITERS - 1; i >= 0; i--) {
        fake_watch(nodes[i], true);
        g_free(nodes[i]);
        CHECK(creates() <= ABREAST);
    }
    CHECK_INT(creates(), ABREAST);
    for (int i = WAITERS - 1; i >= WAITERS - ABREAST; i--) {
        CHECK_INT(creator(), i);
        one_queues(100 + i);
    }
    for (int i = 0; i < WAITERS - ABREAST; i++) {
        CHECK_INT(creator(), i);
        one_queues(200 + i);
    }
    CHECK_INT(creates(), 0);
    stop();
}

/* A waiter that is outside to enter again can give up there, and is told if the session is closed
 * then. */
TEST_CASE(given_up_when_outside_again)
{
    start_waiters();
    for (int i = 0; i < WAITERS; i++)
        one_queues(10 + i);
    replace_session();
    zkl_op_cancel(ops[ABREAST]);
    zkl_session_dispatch(s);
    CHECK_INT(refused, 1);
    CHECK_INT(code, ZKL_ECANCELED);
    for (int i = 0; i < WAITERS - 1; i++)
        one_queues(60 + i);
    CHECK_INT(creates(), 0);
    replace_session();
    CHECK_INT(creates(), ABREAST);
    stop();
    CHECK_INT(code, ZKL_ECLOSED);
}

/* A waiter that cannot settle its create may be at it for long: others enter in its place. */
TEST_CASE(unsettled)
{
    start_waiters();
    for (int i = 0; i < ABREAST; i++)
        ANSWER(STORE_LIST, "/root/l", .rc = STORE_OK);
    for (int i = 0; i < WAITERS - ABREAST; i++)
        ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_UNKNOWN);
    for (int i = 0; i < WAITERS - ABREAST; i++)
        ANSWER(STORE_SET, "/root/l", .rc = STORE_NONODE);
    CHECK_INT(creates(), ABREAST - (WAITERS - ABREAST));
    for (int i = 0; i < WAITERS - ABREAST; i++)
        ANSWER(STORE_LIST, "/root/l", .rc = STORE_NOAUTH);
    CHECK_INT(creates(), ABREAST);
    stop();
}

TEST_CASE(credentials_refused)
{
    start_waiters();
    fake_event(STORE_EV_AUTH);
    zkl_session_dispatch(s);
    CHECK_INT(refused, WAITERS);
    CHECK_INT(code, ZKL_EAUTH);
    stop();
}

static void add_mutexes(int count)
{
    for (int i = 0; i < count; i++)
        add_mutex("/l", "x");
}

static void queue(int first, int end)
{
    for (int i = first; i < end; i++)
        REQUIRE(zkl_mutex_lock_async(mutexes->pdata[i], ZKL_FOREVER, on_acquired, NULL, NULL) == 0);
}

/* No create can be sent at all. If each entered in the midst of the one before, so many would not
 * have room on the stack. */
static bool refuse_all(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NOAUTH};
    return request->kind == STORE_CREATE || request->kind == STORE_LIST;
}

TEST_CASE(all_fail_at_once)
{
    start_waiters();
    add_mutexes(THRONG);
    queue(WAITERS, WAITERS + THRONG);
    fake_answer_at_once(refuse_all);
    ANSWER(STORE_CREATE, "/root/l/", .rc = STORE_NOAUTH);
    fake_answer_at_once(NULL);
    CHECK_INT(creates(), ABREAST - 1);
    zkl_session_dispatch(s);
    CHECK_INT(refused, WAITERS + THRONG - ABREAST + 1);
    CHECK_INT(code, ZKL_EACCES);
    refused -= THRONG;
    stop();
}

/* Back on a session that may be over, whose first creates fail at once: those who come in then do
 * not have it replaced while it is coming up. */
static bool refuse_creates(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_BAD};
    return request->kind == STORE_CREATE;
}

static void on_session(zkl_session *session, zkl_session_event event, int64_t id, void *replaced)
{
    (void)session, (void)id;
    *(bool *)replaced |= event == ZKL_SESSION_REPLACED;
}

TEST_CASE(coming_up)
{
    bool replaced = false;

    start();
    zkl_session_on_change(s, on_session, &replaced);
    fake_event(STORE_EV_DOWN);
    add_waiters();
    hand_pass(s, HAND_DEADLINE_MS);
    fake_answer_at_once(refuse_creates);
    fake_event(STORE_EV_UP);
    fake_answer_at_once(NULL);
    zkl_session_dispatch(s);
    CHECK_INT(refused, WAITERS);
    CHECK(!replaced && s->up);
    stop();
}

/* ---- memory ---- */

/* As a server would: each is behind the one before, and that behind the head. */
static bool queue_up(const struct store_request *request, struct store_reply *reply)
{
    static char node[256], before[256], head[] = "_c_head-lock-0000000000";
    static char *names[] = {node, before, head};
    static char path[300];
    static int number;

    *reply = (struct store_reply){.rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID};
    if (request->kind == STORE_CREATE) {
        g_strlcpy(before, number ? node : "_c_other-lock-0000000000", sizeof before);
        g_snprintf(path, sizeof path, "%s%010d", request->path, ++number);
        g_strlcpy(node, strrchr(path, '/') + 1, sizeof node);
        reply->path = path;
    } else if (request->kind == STORE_LIST) {
        reply->names = names;
        reply->count = 3;
    }
    return g_str_has_prefix(request->path, "/root/l");
}

/* 0: nobody counts. */
static size_t bytes_in_use(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* What a handle itself keeps once it was used is not a waiter's. */
static void add_used_mutexes(int count)
{
    add_mutexes(count);
    fake_answer_at_once(refuse_all);
    queue(0, count);
    zkl_session_dispatch(s);
    refused = 0;
}

/* With libzookeeper's part, which is about 240 bytes, it is to stay well below 1 KiB. */
TEST_CASE(memory_of_a_waiter)
{
    enum { FIRST = 500, MORE = 1000, LIMIT = 656 };

    start();
    add_used_mutexes(FIRST + MORE);
    fake_answer_at_once(queue_up);
    queue(0, FIRST);
    size_t before = bytes_in_use();
    queue(FIRST, FIRST + MORE);
    size_t each = (bytes_in_use() - before) / MORE;
    fake_answer_at_once(NULL);
    CHECK_INT(g_hash_table_size(s->watches), FIRST + MORE);
    if (before == 0)
        runner_skip("this malloc() does not count");
    else
        CHECK(each <= LIMIT);
    g_ptr_array_unref(mutexes);
    hand_close(s);
    CHECK_INT(refused, FIRST + MORE);
}
