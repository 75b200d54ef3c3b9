/* A holder that is stopped, or cut off, and does not know it. */
#include "hazard.h"

#include "process.h"

/* ---- paused_holder ---- */

/* What the process believes when it wakes; both hold then. */
static int64_t pause_usual(void)
{
    char node[RAW_PATH_SIZE];
    struct worker w;

    fault_begin();
    struct raw *b = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    worker_start(&w, WORKER_USUAL, zk_server_connect(fault.server), fault.path, "");
    worker_step(&w);
    worker_says(&w, "token");
    usual_enter(b, node);
    process_pause(w.pid);
    int64_t begin = usual_granted(b, node);
    worker_step(&w);
    process_resume(w.pid);
    int64_t owner = worker_says(&w, "owner");
    CHECK(owner > 0);
    CHECK(overlap(fault_boot_ns(), begin) > 0 && usual_is_first(b, node));
    worker_finish(&w);
    raw_close(b);
    fault_end();
    return owner;
}

static void paused_holder_usual(void)
{
    int64_t owner = pause_usual();

    tell("the process was stopped for longer than its session timeout, and B became first in "
         "line; when it woke, it held as before, as the lock it had acquired was nowhere taken "
         "back%s: both held.",
         owner == 2 ? ", and its connection was still said to be up" : "");
}

static void paused_holder_zkl(void)
{
    struct acquisition b;
    struct worker w;

    fault_begin();
    worker_start(&w, WORKER_ZKL, zk_server_connect(fault.server), fault.path, "");
    worker_step(&w);
    worker_says(&w, "token");
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    process_pause(w.pid);
    REQUIRE(acquisition_granted(&b));
    worker_step(&w);
    process_resume(w.pid);
    CHECK_INT(worker_says(&w, "owner"), 0);
    tell("the same stop: the first thing the process did when it woke was to look at its grant, "
         "which said LOST by the clock alone, before any thread of the library had run.");
    worker_finish(&w);
    acquisition_end(&b);
    fault_end();
}

/* ---- paused_idle ---- */

static void paused_idle_usual(void)
{
    pause_usual();
    tell(
        "a process kept its lock between two uses, for the next of them; it was stopped for longer "
        "than its session timeout, and B became first in line; when it woke, the next use found "
        "the "
        "lock that was kept and began: both held.");
}

static int64_t use_retained(struct worker *w, int64_t *ret_turn)
{
    int64_t token = worker_says(w, "token");

    *ret_turn = worker_says(w, "turn");
    CHECK_INT(worker_says(w, "unlocked"), 0);
    return token;
}

/* It does without a request, so nobody can know that it is stopped before its session ends. */
static void paused_idle_zkl(void)
{
    struct acquisition b;
    struct worker w;
    int64_t turn;

    fault_begin();
    worker_start(&w, WORKER_ZKL_RETAINS, zk_server_connect(fault.server), fault.path, "");
    worker_step(&w);
    int64_t token = use_retained(&w, &turn);
    CHECK_INT(turn, 0);
    worker_step(&w);
    CHECK_INT(use_retained(&w, &turn), token);
    CHECK_INT(turn, 1);
    process_pause(w.pid);
    int64_t asked = fault_boot_ns();
    acquisition_start(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), ZKL_FOREVER);
    REQUIRE(acquisition_granted(&b));
    int64_t second = (int64_t)zkl_grant_token(b.grant);
    CHECK(second > token);
    worker_step(&w);
    process_resume(w.pid);
    EVENTUALLY(fault_children() == 2); /* in line behind B, by a node of its next session */
    CHECK_INT(zkl_grant_state(b.grant), ZKL_HELD);
    acquisition_end(&b);
    CHECK(use_retained(&w, &turn) > second);
    CHECK_INT(turn, 0);
    tell(
        "a mutex with retain_ms kept an unused lock, and its process was stopped: B waited %.1f s, "
        "until that session of %.0f s had ended, where it would have waited for nothing without "
        "retention. That is its price. When the process woke, it found what it kept LOST by the "
        "clock, began no turn of it and went in line behind B.",
        seconds(b.at - asked), (double)SESSION_MS / 1e3);
    worker_finish(&w);
    fault_end();
}

/* ---- cut_holder ---- */

