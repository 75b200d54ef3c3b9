/* Observers of a group: what they are told is what happens, in order and once. */
#include "member.h"
#include "membership.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(members, .init = fault_start, .done = fault_stop);

static zkl_watch *watch(zkl_session *s, struct group_story *story)
{
    zkl_watch *w;

    REQUIRE(zkl_members_watch(&w, s, fault.path, ZKL_MEMBER_GROUP, group_on_members, story) == 0);
    return w;
}

static void set(const char *id, const char *text)
{
    char *path = group_node(id);

    CHECK_INT(raw_set(fault.direct, path, text, (int)strlen(text)), ZOK);
    g_free(path);
}

/* The path may be missing; a member made anew with its id has left and joined. */
TEST_CASE(tells_differences)
{
    struct group_story story;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_direct(FAULT_LONG_MS), *other = fault_direct(FAULT_LONG_MS);
    zkl_watch *w = watch(s, &story);
    EVENTUALLY(group_story_is(&story, "0"));
    zkl_member *a = group_join(other, "a", "1", NULL);
    EVENTUALLY(group_story_is(&story, "0 +a=1 1"));
    zkl_member *b = group_join(s, "b", "1", NULL);
    EVENTUALLY(group_story_is(&story, "0 +a=1 1 +b=1 2"));
    CHECK_INT(zkl_member_update(a, "2", 1, FAULT_LIMIT_MS), 0);
    EVENTUALLY(group_story_is(&story, "0 +a=1 1 +b=1 2 ~a=2 2"));
    set("b", "3");
    EVENTUALLY(group_story_ends(&story, "2 ~b=3 2"));
    zkl_member_free(a);
    EVENTUALLY(group_story_ends(&story, "2 -a 1"));
    char *path = group_node("b");
    CHECK_INT(raw_delete(fault.direct, path), ZOK);
    EVENTUALLY(group_story_ends(&story, "-b +b=1 1") || group_story_ends(&story, "-b 0 +b=1 1"));
    zkl_member_free(b);
    EVENTUALLY(group_story_ends(&story, "-b 0"));
    zkl_watch_free(w);
    fault_end();
    group_story_end(&story);
    g_free(path);
}

/* After a reconnect, in the same session or in another, only what has changed meanwhile. */
TEST_CASE(once_after_a_reconnect)
{
    struct group_story story;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_proxied(FAULT_LONG_MS), *other = fault_direct(FAULT_LONG_MS);
    zkl_member *a = group_join(other, "a", "1", NULL), *b = group_join(other, "b", "1", NULL);
    CHECK_INT(zkl_member_wait(a, FAULT_LIMIT_MS), 0);
    CHECK_INT(zkl_member_wait(b, FAULT_LIMIT_MS), 0);
    zkl_watch *w = watch(s, &story);
    EVENTUALLY(group_story_is(&story, "+a=1 +b=1 2") || group_story_is(&story, "+b=1 +a=1 2"));
    for (int i = 0; i < 2; i++) {
        char *data = g_strdup_printf("%d", i + 2);
        char *last = g_strdup_printf("-b ~a=%d +c=4 2", i + 2);
        proxy_cut(fault.proxy);
        if (i == 1)
            fault_expire(zkl_session_id(s));
        zkl_member_free(b);
        CHECK_INT(zkl_member_update(a, data, 1, FAULT_LIMIT_MS), 0);
        zkl_member *c = group_join(other, "c", "4", NULL);
        CHECK_INT(zkl_member_wait(c, FAULT_LIMIT_MS), 0);
        proxy_heal(fault.proxy);
        EVENTUALLY(group_story_ends(&story, last));
        zkl_member_free(c);
        EVENTUALLY(group_story_ends(&story, "-c 1"));
        b = group_join(other, "b", "1", NULL);
        EVENTUALLY(group_story_ends(&story, "+b=1 2"));
        g_free(last);
        g_free(data);
    }
    zkl_member_free(a);
    zkl_member_free(b);
    EVENTUALLY(group_story_ends(&story, " 0"));
    zkl_watch_free(w);
    fault_end();
    group_story_end(&story);
}

