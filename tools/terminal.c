/* Does job control. SIGTTOU is blocked in this process (events.c), so that tcsetpgrp() never stops
 * it. */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool terminal_draws(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

void terminal_init(struct terminal *t)
{
    *t = (struct terminal){.fd = isatty(STDIN_FILENO) ? STDIN_FILENO : -1, .own = getpgrp()};
}

bool terminal_find(struct terminal *t)
{
    if (t->fd < 0) {
        t->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        t->opened = t->fd >= 0;
    }
    return t->fd >= 0;
}

bool terminal_is_ours(const struct terminal *t)
{
    return t->fd >= 0 && tcgetpgrp(t->fd) == t->own;
}

bool terminal_job_is_alone(const struct terminal *t, pid_t leader)
{
    struct stat out;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &out) == 0 && S_ISFIFO(out.st_mode))
            return false; /* its reader may be a pager, which waits for keys */
    return t->own == leader;
}

void terminal_lend(struct terminal *t, pid_t group)
{
    if (t->wanted && terminal_is_ours(t) && tcsetpgrp(t->fd, group) == 0)
        t->lent = group;
}

void terminal_take_back(struct terminal *t)
{
    if (t->lent == 0)
        return;
    const pid_t front = tcgetpgrp(t->fd);
    if (front == t->lent || (front > 0 && kill(-front, 0) != 0 && errno == ESRCH))
        tcsetpgrp(t->fd, t->own);
    t->lent = 0;
}

void terminal_close(struct terminal *t)
{
    if (t->opened)
        close(t->fd);
    t->fd = -1;
}

void terminal_let_stop(int signo)
{
    sigset_t set;
    sigset_t old;

    sigemptyset(&set);
    sigaddset(&set, signo);
    /* No other thread has the signal unblocked, so it stops us here, before the next line. */
    pthread_sigmask(SIG_UNBLOCK, &set, &old);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool terminal_stop_us(int signo)
{
    sigset_t pending;

    kill(0, signo);
    terminal_let_stop(signo);
    /* SIGCONT is blocked (events.c): what continued us is still pending. */
    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}
