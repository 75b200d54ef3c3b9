/* The driver of a semaphore's contender: the limit, whom it hears, and the touch; and the limit as
 * an administrator has it. */
#include "parts.h"
#include "recipes/limit.h"
#include "runner.h"
#include "semaphore_story.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(semaphore);

static struct permit_story st;

static void begin(int permits)
{
    permit_story_begin(&st, 4, false);
    permit_story_acquire(&st, permits, ZKL_FOREVER);
}

/* The limit is 2, unless begin() is followed by something else. */
static void enter(const char *names)
{
    permit_story_created(&st);
    permit_story_limited(&st, "2");
    permit_story_listed(&st, names);
}

static void hold(const char *names)
{
    begin(1);
    enter(names);
    permit_story_told(&st, 1, 0);
}

/* ---- the limit ---- */

TEST_CASE(free_permits)
{
    zkl_part part = {0};

    begin(2);
    CHECK(strstr(fake_request(STORE_CREATE, STORY_PATH).path, "-n2-lease-") != NULL);
    CHECK_STR(fake_request(STORE_CREATE, STORY_PATH).data, "me");
    CHECK(!fake_is_watching(STORE_GET, STORY_PATH));
    CHECK(!fake_is_watching(STORE_LIST, STORY_PATH));
    enter("*");
    permit_story_told(&st, 1, 0);
    CHECK(!fake_is_asked(STORE_SET, STORY_PATH));
    CHECK_INT(zkl_grant_token(st.grant), 5);
    CHECK_INT(parts_of(st.grant, &part, 1), 1);
    CHECK_INT(part.slot, -1);
    permit_story_release(&st);
    permit_story_end(&st);
}

/* It is read once, until a list shows that it was changed. */
TEST_CASE(limit_is_kept)
{
    hold("*");
    permit_story_release(&st);
    permit_story_acquire(&st, 2, ZKL_FOREVER);
    CHECK(!fake_is_asked(STORE_GET, STORY_PATH));
    permit_story_created(&st);
    st.zxid = 10;
    permit_story_listed(&st, "*");
    permit_story_told(&st, 0, 0);
    CHECK(fake_is_asked(STORE_GET, STORY_PATH));
    CHECK(fake_is_asked(STORE_LIST, STORY_PATH));
    permit_story_limited(&st, "1");
    permit_story_listed(&st, "*");
    permit_story_told(&st, 1, ZKL_ELIMIT);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

/* The servers' data may have gone back since, and zxids come again. */
TEST_CASE(limit_of_another_session)
{
    hold("*");
    permit_story_release(&st);
    permit_story_replace(&st, 8);
    permit_story_acquire(&st, 2, ZKL_FOREVER);
    CHECK(fake_is_asked(STORE_GET, STORY_PATH));
    permit_story_created(&st);
    permit_story_limited(&st, "1");
    permit_story_listed(&st, "*");
    permit_story_told(&st, 1, ZKL_ELIMIT);
    permit_story_end(&st);
}

/* One that waits, too. */
TEST_CASE(limit_of_another_session_while_waiting)
{
    begin(1);
    enter("n3 n4 n5 *");
    permit_story_replace(&st, 8);
    permit_story_created(&st);
    permit_story_limited(&st, "1");
    permit_story_listed(&st, "n3 *");
    permit_story_told(&st, 0, 0);
    CHECK(fake_is_watching(STORE_LIST, STORY_PATH));
    permit_story_end(&st);
}

TEST_CASE(more_than_the_limit)
{
    begin(3);
    enter("*");
    permit_story_told(&st, 1, ZKL_ELIMIT);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

static void answer_nonode(void)
{
    ANSWER(STORE_CREATE, STORY_PATH "/", .rc = STORE_NONODE);
    fake_answer(STORE_GET, STORY_PATH, (struct store_reply){.rc = STORE_NONODE});
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_NONODE);
}

/* With the limit that is known, which an administrator may have changed. */
TEST_CASE(directory_is_made)
{
    begin(1);
    answer_nonode();
    CHECK_STR(fake_request(STORE_CREATE, STORY_PATH).data, "4");
    CHECK_INT(fake_request(STORE_CREATE, STORY_PATH).length, 1);
    CHECK_INT(fake_request(STORE_CREATE, STORY_PATH).mode, STORE_PERSISTENT);
    ANSWER(STORE_CREATE, STORY_PATH, .rc = STORE_OK);
    ANSWER(STORE_CREATE, "/root", .rc = STORE_EXISTS);
    enter("*");
    permit_story_told(&st, 1, 0);
    permit_story_release(&st);
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    answer_nonode();
    CHECK_STR(fake_request(STORE_CREATE, STORY_PATH).data, "2");
    permit_story_end(&st);
}

static void answer_limit_refused(void)
{
    ANSWER(STORE_GET, STORY_PATH, .rc = STORE_NOAUTH);
}

static void answer_limit_refused_to_write(void)
{
    permit_story_limited(&st, "");
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_NOAUTH);
}

