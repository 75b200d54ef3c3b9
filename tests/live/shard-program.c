/* shard-program CONNECT TIMEOUT_MS PATH COUNT DIR HOST: a host whose shards a program works on by
 * zkl_shards_start(). The file of a shard is locked while it does. It stops working on a shard when
 * its grant may end soon, as nobody else ends it. Asked by TERM, it gives up all and ends. */
#include "shard_file.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zkl.h>

/* SLOWEST: how long it may take to finish what it does. PART: of a session timeout, before the end
 * of which it stops. */
enum { SLOWEST_TURNS = 15, TURN_MS = 20, PART = 8 };

static struct work {
    zkl_grant *grant; /* NULL: the shard is not ours */
    int fd;           /* of its file */
    int turns;        /* until it is given up; 0: it was not asked for */
} works[ZKL_SHARDS_MAX];

static const char *host;
static volatile sig_atomic_t asked;
static bool stopped;

static void on_term(int signo)
{
    asked = signo;
}

static void give_up(struct work *w)
{
    close(w->fd);
    zkl_grant_release(w->grant);
    memset(w, 0, sizeof *w);
}

static void on_shard(zkl_shards *all, zkl_shards_event event, const zkl_shards_news *news,
                     void *data)
{
    struct work *w = &works[news->shard];

    (void)all, (void)data;
    if (event == ZKL_SHARDS_GRANTED && zkl_grant_remaining_ms(news->grant) == 0) {
        zkl_grant_release(news->grant); /* the event has come too late */
    } else if (event == ZKL_SHARDS_GRANTED) {
        w->grant = news->grant;
        w->fd = shard_file_take((int)news->shard, host, zkl_grant_token(news->grant));
    } else if (event == ZKL_SHARDS_ASKED) {
        w->turns = 1 + rand() % SLOWEST_TURNS;
    } else if (event == ZKL_SHARDS_LOST && w->grant) {
        give_up(w);
    }
    stopped |= event == ZKL_SHARDS_STOPPED;
}

static void take_turns(size_t count, int64_t least_ms)
{
    for (struct work *w = works; w < works + count; w++)
        if (w->grant && (zkl_grant_remaining_ms(w->grant) < least_ms || w->turns == 1))
            give_up(w);
        else if (w->turns > 1)
            w->turns--;
}

int main(int argc, char **argv)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_shards *shards;
    zkl_session *s;

    if (argc != 7 || chdir(argv[5]) != 0)
        return 1;
    signal(SIGTERM, on_term);
    host = argv[6];
    srand((unsigned)time(NULL));
    const size_t count = strtoul(argv[4], NULL, 10);
    options.session_timeout_ms = atoi(argv[2]);
    options.dispatch = 1;
    if (zkl_session_open(&s, argv[1], &options, NULL) != 0 ||
        zkl_shards_start(&shards, s, argv[3], count, host, on_shard, NULL, NULL) != 0)
        return 1;
    while (!stopped) {
        poll(&(struct pollfd){.fd = zkl_session_fd(s), .events = POLLIN}, 1, TURN_MS);
        zkl_session_dispatch(s);
        take_turns(count, options.session_timeout_ms / PART);
        if (asked) {
            zkl_shards_free(shards);
            shards = NULL;
        }
    }
    zkl_session_close(s);
    return 0;
}
