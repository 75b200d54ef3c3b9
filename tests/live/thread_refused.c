/* The system refuses threads, as by TasksMax: here for want of address space for their stacks.
 * Nothing ends, and all goes on when they can be had. */
#include "lib/session/core.h"
#include "lib/session/incarnation.h"
#include "live.h"
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEP_MB = 4, STEPS = 20, WAIT_MS = 700 };

/* Room for so much more; less than 0: for all that there is. */
static void set_room(long mb)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    struct rlimit limit;

    if (!file || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &limit) != 0)
        exit(2);
    fclose(file);
    limit.rlim_cur = limit.rlim_max;
    if (mb >= 0)
        limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)mb << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        exit(3);
}

static void replace(zkl_session *s)
{
    session_lock(s);
    incarnation_replace(s, LOSS_REPLACED);
    session_unlock(s);
}

/* live --thread-worker CONNECT MB WHEN */
int thread_worker(int argc, char **argv)
{
    zkl_session *s;

    if (argc < 3)
        return 99;
    long mb = strtol(argv[1], NULL, 10);
    bool renewal = strcmp(argv[2], "renewal") == 0;
    if (!renewal)
        set_room(mb);
    int code = zkl_session_open(&s, argv[0], NULL, NULL);
    if (code)
        return code == ZKL_ENOMEM ? 0 : 1;
    if (renewal) {
        if (zkl_session_wait(s, ZKL_FOREVER) != 0)
            return 4;
        set_room(mb);
        replace(s);
    }
    zkl_session_wait(s, WAIT_MS); /* as it may, with what it has */
    set_room(-1);
    if (zkl_session_wait(s, ZKL_FOREVER) != 0)
        return 5;
    zkl_session_close(s);
    return 0;
}

static void play(const char *when)
{
    struct live *t = live_begin();

    for (int i = 0; i < STEPS; i++) {
        char *mb = g_strdup_printf("%d", i * STEP_MB), *err = NULL;
        char *argv[] = {"/proc/self/exe",
                        "--thread-worker",
                        (char *)(uintptr_t)t->connect,
                        mb,
                        (char *)(uintptr_t)when,
                        NULL};
        int status = -1;
        CHECK(
            g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &err, &status, NULL));
        if (status != 0)
            runner_fail(__FILE__, __LINE__, "with %s MB: status 0x%x\n%s", mb, (unsigned)status,
                        err);
        g_free(err);
        g_free(mb);
    }
    live_end(t);
}

static int init(void)
{
    const char *instrumented = getenv("ZKL_INSTRUMENTED");

    if (instrumented && *instrumented)
        runner_skip("sanitizers want all address space");
    return live_init();
}

TEST_SUITE(thread_refused, .init = init);

TEST_CASE(at_open)
{
    play("open");
}

TEST_CASE(at_renewal)
{
    play("renewal");
}