static void answer_no_number(void)
{
    permit_story_limited(&st, "x");
}

static void answer_nothing(void)
{
    permit_story_limited(&st, "");
}

/* Nothing is learnt from that: it is asked again for the next. */
TEST_CASE(no_limit)
{
    static const struct {
        int limit; /* that its user names; 0: none */
        void (*answer)(void);
        int code;
    } rows[] = {{1, answer_limit_refused, ZKL_EACCES},
                {1, answer_limit_refused_to_write, ZKL_EACCES},
                {1, answer_no_number, ZKL_ENOENT},
                {0, answer_nothing, ZKL_ENOENT}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        permit_story_begin(&st, rows[i].limit, false);
        permit_story_acquire(&st, 1, ZKL_FOREVER);
        permit_story_created(&st);
        rows[i].answer();
        permit_story_told(&st, 1, rows[i].code);
        permit_story_acquire(&st, 1, ZKL_FOREVER);
        CHECK(fake_is_asked(STORE_GET, STORY_PATH));
        permit_story_end(&st);
    }
}

/* Nobody has made the directory: it is made with the limit that its user names, if there is one. */
TEST_CASE(limit_of_a_new_directory)
{
    for (int limit = 0; limit < 2; limit++) {
        permit_story_begin(&st, limit, false);
        permit_story_acquire(&st, 1, ZKL_FOREVER);
        answer_nonode();
        CHECK_INT(fake_is_asked(STORE_CREATE, STORY_PATH), limit);
        if (limit)
            CHECK_STR(fake_request(STORE_CREATE, STORY_PATH).data, "1");
        permit_story_told(&st, !limit, limit ? 0 : ZKL_ENOENT);
        permit_story_end(&st);
    }
}

/* For exactly the version that had none; and whoever did it, it is read then. */
TEST_CASE(limit_is_written)
{
    static const enum store_rc rcs[] = {STORE_OK, STORE_BADVERSION};

    for (size_t i = 0; i < G_N_ELEMENTS(rcs); i++) {
        begin(3);
        permit_story_created(&st);
        permit_story_limited(&st, "");
        permit_story_sets(&st, STORY_PATH, "4", 4);
        permit_story_told(&st, 0, 0);
        ANSWER(STORE_SET, STORY_PATH, .rc = rcs[i]);
        permit_story_limited(&st, rcs[i] == STORE_OK ? "4" : "2");
        permit_story_listed(&st, "*");
        permit_story_told(&st, 1, rcs[i] == STORE_OK ? 0 : ZKL_ELIMIT);
        permit_story_end(&st);
    }
}

/* Nobody waits for what an earlier session had asked. */
TEST_CASE(session_ends_while_the_limit_is_written)
{
    begin(1);
    permit_story_created(&st);
    permit_story_limited(&st, "");
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_GONE);
    permit_story_replace(&st, 8);
    enter("*");
    permit_story_told(&st, 1, 0);
    permit_story_end(&st);
}

/* ---- waiting ---- */

static void first_in_line(const char *names)
{
    begin(1);
    enter(names);
    CHECK(fake_is_watching(STORE_GET, STORY_PATH));
    CHECK(fake_is_watching(STORE_LIST, STORY_PATH));
    permit_story_limited(&st, "2");
    permit_story_listed(&st, names);
    permit_story_told(&st, 0, 0);
}

TEST_CASE(first_hears_of_a_release)
{
    first_in_line("n3 n4 *");
    fake_fire(STORY_PATH, STORE_FIRED_CHILDREN);
    CHECK(!fake_is_asked(STORE_GET, STORY_PATH));
    CHECK(fake_is_watching(STORE_LIST, STORY_PATH));
    permit_story_listed(&st, "n4 *");
    permit_story_told(&st, 1, 0);
    permit_story_end(&st);
}

