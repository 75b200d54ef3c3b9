/* Between wanting a lock and knowing that one has it. */
#include "hazard.h"

#include "fourletter.h"
#include "process.h"

#include <signal.h>

/* ---- two_steps ---- */

static void two_steps_usual(void)
{
    struct kv kv = KV_INIT;
    int refused = 0;

    CHECK(kv_set_if_absent(&kv, "A", KV_FOR_EVER)); /* and A is killed before its EXPIRE */
    for (int minute = 0; minute < 60; minute++) {
        kv_pass(&kv, 60000);
        refused += !kv_set_if_absent(&kv, "B", 1000);
    }
    CHECK_INT(refused, 60);
    tell("SETNX, then EXPIRE: the client was killed between the two. An hour later the key still "
         "stood, %d of 60 tries of others were refused, and nothing will ever end that.",
         refused);
}

static void two_steps_zkl(void)
{
    struct acquisition next;
    struct worker w;

    fault_begin();
    usual_make(fault.path);
    worker_start(&w, WORKER_ZKL, proxy_connect(fault.proxy), fault.path, "");
    proxy_freeze(fault.proxy, PROXY_TO_CLIENT);
    worker_step(&w);
    EVENTUALLY(fault_children() == 1);
    worker_kill(&w);
    int64_t killed = fault_boot_ns();
    acquisition_start(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&next));
    CHECK(fault_children() == 1);
    tell("the node and its end are one create: killed -9 before it had read that create's answer, "
         "the client kept the next one waiting for %.1f s (session timeout %.1f s).",
         seconds(next.at - killed), (double)SESSION_MS / 1e3);
    acquisition_end(&next);
    fault_end();
}

/* ---- dies_creating ---- */

enum { DEATHS = 3 };
static const char *const deaths[DEATHS] = {"before", "while", "after"};

static void die(enum worker_design design, int when, const char *path)
{
    struct proxy *proxy = proxy_start(fault.port);
    struct worker w;
    int64_t nodes = fourletter_mntr(fault.port, "zk_znode_count");

    REQUIRE(proxy != NULL);
    worker_start(&w, design, proxy_connect(proxy), path, "");
    if (when == 1)
        proxy_freeze(proxy, PROXY_TO_CLIENT);
    if (when > 0)
        worker_step(&w);
    if (when == 1)
        EVENTUALLY(fourletter_mntr(fault.port, "zk_znode_count") > nodes);
    if (when == 2)
        worker_says(&w, "token");
    worker_kill(&w);
    proxy_stop(proxy);
}

/* The three at once, each on a path of its own. */
static void die_on(enum worker_design design, char *paths[DEATHS])
{
    for (int i = 0; i < DEATHS; i++) {
        paths[i] = g_strdup_printf("%s-%s", fault.path, deaths[i]);
        usual_make(paths[i]);
        die(design, i, paths[i]);
    }
}

static void dies_creating_usual(void)
{
    char *paths[DEATHS];
    int left = 0;

    fault_begin();
    int64_t sessions = fourletter_mntr(fault.port, "zk_global_sessions");
    CHECK(sessions > 0);
    die_on(WORKER_PERSISTENT, paths);
    EVENTUALLY(fourletter_mntr(fault.port, "zk_global_sessions") <= sessions);
    for (int i = 0; i < DEATHS; i++) {
        char *lock = g_strdup_printf("%s/lock", paths[i]);
        int rc = raw_create(fault.direct, lock, NULL, -1, 0, NULL);
        CHECK_INT(rc, i == 0 ? ZOK : ZNODEEXISTS);
        left += rc == ZNODEEXISTS;
        CHECK_INT(raw_delete_tree(fault.direct, paths[i]), ZOK);
        g_free(lock);
        g_free(paths[i]);
    }
    tell("the lock is a node that its owner deletes: of three clients killed before, while and "
         "after creating it, %d left it behind; their sessions are long over, and the next create "
         "is refused.",
         left);
    fault_end();
}

static void dies_creating_zkl(void)
{
    struct acquisition next[DEATHS];
    zkl_mutex *m[DEATHS];
    char *paths[DEATHS];
    int64_t last = 0;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    die_on(WORKER_ZKL, paths);
    int64_t killed = fault_boot_ns();
    for (int i = 0; i < DEATHS; i++) {
        REQUIRE(zkl_mutex_new(&m[i], s, paths[i], NULL) == 0);
        acquisition_start(&next[i], m[i], ZKL_FOREVER);
    }
    for (int i = 0; i < DEATHS; i++) {
        REQUIRE(acquisition_granted(&next[i]));
        last = MAX(last, next[i].at);
        acquisition_end(&next[i]);
        zkl_mutex_free(m[i]);
        g_free(paths[i]);
    }
    tell(
        "of three processes killed -9 at the same points none left anything: the last of the three "
        "locks was granted to another %.1f s after the last kill (session timeout %.1f s).",
        seconds(MAX(0, last - killed)), (double)SESSION_MS / 1e3);
    fault_end();
}

