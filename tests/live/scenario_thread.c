/* One thread that stands still: a tracer in a child process holds it, since the library's threads
 * block every signal that could. */
#include "scenario.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

GPtrArray *threads_list(const GPtrArray *before)
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

pid_t thread_freeze(pid_t thread)
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

void thread_thaw(pid_t freezer)
{
    kill(freezer, SIGKILL);
    while (waitpid(freezer, NULL, 0) < 0 && errno == EINTR)
        ;
}