TEST_CASE(reads_once)
{
    zkl_members *ms;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS), *other = fault_direct(FAULT_LONG_MS);
    REQUIRE(zkl_members_read(&ms, s, fault.path, ZKL_MEMBER_GROUP, FAULT_LIMIT_MS) == 0);
    CHECK_INT(zkl_members_count(ms), 0);
    zkl_members_free(ms);
    zkl_member *b = group_join(other, "b", "data of b", NULL);
    zkl_member *a = group_join(other, "a", NULL, NULL);
    CHECK_INT(zkl_member_wait(a, FAULT_LIMIT_MS), 0);
    CHECK_INT(zkl_member_wait(b, FAULT_LIMIT_MS), 0);
    REQUIRE(zkl_members_read(&ms, s, fault.path, ZKL_MEMBER_GROUP, FAULT_LIMIT_MS) == 0);
    REQUIRE(zkl_members_count(ms) == 2);
    const zkl_member_info *first = zkl_members_get(ms, 0), *second = zkl_members_get(ms, 1);
    CHECK_STR(first->id, "a");
    CHECK(first->size == 0 && first->data != NULL);
    CHECK_STR(second->id, "b");
    CHECK_INT(second->size, 9);
    CHECK(memcmp(second->data, "data of b", 9) == 0);
    CHECK(second->token == membership_token(b));
    CHECK(second->session_id == zkl_session_id(other));
    CHECK(second->ctime_ms > 0);
    CHECK(zkl_members_get(ms, 2) == NULL && zkl_members_get(NULL, 0) == NULL);
    zkl_members_free(ms);
    REQUIRE(zkl_members_read(&ms, s, fault.path, ZKL_MEMBER_PARTY, FAULT_LIMIT_MS) == 0);
    CHECK_INT(zkl_members_count(ms), 0);
    zkl_members_free(ms);
    CHECK_INT(zkl_members_read(&ms, s, fault.path, (zkl_member_layout)5, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, s, "nothing", ZKL_MEMBER_GROUP, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_watch(NULL, s, fault.path, ZKL_MEMBER_GROUP, NULL, NULL), ZKL_EINVAL);
    zkl_member_free(a);
    zkl_member_free(b);
    fault_end();
}

/* A change costs its observer a list and a read, and many at a time cost a few. */
TEST_CASE(costs_a_list_a_change)
{
    struct group_story story;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_proxied(FAULT_LONG_MS), *other = fault_direct(FAULT_LONG_MS);
    zkl_member *all[50];
    zkl_watch *w = watch(s, &story);
    EVENTUALLY(group_story_is(&story, "0"));
    zkl_member *first = group_join(other, "first", "1", NULL);
    EVENTUALLY(group_story_ends(&story, "+first=1 1"));
    proxy_reset_stats(fault.proxy);
    CHECK_INT(zkl_member_update(first, "2", 1, FAULT_LIMIT_MS), 0);
    EVENTUALLY(group_story_ends(&story, "~first=2 1"));
    CHECK_INT(proxy_requests(fault.proxy, PROXY_OP_GET_CHILDREN2), 1);
    proxy_reset_stats(fault.proxy);
    for (int i = 0; i < 50; i++) {
        char *id = g_strdup_printf("m%02d", i);
        all[i] = group_join(other, id, NULL, NULL);
        g_free(id);
    }
    EVENTUALLY(group_story_ends(&story, " 51"));
    CHECK(proxy_requests(fault.proxy, PROXY_OP_GET_CHILDREN2) <= 51);
    for (int i = 0; i < 50; i++)
        zkl_member_free(all[i]);
    zkl_member_free(first);
    EVENTUALLY(group_story_ends(&story, " 0"));
    zkl_watch_free(w);
    fault_end();
    group_story_end(&story);
}
