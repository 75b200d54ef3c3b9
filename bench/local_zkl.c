/* Measures what asks no server: entering again, and asking whether the lock is still held. Beside
 * that it measures the least that such a thing costs: a recursive mutex, and two clock reads. */
#include <pthread.h>
#include <time.h>

#include "common.h"
#include "user.h"

enum { TURNS = 1000000 };

static zkl_mutex *mutex;
static const zkl_grant *grant;
static pthread_mutex_t plain;

static void enter_again(void)
{
    user_require(zkl_mutex_lock(mutex, ZKL_FOREVER, NULL));
    user_require(zkl_mutex_unlock(mutex));
}

static void ask(void)
{
    if (zkl_grant_state(grant) == ZKL_LOST)
        fail("the lock was lost");
}

static void enter_plain(void)
{
    pthread_mutex_lock(&plain);
    pthread_mutex_unlock(&plain);
}

static void read_clocks(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
}

static void answer_cost(const char *key, void (*fn)(void))
{
    int64_t begun = now_ns();

    for (int i = 0; i < TURNS; i++)
        fn();
    answer_number(key, (double)(now_ns() - begun) / (double)TURNS);
}

int main(int argc, char **argv)
{
    pthread_mutexattr_t recursive;
    (void)argc;
    options_set(argv);
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&plain, &recursive);
    user_require(zkl_mutex_new(&mutex, user_session(option("address", "")),
                               option("lock", "/bench/local"), NULL));
    user_require(zkl_mutex_lock(mutex, ZKL_FOREVER, &grant));
    say("READY");
    while (told()) {
        answer_begin(0, usage_now());
        answer_cost("reentrant_ns", enter_again);
        answer_cost("check_ns", ask);
        answer_cost("mutex_ns", enter_plain);
        answer_cost("clocks_ns", read_clocks);
        answer_end();
    }
    return 0;
}
