/* A crowd on one lock: as many waiters as option waiters says, from option sessions in turn, after
 * one holder. They queue up. When it is told again, the holder lets go, and each waiter gives the
 * lock on in its callback. */
#include <glib.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common.h"
#include "user.h"

static zkl_mutex **mutexes; /* one for each waiter: those of one would queue up without nodes */
static zkl_mutex *held;
static int64_t sessions, waiters;
static atomic_int left;
static sem_t drained;
static struct times gaps;
static int64_t last;

/* Only the holder touches what they count. */
static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)data;
    user_granted(error);
    int64_t now = now_ns();
    times_add(&gaps, now - last);
    last = now;
    zkl_grant_release(grant);
    if (atomic_fetch_sub(&left, 1) == 1)
        sem_post(&drained);
}

static void enter(void)
{
    atomic_store(&left, (int)waiters);
    for (int64_t i = 0; i < waiters; i++)
        user_require(zkl_mutex_lock_async(mutexes[i], ZKL_FOREVER, on_acquired, NULL, NULL));
}

static void play(void)
{
    struct memory before = memory_now();

    gaps = (struct times){.longest = 0};
    enter();
    say("QUEUED");
    if (!told())
        fail("nobody wants the crowd drained");
    struct memory crowded = memory_now();
    struct usage begin = usage_now();
    last = begin.ns;
    user_require(zkl_mutex_unlock(held));
    while (sem_wait(&drained) != 0)
        continue;
    answer_begin(waiters, begin);
    answer_number("heap", (double)(crowded.heap - before.heap));
    answer_number("resident", (double)(crowded.resident - before.resident));
    answer_times("gaps", &gaps);
    answer_end();
}

static void open_mutexes(const char *path)
{
    zkl_session **session = g_new0(zkl_session *, (gsize)sessions);

    for (int64_t i = 0; i < sessions; i++)
        session[i] = user_session(option("address", ""));
    mutexes = g_new0(zkl_mutex *, (gsize)waiters);
    for (int64_t i = 0; i < waiters; i++)
        user_require(zkl_mutex_new(&mutexes[i], session[i % sessions], path, NULL));
    g_free(session);
}

int main(int argc, char **argv)
{
    const char *path;
    (void)argc;
    options_set(argv);
    path = option("lock", "/bench/crowd");
    sessions = option_number("sessions", 1);
    waiters = option_number("waiters", 100);
    sem_init(&drained, 0, 0);
    open_mutexes(path);
    user_require(zkl_mutex_new(&held, user_session(option("address", "")), path, NULL));
    for (;;) {
        user_require(zkl_mutex_lock(held, ZKL_FOREVER, NULL));
        say("READY");
        if (!told())
            break;
        play();
    }
    return 0;
}
