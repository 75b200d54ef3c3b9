/* One handle that as many threads as option threads says lock and unlock again and again, with
 * option retain ms of retention or none, and option rest us of sleep after each unlock. With the
 * option rival=1 another session wants the lock that this one has kept and does not use; its waits
 * are measured. */
#include <glib.h>
#include <unistd.h>

#include "common.h"
#include "user.h"

enum { BATCH = 64, IDLE_US = 2000 };

static zkl_session *session;
static const char *path;
static zkl_mutex *mutex;
static int64_t threads, rest, end;
static struct thread {
    GThread *thread;
    long long ops, nodes, passed; /* those it got from another thread of ours */
} * all;
static const struct thread *last; /* who had the lock: only the holder touches it */

static zkl_mutex *open_mutex(zkl_session *s, int64_t retain_ms)
{
    zkl_mutex_options o = ZKL_MUTEX_OPTIONS_INIT;
    zkl_mutex *m;

    o.retain_ms = retain_ms;
    user_require(zkl_mutex_new(&m, s, path, &o));
    return m;
}

static void lock_and_unlock(zkl_mutex *m)
{
    user_require(zkl_mutex_lock(m, ZKL_FOREVER, NULL));
    user_require(zkl_mutex_unlock(m));
}

static void take(struct thread *t)
{
    const zkl_grant *g;

    user_require(zkl_mutex_lock(mutex, ZKL_FOREVER, &g));
    t->ops++;
    t->nodes += zkl_grant_turn(g) == 0;
    t->passed += last != t;
    last = t;
    user_require(zkl_mutex_unlock(mutex));
}

/* To read a clock costs more than a fifth of what is measured of one thread. */
static gpointer run(gpointer data)
{
    const int batch = threads == 1 && rest == 0 ? BATCH : 1;

    while (now_ns() < end) {
        for (int i = 0; i < batch; i++)
            take(data);
        if (rest > 0)
            usleep((useconds_t)rest);
    }
    return data;
}

/* 1: each had as many turns as the others; 1 / n: one had all. */
static double jain(double sum)
{
    double squares = 0;

    for (int64_t i = 0; i < threads; i++)
        squares += (double)all[i].ops * (double)all[i].ops;
    return sum * sum / ((double)threads * squares);
}

static void answer_threads(struct usage begin)
{
    struct thread sum = {.ops = 0};

    for (int64_t i = 0; i < threads; i++) {
        sum.ops += all[i].ops;
        sum.nodes += all[i].nodes;
        sum.passed += all[i].passed;
    }
    answer_begin(sum.ops, begin);
    answer_number("nodes", (double)sum.nodes);
    answer_number("passed", (double)sum.passed);
    answer_number("jain", jain((double)sum.ops));
    answer_end();
}

static void play_threads(void)
{
    struct usage begin = usage_now();

    all = g_new0(struct thread, (gsize)threads);
    last = NULL;
    end = begin.ns + option_number("ms", 1000) * 1000000;
    for (int64_t i = 0; i < threads; i++)
        all[i].thread = g_thread_new("locks", run, &all[i]);
    for (int64_t i = 0; i < threads; i++)
        g_thread_join(all[i].thread);
    answer_threads(begin);
    g_free(all);
}

/* A new handle each time: one that has just been asked to give way does not retain for a while. */
static int64_t wait_for_idle(zkl_mutex *rival)
{
    zkl_mutex *m = open_mutex(session, option_number("retain", 1000));

    lock_and_unlock(m);
    usleep(IDLE_US);
    int64_t asked = now_ns();
    user_require(zkl_mutex_lock(rival, ZKL_FOREVER, NULL));
    int64_t took = now_ns() - asked;
    user_require(zkl_mutex_unlock(rival));
    zkl_mutex_free(m);
    return took;
}

static void play_rival(zkl_mutex *rival)
{
    static struct times waits;
    struct usage begin = usage_now();
    int64_t rounds = 0, until = begin.ns + option_number("ms", 1000) * 1000000;

    waits = (struct times){.longest = 0};
    for (; now_ns() < until; rounds++)
        times_add(&waits, wait_for_idle(rival));
    answer_begin(rounds, begin);
    answer_times("waits", &waits);
    answer_end();
}

int main(int argc, char **argv)
{
    zkl_mutex *rival = NULL;

    (void)argc;
    options_set(argv);
    session = user_session(option("address", ""));
    path = option("lock", "/bench/retained");
    threads = option_number("threads", 1);
    rest = option_number("rest", 0);
    mutex = open_mutex(session, option_number("retain", 0));
    if (option_number("rival", 0))
        rival = open_mutex(user_session(option("address", "")), 0);
    lock_and_unlock(mutex); /* makes the directory */
    user_require(zkl_mutex_yield(mutex));
    say("READY");
    while (told()) {
        if (rival)
            play_rival(rival);
        else
            play_threads();
    }
    return 0;
}
