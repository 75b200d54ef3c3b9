/* Reading the members once, and calls that are refused at once. */
#include "members_story.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(members_call);

TEST_CASE(bad_observers)
{
    zkl_watch *w = NULL;

    observed_open();
    observed.told = g_string_new(NULL);
    CHECK_INT(
        zkl_members_watch(&w, NULL, "/g", ZKL_MEMBER_GROUP, observed_on_members, observed.told),
        ZKL_EINVAL);
    CHECK_INT(zkl_members_watch(&w, observed.s, "g", ZKL_MEMBER_GROUP, observed_on_members,
                                observed.told),
              ZKL_EINVAL);
    CHECK_INT(zkl_members_watch(&w, observed.s, "/g", ZKL_MEMBER_GROUP, NULL, observed.told),
              ZKL_EINVAL);
    for (int layout = -1; layout <= 2; layout += 3) {
        CHECK_INT(zkl_members_watch(&w, observed.s, "/g", (zkl_member_layout)layout,
                                    observed_on_members, observed.told),
                  ZKL_EINVAL);
    }
    CHECK(w == NULL && !fake_is_asked(STORE_SYNC, GROUP));
    CHECK_INT(zkl_members_watch(NULL, observed.s, "/g", ZKL_MEMBER_GROUP, observed_on_members,
                                observed.told),
              0);
    CHECK_INT(zkl_members_watch(&observed.watch, observed.s, "/g", ZKL_MEMBER_GROUP,
                                observed_on_members, observed.told),
              0);
    session_ref(observed.s);
    hand_close(observed.s);
    CHECK_INT(zkl_members_watch(&w, observed.s, "/g", ZKL_MEMBER_GROUP, observed_on_members,
                                observed.told),
              ZKL_ECLOSED);
    zkl_watch_free(observed.watch);
    session_unref(observed.s);
    g_string_free(observed.told, TRUE);
}

/* ---- reading ---- */

static enum store_rc refusal; /* of c */

static bool answer_at_once(const struct store_request *r, struct store_reply *reply)
{
    static char *const names[] = {(char *)(uintptr_t) "1__party__b", (char *)(uintptr_t) "c",
                                  (char *)(uintptr_t) "0__party__a", (char *)(uintptr_t) "\xff"};

    *reply = (struct store_reply){.rc = STORE_OK};
    if (r->kind == STORE_LIST) {
        CHECK(!r->watch);
        reply->names = names;
        reply->count = G_N_ELEMENTS(names);
    } else if (r->kind == STORE_GET) {
        CHECK(!r->watch);
        *reply = (struct store_reply){.rc = g_str_has_suffix(r->path, "/c") ? refusal : STORE_OK,
                                      .czxid = (uint64_t)strlen(r->path),
                                      .ctime_ms = 77,
                                      .ephemeral_owner = 88,
                                      .data = "m\xff",
                                      .length = g_str_has_suffix(r->path, "\xff") ? -1 : 2};
    }
    return true;
}

TEST_CASE(reads_once)
{
    zkl_members *ms;

    observed_open();
    refusal = STORE_OK;
    fake_answer_at_once(answer_at_once);
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_GROUP, 1000) == 0);
    CHECK_INT(zkl_members_count(ms), 4);
    CHECK_STR(zkl_members_get(ms, 0)->id, "0__party__a");
    CHECK_STR(zkl_members_get(ms, 1)->id, "1__party__b");
    CHECK_STR(zkl_members_get(ms, 2)->id, "c");
    const zkl_member_info *last = zkl_members_get(ms, 3);
    CHECK_STR(last->id, "\xef\xbf\xbd");
    CHECK_STR(last->node, "\xff");
    CHECK(last->size == 0 && last->data != NULL);
    const zkl_member_info *c = zkl_members_get(ms, 2);
    CHECK_INT(c->size, 2);
    CHECK(memcmp(c->data, "m\xff", 3) == 0);
    CHECK(c->token == strlen(GROUP "/c") && c->session_id == 88 && c->ctime_ms == 77);
    CHECK(zkl_members_get(ms, 4) == NULL && zkl_members_get(NULL, 0) == NULL);
    CHECK_INT(zkl_members_count(NULL), 0);
    zkl_members_free(ms);
    zkl_members_free(NULL);
    refusal = STORE_NONODE;
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_GROUP, 1000) == 0);
    CHECK_INT(zkl_members_count(ms), 3);
    zkl_members_free(ms);
    refusal = STORE_NOAUTH;
    CHECK_INT(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_GROUP, 1000), ZKL_EACCES);
    fake_answer_at_once(NULL);
    hand_close(observed.s);
}

