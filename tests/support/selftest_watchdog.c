/* What the watchdog ends, and what not. Planted cases run under one of their own, with a short
 * limit. */
#include "own_time.h"
#include "progress.h"
#include "selftest.h"
#include "watchdog.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST_SUITE(watchdog);

enum { LIMIT_S = 1, WORK_MS = 250, LOOPS = 16 };

static atomic_bool never;

/* ---- planted ---- */

static void *lock_crosswise(void *both)
{
    pthread_mutex_t *const *m = both;
    pthread_mutex_lock(m[0]);
    g_usleep(100000);
    pthread_mutex_lock(m[1]);
    return NULL;
}

static void deadlock(void)
{
    static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t *one[] = {&a, &b}, *other[] = {&b, &a};
    pthread_t thread;
    pthread_create(&thread, NULL, lock_crosswise, other);
    lock_crosswise(one);
    pthread_join(thread, NULL);
}

/* As a client does that no server answers. */
static void livelock(void)
{
    while (!atomic_load(&never)) {
        int status;
        g_spawn_command_line_sync("true", NULL, NULL, &status, NULL);
        g_usleep(5000);
    }
}

static void busy(void)
{
    while (!atomic_load(&never))
        ;
}

static int64_t ran_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void work(void)
{
    while (ran_ms() < WORK_MS)
        ;
}

static void wait_in_vain(void)
{
    CHECK(AWAIT(atomic_load(&never)));
    CHECK(AWAIT(atomic_load(&never))); /* does not take a second limit */
}

static void pass(void)
{
}

static void slow_by_design(void)
{
    progress_allow(2 * LIMIT_S);
    g_usleep(2 * LIMIT_S * G_USEC_PER_SEC);
}

static void step_for_ever(void)
{
    for (;;) {
        progress_step();
        g_usleep(10000);
    }
}

static void end_by_signal(void)
{
    raise(SIGKILL);
}

static const struct planted {
    const char *name;
    void (*fn)(void);
} planted[] = {{"deadlock", deadlock},
               {"livelock", livelock},
               {"busy", busy},
               {"work", work},
               {"wait_in_vain", wait_in_vain},
               {"wait_in_vain_pass", pass},
               {"slow_by_design", slow_by_design},
               {"step_for_ever", step_for_ever},
               {"end_by_signal", end_by_signal}};

int selftest_watched(int argc, char **argv)
{
    static struct test_suite watched = {.name = "watched"};
    static struct test_case cases[G_N_ELEMENTS(planted)];

    for (size_t i = 0; i < G_N_ELEMENTS(planted); i++) {
        cases[i] = (struct test_case){.name = planted[i].name, .fn = planted[i].fn};
        runner_add(&watched, &cases[i]);
    }
    return runner_main(argc, argv);
}

/* ---- the watchdog's word ---- */

/* Runs a command under a watchdog of its own; stdout and stderr are in what is returned. */
static char *watch(const char *const *command, int limit_s, const char *wall, int *ret_status)
{
    const char *top = g_getenv("top_builddir");
    char **env = g_environ_unsetenv(g_get_environ(), "ZKL_PROGRESS");
    char *seconds = g_strdup_printf("%d", limit_s), *output = NULL;
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);

    env = g_environ_setenv(env, "ZKL_TEST_TIMEOUT", seconds, TRUE);
    env = g_environ_unsetenv(env, "ZKL_LEDGER");
    if (wall)
        env = g_environ_setenv(env, "ZKL_TEST_WALL", wall, TRUE);
    g_ptr_array_add(argv, g_strdup("/bin/sh"));
    g_ptr_array_add(argv, g_strdup("-c"));
    g_ptr_array_add(argv, g_strdup("exec \"$@\" 2>&1"));
    g_ptr_array_add(argv, g_strdup("sh"));
    g_ptr_array_add(argv, g_build_filename(top ? top : ".", "tests/support/zkl-watchdog", NULL));
    for (; *command; command++)
        g_ptr_array_add(argv, g_strdup(*command));
    g_ptr_array_add(argv, NULL);
    int status = -1;
    REQUIRE(g_spawn_sync(NULL, (char **)argv->pdata, env, G_SPAWN_SEARCH_PATH, NULL, NULL, &output,
                         NULL, &status, NULL));
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    g_ptr_array_free(argv, TRUE);
    g_strfreev(env);
    g_free(seconds);
    progress_step();
    return output;
}

static void expect(const char *name, const char *wall, int wanted, const char *contained)
{
    char *self = g_file_read_link("/proc/self/exe", NULL),
         *one = g_strdup_printf("watched.%s", name);
    const char *const command[] = {self, "--watched", one, NULL};
    int status;
    char *output = watch(command, LIMIT_S, wall, &status);

    if (!CHECK_INT(status, wanted) || !strstr(output, contained))
        runner_fail(__FILE__, __LINE__, "%s: no \"%s\" in:\n%s", one, contained, output);
    g_free(output);
    g_free(one);
    g_free(self);
}

