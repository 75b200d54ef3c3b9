/* Calls of barriers over a store that answers what the test says: what they ask for, and how they
 * end. tests/sim/barriers plays them in a world. */
#include "by_hand.h"
#include "lib/session/incarnation.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(barrier_call);

#define NODE "/root/b/c"

struct outcome {
    int calls, code;
    char text[128];
};

static zkl_session *s;
static zkl_barrier *b;

static struct outcome out;

static void on_done(const zkl_error *err, void *data)
{
    struct outcome *o = data;

    o->calls++;
    o->code = err ? err->code : 0;
    g_strlcpy(o->text, err ? err->text : "", sizeof o->text);
}

static void check_ended(const struct outcome *o, int code)
{
    zkl_session_dispatch(s);
    CHECK_INT(o->calls, 1);
    CHECK_INT(o->code, code);
}

static void check_pending(const struct outcome *o)
{
    zkl_session_dispatch(s);
    CHECK_INT(o->calls, 0);
}

static void begin_with(const zkl_barrier_options *options)
{
    s = hand_session();
    REQUIRE(zkl_barrier_new(&b, s, "/b/c", options) == 0);
}

static void end(void)
{
    zkl_barrier_free(b);
    hand_close(s);
}

static void wait_for(struct outcome *o)
{
    *o = (struct outcome){.calls = 0};
    CHECK_INT(zkl_barrier_wait_async(b, ZKL_FOREVER, on_done, o), 0);
}

/* ---- closing and opening: these block ---- */

struct blocking {
    int (*call)(zkl_barrier *b, int64_t timeout_ms);
    int64_t timeout_ms;
    int code;
    zkl_error why;
    pthread_t thread;
};

static struct blocking blocking;

static void *run(void *data)
{
    struct blocking *c = data;

    c->code = c->call(b, c->timeout_ms);
    zkl_last_error(&c->why);
    return NULL;
}

static void call_for(struct blocking *c, int (*fn)(zkl_barrier *b, int64_t timeout_ms),
                     enum store_kind kind, int64_t timeout_ms)
{
    *c = (struct blocking){.call = fn, .timeout_ms = timeout_ms};
    REQUIRE(pthread_create(&c->thread, NULL, run, c) == 0);
    fake_await(kind, NODE);
}

static void call(struct blocking *c, int (*fn)(zkl_barrier *b, int64_t timeout_ms),
                 enum store_kind kind)
{
    call_for(c, fn, kind, ZKL_FOREVER);
}

static void check_returns(struct blocking *c, int code)
{
    pthread_join(c->thread, NULL);
    CHECK_INT(c->code, code);
    if (code && code != ZKL_ECLOSED)
        CHECK_STR(c->why.path, "/b/c");
}

TEST_CASE(closes)
{
    static const enum store_mode modes[] = {
        [ZKL_PARENTS_CONTAINER] = STORE_CONTAINER, [ZKL_PARENTS_PERSISTENT] = STORE_PERSISTENT};

    for (int parents = 0; parents < 2; parents++) {
        zkl_barrier_options o = ZKL_BARRIER_OPTIONS_INIT;
        o.name = parents ? "me" : NULL;
        o.parents = (zkl_parents)parents;
        begin_with(&o);
        call(&blocking, zkl_barrier_set, STORE_CREATE);
        const struct store_request r = fake_request(STORE_CREATE, NODE);
        CHECK_INT(r.mode, STORE_PERSISTENT);
        CHECK_INT(r.length, strlen(r.data));
        CHECK_INT(strcmp(r.data, "me") == 0, parents);
        ANSWER(STORE_CREATE, NODE, .rc = STORE_NONODE);
        CHECK_INT(fake_request(STORE_CREATE, "/root").mode, modes[parents]);
        CHECK_INT(fake_request(STORE_CREATE, "/root/b").mode, modes[parents]);
        ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
        ANSWER(STORE_CREATE, "/root/b", .rc = STORE_OK);
        ANSWER(STORE_CREATE, NODE, .rc = parents ? STORE_EXISTS : STORE_OK);
        check_returns(&blocking, 0);
        end();
    }
}

