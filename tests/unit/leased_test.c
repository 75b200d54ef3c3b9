/* A permit in Curator's layout: what is asked of the server, in which order, and what becomes of
 * the lock and the lease when the other one, the path or the session goes. */
#include "parts.h"
#include "runner.h"
#include "semaphore_story.h"

#include <glib.h>
#include <string.h>

#include "recipes/attempt.h"

TEST_SUITE(leased);

enum { NUMBER = 7 };

static struct permit_story story;

static const char *const locks = STORY_PATH "/locks", *const leases = STORY_PATH "/leases";

static void begin_several(int limit, int permits, int64_t timeout_ms)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    o.name = "me";
    o.limit = limit;
    o.layout = ZKL_SEMAPHORE_CURATOR;
    permit_story_begin_with(&story, &o);
    permit_story_acquire(&story, permits, timeout_ms);
}

static void begin_with(int limit, int64_t timeout_ms)
{
    begin_several(limit, 1, timeout_ms);
}

static void begin(int64_t timeout_ms)
{
    begin_with(2, timeout_ms);
}

static void end(void)
{
    permit_story_end(&story);
}

/* The create and the list behind it, with so many others before. The name; g_free() it. */
static char *enter_as(const char *directory, int number, int others)
{
    char one[] = "_c_a-lease-0000000001", two[] = "_c_b-lease-0000000002";
    char *node = fake_created_name(directory, number);

    REQUIRE(node != NULL);
    char *names[] = {strrchr(node, '/') + 1, one, two};
    ANSWER(STORE_CREATE, directory, .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = story.s->id);
    ANSWER(STORE_LIST, directory, .rc = STORE_OK, .names = names, .count = 1 + others);
    return node;
}

static char *enter(const char *directory, int others)
{
    return enter_as(directory, NUMBER, others);
}

static void begin_locked(void)
{
    begin(ZKL_FOREVER);
    g_free(enter(locks, 0));
}

/* What has been done up to there: the lock is held, and so many leases are before ours. */
static void lease(int others)
{
    g_free(enter(locks, 0));
    g_free(enter(leases, others));
}

static void begin_leased(void)
{
    begin(ZKL_FOREVER);
    lease(0);
}

static void check_listed(char *other)
{
    char locks_name[] = "locks", leases_name[] = "leases",
         *names[] = {other, locks_name, leases_name};

    CHECK_STR(fake_request(STORE_LIST, STORY_PATH).path, STORY_PATH);
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .names = other ? names : names + 1,
           .count = other ? 3 : 2);
    zkl_session_dispatch(story.s);
}

static void expect_failed(int code, const char *text)
{
    zkl_session_dispatch(story.s);
    CHECK_INT(story.calls, 1);
    CHECK(story.grant == NULL);
    CHECK_INT(story.error.code, code);
    CHECK(strstr(story.error.text, text) != NULL);
    CHECK_STR(story.error.path, "/s");
}

TEST_CASE(lock_then_lease_then_path)
{
    begin(ZKL_FOREVER);
    CHECK(!fake_is_asked(STORE_CREATE, leases));
    g_free(enter(locks, 0));
    CHECK(fake_is_asked(STORE_CREATE, leases));
    CHECK(!fake_is_asked(STORE_DELETE, locks));
    char *node = enter(leases, 1);
    CHECK(fake_place(STORE_DELETE, locks) >= 0);
    CHECK(fake_place(STORE_DELETE, locks) < fake_place(STORE_LIST, STORY_PATH));
    CHECK_INT(story.calls, 0);
    check_listed(NULL);
    REQUIRE(story.grant != NULL);
    CHECK_STR(zkl_grant_node(story.grant), node + strlen("/root"));
    CHECK(!fake_is_asked(STORE_DELETE, leases));
    g_free(node);
    end();
}

TEST_CASE(again)
{
    begin(ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        CHECK_STR(fake_request(STORE_CREATE, locks).data, "me");
        g_free(enter(locks, 0));
        CHECK_STR(fake_request(STORE_CREATE, leases).data, "me");
        g_free(enter(leases, 0));
        check_listed(NULL);
        REQUIRE(story.grant != NULL);
        zkl_grant_release(story.grant);
        story.grant = NULL;
        ANSWER(STORE_DELETE, locks, .rc = STORE_OK);
        ANSWER(STORE_DELETE, leases, .rc = STORE_OK);
        permit_story_acquire(&story, 1, ZKL_FOREVER);
    }
    end();
}

