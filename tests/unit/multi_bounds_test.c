/* Transactions at their limits: of time, of size, of versions; and one that is waited for. */
#include "by_hand.h"
#include "lib/grant/grant.h"
#include "lib/grant/multi.h"
#include "multi_story.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(multi_bounds);

#define ACL "world:anyone:cdrwa"

enum { BYTES_MAX = 1000000, BYTES_EACH = 64 };

/* The time is over when nothing of the transaction is under way. So it was not applied: an old
 * version was refused, or the store did not take it. */
TEST_CASE(timed_out_unsent)
{
    for (int busy = 0; busy < 2; busy++) {
        zkl_session *s = hand_session();
        struct acquisition a;
        struct ending e = {.calls = 0};

        hand_hold(&a, s);
        fake_busy(busy);
        CHECK_INT(zkl_grant_multi_async(a.grant, &story_change, 1, 0, 1000, on_ended, &e), 0);
        if (!busy)
            ANSWER(STORE_MULTI, a.node, .rc = STORE_BADVERSION, .failed = 0);
        hand_pass(s, 1000);
        fake_busy(false);
        CHECK(!fake_is_asked(STORE_MULTI, a.node));
        zkl_session_dispatch(s);
        CHECK_INT(atomic_load(&e.calls), 1);
        CHECK_INT(e.error.code, ZKL_ETIMEDOUT);
        hand_leave(&a);
        hand_close(s);
    }
}

/* The one after the last version could mean any. */
TEST_CASE(versions_run_out)
{
    struct story story;
    struct ending e[2];

    story_begin(&story);
    multi_line_of(grant_tenure(story.grant, 0))->machine.version = INT32_MAX - 1;
    for (int i = 0; i < 2; i++)
        story_apply(&story, &e[i], 0, ZKL_FOREVER);
    for (int i = 0; i < 2; i++) {
        ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
        check_ended(&e[i], 0);
    }
    CHECK_INT(multi_line_of(grant_tenure(story.grant, 0))->machine.version, INT32_MAX);
    CHECK_INT(zkl_grant_multi(story.grant, &story_change, 1, 0, ZKL_FOREVER), ZKL_ELIMIT);
    CHECK(!fake_is_asked(STORE_MULTI, story.node));
    story_end(&story);
}

/* All paths below the chroot, all data, and what a server adds; of a node that is made its ACL,
 * too. */
TEST_CASE(size_limited)
{
    static const struct {
        zkl_change_kind kind;
        size_t count, more; /* changes; bytes of each besides its data */
    } rows[] = {{ZKL_CHANGE_SET, 1, 0},
                {ZKL_CHANGE_SET, 2, 0},
                {ZKL_CHANGE_CREATE, 1, 3 * (sizeof ACL - 1)},
                {ZKL_CHANGE_CREATE, 2, 3 * (sizeof ACL - 1)}};
    char *data = g_malloc0(BYTES_MAX);

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const size_t size =
            BYTES_MAX / rows[i].count - strlen("/root/x") - BYTES_EACH - rows[i].more;
        zkl_change changes[] = {{rows[i].kind, -1, "/x", data, size},
                                {rows[i].kind, -1, "/x", data, size}};
        zkl_session_options o = ZKL_SESSION_OPTIONS_INIT;
        struct acquisition a;
        struct ending e = {.calls = 0};
        o.acl = ACL;
        zkl_session *s = hand_session_with(&o);
        fake_event(STORE_EV_BEGIN);
        fake_event(STORE_EV_UP);
        hand_hold(&a, s);
        CHECK_INT(
            zkl_grant_multi_async(a.grant, changes, rows[i].count, 0, ZKL_FOREVER, on_ended, &e),
            0);
        ANSWER(STORE_MULTI, a.node, .rc = STORE_OK);
        zkl_session_dispatch(s);
        CHECK_INT(atomic_load(&e.calls), 1);
        CHECK_INT(e.error.code, 0);
        changes[rows[i].count - 1].size++;
        CHECK_INT(
            zkl_grant_multi_async(a.grant, changes, rows[i].count, 0, ZKL_FOREVER, on_ended, &e),
            ZKL_ELIMIT);
        hand_leave(&a);
        hand_close(s);
    }
    g_free(data);
}

static GString *sent; /* the data of each change */

static bool note_data(const struct store_request *request, struct store_reply *reply)
{
    for (int i = 0; i < request->count; i++) {
        const struct store_change *c = &request->changes[i];
        g_string_append_printf(sent, "%d %.*s; ", c->length, MAX(c->length, 0),
                               c->data ? c->data : "");
    }
    (void)reply;
    return false;
}

TEST_CASE(data_of_each_kind)
{
    const zkl_change changes[] = {
        {ZKL_CHANGE_CREATE, 0, "/a", "one", 3}, {ZKL_CHANGE_SET, 1, "/b", "other", 5},
        {ZKL_CHANGE_CREATE, 0, "/c", NULL, 0},  {ZKL_CHANGE_DELETE, 2, "/d", "no", 2},
        {ZKL_CHANGE_CHECK, 3, "/e", "no", 2},
    };
    struct story story;
    struct ending e = {.calls = 0};

    story_begin(&story);
    sent = g_string_new(NULL);
    fake_answer_at_once(note_data);
    CHECK_INT(zkl_grant_multi_async(story.grant, changes, G_N_ELEMENTS(changes), 0, ZKL_FOREVER,
                                    on_ended, &e),
              0);
    fake_answer_at_once(NULL);
    CHECK_STR(sent->str, "12 " NAME "\nzkl tx 1; 3 one; 5 other; -1 ; -1 ; -1 ; ");
    ANSWER(STORE_MULTI, story.node, .rc = STORE_OK);
    check_ended(&e, 0);
    g_string_free(sent, TRUE);
    story_end(&story);
}

struct blocked {
    zkl_grant *grant;
    int code;
    zkl_error error;
};

static void *apply(void *data)
{
    struct blocked *b = data;

    b->code = zkl_grant_multi(b->grant, &story_change, 1, 0, ZKL_FOREVER);
    zkl_last_error(&b->error);
    return NULL;
}

TEST_CASE(waited_for)
{
    static const struct {
        enum store_rc rc;
        int code;
    } rows[] = {{STORE_OK, 0}, {STORE_EXISTS, ZKL_EEXIST}};

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct story story;
        pthread_t thread;

        story_begin(&story);
        struct blocked b = {.grant = story.grant, .code = 1};
        REQUIRE(pthread_create(&thread, NULL, apply, &b) == 0);
        while (!fake_is_asked(STORE_MULTI, story.node))
            g_usleep(1000);
        ANSWER(STORE_MULTI, story.node, .rc = rows[i].rc, .failed = 1);
        pthread_join(thread, NULL);
        CHECK_INT(b.code, rows[i].code);
        CHECK_INT(b.error.code, rows[i].code);
        story_end(&story);
    }
}
