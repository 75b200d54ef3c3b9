#include "fork.h"

#include <pthread.h>

unsigned fork_generation;

static void in_child(void)
{
    fork_generation++;
}

static void install(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

void fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install);
}
