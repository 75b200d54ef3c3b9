/* zkl-bench: what a lock costs, as a ratio to a bare libzookeeper loop on the same server in the
 * same run; the two take turns, and the medians of the rounds are compared. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zkl.h>

#include "floor.h"

enum { ROUNDS = 7, ROUND_MS = 1000, REENTRANT_PAIRS = 2000000 };

struct subject {
    zkl_mutex *mutex;
    zkl_grant *grant;
    struct floor *floor;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void require(int rc)
{
    zkl_error error;

    if (rc == 0)
        return;
    zkl_last_error(&error);
    fprintf(stderr, "zkl-bench: %s\n", error.text);
    exit(1);
}

static void bare_pair(struct subject *s)
{
    floor_pair(s->floor);
}

static void lock_pair(struct subject *s)
{
    require(zkl_mutex_lock(s->mutex, ZKL_FOREVER, NULL));
    require(zkl_mutex_unlock(s->mutex));
}

static double rate(void (*pair)(struct subject *), struct subject *s)
{
    int64_t begun = now_ns(), now = begun, count = 0;

    while ((now = now_ns()) - begun < ROUND_MS * INT64_C(1000000)) {
        pair(s);
        count++;
    }
    return (double)count * 1e9 / (double)(now - begun);
}

static double each_ns(void (*fn)(struct subject *), struct subject *s)
{
    int64_t begun = now_ns();

    for (int i = 0; i < REENTRANT_PAIRS; i++)
        fn(s);
    return (double)(now_ns() - begun) / REENTRANT_PAIRS;
}

static void check_state(struct subject *s)
{
    if (zkl_grant_state(s->grant) == ZKL_LOST)
        require(ZKL_ELOST);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

static void run_uncontended(struct subject *s)
{
    double bare[ROUNDS], lock[ROUNDS], ratio[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        bare[i] = rate(bare_pair, s);
        lock[i] = rate(lock_pair, s);
        ratio[i] = lock[i] / bare[i];
    }
    printf("bare create+delete   %8.0f pairs/s\n", median(bare));
    printf("lock+unlock          %8.0f pairs/s\n", median(lock));
    double middle = median(ratio); /* sorts */
    printf("ratio                %8.2f  (median of %d interleaved rounds, %.2f to %.2f)\n", middle,
           ROUNDS, ratio[0], ratio[ROUNDS - 1]);
}

static void run_local(struct subject *s)
{
    double reentrant[ROUNDS], check[ROUNDS];

    require(zkl_mutex_lock(s->mutex, ZKL_FOREVER, &s->grant));
    for (int i = 0; i < ROUNDS; i++) {
        reentrant[i] = each_ns(lock_pair, s);
        check[i] = each_ns(check_state, s);
    }
    require(zkl_mutex_unlock(s->mutex));
    printf("reentrant lock+unlock %7.1f ns\n", median(reentrant));
    printf("validity check        %7.1f ns\n", median(check));
}

int main(void)
{
    const char *connect = g_getenv("ZKL_CONNECT");
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *session;
    struct subject s = {NULL, NULL, NULL};

    if (!connect) {
        fprintf(stderr, "zkl-bench: set ZKL_CONNECT to a server's host:port\n");
        return 64;
    }
    options.session_timeout_ms = 30000;
    require(zkl_session_open(&session, connect, &options, NULL));
    require(zkl_mutex_new(&s.mutex, session, "/zkl-bench-lock", NULL));
    s.floor = floor_open(connect, "/zkl-bench-floor");
    lock_pair(&s);
    run_uncontended(&s);
    run_local(&s);
    floor_close(s.floor);
    zkl_mutex_free(s.mutex);
    zkl_session_close(session);
    return 0;
}