TEST_CASE(may_not_close)
{
    static const struct {
        enum store_rc node, parent;
        int code;
    } rows[] = {{STORE_NOAUTH, STORE_OK, ZKL_EACCES},
                {STORE_NOCHILDREN, STORE_OK, ZKL_EPATH},
                {STORE_BAD, STORE_OK, ZKL_EPROTO},
                {STORE_NONODE, STORE_NOAUTH, ZKL_EACCES}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_with(NULL);
        call(&blocking, zkl_barrier_set, STORE_CREATE);
        ANSWER(STORE_CREATE, NODE, .rc = rows[i].node);
        if (rows[i].node == STORE_NONODE) {
            ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
            ANSWER(STORE_CREATE, "/root/b", .rc = rows[i].parent);
        }
        check_returns(&blocking, rows[i].code);
        CHECK(!fake_is_asked(STORE_CREATE, NODE));
        end();
    }
}

TEST_CASE(opens)
{
    static const struct {
        enum store_rc rc;
        int code;
    } rows[] = {{STORE_OK, 0},
                {STORE_NONODE, 0},
                {STORE_NOTEMPTY, ZKL_ENOTEMPTY},
                {STORE_NOAUTH, ZKL_EACCES}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_with(NULL);
        call(&blocking, zkl_barrier_remove, STORE_DELETE);
        ANSWER(STORE_DELETE, NODE, .rc = rows[i].rc);
        check_returns(&blocking, rows[i].code);
        end();
    }
}

static void next_session(void)
{
    fake_next_session();
}

enum { LATE_MS = 22000 }; /* 20 s, and the drift */

/* A change whose first answer was lost. */
struct change {
    int (*fn)(zkl_barrier *b, int64_t timeout_ms);
    enum store_kind kind;
    enum store_rc rc; /* of its repetition */
    int code;
};

static const struct change changes[] = {
    {zkl_barrier_set, STORE_CREATE, STORE_OK, 0},
    {zkl_barrier_set, STORE_CREATE, STORE_NOAUTH, ZKL_EACCES},
    {zkl_barrier_remove, STORE_DELETE, STORE_OK, 0},
    {zkl_barrier_remove, STORE_DELETE, STORE_NOTEMPTY, ZKL_ENOTEMPTY}};

static void lose_answer(const struct change *c, int64_t timeout_ms)
{
    begin_with(NULL);
    call_for(&blocking, c->fn, c->kind, timeout_ms);
    fake_event(STORE_EV_DOWN);
    CHECK(fake_answer(c->kind, NODE, (struct store_reply){.rc = STORE_UNKNOWN}));
    fake_event(STORE_EV_UP);
}

static void answer_repetition(const struct change *c)
{
    CHECK(fake_answer(c->kind, NODE, (struct store_reply){.rc = c->rc}));
}

/* The first request may still be done: when another has changed the barrier since, or who may
 * change it. */
TEST_CASE(settles)
{
    for (size_t i = 0; i < 4 * G_N_ELEMENTS(changes); i++) {
        const struct change *c = &changes[i / 4];
        const bool early = i % 2, replaced = i / 2 % 2;
        lose_answer(c, ZKL_FOREVER);
        answer_repetition(c);
        session_lock(s);
        if (replaced) /* the servers may not have heard of that */
            incarnation_replace(s, LOSS_REPLACED);
        session_unlock(s);
        hand_pass(s, LATE_MS - early);
        CHECK_INT(zkl_session_id(s) == FAKE_SESSION_ID, !replaced);
        if (early)
            zkl_barrier_free(b);
        check_returns(&blocking, early ? ZKL_ECLOSED : c->code);
        if (!early)
            zkl_barrier_free(b);
        hand_close(s);
    }
}

/* The default time, 10 s here, limits the call until its repetition is answered, and no wait after
 * that. A chosen one limits both. */
