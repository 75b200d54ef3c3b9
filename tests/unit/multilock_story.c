#include "multilock_story.h"

#include <string.h>

#include "lib/contender/contender.h"

static const char *const directories[STORY_PATHS] = {"/root/a", "/root/b", "/root/c"};
static const char *const other = "_c_other-lock-0000000003";

static int place(char path)
{
    return path - 'a';
}

const char *multi_story_node(const struct multi_story *story, char path)
{
    return story->node[place(path)];
}

void multi_story_begin(struct multi_story *story)
{
    static const char *const paths[STORY_PATHS] = {"/b", "/a", "/c"};

    *story = (struct multi_story){.calls = 0};
    story->s = hand_session_counting(&story->warnings);
    hand_stand_alone(story->s);
    REQUIRE(zkl_multilock_new(&story->lock, story->s, paths, STORY_PATHS, NULL) == 0);
}

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct multi_story *story = data;

    story->calls++;
    story->grant = grant;
    if (error)
        story->error = *error;
}

void multi_story_dispatch(struct multi_story *story)
{
    zkl_session_dispatch(story->s);
}

void multi_story_lock(struct multi_story *story, int64_t timeout_ms)
{
    zkl_op_free(story->op);
    story->op = NULL;
    story->calls = 0;
    REQUIRE(zkl_multilock_lock_async(story->lock, timeout_ms, on_acquired, story, &story->op) == 0);
    multi_story_dispatch(story);
}

void multi_story_end(struct multi_story *story)
{
    zkl_grant_release(story->grant);
    zkl_op_free(story->op);
    zkl_multilock_free(story->lock);
    for (int i = 0; i < STORY_PATHS; i++)
        g_free(story->node[i]);
    if (story->s) {
        CHECK_INT(contenders_of(story->s)->callers.list.length, 0);
        hand_close(story->s);
    }
}

static void answer_create(struct multi_story *story, int at)
{
    g_free(story->node[at]);
    story->node[at] = fake_created_name(directories[at], 7);
    REQUIRE(story->node[at] != NULL);
    ANSWER(STORE_CREATE, directories[at], .rc = STORE_OK, .path = story->node[at],
           .czxid = 100 + (uint64_t)at, .ephemeral_owner = story->s->id);
}

static void answer_list(struct multi_story *story, int at, bool behind)
{
    char *names[] = {strrchr(story->node[at], '/') + 1, (char *)(uintptr_t)other};

    ANSWER(STORE_LIST, directories[at], .rc = STORE_OK, .names = names, .count = 1 + behind);
}

void multi_story_first(struct multi_story *story, char path)
{
    answer_create(story, place(path));
    answer_list(story, place(path), false);
    multi_story_dispatch(story);
}

void multi_story_behind(struct multi_story *story, char path)
{
    answer_create(story, place(path));
    answer_list(story, place(path), true);
    multi_story_dispatch(story);
}

/* The reads of the own node and of the head are answered, and then the head goes. The silence of
 * the own watch is the proof. */
void multi_story_head_gone(struct multi_story *story, char path)
{
    const int at = place(path);
    char *head = g_strconcat(directories[at], "/", other, NULL);

    ANSWER(STORE_GET, story->node[at], .rc = STORE_OK, .ephemeral_owner = story->s->id);
    ANSWER(STORE_GET, head, .rc = STORE_OK, .ephemeral_owner = 99);
    fake_watch(head, true);
    g_free(head);
    multi_story_dispatch(story);
}

bool multi_story_asked(enum store_kind kind, const char *paths)
{
    char found[STORY_PATHS + 1] = "", *end = found;

    for (int i = 0; i < STORY_PATHS; i++) {
        if (fake_is_asked(kind, directories[i]))
            *end++ = (char)('a' + i);
    }
    return CHECK_STR(found, paths);
}

static void on_change(const zkl_grant *grant, zkl_state state, void *data)
{
    struct multi_story *story = data;

    (void)grant;
    story->losses += state == ZKL_LOST;
    story->releases += state == ZKL_RELEASED;
    for (int i = 0; i < STORY_PATHS && state == ZKL_LOST; i++)
        story->nodes_deleted_before_the_loss += fake_is_asked(STORE_DELETE, directories[i]);
}

void multi_story_hold(struct multi_story *story)
{
    multi_story_lock(story, ZKL_FOREVER);
    multi_story_first(story, 'a');
    multi_story_first(story, 'b');
    multi_story_first(story, 'c');
    REQUIRE(story->grant != NULL);
    CHECK_INT(zkl_grant_on_change(story->grant, on_change, story), 0);
}
