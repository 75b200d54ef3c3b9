/* A member of a group: its node is there while it is, and never anybody else's. */
#include "member.h"
#include "membership.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(member, .init = fault_start, .done = fault_stop);

/* ---- what they share ---- */

void group_story_begin(struct group_story *s)
{
    pthread_mutex_init(&s->lock, NULL);
    s->text = g_string_new(NULL);
}

void group_story_end(struct group_story *s)
{
    g_string_free(s->text, TRUE);
}

char *group_story_text(struct group_story *s)
{
    pthread_mutex_lock(&s->lock);
    char *text = g_strdup(s->text->str);
    pthread_mutex_unlock(&s->lock);
    return text;
}

bool group_story_is(struct group_story *s, const char *text)
{
    char *now = group_story_text(s);
    bool same = strcmp(now, text) == 0;

    g_free(now);
    return same;
}

bool group_story_ends(struct group_story *s, const char *text)
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

void group_on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news, void *data)
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

void group_on_members(zkl_members_event event, const zkl_member_info *member,
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

zkl_member *group_join(zkl_session *s, const char *id, const char *text, struct group_story *story)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    zkl_member *m;

    o.fn = story ? group_on_member : NULL;
    o.fn_data = story;
    REQUIRE(zkl_member_join(&m, s, fault.path, id, text, text ? strlen(text) : 0, &o) == 0);
    return m;
}

char *group_node(const char *id)
{
    return g_strconcat(fault.path, "/", id, NULL);
}

bool group_has(const char *id, const char *text)
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
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
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
    CHECK_INT(zkl_member_leave(m, FAULT_LIMIT_MS), 0);
    CHECK_INT(raw_exists(fault.direct, path, NULL), ZNONODE);
    CHECK_INT(zkl_grant_state(grant), ZKL_RELEASED);
    zkl_grant_release(grant);
    CHECK_INT(zkl_member_grant(m, &grant), ZKL_EPERM);
    CHECK_INT(zkl_member_update(m, "b", 1, FAULT_LIMIT_MS), ZKL_EPERM);
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), ZKL_EPERM);
    CHECK_INT(zkl_member_leave(m, FAULT_LIMIT_MS), 0);
    EVENTUALLY(group_story_is(&story, "joined left"));
    zkl_member_free(m);
    fault_end();
    group_story_end(&story);
    g_free(path);
}

/* What is freed leaves, and what leaves makes room for the next one at once. */
TEST_CASE(one_after_the_other)
{
    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    for (int i = 0; i < 20; i++) {
        zkl_member *m = group_join(s, "a", i % 2 ? "odd" : "even", NULL), *other;
        CHECK_INT(zkl_member_join(&other, s, fault.path, "a", NULL, 0, NULL), ZKL_EBUSY);
        if (i % 3)
            CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
        zkl_member_free(m);
    }
    zkl_member *last = group_join(s, "a", "last", NULL);
    CHECK_INT(zkl_member_wait(last, FAULT_LIMIT_MS), 0);
    CHECK(group_has("a", "last"));
    zkl_member_free(last);
    fault_end();
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
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    CHECK(group_has("a", "one"));
    uint64_t token = membership_token(m);
    for (int i = 0; i < 10; i++) {
        char *text = g_strdup_printf("two %d", i);
        if (i % 3 == 0)
            proxy_lose_reply_to(fault.proxy, PROXY_OP_SET_DATA);
        if (i % 3 == 1)
            proxy_lose_request_to(fault.proxy, PROXY_OP_SET_DATA);
        CHECK_INT(zkl_member_update(m, text, strlen(text), FAULT_LIMIT_MS), 0);
        CHECK(group_has("a", text));
        g_free(text);
    }
    CHECK(membership_token(m) == token);
    proxy_lose_reply_to(fault.proxy, PROXY_OP_DELETE);
    CHECK_INT(zkl_member_leave(m, FAULT_LIMIT_MS), 0);
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
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    CHECK_INT(zkl_member_update(m, "second", 6, FAULT_LIMIT_MS), 0);
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

/* Others may think so from the deadline on, which it knows alone. */
TEST_CASE(knows_its_deadline)
{
    struct group_story story;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_proxied(FAULT_SHORT_MS);
    zkl_member *m = group_join(s, "a", NULL, &story);
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    char *path = group_node("a");
    EVENTUALLY(membership_state(m) == ZKL_LOST);
    CHECK_INT(raw_exists(fault.direct, path, NULL), ZOK); /* nobody has seen it gone yet */
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
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    zkl_member *waits = group_join(other, "a", "second", &second);
    CHECK_INT(zkl_member_wait(waits, 1500), ZKL_EBUSY);
    CHECK_INT(zkl_last_error(&error), ZKL_EBUSY);
    char *who =
        g_strdup_printf("session 0x%" G_GINT64_MODIFIER "x has this id: first", zkl_session_id(s));
    CHECK(strstr(error.text, who) != NULL);
    EVENTUALLY(group_story_is(&second, "busy"));
    CHECK(group_has("a", "first"));
    proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE2);
    CHECK_INT(zkl_member_leave(m, FAULT_LIMIT_MS), 0);
    CHECK_INT(zkl_member_wait(waits, FAULT_LIMIT_MS), 0);
    CHECK(group_has("a", "second"));
    EVENTUALLY(group_story_is(&first, "joined left"));
    zkl_member_free(m);
    zkl_member_free(waits);
    fault_end();
    group_story_end(&first);
    group_story_end(&second);
    g_free(who);
}