TEST_CASE(first_hears_of_the_limit)
{
    first_in_line("n3 n4 *");
    fake_watch(STORY_PATH, false);
    CHECK(fake_is_watching(STORE_GET, STORY_PATH));
    st.zxid = 10;
    permit_story_limited(&st, "3");
    permit_story_listed(&st, "n3 n4 *");
    permit_story_told(&st, 1, 0);
    /* A contender that holds does not go by it. */
    fake_watch(STORY_PATH, false);
    CHECK(!fake_is_asked(STORE_GET, STORY_PATH));
    permit_story_end(&st);
}

/* Also where it had to write it: a set leaves no watch. */
TEST_CASE(first_watches_what_it_writes)
{
    begin(1);
    enter("n3 n4 *");
    permit_story_limited(&st, "");
    permit_story_sets(&st, STORY_PATH, "4", 4);
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_OK);
    CHECK(fake_is_watching(STORE_GET, STORY_PATH));
    permit_story_limited(&st, "2");
    permit_story_listed(&st, "n3 n4 *");
    fake_watch(STORY_PATH, false);
    CHECK(fake_is_asked(STORE_GET, STORY_PATH));
    permit_story_told(&st, 0, 0);
    permit_story_end(&st);
}

/* A contender that is over leaves no watch behind, either. */
TEST_CASE(over_while_the_limit_is_written)
{
    first_in_line("n3 n4 *");
    fake_watch(STORY_PATH, false);
    permit_story_limited(&st, "");
    permit_story_sets(&st, STORY_PATH, "4", 4);
    zkl_op_cancel(st.op);
    permit_story_told(&st, 1, ZKL_ECANCELED);
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_GET, STORY_PATH));
    permit_story_end(&st);
}

static bool refuse_reads(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_BAD};
    return request->kind == STORE_GET;
}

/* A contender that is refused at once leaves no watch behind. */
TEST_CASE(first_is_refused_at_once)
{
    begin(1);
    permit_story_created(&st);
    permit_story_limited(&st, "2");
    fake_answer_at_once(refuse_reads);
    permit_story_listed(&st, "n3 n4 *");
    fake_answer_at_once(NULL);
    permit_story_told(&st, 1, ZKL_EPROTO);
    permit_story_listed(&st, "n3 n4");
    ANSWER(STORE_UNWATCH, STORY_PATH, .rc = STORE_OK);
    CHECK_INT(g_hash_table_size(st.s->watches), 0);
    permit_story_end(&st);
}

/* The servers' data may have gone back, and libzookeeper has set its watches again without a word.
 * So the first in line looks again. */
TEST_CASE(first_looks_again_when_connected_again)
{
    first_in_line("n3 n4 *");
    fake_reconnect();
    CHECK(fake_is_watching(STORE_GET, STORY_PATH));
    CHECK(fake_is_watching(STORE_LIST, STORY_PATH));
    st.zxid = 8;
    permit_story_limited(&st, "3");
    permit_story_listed(&st, "n3 n4 *");
    hand_stand_alone(st.s);
    permit_story_told(&st, 1, 0);
    permit_story_end(&st);
}

static void on_queue(void *data)
{
    (void)data;
}

/* Where there is no room for the first of its two watches it fails, and leaves no other behind.
 * That of a queue stays. */
TEST_CASE(first_has_no_room)
{
    zkl_watch *watch;

    permit_story_begin(&st, 4, false);
    REQUIRE(zkl_queue_watch(&watch, st.s, "/s", on_queue, NULL) == 0);
    ANSWER(STORE_SYNC, STORY_PATH, .rc = STORE_OK);
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK);
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    const size_t before = st.s->watched_bytes;
    st.s->watched_bytes = 512 * 1024;
    enter("n3 n4 *");
    permit_story_told(&st, 1, ZKL_ELIMIT);
    st.s->watched_bytes = before;
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK);
    CHECK_INT(g_hash_table_size(st.s->watches), 1);
    zkl_watch_free(watch);
    permit_story_end(&st);
}

