#include "watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    const char *name;
    struct timespec deadline;
    long seconds;
    bool running;
} dog = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Also where nobody reads what the test that hangs has made of stdout and stderr. */
static _Noreturn void bite(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(10);
    pthread_mutex_unlock(&dog.mutex);
    fflush(stdout);
    fprintf(stderr, "FAIL %s: still running after %ld s, aborting\n", dog.name, dog.seconds);
    abort();
}

static void *watch(void *unused)
{
    pthread_mutex_lock(&dog.mutex);
    while (dog.running) {
        if (!dog.name) {
            pthread_cond_wait(&dog.changed, &dog.mutex);
            continue;
        }
        struct timespec deadline = dog.deadline, now;
        if (pthread_cond_timedwait(&dog.changed, &dog.mutex, &deadline) != ETIMEDOUT)
            continue;
        clock_gettime(CLOCK_MONOTONIC, &now); /* it may have been armed anew in the meantime */
        if (dog.running && dog.name &&
            (now.tv_sec > dog.deadline.tv_sec ||
             (now.tv_sec == dog.deadline.tv_sec && now.tv_nsec >= dog.deadline.tv_nsec)))
            bite();
    }
    pthread_mutex_unlock(&dog.mutex);
    return unused;
}

bool watchdog_start(void)
{
    const char *limit = getenv("ZKL_TEST_TIMEOUT");
    dog.seconds = limit ? strtol(limit, NULL, 10) : 120;
    if (dog.seconds <= 0) {
        fprintf(stderr, "ZKL_TEST_TIMEOUT=%s is no number of seconds\n", limit);
        return false;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dog.changed, &attr);
    pthread_condattr_destroy(&attr);

    /* Signals are for the test's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    dog.running = true;
    if (pthread_create(&dog.thread, NULL, watch, NULL) != 0)
        dog.running = false;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return dog.running;
}

static void set_name(const char *name)
{
    pthread_mutex_lock(&dog.mutex);
    dog.name = name;
    clock_gettime(CLOCK_MONOTONIC, &dog.deadline);
    dog.deadline.tv_sec += dog.seconds;
    pthread_cond_signal(&dog.changed);
    pthread_mutex_unlock(&dog.mutex);
}

void watchdog_arm(const char *name)
{
    set_name(name);
}

void watchdog_disarm(void)
{
    set_name(NULL);
}

void watchdog_stop(void)
{
    pthread_mutex_lock(&dog.mutex);
    bool running = dog.running;
    dog.running = false;
    pthread_cond_signal(&dog.changed);
    pthread_mutex_unlock(&dog.mutex);
    if (running)
        pthread_join(dog.thread, NULL);
}