/* A delete whose answer was lost is not sent again to whoever has the id by then. */
TEST_CASE(deletes_its_own_only)
{
    struct group_story second;

    fault_begin();
    group_story_begin(&second);
    zkl_session *s = fault_proxied(FAULT_LONG_MS), *other = fault_direct(FAULT_LONG_MS);
    zkl_member *m = group_join(s, "a", "first", NULL);
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    zkl_member *waits = group_join(other, "a", "second", &second);
    EVENTUALLY(group_story_is(&second, "busy"));
    proxy_lose_reply_to(fault.proxy, PROXY_OP_DELETE);
    CHECK_INT(zkl_member_leave(m, FAULT_LIMIT_MS), 0);
    CHECK_INT(zkl_member_wait(waits, FAULT_LIMIT_MS), 0);
    zkl_member_free(m);
    EVENTUALLY(group_story_is(&second, "busy joined"));
    zkl_member_free(waits);
    EVENTUALLY(group_story_is(&second, "busy joined left"));
    fault_end();
    group_story_end(&second);
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
    CHECK_INT(zkl_member_wait(probe, FAULT_LIMIT_MS), 0); /* and so the directory is there */
    struct raw *owner = raw_open_timeout(zk_server_connect(fault.server), 60000);
    REQUIRE(owner != NULL);
    char *path = group_node("a");
    REQUIRE(raw_create(owner, path, "old", 3, ZOO_EPHEMERAL, made) == ZOK);
    zkl_member *m = group_join(s, "a", "new", &story);
    CHECK_INT(zkl_member_wait(m, 2500), ZKL_EBUSY);
    CHECK(group_has("a", "old"));
    EVENTUALLY(group_story_is(&story, "busy"));
    raw_close(owner);
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    CHECK(group_has("a", "new"));
    EVENTUALLY(group_story_is(&story, "busy joined"));
    zkl_member_free(m);
    zkl_member_free(probe);
    fault_end();
    group_story_end(&story);
    g_free(path);
}

/* ---- calls ---- */

static void on_member_waits(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                            void *data)
{
    (void)news;
    if (event == ZKL_MEMBER_JOINED)
        atomic_store((atomic_int *)data, zkl_member_update(m, "x", 1, 1000));
}

TEST_CASE(bad_calls)
{
    zkl_member_options o = ZKL_MEMBER_OPTIONS_INIT;
    atomic_int inside = 0;
    zkl_member *m;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    static const char *const ids[] = {"", "a/b", ".", "..", "a\nb", "\xff", NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++)
        CHECK_INT(zkl_member_join(&m, s, fault.path, ids[i], NULL, 0, NULL), ZKL_EINVAL);
    char *longest = g_strnfill(256, 'a'), *data = g_malloc0(65537);
    CHECK_INT(zkl_member_join(&m, s, fault.path, longest, NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_join(&m, s, fault.path, "a", data, 65537, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_join(&m, s, fault.path, "a", NULL, 1, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_join(&m, s, "a", "a", NULL, 0, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_member_join(NULL, s, fault.path, "a", NULL, 0, NULL), ZKL_EINVAL);
    o.layout = ZKL_MEMBER_PARTY;
    CHECK_INT(zkl_member_join(&m, s, fault.path, "a", "x", 1, &o), ZKL_EINVAL);
    o.layout = (zkl_member_layout)2;
    CHECK_INT(zkl_member_join(&m, s, fault.path, "a", NULL, 0, &o), ZKL_EINVAL);
    o.layout = ZKL_MEMBER_GROUP;
    o.fn = on_member_waits;
    o.fn_data = &inside;
    longest[255] = '\0';
    REQUIRE(zkl_member_join(&m, s, fault.path, longest, data, 65536, &o) == 0);
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    EVENTUALLY(atomic_load(&inside) == ZKL_EDEADLK);
    CHECK_INT(zkl_member_update(m, NULL, 1, 0), ZKL_EINVAL);
    CHECK_INT(zkl_member_grant(NULL, NULL), ZKL_EINVAL);
    zkl_member_free(m);
    zkl_member_free(NULL);
    fault_end();
    g_free(longest);
    g_free(data);
}

/* A closed session ends what waits, and tells. */
TEST_CASE(closing)
{
    struct group_story story;
    zkl_member *m;

    fault_begin();
    group_story_begin(&story);
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    m = group_join(s, "a", NULL, &story);
    CHECK_INT(zkl_member_wait(m, FAULT_LIMIT_MS), 0);
    fault_close(s);
    EVENTUALLY(group_story_is(&story, "joined left"));
    CHECK_INT(membership_of(m).code, ZKL_ECLOSED);
    CHECK_INT(zkl_member_wait(m, 0), ZKL_ECLOSED);
    CHECK_INT(zkl_member_leave(m, 0), ZKL_ECLOSED);
    zkl_member_free(m);
    EVENTUALLY(!group_has("a", ""));
    fault_end();
    group_story_end(&story);
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
    CHECK_INT(zkl_member_wait(a, FAULT_LIMIT_MS), 0);
    CHECK_INT(zkl_member_wait(b, FAULT_LIMIT_MS), 0);
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
