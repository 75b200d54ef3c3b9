/* Job control. SIGTTOU is blocked in this process (events.c), so that tcsetpgrp() never stops it.
 */
#include "terminal.h"
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

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

void terminal_lend(struct terminal *t, pid_t group)
{
    if (terminal_is_ours(t) && tcsetpgrp(t->fd, group) == 0)
        t->lent = group;
}

void terminal_take_back(struct terminal *t)
{
    pid_t front;

    if (t->lent == 0)
        return;
    front = tcgetpgrp(t->fd);
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

/* A stopped process runs no code, but the kernel's timer may continue it. Again and again: the
 * first time may come before the stop does. false if there is no timer. */
static bool continue_us_after(int64_t ms, timer_t *timer)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct itimerspec spec = {.it_interval.tv_nsec = 50 * 1000000};

    if (timer_create(CLOCK_BOOTTIME, &event, timer) != 0)
        return false;
    spec.it_value.tv_sec = (time_t)(ms / 1000);
    spec.it_value.tv_nsec = (long)(ms % 1000) * 1000000;
    return timer_settime(*timer, 0, &spec, NULL) == 0;
}

enum terminal_stop terminal_stop_us(int signo, int64_t limit_ms)
{
    const int64_t limit = limit_ms > 0 ? limit_ms : 1; /* 0 would disarm */
    const int64_t until = now_ms() + limit;
    timer_t timer;
    const bool timed = continue_us_after(limit, &timer);
    sigset_t set;
    sigset_t old;
    sigset_t pending;

    sigemptyset(&set);
    sigaddset(&set, signo);
    kill(0, signo);
    /* No other thread has it unblocked, so that it is taken here, before the next line. */
    pthread_sigmask(SIG_UNBLOCK, &set, &old);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (timed)
        timer_delete(timer);
    if (timed && now_ms() >= until)
        return STOP_LIMIT;
    /* SIGCONT is blocked (events.c): what continued us is still pending. */
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1)
        return STOP_CONTINUED;
    return STOP_REFUSED;
}
