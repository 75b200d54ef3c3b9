/* Expiry times that are too short, and clocks that jump. */
#include "hazard.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- outlived ---- */

static void outlived_usual(void)
{
    struct kv kv = KV_INIT;
    int64_t work = 2500, got_in = -1;

    CHECK(kv_set_if_absent(&kv, "A", 1000));
    while (kv.now_ms < work) {
        kv_pass(&kv, 10);
        if (got_in < 0 && kv_set_if_absent(&kv, "B", 10000))
            got_in = kv.now_ms;
    }
    int64_t both = overlap(work, got_in);
    CHECK(got_in > 0 && both > 0);
    tell("SET NX PX 1000, and %.1f s of work: B got in after %.1f s, and both held for %.1f s.",
         (double)work / 1e3, (double)got_in / 1e3, (double)both / 1e3);
}

/* True if the lock was held all the time; a machine that stands still may cost it. */
static bool hold_on(int64_t ns)
{
    struct acquisition a, b;
    int64_t least = SESSION_MS;

    fault_begin();
    acquisition_queue(&a, fault_mutex(fault_direct(SESSION_MS)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    int64_t end = fault_boot_ns() + ns, left = 1;
    while (left > 0 && fault_boot_ns() < end) {
        bool waiting = atomic_load(&b.done) == 0;
        left = zkl_grant_remaining_ms(a.grant);
        CHECK(waiting || left == 0);
        least = MIN(least, left);
        g_usleep(1000);
    }
    bool held = left > 0;
    acquisition_end(&a);
    REQUIRE(acquisition_granted(&b));
    if (held)
        tell("work of %.1f s on a session timeout of %.1f s: the session is renewed as long as the "
             "process lives, at every instant at least %.2f s were left, and B waited for the "
             "release.",
             seconds(ns), (double)SESSION_MS / 1e3, (double)least / 1e3);
    acquisition_end(&b);
    fault_end();
    return held;
}

static void outlived_zkl(void)
{
    bool held = false;

    for (int i = 0; i < 4 && !held; i++)
        held = hold_on(INT64_C(2500000000));
    CHECK(held);
}

/* ---- stepped_clock ---- */

static _Atomic int64_t stepped_s; /* by how much this program's wall clock is wrong */

static void read_clock(clockid_t id, struct timespec *t)
{
    syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        t->tv_sec += atomic_load(&stepped_s);
}

/* In place of the C library's, for every library in this program. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
    read_clock(id, t);
    return 0;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict tv,
                                                        void *restrict zone)
{
    struct timespec t;

    (void)zone;
    read_clock(CLOCK_REALTIME, &t);
    tv->tv_sec = t.tv_sec;
    tv->tv_usec = t.tv_nsec / 1000;
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret)
{
    struct timespec t;

    read_clock(CLOCK_REALTIME, &t);
    if (ret)
        *ret = t.tv_sec;
    return t.tv_sec;
}

enum { HOUR_S = 3600 };

static int64_t wall_s(void)
{
    return g_get_real_time() / G_USEC_PER_SEC;
}

static void stepped_clock_usual(void)
{
    const int64_t lease_s = 10, until = wall_s() + lease_s; /* written into the lock by A */

    atomic_store(&stepped_s, HOUR_S); /* on B's machine */
    bool b_holds = wall_s() > until;
    atomic_store(&stepped_s, 0); /* on A's */
    bool a_holds = wall_s() <= until;
    CHECK(b_holds && a_holds);
    tell("a lease \"until\" a wall-clock time: B's clock was stepped by an hour, B found A's lease "
         "of %d s expired and took it, while A counted on the rest of it: both held.",
         (int)lease_s);
}

static void hold_through_step(struct acquisition *a, struct acquisition *b, int64_t step)
{
    atomic_store(&stepped_s, step);
    int64_t end = fault_boot_ns() + SESSION_MS * INT64_C(500000);
    while (fault_boot_ns() < end) {
        bool waiting = atomic_load(&b->done) == 0;
        int64_t left = zkl_grant_remaining_ms(a->grant);
        CHECK(left <= FAULT_LONG_MS);
        CHECK(waiting || left == 0);
        g_usleep(1000);
    }
}

static void stepped_clock_zkl(void)
{
    struct acquisition a, b;

    fault_begin();
    acquisition_queue(&a, fault_mutex(fault_proxied(FAULT_LONG_MS)), 1);
    acquisition_queue(&b, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    hold_through_step(&a, &b, HOUR_S);
    hold_through_step(&a, &b, -HOUR_S);
    CHECK(zkl_grant_state(a.grant) == ZKL_HELD);
    proxy_freeze(fault.proxy, PROXY_BOTH);
    atomic_store(&stepped_s, -2 * HOUR_S);
    REQUIRE(acquisition_granted(&b));
    atomic_store(&stepped_s, 0);
    CHECK_INT(told_times(&a.told, ZKL_LOST), 1);
    CHECK(told_at(&a.told, ZKL_LOST) < b.at);
    tell("no wall clock is read for any decision: stepped by an hour ahead and two back, A held on "
         "and B waited; then A was cut off, its clock an hour further back, and was told LOST "
         "%.2f s before B was granted the lock.",
         seconds(b.at - told_at(&a.told, ZKL_LOST)));
    acquisition_end(&b);
    proxy_thaw(fault.proxy);
    acquisition_end(&a);
    fault_end();
}

const struct hazard hazards_time[] = {
    {"outlived", "work takes longer than the expiry time", outlived_usual, outlived_zkl,
     "fault_deadline.held_for_long"},
    {"stepped_clock", "a clock is stepped", stepped_clock_usual, stepped_clock_zkl,
     "proofs.suspended proofs.slewed lint/purity.sh"},
    {.name = NULL},
};
