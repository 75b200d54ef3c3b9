/* A create whose outcome is unknown, and an acquisition that ends before it is settled: whatever
 * the caller is told, no node stays. */
#include "fault.h"
#include "runner.h"

#include <string.h>

TEST_SUITE(fault_orphan, .init = fault_start, .done = fault_stop);

enum { SLOW_MS = 150 };

static bool is_gone(const char *name)
{
    char **names = raw_children(fault.direct, fault.path);
    bool found = g_strv_contains((const char *const *)names, name);

    g_strfreev(names);
    return !found;
}

/* From now on the session is cut off, with its create done or not, and not answered. */
static void lose_create(bool request)
{
    /* Slow, so that the cut comes before the session is back. */
    proxy_delay_ms(fault.proxy, PROXY_TO_SERVER, SLOW_MS);
    if (request)
        proxy_lose_request_to(fault.proxy, PROXY_OP_CREATE2);
    else
        proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE2);
}

static zkl_session *begin(void)
{
    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    CHECK_INT(zkl_mutex_lock(m, FAULT_LIMIT_MS, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_at_rest();
    proxy_reset_stats(fault.proxy);
    return s;
}

TEST_CASE(canceled_unsettled)
{
    for (int request = 0; request < 2; request++) {
        struct acquisition a;
        zkl_session *s = begin();

        lose_create(request);
        acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
        CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
        proxy_cut(fault.proxy);
        zkl_op_cancel(a.op);
        CHECK(acquisition_failed(&a, ZKL_ECANCELED));
        CHECK_INT(fault_children(), !request);
        proxy_heal(fault.proxy);
        acquisition_end(&a);
        fault_end();
    }
}

/* Given up while the create is under way; only then is its reply lost. */
TEST_CASE(canceled_unanswered)
{
    struct acquisition a;
    zkl_session *s = begin();

    proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    EVENTUALLY(fault_children() == 1);
    zkl_op_cancel(a.op);
    CHECK(acquisition_failed(&a, ZKL_ECANCELED));
    CHECK_INT(fault_children(), 1);
    proxy_cut(fault.proxy);
    proxy_heal(fault.proxy);
    acquisition_end(&a);
    fault_end();
}

TEST_CASE(timed_out_unsettled)
{
    struct acquisition a;
    zkl_session *s = begin();

    lose_create(false);
    acquisition_start(&a, fault_mutex(s), 2 * SLOW_MS);
    CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
    proxy_cut(fault.proxy);
    CHECK(acquisition_failed(&a, ZKL_EUNREACHABLE));
    CHECK_INT(fault_children(), 1);
    proxy_heal(fault.proxy);
    acquisition_end(&a);
    fault_end();
}

/* The mutex is freed meanwhile: nobody is left but the session. */
TEST_CASE(freed_unsettled)
{
    struct acquisition a;
    zkl_session *s = begin();
    zkl_mutex *m;

    REQUIRE(zkl_mutex_new(&m, s, fault.path, NULL) == 0);
    lose_create(false);
    acquisition_start(&a, m, ZKL_FOREVER);
    CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
    proxy_cut(fault.proxy);
    zkl_op_cancel(a.op);
    zkl_mutex_free(m);
    acquisition_end(&a);
    proxy_heal(fault.proxy);
    fault_end();
}

/* The session ends before the create is settled: the node goes with it, the acquisition goes on. */
TEST_CASE(expired_unsettled)
{
    struct acquisition a;
    zkl_session *s = begin();

    lose_create(false);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
    proxy_cut(fault.proxy);
    int64_t before = zkl_session_id(s);
    CHECK_INT(fault_children(), 1);
    fault_expire(before);
    EVENTUALLY(fault_children() == 0);
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&a));
    CHECK(zkl_grant_session_id(a.grant) != before);
    CHECK_INT(fault_children(), 1);
    acquisition_end(&a);
    fault_end();
}

/* And to look for it is refused at first: another lock is held, so the session stays meanwhile. */
TEST_CASE(list_refused)
{
    struct ACL create_only[] = {{ZOO_PERM_ALL & ~ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE}};
    const struct ACL_vector unreadable = {1, create_only};
    struct acquisition a, b, held;
    zkl_session *s = begin();
    char *lock = fault.path;

    fault.path = g_strconcat(lock, "-held", NULL);
    acquisition_queue(&held, fault_mutex(s), 1);
    g_free(fault.path);
    fault.path = lock;
    lose_create(false);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
    proxy_cut(fault.proxy);
    CHECK_INT(fault_children(), 1);
    REQUIRE(raw_set_acl(fault.direct, fault.path, &unreadable) == ZOK);
    proxy_heal(fault.proxy);
    CHECK(acquisition_failed(&a, ZKL_EACCES));
    REQUIRE(raw_set_acl(fault.direct, fault.path, &ZOO_OPEN_ACL_UNSAFE) == ZOK);
    EVENTUALLY(fault_children() == 0);
    acquisition_start(&b, fault_mutex(s), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&b));
    CHECK_INT(told_times(&held.told, ZKL_LOST), 0);
    acquisition_end(&a);
    acquisition_end(&b);
    acquisition_end(&held);
    fault_end();
}

/* Somebody's node with our id that is not of our session is not ours; one that is ours is kept
 * once. */
TEST_CASE(settled_by_session)
{
    char planted[RAW_PATH_SIZE];
    struct acquisition a;
    zkl_session *s = begin();

    lose_create(false);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK(proxy_wait_lost(fault.proxy, 1, FAULT_LIMIT_MS));
    proxy_cut(fault.proxy);
    char **names = raw_children(fault.direct, fault.path);
    REQUIRE(names && names[0] && !names[1]);
    char *like = g_strdup_printf("%s/%.*s", fault.path, (int)(strlen(names[0]) - 10), names[0]);
    REQUIRE(raw_create(fault.direct, like, NULL, -1, ZOO_SEQUENCE, planted) == ZOK);
    proxy_heal(fault.proxy);
    REQUIRE(acquisition_granted(&a));
    CHECK_STR(strrchr(zkl_grant_node(a.grant), '/') + 1, names[0]);
    EVENTUALLY(is_gone(strrchr(planted, '/') + 1));
    acquisition_end(&a);
    fault_end();
    g_strfreev(names);
    g_free(like);
}