/* There the limit is not kept. */
TEST_CASE(leases_are_made)
{
    begin_with(1, ZKL_FOREVER);
    g_free(enter(locks, 0));
    ANSWER(STORE_CREATE, leases, .rc = STORE_NONODE);
    ANSWER(STORE_LIST, leases, .rc = STORE_NONODE);
    CHECK_STR(fake_request(STORE_CREATE, leases).path, leases);
    CHECK_INT(fake_request(STORE_CREATE, leases).length, 0);
    end();
}

/* So many children are there, whatever they are; it is not asked what the directory says. */
TEST_CASE(as_many_as_the_limit)
{
    for (int limit = 1; limit <= 2; limit++) {
        char other[] = "data", *node, *names[2] = {NULL, other};

        begin_with(limit, ZKL_FOREVER);
        g_free(enter(locks, 0));
        node = fake_created_name(leases, NUMBER);
        REQUIRE(node != NULL);
        names[0] = strrchr(node, '/') + 1;
        ANSWER(STORE_CREATE, leases, .rc = STORE_OK, .path = node, .czxid = 5,
               .ephemeral_owner = story.s->id);
        CHECK(!fake_is_asked(STORE_GET, leases));
        ANSWER(STORE_LIST, leases, .rc = STORE_OK, .names = names, .count = limit);
        check_listed(NULL);
        CHECK(story.grant != NULL);
        g_free(node);
        end();
    }
}

/* Other children are no matter; another layout's contender is. */
TEST_CASE(another_layout)
{
    char stranger[] = "data", other[] = "_c_x-n2-lease-0000000004";

    begin_leased();
    check_listed(stranger);
    CHECK(story.grant != NULL);
    end();
    begin_leased();
    check_listed(other);
    expect_failed(ZKL_ELAYOUT, other);
    expect_failed(ZKL_ELAYOUT, " is of a semaphore: use one of that kind, or another path");
    CHECK(fake_is_asked(STORE_DELETE, leases));
    end();
}

TEST_CASE(path_cannot_be_listed)
{
    static const struct {
        enum store_rc rc;
        int code;
        const char *text;
    } rows[] = {{STORE_NOAUTH, ZKL_EACCES, "list the children of it: the permission read (r) "},
                {STORE_BAD, ZKL_EPROTO, "the server gave an invalid answer"}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        begin_leased();
        ANSWER(STORE_LIST, STORY_PATH, .rc = rows[i].rc);
        expect_failed(rows[i].code, rows[i].text);
        CHECK(fake_is_asked(STORE_DELETE, leases));
        end();
    }
}

/* The lease went with it. */
TEST_CASE(path_is_gone)
{
    begin_leased();
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_NONODE);
    CHECK(fake_is_asked(STORE_DELETE, leases));
    CHECK(!fake_is_asked(STORE_CREATE, locks));
    hand_pass(story.s, 0);
    CHECK(fake_is_asked(STORE_CREATE, locks));
    CHECK_INT(story.calls, 0);
    lease(0);
    check_listed(NULL);
    CHECK(story.grant != NULL);
    end();
}

TEST_CASE(canceled_before_it_begins_again)
{
    begin_leased();
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_NONODE);
    zkl_op_cancel(story.op);
    expect_failed(ZKL_ECANCELED, "canceled");
    hand_pass(story.s, 1);
    CHECK(!fake_is_asked(STORE_CREATE, locks));
    end();
}

TEST_CASE(waits_for_room)
{
    begin_locked();
    char *node = enter(leases, 2);
    char one[] = "_c_a-lease-0000000001", two[] = "_c_b-lease-0000000002";
    char *names[] = {strrchr(node, '/') + 1, one, two};
    CHECK(fake_is_watching(STORE_LIST, leases));
    ANSWER(STORE_LIST, leases, .rc = STORE_OK, .names = names, .count = 3);
    hand_pass_proved(story.s, 20000); /* a proof is no end of it */
    CHECK(!fake_is_asked(STORE_DELETE, locks));
    fake_fire(leases, STORE_FIRED_CHILDREN);
    ANSWER(STORE_LIST, leases, .rc = STORE_OK, .names = names, .count = 2);
    CHECK(fake_is_asked(STORE_DELETE, locks));
    check_listed(NULL);
    CHECK(story.grant != NULL);
    g_free(node);
    end();
}

