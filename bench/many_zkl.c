/* Many locks of one session, asked for asynchronously, option window of them at a time. Each is
 * given back in its callback, which asks for the next one. */
#include <glib.h>
#include <semaphore.h>

#include "common.h"
#include "user.h"

static zkl_mutex **locks;
static int64_t count, turn, flying, ops, end;
static sem_t landed;

static void start(void);

static void on_acquired(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)data;
    user_granted(error);
    zkl_grant_release(grant);
    if (now_ns() < end) {
        ops++;
        start();
    } else if (--flying == 0) {
        sem_post(&landed);
    }
}

static void start(void)
{
    user_require(zkl_mutex_lock_async(locks[turn++ % count], ZKL_FOREVER, on_acquired, NULL, NULL));
}

/* Callbacks are called one at a time, so one begins the round: only they touch what they count. */
static void on_first(zkl_grant *grant, const zkl_error *error, void *data)
{
    flying = option_number("window", 256);
    for (int64_t i = 1; i < flying; i++)
        start();
    on_acquired(grant, error, data);
}

static void play(int64_t window_ns)
{
    ops = 0;
    end = now_ns() + window_ns;
    user_require(zkl_mutex_lock_async(locks[turn++ % count], ZKL_FOREVER, on_first, NULL, NULL));
    while (sem_wait(&landed) != 0)
        continue;
}

int main(int argc, char **argv)
{
    (void)argc;
    options_set(argv);
    zkl_session *session = user_session(option("address", ""));
    count = option_number("locks", 1000);
    locks = g_new0(zkl_mutex *, (gsize)count);
    sem_init(&landed, 0, 0);
    for (int64_t i = 0; i < count; i++) {
        char *path = g_strdup_printf("%s-%d", option("lock", "/bench/many"), (int)i);
        user_require(zkl_mutex_new(&locks[i], session, path, NULL));
        user_require(zkl_mutex_lock(locks[i], ZKL_FOREVER, NULL)); /* makes the directory */
        user_require(zkl_mutex_unlock(locks[i]));
        g_free(path);
    }
    say("READY");
    while (told()) {
        struct usage begin = usage_now();
        play(option_number("ms", 1000) * 1000000);
        answer_begin(ops, begin);
        answer_end();
    }
    return 0;
}
