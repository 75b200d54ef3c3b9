/* Who waits for a number of members, or reads them once. */
#include "members_story.h"
#include "suites.h"

#include <string.h>

/* ---- waiting for a number ---- */

struct outcome {
    int calls, code;
    char text[128];
};

static void on_done(const zkl_error *err, void *data)
{
    struct outcome *o = data;

    o->calls++;
    o->code = err ? err->code : 0;
    g_strlcpy(o->text, err ? err->text : "", sizeof o->text);
}

static void wait_for(size_t count, zkl_member_layout layout, struct outcome *o)
{
    zkl_members_options options = ZKL_MEMBERS_OPTIONS_INIT;

    options.layout = layout;
    *o = (struct outcome){.calls = 0};
    CHECK_INT(zkl_members_wait_async(observed.s, "/g", count, &options, 5000, on_done, o), 0);
}

static void check_outcome(const struct outcome *o, int calls, int code)
{
    zkl_session_dispatch(observed.s);
    CHECK_INT(o->calls, calls);
    CHECK_INT(o->code, code);
}

/* Without a read of any. */
static void waits_for_a_number(void)
{
    struct outcome o;

    observed_open();
    wait_for(2, ZKL_MEMBER_GROUP, &o);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, GROUP, .rc = STORE_NONODE);
    fake_fire(GROUP, STORE_FIRED_CREATED);
    observed_rest(0);
    observed_listed(9, "a");
    CHECK(!fake_is_asked(STORE_GET, GROUP));
    check_outcome(&o, 0, 0);
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    observed_rest(1);
    observed_listed(8, "a b"); /* however old */
    check_outcome(&o, 1, 0);
    CHECK(fake_is_asked(STORE_UNWATCH, GROUP));
    wait_for(0, ZKL_MEMBER_GROUP, &o);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NONODE);
    ANSWER(STORE_STAT, GROUP, .rc = STORE_NONODE);
    check_outcome(&o, 1, 0);
    wait_for(1, ZKL_MEMBER_PARTY, &o);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    observed_listed(9, "a b");
    check_outcome(&o, 0, 0);
    fake_fire(GROUP, STORE_FIRED_CHILDREN);
    hand_pass(observed.s, 101);
    observed_listed(9, "a 0__party__");
    check_outcome(&o, 1, 0);
    hand_close(observed.s);
}

static void waits_in_vain(void)
{
    struct outcome o;

    observed_open();
    wait_for(1, ZKL_MEMBER_GROUP, &o);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_NOAUTH);
    check_outcome(&o, 1, ZKL_EACCES);
    CHECK_STR(o.text, "/g: the server refused to list the children of it: the permission read (r) "
                      "is missing");
    wait_for(1, ZKL_MEMBER_GROUP, &o);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    ANSWER(STORE_LIST, GROUP, .rc = STORE_BAD);
    check_outcome(&o, 1, ZKL_EPROTO);
    observed.s->watched_bytes += 512 * 1024;
    wait_for(1, ZKL_MEMBER_GROUP, &o);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    check_outcome(&o, 1, ZKL_ELIMIT);
    observed.s->watched_bytes -= 512 * 1024;
    CHECK_STR(observed.log, ""); /* whoever waits is told */
    wait_for(1, ZKL_MEMBER_GROUP, &o);
    ANSWER(STORE_SYNC, GROUP, .rc = STORE_OK);
    hand_pass(observed.s, 5000);
    check_outcome(&o, 1, ZKL_ETIMEDOUT);
    observed_listed(9, "a"); /* nobody waits for it */
    wait_for(1, ZKL_MEMBER_GROUP, &o);
    hand_close(observed.s);
    CHECK_INT(o.calls, 1);
    CHECK_INT(o.code, ZKL_ECLOSED);
}

