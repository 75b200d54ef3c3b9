/* The thread of a worker that takes the demo's orders. It never owns the lock, so it is also the
 * thief that tries to unlock it. */
#include "worker.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static void set(worker *w, bool *flag)
{
    pthread_mutex_lock(&w->guard);
    *flag = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->guard);
}

static void steal(worker *w)
{
    pthread_mutex_lock(&w->guard);
    if (!w->ending) {
        int err = zkl_mutex_unlock(w->mutex);

        history_add(w->record, w->id, getpid(), err == ZKL_EPERM ? EV_DENIED : EV_ALLOWED, err, 0);
    }
    pthread_mutex_unlock(&w->guard);
}

/* Not from stdin's stream: exit() waits until no thread reads from it, since glibc 2.41. */
static bool read_order(char *line, size_t size)
{
    for (size_t i = 0; i < size && read(STDIN_FILENO, &line[i], 1) == 1; i++)
        if (line[i] == '\n') {
            line[i] = '\0';
            return true;
        }
    return false;
}

static void *obey(void *data)
{
    worker *w = data;
    char line[32];

    while (read_order(line, sizeof line)) {
        if (strcmp(line, "start") == 0)
            set(w, &w->start);
        else if (strcmp(line, "hold") == 0)
            set(w, &w->hold);
        else if (strcmp(line, "go") == 0)
            set(w, &w->go);
        else if (strcmp(line, "steal") == 0)
            steal(w);
    }
    return NULL;
}

bool control_start(worker *w)
{
    pthread_condattr_t attr;
    pthread_t thread;

    pthread_mutex_init(&w->guard, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attr);
    pthread_condattr_destroy(&attr);
    return pthread_create(&thread, NULL, obey, w) == 0 && pthread_detach(thread) == 0;
}

void control_wait_start(worker *w)
{
    pthread_mutex_lock(&w->guard);
    while (!w->start)
        pthread_cond_wait(&w->changed, &w->guard);
    pthread_mutex_unlock(&w->guard);
}

bool control_take_hold(worker *w)
{
    bool hold;

    pthread_mutex_lock(&w->guard);
    hold = w->hold;
    w->hold = false;
    if (hold)
        w->go = false;
    pthread_mutex_unlock(&w->guard);
    return hold;
}

bool control_wait_go(worker *w, int ms)
{
    struct timespec until;
    bool go;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&w->guard);
    while (!w->go && pthread_cond_timedwait(&w->changed, &w->guard, &until) == 0)
        ;
    go = w->go;
    pthread_mutex_unlock(&w->guard);
    return go;
}

void control_end(worker *w)
{
    set(w, &w->ending);
}
