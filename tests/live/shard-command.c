/* shard-command DIR HOST: what zkl shards runs on that host. The file of its shard is locked while
 * it runs. Sanitizers leave it out: on a busy machine the kernel takes down their memory for
 * seconds, and the lock goes after that. */
#include "shard_file.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SLOWEST_MS = 300, NS_PER_MS = 1000000 };

/* Until TERM, and then for a moment. The lock of the file goes with the process, however that
 * ends. */
int main(int argc, char **argv)
{
    struct timespec now;
    sigset_t asked;
    int signo;

    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    sigprocmask(SIG_BLOCK, &asked, NULL);
    if (argc != 3 || chdir(argv[1]) != 0)
        return 1;
    shard_file_take(atoi(getenv("ZKL_SHARD")), argv[2], strtoull(getenv("ZKL_TOKEN"), NULL, 10));
    sigwait(&asked, &signo);
    clock_gettime(CLOCK_REALTIME, &now);
    now = (struct timespec){.tv_nsec = now.tv_nsec % (SLOWEST_MS * NS_PER_MS)};
    nanosleep(&now, NULL); /* it finishes what it does */
    return 0;
}