/* ---- lost_reply ---- */

static void lost_reply_usual(void)
{
    char node[RAW_PATH_SIZE], *lock;
    struct Stat stat;

    fault_begin();
    struct raw *r = usual_open(proxy_connect(fault.proxy), FAULT_LONG_MS);
    lock = g_strdup_printf("%s/lock-", fault.path);
    proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE);
    int rc = raw_create(r, lock, NULL, -1, ZOO_EPHEMERAL | ZOO_SEQUENCE, node);
    CHECK(rc != ZOK);
    EVENTUALLY(raw_exists(r, fault.path, NULL) == ZOK);
    usual_enter(r, node); /* it tries again, of course */
    char **names = raw_children(r, fault.path);
    REQUIRE(names && names[0]);
    char *first = g_strdup_printf("%s/%s", fault.path, names[0]);
    CHECK_INT(raw_exists(r, first, &stat), ZOK);
    CHECK_INT(fault_children(), 2);
    CHECK(!usual_is_first(r, node));
    CHECK_INT(stat.ephemeralOwner, raw_session_id(r));
    tell("the create was answered \"%s\" although it was done; the client created a second node "
         "and waits for the first, which is its own: %d nodes of one session, a deadlock for as "
         "long as the client lives.",
         zerror(rc), fault_children());
    g_free(first);
    g_free(lock);
    g_strfreev(names);
    raw_close(r);
    fault_end();
}

static void lost_reply_zkl(void)
{
    struct acquisition mine;

    fault_begin();
    usual_make(fault.path);
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    proxy_lose_reply_to(fault.proxy, PROXY_OP_CREATE2);
    acquisition_start(&mine, fault_mutex(s), ZKL_FOREVER);
    CHECK(proxy_wait_lost(fault.proxy, 1, UNTIL_LATE));
    REQUIRE(acquisition_granted(&mine));
    CHECK_INT(fault_children(), 1);
    tell("it found its node again by the id in the node's name, and was granted the lock with %d "
         "node there.",
         fault_children());
    acquisition_end(&mine);
    fault_end();
}

/* ---- gave_up ---- */

static void gave_up_usual(void)
{
    char held[RAW_PATH_SIZE], left[RAW_PATH_SIZE], waiting[RAW_PATH_SIZE];

    fault_begin();
    struct raw *a = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *b = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    struct raw *c = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    usual_enter(a, held);
    usual_enter(b, left); /* its caller's patience ends, and that is all that B does about it */
    usual_enter(c, waiting);
    CHECK_INT(raw_delete(a, held), ZOK);
    CHECK(!usual_is_first(c, waiting));
    CHECK(usual_is_first(c, left));
    tell("B's wait timed out and its caller went on; when A released, first in line was B's node, "
         "and C waits for somebody who does not know of it.");
    raw_close(a);
    raw_close(b);
    raw_close(c);
    fault_end();
}

static void gave_up_zkl(void)
{
    enum { PATIENCE_MS = 100 };
    struct acquisition a, c;

    fault_begin();
    zkl_session *s = fault_direct(FAULT_LONG_MS), *t = fault_direct(FAULT_LONG_MS);
    acquisition_queue(&a, fault_mutex(s), 1);
    CHECK_INT(zkl_mutex_lock(fault_mutex(t), PATIENCE_MS, NULL), ZKL_ETIMEDOUT);
    EVENTUALLY(fault_children() == 1);
    acquisition_queue(&c, fault_mutex(s), 2);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&c));
    tell("B's lock() answered \"%s\" after %d ms and took its node along, so C was granted the "
         "lock at A's release, B's session being open still.",
         zkl_strerror(ZKL_ETIMEDOUT), PATIENCE_MS);
    acquisition_end(&c);
    fault_end();
}

const struct hazard hazards_creating[] = {
    {"two_steps", "acquire and expiry are two steps", two_steps_usual, two_steps_zkl,
     "fault_reply.canceled_unsettled scenario_end.s21_holder_killed"},
    {"dies_creating", "a client dies before, while and after creating", dies_creating_usual,
     dies_creating_zkl, "scenario_end.x_killed_while_creating attempt.unknown_and_done"},
    {"lost_reply", "the reply to the create is lost", lost_reply_usual, lost_reply_zkl,
     "fault_reply.create fault_reply.settling_barrier attempt.unknown_and_done_twice"},
    {"gave_up", "a waiter gives up and leaves its node behind", gave_up_usual, gave_up_zkl,
     "mutex.timed_out mutex.canceled_while_queued fault_reply.canceled_unsettled"},
    {.name = NULL},
};
