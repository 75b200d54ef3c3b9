/* Measures what counting costs (zkl_session_stats) where a lock costs least: one thread locks and
 * unlocks what its handle retains. The program is linked with the library's objects, so that the
 * calls which count go through this file. Batches of a few locks count in turn or do not, so that a
 * disturbance meets both; the medians are compared. A call that this file refuses costs something,
 * too. That is in both, so the calls are measured by themselves as well. */
#include <stdbool.h>
#include <stdlib.h>

#include "common.h"
#include "user.h"

enum { BATCH = 64, TURNS = 20000, RETAIN_MS = 60000 };

void __real_stats_granted(zkl_session *s, int64_t wait_ns);
void __real_stats_ended(zkl_session *s, int64_t hold_ns, zkl_loss loss);
void __wrap_stats_granted(zkl_session *s, int64_t wait_ns);
void __wrap_stats_ended(zkl_session *s, int64_t hold_ns, zkl_loss loss);

static bool counting = true;
static zkl_session *session;
static zkl_mutex *mutex;

void __wrap_stats_granted(zkl_session *s, int64_t wait_ns)
{
    if (counting)
        __real_stats_granted(s, wait_ns);
}

void __wrap_stats_ended(zkl_session *s, int64_t hold_ns, zkl_loss loss)
{
    if (counting)
        __real_stats_ended(s, hold_ns, loss);
}

static double turn(bool counts)
{
    const int64_t begun = now_ns();

    counting = counts;
    for (int i = 0; i < BATCH; i++) {
        user_require(zkl_mutex_lock(mutex, ZKL_FOREVER, NULL));
        user_require(zkl_mutex_unlock(mutex));
    }
    counting = true;
    return (double)(now_ns() - begun) / (double)BATCH;
}

/* A grant is counted already; what is counted here has ended before it goes on. */
static double calls(void)
{
    const int64_t begun = now_ns();

    for (int64_t i = 0; i < BATCH; i++) {
        __real_stats_ended(session, i, ZKL_LOSS_NONE);
        __real_stats_granted(session, 0);
    }
    return (double)(now_ns() - begun) / (double)BATCH;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void answer_median(const char *key, double *all)
{
    qsort(all, TURNS, sizeof *all, compare);
    answer_number(key, all[TURNS / 2]);
}

static uint64_t counted(void)
{
    zkl_stats stats = ZKL_STATS_INIT;

    user_require(zkl_session_stats(session, &stats));
    return stats.acquisitions;
}

static void play(void)
{
    static double with[TURNS], without[TURNS], alone[TURNS];
    const struct usage begin = usage_now();
    const uint64_t before = counted();

    for (int i = 0; i < TURNS; i++) {
        with[i] = turn(true);
        without[i] = turn(false);
    }
    if (counted() - before != (uint64_t)TURNS * BATCH)
        fail("counted %llu of %d locks", (unsigned long long)(counted() - before), TURNS * BATCH);
    user_require(zkl_mutex_lock(mutex, ZKL_FOREVER, NULL));
    for (int i = 0; i < TURNS; i++)
        alone[i] = calls();
    user_require(zkl_mutex_unlock(mutex));
    answer_begin((long long)2 * TURNS * BATCH, begin);
    answer_median("with_ns", with);
    answer_median("without_ns", without);
    answer_median("alone_ns", alone);
    answer_end();
}

int main(int argc, char **argv)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;

    (void)argc;
    options_set(argv);
    session = user_session(option("address", ""));
    o.retain_ms = RETAIN_MS;
    user_require(zkl_mutex_new(&mutex, session, option("lock", "/bench/counting"), &o));
    say("READY");
    while (told())
        play();
    return 0;
}