static void cut_holder_usual(void)
{
    char mine[RAW_PATH_SIZE], waiting[RAW_PATH_SIZE];

    fault_begin();
    struct raw *a = usual_open(proxy_connect(fault.proxy), SESSION_MS);
    struct raw *b = usual_open(zk_server_connect(fault.server), FAULT_LONG_MS);
    usual_enter(a, mine);
    usual_enter(b, waiting);
    CHECK(usual_is_first(a, mine));
    proxy_freeze(fault.proxy, PROXY_BOTH);
    int64_t begin = usual_granted(b, waiting);
    g_usleep(1000000); /* both hold */
    bool told = raw_has_expired(a);
    int64_t both = overlap(fault_boot_ns(), begin);
    CHECK(!told);
    CHECK(both > 0 && usual_is_first(b, waiting));
    tell("A was to stop when told that its session expired: the server that says so was the one "
         "that A was cut off from. B held, and %.1f s later A had heard nothing and held as well.",
         seconds(both));
    proxy_heal(fault.proxy);
    raw_close(a);
    raw_close(b);
    fault_end();
}

static void cut_holder_zkl(void)
{
    struct acquisition a, b;

    fault_begin();
    acquisition_queue(&a, fault_mutex(fault_proxied(SESSION_MS)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    int64_t cut = fault_boot_ns();
    REQUIRE(acquisition_granted(&b));
    CHECK_INT(told_times(&a.told, ZKL_LOST), 1);
    int64_t lost = told_at(&a.told, ZKL_LOST);
    CHECK(lost < b.at);
    CHECK_INT(zkl_grant_remaining_ms(a.grant), 0);
    tell("A was told LOST by its own clock %.2f s after the cut, %.2f s before B was granted the "
         "lock.",
         seconds(lost - cut), seconds(b.at - lost));
    acquisition_end(&b);
    proxy_thaw(fault.proxy);
    acquisition_end(&a);
    fault_end();
}

/* ---- restarted_server ---- */

static void restarted_server_usual(void)
{
    struct kv kv = KV_INIT;

    CHECK(kv_set_if_absent(&kv, "A", 10000));
    kv_pass(&kv, 100);
    kv_restart(&kv);
    CHECK(kv_set_if_absent(&kv, "B", 10000));
    tell("SET NX PX 10000 on a server that keeps its keys in memory (or a replica that had not "
         "got this one yet): it was restarted, and B got in 0.1 s into A's ten seconds: both "
         "held.");
}

static void restarted_server_zkl(void)
{
    enum { TIMEOUT_MS = 30000 };
    struct acquisition a, b;

    fault_begin();
    acquisition_queue(&a, fault_mutex(fault_direct(TIMEOUT_MS)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(TIMEOUT_MS)), 2);
    int64_t begin = fault_boot_ns();
    zk_server_kill(fault.server, 0);
    EVENTUALLY(told_times(&a.told, ZKL_SUSPECT) == 1);
    REQUIRE(zk_server_launch(fault.server, 0) && zk_server_wait(fault.server, 0));
    EVENTUALLY(told_times(&a.told, ZKL_HELD) == 1);
    EVENTUALLY(raw_exists(fault.direct, zkl_grant_node(a.grant), NULL) == ZOK);
    CHECK_INT(fault_children(), 2);
    CHECK_INT(atomic_load(&b.done), 0);
    tell("the server was killed -9 and started again: sessions and queue are on its disk. A was "
         "SUSPECT meanwhile, HELD again %.1f s after the kill, and B waited.",
         seconds(told_at(&a.told, ZKL_HELD) - begin));
    acquisition_end(&a);
    CHECK(acquisition_granted(&b));
    acquisition_end(&b);
    fault_end();
}

const struct hazard hazards_holding[] = {
    {"paused_holder", "a holder is paused and resumed", paused_holder_usual, paused_holder_zkl,
     "scenario_pause.s07_stopped_for_three_timeouts fault_deadline.clock_alone_tells"},
    {"paused_idle", "a process that keeps an unused lock is paused and resumed", paused_idle_usual,
     paused_idle_zkl, "retained.idle_yields retained.expired_while_idle"},
    {"cut_holder", "a holder is cut off from its server", cut_holder_usual, cut_holder_zkl,
     "fault_connection.freeze_while_holding fault_deadline.unproved_is_lost"},
    {.name = NULL},
};

const struct hazard hazards_server[] = {
    {"restarted_server", "the lock server is restarted", restarted_server_usual,
     restarted_server_zkl, "fault_connection.server_killed fault_restore.emptied"},
    {.name = NULL},
};
