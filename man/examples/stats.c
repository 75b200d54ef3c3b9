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

int main(int argc, char **argv)
{
    zkl_stats stats = ZKL_STATS_INIT;
    zkl_session *s;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    int code = zkl_session_wait(s, 10000);
    zkl_session_stats(s, &stats);
    printf("%" PRIu64 " connection\n", stats.connections);
    if (argc > 2)
        write_metrics(stdout, &stats);
    zkl_session_close(s);
    return code != 0;
}

/* It prints:
 * 1 connection */