/* The lease is deleted first: the next one has the lock then, and counts. */
TEST_CASE(caller_gives_up)
{
    begin(1000);
    g_free(enter(locks, 0));
    g_free(enter(leases, 2));
    hand_pass(story.s, 1000);
    expect_failed(ZKL_ETIMEDOUT, "1000 ms");
    CHECK(fake_place(STORE_DELETE, leases) >= 0);
    CHECK(fake_place(STORE_DELETE, leases) < fake_place(STORE_DELETE, locks));
    end();
    begin_leased();
    zkl_op_cancel(story.op);
    expect_failed(ZKL_ECANCELED, "canceled");
    CHECK(fake_is_asked(STORE_DELETE, leases));
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK); /* too late */
    CHECK_INT(story.calls, 1);
    end();
}

/* It begins again with the lock, wherever it was. */
TEST_CASE(session_ends)
{
    for (int with_lease = 0; with_lease < 3; with_lease++) {
        begin_locked();
        if (with_lease > 0)
            g_free(enter(leases, with_lease == 1 ? 2 : 0));
        fake_next_session();
        hand_pass(story.s, 0);
        CHECK_INT(fake_count(STORE_CREATE, leases), 0);
        CHECK_INT(fake_count(STORE_CREATE, locks), 1);
        zkl_session_dispatch(story.s);
        CHECK_INT(story.calls, 0);
        CHECK_INT(story.warnings, 1); /* of the session, nothing else was had */
        lease(0);
        check_listed(NULL);
        CHECK(story.grant != NULL);
        end();
    }
}

/* What is granted is the holder's: it is warned of a loss, and nothing begins again. */
TEST_CASE(granted_and_lost)
{
    begin_leased();
    check_listed(NULL);
    REQUIRE(story.grant != NULL);
    fake_event(STORE_EV_EXPIRED);
    hand_pass(story.s, 0);
    zkl_session_dispatch(story.s);
    CHECK_INT(zkl_grant_state(story.grant), ZKL_LOST);
    CHECK_INT(story.calls, 1);
    CHECK_INT(story.warnings, 2); /* of the session and the grant */
    CHECK(!fake_is_asked(STORE_CREATE, locks));
    end();
}

/* Either cannot be had; of a lease the lock is given back. */
TEST_CASE(cannot_enter)
{
    begin(ZKL_FOREVER);
    ANSWER(STORE_CREATE, locks, .rc = STORE_NOAUTH);
    permit_story_told(&story, 1, ZKL_EACCES);
    CHECK_STR(story.error.path, "/s/locks");
    end();
    begin_locked();
    ANSWER(STORE_CREATE, leases, .rc = STORE_NOAUTH);
    permit_story_told(&story, 1, ZKL_EACCES);
    CHECK_STR(story.error.path, "/s/leases");
    CHECK(fake_is_asked(STORE_DELETE, locks));
    end();
}

/* A caller that tries does not wait, neither for the lock nor for a lease. */
TEST_CASE(try_only)
{
    begin(0);
    char *node = fake_created_name(locks, NUMBER), other[] = "_c_a-lock-0000000001";
    char *names[] = {strrchr(node, '/') + 1, other};
    ANSWER(STORE_CREATE, locks, .rc = STORE_OK, .path = node, .czxid = 5,
           .ephemeral_owner = story.s->id);
    ANSWER(STORE_LIST, locks, .rc = STORE_OK, .names = names, .count = 2);
    permit_story_told(&story, 1, ZKL_EBUSY);
    g_free(node);
    end();
    begin(0);
    g_free(enter(locks, 0));
    g_free(enter(leases, 2));
    permit_story_told(&story, 1, ZKL_EBUSY);
    end();
}

static bool answer_locks(const struct store_request *request, struct store_reply *reply)
{
    fake_alone(request, reply);
    return request->kind != STORE_DELETE && g_str_has_prefix(request->path, locks);
}

