/* Members of a group, whose nodes are there while they are, and observers, who are told what
 * happens, in order and once. */
#include "fault.h"
#include "membership.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(member, .init = fault_start, .done = fault_stop);

struct group_story {
    pthread_mutex_t lock;
    GString *text;
};

/* ---- what they share ---- */

static void group_story_begin(struct group_story *s)
{
    pthread_mutex_init(&s->lock, NULL);
    s->text = g_string_new(NULL);
}

static void group_story_end(struct group_story *s)
{
    g_string_free(s->text, TRUE);
}

/* so far; for g_free() */
static char *group_story_text(struct group_story *s)
{
    pthread_mutex_lock(&s->lock);
    char *text = g_strdup(s->text->str);
    pthread_mutex_unlock(&s->lock);
    return text;
}

static bool group_story_is(struct group_story *s, const char *text)
{
    char *now = group_story_text(s);
    bool same = strcmp(now, text) == 0;

    g_free(now);
    return same;
}

static bool group_story_ends(struct group_story *s, const char *text)
{
    char *now = group_story_text(s);
    bool ends = g_str_has_suffix(now, text);

    g_free(now);
    return ends;
}

G_GNUC_PRINTF(2, 3) static void add(struct group_story *s, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    pthread_mutex_lock(&s->lock);
    if (s->text->len > 0)
        g_string_append_c(s->text, ' ');
    g_string_append_vprintf(s->text, format, list);
    pthread_mutex_unlock(&s->lock);
    va_end(list);
}

/* Records what a member is told: "joined gone:session again left …"; data is the story. */
static void group_on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                            void *data)
{
    static const char *const words[] = {
        [ZKL_MEMBER_JOINED] = "joined", [ZKL_MEMBER_SUSPECT] = "suspect",
        [ZKL_MEMBER_HELD] = "held",     [ZKL_MEMBER_LOST] = "lost",
        [ZKL_MEMBER_BUSY] = "busy",     [ZKL_MEMBER_FAILED] = "failed",
        [ZKL_MEMBER_LEFT] = "left"};
    static const char *const losses[] = {[ZKL_LOSS_NONE] = "",
                                         [ZKL_LOSS_DEADLINE] = ":deadline",
                                         [ZKL_LOSS_EXPIRED] = ":session",
                                         [ZKL_LOSS_REPLACED] = ":session",
                                         [ZKL_LOSS_DELETED] = ":deleted"};

    (void)m;
    add(data, "%s%s", news->again ? "again" : words[event], losses[news->loss]);
}

/* Records what an observer is told: "+a=data ~a=data -a 1 …", where the number is that of all. */
static void group_on_members(zkl_members_event event, const zkl_member_info *member,
                             const zkl_members *all, void *data)
{
    static const char words[] = {
        [ZKL_MEMBERS_JOINED] = '+', [ZKL_MEMBERS_LEFT] = '-', [ZKL_MEMBERS_CHANGED] = '~'};

    if (event == ZKL_MEMBERS_ALL)
        add(data, "%zu", zkl_members_count(all));
    else if (event == ZKL_MEMBERS_LEFT)
        add(data, "-%s", member->id);
    else
        add(data, "%c%s=%.*s", words[event], member->id, (int)member->size,
            (const char *)member->data);
}

/* Joins with text for data; story may be NULL. */
static zkl_member *group_join(zkl_session *s, const char *id, const char *text,
                              struct group_story *story)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    zkl_member *m;

    o.fn = story ? group_on_member : NULL;
    o.fn_data = story;
    REQUIRE(zkl_member_join(&m, s, fault.path, id, text, text ? strlen(text) : 0, &o) == 0);
    return m;
}

/* its path at fault.path; for g_free() */
static char *group_node(const char *id)
{
    return g_strconcat(fault.path, "/", id, NULL);
}

/* Whether the node of that id has that data. */
static bool group_has(const char *id, const char *text)
{
    char *path = group_node(id), *data = raw_get(fault.direct, path, NULL);
    bool same = data && strcmp(data, text) == 0;

    free(data);
    g_free(path);
    return same;
}

/* ---- a member ---- */

