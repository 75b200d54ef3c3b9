#include "runner.h"

#include "progress.h"

#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>
#include <fnmatch.h>
#include <glib.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
    CU_pTest test;
    const struct test_case *test_case;
    char *name;
};

enum { RUNNER_NAME = 128, RUNNER_ENDS = 4 };

bool runner_starts_over;

/* mutex guards what a check in another thread touches: CUnit's own lists have no lock. */
static struct {
    pthread_mutex_t mutex;
    pthread_t main;
    struct test_suite *suites; /* in the order of their names */
    GArray *entries;
    const struct entry *current;
    char *skip;
    char *suite_skip;
    void (*at_end[RUNNER_ENDS])(void);
    bool ending, failed_at_end;
    int64_t started;
    unsigned passed, failed, skipped;
    bool broken;
    char behind[RUNNER_NAME]; /* begin behind that test; "": at the beginning */
    unsigned before;          /* so many tests ran before that */
} run = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const struct entry *entry_of(CU_pTest test)
{
    for (guint i = 0; i < run.entries->len; i++) {
        const struct entry *e = &g_array_index(run.entries, struct entry, i);
        if (e->test == test)
            return e;
    }
    abort();
}

const char *runner_current(void)
{
    pthread_mutex_lock(&run.mutex);
    const char *name = run.current ? run.current->name : NULL;
    pthread_mutex_unlock(&run.mutex);
    return name;
}

void runner_skip(const char *why)
{
    pthread_mutex_lock(&run.mutex);
    char **reason = run.current ? &run.skip : &run.suite_skip;
    if (!*reason)
        *reason = g_strdup(why);
    pthread_mutex_unlock(&run.mutex);
}

void runner_at_end(void (*fn)(void))
{
    size_t i = 0;

    while (i < RUNNER_ENDS && run.at_end[i] && run.at_end[i] != fn)
        i++;
    g_assert(i < RUNNER_ENDS);
    run.at_end[i] = fn;
}

static void run_ends(void)
{
    run.ending = true;
    for (size_t i = 0; i < RUNNER_ENDS && run.at_end[i]; i++) {
        run.at_end[i]();
        run.at_end[i] = NULL;
    }
    run.ending = false;
}

bool runner_starts_threads_in_children(void)
{
#ifdef __SANITIZE_THREAD__
    runner_skip("ThreadSanitizer ends children that start threads");
    return false;
#else
    return true;
#endif
}

void runner_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = g_strdup_vprintf(format, args);
    va_end(args);
    printf("  %s:%d: %s\n", file, line, text);
    pthread_mutex_lock(&run.mutex);
    run.failed_at_end |= run.ending;
    if (run.current)
        CU_assertImplementation(CU_FALSE, (unsigned)line, text, file, "", CU_FALSE);
    else
        run.broken = true; /* a failure that belongs to no test: in init, done or a stray thread */
    pthread_mutex_unlock(&run.mutex);
    g_free(text);
}

/* ---- beginning anew ---- */

static void print_failed(const struct entry *e)
{
    printf("FAIL %s (%.3f s)\n", e->name, (double)(g_get_monotonic_time() - run.started) / 1e6);
}

/* What the next process goes on with: the counts, and the test that it begins behind. */
#define RUNNER_GOES_ON "ZKL_TEST_GOES_ON"

/* The running test has failed. Nothing of it is undone, since other threads may use its stack. */
static void start_over(void)
{
    char *text = g_strdup_printf("%u %u %u %d %s", run.passed, run.failed + 1, run.skipped,
                                 run.broken, run.current->name);
    gsize length;
    char *line;

    if (!g_file_get_contents("/proc/self/cmdline", &line, &length, NULL))
        return;
    GPtrArray *argv = g_ptr_array_new();
    for (gsize at = 0; at < length; at += strlen(line + at) + 1)
        g_ptr_array_add(argv, line + at);
    g_ptr_array_add(argv, NULL);
    g_setenv(RUNNER_GOES_ON, text, TRUE);
    print_failed(run.current);
    fflush(NULL);
    execv("/proc/self/exe", (char **)argv->pdata);
    g_ptr_array_free(argv, TRUE);
    g_free(line);
    g_free(text);
}

static void go_on(void)
{
    const char *text = g_getenv(RUNNER_GOES_ON);
    int broken;

    if (!text || sscanf(text, "%u %u %u %d %127s", &run.passed, &run.failed, &run.skipped, &broken,
                        run.behind) != 5)
        return;
    run.broken = broken;
    run.before = run.passed + run.failed + run.skipped;
    g_unsetenv(RUNNER_GOES_ON);
}

_Noreturn void runner_fail_fatal(const char *file, int line, const char *condition)
{
    bool here = pthread_equal(pthread_self(), run.main) && runner_current();
    runner_fail(file, line, "REQUIRE(%s)", condition);
    if (here && runner_starts_over)
        start_over();
    if (here) /* leaves by longjmp, so not under our mutex; the failure is counted twice, no harm */
        CU_assertImplementation(CU_FALSE, (unsigned)line, condition, file, "", CU_TRUE);
    abort();
}

static void on_suite_start(const CU_pSuite suite)
{
    g_clear_pointer(&run.suite_skip, g_free);
    progress_name(suite->pName);
}

static void on_init_failed(const CU_pSuite suite)
{
    printf("FAIL %s: its init failed, so none of its tests ran\n", suite->pName);
    run.failed += suite->uiNumberOfTests;
    run.broken = true;
}

