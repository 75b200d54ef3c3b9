#include "members_story.h"

#include <string.h>

struct members_story observed;

void observed_on_members(zkl_members_event event, const zkl_member_info *member,
                         const zkl_members *all, void *data)
{
    static const char signs[] = " +-~";
    GString *text = data;

    if (text->len > 0)
        g_string_append_c(text, ' ');
    CHECK_INT(member == NULL, event == ZKL_MEMBERS_ALL);
    CHECK_INT(all == NULL, event != ZKL_MEMBERS_ALL);
    if (event == ZKL_MEMBERS_ALL)
        g_string_append_printf(text, "%zu", zkl_members_count(all));
    else
        g_string_append_printf(text, "%c%s=%s", signs[event], member->id,
                               (const char *)member->data);
}

static void on_log(const zkl_log_record *record, void *data)
{
    (void)data;
    g_strlcat(observed.log, record->text, sizeof observed.log);
}

void observed_open(void)
{
    zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;

    observed.log[0] = '\0';
    o.log = on_log;
    observed.s = hand_session_with(&o);
    fake_event(STORE_EV_BEGIN);
    fake_event(STORE_EV_UP);
}

void observed_begin_as(zkl_member_layout layout)
{
    observed_open();
    observed.told = g_string_new(NULL);
    REQUIRE(zkl_members_watch(&observed.watch, observed.s, "/g", layout, observed_on_members,
                              observed.told) == 0);
    CHECK(!fake_is_asked(STORE_LIST, GROUP));
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
}

void observed_begin(void)
{
    observed_begin_as(ZKL_MEMBER_GROUP);
}

void observed_end(void)
{
    zkl_watch_free(observed.watch);
    hand_close(observed.s);
    g_string_free(observed.told, TRUE);
}

void observed_told(const char *words)
{
    zkl_session_dispatch(observed.s);
    CHECK_STR(observed.told->str, words);
    g_string_truncate(observed.told, 0);
}

void observed_listed(uint64_t pzxid, const char *names)
{
    char **list = g_strsplit(names, " ", -1);
    const int count = *names ? (int)g_strv_length(list) : 0;

    CHECK(fake_is_watching(STORE_LIST, GROUP));
    ANSWER(STORE_LIST, GROUP, .rc = STORE_OK, .names = list, .count = count, .pzxid = pzxid);
    g_strfreev(list);
}

void observed_node(const char *name, uint64_t czxid, uint64_t mzxid, const char *data)
{
    char *path = g_strconcat(GROUP "/", name, NULL);

    CHECK(fake_is_watching(STORE_GET, path));
    ANSWER(STORE_GET, path, .rc = STORE_OK, .czxid = czxid, .mzxid = mzxid, .data = data,
           .length = (int)strlen(data));
    g_free(path);
}

void observed_begin_with_two(void)
{
    observed_begin();
    observed_listed(9, "b a");
    observed_node("a", 5, 5, "1");
    observed_told("");
    observed_node("b", 6, 6, "1");
    observed_told("+a=1 +b=1 2");
}

void observed_changes(const char *name)
{
    char *path = g_strconcat(GROUP "/", name, NULL);

    fake_watch(path, false);
    g_free(path);
}

void observed_rest(int members)
{
    hand_pass(observed.s, 100);
    CHECK_INT(fake_is_asked(STORE_LIST, GROUP), members == 0);
    hand_pass(observed.s, 1);
    CHECK(fake_is_asked(STORE_LIST, GROUP));
}
