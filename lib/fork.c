#include "fork.h"

#include <glib.h>
#include <pthread.h>

#include "callbacks.h"
#include "log.h"
#include "mutex.h"

unsigned fork_generation;

static void before(void)
{
    mutex_before_fork();
    log_before_fork();
}

static void in_parent(void)
{
    log_after_fork(false);
    mutex_after_fork(false);
}

static void in_child(void)
{
    fork_generation++;
    callbacks_forked();
    log_after_fork(true);
    mutex_after_fork(true);
}

static void install(void)
{
    if (pthread_atfork(before, in_parent, in_child) != 0)
        g_error("zkl: failed to allocate what tells of a fork");
}

void fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install);
}
