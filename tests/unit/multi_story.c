#include "multi_story.h"

#include <string.h>

const zkl_change story_change = {ZKL_CHANGE_CREATE, 0, "/x", "1", 1};

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct story *story = data;

    (void)grant;
    if (state == ZKL_LOST)
        atomic_fetch_add(&story->lost, 1);
    if (state == ZKL_RELEASED)
        atomic_fetch_add(&story->released, 1);
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct story *story = data;

    CHECK(error == NULL);
    story->grant = grant;
    CHECK_INT(zkl_grant_on_change(grant, on_change, story), 0);
    atomic_store(&story->acquired, 1);
}

void wait_for(const atomic_int *count, int wanted)
{
    while (atomic_load(count) < wanted)
        g_usleep(1000);
}

static void wait_asked(enum store_kind kind, const char *path)
{
    while (!fake_is_asked(kind, path))
        g_usleep(1000);
}

static void begin(struct story *story, int64_t retain_ms)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    *story = (struct story){.session = fake_session()};
    options.name = NAME;
    options.retain_ms = retain_ms;
    REQUIRE(zkl_mutex_new(&story->mutex, story->session, LOCK, &options) == 0);
    REQUIRE(zkl_mutex_lock_async(story->mutex, ZKL_FOREVER, on_acquired, story, NULL) == 0);
    story->node = fake_created_name(LOCK, 0);
    REQUIRE(story->node != NULL);
    char *child = strrchr(story->node, '/') + 1;
    ANSWER(STORE_CREATE, LOCK, .rc = STORE_OK, .path = story->node, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, LOCK, .rc = STORE_OK, .names = &child, .count = 1);
    wait_for(&story->acquired, 1);
    wait_asked(STORE_GET, story->node);
    ANSWER(STORE_GET, story->node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
}

void story_begin(struct story *story)
{
    begin(story, 0);
}

void story_begin_retaining(struct story *story)
{
    begin(story, 60000);
}

void story_end(struct story *story)
{
    zkl_grant_release(story->grant);
    zkl_mutex_free(story->mutex);
    zkl_session_close(story->session);
    g_free(story->node);
}

void on_ended(const zkl_error *error, void *data)
{
    struct ending *e = data;

    if (error)
        e->error = *error;
    atomic_fetch_add(&e->calls, 1);
}

void story_apply(struct story *story, struct ending *e, unsigned flags, int64_t timeout_ms)
{
    *e = (struct ending){.calls = 0};
    CHECK_INT(zkl_grant_multi_async(story->grant, &story_change, 1, flags, timeout_ms, on_ended, e),
              0);
}

void check_ended(struct ending *e, int code)
{
    wait_for(&e->calls, 1);
    CHECK_INT(e->error.code, code);
}

void check_asked(const struct story *story, int version, const char *rest)
{
    char *asked = fake_changes(story->node);
    char *wanted = g_strdup_printf("set %s %d%s", story->node, version, rest);

    CHECK_STR(asked, wanted);
    g_free(asked);
    g_free(wanted);
}

void lose_answer(struct story *story)
{
    fake_event(STORE_EV_DOWN);
    ANSWER(STORE_MULTI, story->node, .rc = STORE_UNKNOWN);
    fake_event(STORE_EV_UP);
}

bool read_data(const struct story *story, int version, const char *data)
{
    return fake_answer(
        STORE_GET, story->node,
        (struct store_reply){
            .rc = STORE_OK, .version = version, .data = data, .length = (int)strlen(data)});
}

void answer_read(const struct story *story, int version, unsigned number)
{
    char *data = number ? g_strdup_printf(NAME "\nzkl tx %u", number) : g_strdup(NAME);

    CHECK(read_data(story, version, data));
    g_free(data);
}
