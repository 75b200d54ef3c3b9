#include "semaphore_story.h"

#include <stdlib.h>
#include <string.h>

#include "lib/contender/contender.h"

enum { OWN_NUMBER = 7, NAMES_MAX = 8, OWN_ZXID = 5, LIMIT_ZXID = 9 };

void permit_story_begin_with(struct permit_story *story, const zkl_semaphore_options *options)
{
    *story = (struct permit_story){.zxid = LIMIT_ZXID};
    story->s = hand_session_counting(&story->warnings);
    hand_stand_alone(story->s);
    REQUIRE(zkl_semaphore_new(&story->semaphore, story->s, "/s", options) == 0);
}

void permit_story_begin(struct permit_story *story, int limit, bool numbered)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;

    o.limit = limit;
    o.numbered = numbered;
    o.name = "me";
    permit_story_begin_with(story, &o);
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct permit_story *story = data;

    story->calls++;
    story->grant = grant;
    if (error)
        story->error = *error;
}

void permit_story_acquire(struct permit_story *story, int permits, int64_t timeout_ms)
{
    zkl_op_free(story->op);
    story->op = NULL;
    story->calls = 0;
    story->error.code = 0;
    REQUIRE(zkl_semaphore_acquire_async(story->semaphore, permits, timeout_ms, on_acquired, story,
                                        &story->op) == 0);
}

void permit_story_end(struct permit_story *story)
{
    zkl_grant_release(story->grant);
    zkl_op_free(story->op);
    zkl_semaphore_free(story->semaphore);
    if (story->s) {
        CHECK_INT(contenders_of(story->s)->callers.list.length, 0);
        hand_close(story->s);
    }
    g_free(story->node);
}

void permit_story_told(struct permit_story *story, int calls, int code)
{
    zkl_session_dispatch(story->s);
    CHECK_INT(story->calls, calls);
    CHECK_INT(story->error.code, code);
    CHECK((story->grant != NULL) == (calls > 0 && code == 0));
}

void permit_story_release(struct permit_story *story)
{
    zkl_grant_release(story->grant);
    story->grant = NULL;
    ANSWER(STORE_DELETE, story->node, .rc = STORE_OK);
}

void permit_story_replace(struct permit_story *story, int64_t id)
{
    fake_event(STORE_EV_EXPIRED);
    fake_event_of(STORE_EV_BEGIN, id, FAKE_TIMEOUT_MS);
    fake_event_of(STORE_EV_UP, id, FAKE_TIMEOUT_MS);
    hand_pass(story->s, 0);
    hand_stand_alone(story->s);
}

void permit_story_created(struct permit_story *story)
{
    g_free(story->node);
    story->node = fake_created_name(STORY_PATH "/", OWN_NUMBER);
    REQUIRE(story->node != NULL);
    ANSWER(STORE_CREATE, STORY_PATH "/", .rc = STORE_OK, .path = story->node, .czxid = OWN_ZXID,
           .ephemeral_owner = story->s->id);
}

void permit_story_limited(struct permit_story *story, const char *data)
{
    ANSWER(STORE_GET, STORY_PATH, .rc = STORE_OK, .data = data, .length = (int)strlen(data),
           .mzxid = story->zxid, .version = 4);
}

char *permit_story_node(const struct permit_story *story, const char *name)
{
    const size_t letters = strspn(name, "ns");
    char rank[16] = "";

    if (name[0] == '*')
        return g_strdup(story->node);
    if (name[0] == 's' || letters > 1)
        g_snprintf(rank, sizeof rank, "-%c%zu", name[0], letters);
    return g_strdup_printf(STORY_PATH "/_c_other%s-lease-%010d", rank, atoi(name + letters));
}

void permit_story_listed(struct permit_story *story, const char *names)
{
    char **parts = g_strsplit(names, " ", NAMES_MAX), *children[NAMES_MAX];
    int count = 0;

    for (; parts[count]; count++) {
        char *path = permit_story_node(story, parts[count]);
        children[count] = g_strdup(strrchr(path, '/') + 1);
        g_free(path);
    }
    ANSWER(STORE_LIST, STORY_PATH, .rc = STORE_OK, .names = children, .count = count,
           .mzxid = story->zxid);
    while (count > 0)
        g_free(children[--count]);
    g_strfreev(parts);
}

void permit_story_read(struct permit_story *story, const char *name, const char *data, int version)
{
    char *path = permit_story_node(story, name);
    const bool own = name[0] == '*';

    ANSWER(STORE_GET, path, .rc = STORE_OK, .data = data, .length = (int)strlen(data),
           .version = version, .ephemeral_owner = own ? story->s->id : 99);
    g_free(path);
}

void permit_story_sets(struct permit_story *story, const char *path, const char *data, int version)
{
    struct store_request asked = fake_request(STORE_SET, path);

    (void)story;
    REQUIRE(asked.path != NULL);
    CHECK_INT(asked.version, version);
    CHECK_INT(asked.length, (int)strlen(data));
    CHECK_STR(asked.data, data);
}
