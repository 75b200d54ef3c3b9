#include "held.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

static _Thread_local int held;

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int error = __real_pthread_mutex_lock(mutex);

    held++;
    return error;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    int error = __real_pthread_mutex_trylock(mutex);

    held += !error;
    return error;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (held-- == 0) {
        dprintf(2, "a thread unlocks what it has not locked\n");
        abort();
    }
    return __real_pthread_mutex_unlock(mutex);
}

void held_at_most(int locks, const char *call)
{
    if (held <= locks)
        return;
    dprintf(2, "%s() is called with %d lock%s held\n", call, held, held == 1 ? "" : "s");
    abort();
}