static void on_done_failed(const CU_pSuite suite)
{
    printf("FAIL %s: its done failed\n", suite->pName);
    run.broken = true;
}

static void on_test_start(const CU_pTest test, const CU_pSuite suite)
{
    (void)suite;
    pthread_mutex_lock(&run.mutex);
    run.current = entry_of(test);
    run.skip = g_strdup(run.suite_skip);
    pthread_mutex_unlock(&run.mutex);
    run.started = g_get_monotonic_time();
    progress_name(run.current->name);
}

static void on_test_complete(const CU_pTest test, const CU_pSuite suite,
                             const CU_pFailureRecord failure)
{
    (void)test;
    double seconds = (double)(g_get_monotonic_time() - run.started) / 1e6;
    run.failed_at_end = false;
    run_ends();
    pthread_mutex_lock(&run.mutex);
    const struct entry *e = run.current;
    run.current = NULL;
    char *skip = g_steal_pointer(&run.skip);
    pthread_mutex_unlock(&run.mutex);
    if (failure || run.failed_at_end) {
        run.failed++;
        print_failed(e);
    } else if (skip) {
        run.skipped++;
        printf("skip %s (%.3f s): %s\n", e->name, seconds, skip);
    } else {
        run.passed++;
        printf("ok   %s (%.3f s)\n", e->name, seconds);
    }
    g_free(skip);
    progress_name(suite->pName);
}

/* The one function that CUnit knows; it runs the case that on_test_start found. */
static void trampoline(void)
{
    int state;

    if (!run.skip)
        run.current->test_case->fn();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    if (state != PTHREAD_CANCEL_ENABLE)
        runner_fail(__FILE__, __LINE__, "the thread cannot be cancelled any more");
}

static bool matches(const char *suite, const char *name, char **patterns, int count)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0 || fnmatch(patterns[i], suite, 0) == 0)
            return true;
    return false;
}

static bool wanted(const char *suite, const char *name, char **patterns, int count)
{
    if (count > 0 && strcmp(patterns[0], "-x") == 0)
        return !matches(suite, name, patterns + 1, count - 1);
    return count == 0 || matches(suite, name, patterns, count);
}

void runner_add(struct test_suite *suite, struct test_case *c)
{
    struct test_suite **among = &run.suites;
    struct test_case **at = &suite->cases;

    while (*among && *among != suite && strcmp((*among)->name, suite->name) <= 0)
        among = &(*among)->next;
    if (*among != suite) {
        suite->next = *among;
        *among = suite;
    }
    while (*at && (*at)->line <= c->line)
        at = &(*at)->next;
    c->next = *at;
    *at = c;
}

/* What ran before this process began anew. */
static bool ran_before(const char *name)
{
    if (!run.behind[0])
        return false;
    if (strcmp(name, run.behind) == 0)
        run.behind[0] = '\0';
    return true;
}

static bool register_suite(const struct test_suite *suite, char **patterns, int count, bool list)
{
    CU_pSuite cu = NULL;
    for (const struct test_case *c = suite->cases; c; c = c->next) {
        struct entry e = {.test_case = c, .name = g_strdup_printf("%s.%s", suite->name, c->name)};
        if (!wanted(suite->name, e.name, patterns, count) || ran_before(e.name)) {
            g_free(e.name);
            continue;
        }
        if (list) /* a suite is made with its first wanted case: no init without one */
            puts(e.name);
        else if ((!cu && !(cu = CU_add_suite(suite->name, suite->init, suite->done))) ||
                 !(e.test = CU_add_test(cu, c->name, trampoline)))
            return false;
        g_array_append_val(run.entries, e);
    }
    return true;
}

static void set_handlers(void)
{
    CU_set_suite_start_handler(on_suite_start);
    CU_set_suite_init_failure_handler(on_init_failed);
    CU_set_suite_cleanup_failure_handler(on_done_failed);
    CU_set_test_start_handler(on_test_start);
    CU_set_test_complete_handler(on_test_complete);
}

static int verdict(void)
{
    printf("%u passed, %u failed, %u skipped\n", run.passed, run.failed, run.skipped);
    if (run.broken || run.passed + run.failed + run.skipped != run.before + run.entries->len)
        return RUNNER_BROKEN;
    if (run.failed)
        return RUNNER_FAILED;
    return run.passed ? RUNNER_PASSED : RUNNER_SKIPPED;
}

static void forget_entries(void)
{
    for (guint i = 0; i < run.entries->len; i++)
        g_free(g_array_index(run.entries, struct entry, i).name);
    g_array_free(run.entries, TRUE);
    g_clear_pointer(&run.suite_skip, g_free);
    CU_cleanup_registry();
}

int runner_main(int argc, char **argv)
{
    bool list = argc > 1 && strcmp(argv[1], "-l") == 0;
    int first = argc == 0 ? 0 : list ? 2 : 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.main = pthread_self();
    run.entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
    go_on();
    bool ok = CU_initialize_registry() == CUE_SUCCESS;
    for (const struct test_suite *s = run.suites; ok && s; s = s->next)
        ok = register_suite(s, argv + first, argc - first, list);
    if (ok && run.before + run.entries->len == 0) {
        puts("no test matches");
        ok = false;
    }
    int status = RUNNER_BROKEN;
    if (!ok) {
        printf("the test runner is broken: %s\n", CU_get_error_msg());
    } else if (list) {
        status = RUNNER_PASSED;
    } else {
        set_handlers();
        CU_run_all_tests();
        status = verdict();
    }
    forget_entries();
    return status;
}
