/* The driver of a semaphore's contender: the limit, whom it hears, and the touch. */
#include "parts.h"
#include "runner.h"
#include "semaphore_story.h"

#include <string.h>

TEST_SUITE(semaphore_driver);

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

TEST_CASE(nobody_names_a_limit)
{
    permit_story_begin(&st, 0, false);
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    answer_nonode();
    permit_story_told(&st, 1, ZKL_ENOENT);
    CHECK(!fake_is_asked(STORE_CREATE, STORY_PATH));
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    permit_story_created(&st);
    permit_story_limited(&st, "");
    permit_story_told(&st, 1, ZKL_ENOENT);
    permit_story_end(&st);
}

TEST_CASE(one_is_a_limit)
{
    permit_story_begin(&st, 1, false);
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    answer_nonode();
    CHECK_STR(fake_request(STORE_CREATE, STORY_PATH).data, "1");
    permit_story_told(&st, 0, 0);
    permit_story_end(&st);
}

TEST_CASE(no_limit)
{
    begin(1);
    permit_story_created(&st);
    permit_story_limited(&st, "x");
    permit_story_told(&st, 1, ZKL_ENOENT);
    permit_story_acquire(&st, 1, ZKL_FOREVER); /* nothing was learnt from that */
    CHECK(fake_is_asked(STORE_GET, STORY_PATH));
    permit_story_end(&st);
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

TEST_CASE(limit_cannot_be_written)
{
    permit_story_begin(&st, 1, false);
    permit_story_acquire(&st, 1, ZKL_FOREVER);
    permit_story_created(&st);
    permit_story_limited(&st, "");
    ANSWER(STORE_SET, STORY_PATH, .rc = STORE_NOAUTH);
    permit_story_told(&st, 1, ZKL_EACCES);
    permit_story_end(&st);
}

TEST_CASE(limit_cannot_be_read)
{
    begin(1);
    permit_story_created(&st);
    ANSWER(STORE_GET, STORY_PATH, .rc = STORE_NOAUTH);
    permit_story_told(&st, 1, ZKL_EACCES);
    permit_story_end(&st);
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
    fake_event(STORE_EV_DOWN);
    fake_event(STORE_EV_UP);
    CHECK(fake_is_watching(STORE_GET, STORY_PATH));
    CHECK(fake_is_watching(STORE_LIST, STORY_PATH));
    st.zxid = 8;
    permit_story_limited(&st, "3");
    permit_story_listed(&st, "n3 n4 *");
    hand_stand_alone(st.s);
    permit_story_told(&st, 1, 0);
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

    permit_story_begin(&st, 4, false);
    zkl_semaphore_free(st.semaphore);
    o.limit = 1;
    REQUIRE(zkl_semaphore_new(&st.semaphore, st.s, "/s", &o) == 0);
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

        permit_story_begin(&st, 4, false);
        zkl_semaphore_free(st.semaphore);
        o.limit = 1;
        o.parents = (zkl_parents)i;
        REQUIRE(zkl_semaphore_new(&st.semaphore, st.s, "/s", &o) == 0);
        permit_story_acquire(&st, 1, ZKL_FOREVER);
        answer_nonode();
        ANSWER(STORE_CREATE, STORY_PATH, .rc = STORE_NONODE);
        CHECK_INT(fake_request(STORE_CREATE, "/root").mode, modes[i]);
        permit_story_end(&st);
    }
}

TEST_CASE(longest_name)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    char name[1026];
    zkl_semaphore *m = NULL;

    permit_story_begin(&st, 4, false);
    memset(name, 'x', sizeof name - 1);
    name[1025] = '\0';
    o.name = name;
    CHECK_INT(zkl_semaphore_new(&m, st.s, "/s", &o), ZKL_EINVAL);
    name[1024] = '\0';
    CHECK_INT(zkl_semaphore_new(&m, st.s, "/s", &o), 0);
    zkl_semaphore_free(m);
    permit_story_end(&st);
}

TEST_CASE(canceled)
{
    first_in_line("n3 n4 *");
    zkl_op_cancel(st.op);
    permit_story_told(&st, 1, ZKL_ECANCELED);
    CHECK(fake_is_asked(STORE_DELETE, st.node));
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

TEST_CASE(session_closed)
{
    zkl_semaphore *m;
    zkl_grant *none = NULL;
    int limit;

    begin(1);
    hand_close(st.s);
    CHECK_INT(st.calls, 1);
    CHECK_INT(st.error.code, ZKL_ECLOSED);
    CHECK_INT(zkl_semaphore_acquire(st.semaphore, 1, 0, &none), ZKL_ECLOSED);
    CHECK_INT(zkl_semaphore_get_limit(st.semaphore, 0, &limit), ZKL_ECLOSED);
    CHECK_INT(zkl_semaphore_new(&m, st.s, "/s", NULL), ZKL_ECLOSED);
    st.s = NULL;
    permit_story_end(&st);
}

static int in_callback[4];

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    zkl_grant *none = NULL;
    int limit;

    (void)grant;
    (void)state;
    (void)data;
    in_callback[0] = zkl_semaphore_acquire(st.semaphore, 1, 0, &none);
    in_callback[1] = zkl_semaphore_get_limit(st.semaphore, 0, &limit);
    in_callback[2] = zkl_semaphore_set_limit(st.semaphore, 1, 0);
    in_callback[3] = zkl_semaphore_acquire_async(st.semaphore, 0, 0, NULL, NULL, NULL);
}

TEST_CASE(inside_a_callback)
{
    hold("*");
    CHECK_INT(zkl_grant_on_change(st.grant, on_change, NULL), 0);
    permit_story_release(&st);
    zkl_session_dispatch(st.s);
    for (int i = 0; i < 3; i++)
        CHECK_INT(in_callback[i], ZKL_EDEADLK);
    CHECK_INT(in_callback[3], ZKL_EINVAL);
    permit_story_end(&st);
}
