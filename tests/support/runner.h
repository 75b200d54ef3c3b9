/* Runs suites of tests and gives the exit status that CUnit's own front ends do not. */
#ifndef SUPPORT_RUNNER_H
#define SUPPORT_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

struct test_case {
    const char *name;
    void (*fn)(void);
    int line; /* cases run in this order; of equal ones the first that was added is first */
    struct test_case *next;
};

/* init and done may be NULL. They return 0; any other value breaks the run. An init that calls
 * runner_skip() and returns 0 skips the whole suite. */
struct test_suite {
    const char *name;
    int (*init)(void);
    int (*done)(void);
    struct test_case *cases;
    struct test_suite *next;
};

/* A file of tests begins with the name of its suite. Each test is a function, which registers
 * itself when the program starts:
 *
 *     TEST_SUITE(mutex, .init = start_server);
 *
 *     TEST_CASE(two_threads)
 *     {
 *         CHECK(...);
 *     }
 */
#define TEST_SUITE(suite, ...) static struct test_suite this_suite = {.name = #suite, __VA_ARGS__}
#define TEST_CASE(case) TEST_CASE_OF(this_suite, case)
#define TEST_CASE_OF(suite, case)                                                                  \
    static void test_##case (void);                                                                \
    __attribute__((constructor)) static void add_##suite##_##case (void)                           \
    {                                                                                              \
        static struct test_case added = {.name = #case, .fn = test_##case, .line = __LINE__};      \
        runner_add(&suite, &added);                                                                \
    }                                                                                              \
    static void test_##case (void)

/* For cases that come from a table. Both stay as long as the program runs. */
void runner_add(struct test_suite *suite, struct test_case *c);

enum {
    RUNNER_PASSED = 0,
    RUNNER_FAILED = 1,
    RUNNER_SKIPPED = 77, /* every test that ran was skipped */
    RUNNER_BROKEN = 99,  /* a suite's init or done failed, or nothing matched the patterns */
};

/* Runs the cases whose "suite.case", or whose suite, matches one of the glob patterns in argv; all
 * without patterns. After -x: those that match none. -l lists them instead. Suites run in the order
 * of their names. To be called in main's thread. A test fails if it leaves that thread so that it
 * cannot be cancelled.
 * Each test, and what stands around it, is a step of progress.h. */
int runner_main(int argc, char **argv);

/* What a test leaves behind is unknown if a REQUIRE has failed in it. Where this is true the
 * program then begins anew with the next test, by execve(). A program that has servers to stop
 * leaves it false. */
extern bool runner_starts_over;

/* Marks the running test as skipped; it does not return from it. */
void runner_skip(const char *why);

/* Whether a child of ours may start threads. If not, the running test is marked as skipped. */
bool runner_starts_threads_in_children(void);

/* fn runs when the running test has ended, by REQUIRE, too; each once. It may say by runner_fail()
 * that the test has failed. */
void runner_at_end(void (*fn)(void));

/* "suite.case", or NULL outside of tests. */
const char *runner_current(void);

/* Counts a failure of the running test from any thread; printf-like. */
void runner_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the running test. In another thread than main's, which it cannot unwind, it aborts. */
_Noreturn void runner_fail_fatal(const char *file, int line, const char *condition);

bool runner_check(bool ok, const char *condition, const char *file, int line);
bool runner_check_int(int64_t actual, int64_t expected, const char *what, const char *file,
                      int line);
bool runner_check_str(const char *actual, const char *expected, const char *what, const char *file,
                      int line);

/* All but REQUIRE go on after a failure and answer whether the check held. The checks may be used
 * from any thread. */
#define CHECK(condition) runner_check(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(actual, expected)                                                                \
    runner_check_int((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
#define CHECK_STR(actual, expected)                                                                \
    runner_check_str((actual), (expected), #actual, __FILE__, __LINE__)
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            runner_fail_fatal(__FILE__, __LINE__, #condition);                                     \
    } while (0)

#endif