static void bad_waits(void)
{
    struct outcome o;

    observed_open();
    CHECK_INT(zkl_members_wait(NULL, "/g", 1, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_wait(observed.s, "g", 1, NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_wait_async(observed.s, "/g", 1, NULL, 0, NULL, NULL), ZKL_EINVAL);
    CHECK_INT(zkl_members_wait_async(observed.s, "g", 1, NULL, 0, on_done, &o), ZKL_EINVAL);
    session_ref(observed.s);
    hand_close(observed.s);
    CHECK_INT(zkl_members_wait_async(observed.s, "/g", 1, NULL, 0, on_done, &o), ZKL_ECLOSED);
    CHECK_INT(zkl_members_wait(observed.s, "/g", 1, NULL, 0), ZKL_ECLOSED);
    session_unref(observed.s);
}

static void bad_observers(void)
{
    zkl_members_options o = ZKL_MEMBERS_OPTIONS_INIT;
    zkl_watch *w = NULL;

    observed_open();
    observed.told = g_string_new(NULL);
    CHECK_INT(zkl_members_watch(&w, NULL, "/g", NULL, observed_on_members, observed.told),
              ZKL_EINVAL);
    CHECK_INT(zkl_members_watch(&w, observed.s, "g", NULL, observed_on_members, observed.told),
              ZKL_EINVAL);
    CHECK_INT(zkl_members_watch(&w, observed.s, "/g", NULL, NULL, observed.told), ZKL_EINVAL);
    for (int layout = -1; layout <= 2; layout += 3) {
        o.layout = (zkl_member_layout)layout;
        CHECK_INT(zkl_members_watch(&w, observed.s, "/g", &o, observed_on_members, observed.told),
                  ZKL_EINVAL);
    }
    o.size = 0;
    CHECK_INT(zkl_members_watch(&w, observed.s, "/g", &o, observed_on_members, observed.told),
              ZKL_EINVAL);
    CHECK(w == NULL && !fake_is_asked(STORE_SYNC, GROUP));
    CHECK_INT(zkl_members_watch(NULL, observed.s, "/g", NULL, observed_on_members, observed.told),
              0);
    CHECK_INT(zkl_members_watch(&observed.watch, observed.s, "/g", NULL, observed_on_members,
                                observed.told),
              0);
    session_ref(observed.s);
    hand_close(observed.s);
    CHECK_INT(zkl_members_watch(&w, observed.s, "/g", NULL, observed_on_members, observed.told),
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

static void reads_once(void)
{
    zkl_members *ms;

    observed_open();
    refusal = STORE_OK;
    fake_answer_at_once(answer_at_once);
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", NULL, 1000) == 0);
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
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", NULL, 1000) == 0);
    CHECK_INT(zkl_members_count(ms), 3);
    zkl_members_free(ms);
    refusal = STORE_NOAUTH;
    CHECK_INT(zkl_members_read(&ms, observed.s, "/g", NULL, 1000), ZKL_EACCES);
    fake_answer_at_once(NULL);
    hand_close(observed.s);
}

/* By ids, and those of one id by nodes. */
static void reads_a_party(void)
{
    zkl_members_options o = ZKL_MEMBERS_OPTIONS_INIT;
    zkl_members *ms = NULL;

    observed_open();
    o.layout = ZKL_MEMBER_PARTY;
    fake_answer_at_once(answer_at_once);
    REQUIRE(zkl_members_read(&ms, observed.s, "/g", &o, 1000) == 0);
    fake_answer_at_once(NULL);
    REQUIRE(zkl_members_count(ms) == 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK_STR(zkl_members_get(ms, i)->id, "m\xef\xbf\xbd");
        CHECK_STR(zkl_members_get(ms, i)->node, i == 0 ? "0__party__a" : "1__party__b");
        CHECK_INT(zkl_members_get(ms, i)->size, 0);
    }
    zkl_members_free(ms);
    CHECK_INT(zkl_members_read(NULL, observed.s, "/g", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, NULL, "/g", NULL, 0), ZKL_EINVAL);
    CHECK_INT(zkl_members_read(&ms, observed.s, "g", NULL, 0), ZKL_EINVAL);
    o.layout = (zkl_member_layout)2;
    CHECK_INT(zkl_members_read(&ms, observed.s, "/g", &o, 0), ZKL_EINVAL);
    hand_close(observed.s);
}

static const struct test_case cases[] = {
    {"waits_for_a_number", waits_for_a_number},
    {"waits_in_vain", waits_in_vain},
    {"bad_waits", bad_waits},
    {"bad_observers", bad_observers},
    {"reads_once", reads_once},
    {"reads_a_party", reads_a_party},
    {NULL, NULL},
};

const struct test_suite members_call_suite = {.name = "members_call", .cases = cases};
