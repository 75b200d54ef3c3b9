/* Three servers: one that is cut off from the others, and a leader that dies. */
#include "hazard.h"
#include "tests/live/trio.h"

/* Not the leader, and not the other one. */
static int follower_beside(int leader, int other)
{
    for (int i = 0; i < zk_server_nodes(fault.server); i++)
        if (i != leader && i != other)
            return i;
    return -1;
}

enum { LEASE_MS = 2000, CUT_MS = LEASE_MS + 500 };

/* A's server is left alone by the other two for longer than A's session lasts, and goes on
 * answering A. Then A is cut off as well, and the others run again. */
struct partition {
    int leader, mine, other;
    char *connect;
};

static void partition_begin(struct partition *p)
{
    p->leader = zk_server_wait_leader(fault.server);
    p->mine = follower_beside(p->leader, -1);
    p->other = follower_beside(p->leader, p->mine);
    REQUIRE(p->leader >= 0 && p->mine >= 0 && p->other >= 0);
    p->connect = g_strdup_printf("127.0.0.1:%d", zk_server_port(fault.server, p->other));
    proxy_stop(fault.proxy);
    fault.proxy = proxy_start(zk_server_port(fault.server, p->mine));
    REQUIRE(fault.proxy != NULL);
}

static void partition_pause(const struct partition *p)
{
    zk_server_pause(fault.server, p->leader);
    zk_server_pause(fault.server, p->other);
}

static void partition_resume(const struct partition *p)
{
    proxy_freeze(fault.proxy, PROXY_BOTH);
    zk_server_resume(fault.server, p->leader);
    zk_server_resume(fault.server, p->other);
    trio_let_commit();
}

static void partition_end(struct partition *p)
{
    proxy_heal(fault.proxy);
    g_free(p->connect);
}

static void no_contender_left(void)
{
    EVENTUALLY(fault_children() == 0);
    fault_close_all();
}

/* Belief is "sent + timeout" of the last read that was answered. True if it outlived the lock. */
static bool believe_in_reads(void)
{
    char mine[RAW_PATH_SIZE], waiting[RAW_PATH_SIZE];
    struct partition p;
    int answered = 0;

    fault_begin();
    partition_begin(&p);
    struct raw *a = usual_open(proxy_connect(fault.proxy), LEASE_MS);
    struct raw *b = usual_open(p.connect, 30000);
    usual_enter(a, mine);
    usual_enter(b, waiting);
    EVENTUALLY(raw_exists(a, mine, NULL) == ZOK);
    int64_t until = 0, cut = fault_boot_ns();
    partition_pause(&p);
    while (fault_boot_ns() < cut + CUT_MS * INT64_C(1000000)) {
        int64_t sent = fault_boot_ns();
        if (raw_exists(a, mine, NULL) == ZOK) {
            until = sent + LEASE_MS * INT64_C(1000000);
            answered++;
        }
        g_usleep(20000);
    }
    partition_resume(&p);
    int64_t begin = usual_granted(b, waiting);
    int64_t both = overlap(until, begin);
    if (both > 0)
        tell("A renews its lease of %.1f s with each answered read: its server, cut off from the "
             "leader, answered %d of them in %.1f s. Then the session that nobody had reported to "
             "the leader ended, B was first in line, and A's lease ran for another %.1f s.",
             (double)LEASE_MS / 1e3, answered, (double)CUT_MS / 1e3, seconds(both));
    partition_end(&p);
    raw_close(a);
    raw_close(b);
    no_contender_left();
    return both > 0;
}

enum { TRIES = 4 };

/* If the others elect again when they wake, all sessions begin anew, and the story is another. */
static void cut_server_usual(void)
{
    bool failed = false;

    for (int i = 0; i < TRIES && !failed; i++)
        failed = believe_in_reads();
    CHECK(failed);
}

static void cut_server_zkl(void)
{
    struct acquisition a, b;
    struct partition p;

    fault_begin();
    partition_begin(&p);
    acquisition_queue(&a, fault_mutex(fault_proxied(LEASE_MS)), 1);
    zkl_session *s = fault_session(p.connect, 30000);
    CHECK_INT(zkl_session_wait(s, ZKL_FOREVER), 0);
    acquisition_queue(&b, fault_mutex(s), 2);
    int64_t cut = fault_boot_ns();
    partition_pause(&p);
    while (fault_boot_ns() < cut + CUT_MS * INT64_C(1000000))
        g_usleep(20000);
    partition_resume(&p);
    REQUIRE(acquisition_granted(&b));
    CHECK_INT(told_times(&a.told, ZKL_LOST), 1);
    int64_t lost = told_at(&a.told, ZKL_LOST);
    CHECK(lost < b.at);
    tell("answered reads and pings prove nothing, a write that a majority agreed to does, and none "
         "came: A was told LOST %.2f s after its server was cut off, %.2f s before B was granted "
         "the lock.",
         seconds(lost - cut), seconds(b.at - lost));
    partition_end(&p);
    acquisition_end(&b);
    acquisition_end(&a);
    no_contender_left();
}

/* ---- changed_leader ---- */

static void changed_leader_usual(void)
{
    struct kv leader = KV_INIT, replica = KV_INIT;

    CHECK(kv_set_if_absent(&leader, "A", 10000));
    kv_pass(&replica, 100); /* nothing of it has come here when the leader dies */
    CHECK(kv_set_if_absent(&replica, "B", 10000));
    CHECK_STR(kv_owner(&leader), "A");
    tell("SET NX PX 10000 on a server that answers before its replica has the key: it died, the "
         "replica took over and gave the lock to B: both held.");
}

static void changed_leader_zkl(void)
{
    struct acquisition a, b;

    fault_begin();
    acquisition_queue(&a, fault_mutex(fault_session(zk_server_connect(fault.server), 20000)), 1);
    acquisition_queue(&b, fault_mutex(fault_session(zk_server_connect(fault.server), 20000)), 2);
    uint64_t first = zkl_grant_token(a.grant);
    int killed = zk_server_wait_leader(fault.server);
    int64_t begin = fault_boot_ns();
    zk_server_kill(fault.server, killed);
    int leader = zk_server_wait_leader(fault.server);
    CHECK(leader >= 0 && leader != killed);
    int64_t elected = fault_boot_ns();
    EVENTUALLY(zkl_grant_state(a.grant) != ZKL_SUSPECT);
    /* An ensemble that stands still may cost A the lock, but never give it to both. */
    bool held = zkl_grant_state(a.grant) == ZKL_HELD;
    bool waiting = atomic_load(&b.done) == 0;
    CHECK(waiting || zkl_grant_remaining_ms(a.grant) == 0);
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&b));
    CHECK(zkl_grant_token(b.grant) > first);
    tell(
        "a create is answered when a majority has it: the leader was killed -9, another led %.1f s "
        "later, A %s and B waited; at A's release B was granted the lock with a higher token.",
        seconds(elected - begin), held ? "held on" : "had been told LOST");
    acquisition_end(&b);
    CHECK(zk_server_launch(fault.server, killed) && zk_server_wait(fault.server, killed));
    no_contender_left();
}

const struct hazard hazards_ensemble[] = {
    {"cut_server", "a server is cut off from its leader", cut_server_usual, cut_server_zkl,
     "fault_ensemble.follower_cut_off proofs.known_attacks"},
    {"changed_leader", "the lock server's leader changes", changed_leader_usual, changed_leader_zkl,
     "fault_ensemble.leader_killed"},
    {.name = NULL},
};
