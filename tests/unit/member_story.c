#include "member_story.h"

#include <string.h>

struct member_story mstory;

static void put(GString *told, zkl_member_event event, const zkl_member_news *news)
{
    static const char *const words[] = {"",     "joined", "suspect", "held",
                                        "lost", "busy",   "failed",  "left"};
    static const char *const losses[] = {[ZKL_LOSS_NONE] = "",
                                         [ZKL_LOSS_DEADLINE] = " deadline",
                                         [ZKL_LOSS_EXPIRED] = " session",
                                         [ZKL_LOSS_REPLACED] = " session",
                                         [ZKL_LOSS_DELETED] = " deleted"};

    if (told->len > 0)
        g_string_append(told, "; ");
    g_string_append(told, words[event]);
    if (news->token)
        g_string_append_printf(told, " %d", (int)news->token);
    g_string_append_printf(told, "%s%s", news->again ? " again" : "", losses[news->loss]);
    if (event == ZKL_MEMBER_BUSY)
        g_string_append_printf(told, " of %d%s%s", (int)news->session_id, *news->data ? ": " : "",
                               news->data);
    else
        CHECK(news->session_id == 0 && !*news->data);
    if (news->err)
        g_string_append_printf(told, " %s", news->err->text);
}

static void on_event(zkl_member *m, zkl_member_event event, const zkl_member_news *news, void *data)
{
    CHECK(data == &mstory);
    CHECK(!mstory.m || m == mstory.m);
    put(mstory.told, event, news);
}

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_strlcat(mstory.log, record->text, sizeof mstory.log);
}

void mstory_begin(const zkl_member_options *options)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    zkl_session_options of_session = ZKL_SESSION_OPTIONS_INIT;
    const bool party = options && options->layout == ZKL_MEMBER_PARTY;

    mstory = (struct member_story){.told = g_string_new(NULL)};
    of_session.log = on_log;
    of_session.log_level = ZKL_LOG_INFO;
    mstory.s = hand_session_with(&of_session);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
    if (options)
        o = *options;
    o.fn = on_event;
    o.fn_data = &mstory;
    REQUIRE(zkl_member_join(&mstory.m, mstory.s, "/g", "a", "one", party ? 0 : 3, &o) == 0);
}

void mstory_free(void)
{
    zkl_member_free(g_steal_pointer(&mstory.m));
}

void mstory_end(void)
{
    hand_close(mstory.s);
    mstory_free();
    g_string_free(mstory.told, TRUE);
}

void mstory_replace(int64_t id)
{
    fake_event(STORE_EV_EXPIRED);
    fake_event(STORE_EV_BEGIN);
    fake_event_of(STORE_EV_UP, id, FAKE_TIMEOUT_MS);
}

void mstory_created(void)
{
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_OK, .path = STORY_NODE, .czxid = 5,
           .ephemeral_owner = FAKE_SESSION_ID);
}

void mstory_joined(void)
{
    mstory_created();
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 5, .ephemeral_owner = FAKE_SESSION_ID,
           .data = "one", .length = 3);
}

void mstory_taken(int64_t session_id, const char *data)
{
    ANSWER(STORE_CREATE, STORY_NODE, .rc = STORE_EXISTS);
    ANSWER(STORE_GET, STORY_NODE, .rc = STORE_OK, .czxid = 3, .ephemeral_owner = session_id,
           .data = data, .length = (int)strlen(data));
}

void mstory_told(const char *words)
{
    zkl_session_dispatch(mstory.s);
    CHECK_STR(mstory.told->str, words);
    g_string_truncate(mstory.told, 0);
}

void mstory_begin_joined(void)
{
    mstory_begin(NULL);
    mstory_joined();
    mstory_told("joined 5");
}

bool mstory_logged(const char *text)
{
    zkl_session_dispatch(mstory.s);
    return strstr(mstory.log, text) != NULL;
}

void mstory_done(const zkl_error *err, void *outcome)
{
    struct member_outcome *o = outcome;

    o->calls++;
    o->error = err ? *err : (zkl_error){.code = 0};
}

void mstory_ended(const struct member_outcome *o, int code, const char *text)
{
    zkl_session_dispatch(mstory.s);
    CHECK_INT(o->calls, 1);
    CHECK_INT(o->error.code, code);
    if (text)
        CHECK_STR(o->error.text, text);
}

void mstory_pending(const struct member_outcome *o)
{
    zkl_session_dispatch(mstory.s);
    CHECK_INT(o->calls, 0);
}

void mstory_wait(int64_t timeout_ms, struct member_outcome *o)
{
    *o = (struct member_outcome){.calls = 0};
    CHECK_INT(zkl_member_wait_async(mstory.m, timeout_ms, mstory_done, o), 0);
}

void mstory_update(const char *data, struct member_outcome *o)
{
    *o = (struct member_outcome){.calls = 0};
    CHECK_INT(zkl_member_update_async(mstory.m, data, strlen(data), ZKL_FOREVER, mstory_done, o),
              0);
}

void mstory_leave(int64_t timeout_ms, struct member_outcome *o)
{
    *o = (struct member_outcome){.calls = 0};
    CHECK_INT(zkl_member_leave_async(mstory.m, timeout_ms, mstory_done, o), 0);
}

void mstory_sets(const char *data, int version)
{
    const struct store_request r = fake_request(STORE_SET, STORY_NODE);

    REQUIRE(r.path != NULL);
    CHECK_INT(r.version, version);
    CHECK_STR(r.data ? r.data : "", data);
    CHECK_INT(r.length, strlen(data));
}