TEST_CASE(behind_hears_of_the_touch)
{
    char *node;

    begin(1);
    enter("n3 n4 n5 *");
    node = permit_story_node(&st, "n5");
    CHECK(fake_is_watching(STORE_GET, node));
    CHECK(!fake_is_asked(STORE_LIST, STORY_PATH));
    permit_story_read(&st, "n5", "other", 0);
    permit_story_told(&st, 0, 0);
    fake_watch(node, false);
    CHECK(fake_is_watching(STORE_GET, STORY_PATH));
    CHECK(fake_is_watching(STORE_LIST, STORY_PATH));
    g_free(node);
    permit_story_end(&st);
}

TEST_CASE(try_of_what_is_not_free)
{
    permit_story_begin(&st, 4, false);
    permit_story_acquire(&st, 1, 0);
    enter("n3 n4 *");
    permit_story_told(&st, 1, ZKL_EBUSY);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

TEST_CASE(behind_what_is_no_contender)
{
    char other[] = "data", *names[2] = {NULL, other};

    begin(1);
    permit_story_created(&st);
    permit_story_limited(&st, "2");
    names[0] = strrchr(st.node, '/') + 1;
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .names = names, .count = 2, .mzxid = st.zxid);
    permit_story_told(&st, 1, ZKL_ELAYOUT);
    permit_story_end(&st);
}

TEST_CASE(timed_out)
{
    permit_story_begin(&st, 4, false);
    permit_story_acquire(&st, 1, 1000);
    enter("nn3 *");
    permit_story_limited(&st, "2");
    permit_story_listed(&st, "nn3 *");
    hand_pass_proved(st.s, 999);
    permit_story_told(&st, 0, 0);
    hand_pass_proved(st.s, 1);
    permit_story_told(&st, 1, ZKL_ETIMEDOUT);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

/* Its create is done after all, beside the node that was made instead: a permit less for all. */
TEST_CASE(late_create_beside_a_holder)
{
    char *late, *names[2];

    begin(1);
    late = fake_created_name(STORY_PATH "/", 3);
    ANSWER(STORE_CREATE, STORY_PATH "/", .rc = STORE_UNKNOWN);
    permit_story_limited(&st, "2");
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .mzxid = st.zxid);
    ANSWER(STORE_SET, STORY_PATH "/", .rc = STORE_NONODE);
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .mzxid = st.zxid);
    permit_story_created(&st);
    permit_story_limited(&st, "2");
    permit_story_listed(&st, "*");
    permit_story_told(&st, 1, 0);
    names[0] = strrchr(late, '/') + 1;
    names[1] = strrchr(st.node, '/') + 1;
    hand_pass_proved(st.s, 1000);
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .names = names, .count = 2, .mzxid = st.zxid);
    CHECK(fake_is_asked(STORE_DELETE, late));
    CHECK(!fake_is_asked(STORE_DELETE, st.node));
    CHECK_INT(zkl_grant_state(st.grant), ZKL_HELD);
    g_free(late);
    permit_story_release(&st);
    permit_story_end(&st);
}

/* ---- the touch ---- */

TEST_CASE(touched)
{
    hold("* n8");
    permit_story_sets(&st, st.node, "me", 0);
    ANSWER(STORE_SET, st.node, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_SET, st.node));
    CHECK(!fake_is_asked(STORE_GET, st.node));
    permit_story_end(&st);
}

/* What somebody else has written there stays. */
TEST_CASE(touched_until_it_succeeds)
{
    hold("* n8");
    for (int version = 1; version < 4; version++) {
        ANSWER(STORE_SET, st.node, .rc = STORE_BADVERSION);
        CHECK(!fake_is_asked(STORE_SET, st.node));
        permit_story_read(&st, "*", "__REVOKE__", version);
        permit_story_sets(&st, st.node, "__REVOKE__", version);
    }
    ANSWER(STORE_SET, st.node, .rc = STORE_OK);
    CHECK(!fake_is_asked(STORE_GET, st.node));
    permit_story_end(&st);
}

/* What somebody has written to a node that is gone is not written to the next one. */
TEST_CASE(touched_with_nothing_of_a_node_before)
{
    char *node, *name;

    begin(1);
    node = fake_created_name(STORY_PATH "/", 3);
    name = strrchr(node, '/') + 1;
    ANSWER(STORE_CREATE, STORY_PATH "/", .rc = STORE_UNKNOWN);
    permit_story_limited(&st, "2");
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .mzxid = st.zxid);
    ANSWER(STORE_SET, STORY_PATH "/", .rc = STORE_NONODE);
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .names = &name, .count = 1, .mzxid = st.zxid);
    ANSWER(STORE_GET, node, .rc = STORE_OK, .data = "__REVOKE__", .length = 10, .version = 1,
           .ephemeral_owner = st.s->id, .czxid = 4);
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .mzxid = st.zxid);
    CHECK(fake_is_asked(STORE_DELETE, node));
    enter("* n8");
    permit_story_told(&st, 1, 0);
    permit_story_sets(&st, st.node, "me", 0);
    g_free(node);
    permit_story_end(&st);
}

