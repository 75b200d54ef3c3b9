/* What stands still: the holder's whole process, or one of its library's threads. */
#include "process.h"
#include "runner.h"
#include "scenario.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(scenario_pause, .init = fault_start, .done = fault_stop);

/* ---- 7: the process stops between looking and writing ---- */

static void wait_for(int64_t span_ms)
{
    int64_t end = fault_boot_ns() + span_ms * INT64_C(1000000);

    while (fault_boot_ns() < end)
        g_usleep(1000);
}

/* The holder wakes in front of its write, with the look behind it. */
static void stop_holder(int stop_ms, bool wait_for_next)
{
    struct acquisition next;
    struct worker w;

    fault_begin();
    worker_start(&w, zk_server_connect(fault.server), FAULT_SHORT_MS, NULL);
    uint64_t token = worker_told(&w, "token");
    acquisition_queue(&next, fault_mutex(fault_direct(FAULT_LONG_MS)), 2);
    worker_order(&w, WORKER_STOP);
    worker_wait_stopped(&w);
    wait_for(stop_ms);
    bool granted = wait_for_next ? acquisition_granted(&next) : atomic_load(&next.done) > 0;
    if (granted)
        CHECK(resource_write(&w.page->resource, zkl_grant_token(next.grant)));
    process_resume(w.pid);
    bool accepted = worker_told(&w, "write");
    int64_t woke = atomic_load(&w.page->woke), left = atomic_load(&w.page->woke_left_ms);
    CHECK(accepted == !granted);
    CHECK(!granted || left == 0);
    zkl_state state = (zkl_state)worker_ask(&w, WORKER_STATE, "state");
    worker_unlock(&w, state == ZKL_LOST ? ZKL_ELOST : 0);
    REQUIRE(acquisition_granted(&next));
    CHECK(next.at > woke || left == 0);
    CHECK(next.at > atomic_load(&w.page->believed));
    CHECK(zkl_grant_token(next.grant) > token);
    CHECK(resource_write(&w.page->resource, zkl_grant_token(next.grant)));
    CHECK_INT(zkl_grant_state(next.grant), ZKL_HELD);
    worker_end(&w);
    acquisition_end(&next);
    fault_end();
}

TEST_CASE(s07_stopped_for_half_a_timeout)
{
    stop_holder(FAULT_SHORT_MS / 2, false);
}

TEST_CASE(s07_stopped_for_a_timeout)
{
    stop_holder(FAULT_SHORT_MS, false);
}

TEST_CASE(s07_stopped_for_three_timeouts)
{
    stop_holder(3 * FAULT_SHORT_MS, true);
}

/* ---- 9: one thread stops ---- */

/* A tracer in a child process holds it, since the library's threads block every signal that could.
 */

/* Threads of this process, for g_ptr_array_unref(): all, or without those in before. */
static GPtrArray *threads_list(const GPtrArray *before)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    GDir *dir = g_dir_open("/proc/self/task", 0, NULL);

    REQUIRE(dir != NULL);
    for (const char *name; (name = g_dir_read_name(dir));) {
        bool known = false;
        for (guint i = 0; before && i < before->len && !known; i++)
            known = g_str_equal(g_ptr_array_index(before, i), name);
        if (!known)
            g_ptr_array_add(list, g_strdup(name));
    }
    g_dir_close(dir);
    return list;
}

/* In the child, beside threads that do not exist there: system calls only. When it ends, however
 * that is, the thread goes on. */
static _Noreturn void hold_still(pid_t thread, int ready)
{
    int status;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bool ok = ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0 &&
              ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0 &&
              waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status);
    uint8_t error = ok ? 0 : (uint8_t)errno;
    if (write(ready, &error, 1) != 1 || !ok)
        _exit(1);
    for (;;)
        pause();
}

/* Stops one thread, wherever it is, and no other. -1 with errno: EPERM, it is not allowed here. */
static pid_t thread_freeze(pid_t thread)
{
    int ready[2];
    uint8_t error = EPERM;

    REQUIRE(pipe(ready) == 0);
    pid_t freezer = fork();
    REQUIRE(freezer >= 0);
    if (freezer == 0)
        hold_still(thread, ready[1]);
    prctl(PR_SET_PTRACER, freezer); /* where only descendants may be traced */
    close(ready[1]);
    while (read(ready[0], &error, 1) < 0 && errno == EINTR)
        ;
    close(ready[0]);
    if (error == 0)
        return freezer;
    waitpid(freezer, NULL, 0);
    errno = error;
    return -1;
}

static void thread_thaw(pid_t freezer)
{
    kill(freezer, SIGKILL);
    while (waitpid(freezer, NULL, 0) < 0 && errno == EINTR)
        ;
}

enum { TIMEOUT_MS = 1500, TURNS = 12 };

/* Looks on until the next one is granted, or long enough to see that it is not: while the library's
 * own threads keep the session, a lock that is lost stays with it. */
static int64_t last_belief(zkl_grant *grant, struct acquisition *next)
{
    int64_t end = fault_boot_ns() + 2 * TIMEOUT_MS * INT64_C(1000000), believed = 0;

    for (bool last = false; !last; g_usleep(500)) {
        int64_t now = fault_boot_ns();
        bool lost = zkl_grant_state(grant) == ZKL_LOST;
        last = atomic_load(&next->done) > 0 || now > end;
        if (zkl_grant_remaining_ms(grant) > 0)
            believed = now;
        CHECK(!lost || zkl_grant_remaining_ms(grant) == 0);
    }
    return believed;
}

/* False if there is no such thread. With it frozen, the grant goes on or ends in time, and says so
 * to whoever asks. */
static bool freeze_one(guint which)
{
    struct acquisition holder, next;

    fault_begin();
    zkl_mutex *other = fault_mutex(fault_direct(FAULT_LONG_MS));
    GPtrArray *before = threads_list(NULL);
    acquisition_queue(&holder, fault_mutex(fault_direct(TIMEOUT_MS)), 1);
    GPtrArray *threads = threads_list(before);
    acquisition_queue(&next, other, 2);
    bool there = which < threads->len;
    pid_t freezer = there ? thread_freeze(atoi(g_ptr_array_index(threads, which))) : -1;
    if (freezer > 0) {
        int64_t believed = last_belief(holder.grant, &next);
        bool lost = zkl_grant_state(holder.grant) == ZKL_LOST;
        CHECK(lost || atomic_load(&next.done) == 0);
        CHECK(atomic_load(&next.done) == 0 || next.at > believed);
        thread_thaw(freezer);
        EVENTUALLY(!lost || told_times(&holder.told, ZKL_LOST) == 1);
    } else if (there && CHECK_INT(errno, EPERM)) {
        runner_skip("no tracing allowed here");
    }
    acquisition_end(&holder);
    REQUIRE(acquisition_granted(&next));
    acquisition_end(&next);
    CHECK(told_times(&holder.told, ZKL_LOST) <= 1);
    g_ptr_array_unref(before);
    g_ptr_array_unref(threads);
    fault_end();
    return there && freezer > 0;
}

/* Callbacks, timers, the connector and two of libzookeeper, one after the other; or none, and
 * skipped.
 */
TEST_CASE(s09_one_thread_frozen)
{
    enum { THREADS = 5 };
    guint which = 0;

    while (which < TURNS && freeze_one(which))
        which++;
    CHECK(which == 0 || which >= THREADS);
}
