/* shard-command DIR HOST: what zkl shards runs on that host. The file of its shard is locked while
 * it runs. Sanitizers leave it out: on a busy machine the kernel takes down their memory for
 * seconds, and the lock goes after that. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MOST = 64, SLOWEST_MS = 300, NS_PER_MS = 1000000 };

static void say_overlap(const char *what, const char *last)
{
    FILE *file = fopen("overlaps", "ae");

    fprintf(file, "shard %s: %s: token %s behind: %s\n", getenv("ZKL_SHARD"), what,
            getenv("ZKL_TOKEN"), last);
    fclose(file);
}

/* A line for each command: its host and token. */
static void sign(int fd, const char *host)
{
    char line[LINE_MOST], last[LINE_MOST] = "";
    const int length = snprintf(line, sizeof line, "%s %s\n", host, getenv("ZKL_TOKEN"));
    const off_t size = lseek(fd, 0, SEEK_END);
    const off_t from = size < LINE_MOST ? 0 : size - LINE_MOST + 1;
    const char *token = pread(fd, last, sizeof last - 1, from) > 0 ? strrchr(last, ' ') : NULL;

    if (token && strtoull(token, NULL, 10) >= strtoull(getenv("ZKL_TOKEN"), NULL, 10))
        say_overlap("its token has not risen", last);
    if (write(fd, line, (size_t)length) != length)
        abort();
}

/* Until TERM, and then for a moment. The lock of the file goes with the process, however that
 * ends. */
int main(int argc, char **argv)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct timespec now;
    sigset_t asked;
    int fd, signo;

    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    sigprocmask(SIG_BLOCK, &asked, NULL);
    if (argc != 3 || chdir(argv[1]) != 0 ||
        (fd = open(getenv("ZKL_SHARD"), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) < 0)
        return 1;
    if (fcntl(fd, F_SETLK, &lock) != 0)
        say_overlap("another command runs", "");
    sign(fd, argv[2]);
    sigwait(&asked, &signo);
    clock_gettime(CLOCK_REALTIME, &now);
    now = (struct timespec){.tv_nsec = now.tv_nsec % (SLOWEST_MS * NS_PER_MS)};
    nanosleep(&now, NULL); /* it finishes what it does */
    return 0;
}
