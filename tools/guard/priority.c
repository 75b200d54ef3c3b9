/* Changes only the policy, and no nice value, so that the earlier priority can be given back
 * exactly. Only the soft limit changes, because nobody may raise a hard one again. */
#include "priority.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

/* How long the guard may run without a pause, in microseconds. Then SIGXCPU takes its priority
 * away, so that a guard gone mad stops no machine. */
#define RUN_MOST_US 500000
#define PAUSE_NS 100000

static volatile sig_atomic_t raised;
static int policy;
static struct sched_param before;
static struct rlimit limit;

static void on_too_long(int signo)
{
    (void)signo;
    priority_give_back();
}

void priority_raise(void)
{
    const struct sched_param lowest = {.sched_priority = 1};
    const struct sigaction action = {.sa_handler = on_too_long};
    sigset_t set;

    policy = sched_getscheduler(0);
    if (policy == SCHED_RR || policy == SCHED_FIFO || sched_getparam(0, &before) != 0 ||
        getrlimit(RLIMIT_RTTIME, &limit) != 0 || sched_setscheduler(0, SCHED_RR, &lowest) != 0)
        return;
    raised = true;
    struct rlimit ours = limit;
    if (ours.rlim_cur > RUN_MOST_US)
        ours.rlim_cur = RUN_MOST_US;
    setrlimit(RLIMIT_RTTIME, &ours);
    sigaction(SIGXCPU, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGXCPU);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void priority_give_back(void)
{
    if (!raised)
        return;
    raised = false;
    sched_setscheduler(0, policy, &before);
    setrlimit(RLIMIT_RTTIME, &limit);
}

void priority_pause(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    if (raised)
        nanosleep(&pause, NULL);
}