TEST_CASE(settles_by_default)
{
    enum { ANSWERED_MS = 9000, END_MS = ANSWERED_MS + LATE_MS };
    static const struct {
        int64_t timeout_ms, answered_ms, end_ms;
        bool in_vain;
    } rows[] = {
        {0, ANSWERED_MS, END_MS, false},          {-1, ANSWERED_MS, END_MS, false},
        {END_MS + 1, ANSWERED_MS, END_MS, false}, {END_MS - 1, ANSWERED_MS, END_MS - 1, true},
        {10000, ANSWERED_MS, 10000, true},        {0, INT64_MAX, 10000, true}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows) * G_N_ELEMENTS(changes); i++) {
        const struct change *c = &changes[i / G_N_ELEMENTS(rows)];
        const size_t row = i % G_N_ELEMENTS(rows);
        const int64_t first_ms = MIN(rows[row].answered_ms, rows[row].end_ms);
        lose_answer(c, rows[row].timeout_ms);
        hand_pass(s, first_ms);
        if (rows[row].answered_ms == first_ms)
            answer_repetition(c);
        hand_pass(s, rows[row].end_ms - first_ms);
        check_returns(&blocking, rows[row].in_vain ? ZKL_ETIMEDOUT : c->code);
        end();
    }
}

/* Each goes on in the next session, even in the middle of its parents. */
TEST_CASE(goes_on_in_the_next_session)
{
    begin_with(NULL);
    call(&blocking, zkl_barrier_remove, STORE_DELETE);
    next_session();
    CHECK_INT(fake_count(STORE_DELETE, NODE), 1);
    ANSWER(STORE_DELETE, NODE, .rc = STORE_OK);
    check_returns(&blocking, 0);
    call(&blocking, zkl_barrier_set, STORE_CREATE);
    next_session();
    CHECK_INT(fake_count(STORE_CREATE, NODE), 1);
    ANSWER(STORE_CREATE, NODE, .rc = STORE_NONODE);
    next_session();
    CHECK_INT(fake_count(STORE_CREATE, NODE), 1);
    ANSWER(STORE_CREATE, NODE, .rc = STORE_OK);
    check_returns(&blocking, 0);
    end();
}

TEST_CASE(closing_ends_calls)
{
    struct blocking set, removal;

    begin_with(NULL);
    call(&set, zkl_barrier_set, STORE_CREATE);
    call(&removal, zkl_barrier_remove, STORE_DELETE);
    wait_for(&out);
    session_ref(s);
    hand_close(s);
    check_returns(&set, ZKL_ECLOSED);
    check_returns(&removal, ZKL_ECLOSED);
    CHECK_INT(out.calls, 1);
    CHECK_INT(out.code, ZKL_ECLOSED);
    CHECK_INT(zkl_barrier_wait_async(b, 0, on_done, &out), ZKL_ECLOSED);
    CHECK_INT(zkl_barrier_wait(b, 0), ZKL_ECLOSED);
    zkl_barrier_free(b);
    CHECK_INT(zkl_barrier_new(&b, s, "/b", NULL), ZKL_ECLOSED);
    session_unref(s);
}

/* What is asked for is over: nothing more is asked. */
TEST_CASE(freeing_ends_calls)
{
    struct outcome first, second;

    begin_with(NULL);
    wait_for(&first);
    ANSWER(STORE_SYNC, NODE, .rc = STORE_OK);
    ANSWER(STORE_GET, NODE, .rc = STORE_OK);
    wait_for(&second);
    zkl_barrier_free(b);
    check_ended(&first, ZKL_ECLOSED);
    check_ended(&second, ZKL_ECLOSED);
    CHECK_STR(first.text, "the barrier was freed");
    ANSWER(STORE_GET, NODE, .rc = STORE_OK);
    CHECK(fake_is_asked(STORE_UNWATCH, NODE));
    hand_close(s);
    zkl_barrier_free(NULL);
}

/* Nor is anything asked for when its parents, or its node, are answered then. */
TEST_CASE(is_freed_meanwhile)
{
    for (int parents = 0; parents < 2; parents++) {
        begin_with(NULL);
        call(&blocking, zkl_barrier_set, STORE_CREATE);
        if (parents)
            ANSWER(STORE_CREATE, NODE, .rc = STORE_NONODE);
        zkl_barrier_free(b);
        check_returns(&blocking, ZKL_ECLOSED);
        if (parents) {
            ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
            ANSWER(STORE_CREATE, "/root/b", .rc = STORE_OK);
        } else {
            ANSWER(STORE_CREATE, NODE, .rc = STORE_NONODE);
        }
        CHECK(!fake_is_asked(STORE_CREATE, "/root"));
        hand_close(s);
    }
}

