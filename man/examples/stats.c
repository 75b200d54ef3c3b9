#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zkl.h>

/* As a web server may answer it. */
static void write_metrics(FILE *out, const zkl_stats *stats)
{
    const zkl_label labels[] = {{"job", "nightly"}};
    int length = zkl_stats_prometheus(stats, labels, 1, NULL, 0);
    char *text = malloc((size_t)length + 1);

    if (text) {
        zkl_stats_prometheus(stats, labels, 1, text, (size_t)length + 1);
        fputs(text, out);
    }
    free(text);
}

/* Returns a time that half of them did not exceed, in ns. */
static int64_t median_ns(const zkl_histogram *h)
{
    uint64_t below = 0;
    size_t i = 0;

    for (; i < ZKL_HISTOGRAM_BUCKETS && (below += h->buckets[i]) * 2 < h->count; i++)
        continue;
    return zkl_histogram_bound_ns(i);
}

/* So that there is something to count. */
static void lock_ten_times(zkl_session *s)
{
    zkl_mutex *m;

    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) != 0)
        return;
    for (int i = 0; i < 10; i++)
        if (zkl_mutex_lock(m, 10000, NULL) == 0)
            zkl_mutex_unlock(m);
    zkl_mutex_free(m);
}

int main(int argc, char **argv)
{
    zkl_stats stats = ZKL_STATS_INIT;
    zkl_session *s;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    lock_ten_times(s);
    zkl_session_stats(s, &stats);
    printf("%" PRIu64 " connection, %" PRIu64 " times locked\n", stats.connections,
           stats.acquisitions);
    if (median_ns(&stats.wait) <= INT64_C(60000000000))
        puts("half of the waits took a minute at most");
    if (argc > 2)
        write_metrics(stdout, &stats);
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * 1 connection, 10 times locked
 * half of the waits took a minute at most */
