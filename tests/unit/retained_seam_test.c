/* Where a mutex that retains meets transactions, owners and its own end. */
#include "by_hand.h"
#include "multi_story.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(retained_seam);

enum { NODES_MAX = 4 };

static char *nodes[NODES_MAX], *children[NODES_MAX]; /* those that stand, and their names */
static int standing, created;

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *ending)
{
    zkl_grant_release(grant);
    on_ended(error, ending);
}

static void answer_create(const char *path, struct store_reply *reply)
{
    char *node = g_strdup_printf("%s%010d", path, created++);

    REQUIRE(standing < NODES_MAX);
    nodes[standing] = node;
    children[standing++] = strrchr(node, '/') + 1;
    *reply = (struct store_reply){.rc = STORE_OK,
                                  .path = node,
                                  .czxid = (uint64_t)created,
                                  .ephemeral_owner = FAKE_SESSION_ID};
}

static void answer_delete(const char *path, struct store_reply *reply)
{
    *reply = (struct store_reply){.rc = STORE_NONODE};
    for (int i = 0; i < standing; i++) {
        if (strcmp(nodes[i], path) != 0)
            continue;
        g_free(nodes[i]);
        nodes[i] = nodes[--standing];
        children[i] = children[standing];
        *reply = (struct store_reply){.rc = STORE_OK};
    }
}

/* A server that answers at once, and tells nothing by itself. */
static bool serve(const struct store_request *request, struct store_reply *reply)
{
    if (request->kind == STORE_CREATE)
        answer_create(request->path, reply);
    else if (request->kind == STORE_DELETE)
        answer_delete(request->path, reply);
    else if (request->kind == STORE_LIST)
        *reply = (struct store_reply){.rc = STORE_OK, .names = children, .count = standing};
    else
        return false;
    return true;
}

static zkl_mutex *begin(zkl_session *s, zkl_mutex_options options)
{
    zkl_mutex *m;

    created = 0;
    fake_answer_at_once(serve);
    options.retain_ms = 60000;
    REQUIRE(zkl_mutex_new(&m, s, LOCK, &options) == 0);
    return m;
}

static void end(zkl_session *s)
{
    CHECK_INT(standing, 0);
    fake_answer_at_once(NULL);
    zkl_session_close(s);
}

/* The caller that had waited longest would have the lock of a handle that is no more. */
TEST_CASE(freed_while_one_waits)
{
    zkl_session *s = fake_session();
    zkl_mutex *m = begin(s, (zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT);
    struct ending e = {.calls = 0};
    const zkl_grant *g;

    REQUIRE(zkl_mutex_lock(m, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, &e, NULL) == 0);
    zkl_mutex_free(m);
    check_ended(&e, ZKL_ECLOSED);
    end(s);
}

static uint64_t any_key;

static uint64_t key(void *data)
{
    (void)data;
    return any_key;
}

/* The old node of the handle is not ahead of a new caller's. No key makes a caller the owner that
 * an asynchronous call was. */
TEST_CASE(fence64_of_asynchronous_calls)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};

    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        zkl_session *s = fake_session();
        zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;
        struct ending e = {.calls = 0};
        const zkl_grant *g;

        options.key = key;
        options.fence64 = 1;
        any_key = keys[i];
        zkl_mutex *m = begin(s, options);
        REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, &e, NULL) == 0);
        check_ended(&e, 0);
        REQUIRE(zkl_mutex_lock(m, 0, &g) == 0);
        CHECK_INT(zkl_grant_token(g), 2);
        CHECK_INT(zkl_grant_turn(g), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        REQUIRE(zkl_mutex_lock(m, 0, &g) == 0);
        CHECK_INT(zkl_grant_token(g), 2);
        CHECK_INT(zkl_grant_turn(g), 1);
        zkl_mutex_free(m);
        end(s);
    }
}

/* Nobody else may have a turn while it may still come: the node goes, which shuts it out. */
TEST_CASE(unknown_transaction)
{
    struct story story;
    struct ending e;

    story_begin_retaining(&story);
    story_apply(&story, &e, 0, 20);
    check_ended(&e, ZKL_EUNKNOWN);
    lose_answer(&story);
    zkl_grant_release(story.grant);
    story.grant = NULL;
    CHECK(fake_is_asked(STORE_DELETE, story.node));
    story_end(&story);
}

static void use_once(zkl_session *s, zkl_mutex *m)
{
    struct ending e = {.calls = 0};

    REQUIRE(zkl_mutex_lock_async(m, ZKL_FOREVER, on_acquired, &e, NULL) == 0);
    if (zkl_session_id(s) == 0) {
        hand_jump(1000, 1000);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
    }
    CHECK_INT(zkl_session_dispatch(s), 0);
    check_ended(&e, 0);
}

/* The second that passes before there is a connection is not what a lock costs: a rival that came
 * once does not keep the handle from retaining for nine of them. */
TEST_CASE(entered_before_connected)
{
    zkl_session *s = hand_session_with(NULL);
    zkl_mutex *m = begin(s, (zkl_mutex_options)ZKL_MUTEX_OPTIONS_INIT);

    use_once(s, m);
    CHECK_INT(standing, 1);
    fake_fire("/root" LOCK, STORE_FIRED_CHILDREN);
    CHECK_INT(standing, 0);
    use_once(s, m);
    CHECK_INT(standing, 1);
    zkl_mutex_free(m);
    CHECK_INT(standing, 0);
    fake_answer_at_once(NULL);
    hand_close(s);
}