TEST_CASE(joins_and_leaves)
{
    struct group_story story;
    struct Stat stat;
    zkl_grant *grant;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_member *m = group_join(s, "a", "10.0.0.1:80", &story);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    char *path = group_node("a");
    CHECK_INT(raw_exists(fault.direct, path, &stat), ZOK);
    CHECK(stat.ephemeralOwner == zkl_session_id(s));
    REQUIRE(zkl_member_grant(m, &grant) == 0);
    CHECK(zkl_grant_token(grant) == (uint64_t)stat.czxid);
    CHECK_STR(zkl_grant_node(grant), path);
    CHECK_INT(zkl_grant_session_id(grant), zkl_session_id(s));
    CHECK(group_has("a", "10.0.0.1:80"));
    CHECK_INT(zkl_grant_state(grant), ZKL_HELD);
    CHECK(zkl_grant_remaining_ms(grant) > 0);
    CHECK_INT(zkl_member_leave(m, ZKL_FOREVER), 0);
    CHECK_INT(raw_exists(fault.direct, path, NULL), ZNONODE);
    CHECK_INT(zkl_grant_state(grant), ZKL_RELEASED);
    zkl_grant_release(grant);
    CHECK_INT(zkl_member_grant(m, &grant), ZKL_EPERM);
    CHECK_INT(zkl_member_update(m, "b", 1, ZKL_FOREVER), ZKL_EPERM);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), ZKL_EPERM);
    CHECK_INT(zkl_member_leave(m, ZKL_FOREVER), 0);
    EVENTUALLY(group_story_is(&story, "joined left"));
    zkl_member_free(m);
    fault_end();
    group_story_end(&story);
    g_free(path);
}

/* The answer to each kind of request is lost: the member finds out what the request did. */
TEST_CASE(answers_are_lost)
{
    struct group_story story;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    raw_create(fault.direct, "/fault", "", 0, 0, NULL);
    proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE2);
    zkl_member *m = group_join(s, "a", "one", &story);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    CHECK(group_has("a", "one"));
    uint64_t token = membership_token(m);
    for (int i = 0; i < 10; i++) {
        char *text = g_strdup_printf("two %d", i);
        if (i % 3 == 0)
            proxy_lose_reply_to(fault.proxy, PROXY_OP_SET_DATA);
        if (i % 3 == 1)
            proxy_lose_request_to(fault.proxy, PROXY_OP_SET_DATA);
        CHECK_INT(zkl_member_update(m, text, strlen(text), ZKL_FOREVER), 0);
        CHECK(group_has("a", text));
        g_free(text);
    }
    CHECK(membership_token(m) == token);
    proxy_lose_reply_to(fault.proxy, PROXY_OP_DELETE);
    CHECK_INT(zkl_member_leave(m, ZKL_FOREVER), 0);
    zkl_member_free(m);
    EVENTUALLY(group_story_ends(&story, "left"));
    fault_end();
    group_story_end(&story);
    raw_delete(fault.direct, "/fault");
}

/* In a new session it is there again, with its present data; its token rises. */
TEST_CASE(joins_again)
{
    struct group_story story;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_member *m = group_join(s, "a", "first", &story);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_update(m, "second", 6, ZKL_FOREVER), 0);
    uint64_t before = membership_token(m);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    fault_expire(zkl_session_id(s));
    proxy_thaw(fault.proxy);
    EVENTUALLY(group_story_ends(&story, "again"));
    CHECK(membership_token(m) > before);
    CHECK(group_has("a", "second"));
    CHECK_INT(membership_state(m), ZKL_HELD);
    char *path = group_node("a");
    before = membership_token(m);
    CHECK_INT(raw_delete(fault.direct, path), ZOK);
    EVENTUALLY(group_story_ends(&story, "lost:deleted again"));
    CHECK(membership_token(m) > before);
    CHECK(group_has("a", "second"));
    zkl_member_free(m);
    fault_end();
    group_story_end(&story);
    g_free(path);
}

/* Whether the member is lost by its own word. Its node is not gone before. */
static bool is_lost_before_it_is_gone(zkl_member *m, const char *path)
{
    const bool gone = raw_exists(fault.direct, path, NULL) == ZNONODE;
    const bool lost = membership_state(m) == ZKL_LOST;

    CHECK(lost || !gone);
    return lost;
}

/* Others may think so from the deadline on, which it knows alone. */
TEST_CASE(knows_its_deadline)
{
    struct group_story story;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_proxied(FAULT_SHORT_MS);
    zkl_member *m = group_join(s, "a", NULL, &story);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    char *path = group_node("a");
    EVENTUALLY(is_lost_before_it_is_gone(m, path));
    EVENTUALLY(group_story_ends(&story, "lost:deadline"));
    EVENTUALLY(raw_exists(fault.direct, path, NULL) == ZNONODE);
    proxy_heal(fault.proxy);
    EVENTUALLY(group_story_ends(&story, "again"));
    EVENTUALLY(membership_state(m) == ZKL_HELD);
    zkl_member_free(m);
    fault_end();
    group_story_end(&story);
    g_free(path);
}

/* ---- two of one id ---- */

