/* Lost replies and lost requests: the outcome of every kind of request unknown once, uncontended
 * and contended; and acquisitions that end before a create is settled. The lock is granted in its
 * turn; no second node, no orphan, no watch stays. */
#include "fault.h"
#include "fourletter.h"
#include "runner.h"

TEST_SUITE(fault_reply, .init = fault_start, .done = fault_stop);

/* Loses one message of that type, then lets the session come back. */
static void lose(bool request, int op)
{
    proxy_reset_stats(fault.proxy);
    if (request)
        proxy_lose_request_to(fault.proxy, op);
    else
        proxy_lose_reply_to(fault.proxy, op);
}

static void check_lost(void)
{
    CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
}

/* Past its beginnings: the reads of a new session are answered. */
static zkl_session *quiet_session(void)
{
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);

    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_at_rest();
    return s;
}

/* The message is lost between entering and being queued, or granted. */
static void lose_entering(bool request, int op, bool contended)
{
    struct acquisition rival = {.op = NULL}, mine;

    fault_begin();
    zkl_session *s = quiet_session();
    if (contended)
        acquisition_queue(&rival, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    lose(request, op);
    acquisition_start(&mine, fault_mutex(s), ZKL_FOREVER);
    check_lost();
    if (contended) {
        EVENTUALLY(fault_children() == 2 && fourletter_has_watch(fault.port, zkl_session_id(s),
                                                                 zkl_grant_node(rival.grant)) == 1);
        CHECK_INT(atomic_load(&mine.done), 0);
        int64_t released = fault_boot_ns();
        acquisition_end(&rival);
        REQUIRE(acquisition_granted(&mine));
        CHECK(mine.at > released);
    }
    REQUIRE(acquisition_granted(&mine));
    EVENTUALLY(fault_children() == 1);
    CHECK_INT(raw_exists(fault.direct, zkl_grant_node(mine.grant), NULL), ZOK);
    EVENTUALLY(zkl_grant_state(mine.grant) == ZKL_HELD);
    acquisition_end(&mine);
    fault_end();
}

static void entering(int op)
{
    for (int i = 0; i < 4; i++)
        lose_entering(i & 1, op, i & 2);
}

TEST_CASE(create)
{
    entering(PROXY_OP_CREATE2);
}

TEST_CASE(list)
{
    entering(PROXY_OP_GET_CHILDREN2);
}

/* The write that comes before a lost create is looked for: the create's request is lost and then
 * the write's reply, or the other way round. */
TEST_CASE(settling_barrier)
{
    for (int i = 0; i < 4; i++) {
        struct acquisition rival = {.op = NULL}, mine;
        bool contended = i & 2;

        fault_begin();
        zkl_session *s = quiet_session();
        if (contended)
            acquisition_queue(&rival, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
        lose(i & 1, PROXY_OP_CREATE2);
        lose(!(i & 1), PROXY_OP_SET_DATA);
        acquisition_start(&mine, fault_mutex(s), ZKL_FOREVER);
        CHECK(proxy_wait_lost(fault.proxy, 2, UNTIL_LATE));
        EVENTUALLY(fault_children() == 1 + contended);
        CHECK(!contended || atomic_load(&mine.done) == 0);
        if (contended)
            acquisition_end(&rival);
        REQUIRE(acquisition_granted(&mine));
        EVENTUALLY(fault_children() == 1);
        acquisition_end(&mine);
        fault_end();
    }
}

TEST_CASE(container)
{
    for (int i = 0; i < 2; i++) {
        struct acquisition mine;

        fault_begin();
        zkl_session *s = fault_proxied(FAULT_LONG_MS);
        lose(i, PROXY_OP_CREATE_CONTAINER);
        acquisition_start(&mine, fault_mutex(s), ZKL_FOREVER);
        check_lost();
        REQUIRE(acquisition_granted(&mine));
        CHECK_INT(fault_children(), 1);
        acquisition_end(&mine);
        fault_end();
    }
}

TEST_CASE(predecessor_watch)
{
    lose_entering(false, PROXY_OP_GET_DATA, true);
    lose_entering(true, PROXY_OP_GET_DATA, true);
}

/* A holder's own watch is set when it has held for a while. */
TEST_CASE(own_watch)
{
    for (int i = 0; i < 2; i++) {
        struct acquisition mine;

        fault_begin();
        zkl_session *s = quiet_session();
        lose(i, PROXY_OP_GET_DATA);
        acquisition_start(&mine, fault_mutex(s), ZKL_FOREVER);
        REQUIRE(acquisition_granted(&mine));
        check_lost();
        EVENTUALLY(told_times(&mine.told, ZKL_HELD) == 1);
        const char *node = zkl_grant_node(mine.grant);
        EVENTUALLY(fourletter_has_watch(fault.port, zkl_session_id(s), node) == 1);
        CHECK_INT(fourletter_watches_of(fault.port, zkl_session_id(s)), 1);
        acquisition_end(&mine);
        fault_end();
    }
}

/* The read that proves the own node, after the predecessor went: its own watch has fired before. */
TEST_CASE(own_proof)
{
    for (int i = 0; i < 2; i++) {
        struct acquisition rival, mine;

        fault_begin();
        zkl_session *s = quiet_session();
        acquisition_queue(&rival, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
        acquisition_queue(&mine, fault_mutex(s), 2);
        EVENTUALLY(
            fourletter_has_watch(fault.port, zkl_session_id(s), zkl_grant_node(rival.grant)) == 1);
        char *node = fault_waiting_node(rival.grant);
        EVENTUALLY(fourletter_has_watch(fault.port, zkl_session_id(s), node) == 1);
        REQUIRE(raw_set(fault.direct, node, "x", 1) == ZOK);
        g_free(node);
        lose(i, PROXY_OP_GET_DATA);
        acquisition_end(&rival);
        check_lost();
        REQUIRE(acquisition_granted(&mine));
        CHECK_INT(fault_children(), 1);
        acquisition_end(&mine);
        fault_end();
    }
}

static void leaving(bool request, bool contended)
{
    struct acquisition mine, rival = {.op = NULL};

    fault_begin();
    acquisition_queue(&mine, fault_mutex(quiet_session()), 1);
    if (contended)
        acquisition_queue(&rival, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    lose(request, PROXY_OP_DELETE);
    acquisition_end(&mine);
    check_lost();
    EVENTUALLY(fault_children() == contended);
    if (contended)
        acquisition_end(&rival);
    fault_end();
}

TEST_CASE(delete_own)
{
    for (int i = 0; i < 4; i++)
        leaving(i & 1, i & 2);
}

/* A contender that gives up takes its watch along, on the server too, whatever happens to the
 * request. */
TEST_CASE(unwatch)
{
    for (int i = 0; i < 2; i++) {
        struct acquisition rival, mine;

        fault_begin();
        zkl_session *s = quiet_session();
        acquisition_queue(&rival, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
        acquisition_queue(&mine, fault_mutex(s), 2);
        const char *node = zkl_grant_node(rival.grant);
        EVENTUALLY(fourletter_has_watch(fault.port, zkl_session_id(s), node) == 1);
        lose(i, PROXY_OP_REMOVE_WATCHES);
        zkl_op_cancel(mine.op);
        acquisition_failed(&mine, ZKL_ECANCELED);
        check_lost();
        EVENTUALLY(fault_children() == 1);
        EVENTUALLY(fourletter_has_watch(fault.port, zkl_session_id(s), node) == 0);
        acquisition_end(&mine);
        acquisition_end(&rival);
        fault_end();
    }
}

/* ---- given up before the create is settled ---- */

enum { SLOW_MS = 150 };

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

static zkl_session *begin_quiet(void)
{
    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    zkl_mutex *m = fault_mutex(s);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    fault_at_rest();
    proxy_reset_stats(fault.proxy);
    return s;
}

TEST_CASE(canceled_unsettled)
{
    for (int request = 0; request < 2; request++) {
        struct acquisition a;
        zkl_session *s = begin_quiet();

        lose_create(request);
        acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
        CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
        proxy_cut(fault.proxy);
        zkl_op_cancel(a.op);
        CHECK(acquisition_failed(&a, ZKL_ECANCELED));
        CHECK_INT(fault_children(), !request);
        proxy_heal(fault.proxy);
        acquisition_end(&a);
        fault_end();
    }
}

/* The session ends before the create is settled: the node goes with it, the acquisition goes on. */
TEST_CASE(expired_unsettled)
{
    struct acquisition a;
    zkl_session *s = begin_quiet();

    lose_create(false);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
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
    zkl_session *s = begin_quiet();
    char *lock = fault.path;

    fault.path = g_strconcat(lock, "-held", NULL);
    acquisition_queue(&held, fault_mutex(s), 1);
    g_free(fault.path);
    fault.path = lock;
    lose_create(false);
    acquisition_start(&a, fault_mutex(s), ZKL_FOREVER);
    CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
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

/* The transaction that records a run also deletes the node that would tell: so the record tells. */
TEST_CASE(record_of_a_run)
{
    for (int request = 0; request < 2; request++) {
        zkl_once *once;
        zkl_once_run *run;
        zkl_grant *grant;

        fault_begin();
        REQUIRE(zkl_once_new(&once, quiet_session(), fault.path, NULL) == 0);
        REQUIRE(zkl_once_begin(once, ZKL_FOREVER, &grant) == 0);
        lose(request, PROXY_OP_MULTI);
        CHECK_INT(zkl_once_end(once, grant, "v7", 2, ZKL_FOREVER), 0);
        check_lost();
        REQUIRE(zkl_once_done(once, ZKL_FOREVER, &run) == 0);
        CHECK(run->token == zkl_grant_token(grant) && run->size == 2);
        zkl_once_run_free(run);
        zkl_grant_release(grant);
        CHECK_INT(zkl_once_reset(once, ZKL_FOREVER), 0);
        zkl_once_free(once);
        EVENTUALLY(fault_children() == 0);
        fault_end();
    }
}
