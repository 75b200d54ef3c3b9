/* The guard runs --on-lost, so that it is run even if the tool is stopped or dead. If the guard is
 * dead, the tool runs it. */
#include "on_lost.h"
#include "../tool.h"
#include "spawn.h"

#include <errno.h>
#include <sys/wait.h>

/* The time from TERM to KILL. */
#define LAST_MS 5000

static void on_lost_line(const struct on_lost *o, const char *what, int number)
{
    status_line(o->termination->options->status_fd, "on-lost %s %d", what, number);
}

static void set_limit(struct on_lost *o, int64_t ms)
{
    o->limit_at = now_ms() + ms;
}

void on_lost_start(struct on_lost *o, const struct termination *e, char **envp,
                   const struct events *events)
{
    const enum exit_cause cause = shared_cause(e->shared);
    struct spawn s = {.argv = e->options->on_lost, .events = events, .no_input = true};

    o->termination = e;
    if (!s.argv || !exit_cause_is_forced(cause) || !atomic_load(&e->shared->begun) ||
        atomic_exchange(&e->shared->on_lost_begun, true))
        return;
    s.envp = g_environ_setenv(g_strdupv(envp), "ZKL_LOST", exit_cause_name(cause), TRUE);
    if (termination_loss_name(e))
        s.envp = g_environ_setenv(s.envp, "ZKL_LOST_BY", termination_loss_name(e), TRUE);
    pid_t pid = spawn(&s);
    if (pid < 0)
        say("--on-lost: cannot fork: %s", g_strerror(errno));
    g_strfreev(s.envp);
    if (pid < 0)
        return;
    o->pid = pid;
    atomic_store(&e->shared->on_lost, pid);
    set_limit(o, e->options->on_lost_ms);
    on_lost_line(o, "started", (int)pid);
}

void on_lost_adopt(struct on_lost *o, const struct termination *e)
{
    const pid_t pid = atomic_load(&e->shared->on_lost);

    if (child_look(pid, NULL) == CHILD_NONE)
        return;
    *o = (struct on_lost){.termination = e, .pid = pid};
    set_limit(o, e->options->on_lost_ms);
}

/* Returns whether an end was asked for. The request may have gone to the command. */
static bool on_lost_is_asked(const struct on_lost *o)
{
    return o->asked || atomic_load(&o->termination->shared->to_end);
}

void on_lost_signal(struct on_lost *o, int signo)
{
    const bool ends = signo == SIGINT || signo == SIGTERM;

    if (o->pid == 0)
        return;
    kill(-o->pid, ends && on_lost_is_asked(o) ? SIGKILL : signo);
    o->asked |= ends;
}

bool on_lost_over(struct on_lost *o, struct events *events)
{
    int result = 0;

    if (o->pid == 0)
        return true;
    const struct hold_options *options = o->termination->options;
    if (waitpid(o->pid, &result, WNOHANG) == 0) {
        if (now_ms() >= o->limit_at) { /* TERM; or KILL, if an end was asked for */
            if (!o->asked)
                say("--on-lost: %s: still running after %g s; ending it", options->path,
                    (double)options->on_lost_ms / 1000);
            on_lost_line(o, "ending", on_lost_is_asked(o) ? SIGKILL : SIGTERM);
            on_lost_signal(o, SIGTERM);
            set_limit(o, LAST_MS);
        }
        events_arm(events, o->limit_at - now_ms());
        return false;
    }
    atomic_store(&o->termination->shared->on_lost, 0);
    on_lost_line(o, "ended",
                 WIFSIGNALED(result) ? STATUS_SIGNAL + WTERMSIG(result) : WEXITSTATUS(result));
    if (WIFSIGNALED(result))
        say("--on-lost: %s: ended by signal %d", options->path, WTERMSIG(result));
    else if (WEXITSTATUS(result) != 0)
        say("--on-lost: %s: status %d", options->path, WEXITSTATUS(result));
    return true;
}
