#include "worker.h"

#include <errno.h>
#include <signal.h>

int worker_start(pthread_t *ret, void *(*fn)(void *data), void *data)
{
    pthread_t thread;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread, NULL, fn, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0 && ret)
        *ret = thread;
    else if (error == 0)
        pthread_detach(thread);
    return error;
}

void worker_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attr);
    pthread_condattr_destroy(&attr);
}

void worker_shared_init(struct worker_shared *s)
{
    s->users = 2;
    pthread_mutex_init(&s->lock, NULL);
    worker_condition_init(&s->changed);
}

bool worker_shared_leave(struct worker_shared *s)
{
    pthread_mutex_lock(&s->lock);
    const bool last = --s->users == 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return false;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    return true;
}

struct timespec worker_after_ms(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

bool worker_await(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until)
{
    return pthread_cond_timedwait(condition, lock, until) != ETIMEDOUT;
}
