/* One session and three servers: another timeout at each, a second owner of the same id, and the
 * steps of the chain of proofs lost one by one. */
#include "raw.h"
#include "runner.h"
#include "scenario.h"
#include "trio.h"

#include <string.h>

enum { LONG_MS = 12000, LEAST_MS = 6000, SHORT_MS = 3000 };

/* The first node grants long timeouts only, the others short ones. */
static int start_trio(void)
{
    static const char *const config_of[] = {"minSessionTimeout=6000\nmaxSessionTimeout=12000",
                                            "maxSessionTimeout=3000", "maxSessionTimeout=3000",
                                            NULL};

    return trio_start(config_of);
}

TEST_SUITE(scenario_trio_session, .init = start_trio, .done = fault_stop);

static zkl_session *session_through_proxy(int node)
{
    proxy_target(fault.proxy, zk_server_port(fault.server, node));
    return fault_proxied(LONG_MS);
}

static void move_to(zkl_session *s, int node, int timeout_ms)
{
    proxy_target(fault.proxy, zk_server_port(fault.server, node));
    proxy_reset(fault.proxy);
    EVENTUALLY(zkl_session_timeout_ms(s) == timeout_ms);
}

/* Another server of the same session knows a smaller timeout: the deadline follows at once. */
TEST_CASE(s26_timeout_shrinks)
{
    struct acquisition a, next;

    fault_begin();
    zkl_session *s = session_through_proxy(0);
    CHECK_INT(zkl_session_timeout_ms(s), LONG_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&next, fault_mutex(trio_session_at(0, LONG_MS)), 2);
    move_to(s, 1, SHORT_MS);
    CHECK(zkl_grant_remaining_ms(a.grant) <= SHORT_MS);
    proxy_reset_stats(fault.proxy); /* until the servers have passed the new one on, too */
    CHECK(proxy_wait_requests(fault.proxy, PROXY_OP_SET_DATA, 2, UNTIL_LATE));
    CHECK(zkl_grant_remaining_ms(a.grant) <= SHORT_MS);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    REQUIRE(acquisition_granted(&next));
    EVENTUALLY(told_times(&a.told, ZKL_LOST) == 1);
    CHECK(told_at(&a.told, ZKL_LOST) < next.at);
    CHECK(zkl_grant_token(next.grant) > zkl_grant_token(a.grant));
    proxy_thaw(fault.proxy);
    acquisition_end(&a);
    acquisition_end(&next);
    trio_end();
}

/* And back: what the session was made with counts, not what one server says now. */
TEST_CASE(s26_timeout_grows)
{
    struct acquisition a, next;

    fault_begin();
    zkl_session *s = session_through_proxy(1);
    CHECK_INT(zkl_session_timeout_ms(s), SHORT_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&next, fault_mutex(trio_session_at(0, LONG_MS)), 2);
    int64_t id = zkl_session_id(s);
    move_to(s, 0, LEAST_MS);
    int64_t end = fault_boot_ns() + 2 * SHORT_MS * INT64_C(1000000);
    while (zkl_session_id(s) == id && fault_boot_ns() < end) {
        CHECK(zkl_grant_remaining_ms(a.grant) <= SHORT_MS);
        g_usleep(1000);
    }
    CHECK(zkl_session_id(s) != id || atomic_load(&next.done) == 0);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&next));
    acquisition_end(&next);
    trio_end();
}

/* ---- 19: two owners of one id ---- */

struct duplicate {
    struct proxy *proxy;
    zhandle_t *zh;
    atomic_int connected;
};

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct duplicate *d = context;

    (void)zh, (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        atomic_fetch_add(&d->connected, 1);
}

static void duplicate_start(struct duplicate *d, int node, int64_t id)
{
    clientid_t client = {.client_id = id};

    raw_password(id, client.passwd);
    atomic_init(&d->connected, 0);
    d->proxy = proxy_start(zk_server_port(fault.server, node));
    REQUIRE(d->proxy != NULL);
    d->zh = zookeeper_init(proxy_connect(d->proxy), on_event, LONG_MS, &client, d, 0);
    REQUIRE(d->zh != NULL);
}

/* Without the close that would end the session. */
static void duplicate_stop(struct duplicate *d)
{
    proxy_cut(d->proxy);
    EVENTUALLY(zoo_state(d->zh) != ZOO_CONNECTED_STATE);
    zookeeper_close(d->zh);
    proxy_stop(d->proxy);
}

/* The session moves to the other server and is moved back, and forth. The holder's own requests are
 * refused meanwhile; nothing is proved by that, and nothing is lost that the deadline still covers.
 */
TEST_CASE(s19_session_moved)
{
    struct acquisition a, next;
    struct duplicate d;

    fault_begin();
    zkl_session *s = session_through_proxy(0);
    acquisition_queue(&a, fault_mutex(s), 1);
    acquisition_queue(&next, fault_mutex(trio_session_at(0, LONG_MS)), 2);
    duplicate_start(&d, 1, zkl_session_id(s));
    EVENTUALLY(atomic_load(&d.connected) > 0);
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) + told_times(&a.told, ZKL_LOST) > 0);
    int64_t believed = zkl_grant_remaining_ms(a.grant) > 0;
    CHECK(!believed || atomic_load(&next.done) == 0);
    duplicate_stop(&d);
    EVENTUALLY(zkl_grant_state(a.grant) != ZKL_SUSPECT);
    bool lost = zkl_grant_state(a.grant) == ZKL_LOST;
    CHECK(lost || atomic_load(&next.done) == 0);
    acquisition_end(&a);
    CHECK(told_times(&a.told, ZKL_LOST) == lost);
    REQUIRE(acquisition_granted(&next));
    CHECK(zkl_grant_token(next.grant) > 0);
    acquisition_end(&next);
    trio_end();
}

/* ---- 16: any step of the chain of proofs may be lost ---- */

static void lose_step(int op, bool request)
{
    struct acquisition a, next;

    fault_begin();
    acquisition_queue(&a, fault_mutex(session_through_proxy(1)), 1);
    acquisition_queue(&next, fault_mutex(trio_session_at(0, LONG_MS)), 2);
    proxy_reset_stats(fault.proxy);
    if (request)
        proxy_lose_request_to(fault.proxy, op);
    else
        proxy_lose_reply_to(fault.proxy, op);
    CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) > 0);
    EVENTUALLY(zkl_grant_state(a.grant) != ZKL_SUSPECT);
    bool lost = zkl_grant_state(a.grant) == ZKL_LOST; /* in a stall */
    CHECK(lost || atomic_load(&next.done) == 0);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&next));
    acquisition_end(&next);
    trio_end();
}

TEST_CASE(s16_chain_of_proofs)
{
    static const int steps[] = {PROXY_OP_GET_DATA, PROXY_OP_SYNC, PROXY_OP_SET_DATA};

    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
        for (int request = 0; request < 2; request++)
            lose_step(steps[i], request);
}