/* ---- waiting ---- */

TEST_CASE(waits)
{
    begin_with(NULL);
    wait_for(&out);
    CHECK(fake_place(STORE_SYNC, NODE) < fake_place(STORE_GET, NODE));
    CHECK(fake_is_watching(STORE_GET, NODE));
    ANSWER(STORE_SYNC, NODE, .rc = STORE_OK);
    ANSWER(STORE_GET, NODE, .rc = STORE_OK);
    check_pending(&out);
    fake_watch(NODE, false); /* somebody has written into it */
    check_pending(&out);
    CHECK(!fake_is_asked(STORE_SYNC, NODE));
    ANSWER(STORE_GET, NODE, .rc = STORE_OK);
    fake_watch(NODE, true);
    check_ended(&out, 0);
    CHECK(!fake_is_asked(STORE_UNWATCH, NODE));
    wait_for(&out);
    ANSWER(STORE_GET, NODE, .rc = STORE_NONODE);
    check_ended(&out, 0);
    ANSWER(STORE_SYNC, NODE, .rc = STORE_OK);
    wait_for(&out);
    ANSWER(STORE_SYNC, NODE, .rc = STORE_NOAUTH); /* the read tells */
    check_pending(&out);
    ANSWER(STORE_GET, NODE, .rc = STORE_NOAUTH);
    check_ended(&out, ZKL_EACCES);
    end();
}

/* From the beginning, whether the watch was there, or the read was on its way. */
TEST_CASE(waits_on_in_the_next_session)
{
    for (int read = 0; read < 2; read++) {
        begin_with(NULL);
        wait_for(&out);
        ANSWER(STORE_SYNC, NODE, .rc = STORE_OK);
        if (read)
            ANSWER(STORE_GET, NODE, .rc = STORE_OK);
        next_session();
        check_pending(&out);
        CHECK_INT(fake_count(STORE_SYNC, NODE), 1);
        CHECK_INT(fake_count(STORE_GET, NODE), 1);
        ANSWER(STORE_SYNC, NODE, .rc = STORE_OK);
        ANSWER(STORE_GET, NODE, .rc = STORE_OK);
        fake_watch(NODE, true);
        check_ended(&out, 0);
        end();
    }
}

/* The session ends while the read that a change has caused is parked: it is read once in the next.
 */
TEST_CASE(reads_again_in_the_next_session)
{
    begin_with(NULL);
    wait_for(&out);
    ANSWER(STORE_SYNC, NODE, .rc = STORE_OK);
    ANSWER(STORE_GET, NODE, .rc = STORE_OK);
    fake_watch(NODE, false);
    next_session();
    CHECK_INT(fake_count(STORE_GET, NODE), 1);
    ANSWER(STORE_GET, NODE, .rc = STORE_NONODE);
    check_ended(&out, 0);
    end();
}

TEST_CASE(waits_in_vain)
{
    struct outcome o = {.calls = 0};

    begin_with(NULL);
    CHECK_INT(zkl_barrier_wait_async(b, 300, on_done, &o), 0);
    ANSWER(STORE_SYNC, NODE, .rc = STORE_OK);
    ANSWER(STORE_GET, NODE, .rc = STORE_OK);
    hand_pass(s, 300);
    check_ended(&o, ZKL_ETIMEDOUT);
    CHECK(fake_is_asked(STORE_UNWATCH, NODE));
    ANSWER(STORE_UNWATCH, NODE, .rc = STORE_OK);
    fake_watch(NODE, true);
    s->watched_bytes += 512 * 1024;
    wait_for(&o);
    check_ended(&o, ZKL_ELIMIT);
    CHECK(!fake_is_asked(STORE_GET, NODE));
    s->watched_bytes -= 512 * 1024;
    wait_for(&o);
    fake_event(STORE_EV_AUTH);
    check_ended(&o, ZKL_EAUTH);
    end();
}
