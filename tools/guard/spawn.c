/* Forks and executes. */
#include "spawn.h"
#include "../tool.h"
#include "priority.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Binds the command to its parent and to the lock, or exits. After the prctl() the parent's death
 * kills this process; getppid() shows a death before that. */
static void bind_to_lock(const struct spawn *s, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || shared_left_ms(s->shared) == 0 ||
        !shared_set_leader(s->shared, getpid()))
        _exit(STATUS_INTERNAL);
    atomic_store(&s->shared->begun, true);
}

/* Executes the program, by async-signal-safe calls only: the tool has threads when it starts
 * something. */
static _Noreturn void become_program(const struct spawn *s, pid_t parent)
{
    setpgid(0, 0);
    if (s->shared)
        bind_to_lock(s, parent);
    if (s->front != 0 && tcgetpgrp(STDIN_FILENO) == s->front)
        tcsetpgrp(STDIN_FILENO, getpid());
    if (s->no_input) {
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

        dup2(nothing, STDIN_FILENO);
    }
    sigaction(SIGCHLD, &s->events->chld, NULL);
    priority_give_back();
    pthread_sigmask(SIG_SETMASK, &s->events->original, NULL);
    execvpe(s->argv[0], s->argv, s->envp);
    if (s->shared)
        atomic_store(&s->shared->exec_error, errno);
    _exit(errno == ENOENT ? STATUS_NOTFOUND : STATUS_NOEXEC);
}

pid_t spawn(const struct spawn *s)
{
    const pid_t self = getpid();
    pid_t pid = cgroup_fork(s->cgroup);

    if (pid < 0)
        pid = fork();
    if (pid == 0)
        become_program(s, self);
    /* The child does the same, in case that it is first. */
    if (pid > 0)
        setpgid(pid, pid);
    return pid;
}