TEST_CASE(touch_is_refused)
{
    static const struct {
        enum store_rc rc;
        int warnings;
    } rows[] = {{STORE_NOAUTH, 1}, {STORE_BAD, 1}, {STORE_NONODE, 0}, {STORE_OK, 0}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        hold("* n8");
        ANSWER(STORE_SET, st.node, .rc = rows[i].rc);
        zkl_session_dispatch(st.s);
        CHECK_INT(st.warnings, rows[i].warnings);
        CHECK(!fake_is_asked(STORE_GET, st.node));
        CHECK_INT(zkl_grant_state(st.grant), ZKL_HELD);
        permit_story_end(&st);
    }
}

TEST_CASE(touch_finds_nothing)
{
    hold("* n8");
    ANSWER(STORE_SET, st.node, .rc = STORE_BADVERSION);
    ANSWER(STORE_GET, st.node, .rc = STORE_NONODE);
    CHECK(!fake_is_asked(STORE_SET, st.node));
    permit_story_end(&st);
}

TEST_CASE(released_while_touched)
{
    hold("* n8");
    zkl_grant_release(st.grant);
    st.grant = NULL;
    ANSWER(STORE_SET, st.node, .rc = STORE_BADVERSION);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
    permit_story_end(&st);
}

/* ---- the handle ---- */

TEST_CASE(named_by_its_host)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    o.limit = 1;
    permit_story_begin_with(&st, &o);
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    char *end = g_strdup_printf("%s pid %d", g_get_host_name(), (int)getpid());
    CHECK_STR(fake_request(STORE_CREATE, STORY_PATH).data, end);
    g_free(end);
    permit_story_end(&st);
}

TEST_CASE(parents)
{
    static const enum store_mode modes[] = {
        [ZKL_PARENTS_CONTAINER] = STORE_CONTAINER, [ZKL_PARENTS_PERSISTENT] = STORE_PERSISTENT};

    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
        o.limit = 1;
        o.parents = (zkl_parents)i;
        permit_story_begin_with(&st, &o);
        permit_story_acquire(&st, 1, ZKL_FOREVER);
        answer_nonode();
        ANSWER(STORE_CREATE, STORY_PATH, .rc = STORE_NONODE);
        CHECK_INT(fake_request(STORE_CREATE, "/root").mode, modes[i]);
        permit_story_end(&st);
    }
}

/* Where the numbers are used up the directory is made anew: with the limit that it had last. */
TEST_CASE(directory_made_anew)
{
    begin(1);
    ANSWER(STORE_CREATE, STORY_PATH, .rc = STORE_OK, .czxid = 100, .ephemeral_owner = st.s->id,
           .path = STORY_PATH "/_c_x-lease-2147483647");
    permit_story_limited(&st, "3");
    permit_story_limited(&st, "5");
    ANSWER(STORE_DELETE, STORY_PATH "/", .rc = STORE_OK);
    ANSWER(STORE_DELETE, STORY_PATH, .rc = STORE_OK);
    answer_nonode();
    CHECK_STR(fake_request(STORE_CREATE, STORY_PATH).data, "5");
    permit_story_end(&st);
}

/* What is held stays. */
TEST_CASE(freed)
{
    zkl_grant *held;

    hold("*");
    held = st.grant;
    st.grant = NULL;
    permit_story_acquire(&st, 2, ZKL_FOREVER);
    zkl_semaphore_free(st.semaphore);
    st.semaphore = NULL;
    permit_story_told(&st, 1, ZKL_ECLOSED);
    CHECK_INT(zkl_grant_state(held), ZKL_HELD);
    zkl_grant_release(held);
    permit_story_end(&st);
}

/* ---- the limit as an administrator reads and sets it ---- */

struct call {
    zkl_session *s;
    zkl_semaphore *semaphore;
    int limit; /* to be set; 0: to be read */
    int64_t timeout_ms;
    int code, value;
    zkl_error why;
    pthread_t thread;
};

