/* Shares N shards of work with all who run this at PATH: "shards CONNECT PATH N ID". Commands of
 * "zkl shards PATH N" are members of the same group. All runs in one thread, so an item that is
 * worked on is finished before a shard is given up. The fence goes with each thing that is written,
 * and a resource refuses lower ones: no lock can stop a process that sleeps past its deadline. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <zkl.h>

static zkl_grant *mine[ZKL_SHARDS_MAX]; /* for each shard that is ours */

static void on_shard(zkl_shards *all, zkl_shards_event event, const zkl_shards_news *news, void *p)
{
    (void)all, (void)p;
    if (event == ZKL_SHARDS_FAILED)
        fprintf(stderr, "%s\n", news->err->text);
    if (event <= ZKL_SHARDS_LOST) { /* GRANTED, or else ASKED or LOST */
        zkl_grant_release(mine[news->shard]);
        mine[news->shard] = news->grant;
    }
}

int main(int argc, char **argv)
{
    const zkl_session_options options = {.size = sizeof options, .dispatch = 1};
    const size_t count = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    char fence[ZKL_FENCE_SIZE];
    zkl_shards *shards;
    zkl_session *s;
    sigset_t term;

    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    if (count == 0 || zkl_session_open(&s, argv[1], &options, NULL) != 0 ||
        zkl_shards_start(&shards, s, argv[2], count, argv[4], on_shard, NULL, NULL) != 0)
        return 64;
    while (sigtimedwait(&term, NULL, &(struct timespec){.tv_nsec = 5000000}) != SIGTERM) {
        zkl_session_dispatch(s); /* calls on_shard() */
        for (size_t k = 0; k < count; k++)
            if (zkl_grant_remaining_ms(mine[k]) > 10 &&
                zkl_grant_fence(mine[k], fence, sizeof fence) == 0)
                dprintf(1, "shard %zu fence %s\n", k, fence); /* the work */
    }
    zkl_session_close(s); /* nothing is worked on: gives all back */
    zkl_shards_free(shards);
    return 0;
}
