#include "fork.h"

#include <glib.h>
#include <pthread.h>

#include "callbacks.h"
#include "log.h"

unsigned fork_generation;

static void fork_prepare(void)
{
    log_before_fork();
}

static void fork_in_parent(void)
{
    log_after_fork(false);
}

static void fork_in_child(void)
{
    fork_generation++;
    callbacks_forked();
    log_after_fork(true);
}

void fork_handle(void (*before_fork)(void), void (*after_fork)(void), void (*after_in_child)(void))
{
    if (pthread_atfork(before_fork, after_fork, after_in_child) != 0)
        g_error("zkl: cannot register the handlers of fork");
}

static void fork_install(void)
{
    fork_handle(fork_prepare, fork_in_parent, fork_in_child);
}

void fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fork_install);
}