static struct call called;

static void *ask(void *data)
{
    struct call *c = data;

    c->code = c->limit ? zkl_semaphore_set_limit(c->semaphore, c->limit, c->timeout_ms)
                       : zkl_semaphore_get_limit(c->semaphore, c->timeout_ms, &c->value);
    zkl_last_error(&c->why);
    return NULL;
}

static void call(struct call *c, int limit, int64_t timeout_ms)
{
    *c = (struct call){.s = hand_session(), .limit = limit, .timeout_ms = timeout_ms};
    REQUIRE(zkl_semaphore_new(&c->semaphore, c->s, "/s", NULL) == 0);
    REQUIRE(pthread_create(&c->thread, NULL, ask, c) == 0);
    fake_await(STORE_GET, STORY_PATH);
    CHECK_INT(fake_request(STORE_GET, STORY_PATH).length, 0);
}

static void returned(struct call *c, int code)
{
    pthread_join(c->thread, NULL);
    CHECK_INT(c->code, code);
    if (code)
        CHECK_INT(c->why.code, code);
    zkl_semaphore_free(c->semaphore);
    if (c->s)
        hand_close(c->s);
}

static void answer(const char *data, int version)
{
    ANSWER(STORE_GET, STORY_PATH, .rc = STORE_OK, .data = data, .length = (int)strlen(data),
           .version = version);
}

static void check_set(const char *data, int version)
{
    struct store_request asked = fake_request(STORE_SET, STORY_PATH);

    REQUIRE(asked.path != NULL);
    CHECK_STR(asked.data, data);
    CHECK_INT(asked.length, (int)strlen(data));
    CHECK_INT(asked.version, version);
}

TEST_CASE(limit_is_got)
{
    call(&called, 0, 300);
    answer("12", 3);
    pthread_join(called.thread, NULL);
    CHECK_INT(called.value, 12);
    hand_pass(called.s, 300); /* of no interest any more */
    zkl_semaphore_free(called.semaphore);
    hand_close(called.s);
}

TEST_CASE(limit_is_none)
{
    static const char *const data[] = {"", "x", "0"};

    for (size_t i = 0; i < G_N_ELEMENTS(data); i++) {
        call(&called, 0, ZKL_FOREVER);
        answer(data[i], 0);
        returned(&called, ZKL_ELAYOUT);
        CHECK_STR(called.why.path, "/s");
        CHECK_STR(called.why.text, "/s: its data are no limit of a semaphore");
    }
}

/* For exactly the version that was read; or found as it is to be, by a set whose answer was lost.
 */
TEST_CASE(limit_is_set)
{
    call(&called, 3, ZKL_FOREVER);
    answer("12", 7);
    check_set("3", 7);
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_BADVERSION);
    answer("4", 8);
    check_set("3", 8);
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_OK);
    returned(&called, 0);
    call(&called, 3, ZKL_FOREVER);
    answer("", 0);
    check_set("3", 0);
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_OK);
    returned(&called, 0);
    call(&called, 3, ZKL_FOREVER);
    answer("3", 7);
    returned(&called, 0);
    call(&called, 3, ZKL_FOREVER);
    answer("x", 7);
    returned(&called, ZKL_ELAYOUT);
}

TEST_CASE(limit_is_refused)
{
    static const struct {
        enum store_kind kind;
        enum store_rc rc;
        int code;
    } rows[] = {
        {STORE_GET, STORE_NONODE, ZKL_ENOENT}, {STORE_GET, STORE_NOAUTH, ZKL_EACCES},
        {STORE_GET, STORE_BAD, ZKL_EPROTO},    {STORE_SET, STORE_NONODE, ZKL_ENOENT},
        {STORE_SET, STORE_NOAUTH, ZKL_EACCES}, {STORE_SET, STORE_BAD, ZKL_EPROTO},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        call(&called, 1, ZKL_FOREVER);
        if (rows[i].kind == STORE_SET)
            answer("2", 0);
        ANSWER(rows[i].kind, STORY_PATH, .rc = rows[i].rc);
        returned(&called, rows[i].code);
        CHECK_STR(called.why.path, "/s");
    }
}