/* Before its contender is known: it is left once. */
TEST_CASE(locked_at_once)
{
    fake_answer_at_once(answer_locks);
    begin(ZKL_FOREVER);
    fake_answer_at_once(NULL);
    g_free(enter(leases, 0));
    CHECK_INT(fake_count(STORE_DELETE, locks), 1);
    check_listed(NULL);
    REQUIRE(story.grant != NULL);
    end();
}

/* ---- several permits ---- */

/* Answers the requests of two leases. Each list shows that many other children. */
static void lease_two(int others)
{
    g_free(enter(locks, 0));
    CHECK_INT(fake_count(STORE_CREATE, leases), 2);
    g_free(enter_as(leases, NUMBER, others));
    CHECK(!fake_is_asked(STORE_DELETE, locks));
    g_free(enter_as(leases, NUMBER + 1, others));
}

TEST_CASE(all_at_once)
{
    zkl_part parts[2];

    begin_several(2, 2, ZKL_FOREVER);
    lease_two(1);
    CHECK(fake_is_asked(STORE_DELETE, locks));
    check_listed(NULL);
    REQUIRE(story.grant != NULL);
    REQUIRE(parts_of(story.grant, parts, 2) == 2);
    CHECK(strcmp(parts[0].node, parts[1].node) != 0);
    CHECK(parts[0].slot == -1 && parts[1].slot == -1);
    zkl_grant_release(g_steal_pointer(&story.grant));
    CHECK_INT(fake_count(STORE_DELETE, leases), 2);
    end();
}

static bool answer_leases(const struct store_request *request, struct store_reply *reply)
{
    fake_alone(request, reply);
    return request->kind != STORE_DELETE && g_str_has_prefix(request->path, leases);
}

/* Before their attempt is known: it is over, and only what it gave is given back. */
TEST_CASE(all_at_once_for_nothing)
{
    begin_several(2, 2, ZKL_FOREVER);
    fake_answer_at_once(answer_leases);
    g_free(enter(locks, 0));
    fake_answer_at_once(NULL);
    char latch[] = "_c_a-latch-0000000001";
    check_listed(latch);
    expect_failed(ZKL_ELAYOUT, latch);
    CHECK_INT(fake_count(STORE_DELETE, leases), 2);
    end();
}

/* The lists of both, with so many children. */
static void list_both(char *const *nodes, int count)
{
    char other[] = "_c_a-lease-0000000001";

    for (int i = 0; i < 2; i++) {
        char *names[] = {strrchr(nodes[0], '/') + 1, strrchr(nodes[1], '/') + 1, other};
        ANSWER(STORE_LIST, leases, .rc = STORE_OK, .names = names, .count = count);
    }
}

/* None of them is given up while another waits: all stand, and the lock is kept. */
TEST_CASE(all_or_nothing)
{
    begin_several(2, 2, ZKL_FOREVER);
    g_free(enter(locks, 0));
    char *nodes[] = {enter_as(leases, NUMBER, 2), enter_as(leases, NUMBER + 1, 2)};
    list_both(nodes, 3);
    CHECK(!fake_is_asked(STORE_DELETE, leases));
    CHECK(!fake_is_asked(STORE_DELETE, locks));
    fake_fire(leases, STORE_FIRED_CHILDREN);
    list_both(nodes, 2);
    CHECK(fake_is_asked(STORE_DELETE, locks));
    check_listed(NULL);
    REQUIRE(story.grant != NULL);
    g_free(nodes[0]);
    g_free(nodes[1]);
    end();
}

TEST_CASE(several_given_up)
{
    begin_several(2, 2, 1000);
    lease_two(2);
    hand_pass(story.s, 1000);
    permit_story_told(&story, 1, ZKL_ETIMEDOUT);
    CHECK_INT(fake_count(STORE_DELETE, leases), 2);
    CHECK(fake_place(STORE_DELETE, leases) < fake_place(STORE_DELETE, locks));
    end();
    begin_several(2, 2, 0);
    g_free(enter(locks, 0));
    g_free(enter_as(leases, NUMBER, 2));
    char *second = fake_created_name(leases, NUMBER + 1);
    ANSWER(STORE_CREATE, leases, .rc = STORE_OK, .path = second, .czxid = 6,
           .ephemeral_owner = story.s->id);
    g_free(second);
    permit_story_told(&story, 1, ZKL_EBUSY);
    CHECK_INT(fake_count(STORE_DELETE, leases), 2);
    end();
}

