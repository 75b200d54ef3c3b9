/* Starting the command and watching it. */
#include "child.h"
#include "group.h"
#include "inherited.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Between fork and exec: async-signal-safe calls only, since the library has threads. */
static void become(char **argv, char **envp, int terminal, const struct events *events,
                   pid_t parent, int exec_error)
{
    int err;

    setpgid(0, 0);
    if (terminal >= 0)
        tcsetpgrp(terminal, getpid());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(STATUS_INTERNAL); /* it died before the line above: nobody holds the lock */
    inherited_close_others();
    sigaction(SIGCHLD, &events->chld, NULL);
    pthread_sigmask(SIG_SETMASK, &events->original, NULL);
    execvpe(argv[0], argv, envp);
    err = errno;
    if (write(exec_error, &err, sizeof err) < 0)
        _exit(STATUS_INTERNAL);
    _exit(STATUS_NOTFOUND);
}

bool child_start(struct child *c, char **argv, char **envp, struct terminal *terminal,
                 const struct events *events)
{
    const pid_t self = getpid();
    const bool lend = terminal_is_ours(terminal);
    int fds[2];

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        say("%s: no pipe: %s", argv[0], g_strerror(errno));
        return false;
    }
    *c = (struct child){.pid = fork(), .exec_error = fds[0]};
    if (c->pid == 0)
        become(argv, envp, lend ? terminal->fd : -1, events, self, fds[1]);
    close(fds[1]);
    if (c->pid < 0) {
        say("%s: cannot fork: %s", argv[0], g_strerror(errno));
        close(fds[0]);
        return false;
    }
    /* Also by the child itself: whoever comes first. The terminal it takes alone, for a command
     * that has handed it on already must not have it taken away. */
    setpgid(c->pid, c->pid);
    if (lend)
        terminal->lent = c->pid;
    return true;
}

void child_signal(const struct child *c, int signo)
{
    if (!c->reaped)
        kill(-c->pid, signo);
}

bool child_ended(const struct child *c)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == c->pid;
}

int child_stopped(const struct child *c)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG) != 0 || info.si_pid != c->pid)
        return 0;
    return info.si_status;
}

bool child_group_lives(const struct child *c)
{
    switch (group_scan(c->pid)) {
    case GROUP_LIVES:
        return true;
    case GROUP_GONE:
        return false;
    default:
        return !child_ended(c); /* no /proc: the leader alone can be seen */
    }
}

static int exec_failure(const struct child *c, const char *name, int *status)
{
    int err = 0;

    if (read(c->exec_error, &err, sizeof err) != (ssize_t)sizeof err)
        return 0;
    *status =
        fail(err == ENOENT ? STATUS_NOTFOUND : STATUS_NOEXEC, "%s: %s", name, g_strerror(err));
    return err;
}

int child_reap(struct child *c, const char *name)
{
    int status = STATUS_INTERNAL;
    int result;

    while (waitpid(c->pid, &result, 0) < 0)
        if (errno != EINTR)
            return fail(STATUS_INTERNAL, "%s: %s", name, g_strerror(errno));
    c->reaped = true;
    c->signo = WIFSIGNALED(result) ? WTERMSIG(result) : 0;
    if (exec_failure(c, name, &status) == 0)
        status = c->signo != 0 ? STATUS_SIGNAL + c->signo : WEXITSTATUS(result);
    close(c->exec_error);
    return status;
}