TEST_CASE(limit_is_late)
{
    call(&called, 0, 300);
    hand_pass(called.s, 299);
    CHECK_INT(fake_count(STORE_GET, STORY_PATH), 1);
    hand_pass(called.s, 1);
    pthread_join(called.thread, NULL);
    CHECK_INT(called.code, ZKL_ETIMEDOUT);
    CHECK_STR(called.why.path, "/s");
    answer("2", 0); /* of no interest any more */
    CHECK_INT(called.value, 0);
    zkl_semaphore_free(called.semaphore);
    hand_close(called.s);
}

/* Nothing more is asked for who has gone, whatever comes too late. */
TEST_CASE(late_answers)
{
    static const struct {
        enum store_kind kind;
        enum store_rc rc;
    } rows[] = {{STORE_SET, STORE_BADVERSION}, {STORE_SET, STORE_OK}, {STORE_SET, STORE_NOAUTH},
                {STORE_SET, STORE_GONE},       {STORE_GET, STORE_OK}, {STORE_GET, STORE_NOAUTH},
                {STORE_GET, STORE_GONE}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        call(&called, 1, 300);
        if (rows[i].kind == STORE_SET)
            answer("2", 0);
        hand_pass(called.s, 300);
        pthread_join(called.thread, NULL);
        CHECK_INT(called.code, ZKL_ETIMEDOUT);
        ANSWER(rows[i].kind, STORY_PATH, .rc = rows[i].rc, .data = "2", .length = 1);
        CHECK(!fake_is_asked(STORE_SET, STORY_PATH) && !fake_is_asked(STORE_GET, STORY_PATH));
        zkl_semaphore_free(called.semaphore);
        hand_close(called.s);
    }
}

/* The next one is asked. */
TEST_CASE(limit_is_asked_in_the_next_session)
{
    call(&called, 1, ZKL_FOREVER);
    answer("2", 0);
    CHECK_INT(fake_count(STORE_SET, STORY_PATH), 1);
    fake_next_session();
    CHECK_INT(fake_count(STORE_GET, STORY_PATH), 1);
    fake_next_session();
    answer("1", 1);
    returned(&called, 0);
}

TEST_CASE(machine_of_the_limit)
{
    static const struct {
        int32_t wanted;
        struct machine_event heard[3];
        const char *acts;
    } rows[] = {
#define HEARD(name, ...) {.kind = MACHINE_EV_ANSWER, .rc = STORE_##name, ##__VA_ARGS__}
        {0, {HEARD(OK, .data = "12", .length = 2)}, "get; end 0 12"},
        {0, {HEARD(OK)}, "get; end 1 0"},
        {3, {HEARD(OK, .version = 4), HEARD(OK)}, "get; set 4; end 0 0"},
        {3, {HEARD(OK, .data = "3", .length = 1)}, "get; end 0 3"},
        {3, {HEARD(OK, .data = "x", .length = 1)}, "get; end 1 0"},
        {3, {HEARD(OK), HEARD(BADVERSION), HEARD(NONODE)}, "get; set 0; get; end 2 0"},
        {3, {HEARD(OK), {.kind = MACHINE_EV_SESSION}, HEARD(NOAUTH)}, "get; set 0; get; end 2 0"},
        {3, {HEARD(OK), {.kind = MACHINE_EV_STOP}, HEARD(OK)}, "get; set 0; end 3 0"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct limit_call l = {.wanted = rows[i].wanted};
        struct machine_event ev = {.kind = MACHINE_EV_BEGIN};
        GString *text = g_string_new(NULL);
        for (int k = 0; k <= 3; k++) {
            struct machine_actions out = {.count = 0};
            limit_step(&l, &ev, &out);
            for (uint32_t n = 0; n < out.count; n++) {
                const struct machine_action *a = &out.list[n];
                if (a->kind == MACHINE_ACT_TELL)
                    g_string_append_printf(text, "end %d %d", a->verdict, (int)l.limit);
                else if (a->kind == MACHINE_ACT_REQUEST && a->verb == STORE_SET)
                    g_string_append_printf(text, "set %d; ", a->version);
                else if (a->kind == MACHINE_ACT_REQUEST)
                    g_string_append(text, "get; ");
            }
            if (k < 3)
                ev = rows[i].heard[k];
        }
        CHECK_STR(text->str, rows[i].acts);
        CHECK_INT(l.state, LIMIT_OVER);
        g_string_free(text, TRUE);
    }
    CHECK(!limit_may_move(LIMIT_SETTING, LIMIT_SETTING));
    CHECK(!limit_may_move(LIMIT_OVER, LIMIT_READING));
}