TEST_CASE(two_of_one_id)
{
    struct group_story first, second;
    zkl_error error;

    fault_begin();
    group_story_begin(&first);
    group_story_begin(&second);
    zkl_session *s = fault_direct(FAULT_LONG_MS), *other = fault_proxied(FAULT_LONG_MS);
    zkl_member *m = group_join(s, "a", "first", &first);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    zkl_member *waits = group_join(other, "a", "second", &second);
    EVENTUALLY(group_story_is(&second, "busy"));
    CHECK_INT(zkl_member_wait(waits, 1500), ZKL_EBUSY);
    CHECK_INT(zkl_last_error(&error), ZKL_EBUSY);
    char *who =
        g_strdup_printf("session 0x%" G_GINT64_MODIFIER "x has this id: first", zkl_session_id(s));
    CHECK(strstr(error.text, who) != NULL);
    CHECK(group_has("a", "first"));
    proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE2);
    CHECK_INT(zkl_member_leave(m, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_wait(waits, ZKL_FOREVER), 0);
    CHECK(group_has("a", "second"));
    EVENTUALLY(group_story_is(&first, "joined left"));
    zkl_member_free(m);
    zkl_member_free(waits);
    fault_end();
    group_story_end(&first);
    group_story_end(&second);
    g_free(who);
}

/* The node of another session is left alone, until that session has ended. */
TEST_CASE(left_behind)
{
    struct group_story story;
    char made[RAW_PATH_SIZE];

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_member *probe = group_join(s, "probe", NULL, NULL);
    CHECK_INT(zkl_member_wait(probe, ZKL_FOREVER), 0); /* and so the directory is there */
    struct raw *owner = raw_open_timeout(zk_server_connect(fault.server), 60000);
    REQUIRE(owner != NULL);
    char *path = group_node("a");
    REQUIRE(raw_create(owner, path, "old", 3, ZOO_EPHEMERAL, made) == ZOK);
    zkl_member *m = group_join(s, "a", "new", &story);
    EVENTUALLY(group_story_is(&story, "busy"));
    CHECK_INT(zkl_member_wait(m, 2500), ZKL_EBUSY);
    CHECK(group_has("a", "old"));
    raw_close(owner);
    CHECK_INT(zkl_member_wait(m, ZKL_FOREVER), 0);
    CHECK(group_has("a", "new"));
    EVENTUALLY(group_story_is(&story, "busy joined"));
    zkl_member_free(m);
    zkl_member_free(probe);
    fault_end();
    group_story_end(&story);
    g_free(path);
}

TEST_CASE(of_a_party)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    zkl_member *a, *b;

    fault_begin();
    o.layout = ZKL_MEMBER_PARTY;
    o.parents = ZKL_PARENTS_PERSISTENT;
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    REQUIRE(zkl_member_join(&a, s, fault.path, "same", NULL, 0, &o) == 0);
    REQUIRE(zkl_member_join(&b, s, fault.path, "same", NULL, 0, &o) == 0);
    CHECK_INT(zkl_member_wait(a, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_wait(b, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_update(a, "x", 1, 0), ZKL_EINVAL);
    char **names = raw_children(fault.direct, fault.path);
    CHECK_INT(g_strv_length(names), 2);
    CHECK(g_str_has_suffix(names[0], "__party__") && strlen(names[0]) == 32 + 9);
    CHECK(group_has(names[0], "same") && group_has(names[1], "same"));
    g_strfreev(names);
    zkl_member_free(a);
    zkl_member_free(b);
    fault_end();
}

/* ---- observers ---- */

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
    CHECK_INT(zkl_member_update(a, "2", 1, ZKL_FOREVER), 0);
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
    CHECK_INT(zkl_member_wait(a, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_wait(b, ZKL_FOREVER), 0);
    zkl_watch *w = watch(s, &story);
    EVENTUALLY(group_story_is(&story, "+a=1 +b=1 2") || group_story_is(&story, "+b=1 +a=1 2"));
    for (int i = 0; i < 2; i++) {
        char *data = g_strdup_printf("%d", i + 2);
        char *last = g_strdup_printf("-b ~a=%d +c=4 2", i + 2);
        proxy_cut(fault.proxy);
        if (i == 1)
            fault_expire(zkl_session_id(s));
        zkl_member_free(b);
        CHECK_INT(zkl_member_update(a, data, 1, ZKL_FOREVER), 0);
        zkl_member *c = group_join(other, "c", "4", NULL);
        CHECK_INT(zkl_member_wait(c, ZKL_FOREVER), 0);
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
    REQUIRE(zkl_members_read(&ms, s, fault.path, ZKL_MEMBER_GROUP, ZKL_FOREVER) == 0);
    CHECK_INT(zkl_members_count(ms), 0);
    zkl_members_free(ms);
    zkl_member *b = group_join(other, "b", "data of b", NULL);
    zkl_member *a = group_join(other, "a", NULL, NULL);
    CHECK_INT(zkl_member_wait(a, ZKL_FOREVER), 0);
    CHECK_INT(zkl_member_wait(b, ZKL_FOREVER), 0);
    REQUIRE(zkl_members_read(&ms, s, fault.path, ZKL_MEMBER_GROUP, ZKL_FOREVER) == 0);
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
    REQUIRE(zkl_members_read(&ms, s, fault.path, ZKL_MEMBER_PARTY, ZKL_FOREVER) == 0);
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
    CHECK_INT(zkl_member_update(first, "2", 1, ZKL_FOREVER), 0);
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
