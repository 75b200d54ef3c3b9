#include "thread.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <time.h>
#include <zkl/session.h>

static _Thread_local int *wait_flag; /* of zkl_call_waits(); NULL: nobody asks */

static int thread_start_as(pthread_t *ret, void *(*run)(void *), void *data, int state)
{
    pthread_attr_t attr;
    static const int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, state);
    /* A new thread inherits the mask, and so do the threads that libzookeeper starts from it. */
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
        sigdelset(&blocked, of_faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(ret, &attr, run, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

int thread_start(pthread_t *ret, void *(*run)(void *), void *data)
{
    return thread_start_as(ret, run, data, PTHREAD_CREATE_JOINABLE);
}

int thread_start_detached(void *(*run)(void *), void *data)
{
    pthread_t thread;

    return thread_start_as(&thread, run, data, PTHREAD_CREATE_DETACHED);
}

static void *wait_at_gate(void *gate)
{
    thread_wait(gate);
    return NULL;
}

bool thread_can_start_two(void)
{
    pthread_t threads[2];
    int n = 0;
    sem_t gate;

    sem_init(&gate, 0, 0);
    while (n < 2 && thread_start(&threads[n], wait_at_gate, &gate) == 0)
        n++;
    bool both = n == 2;
    for (int i = 0; i < n; i++)
        sem_post(&gate);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    sem_destroy(&gate);
    return both;
}

void thread_name(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

void thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

void zkl_call_waits(int *flag)
{
    wait_flag = flag;
}

void thread_shows_wait(bool waits)
{
    if (wait_flag)
        g_atomic_int_set(wait_flag, waits);
}

void thread_wait(sem_t *sem)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    thread_shows_wait(true);
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
    thread_shows_wait(false);
    pthread_setcancelstate(before, NULL);
}