TEST_CASE(hangs_are_ended)
{
    expect("deadlock", NULL, WATCHDOG_HANGS, "FAIL watched.deadlock: no step for");
    expect("livelock", NULL, WATCHDOG_HANGS, "FAIL watched.livelock: no step for");
    expect("busy", NULL, WATCHDOG_HANGS, "FAIL watched.busy: no step for");
}

/* Loops that leave a test a tenth of the machine, and less. */
TEST_CASE(starvation_is_not)
{
    GPid loop[LOOPS * 64];
    int count = MIN(MAX(LOOPS, 8 * (int)g_get_num_processors()), (int)G_N_ELEMENTS(loop));
    const char *argv[] = {"sh", "-c", "while :; do :; done", NULL};

    for (int i = 0; i < count; i++)
        REQUIRE(g_spawn_async(NULL, (char **)(uintptr_t)argv, NULL,
                              G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &loop[i],
                              NULL));
    expect("work", NULL, 0, "ok   watched.work (");
    char *path = g_strdup(g_getenv("PATH"));
    g_setenv("PATH", "/", TRUE); /* no gdb, which would be slow here */
    expect("deadlock", NULL, WATCHDOG_HANGS, "FAIL watched.deadlock: no step for");
    g_setenv("PATH", path, TRUE);
    g_free(path);
    for (int i = 0; i < count; i++) {
        kill(loop[i], SIGKILL);
        waitpid(loop[i], NULL, 0);
    }
}

TEST_CASE(waits_give_up_first)
{
    expect("wait_in_vain*", NULL, 1, "ok   watched.wait_in_vain_pass");
    expect("slow_by_design", NULL, 0, "1 passed");
}

TEST_CASE(walls)
{
    expect("step_for_ever", "1", WATCHDOG_MACHINE, "no verdict about the code");
    expect("work", "soon", WATCHDOG_BROKEN, "ZKL_TEST_WALL");
    expect("end_by_signal", NULL, 128 + SIGKILL, "");
}

/* A script makes its steps by a file, and sees there that it is late. Those that end by themselves
 * have time for it on a machine that is busy, too: what short processes wait is estimated. */
TEST_CASE(scripts)
{
    enum { LONG_S = 4 };
    static const struct {
        const char *script;
        int limit_s, status;
    } rows[] = {
        {"exit 7", LONG_S, 7},
        {"for i in 1 2 3; do sleep 1.7; echo >>$ZKL_PROGRESS; done; exit 3", LONG_S, 3},
        {"until [ -e $ZKL_PROGRESS.late ]; do sleep 0.1; done; echo >>$ZKL_PROGRESS; "
         "while [ -e $ZKL_PROGRESS.late ]; do sleep 0.1; done; exit 4",
         LONG_S, 4},
        {"trap '' HUP; exec /proc/$PPID/exe sh -c 'trap \"exit 6\" HUP; kill -HUP $$; exit 1'",
         LONG_S, 6},
        {"trap 'exit 5' TERM; kill $PPID; while :; do sleep 0.05; done", LONG_S, 5},
        {"sleep 1000 & sleep 1000", LIMIT_S, WATCHDOG_HANGS},
        {"(setsid sleep 1000 >/dev/null 2>&1 &); wait; while :; do sleep 0.1; done", LIMIT_S,
         WATCHDOG_HANGS},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *const command[] = {"bash", "-c", rows[i].script, NULL};
        int status;
        char *output = watch(command, rows[i].limit_s, NULL, &status);
        if (!CHECK_INT(status, rows[i].status))
            runner_fail(__FILE__, __LINE__, "%s\n%s", rows[i].script, output);
        g_free(output);
    }
}

/* ---- the clock ---- */

TEST_CASE(own_time)
{
    static const struct {
        struct own_time_look looks[2];
        int64_t moved; /* on two processors */
    } rows[] = {
        {{{.passed = 1000}}, 1000},                                /* all sleep */
        {{{.passed = 1000, .delayed = 900, .ran = 100}}, 100},     /* starved */
        {{{.passed = 1000, .ran = 1000}}, 1000},                   /* alone */
        {{{.passed = 1000, .delayed = 750, .ran = 2000}}, 1000},   /* stands in its own way */
        {{{.passed = 1000, .delayed = 950, .ran = 400}}, 200},     /* and in that of others */
        {{{.passed = 500}, {.passed = 500, .delayed = 900}}, 100}, /* told when it runs again */
        {{{.passed = 500, .delayed = 900}, {.passed = 500}}, 100},
        {{{.passed = 1000, .delayed = 5000}}, 0},
        {{{.ran = 100}}, 0},
        {{{.passed = 400, .renewed = true, .running = 16}, {.passed = 600, .running = 16}}, 650},
        {{{.passed = 400, .renewed = true, .running = 2}}, 400},
        {{{.passed = 400, .ran = 900, .renewed = true, .running = 16}}, 400},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        CHECK_INT(own_time_of(rows[i].looks, G_N_ELEMENTS(rows[i].looks), 2), rows[i].moved);
}