/* ---- reading in another thread ---- */

struct reading {
    const char *path;
    zkl_members *ms;
    zkl_error why;
    pthread_t thread;
};

static void *run(void *data)
{
    struct reading *r = data;

    if (zkl_members_read(&r->ms, observed.s, r->path, ZKL_MEMBER_GROUP, 5000) != 0)
        zkl_last_error(&r->why);
    return NULL;
}

static void begin(struct reading *r, const char *path, const char *asked)
{
    *r = (struct reading){.path = path};
    REQUIRE(pthread_create(&r->thread, NULL, run, r) == 0);
    fake_await(STORE_SYNC, asked);
}

static void end(struct reading *r, int code)
{
    pthread_join(r->thread, NULL);
    CHECK_INT(r->why.code, code);
    CHECK(r->ms == NULL);
}

TEST_CASE(reads_in_vain)
{
    char *late[] = {(char *)(uintptr_t) "a"};
    struct reading r;

    observed_open();
    begin(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NOAUTH);
    end(&r, ZKL_EACCES);
    CHECK_STR(r.why.text, "/g: the server refused to list the children of it: the permission read "
                          "(r) is missing");
    begin(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_BAD);
    end(&r, ZKL_EPROTO);
    observed.s->watched_bytes += 512 * 1024;
    begin(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    end(&r, ZKL_ELIMIT);
    observed.s->watched_bytes -= 512 * 1024;
    zkl_session_dispatch(observed.s);
    CHECK_STR(observed.log, ""); /* whoever reads is told */
    begin(&r, "/g", GROUP);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    hand_pass(observed.s, 5000);
    end(&r, ZKL_ETIMEDOUT);
    CHECK(!fake_is_watching(STORE_LIST, GROUP));
    ANSWER(STORE_LIST, GROUP, .rc = STORE_OK, .names = late, .count = 1); /* nobody waits for it */
    CHECK(!fake_is_asked(STORE_GET, GROUP "/a"));
    hand_close(observed.s);
}

/* A session that is closed tells its observers first, or its calls, depending on which of them it
 * had first. Both orders are played. */
TEST_CASE(closing_ends_a_read)
{
    for (int first = 0; first < 2; first++) {
        struct reading r;

        observed_open();
        if (first)
            CHECK_INT(zkl_members_watch(NULL, observed.s, "/g", ZKL_MEMBER_GROUP,
                                        observed_on_members, NULL),
                      0);
        begin(&r, "/h", "/root/h");
        hand_close(observed.s);
        end(&r, ZKL_ECLOSED);
    }
}

/* By ids, and those of one id by nodes. */
TEST_CASE(reads_a_party)
{
    zkl_members *ms = NULL;

    observed_open();
    fake_answer_at_once(answer_at_once);
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", ZKL_MEMBER_PARTY, 1000) == 0);
    fake_answer_at_once(NULL);
    REQUIRE(zkl_members_count(ms) == 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_STR(zkl_members_get(ms, i)->id, "m\xef\xbf\xbd");
        CHECK_STR(zkl_members_get(ms, i)->node, i == 0 ? "0__party__a" : "1__party__b");
        CHECK_INT(zkl_members_get(ms, i)->size, 0);
    }
    zkl_members_free(ms);
    CHECK_INT(zkl_members_read(NULL, observed.s, "/g", ZKL_MEMBER_GROUP, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, NULL, "/g", ZKL_MEMBER_GROUP, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, observed.s, "g", ZKL_MEMBER_GROUP, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, observed.s, "/g", (zkl_member_layout)2, 0), ZKL_EINVAL);
    hand_close(observed.s);
}
