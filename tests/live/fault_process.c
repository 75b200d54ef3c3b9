/* What the library does to the process around it: threads, descriptors, signals, random(). */
#include "fault.h"
#include "runner.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

TEST_SUITE(fault_process, .init = fault_start, .done = fault_stop);

static void open_and_close(void)
{
    zkl_session *s = fault_direct(FAULT_LONG_MS);
    zkl_mutex *m;

    REQUIRE(zkl_mutex_new(&m, s, fault.path, NULL) == 0);
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    zkl_mutex_free(m);
    fault_close(s);
}

/* At most: a thread of the session before may just be ending while the first count is taken. */
TEST_CASE(nothing_leaks)
{
    fault_begin();
    open_and_close(); /* what is made once for all */
    int threads = fault_count("/proc/self/task"), files = fault_count("/proc/self/fd");
    for (int i = 0; i < 100; i++)
        open_and_close();
    EVENTUALLY(fault_count("/proc/self/task") <= threads);
    EVENTUALLY(fault_count("/proc/self/fd") <= files);
    fault_end();
}

/* A new session is a new handle, and the old one goes: expiry must not leak either. */
TEST_CASE(expiry_leaks_nothing)
{
    fault_begin();
    zkl_session *s = fault_proxied(FAULT_LONG_MS);
    int threads = fault_count("/proc/self/task"), files = fault_count("/proc/self/fd");
    for (int i = 0; i < 5; i++) {
        int64_t before = zkl_session_id(s);
        proxy_freeze(fault.proxy, PROXY_BOTH);
        fault_expire(before);
        proxy_thaw(fault.proxy);
        EVENTUALLY(zkl_session_id(s) != before && zkl_session_wait(s, 0) == 0);
    }
    EVENTUALLY(fault_count("/proc/self/task") <= threads);
    EVENTUALLY(fault_count("/proc/self/fd") <= files);
    fault_end();
}

/* ---- signals ---- */

static GHashTable *list_threads(void)
{
    GHashTable *set = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GDir *dir = g_dir_open("/proc/self/task", 0, NULL);

    REQUIRE(dir != NULL);
    for (const char *name; (name = g_dir_read_name(dir));)
        g_hash_table_add(set, g_strdup(name));
    g_dir_close(dir);
    return set;
}

static uint64_t mask_of(const int *signals)
{
    uint64_t mask = 0;

    for (; *signals; signals++)
        mask |= UINT64_C(1) << (*signals - 1);
    return mask;
}

/* All that can be blocked, but those of a fault: not KILL and STOP, nor the two of the C library's
 * own. */
static bool blocks_all(const char *thread)
{
    static const int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, 0};
    static const int cannot[] = {SIGKILL, SIGSTOP, 32, 33, 0};
    char *path = g_strdup_printf("/proc/self/task/%s/status", thread), *text = NULL;
    uint64_t mask = 0;

    if (g_file_get_contents(path, &text, NULL, NULL))
        mask = strtoull(strstr(text, "SigBlk:") + 7, NULL, 16);
    g_free(path);
    bool gone = !text;
    g_free(text);
    return gone || (mask | mask_of(cannot)) == ~mask_of(of_faults);
}

TEST_CASE(threads_block_signals)
{
    struct acquisition a;

    fault_begin();
    GHashTable *before = list_threads();
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    GHashTable *after = list_threads();
    GHashTableIter iter;
    gpointer thread;
    int count = 0;
    g_hash_table_iter_init(&iter, after);
    while (g_hash_table_iter_next(&iter, &thread, NULL)) {
        if (g_hash_table_contains(before, thread))
            continue;
        EVENTUALLY(blocks_all(thread)); /* but in a callback */
        count++;
    }
    CHECK(count >= 4); /* callbacks, timers, and two of libzookeeper */
    g_hash_table_unref(before);
    g_hash_table_unref(after);
    acquisition_end(&a);
    fault_end();
}

static atomic_int handled;
static pthread_t handler_thread;

static void on_signal(int number)
{
    (void)number;
    handler_thread = pthread_self();
    atomic_fetch_add(&handled, 1);
}

/* The only threads that do not block it are the test's; while this one does, it must wait. */
TEST_CASE(signals_wait_for_the_program)
{
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction old;
    sigset_t one, pending;
    struct acquisition a;

    fault_begin();
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigaction(SIGUSR1, &action, &old);
    acquisition_queue(&a, fault_mutex(fault_direct(FAULT_LONG_MS)), 1);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    atomic_store(&handled, 0);
    kill(getpid(), SIGUSR1);
    CHECK_INT(zkl_mutex_lock(fault_mutex(fault_direct(FAULT_LONG_MS)), 0, NULL), ZKL_EBUSY);
    sigpending(&pending);
    CHECK_INT(sigismember(&pending, SIGUSR1), 1);
    CHECK_INT(atomic_load(&handled), 0);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    EVENTUALLY(atomic_load(&handled) == 1);
    CHECK(pthread_equal(handler_thread, pthread_self()));
    sigaction(SIGUSR1, &old, NULL);
    acquisition_end(&a);
    fault_end();
}

/* ---- random() ---- */

/* By default libzookeeper seeds it anew at every turn of its loop. */
TEST_CASE(random_is_the_program_s)
{
    enum { DRAWS = 100 };
    long expected[DRAWS];
    int wrong = 0;

    fault_begin();
    zkl_mutex *m = fault_mutex(fault_direct(FAULT_LONG_MS));
    CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
    CHECK_INT(zkl_mutex_unlock(m), 0);
    raw_close(fault.direct); /* it does */
    srandom(42);
    for (int i = 0; i < DRAWS; i++)
        expected[i] = random();
    srandom(42);
    for (int i = 0; i < DRAWS; i++) {
        CHECK_INT(zkl_mutex_lock(m, ZKL_FOREVER, NULL), 0);
        CHECK_INT(zkl_mutex_unlock(m), 0);
        wrong += random() != expected[i];
    }
    CHECK_INT(wrong, 0);
    REQUIRE(fault_raw_open());
    fault_end();
}
