/* By the guard, so that it is run also for a tool that is stopped or dead; by the tool for a dead
 * guard. */
#include "on_lost.h"
#include "spawn.h"

#include <errno.h>
#include <sys/wait.h>

pid_t on_lost_start(const struct ending *e, char **envp, const struct events *events)
{
    const enum course course = shared_course(e->shared);
    struct spawn s = {.argv = e->options->on_lost, .events = events, .no_input = true};
    pid_t pid;

    if (!s.argv || course == COURSE_RUNNING || course == COURSE_ENDED ||
        !atomic_load(&e->shared->begun) || atomic_exchange(&e->shared->told, true))
        return 0;
    s.envp = g_environ_setenv(g_strdupv(envp), "ZKL_LOST", course_name(course), TRUE);
    pid = spawn(&s);
    if (pid < 0)
        say("--on-lost: cannot fork: %s", g_strerror(errno));
    g_strfreev(s.envp);
    return MAX(pid, 0);
}

bool on_lost_over(const struct ending *e, pid_t pid)
{
    int result = 0;

    if (waitpid(pid, &result, WNOHANG) == 0)
        return false;
    if (WIFSIGNALED(result))
        say("--on-lost: %s: ended by signal %d", e->options->path, WTERMSIG(result));
    else if (WEXITSTATUS(result) != 0)
        say("--on-lost: %s: status %d", e->options->path, WEXITSTATUS(result));
    return true;
}