/* One is deleted, or all go with the session, while the path is listed. */
TEST_CASE(several_lost_before_they_are_given)
{
    for (int expires = 0; expires < 2; expires++) {
        begin_several(2, 2, ZKL_FOREVER);
        lease_two(1);
        if (expires) {
            fake_next_session();
        } else {
            hand_pass_proved(story.s, ATTEMPT_OWN_WATCH_MS);
            ANSWER(STORE_GET, leases, .rc = STORE_NONODE);
            check_listed(NULL);
        }
        hand_pass(story.s, 0);
        CHECK_INT(story.calls, 0);
        CHECK_INT(fake_count(STORE_CREATE, locks), 1);
        CHECK_INT(fake_count(STORE_CREATE, leases), 0);
        zkl_op_cancel(story.op);
        zkl_session_dispatch(story.s);
        CHECK_INT(story.calls, 1);
        end();
    }
}

/* The end of the session tells the attempt for the leases and the one for the permits, in either
 * order. */
TEST_CASE(session_ends_with_several)
{
    begin_several(2, 2, ZKL_FOREVER);
    lease_two(2);
    zkl_semaphore *other;
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    struct acquisition beside = {.calls = 0};
    zkl_op *op;
    o.limit = 1;
    o.layout = ZKL_SEMAPHORE_CURATOR;
    REQUIRE(zkl_semaphore_new(&other, story.s, "/m", &o) == 0);
    REQUIRE(zkl_semaphore_acquire_async(other, 1, ZKL_FOREVER, hand_acquired, &beside, &op) == 0);
    hand_close(story.s);
    CHECK_INT(story.calls + beside.calls, 2);
    CHECK_INT(story.error.code, ZKL_ECLOSED);
    zkl_op_free(op);
    zkl_op_free(story.op);
    zkl_semaphore_free(other);
    zkl_semaphore_free(story.semaphore);
}

TEST_CASE(more_than_the_limit)
{
    static const struct {
        int limit, permits;
    } rows[] = {{1, 1}, {2, 2}, {2, 3}, {1, 2}, {64, 64}, {63, 64}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const bool few = rows[i].limit < rows[i].permits;
        begin_several(rows[i].limit, rows[i].permits, ZKL_FOREVER);
        if (few)
            expect_failed(ZKL_ELIMIT, "more permits than the limit");
        CHECK_INT(fake_is_asked(STORE_CREATE, locks), !few);
        end();
    }
}

/* One is admitted and lost while the other waits. */
TEST_CASE(leases_are_made_anew)
{
    char other[] = "_c_a-lease-0000000001";

    begin_several(2, 2, ZKL_FOREVER);
    g_free(enter(locks, 0));
    char *nodes[] = {enter_as(leases, NUMBER, 1), enter_as(leases, NUMBER + 1, 2)};
    char *names[] = {strrchr(nodes[0], '/') + 1, strrchr(nodes[1], '/') + 1, other};
    ANSWER(STORE_LIST, leases, .rc = STORE_OK, .names = names, .count = 3);
    hand_pass_proved(story.s, ATTEMPT_OWN_WATCH_MS);
    ANSWER(STORE_GET, nodes[0], .rc = STORE_NONODE);
    CHECK_INT(fake_count(STORE_CREATE, leases), 2);
    CHECK(!fake_is_asked(STORE_DELETE, locks));
    for (int i = 0; i < 2; i++) {
        g_free(enter_as(leases, NUMBER + 2 + i, i));
        g_free(nodes[i]);
    }
    CHECK(fake_is_asked(STORE_DELETE, locks));
    end();
}

static bool refuse_leases(const struct store_request *request, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_BAD};
    return request->kind == STORE_CREATE && g_str_has_prefix(request->path, leases);
}

/* The lock is given back in the midst of being granted: nothing of it comes later. */
TEST_CASE(lease_refused_at_once)
{
    begin(ZKL_FOREVER);
    fake_answer_at_once(refuse_leases);
    g_free(enter(locks, 0));
    fake_answer_at_once(NULL);
    permit_story_told(&story, 1, ZKL_EPROTO);
    CHECK_INT(fake_count(STORE_DELETE, locks), 1);
    hand_pass_proved(story.s, ATTEMPT_OWN_WATCH_MS);
    CHECK(!fake_is_asked(STORE_GET, locks));
    end();
}
